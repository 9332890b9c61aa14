"""Decision trees from original, randomized and reconstructed values, grown level by level.

Source: Agrawal, Srikant 2000, "Privacy-Preserving Data Mining", SIGMOD, section 4.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.engine.source import is_stand_in, source_of
from ppdm_sql.engine.statements import Statement, sql
from ppdm_sql.engine.types import plain_type
from ppdm_sql.errors import InvalidOption, InvalidSource, check_choice
from ppdm_sql.methods.trees.features import classes_of, features
from ppdm_sql.methods.trees.model import MODES, RECONSTRUCTED, DecisionTree, Mode, Side, TreeNode
from ppdm_sql.methods.trees.predicting import confusion, decision
from ppdm_sql.methods.trees.records import (
    CodeCounts,
    Ints,
    Moves,
    TrainingValues,
    code_records,
    counting,
    counts_elsewhere,
    move_records,
    reconstructed_ends,
    root_records,
)
from ppdm_sql.methods.trees.splits import Split, best_splits, number_nodes, prune
from ppdm_sql.methods.trees.storing import Model, check_model_name, store_model
from ppdm_sql.options import TrainRequest
from ppdm_sql.progress import Progress, warn

logger = logging.getLogger("ppdm_sql")
SMALL = 1000
"""Records below which a node takes the root's cells instead of reconstructing distributions of its own."""
MOST_COUNTS = 2**24
"""Counts that are held at a time, unless a single node has more."""
LEAST_SPLIT = 20
"""Nodes with fewer records are not split, unless ``--min-split`` says so."""
SHARE = 1000
"""Nor are nodes with less than this part of the records, one in 1000."""
MOST_DEPTH = 64
"""Splits above a node, at most."""
MOST_INTERVALS = 1000
"""Cells of an attribute, at most."""


def train(engine: Engine, source: str, request: TrainRequest, progress: Progress) -> Model:
    engine.require_autocommit()
    _check(request)
    check_model_name(engine, request.into)
    try:
        with engine.workspace():
            tree = _grow(engine, source, request, progress)
            matrix = None
            if request.test is not None:
                progress.start(f"testing on {request.test}")
                matrix = confusion(engine, tree, request.test)
            parameters = {
                "columns": [attribute.name for attribute in tree.attributes],
                "intervals": request.intervals,
                "max_depth": request.max_depth,
                "min_split": _least_split(request, tree.root.records),
                "prune": request.prune,
                "noise": {item.name: item.noise for item in tree.attributes if item.noise is not None},
            }
            return store_model(
                engine,
                request.into,
                tree,
                source=source,
                parameters=parameters,
                test=request.test,
                confusion=matrix,
            )
    finally:
        progress.stop()


def _check(request: TrainRequest) -> None:
    check_choice("mode", request.mode, MODES)
    for option, value, least, most in (
        ("--intervals", request.intervals, 2, MOST_INTERVALS),
        ("--max-depth", request.max_depth, 0, MOST_DEPTH),
        ("--min-split", request.min_split, 2, None),
    ):
        if value is not None and (value < least or (most is not None and value > most)):
            limits = f"at least {least}" if most is None else f"from {least} to {most}"
            raise InvalidOption(f"{option} {value} cannot be used.", f"Give a whole number, {limits}.")
    if request.mode == "original" and request.noise:
        raise InvalidOption(
            "The mode original knows of no noise, yet --noise is given.",
            f"Leave it out, or give --mode {', '.join(RECONSTRUCTED)}.",
        )


def _least_split(request: TrainRequest, records: int) -> int:
    return max(LEAST_SPLIT, records // SHARE) if request.min_split is None else request.min_split


def _grow(engine: Engine, source: str, request: TrainRequest, progress: Progress) -> DecisionTree:
    progress.start(f"reading {source}")
    table, mode = engine.find(source), cast(Mode, request.mode)
    rows, label, usable = features(engine, source, table, request, progress)
    item = next(item for item in engine.columns(rows) if item.name == label)
    elsewhere = is_stand_in(engine, rows)
    if elsewhere and item.type == "BLOB":  # bytes have no text that is the same everywhere
        raise InvalidSource(
            f"Class column {label!r} of {source} holds bytes.", "Make it a text in a view there."
        )
    classes, counts = classes_of(engine, rows, item)
    local = mode == "local" and sum(counts) >= SMALL
    if mode == "local" and not local:
        warn(progress, f"With fewer than {SMALL} records, the mode local does what byclass does.")
    growth = TreeGrowth(
        engine,
        TrainingValues(rows, item, classes, usable),
        _least_split(request, sum(counts)),
        MOST_DEPTH if request.max_depth is None else request.max_depth,
        local and any(feature.noise is not None for feature in usable),
        progress,
    )
    growth.read(by_class=mode != "global")
    progress.start(f"growing a tree ({mode})")
    nodes, attributes = growth.grow(counts), tuple(feature.attribute for feature in usable)
    final = prune(nodes, attributes) if request.prune else number_nodes(nodes)
    class_type = plain_type(dict(engine.columns(table))[label]).sql("duckdb")
    return DecisionTree(mode, label, class_type, classes, attributes, final)


# -- growing ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OpenNode:
    """A node of the level that may be split, with the positions of the attributes whose cells are settled."""

    node: TreeNode
    settled: frozenset[int]


@dataclass
class TreeGrowth:
    """A tree while it grows.

    A join that moves records on costs DuckDB a quarter of what the tree so far does as an expression (at a
    million records and 512 nodes). Where the table lives elsewhere, that expression needs no copy there.
    """

    engine: Engine
    values: TrainingValues
    min_split: int  # nodes with fewer records are not split
    max_depth: int  # nor those with so many splits above them
    local: bool  # whether nodes reconstruct distributions of their own
    progress: Progress
    # of the level; None where they are read from their source for each level
    records: Table | None = None
    coded: Table | None = None  # the noisy values, for Local

    def __post_init__(self) -> None:
        self.features = self.values.features
        # the first code of a settled cell for each attribute; 0 unless nodes reconstruct it (Local)
        self.offsets = [f.observed.cells if self.local and f.noise is not None else 0 for f in self.features]
        self.widths = [o + f.cells + 1 for o, f in zip(self.offsets, self.features, strict=True)]
        self.reconstructing = frozenset(place for place, offset in enumerate(self.offsets) if offset)

    def read(self, *, by_class: bool) -> None:
        """Code the records, and reconstruct what has noise; elsewhere nothing is read if nothing has."""
        engine, noisy = self.engine, any(feature.noise is not None for feature in self.features)
        if is_stand_in(engine, self.values.table):
            if not noisy:
                return
            self.progress.notice(
                f"Records of {source_of(engine, self.values.table).shown} are read into DuckDB, where their "
                "values are sorted, for as long as it takes."
            )
        coded = code_records(engine, self.values)
        if noisy:
            classes = len(self.values.classes) if by_class else 1
            self.records = root_records(engine, coded, self.features, classes, local=self.local)
            self.coded = coded if self.local else None
        else:
            root = sql("SELECT 0::INTEGER AS node, c.* FROM {coded} AS c", coded=coded)
            self.records = engine.materialize("records", root)

    def grow(self, counts: Sequence[int]) -> list[TreeNode]:
        """Give the nodes, parents before children, numbered in this order, from the records by class."""
        nodes = [TreeNode(0, None, None, 0, tuple(counts))]
        every = frozenset(range(len(self.features)))
        root = OpenNode(nodes[0], every - self.reconstructing)
        level = [root] if every and self._may_split(root.node) else []
        while level:
            depth = level[0].node.depth
            logger.info("round %d: %d nodes, %d of them may be split", depth + 1, len(nodes), len(level))
            self.progress.update(depth=depth, nodes=len(nodes))
            level = self._next(level, nodes)
        return nodes

    def _may_split(self, node: TreeNode) -> bool:
        """Tell whether a node may be split; one of a single class has nothing to gain."""
        several_classes = sum(count > 0 for count in node.counts) > 1
        return several_classes and node.records >= self.min_split and node.depth < self.max_depth

    # -- a level --------------------------------------------------------------------------------

    def _next(self, level: list[OpenNode], nodes: list[TreeNode]) -> list[OpenNode]:
        """Split the nodes of a level, add their children, and give those that may be split again."""
        moves, below, classes = Moves(), list[OpenNode](), len(level[0].node.counts)
        block = max(MOST_COUNTS // (sum(self.widths) * classes), 1)
        for first in range(0, len(level), block):
            part = level[first : first + block]
            rows = self._count(nodes, part, first, level)
            self._check_total(rows, sum(item.node.records for item in part))
            counts = self._counts(rows, first, len(part), classes)
            ends = self._reconstruct(part, counts)
            tables = [of[:, offset:] for of, offset in zip(counts, self.offsets, strict=True)]
            splits = best_splits(tables, [feature.nominal for feature in self.features])
            for position, split in enumerate(splits):
                if split is None:
                    continue
                row = self._divide(part[position], split, nodes, below)
                if row["left_node"] is not None or row["right_node"] is not None:
                    own = counts[split.attribute][position, : self.offsets[split.attribute]]
                    moves.add({"node": first + position} | row, own, ends.get((position, split.attribute)))
        if below and self.records is not None:
            self.records = move_records(self.engine, self.records, moves, self.offsets, self.coded)
        return below

    def _count(
        self, nodes: Sequence[TreeNode], part: Sequence[OpenNode], first: int, level: Sequence[OpenNode]
    ) -> CodeCounts:
        """Count some nodes of a level, the first of them at a position in it."""
        values, number = self.values, len(self.features)
        if self.records is not None:
            among = None if len(part) == len(level) else range(first, first + len(part))
            return self.engine.arrays(counting(sql("{t}", t=self.records), number, among), step="counts")
        positions = {item.node.id: first + place for place, item in enumerate(part)}

        def leaf(node: TreeNode) -> Statement:
            return sql("{p}", p=positions[node.id]) if node.id in positions else Statement("NULL")

        def query(rows: Table) -> Statement:
            node = sql("{n} AS node", n=decision(nodes, values.split_value, leaf))
            coded = values.codes(values.read(rows), node, class_text=False)
            return counting(sql("({coded}) AS l", coded=coded), number)

        return counts_elsewhere(self.engine, values.table, query)

    def _check_total(self, rows: CodeCounts, records: int) -> None:
        for place in range(len(self.features)):
            if int(rows["records"][rows["attribute"] == place].sum()) != records:
                raise InvalidSource(
                    f"{source_of(self.engine, self.values.table).shown} does not have the same "
                    "records at each look.",
                    "Run it again when nobody is writing, or read a version that stays.",
                )

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

    def _divide(
        self, item: OpenNode, split: Split, nodes: list[TreeNode], below: list[OpenNode]
    ) -> dict[str, object]:
        """Split a node, add its children and the open ones of these, and say where its records go."""
        place, node = split.attribute, item.node
        feature, attribute = self.features[place], self.features[place].attribute
        nodes[node.id] = replace(
            node,
            column=attribute.name,
            cut=None if feature.nominal else attribute.cuts[split.cut - 1],
            values=tuple(attribute.values[cell] for cell in split.cells),
            null_left=split.null_left,
        )
        row: dict[str, object] = {
            "attribute": place,
            "cut": split.cut,
            "categories": list(split.cells),
            "nulls": feature.cells,
            "null_left": split.null_left,
            "settled_from": self.offsets[place],
        }
        sides: dict[Side, tuple[int, ...]] = {"left": split.left, "right": split.right}
        for side, counts in sides.items():
            child = TreeNode(len(nodes), node.id, side, node.depth + 1, counts)
            nodes.append(child)
            settled = item.settled | {place}
            # few records say too little of a distribution: below SMALL, those of the root serve
            settled = settled | self.reconstructing if child.records < SMALL else settled
            is_open = self._may_split(child)
            row[f"{side}_node"] = len(below) if is_open else None
            row[f"{side}_settled"] = len(settled) == len(self.features)
            below += [OpenNode(child, settled)] if is_open else []
        return row

    def _reconstruct(self, level: Sequence[OpenNode], counts: Sequence[Ints]) -> dict[tuple[int, int], Ints]:
        """For Local, reconstruct what is not settled, and write the records of each cell into the counts.

        Gives, for each node's position and attribute, the ranks at which cells end, by class.
        """
        ends: dict[tuple[int, int], Ints] = {}
        for place in sorted(self.reconstructing):
            own = [position for position, item in enumerate(level) if place not in item.settled]
            if not own:
                continue
            feature, offset, own_counts = self.features[place], self.offsets[place], counts[place]
            bins = own_counts[own, :offset].transpose(0, 2, 1).reshape(-1, offset)
            of_nodes = reconstructed_ends(bins, feature.kernel).reshape(len(own), -1, feature.cells)
            cells = np.diff(of_nodes, axis=2, prepend=0)
            own_counts[own, offset : offset + feature.cells] = cells.transpose(0, 2, 1)
            ends |= {(position, place): of_nodes[number] for number, position in enumerate(own)}
        return ends
