"""The columns that say whose record a row is, where requirements count persons instead of records."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.names import Table, column, listed, resolve_all
from ppdm_sql.engine.statements import render
from ppdm_sql.errors import InvalidOption, InvalidSource


def person_columns(
    person: str | Sequence[str], columns: Sequence[Column], *, count: str | None, table: str
) -> tuple[str, ...]:
    """Find the columns that together say whose record a row is, as the table spells them."""
    found = resolve_all(listed(person, "Columns of persons"), [item.name for item in columns], table=table)
    if found and count is not None:
        raise InvalidOption(
            "--person and --count are given, and a row cannot stand for several records of which each has "
            "its own person.",
            "Leave --count out, and give a table with a row for each record.",
        )
    return found


def check_persons(engine: Engine, source: Table, person: Sequence[str]) -> None:
    """Refuse rows that are nobody's."""
    rows = exp.alias_(source.expression(), "s", table=True)
    nobody = exp.or_(*(exp.Is(this=column(name, "s"), expression=exp.null()) for name in person))
    query = exp.select(exp.Count(this=exp.Star())).from_(rows).where(nobody)
    ((missing,),) = engine.query(render(query), step="person_faults")
    if missing:
        named = " or ".join(repr(name) for name in person)
        raise InvalidSource(
            f"The person column {named} is NULL in {missing} row{'s' * (missing != 1)}.",
            "Say whose record each row is, or leave such rows out in a view.",
        )
