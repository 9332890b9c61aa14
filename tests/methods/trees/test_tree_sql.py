"""The SQL that training and prediction put together; see golden.py for how to change it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from golden import check_golden, recorded

import ppdm_sql

GOLDEN = Path(__file__).parent / "golden"


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


def test_the_sql_of_training_is_that_of_the_golden_file(con: duckdb.DuckDBPyConnection) -> None:
    """Local has the statements of all other modes, too."""
    db = ppdm_sql.open(con)
    with recorded(db.engine) as run:
        db.train(
            "people",
            class_column="risk",
            into="tree",
            mode="local",
            noise={"age": "uniform 25 on 0,100"},
            intervals=4,
            min_split=2,
            max_depth=2,
            prune=False,
        )
    kept = [sql for sql in run if "ppdm." not in sql]
    assert sum("GROUP BY node" in sql for sql in kept) == 2
    check_golden(GOLDEN / "local.sql", kept)


def test_the_sql_of_prediction_is_that_of_the_golden_file(con: duckdb.DuckDBPyConnection) -> None:
    db = ppdm_sql.open(con)
    con.execute("UPDATE people SET risk = if(job = 'clerk' AND age > 20, 'high', 'low')")
    model = db.train("people", class_column="risk", into="tree", mode="original", min_split=2)
    with recorded(db.engine) as run:
        model.confusion("people")
        model.predict("people", into="predicted")
    check_golden(GOLDEN / "prediction.sql", [sql for sql in run if "ppdm." not in sql])
