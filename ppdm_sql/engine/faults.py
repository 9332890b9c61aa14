"""Puts what DuckDB refuses into words that quote no cell, and says what to do."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import duckdb

from ppdm_sql.engine.space import out_of_space
from ppdm_sql.errors import HIDDEN_WORDS, MORE_MEMORY, Conflict, DatabaseUnavailable, EngineError, OpenResult

_QUOTES_NO_CELL = (
    duckdb.BinderException,
    duckdb.CatalogException,
    duckdb.ConnectionException,
    duckdb.IOException,
    duckdb.PermissionException,
)
"""Errors about names, files and the connection, whose first line speaks of no row."""
_MAY_LIST_VALUES = ("ENUM(", "CSV", "JSON", "UNION(")
_KIND = re.compile(r"^[A-Za-z ]*Error: *")


def is_interrupt(error: BaseException) -> bool:
    if isinstance(error, duckdb.InterruptException):
        return True
    return isinstance(error, (duckdb.Error, RuntimeError)) and "query interrupted" in str(error).lower()


def is_conflict(error: duckdb.Error, *, inside: bool) -> bool:
    text = str(error).lower()
    if isinstance(error, duckdb.TransactionException) and out_of_space("commit", str(error)) is None:
        return "conflict" in text or "failed to commit" in text
    return inside and isinstance(error, duckdb.CatalogException) and "already exists" in text


def is_damaged(text: str) -> bool:
    return any(word in text for word in ("Corrupt database", "Could not read enough bytes", "checksum"))


def damaged(path: str) -> DatabaseUnavailable:
    return DatabaseUnavailable(
        f"{path} is damaged: parts of it are missing or not as they were written.",
        "Restore it from a copy.",
    )


def only_read() -> DatabaseUnavailable:
    return DatabaseUnavailable(
        "The database is open read-only, and this writes into it.",
        "Open it for writing: without read_only=True in Python, with --write in ppdm sql.",
    )


def explained(
    step: str, cause: duckdb.Error, *, inside: bool, read: Callable[[], Sequence[str]]
) -> EngineError | DatabaseUnavailable:
    text = str(cause)
    if is_damaged(text):
        return damaged("The database file")
    if "read-only mode" in text:
        return only_read()
    known = out_of_space(step, text) or _known(step, cause, inside=inside)
    error = known or _refused(step, cause, read())
    error.engine_text, error.explained = text, known is not None
    return error


def _known(step: str, cause: duckdb.Error, *, inside: bool) -> EngineError | None:
    text = str(cause)
    if isinstance(cause, duckdb.OutOfMemoryException):
        return EngineError(f"The step {step!r} ran out of memory.", MORE_MEMORY)
    if is_conflict(cause, inside=inside):
        return Conflict(
            "Another connection changed the same part of the database at the same time, so nothing was "
            "written.",
            "Run it again.",
        )
    if "open result" in text:
        return OpenResult(
            "A result on this connection is not read to its end; until then DuckDB runs no other statement.",
            "Read or close it first, or open a cursor of the connection.",
        )
    if "transaction is aborted" in text.lower():
        return EngineError(
            "A statement has failed in the transaction that is open on this connection.",
            "Roll back the transaction first.",
        )
    return None


def _refused(step: str, cause: duckdb.Error, read: Sequence[str]) -> EngineError:
    words = _words(cause)
    what = f"Reading {' and '.join(read)} failed in the step" if read else "The engine refused the step"
    problem = f"{what} {step!r}: {words}" if words else f"{what} {step!r} ({type(cause).__name__})."
    checks = f"Check that {' and '.join(f'FROM {name}' for name in read)} works." if read else ""
    if words:
        return EngineError(problem, checks or "Check that a SELECT of the table works.")
    return EngineError(problem, f"{checks} {HIDDEN_WORDS}".strip())


def _words(cause: duckdb.Error) -> str:
    """Give the engine's own sentence where it cannot quote a cell, else nothing."""
    first = _KIND.sub("", str(cause).partition("\n")[0]).strip()
    if not isinstance(cause, _QUOTES_NO_CELL) or any(word in first for word in _MAY_LIST_VALUES):
        return ""
    return first


# Read from left to right: a quote means what it does only outside of what began before it.
_PARTS = re.compile(
    r"""
      (?P<text> [eE]'(?:\\.|''|[^'\\])*(?:'|\Z) | '(?:[^']|'')*(?:'|\Z) )
    | (?P<dollars> \$(?P<tag>\w*)\$.*?(?:\$(?P=tag)\$|\Z) )
    | (?P<kept> "(?:[^"]|"")*" | \$?[^\W\d]\w* )
    | (?P<comment> --[^\n]* | /\*.*?(?:\*/|\Z) )
    | (?P<number> (?:\d[\w.]*|\.\d[\w.]*)(?:(?<=[eE])[+-]\d+)? )
    """,
    re.VERBOSE | re.DOTALL,
)


def redacted(sql: str) -> str:
    """Write a statement on one line with ``?`` in the place of each literal.

    Names stay; parameters are still ``$name``. Whatever is not closed is taken to be a text to its end.
    """
    shown = _PARTS.sub(lambda part: part["kept"] or ("" if part["comment"] else "?"), sql)
    return " ".join(shown.split())
