"""Tells a DuckDB database by its first bytes, and says how to load a file that is none.

DuckDB itself opens a Parquet or CSV file as a database in memory, in which all that is published is lost.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from ppdm_sql.engine import statements
from ppdm_sql.errors import DatabaseUnavailable

MARK, MARK_AT = b"DUCK", 8
"""Follows the checksum of the first block, in encrypted files too."""
_FIRST = 16
_SQLITE = b"SQLite format 3\0"
_READ_BY_SUFFIX = {
    ".csv": ("CSV", "read_csv"),
    ".tsv": ("CSV", "read_csv"),
    ".json": ("JSON", "read_json"),
    ".jsonl": ("JSON", "read_json"),
    ".ndjson": ("JSON", "read_json"),
    ".parquet": ("Parquet", "read_parquet"),
}
_PACKED = (".gz", ".zst")


def refuse_foreign(file: Path) -> None:
    """Refuse a file that is no DuckDB database."""
    try:
        with file.open("rb") as opened:
            first = opened.read(_FIRST)
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
    """Say what the file is, and how its rows come into a database."""
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
    """Name the kind of a file and the function that reads it; nothing where it is not known."""
    if first.startswith((b"PAR1", b"PARE")):
        return "Parquet", "read_parquet"
    if first.startswith(_SQLITE):
        return "SQLite", "sqlite_scan"
    suffixes = [suffix.lower() for suffix in file.suffixes]
    if suffixes and suffixes[-1] in _PACKED:
        suffixes.pop()
    return _READ_BY_SUFFIX.get(suffixes[-1] if suffixes else "", ("", ""))
