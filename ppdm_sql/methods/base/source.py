"""The source as a run reads it: the same at each look, and values are equal only where their texts are."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.exact import exact_values, is_plain
from ppdm_sql.engine.names import Table, alias, aliased, column
from ppdm_sql.engine.statements import render, text
from ppdm_sql.errors import InvalidSource

ROW = "rowid"


def read_source(
    engine: Engine,
    table: Table,
    columns: Sequence[Column],
    *,
    as_they_are: Sequence[Column] = (),
    rows: bool = False,
    copy: bool = False,
) -> Table:
    """Give what a run reads in the place of its source; it lasts as long as the engine's workspace.

    A table of DuckDB is read as it stands, within :meth:`Engine.snapshot`. Anything else may say something
    else at the next look (a view over ``random()``, a file that is being written), so it is read here, once.

    Args:
        engine: Where the source is.
        table: The source, which is not written.
        columns: The columns that are needed, with their types in the source.
        as_they_are: Further columns, of which values that are equal need not have the same text.
        rows: Whether the rows' numbers are needed too.
        copy: Whether the run reads outside of a snapshot.

    Cost: nothing for a table, one scan for anything else.
    """
    plain = {item.name: column(item.name, "s") for item in as_they_are}
    values = exact_values(engine, table, columns) | plain
    stable = not copy and is_stable(engine, table)
    if stable and is_plain(values):
        return table
    number = [alias(column(ROW, "s"), ROW)] if rows else []
    query = exp.select(*number, *(alias(value, name) for name, value in values.items()))
    query = query.from_(aliased(table, "s"))
    return engine.overlay(query) if stable else engine.materialize("source", query)


def is_stable(engine: Engine, table: Table) -> bool:
    """Tell whether a source is the same at each look within a transaction: a table of a DuckDB database."""
    where = {"name": table.name, "schema": table.schema, "catalog": table.catalog}
    ((stable,),) = engine.look_up(text("engine/stable_tables"), where, step="stable_tables")
    return bool(stable)


def check_codes(engine: Engine, coded: Table, columns: Sequence[str]) -> None:
    """Refuse rows in which a value had no code: it was not there when the values were numbered.

    Raises:
        InvalidSource: The source gave different rows when it was read again.

    Cost: one scan of the coded rows.
    """
    if not columns:
        return
    missing = exp.or_(*(exp.Is(this=column(name), expression=exp.null()) for name in columns))
    query = exp.select(exp.Count(this=exp.Star())).from_(coded.expression()).where(missing)
    ((uncoded,),) = engine.query(render(query), step="uncoded")
    if uncoded:
        raise changing_source()


def changing_source() -> InvalidSource:
    """Say that what was read twice was not the same."""
    return InvalidSource(
        "The source gave different rows each time it was read.",
        "Write it into a table first, such as CREATE TABLE t AS FROM the_view, and name that table.",
    )
