"""How one attribute may be refined: its cut, the candidates that are open, and what each would gain.

The loop knows an attribute only through :class:`Cut`: values are disclosed one by one, or nodes of a taxonomy
specialized; cuts into intervals that are grown during the run stand in a module of their own.

A step gains information about the class and certainty: by how much the normalized certainty penalty falls. By
the papers' score it gains information alone, and is beneficial while a part holds more than one class; else
if it gains anything. The penalty of a cell is the share of its column's domain that its label leaves open:
(leaves below the node - 1) / (all leaves - 1) in a taxonomy, width / range for an interval, 1 for the
suppressed symbol. That of a table is the mean over its records and masked columns, each by its weight.

Sources: Wang, Fung, Yu 2005, section 4, for suppression; Fung, Wang, Yu 2005, section 3, and Wang, Fung, Dong
2005, slides 11 to 14, for taxonomies; Xu, Wang, Pei, Wang, Shi, Fu 2006, "Utility-Based
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
from ppdm_sql.methods.top_down.score import LITERAL, Worth, by_chance, explained_by_halves, total_entropy

CERTAINTY = "certainty"
"""What a run without a class gains, in one word."""


class Cut(ABC):
    """The state of one attribute: a partition of its values, and the ways to refine it. Immutable.

    Unless a kind of cut says otherwise, it has no candidates for a refinement.
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

    def refine(self, candidate: int) -> Cut:
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
    def certainties(self) -> Floats:
        """What of the gain of each open candidate is certainty."""
        gains = [np.dot(*self.falls(candidate)) for candidate in self.candidates.tolist()]
        return np.array(gains, dtype=np.float64) * self.worth.certainty / max(self.worth.records, 1)

    def values(self, candidates: Codes, gains: Floats) -> list[Floats]:
        """Give what each candidate shows each record of its parts."""
        values = []
        for candidate, gain in zip(candidates.tolist(), gains.tolist(), strict=True):
            falls, records = self.falls(candidate)
            certainty = self.worth.certainty * falls
            information = (gain * self.worth.records - certainty @ records) / max(records.sum(), 1)
            values.append(information + certainty)
        return values


Cuts = tuple[Cut, ...]
"""A state of the descent: one cut an attribute, in the order of the run."""
Candidate = tuple[int, int]
"""Position of the attribute, and the candidate's id within it."""


def with_cut(cuts: Cuts, attribute: int, cut: Cut) -> Cuts:
    return (*cuts[:attribute], cut, *cuts[attribute + 1 :])


def refine(cuts: Cuts, candidate: Candidate) -> Cuts:
    attribute, id = candidate
    return with_cut(cuts, attribute, cuts[attribute].refine(id))


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
    suppressed_counts: Counts  # records of the suppressed values, by class
    order: Codes  # place of each value in the order of disclosure, from 1; 0 for a suppressed one
    disclosed_count: int = 0
    worth: Worth = LITERAL
    disjoint = False

    @classmethod
    def top(cls, counts: Counts, worth: Worth = LITERAL) -> SuppressionCut:
        return cls(counts, counts.sum(axis=0), np.zeros(len(counts), dtype=np.int64), worth=worth)

    @property
    def parts(self) -> Codes:
        return self.order

    @cached_property
    def nodes(self) -> Codes:
        return np.asarray(np.where(self.order == 0, 0, np.arange(1, len(self.order) + 1)))

    @property
    def suppressed(self) -> Codes:
        return np.flatnonzero(self.order == 0)

    @cached_property
    def candidates(self) -> Codes:
        return self.suppressed if self.is_beneficial(self.suppressed_counts) else np.empty(0, dtype=np.int64)

    @cached_property
    def gains(self) -> Floats:
        return self.gains_beside(self.suppressed_counts, self.counts[self.candidates])

    @cached_property
    def smallest(self) -> Codes:
        part = self.counts[self.candidates].sum(axis=1)
        rest = self.suppressed_counts.sum() - part
        return np.asarray(np.where(rest > 0, np.minimum(part, rest), part))  # an empty rest is not part

    def values(self, candidates: Codes, gains: Floats) -> list[Floats]:
        # The symbol tells nothing: else it would pay to leave out the records of a class.
        sizes = self.counts[candidates].sum(axis=1)
        return list((gains * self.worth.records / np.maximum(sizes, 1))[:, None])

    @property
    def certainties(self) -> Floats:
        sizes = self.counts[self.candidates].sum(axis=1)
        return np.asarray(sizes * self.worth.certainty / max(self.worth.records, 1))

    def is_beneficial(self, suppressed: Counts) -> bool:
        """Whether it may gain anything to disclose some of what is suppressed then, by class."""
        return not self.worth.literal or bool(np.count_nonzero(suppressed) > 1)

    def gains_beside(self, suppressed: Counts, parts: Counts) -> Floats:
        """Give what it gains to take some parts out of what is suppressed then; both by class."""
        sizes, records = parts.sum(axis=1), suppressed.sum()
        explained = np.zeros(len(parts))
        if self.worth.literal or self.worth.information:
            explained = explained_by_halves(suppressed, parts)
        chance = by_chance(np.where(sizes < records, 2, 1), max(np.count_nonzero(suppressed), 1))
        chance = chance + np.log2(max(len(self.counts), 1))  # one of so many values is chosen
        return self.worth.gains(explained, chance, records, sizes)

    def refine(self, candidate: int) -> SuppressionCut:
        return self.disclose([candidate])

    def disclose(self, codes: Sequence[int] | Codes) -> SuppressionCut:
        values = np.asarray(codes, dtype=np.int64)
        suppressed = self.suppressed_counts - self.counts[values].sum(axis=0)
        number = self.disclosed_count + len(values)
        order = self.order.copy()
        order[values] = np.arange(self.disclosed_count + 1, number + 1)
        return replace(self, suppressed_counts=suppressed, order=order, disclosed_count=number)

    def split(self, candidate: int) -> Sequence[Codes]:
        return (np.array([candidate], dtype=np.int64),)

    def specialization(self, candidate: int) -> tuple[int, Sequence[int]]:
        return 0, (candidate + 1,)


# -- through a taxonomy ---------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class TaxonomyTree:
    """A taxonomy over the values of one column; nodes come before their children, node 0 is the root."""

    children: tuple[tuple[int, ...], ...]  # of each node, none for a leaf
    ranks: Codes  # of each node, its place in the order of labels, by code point
    leaf_of_code: Codes
    counts: Counts  # records by value code and class
    worth: Worth = LITERAL

    @cached_property
    def groups(self) -> Sequence[int]:
        """The nodes that have children, each after those below it."""
        return [node for node in reversed(range(len(self.children))) if self.children[node]]

    @cached_property
    def classes(self) -> Counts:
        classes = np.zeros((len(self.children), self.counts.shape[1]), dtype=np.int64)
        np.add.at(classes, self.leaf_of_code, self.counts)
        for node in self.groups:
            classes[node] += classes[list(self.children[node])].sum(axis=0)
        return classes

    @cached_property
    def records(self) -> Codes:
        return np.asarray(self.classes.sum(axis=1))

    @cached_property
    def codes(self) -> tuple[Codes, ...]:
        by_node = np.argsort(self.leaf_of_code, kind="stable")
        ends = np.searchsorted(self.leaf_of_code, np.arange(1, len(self.children)), sorter=by_node)
        codes: list[Codes] = np.split(by_node, ends)
        for node in self.groups:
            codes[node] = np.concatenate([codes[node], *(codes[child] for child in self.children[node])])
        return tuple(codes)

    @cached_property
    def beneficial(self) -> NDArray[np.bool_]:
        """Nodes that gain anything; in the papers, inner ones whose records are of more than one class."""
        if not self.worth.literal:
            return np.asarray(self.gains > 0)
        inner = np.array([bool(children) for children in self.children])
        return np.asarray(inner & (np.count_nonzero(self.classes, axis=1) > 1))

    @cached_property
    def gains(self) -> Floats:
        before = np.stack([total_entropy(self.classes), self.records * self.penalties, self.records > 0])
        falls, parts = np.zeros((2, len(self.children))), np.ones(len(self.children))
        for node in self.groups:
            below = before[:, list(self.children[node])].sum(axis=1)
            falls[:, node] = (before[:, node] - below)[:2]
            parts[node] = max(below[2], 1)
        explained, penalty_falls = np.maximum(falls, 0.0)
        chance = by_chance(parts, np.maximum(np.count_nonzero(self.classes, axis=1), 1))
        gains = self.worth.gains(explained, chance, self.records, penalty_falls)
        return np.asarray(np.where(self.beneficial, gains, 0.0)) if self.worth.literal else gains

    @cached_property
    def penalties(self) -> Floats:
        """What each node leaves open, in [0, 1]: (leaves below - 1) / (all leaves - 1)."""
        below = np.array([not children for children in self.children], dtype=np.int64)
        for node in self.groups:
            below[node] += below[list(self.children[node])].sum()
        return np.asarray((below - 1) / max(below[0] - 1, 1))

    @cached_property
    def smallest(self) -> Codes:
        """For each node, the records of its smallest child that has any; 0 for a leaf."""
        smallest = np.zeros(len(self.children), dtype=np.int64)
        for node in self.groups:
            records = self.records[list(self.children[node])]
            smallest[node] = min(records[records > 0], default=0)
        return smallest


@dataclass(frozen=True, eq=False)
class TaxonomyCut(Cut):
    """A cut: every value is shown as one of its ancestors, or as itself. Candidates are nodes shown."""

    tree: TaxonomyTree
    node_of_code: Codes

    @property
    def worth(self) -> Worth:  # type: ignore[override]
        return self.tree.worth

    @property
    def nodes(self) -> Codes:
        return self.node_of_code

    @classmethod
    def top(cls, tree: TaxonomyTree) -> TaxonomyCut:
        return cls(tree, np.zeros(len(tree.leaf_of_code), dtype=np.int64))

    @cached_property
    def parts(self) -> Codes:
        return _number_parts(self.node_of_code)

    @cached_property
    def candidates(self) -> Codes:
        nodes = np.unique(self.node_of_code)
        nodes = nodes[self.tree.beneficial[nodes]]
        return np.asarray(nodes[np.argsort(self.tree.ranks[nodes])])  # in the order of their labels

    @property
    def gains(self) -> Floats:
        return np.asarray(self.tree.gains[self.candidates])

    @property
    def smallest(self) -> Codes:
        return np.asarray(self.tree.smallest[self.candidates])

    def refine(self, candidate: int) -> TaxonomyCut:
        nodes = self.node_of_code.copy()
        self._open(nodes, candidate)
        return TaxonomyCut(self.tree, nodes)

    def _open(self, nodes: Codes, node: int) -> None:
        for child in self.tree.children[node]:
            nodes[self.tree.codes[child]] = child

    def split(self, candidate: int) -> Sequence[Codes]:
        parts = [self.tree.codes[child] for child in self.tree.children[candidate]]
        return [codes for codes in parts if len(codes)]

    def falls(self, candidate: int) -> tuple[Floats, Codes]:
        children = [child for child in self.tree.children[candidate] if len(self.tree.codes[child])]
        return self.tree.penalties[candidate] - self.tree.penalties[children], self.tree.records[children]

    def specialization(self, candidate: int) -> tuple[int, Sequence[int]]:
        return candidate, self.tree.children[candidate]


def _number_parts(nodes: Codes) -> Codes:
    return np.asarray(np.unique(nodes, return_inverse=True)[1].ravel())


# -- what records show, where it is weighed against leaving them out -------------------------------


class ShownDetail:
    """What the labels of each attribute show of its values, by value code; 0 in the most general state."""

    def __init__(self, counts: Sequence[Counts], weights: Sequence[float], worth: Worth) -> None:
        self._records = [each.sum(axis=1) for each in counts]
        self._weights = weights
        classes = max(each.shape[1] for each in counts)
        bits = np.log2(max(classes, 2)) + np.log2(worth.records + 2) + 2  # the latter of a rare value
        self.more = max(weights) * (worth.information * bits + worth.certainty)
        """What a step shows a record at most."""
        self.by_code = [np.zeros(len(each)) for each in self._records]

    @property
    def total(self) -> float:
        """What all records together show, those that are left out as well, as a mean."""
        sums = [records @ each for records, each in zip(self._records, self.by_code, strict=True)]
        return float(sum(sums)) / max(int(self._records[0].sum()), 1)

    def values(self, attribute: int, cut: Cut, candidates: Codes, gains: Floats) -> list[Floats]:
        return [parts * self._weights[attribute] for parts in cut.values(candidates, gains)]

    def perform(self, attribute: int, cut: Cut, candidates: Sequence[int], gains: Floats) -> None:
        """Let the records of candidates show more."""
        values = self.values(attribute, cut, np.array(candidates), gains)
        for candidate, more in zip(candidates, values, strict=True):
            self.by_code[attribute] = add_detail(self.by_code[attribute], cut, candidate, more)


def add_detail(by_code: Floats, cut: Cut, candidate: int, values: Floats) -> Floats:
    after = by_code.copy()
    for codes, value in zip(cut.split(candidate), values, strict=True):
        after[codes] += value
    return after
