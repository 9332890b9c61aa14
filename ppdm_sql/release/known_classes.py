"""Which new records fall into classes that a release has, where others were left out of it."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlglot import exp

from ppdm_sql.engine.names import column
from ppdm_sql.privacy import Requirement
from ppdm_sql.release.layout import Shape


def in_known_classes(
    rows: exp.Select, shape: Shape, requirements: Sequence[Requirement], there: Collection[str]
) -> exp.Select:
    """Select those of some recoded rows whose class, for each requirement, is one of the release."""
    query = exp.select(*(column(name, "r") for name in rows.named_selects)).from_(rows.subquery("r"))
    spelled = {name.lower(): name for name in shape.names}
    asked = dict.fromkeys(
        tuple(sorted(spelled.get(name.lower(), name) for name in requirement.attributes))
        for requirement in requirements
    )
    for number, names in enumerate(asked):
        if not set(names) <= set(there):
            continue
        same = [_alike(column(n, f"k{number}"), column(n, "r"), n in shape.masked) for n in names]
        known = exp.select(*(column(name, "x") for name in names)).distinct()
        known = known.from_(shape.rows().subquery("x"))
        known_rows = exp.alias_(known.subquery(), f"k{number}", table=True)
        query.append("joins", exp.Join(this=known_rows, kind="SEMI", on=exp.and_(*same)))
    return query


def _alike(known: exp.Column, new: exp.Column, masked: bool) -> exp.NullSafeEQ:
    """Compare a released value with a new one; labels as texts, since one side may be of values alone."""
    sides = [exp.cast(side, "TEXT") for side in (known, new)] if masked else [known, new]
    return exp.NullSafeEQ(this=sides[0], expression=sides[1])
