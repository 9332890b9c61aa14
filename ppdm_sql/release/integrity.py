"""Queries that count what a release may not show; on a release that nobody has touched they give 0."""

from __future__ import annotations

from sqlglot import exp

from ppdm_sql.engine.names import Table, column
from ppdm_sql.engine.statements import literal
from ppdm_sql.release.draft import ReleasedColumn
from ppdm_sql.release.interval_labels import bound_beside
from ppdm_sql.release.labels import final_labels, has_no_label, joined, sources, stored_text
from ppdm_sql.release.layout import SCHEMA, Shape


def integrity_faults(shape: Shape) -> exp.Select:
    """Count rows that show, in a masked column, what is not in the final cut.

    In a suppressed column that is any value which no step disclosed, except the symbol; in a generalized one
    any label which no step brought or a later one refined.
    """
    shown = sources(shape)
    outside = [_outside(shape, item, shown[item.name]) for item in shape.columns if item.name in shown]
    rows = exp.select(exp.Count(this=exp.Star()))
    return joined(rows, shape, final_labels(shape.name)).where(exp.or_(*outside))


def false_bounds(shape: Shape) -> exp.Select | None:
    """Count rows with a bound that is not the shown interval's; None where no bounds are released."""
    false = [
        exp.NullSafeNEQ(this=stored_text(item.name), expression=exp.cast(bound, "TEXT"))
        for item in shape.columns
        if (bound := bound_beside(item, stored_text(item.of or ""))) is not None
    ]
    rows = exp.select(exp.Count(this=exp.Star())).from_(shape.stored())
    return rows.where(exp.or_(*false)) if false else None


def _outside(shape: Shape, item: ReleasedColumn, source: str) -> exp.Expression:
    """Tell whether a column shows no final label, nor a top that is still in the cut."""
    top = literal(shape.top(item.name))
    not_top: exp.Expression = exp.NullSafeNEQ(this=stored_text(item.name), expression=top)
    if item.treatment == "generalized":
        not_top = exp.Paren(this=exp.Or(this=not_top, expression=_is_refined(shape, item.name)))
    return exp.And(this=has_no_label(source), expression=not_top)


def _is_refined(shape: Shape, name: str) -> exp.Expression:
    """Tell whether any step refined a column."""
    steps = exp.alias_(Table("steps", SCHEMA).expression(), "s", table=True)
    release = exp.EQ(this=column("release", "s"), expression=literal(shape.name))
    attribute = exp.EQ(this=column("attribute", "s"), expression=literal(name))
    return exp.Exists(this=exp.select(literal(1)).from_(steps).where(exp.and_(release, attribute)))
