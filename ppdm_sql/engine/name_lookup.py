"""Which of the tables that there are a name means."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from ppdm_sql.engine.names import Table, parse_table, quoted
from ppdm_sql.errors import InvalidOption


def spellings(name: str) -> Iterator[Table]:
    """Read a name as it stands, then as a qualified SQL name where it is one."""
    yield Table(name)
    with suppress(InvalidOption):
        yield parse_table(name)


def match(wanted: Table, tables: list[Table], current: tuple[str, str]) -> Table | None:
    """Pick the table that a possibly unqualified name means; temporary tables come first."""
    catalog, schema = current
    if wanted.catalog is not None:
        places = [(wanted.catalog, wanted.schema)]
    elif wanted.schema is not None:
        places = [(catalog, wanted.schema), (wanted.schema, "main")]
    else:
        places = [("temp", "main"), (catalog, schema), (catalog, "main")]
    for place in places:
        for same in (_exactly, _casefolded):
            for table in tables:
                if same(table, place, wanted.name):
                    return table
    return None


def _exactly(table: Table, place: tuple[str | None, str | None], name: str) -> bool:
    return (table.catalog, table.schema, table.name) == (*place, name)


def _casefolded(table: Table, place: tuple[str | None, str | None], name: str) -> bool:
    parts = (table.catalog, table.schema, table.name), (*place, name)
    return [str(p).lower() for p in parts[0]] == [str(p).lower() for p in parts[1]]


def shown_name(table: Table, catalog: str) -> str:
    """Write the name of a table for a message: with its database where that is an attached one.

    Example:
        >>> shown_name(Table("visits", "main", "o"), "bank"), shown_name(Table("t", "main", "bank"), "bank")
        ('o.main.visits', 't')
    """
    if table.catalog in (catalog, "temp", None):
        return table.name
    return ".".join(as_written(part) for part in (table.catalog, table.schema, table.name) if part)


def as_written(name: str) -> str:
    """Write a part of a name, quoted where it has to be."""
    return name if name.isidentifier() and name.isascii() else quoted(name)
