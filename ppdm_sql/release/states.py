"""Earlier states of a release, from the frozen table and ``ppdm.steps`` alone.

Every state of a top-down run keeps the promise: a value that a later step disclosed is shown as the
symbol again. Values are compared as text, and NULL is a value like any other.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from ppdm_sql.names import Table, alias, column
from ppdm_sql.release.draft import ReleasedColumn
from ppdm_sql.release.shape import SCHEMA, Shape
from ppdm_sql.requirements.model import Requirement, Template, Value
from ppdm_sql.statements import literal

STEP_ARGUMENT = exp.column("step")
"""The macro's argument; columns of that name are always qualified, so the two never meet."""


def state(shape: Shape, step: exp.Expression) -> exp.Select:
    """Select the release as it stood after a step, ordered by the values it shows.

    Args:
        shape: The release.
        step: A number, or the macro's argument: 0 is the most suppressed state, the last step and all
            above it are the release itself.

    Cost: one scan of the frozen table, one join of a few values for each masked column.
    """
    shown = {name: f"shown_{i}" for i, name in enumerate(shape.masked)}
    values = [_value(shape, item, shown) for item in shape.columns]
    query = _joined(exp.select(*values, copy=False), shape, shown, step).where(_from_zero(step), copy=False)
    if shape.count is not None:
        others = (i for i, name in enumerate(shape.names, 1) if name != shape.count)
        query = query.group_by(*_ordinals(others), copy=False)
    return _in_order(query)


def partitions(
    shape: Shape, step: exp.Expression | None, protected: Iterable[tuple[str, Value]]
) -> exp.Select:
    """Select one row for each existing combination of the masked columns: the VIP as a relation.

    Args:
        shape: The release.
        step: The state, as for :func:`state`; None for the release itself.
        protected: Sensitive columns and values, counted as ``protected_1`` and so on.
    """
    rows = shape.rows() if step is None else state(shape, step)
    query = exp.select(*(column(name, "p") for name in shape.masked)).from_(rows.subquery("p"))
    query = query.select(alias(shape.records("p"), _free_name("records", shape.masked)))
    for number, (sensitive, value) in enumerate(protected, start=1):
        held = exp.NullSafeEQ(this=column(sensitive, "p"), expression=literal(value))
        name = _free_name(f"protected_{number}", shape.masked)
        query = query.select(alias(shape.records("p", where=held), name))
    return _in_order(query.group_by(*_ordinals(range(1, len(shape.masked) + 1))))


def protected_values(requirements: Iterable[Requirement]) -> tuple[tuple[str, Value], ...]:
    """List the sensitive columns and values that templates name, each once, in order."""
    templates = [r for r in requirements if isinstance(r, Template)]
    return tuple(dict.fromkeys((t.sensitive, value) for t in templates for value in t.values or ()))


def strays(shape: Shape) -> exp.Select:
    """Count rows that show, in a masked column, a value that no step disclosed; the release has none."""
    shown = {name: f"shown_{i}" for i, name in enumerate(shape.masked)}
    undisclosed = [
        exp.and_(
            exp.Is(this=column("attribute", source), expression=exp.null()),
            exp.NullSafeNEQ(this=_text(name), expression=literal(shape.symbol)),
        )
        for name, source in shown.items()
    ]
    return _joined(exp.select(exp.Count(this=exp.Star())), shape, shown, None).where(exp.or_(*undisclosed))


def _joined(
    query: exp.Select, shape: Shape, shown: dict[str, str], step: exp.Expression | None
) -> exp.Select:
    """Join to the frozen table, for each masked column, the values shown up to a step."""
    query = query.from_(shape.stored(), copy=False)
    if shown:
        query = query.with_("shown", as_=_disclosed(shape.name, step), copy=False)
    for name, source in shown.items():
        here = exp.EQ(this=column("attribute", source), expression=literal(name))
        same = exp.NullSafeEQ(this=column("value", source), expression=_text(name))
        values = exp.Table(
            this=exp.to_identifier("shown"), alias=exp.TableAlias(this=exp.to_identifier(source))
        )
        query.append("joins", exp.Join(this=values, side="LEFT", on=exp.And(this=here, expression=same)))
    return query


def _disclosed(release: str, step: exp.Expression | None) -> exp.Select:
    """Select the values of each attribute that the steps disclosed, up to one of them if given."""
    children = exp.Anonymous(this="unnest", expressions=[column("children", "s")])
    steps = exp.alias_(Table("steps", SCHEMA).expression(), "s", table=True, copy=False)
    query = exp.select(column("attribute", "s"), alias(children, "value")).distinct(copy=False).from_(steps)
    chosen: exp.Expression = exp.EQ(this=column("release", "s"), expression=literal(release))
    if step is not None:
        until = exp.LTE(this=column("step", "s"), expression=step.copy())
        chosen = exp.And(this=chosen, expression=until)
    return query.where(chosen, copy=False)


def _value(shape: Shape, item: ReleasedColumn, shown: dict[str, str]) -> exp.Expression:
    name = item.name
    if name == shape.count:
        return alias(shape.records("f"), name)
    if name not in shown:
        return shape.shown(item)
    hidden = exp.Is(this=column("attribute", shown[name]), expression=exp.null())
    return alias(exp.case().when(hidden, literal(shape.symbol)).else_(_text(name)), name)


def _text(name: str) -> exp.Expression:
    return exp.cast(column(name, "f"), "TEXT")


def _from_zero(step: exp.Expression) -> exp.Expression:
    """Refuse a negative or missing step with an error, whoever asks."""
    number = exp.Coalesce(this=step.copy(), expressions=[literal(-1)])
    words = literal("Steps count from 0, the most suppressed state. Give 0 or more.")
    refusal = exp.Anonymous(this="error", expressions=[words])
    return exp.case().when(exp.LT(this=number, expression=literal(0)), refusal).else_(exp.true())


def _in_order(query: exp.Select) -> exp.Select:
    numbers = _ordinals(range(1, len(query.expressions) + 1))
    order = [exp.Ordered(this=number, desc=False, nulls_first=False) for number in numbers]
    query.set("order", exp.Order(expressions=order))
    return query


def _ordinals(numbers: Iterable[int]) -> list[exp.Expression]:
    return [exp.Literal.number(number) for number in numbers]


def _free_name(name: str, taken: Iterable[str]) -> str:
    lowered = {other.lower() for other in taken}
    while name in lowered:
        name += "_"
    return name
