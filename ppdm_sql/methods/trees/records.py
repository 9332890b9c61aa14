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

from collections.abc import Callable, Mapping, Sequence
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
PositionIn = Callable[[Statement, Sequence[str], str], Statement]
"""Writes the position of a value among texts that stand for values of a type; NULL where it is none."""
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
        values = [
            sql("{c}::{t} AS v{p}", c=column(item.attribute.name, "s"), t=item.value_type, p=place)
            for place, item in enumerate(self.features)
        ]
        read = "SELECT {label} AS class_value, {values} FROM {rows} AS s WHERE {label} IS NOT NULL"
        if not values:
            read = "SELECT {label} AS class_value FROM {rows} AS s WHERE {label} IS NOT NULL"
        return sql(read, label=label, values=values, rows=rows)

    def coded(self, values: Statement, position: PositionIn) -> Statement:
        label = position(Statement("class_value"), self.classes, self.label.type)
        codes = [sql("({label})::UTINYINT AS class", label=label)]
        for place, item in enumerate(self.features):
            codes += _codes(item, place, position)
        return sql("SELECT {codes} FROM ({values}) AS v", codes=codes, values=values)


def coded_here(engine: Engine, values: TrainingValues) -> Table:
    """Write the working table ``coded``, in one scan; a table that lives elsewhere is read into DuckDB."""
    read = values.read(values.table)
    if is_stand_in(engine, values.table):
        of_values = [Column(f"v{place}", item.value_type) for place, item in enumerate(values.features)]
        columns = [Column("class_value", values.label.type), *of_values]
        source = source_of(engine, values.table)
        landed = source.grouped(engine, over(values.read), columns, step="training records")
        read = sql("SELECT * FROM {landed}", landed=landed)

    def position(value: Statement, texts: Sequence[str], _: str) -> Statement:
        listed = sql("SELECT unnest([{texts}])", texts=[literal(item) for item in texts])
        known = engine.enumerate_values(listed)
        return sql("enum_code(TRY_CAST({v}::VARCHAR AS {known}))", v=value, known=known)

    return engine.materialize("coded", values.coded(read, position))


def position_there(value: Statement, texts: Sequence[str], type_text: str) -> Statement:
    """Tell values apart where there is no ENUM."""
    as_type = type_tree(type_text)
    listed = [exp.Cast(this=literal(item), to=as_type) for item in texts]
    whens = [sql("WHEN {item} THEN {place}", item=item, place=place) for place, item in enumerate(listed)]
    return sql("CASE {v} {whens} END", v=value, whens=joined(whens, " "))


def _codes(feature: TreeFeature, place: int, position: PositionIn) -> list[Statement]:
    value = sql("v{p}", p=place)
    if feature.noise is not None:
        code = sql("{bin}::USMALLINT AS bin{p}", bin=bin_of(value, feature), p=place)
        return [code, sql("{v} AS value{p}", v=value, p=place)]
    if feature.grid is not None:
        code = cell_of(value, feature.grid)
    else:
        known = position(value, feature.texts, "VARCHAR")
        code = sql("coalesce({known}, {other})", known=known, other=feature.cells)
    return [sql("({code})::{t} AS code{p}", code=code, t=feature.code_type, p=place)]


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
    held = "CASE WHEN {v} IS NULL THEN {codes} ELSE least(greatest({code}, 0), {last}) END"
    return sql(f"({held})", v=value, code=code, codes=codes, last=codes - 1)


# -- counts -----------------------------------------------------------------------------------------


def counting(rows: Statement, attributes: int, nodes: range | None = None) -> Statement:
    """Write the SELECT that counts the records of a level, or of some nodes of it, by code and class."""
    some = NOTHING
    if nodes is not None:
        some = sql("WHERE node >= {first} AND node < {last}", first=nodes.start, last=nodes.stop)
    one = (
        "SELECT {p}::SMALLINT AS attribute, node, code{p} AS code, class, count(*) AS records "
        "FROM {rows} {some} GROUP BY node, code{p}, class"
    )
    parts = (sql(one, p=place, rows=rows, some=some) for place in range(attributes))
    return joined(parts, " UNION ALL ")


def counts_elsewhere(engine: Engine, rows: Table, query: Callable[[Table], Statement]) -> CodeCounts:
    """Count the records of a level where they live; only counts leave."""
    columns = [Column(name, "BIGINT") for name in ("attribute", "node", "code", "class", "records")]
    few = source_of(engine, rows).grouped(engine, over(query), columns, step="level counts")
    # a condition on an expression of the tree would be worked out anew, codes and all, for each branch there
    inside = "SELECT {n} FROM {few} WHERE node IS NOT NULL"
    names = [column(item.name) for item in columns]
    found = engine.arrays(sql(inside, n=names, few=few), step="level counts")
    engine.discard(few)
    return found


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
the categories to the left node; no node where they are done with. Settled children take the root's cells."""


@dataclass
class Moves:
    """Where the records of a level go."""

    rows: dict[str, list[Any]] = field(default_factory=dict)  # of `SPLITS`
    bins: int = 0  # number of bins so far of attributes that nodes reconstructed
    assigned: list[CellAssignment] = field(default_factory=list)  # of these bins

    def add(self, row: Mapping[str, object], counts: Ints, ends: Ints | None) -> None:
        """Add a node, with the counts and, if it reconstructed it, the ends of the attribute it splits."""
        for name, value in {**row, "first_bin": self.bins}.items():
            self.rows.setdefault(name, []).append(value)
        if ends is not None:
            bins, groups = len(counts), len(ends)
            self.assigned.append(assign_bins(counts.T, ends, self.bins + np.arange(groups) * bins))
            self.bins += bins * groups


def moved(engine: Engine, records: Table, moves: Moves, offsets: Sequence[int], coded: Table | None) -> Table:
    """Write the records of the next level, and discard those of this one.

    ``coded`` is given where nodes reconstruct, with the cells that they assigned to their bins.
    """
    splits = engine.materialize("splits", SPLITS, moves.rows)
    made, every = [records, splits], range(len(offsets))
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
        found = assigned(engine, CellAssignment.joined(moves.assigned), in_bins, value, join)
        made += found
        rows = sql(
            "SELECT b.*, coalesce(d.cell, w.cell, b.code - b.settled_from) AS cell FROM ({rows}) AS b "
            "LEFT JOIN {whole} AS w ON w.bin = b.bin LEFT JOIN {ranked} AS d ON d.id = b.id",
            rows=rows,
            whole=found[0],
            ranked=found[1],
        )
    side = "CASE WHEN cell = nulls THEN null_left ELSE cell < cut OR list_contains(categories, cell) END"
    query = sql(
        f"SELECT if(left_side, left_node, right_node) AS node, class, {{codes}} "
        f"FROM (SELECT *, {side} AS left_side FROM ({{rows}}) AS c) AS p "
        "WHERE if(left_side, left_node, right_node) IS NOT NULL",
        codes=_codes_of_next(offsets) if coded else [sql("code{p}", p=place) for place in every],
        rows=rows,
    )
    found_records = engine.materialize("records", query)
    for table in made:
        engine.discard(table)
    return found_records


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
    ones to the next, as many to each as the reconstructed distribution says. A bin whose records all go to
    one cell is whole; only the records of the others are sorted, by value and then by record.
    """

    whole: Ints  # rows `first, last, cell`: the bins from first up to last, last excluded, are of that cell
    # rows `bin, first, last, cell`: of this bin, the records from rank first up to last, last excluded, go to
    # that cell
    divided: Ints

    @staticmethod
    def joined(parts: Sequence[CellAssignment]) -> CellAssignment:
        """Put assignments of different bins together."""
        none = np.empty((0, 3), dtype=np.int64), np.empty((0, 4), dtype=np.int64)
        whole = np.concatenate([none[0], *(part.whole for part in parts)])
        return CellAssignment(whole, np.concatenate([none[1], *(part.divided for part in parts)]))


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
    return CellAssignment(
        _whole(bins, first, last, cells), _divided(bins, starts, stops, first, last, flat, cells)
    )


def _whole(bins: Ints, first: Ints, last: Ints, cells: int) -> Ints:
    """Join whole bins that follow each other and go to one cell of one group; empty ones between belong."""
    if not len(bins):
        return np.empty((0, 3), dtype=np.int64)
    labels = np.where(first == last, first, -1)
    begins = np.flatnonzero(np.diff(labels, prepend=-2))
    stops = np.append(begins[1:], len(bins)) - 1
    runs = np.stack([bins[begins], bins[stops] + 1, labels[begins] % cells], axis=1)
    return np.asarray(runs[labels[begins] >= 0])


def _divided(bins: Ints, starts: Ints, stops: Ints, first: Ints, last: Ints, flat: Ints, cells: int) -> Ints:
    divided = np.flatnonzero(first < last)
    sizes = (last - first)[divided] + 1
    places = np.repeat(divided, sizes)
    cell = first[places] + np.arange(len(places)) - np.repeat(sizes.cumsum() - sizes, sizes)
    begin = np.where(cell == first[places], starts[places], flat[cell - 1])
    stop = np.minimum(flat[cell], stops[places])
    rows = np.stack([bins[places], begin - starts[places], stop - starts[places], cell % cells], axis=1)
    return np.asarray(rows[begin < stop])


def assigned(
    engine: Engine,
    cells: CellAssignment,
    records: Statement,
    value: Statement,
    join: Statement = NOTHING,
) -> tuple[Table, Table]:
    """Write ``bin, cell`` of the whole bins, and ``id, cell`` of the records in the others.

    ``records`` gives ``id, bin`` and more of every record of the groups; ``value`` is that of a record ``r``,
    with what has to be joined to it.
    """
    runs = dict(zip(("first", "last", "cell"), cells.whole.T.tolist(), strict=True))
    listed = rows_of_lists(first="BIGINT", last="BIGINT", cell="USMALLINT")
    each = sql("SELECT unnest(range(r.first, r.last)) AS bin, r.cell FROM ({runs}) AS r", runs=listed)
    whole = engine.materialize("whole_bins", each, runs)
    parts = dict(zip(("bin", "first", "last", "cell"), cells.divided.T.tolist(), strict=True))
    listed = rows_of_lists(bin="BIGINT", first="BIGINT", last="BIGINT", cell="USMALLINT")
    bins = engine.materialize("divided_bins", listed, parts)
    ranked = sql(
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
    found = engine.materialize("divided", ranked)
    engine.discard(bins)
    return whole, found


def root_records(
    engine: Engine,
    coded: Table,
    features: Sequence[TreeFeature],
    classes: int,
    *,
    by_class: bool,
    local: bool,
) -> Table:
    """Assign every value to a cell, and write the records as the root holds them.

    Distributions are reconstructed for each class, or over all records (Global); ``local`` keeps what nodes
    need to reconstruct their own.

    Source: Agrawal, Srikant 2000, section 4.2.
    """
    noisy = {place: feature for place, feature in enumerate(features) if feature.noise is not None}
    group = Statement("r.class" if by_class else "0")
    counts = _fine_counts(engine, coded, noisy, group, classes if by_class else 1)
    shown, joins = [Statement("0::INTEGER AS node"), Statement("r.class")], list[Statement]()
    if local:
        shown.append(Statement("r.rowid AS id"))
    for place, feature in enumerate(features):
        if place not in noisy:
            shown.append(sql("r.code{p}", p=place))
            continue
        bin = sql("{group} * {bins}::BIGINT + r.bin{p}", group=group, bins=feature.bins + 1, p=place)
        records = sql(
            "SELECT r.rowid AS id, {bin} AS bin, r.value{p} AS value FROM {coded} AS r",
            bin=bin,
            p=place,
            coded=coded,
        )
        found = assigned(engine, _root_cells(feature, counts[place]), records, Statement("r.value"))
        join = "JOIN {whole} AS w{p} ON w{p}.bin = {bin} LEFT JOIN {ranked} AS d{p} ON d{p}.id = r.rowid"
        joins.append(sql(join, whole=found[0], ranked=found[1], p=place, bin=bin))
        cell = sql("coalesce(d{p}.cell, w{p}.cell)::{type}", p=place, type=feature.code_type)
        if local:
            null, known = (
                feature.observed.cells + feature.cells,
                sql("r.bin{p} // {f}", p=place, f=feature.fine),
            )
            observed = "(CASE WHEN r.bin{p} = {bins} THEN {null} ELSE {known} END)::USMALLINT AS code{p}"
            shown.append(sql(observed, p=place, bins=feature.bins, null=null, known=known))
        shown.append(sql("{cell} AS cell{p}" if local else "{cell} AS code{p}", cell=cell, p=place))
    read = "SELECT {shown} FROM {coded} AS r {joins}"
    return engine.materialize("records", sql(read, shown=shown, coded=coded, joins=joined(joins, " ")))


def _fine_counts(
    engine: Engine, coded: Table, noisy: Mapping[int, TreeFeature], group: Statement, groups: int
) -> dict[int, Ints]:
    """Count the records of each attribute by group, a row each, and fine bin; NULL is left out."""
    part = (
        "SELECT {p}::SMALLINT AS attribute, {group}::USMALLINT AS class, r.bin{p} AS bin, "
        "count(*) AS records "
        "FROM {coded} AS r GROUP BY ALL"
    )
    parts = " UNION ALL ".join(sql(part, p=place, group=group, coded=coded) for place in noisy)
    rows, found = engine.arrays(parts, step="fine_counts"), {}
    for place, feature in noisy.items():
        mine = rows["attribute"] == place
        counts = np.zeros((groups, feature.bins + 1), dtype=np.int64)
        counts[rows["class"][mine], rows["bin"][mine]] = rows["records"][mine]
        found[place] = counts[:, :-1]
    return found


def _root_cells(feature: TreeFeature, counts: Ints) -> CellAssignment:
    """Assign the fine bins of an attribute to cells; every bin gets a row, for an inner join to find."""
    observed = counts.reshape(len(counts), feature.observed.cells, feature.fine).sum(axis=2)
    first_bins = np.arange(len(counts)) * (feature.bins + 1)
    found = assign_bins(counts, reconstructed_ends(observed, feature.kernel), first_bins)
    null = first_bins + feature.bins
    nulls = np.stack([null, null + 1, np.full_like(null, feature.cells)], axis=1)
    divided = np.unique(found.divided[:, 0])
    placeholders = np.stack([divided, divided + 1, np.zeros_like(divided)], axis=1)
    return CellAssignment(np.concatenate([found.whole, nulls, placeholders]), found.divided)
