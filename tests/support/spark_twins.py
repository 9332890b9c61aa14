"""Runs every statement that the package sends to Spark in DuckDB as well, and compares what comes back.

Nothing is written down here of the statements themselves: they are taken on their way to Spark.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
import sqlglot
from sqlglot import exp

from ppdm_sql.engine.spark import source as sources
from ppdm_sql.engine.spark.source import SparkSource

PORTABLE = {
    "audit sums",
    "collapse",
    "column_pair",
    "column_statistics",
    "confusion",
    "count rows",
    "count values",
    "count_faults",
    "covariances",
    "deviations",
    "noisy",
    "filter errors",
    "histogram",
    "impossible_numbers",
    "kept_columns",
    "known_values",
    "level counts",
    "means",
    "nulls",
    "outside",
    "pair_estimates",
    "predict",
    "pseudonyms",
    "quantiles",
    "record_key",
    "repeated_persons",
    "training records",
    "training_statistics",
}
"""The steps that may be sent to Spark; the portability test holds each against DuckDB."""
NEAR = 0.2
"""How far estimates of numbers of values may be apart, as a share of the number."""
ROUNDED = 1e-9
"""How far sums of floating points may be apart."""
Row = tuple[str | None, ...]


@contextmanager
def noted(steps: set[str]) -> Iterator[None]:
    """Collect the names of the steps that are sent to Spark."""
    frame = SparkSource._frame

    def noting(self: SparkSource, query: exp.Expression | str, step: str, *keys: Any) -> Any:
        steps.add(step)
        return frame(self, query, step, *keys)

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

    def comparing(
        self: SparkSource, query: exp.Expression | str, step: str, keys: dict[str, Any] | None = None
    ) -> Any:
        made = frame(self, query, step, keys)
        tree = sqlglot.parse_one(query, dialect="duckdb") if isinstance(query, str) else query
        here = tree.sql("duckdb")
        with duckdb.connect() as connection:
            connection.execute("SET TimeZone = 'UTC'")
            connection.register("there", made.toArrow())
            _see_files(connection, self)
            if keys is not None:
                connection.register(sources._KEYS, pa.table({name: [key] for name, key in keys.items()}))
            try:
                rows = [_rows(connection, f"({here})"), _rows(connection, "there")]
            except duckdb.Error as refused:
                found.differing.append(f"{step}: {here}\nDuckDB: {refused}")
                return made
        near = NEAR if tree.find(exp.ApproxDistinct) else ROUNDED
        hashed = [_is_hash(item) for item in tree.selects]
        rows = [[tuple(v for v, h in zip(r, hashed, strict=True) if not h) for r in side] for side in rows]
        if not _alike(*rows, near):  # raised here, it would be taken for an error of Spark
            found.differing.append(f"{step}: {here}\nDuckDB: {rows[0]}\nSpark:  {rows[1]}")
        found.steps.add(step)
        return made

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SparkSource, "_frame", comparing)
        yield found


def _see_files(connection: duckdb.DuckDBPyConnection, source: SparkSource) -> None:
    """Let DuckDB read the files of the source itself, under the names that statements use.

    What is not a folder of files, as rows whose noise has just been drawn, is read through Spark.
    """
    connection.execute("CREATE MACRO validate_utf8(t) AS t")
    if type(source) is SparkSource and Path(source.shown).is_dir():
        names = ", ".join(f"{exp.to_identifier(n, quoted=True)} AS {c}" for n, c in source._codes.items())
        files = f"SELECT {names} FROM '{source.shown}/*.parquet'"
        connection.execute(f"CREATE VIEW {sources._HERE} AS {files}")
    else:
        connection.register(sources._HERE, source._read().toDF(*source._codes.values()).toArrow())


def _rows(connection: duckdb.DuckDBPyConnection, table: str) -> list[Row]:
    """Give rows as sorted texts, in which NaN equals NaN; a zero has no sign, as equality sees it."""
    texts = "CAST(COLUMNS(*) AS VARCHAR)"
    found = connection.execute(f"SELECT {texts} FROM {table}").fetchall()
    unsigned = [tuple("0.0" if value == "-0.0" else value for value in row) for row in found]
    return sorted(unsigned, key=repr)


def _is_hash(item: exp.Expression) -> bool:
    """Tell a sum of hashes, which each engine works out by a function of its own."""
    called = any(call.name.lower() == "hash" for call in item.find_all(exp.Anonymous))
    return called and not item.find(exp.ApproxDistinct)


def _alike(here: list[Row], there: list[Row], near: float) -> bool:
    """Compare rows; sums of floating points depend on their order in the last digits."""
    if len(here) != len(there):
        return False
    pairs = [pair for rows in zip(here, there, strict=True) for pair in zip(*rows, strict=True)]
    return all(one == other or _close(one, other, near) for one, other in pairs)


def _close(one: str | None, other: str | None, near: float) -> bool:
    try:
        return math.isclose(float(one or ""), float(other or ""), rel_tol=near, abs_tol=near)
    except ValueError:  # not both are numbers
        return False
