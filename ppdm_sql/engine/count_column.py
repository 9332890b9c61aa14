"""The count column of a table whose rows are collapsed already: how many records each row stands for."""

from __future__ import annotations

from collections.abc import Sequence

from ppdm_sql.engine import Column, Engine, type_title
from ppdm_sql.engine.names import Table, resolve
from ppdm_sql.engine.source import source_of
from ppdm_sql.errors import InvalidSource

_WHOLE_NUMBERS = {f"{sign}{size}INT" for sign in ("", "U") for size in ("TINY", "SMALL", "BIG", "HUGE")}
_WHOLE_NUMBERS |= {"INTEGER", "UINTEGER"}


def count_column(count: str | None, columns: Sequence[Column], *, table: str) -> str | None:
    """Find the count column as the table spells it and check its type."""
    if count is None:
        return None
    found = resolve(count, [item.name for item in columns], table=table)
    type_name = next(item.type for item in columns if item.name == found)
    if type_name not in _WHOLE_NUMBERS:
        raise InvalidSource(
            f"Count column {found!r} of table {table} holds {type_title(type_name)}, not whole numbers.",
            "Name a column of an integer type, or cast it in a view.",
        )
    return found


def check_counts(engine: Engine, source: Table, count: str) -> None:
    """Refuse counts that are no numbers of records."""
    ((missing, negative, countable),) = source_of(engine, source).check_counts(count)
    if missing or negative:
        raise InvalidSource(
            f"Count column {count!r} is NULL in {missing} rows and negative in {negative}.",
            "Give a count of at least 0 in every row.",
        )
    if not countable:
        raise InvalidSource(
            f"The counts of column {count!r} add up to more than 9.2e18 records.",
            "Check what the column holds.",
        )
