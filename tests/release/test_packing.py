"""Large releases store text as ENUMs of the released values; nobody who reads them sees a difference."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import duckdb
import pytest

import ppdm_sql

HIDDEN = "hidden-value"
TYPES = ["VARCHAR", "VARCHAR", "VARCHAR", "INTEGER"]


@pytest.fixture
def packed(tmp_path: Path) -> Iterator[tuple[ppdm_sql.Database, ppdm_sql.Release]]:
    with duckdb.connect(str(tmp_path / "people.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE people AS SELECT * FROM (VALUES "
            "('=cook', 'well', 'good', 1), ('=cook', 'well', 'bad', 2), ('clerk', 'well', 'bad', 3), "
            "(NULL, 'well', 'good', 4), ($hidden, 'ill', 'good', 5), ('smith', 'well', 'good', 6)) "
            "v(job, health, rating, age)",
            {"hidden": HIDDEN},
        )
        db = ppdm_sql.open(connection)
        with mock.patch("ppdm_sql.methods.base.released_rows.WORTH_PACKING", 0):
            release = db.suppress(
                "people",
                ["job -> health IN (ill, absent) <= 50%"],
                class_column="rating",
                keep=["age"],
                into="safe",
                allow_absent=True,
            )
        yield db, release


def test_the_frozen_table_stores_only_released_values_and_readers_see_text(
    packed: tuple[ppdm_sql.Database, ppdm_sql.Release], tmp_path: Path
) -> None:
    db, release = packed
    connection = db.engine.connection
    types = dict(row[:2] for row in connection.execute("DESCRIBE ppdm.release_safe").fetchall())
    assert types["job"].startswith("ENUM(") and types["age"] == "INTEGER"
    assert not any(HIDDEN in type_text for type_text in types.values())
    left = "SELECT count(*) FROM duckdb_types() WHERE type_name LIKE 'ppdm%'"
    assert connection.execute(left).fetchone() == (0,)
    for name in ("safe", "safe_at(1)"):
        assert [row[1] for row in connection.execute(f"DESCRIBE FROM {name}").fetchall()] == TYPES
    assert connection.sql("SELECT DISTINCT job FROM safe_at(0)").fetchall() == [("*",)]
    rows = release.relation().fetchall()
    assert {row[0] for row in rows} > {"*", "=cook"}
    assert release.verify().holds
    connection.close()
    with ppdm_sql.open(tmp_path / "people.duckdb", read_only=True) as again:
        assert again.release("safe").relation().fetchall() == rows
        assert again.release("safe").verify().holds


def test_exports_hold_text_and_formulas_in_it_are_made_safe(
    packed: tuple[ppdm_sql.Database, ppdm_sql.Release], tmp_path: Path
) -> None:
    packed[1].export(tmp_path / "safe.csv", formula_safe=True)
    text = (tmp_path / "safe.csv").read_text(encoding="utf-8")
    assert "'=cook" in text and "\n=cook" not in text
    packed[1].export(tmp_path / "out.duckdb")
    with duckdb.connect(str(tmp_path / "out.duckdb"), read_only=True) as out:
        assert [row[1] for row in out.execute("DESCRIBE safe").fetchall()] == TYPES
    assert HIDDEN.encode() not in (tmp_path / "out.duckdb").read_bytes()
