"""Runs the statements that a user wrote, with everything registered, and prints what they give."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import duckdb
import typer

from ppdm_sql.cli.output import Format, Titled, notice, print_tables
from ppdm_sql.engine.types import fetchable
from ppdm_sql.errors import DatabaseUnavailable, EngineError, PpdmError
from ppdm_sql.sql_calls.registering import Interrupted, Registration
from ppdm_sql.sql_calls.script_reader import with_quoted_arguments
from ppdm_sql.sql_calls.transactions import open_transaction

_TOLD = (
    duckdb.ParserException,
    duckdb.BinderException,
    duckdb.CatalogException,
    duckdb.DependencyException,
    duckdb.IOException,
    duckdb.TransactionException,
)
"""Errors whose words quote the statement, not the data."""

_COUNTS = (["Count"], ["Success"])


class UserStatementError(PpdmError):
    """A statement of the user that the engine could not read or plan."""


class Session:
    """Statements on one connection, one after the other.

    Args:
        connection: The connection.
        registration: What was registered on it.
        form: How results are printed.
        quiet: Whether only results are printed.
    """

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        registration: Registration,
        form: Format,
        *,
        quiet: bool,
    ) -> None:
        self.connection = connection
        self._registration = registration
        self._form = form
        self._quiet = quiet
        self._printed = False

    def run(self, sql: str, *, most: int | None = None) -> None:
        """Run statements; the first that fails ends it.

        Args:
            sql: One or more statements.
            most: Print so many rows of each result at most.

        Raises:
            PpdmError: A statement failed.
            KeyboardInterrupt: Ctrl-C stopped one.
        """
        for statement in self._statements(with_quoted_arguments(sql)):
            self._registration.note()
            try:
                self._print(statement, self.connection.execute(self._fetchable(statement)), most)
            except (duckdb.Error, RuntimeError) as error:
                raise self._explained(error) from error

    def _statements(self, sql: str) -> list[Any]:
        try:
            return list(self.connection.extract_statements(sql))
        except duckdb.Error as error:
            raise self._explained(error) from error

    def _fetchable(self, statement: Any) -> Any:
        """Give a query whose result Python can hold; its columns are known before it runs."""
        if statement.type != duckdb.StatementType.SELECT:
            return statement
        relation = self.connection.sql(statement.query)
        columns = fetchable(zip(relation.columns, relation.types, strict=True))
        return relation.project(columns).sql_query() if columns else statement

    def _print(self, statement: Any, result: duckdb.DuckDBPyConnection, most: int | None) -> None:
        columns = [item[0] for item in result.description or []]
        rows = result.fetchall() if most is None else result.fetchmany(most + 1)
        if statement.type == duckdb.StatementType.EXPLAIN and self._form is Format.table:
            typer.echo("\n".join(str(row[-1]) for row in rows))
        elif columns in _COUNTS and statement.type != duckdb.StatementType.SELECT:
            notice(f"Rows: {rows[0][0]}." if columns == ["Count"] and rows else "Done.", quiet=self._quiet)
        elif columns:
            self._print_table(("", columns, rows[:most]))
        if most is not None and len(rows) > most:
            result.fetchall()
            notice(f"These are the first {most} rows; LIMIT and OFFSET show others.", quiet=self._quiet)

    def _print_table(self, table: Titled) -> None:
        if self._printed and self._form not in (Format.json, Format.jsonl):
            typer.echo()
        print_tables([table], self._form)
        self._printed = True

    def _explained(self, error: Exception) -> BaseException:
        """Put an error into words that quote no cell of the data."""
        text, failure = str(error), self._registration.failure_in(str(error))
        interrupted = isinstance(error, duckdb.InterruptException) or "Query interrupted" in text
        if interrupted or isinstance(failure, Interrupted):
            return KeyboardInterrupt()
        if failure is not None:
            return failure
        if "transaction local changes" in text:
            return open_transaction()
        if "read-only mode" in text:
            return DatabaseUnavailable("The database is open read-only.", "Give --write to change it.")
        if "'pytz'" in text:
            return UserStatementError("A moment in a time zone cannot be shown here.", "Cast it to VARCHAR.")
        if isinstance(error, duckdb.InvalidInputException) and (said := _own_words(text)):
            return UserStatementError(*said)
        if isinstance(error, _TOLD) and "constraint" not in text.lower():
            return UserStatementError(text)
        refused = EngineError(
            f"The engine refused the statement ({type(error).__name__}).",
            "Run again with --debug to see the engine's own words, which may quote values.",
        )
        refused.engine_text = text
        return refused


def _own_words(text: str) -> tuple[str, str] | None:
    from ppdm_sql.cli.said import own_words  # only an error needs it

    return own_words(text)


def join(words: Sequence[str]) -> str:
    r"""Put statements together that stand in words of their own.

    Example:
        >>> join(["SELECT 1", "SELECT 2;"])
        'SELECT 1;\nSELECT 2;'
    """
    return ";\n".join(word.rstrip().removesuffix(";") for word in words) + ";"
