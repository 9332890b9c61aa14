"""The source as a run reads it: the same at each look, and values are equal only where their texts are."""

from __future__ import annotations

from collections.abc import Sequence

from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.exact import exact_values, is_plain
from ppdm_sql.engine.names import Table, column
from ppdm_sql.engine.source import is_stable
from ppdm_sql.engine.statements import joined, sql
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
    """
    plain = {item.name: column(item.name, "s") for item in as_they_are}
    values = exact_values(engine, table, columns) | plain
    stable = not copy and is_stable(engine, table)
    if stable and is_plain(values):
        return table
    read = ({ROW: column(ROW, "s")} if rows else {}) | values
    named = [sql("{v} AS {name}", v=value, name=column(name)) for name, value in read.items()]
    query = sql("SELECT {named} FROM {table} AS s", named=named, table=table)
    return engine.overlay(query) if stable else engine.materialize("source", query)


def count_coded_records(
    engine: Engine, coded: Table, columns: Sequence[str], count: str, *, source: str
) -> int:
    """Add up the records of coded rows, once no value lacks a code.

    A value lacks one that was not there when the values were numbered.
    """
    missing = [sql("{c} IS NULL", c=column(name)) for name in columns]
    query = sql(
        "SELECT count(*) FILTER ({missing}), CAST(sum({n}) AS BIGINT) FROM {coded}",
        missing=joined(missing or [sql("false")], " OR "),
        n=column(count),
        coded=coded,
    )
    ((faults, number),) = engine.query(query, step="uncoded")
    if faults:
        raise InvalidSource(
            f"{source!r} gave different rows each time it was read.",
            "Write it into a table first, such as CREATE TABLE t AS FROM the_view, and name that table.",
        )
    return int(number or 0)  # no rows have no sum
