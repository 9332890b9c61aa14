"""What a randomization asks of a table that lives elsewhere, where a step file reads one of DuckDB."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sqlglot import exp

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table, alias, column
from ppdm_sql.engine.source import source_of
from ppdm_sql.engine.types import double
from ppdm_sql.methods.perturbation.column_statistics import as_double


def marginal_elsewhere(engine: Engine, table: Table, name: str) -> dict[str, int]:
    """Count the records of each value of a column, as text and NULL aside; one GROUP BY where it lives."""
    with engine.workspace():
        read = source_of(engine, table).counted(engine, [name], None)
        records = exp.cast(exp.Sum(this=column(read.count or "")), "BIGINT")
        value = exp.cast(column(name), "TEXT")
        query = exp.select(value, records).from_(read.table.expression()).group_by(value.copy())
        rows = engine.query(query.order_by(value.copy()).sql("duckdb"), step="marginal")
    return {value: int(records) for value, records in rows if value is not None}


def outside_elsewhere(engine: Engine, table: Table, name: str, lower: float, upper: float) -> int:
    """Count the records whose value lies outside of bounds; one scan where it lives."""
    low = exp.LT(this=as_double(name), expression=double(lower))
    high = exp.GT(this=as_double(name), expression=double(upper))
    counted = exp.select(exp.Count(this=exp.Star()))
    source = source_of(engine, table)
    ((records,),) = source.aggregate(
        lambda rows: counted.from_(rows).where(exp.or_(low, high)), step="outside"
    )
    return int(records)


def strangers_elsewhere(engine: Engine, table: Table, name: str, listed: Sequence[str]) -> int:
    """Count the records whose value is none of those listed."""
    found, known = marginal_elsewhere(engine, table, name), set(listed)
    return sum(records for value, records in found.items() if value not in known)


def quantiles_elsewhere(
    engine: Engine, table: Table, name: str, shares: Sequence[float], values: int
) -> list[float]:
    """Give the values at which shares of all values are reached, as DuckDB's ``quantile_disc`` does.

    Args:
        engine: Where the stand-in is.
        table: The table that lives elsewhere.
        name: A column of finite numbers.
        shares: From 0 to 1, ascending.
        values: Its records that have a value.

    Cost: one GROUP BY of the column where it lives, and a sort of its distinct values.
    """
    if not values:
        return []
    places = [max(1, values - math.floor(values - values * share)) for share in shares]
    number = alias(exp.Count(this=exp.Star()), "n")
    grouped = exp.select(alias(as_double(name), "v"), number).group_by(as_double(name))
    given = exp.Not(this=exp.Is(this=column(name, "s"), expression=exp.null()))
    ascending = exp.Order(expressions=[exp.Ordered(this=column("v", "g"))])
    running = exp.Window(this=exp.Sum(this=column("n", "g")), order=ascending)
    least = [
        exp.Filter(
            this=exp.Min(this=column("v", "c")),
            expression=exp.Where(this=exp.GTE(this=column("reached", "c"), expression=exp.convert(place))),
        )
        for place in places
    ]

    def query(rows: exp.Expression) -> exp.Expression:
        counts = grouped.copy().from_(rows).where(given).subquery("g")
        reached = exp.select(column("v", "g"), alias(exp.cast(running, "BIGINT"), "reached")).from_(counts)
        return exp.select(*least).from_(reached.subquery("c"))

    (found,) = source_of(engine, table).aggregate(query, step="quantiles")
    return [float(edge) for edge in found]


def record_counts(engine: Engine, table: Table, name: str) -> tuple[int, int, int]:
    """Count the records, those with a value in a column, and its different values; one scan there."""
    value = column(name, "s")
    different = exp.Count(this=exp.Distinct(expressions=[value.copy()]))
    counts = [exp.Count(this=exp.Star()), exp.Count(this=value), different]
    source = source_of(engine, table)
    (found,) = source.aggregate(lambda rows: exp.select(*counts).from_(rows), step="record_key")
    records, values, each = map(int, found)
    return records, values, each
