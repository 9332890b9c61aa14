"""Partitions the records of a level among the nodes of the next one, in one statement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.engine.statements import bind
from ppdm_sql.methods.trees.gini_splits import Split
from ppdm_sql.methods.trees.model import Side
from ppdm_sql.methods.trees.sorted_assignment import (
    CellAssignment,
    sorted_query,
    write_divided_bins,
    write_whole_bins,
)


@dataclass(frozen=True)
class ChildNode:
    """Where the records of one side of a split go."""

    node: int  # position of the node in the next level
    settled: bool  # whether all its attributes take cells that are settled


@dataclass
class Partition:
    """To which children the records of a level go, node by node; those of leaves are dropped."""

    nodes: list[int] = field(default_factory=list)  # positions of the nodes that are split
    attributes: list[int] = field(default_factory=list)  # by which attribute each
    # the place of the first cell of each; the others follow it, then NULL
    first_places: list[int] = field(default_factory=list)
    # the number of the first bin of each, where it reconstructed the attribute
    first_bins: list[int] = field(default_factory=list)
    # rows `first, last, node, settled`: what stands in these places goes to that child
    children: list[tuple[int, int, int, bool]] = field(default_factory=list)
    places: int = 0  # number of places so far
    bins: int = 0  # number of bins so far

    def add(self, node: int, split: Split, cells: int, children: Mapping[Side, ChildNode], bins: int) -> int:
        """Add a node with the children that may be split again, and give the number of its first bin."""
        self.nodes.append(node)
        self.attributes.append(split.attribute)
        self.first_places.append(self.places)
        self.first_bins.append(self.bins)
        for first, last, side in _sides(split, cells):
            if side in children:
                child = children[side]
                self.children.append((self.places + first, self.places + last, child.node, child.settled))
        self.places += cells + 1
        self.bins += bins
        return self.first_bins[-1]


def _sides(split: Split, cells: int) -> list[tuple[int, int, Side]]:
    """Give runs of cells, NULL the last, with the side to which they go."""
    if split.cells:
        listed = {*split.cells}
        return [(cell, cell + 1, "left" if cell in listed else "right") for cell in range(cells + 1)]
    null: Side = "left" if split.null_left else "right"
    return [(0, split.cut, "left"), (split.cut, cells, "right"), (cells, cells + 1, null)]


@dataclass(frozen=True)
class LocalCells:
    """The cells of the attributes that nodes reconstructed for themselves (Local) and now split."""

    coded: Table  # where the noisy values are
    assignment: CellAssignment  # cells of the nodes' bins


def partition_records(
    engine: Engine,
    records: Table,
    partition: Partition,
    offsets: Sequence[int],
    local: LocalCells | None = None,
) -> Table:
    """Write the records of the next level, and discard those of this one.

    Cost: one scan of the records; where nodes reconstruct, also a sort of those near the boundaries.
    """
    rows = {
        "node": partition.nodes,
        "attribute": partition.attributes,
        "first_place": partition.first_places,
        "first_bin": partition.first_bins,
        "settled_from": [offsets[attribute] for attribute in partition.attributes],
    }
    first, last, node, settled = (list(item) for item in zip(*partition.children, strict=True))
    children = {"first": first, "last": last, "node": node, "settled": settled}
    splits = engine.materialize("splits", bind("trees/splits", tables={}), rows)
    child_nodes = engine.materialize("child_nodes", bind("trees/child_nodes", tables={}), children)
    made = [splits, child_nodes]
    if local is None:
        query = plain_partition(records, splits, child_nodes, len(offsets))
    else:
        whole, divided = (write(engine, local.assignment) for write in (write_whole_bins, write_divided_bins))
        ranked = engine.materialize("divided", _divided(records, local.coded, splits, divided, offsets))
        made += [whole, divided, ranked]
        query = local_partition(records, splits, child_nodes, whole, ranked, offsets)
    found = engine.materialize("records", query)
    for table in (records, *made):
        engine.discard(table)
    return found


def plain_partition(records: Table, splits: Table, child_nodes: Table, attributes: int) -> str:
    """Write the SELECT that sends each record to a child by the cell of the attribute that splits its node.

    Example:
        >>> from ppdm_sql.engine.statements import formatted
        >>> print(formatted(plain_partition(Table("records"), Table("splits"), Table("child_nodes"), 2)))
        SELECT
          c.node,
          p.class,
          p.code0,
          p.code1
        FROM (
          SELECT
            r.*,
            s.first_place + CASE s.attribute WHEN 0 THEN r.code0 WHEN 1 THEN r.code1 END AS place
          FROM "records" AS r
          JOIN "splits" AS s
            ON s.node = r.node
        ) AS p
        JOIN "child_nodes" AS c
          ON c.place = p.place
    """
    every = range(attributes)
    codes = ", ".join(f"p.code{place}" for place in every)
    placed = f"SELECT r.*, s.first_place + {_of_split('r.code', every)} AS place FROM {records} AS r"
    return (
        f"SELECT c.node, p.class, {codes} FROM ({placed} JOIN {splits} AS s ON s.node = r.node) AS p "
        f"JOIN {child_nodes} AS c ON c.place = p.place"
    )


def _of_split(column: str, places: Sequence[int], attribute: str = "s.attribute") -> str:
    """Give SQL for a column of the attribute that splits the record's node, among those given."""
    return f"CASE {attribute} {' '.join(f'WHEN {place} THEN {column}{place}' for place in places)} END"


def _with_bins(records: Table, splits: Table, offsets: Sequence[int]) -> str:
    """Give SQL for the records with ``code``, that of the split's attribute, and the number of its bin."""
    coded = f"SELECT r.*, s.*, {_of_split('r.code', range(len(offsets)))} AS code FROM {records} AS r"
    joined = f"{coded} JOIN {splits} AS s ON s.node = r.node"
    bin = "CASE WHEN code < settled_from THEN first_bin + class * settled_from + code END"
    return f"SELECT *, {bin} AS bin FROM ({joined}) AS j"


def _divided(records: Table, coded: Table, splits: Table, divided_bins: Table, offsets: Sequence[int]) -> str:
    noisy = [place for place, offset in enumerate(offsets) if offset]
    value = _of_split("v.value", noisy, "r.attribute")
    in_bins = f"SELECT id, bin, attribute FROM ({_with_bins(records, splits, offsets)}) AS b"
    return sorted_query(in_bins, divided_bins, value, f"JOIN {coded} AS v ON v.rowid = r.id")


def local_partition(
    records: Table,
    splits: Table,
    child_nodes: Table,
    whole_bins: Table,
    divided: Table,
    offsets: Sequence[int],
) -> str:
    """Write the SELECT for nodes that reconstruct: the cell of the split is looked up first, and stays.

    Once a node settles all attributes, the others take the cells that were assigned at the root.
    """
    cell = "coalesce(d.cell, w.cell, b.code - b.settled_from)"
    placed = (
        f"SELECT b.*, {cell} AS cell, b.first_place + {cell} AS place "
        f"FROM ({_with_bins(records, splits, offsets)}) AS b "
        f"LEFT JOIN {whole_bins} AS w ON w.bin = b.bin LEFT JOIN {divided} AS d ON d.id = b.id"
    )
    codes = []
    for place, offset in enumerate(offsets):
        if not offset:
            codes.append(f"p.code{place}")
            continue
        own = f"WHEN p.attribute = {place} THEN {offset}::USMALLINT + p.cell"
        root = f"WHEN c.settled AND p.code{place} < {offset} THEN {offset}::USMALLINT + p.cell{place}"
        codes += [f"(CASE {own} {root} ELSE p.code{place} END)::USMALLINT AS code{place}", f"p.cell{place}"]
    return (
        f"SELECT c.node, p.id, p.class, {', '.join(codes)} FROM ({placed}) AS p "
        f"JOIN {child_nodes} AS c ON c.place = p.place"
    )
