"""Whole numbers that are codes are masked as categories, as the audit's guess says; others are grown."""

from __future__ import annotations

import warnings
from typing import Any

import duckdb
import pytest

import ppdm_sql
from ppdm_sql.errors import ColumnRoleError

CODES = {"race": "1 + i % 5", "zip": "10000 + i % 7", 'it\'s "a" kind_id': "i % 4"}
NUMBERS = {"age": "18 + i % 60", "days": "1 + i % 7", "num_rooms": "i % 4", "share": "i % 4 / 8"}
COLUMNS = {**CODES, **NUMBERS}


def recoded(column: str, kind: str = "", **options: Any) -> tuple[str, list[str]]:
    """Give how a column is masked, and the notices that take columns for codes."""
    con = duckdb.connect()
    name = column.replace('"', '""')
    value = f"CAST({COLUMNS[column]} AS {kind})" if kind else COLUMNS[column]
    con.execute(f'CREATE TABLE t AS SELECT {value} AS "{name}", i % 2 AS ill FROM range(300) r (i)')
    con.execute(f'UPDATE t SET "{name}" = NULL WHERE rowid % 50 = 0')
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        release = ppdm_sql.open(con).generalize(
            "t", [f'k >= 5 on "{name}"'], class_column="ill", into="safe", **options
        )
    assert release.verify().holds
    taken = [str(item.message) for item in told if "taken for" in str(item.message)]
    return release.row().parameters["recoding"][column], taken


@pytest.mark.parametrize("kind", ["", "DOUBLE"])
@pytest.mark.parametrize("column", COLUMNS)
def test_codes_are_categories_and_numbers_are_grown(column: str, kind: str) -> None:
    how, told = recoded(column, kind)
    assert how == ("suppression" if column in CODES else "intervals")
    assert len(told) == (column in CODES)
    assert all(f"Column {column!r} is taken for a code" in text and "--range" in text for text in told)


@pytest.mark.parametrize(
    ("column", "options", "how"),
    [
        ("race", {"ranges": {"race": (1, 6)}}, "intervals"),
        ("race", {"min_widths": {"race": 2}}, "intervals"),
        ("race", {"tops": {"race": 4}}, "intervals"),
        ("race", {"score": "paper"}, "intervals"),
        ("race", {"score": "paper", "categories": ["RACE"]}, "suppression"),
        ("days", {"categories": "days"}, "suppression"),
    ],
)
def test_what_is_said_of_a_column_comes_before_the_guess(
    column: str, options: dict[str, Any], how: str
) -> None:
    assert recoded(column, **options) == (how, [])


def test_a_category_has_no_range() -> None:
    with pytest.raises(ColumnRoleError, match="'race' is named by --range and by --category"):
        recoded("race", categories=["race"], ranges={"race": (1, 6)})


def test_a_small_table_and_a_count_are_read_as_the_audit_reads_them() -> None:
    con = duckdb.connect()
    con.execute("CREATE TABLE t AS SELECT i % 3 AS region, 20 AS n FROM range(6) r (i)")
    db = ppdm_sql.open(con)
    of = {"require": ["k >= 2 on region"], "into": "safe"}
    for count, how, look in ((None, "intervals", "number"), ("n", "suppression", "category")):
        profile = db.audit("t", count_column=count).profile
        assert profile is not None
        assert profile.columns[0].looks_like == look
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            release = db.generalize("t", **of, count_column=count)  # type: ignore[arg-type]
        assert release.row().parameters["recoding"]["region"] == how
        release.drop()


def test_settings_that_are_compared_share_one_guess() -> None:
    con = duckdb.connect()
    con.execute("CREATE TABLE t AS SELECT i % 3 AS region, 20 + i % 40 AS age FROM range(90) r (i)")
    db, steps = ppdm_sql.open(con), list[str]()
    db.engine.tracer = lambda statement: steps.append(statement.step)
    with pytest.warns(ppdm_sql.PpdmWarning, match="Column 'region' is taken for a code"):
        found = db.compare("t", quasi_identifier=["region", "age"], k=[2, 3, 5], suppress_records=["0", "5%"])
    assert sum(len(row.names) for row in found.rows) == 6
    assert steps.count("column_profile") == 2
