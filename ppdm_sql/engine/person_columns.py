"""The columns that say whose record a row is, where requirements count persons instead of records."""

from __future__ import annotations

from collections.abc import Sequence

from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.names import Table, column, listed, resolve_all
from ppdm_sql.engine.statements import joined, sql
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


def check_persons(engine: Engine, source: Table, person: Sequence[str], what: str = "person") -> None:
    """Refuse rows that are nobody's; ``what`` is what the columns name, for messages."""
    nobody = joined([sql("{c} IS NULL", c=column(name)) for name in person], " OR ")
    query = sql("SELECT count(*) FROM {source} WHERE {nobody}", source=source, nobody=nobody)
    ((missing,),) = engine.query(query, step="person_faults")
    if missing:
        named = " or ".join(repr(name) for name in person)
        raise InvalidSource(
            f"The {what} column {named} is NULL in {missing} row{'s' * (missing != 1)}.",
            "Say whose record each row is, or leave such rows out in a view.",
        )
