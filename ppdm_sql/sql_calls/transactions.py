"""Tells whether a statement of the user stands in a transaction that has changes of its own.

A method called in SQL runs on another connection, which sees none of them. DuckDB does not say whether a
transaction is open, so three things are checked: the number of the transaction, which a statement outside
a transaction does not share with an older one; its age when the statement is planned; and the engine itself,
which refuses a checkpoint in a transaction that has changed the database. The last cannot be asked for while
other calls are under way, since the engine refuses it then, too.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import duckdb

from ppdm_sql.errors import EngineError

SECONDS_TO_PLAN = 2.0
"""A transaction that is older when a statement is planned was begun by another statement."""
UNNUMBERED = 2**64 - 1
"""The number of the statement while a relation of Python is only described."""
NO_CHECK = "SELECT 1"
"""A statement that the engine can always run."""

_CHECK = """
    SELECT format('FROM checkpoint(''{}'')', replace(d.database_name, '''', ''''''))
    FROM duckdb_databases() AS d
    WHERE d.database_name = $current AND NOT d.readonly AND d.type = 'duckdb'
"""


class TransactionWatch:
    """What is known of the transactions of one connection.

    Args:
        cursor: Gives another connection to the same database.
    """

    def __init__(self, cursor: Callable[[], duckdb.DuckDBPyConnection]) -> None:
        self._cursor = cursor
        self._seen = (-1, -1)
        self._open = -1

    def note(self, transaction: int, statement: int) -> None:
        """Take note of a statement and of the transaction in which it runs."""
        if statement == UNNUMBERED:
            return
        if transaction == self._seen[0] and statement != self._seen[1]:
            self._open = transaction
        self._seen = (transaction, statement)

    def refuse_open(self, transaction: int, statement: int) -> None:
        """Take note of a statement; refuse it where an earlier one is known to have begun its transaction.

        Raises:
            EngineError: It has.
        """
        self.note(transaction, statement)
        if transaction == self._open:
            raise open_transaction()

    def plan(self, transaction: int, statement: int, begun: int) -> None:
        """Take note of a statement while it is planned.

        Args:
            transaction: Number of its transaction.
            statement: Its number.
            begun: When the transaction began, in microseconds since 1970.
        """
        is_new = self._seen != (transaction, statement)
        self.note(transaction, statement)
        if is_new and time.time() - begun / 1e6 > SECONDS_TO_PLAN:
            self._open = transaction

    def check(self, current: str, transaction: int) -> str:
        """Write the statement that fails if the transaction has changed the current database.

        It does nothing where that one cannot be changed, and where the call will be refused anyway.
        """
        if transaction == self._open:
            return NO_CHECK
        cursor = self._cursor()
        try:
            found = cursor.execute(_CHECK, {"current": current}).fetchone()
            return found[0] if found else NO_CHECK
        finally:
            cursor.close()


def open_transaction() -> EngineError:
    """Say why a call is refused in a transaction."""
    return EngineError(
        "A transaction is open on this connection, and a call runs on a connection of its own, which does "
        "not see its changes.",
        "Commit or roll back the transaction first.",
    )
