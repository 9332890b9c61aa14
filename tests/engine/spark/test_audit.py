"""An audit of a table in Spark says what the audit of the same table in DuckDB says."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from commands import ppdm
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ppdm_sql
from ppdm_sql import Database, examples

pytestmark = pytest.mark.spark
Parquet = Callable[[str, str], str]

ASKED: list[tuple[str, dict[str, Any]]] = [
    ("customers", {"require": ["k >= 4 on Job, Country", "Job, Country -> Bankruptcy = Discharged <= 50%"]}),
    ("policies", {"confidential": "Amount", "by": ["Age", "Gender", "Location"]}),
    ("policies", {"by": ["Age", "Gender"], "sensitive": "Amount", "groups": 3}),
    ("customers", {"require": ["distinct l of Bankruptcy on Job"], "count_column": "?"}),
]


@pytest.fixture
def demo(ledger: Database) -> Database:
    examples.write(ledger.engine)
    return ledger


@pytest.mark.parametrize(("table", "asked"), ASKED, ids=[f"{t} {i}" for i, (t, _) in enumerate(ASKED)])
def test_the_demo_tables_are_audited_alike(
    demo: Database, parquet: Parquet, table: str, asked: dict[str, Any]
) -> None:
    columns = [item.name for item in demo.engine.columns(demo.engine.find(table))]
    if "count_column" in asked:
        counts = [name for name in columns if name.lower() in ("n", "count", "records")]
        asked = asked | {"count_column": counts[0] if counts else None}
    twin = parquet(table, f"FROM {table}", demo.engine.connection)
    assert printed(demo.audit(twin, **asked)) == printed(demo.audit(table, **asked))


def printed(audit: ppdm_sql.Audit) -> list[Any]:
    """Give what is printed, as texts, so that NaN equals NaN."""
    return [(table.title, table.columns, [repr(row) for row in table.rows]) for table in audit.tables()]


def test_a_first_look_is_the_same(demo: Database, parquet: Parquet) -> None:
    twin = parquet("customers", "SELECT Job, Country, Bankruptcy FROM customers", demo.engine.connection)
    demo.engine.write("CREATE VIEW narrow AS SELECT Job, Country, Bankruptcy FROM customers", step="test")
    assert printed(demo.audit(twin)) == printed(demo.audit("narrow"))


def test_a_population_may_live_in_the_other_place(demo: Database, parquet: Parquet) -> None:
    twin = parquet("customers", "FROM customers", demo.engine.connection)
    asked = {"quasi_identifier": ["Job"]}
    demo.engine.write("CREATE TABLE everybody AS FROM customers", step="test")
    expected = repr(printed(demo.audit("customers", population="everybody", **asked)))
    for table, population in ((twin, "everybody"), ("customers", twin)):
        found = repr(printed(demo.audit(table, population=population, **asked)))
        assert found.replace(population, "everybody") == expected


VALUES = st.tuples(
    st.sampled_from([None, "a", "a ", "A", "é", ""]),
    st.sampled_from([None, 0.0, -0.0, 1.5, float("nan"), float("inf")]),
    st.integers(0, 3),
    st.integers(0, 4),
)


@settings(max_examples=4, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(rows=st.lists(VALUES, min_size=1, max_size=30), counted=st.booleans())
def test_random_tables_are_audited_alike(
    ledger: Database, tmp_path: Path, rows: list[tuple[Any, ...]], counted: bool
) -> None:
    rows.append(("a", 1.5, 1, 1))
    folder = tmp_path / "random"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    con = ledger.engine.connection
    con.execute("CREATE OR REPLACE TABLE random (t VARCHAR, x DOUBLE, p INTEGER, n BIGINT)")
    con.executemany("INSERT INTO random VALUES (?, ?, ?, ?)", rows)
    con.table("random").write_parquet(str(folder / "rows.parquet"))
    asked: dict[str, Any]
    if counted:
        asked = {"require": ["k >= 2 on t, x", "distinct l >= 2 of p on t"], "count_column": "n"}
    else:
        asked = {"require": ["k >= 2 on t, x"], "groups": 2, "person": "p"}
    assert printed(ledger.audit(str(folder), **asked)) == printed(ledger.audit("random", **asked))


def test_the_command_reads_spark_beside_a_ledger(spark_url: str, parquet: Parquet, tmp_path: Path) -> None:
    rows = parquet("rows", "SELECT i % 2 AS a, i % 3 AS b FROM range(60) r(i)")
    ledger = tmp_path / "ledger.duckdb"
    duckdb.connect(str(ledger)).close()
    words = ["audit", str(ledger), rows, "--spark", spark_url, "--require"]
    done = ppdm(*words, "k >= 10 on a, b")
    assert done.exit_code == 0, done.output
    assert "k >= 10 on a, b" in done.output
    assert ppdm(*words, "k >= 11 on a, b").exit_code == 1
    shown = ppdm(*words, "k on a", "--sql")
    assert shown.exit_code == 0 and "FROM PARQUET." in shown.output.upper(), shown.output
    typed = ppdm(*words, "k on a", "--types", "a=VARCHAR")
    assert typed.exit_code == 2 and "--types and --null are for files" in typed.output


@pytest.mark.usefixtures("plans_as_usual")
def test_jobs_tell_how_far_they_are(ledger: Database, spark_session: Any) -> None:
    told: list[dict[str, object]] = []

    class Listening(ppdm_sql.progress.SilentProgress):
        def update(self, **measures: object) -> None:
            told.append(measures)

    spark_session.sql("CREATE OR REPLACE TEMP VIEW wide AS SELECT id % 7 AS a FROM range(0, 30000000, 1, 8)")
    # A server reports every two seconds if it is not told otherwise, and a fast one has done the job by then.
    often = "spark.connect.progress.reportInterval"
    usual = spark_session.conf.get(often)
    spark_session.conf.set(often, "10ms")
    ledger.progress = Listening()
    try:
        ledger.audit("wide", ["k on a"])
    finally:
        spark_session.conf.set(often, usual)
    assert any(" of " in str(measures.get("tasks")) for measures in told)
