"""Opens a database file and says in plain words why it cannot be opened."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import duckdb

from ppdm_sql.engine.spill import SpillFolder
from ppdm_sql.errors import DatabaseUnavailable, InvalidOption

OLDEST_STORAGE = "v1.0.0"
"""New files get the oldest storage version that serves, so that older clients can read them."""


def connect(
    path: str | os.PathLike[str],
    *,
    read_only: bool = False,
    create: bool = False,
    threads: int | None = None,
    memory_limit: str | None = None,
    spill: SpillFolder | None = None,
) -> duckdb.DuckDBPyConnection:
    """Open a DuckDB file.

    Args:
        path: The file, or ``:memory:``.
        read_only: Open without the right to write.
        create: Make the file where it does not exist, in the oldest storage version that serves.
        threads: Number of threads, at least 1; None leaves the engine's choice.
        memory_limit: Such as ``2GB``; None leaves the engine's choice.
        spill: Private folder for what does not fit in memory.

    Raises:
        DatabaseUnavailable: No file, not a database, locked, read-only, or from a newer DuckDB.
        InvalidOption: ``threads`` or ``memory_limit`` cannot be used.
    """
    file = None if str(path) == ":memory:" else Path(path)
    if file is not None:
        _check_file(file, read_only=read_only, create=create)
    config = _config(threads, memory_limit, spill, new=file is None or not file.exists())
    try:
        return duckdb.connect(str(path), read_only=read_only and file is not None, config=config)
    except (duckdb.IOException, duckdb.SerializationException, duckdb.CatalogException) as cause:
        raise _explain(str(path), str(cause)) from None
    except duckdb.Error as cause:
        raise InvalidOption(
            f"The engine refused the options for {path}.",
            "Check --threads (a whole number) and --memory-limit (such as 2GB).",
        ) from cause


def _config(
    threads: int | None, memory_limit: str | None, spill: SpillFolder | None, *, new: bool
) -> dict[str, Any]:
    config: dict[str, Any] = {}
    if threads is not None:
        if threads < 1:
            raise InvalidOption(f"{threads} threads cannot run anything.", "Give --threads 1 or more.")
        config["threads"] = threads
    if memory_limit is not None:
        config["memory_limit"] = memory_limit
    if spill is not None:
        config["temp_directory"] = str(spill.path)
    if new:
        config["storage_compatibility_version"] = OLDEST_STORAGE
    return config


def _check_file(file: Path, *, read_only: bool, create: bool) -> None:
    if not file.exists():
        if create:
            return
        raise DatabaseUnavailable(f"There is no database file {file}.", "Check the path.")
    if file.is_dir():
        raise DatabaseUnavailable(f"{file} is a folder.", "Give the path of a DuckDB file.")
    writable = file.stat().st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH)
    if not read_only and not (writable and os.access(file, os.W_OK)):
        raise DatabaseUnavailable(
            f"{file} is read-only, and this command writes into it.",
            "Make the file writable, or work on a copy of it.",
        )


def _explain(path: str, text: str) -> DatabaseUnavailable:
    if "lock" in text:
        return DatabaseUnavailable(
            f"{path} is open in another process.",
            "Close the program that holds it, or work on a copy of the file.",
        )
    if "not a valid DuckDB database" in text:
        return DatabaseUnavailable(f"{path} is not a DuckDB database.", "Give the path of a DuckDB file.")
    if "version number" in text:
        return DatabaseUnavailable(
            f"{path} was written by a newer DuckDB than the one installed.",
            "Run: pip install --upgrade duckdb.",
        )
    return DatabaseUnavailable(f"{path} cannot be opened.", "Check the path and the file's permissions.")
