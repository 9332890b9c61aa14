"""Trees grow from a table of Spark as from its twin in DuckDB, and only counts reach the ledger."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from spark_tables import ODD
from spark_twins import noted

from ppdm_sql import Database
from ppdm_sql.engine.names import Table
from ppdm_sql.engine.spark import source as sources
from ppdm_sql.errors import InvalidSource
from ppdm_sql.methods.trees import train

pytestmark = pytest.mark.spark
Parquet = Callable[[str, str], str]

QUOTED = ODD.replace('"', '""')
PEOPLE = f"""
SELECT
    CASE WHEN i % 50 = 0 THEN NULL ELSE 20 + i * 7919 % 60 END::INTEGER AS age,
    CASE WHEN i % 90 = 0 THEN 'NaN' WHEN i % 91 = 0 THEN 'inf' ELSE i * 104729 % 9973 / 7 END::DOUBLE AS pay,
    ['cl\\erk', 'Clerk', 'it''s {{0}} "`', 'é', NULL][1 + i * 31 % 5] AS "{QUOTED}",
    i % 7 = 0 AS away,
    CASE
        WHEN i % 400 = 0 THEN NULL
        WHEN (20 + i * 7919 % 60 > 40)::INT + (i * 104729 % 9973 > 4000)::INT + (i * 31 % 5 = 2)::INT > 1
            THEN 'go''od\\'
        ELSE 'bad'
    END AS risk
FROM range(3000) r(i)
"""
COLUMNS = ["age", "pay", ODD, "away"]
NOISE: dict[str, Any] = {
    "noise": {"age": "uniform 15 rounded", "pay": "gaussian 300"},
    "ranges": {"age": (20, 80), "pay": (0, 1430)},
}


@pytest.fixture
def both(ledger: Database, parquet: Parquet) -> tuple[str, str]:
    """The same records in DuckDB and in Spark."""
    folder = parquet("people", PEOPLE)
    ledger.engine.write(f"CREATE TABLE here AS FROM '{folder}/*.parquet'", step="test")
    return "here", folder


@pytest.mark.parametrize("mode", ["original", "randomized", "local"])
def test_trees_are_the_same(
    ledger: Database, both: tuple[str, str], mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Equal values of noise, too, go to the same cells where Spark reads the rows in the order of DuckDB."""
    monkeypatch.setattr(train, "MOST_COUNTS", 1000)  # a level is counted in several statements
    asked: dict[str, Any] = {"class_column": "risk", "mode": mode, "columns": COLUMNS, "max_depth": 4}
    if mode != "original":
        asked |= NOISE
    here, there = (ledger.train(source, into=f"m{i}", **asked) for i, source in enumerate(both))
    assert here.tree() == there.tree()
    assert here.tree().depth == 4 and here.row().rows == there.row().rows == 2992


def test_released_intervals_are_split_there_as_here(ledger: Database, parquet: Parquet) -> None:
    labels = "['[0, 10)', '[10, 20)', '[20, 30]', NULL][1 + i % 4]"
    people = f"SELECT {labels} AS x, i % 5 AS y, i % 4 IN (1, 2) OR i % 5 > 3 AS c FROM range(400) r(i)"
    folder = parquet("labels", people)
    ledger.engine.write(f"CREATE TABLE here AS FROM '{folder}/*.parquet'", step="test")
    asked: dict[str, Any] = {"class_column": "c", "mode": "randomized", "noise": {"x": "cells 0,10,20,30"}}
    here, there = (
        ledger.train(source, into=f"m{place}", prune=False, **asked)
        for place, source in enumerate(("here", folder))
    )
    assert here.tree() == there.tree()
    assert here.tree().root.column == "x" and here.tree().depth > 1


def test_a_table_of_spark_tests_a_tree_as_one_of_duckdb_does(
    ledger: Database, both: tuple[str, str], parquet: Parquet
) -> None:
    known = parquet("known", f"FROM ({PEOPLE}) WHERE risk IS NOT NULL")
    ledger.engine.write(f"CREATE TABLE known AS FROM '{known}/*.parquet'", step="test")
    asked: dict[str, Any] = {"class_column": "risk", "mode": "original", "columns": COLUMNS}
    models = [
        ledger.train(source, into=f"m{place}", test=test, **asked)
        for place, (source, test) in enumerate(zip(both, ("known", known), strict=True))
    ]
    assert models[0].row().confusion == models[1].row().confusion
    with pytest.raises(InvalidSource, match="8 records of .* have no class"):
        ledger.train(both[1], into="m", test=both[1], **asked)
    words = parquet(
        "words",
        f"SELECT 1.5 AS age, 2 AS pay, 3.0 AS away, 'bad' AS risk, * FROM (SELECT 4::DOUBLE AS \"{QUOTED}\")",
    )
    with pytest.raises(InvalidSource, match="takes texts in"):
        ledger.train(both[1], into="m", test=words, **asked)


@pytest.mark.parametrize("mode", ["original", "randomized"])
def test_no_record_reaches_the_ledger(
    ledger: Database, both: tuple[str, str], mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    handed, sent = [], set[str]()
    hand = sources.handed_over

    def counted(*given: Any) -> Table:
        made = hand(*given)
        ((rows,),) = ledger.engine.query(f"SELECT count(*) FROM {made}", step="test")
        handed.append((given[-1], rows))
        return made

    monkeypatch.setattr(sources, "handed_over", counted)
    with noted(sent):
        ledger.train(
            both[1],
            class_column="risk",
            into="m",
            mode=mode,
            columns=["pay"],
            max_depth=1,
            intervals=20,
        )
    assert "collapse" not in sent
    assert {step for step, _ in handed} == {"known_values", "level counts"}
    assert all(rows <= 2 * 21 for _, rows in handed)


@pytest.mark.parametrize(
    "values",
    [
        "i % 3 = 0",
        "(i % 3)::DECIMAL(5, 2) / 8",
        "CASE i % 3 WHEN 0 THEN 'NaN' WHEN 1 THEN -0.0 ELSE 1e-7 END::DOUBLE",
        "(0.1 * (i % 3))::FLOAT",
        "DATE '1582-10-15' - (i % 3)::INTEGER",
        "TIMESTAMP '1969-12-31 23:59:59.000001' + (i % 3) * INTERVAL 1 DAY",
        "TIMESTAMPTZ '2020-03-29 01:30:00.000001+00' + (i % 3) * INTERVAL 1 HOUR",
        "i % 3 - 9223372036854775807",
        "['', 'a ', 'a'][1 + i % 3]",
    ],
)
def test_classes_of_each_type_are_told_apart(ledger: Database, parquet: Parquet, values: str) -> None:
    folder = parquet("people", f"SELECT i % 3 AS x, {values} AS c FROM range(300) r(i)")
    ledger.engine.write(f"CREATE TABLE here AS FROM '{folder}/*.parquet'", step="test")
    here, there = (
        ledger.train(source, class_column="c", into=f"m{place}", mode="original", max_depth=1)
        for place, source in enumerate(("here", folder))
    )
    assert here.tree() == there.tree() and here.tree().depth == 1


def test_what_cannot_be_a_class_or_a_category_is_refused(ledger: Database, parquet: Parquet) -> None:
    folder = parquet(
        "people", "SELECT i AS id, 't' || i AS name, 'a'::BLOB AS bytes, i % 2 AS c FROM range(900) r(i)"
    )
    asked: dict[str, Any] = {"into": "m", "mode": "original"}
    with pytest.raises(InvalidSource, match="'bytes' .* holds bytes"):
        ledger.train(folder, class_column="bytes", **asked)
    with pytest.raises(InvalidSource, match="Class column 'id' has more than 256 values"):
        ledger.train(folder, class_column="id", **asked)
    with pytest.raises(InvalidSource, match="'name' has more than 256 different texts"):
        ledger.train(folder, class_column="c", columns=["name"], **asked)
    with pytest.raises(InvalidSource, match="cannot split column 'bytes'"):
        ledger.train(folder, class_column="c", columns=["bytes"], **asked)
    nobody = parquet("nobody", "SELECT 1 AS x, 'a' AS c LIMIT 0")
    with pytest.raises(InvalidSource, match="no record with a class"):
        ledger.train(nobody, class_column="c", **asked)
    assert ledger.models() == []


def test_a_tree_reads_what_it_can(ledger: Database, spark_session: Any) -> None:
    spark_session.sql(
        "CREATE OR REPLACE TEMP VIEW odd_ones AS"
        " SELECT id % 2 = 0 AS good, id AS x, array(1) AS odd FROM range(400)"
    )
    made = ledger.train("odd_ones", class_column="good", into="m", mode="original")
    assert made.tree().root.records == 400
    with pytest.raises(InvalidSource, match="'odd' of odd_ones has the type array"):
        ledger.train("odd_ones", class_column="good", into="n", columns=["odd"], mode="original")


def test_records_that_are_not_there_any_more_are_missed(
    ledger: Database, both: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = train.counts_elsewhere

    def fewer(*given: Any, **named: Any) -> Any:
        found = dict(counted(*given, **named))
        found["records"] = found["records"].copy()
        found["records"][0] -= 1
        return found

    monkeypatch.setattr(train, "counts_elsewhere", fewer)
    with pytest.raises(InvalidSource, match="does not have the same records at each look"):
        ledger.train(both[1], class_column="risk", into="m", mode="original", columns=["age"])
    assert ledger.models() == []
