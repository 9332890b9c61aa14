"""How noise moves values between intervals: grids of equal cells, and transition matrices over them.

Source: Agrawal, Srikant 2000, "Privacy-Preserving Data Mining", SIGMOD, sections 3 and 4.2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.errors import InvalidOption, said
from ppdm_sql.methods.base.arrays import Floats
from ppdm_sql.methods.perturbation.noise import AdditiveNoise, Uniform

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
    """Cells of equal width, side by side; cell i is ``[lower + i * width, lower + (i + 1) * width)``.

    Example:
        >>> Grid(0.0, 0.5, 4).edges().tolist()
        [0.0, 0.5, 1.0, 1.5, 2.0]
    """

    lower: float  # lower edge of the first cell
    width: float  # of every cell, above 0
    cells: int  # how many

    @property
    def upper(self) -> float:
        """Upper edge of the last cell."""
        return self.lower + self.width * self.cells

    def edges(self) -> Floats:
        """Give the edges, one more than there are cells."""
        return self.lower + np.arange(self.cells + 1) * (self.width * self.cells) / self.cells


def grid_for(noise: AdditiveNoise, records: int, intervals: int | None = None) -> Grid:
    """Divide the domain of an attribute into intervals, by the paper's rule unless their number is given.

    The rule is an average of 100 records an interval, but 10 to 100 intervals. Whole numbers get cells that
    lie around them, ``[19.5, 20.5)`` for 20: one cell each if there are no more than 100 of them, else as
    many to a cell as the number of intervals asks for (the last cell may then end above the domain).

    Source: section 4.2.

    Example:
        >>> from ppdm_sql.methods.perturbation.noise import Domain, Gaussian
        >>> grid_for(Gaussian(5.0, Domain(0.0, 60.0)), 3000)
        Grid(lower=0.0, width=2.0, cells=30)
        >>> grid_for(Gaussian(5.0, Domain(20, 80, whole=True)), 3000)
        Grid(lower=19.5, width=1.0, cells=61)
    """
    if intervals is not None and intervals < 1:
        raise InvalidOption(f"{intervals} is no number of intervals.", "Give at least 1, or leave it out.")
    wanted = intervals or min(max(records // POINTS, FEWEST), MOST)
    low, high = noise.domain.lower, noise.domain.upper
    if noise.domain.whole:
        first, values = math.floor(low), math.ceil(high) - math.floor(low) + 1
        wanted = values if intervals is None and values <= MOST else wanted
        width = math.ceil(values / wanted)
        return Grid(first - 0.5, float(width), math.ceil(values / width))
    return Grid(low, (high - low) / wanted, wanted)


def observed_grid(noise: AdditiveNoise, grid: Grid) -> Grid:
    """Extend a grid outward, at its width, so that it holds the noisy values too.

    Uniform noise is held whole, Gaussian noise up to six standard deviations. The end cells are open: what
    lies beyond them belongs to them. No side gets more than 1,000 further cells.

    Example:
        >>> from ppdm_sql.methods.perturbation.noise import Domain, Uniform
        >>> observed_grid(Uniform(0.5, Domain(0.0, 1.0)), Grid(0.0, 0.25, 4))
        Grid(lower=-0.75, width=0.25, cells=10)
    """
    reach = noise.scale if isinstance(noise, Uniform) else REACH * noise.scale
    beyond = int(min(reach // grid.width + 1, MOST_BEYOND))
    return Grid(grid.lower - beyond * grid.width, grid.width, grid.cells + 2 * beyond)


def kernel(noise: AdditiveNoise, grid: Grid, observed: Grid, form: Form = "cell") -> Floats:
    """Give the probability of each noisy cell (rows) under each cell of the original value (columns).

    ``cell`` is exact for values spread evenly in their cell (and for unit cells around whole numbers, whose
    one value stands in the middle); its columns sum to 1. ``midpoint`` is the paper's approximation: the
    density of the noise at the distance of the cells' midpoints. The end cells of ``observed`` are open.

    Raises:
        InvalidOption: There is no such form.

    Source: section 3; the cell-integrated form makes each step one of expectation maximization.

    Example:
        >>> from ppdm_sql.methods.perturbation.noise import Domain, Uniform
        >>> kernel(Uniform(1.0, Domain(0, 1)), Grid(0.0, 1.0, 1), Grid(-1.0, 1.0, 3)).ravel().tolist()
        [0.25, 0.5, 0.25]
    """
    beyond = round((grid.lower - observed.lower) / grid.width)
    steps = np.arange(observed.cells)[:, None] - beyond - np.arange(grid.cells)[None, :]
    offsets = np.arange(steps.min(), steps.max() + 1)
    if form == "midpoint":
        # section 3, first approximation: the distance of z and w is that of the midpoints of their intervals
        return np.asarray((_density(noise, offsets * grid.width) * grid.width)[steps - offsets[0]])
    if form != "cell":
        raise InvalidOption(f"{said(form)} is no kernel.", "Give cell or midpoint.")
    spread = not holds_one_value(noise, grid)
    below, inside, above = shift_probabilities(noise, grid.width, offsets, spread=spread)
    found = np.asarray(inside[steps - offsets[0]])
    found[0], found[-1] = below[steps[0] - offsets[0]], above[steps[-1] - offsets[0]]
    return found


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
    rest = expected_excess(noise, width * np.abs(np.stack([steps - 1, steps])))
    return np.asarray(np.where(steps <= 0, 1.0, 0.0) + (rest[0] - rest[1]) / width)


def _point_tail(noise: AdditiveNoise, width: float, steps: NDArray[np.int64]) -> Floats:
    """Give the probability that a value in the middle of its cell moves up by so many cells or more."""
    return tail_probability(noise, np.asarray(width * (steps - 0.5)))


def tail_probability(noise: AdditiveNoise, bound: Floats) -> Floats:
    """Give the probability that the noise is above each bound."""
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
