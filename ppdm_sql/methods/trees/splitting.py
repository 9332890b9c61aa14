"""Moves the records of a level to the nodes of the next one, in one statement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.engine.statements import bind
from ppdm_sql.methods.trees.gini_splits import Split
from ppdm_sql.methods.trees.model import Side
from ppdm_sql.methods.trees.sorted_assignment import Assignment, divided, write_parts, write_runs


@dataclass(frozen=True)
class Target:
    """Where the records of one side of a split go.

    Args:
        node: Position of the node in the next level.
        settled: Whether all its attributes take cells that are settled.
    """

    node: int
    settled: bool


@dataclass
class Moves:
    """What becomes of the records of a level, node by node; those of leaves are dropped.

    Args:
        nodes: Positions of the nodes that are split.
        attributes: By which attribute each.
        bases: The place of the first cell of each; the others follow it, then NULL.
        keys: The key of the first bin of each, where it reconstructed the attribute.
        runs: Rows ``first, last, node, settled``: what stands in these places goes there.
        places: Number of places so far.
        bins: Number of bins so far.
    """

    nodes: list[int] = field(default_factory=list)
    attributes: list[int] = field(default_factory=list)
    bases: list[int] = field(default_factory=list)
    keys: list[int] = field(default_factory=list)
    runs: list[tuple[int, int, int, bool]] = field(default_factory=list)
    places: int = 0
    bins: int = 0

    def add(self, node: int, split: Split, cells: int, targets: Mapping[Side, Target], bins: int) -> int:
        """Add a node that is split, and give the key of its first bin.

        Args:
            node: Its position in the level.
            split: How.
            cells: Number of cells of the attribute.
            targets: Of the sides that may be split again.
            bins: Number of bins to assign, of all classes.
        """
        self.nodes.append(node)
        self.attributes.append(split.attribute)
        self.bases.append(self.places)
        self.keys.append(self.bins)
        for first, last, side in _sides(split, cells):
            if side in targets:
                target = targets[side]
                self.runs.append((self.places + first, self.places + last, target.node, target.settled))
        self.places += cells + 1
        self.bins += bins
        return self.keys[-1]


def _sides(split: Split, cells: int) -> list[tuple[int, int, Side]]:
    """Give runs of cells, NULL the last, with the side to which they go."""
    if split.cells:
        listed = {*split.cells}
        return [(cell, cell + 1, "left" if cell in listed else "right") for cell in range(cells + 1)]
    null: Side = "left" if split.null_left else "right"
    return [(0, split.cut, "left"), (split.cut, cells, "right"), (cells, cells + 1, null)]


@dataclass(frozen=True)
class Own:
    """What moves by distributions that the nodes reconstructed for themselves.

    Args:
        coded: Where the noisy values are.
        assignment: Cells of the bins of attributes that were reconstructed and now split a node.
    """

    coded: Table
    assignment: Assignment


def move(
    engine: Engine, records: Table, moves: Moves, offsets: Sequence[int], own: Own | None = None
) -> Table:
    """Write the records of the next level.

    Args:
        engine: Inside a workspace.
        records: Those of this level; see :mod:`ppdm_sql.methods.trees.growing`. It is discarded.
        moves: What becomes of them.
        offsets: Of the codes of each attribute.
        own: Where nodes reconstruct.

    Cost: one scan of the records; where nodes reconstruct, also a sort of those near the boundaries.
    """
    rows = {
        "node": moves.nodes,
        "attribute": moves.attributes,
        "base": moves.bases,
        "key": moves.keys,
        "settled_from": [offsets[attribute] for attribute in moves.attributes],
    }
    first, last, node, settled = (list(item) for item in zip(*moves.runs, strict=True))
    targets = {"first": first, "last": last, "node": node, "settled": settled}
    made = [
        engine.materialize("splits", bind("trees/splits", tables={}), rows),
        engine.materialize("moves", bind("trees/moves", tables={}), targets),
    ]
    if own is None:
        query = _plain(records, made[0], made[1], len(offsets))
    else:
        made += [write_runs(engine, own.assignment), write_parts(engine, own.assignment)]
        made.append(engine.materialize("divided", _divided(records, own.coded, made[0], made[3], offsets)))
        query = _local(records, made[0], made[1], made[2], made[4], offsets)
    found = engine.materialize("records", query)
    for table in (records, *made):
        engine.discard(table)
    return found


def _plain(records: Table, splits: Table, targets: Table, attributes: int) -> str:
    every = range(attributes)
    codes = ", ".join(f"x.k{place}" for place in every)
    chosen = f"SELECT r.*, s.base + {_of_split('r.k', every)} AS place FROM {records} AS r"
    return (
        f"SELECT m.node, x.g, {codes} FROM ({chosen} JOIN {splits} AS s ON s.node = r.node) AS x "
        f"JOIN {targets} AS m ON m.place = x.place"
    )


def _of_split(column: str, places: Sequence[int]) -> str:
    """Give SQL for a column of the attribute that splits the record's node, among those given."""
    return f"CASE s.attribute {' '.join(f'WHEN {place} THEN {column}{place}' for place in places)} END"


def _coded(records: Table, splits: Table, offsets: Sequence[int]) -> str:
    """Give SQL for the records with ``code``, that of the split's attribute, and ``key``, that of its bin."""
    coded = f"SELECT r.*, s.*, {_of_split('r.k', range(len(offsets)))} AS code FROM {records} AS r"
    joined = f"{coded} JOIN {splits} AS s ON s.node = r.node"
    bin = "CASE WHEN code < settled_from THEN key + g * settled_from + code END"
    return f"SELECT *, {bin} AS bin FROM ({joined})"


def _divided(records: Table, coded: Table, splits: Table, parts: Table, offsets: Sequence[int]) -> str:
    noisy = [place for place, offset in enumerate(offsets) if offset]
    value = _of_split("w.w", noisy).replace("s.attribute", "r.attribute")
    keyed = f"SELECT id, bin AS key, attribute FROM ({_coded(records, splits, offsets)})"
    return divided(keyed, parts, value, f"JOIN {coded} AS w ON w.rowid = r.id")


def _local(
    records: Table, splits: Table, targets: Table, runs: Table, exact: Table, offsets: Sequence[int]
) -> str:
    cell = "coalesce(d.cell, t.cell, b.code - b.settled_from)"
    placed = (
        f"SELECT b.*, {cell} AS cell, b.base + {cell} AS place "
        f"FROM ({_coded(records, splits, offsets)}) AS b "
        f"LEFT JOIN {runs} AS t ON t.key = b.bin LEFT JOIN {exact} AS d ON d.id = b.id"
    )
    codes = []
    for place, offset in enumerate(offsets):
        if not offset:
            codes.append(f"x.k{place}")
            continue
        root = f"WHEN m.settled AND x.k{place} < {offset} THEN {offset}::USMALLINT + x.c{place}"
        own = f"WHEN x.attribute = {place} THEN {offset}::USMALLINT + x.cell"
        codes += [f"(CASE {own} {root} ELSE x.k{place} END)::USMALLINT AS k{place}", f"x.c{place}"]
    return (
        f"SELECT m.node, x.id, x.g, {', '.join(codes)} FROM ({placed}) AS x "
        f"JOIN {targets} AS m ON m.place = x.place"
    )
