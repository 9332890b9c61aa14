"""A table of Spark and its twin in DuckDB: the same steps, the same cut, the same rows."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ppdm_sql import Database, examples

pytestmark = pytest.mark.spark
Parquet = Callable[..., str]


def same(db: Database, parquet: Parquet, method: str, table: str, to: Path, **asked: Any) -> None:
    """Release a table of DuckDB and its twin in Spark, and compare."""
    release = getattr(db, method)
    connection = db.engine.connection
    here = release(table, into=f"{to.name}_here", **asked)
    twin = parquet(f"{to.name}_twin", f'FROM "{table}"', connection)
    there = release(twin, into=to.name, to=str(to), **asked)
    assert there.steps() == here.steps()
    assert list(map(repr, there.cut())) == list(map(repr, here.cut()))
    placed = connection.execute(f"SELECT * FROM '{to}/*.parquet' ORDER BY ALL").fetchall()
    assert placed == connection.execute(f'SELECT * FROM "{to.name}_here" ORDER BY ALL').fetchall()


@pytest.mark.parametrize(
    ("method", "table", "asked"),
    [
        (
            "suppress",
            "customers",
            {
                "require": ["Job, Country -> Bankruptcy = Discharged <= 50%"],
                "class_column": "Rating",
                "count_column": "n",
            },
        ),
        (
            "generalize",
            "employees",
            {"require": ["k >= 3 on Sex, Job, Salary"], "count_column": "n", "class_column": "Class"},
        ),
        ("generalize", "policies", {"require": ["k >= 2 on Age, Gender"], "keep": ["Amount"]}),
    ],
    ids=["customers", "employees", "policies"],
)
def test_the_example_tables(
    ledger: Database, parquet: Parquet, tmp_path: Path, method: str, table: str, asked: dict[str, Any]
) -> None:
    ledger.engine.connection.execute(examples.creation(table))
    same(ledger, parquet, method, table, tmp_path / "safe", **asked)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_random_tables(ledger: Database, parquet: Parquet, tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    values = [
        (
            rng.choice(["x", "X", "x ", "é", "", None]),
            rng.choice([None, -1, 0, 7, 2**40]),
            rng.choice([0.0, 0.5, -2.25, 1e300, None]),
            rng.choice(["yes", "no", None]),
        )
        for _ in range(rng.randint(5, 120))
    ]
    connection = ledger.engine.connection
    connection.execute("CREATE TABLE small (a VARCHAR, b BIGINT, c DOUBLE, d VARCHAR)")
    connection.executemany("INSERT INTO small VALUES (?, ?, ?, ?)", values)
    asked: dict[str, Any] = {"require": [f"k >= {rng.randint(1, 4)} on a, b, c"], "class_column": "d"}
    same(ledger, parquet, rng.choice(["suppress", "generalize"]), "small", tmp_path / "safe", **asked)


@pytest.mark.parametrize("method", ["suppress", "generalize"])
def test_adult(ledger: Database, parquet: Parquet, tmp_path: Path, method: str, adult_csv: list[str]) -> None:
    ledger.engine.connection.execute("CREATE TABLE adult AS FROM read_csv($files)", {"files": adult_csv})
    asked: dict[str, Any] = {"require": ["k >= 50 on age, education, sex"], "class_column": "income"}
    same(ledger, parquet, method, "adult", tmp_path / "safe", keep=["workclass"], **asked)
