"""The original distribution, reconstructed from counts of the noisy values by Bayes' rule, step by step.

Source: Agrawal, Srikant 2000, section 3 and, for categories, section 6.
"""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ppdm_sql.errors import InvalidOption
from ppdm_sql.methods.base.arrays import Floats
from ppdm_sql.methods.perturbation.noise import AdditiveNoise, Retain, Uniform

logger = logging.getLogger("ppdm_sql")
FRACTION, CAP = 0.01, 10_000
"""Share of the chi-square quantile below which a step's change stops the iteration, and most steps."""
TINY = 1e-300
"""Keeps a division by 0 finite, where what it is multiplied with is 0."""
BLOCK = 512
"""Distributions that are iterated together: their matrices stay in the processor's caches."""


@dataclass(frozen=True)
class Estimates:
    probabilities: Floats  # of each cell of the original value (columns); rows sum to 1
    iterations: NDArray[np.int64]  # steps that were made for each
    # for each, whether the chi-square criterion stopped the iteration, not the cap
    converged: NDArray[np.bool_]


def reconstruct_distributions(
    counts: ArrayLike, kernel: Floats, *, fraction: float = FRACTION, cap: int = CAP
) -> Estimates:
    """Find the distributions over the original cells that explain noisy counts, by one kernel.

    The iteration starts with uniform distributions. Each stops by itself, once
    ``sum((n p' - n p)^2 / (n p))`` of two successive estimates p and p' of n records is below a fraction of
    the 95 % quantile of chi-square with m - 1 degrees of freedom, m the number of cells. Iterating on towards
    the likelihood's maximum fits the sample's chance. One without records stays uniform.

    Source: section 3, figure 1.
    """
    _check(fraction, cap)
    rows = fold_unreachable(counts, kernel)
    records, cells = rows.sum(axis=1), kernel.shape[1]
    result = Estimates(
        np.full((len(rows), cells), 1.0 / cells),
        np.zeros(len(rows), dtype=np.int64),
        np.ones(len(rows), dtype=np.bool_),
    )
    places = np.flatnonzero(records) if cells > 1 else np.empty(0, dtype=np.int64)
    limit = fraction * chi_square_quantile(max(cells - 1, 1))
    for first in range(0, len(places), BLOCK):
        _iterate(rows, records, kernel, limit, cap, result, places[first : first + BLOCK])
    return result


def _iterate(
    rows: Floats,
    records: Floats,
    kernel: Floats,
    limit: float,
    cap: int,
    result: Estimates,
    places: NDArray[np.int64],
) -> None:
    """Iterate on the distributions at some places, and put into ``result`` each that stops."""
    of, before = records[places], result.probabilities[places]
    shares = rows[places] / of[:, None]
    # noisy cells without records add nothing to the sum of equation 3, and need no row of the kernel
    nonempty = shares.any(axis=0)
    shares, kernel = shares[:, nonempty], np.ascontiguousarray(kernel[nonempty])
    for number in range(1, cap + 1):
        after = bayes_step(shares, kernel, before)
        # the paper compares successive estimates by chi-square: whether the noisy values look as expected
        # says too little of the original distribution (section 3, stopping criterion)
        stops = of * _change(before, after) < limit
        before = after
        if number < cap and not stops.any():
            continue
        ends = stops | (number == cap)
        final = places[ends]
        result.probabilities[final], result.iterations[final] = after[ends], number
        result.converged[final] = stops[ends]
        logger.info(
            "round %d: %d distributions estimated, %d left", number, len(final), len(places) - len(final)
        )
        places, shares, of, before = places[~ends], shares[~ends], of[~ends], after[~ends]
        if not len(places):
            return


def bayes_step(shares: Floats, kernel: Floats, current: Floats) -> Floats:
    """Give the next estimates: the mean posterior of the original cell (section 3, equation 3)."""
    # the denominator of equation 3 is the same for all original cells: a step costs O(m^2), not O(m^3)
    expected = current @ kernel.T
    joint = current * ((shares / np.maximum(expected, TINY)) @ kernel)
    return np.asarray(joint / joint.sum(axis=1, keepdims=True))


def _change(before: Floats, after: Floats) -> Floats:
    """Give the sum of (p' - p)^2 / p for each row; where p is 0, so is p'."""
    return np.asarray(((after - before) ** 2 / np.maximum(before, TINY)).sum(axis=1))


def fold_unreachable(counts: ArrayLike, kernel: Floats) -> Floats:
    """Move counts of cells that no original value reaches inwards, to the nearest cell that some reaches."""
    rows = np.array(counts, dtype=np.float64)
    reachable = kernel.max(axis=1) > 0
    near = np.flatnonzero(reachable)
    for cell in np.flatnonzero(~reachable & rows.any(axis=0)):
        rows[:, near[np.abs(near - cell).argmin()]] += rows[:, cell]
        rows[:, cell] = 0.0
    return rows


@cache
def chi_square_quantile(freedom: int) -> float:
    from scipy.special import chdtri  # type: ignore[import-untyped, unused-ignore]

    return float(chdtri(freedom, 0.05))


def _check(fraction: float, cap: int) -> None:
    if not fraction >= 0:
        raise InvalidOption("The fraction of the chi-square quantile is below 0.", "Give --fraction 0.01.")
    if cap < 1:
        raise InvalidOption("The most iterations are fewer than 1.", "Give --max-iterations 10000.")


# -- categories -------------------------------------------------------------------------------


def category_kernel(noise: Retain) -> Floats:
    """Give the probability of each released value (rows) under each original one (columns)."""
    size = len(noise.values)
    return np.asarray(noise.probability * np.eye(size) + (1 - noise.probability) / size)


def invert_randomization(counts: Floats, noise: Retain) -> tuple[Floats, NDArray[np.bool_]]:
    """Find distributions of categories, a row each, by inverting the matrix of the randomization.

    Gives which of them were estimated below 0, too; these are 0.

    Source: section 6, after Warner 1965.
    """
    shares = counts / counts.sum(axis=-1, keepdims=True)
    raw = (shares - (1 - noise.probability) / len(noise.values)) / noise.probability
    clipped = np.maximum(raw, 0.0)
    return clipped / clipped.sum(axis=-1, keepdims=True), raw < 0


Form = Literal["cell", "midpoint"]
FEWEST, MOST, POINTS = 10, 100, 100
"""The paper's rule: on average so many points an interval, but no fewer and no more intervals than these."""
REACH = 6.0
"""Standard deviations of Gaussian noise beyond which a value counts as outside."""
MOST_BEYOND = 1000
"""Cells that a noisy grid has at most on either side of the original one; its end cells are open."""
WIDE = 10_000
"""Scale of noise, in widths of a cell, from which on it does not matter where in its cell a value lies."""


@dataclass(frozen=True)
class Grid:
    """Cells of equal width, side by side; cell i is ``[lower + i * width, lower + (i + 1) * width)``."""

    lower: float  # lower edge of the first cell
    width: float  # of every cell, above 0
    cells: int  # how many

    @property
    def upper(self) -> float:
        return self.lower + self.width * self.cells

    def edges(self) -> Floats:
        return self.lower + np.arange(self.cells + 1) * (self.width * self.cells) / self.cells


def grid_for(noise: AdditiveNoise, records: int, intervals: int | None = None) -> Grid:
    """Divide the domain of an attribute into intervals, by the paper's rule unless their number is given.

    The rule is an average of 100 records an interval, but 10 to 100 intervals. Whole numbers get cells that
    lie around them, ``[19.5, 20.5)`` for 20: one cell each if there are no more than 100 of them, else as
    many to a cell as the number of intervals asks for (the last cell may then end above the domain).

    Source: section 4.2.
    """
    if intervals is not None and intervals < 1:
        raise InvalidOption(f"{intervals} is not a number of intervals.", "Give at least 1, or leave it out.")
    number = intervals or min(max(records // POINTS, FEWEST), MOST)
    low, high = noise.domain.lower, noise.domain.upper
    if noise.domain.whole:
        first, values = math.floor(low), math.ceil(high) - math.floor(low) + 1
        number = values if intervals is None and values <= MOST else number
        width = math.ceil(values / number)
        return Grid(first - 0.5, float(width), math.ceil(values / width))
    return Grid(low, (high - low) / number, number)


def observed_grid(noise: AdditiveNoise, grid: Grid) -> Grid:
    """Extend a grid outward, at its width, so that it holds the noisy values too.

    Uniform noise is held whole, Gaussian noise up to six standard deviations. The end cells are open: what
    lies beyond them belongs to them. No side gets more than 1,000 further cells.
    """
    reach = noise.scale if isinstance(noise, Uniform) else REACH * noise.scale
    beyond = int(min(reach // grid.width + 1, MOST_BEYOND))
    return Grid(grid.lower - beyond * grid.width, grid.width, grid.cells + 2 * beyond)


def kernel(noise: AdditiveNoise, grid: Grid, observed: Grid, form: Form = "cell") -> Floats:
    """Give the probability of each noisy cell (rows) under each cell of the original value (columns).

    ``cell`` is exact for values spread evenly in their cell (and for unit cells around whole numbers, whose
    one value stands in the middle); its columns sum to 1. ``midpoint`` is the paper's approximation: the
    density of the noise at the distance of the cells' midpoints. The end cells of ``observed`` are open.

    Source: section 3; the cell-integrated form makes each step one of expectation maximization.
    """
    beyond = round((grid.lower - observed.lower) / grid.width)
    steps = np.arange(observed.cells)[:, None] - beyond - np.arange(grid.cells)[None, :]
    offsets = np.arange(steps.min(), steps.max() + 1)
    if form == "midpoint":
        # section 3, first approximation: the distance of z and w is that of the midpoints of their intervals
        return np.asarray((_density(noise, offsets * grid.width) * grid.width)[steps - offsets[0]])
    spread = not holds_one_value(noise, grid)
    below, inside, above = shift_probabilities(noise, grid.width, offsets, spread=spread)
    matrix = np.asarray(inside[steps - offsets[0]])
    matrix[0], matrix[-1] = below[steps[0] - offsets[0]], above[steps[-1] - offsets[0]]
    return matrix


def holds_one_value(noise: AdditiveNoise, grid: Grid) -> bool:
    """Tell whether each cell holds one value only, a whole number in its middle."""
    return noise.domain.whole and grid.width == 1


def shift_probabilities(
    noise: AdditiveNoise, width: float, steps: NDArray[np.int64], *, spread: bool
) -> tuple[Floats, Floats, Floats]:
    """Give the probabilities that noise moves a value by so many cells or fewer, exactly so many, or more.

    Steps ascend one by one. With ``spread`` the value lies anywhere in its cell, else in its middle.
    """
    tail = _cell_tail if spread and noise.scale < WIDE * width else _point_tail
    above = tail(noise, width, np.append(steps, steps[-1] + 1))
    below = tail(noise, width, np.append(1 - steps[0], -steps))
    inside = np.where(steps > 0, above[:-1] - above[1:], below[1:] - below[:-1])
    return below[1:], np.maximum(inside, 0.0), above[:-1]


def _cell_tail(noise: AdditiveNoise, width: float, steps: NDArray[np.int64]) -> Floats:
    """Give the probability that a value, spread evenly in its cell, moves up by so many cells or more."""
    excess = expected_excess(noise, width * np.abs(np.stack([steps - 1, steps])))
    return np.asarray(np.where(steps <= 0, 1.0, 0.0) + (excess[0] - excess[1]) / width)


def _point_tail(noise: AdditiveNoise, width: float, steps: NDArray[np.int64]) -> Floats:
    """Likewise for a value in the middle of its cell."""
    return tail_probability(noise, np.asarray(width * (steps - 0.5)))


def tail_probability(noise: AdditiveNoise, bound: Floats) -> Floats:
    if isinstance(noise, Uniform):
        return np.asarray(np.clip((noise.scale - bound) / (2 * noise.scale), 0.0, 1.0))
    from scipy.special import ndtr  # type: ignore[import-untyped, unused-ignore]

    return np.asarray(ndtr(-bound / noise.scale))


def expected_excess(noise: AdditiveNoise, distance: Floats) -> Floats:
    """Give the expectation of what the noise has beyond each distance, a number of at least 0."""
    if isinstance(noise, Uniform):
        return np.asarray(np.maximum(noise.scale - distance, 0.0) ** 2 / (4 * noise.scale))
    return noise.scale**2 * _density(noise, distance) - distance * tail_probability(noise, distance)


def _density(noise: AdditiveNoise, distance: Floats) -> Floats:
    """Give the density of the noise; where that of uniform noise jumps, the middle of the jump."""
    size = np.abs(distance) / noise.scale
    if isinstance(noise, Uniform):
        edge = np.isclose(size, 1.0, rtol=0.0, atol=1e-9)
        return np.where(edge, 0.5, size < 1.0) / (2 * noise.scale)
    return np.asarray(np.exp(-(size**2) / 2) / (noise.scale * math.sqrt(2 * math.pi)))
