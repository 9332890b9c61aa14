"""Which files hold the rows of a table: their names, sizes, SHA-256 and records, worked out by Spark."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit


def hashes_of_table(session: Any, frame: Any) -> dict[str, tuple[int, str]]:
    """Give sizes and SHA-256 of the files of a table; none where its format does not tell them."""
    paths = [unquote(path) for path in frame.inputFiles()]
    if not paths:
        return {}
    read = session.read.format("binaryFile").load(paths)
    rows = read.selectExpr("path", "length", "sha2(content, 256) AS sha256").collect()
    return {_name(row["path"]): (int(row["length"]), str(row["sha256"])) for row in rows}


def records_of_files(frame: Any) -> dict[str, int]:
    """Count the records of each file that a frame reads; a scan of no column."""
    rows = frame.selectExpr("_metadata.file_name AS name").groupBy("name").count().collect()
    return {unquote(row["name"]): int(row["count"]) for row in rows}


def _name(path: str) -> str:
    """Give the name of a file.

    Example:
        >>> _name("file:///shop/safe/part-0%200.parquet")
        'part-0 0.parquet'
    """
    return unquote(PurePosixPath(urlsplit(path).path).name)
