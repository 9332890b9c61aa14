"""Every statement that is sent to Spark gives there what it gives in DuckDB, over values known to differ."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any

import pytest
from spark_tables import EDGES, ODD
from sqlglot import exp
from sqlglot.errors import UnsupportedError

from ppdm_sql import Database
from ppdm_sql.audit import profiling
from ppdm_sql.engine.names import alias, column
from ppdm_sql.engine.source import TableSource
from ppdm_sql.engine.spark import dialect
from ppdm_sql.engine.spark.dialect import to_spark
from ppdm_sql.engine.spark.session import SparkPlace
from ppdm_sql.engine.spark.source import SparkSource

Parquet = Callable[[str, str], str]
COLUMNS = ["text", "small", "real", "single", "exact", "day", "moment", "yes", ODD]
PORTABLE = {"count_faults", "collapse", "column_pair", "pair_estimates", "repeated_persons"}
"""The steps that are run on Spark; one that is new stands here, and below in a test."""


@pytest.fixture
def twins(
    ledger: Database, spark_place: SparkPlace, parquet: Parquet
) -> Iterator[tuple[TableSource, SparkSource]]:
    """The same rows in DuckDB and in Spark."""
    folder = parquet("edges", EDGES)
    with ledger.engine.workspace():
        table = ledger.engine.materialize("twin", EDGES.strip())
        yield TableSource(ledger.engine, table), SparkSource(spark_place, folder)


@pytest.mark.spark
def test_counts_are_looked_at_alike(twins: tuple[TableSource, SparkSource]) -> None:
    here, there = twins
    assert here.check_counts("n") == there.check_counts("n") == [(0, 0, True)]
    assert here.check_counts("small") == there.check_counts("small") == [(1, 1, True)]


@pytest.mark.spark
def test_classes_of_pairs_are_counted_alike(twins: tuple[TableSource, SparkSource]) -> None:
    here, there = twins
    for pair in list(combinations(COLUMNS, 2))[::6]:
        counted = lambda rows, pair=pair: classes(rows, pair)  # noqa: E731
        assert here.aggregate(counted, step="column_pair") == there.aggregate(counted, step="column_pair")


def classes(rows: exp.Expression, names: tuple[str, ...]) -> exp.Select:
    """Count classes and those of one record, as the first look does."""
    keys = [alias(column(name, "s"), f"k{place}") for place, name in enumerate(names)]
    grouped = exp.select(*keys, alias(exp.Count(this=exp.Star()), "records")).from_(rows)
    grouped = grouped.group_by(*(exp.convert(place + 1) for place in range(len(names))))
    alone = exp.Filter(
        this=exp.Count(this=exp.Star()), expression=exp.Where(this=exp.column("records").eq(1))
    )
    return exp.select(exp.Count(this=exp.Star()), alone).from_(grouped.subquery("g"))


@pytest.mark.spark
def test_estimates_are_near_in_both(twins: tuple[TableSource, SparkSource]) -> None:
    """Few values are estimated exactly by both engines; equal values must be hashed alike in each."""

    def estimated(rows: exp.Expression) -> exp.Select:
        hashed = exp.Anonymous(this="hash", expressions=[column("text", "s"), column("small", "s")])
        return exp.select(exp.ApproxDistinct(this=hashed)).from_(rows)

    for source in twins:
        ((found,),) = source.aggregate(estimated, step="pair_estimates")
        assert 6 <= found <= 8


@pytest.mark.spark
def test_every_step_that_spark_is_sent_is_one_of_these(
    ledger: Database, spark_session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: set[str] = set()
    frame = SparkSource._frame

    def noted(self: SparkSource, query: Any, step: str) -> Any:
        sent.add(step)
        return frame(self, query, step)

    monkeypatch.setattr(SparkSource, "_frame", noted)
    monkeypatch.setattr(profiling, "COUNTED_PAIRS", 1)
    spark_session.sql(
        "CREATE OR REPLACE TEMP VIEW steps AS "
        "SELECT id % 20 AS patient, id % 3 AS a, id % 2 AS b, 1L AS n FROM range(100)"
    )
    ledger.audit("steps")
    ledger.audit("steps", ["k on a"], count_column="n")
    assert sent == PORTABLE


@pytest.mark.spark
def test_a_notice_of_repeated_persons_is_the_same(
    ledger: Database, spark_session: Any, parquet: Parquet
) -> None:
    rows = "SELECT i // 4 AS patient, i % 3 AS a FROM range(100) r(i)"
    folder = parquet("patients", rows)
    ledger.engine.write(f"CREATE TABLE patients AS {rows}", step="test")
    told = [ledger.audit(name, ["k on a"]).notices for name in (folder, "patients")]
    assert told[0] == told[1] and "patient has about 25 values" in told[0][0]


@pytest.mark.spark
@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        (
            "SELECT CAST(sum(CAST(v AS HUGEINT)) AS HUGEINT) FROM (VALUES (9223372036854775807), (1)) t(v)",
            2**63,
        ),
        ("SELECT TRY(CAST(v AS DOUBLE)) FROM (VALUES ('x')) t(v)", None),
        ("SELECT count(DISTINCT row(a, b)) FROM (VALUES (1, 2), (1, 2), (2, 1)) t(a, b)", 2),
        ("SELECT max(n) FROM (SELECT row_number() OVER () AS n FROM (VALUES (1), (2)) t(v)) u", 2),
        ("SELECT count(DISTINCT hash(v)) FROM (VALUES (1), (2), (2)) t(v)", 2),
    ],
)
def test_each_rewrite_gives_the_same_in_both(
    ledger: Database, spark_session: Any, statement: str, expected: object
) -> None:
    ((here,),) = ledger.engine.query(statement, step="test")
    ((there,),) = spark_session.sql(to_spark(statement)).collect()
    assert here == there == expected


CHANGED: list[tuple[dialect.Rewrite, str, str]] = [
    (dialect.whole_numbers, "SELECT CAST(a AS HUGEINT) FROM t", "DECIMAL(38, 0)"),
    (dialect.attempts, "SELECT TRY(CAST(a AS DOUBLE)) FROM t", "TRY_CAST("),
    (dialect.rows_of_values, "SELECT row(a, b) FROM t", "STRUCT("),
    (dialect.numbers_of_rows, "SELECT row_number() OVER () FROM t", "ORDER BY NULL"),
    (dialect.hashes, "SELECT hash(a) FROM t", "XXHASH64("),
    (dialect.floors, "SELECT floor(a) FROM t", "CAST(FLOOR(a) AS DOUBLE)"),
    (dialect.no_numbers, "SELECT isnan(a) FROM t", "NOT a IS NULL"),
]
"""A statement for each rewrite, and what only the rewrite makes of it."""


@pytest.mark.parametrize(("rewrite", "written", "expected"), CHANGED)
def test_every_rewrite_changes_something(
    monkeypatch: pytest.MonkeyPatch, rewrite: dialect.Rewrite, written: str, expected: str
) -> None:
    assert expected in to_spark(written)
    monkeypatch.setattr(dialect, "REWRITES", [item for item in dialect.REWRITES if item is not rewrite])
    with contextlib.suppress(UnsupportedError):  # sqlglot may say itself that Spark has no such thing
        assert expected not in to_spark(written)


def test_each_rewrite_is_asked_about() -> None:
    assert [rewrite for rewrite, *_ in CHANGED] == list(dialect.REWRITES)
