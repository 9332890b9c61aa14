"""Other databases, beside the own one, to read from: attached read-only, their addresses never shown."""

from __future__ import annotations

import os
import re

import duckdb

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import quoted
from ppdm_sql.engine.statements import literal, render
from ppdm_sql.errors import DatabaseUnavailable, InvalidOption, NameTaken, kind_of
from ppdm_sql.sources.files import is_data_file, is_remote

_AS = re.compile(r'\s*(?P<path>.+?)\s+AS\s+(?P<name>"(?:[^"]|"")+"|\w+)\s*;?\s*', re.IGNORECASE | re.DOTALL)
_PREFIX = re.compile(r"\w{2,}:")


def attachment(text: str) -> tuple[str, str]:
    r"""Read ``PATH AS NAME``, as ``--attach`` takes it; give the name and the path.

    Example:
        >>> attachment("other.duckdb AS o"), attachment("'my file.duckdb' as \"my db\"")
        (('o', 'other.duckdb'), ('my db', 'my file.duckdb'))
    """
    found = _AS.fullmatch(text)
    if found is None:  # the text may hold a password, so it is not repeated
        raise InvalidOption(
            "An --attach does not say under which name.", "Write it as --attach 'other.duckdb AS other'."
        )
    path, name = found["path"], found["name"]
    if len(path) > 1 and path[0] == path[-1] == "'":
        path = path[1:-1].replace("''", "'")
    return (name[1:-1].replace('""', '"') if name.startswith('"') else name), path


def attach(engine: Engine, name: str, path: str | os.PathLike[str]) -> None:
    if not isinstance(name, str) or not isinstance(path, (str, os.PathLike)):
        raise InvalidOption(
            f"A database is attached by its path under a name, not as {kind_of(path)}.",
            "Write it as attach={'other': 'other.duckdb'}.",
        )
    place = os.fspath(path)
    _refuse_taken(engine, name)
    local = not is_remote(place) and _PREFIX.match(place) is None
    if local and is_data_file(place):
        raise InvalidOption(
            f"{place} is not a database but a file of records.", "Give it as TABLE; it needs no --attach."
        )
    if local and ("\0" in place or not os.path.exists(place)):
        shown = place.replace("\0", "")
        raise DatabaseUnavailable(f"There is no database file {shown} to attach.", "Check the path.")
    text = render(literal(os.path.abspath(place) if local else place))
    try:  # not through the engine, whose logs and errors quote statements
        engine.connection.execute(f"ATTACH {text} AS {quoted(name)} (READ_ONLY)").fetchall()
    except duckdb.Error as cause:
        raise _refused(name, place if local else None, str(cause)) from None


def detach(engine: Engine, name: str) -> None:
    """Detach what :func:`attach` attached; one that is gone already is left alone."""
    try:
        engine.connection.execute(f"DETACH DATABASE IF EXISTS {quoted(name)}").fetchall()
    except duckdb.Error:
        return


def _refuse_taken(engine: Engine, name: str) -> None:
    rows = engine.look_up("SELECT database_name FROM duckdb_databases()", step="databases")
    taken = {database.lower() for (database,) in rows}
    if not name or "\0" in name:
        raise InvalidOption("An attached database needs a name.", "Write it as --attach 'FILE AS other'.")
    if name.lower() in taken or name.lower() in ("temp", "system", "main", "ppdm"):
        raise NameTaken(
            f"A database or schema called {name} is there already.", "Attach it under another name."
        )


def _refused(name: str, file: str | None, text: str) -> DatabaseUnavailable:
    """Say why a database is not attached, without an address, which may hold a password."""
    what = f"The database {file}" if file is not None else f"The database to be attached as {name}"
    if "already attached" in text or "is attached" in text:
        return DatabaseUnavailable(
            f"{what} is open on this connection already.",
            "Its tables can be named without attaching it again.",
        )
    if "lock" in text.lower():
        return DatabaseUnavailable(
            f"{what} is open in another process.", "Close the program that holds it, or attach a copy."
        )
    if "extension" in text.lower():
        return DatabaseUnavailable(
            f"{what} needs an extension of DuckDB that is not installed.",
            "Install it once, such as: duckdb -c 'INSTALL postgres' (or sqlite, or httpfs).",
        )
    return DatabaseUnavailable(
        f"{what} cannot be opened.", "Check that DuckDB's own ATTACH of it works, with the same address."
    )
