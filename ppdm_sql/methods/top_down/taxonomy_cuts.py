"""Cuts through a taxonomy: the operator specializes a node into all its children.

Source: Fung, Wang, Yu 2005, "Top-Down Specialization for Information and Privacy Preservation", ICDE,
section 3; Wang, Fung, Dong 2005, slides 11 to 13.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.methods.base.arrays import Codes, Counts, Floats
from ppdm_sql.methods.top_down.cuts import Cut
from ppdm_sql.methods.top_down.score import total_entropy


@dataclass(frozen=True, eq=False)
class TaxonomyTree:
    """A taxonomy over the values of one column; nodes come before their children, node 0 is the root.

    Args:
        children: For each node its children, none for a leaf.
        ranks: For each node its place in the order of labels, by code point.
        leaf_of_code: For each value code the leaf that it is.
        counts: Records per value code and class, shape (values, classes).
    """

    children: tuple[tuple[int, ...], ...]
    ranks: Codes
    leaf_of_code: Codes
    counts: Counts

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
        """Nodes that have children and records of more than one class."""
        inner = np.array([bool(children) for children in self.children])
        return np.asarray(inner & (np.count_nonzero(self.classes, axis=1) > 1))

    @cached_property
    def gains(self) -> Floats:
        """InfoGain of specializing each node (slide 14), 0 where that is not beneficial."""
        entropies = total_entropy(self.classes)
        left = np.zeros(len(self.children))
        left[self.groups] = [entropies[list(self.children[node])].sum() for node in self.groups]
        gained = np.maximum(entropies - left, 0.0) / np.maximum(self.records, 1)
        return np.asarray(np.where(self.beneficial, gained, 0.0))

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
    """A cut: every value is shown as one of its ancestors, or as itself. Candidates are nodes shown.

    Args:
        tree: The taxonomy.
        shown: For each value code, the node shown.
    """

    tree: TaxonomyTree
    shown: Codes

    @property
    def nodes(self) -> Codes:
        return self.shown

    @classmethod
    def top(cls, tree: TaxonomyTree) -> TaxonomyCut:
        """Give the most general cut, which shows the root for every value."""
        return cls(tree, np.zeros(len(tree.leaf_of_code), dtype=np.int64))

    @cached_property
    def parts(self) -> Codes:
        return np.asarray(np.unique(self.nodes, return_inverse=True)[1].ravel())

    @cached_property
    def candidates(self) -> Codes:
        shown = np.unique(self.nodes)
        shown = shown[self.tree.beneficial[shown]]
        return np.asarray(shown[np.argsort(self.tree.ranks[shown])])  # in the order of their labels

    @property
    def gains(self) -> Floats:
        return np.asarray(self.tree.gains[self.candidates])

    @property
    def smallest(self) -> Codes:
        return np.asarray(self.tree.smallest[self.candidates])

    def refine(self, candidate: int) -> TaxonomyCut:
        nodes = self.nodes.copy()
        self._open(nodes, candidate)
        return TaxonomyCut(self.tree, nodes)

    def _open(self, nodes: Codes, node: int) -> None:
        for child in self.tree.children[node]:
            nodes[self.tree.codes[child]] = child

    def split(self, candidate: int) -> Sequence[Codes]:
        parts = [self.tree.codes[child] for child in self.tree.children[candidate]]
        return [codes for codes in parts if len(codes)]

    def specialization(self, candidate: int) -> tuple[int, Sequence[int]]:
        return candidate, self.tree.children[candidate]

    def reachable(self, alive: NDArray[np.bool_]) -> Codes:
        nodes = self.nodes.copy()  # every node still alive is specialized, from those shown down
        waiting = np.unique(nodes).tolist()
        for node in waiting:
            if alive[node] and self.tree.beneficial[node]:
                self._open(nodes, node)
                waiting.extend(self.tree.children[node])
        return np.asarray(np.unique(nodes, return_inverse=True)[1].ravel())
