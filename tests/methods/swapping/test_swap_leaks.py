"""Which records a swap has changed must not follow from the release, its catalogue or a message."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from swap_releases import by_hand, swap

import ppdm_sql
import ppdm_sql.methods.swapping.swap as run

CELL = "Cellmarker-Axolotl-4242"
UNNAMED = "Secret-Salary-9917"
FORMATS = ["duckdb", "parquet", "csv"]
PEOPLE = {"ann": "flu", "bob": "cold", "cat": "flu", "dan": "cold", "eve": "none", "fay": "none"}

# Two sources and what is changed in each, which give the same rows.
ONE = {**PEOPLE}, {("ann",): "cold", ("bob",): "flu"}
OTHER = (
    {**PEOPLE, "ann": "cold", "bob": "flu", "cat": "cold", "dan": "flu"},
    {("cat",): "flu", ("dan",): "cold"},
)


def released(
    folder: Path, monkeypatch: pytest.MonkeyPatch, chosen: Any, *, reverse: bool = False
) -> dict[str, Any]:
    """Make a release of six people with chosen changes; give all that it leaves, but for when it was made."""
    people, moves = chosen
    folder.mkdir()
    monkeypatch.setattr(run.SwapRun, "plan", by_hand(moves))
    with duckdb.connect(str(folder / "people.duckdb")) as con:
        con.execute("CREATE TABLE t (age VARCHAR, ill VARCHAR, salary VARCHAR)")
        rows = [(age, ill, UNNAMED) for age, ill in people.items()]
        con.executemany("INSERT INTO t VALUES (?, ?, ?)", rows[::-1] if reverse else rows)
        release = swap(con, by=["age"], proportion="1/3", class_column="ill")
        left: dict[str, Any] = {"frozen": con.execute("SELECT rowid, * FROM ppdm.release_safe").fetchall()}
        for form in FORMATS:
            release.export(folder / f"safe.{form}")
        con.execute("ALTER TABLE ppdm.releases DROP created_at")
        for table in ("releases", "measures", "steps", "cuts"):
            left[table] = con.execute(f"FROM ppdm.{table}").fetchall()
        storage = "SELECT column_name, compression, stats FROM pragma_storage_info('ppdm.release_safe')"
        left["storage"] = con.execute(storage).fetchall()
        texts = (
            "SELECT sql, comment FROM duckdb_tables() WHERE schema_name = 'ppdm' "
            "UNION ALL SELECT sql, comment FROM duckdb_views() WHERE NOT internal "
            "UNION ALL SELECT column_name, comment FROM duckdb_columns() WHERE schema_name = 'ppdm'"
        )
        left["texts"] = con.execute(texts).fetchall()
    left["files"] = {form: (folder / f"safe.{form}").read_bytes() for form in FORMATS if form != "duckdb"}
    with duckdb.connect(str(folder / "safe.duckdb"), read_only=True) as con:
        left["database"] = con.execute("SELECT rowid, * FROM safe").fetchall()
    return left


def test_releases_that_look_alike_are_alike_in_everything_whatever_was_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = released(tmp_path / "one", monkeypatch, ONE)
    other = released(tmp_path / "other", monkeypatch, OTHER, reverse=True)
    assert one["frozen"] == other["frozen"]
    assert one == other
    shown = {row[1]: row[2] for row in one["frozen"]}
    changed = [{age for age, ill in people.items() if shown[age] != ill} for people, _ in (ONE, OTHER)]
    assert changed == [{"ann", "bob"}, {"cat", "dan"}]
    for form in FORMATS:
        assert UNNAMED.encode() not in (tmp_path / "one" / f"safe.{form}").read_bytes()


def test_neither_seed_nor_key_is_written_down() -> None:
    with duckdb.connect() as con:
        con.execute(
            "CREATE TABLE t AS SELECT i AS age, 'f' AS sex, ['flu', 'cold', 'none'][i % 3 + 1] AS ill "
            "FROM range(30) AS r (i)"
        )
        swap(con, seed=987654321)
        tables = con.execute("SELECT table_name FROM duckdb_tables() WHERE schema_name = 'ppdm'").fetchall()
        written = repr([con.execute(f'FROM ppdm."{name}"').fetchall() for (name,) in tables])
        assert "987654321" not in written
        assert '"seeded": true' in written


def test_rows_are_ordered_by_what_they_show() -> None:
    with duckdb.connect() as con:
        con.execute(
            "CREATE TABLE t AS SELECT hash(i) % 5 AS age, i AS id, 'f' AS sex, "
            "['flu', 'cold', 'none'][(hash(i) % 5 % 3)::INTEGER + 1] AS ill FROM range(900) AS r (i)"
        )
        swap(con, per_group="30%")
        rows = con.execute("FROM safe").fetchall()
        assert rows == sorted(rows)
        assert len({row[0] for row in rows}) == 5


# -- messages and logs ----------------------------------------------------------------------------


def call(table: str = "marked", **options: Any) -> Callable[[Any], object]:
    chosen: dict[str, Any] = {"confidential": "ill", "by": ["animal"], "proportion": 0.5, "into": "safe"}
    return lambda db: db.swap(table, **(chosen | options))


FAILING: dict[str, Callable[[Any], object]] = {
    "null in a confidential column": call(confidential="missing"),
    "a single value": call(confidential="same"),
    "too many values": call(confidential="words", by=["town"]),
    "numbers": call(confidential="n"),
    "outside of bins": call(confidential="n", bins={"n": [0, 1, 2]}),
    "bad edges": call(confidential="n", bins={"n": ["a", "b", "c"]}),
    "no change": call(proportion=0.001),
    "a view that fails to cast": call("broken"),
    "an audit of a view that fails": lambda db: db.audit("broken", confidential="ill", by=["animal"]),
    "an audit of an unknown column": lambda db: db.audit("marked", confidential="il", by=["animal"]),
}


@pytest.mark.parametrize("name", FAILING)
def test_no_message_traceback_or_log_of_a_failure_holds_a_cell(
    caplog: pytest.LogCaptureFixture, name: str
) -> None:
    caplog.set_level(logging.DEBUG)
    with duckdb.connect() as con:
        con.execute(
            f"""
            CREATE TABLE marked AS SELECT
                '{CELL}-animal-' || i AS animal, '{CELL}-town-' || i % 2 AS town,
                '{CELL}-ill-' || i % 3 AS ill, if(i = 3, NULL, '{CELL}-' || i % 2) AS missing,
                '{CELL}' AS same, '{CELL}-' || i AS words, i AS n
            FROM range(400) AS r (i);
            CREATE VIEW broken AS SELECT * REPLACE (animal::INTEGER AS animal) FROM marked;
            """
        )
        with pytest.raises(ppdm_sql.PpdmError) as caught:
            FAILING[name](ppdm_sql.open(con))
    told = [str(caught.value), repr(caught.value), *traceback.format_exception(caught.value), caplog.text]
    assert not any(CELL in text for text in told)
