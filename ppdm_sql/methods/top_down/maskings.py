"""How attributes are masked in a run: by suppression, by a taxonomy, by grown intervals, or not at all.

A masking knows the tree of one attribute: its most general cut, the labels of its nodes, and how much of a
value each node gives away. Labels are made in SQL, so that no value passes through here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from ppdm_sql.methods.base.arrays import Codes, Counts, Floats
from ppdm_sql.methods.base.collapse import Dictionary
from ppdm_sql.methods.top_down.cuts import Cut, FixedCut, SuppressionCut, TaxonomyCut, TaxonomyTree
from ppdm_sql.methods.top_down.interval_cuts import ClassHistogram, IntervalCut, Tails
from ppdm_sql.methods.top_down.score import LITERAL, Worth
from ppdm_sql.release import Treatment
from ppdm_sql.taxonomy.model import Taxonomy

Label = tuple[int, str | None, str | None, str | None, bool | None]
"""Node, label, and for an interval the texts of its bounds and whether the upper one is included."""
ANY = "any value"
"""What stands for the values of a column that is open at both ends."""


class Masking(ABC):
    """The way one attribute is masked, with the tree of its nodes."""

    dictionary: Dictionary
    counts: Counts  # records by value code and class

    @property
    def treatment(self) -> Treatment | None:
        """What the release says of the column; None where it may not be masked."""
        return None

    @property
    @abstractmethod
    def top(self) -> Cut:
        """The most general cut."""

    @property
    def ids(self) -> int:
        """Number of candidate ids: one a value, unless a masking says otherwise."""
        return len(self.counts)

    @property
    def root(self) -> int:
        """The node that stands for all values."""
        return 0

    @property
    def labels(self) -> Sequence[Label]:
        """Labels of nodes that are known without the data."""
        return ()

    @abstractmethod
    def is_whole(self, cut: Cut) -> bool:
        """Whether a cut shows every value as it is."""

    def order(self, node: int) -> tuple[int, ...]:
        """Sort the nodes of the tree so that each comes before its descendants, in value order."""
        return (node,)

    def nodes(self, children_of: Mapping[int, Sequence[int]]) -> list[tuple[int, int | None]]:
        """Give the nodes that a release keeps, with their parents: the root, and what the run made of it."""
        pairs = [(child, parent) for parent, children in children_of.items() for child in children]
        return [(self.root, None), *pairs]

    @abstractmethod
    def losses(self, nodes: Codes) -> Floats:
        """Share of a value's detail that each node hides, in [0, 1]."""

    def too_few(self, least: int) -> str | None:
        """Say what of the first step has fewer records than any class may; None where nothing has."""
        return None


@dataclass(frozen=True, eq=False)
class Fixed(Masking):
    """An attribute that groups records and stays in the clear."""

    dictionary: Dictionary
    counts: Counts

    @cached_property
    def top(self) -> Cut:
        return FixedCut(len(self.counts))

    def is_whole(self, cut: Cut) -> bool:
        return True

    def nodes(self, children_of: Mapping[int, Sequence[int]]) -> list[tuple[int, int | None]]:
        return []  # there is no tree

    def losses(self, nodes: Codes) -> Floats:
        return np.zeros(len(nodes))


@dataclass(frozen=True, eq=False)
class Suppression(Masking):
    """Values are hidden behind the symbol, node 0, and disclosed one by one (Wang, Fung, Yu 2005)."""

    dictionary: Dictionary
    counts: Counts
    symbol: str
    worth: Worth = LITERAL
    treatment: ClassVar[Treatment] = "suppressed"

    @cached_property
    def top(self) -> Cut:
        return SuppressionCut.top(self.counts, self.worth)

    @property
    def labels(self) -> Sequence[Label]:
        return [(0, self.symbol, None, None, None)]  # values are their own labels

    def is_whole(self, cut: Cut) -> bool:
        return bool((cut.nodes > 0).all())

    def losses(self, nodes: Codes) -> Floats:
        return np.asarray((nodes == 0) * 1.0)

    def too_few(self, least: int) -> str | None:
        most = self.counts.sum(axis=1).max(initial=0)
        return f"none of its values has {least} records" if most < least else None


@dataclass(frozen=True, eq=False)
class Generalization(Masking):
    """Values are shown as their ancestors in a taxonomy (Fung, Wang, Yu 2005)."""

    dictionary: Dictionary
    counts: Counts
    taxonomy: Taxonomy
    leaves: Codes  # of each value code; NULL, which no taxonomy has, is -1
    by_interval: bool = False  # whether the leaves are intervals of an ordered column, not values
    worth: Worth = LITERAL
    tail_bounds: tuple[str | None, str | None] = (None, None)  # of the lower and upper tail, which are leaves
    treatment: ClassVar[Treatment] = "generalized"

    @cached_property
    def _parents(self) -> tuple[int, ...]:
        return (*self.taxonomy.parents, *([0] if self.dictionary.has_null else []))

    @cached_property
    def tree(self) -> TaxonomyTree:
        children: list[list[int]] = [[] for _ in self._parents]
        for node, parent in enumerate(self._parents):
            if parent >= 0:
                children[parent].append(node)
        labels = self.taxonomy.labels
        order = sorted(range(len(labels)), key=lambda node: labels[node])
        ranks = np.full(len(children), len(children), dtype=np.int64)
        ranks[order] = np.arange(len(order))
        leaves = np.where(self.leaves < 0, len(labels), self.leaves)
        return TaxonomyTree(tuple(map(tuple, children)), ranks, leaves, self.counts, self.worth)

    @cached_property
    def top(self) -> Cut:
        return TaxonomyCut.top(self.tree)

    @property
    def ids(self) -> int:
        return len(self._parents)  # one a node

    @property
    def labels(self) -> Sequence[Label]:
        pairs = zip(self.taxonomy.labels, self.taxonomy.intervals, strict=True)
        labels: list[Label] = [
            (node, label, *(interval if interval and self.by_interval else (None, None, None)))
            for node, (label, interval) in enumerate(pairs)
        ]
        return [*labels, (len(labels), None, None, None, None)] if self.dictionary.has_null else labels

    def is_whole(self, cut: Cut) -> bool:
        # Every text is its own label; values of other types are shown as the taxonomy writes them.
        texts = self.dictionary.column.type == "VARCHAR"
        return texts and bool((cut.nodes == self.tree.leaf_of_code).all())

    def nodes(self, children_of: Mapping[int, Sequence[int]]) -> list[tuple[int, int | None]]:
        # The whole taxonomy, so that new records can be generalized too.
        return [(node, None if parent < 0 else parent) for node, parent in enumerate(self._parents)]

    def losses(self, nodes: Codes) -> Floats:
        """(leaves below a node - 1) / (all leaves - 1), as Iyengar 2002 does."""
        return np.asarray(self.tree.penalties[nodes])

    def too_few(self, least: int) -> str | None:
        records = self.tree.records[list(self.tree.children[0])]
        groups, few = np.count_nonzero(records), np.count_nonzero((records > 0) & (records < least))
        of, have = f"of the {groups} groups below {self.taxonomy.labels[0]!r}", "has" if few == 1 else "have"
        return f"{few} {of} {have} fewer than {least} records" if few else None


@dataclass(frozen=True, eq=False)
class Intervals(Masking):
    """Values of an ordered column are shown as intervals, which are grown during the run."""

    dictionary: Dictionary
    histogram: ClassHistogram  # the column's values by class; candidate ids are their boundaries
    symbol: str  # stands for all values where NULL is one of them
    range: tuple[str, str] | None = None  # texts of the bounds of the column; None for the observed ones
    tails: Tails | None = None  # one of the histogram's rules
    treatment: ClassVar[Treatment] = "generalized"

    @property
    def counts(self) -> Counts:  # type: ignore[override]
        return self.histogram.counts

    @cached_property
    def top(self) -> Cut:
        return IntervalCut.top(self.histogram)

    @property
    def root(self) -> int:
        return self.histogram.node(0, self.histogram.size)

    def is_whole(self, cut: Cut) -> bool:
        return False  # an interval is never a value

    @property
    def tail_bounds(self) -> tuple[str | None, str | None]:
        return (None, None) if self.tails is None else self.tails.bounds

    def too_few(self, least: int) -> str | None:
        return None if len(self.top.candidates) else f"no boundary leaves {least} records on both sides"

    def label_of_all(self, cut: Cut) -> str:
        """Give what stands for all values without bounds: the symbol, until NULL has left."""
        whole = self.dictionary.has_null and bool((cut.nodes == self.root).all())
        return self.symbol if whole or None in self.tail_bounds else ANY

    def order(self, node: int) -> tuple[int, ...]:
        low, high = self.histogram.bounds(node)
        return low, -high  # by the lower bound, the longer first

    def losses(self, nodes: Codes) -> Floats:
        """Width / range; of an interval with NULL 1, of NULL alone 0."""
        places = self.histogram.places
        low, high = np.divmod(nodes, self.histogram.size + 1)
        width = places[np.minimum(high, len(places) - 1)] - places[low]
        return np.asarray(np.where(high < len(places), width, (low == 0) & (high > 1)), dtype=np.float64)
