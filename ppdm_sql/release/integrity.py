"""Queries that count what a release may not show; on a release that nobody has touched they give 0."""

from __future__ import annotations

from sqlglot import exp

from ppdm_sql.engine.names import Table, alias, aliased, column
from ppdm_sql.engine.statements import literal, union_all
from ppdm_sql.release.draft import ReleasedColumn
from ppdm_sql.release.interval_labels import bound_beside
from ppdm_sql.release.labels import final_labels, stored_text
from ppdm_sql.release.layout import SCHEMA, Shape


def integrity_faults(shape: Shape, *, unseen: bool = False) -> exp.Select:
    """Count the labels that masked columns show and that are not in the final cut.

    In a suppressed column that is any value which no step disclosed, except the symbol; in a generalized one
    any label which no step brought or a later one refined; of new records with values that are ``unseen``
    the most general label is none.
    """
    parts = [_labels(shape, item) for item in shape.columns if item.name in shape.masked]
    labels = exp.Subquery(this=union_all(parts), alias=exp.TableAlias(this=exp.to_identifier("s")))
    query = exp.select(exp.Count(this=exp.Star())).from_(labels, copy=False)
    query.with_("shown", as_=final_labels(shape.name), copy=False)
    shown = aliased(Table("shown"), "l")
    query.append("joins", exp.Join(this=shown, side="LEFT", on=_same_label()))
    not_top = exp.NullSafeNEQ(this=column("value", "s"), expression=column("top", "s"))
    outside = not_top if unseen else exp.Paren(this=exp.Or(this=not_top, expression=_is_refined(shape)))
    return query.where(column("attribute", "l").is_(exp.null()), outside, copy=False)


def false_bounds(shape: Shape) -> exp.Select | None:
    """Count rows with a bound that is not the shown interval's; None where no bounds are released."""
    false = [
        exp.NullSafeNEQ(this=stored_text(item.name), expression=exp.cast(bound, "TEXT"))
        for item in shape.columns
        if (bound := bound_beside(item, stored_text(item.of or ""))) is not None
    ]
    rows = exp.select(exp.Count(this=exp.Star())).from_(shape.stored())
    return rows.where(exp.or_(*false)) if false else None


def _labels(shape: Shape, item: ReleasedColumn) -> exp.Select:
    """Select ``attribute, value, top, specializes``: each label of a masked column once."""
    stored = exp.select(alias(column(item.name, "f"), "value")).distinct().from_(shape.stored(), copy=False)
    named = {
        "attribute": literal(item.name),
        "value": exp.cast(column("value", "v"), exp.DataType.Type.TEXT),
        "top": literal(shape.top(item.name)),
        "specializes": literal(item.treatment == "generalized"),
    }
    parts = [alias(value, name) for name, value in named.items()]
    return exp.select(*parts, copy=False).from_(stored.subquery("v", copy=False), copy=False)


def _same_label() -> exp.Expression:
    attribute = exp.EQ(this=column("attribute", "l"), expression=column("attribute", "s"))
    value = exp.NullSafeEQ(this=column("value", "l"), expression=column("value", "s"))
    return exp.And(this=attribute, expression=value)


def _is_refined(shape: Shape) -> exp.Expression:
    """Tell whether a column specializes, and any step did so: its top is then in the cut no more."""
    steps = aliased(Table("steps", SCHEMA), "t")
    release = exp.EQ(this=column("release", "t"), expression=literal(shape.name))
    refined = exp.select(column("attribute", "t")).from_(steps, copy=False).where(release, copy=False)
    among = exp.In(this=column("attribute", "s"), query=refined.subquery(copy=False))
    return exp.And(this=column("specializes", "s"), expression=among)
