"""Which interval a value lies in, worked out from the bounds in the labels: `[0, 10)`, or `[10, 20]`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from sqlglot import exp

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table, alias, aliased, column
from ppdm_sql.engine.statements import bind, text
from ppdm_sql.engine.types import Kind, kind_of

_WHOLE = re.compile(r"\[-?\d+, -?\d+[\])]")


def comparable(value: exp.Expression, type_text: str, labels: Sequence[str]) -> exp.Expression:
    """Give a value in a type that also holds the bounds: dates meet times, whole numbers may meet 37.5."""
    kind = kind_of(type_text)
    if kind is Kind.DATE:
        return exp.cast(value, exp.DataType.Type.TIMESTAMP)
    if kind in (Kind.WHOLE, Kind.DECIMAL) and not all(_WHOLE.fullmatch(label) for label in labels):
        return exp.cast(value, exp.DataType.Type.DOUBLE)
    return value


def own_labels(engine: Engine, labels: Mapping[str, Sequence[str]]) -> Table:
    """Make the working table ``attribute, text, label`` of labels of columns that are their own texts."""
    rows = [(name, label) for name, listed in labels.items() for label in listed]
    texts = [label for _, label in rows]
    params = {"attributes": [name for name, _ in rows], "texts": texts, "labels": texts}
    return engine.materialize("known_labels", text("audit/known_labels"), params)


def distinct_values(engine: Engine, source: Table, value: exp.Expression) -> Table:
    """Make the working table ``value`` of what a source, under the alias ``s``, holds beside NULL.

    Cost: one GROUP BY of the values.
    """
    read = aliased(source, "s")
    inner = exp.select(alias(value.copy(), "value")).distinct().from_(read).subquery("v")
    known = exp.Not(this=column("value", "v").is_(exp.null()))
    return engine.materialize("values", exp.select(column("value", "v")).from_(inner).where(known))


def binned_values(engine: Engine, values: Table, known: Table, name: str) -> Table:
    """Give values with what their intervals are shown as: ``value, label``.

    Args:
        engine: Where all is.
        values: From :func:`distinct_values`, of a :func:`comparable` value.
        known: ``attribute, text, label``; a text that is no interval holds nothing.
        name: The attribute.
    """
    tables = {"values_to_label": values, "known_labels": known}
    bins = engine.materialize("bins", bind("audit/bins", tables=tables, values={"name": name}))
    return engine.materialize("binned", bind("audit/binned_values", tables={**tables, "bins": bins}))


def join_label(value: exp.Expression, labels: exp.Expression, name: str) -> exp.Join:
    """Join each row to the row of its value in ``value, label``, under a name."""
    same = exp.EQ(this=column("value", name), expression=value.copy())
    return exp.Join(this=exp.alias_(labels, name, table=True), side="LEFT", on=same)
