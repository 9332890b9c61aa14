"""How one attribute may be refined: its cut, the candidates that are open, and what each would gain.

The loop knows an attribute only through :class:`Cut`. Suppression is one kind of cut; one through a taxonomy
and one through grown intervals stand in modules of their own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.methods.base.arrays import Codes, Counts, Floats
from ppdm_sql.methods.top_down.score import gain_of_halves

MOST_SINCE = 64
"""Disclosures after which the parts of all values are written down again."""


class Cut(ABC):
    """The state of one attribute: a partition of its values, and the ways to refine it. Immutable."""

    disjoint: bool = True
    """Whether candidates split different parts (specializations); else they all take something out of the
    same one (disclosures)."""

    @property
    @abstractmethod
    def parts(self) -> Codes:
        """Part of each value code, from 0; values of one part cannot be told apart in the release."""

    @property
    @abstractmethod
    def nodes(self) -> Codes:
        """For each value code, the node of the attribute's tree that the release shows."""

    @property
    @abstractmethod
    def candidates(self) -> Codes:
        """Ids of the open and beneficial refinements, in value order; an id never changes its meaning."""

    @property
    @abstractmethod
    def gains(self) -> Floats:
        """InfoGain of each open candidate, in bits per record of the part it refines."""

    @property
    @abstractmethod
    def smallest(self) -> Codes:
        """For each open candidate, records of the smallest part that it makes; no class can be larger."""

    def contested(self, alive: NDArray[np.bool_]) -> Codes | None:
        """Part of each value code where another candidate may take the place of one that fell, else -1.

        Args:
            alive: For each candidate id, whether it may still be performed.

        Returns:
            None where no candidate has others beside it.
        """
        return None

    def without(self, alive: NDArray[np.bool_]) -> Cut:
        """Give the same partition with the candidates that are open once others have fallen.

        Args:
            alive: For each candidate id, whether it may still be performed.
        """
        return self

    def reopened(self, alive: NDArray[np.bool_]) -> Cut:
        """Give the same partition with candidates that had fallen for one state only open again.

        Args:
            alive: For each candidate id, whether it may still be performed.
        """
        return self

    @abstractmethod
    def refine(self, candidate: int) -> Cut:
        """Give the cut after performing one candidate."""

    @abstractmethod
    def split(self, candidate: int) -> Sequence[Codes]:
        """Value codes of each part that a candidate makes; of what it takes out, where that leaves a rest."""

    @abstractmethod
    def specialization(self, candidate: int) -> tuple[int, Sequence[int]]:
        """Give the node that a candidate specializes and the nodes that it makes of it."""

    @abstractmethod
    def reachable(self, alive: NDArray[np.bool_]) -> Codes:
        """Part of each value code in the finest state to expect of the candidates still alive.

        What it does not tell apart may be merged in the counts; a state beyond it costs making them anew.

        Args:
            alive: For each candidate id, whether it may still be performed.
        """


Cuts = tuple[Cut, ...]
"""A state of the descent: one cut an attribute, in the order of the run."""
Candidate = tuple[int, int]
"""Position of the attribute, and the candidate's id within it."""


def refined(cuts: Cuts, candidate: Candidate) -> Cuts:
    """Give the state after a candidate."""
    attribute, chosen = candidate
    return (*cuts[:attribute], cuts[attribute].refine(chosen), *cuts[attribute + 1 :])


class ClosedCut(Cut):
    """A cut in which nothing can be refined here: there are no candidates."""

    candidates = smallest = np.empty(0, dtype=np.int64)
    gains = np.empty(0, dtype=np.float64)

    def refine(self, candidate: int) -> Cut:
        raise ValueError(f"this attribute has no candidate {candidate}")

    def specialization(self, candidate: int) -> tuple[int, Sequence[int]]:
        raise ValueError(f"this attribute has no candidate {candidate}")

    def split(self, candidate: int) -> Sequence[Codes]:
        return ()

    def reachable(self, alive: NDArray[np.bool_]) -> Codes:
        return self.parts


@dataclass(frozen=True, eq=False)
class FixedCut(ClosedCut):
    """An attribute that groups records but may not be masked: each of its values stays in the clear."""

    size: int

    @cached_property
    def parts(self) -> Codes:
        return np.arange(self.size, dtype=np.int64)

    @property
    def nodes(self) -> Codes:
        return self.parts + 1


@dataclass(frozen=True, eq=False)
class SuppressionCut(Cut):
    """A cut in which some values are disclosed and all others share the suppressed symbol.

    Node 0 is the suppressed symbol, node ``code + 1`` a value; candidates are the codes still suppressed.
    A cut is kept as what it adds to an earlier one, so that a step costs nothing like the number of values.

    Args:
        counts: Records per value code and class, shape (values, classes).
        left: Records of each class whose value is suppressed.
        before: Parts of an earlier cut.
        made: How many values that cut had disclosed.
        since: The codes disclosed since then, in that order.

    Source: Wang, Fung, Yu 2005, section 4: the operator takes one value out of Sup_j. T[bottom_j] holds
    exactly the records whose value is still in Sup_j, so gains follow from ``counts`` alone.
    """

    counts: Counts
    left: Counts
    before: Codes
    made: int = 0
    since: tuple[int, ...] = ()
    disjoint = False
    drifts = True
    """Whether gains follow from ``left`` as those of information do; only then a shortlist knows bounds."""

    @classmethod
    def top(cls, counts: Counts) -> SuppressionCut:
        """Give the most general cut: every value is suppressed."""
        return cls(counts, counts.sum(axis=0), np.zeros(len(counts), dtype=np.int64))

    @cached_property
    def parts(self) -> Codes:
        parts = self.before.copy()
        parts[list(self.since)] = np.arange(self.made + 1, self.made + 1 + len(self.since))
        return parts

    @cached_property
    def nodes(self) -> Codes:
        return np.asarray(np.where(self.parts == 0, 0, np.arange(1, len(self.parts) + 1)))

    @property
    def suppressed(self) -> Codes:
        """Codes of the values that still share the suppressed symbol, in value order."""
        return np.flatnonzero(self.parts == 0)

    @property
    def is_beneficial(self) -> bool:
        """Whether any disclosure is worth it."""
        return self.is_mixed(self.left)

    @cached_property
    def candidates(self) -> Codes:
        return self.suppressed if self.is_beneficial else np.empty(0, dtype=np.int64)

    @cached_property
    def gains(self) -> Floats:
        return self.gains_of(self.candidates)

    @cached_property
    def smallest(self) -> Codes:
        return self.smallest_of(self.candidates)

    @property
    def disclosed(self) -> int:
        """How many values are disclosed."""
        return self.made + len(self.since)

    def hides(self, codes: Codes) -> NDArray[np.bool_]:
        """Tell for each of some codes whether its value is suppressed."""
        return np.asarray((self.before[codes] == 0) & ~np.isin(codes, self.since))

    def gains_of(self, candidates: Codes) -> Floats:
        """Give InfoGain of some candidates."""
        return self.gains_beside(self.left, self.counts[candidates])

    def is_mixed(self, left: Counts) -> bool:
        """Whether suppressed records are of more than one class, so that a disclosure can gain anything."""
        return bool(np.count_nonzero(left) > 1)

    def gains_beside(self, left: Counts, parts: Counts) -> Floats:
        """Give InfoGain of taking some parts out of what is suppressed then; both by class."""
        return gain_of_halves(left, parts)

    def smallest_of(self, candidates: Codes) -> Codes:
        """Give the records of the smallest part that each of some candidates makes."""
        part = self.counts[candidates].sum(axis=1)
        rest = self.left.sum() - part
        return np.asarray(np.where(rest > 0, np.minimum(part, rest), part))  # an empty rest is no part

    def refine(self, candidate: int) -> SuppressionCut:
        return self.disclose([int(candidate)])

    def disclose(self, codes: Sequence[int]) -> SuppressionCut:
        """Give the cut in which further values are disclosed."""
        left = self.left - self.counts[list(codes)].sum(axis=0)
        after = replace(self, left=left, since=(*self.since, *codes))
        if len(after.since) <= MOST_SINCE:
            return after
        return replace(after, before=after.parts, made=after.disclosed, since=())

    def split(self, candidate: int) -> Sequence[Codes]:
        return (np.array([candidate], dtype=np.int64),)

    def specialization(self, candidate: int) -> tuple[int, Sequence[int]]:
        return 0, (candidate + 1,)

    def reachable(self, alive: NDArray[np.bool_]) -> Codes:
        opened = self.candidates[alive[self.candidates]]
        parts = self.parts.copy()
        parts[opened] = self.disclosed + 1 + np.arange(len(opened))
        return parts
