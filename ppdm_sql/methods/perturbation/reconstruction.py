"""The original distribution, reconstructed from counts of the noisy values by Bayes' rule, step by step.

Source: Agrawal, Srikant 2000, section 3 and, for categories, section 6.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ppdm_sql.errors import InvalidOption
from ppdm_sql.methods.base.arrays import Floats
from ppdm_sql.methods.perturbation.noise import Retain

logger = logging.getLogger("ppdm_sql")
FRACTION, CAP = 0.01, 10_000
"""Share of the chi-square quantile below which a step's change stops the iteration, and most steps."""
TINY = 1e-300
"""Keeps a division by 0 finite, where what it is multiplied with is 0."""
BLOCK = 512
"""Distributions that are iterated together: their matrices stay in the processor's caches."""


@dataclass(frozen=True)
class Reconstructed:
    """Distributions that were found, a row each."""

    probabilities: Floats  # of each cell of the original value (columns); rows sum to 1
    iterations: NDArray[np.int64]  # steps that were made for each
    # for each, whether the chi-square criterion stopped the iteration, not the cap
    converged: NDArray[np.bool_]


def reconstruct_distributions(
    counts: ArrayLike, kernel: Floats, *, fraction: float = FRACTION, cap: int = CAP
) -> Reconstructed:
    """Find the distributions over the original cells that explain noisy counts, by one kernel.

    The iteration starts with uniform distributions. Each stops by itself, once
    ``sum((n p' - n p)^2 / (n p))`` of two successive estimates p and p' of n records is below a fraction of
    the 95 % quantile of chi-square with m - 1 degrees of freedom, m the number of cells. Iterating on towards
    the likelihood's maximum fits the sample's chance. One without records stays uniform.

    Args:
        counts: Records in each cell of the noisy value (columns), a row for each distribution.
        kernel: Probability of each noisy cell (rows) under each original one (columns).
        fraction: Of the quantile, at least 0.
        cap: Most steps, at least 1.

    Raises:
        InvalidOption: The fraction or the cap cannot be used.

    Cost: two matrix products a step for all together, O(m^2), whatever the number of records.
    Source: section 3, figure 1.

    Example:
        >>> import numpy as np
        >>> found = reconstruct_distributions([[60, 40]], np.array([[0.9, 0.1], [0.1, 0.9]]))
        >>> found.probabilities.round(3).tolist(), found.iterations.tolist(), found.converged.tolist()
        ([[0.623, 0.377]], [4], [True])
    """
    _check(fraction, cap)
    rows = fold_unreachable(counts, kernel)
    records, cells = rows.sum(axis=1), kernel.shape[1]
    found = Reconstructed(
        np.full((len(rows), cells), 1.0 / cells),
        np.zeros(len(rows), dtype=np.int64),
        np.ones(len(rows), dtype=np.bool_),
    )
    places = np.flatnonzero(records) if cells > 1 else np.empty(0, dtype=np.int64)
    limit = fraction * chi_square_quantile(max(cells - 1, 1))
    for first in range(0, len(places), BLOCK):
        _iterate(rows, records, kernel, limit, cap, found, places[first : first + BLOCK])
    return found


def _iterate(
    rows: Floats,
    records: Floats,
    kernel: Floats,
    limit: float,
    cap: int,
    found: Reconstructed,
    places: NDArray[np.int64],
) -> None:
    """Iterate on the distributions at some places, and put into ``found`` each that stops."""
    of, before = records[places], found.probabilities[places]
    shares = rows[places] / of[:, None]
    # noisy cells without records add nothing to the sum of equation 3, and need no row of the kernel
    seen = shares.any(axis=0)
    shares, kernel = shares[:, seen], np.ascontiguousarray(kernel[seen])
    for number in range(1, cap + 1):
        after = bayes_step(shares, kernel, before)
        # the paper compares successive estimates by chi-square: whether the noisy values look as expected
        # says too little of the original distribution (section 3, stopping criterion)
        stops = of * _change(before, after) < limit
        before = after
        if number < cap and not stops.any():
            continue
        ends = stops | (number == cap)
        done = places[ends]
        found.probabilities[done], found.iterations[done] = after[ends], number
        found.converged[done] = stops[ends]
        logger.info(
            "round %d: %d distributions estimated, %d left", number, len(done), len(places) - len(done)
        )
        places, shares, of, before = places[~ends], shares[~ends], of[~ends], after[~ends]
        if not len(places):
            return


def bayes_step(shares: Floats, kernel: Floats, current: Floats) -> Floats:
    """Give the next estimates: the mean posterior of the original cell over the noisy values.

    Source: section 3, equation 3 with its denominator shared.

    Example:
        >>> import numpy as np
        >>> kernel = np.array([[0.9, 0.1], [0.1, 0.9]])
        >>> bayes_step(np.array([[0.6, 0.4]]), kernel, np.array([[0.5, 0.5]])).round(3).tolist()
        [[0.58, 0.42]]
    """
    # the denominator of equation 3 is the same for all original cells: a step costs O(m^2), not O(m^3)
    expected = current @ kernel.T
    joint = current * ((shares / np.maximum(expected, TINY)) @ kernel)
    return np.asarray(joint / joint.sum(axis=1, keepdims=True))


def _change(before: Floats, after: Floats) -> Floats:
    """Give the sum of (p' - p)^2 / p for each row; where p is 0, so is p'."""
    return np.asarray(((after - before) ** 2 / np.maximum(before, TINY)).sum(axis=1))


def fold_unreachable(counts: ArrayLike, kernel: Floats) -> Floats:
    """Move counts of cells that no original value reaches inwards, to the nearest cell that some reaches."""
    moved = np.array(counts, dtype=np.float64)
    reached = kernel.max(axis=1) > 0
    near = np.flatnonzero(reached)
    for cell in np.flatnonzero(~reached & moved.any(axis=0)):
        moved[:, near[np.abs(near - cell).argmin()]] += moved[:, cell]
        moved[:, cell] = 0.0
    return moved


@cache
def chi_square_quantile(freedom: int) -> float:
    """Give the 95 % quantile of chi-square."""
    from scipy.special import chdtri  # type: ignore[import-untyped, unused-ignore]

    return float(chdtri(freedom, 0.05))


def _check(fraction: float, cap: int) -> None:
    if not fraction >= 0:
        raise InvalidOption("The fraction of the chi-square quantile is below 0.", "Give --fraction 0.01.")
    if cap < 1:
        raise InvalidOption("The most iterations are fewer than 1.", "Give --max-iterations 10000.")


# -- categories -------------------------------------------------------------------------------


def category_kernel(noise: Retain) -> Floats:
    """Give the probability of each released value (rows) under each original one (columns).

    Example:
        >>> category_kernel(Retain(0.5, ("a", "b"))).tolist()
        [[0.75, 0.25], [0.25, 0.75]]
    """
    size = len(noise.values)
    return np.asarray(noise.probability * np.eye(size) + (1 - noise.probability) / size)


def invert_randomization(counts: ArrayLike, noise: Retain) -> tuple[Floats, NDArray[np.bool_]]:
    """Find the distribution of the categories by inverting the matrix of the randomization.

    Returns:
        The probabilities, and which of them were estimated below 0; those are 0, and the others sum to 1.

    Source: section 6, after Warner 1965.

    Example:
        >>> found, negative = invert_randomization([70, 30], Retain(0.5, ("a", "b")))
        >>> found.round(3).tolist(), negative.tolist()
        ([0.9, 0.1], [False, False])
    """
    if noise.probability <= 0:
        raise InvalidOption("A retain probability of 0 cannot be inverted.", "Give --categorical bayes.")
    numbers = np.asarray(counts, dtype=np.float64)
    records, size = numbers.sum(), len(numbers)
    if records == 0:
        return np.full(size, 1.0 / size), np.zeros(size, dtype=np.bool_)
    raw = (numbers / records - (1 - noise.probability) / size) / noise.probability
    clipped = np.maximum(raw, 0.0)
    return clipped / clipped.sum(), raw < 0
