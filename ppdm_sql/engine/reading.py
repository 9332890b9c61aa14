"""What the names in statements mean: which table a user names, and which tables a statement reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress

import sqlglot
from sqlglot import exp

from ppdm_sql.engine.names import Table, parse_table, quoted
from ppdm_sql.errors import InvalidOption

_BEFORE_A_TABLE_READ = (exp.From, exp.Join, exp.Describe)


def tables_read(sql: str, overlays: Mapping[str, str]) -> list[Table]:
    """List the tables of the user's that a statement reads; working tables have no schema in their names."""
    try:
        tree = sqlglot.parse_one(sql, dialect="duckdb")
    except sqlglot.errors.SqlglotError:
        return []
    found = list[Table]()
    for table in tree.find_all(exp.Table):
        if not isinstance(table.parent, _BEFORE_A_TABLE_READ):
            continue
        if table.db:
            found.append(Table(table.name, table.db, table.catalog or None))
        elif table.name in overlays:
            found += tables_read(overlays[table.name], overlays)
    return list(dict.fromkeys(found))


def as_typed(table: Table, place: tuple[str, str] | None) -> str:
    """Write the name of a table as it is typed where the user is."""
    catalog, schema = place or (None, None)
    parts = [table.name]
    if table.catalog not in (catalog, "temp", None):
        parts = [str(table.catalog), str(table.schema), table.name]
    elif table.schema not in (schema, "main"):
        parts = [str(table.schema), table.name]
    return ".".join(map(as_written, parts))


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
