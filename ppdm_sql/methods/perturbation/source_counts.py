"""What a randomization counts in a table, wherever the table lives."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from sqlglot import exp

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table, alias, column
from ppdm_sql.engine.source import is_stand_in, source_of
from ppdm_sql.engine.statements import bind, render
from ppdm_sql.engine.types import double
from ppdm_sql.methods.perturbation.column_statistics import as_double, filtered


def value_counts(engine: Engine, table: Table, name: str) -> dict[str, int]:
    """Count the records of each value of a column, as text and NULL aside; one GROUP BY where it lives."""
    with engine.workspace():
        read = source_of(engine, table).counted(engine, [name], None)
        number = exp.Count(this=exp.Star()) if read.count is None else exp.Sum(this=column(read.count))
        value = exp.cast(column(name), "TEXT")
        query = exp.select(value, exp.cast(number, "BIGINT")).from_(read.table.expression())
        query = query.where(column(name).is_(exp.null()).not_()).group_by(value.copy()).order_by(value.copy())
        return dict(engine.query(render(query), step="marginal"))


def outside_range(engine: Engine, table: Table, name: str, lower: float, upper: float) -> int:
    """Count the records whose value lies outside of a range; one scan."""
    low = exp.LT(this=as_double(name), expression=double(lower))
    high = exp.GT(this=as_double(name), expression=double(upper))
    counted = exp.select(exp.Count(this=exp.Star())).where(exp.or_(low, high))
    ((records,),) = source_of(engine, table).aggregate(lambda rows: counted.from_(rows), step="outside")
    return int(records)


def unlisted_values(engine: Engine, table: Table, name: str, listed: Collection[str]) -> int:
    """Count the records whose value is none of those listed; one GROUP BY."""
    found = value_counts(engine, table, name)
    return sum(records for value, records in found.items() if value not in listed)


def quantiles(engine: Engine, table: Table, name: str, shares: Sequence[float], values: int) -> list[float]:
    """Give the values at which shares of all values are reached.

    Args:
        engine: Where the table is, or what stands in for it.
        table: The table.
        name: A column of finite numbers.
        shares: From 0 to 1, ascending.
        values: Its records that have a value.

    Cost: a scan of the column; elsewhere a GROUP BY of it and a sort of its distinct values.
    """
    if is_stand_in(engine, table):
        return _quantiles_elsewhere(engine, table, name, shares, values)
    cutting = bind("perturbation/quantiles", tables={"source": table}, columns={"attribute": [name]})
    ((found,),) = engine.query(cutting, {"shares": list(shares)}, step="quantiles")
    return found or []


def _quantiles_elsewhere(
    engine: Engine, table: Table, name: str, shares: Sequence[float], values: int
) -> list[float]:
    """Do what DuckDB's ``quantile_disc`` does, which other engines do not have."""
    if not values:
        return []
    places = [max(1, values - math.floor(values - values * share)) for share in shares]
    number = alias(exp.Count(this=exp.Star()), "n")
    grouped = exp.select(alias(as_double(name), "v"), number).group_by(as_double(name))
    given = column(name, "s").is_(exp.null()).not_()
    ascending = exp.Order(expressions=[exp.Ordered(this=column("v", "g"))])
    running = exp.Window(this=exp.Sum(this=column("n", "g")), order=ascending)
    least = [
        filtered(
            exp.Min(this=column("v", "c")),
            exp.GTE(this=column("reached", "c"), expression=exp.convert(place)),
        )
        for place in places
    ]

    def query(rows: exp.Expression) -> exp.Expression:
        counts = grouped.copy().from_(rows).where(given).subquery("g")
        reached = exp.select(column("v", "g"), alias(exp.cast(running, "BIGINT"), "reached")).from_(counts)
        return exp.select(*least).from_(reached.subquery("c"))

    (found,) = source_of(engine, table).aggregate(query, step="quantiles")
    return [float(edge) for edge in found]
