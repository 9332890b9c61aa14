"""How one attribute may be refined: its cut, the candidates that are open, and what each would gain.

The loop knows an attribute only through :class:`Cut`. Suppression is one kind of cut; one through a taxonomy
and one through grown intervals stand in modules of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.methods.base.arrays import Codes, Counts, Floats


class Cut(Protocol):
    """The state of one attribute: a partition of its values, and the ways to refine it. Immutable."""

    @property
    def labels(self) -> Codes:
        """Part of each value code, numbered from 0; equal labels cannot be told apart in the release."""

    @property
    def candidates(self) -> Codes:
        """Ids of the open and beneficial refinements, in value order; an id never changes its meaning."""

    @property
    def gains(self) -> Floats:
        """Information gain of each open candidate, in bits per record of the part it refines."""

    @property
    def smallest(self) -> Codes:
        """For each open candidate, records of the smallest part that it makes; no class can be larger."""

    @property
    def nodes(self) -> Codes:
        """For each value code, the node of the attribute's tree that the release shows."""

    def refine(self, candidate: int) -> Cut:
        """Give the cut after performing one candidate."""

    @property
    def disjoint(self) -> bool:
        """Whether candidates split different parts; else they all take something out of the same one."""

    def split(self, candidate: int) -> Sequence[Codes]:
        """Value codes of each part that a candidate makes; of what it takes out, where that leaves a rest."""

    def specialization(self, candidate: int) -> tuple[int, Sequence[int]]:
        """Give the node that a candidate specializes and the nodes that it makes of it."""

    def reachable(self, alive: NDArray[np.bool_]) -> Codes:
        """Part of each value code in the finest state to expect of the candidates still alive.

        What it does not tell apart may be merged in the counts; a state beyond it costs making them anew.

        Args:
            alive: For each candidate id, whether it may still be performed.
        """


Cuts = tuple[Cut, ...]
"""A state of the descent: one cut an attribute, in the order of the run."""


def entropy(counts: NDArray[np.int64]) -> Floats:
    """Give the entropy I(R) of class counts along the last axis, in bits; 0 for no records.

    Source: Fung, Wang, Yu 2005 (slides 14); Quinlan 1993.

    Example:
        >>> float(entropy(np.array([2, 2])))
        1.0
    """
    return np.asarray(total_entropy(counts) / np.maximum(counts.sum(axis=-1), 1))


def total_entropy(counts: NDArray[np.int64]) -> Floats:
    """Give n I(R) = n log n - sum of c log c, the entropy of all n records together, in bits.

    Example:
        >>> float(total_entropy(np.array([2, 2])))
        4.0
    """
    each = counts.astype(np.float64)
    ones = np.ones(counts.shape[-1])
    return np.asarray(np.maximum(_times_log(each @ ones) - _times_log(each) @ ones, 0.0))


def _times_log(numbers: Floats) -> Floats:
    return np.asarray(numbers * np.log2(np.maximum(numbers, 1.0)))


@dataclass(frozen=True, eq=False)
class SuppressionCut:
    """A cut in which some values are disclosed and all others share the suppressed symbol.

    Args:
        counts: Records per value code and class, shape (values, classes).
        disclosed: The codes disclosed so far, in that order.

    Source: Wang, Fung, Yu 2005, section 4: the operator takes one value out of Sup_j. T[bottom_j] holds
    exactly the records whose value is still in Sup_j, so gains follow from ``counts`` alone.
    """

    counts: Counts
    disclosed: tuple[int, ...] = ()

    @cached_property
    def labels(self) -> Codes:
        """Part of each value code: 0 for the suppressed symbol, then one part a disclosed value."""
        labels = np.zeros(len(self.counts), dtype=np.int64)
        labels[list(self.disclosed)] = np.arange(1, len(self.disclosed) + 1)
        return labels

    @cached_property
    def _suppressed_classes(self) -> Counts:
        return np.asarray(self.counts.sum(axis=0) - self.counts[list(self.disclosed)].sum(axis=0))

    @cached_property
    def candidates(self) -> Codes:
        """Codes still suppressed; none if the records that hold the symbol are all of one class."""
        if np.count_nonzero(self._suppressed_classes) < 2:
            return np.empty(0, dtype=np.int64)
        return np.flatnonzero(self.labels == 0)

    @cached_property
    def gains(self) -> Floats:
        """InfoGain of disclosing each candidate: I(T[bottom]) less the weighted entropies of both parts."""
        whole = self._suppressed_classes
        part = self.counts[self.candidates]
        rest = whole - part
        gained = total_entropy(whole) - total_entropy(part) - total_entropy(rest)
        return np.asarray(np.maximum(gained, 0.0) / max(whole.sum(), 1))

    @cached_property
    def smallest(self) -> Codes:
        """Records that hold the value, or the rest of what is suppressed; an empty rest is no part."""
        part = self.counts[self.candidates].sum(axis=1)
        rest = self._suppressed_classes.sum() - part
        return np.asarray(np.where(rest > 0, np.minimum(part, rest), part))

    @cached_property
    def nodes(self) -> Codes:
        """Node 0 is the suppressed symbol, node ``code + 1`` a value."""
        return np.asarray(np.where(self.labels == 0, 0, np.arange(1, len(self.labels) + 1)))

    def refine(self, candidate: int) -> SuppressionCut:
        """Disclose one value."""
        return SuppressionCut(self.counts, (*self.disclosed, int(candidate)))

    def specialization(self, candidate: int) -> tuple[int, Sequence[int]]:
        """A disclosure takes one value out of the symbol."""
        return 0, (candidate + 1,)

    @property
    def disjoint(self) -> bool:
        """All disclosures take a value out of the symbol."""
        return False

    def split(self, candidate: int) -> Sequence[Codes]:
        """A disclosure takes out one value; the rest is what stays suppressed."""
        return (np.array([candidate], dtype=np.int64),)

    def reachable(self, alive: NDArray[np.bool_]) -> Codes:
        """Part of each value code when every candidate still alive is disclosed."""
        opened = self.candidates[alive[self.candidates]]
        labels = self.labels.copy()
        labels[opened] = len(self.disclosed) + 1 + np.arange(len(opened))
        return labels

    @property
    def suppressed(self) -> Codes:
        """Codes of the values that still share the suppressed symbol, in value order."""
        return np.flatnonzero(self.labels == 0)


@dataclass(frozen=True, eq=False)
class FixedCut:
    """An attribute that groups records but may not be masked: every value stays in the clear.

    Args:
        size: Number of values.
    """

    size: int

    @cached_property
    def labels(self) -> Codes:
        """Each value is a part of its own."""
        return np.arange(self.size, dtype=np.int64)

    @property
    def candidates(self) -> Codes:
        """There is nothing to refine."""
        return np.empty(0, dtype=np.int64)

    @property
    def gains(self) -> Floats:
        """There is nothing to gain."""
        return np.empty(0, dtype=np.float64)

    @property
    def smallest(self) -> Codes:
        """There is nothing to split."""
        return np.empty(0, dtype=np.int64)

    @property
    def nodes(self) -> Codes:
        """Each value is a node of its own, as under suppression."""
        return self.labels + 1

    def refine(self, candidate: int) -> FixedCut:
        """Refuse: nothing is open."""
        raise ValueError(f"a fixed attribute has no candidate {candidate}")

    def specialization(self, candidate: int) -> tuple[int, Sequence[int]]:
        """Refuse: nothing is open."""
        raise ValueError(f"a fixed attribute has no candidate {candidate}")

    @property
    def disjoint(self) -> bool:
        """There are no candidates."""
        return True

    def split(self, candidate: int) -> Sequence[Codes]:
        """Nothing can be split."""
        return ()

    def reachable(self, alive: NDArray[np.bool_]) -> Codes:
        """The finest state is the present one."""
        return self.labels
