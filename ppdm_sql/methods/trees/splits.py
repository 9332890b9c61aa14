"""Which splits are made, by the gini index, and which are taken back, by minimum description length.

Counts of one attribute: a matrix for each node with a row a cell, one more for NULL, and a column a class.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.methods.base.arrays import Counts, Floats
from ppdm_sql.methods.trees.model import Attribute, TreeNode, children_of

TOLERANCE = 1e-12
"""Relative difference below which two splits are equally good, so that rounding decides nothing."""


@dataclass(frozen=True)
class Split:
    attribute: int  # position of the attribute
    cut: int  # numbers: cells below this one go left
    cells: tuple[int, ...]  # categories: these go left; empty for numbers
    null_left: bool  # whether NULL goes left
    left: tuple[int, ...]  # records by class that go left
    right: tuple[int, ...]  # records by class that go right


def best_splits(tables: Sequence[Counts], nominal: Sequence[bool]) -> list[Split | None]:
    """Find the split of each node that leaves least impurity; None where none leaves less than there is.

    NULL goes with the larger side of every candidate and counts there. Of splits that are equally good the
    first wins: by attribute, then by cell; so a split that falls into a gap takes its lowest boundary.
    Categories are ordered by their share of the node's most frequent class and split in two as numbers are,
    which is the best of all subsets for two classes (Breiman et al. 1984, section 4.2.2). The smaller
    side is listed.

    Source: Agrawal, Srikant 2000, section 4.1.
    """
    orders = [_CellOrder(counts, is_nominal) for counts, is_nominal in zip(tables, nominal, strict=True)]
    scores = np.concatenate([item.scores() for item in orders], axis=1)
    starts = np.cumsum([0, *(item.candidates for item in orders)])
    if not scores.shape[1]:
        return [None] * len(scores)
    best = scores.max(axis=1)
    first = (scores >= (best * (1 - TOLERANCE))[:, None]).argmax(axis=1)
    # minimizing gini_split, the records' mean of both sides' gini, is maximizing the sum of their purities
    worth = best > _purity(tables[0].sum(axis=1)) * (1 + TOLERANCE)
    attributes = np.searchsorted(starts, first, side="right") - 1
    return [
        orders[attribute].split(node, int(place - starts[attribute]), int(attribute)) if good else None
        for node, (attribute, place, good) in enumerate(zip(attributes, first, worth, strict=True))
    ]


class _CellOrder:
    """The counts of one attribute with its cells in the order in which they are split."""

    def __init__(self, counts: Counts, nominal: bool) -> None:
        self.counts, self.nulls, self.nominal = counts[:, :-1], counts[:, -1], nominal
        self.candidates = max(self.counts.shape[1] - 1, 0)
        self.order = _by_share(self.counts) if nominal else None
        if self.order is not None:
            self.counts = np.take_along_axis(self.counts, self.order[:, :, None], axis=1)
        self.left = self.counts.cumsum(axis=1)[:, :-1]
        self.right = self.counts.sum(axis=1)[:, None] - self.left
        self.left_larger = self.left.sum(axis=2) >= self.right.sum(axis=2)

    def scores(self) -> Floats:
        """Give the purity of each candidate, the more the better; -inf where a side is empty."""
        both = (self.left.sum(axis=2) > 0) & (self.right.sum(axis=2) > 0)
        left, right = self._with_nulls()
        purity = np.full(both.shape, -np.inf)
        np.add(_purity(left), _purity(right), out=purity, where=both)
        return purity

    def _with_nulls(self) -> tuple[Counts, Counts]:
        if not self.nulls.any():
            return self.left, self.right
        nulls, larger = self.nulls[:, None], self.left_larger[:, :, None]
        return self.left + nulls * larger, self.right + nulls * ~larger

    def split(self, node: int, candidate: int, attribute: int) -> Split:
        left, right = self.left[node, candidate], self.right[node, candidate]
        larger = bool(self.left_larger[node, candidate])
        left, right = left + self.nulls[node] * larger, right + self.nulls[node] * (not larger)
        counts = tuple(map(int, left)), tuple(map(int, right))
        if self.order is None:
            return Split(attribute, candidate + 1, (), larger, *counts)
        order, nonempty = self.order[node], self.counts[node].sum(axis=1) > 0
        on_side = np.arange(len(order)) > candidate if larger else np.arange(len(order)) <= candidate
        cells = tuple(sorted(map(int, order[on_side & nonempty])))
        return Split(attribute, 0, cells, False, *(counts[::-1] if larger else counts))


def _by_share(counts: Counts) -> NDArray[np.intp]:
    """Order the cells of each node by the share of its most frequent class; empty ones come last."""
    most = counts.sum(axis=1).argmax(axis=1)
    records = counts.sum(axis=2)
    of_class = np.take_along_axis(counts, most[:, None, None], axis=2)[:, :, 0]
    share = np.full(records.shape, np.inf)
    np.divide(of_class, records, out=share, where=records > 0)
    return share.argsort(axis=1, kind="stable")


def _purity(counts: Counts) -> Floats:
    """Give records times (1 - gini) over the last axis: it sums over the parts of a split."""
    squares, records = np.square(counts, dtype=np.float64).sum(axis=-1), counts.sum(axis=-1)
    return np.asarray(squares / np.maximum(records, 1))


# -- pruning ----------------------------------------------------------------------------------------


def prune(nodes: Sequence[TreeNode], attributes: Sequence[Attribute]) -> tuple[TreeNode, ...]:
    """Turn every node into a leaf whose subtree takes at least as many bits as a leaf would.

    The nodes have parents before children; those that are left are numbered anew.

    Source: Mehta, Rissanen, Agrawal 1995, "MDL-based decision tree pruning", KDD.
    """
    splitting = {item.name: _split_bits(item, len(attributes)) for item in attributes}
    children, result, bits = children_of(nodes), list(nodes), [0.0] * len(nodes)
    for node in reversed(nodes):
        as_leaf = 1 + class_bits(node.counts)
        below = sum(bits[child.id] for child in children[node.id])
        as_split = math.inf if node.column is None else 1 + splitting[node.column] + below
        if as_leaf <= as_split:
            result[node.id] = replace(node, column=None, cut=None, values=(), null_left=False)
        bits[node.id] = min(as_leaf, as_split)
    return number_nodes(result)


def class_bits(counts: Sequence[int]) -> float:
    """Give the stochastic complexity of the classes of some records, in bits."""
    records, classes = sum(counts), len(counts)
    entropy = sum(n * math.log2(records / n) for n in counts if n)
    half = classes / 2
    volume = half * math.log2(math.pi) - math.lgamma(half) / math.log(2)
    return entropy + (classes - 1) / 2 * math.log2(records / 2) + volume


def _split_bits(attribute: Attribute, attributes: int) -> float:
    which = math.log2(attributes)
    if attribute.type == "VARCHAR":
        return which + math.log2(2**attribute.cells - 2) if attribute.cells > 1 else which
    return which + math.log2(max(len(attribute.cuts), 1))


def number_nodes(nodes: Sequence[TreeNode]) -> tuple[TreeNode, ...]:
    """Number the nodes anew from the root down, left before right, without what hangs below a leaf."""
    below, result = children_of(nodes), list[TreeNode]()
    stack: list[tuple[TreeNode, int | None]] = [(nodes[0], None)]
    while stack:
        node, parent = stack.pop()
        result.append(replace(node, id=len(result), parent=parent))
        if not node.is_leaf:
            stack += [(child, result[-1].id) for child in reversed(below[node.id])]
    return tuple(result)
