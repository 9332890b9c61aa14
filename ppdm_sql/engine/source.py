"""What a run may ask of the table that it reads, wherever the table lives.

A table of DuckDB is read as it stands. A table that lives elsewhere is represented by a *stand-in*: an empty
working table with the same columns, so that names, types and roles are resolved as ever; what is read in its
place are its distinct combinations with their counts, which are worked out where the table lives.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol, cast

import sqlglot
from sqlglot import exp

from ppdm_sql.engine.duckdb_engine import Column, Engine, Rows
from ppdm_sql.engine.names import Table, aliased, column, listed, resolve, resolve_all
from ppdm_sql.engine.statements import Statement, joined, render, sql
from ppdm_sql.engine.types import type_title, type_tree
from ppdm_sql.errors import InvalidOption, InvalidSource, PpdmError, UnknownTable
from ppdm_sql.progress import Progress

Query = Callable[[exp.Expression], exp.Expression]
"""Makes a query over what it is given: the source under the alias ``s``, its columns as it spells them."""
KeyedQuery = Callable[[Table, Table], str]
"""Writes a SELECT over a source, which it reads as ``s``, and a table of one row with keys."""


@dataclass(frozen=True)
class CountedRows:
    """The table of DuckDB that is read in the place of a source."""

    table: Table
    count: str | None  # its count column; None where a row is a record


class Source(Protocol):
    """A table that a run reads."""

    @property
    def shown(self) -> str:
        """Its name, for messages."""

    def columns(self) -> list[Column]:
        """Give its columns with types of DuckDB."""

    def counted(self, engine: Engine, columns: Sequence[str], count: str | None) -> CountedRows:
        """Give what is read in its place, inside a workspace, with at least these columns and its count."""

    def aggregate(self, query: Query, *, step: str) -> Rows:
        """Run a query over the source, which it gets under the alias ``s``; it asks for aggregates only."""

    def grouped(self, engine: Engine, query: Query, columns: Sequence[Column], *, step: str) -> Table:
        """Write what a query over the source gives, groups of few rows, into a working table of DuckDB.

        The columns that it gives have names of the package's own and types of DuckDB.
        """

    def keep_rows(
        self, engine: Engine, query: KeyedQuery, keys: Mapping[str, str | bytes], *, step: str
    ) -> Table:
        """Keep the rows that a query gives over the source, where it lives; give the table or its stand-in.

        The table of keys has a column for each of them. No statement, plan or log holds them.
        """

    def unreadable(self) -> Collection[str]:
        """Give the columns that cannot be read and are refused by name."""

    def check_unchanged(self) -> None:
        """Refuse a source that is not as it was when it was first read."""


class SourceElsewhere(Source, Protocol):
    """One that is not in DuckDB."""

    def selected(self, query: Query, step: str) -> Source:
        """Give the rows that a query gives; it runs whenever something reads them."""


class Place(Protocol):
    """Where such tables are."""

    title: str
    progress: Progress | None  # told how far its jobs are
    tracer: Callable[[Statement], None] | None  # told each statement

    def find(self, name: str) -> Source:
        """Find a table."""


class TableSource:
    """A table or view of DuckDB: within a snapshot it is the same at each look, and no copy is needed."""

    def __init__(self, engine: Engine, table: Table) -> None:
        self._engine, self._table = engine, table

    @property
    def shown(self) -> str:
        return self._table.name

    def columns(self) -> list[Column]:
        return self._engine.columns(self._table)

    def counted(self, engine: Engine, columns: Sequence[str], count: str | None) -> CountedRows:
        return CountedRows(self._table, count)

    def aggregate(self, query: Query, *, step: str) -> Rows:
        return self._engine.query(render(query(aliased(self._table, "s"))), step=step)

    def grouped(self, engine: Engine, query: Query, columns: Sequence[Column], *, step: str) -> Table:
        return engine.materialize(step, render(query(aliased(self._table, "s"))))

    def keep_rows(
        self, engine: Engine, query: KeyedQuery, keys: Mapping[str, str | bytes], *, step: str
    ) -> Table:
        return engine.materialize(step, query(self._table, key_table(engine, keys)))

    def unreadable(self) -> Collection[str]:
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


def source_of(engine: Engine, table: Table) -> Source:
    elsewhere: Source | None = engine.sources.get(table)
    return elsewhere or TableSource(engine, table)


def selected_elsewhere(source: Source, query: Query, *, step: str) -> Source:
    """Give the rows that a query gives over a table that lives elsewhere; nothing is read yet."""
    return cast(SourceElsewhere, source).selected(query, step)


def key_table(engine: Engine, keys: Mapping[str, str | bytes]) -> Table:
    """Make a private table of one row that holds keys; no tracer is told of them."""
    values = ", ".join(f"${name} AS {name}" for name in keys)
    with engine.untraced():
        return engine.materialize("keys", f"SELECT {values or 'TRUE AS none'}", dict(keys))


def is_stand_in(engine: Engine, table: Table) -> bool:
    return table in engine.sources


def find_elsewhere(
    engine: Engine, name: str, progress: Progress | None = None, *, may_be_file: bool = False
) -> Source | None:
    """Find a table where the caller's other tables live; None where it is not there, or nothing is elsewhere.

    Of the jobs that are run there from now on, the listener is told, and the engine's tracer of statements.
    A table of one name both there and in DuckDB is refused.
    """
    place: Place | None = engine.spark
    if place is None:
        return None
    place.progress, place.tracer = progress, engine.tracer
    try:
        found = place.find(name)
    except UnknownTable:
        if may_be_file or is_here(engine, name):
            return None
        raise
    if is_here(engine, name):
        raise UnknownTable(
            f"{name!r} is a table of {place.title} and one of the DuckDB file.",
            f"Write the one of {place.title} with its catalog, such as spark_catalog.default.{name}, "
            f"or the other as main.{name}.",
        )
    return found


def is_here(engine: Engine, name: str) -> bool:
    with suppress(PpdmError):
        return bool(engine.find(name))
    return False


def stand_in(engine: Engine, source: Source) -> Table:
    nothing = [
        sql("CAST(NULL AS {type}) AS {c}", type=type_tree(item.type), c=column(item.name))
        for item in source.columns()
    ]
    table = engine.materialize(
        "stand_in", sql("SELECT {nothing} LIMIT 0", nothing=nothing), name=source.shown
    )
    engine.sources[table] = source
    return table


def read_records(
    engine: Engine, table: Table, columns: Collection[str | None] | None = None, count: str | None = None
) -> None:
    """Write the records of a table that lives elsewhere into its stand-in."""
    source: Source | None = engine.sources.get(table)
    if source is None:
        return
    there = [item.name for item in source.columns()]
    wanted = set(there) - set(source.unreadable()) if columns is None else set(columns)
    names = [name for name in there if name in wanted and name != count]
    read = source_of(engine, table).counted(engine, names, count)
    shown = [column(name, "s") for name in names]
    number, copies = column(read.count or count or "", "s"), sql("")
    if count is not None:
        shown.append(number)
    else:
        copies = sql(" CROSS JOIN unnest(range({n}))", n=number)
    insert = "INSERT INTO {table} BY NAME SELECT {shown} FROM {read} AS s{copies}"
    engine.query(sql(insert, table=table, shown=shown, read=read.table, copies=copies), step="read records")
    engine.discard(read.table)
    del engine.sources[table]


# -- how many records a row stands for, and whose it is ----------------------------------------

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
    query = """
SELECT count(*) FILTER (WHERE {c} IS NULL),
    count(*) FILTER (WHERE {c} < 0),
    coalesce(sum(CAST({c} AS DOUBLE)) < 9.2e18, TRUE)
FROM {rows}"""
    faults = aggregated(engine, source, query, step="count_faults", c=column(count, "s"))
    ((missing, negative, countable),) = faults
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
    missing = engine.number(query, step="person_faults")
    if missing:
        named = " or ".join(repr(name) for name in person)
        raise InvalidSource(
            f"The {what} column {named} is NULL in {missing} row{'s' * (missing != 1)}.",
            "Say whose record each row is, or leave such rows out in a view.",
        )
