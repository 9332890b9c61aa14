"""Counts of noisy values by cell, in one statement; nothing else of the records leaves the database."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.names import Table, column
from ppdm_sql.engine.source import aggregated, is_stand_in, over, source_of
from ppdm_sql.engine.statements import Statement, bind, joined, literal, sql
from ppdm_sql.engine.types import is_number, without_enum
from ppdm_sql.errors import InvalidOption, InvalidSource
from ppdm_sql.methods.base.arrays import Floats
from ppdm_sql.methods.perturbation.reconstruction import Grid

MOST_CLASSES = 1000
"""Different values that the class column may have."""
Bins = Grid | tuple[str, ...]
"""What is counted: cells of a number, or values of a category."""


@dataclass
class Histogram:
    counts: Floats  # records in each cell, or with each value. Values beyond the end cells count to these.
    outside: int = 0  # records whose value lies beyond the end cells, or is none of the categories
    nulls: int = 0  # records without a value; NaN counts as none

    def add(self, cell: int | None, records: int, *, ordered: bool) -> None:
        """Count records; only ``ordered`` cells have end cells, which take what lies beyond them."""
        last = len(self.counts) - 1
        if cell is None:
            self.nulls += records
            return
        if not 0 <= cell <= last:
            self.outside += records
        if ordered or cell >= 0:
            self.counts[min(max(cell, 0), last)] += records


@dataclass(frozen=True)
class Histograms:
    by_column: dict[str, list[Histogram]]  # a histogram for each class, in the order of `classes`
    # the values of the class column as text, in order, None for NULL; `(None,)` without one
    classes: tuple[str | None, ...]
    # working table with `class_code`, the position in `classes`, and `class`; None without a class column. It
    # lasts as long as the workspace.
    codes: Table | None


def count_values(engine: Engine, table: Table, columns: Sequence[str]) -> int:
    """Count the records that have a value in the column that has most of them; one scan of the validity."""
    counts, query = [sql("count({c})", c=column(name, "s")) for name in columns], "SELECT {most} FROM {rows}"
    most = sql("greatest({counts}, 0)", counts=counts)
    ((records,),) = aggregated(engine, table, query, step="count values", most=most)
    return int(records)


def histograms(engine: Engine, table: Table, bins: Mapping[str, Bins], by: str | None = None) -> Histograms:
    """Count the values of columns by cell or category, and by class if there is one, of which NULL is one."""
    counting = joined(_counts(engine, table, bins, by), " UNION ALL ")
    codes: Table | None = None
    classes: tuple[str | None, ...] = (None,)
    if by is None:
        counts = engine.query(counting, step="histogram")
        rows = [(attribute, 0, cell, records) for attribute, cell, records in counts]
    else:
        histogram = engine.materialize("histogram", counting)
        codes, classes = _classes(engine, histogram, by)
        coding = bind("perturbation/coded_histogram", tables={"histogram": histogram, "class_codes": codes})
        rows = engine.query(coding, step="coded_histogram")
    sizes = [cells.cells if isinstance(cells, Grid) else len(cells) for cells in bins.values()]
    by_column = [[Histogram(np.zeros(size)) for _ in classes] for size in sizes]
    ordered = [isinstance(cells, Grid) for cells in bins.values()]
    for attribute, class_code, cell, records in rows:
        by_column[attribute][class_code].add(cell, records, ordered=ordered[attribute])
    return Histograms(dict(zip(bins, by_column, strict=True)), classes, codes)


def _classes(engine: Engine, histogram: Table, by: str) -> tuple[Table, tuple[str | None, ...]]:
    coding = bind("perturbation/class_codes", tables={"histogram": histogram})
    codes = engine.materialize("class_codes", coding)
    if (number := engine.size(codes)) > MOST_CLASSES:
        raise InvalidOption(
            f"Column {by!r} has {number} values, too many for classes.",
            f"Name a column of no more than {MOST_CLASSES} values with --by-class.",
        )
    listing = sql("SELECT CAST(class AS VARCHAR) FROM {codes} ORDER BY class_code", codes=codes)
    return codes, tuple(text for (text,) in engine.query(listing, step="class texts"))


# -- the counting statement -------------------------------------------------------------------


def _counts(engine: Engine, table: Table, bins: Mapping[str, Bins], by: str | None) -> Iterator[Statement]:
    """Write a SELECT of attribute, class, cell and records for each column.

    Cells of numbers are counted where the table lives. Categories are compared by their texts, which engines
    write differently, so their values are handed over with their counts.
    """
    types, source = dict(engine.columns(table)), source_of(engine, table)
    classes = [] if by is None else [by]
    outputs = [Column("attribute", "INTEGER"), *(Column("class", types[name]) for name in classes)]
    outputs += [Column("cell", "INTEGER"), Column("records", "BIGINT")]
    for number, (name, cells) in enumerate(bins.items()):
        part = partial(_column_counts, number=number, item=Column(name, types[name]), bins=cells)
        part = partial(part, classes=[Column(name, types[name]) for name in classes])
        if isinstance(cells, Grid) and is_stand_in(engine, table):
            counts = source.grouped(engine, over(part), outputs, step="histogram")
            yield sql("SELECT {c} FROM {counts}", c=[column(item.name) for item in outputs], counts=counts)
        else:
            values = source.counted(engine, list(dict.fromkeys([*classes, name])), None)
            records = None if values.count is None else sql("sum({n})", n=column(values.count))
            yield part(values.table, records=records)


def _column_counts(
    rows: Table,
    number: int,
    item: Column,
    bins: Bins,
    classes: Sequence[Column],
    records: Statement | None = None,
) -> Statement:
    # records are counted by whole steps, or texts, first: the ends are cut from these few rows
    if isinstance(bins, Grid):
        if not is_number(item.type):
            raise InvalidSource(
                f"Column {item.name!r} holds no numbers, so it has no intervals.",
                f"Give the table with {item.name!r} as a number, or name another column.",
            )
        step = "floor(({c}::DOUBLE - {lower}) / {width})"
        value = sql(step, c=column(item.name, "s"), lower=float(bins.lower), width=float(bins.width))
        clamp = "CASE WHEN NOT isnan(value) THEN greatest(least(value, {cells}), -1)::INTEGER END"
        cell = sql(clamp, cells=bins.cells)
    else:
        value = sql("{c}::VARCHAR", c=column(item.name, "s"))
        place = "coalesce(list_position([{texts}], value), 0) - 1"
        cell = sql(f"CASE WHEN value IS NOT NULL THEN ({place})::INTEGER END", texts=list(map(literal, bins)))
    keys = [sql("{c} AS class", c=without_enum(column(name, "s"), kind)) for name, kind in classes]
    return sql(
        "SELECT {items}, sum(records)::BIGINT AS records "
        "FROM (SELECT {keys}, {records} AS records FROM {rows} AS s GROUP BY ALL) AS counted GROUP BY ALL",
        items=[
            sql("{number} AS attribute", number=number),
            *(Statement("class") for _ in classes),
            sql("{cell} AS cell", cell=cell),
        ],
        keys=[*keys, sql("{value} AS value", value=value)],
        records=records or Statement("count(*)"),
        rows=rows,
    )
