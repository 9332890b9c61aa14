"""Lets a run do without further threads where so few rows leave them nothing to do."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

from sqlglot import exp

from ppdm_sql.engine.duckdb_engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.engine.settings import setting
from ppdm_sql.engine.source import is_stand_in
from ppdm_sql.engine.statements import render

ROWS_OF_A_THREAD = 122_880
"""A row group of DuckDB: threads share a table by these, so fewer rows are the work of one."""

_SETTINGS = "SELECT current_setting('threads'), current_setting('lock_configuration')"
_KNOWN = (
    "SELECT estimated_size FROM duckdb_tables() WHERE table_name = $table "
    "AND coalesce(schema_name = $schema, true) AND coalesce(database_name = $database, true)"
)
_lowering = threading.Lock()
"""The number of threads is one of the whole database, so only one run at a time changes it."""


class SpareThreads:
    """Gives up threads of the engine during a run, which waking them would only slow down.

    The number is restored when the context ends, which must be outside of every transaction: one that has
    failed takes no statement. Outside of the context, and inside of another run's, nothing is changed.

    Args:
        engine: The database.

    Example:
        >>> import duckdb
        >>> engine = Engine(duckdb.connect(config={"threads": 2}))
        >>> with SpareThreads(engine) as spare:
        ...     spare.lower(1000)
        ...     engine.query("SELECT current_setting('threads')", step="inside")
        [(1,)]
        >>> engine.query("SELECT current_setting('threads')", step="behind")
        [(2,)]
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._threads, self._lowered = 1, False

    def __enter__(self) -> SpareThreads:
        if _lowering.acquire(blocking=False):
            ((threads, locked),) = self._engine.look_up(_SETTINGS, step="threads")
            self._threads = 1 if locked else int(threads)
            if self._threads == 1:
                _lowering.release()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._threads > 1:
            try:
                self.restore()
            finally:
                self._threads = 1
                _lowering.release()

    @contextmanager
    def over(self, table: Table) -> Iterator[None]:
        """Work on a working table inside; with as many threads as before behind, unless an error comes."""
        lowered = self._lowered
        if self._threads > 1 and not lowered:
            self.lower(_counted(self._engine, table))
        yield
        if not lowered:
            self.restore()

    def source(self, table: Table) -> None:
        """Go on with one thread where the catalogue knows that a run reads few rows."""
        if self._threads > 1:
            self.lower(known_rows(self._engine, table))

    def lower(self, rows: int | None) -> None:
        """Go on with one thread where so few rows are worked on; None stands for an unknown number."""
        if self._threads > 1 and not self._lowered and rows is not None and rows < ROWS_OF_A_THREAD:
            self._engine.look_up(setting("threads", 1), step="one thread")
            self._lowered = True

    def restore(self) -> None:
        """Go on with as many threads as before."""
        if self._lowered:
            self._engine.look_up(setting("threads", self._threads), step="threads again")
            self._lowered = False


def known_rows(engine: Engine, table: Table) -> int | None:
    """Give the rows of a table as the catalogue knows them; None where it does not, as for a view."""
    if is_stand_in(engine, table):
        return None
    asked = {"database": table.catalog, "schema": table.schema, "table": table.name}
    found = [rows for (rows,) in engine.look_up(_KNOWN, asked, step="rows of the table")]
    return found[0] if len(found) == 1 and found[0] else None  # 0 where they are not committed


def _counted(engine: Engine, table: Table) -> int:
    """Count the rows of a working table, which needs no look at them."""
    counted = exp.select(exp.Count(this=exp.Star())).from_(table.expression())
    ((rows,),) = engine.look_up(render(counted), step="rows")
    return int(rows)
