"""Measures the columns of numbers of a source, all together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from sqlglot import exp

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table, column
from ppdm_sql.engine.source import source_of
from ppdm_sql.engine.types import double
from ppdm_sql.release import Moments


@dataclass(frozen=True)
class ColumnStatistics:
    """What a column of numbers holds."""

    values: int  # records that have a value
    infinite: int  # of them, those with NaN or an infinite number
    fractions: int  # of them, those with a number that is not whole
    lower: float | None  # the least value, None where there is none
    upper: float | None  # the largest value


def statistics_of(
    engine: Engine, table: Table, names: Sequence[str]
) -> tuple[int, dict[str, ColumnStatistics]]:
    """Count the records, and measure columns of numbers, in one scan."""
    source = source_of(engine, table)
    query = partial(statistics_query, names=names)
    ((records, *found),) = source.aggregate(query, step="column_statistics")
    places = range(0, len(found), 5)
    measured = (ColumnStatistics(*found[place : place + 5]) for place in places)
    return int(records), dict(zip(names, measured, strict=True))


def statistics_query(rows: exp.Expression, names: Sequence[str]) -> exp.Select:
    """Write the SELECT that measures columns of numbers of rows under the alias ``s``.

    Example:
        >>> from ppdm_sql.engine.names import aliased
        >>> from ppdm_sql.engine.statements import formatted, render
        >>> print(formatted(render(statistics_query(aliased(Table("people"), "s"), ["salary"]))))
        SELECT
          COUNT(*),
          COUNT("s"."salary"),
          COUNT(*) FILTER(WHERE
            NOT ISFINITE(CAST("s"."salary" AS DOUBLE))),
          COUNT(*) FILTER(WHERE
            ISFINITE(CAST("s"."salary" AS DOUBLE))
            AND CAST("s"."salary" AS DOUBLE) <> FLOOR(CAST("s"."salary" AS DOUBLE))),
          MIN(CAST("s"."salary" AS DOUBLE)) FILTER(WHERE
            ISFINITE(CAST("s"."salary" AS DOUBLE))),
          MAX(CAST("s"."salary" AS DOUBLE)) FILTER(WHERE
            ISFINITE(CAST("s"."salary" AS DOUBLE)))
        FROM "people" AS s
    """
    measures: list[exp.Expression] = [exp.Count(this=exp.Star())]
    for name in names:
        value = as_double(name)
        finite = exp.Anonymous(this="isfinite", expressions=[value])
        fraction = exp.NEQ(this=value.copy(), expression=exp.Floor(this=value.copy()))
        measures += [
            exp.Count(this=column(name, "s")),
            filtered(exp.Count(this=exp.Star()), exp.Not(this=finite)),
            filtered(exp.Count(this=exp.Star()), exp.And(this=finite.copy(), expression=fraction)),
            filtered(exp.Min(this=value.copy()), finite.copy()),
            filtered(exp.Max(this=value.copy()), finite.copy()),
        ]
    return exp.select(*measures).from_(rows)


def filtered(aggregate: exp.Expression, condition: exp.Expression | exp.Condition) -> exp.Expression:
    """Aggregate those rows only that meet a condition."""
    return exp.Filter(this=aggregate, expression=exp.Where(this=condition))


def moments_of(engine: Engine, table: Table, names: Sequence[str]) -> dict[str, Moments]:
    """Measure columns of finite numbers, NULL aside; two scans of the table, where it lives.

    Deviations are taken from the mean: of large numbers close to each other they would be lost in rounding.
    """
    if not names:
        return {}
    source, values = source_of(engine, table), [as_double(name) for name in names]
    means: list[exp.Expression] = [exp.Anonymous(this="favg", expressions=[value]) for value in values]
    counts = [exp.Count(this=value.copy()) for value in values]
    (first,) = source.aggregate(lambda rows: exp.select(*counts, *means).from_(rows), step="means")
    numbers, middles = first[: len(names)], [mean or 0.0 for mean in first[len(names) :]]
    deviations = [
        exp.StddevPop(this=value.copy() - double(mean)) for value, mean in zip(values, middles, strict=True)
    ]
    (second,) = source.aggregate(lambda rows: exp.select(*deviations).from_(rows), step="deviations")
    parts = zip(names, numbers, middles, second, strict=True)
    return {name: Moments(number, mean, deviation or 0.0) for name, number, mean, deviation in parts}


def as_double(name: str) -> exp.Expression:
    """Give a column of ``s`` as a number with a floating point."""
    return exp.cast(column(name, "s"), "DOUBLE")
