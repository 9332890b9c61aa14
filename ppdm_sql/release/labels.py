"""The labels of masked columns, joined to the frozen table under the alias ``f``.

Each masked column is joined to ``(attribute, value, ...)``, a few rows that a step file takes from
``ppdm.steps``: the labels that a state tells apart. Labels are compared as text,
and NULL is one of them.
"""

from __future__ import annotations

from sqlglot import exp

from ppdm_sql.engine.names import column
from ppdm_sql.engine.statements import bind, literal
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
