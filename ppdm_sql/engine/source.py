"""What a run may ask of the table that it reads, wherever the table lives.

A table of DuckDB is read as it stands. A table that lives elsewhere is represented by a *stand-in*: an empty
working table with the same columns, so that names, types and roles are resolved as ever; what is read in its
place are its distinct combinations with their counts, which are worked out where the table lives.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, cast

import sqlglot
from sqlglot import exp

from ppdm_sql.engine.duckdb_engine import Column, Engine, Rows
from ppdm_sql.engine.names import Table, alias, aliased, free_name
from ppdm_sql.engine.statements import Statement, bind, render, sql, text
from ppdm_sql.engine.types import type_tree
from ppdm_sql.errors import PpdmError, UnknownTable
from ppdm_sql.progress import Progress

if TYPE_CHECKING:
    from ppdm_sql.engine.spark.source import SparkSource

Query = Callable[[exp.Expression], exp.Expression]
"""Makes a query over what it is given: the source under the alias ``s``, its columns as it spells them."""


KeyedQuery = Callable[[Table, Table], str]
"""Writes a SELECT over a source, which it reads as ``s``, and a table of one row with keys."""


@dataclass(frozen=True)
class CountedRows:
    """What is read in the place of a source.

    Args:
        table: A table of DuckDB.
        count: Its count column; None where a row is a record.
    """

    table: Table
    count: str | None


class Source(Protocol):
    """A table that a run reads."""

    @property
    def shown(self) -> str:
        """Its name, for messages."""

    def columns(self) -> list[Column]:
        """Give its columns with types of DuckDB."""

    def snapshot(self) -> str:
        """Give a token that another state of the source does not have; empty where nobody can tell."""

    def check_counts(self, count: str) -> Rows:
        """Give the numbers of NULL and of negative counts, and whether all of them can be added up."""

    def counted(self, engine: Engine, columns: Sequence[str], count: str | None) -> CountedRows:
        """Give what is read in its place, with at least these columns.

        Args:
            engine: Where it is read; inside a workspace.
            columns: The columns that are needed, spelled as in the source.
            count: Its count column, or None where a row is a record.
        """

    def aggregate(self, query: Query, *, step: str) -> Rows:
        """Run a query over the source, which it gets under the alias ``s``; it asks for aggregates only."""

    def grouped(self, engine: Engine, query: Query, columns: Sequence[Column], *, step: str) -> Table:
        """Write what a query over the source gives into a working table of DuckDB.

        Args:
            engine: Where the table is made; inside a workspace.
            query: Gets the source under the alias ``s``; it asks for groups of few rows.
            columns: The columns that it gives, with names of the package's own and types of DuckDB.
            step: What is asked, for messages.
        """

    def keep_rows(
        self, engine: Engine, query: KeyedQuery, keys: Mapping[str, str | bytes], *, step: str
    ) -> Table:
        """Keep the rows that a query gives over the source, where it lives.

        Args:
            engine: Where the table is made, or what stands in for it; inside a workspace.
            query: The query; its columns have names of the package's own.
            keys: What stands in the table of keys, by column. No statement, plan or log holds them.
            step: What is kept, for messages.
        """

    def unreadable(self) -> Collection[str]:
        """Give the columns that cannot be read and are refused by name."""

    def check_unchanged(self) -> None:
        """Refuse a source that is not as it was when it was first read.

        Raises:
            InvalidSource: It changed in between.
        """


class TableSource:
    """A table or view of DuckDB: within a snapshot it is the same at each look, and no copy is needed."""

    def __init__(self, engine: Engine, table: Table) -> None:
        self._engine, self._table = engine, table

    @property
    def shown(self) -> str:
        """Its name."""
        return self._table.name

    def columns(self) -> list[Column]:
        """Give its columns."""
        return self._engine.columns(self._table)

    def snapshot(self) -> str:
        """Give nothing: a transaction sees one state."""
        return ""

    def check_counts(self, count: str) -> Rows:
        """Look at the counts in one scan of their column."""
        return self._engine.query(counts_checked(self._table, count), step="count_faults")

    def counted(self, engine: Engine, columns: Sequence[str], count: str | None) -> CountedRows:
        """Give the table itself."""
        return CountedRows(self._table, count)

    def aggregate(self, query: Query, *, step: str) -> Rows:
        """Run the query over the table."""
        return self._engine.query(render(query(aliased(self._table, "s"))), step=step)

    def grouped(self, engine: Engine, query: Query, columns: Sequence[Column], *, step: str) -> Table:
        """Run the query over the table."""
        return engine.materialize(step, render(query(aliased(self._table, "s"))))

    def keep_rows(
        self, engine: Engine, query: KeyedQuery, keys: Mapping[str, str | bytes], *, step: str
    ) -> Table:
        """Write the rows into a working table."""
        return engine.materialize(step, query(self._table, key_table(engine, keys)))

    def unreadable(self) -> Collection[str]:
        """Give none."""
        return ()

    def check_unchanged(self) -> None:
        """Do nothing: a transaction sees one state."""


_SOURCE = Table("ppdm_source")


def over(write: Callable[[Table], Statement]) -> Query:
    """Make a query over a source, wherever it lives, of what writes one that reads a table as ``s``."""

    def query(rows: exp.Expression) -> exp.Expression:
        tree = cast(exp.Expression, sqlglot.parse_one(write(_SOURCE), dialect="duckdb"))
        for table in [item for item in tree.find_all(exp.Table) if item.name == _SOURCE.name]:
            table.replace(rows.copy())
        return tree

    return query


def aggregated(engine: Engine, table: Table, query: str, *, step: str, **holes: object) -> Rows:
    """Ask a table, wherever it lives, for aggregates: SQL in which ``{rows}`` is the table, under ``s``."""

    def written(rows: Table) -> Statement:
        return sql(query, rows=sql("{t} AS s", t=rows), **holes)

    if not is_stand_in(engine, table):
        return engine.query(written(table), step=step)
    return source_of(engine, table).aggregate(over(written), step=step)


class Place(Protocol):
    """Where tables live that are not in DuckDB."""

    progress: Progress | None
    tracer: Callable[[Statement], None] | None

    @property
    def title(self) -> str:
        """What it is, for messages."""

    def find(self, name: str) -> Source:
        """Find a table.

        Raises:
            UnknownTable: There is none of that name.
        """

    def close(self) -> None:
        """Close what was opened to reach it."""


def counts_checked(table: Table, count: str) -> str:
    """Write the statement that looks at the counts of a table."""
    return bind("engine/count_faults", tables={"source": table}, columns={"count_column": [count]})


def source_of(engine: Engine, table: Table) -> Source:
    """Give the source behind a table: the table itself, or what it stands in for."""
    return engine.sources.get(table) or TableSource(engine, table)


def selected_elsewhere(source: Source, query: Query, *, step: str) -> Source:
    """Give the rows that a query gives over a table that lives elsewhere; nothing is read yet.

    Args:
        source: The table.
        query: Gets it under the alias ``s``; its columns have names of the package's own.
        step: What is selected, for messages.
    """
    return cast("SparkSource", source).selected(query, step)


def key_table(engine: Engine, keys: Mapping[str, str | bytes]) -> Table:
    """Make a private table of one row that holds keys; no tracer is told of them."""
    tracer, engine.tracer = engine.tracer, None
    try:
        values = ", ".join(f"${name} AS {name}" for name in keys)
        return engine.materialize("keys", f"SELECT {values or 'TRUE AS none'}", dict(keys))
    finally:
        engine.tracer = tracer


def is_stable(engine: Engine, table: Table) -> bool:
    """Tell whether a source is the same at each look within a transaction: a table of a DuckDB database."""
    where = {"name": table.name, "schema": table.schema, "catalog": table.catalog}
    ((stable,),) = engine.look_up(text("engine/stable_tables"), where, step="stable_tables")
    return bool(stable)


def is_stand_in(engine: Engine, table: Table) -> bool:
    """Tell whether a table is an empty one that stands in for one that lives elsewhere."""
    return table in engine.sources


def find_elsewhere(
    engine: Engine, name: str, progress: Progress | None = None, *, may_be_file: bool = False
) -> Source | None:
    """Find a table where the caller's other tables live; None where it is not there, or nothing is elsewhere.

    Args:
        engine: The engine.
        name: The table.
        may_be_file: Whether a name that is not there can be that of a file here.
        progress: Told of the jobs that are run there from now on; the engine's tracer, of the statements.

    Raises:
        UnknownTable: A table of that name is both there and in DuckDB.
    """
    if engine.spark is None or name in engine.given:
        return None
    engine.spark.progress, engine.spark.tracer = progress, engine.tracer
    try:
        found = engine.spark.find(name)
    except UnknownTable:
        if may_be_file or _is_here(engine, name):
            return None
        raise
    if _is_here(engine, name):
        title = engine.spark.title
        raise UnknownTable(
            f"{name!r} is a table of {title} and one of the DuckDB file.",
            f"Write the one of {title} with its catalog, such as spark_catalog.default.{name}, "
            f"or the other as main.{name}.",
        )
    return found


def _is_here(engine: Engine, name: str) -> bool:
    try:
        return bool(engine.find(name))
    except PpdmError:
        return False


def stand_in(engine: Engine, source: Source) -> Table:
    """Make the stand-in of a source; it lasts as long as the engine's workspace."""
    free = free_name(source.shown, [table.name for table in (*engine.tables(), *engine.given.values())])
    nothing = (
        alias(exp.Cast(this=exp.null(), to=type_tree(item.type)), item.name) for item in source.columns()
    )
    table = engine.materialize("stand_in", exp.select(*nothing).limit(0), name=free)
    engine.sources[table] = source
    return table
