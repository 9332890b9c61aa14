"""The SQL that draws noise; see golden.py for how to change it."""

from __future__ import annotations

from pathlib import Path

import duckdb
from golden import check_golden, recorded

import ppdm_sql

GOLDEN = Path(__file__).parent / "golden"
NOISE = {
    "age": "uniform 20 on 0,100 whole rounded",
    "pay": "uniform 500",
    "hours": "cells 3 equal-frequency",
    "job": "retain 0.5",
}


def test_the_sql_of_noisy_rows_is_that_of_the_golden_file() -> None:
    """Job gets one draw a person; Gaussian noise is left out, for few would read its polynomials."""
    with duckdb.connect() as con:
        con.execute(
            "CREATE TABLE people AS SELECT i AS id, i // 3 AS who, i * 8.0::DOUBLE AS age, "
            "(i * i)::DOUBLE AS pay, (i % 6)::DOUBLE AS hours, if(i // 3 = 0, 'clerk', 'it''s') AS job, "
            "i % 2 = 0 AS class FROM range(12) AS r (i)"
        )
        db = ppdm_sql.open(con)
        with recorded(db.engine) as run:
            db.randomize(
                "people",
                noise=NOISE,
                into="safe",
                record="id",
                person=["who"],
                class_column="class",
                progress=False,
            )
    drawn = [sql for sql in run if sql.startswith("CREATE") and ("_persons" in sql or "AS r3" in sql)]
    assert len(drawn) == 2
    check_golden(GOLDEN / "drawn.sql", drawn)
