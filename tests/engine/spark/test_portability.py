"""Every statement that is sent to Spark gives there what it gives in DuckDB, over values known to differ."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pages import ROOT
from spark_tables import EDGES, ODD
from spark_twins import PORTABLE, compared
from sqlglot import exp
from sqlglot.errors import UnsupportedError

from ppdm_sql import Database
from ppdm_sql.audit import profiling
from ppdm_sql.engine.source import check_counts, stand_in
from ppdm_sql.engine.spark import dialect
from ppdm_sql.engine.spark.dialect import to_spark
from ppdm_sql.engine.spark.session import SparkPlace
from ppdm_sql.engine.spark.source import SparkSource
from ppdm_sql.errors import InvalidSource

Parquet = Callable[[str, str], str]
COLUMNS = ["text", "small", "real", "single", "exact", "day", "moment", "instant", "yes", ODD]


@pytest.mark.spark
def test_counts_are_looked_at_alike(ledger: Database, spark_place: SparkPlace, parquet: Parquet) -> None:
    engine, there = ledger.engine, SparkSource(spark_place, parquet("edges", EDGES))
    with engine.workspace():
        for table in (engine.materialize("twin", EDGES.strip()), stand_in(engine, there)):
            check_counts(engine, table, "n")
            with pytest.raises(InvalidSource, match="NULL in 1 rows and negative in 1"):
                check_counts(engine, table, "small")


def audits(db: Database, edges: str, patients: str) -> None:
    """Send what looks and audits send."""
    db.audit(edges)
    db.audit(edges, by=COLUMNS)
    db.audit(patients, ["k on a"])
    asked = ["k on text, small", "distinct l of yes on day, moment, instant", "t of real on exact"]
    db.audit(edges, asked, count_column="n")


def releases(db: Database, edges: str, patients: str, folder: Path) -> None:
    """Send what releases, and what is asked of them later, send."""
    asked: dict[str, Any] = {"class_column": "yes", "keep": ["single", "day", "moment", "instant", ODD]}
    for method in ("generalize", "suppress"):
        require = ["k >= 2 on text, small, real, exact"]
        made = getattr(db, method)(edges, require, into=method, to=f"{folder}/{method}", **asked)
        assert made.verify().holds
    db.apply("generalize", edges, into="applied", to=f"{folder}/applied")
    db.swap(patients, into="swapped", confidential=["b"], by=["a"], proportion=0.5, seed=1)


def models(db: Database, edges: str, patients: str, folder: Path) -> None:
    """Send what noise, and models of noisy values, send."""
    noisy, ranges = {"real": "uniform 3", "exact": "uniform 2000"}, {"real": (-1, 3), "exact": (0, 100)}
    drawn: dict[str, Any] = {"noise": {"x": "uniform 3"}, "ranges": {"x": (0, 100)}}
    db.randomize(patients, into="noisy", record="x", keep=["a"], **drawn)
    there: dict[str, Any] = {"record": "x", "keep": ["a"], "to": f"{folder}/noisier"}
    with pytest.raises(InvalidSource, match="outside"):
        db.randomize(patients, into="noisier", noise=["x=uniform 3"], ranges={"x": (0, 9)}, **there)
    drawn["noise"]["patient"], drawn["ranges"]["patient"] = "gaussian 9 rounded", (0, 25)
    drawn["noise"]["y"] = "cells 4 equal-frequency"
    db.randomize(patients, into="noisier", identifiers={"b": "pseudonym"}, **there, **drawn)
    db.reconstruct(edges, into="d", noise=noisy | {"text": "retain 0.5"}, ranges=ranges, by_class="yes")
    model = db.train(edges, class_column="yes", into="original", mode="original", min_split=2)
    db.predict(model, edges, into="predicted", to=f"{folder}/predicted")
    noise, ranges = {"exact": "uniform 2000"}, {"exact": (0, 100)}
    db.train(edges, class_column="yes", into="byclass", columns=["exact"], noise=noise, ranges=ranges)
    grown: dict[str, Any] = {"columns": ["a", "x"], "noise": {"x": "uniform 30"}, "ranges": {"x": (0, 99)}}
    for mode in ("global", "byclass"):
        db.train(patients, class_column="b", into=mode + "_x", mode=mode, min_split=2, test=patients, **grown)


@pytest.fixture
def edges(parquet: Parquet) -> str:
    return parquet("edges", EDGES)


@pytest.fixture
def patients(parquet: Parquet) -> str:
    """Persons with several rows each, and nothing that is NULL."""
    columns = "i // 4 AS patient, i % 3 AS a, 'é' || i % 2 AS b, i * 1.0 AS x, i * i * 0.5 AS y"
    rows = f"SELECT {columns} FROM range(100) r(i)"
    return parquet("patients", rows)


@pytest.mark.spark
@pytest.mark.usefixtures("plans_as_usual")
def test_every_statement_that_is_sent_gives_the_same_in_both(
    ledger: Database, edges: str, patients: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that a command sends over the odd values, as it sends it."""
    monkeypatch.setattr(profiling, "COUNTED_PAIRS", 1)
    with compared() as found:
        audits(ledger, edges, patients)
        releases(ledger, edges, patients, tmp_path)
        models(ledger, edges, patients, tmp_path)
    assert not found.differing, "\n".join(found.differing)
    assert found.steps == PORTABLE


def counts_of_values(node: exp.Expression) -> exp.Expression:
    if isinstance(node, exp.Count) and isinstance(node.this, exp.Star):
        return exp.Count(this=exp.column("c0"))
    return node


def texts_without_blanks(node: exp.Expression) -> exp.Expression:
    if isinstance(node, exp.Anonymous) and node.name == "validate_utf8":
        return exp.Trim(this=node.expressions[0])
    return node


def counts_of_nobody(node: exp.Expression) -> exp.Expression:
    if isinstance(node, exp.GT):
        return exp.GTE(this=node.this, expression=node.expression)
    return node


PLANTED = [counts_of_values, texts_without_blanks, counts_of_nobody]


@pytest.mark.spark
@pytest.mark.parametrize("planted", PLANTED)
def test_a_statement_that_is_changed_in_silence_is_found(
    ledger: Database, edges: str, monkeypatch: pytest.MonkeyPatch, planted: dialect.Rewrite
) -> None:
    monkeypatch.setattr(dialect, "REWRITES", (*dialect.REWRITES, planted))
    with compared() as found:
        count = "n" if planted is counts_of_nobody else None
        ledger.audit(edges, ["k on text"], count_column=count)
    assert len(found.differing) == 1 and found.differing[0].startswith("collapse: ")


def test_statements_reach_spark_in_one_place() -> None:
    """What is translated elsewhere would pass the comparison by."""
    package = ROOT / "ppdm_sql"
    translating = re.compile(r"\bto_spark\b|sql\(\"spark\"|dialect=\"spark\"")
    found = {
        p.relative_to(package).as_posix() for p in package.rglob("*.py") if translating.search(p.read_text())
    }
    assert found == {"engine/spark/dialect.py", "engine/spark/source.py"}


@pytest.mark.spark
@pytest.mark.usefixtures("plans_as_usual")
def test_rows_of_odd_values_are_written_as_duckdb_writes_them(
    ledger: Database, edges: str, tmp_path: Path
) -> None:
    """The whole way: read by Spark, handed over, released, handed back, and written by Spark."""
    engine = ledger.engine
    engine.write(f"CREATE TABLE here AS FROM '{edges}/*.parquet'", step="test")
    asked: dict[str, Any] = {
        "class_column": "yes",
        "keep": [name for name in COLUMNS if name not in ("yes", "text")],
    }
    for source, into, to in (("here", "h", None), (edges, "s", str(tmp_path / "s"))):
        ledger.suppress(source, ["k >= 1 on text"], into=into, to=to, **asked)
    texts = "SELECT CAST(COLUMNS(*) AS VARCHAR) FROM"
    rows = [
        engine.query(f"{texts} {table} ORDER BY ALL", step="test")
        for table in ("h", f"'{tmp_path}/s/*.parquet'")
    ]
    assert unsigned(rows[0]) == unsigned(rows[1]) and len(rows[0]) == 8


def unsigned(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """A zero has no sign, as equality sees it: Spark keeps the one, DuckDB the other."""
    return sorted((tuple("0.0" if value == "-0.0" else value for value in row) for row in rows), key=repr)


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
    (dialect.finite_numbers, "SELECT isfinite(a) FROM t", "DOUBLE('Infinity')"),
    (dialect.exact_means, "SELECT favg(a) FROM t", " AVG("),
    (dialect.hexadecimals, "SELECT CAST('0x' || a AS BIGINT) FROM t", "CONV(a, 16, 10)"),
    (dialect.letters, "SELECT a COLLATE C FROM t", "SELECT a FROM"),
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
