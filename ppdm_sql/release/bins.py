"""Numbers, dates and times shown as the label of their bin: ``[0, 10)``, the last one may be ``[10, 20]``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlglot import exp

from ppdm_sql.engine import Column
from ppdm_sql.engine.names import Table, alias, aliased, column
from ppdm_sql.engine.statements import literal
from ppdm_sql.engine.types import read, wide_type
from ppdm_sql.release.draft import ReleasedColumn

_LABEL = re.compile(r"\[(?P<lower>[^,]+), (?P<upper>[^,]+)(?P<end>[])])")
_WHOLE = re.compile(r"-?\d+")


def bin_label(value: exp.Expression, labels: Sequence[str], type_text: str) -> exp.Expression:
    """Give the label of the bin that holds a value; NULL where none does."""
    cases = exp.Case()
    for label in labels:
        found = _LABEL.fullmatch(label)
        if found is None:
            raise ValueError("a bin is labelled by its bounds")
        lower, upper = (_bound(found[name], type_text) for name in ("lower", "upper"))
        below = exp.LTE if found["end"] == "]" else exp.LT
        inside = exp.And(
            this=exp.GTE(this=value.copy(), expression=lower),
            expression=below(this=value.copy(), expression=upper),
        )
        cases = cases.when(inside, literal(label))
    return cases


def in_bins(
    table: Table, columns: Sequence[Column], released: Sequence[ReleasedColumn], name: str
) -> exp.Expression:
    """Give a table under an alias, with labels in the columns that the release shows in bins."""
    labels = {item.name.lower(): item.bins for item in released if item.bins}
    shown = [
        alias(bin_label(column(item, "t"), labels[item.lower()], kind), item)
        for item, kind in columns
        if item.lower() in labels
    ]
    if not shown:
        plain = table.expression()
        plain.set("alias", exp.TableAlias(this=exp.to_identifier(name)))
        return plain
    every = exp.Star(replace=shown)
    return exp.select(every).from_(aliased(table, "t")).subquery(name)


def _bound(text: str, type_text: str) -> exp.Expression:
    """Read a bound in the type of the values, or in one that also holds what lies between them."""
    wide = wide_type(type_text) or type_text
    return read(literal(text), type_text if _WHOLE.fullmatch(text) else wide)


def binned_types(columns: Sequence[Column], released: Sequence[ReleasedColumn]) -> list[Column]:
    """Give the columns of a source with text for those that the release shows in bins."""
    binned = {item.name.lower() for item in released if item.bins}
    return [Column(name, "VARCHAR" if name.lower() in binned else kind) for name, kind in columns]
