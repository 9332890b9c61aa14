"""What a randomization asks of a table that lives elsewhere, where a step file reads one of DuckDB."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table, column
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


def record_counts(engine: Engine, table: Table, name: str) -> tuple[int, int, int]:
    """Count the records, those with a value in a column, and its different values; one scan there."""
    value = column(name, "s")
    different = exp.Count(this=exp.Distinct(expressions=[value.copy()]))
    counts = [exp.Count(this=exp.Star()), exp.Count(this=value), different]
    source = source_of(engine, table)
    (found,) = source.aggregate(lambda rows: exp.select(*counts).from_(rows), step="record_key")
    records, values, each = map(int, found)
    return records, values, each
