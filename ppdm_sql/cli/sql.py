"""SQL: ``ppdm sql`` with every method as a call, and the macros in a file."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import duckdb
import typer

import ppdm_sql
from ppdm_sql.cli.output import Format, print_tables
from ppdm_sql.cli.parameters import SHORT, Common, DatabasePath, Given, takes
from ppdm_sql.engine.types import fetchable
from ppdm_sql.errors import DatabaseUnavailable, EngineError, InvalidOption, PpdmError
from ppdm_sql.options import Form, InstallRequest, Option


@takes(lacks=["sql", "attach"])
def sql(
    database: DatabasePath,
    statement: Annotated[
        list[str] | None,
        Form.texts,
        "Statements; without any, --file or standard input is read.",
        Option(metavar="[SQL]...", flag=""),
    ] = None,
    file: Annotated[Path | None, "Run the statements of a file."] = None,
    write: Annotated[bool, "Open the file for writing, and create it if it does not exist."] = False,
    history: Annotated[bool, "Do not store the history of the prompt.", Option(flag="--no-history")] = True,
    *,
    common: Common,
) -> None:
    """The file is opened read-only unless --write is given. The first statement that fails ends the run.
    Without statements and on a terminal there is a prompt, with history and completion.

    Examples:
    ppdm sql bank.duckdb "FROM ppdm.releases"
    ppdm sql bank.duckdb --write "CALL ppdm_suppress('customers', into := 'customers_safe',
        require := ['k >= 4 on Job, Country'], class := 'Rating', count := 'n')"
    ppdm sql bank.duckdb --write --file release.sql --format markdown
    ppdm sql bank.duckdb
    """
    sql = _given(statement or (), file)
    with common.using(database, write=write, create=write) as db:
        ppdm_sql.register(db.engine.connection, progress=db.progress)
        try:
            session = Session(db.engine.connection, common)
            if sql is None:
                from ppdm_sql.cli.prompt import converse

                told = {"quiet": common.quiet, "debug": common.debug}
                converse(db.engine.connection, session.run, keep_history=history, **told)
            else:
                session.run(sql)
        finally:
            ppdm_sql.unregister(db.engine.connection)


def _given(words: list[str] | tuple[str, ...], file: Path | None) -> str | None:
    """Give the statements: of the words, of the file, of standard input; None where a prompt is wanted."""
    if words and file is not None:
        raise InvalidOption("Statements are given twice.", "Give them as words, or in a file with --file.")
    if words:
        return ";\n".join(word.rstrip().removesuffix(";") for word in words) + ";"
    if file is None:
        return None if sys.stdin.isatty() and sys.stdout.isatty() else sys.stdin.read()
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, ValueError):
        raise InvalidOption(f"The file {file} cannot be read.", "Give the path of a text file.") from None


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
    def __init__(self, connection: duckdb.DuckDBPyConnection, common: Common) -> None:
        from ppdm_sql.sql_calls.registering import registration  # the calls are many: no help needs them

        self.connection = connection
        self._registration = registration(connection)
        self._common = common
        self._printed = False

    def run(self, sql: str, most: int | None = None) -> None:
        """Run statements; the first that fails ends it."""
        from ppdm_sql.sql_calls.calls import with_quoted_arguments

        try:
            for statement in self.connection.extract_statements(with_quoted_arguments(sql)):
                self._registration.note()
                self._print(statement, self.connection.execute(self._fetchable(statement)), most)
        except (duckdb.Error, RuntimeError) as error:
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
        if statement.type == duckdb.StatementType.EXPLAIN and self._common.form is Format.table:
            typer.echo("\n".join(str(row[-1]) for row in rows))
        elif columns in _COUNTS and statement.type != duckdb.StatementType.SELECT:
            self._common.say(f"Rows: {rows[0][0]}." if columns == ["Count"] and rows else "Done.")
        elif columns:
            if self._printed and self._common.form not in (Format.json, Format.jsonl):
                typer.echo()
            print_tables([("", columns, rows[:most])], self._common.form)
            self._printed = True
        if most is not None and len(rows) > most:
            result.fetchall()
            self._common.say(f"These are the first {most} rows; LIMIT and OFFSET show others.")

    def _explained(self, error: Exception) -> BaseException:
        """Put an error into words that quote no cell of the data."""
        from ppdm_sql.sql_calls.registering import Interrupted
        from ppdm_sql.sql_calls.running import open_transaction

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
        if isinstance(error, duckdb.InvalidInputException) and (said := own_words(text)):
            return UserStatementError(*said)
        if isinstance(error, _TOLD) and "constraint" not in text.lower():
            return UserStatementError(text)
        refused = EngineError(
            f"The engine refused the statement ({type(error).__name__}).",
            "Run again with --debug to see the engine's own words, which may quote values.",
        )
        refused.engine_text = text
        return refused


_RAISED = re.compile(r"\berror\('((?:''|[^'])*)'(?! \|\| NULL)")  # which is not an error
_CHECK = "Check the arguments of the call."


def own_words(text: str) -> tuple[str, str] | None:
    """Give what an audit macro or a function of a row says of its arguments: the problem, and a remedy.

    The names that were given stand behind some of the sentences; they are left out, as they may be cells.
    """
    from ppdm_sql.macros import macros
    from ppdm_sql.sql_calls.row_functions import FUNCTIONS, NOISE_MACROS

    line = text.partition("\n")[0].partition("Error: ")[2]
    bodies = [*(macro.body for macro in macros()), *(function.body for function in FUNCTIONS)]
    bodies += [body for *_, body in NOISE_MACROS]
    sentences = {words.replace("''", "'") for body in bodies for words in _RAISED.findall(body)}
    sentence = max(filter(line.startswith, sentences), key=len, default=None)
    if sentence is None:
        return None
    problem, given, remedy = sentence.removesuffix(" in column ").partition(": give ")
    if given:
        return f"{problem}.", f"Give {remedy}"
    problem, _, remedy = problem.rstrip(" .:").partition(". ")
    return f"{problem}.", f"{remedy}." if remedy else _CHECK


@takes(InstallRequest, lacks=SHORT)
def install(database: DatabasePath, given: Given, common: Common) -> None:
    """Installing again changes nothing; macros of an older ppdm-sql are replaced. ppdm uninstall removes
    them.

    Examples:
    ppdm install bank.duckdb
    duckdb bank.duckdb -c "FROM ppdm_risk('policies', ['Age', 'Gender'])"
    ppdm install bank.duckdb --no-short-names
    """
    with common.using(database, write=True) as db:
        done = db.install(**given)
    instead = f" in place of {done.replaced}" if done.replaced not in (None, done.version) else ""
    common.say(f"Installed the macros of ppdm-sql {done.version}{instead}: {', '.join(done.macros)}.")
    common.say("Next:")
    name = "ppdm_risk" if given["short_names"] else "ppdm.ppdm_risk"
    call = f"FROM {name}('TABLE', ['COLUMN', 'COLUMN'])"
    common.say(f'  duckdb {shlex.quote(str(database))} -c "{call}"')


@takes(lacks=SHORT)
def uninstall(database: DatabasePath, common: Common) -> None:
    """Examples:
    ppdm uninstall bank.duckdb
    ppdm uninstall bank.duckdb --sql
    """
    with common.using(database, write=True) as db:
        names = db.uninstall()
    outcome = f"Removed {', '.join(names)}." if names else f"No macros of ppdm-sql are in {database}."
    common.say(outcome)
