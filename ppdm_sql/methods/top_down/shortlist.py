"""Finds the best of very many suppressed values without scoring them all at every step.

A disclosure changes the gain of every other value of its column, but by little. When all were scored once, a
bound of what each can score later puts nearly all of them out of the running for a while; the few others are
scored exactly. What is found is what scoring all would find.

With W records per class left, N in all, and p, n of them of one value, N times the gain is

    g(N) - g(N - n) - sum over classes of (g(W) - g(W - p)) + constant, where g(x) = x log2 x.

When r records per class have left, each term of the sum falls by g(W) - g(W - p) - g(W - r) + g(W - p - r),
which is convex in p and 0 at p = 0: at most p times its slope up to the largest p. The first difference falls
by n log2(N / N') at least.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.methods.base.arrays import Codes, Counts, Floats
from ppdm_sql.methods.top_down.cuts import SuppressionCut

MANY = 256
"""Suppressed values from which on a shortlist is worth it."""
FIRST, MORE = 48, 4
"""How many values are scored first, and by what factor more where they do not decide."""
DRIFT = 0.002
"""Bits per record by which gains may rise before all are scored anew."""
ROUNDED, TIED = 2e-12, 2e-9
"""Scores nearer to the best than that, absolutely or as a share, may count as equal to it."""
NOISE = 1e-6
"""Bits that floating point may add to the gain of all records of a value."""


class Shortlist:
    """The suppressed values of one attribute, best bound first.

    Args:
        cut: The state in which they were scored.
        ids: Their codes.
        gains: Of each, in bits per record of the suppressed ones.
        losses: Of each; later ones are no smaller as long as the measured numbers stay what they are.
        before: These numbers.
        weight: What gains are multiplied by before they are scored.
    """

    def __init__(
        self,
        cut: SuppressionCut,
        ids: Codes,
        gains: Floats,
        losses: Floats,
        before: Floats,
        weight: float = 1.0,
    ) -> None:
        counts = cut.counts[ids]
        total = gains * cut.left.sum() + counts.sum(axis=1) * DRIFT + NOISE
        upper = weight * total / (losses + 1)
        order = np.argsort(-upper, kind="stable")
        self._ids, self._upper, self._before = ids[order], upper[order], before
        self._left, self._largest = cut.left, counts.max(axis=0, initial=0)
        self._disclosed = cut.disclosed
        self.size = len(ids)

    def serves(self, cut: SuppressionCut, before: Floats) -> bool:
        """Tell whether the bounds hold in a later state."""
        return np.array_equal(before, self._before) and drift(self._left, cut.left, self._largest) <= DRIFT

    def open(self, cut: SuppressionCut) -> int:
        """Count the values that are still suppressed."""
        return self.size - (cut.disclosed - self._disclosed)

    def first(self, number: int, cut: SuppressionCut) -> Codes:
        """Give the values of the best bounds that are still suppressed, in value order."""
        front = self._ids[:number]
        hidden = cut.hides(front)
        if 2 * np.count_nonzero(hidden) < len(front):
            keep = np.concatenate([np.flatnonzero(hidden), np.arange(len(front), len(self._ids))])
            self._ids, self._upper = self._ids[keep], self._upper[keep]
            front = self._ids[:number]
            hidden = cut.hides(front)
        return np.sort(front[hidden])

    def decides(self, number: int, cut: SuppressionCut, best: float) -> bool:
        """Tell whether no value behind the first ones can score as much as the best of them."""
        if number >= len(self._upper):
            return True
        return bool(self._upper[number] / cut.left.sum() < best * (1 - TIED) - ROUNDED)


def drift(left: Counts, now: Counts, largest: Counts) -> float:
    """Give by how many bits per record the gain of a value can have risen."""
    largest = np.minimum(largest, now)
    some = largest > 0
    whole, rest, part = (numbers[some].astype(np.float64) for numbers in (left, now, largest))
    risen = _g(whole) - _g(whole - part) - _g(rest) + _g(rest - part)
    least = np.log2(left.sum() / max(now.sum(), 1))
    return float((risen / part).max(initial=0.0) - least)


def _g(numbers: Floats) -> NDArray[np.float64]:
    return np.asarray(numbers * np.log2(np.maximum(numbers, 1.0)))
