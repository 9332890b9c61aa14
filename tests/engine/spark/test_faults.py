"""What Spark refuses is said in two sentences, and no cell of the table is in them or printed beside them."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from spark_server import JAVA

import ppdm_sql
from ppdm_sql import Database
from ppdm_sql.engine.spark.faults import explained, unprinted
from ppdm_sql.engine.spark.session import connect
from ppdm_sql.errors import DatabaseUnavailable, EngineError, InvalidOption, InvalidSource, PpdmError

Parquet = Callable[[str, str], str]
CELL = "Q7secret"
FAILING = {
    "a cast that fails": f"CAST('{CELL}' || id AS INT)",
    "an error that a view raises": f"CAST(raise_error('{CELL}') AS STRING)",
    "a text that is not UTF-8": f"CAST(unhex('80') AS STRING) || '{CELL}'",
    "a sum that overflows": "CAST(9223372036854775807 AS BIGINT) + id + 1",
}


@pytest.mark.spark
@pytest.mark.parametrize("value", FAILING.values(), ids=FAILING)
def test_an_error_of_spark_quotes_no_cell(
    ledger: Database, spark_session: Any, value: str, capfd: pytest.CaptureFixture[str]
) -> None:
    spark_session.sql(f"CREATE OR REPLACE TEMP VIEW failing AS SELECT {value} AS a FROM range(10)")
    with pytest.raises(EngineError) as raised:
        ledger.audit("failing", ["k on a"])
    told = "".join(traceback.format_exception(raised.value)) + "".join(capfd.readouterr())
    assert CELL not in told and "9223372036854775807" not in told
    assert raised.value.problem and raised.value.remedy and raised.value.engine_text


def test_the_client_may_print_again_afterwards() -> None:
    shown = logging.getLogger("SQLQueryContextLogger")
    with unprinted():
        assert shown.disabled
    assert not shown.disabled


@pytest.mark.spark
def test_counts_that_are_none_are_refused_as_in_duckdb(ledger: Database, spark_session: Any) -> None:
    spark_session.sql(
        "CREATE OR REPLACE TEMP VIEW counts AS "
        "SELECT * FROM VALUES ('a', 1L), ('b', NULL), ('c', -1L) AS t(a, n)"
    )
    with pytest.raises(InvalidSource, match="'n' is NULL in 1 rows and negative in 1"):
        ledger.audit("counts", ["k on a"], count_column="n")
    spark_session.sql(f"CREATE OR REPLACE TEMP VIEW counts AS SELECT 'a' AS a, {2**62} AS n FROM range(3)")
    with pytest.raises(InvalidSource, match="add up to more than"):
        ledger.audit("counts", ["k on a"], count_column="n")


@pytest.mark.spark
def test_rows_of_nobody_are_refused(ledger: Database, spark_session: Any) -> None:
    spark_session.sql(
        "CREATE OR REPLACE TEMP VIEW nobody AS SELECT * FROM VALUES ('a', 1), ('b', NULL) AS t(a, p)"
    )
    with pytest.raises(InvalidSource, match="'p' is NULL in 1 row"):
        ledger.audit("nobody", ["k on a"], person="p")


@pytest.mark.spark
def test_files_that_are_no_parquet_are_refused(ledger: Database, tmp_path: Path) -> None:
    (tmp_path / "rows.parquet").write_text(f"{CELL},1\n")
    with pytest.raises(PpdmError) as raised:
        ledger.audit(str(tmp_path), ["k on a"])
    assert "Parquet" in str(raised.value) and CELL not in str(raised.value)


@pytest.mark.spark
def test_ansi_mode_must_be_on(spark_session: Any) -> None:
    spark_session.conf.set("spark.sql.ansi.enabled", "false")
    try:
        with pytest.raises(InvalidOption, match="ANSI mode is off"):
            connect(spark_session)
    finally:
        spark_session.conf.set("spark.sql.ansi.enabled", "true")


@pytest.mark.spark
def test_a_session_of_the_caller_stays_open(spark_session: Any) -> None:
    with ppdm_sql.open(":memory:", spark=spark_session) as db:
        assert db.engine.spark is not None
    assert spark_session.range(3).count() == 3


@pytest.mark.spark
def test_ctrl_c_ends_the_job_in_spark(spark_url: str) -> None:
    """The run is stopped when Spark tells that it counts, for minutes; the server is free at once."""
    code = f"""
import _thread, ppdm_sql
from ppdm_sql.progress import SilentProgress

class Stopping(SilentProgress):
    waits = True

    def update(self, **measures):
        if self.waits and "tasks" in measures:
            self.waits = False
            _thread.interrupt_main()

db = ppdm_sql.open(":memory:", spark={spark_url!r})
slow = "SELECT a.id % 7 AS a FROM range(3000000) a CROSS JOIN range(3000000) b"
db.engine.spark.session.sql("CREATE TEMP VIEW slow AS " + slow)
db.engine.spark.session.conf.set("spark.connect.progress.reportInterval", "100ms")
db.progress = Stopping()
try:
    db.audit("slow", ["k on a"])
except KeyboardInterrupt:
    print("stopped", flush=True)
print(db.engine.spark.session.range(5).count(), len(db.engine.tables()), flush=True)
db.close()
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100)
    assert run.stdout.split() == ["stopped", "5", "0"], run.stderr[-500:]


@pytest.mark.parametrize("spark", ["spark://host:7077", "local[", "host:15002", "", "sc://", 3, object()])
def test_what_is_no_spark_is_refused_before_anything_is_loaded(spark: Any) -> None:
    with pytest.raises(InvalidOption, match=r"sc://host:15002"):
        ppdm_sql.open(":memory:", spark=spark)


def test_a_server_that_is_not_there_is_said_at_once_without_its_token() -> None:
    with pytest.raises(DatabaseUnavailable, match="No Spark Connect server answers") as raised:
        ppdm_sql.open(":memory:", spark="sc://127.0.0.1:1/;token=Q7secret")
    assert "Q7secret" not in str(raised.value)


def test_without_the_client_the_extra_is_named() -> None:
    code = """
import sys
sys.modules["pyspark"] = None
import ppdm_sql.engine.spark.session as session
session._require_answer = lambda url: None
try:
    session.connect("sc://127.0.0.1:15002")
except Exception as error:
    print(type(error).__name__, error)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert run.stdout.startswith("DatabaseUnavailable") and "ppdm-sql[spark]" in run.stdout, run.stderr


@pytest.mark.parametrize(
    "said", ["java.lang.OutOfMemoryError: Java heap space", "TaskResultLost (result lost)", "maxResultSize"]
)
def test_too_little_memory_is_said_with_the_settings_that_give_more(said: str) -> None:
    found = explained("collapse", RuntimeError(f"{CELL} {said}"))
    assert "spark.driver.memory" in str(found) and CELL not in str(found)


def test_an_unknown_error_is_named_by_its_kind_alone() -> None:
    found = explained("collapse", ValueError(CELL))
    assert CELL not in str(found) and "ValueError" in str(found)
    assert getattr(found, "engine_text", "") == CELL


@pytest.mark.spark
def test_a_spark_of_this_machine_serves_a_trial_in_silence(spark_url: str, parquet: Parquet) -> None:
    """It hands rows over as Parquet; its log, with cells, goes nowhere, and it ends with the connection."""
    rows = parquet("rows", f"SELECT 'a' AS a, TIMESTAMP '2020-01-01' AS t, '{CELL}' AS b FROM range(9)")
    code = f"""
import ppdm_sql
with ppdm_sql.open(":memory:", spark="local[1]") as db:
    session = db.engine.spark.session
    session.sql("CREATE TEMP VIEW failing AS SELECT CAST(b AS INT) AS b FROM parquet.`{rows}`")
    session.sql("CREATE TEMP VIEW moments AS SELECT TIMESTAMP '2020-01-01 00:00:00Z' AS z FROM range(3)")
    print(db.audit({rows!r}, ["k on a, t, b"]).findings[0].reached)
    print(db.audit("moments", ["k on z"]).findings[0].reached)
    try:
        db.audit("failing", ["k on b"])
    except ppdm_sql.PpdmError as error:
        print(type(error).__name__)
"""
    quick = os.environ | {"JDK_JAVA_OPTIONS": JAVA}
    run = subprocess.run([sys.executable, "-c", code], env=quick, capture_output=True, text=True, timeout=170)
    assert run.stdout.split() == ["9.0", "3.0", "EngineError"], run.stderr[-500:]
    assert CELL not in run.stdout + run.stderr and "WARN" not in run.stderr
