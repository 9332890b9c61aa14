"""The SQL that prediction puts together; see golden.py for how to change it."""

from __future__ import annotations

from pathlib import Path

import duckdb
from golden import check_golden, recorded

import ppdm_sql

GOLDEN = Path(__file__).parent / "golden"


def test_the_sql_of_prediction_is_that_of_the_golden_file() -> None:
    con = duckdb.connect()
    con.execute(
        "CREATE TABLE people AS SELECT i * 5.0 AS age, if(i % 3 = 0, 'clerk', 'it''s') AS job, "
        "if(job = 'clerk' AND age > 20, 'high', 'low') AS risk FROM range(20) AS r (i)"
    )
    db = ppdm_sql.open(con)
    model = db.train("people", class_column="risk", into="tree", mode="original", min_split=2)
    with recorded(db.engine) as run:
        model.confusion("people")
        model.predict("people", into="predicted")
    check_golden(GOLDEN / "prediction.sql", [sql for sql in run if "ppdm." not in sql])
