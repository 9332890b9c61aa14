"""Reads the bounds out of the label of an interval, in SQL."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ppdm_sql.engine.statements import literal
from ppdm_sql.release.draft import Bound, ReleasedColumn

INTERVAL = "^[[]([^,]+), ([^,]+)[])]$"
"""``[37, 52)``, or ``[52, 98]`` where the upper bound is included; no number, date or time holds a comma."""

_GROUPS: dict[Bound, int] = {"lower bound": 1, "upper bound": 2}
_OPEN: dict[Bound, Sequence[str]] = {
    "lower bound": ("^([^,]+) or more$",),
    "upper bound": ("^([^,]+) or less$", "^less than ([^,]+)$"),
}
"""Labels of intervals that are open on one side, which have the other bound alone."""


def bound_of(label: exp.Expression, bound: Bound, type_text: str) -> exp.Expression:
    """Give a bound of the interval that a label names; NULL for every other label."""
    patterns = [(INTERVAL, _GROUPS[bound]), *((pattern, 1) for pattern in _OPEN[bound])]
    found = [
        exp.Anonymous(this="regexp_extract", expressions=[label.copy(), literal(pattern), literal(group)])
        for pattern, group in patterns
    ]
    # at most one of them is there
    text = exp.Nullif(this=exp.Anonymous(this="concat", expressions=found), expression=literal(""))
    return exp.TryCast(this=text, to=exp.DataType.build(type_text, dialect="duckdb"))


def bound_beside(item: ReleasedColumn, label: exp.Expression) -> exp.Expression | None:
    """Give the value of a bound column from the label beside it; None if the column is no bound."""
    if item.treatment == "lower bound" or item.treatment == "upper bound":
        return bound_of(label, item.treatment, item.type or "VARCHAR")
    return None
