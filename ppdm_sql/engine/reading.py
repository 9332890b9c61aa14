"""Which tables and views of the user's a statement reads, so that an error can name them."""

from __future__ import annotations

from collections.abc import Mapping

import sqlglot
from sqlglot import exp

from ppdm_sql.engine.name_lookup import as_written
from ppdm_sql.engine.names import Table

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
