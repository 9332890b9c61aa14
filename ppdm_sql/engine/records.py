"""Reads the records of a table that lives elsewhere into its stand-in, for what has to see each of them."""

from __future__ import annotations

from collections.abc import Collection

from sqlglot import exp

from ppdm_sql.engine.duckdb_engine import Engine
from ppdm_sql.engine.names import Table, aliased, column
from ppdm_sql.engine.source import source_of
from ppdm_sql.engine.statements import render


def read_records(
    engine: Engine, table: Table, columns: Collection[str | None] | None = None, count: str | None = None
) -> None:
    """Write the records of a table that lives elsewhere into its stand-in."""
    source = engine.sources.get(table)
    if source is None:
        return
    there = [item.name for item in source.columns()]
    wanted = set(there) - set(source.unreadable()) if columns is None else set(columns)
    names = [name for name in there if name in wanted and name != count]
    read = source_of(engine, table).counted(engine, names, count)
    shown = [column(name, "s") for name in names]
    if count is not None:
        rows = exp.select(*shown, column(read.count or count, "s")).from_(aliased(read.table, "s"))
    else:
        copies = exp.Anonymous(this="range", expressions=[column(read.count or "", "s")])
        rows = exp.select(*shown).from_(aliased(read.table, "s"))
        rows = rows.join(exp.Unnest(expressions=[copies]), join_type="cross")
    engine.query(f"INSERT INTO {table} BY NAME {render(rows)}", step="read records")
    engine.discard(read.table)
    del engine.sources[table]
