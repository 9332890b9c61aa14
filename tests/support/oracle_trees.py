"""Decision trees in plain numpy, node by node: what the trees grown in SQL are compared with.

It shares nothing with the package but the transition matrices of the noise, which have an oracle too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

SMALL = 1000
CLOSE = 1e-12


@dataclass
class Numbers:
    """A column of numbers that are taken as they are: NaN is NULL, edges are those of the cells."""

    values: np.ndarray
    edges: np.ndarray


@dataclass
class Texts:
    """A column of categories: codes, -1 for NULL, of the sorted values."""

    codes: np.ndarray
    values: Sequence[str]


@dataclass
class Noisy:
    """A column of noisy numbers, with the lower edge and the width of the observed cells."""

    values: np.ndarray
    edges: np.ndarray
    lower: float
    width: float
    kernel: np.ndarray


Column = Numbers | Texts | Noisy


@dataclass
class Tree:
    """A node and its subtrees; ``split`` is (column, cut or categories that go left, NULL goes left)."""

    counts: tuple[int, ...]
    split: tuple[int, Any, bool] | None = None
    left: Tree | None = None
    right: Tree | None = None

    def walk(self) -> Iterator[tuple[tuple[int, ...], tuple[int, Any, bool] | None]]:
        """Give every node, the root first, left before right."""
        yield self.counts, self.split
        if self.left is not None and self.right is not None:
            yield from self.left.walk()
            yield from self.right.walk()


class Grower:
    """Grows one tree, depth first.

    Args:
        columns: The attributes.
        label: The class of each record, from 0.
        classes: Number of classes.
        mode: One of the five.
        min_split: Smaller nodes are leaves.
        max_depth: Deeper nodes are leaves.
    """

    def __init__(
        self,
        columns: Sequence[Column],
        label: np.ndarray,
        classes: int,
        mode: str,
        min_split: int,
        max_depth: int = 64,
    ) -> None:
        self.columns, self.label, self.classes, self.mode = columns, label, classes, mode
        self.min_split, self.max_depth = min_split, max_depth
        self.sizes = [len(c.values) if isinstance(c, Texts) else len(c.edges) - 1 for c in columns]
        self.bins = [_bins(c) if isinstance(c, Noisy) else None for c in columns]
        everyone = np.arange(len(label))
        self.cells = [self._root(j, everyone) for j in range(len(columns))]

    def grow(self) -> Tree:
        """Give the whole tree, not pruned."""
        settled = {j for j, c in enumerate(self.columns) if not isinstance(c, Noisy)}
        everyone = np.arange(len(self.label))
        return self._node(everyone, [cells.copy() for cells in self.cells], settled, 0)

    # -- cells ----------------------------------------------------------------------------------

    def _root(self, j: int, records: np.ndarray) -> np.ndarray:
        column, size = self.columns[j], self.sizes[j]
        if isinstance(column, Texts):
            return np.where(column.codes < 0, size, column.codes)
        if isinstance(column, Numbers):
            found = np.searchsorted(column.edges[1:-1], column.values, side="right")
            return np.where(np.isnan(column.values), size, found)
        if self.mode == "global":
            return self._assigned(j, records)
        found = np.full(len(self.label), size)
        for g in range(self.classes):
            mine = records[self.label[records] == g]
            found[mine] = self._assigned(j, mine)
        return found

    def _assigned(self, j: int, records: np.ndarray) -> np.ndarray:
        """Sort the values and deal them out to the cells by the reconstructed distribution."""
        column, size = self.columns[j], self.sizes[j]
        assert isinstance(column, Noisy)
        values = column.values[records]
        known = np.flatnonzero(~np.isnan(values))
        found = np.full(len(records), size)
        if not len(known):
            return found
        bins = self.bins[j]
        assert bins is not None
        counts = np.bincount(bins[records[known]], minlength=len(column.kernel))
        ends = np.rint(np.cumsum(reconstruct(counts, column.kernel)) * len(known))
        order = known[np.lexsort((records[known], values[known]))]
        found[order] = np.searchsorted(ends[:-1], np.arange(len(known)), side="right")
        return found

    # -- nodes ----------------------------------------------------------------------------------

    def _node(self, records: np.ndarray, cells: list[np.ndarray], settled: set[int], depth: int) -> Tree:
        """Grow a node; ``cells`` are those of its records."""
        label = self.label[records]
        counts = np.bincount(label, minlength=self.classes)
        tree = Tree(tuple(map(int, counts)))
        if len(records) < self.min_split or depth >= self.max_depth or (counts > 0).sum() < 2:
            return tree
        if self.mode == "local" and len(records) >= SMALL and depth:
            cells = list(cells)
            for j in set(range(len(self.columns))) - settled:
                cells[j] = np.empty(len(records), dtype=np.int64)
                for g in range(self.classes):
                    cells[j][label == g] = self._assigned(j, records[label == g])
        best = self._best(label, cells, counts)
        if best is None:
            return tree
        j, listed, null_left, goes_left = best
        column = self.columns[j]
        place = listed if isinstance(column, Texts) else float(column.edges[listed])
        tree.split = (j, place, null_left)
        sides = []
        for side in (goes_left, ~goes_left):
            below = [
                own[side] if k in (settled | {j}) or side.sum() >= SMALL else self.cells[k][records[side]]
                for k, own in enumerate(cells)
            ]
            sides.append(self._node(records[side], below, settled | {j}, depth + 1))
        tree.left, tree.right = sides
        return tree

    def _best(self, label: np.ndarray, cells: list[np.ndarray], counts: np.ndarray) -> Any:
        candidates: list[tuple[float, int, Any, bool]] = []
        for j, own in enumerate(cells):
            size = self.sizes[j]
            table = np.bincount(own * self.classes + label, minlength=(size + 1) * self.classes)
            table = table.reshape(size + 1, self.classes)
            candidates += self._candidates(j, table[:size], table[size])
        if not candidates:
            return None
        least = min(candidate[0] for candidate in candidates)
        if least > gini(counts) - CLOSE:
            return None
        _, j, listed, null_left = next(c for c in candidates if c[0] <= least + CLOSE)
        own, size = cells[j], self.sizes[j]
        if isinstance(self.columns[j], Texts):
            names = tuple(self.columns[j].values[cell] for cell in sorted(listed))
            return j, names, False, np.isin(own, sorted(listed))
        goes_left = np.where(own == size, null_left, own < listed)
        return j, listed, null_left, goes_left

    def _candidates(self, j: int, known: np.ndarray, nulls: np.ndarray) -> list[tuple[float, int, Any, bool]]:
        """Give the impurity of every split of one attribute, in order."""
        texts, order = isinstance(self.columns[j], Texts), np.arange(len(known))
        if texts:
            order = order[known.sum(axis=1) > 0]
            most = int(known.sum(axis=0).argmax())
            order = order[np.argsort(known[order, most] / known[order].sum(axis=1), kind="stable")]
        left = known[order].cumsum(axis=0)[:-1]
        right = known.sum(axis=0) - left
        larger = left.sum(axis=1) >= right.sum(axis=1)
        some = (left.sum(axis=1) > 0) & (right.sum(axis=1) > 0)
        left, right = left + np.outer(larger, nulls), right + np.outer(~larger, nulls)
        total = (known.sum() + nulls.sum()) or 1
        impurity = (left.sum(axis=1) * gini(left) + right.sum(axis=1) * gini(right)) / total
        found: list[tuple[float, int, Any, bool]] = []
        for k in np.flatnonzero(some):
            listed: Any = int(k) + 1
            if texts:
                listed = set(map(int, order[k + 1 :] if larger[k] else order[: k + 1]))
            found.append((float(impurity[k]), j, listed, bool(larger[k]) and not texts))
        return found


def gini(counts: np.ndarray) -> Any:
    """The gini index over the last axis."""
    records = np.maximum(counts.sum(axis=-1), 1)
    return 1 - ((counts / records[..., None]) ** 2).sum(axis=-1)


def _bins(column: Noisy) -> np.ndarray:
    last = len(column.kernel) - 1
    return np.clip(np.floor((np.nan_to_num(column.values) - column.lower) / column.width), 0, last).astype(
        np.int64
    )


def reconstruct(counts: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """The Bayes iteration, until the chi-square of two successive estimates is small."""
    from scipy.stats import chi2

    records, cells = counts.sum(), kernel.shape[1]
    estimate = np.full(cells, 1 / cells)
    if cells == 1:
        return estimate
    reached = np.flatnonzero(kernel.any(axis=1))
    moved = np.zeros(len(counts))
    for cell in np.flatnonzero(counts):
        moved[reached[np.abs(reached - cell).argmin()]] += counts[cell]
    seen = moved > 0
    moved, kernel = moved[seen], kernel[seen]
    limit = 0.01 * chi2.ppf(0.95, cells - 1)
    for _ in range(10_000):
        after = estimate * (kernel.T @ (moved / (kernel @ estimate))) / records
        after /= after.sum()
        live = estimate > 0
        change = records * float(((after - estimate)[live] ** 2 / estimate[live]).sum())
        estimate = after
        if change < limit:
            break
    return estimate


def prune(tree: Tree, columns: Sequence[Column]) -> tuple[Tree, float]:
    """Cut what takes more bits to tell than it saves; give what is left, and its bits."""
    records, classes = sum(tree.counts), len(tree.counts)
    leaf = 1 - sum(n * math.log2(n / records) for n in tree.counts if n)
    leaf += (classes - 1) / 2 * math.log2(records / 2)
    leaf += math.log2(math.pi ** (classes / 2) / math.gamma(classes / 2))
    if tree.split is None or tree.left is None or tree.right is None:
        return Tree(tree.counts), leaf
    column = columns[tree.split[0]]
    ways = 2 ** len(column.values) - 2 if isinstance(column, Texts) else len(column.edges) - 2
    left, right = prune(tree.left, columns), prune(tree.right, columns)
    bits = 1 + math.log2(len(columns)) + math.log2(ways) + left[1] + right[1]
    if leaf <= bits:
        return Tree(tree.counts), leaf
    return Tree(tree.counts, tree.split, left[0], right[0]), bits
