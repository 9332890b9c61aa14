"""Numbers of 64 bits that stand for combinations of values, so that two tables can be compared by sums.

That any two combinations of 10 million share one has a probability of 3 in a million.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ppdm_sql.engine import Column
from ppdm_sql.engine.names import column
from ppdm_sql.engine.statements import literal
from ppdm_sql.engine.types import without_enum

TEXT = exp.DataType.Type.TEXT


def fingerprint(values: Sequence[exp.Expression]) -> exp.Expression:
    """Give the number that stands for the values of a row; 0 stands for none."""
    return exp.Anonymous(this="hash", expressions=[value.copy() for value in values] or [literal(0)])


def plain_column(item: Column, table: str = "s") -> exp.Expression:
    """Give a column, as text where an ENUM is in it, whose numbers differ from table to table."""
    return without_enum(column(item.name, table), item.type)


def text_column(item: Column, table: str = "s") -> exp.Expression:
    """Give a column as text."""
    value: exp.Expression = column(item.name, table)
    return value if item.type == "VARCHAR" else exp.cast(value, TEXT)


def total(values: exp.Expression, records: exp.Expression | None = None) -> exp.Expression:
    """Add fingerprints up, each as often as there are records with it; 0 for no rows."""
    if records is not None:
        values = exp.Mul(this=exp.cast(values, exp.DataType.Type.INT128), expression=records.copy())
    whole = exp.cast(exp.Sum(this=values), exp.DataType.Type.INT128)
    return exp.Coalesce(this=whole, expressions=[literal(0)])


def counted(query: exp.Select, count: str | None) -> exp.Select:
    """Leave out the rows of ``s`` that count no record; changes the query."""
    if count is None:
        return query
    return query.where(exp.GT(this=column(count, "s"), expression=literal(0)), copy=False)
