"""The Python interface: a database, and what can be done with it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from types import TracebackType

import duckdb

from ppdm_sql.audit import THRESHOLDS, Audit, audit
from ppdm_sql.engine import Engine
from ppdm_sql.engine.opening import connect
from ppdm_sql.engine.spill import SpillFolder
from ppdm_sql.progress import Progress, SilentProgress
from ppdm_sql.refinement.suppress import SuppressOptions, suppress
from ppdm_sql.release import CatalogueRow, Release, get, releases
from ppdm_sql.requirements import Requirement, parse_all, resolve


class Database:
    """A DuckDB database with personal records in it, and the methods that release them.

    Make one with :func:`ppdm_sql.open`. It is a context manager; leaving it closes what it opened.

    Args:
        engine: The engine on an open connection.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def __enter__(self) -> Database:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file if :func:`ppdm_sql.open` opened it; a connection of yours stays open."""
        self.engine.close()

    def audit(
        self,
        table: str,
        require: Sequence[str | Requirement] = (),
        *,
        count_column: str | None = None,
        quasi_identifier: Sequence[str] | None = None,
        thresholds: Sequence[float] | None = None,
        population: str | None = None,
        groups: int = 0,
    ) -> Audit:
        """Measure any table or view: requirements, class sizes, re-identification risk, inferences.

        Args:
            table: Table or view, qualified and quoted where needed.
            require: Requirements to check.
            count_column: Where rows are collapsed, the column that says how many records each stands for.
            quasi_identifier: Columns whose class sizes and risk are wanted; by default those of ``require``.
            thresholds: Confidences in (0, 1] above which inferences are counted; by default 10 % to 90 %.
            population: A table of the population with the same quasi-identifier, for the journalist's risk.
            groups: How many of the worst groups to name by their values; 0 names none.

        Raises:
            PpdmError: A name is unknown, a requirement cannot be read, or the table is empty.

        Cost: one scan of the table for each group of requirements that share their columns.

        Example:
            >>> import duckdb, ppdm_sql
            >>> con = duckdb.connect()
            >>> _ = con.execute("CREATE TABLE t AS SELECT * FROM (VALUES ('a', 1), ('a', 2)) v(x, y)")
            >>> ppdm_sql.open(con).audit("t", ["k >= 2 on x"]).holds
            True
        """
        found = self.engine.find(table)
        names = [column.name for column in self.engine.columns(found)]
        return audit(
            self.engine,
            found,
            [resolve(requirement, names, table=table) for requirement in parse_all(require)],
            count=count_column,
            quasi_identifier=quasi_identifier,
            population=None if population is None else self.engine.find(population),
            groups=groups,
            thresholds=THRESHOLDS if thresholds is None else tuple(thresholds),
        )

    def suppress(
        self,
        table: str,
        require: Sequence[str | Requirement],
        *,
        class_column: str,
        into: str,
        count_column: str | None = None,
        keep: Sequence[str] = (),
        identifiers: Mapping[str, str] | None = None,
        max_steps: int | None = None,
        symbol: str = "*",
        progress: Progress | None = None,
    ) -> Release:
        """Suppress values (PDA) until every requirement holds, and publish the verified release.

        Args:
            table: Table or view to release, qualified and quoted where needed.
            require: Templates and k-anonymity; their columns are masked, whole values at a time.
            class_column: The column that a classifier is to predict; released as it is.
            into: Name of the release, a view.
            count_column: Where rows are collapsed, the column that says how many records each stands for;
                the release is collapsed too.
            keep: Further columns to release as they are. A column of a requirement that is kept stays in
                the clear and still groups. Columns that nobody names are not released.
            identifiers: Direct identifiers, each with ``"drop"`` or ``"pseudonym"``.
            max_steps: Stop after this many disclosures, at least 0; every state keeps the requirements.
            symbol: What a suppressed value becomes.
            progress: Told what the run is doing.

        Returns:
            The release, verified by its own audit.

        Raises:
            GuaranteeNotMet: No suppression meets the requirements.
            PpdmError: An option, a column or the table cannot be used. Nothing is published on any error.

        Cost: two scans of the table, then work on distinct combinations only.
        Source: Wang, Fung, Yu 2005, Algorithm 1.

        Example:
            >>> import duckdb, ppdm_sql
            >>> con = duckdb.connect()
            >>> _ = con.execute('''CREATE TABLE t AS SELECT * FROM (VALUES ('cook', 'no', 'good'),
            ...     ('cook', 'yes', 'bad'), ('clerk', 'yes', 'good')) v(job, ill, rating)''')
            >>> release = ppdm_sql.open(con).suppress(
            ...     "t", ["job -> ill = yes <= 70%"], class_column="rating", into="safe")
            >>> sorted(row[0] for row in release.relation().fetchall())
            ['*', '*', '*']
        """
        options = SuppressOptions(
            require, class_column, into, count_column, tuple(keep), dict(identifiers or {}), max_steps, symbol
        )
        return suppress(self.engine, table, options, progress or SilentProgress())

    def releases(self) -> list[CatalogueRow]:
        """List the releases in this database, oldest first."""
        return releases(self.engine)

    def release(self, name: str) -> Release:
        """Find a release by its name.

        Raises:
            UnknownRelease: There is none of that name; the message lists those that exist.
        """
        return get(self.engine, name)


def open_database(
    database: str | os.PathLike[str] | duckdb.DuckDBPyConnection,
    *,
    read_only: bool = False,
    create: bool = False,
    threads: int | None = None,
    memory_limit: str | None = None,
) -> Database:
    """Open a DuckDB file, or use a connection that is open already.

    Args:
        database: Path of the file, ``:memory:``, or a connection; a connection keeps its settings.
        read_only: Open the file without the right to write.
        create: Make the file where it does not exist.
        threads: Number of threads, at least 1; None leaves the engine's choice.
        memory_limit: Such as ``2GB``; None leaves the engine's choice.

    Raises:
        DatabaseUnavailable: The file is missing, locked, read-only or no database.

    Example:
        >>> with open_database(":memory:") as db:
        ...     db.releases()
        []
    """
    if isinstance(database, duckdb.DuckDBPyConnection):
        return Database(Engine(database))
    spill = SpillFolder()
    try:
        connection = connect(
            database,
            read_only=read_only,
            create=create,
            threads=threads,
            memory_limit=memory_limit,
            spill=spill,
        )
    except BaseException:
        spill.close()
        raise
    return Database(Engine(connection, spill=spill, owned=True))
