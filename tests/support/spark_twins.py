"""Runs every statement that the package sends to Spark in DuckDB as well, and compares what comes back.

Nothing is written down here of the statements themselves: they are taken on their way to Spark.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import duckdb
import pytest
import sqlglot
from sqlglot import exp

from ppdm_sql.engine.spark import source as sources
from ppdm_sql.engine.spark.drawing import FrameSource
from ppdm_sql.engine.spark.source import SparkSource

PORTABLE = {
    "audit sums",
    "collapse",
    "column_pair",
    "column_statistics",
    "count_faults",
    "count values",
    "covariances",
    "draw",
    "filter errors",
    "histogram",
    "impossible_numbers",
    "moments",
    "nulls",
    "outside",
    "pair_estimates",
    "record_key",
    "repeated_persons",
}
"""The steps that may be sent to Spark; the portability test holds each against DuckDB."""
NEAR = 0.2
"""How far estimates of numbers of values may be apart, of the exact number."""


@contextmanager
def noted(steps: set[str]) -> Iterator[None]:
    """Collect the names of the steps that are sent to Spark."""
    frame = SparkSource._frame

    def noting(self: SparkSource, query: exp.Expression | str, step: str) -> Any:
        steps.add(step)
        return frame(self, query, step)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SparkSource, "_frame", noting)
        yield


@dataclass
class Comparison:
    """The steps that were sent, and the statements that gave something else than in DuckDB."""

    steps: set[str] = field(default_factory=set)
    differing: list[str] = field(default_factory=list)


@contextmanager
def compared() -> Iterator[Comparison]:
    """Run each statement that is sent over Parquet in both engines."""
    frame, found = SparkSource._frame, Comparison()

    def comparing(self: SparkSource, query: exp.Expression | str, step: str) -> Any:
        made = frame(self, query, step)
        tree = sqlglot.parse_one(query, dialect="duckdb") if isinstance(query, str) else query
        here = tree.sql("duckdb")
        with duckdb.connect() as connection:
            connection.execute("SET TimeZone = 'UTC'")
            connection.register("there", made.toArrow())
            _see_files(connection, self)
            columns = _comparable(tree)
            rows = [_rows(connection, table, columns) for table in (f"({here})", "there")]
        alike = _near if tree.find(exp.ApproxDistinct) else _same
        if not alike(*rows):  # raised here, it would be taken for an error of Spark
            found.differing.append(f"{step}: {here}\nDuckDB: {rows[0]}\nSpark:  {rows[1]}")
        found.steps.add(step)
        return made

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SparkSource, "_frame", comparing)
        yield found


def _see_files(connection: duckdb.DuckDBPyConnection, source: SparkSource) -> None:
    """Let DuckDB read the files of the source itself, under the names that statements use."""
    files = f"'{source.shown}/*.parquet'"
    if isinstance(source, FrameSource):  # rows that were drawn there stand in no file
        connection.register("drawn", source.frame.toArrow())
        files = "drawn"
    connection.execute("CREATE MACRO validate_utf8(t) AS t")
    names = ", ".join(f"{exp.to_identifier(name, quoted=True)} AS {c}" for name, c in source._codes.items())
    connection.execute(f"CREATE VIEW {sources._HERE} AS SELECT {names} FROM {files}")


def _comparable(tree: exp.Expression) -> list[int]:
    """Give the places of the columns that both engines give alike; each has hashes of its own."""
    return [place for place, item in enumerate(tree.selects) if not _is_fingerprint(item)]


def _is_fingerprint(item: exp.Expression) -> bool:
    hashed = any(call.name.lower() == "hash" for call in item.find_all(exp.Anonymous))
    return hashed and item.find(exp.ApproxDistinct) is None


def _same(here: list[tuple[str | None, ...]], there: list[tuple[str | None, ...]]) -> bool:
    """Compare rows; means of many may differ in their last digits."""
    if [len(row) for row in here] != [len(row) for row in there]:
        return False
    pairs = [pair for rows in zip(here, there, strict=True) for pair in zip(*rows, strict=True)]
    return all(a == b or _is_close(a, b) for a, b in pairs)


def _is_close(one: str | None, other: str | None) -> bool:
    try:
        return "." in (one or "") and math.isclose(float(one or ""), float(other or ""), rel_tol=1e-12)
    except ValueError:
        return False


def _rows(
    connection: duckdb.DuckDBPyConnection, table: str, columns: list[int]
) -> list[tuple[str | None, ...]]:
    """Give rows as sorted texts, in which NaN equals NaN; a zero has no sign, as equality sees it."""
    texts = "CAST(COLUMNS(*) AS VARCHAR)"
    found = connection.execute(f"SELECT {texts} FROM {table}").fetchall()
    unsigned = [tuple("0.0" if row[place] == "-0.0" else row[place] for place in columns) for row in found]
    return sorted(unsigned, key=repr)


def _near(here: list[tuple[str | None, ...]], there: list[tuple[str | None, ...]]) -> bool:
    """Compare rows of estimates of numbers of values."""
    pairs = [pair for rows in zip(here, there, strict=True) for pair in zip(*rows, strict=True)]
    return all(a == b or abs(float(a or 0) - float(b or 0)) <= max(1, NEAR * float(a or 0)) for a, b in pairs)
