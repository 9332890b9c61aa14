"""Which interval a value lies in, worked out from the bounds in the labels: `[0, 10)`, or `[10, 20]`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from sqlglot import exp

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table, alias, aliased, column
from ppdm_sql.engine.statements import bind, text
from ppdm_sql.engine.types import Kind, kind_of
from ppdm_sql.errors import GuaranteeNotMet

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


def binned_values(
    engine: Engine,
    values: Table,
    known: Table,
    name: str,
    tails: tuple[str | None, str | None] = (None, None),
) -> Table:
    """Give values with what their intervals are shown as: ``value, label``.

    Args:
        engine: Where all is.
        values: From :func:`distinct_values`, of a :func:`comparable` value.
        known: ``attribute, text, label``; a text that is no interval holds nothing.
        name: The attribute.
        tails: Texts of the bounds of a lower and an upper tail, which no interval may split.

    Raises:
        GuaranteeNotMet: An interval splits a tail.
    """
    tables = {"values_to_label": values, "known_labels": known}
    bins = engine.materialize("bins", bind("audit/bins", tables=tables, values={"name": name}))
    if tails != (None, None):
        query = bind("audit/split_tails", tables={"bins": bins, "values_to_label": values})
        ((split,),) = engine.query(
            query, dict(zip(("bottom", "top"), tails, strict=True)), step="split_tails"
        )
        if split:
            raise GuaranteeNotMet(
                f"{split} labels of column {name!r} tell values of its tails apart; nothing was published.",
                "Report this as a defect.",
            )
    return engine.materialize("binned", bind("audit/binned_values", tables={**tables, "bins": bins}))


def join_label(value: exp.Expression, labels: exp.Expression, name: str) -> exp.Join:
    """Join each row to the row of its value in ``value, label``, under a name."""
    same = exp.EQ(this=column("value", name), expression=value.copy())
    return exp.Join(this=exp.alias_(labels, name, table=True), side="LEFT", on=same)
