"""Opens a database file and says in plain words why it cannot be opened."""

from __future__ import annotations

import os
import re
import shlex
import stat
from pathlib import Path
from typing import Any

import duckdb

from ppdm_sql.engine.faults import damaged, is_damaged
from ppdm_sql.engine.foreign import refuse_foreign
from ppdm_sql.engine.spill import SpillFolder
from ppdm_sql.errors import DatabaseUnavailable, InvalidOption, PpdmError

OLDEST_STORAGE = "v1.0.0"
"""New files get the oldest storage version that serves, so that older clients can read them."""


_SIZE = re.compile(r"\s*(\d+\.?\d*|\.\d+)\s*([kmgt]i?b|%)\s*", re.ASCII | re.IGNORECASE)


def connect(
    path: str | os.PathLike[str],
    *,
    read_only: bool = False,
    create: bool = False,
    threads: int | None = None,
    memory_limit: str | None = None,
    spill: SpillFolder | None = None,
) -> duckdb.DuckDBPyConnection:
    """Open a DuckDB file."""
    file = None if str(path) == ":memory:" else Path(path)
    if file is not None:
        _check_file(file, read_only=read_only, create=create)
    config = _config(threads, memory_limit, spill, new=file is None or not file.exists())
    place = ":memory:" if file is None else os.path.abspath(file)  # a name such as sqlite:x is only a name
    try:
        return duckdb.connect(place, read_only=read_only and file is not None, config=config)
    except duckdb.Error as cause:
        raise _explain(str(path), cause) from None


def remove_database(path: str | os.PathLike[str]) -> None:
    """Remove a DuckDB file that is closed, and its log."""
    file = Path(path)
    for left in (file, file.with_name(f"{file.name}.wal")):
        left.unlink(missing_ok=True)


def _config(
    threads: int | None, memory_limit: str | None, spill: SpillFolder | None, *, new: bool
) -> dict[str, Any]:
    config: dict[str, Any] = {}
    if threads is not None:
        if threads < 1:
            raise InvalidOption(f"{threads} threads cannot run anything.", "Give 1 or more.")
        config["threads"] = threads
    if memory_limit is not None:
        if not _SIZE.fullmatch(memory_limit) or not float(re.sub(r"[^0-9.]", "", memory_limit)):
            raise _no_limit(memory_limit)
        config["memory_limit"] = memory_limit
    if spill is not None:
        config["temp_directory"] = str(spill.path)
    if new:
        config["storage_compatibility_version"] = OLDEST_STORAGE
    return config


def _check_file(file: Path, *, read_only: bool, create: bool) -> None:
    if "\0" in str(file):
        raise DatabaseUnavailable("The path of the database holds a NUL character.", "Give the path without.")
    try:
        mode = file.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        _check_missing(file, create=create)
        return
    except OSError as cause:
        problem = f"{_shortened(file)} cannot be opened: {cause.strerror}."
        raise DatabaseUnavailable(problem, "Check the path.") from None
    if stat.S_ISDIR(mode):
        raise DatabaseUnavailable(f"{file} is a folder.", "Give the path of a DuckDB file.")
    if not stat.S_ISREG(mode):
        raise DatabaseUnavailable(f"{file} is not a regular file.", "Give the path of a DuckDB file.")
    refuse_foreign(file)
    writable = mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH)
    if not read_only and not (writable and os.access(file, os.W_OK)):
        raise DatabaseUnavailable(
            f"{file} is read-only, and this command writes into it.",
            "Make the file writable, or work on a copy of it.",
        )


def _check_missing(file: Path, *, create: bool) -> None:
    if not create:
        raise missing(file)
    if not file.parent.is_dir():
        raise DatabaseUnavailable(f"There is no folder {file.parent}.", "Make it, or check the path.")


def missing(file: Path) -> DatabaseUnavailable:
    """Say that a file is not there, and how one is made."""
    place = shlex.quote(str(file))
    return DatabaseUnavailable(
        f"There is no database file {_shortened(file)}.",
        f"Check the path, or make it from a file of yours: ppdm sql {place} --write "
        "\"CREATE TABLE visits AS FROM read_csv('visits.csv')\"; "
        "where TABLE is a file, such as visits.csv, leave the database out.",
    )


def _shortened(file: Path, most: int = 80) -> str:
    """Write a path of any length so that a message can hold it."""
    text = str(file)
    return text if len(text) <= most else f"{text[:most]}..."


def _no_limit(memory_limit: str) -> InvalidOption:
    return InvalidOption(
        f"The memory limit {memory_limit!r} cannot be used.",
        "Write a size above 0, such as 2GB, 500MB or 50%.",
    )


def _explain(path: str, cause: duckdb.Error) -> PpdmError:
    text = str(cause)
    if isinstance(cause, (duckdb.ParserException, duckdb.InvalidInputException)):
        return InvalidOption(
            f"The engine refused the options for {path}.",
            "Check the number of threads (a whole number) and the memory limit (such as 2GB).",
        )
    if isinstance(cause, duckdb.OutOfMemoryException):
        return InvalidOption(
            f"The memory limit is too small to open {path}.", "Give more, such as 500MB, or none."
        )
    if "Could not set lock" in text or "lock on file" in text:
        return DatabaseUnavailable(
            f"{path} is open in another process.",
            "Close the program that holds it, or work on a copy of the file.",
        )
    if "encrypted" in text:
        return DatabaseUnavailable(
            f"{path} is encrypted, and can only be opened with its key.",
            "In Python, ATTACH it with its key on a connection, USE it, and open that connection.",
        )
    if is_damaged(text):
        return damaged(path)
    if "not a valid DuckDB database" in text:
        return DatabaseUnavailable(f"{path} is not a DuckDB database.", "Give the path of a DuckDB file.")
    if "version number" in text:
        return DatabaseUnavailable(
            f"{path} was written by a newer DuckDB than the one installed.",
            "Run: pip install --upgrade duckdb.",
        )
    return DatabaseUnavailable(f"{path} cannot be opened.", "Check the path and the file's permissions.")
