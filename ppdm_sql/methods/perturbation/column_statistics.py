"""Measures the columns of numbers of a source, all in one scan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.names import Table, column
from ppdm_sql.engine.statements import render
from ppdm_sql.release import Moments


@dataclass(frozen=True)
class ColumnStatistics:
    """What a column of numbers holds.

    Args:
        values: Records that have a value.
        infinite: Of them, those with NaN or an infinite number.
        fractions: Of them, those with a number that is not whole.
        lower: The least value, None where there is none.
        upper: The largest value.
    """

    values: int
    infinite: int
    fractions: int
    lower: float | None
    upper: float | None


def number(name: str, table: str = "s") -> exp.Expression:
    """Give a column as a number with a floating point."""
    return exp.cast(column(name, table), "DOUBLE")


def statistics_of(
    engine: Engine, table: Table, numeric: Sequence[Column]
) -> tuple[int, dict[str, ColumnStatistics]]:
    """Count the records, and measure columns of numbers.

    Cost: one scan of the columns.
    """
    measures = [measure for item in numeric for measure in _measures(item)]
    query = exp.select(exp.Count(this=exp.Star()), *measures).from_(source_rows(table))
    ((records, *found),) = engine.query(render(query), step="facts")
    return int(records), {
        item.name: ColumnStatistics(*found[5 * i : 5 * i + 5]) for i, item in enumerate(numeric)
    }


def moments_of(engine: Engine, table: Table, names: Sequence[str]) -> dict[str, Moments]:
    """Measure columns of finite numbers, NULL aside; one scan of the table."""
    if not names:
        return {}
    zero = exp.Literal.number(0)
    numbers: list[exp.Expression] = []
    for value in (number(name) for name in names):
        mean: exp.Expression = exp.Anonymous(this="favg", expressions=[value])
        deviation = exp.StddevPop(this=value.copy())
        numbers.append(exp.Count(this=value.copy()))
        numbers += [exp.Coalesce(this=part, expressions=[zero.copy()]) for part in (mean, deviation)]
    (found,) = engine.query(render(exp.select(*numbers).from_(source_rows(table))), step="moments")
    return {name: Moments(*found[3 * place : 3 * place + 3]) for place, name in enumerate(names)}


def _measures(item: Column) -> list[exp.Expression]:
    finite = exp.Anonymous(this="isfinite", expressions=[number(item.name)])
    fraction = exp.NEQ(this=number(item.name), expression=exp.Floor(this=number(item.name)))
    return [
        exp.Count(this=column(item.name, "s")),
        _where(exp.Count(this=exp.Star()), exp.Not(this=finite)),
        _where(exp.Count(this=exp.Star()), exp.And(this=finite.copy(), expression=fraction)),
        _where(exp.Min(this=number(item.name)), finite.copy()),
        _where(exp.Max(this=number(item.name)), finite.copy()),
    ]


def _where(aggregate: exp.Expression, condition: exp.Expression) -> exp.Expression:
    return exp.Filter(this=aggregate, expression=exp.Where(this=condition))


def source_rows(table: Table) -> exp.Expression:
    """Give a table under the alias ``s``."""
    return aliased(table, "s")


def aliased(table: Table, name: str) -> exp.Expression:
    """Give a table under an alias of our own."""
    named = table.expression()
    named.set("alias", exp.TableAlias(this=exp.to_identifier(name)))
    return named
