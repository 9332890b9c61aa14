"""The training records as codes, and every statement that reads them.

Values become codes of cells, once; where there is noise, each value goes to a cell of the original
distribution; then each level of the tree is counted by one statement, and one moves its records on.

The working table ``coded`` of DuckDB has a row for each record with a class, in the order of the source:

- ``class``: the position of its class;
- ``code0``, ``code1``, ...: for an attribute that is taken as it is, the position of its cell; NULL is one
  more than the last;
- ``bin0``, ``value0``, ...: for an attribute that is reconstructed, its fine bin and the noisy value itself.

The working table ``records`` holds a row for each record of a node that may still be split:

- ``node``: the position of its node in the level;
- ``class``, and a ``code`` for each attribute. Where nodes reconstruct distributions of their own (Local),
  codes below the attribute's offset are cells of the noisy value, from it on cells that are settled;
- for Local: ``id``, the record in ``coded``, and ``cell0``, ..., the cells assigned at the root.

A table that lives elsewhere is not copied: its rows are coded anew for each level.

Source: Agrawal, Srikant 2000, sections 4.1 and 4.2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.names import Table, column
from ppdm_sql.engine.source import is_stand_in, over, source_of
from ppdm_sql.engine.statements import Statement, joined, literal, rows_of_lists, sql
from ppdm_sql.engine.types import type_tree
from ppdm_sql.methods.base.arrays import Floats
from ppdm_sql.methods.perturbation.reconstruction import Grid, reconstruct_distributions
from ppdm_sql.methods.trees.features import TreeFeature

Ints = NDArray[np.int64]
CodeCounts = Mapping[str, NDArray[Any]]
"""Columns ``attribute``, ``node`` (its position in the level), ``code``, ``class`` and ``records``."""
NOTHING = Statement("")


# -- codes ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TrainingValues:
    """What is read of the training table: the class, and a value for each attribute."""

    table: Table
    label: Column
    classes: Sequence[str]
    features: Sequence[TreeFeature]

    def read(self, rows: Table) -> Statement:
        """Write ``class_value, v0, v1, ...`` of the records that have a class."""
        label = column(self.label.name, "s")
        values = [sql("{label} AS class_value", label=label)]
        values += [
            sql("{c}::{t} AS v{p}", c=column(item.attribute.name, "s"), t=item.value_type, p=place)
            for place, item in enumerate(self.features)
        ]
        query = "SELECT {values} FROM {rows} AS s WHERE {label} IS NOT NULL"
        return sql(query, label=label, values=values, rows=rows)

    def codes(self, values: Statement, *more: Statement, class_text: bool) -> Statement:
        """Write the codes of values, and ``more``; classes are compared as text, or in their own type."""
        of_type = None if class_text else self.label.type
        code = position(Statement("class_value"), self.classes, of_type)
        codes = [*more, sql("({code})::UTINYINT AS class", code=code)]
        for place, item in enumerate(self.features):
            codes += _codes(item, place)
        return sql("SELECT {codes} FROM ({values}) AS v", codes=codes, values=values)

    def split_value(self, name: str) -> Statement:
        """Write what a tree splits of an attribute: its value, or for a label a number inside the cell."""
        places = {item.attribute.name: place for place, item in enumerate(self.features)}
        value, feature = sql("v{p}", p=places[name]), self.features[places[name]]
        if not feature.labels:
            return value
        cuts = feature.attribute.cuts
        inside = [math.nextafter(cuts[0], -math.inf), *cuts]
        return _case(value, map(literal, feature.labels), inside)


def code_records(engine: Engine, values: TrainingValues) -> Table:
    """Write the working table ``coded``, in one scan; a table that lives elsewhere is read into DuckDB."""
    rows = values.read(values.table)
    if is_stand_in(engine, values.table):
        of_values = [Column(f"v{place}", item.value_type) for place, item in enumerate(values.features)]
        columns = [Column("class_value", values.label.type), *of_values]
        source = source_of(engine, values.table)
        copy = source.grouped(engine, over(values.read), columns, step="training records")
        rows = sql("SELECT * FROM {copy}", copy=copy)
    return engine.materialize("coded", values.codes(rows, class_text=True))


def position(value: Statement, texts: Sequence[str], of_type: str | None = None) -> Statement:
    """Write the position of a value among texts, by its letters, or among what they stand for in its type."""
    if of_type is None:
        return _case(sql("{v}::VARCHAR COLLATE C", v=value), map(literal, texts), range(len(texts)))
    items = (exp.Cast(this=literal(text), to=type_tree(of_type)) for text in texts)
    return _case(value, items, range(len(texts)))


def _case(value: Statement, items: Iterable[exp.Expression], results: Sequence[float]) -> Statement:
    pairs = zip(items, results, strict=True)
    whens = [sql("WHEN {item} THEN {number}", item=item, number=number) for item, number in pairs]
    return sql("CASE {v} {whens} END", v=value, whens=joined(whens, " "))


def _codes(feature: TreeFeature, place: int) -> list[Statement]:
    value = sql("v{p}", p=place)
    if feature.noise is not None:
        code = sql("{bin}::USMALLINT AS bin{p}", bin=bin_of(value, feature), p=place)
        return [code, sql("{v} AS value{p}", v=value, p=place)]
    if feature.grid is not None:
        code = cell_of(value, feature.grid)
    else:
        index = position(value, feature.labels or feature.attribute.values)
        code = sql("coalesce({index}, {n})", index=index, n=feature.cells)
    return [sql("({code})::SMALLINT AS code{p}", code=code, p=place)]


def bin_of(value: Statement, feature: TreeFeature) -> Statement:
    """Give SQL for the fine bin of a noisy value."""
    lower, width = float(feature.observed.lower), float(feature.observed.width)
    step = "floor(({v} - {lower}) * {fine} / {width})"
    return _within(value, sql(step, v=value, lower=lower, fine=feature.fine, width=width), feature.bins)


def cell_of(value: Statement, grid: Grid) -> Statement:
    """Give SQL for the cell of a value: the one whose edges, computed as the grid does, hold it."""
    lower, width, all_cells = float(grid.lower), float(grid.width), float(grid.width * grid.cells)
    step = sql("floor(({v} - {lower}) / {width})", v=value, lower=lower, width=width)
    share = sql("{all_cells} / {cells}", all_cells=all_cells, cells=grid.cells)
    # the quotient may be rounded across an edge, so its neighbours are tried; NaN counts to the last cell
    code = sql(
        "{step} + ({v} >= {lower} + ({step} + 1) * {share})::TINYINT "
        "- ({v} < {lower} + {step} * {share})::TINYINT",
        step=step,
        v=value,
        lower=lower,
        share=share,
    )
    return _within(value, code, grid.cells)


def _within(value: Statement, code: Statement, codes: int) -> Statement:
    """Give SQL for a code held within bounds, and the one after the last for NULL."""
    clamp = "CASE WHEN {v} IS NULL THEN {codes} ELSE least(greatest({code}, 0), {last}) END"
    return sql(f"({clamp})", v=value, code=code, codes=codes, last=codes - 1)


# -- counts -----------------------------------------------------------------------------------------


def counting(rows: Statement, attributes: int, nodes: range | None = None) -> Statement:
    """Write the SELECT that counts the records of a level, or of some nodes of it, by code and class."""
    where = NOTHING
    if nodes is not None:
        where = sql("WHERE node >= {first} AND node < {last}", first=nodes.start, last=nodes.stop)
    part = (
        "SELECT {p}::SMALLINT AS attribute, node, code{p} AS code, class, count(*) AS records "
        "FROM {rows} {where} GROUP BY node, code{p}, class"
    )
    parts = (sql(part, p=place, rows=rows, where=where) for place in range(attributes))
    return joined(parts, " UNION ALL ")


def counts_elsewhere(engine: Engine, rows: Table, query: Callable[[Table], Statement]) -> CodeCounts:
    """Count the records of a level where they live; only counts leave."""
    columns = [Column(name, "BIGINT") for name in ("attribute", "node", "code", "class", "records")]
    few = source_of(engine, rows).grouped(engine, over(query), columns, step="level counts")
    # a condition on an expression of the tree would be worked out anew, codes and all, for each branch there
    inside = "SELECT {n} FROM {few} WHERE node IS NOT NULL"
    names = [column(item.name) for item in columns]
    counts = engine.arrays(sql(inside, n=names, few=few), step="level counts")
    engine.discard(few)
    return counts


# -- moving on --------------------------------------------------------------------------------------


SPLITS = rows_of_lists(
    node="INTEGER",
    attribute="USMALLINT",
    cut="INTEGER",
    categories="INTEGER[]",
    nulls="INTEGER",
    null_left="BOOLEAN",
    left_node="INTEGER",
    right_node="INTEGER",
    left_settled="BOOLEAN",
    right_settled="BOOLEAN",
    settled_from="INTEGER",
    first_bin="BIGINT",
)
"""The nodes of a level that are split, and where their records go: those whose cell is below the cut or among
the categories to the left node; no node where the child is a leaf. Settled children take the root's cells."""


@dataclass
class Moves:
    """Where the records of a level go."""

    rows: dict[str, list[Any]] = field(default_factory=dict)  # of `SPLITS`
    bins: int = 0  # number of bins so far of attributes that nodes reconstructed
    assignments: list[CellAssignment] = field(default_factory=list)  # of these bins

    def add(self, row: Mapping[str, object], counts: Ints, ends: Ints | None) -> None:
        """Add a node, with the counts and, if it reconstructed it, the ends of the attribute it splits."""
        for name, value in {**row, "first_bin": self.bins}.items():
            self.rows.setdefault(name, []).append(value)
        if ends is not None:
            bins, groups = len(counts), len(ends)
            self.assignments.append(assign_bins(counts.T, ends, self.bins + np.arange(groups) * bins))
            self.bins += bins * groups


def move_records(
    engine: Engine, records: Table, moves: Moves, offsets: Sequence[int], coded: Table | None
) -> Table:
    """Write the records of the next level, and discard this one; ``coded`` where nodes reconstruct."""
    splits = engine.materialize("splits", SPLITS, moves.rows)
    tables, every = [records, splits], range(len(offsets))
    rows = sql(
        "SELECT r.*, s.* EXCLUDE (node), {code} AS code "
        "FROM {records} AS r JOIN {splits} AS s ON s.node = r.node",
        code=_of_split("s.attribute", "r.code", every),
        records=records,
        splits=splits,
    )
    if coded is None:
        rows = sql("SELECT b.*, b.code AS cell FROM ({rows}) AS b", rows=rows)
    else:
        bin = "CASE WHEN code < settled_from THEN first_bin + class * settled_from + code END"
        rows = sql(f"SELECT *, {bin} AS bin FROM ({{rows}}) AS j", rows=rows)
        noisy = [place for place in every if offsets[place]]
        in_bins = sql("SELECT id, bin, attribute FROM ({rows}) AS b", rows=rows)
        value = _of_split("r.attribute", "v.value", noisy)
        join = sql("JOIN {coded} AS v ON v.rowid = r.id", coded=coded)
        bins, ranks = assign_cells(engine, moves.assignments, in_bins, value, join)
        tables += [bins, ranks]
        rows = sql(
            "SELECT b.*, coalesce(d.cell, w.cell, b.code - b.settled_from) AS cell FROM ({rows}) AS b "
            "LEFT JOIN {bins} AS w ON w.bin = b.bin LEFT JOIN {ranks} AS d ON d.id = b.id",
            rows=rows,
            bins=bins,
            ranks=ranks,
        )
    side = "CASE WHEN cell = nulls THEN null_left ELSE cell < cut OR list_contains(categories, cell) END"
    query = sql(
        f"SELECT if(left_side, left_node, right_node) AS node, class, {{codes}} "
        f"FROM (SELECT *, {side} AS left_side FROM ({{rows}}) AS c) AS p "
        "WHERE if(left_side, left_node, right_node) IS NOT NULL",
        codes=_codes_of_next(offsets) if coded else [sql("code{p}", p=place) for place in every],
        rows=rows,
    )
    next_records = engine.materialize("records", query)
    for table in tables:
        engine.discard(table)
    return next_records


def _of_split(attribute: str, name: str, places: Sequence[int]) -> Statement:
    whens = " ".join(f"WHEN {place} THEN {name}{place}" for place in places)
    return Statement(f"CASE {attribute} {whens} END")


def _codes_of_next(offsets: Sequence[int]) -> list[Statement]:
    """Give SQL for the codes where nodes reconstruct: the cell of the split stays.

    Once a node settles all attributes, the others take the cells that were assigned at the root.
    """
    codes = [Statement("id")]
    for place, offset in enumerate(offsets):
        case = (
            "(CASE WHEN attribute = {p} THEN {o}::USMALLINT + cell "
            "WHEN if(left_side, left_settled, right_settled) AND code{p} < {o} "
            "THEN {o}::USMALLINT + cell{p} ELSE code{p} END)::USMALLINT AS code{p}, cell{p}"
        )
        codes.append(sql(case if offset else "code{p}", p=place, o=offset))
    return codes


# -- reconstructed cells ----------------------------------------------------------------------------


@dataclass(frozen=True)
class CellAssignment:
    """Which bins, and which records of divided bins, go to which cell.

    The records of a group lie in bins, in the order of the values: the lowest go to its first cell, the next
    ones to the next, as many to each as the reconstructed distribution says. A bin is divided if its records
    go to several cells; only these records are sorted, by value and then by record.
    """

    # rows `first, last, cell`: the bins from first up to last, last excluded, are of that cell; a divided one
    # is of the first of its cells
    whole: Ints
    # rows `bin, first, last, cell`: of this bin, the records from rank first up to last, last excluded, go to
    # that cell
    divided: Ints


def reconstructed_ends(counts: Ints, kernel: Floats) -> Ints:
    """Reconstruct the distribution of each row of counts, and give the rank at which each cell ends."""
    return cell_ends(reconstruct_distributions(counts, kernel).probabilities, counts.sum(axis=1))


def cell_ends(probabilities: Floats, records: Ints) -> Ints:
    """Give the rank at which each cell ends: its cumulative probability times the records, rounded."""
    ends = np.rint(probabilities.cumsum(axis=1) * records[:, None]).astype(np.int64)
    ends[:, -1] = records
    return np.asarray(np.minimum(ends, records[:, None]))


def assign_bins(counts: Ints, ends: Ints, first_bins: Ints) -> CellAssignment:
    """Assign the bins of each group to cells, with the ends of :func:`cell_ends`, and number the bins."""
    groups, places = np.nonzero(counts)
    sizes, cells = counts[groups, places], ends.shape[1]
    stops = sizes.cumsum()
    starts = stops - sizes
    totals = counts.sum(axis=1)
    # ranks run on from group to group, so that one search over all of them finds each bin's cells
    flat = (ends + (totals.cumsum() - totals)[:, None]).ravel()
    first = np.searchsorted(flat, starts, side="right")
    last = np.searchsorted(flat, stops - 1, side="right")
    bins = first_bins[groups] + places
    parts = np.where(first < last, last - first + 1, 0)
    of = np.repeat(np.arange(len(bins)), parts)
    cell = first[of] + np.arange(len(of)) - np.repeat(parts.cumsum() - parts, parts)
    begin = np.where(cell == first[of], starts[of], flat[cell - 1]) - starts[of]
    end = np.minimum(flat[cell], stops[of]) - starts[of]
    divided = np.stack([bins[of], begin, end, cell % cells], axis=1)
    # bins that follow each other and go to one cell are one row; empty ones between belong
    begins = np.flatnonzero(np.diff(first, prepend=-1))
    lasts = np.append(begins[1:], len(bins))[: len(begins)] - 1
    whole = np.stack([bins[begins], bins[lasts] + 1, first[begins] % cells], axis=1)
    return CellAssignment(whole, divided[begin < end])


def assign_cells(
    engine: Engine,
    assignments: Sequence[CellAssignment],
    records: Statement,
    value: Statement,
    join: Statement = NOTHING,
) -> tuple[Table, Table]:
    """Write ``bin, cell`` of the bins, and ``id, cell`` of the records in divided ones.

    ``records`` gives ``id, bin`` and more of every record of the groups; ``value`` is that of a record ``r``,
    with what has to be joined to it.
    """
    types = {"first": "BIGINT", "last": "BIGINT", "cell": "USMALLINT"}
    runs, values = _as_lists([part.whole for part in assignments], types)
    each = sql("SELECT unnest(range(r.first, r.last)) AS bin, r.cell FROM ({runs}) AS r", runs=runs)
    whole = engine.materialize("whole_bins", each, values)
    lists = _as_lists([part.divided for part in assignments], {"bin": "BIGINT"} | types)
    bins = engine.materialize("divided_bins", *lists)
    ranks = sql(
        "SELECT r.id, b.cell FROM (SELECT r.id, r.bin, "
        "row_number() OVER (PARTITION BY r.bin ORDER BY {value}, r.id) - 1 AS rank "
        "FROM (SELECT * FROM ({records}) AS a WHERE a.bin IN (SELECT b.bin FROM {bins} AS b)) AS r "
        "{join}) AS r "
        "JOIN {bins} AS b ON b.bin = r.bin AND r.rank >= b.first AND r.rank < b.last",
        value=value,
        records=records,
        join=join,
        bins=bins,
    )
    divided = engine.materialize("divided", ranks)
    engine.discard(bins)
    return whole, divided


def _as_lists(parts: Sequence[Ints], types: Mapping[str, str]) -> tuple[Statement, dict[str, Any]]:
    rows = np.concatenate([np.empty((0, len(types)), dtype=np.int64), *parts])
    return rows_of_lists(**types), dict(zip(types, rows.T.tolist(), strict=True))


def root_records(
    engine: Engine, coded: Table, features: Sequence[TreeFeature], groups: int, *, local: bool
) -> Table:
    """Assign every value to a cell, and write the records as the root holds them.

    Distributions are reconstructed for each class, or over all records, one group (Global); ``local`` keeps
    what nodes need to reconstruct their own.

    Source: Agrawal, Srikant 2000, section 4.2.
    """
    group = Statement("r.class" if groups > 1 else "0")
    items, joins = [Statement("0::INTEGER AS node"), Statement("r.class")], list[Statement]()
    if local:
        items.append(Statement("r.rowid AS id"))
    for place, feature in enumerate(features):
        if feature.noise is None:
            items.append(sql("r.code{p}", p=place))
            continue
        bins = feature.bins + 1
        bin = sql("{group} * {bins}::BIGINT + r.bin{p}", group=group, bins=bins, p=place)
        counting = sql("SELECT {bin} AS bin, count(*) AS n FROM {c} AS r GROUP BY ALL", bin=bin, c=coded)
        rows, counts = engine.arrays(counting, step="fine_counts"), np.zeros(groups * bins, dtype=np.int64)
        counts[rows["bin"]] = rows["n"]
        cells = _root_cells(feature, counts.reshape(groups, bins))
        query = "SELECT r.rowid AS id, {bin} AS bin, r.value{p} AS value FROM {coded} AS r"
        records = sql(query, bin=bin, p=place, coded=coded)
        whole, ranks = assign_cells(engine, [cells], records, Statement("r.value"))
        join = "JOIN {whole} AS w{p} ON w{p}.bin = {bin} LEFT JOIN {ranks} AS d{p} ON d{p}.id = r.rowid"
        joins.append(sql(join, whole=whole, ranks=ranks, p=place, bin=bin))
        if local:
            observed = "(CASE WHEN r.bin{p} = {bins} THEN {null} ELSE r.bin{p} // {fine} END)::USMALLINT"
            null, fine = feature.observed.cells + feature.cells, feature.fine
            items.append(sql(observed + " AS code{p}", p=place, bins=feature.bins, null=null, fine=fine))
        cell = "coalesce(d{p}.cell, w{p}.cell) AS " + ("cell{p}" if local else "code{p}")
        items.append(sql(cell, p=place))
    query = "SELECT {items} FROM {coded} AS r {joins}"
    return engine.materialize("records", sql(query, items=items, coded=coded, joins=joined(joins, " ")))


def _root_cells(feature: TreeFeature, counts: Ints) -> CellAssignment:
    """Assign the fine bins of an attribute to cells; NULL, the last bin, to one more than the last."""
    fine = counts[:, :-1].reshape(len(counts), feature.observed.cells, feature.fine)
    ends = reconstructed_ends(fine.sum(axis=2), feature.kernel)
    return assign_bins(
        counts,
        np.column_stack([ends, counts.sum(axis=1)]),
        np.arange(len(counts)) * (feature.bins + 1),
    )
