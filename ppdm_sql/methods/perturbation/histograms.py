"""Counts of noisy values by cell, in one statement; nothing else of the records leaves the database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sqlglot import exp

from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.names import Table, alias, column
from ppdm_sql.engine.source import is_stand_in, source_of
from ppdm_sql.engine.statements import bind, literal, render, union_all
from ppdm_sql.engine.types import double, is_number, without_enum
from ppdm_sql.errors import InvalidOption, InvalidSource
from ppdm_sql.methods.base.arrays import Floats
from ppdm_sql.methods.perturbation.reconstruction import Grid

MOST_CLASSES = 1000
"""Different values that the class column may have."""
Bins = Grid | tuple[str, ...]
"""What is counted: cells of a number, or values of a category."""


@dataclass(frozen=True)
class Histogram:
    """The counts of one column among the records of one class."""

    counts: Floats  # records in each cell, or with each value. Values beyond the end cells count to these.
    outside: int  # records whose value lies beyond the end cells, or is none of the categories
    nulls: int  # records without a value; NaN counts as none


@dataclass(frozen=True)
class Histograms:
    """The histograms of some columns, by class."""

    found: dict[str, list[Histogram]]  # for each column a histogram for each class, in the order of `classes`
    # the values of the class column as text, in order, None for NULL; `(None,)` without one
    classes: tuple[str | None, ...]
    # working table with `class_code`, the position in `classes`, and `class`; None without a class column. It
    # lasts as long as the workspace.
    codes: Table | None


def count_values(engine: Engine, table: Table, columns: Sequence[str]) -> int:
    """Count the records that have a value in the column that has most of them; one scan of the validity."""
    most = exp.func("greatest", *(exp.Count(this=column(name, "s")) for name in columns), literal(0))
    source = source_of(engine, table)
    ((records,),) = source.aggregate(lambda rows: exp.select(most).from_(rows), step="count values")
    return int(records)


def histograms(engine: Engine, table: Table, bins: Mapping[str, Bins], by: str | None = None) -> Histograms:
    """Count the values of columns by cell or category, and by class if there is one, of which NULL is one.

    Raises:
        InvalidSource: A column that is to lie on a grid holds no numbers.
        InvalidOption: The class column has more than 1,000 values.

    Cost: one GROUP BY a column, where the table lives.
    """
    if is_stand_in(engine, table):
        counting = _elsewhere_query(engine, table, bins, dict(engine.columns(table)), by)
    else:
        counting = counting_query(table, bins, dict(engine.columns(table)), by)
    codes: Table | None = None
    classes: tuple[str | None, ...] = (None,)
    if by is None:
        counts = engine.query(counting, step="histogram")
        rows = [(attribute, 0, cell, records) for attribute, cell, records in counts]
    else:
        counted = engine.materialize("histogram", counting)
        codes, classes = _classes(engine, counted, by)
        coding = bind("perturbation/coded_histogram", tables={"histogram": counted, "class_codes": codes})
        rows = engine.query(coding, step="coded_histogram")
    sums = [[_Counts(bins[name]) for _ in classes] for name in bins]
    for attribute, class_code, cell, records in rows:
        sums[attribute][class_code].add(cell, records)
    found = {name: [counts.histogram() for counts in sums[n]] for n, name in enumerate(bins)}
    return Histograms(found, classes, codes)


def _classes(engine: Engine, histogram: Table, by: str) -> tuple[Table, tuple[str | None, ...]]:
    """Number the classes, and give them as text."""
    coding = bind("perturbation/class_codes", tables={"histogram": histogram})
    codes = engine.materialize("class_codes", coding)
    values = {"most": MOST_CLASSES}
    listing = bind("perturbation/class_texts", tables={"class_codes": codes}, values=values)
    found = engine.query(listing, step="class_texts")
    if found and found[0][1] > MOST_CLASSES:
        raise InvalidOption(
            f"Column {by!r} has {found[0][1]} values, too many for classes.",
            f"Name a column of no more than {MOST_CLASSES} values with --by-class.",
        )
    return codes, tuple(text for text, _ in found)


# -- the counting statement -------------------------------------------------------------------


def counting_query(table: Table, bins: Mapping[str, Bins], types: Mapping[str, str], by: str | None) -> str:
    """Write the SELECT of attribute, class, cell and records.

    Example: an age in intervals of 20 years, by class.
        >>> from ppdm_sql.engine.statements import formatted
        >>> types = {"age": "DOUBLE", "class": "VARCHAR"}
        >>> print(formatted(counting_query(Table("people"), {"age": Grid(0.0, 20.0, 4)}, types, "class")))
        SELECT
          0 AS "attribute",
          "class",
          CASE WHEN NOT ISNAN("value") THEN CAST(GREATEST(LEAST("value", 4), -1) AS INT) END AS "cell",
          CAST(SUM("records") AS BIGINT) AS "records"
        FROM (
          SELECT
            "class" AS "class",
            FLOOR((
              "age" - CAST('0.0' AS DOUBLE)
            ) / CAST('20.0' AS DOUBLE)) AS "value",
            COUNT(*) AS "records"
          FROM "people"
          GROUP BY ALL
        ) AS counted
        GROUP BY ALL
    """
    rows = table.expression()
    return render(
        union_all([_counted(rows, number, name, bins[name], types, by) for number, name in enumerate(bins)])
    )


def _elsewhere_query(
    engine: Engine, table: Table, bins: Mapping[str, Bins], types: Mapping[str, str], by: str | None
) -> str:
    """Write the same SELECT over what was counted where the table lives.

    Cells are counted there. Categories are compared by their texts, which engines write differently, so their
    values are handed over with their counts.
    """
    source, classes = source_of(engine, table), [] if by is None else [by]
    given = [Column("attribute", "INTEGER"), *(Column("class", types[name]) for name in classes)]
    given += [Column("cell", "INTEGER"), Column("records", "BIGINT")]
    parts: list[exp.Select] = []
    for number, name in enumerate(bins):
        cells = bins[name]
        if isinstance(cells, Grid):

            def cell_counts(rows: exp.Expression, number: int = number, name: str = name) -> exp.Expression:
                return _counted(rows, number, name, bins[name], types, by, of="s")

            found = source.grouped(engine, cell_counts, given, step="histogram")
            parts.append(exp.select(*(column(item.name) for item in given)).from_(found.expression()))
        else:
            values = source.counted(engine, list(dict.fromkeys([*classes, name])), None)
            records = None if values.count is None else exp.Sum(this=column(values.count))
            parts.append(_counted(values.table.expression(), number, name, cells, types, by, records))
    return render(union_all(parts))


def _counted(
    rows: exp.Expression,
    number: int,
    name: str,
    bins: Bins,
    types: Mapping[str, str],
    by: str | None,
    records: exp.Expression | None = None,
    *,
    of: str | None = None,
) -> exp.Select:
    # records are counted by whole steps, or texts, first: the ends are cut from these few rows
    classes = [] if by is None else [alias(without_enum(column(by, of), types[by]), "class")]
    if isinstance(bins, Grid):
        value, cell = cell_steps(_number(name, types[name], of), bins), _within(column("value"), bins)
    else:
        value, cell = exp.cast(column(name, of), exp.DataType.Type.TEXT), _position(column("value"), bins)
    counts = exp.Count(this=exp.Star()) if records is None else records
    items = [*classes, alias(value, "value"), alias(counts, "records")]
    counted = _grouped(items, rows).subquery("counted")
    sums = alias(exp.cast(exp.Sum(this=column("records")), exp.DataType.Type.BIGINT), "records")
    known = [] if by is None else [column("class")]
    return _grouped([alias(literal(number), "attribute"), *known, alias(cell, "cell"), sums], counted)


def _grouped(items: Sequence[exp.Expression], source: exp.Expression) -> exp.Select:
    return exp.select(*items).from_(source).group_by(exp.var("ALL"))


def _number(name: str, type_text: str, of: str | None) -> exp.Expression:
    if not is_number(type_text):
        raise InvalidSource(
            f"Column {name!r} holds no numbers, so it has no intervals.",
            f"Give the table with {name!r} as a number, or name another column.",
        )
    value = column(name, of)
    return value if type_text == "DOUBLE" else exp.cast(value, exp.DataType.Type.DOUBLE)


def cell_steps(value: exp.Expression, grid: Grid) -> exp.Expression:
    """Give how many whole cells a DOUBLE lies above the grid's lower edge: below 0, or too many, outside.

    Example:
        >>> import duckdb
        >>> steps = [cell_steps(literal(x), Grid(0.0, 0.5, 4)) for x in (-0.25, 0.5, 7)]
        >>> duckdb.sql(exp.select(*steps).sql("duckdb")).fetchall()
        [(-1.0, 1.0, 14.0)]
    """
    distance = exp.paren(exp.Sub(this=value, expression=double(grid.lower)))
    return exp.Floor(this=exp.Div(this=distance, expression=double(grid.width), typed=False, safe=False))


def _within(steps: exp.Expression, grid: Grid) -> exp.Expression:
    """Give the cell of a number of steps: -1 or the number of cells beyond the ends, NULL for NaN."""
    held = exp.func("greatest", exp.func("least", steps, literal(grid.cells)), literal(-1))
    return exp.case().when(exp.Not(this=exp.IsNan(this=steps.copy())), exp.cast(held, exp.DataType.Type.INT))


def _position(value: exp.Expression, values: tuple[str, ...]) -> exp.Expression:
    """Give the position of a value in a list, -1 for one that is not there, NULL for NULL."""
    listed = exp.Array(expressions=[literal(text) for text in values])
    from_one = exp.func("coalesce", exp.func("list_position", listed, value), literal(0))
    there = value.is_(exp.null()).not_()
    return exp.cast(
        exp.case().when(there, exp.Sub(this=from_one, expression=literal(1))), exp.DataType.Type.INT
    )


class _Counts:
    """Counts of one column and class while the rows come in."""

    def __init__(self, bins: Bins) -> None:
        self.grid = isinstance(bins, Grid)
        self.counts = np.zeros(bins.cells if isinstance(bins, Grid) else len(bins))
        self.outside = self.nulls = 0

    def add(self, cell: int | None, records: int) -> None:
        last = len(self.counts) - 1
        if cell is None:
            self.nulls += records
            return
        if not 0 <= cell <= last:
            self.outside += records
        if self.grid or cell >= 0:
            self.counts[min(max(cell, 0), last)] += records

    def histogram(self) -> Histogram:
        return Histogram(self.counts, self.outside, self.nulls)
