"""Grows a tree level by level: every level is one statement that counts and one that moves the records.

The working table ``records`` holds a row for each record of a node that may still be split:

- ``node``: the position of its node in the level;
- ``class``: the position of its class;
- ``code0``, ``code1``, ...: a code for each attribute. Where nodes reconstruct distributions of their own,
  the codes below the attribute's offset are cells of the noisy value, from it on cells that are settled;
  otherwise the offset is 0. The cell after the last one is NULL;
- where nodes reconstruct: ``id``, the record, and ``cell0``, ..., the cells assigned at the root.

Source: Agrawal, Srikant 2000, sections 4.1 and 4.2.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ppdm_sql.methods.trees.coded_records import TreeFeature
from ppdm_sql.methods.trees.gini_splits import Split, best_splits
from ppdm_sql.methods.trees.level_records import CodeCounts, LevelRecords
from ppdm_sql.methods.trees.model import Side, TreeNode
from ppdm_sql.methods.trees.partitioning import ChildNode, Partition
from ppdm_sql.methods.trees.root_records import SMALL, reconstructed_ends
from ppdm_sql.methods.trees.sorted_assignment import (
    NO_BINS,
    CellAssignment,
    Ints,
    assign_bins,
    concatenated,
)
from ppdm_sql.progress import Progress

logger = logging.getLogger("ppdm_sql")
MOST_COUNTS = 2**24
"""Counts that are held at a time, unless a single node has more."""


@dataclass(frozen=True)
class Limits:
    """When a node is not split."""

    min_split: int  # it has fewer records than this
    max_depth: int  # there are as many splits above it

    def allow(self, node: TreeNode) -> bool:
        """Tell whether a node may be split; one of a single class has nothing to gain."""
        mixed = sum(count > 0 for count in node.counts) > 1
        return mixed and node.records >= self.min_split and node.depth < self.max_depth


@dataclass(frozen=True)
class OpenNode:
    """A node of the level that may be split, with the positions of the attributes whose cells are settled."""

    node: TreeNode
    settled: frozenset[int]


@dataclass
class _NextLevel:
    """The next level while it is made: where records go, its open nodes, and cells that nodes assigned."""

    partition: Partition = field(default_factory=Partition)
    nodes: list[OpenNode] = field(default_factory=list)
    assignments: list[CellAssignment] = field(default_factory=lambda: [NO_BINS])


def code_offsets(features: Sequence[TreeFeature], *, local: bool) -> list[int]:
    """Give for each attribute its first code of a settled cell; 0 unless nodes reconstruct it (Local)."""
    return [f.observed.cells if local and f.noise is not None else 0 for f in features]


class TreeGrowth:
    """One tree while it grows.

    The records are those of the root at first; ``offsets`` are those of :func:`code_offsets`.
    """

    def __init__(
        self,
        records: LevelRecords,
        features: Sequence[TreeFeature],
        offsets: Sequence[int],
        limits: Limits,
        progress: Progress,
    ) -> None:
        self.records, self.features, self.offsets = records, features, offsets
        self.limits, self.progress = limits, progress
        self.widths = [o + f.cells + 1 for o, f in zip(offsets, features, strict=True)]
        self.reconstructing = frozenset(place for place, offset in enumerate(offsets) if offset)

    def grow(self, counts: Sequence[int]) -> list[TreeNode]:
        """Give the nodes, parents before children, numbered in this order, from the records by class."""
        nodes = [TreeNode(0, None, None, 0, tuple(counts))]
        every = frozenset(range(len(self.features)))
        root = OpenNode(nodes[0], every - self.reconstructing)
        level = [root] if every and self.limits.allow(root.node) else []
        while level:
            depth = level[0].node.depth
            logger.info("round %d: %d nodes, %d of them may be split", depth + 1, len(nodes), len(level))
            self.progress.update(depth=depth, nodes=len(nodes))
            level = self._next(level, nodes)
        return nodes

    # -- a level --------------------------------------------------------------------------------

    def _next(self, level: list[OpenNode], nodes: list[TreeNode]) -> list[OpenNode]:
        """Split the nodes of a level, add their children, and give those that may be split again."""
        below, classes = _NextLevel(), len(level[0].node.counts)
        block = max(MOST_COUNTS // (sum(self.widths) * classes), 1)
        for first in range(0, len(level), block):
            part = level[first : first + block]
            among = None if len(part) == len(level) else range(first, first + len(part))
            found = self.records.counted(among, sum(item.node.records for item in part))
            counts = self._counts(found, first, len(part), classes)
            ends = self._reconstruct(part, counts)
            for position, split in enumerate(self._splits(counts)):
                if split is not None:
                    own = counts[split.attribute][position]
                    own_ends = ends.get((position, split.attribute))
                    children = self._divide(part[position], split, nodes)
                    self._send(first + position, split, children, own, own_ends, below)
        if below.nodes:
            self.records.partition(below.partition, concatenated(below.assignments))
        return below.nodes

    def _send(
        self,
        position: int,
        split: Split,
        children: Mapping[Side, OpenNode],
        counts: Ints,
        ends: Ints | None,
        below: _NextLevel,
    ) -> None:
        """Note where the records of a node go, and assign the attribute that it reconstructed and splits."""
        open_children = dict[Side, ChildNode]()
        for side, child in children.items():
            if self.limits.allow(child.node):
                settled = len(child.settled) == len(self.features)
                open_children[side] = ChildNode(len(below.nodes), settled)
                below.nodes.append(child)
        if not open_children:
            return
        offset = 0 if ends is None else self.offsets[split.attribute]
        bins, cells = offset * counts.shape[1], self.features[split.attribute].cells
        first_bin = below.partition.add(position, split, cells, open_children, bins)
        if ends is not None:
            first_bins = first_bin + np.arange(len(ends)) * offset
            below.assignments.append(assign_bins(counts[:offset].T, ends, first_bins))

    def _splits(self, counts: Sequence[Ints]) -> list[Split | None]:
        tables = [found[:, offset:] for found, offset in zip(counts, self.offsets, strict=True)]
        return best_splits(tables, [feature.nominal for feature in self.features])

    def _counts(self, rows: CodeCounts, first: int, nodes: int, classes: int) -> list[Ints]:
        """Put the counts of some nodes of the level into a matrix for each attribute and node."""
        sizes = [nodes * width * classes for width in self.widths]
        starts, widths = np.cumsum([0, *sizes]), np.array(self.widths)
        attribute = rows["attribute"]
        inside = (rows["node"].astype(np.int64) - first) * widths[attribute] + rows["code"]
        flat = np.zeros(starts[-1], dtype=np.int64)
        flat[starts[attribute] + inside * classes + rows["class"]] = rows["records"]
        return [
            flat[start : start + size].reshape(nodes, width, classes)
            for start, size, width in zip(starts, sizes, self.widths, strict=False)
        ]

    def _divide(self, item: OpenNode, split: Split, nodes: list[TreeNode]) -> dict[Side, OpenNode]:
        """Split a node: note how, and add its children."""
        feature, node = self.features[split.attribute], item.node
        attribute = feature.attribute
        nodes[node.id] = replace(
            node,
            column=attribute.name,
            cut=None if feature.nominal else attribute.cuts[split.cut - 1],
            values=tuple(attribute.values[cell] for cell in split.cells),
            null_left=split.null_left,
        )
        children: dict[Side, OpenNode] = {}
        sides: dict[Side, tuple[int, ...]] = {"left": split.left, "right": split.right}
        for side, counts in sides.items():
            child = TreeNode(len(nodes), node.id, side, node.depth + 1, counts)
            nodes.append(child)
            settled = item.settled | {split.attribute}
            # few records say too little of a distribution: below SMALL, those of the root serve
            settled = settled | self.reconstructing if child.records < SMALL else settled
            children[side] = OpenNode(child, settled)
        return children

    # -- Local: distributions of the nodes' own --------------------------------------------------

    def _reconstruct(self, level: Sequence[OpenNode], counts: Sequence[Ints]) -> dict[tuple[int, int], Ints]:
        """Reconstruct what is not settled, and write the records of each cell into the counts.

        Gives, for each node's position and attribute, the ranks at which cells end, by class.
        """
        ends: dict[tuple[int, int], Ints] = {}
        for place in sorted(self.reconstructing):
            own = [position for position, item in enumerate(level) if place not in item.settled]
            if not own:
                continue
            feature, offset, found = self.features[place], self.offsets[place], counts[place]
            bins = found[own, :offset].transpose(0, 2, 1).reshape(-1, offset)
            of_nodes = reconstructed_ends(bins, feature.kernel).reshape(len(own), -1, feature.cells)
            cells = np.diff(of_nodes, axis=2, prepend=0)
            found[own, offset : offset + feature.cells] = cells.transpose(0, 2, 1)
            ends |= {(position, place): of_nodes[number] for number, position in enumerate(own)}
        return ends
