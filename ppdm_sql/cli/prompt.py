"""The prompt of ``ppdm sql``: several lines until a semicolon, history, completion of names."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import typer
from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.history import FileHistory, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

from ppdm_sql.cli.failures import print_error
from ppdm_sql.cli.output import notice
from ppdm_sql.engine.names import quoted
from ppdm_sql.errors import InvalidOption
from ppdm_sql.sql_calls.calls import is_complete

ROWS_SHOWN = 200
_LEAVE = ("exit", "quit", ".exit", ".quit")
_HELP = """\
.exit, .quit   Leave, as exit, quit and Ctrl-D do.
.help          Print this.
.tables        List the tables and views of the current schema.

A statement may take several lines and ends with a semicolon. Every method is a call, such as
    CALL ppdm_suppress('customers', into := 'safe', class := 'Rating', require := ['k >= 4 on Job']);
CALL ppdm_audit('customers'); takes a first look at a table, CALL ppdm_releases(); lists the releases.
Ctrl-C stops a statement."""
_MARKS = "ppdm> ", " ...> "
_WORD = re.compile(r'"[^"]*|\w+')
_PLAIN = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_NAMES = """
    SELECT DISTINCT t.name FROM (
        SELECT c.column_name AS name FROM duckdb_columns() AS c WHERE NOT c.internal
        UNION ALL SELECT t.table_name FROM duckdb_tables() AS t WHERE NOT t.internal
        UNION ALL SELECT v.view_name FROM duckdb_views() AS v WHERE NOT v.internal
        UNION ALL SELECT s.schema_name FROM duckdb_schemas() AS s
        UNION ALL SELECT d.database_name FROM duckdb_databases() AS d WHERE NOT d.internal
        UNION ALL SELECT f.function_name FROM duckdb_functions() AS f
            WHERE NOT f.internal AND f.function_type IN ('macro', 'table_macro')
    ) AS t ORDER BY t.name
"""
_KEYWORDS = "SELECT upper(k.keyword_name) FROM duckdb_keywords() AS k ORDER BY k.keyword_name"


def converse(
    connection: duckdb.DuckDBPyConnection,
    run: Callable[[str, int], None],
    *,
    keep_history: bool,
    quiet: bool,
    debug: bool,
) -> None:
    """Read statements from a terminal until its end, ``exit`` or ``quit``; show the first rows of each."""
    notice("A semicolon ends a statement. Tab completes names; .help tells more, Ctrl-D leaves.", quiet=quiet)
    history = history_file() if keep_history else None
    if history is not None:
        where = f"What you type, values included, is kept in {history}"
        notice(f"{where}; --no-history keeps nothing.", quiet=quiet)
    names = _Names(connection)
    prompt: PromptSession[str] = PromptSession(
        message=_MARKS[0],
        prompt_continuation=lambda width, line, wrapped: _MARKS[1],
        history=InMemoryHistory() if history is None else FileHistory(str(history)),
        completer=names,
        complete_while_typing=False,
        multiline=True,
        key_bindings=_bindings(),
    )
    while True:
        try:
            text = prompt.prompt().strip()
        except KeyboardInterrupt:
            continue
        except EOFError:
            return
        word = _word(text)
        if word in _LEAVE:
            return
        try:
            if word == ".help":
                typer.echo(_HELP)
                continue
            if text.startswith(".") and word != ".tables":
                raise InvalidOption("There is no such dot command here.", "Type .help to list them.")
            run("SHOW TABLES;" if word == ".tables" else text, ROWS_SHOWN)
        except KeyboardInterrupt:
            notice("Interrupted.")
        except Exception as error:
            print_error(error, debug=debug)
        names.known = []


def _word(text: str) -> str:
    """Give what was typed as the word of a command."""
    return text.rstrip("; ").lower()


def history_file() -> Path | None:
    """Give the file of the history, which only the user can read; None where it cannot be made."""
    folder = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "ppdm-sql"
    path = folder / "history"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600))
        path.chmod(0o600)
    except OSError:
        return None
    return path


def _bindings() -> KeyBindings:
    """Let Enter run what ends with a semicolon, and begin a new line otherwise."""
    keys = KeyBindings()

    @Condition
    def ends() -> bool:
        text = get_app().current_buffer.text
        dotted = text.lstrip().startswith(".")
        return is_complete(text) or dotted or not text.strip() or _word(text.strip()) in _LEAVE

    @keys.add("enter", filter=ends)
    def _accept(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    return keys


class _Names(Completer):
    """Completes keywords and the names of what the database holds, read again after each statement."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        self._keywords = self._read(_KEYWORDS)
        self.known: list[str] = []  # nothing: they are read again when they are needed next

    def get_completions(self, document: Document, event: CompleteEvent) -> Iterator[Completion]:
        """Give the names that begin as the word before the cursor does, then keywords."""
        word = document.get_word_before_cursor(pattern=_WORD)
        self.known = self.known or [
            name if _PLAIN.fullmatch(name) else quoted(name) for name in self._read(_NAMES)
        ]
        for name in (*self.known, *(self._keywords if word else ())):
            if name.lower().lstrip('"').startswith(word.lower().lstrip('"')):
                yield Completion(name, start_position=-len(word))

    def _read(self, query: str) -> list[str]:
        try:
            return [name for (name,) in self._connection.execute(query).fetchall()]
        except duckdb.Error:  # such as in a transaction that has failed
            return []
