"""What masked columns show, in SQL: labels joined to the frozen rows, bounds of intervals, bins."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlglot import exp

from ppdm_sql.engine import Column
from ppdm_sql.engine.names import Table, alias, aliased, column
from ppdm_sql.engine.statements import bind, literal
from ppdm_sql.engine.types import read, type_tree, wide_type
from ppdm_sql.release.draft import Bound, ReleasedColumn
from ppdm_sql.release.layout import Shape


def sources(shape: Shape) -> dict[str, str]:
    """Name, for each masked column, the joined labels that tell what it shows."""
    return {name: f"shown_{i}" for i, name in enumerate(shape.masked)}


def labels_at(release: str, step: exp.Expression) -> exp.Expression:
    """Select what each label of a release shows after a step: ``attribute``, ``value``, ``label``."""
    # as its text, since parsing it takes longer than running it
    return exp.var(str(bind("release/labels_at", tables={}, values={"release": release, "step": step})))


def joined(query: exp.Select, shape: Shape, labels: exp.Expression) -> exp.Select:
    """Select from the frozen table, with the labels joined to each masked column; changes the query."""
    query = query.from_(shape.stored(), copy=False)
    if shape.masked:
        query = query.with_("shown", as_=labels, copy=False)
    for name, source in sources(shape).items():
        here = exp.EQ(this=column("attribute", source), expression=literal(name))
        same = exp.NullSafeEQ(this=column("value", source), expression=stored_text(name))
        values = exp.Table(
            this=exp.to_identifier("shown"), alias=exp.TableAlias(this=exp.to_identifier(source))
        )
        query.append("joins", exp.Join(this=values, side="LEFT", on=exp.And(this=here, expression=same)))
    return query


def has_no_label(source: str) -> exp.Expression:
    """Tell whether nothing was joined."""
    return exp.Is(this=column("attribute", source), expression=exp.null())


def stored_text(name: str) -> exp.Expression:
    """Give a column of the frozen table as text."""
    return exp.cast(column(name, "f"), exp.DataType.Type.TEXT, copy=False)


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
    return exp.TryCast(this=text, to=type_tree(type_text))


def bound_beside(item: ReleasedColumn, label: exp.Expression) -> exp.Expression | None:
    """Give the value of a bound column from the label beside it; None if the column is no bound."""
    if item.treatment == "lower bound" or item.treatment == "upper bound":
        return bound_of(label, item.treatment, item.type or "VARCHAR")
    return None


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
