"""How one attribute may be refined: its cut, the candidates that are open, and what each would gain.

The loop knows an attribute only through :class:`Cut`. Suppression is one kind of cut; one through a taxonomy
and one through grown intervals stand in modules of their own.

A step gains information about the class and certainty: by how much the normalized certainty penalty falls. By
the papers' score it gains information alone, and is beneficial while a part holds more than one class; else
if it gains anything. The penalty of a cell is the share of its column's domain that its label leaves open:
(leaves below the node - 1) / (all leaves - 1) in a taxonomy, width / range for an interval, 1 for the
suppressed symbol. That of a table is the mean over its records and masked columns, each by its weight.

Sources: Wang, Fung, Yu 2005, section 4, for suppression; Xu, Wang, Pei, Wang, Shi, Fu 2006, "Utility-Based
Anonymization Using Local Recoding", KDD, for the penalty; Ghinita, Karras, Kalnis, Mamoulis 2007, "Fast Data
Anonymization with Low Information Loss", VLDB, for its mean over a table.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.methods.base.arrays import Codes, Counts, Floats
from ppdm_sql.methods.top_down.score import LITERAL, Worth, by_chance, explained_by_halves

CERTAINTY = "certainty"
"""What a run without a class gains, in one word."""


class Cut(ABC):
    """The state of one attribute: a partition of its values, and the ways to refine it. Immutable.

    Unless a kind of cut says otherwise, there are none. ``alive`` tells for each candidate id whether it may
    still be performed.
    """

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
    def candidates(self) -> Codes:
        """Ids of the open and beneficial refinements, in value order; an id never changes its meaning."""
        return np.empty(0, dtype=np.int64)

    @property
    def gains(self) -> Floats:
        """What each open candidate gains: bits per record of the part it refines, or certainty."""
        return np.empty(0, dtype=np.float64)

    @property
    def smallest(self) -> Codes:
        """For each open candidate, records of the smallest part that it makes; no class can be larger."""
        return np.empty(0, dtype=np.int64)

    def contested(self, alive: NDArray[np.bool_]) -> Codes | None:
        """Part of each value code where another candidate may take the place of one that fell, else -1."""
        return None

    def without(self, alive: NDArray[np.bool_]) -> Cut:
        """Give the same partition with the candidates that are open once others have fallen."""
        return self

    def reopened(self, alive: NDArray[np.bool_]) -> Cut:
        """Give the same partition with candidates that had fallen for one state only open again."""
        return self

    def refine(self, candidate: int) -> Cut:
        """Give the cut after performing one candidate."""
        raise ValueError(f"this attribute has no candidate {candidate}")

    def split(self, candidate: int) -> Sequence[Codes]:
        """Value codes of each part that a candidate makes; of what it takes out, where that leaves a rest."""
        return ()

    def specialization(self, candidate: int) -> tuple[int, Sequence[int]]:
        """Give the node that a candidate specializes and the nodes that it makes of it."""
        raise ValueError(f"this attribute has no candidate {candidate}")

    # -- what a candidate shows, to a run that counts it -------------------------------------------

    worth: Worth = LITERAL

    def falls(self, candidate: int) -> tuple[Floats, Codes]:
        """Give by how much the penalty of a record falls in each part, and how many records that are."""
        return np.empty(0), np.empty(0, dtype=np.int64)

    @property
    def certain(self) -> Floats:
        """What of the gain of each open candidate is certainty."""
        found = [np.dot(*self.falls(candidate)) for candidate in self.candidates.tolist()]
        return np.array(found, dtype=np.float64) * self.worth.certainty / max(self.worth.records, 1)

    def values(self, candidates: Codes, gains: Floats) -> list[Floats]:
        """Give what each candidate shows each record of its parts."""
        found = []
        for candidate, gain in zip(candidates.tolist(), gains.tolist(), strict=True):
            falls, records = self.falls(candidate)
            certain = self.worth.certainty * falls
            told = (gain * self.worth.records - certain @ records) / max(records.sum(), 1)
            found.append(told + certain)
        return found


Cuts = tuple[Cut, ...]
"""A state of the descent: one cut an attribute, in the order of the run."""
Candidate = tuple[int, int]
"""Position of the attribute, and the candidate's id within it."""


def refined(cuts: Cuts, candidate: Candidate) -> Cuts:
    """Give the state after a candidate."""
    attribute, chosen = candidate
    return (*cuts[:attribute], cuts[attribute].refine(chosen), *cuts[attribute + 1 :])


class ClosedCut(Cut):
    """A cut in which nothing can be refined here."""


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

    Node 0 is the symbol, node ``code + 1`` a value; candidates are the codes still suppressed. The operator
    takes one value out of Sup_j (Wang, Fung, Yu 2005, section 4). T[bottom_j] holds exactly the records whose
    value is still in Sup_j, so gains follow from ``counts`` alone.
    """

    counts: Counts  # records by value code and class
    left: Counts  # of the suppressed values, by class
    order: Codes  # place of each value in the order of disclosure, from 1; 0 for a suppressed one
    disclosed: int = 0
    worth: Worth = LITERAL
    disjoint = False

    @classmethod
    def top(cls, counts: Counts, worth: Worth = LITERAL) -> SuppressionCut:
        """Give the most general cut: every value is suppressed."""
        return cls(counts, counts.sum(axis=0), np.zeros(len(counts), dtype=np.int64), worth=worth)

    @property
    def parts(self) -> Codes:
        return self.order

    @cached_property
    def nodes(self) -> Codes:
        return np.asarray(np.where(self.order == 0, 0, np.arange(1, len(self.order) + 1)))

    @property
    def suppressed(self) -> Codes:
        """Codes of the values that still share the suppressed symbol, in value order."""
        return np.flatnonzero(self.order == 0)

    @cached_property
    def candidates(self) -> Codes:
        return self.suppressed if self.is_beneficial(self.left) else np.empty(0, dtype=np.int64)

    @cached_property
    def gains(self) -> Floats:
        return self.gains_beside(self.left, self.counts[self.candidates])

    @cached_property
    def smallest(self) -> Codes:
        part = self.counts[self.candidates].sum(axis=1)
        rest = self.left.sum() - part
        return np.asarray(np.where(rest > 0, np.minimum(part, rest), part))  # an empty rest is no part

    def values(self, candidates: Codes, gains: Floats) -> list[Floats]:
        # The symbol tells nothing: else it would pay to leave out the records of a class.
        shown = self.counts[candidates].sum(axis=1)
        return list((gains * self.worth.records / np.maximum(shown, 1))[:, None])

    @property
    def certain(self) -> Floats:
        shown = self.counts[self.candidates].sum(axis=1)
        return np.asarray(shown * self.worth.certainty / max(self.worth.records, 1))

    def is_beneficial(self, left: Counts) -> bool:
        """Whether it may gain anything to disclose some of what is suppressed then, by class."""
        return not self.worth.literal or bool(np.count_nonzero(left) > 1)

    def gains_beside(self, left: Counts, parts: Counts) -> Floats:
        """Give what it gains to take some parts out of what is suppressed then; both by class."""
        shown, records = parts.sum(axis=1), left.sum()
        told = np.zeros(len(parts))
        if self.worth.literal or self.worth.information:
            told = explained_by_halves(left, parts)
        chance = by_chance(np.where(shown < records, 2, 1), max(np.count_nonzero(left), 1))
        chance = chance + np.log2(max(len(self.counts), 1))  # one of so many values is chosen
        return self.worth.gains(told, chance, records, shown)

    def refine(self, candidate: int) -> SuppressionCut:
        return self.disclose([candidate])

    def disclose(self, codes: Sequence[int] | Codes) -> SuppressionCut:
        """Give the cut in which further values are disclosed."""
        chosen = np.asarray(codes, dtype=np.int64)
        left = self.left - self.counts[chosen].sum(axis=0)
        disclosed = self.disclosed + len(chosen)
        order = self.order.copy()
        order[chosen] = np.arange(self.disclosed + 1, disclosed + 1)
        return replace(self, left=left, order=order, disclosed=disclosed)

    def split(self, candidate: int) -> Sequence[Codes]:
        return (np.array([candidate], dtype=np.int64),)

    def specialization(self, candidate: int) -> tuple[int, Sequence[int]]:
        return 0, (candidate + 1,)
