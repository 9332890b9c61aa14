"""Reads the bounds out of the label of an interval, in SQL."""

from __future__ import annotations

from sqlglot import exp

from ppdm_sql.engine.statements import literal
from ppdm_sql.release.draft import Bound, ReleasedColumn

INTERVAL = "^[[]([^,]+), ([^,]+)[])]$"
"""``[37, 52)``, or ``[52, 98]`` where the upper bound is included; no number, date or time holds a comma."""

_GROUPS: dict[Bound, int] = {"lower bound": 1, "upper bound": 2}


def bound_of(label: exp.Expression, bound: Bound, type_text: str) -> exp.Expression:
    """Give a bound of the interval that a label names; NULL for every other label.

    Args:
        label: The label, of a text type; it is copied.
        bound: Which one.
        type_text: The SQL type of the bound.

    Example:
        >>> import duckdb
        >>> upper = bound_of(literal("[37, 52)"), "upper bound", "INTEGER")
        >>> duckdb.sql("SELECT " + upper.sql("duckdb")).fetchall()
        [(52,)]
    """
    parts = [label.copy(), literal(INTERVAL), literal(_GROUPS[bound])]
    found = exp.Anonymous(this="regexp_extract", expressions=parts)
    text = exp.Nullif(this=found, expression=literal(""))
    return exp.TryCast(this=text, to=exp.DataType.build(type_text, dialect="duckdb"))


def bound_beside(item: ReleasedColumn, label: exp.Expression) -> exp.Expression | None:
    """Give the value of a bound column from the label beside it; None if the column is no bound."""
    if item.treatment == "lower bound" or item.treatment == "upper bound":
        return bound_of(label, item.treatment, item.type or "VARCHAR")
    return None
