"""Counts of noisy values by cell, in one statement; nothing else of the records leaves the database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sqlglot import exp

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table, alias, column
from ppdm_sql.engine.statements import literal, render
from ppdm_sql.engine.types import double, is_number, without_enum
from ppdm_sql.errors import InvalidOption, InvalidSource
from ppdm_sql.methods.perturbation.transition_matrices import Array, Grid

MOST_CLASSES = 1000
"""Different values that the class column may have."""
Bins = Grid | tuple[str, ...]
"""What is counted: cells of a number, or values of a category."""


@dataclass(frozen=True)
class Histogram:
    """The counts of one column among the records of one class.

    Args:
        counts: Records in each cell, or with each value. Values beyond the end cells count
            to these.
        outside: Records whose value lies beyond the end cells, or is none of the categories.
        nulls: Records without a value; NaN counts as none.
    """

    counts: Array
    outside: int
    nulls: int


@dataclass(frozen=True)
class Histograms:
    """The histograms of some columns, by class.

    Args:
        found: For each column a histogram for each class, in the order of ``classes``.
        classes: The values of the class column as text, in order, None for NULL; ``(None,)`` without one.
        values: Working table with ``class_code``, the position in ``classes``, and ``class``; None without
            a class column. It lasts as long as the workspace.
    """

    found: dict[str, list[Histogram]]
    classes: tuple[str | None, ...]
    values: Table | None


def count_values(engine: Engine, table: Table, columns: Sequence[str]) -> int:
    """Give the number of records that have a value in the column that has most of them.

    Cost: one scan of the columns' validity.
    """
    most = exp.func("greatest", *(exp.Count(this=column(name)) for name in columns), literal(0))
    ((records,),) = engine.query(render(exp.select(most).from_(table.expression())), step="count values")
    return int(records)


def histograms(engine: Engine, table: Table, bins: Mapping[str, Bins], by: str | None = None) -> Histograms:
    """Count the values of some columns by cell or category, and by class.

    Args:
        engine: Inside a workspace.
        table: The table or view.
        bins: For each column its grid, or its categories.
        by: The class column, if the counts are wanted by class. NULL is a class of its own.

    Raises:
        InvalidSource: A column that is to lie on a grid holds no numbers.
        InvalidOption: The class column has more than 1,000 values.

    Cost: one GROUP BY a column.
    """
    types = {item.name: item.type for item in engine.columns(table)}
    parts = [_counted(table, number, name, bins[name], types, by) for number, name in enumerate(bins)]
    union: exp.Expression = parts[0]
    for part in parts[1:]:
        union = exp.union(union, part, distinct=False, copy=False)
    values: Table | None = None
    classes: tuple[str | None, ...] = (None,)
    if by is None:
        counts = engine.query(render(union), step="histogram")
        rows = [(attribute, 0, cell, records) for attribute, cell, records in counts]
    else:
        counted = engine.materialize("histogram", union)
        values = _class_values(engine, counted, by)
        rows, classes = engine.query(_coded(counted, values), step="histogram"), _texts(engine, values)
    sums = [[_Counts(bins[name]) for _ in classes] for name in bins]
    for attribute, class_code, cell, records in rows:
        sums[attribute][class_code].add(cell, records)
    found = {name: [counts.histogram() for counts in sums[n]] for n, name in enumerate(bins)}
    return Histograms(found, classes, values)


def cell_steps(value: exp.Expression, grid: Grid) -> exp.Expression:
    """Give how many whole cells a DOUBLE lies above the grid's lower edge: below 0, or too many, outside.

    Example:
        >>> import duckdb
        >>> steps = [cell_steps(literal(x), Grid(0.0, 0.5, 4)) for x in (-0.25, 0.5, 7)]
        >>> duckdb.sql(exp.select(*steps).sql("duckdb")).fetchall()
        [(-1.0, 1.0, 14.0)]
    """
    moved = exp.paren(exp.Sub(this=value, expression=double(grid.lower)))
    return exp.Floor(this=exp.Div(this=moved, expression=double(grid.width), typed=False, safe=False))


# -- one column -------------------------------------------------------------------------------


def _counted(
    table: Table, number: int, name: str, bins: Bins, types: Mapping[str, str], by: str | None
) -> exp.Select:
    """Select attribute, class, cell and records of one column.

    Records are counted by whole steps, or texts, first; what is beyond the ends is told from these few rows.
    """
    classes = [] if by is None else [alias(without_enum(column(by), types[by]), "class")]
    if isinstance(bins, Grid):
        value, cell = cell_steps(_number(name, types[name]), bins), _held(column("value"), bins)
    else:
        value, cell = exp.cast(column(name), "TEXT"), _position(column("value"), bins)
    items = [*classes, alias(value, "value"), alias(exp.Count(this=exp.Star()), "records")]
    counted = _grouped(items, table.expression()).subquery("counted")
    sums = alias(exp.cast(exp.Sum(this=column("records")), "BIGINT"), "records")
    known = [] if by is None else [column("class")]
    return _grouped([alias(literal(number), "attribute"), *known, alias(cell, "cell"), sums], counted)


def _grouped(items: Sequence[exp.Expression], source: exp.Expression) -> exp.Select:
    return exp.select(*items).from_(source).group_by(exp.var("ALL"))


def _number(name: str, type_text: str) -> exp.Expression:
    if not is_number(type_text):
        raise InvalidSource(
            f"Column {name!r} holds no numbers, so it has no intervals.",
            f"Give the table with {name!r} as a number, or name another column.",
        )
    return column(name) if type_text == "DOUBLE" else exp.cast(column(name), "DOUBLE")


def _held(steps: exp.Expression, grid: Grid) -> exp.Expression:
    """Give the cell of a number of steps: -1 or the number of cells beyond the ends, NULL for NaN."""
    held = exp.func("greatest", exp.func("least", steps, literal(grid.cells)), literal(-1))
    return exp.case().when(exp.Not(this=exp.IsNan(this=steps.copy())), exp.cast(held, "INTEGER"))


def _position(value: exp.Expression, values: tuple[str, ...]) -> exp.Expression:
    """Give the position of a value in a list, -1 for one that is not there, NULL for NULL."""
    listed = exp.Array(expressions=[literal(text) for text in values])
    place = exp.Sub(
        this=exp.func("coalesce", exp.func("list_position", listed, value), literal(0)), expression=literal(1)
    )
    there = exp.Not(this=exp.Is(this=value.copy(), expression=exp.null()))
    return exp.cast(exp.case().when(there, place), "INTEGER")


# -- classes ----------------------------------------------------------------------------------


def _class_values(engine: Engine, counted: Table, by: str) -> Table:
    rows = exp.select(column("class")).distinct().from_(counted.expression()).subquery("classes")
    order = exp.Window(
        this=exp.RowNumber(),
        order=exp.Order(expressions=[exp.Ordered(this=column("class"), nulls_first=False)]),
    )
    code = alias(exp.Sub(this=order, expression=literal(1)), "class_code")
    values = engine.materialize("classes", exp.select(code, column("class")).from_(rows))
    ((number,),) = engine.query(f"SELECT count(*) FROM {values}", step="count classes")
    if number > MOST_CLASSES:
        raise InvalidOption(
            f"Column {by!r} has {number} values, too many for classes.",
            f"Name a column of no more than {MOST_CLASSES} values with --by-class.",
        )
    return values


def _texts(engine: Engine, values: Table) -> tuple[str | None, ...]:
    query = f'SELECT "class"::VARCHAR FROM {values} ORDER BY class_code'
    return tuple(text for (text,) in engine.query(query, step="classes"))


def _coded(counted: Table, values: Table) -> str:
    return (
        f"SELECT c.attribute, v.class_code, c.cell, c.records FROM {counted} AS c "
        f'JOIN {values} AS v ON c."class" IS NOT DISTINCT FROM v."class"'
    )


class _Counts:
    """Counts of one column and class while the rows come in.

    Args:
        bins: What is counted.
    """

    def __init__(self, bins: Bins) -> None:
        self.grid = isinstance(bins, Grid)
        self.counts = np.zeros(bins.cells if isinstance(bins, Grid) else len(bins))
        self.outside = self.nulls = 0

    def add(self, cell: int | None, records: int) -> None:
        """Take one row."""
        last = len(self.counts) - 1
        if cell is None:
            self.nulls += records
            return
        if not 0 <= cell <= last:
            self.outside += records
        if self.grid or cell >= 0:
            self.counts[min(max(cell, 0), last)] += records

    def histogram(self) -> Histogram:
        """Give what was counted."""
        return Histogram(self.counts, self.outside, self.nulls)
