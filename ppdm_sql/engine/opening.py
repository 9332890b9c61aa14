"""Opens a database file and says in plain words why it cannot be opened."""

from __future__ import annotations

import os
import re
import shlex
import stat
from pathlib import Path
from typing import Any

import duckdb

from ppdm_sql.engine import statements
from ppdm_sql.engine.faults import damaged, is_damaged
from ppdm_sql.engine.space import SpillFolder
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
            raise InvalidOption(
                f"The memory limit {memory_limit!r} cannot be used.",
                "Write a size above 0, such as 2GB, 500MB or 50%.",
            )
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
        if not create:
            raise missing(file) from None
        if not file.parent.is_dir():
            raise DatabaseUnavailable(
                f"There is no folder {file.parent}.", "Make it, or check the path."
            ) from None
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


def missing(file: Path) -> DatabaseUnavailable:
    place = shlex.quote(str(file))
    return DatabaseUnavailable(
        f"There is no database file {_shortened(file)}.",
        f"Check the path, or make it from a file of yours: ppdm sql {place} --write "
        "\"CREATE TABLE visits AS FROM read_csv('visits.csv')\"; "
        "where TABLE is a file, such as visits.csv, leave the database out.",
    )


def _shortened(file: Path, most: int = 80) -> str:
    text = str(file)
    return text if len(text) <= most else f"{text[:most]}..."


_REFUSALS = {
    "(Could not set lock|lock on file)": (
        "{} is open in another process.",
        "Close the program that holds it, or work on a copy of the file.",
    ),
    "encrypted": (
        "{} is encrypted, and can only be opened with its key.",
        "In Python, ATTACH it with its key on a connection, USE it, and open that connection.",
    ),
    "not a valid DuckDB database": ("{} is not a DuckDB database.", "Give the path of a DuckDB file."),
    "version number": (
        "{} was written by a newer DuckDB than the one installed.",
        "Run: pip install --upgrade duckdb.",
    ),
    "": ("{} cannot be opened.", "Check the path and the file's permissions."),
}
"""What is said by the engine's words; the last are any."""


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
    if is_damaged(text):
        return damaged(path)
    problem, remedy = next(said for words, said in _REFUSALS.items() if re.search(words, text))
    return DatabaseUnavailable(problem.format(path), remedy)


MARK, MARK_AT = b"DUCK", 8
"""Follows the checksum of the first block, in encrypted files too."""
SQLITE = b"SQLite format 3\0"
KINDS = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
}
"""What a file holds, by its suffix."""
PACKED = (".gz", ".zst")
_TITLES = {"csv": "CSV", "json": "JSON", "parquet": "Parquet"}


def refuse_foreign(file: Path) -> None:
    try:
        with file.open("rb") as opened:
            first = opened.read(16)
    except OSError as cause:
        raise DatabaseUnavailable(
            f"{file} cannot be read: {cause.strerror}.", "Check the file's permissions."
        ) from None
    if first[MARK_AT : MARK_AT + len(MARK)] == MARK:
        return
    if not first:
        raise DatabaseUnavailable(
            f"{file} is empty, so it is not a DuckDB database.",
            "Remove it, or give the path of a DuckDB file.",
        )
    raise DatabaseUnavailable(*_explained(file, first))


def _explained(file: Path, first: bytes) -> tuple[str, str]:
    kind, reader = _read_by(file, first)
    if not reader:
        return f"{file} is not a DuckDB database.", "Give the path of a DuckDB file."
    stem = re.sub(r"\W+", "_", file.name.partition(".")[0], flags=re.ASCII).lstrip("_0123456789") or "data"
    table, new = "my_table" if kind == "SQLite" else stem, file.with_name(f"{stem}.duckdb")
    if new.exists():
        new = file.with_name(f"{stem}_new.duckdb")
    given = [str(file), table] if kind == "SQLite" else [str(file)]
    arguments = ", ".join(statements.render(statements.literal(text)) for text in given)
    sql = _for_shell(f"CREATE TABLE {table} AS FROM {reader}({arguments})")
    place = shlex.quote(str(new))
    return (
        f"{file} is not a DuckDB database but a {kind} file.",
        f"Load it into one, then give {new}: duckdb {place} -c {sql} (or: ppdm sql {place} --write {sql}).",
    )


def _for_shell(sql: str) -> str:
    """Quote a statement, in double quotes where these change nothing, since it holds single ones."""
    return shlex.quote(sql) if set(sql) & set('"$`\\!') else f'"{sql}"'


def _read_by(file: Path, first: bytes) -> tuple[str, str]:
    if first.startswith((b"PAR1", b"PARE")):
        return "Parquet", "read_parquet"
    if first.startswith(SQLITE):
        return "SQLite", "sqlite_scan"
    suffixes = [suffix.lower() for suffix in file.suffixes]
    if suffixes and suffixes[-1] in PACKED:
        suffixes.pop()
    kind = KINDS.get(suffixes[-1]) if suffixes and suffixes[-1] != ".txt" else None
    return (_TITLES[kind], f"read_{kind}") if kind else ("", "")
