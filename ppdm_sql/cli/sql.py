"""``ppdm sql``: runs SQL with every method as a call, or opens a prompt."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

import ppdm_sql
from ppdm_sql.cli import options
from ppdm_sql.cli.options import DatabasePath, OutputFormat
from ppdm_sql.cli.output import Format
from ppdm_sql.cli.progress import progress
from ppdm_sql.cli.session import Session, join
from ppdm_sql.errors import InvalidOption
from ppdm_sql.sql_calls.registering import registration

EXAMPLES = (
    'ppdm sql bank.duckdb "FROM ppdm.releases"',
    "ppdm sql bank.duckdb --write \"CALL ppdm_suppress('customers', into := 'customers_safe',\n"
    "    require := ['k >= 4 on Job, Country'], class := 'Rating', count := 'n')\"",
    "ppdm sql bank.duckdb --write --file release.sql --format markdown",
    "ppdm sql bank.duckdb",
)


def run(
    database: DatabasePath,
    statement: Annotated[
        list[str] | None,
        typer.Argument(metavar="[SQL]...", help="Statements; without any, --file or standard input is read."),
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--file", metavar="FILE", help="Run the statements of a file.")
    ] = None,
    write: Annotated[
        bool, typer.Option("--write", help="Open the file for writing, and create it if it does not exist.")
    ] = False,
    no_history: Annotated[
        bool, typer.Option("--no-history", help="Do not store the history of the prompt.")
    ] = False,
    form: OutputFormat = Format.table,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
    threads: options.Threads = None,
    memory_limit: options.MemoryLimit = None,
) -> None:
    """Run SQL with every method as a call.

    The file is opened read-only unless --write is given. The first statement that fails ends the run. Without
    statements and on a terminal there is a prompt, with history and completion.
    """
    sql = _given(statement or (), file)
    with ppdm_sql.open(
        database, read_only=not write, create=write, threads=threads, memory_limit=memory_limit
    ) as db:
        connection = db.engine.connection
        ppdm_sql.register(connection, progress=progress(quiet=quiet))
        try:
            session = Session(connection, registration(connection), form, quiet=quiet)
            if sql is None:
                _prompt(session, keep_history=not no_history, quiet=quiet, debug=debug)
            else:
                session.run(sql)
        finally:
            ppdm_sql.unregister(connection)


def _given(words: list[str] | tuple[str, ...], file: Path | None) -> str | None:
    """Give the statements: of the words, of the file, of standard input; None where a prompt is wanted.

    Raises:
        InvalidOption: There are words and a file, or the file cannot be read.
    """
    if words and file is not None:
        raise InvalidOption("Statements are given twice.", "Give them as words, or in a file with --file.")
    if words:
        return join(words)
    if file is None:
        return None if sys.stdin.isatty() and sys.stdout.isatty() else sys.stdin.read()
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, ValueError):
        raise InvalidOption(f"The file {file} cannot be read.", "Give the path of a text file.") from None


def _prompt(session: Session, *, keep_history: bool, quiet: bool, debug: bool) -> None:
    from ppdm_sql.cli.prompt import Prompt

    Prompt(session, keep_history=keep_history, quiet=quiet, debug=debug).run()
