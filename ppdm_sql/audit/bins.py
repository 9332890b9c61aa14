"""Which bin a value lies in, worked out from the bounds in the bins' labels: `[0, 10)`, or `[10, 20]`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlglot import exp

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table, alias, column
from ppdm_sql.engine.statements import bind

_WHOLE = re.compile(r"\[-?\d+, -?\d+[\])]")
_WHOLE_TYPES = re.compile(r"U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER|BIGNUM|DECIMAL\(.*")


def comparable(value: exp.Expression, type_text: str, labels: Sequence[str]) -> exp.Expression:
    """Give a value in a type that also holds the bounds: dates meet times, whole numbers may meet 37.5."""
    if type_text == "DATE":
        return exp.cast(value, "TIMESTAMP")
    whole = all(_WHOLE.fullmatch(label) for label in labels)
    return exp.cast(value, "DOUBLE") if _WHOLE_TYPES.fullmatch(type_text) and not whole else value


def binned_values(engine: Engine, source: Table, value: exp.Expression, labels: Sequence[str]) -> Table:
    """Give the distinct values of a source under the alias ``s`` with their bins: ``value, label``.

    Args:
        engine: Where the source is.
        source: The source.
        value: From :func:`comparable`.
        labels: Of the bins.

    Cost: one GROUP BY of the values.
    """
    read = exp.alias_(source.expression(), "s", table=True)
    known = exp.Not(this=column("value", "v").is_(exp.null()))
    inner = exp.select(alias(value.copy(), "value")).distinct().from_(read).subquery("v")
    values = engine.materialize("values", exp.select(column("value", "v")).from_(inner).where(known))
    tables = {"values_to_bin": values}
    bins = engine.materialize("bins", bind("audit/bins", tables=tables), {"labels": list(labels)})
    return engine.materialize("binned", bind("audit/binned_values", tables={**tables, "bins": bins}))


def join_bin(value: exp.Expression, binned: Table, name: str) -> exp.Join:
    """Join each row to the bin of its value, as a table of that name."""
    same = exp.EQ(this=column("value", name), expression=value.copy())
    return exp.Join(this=exp.alias_(binned.expression(), name, table=True), side="LEFT", on=same)
