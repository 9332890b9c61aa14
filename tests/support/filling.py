"""Writes tables for tests, in words of its own, so that nothing leans on the product's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def fill(connection: Any, table: str, columns: Mapping[str, str], rows: Iterable[Sequence[Any]]) -> None:
    """Make a table, in the place of another of the name, of columns with their types, and insert rows."""
    declared = ", ".join(f"{quote(name)} {kind}" for name, kind in columns.items())
    connection.execute(f"CREATE OR REPLACE TABLE {quote(table)} ({declared})")
    if cells := [[list(cell) if isinstance(cell, tuple) else cell for cell in row] for row in rows]:
        connection.executemany(f"INSERT INTO {quote(table)} VALUES ({', '.join('?' * len(columns))})", cells)
