"""The SQL that an evaluation puts together; see golden.py for how to change it."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
from golden import check_golden, recorded

import ppdm_sql

GOLDEN = Path(__file__).parent / "golden"
VIEW = re.compile(r'"?ppdm_[0-9a-f]{8}_(\d+)_view"?')


def test_the_sql_is_that_of_the_golden_file() -> None:
    with duckdb.connect() as con:
        con.execute(
            "CREATE TABLE people AS SELECT i // 2 AS age, if(i % 2 = 0, 'cook', 'clerk') AS job, "
            "i % 3 = 0 AS good FROM range(12) AS r (i)"
        )
        db = ppdm_sql.open(con)
        db.suppress("people", ["k >= 2 on job"], class_column="good", keep=["age"], into="safe")
        with recorded(db.engine) as statements:
            db.evaluate("safe", seeds=1, folds=2)
    views = list(dict.fromkeys(VIEW.findall(" ".join(statements))))
    named = [VIEW.sub(lambda view: f"rows_{views.index(view[1])}", sql) for sql in statements]
    check_golden(GOLDEN / "evaluation.sql", named)
