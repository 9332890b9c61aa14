"""The source as a run reads it: the same at each look, and values are equal only where their texts are."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.exact import exact_values, is_plain
from ppdm_sql.engine.names import Table, alias, aliased, column
from ppdm_sql.engine.source import is_stable
from ppdm_sql.engine.statements import render
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
    number = [alias(column(ROW, "s"), ROW)] if rows else []
    query = exp.select(*number, *(alias(value, name) for name, value in values.items()))
    query = query.from_(aliased(table, "s"))
    return engine.overlay(query) if stable else engine.materialize("source", query)


def count_coded_records(
    engine: Engine, coded: Table, columns: Sequence[str], count: str, *, source: str
) -> int:
    """Add up the records of coded rows, once no value lacks a code.

    A value lacks one that was not there when the values were numbered.
    """
    missing: list[exp.Expression] = [exp.Is(this=column(name), expression=exp.null()) for name in columns]
    where = exp.Where(this=exp.or_(*missing or [exp.false()], copy=False))
    uncoded = exp.Filter(this=exp.Count(this=exp.Star()), expression=where)
    added = exp.cast(exp.Sum(this=column(count)), "BIGINT")
    query = exp.select(uncoded, added, copy=False).from_(coded.expression(), copy=False)
    ((faults, number),) = engine.query(render(query), step="uncoded")
    if faults:
        raise InvalidSource(
            f"{source!r} gave different rows each time it was read.",
            "Write it into a table first, such as CREATE TABLE t AS FROM the_view, and name that table.",
        )
    return int(number or 0)  # no rows have no sum
