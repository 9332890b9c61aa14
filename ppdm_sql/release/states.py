"""Earlier states of a release, from the frozen table and ``ppdm.steps`` alone.

Every state of a top-down run keeps the promise. A label that a step brought shows, before that step, what
the step refined: for a disclosure the symbol, for a specialization the parent node, for a split the whole
interval. Whatever the steps do not know shows the top.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from ppdm_sql.engine.names import alias, column, free_name
from ppdm_sql.engine.statements import literal
from ppdm_sql.privacy import Requirement, Value
from ppdm_sql.privacy.level import level_of
from ppdm_sql.release.draft import ReleasedColumn
from ppdm_sql.release.labels import bound_beside, has_no_label, joined, labels_at, sources
from ppdm_sql.release.layout import Shape

STEP_ARGUMENT = exp.column("step")
"""The macro's argument; columns of that name are always qualified, so the two never meet."""


def state(shape: Shape, step: exp.Expression) -> exp.Select:
    """Select the release as it stood after a step, ordered by the values it shows."""
    values = [_value(shape, item, sources(shape)) for item in shape.columns]
    query = joined(exp.select(*values, copy=False), shape, labels_at(shape.name, step))
    query = query.where(_from_first(step, shape.first), copy=False)
    if shape.count is not None:
        others = (i for i, name in enumerate(shape.names, 1) if name != shape.count)
        query = query.group_by(*_ordinals(others), copy=False)
    return in_order(query)


def partitions(
    shape: Shape, step: exp.Expression | None, protected: Iterable[tuple[str, Value]]
) -> exp.Select:
    """Select one row for each existing combination of the masked columns: the VIP as a relation."""
    rows = shape.rows() if step is None else state(shape, step)
    query = exp.select(*(column(name, "p") for name in shape.masked)).from_(rows.subquery("p"))
    query = query.select(alias(shape.records("p"), free_name("records", shape.masked)))
    for number, (sensitive, value) in enumerate(protected, start=1):
        held = exp.NullSafeEQ(this=column(sensitive, "p"), expression=literal(value))
        name = free_name(f"protected_{number}", shape.masked)
        query = query.select(alias(shape.records("p", where=held), name))
    return in_order(query.group_by(*_ordinals(range(1, len(shape.masked) + 1))))


def protected_values(requirements: Iterable[Requirement]) -> tuple[tuple[str, Value], ...]:
    """List the sensitive columns and values that templates name, each once, in order; labels are none."""
    plain = [asked for asked in requirements if level_of(asked) is None]
    asked = [(name, r.protected or ()) for r in plain for name in r.sensitive_columns]
    return tuple(dict.fromkeys((name, value) for name, values in asked for value in values))


def in_order(query: exp.Select) -> exp.Select:
    """Order rows by all their values, in the order of the columns."""
    numbers = _ordinals(range(1, len(query.expressions) + 1))
    order = [exp.Ordered(this=number, desc=False, nulls_first=False) for number in numbers]
    query.set("order", exp.Order(expressions=order))
    return query


def _value(shape: Shape, item: ReleasedColumn, shown: dict[str, str]) -> exp.Expression:
    if item.name == shape.count:
        return alias(shape.records("f"), item.name)
    if item.name in shown:
        return alias(_label(shape, item.name, shown[item.name]), item.name)
    bound = bound_beside(item, _label(shape, item.of, shown[item.of])) if item.of in shown else None
    return shape.shown(item) if bound is None else alias(bound, item.name)


def _label(shape: Shape, name: str, source: str) -> exp.Expression:
    """Give what a masked column shows at a step: the label joined, or the top."""
    top = literal(shape.top(name))
    shown = exp.case().when(has_no_label(source), top, copy=False)
    return shown.else_(column("label", source), copy=False)


def _from_first(step: exp.Expression, first: int) -> exp.Expression:
    """Refuse a step whose state keeps no promise, a negative or a missing one with an error, whoever asks."""
    number = exp.Coalesce(this=step.copy(), expressions=[literal(-1)])
    words = "Steps count from 0, the most general state. Give 0 or more."
    if first:
        words = f"The states before step {first} do not keep the requirements. Give {first} or more."
    refusal = exp.Anonymous(this="error", expressions=[literal(words)])
    return exp.case().when(exp.LT(this=number, expression=literal(first)), refusal).else_(exp.true())


def _ordinals(numbers: Iterable[int]) -> list[exp.Expression]:
    return [exp.Literal.number(number) for number in numbers]
