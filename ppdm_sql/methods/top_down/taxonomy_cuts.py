"""Cuts through a taxonomy: the operator specializes a node into all its children.

Source: Fung, Wang, Yu 2005, "Top-Down Specialization for Information and Privacy Preservation", ICDE,
section 3; Wang, Fung, Dong 2005, slides 11 to 14.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.methods.base.arrays import Codes, Counts, Floats
from ppdm_sql.methods.top_down.cuts import Cut
from ppdm_sql.methods.top_down.score import LITERAL, Worth, by_chance, total_entropy


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
        """Records per node and class."""
        classes = np.zeros((len(self.children), self.counts.shape[1]), dtype=np.int64)
        np.add.at(classes, self.leaf_of_code, self.counts)
        for node in self.groups:
            classes[node] += classes[list(self.children[node])].sum(axis=0)
        return classes

    @cached_property
    def records(self) -> Codes:
        """Records per node."""
        return np.asarray(self.classes.sum(axis=1))

    @cached_property
    def codes(self) -> tuple[Codes, ...]:
        """For each node, the value codes below it."""
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
        """What it gains to specialize each node."""
        before = np.stack([total_entropy(self.classes), self.records * self.penalties, self.records > 0])
        gained, parts = np.zeros((2, len(self.children))), np.ones(len(self.children))
        for node in self.groups:
            below = before[:, list(self.children[node])].sum(axis=1)
            gained[:, node] = (before[:, node] - below)[:2]
            parts[node] = max(below[2], 1)
        told, fallen = np.maximum(gained, 0.0)
        chance = by_chance(parts, np.maximum(np.count_nonzero(self.classes, axis=1), 1))
        gains = self.worth.gains(told, chance, self.records, fallen)
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
    shown: Codes

    @property
    def worth(self) -> Worth:  # type: ignore[override]
        return self.tree.worth

    @property
    def nodes(self) -> Codes:
        return self.shown

    @classmethod
    def top(cls, tree: TaxonomyTree) -> TaxonomyCut:
        """Give the most general cut, which shows the root for every value."""
        return cls(tree, np.zeros(len(tree.leaf_of_code), dtype=np.int64))

    @cached_property
    def parts(self) -> Codes:
        return _numbered(self.shown)

    @cached_property
    def candidates(self) -> Codes:
        shown = np.unique(self.shown)
        shown = shown[self.tree.beneficial[shown]]
        return np.asarray(shown[np.argsort(self.tree.ranks[shown])])  # in the order of their labels

    @property
    def gains(self) -> Floats:
        return np.asarray(self.tree.gains[self.candidates])

    @property
    def smallest(self) -> Codes:
        return np.asarray(self.tree.smallest[self.candidates])

    def refine(self, candidate: int) -> TaxonomyCut:
        shown = self.shown.copy()
        self._open(shown, candidate)
        return TaxonomyCut(self.tree, shown)

    def _open(self, shown: Codes, node: int) -> None:
        for child in self.tree.children[node]:
            shown[self.tree.codes[child]] = child

    def split(self, candidate: int) -> Sequence[Codes]:
        parts = [self.tree.codes[child] for child in self.tree.children[candidate]]
        return [codes for codes in parts if len(codes)]

    def falls(self, candidate: int) -> tuple[Floats, Codes]:
        held = [child for child in self.tree.children[candidate] if len(self.tree.codes[child])]
        return self.tree.penalties[candidate] - self.tree.penalties[held], self.tree.records[held]

    def specialization(self, candidate: int) -> tuple[int, Sequence[int]]:
        return candidate, self.tree.children[candidate]


def _numbered(nodes: Codes) -> Codes:
    return np.asarray(np.unique(nodes, return_inverse=True)[1].ravel())
