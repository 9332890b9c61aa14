"""The SQL that training and prediction put together; see golden.py for how to change it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from golden import check_golden, recorded

import ppdm_sql
from ppdm_sql.methods.trees.model import RECONSTRUCTED

TYPE = re.compile(r'"?ppdm_[0-9a-f]{8}_type_\d+"?')
GOLDEN = Path(__file__).parent / "golden"
NOISE = {"age": "uniform 25 on 0,100"}


@pytest.fixture
def con(monkeypatch: pytest.MonkeyPatch) -> Iterator[duckdb.DuckDBPyConnection]:
    """People by age and job, few enough that a level can be read; local nodes reconstruct nevertheless."""
    monkeypatch.setattr("ppdm_sql.methods.trees.train.SMALL", 2)
    monkeypatch.setattr("ppdm_sql.methods.trees.features.FINE", 4)
    with duckdb.connect() as opened:
        opened.execute(
            "CREATE TABLE people AS SELECT i * 5.0 AS age, if(i % 3 = 0, 'clerk', 'it''s') AS job, "
            "if(i < 5 OR i > 13, 'high', 'low') AS risk FROM range(20) AS r (i)"
        )
        yield opened


@pytest.mark.parametrize("mode", ["original", *RECONSTRUCTED])
def test_the_sql_of_training_is_that_of_the_golden_file(con: duckdb.DuckDBPyConnection, mode: str) -> None:
    db = ppdm_sql.open(con)
    noise = NOISE if mode in RECONSTRUCTED else {}
    with recorded(db.engine) as run:
        db.train(
            "people",
            class_column="risk",
            into="tree",
            mode=mode,
            noise=noise,
            intervals=4,
            min_split=2,
            max_depth=2,
            prune=False,
        )
    kept = [TYPE.sub("values_type", sql) for sql in run if "ppdm." not in sql]
    assert sum("GROUP BY node" in sql for sql in kept) == 2
    assert any("left_settled, right_settled" in sql for sql in kept) == (mode == "local")
    check_golden(GOLDEN / f"{mode}.sql", kept)


def test_the_sql_of_prediction_is_that_of_the_golden_file(con: duckdb.DuckDBPyConnection) -> None:
    db = ppdm_sql.open(con)
    con.execute("UPDATE people SET risk = if(job = 'clerk' AND age > 20, 'high', 'low')")
    model = db.train("people", class_column="risk", into="tree", mode="original", min_split=2)
    with recorded(db.engine) as run:
        model.confusion("people")
        model.predict("people", into="predicted")
    check_golden(GOLDEN / "prediction.sql", [sql for sql in run if "ppdm." not in sql])
