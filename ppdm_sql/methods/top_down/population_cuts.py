"""Cuts over the values of a population, some of which the source does not have.

The codes of an attribute are those of the source, and behind them further ones. What a value that only the
population has is shown as follows from the labels alone: a leaf of a taxonomy as the node above it, a number
between two others as their interval, in a suppressed column as the symbol. What no label holds is in no class
of the release, but for the most general label where that holds everything.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ppdm_sql.methods.base.arrays import Codes
from ppdm_sql.methods.top_down.cuts import ClosedCut, Cut
from ppdm_sql.methods.top_down.interval_cuts import IntervalCut
from ppdm_sql.methods.top_down.taxonomy_cuts import TaxonomyCut, TaxonomyTree

UNKNOWN = -1
"""Leaf of a value that a taxonomy lacks."""


class Widening(ABC):
    """How the cuts of one attribute reach over the values of a population.

    Args:
        size: Number of values of the source.
        extra: Number of codes behind them.
    """

    size: int
    extra: int

    @abstractmethod
    def parts(self, cut: Cut) -> Codes:
        """Give the part of each code, those of the population's own values too."""

    @abstractmethod
    def split(self, cut: Cut, candidate: int) -> Sequence[Codes]:
        """Give the codes of each part that a candidate makes, as :meth:`Cut.split` does."""

    def horizon(self, parts: Codes) -> Codes:
        """Tell the population's own values apart, beside the parts of the others."""
        first = int(parts.max(initial=-1)) + 1
        return np.concatenate([parts, np.arange(first, first + self.extra)])


@dataclass(frozen=True, eq=False)
class PopulationCut(ClosedCut):
    """A cut as a grouping sees it that counts a population too."""

    cut: Cut
    widening: Widening
    disjoint: bool

    @cached_property
    def parts(self) -> Codes:
        return self.widening.parts(self.cut)

    @property
    def nodes(self) -> Codes:
        return self.parts

    def split(self, candidate: int) -> Sequence[Codes]:
        return self.widening.split(self.cut, candidate)


@dataclass(frozen=True)
class Unmasked(Widening):
    """Values stay in the clear: one that the source lacks is in no class."""

    size: int
    extra: int = 1

    def parts(self, cut: Cut) -> Codes:
        return np.append(cut.parts, self.size)

    def split(self, cut: Cut, candidate: int) -> Sequence[Codes]:
        return cut.split(candidate)


@dataclass(frozen=True)
class Suppressed(Widening):
    """A value that the source lacks is never disclosed: the symbol stands for it, too."""

    size: int
    extra: int = 1

    def parts(self, cut: Cut) -> Codes:
        return np.append(cut.parts, 0)

    def split(self, cut: Cut, candidate: int) -> Sequence[Codes]:
        return cut.split(candidate)


@dataclass(frozen=True)
class Grown(Widening):
    """A value between two others is in their interval; one outside is shown by the symbol alone.

    Args:
        size: Number of values of the source, NULL included.
        symbol: Whether the most general label is the symbol, which stands for everything, and no interval.
    """

    size: int
    symbol: bool
    extra: int = 1

    def _holds_all(self, cut: Cut) -> bool:
        assert isinstance(cut, IntervalCut)
        return self.symbol and len(cut.boundaries) == 2  # noqa: PLR2004 - one interval

    def parts(self, cut: Cut) -> Codes:
        return np.append(cut.parts, 0 if self._holds_all(cut) else int(cut.parts.max(initial=-1)) + 1)

    def split(self, cut: Cut, candidate: int) -> Sequence[Codes]:
        outside = [np.array([self.size])] if self._holds_all(cut) else []
        return [*cut.split(candidate), *outside]


@dataclass(frozen=True, eq=False)
class Generalized(Widening):
    """A leaf that no value of the source is; behind them what no leaf holds, and what no label does.

    Args:
        size: Number of values of the source.
        extra: One for each leaf, one for what is below the root alone, one for what is outside.
        tree: The taxonomy over the values of the source.
        leaves: The leaves that have codes of their own, behind those of the source.
    """

    size: int
    extra: int
    tree: TaxonomyTree
    leaves: Codes

    @classmethod
    def of(cls, tree: TaxonomyTree, leaves: Codes) -> Generalized:
        """Give some leaves codes of their own."""
        return cls(len(tree.leaf_of_code), len(leaves) + 2, tree, leaves)

    @cached_property
    def _wide(self) -> TaxonomyTree:
        """The taxonomy with a further child of the root for what no leaf holds."""
        below = len(self.tree.children)
        children = ((*self.tree.children[0], below), *self.tree.children[1:], ())
        codes = np.concatenate([self.tree.leaf_of_code, self.leaves, [below]])
        counts = np.zeros((len(codes), 1), dtype=np.int64)
        return TaxonomyTree(children, np.arange(len(children)), codes, counts)

    @cached_property
    def _levels(self) -> list[tuple[Codes, Codes]]:
        """The nodes of each level below the root, with their parents."""
        levels: list[tuple[Codes, Codes]] = []
        above = [0]
        while above:
            pairs = [(child, node) for node in above for child in self._wide.children[node]]
            above = [child for child, _ in pairs]
            levels += [(np.array(above), np.array([node for _, node in pairs]))] if pairs else []
        return levels

    @cached_property
    def _empty(self) -> Codes:
        """Whether no value of the source is below a node, which is never specialized then."""
        return np.array([not len(codes) for codes in self.tree.codes] + [True])

    def _shown(self, cut: Cut) -> Codes:
        """Give the node that is shown for each leaf of the population."""
        assert isinstance(cut, TaxonomyCut)
        is_shown = self._empty.copy()
        is_shown[np.unique(cut.nodes)] = True
        shown = np.full(len(is_shown), -1)
        shown[0] = 0 if is_shown[0] else -1
        for nodes, parents in self._levels:
            own = np.where(is_shown[nodes], nodes, -1)
            shown[nodes] = np.where(shown[parents] >= 0, shown[parents], own)
        return np.asarray(shown[self._wide.leaf_of_code[self.size :]])

    def parts(self, cut: Cut) -> Codes:
        shown = np.concatenate([cut.nodes, self._shown(cut), [len(self._wide.children)]])
        return np.asarray(np.unique(shown, return_inverse=True)[1].ravel())

    def split(self, cut: Cut, candidate: int) -> Sequence[Codes]:
        parts = [self._wide.codes[child] for child in self._wide.children[candidate]]
        return [codes for codes in parts if len(codes)]
