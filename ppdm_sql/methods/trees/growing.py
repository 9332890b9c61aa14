"""Grows a tree level by level: every level is one statement that counts and one that moves the records.

The working table ``records`` holds a row for each record of a node that may still be split:

- ``node``: the position of its node in the level;
- ``g``: the position of its class;
- ``k0``, ``k1``, ...: a code for each attribute. Where nodes reconstruct distributions of their own, the
  codes below the attribute's offset are cells of the noisy value, from it on cells that are settled;
  otherwise the offset is 0. The cell after the last one is NULL;
- where nodes reconstruct: ``id``, the record, and ``c0``, ..., the cells assigned at the root.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.methods.trees.cells import TreeFeature
from ppdm_sql.methods.trees.gini_splits import Split, best_splits
from ppdm_sql.methods.trees.model import Side, TreeNode
from ppdm_sql.methods.trees.root_records import SMALL, cell_ends
from ppdm_sql.methods.trees.sorted_assignment import NOTHING, Assignment, Ints, assigned, together
from ppdm_sql.methods.trees.splitting import Moves, Own, Target, move
from ppdm_sql.progress import Progress

logger = logging.getLogger("ppdm_sql")
MOST_COUNTS = 2**24
"""Counts that are held at a time, unless a single node has more."""


@dataclass(frozen=True)
class Limits:
    """When a node is not split.

    Args:
        min_split: It has fewer records than this.
        max_depth: There are as many splits above it.
    """

    min_split: int
    max_depth: int

    def allow(self, node: TreeNode) -> bool:
        """Tell whether a node may be split; one of a single class has nothing to gain."""
        mixed = sum(count > 0 for count in node.counts) > 1
        return mixed and node.records >= self.min_split and node.depth < self.max_depth


@dataclass(frozen=True)
class Open:
    """A node of the level that may be split.

    Args:
        node: The node.
        settled: Positions of the attributes whose cells stay as they are.
    """

    node: TreeNode
    settled: frozenset[int]


@dataclass
class _Below:
    """The next level while it is made.

    Args:
        moves: Where the records go.
        nodes: The nodes that may be split again.
        assignments: Cells of the attributes that nodes reconstructed and split.
    """

    moves: Moves = field(default_factory=Moves)
    nodes: list[Open] = field(default_factory=list)
    assignments: list[Assignment] = field(default_factory=lambda: [NOTHING])


class Growing:
    """One tree while it grows.

    Args:
        engine: Inside a workspace.
        records: The records of the root.
        coded: Where the noisy values are, if nodes reconstruct; None otherwise.
        features: The attributes.
        limits: When a node is not split.
        progress: Told of every level.
    """

    def __init__(
        self,
        engine: Engine,
        records: Table,
        coded: Table | None,
        features: Sequence[TreeFeature],
        limits: Limits,
        progress: Progress,
    ) -> None:
        self.engine, self.records, self.coded = engine, records, coded
        self.features, self.limits, self.progress = features, limits, progress
        local = coded is not None
        self.offsets = [f.observed.cells if local and f.noise is not None else 0 for f in features]
        self.widths = [o + f.cells + 1 for o, f in zip(self.offsets, features, strict=True)]
        self.reconstructing = frozenset(place for place, offset in enumerate(self.offsets) if offset)

    def grow(self, counts: Sequence[int]) -> list[TreeNode]:
        """Give the nodes, parents before children, numbered in this order.

        Args:
            counts: Records by class.
        """
        nodes = [TreeNode(0, None, None, 0, tuple(counts))]
        level = self._opened(nodes)
        while level:
            depth = level[0].node.depth
            logger.info("round %d: %d nodes, %d of them may be split", depth + 1, len(nodes), len(level))
            self.progress.update(depth=depth, nodes=len(nodes))
            level = self._next(level, nodes)
        return nodes

    def _opened(self, nodes: Sequence[TreeNode]) -> list[Open]:
        every = frozenset(range(len(self.features)))
        return [
            Open(node, every - self.reconstructing) for node in nodes if every and self.limits.allow(node)
        ]

    # -- a level --------------------------------------------------------------------------------

    def _next(self, level: list[Open], nodes: list[TreeNode]) -> list[Open]:
        """Split the nodes of a level, add their children, and give those that may be split again."""
        below, classes = _Below(), len(level[0].node.counts)
        block = max(MOST_COUNTS // (sum(self.widths) * classes), 1)
        for first in range(0, len(level), block):
            part = level[first : first + block]
            counts = self._counts(first, len(part), classes, whole=len(part) == len(level))
            ends = self._settle(part, counts)
            for position, split in enumerate(self._splits(counts)):
                if split is not None:
                    bins, own = counts[split.attribute][position], ends.get((position, split.attribute))
                    children = self._divide(part[position], split, nodes)
                    self._send(first + position, split, children, bins, own, below)
        if below.nodes:
            own_cells = None if self.coded is None else Own(self.coded, together(below.assignments))
            self.records = move(self.engine, self.records, below.moves, self.offsets, own_cells)
        return below.nodes

    def _send(
        self,
        position: int,
        split: Split,
        children: Mapping[Side, Open],
        counts: Ints,
        cell_ends: Ints | None,
        below: _Below,
    ) -> None:
        """Note where the records of a node go, and assign the attribute that it reconstructed and splits."""
        targets = dict[Side, Target]()
        for side, child in children.items():
            if self.limits.allow(child.node):
                targets[side] = Target(len(below.nodes), len(child.settled) == len(self.features))
                below.nodes.append(child)
        if not targets:
            return
        offset = 0 if cell_ends is None else self.offsets[split.attribute]
        bins = offset * counts.shape[1]
        key = below.moves.add(position, split, self.features[split.attribute].cells, targets, bins)
        if cell_ends is not None:
            bases = key + np.arange(len(cell_ends)) * offset
            below.assignments.append(assigned(counts[:offset].T, cell_ends, bases))

    def _splits(self, counts: Sequence[Ints]) -> list[Split | None]:
        tables = [found[:, offset:] for found, offset in zip(counts, self.offsets, strict=True)]
        return best_splits(tables, [feature.nominal for feature in self.features])

    def _counts(self, first: int, nodes: int, classes: int, *, whole: bool) -> list[Ints]:
        """Count the records of some nodes of the level by attribute, code and class."""
        some = "" if whole else f"WHERE node >= {first} AND node < {first + nodes} "
        parts = [
            f"SELECT {place}::USMALLINT AS a, node, k{place} AS k, g, count(*) AS n FROM {self.records} "
            f"{some}GROUP BY node, k{place}, g"
            for place in range(len(self.features))
        ]
        rows = self.engine.arrays(" UNION ALL ".join(parts), step="counts")
        sizes = [nodes * width * classes for width in self.widths]
        starts, widths = np.cumsum([0, *sizes]), np.array(self.widths)
        attribute = rows["a"]
        inside = (rows["node"].astype(np.int64) - first) * widths[attribute] + rows["k"]
        flat = np.zeros(starts[-1], dtype=np.int64)
        flat[starts[attribute] + inside * classes + rows["g"]] = rows["n"]
        return [
            flat[start : start + size].reshape(nodes, width, classes)
            for start, size, width in zip(starts, sizes, self.widths, strict=False)
        ]

    def _divide(self, item: Open, split: Split, nodes: list[TreeNode]) -> dict[Side, Open]:
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
        children: dict[Side, Open] = {}
        sides: dict[Side, tuple[int, ...]] = {"left": split.left, "right": split.right}
        for side, counts in sides.items():
            child = TreeNode(len(nodes), node.id, side, node.depth + 1, counts)
            nodes.append(child)
            settled = item.settled | {split.attribute}
            children[side] = Open(child, settled | self.reconstructing if child.records < SMALL else settled)
        return children

    # -- distributions of the nodes' own ---------------------------------------------------------

    def _settle(self, level: Sequence[Open], counts: Sequence[Ints]) -> dict[tuple[int, int], Ints]:
        """Reconstruct what is not settled, and write the records of each cell into the counts.

        Returns:
            For each node's position and attribute the ranks at which cells end, by class.
        """
        ends: dict[tuple[int, int], Ints] = {}
        for place in sorted(self.reconstructing):
            own = [position for position, item in enumerate(level) if place not in item.settled]
            if not own:
                continue
            feature, offset, found = self.features[place], self.offsets[place], counts[place]
            bins = found[own, :offset].transpose(0, 2, 1)
            cell_end = cell_ends(bins.reshape(-1, offset), feature.kernel).reshape(
                len(own), -1, feature.cells
            )
            cells = np.diff(cell_end, axis=2, prepend=0)
            found[own, offset : offset + feature.cells] = cells.transpose(0, 2, 1)
            ends |= {(position, place): cell_end[number] for number, position in enumerate(own)}
        return ends
