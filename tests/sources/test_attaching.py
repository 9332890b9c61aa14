"""Attached databases: read-only, and their addresses neither shown nor kept."""

from __future__ import annotations

import logging
from pathlib import Path

import duckdb
import pytest

import ppdm_sql
from ppdm_sql import DatabaseUnavailable, InvalidOption, InvalidSource, NameTaken, PpdmError, UnknownTable

SECRET = "hunter2"


@pytest.fixture
def other(tmp_path: Path) -> Path:
    file = tmp_path / "it's other.duckdb"
    with duckdb.connect(str(file)) as con:
        con.execute(
            "CREATE SCHEMA s; CREATE TABLE s.v AS SELECT i % 2 AS job, i % 3 AS good FROM range(30) r (i)"
        )
        con.execute('CREATE TABLE "odd name" AS FROM s.v')
    return file


def test_a_table_of_an_attached_database_is_released(tmp_path: Path, other: Path) -> None:
    with ppdm_sql.open(tmp_path / "bank.duckdb", create=True, attach={"o": other}) as db:
        release = db.suppress("o.s.v", ["k >= 2 on job"], class_column="good", into="safe")
        assert (release.row().source, release.row().rows) == ("o.s.v", 30)
        assert release.row().parameters["read"] == {"kind": "attached", "database": "o"}
        assert db.audit('o."odd name"', ["k on job"]).findings
        assert db.evaluate("safe", folds=2, seeds=1).rate("SE").mean >= 0
        with pytest.raises(UnknownTable, match=r"Tables here: .*o\.s\.v.*o\.main\.\"odd name\""):
            db.audit("o.w", ["k on job"])
    with ppdm_sql.open(tmp_path / "bank.duckdb") as db:
        with pytest.raises(
            InvalidSource, match=r"not attached\. Attach it again, such as --attach 'PATH AS o'"
        ):
            db.evaluate("safe")
        db.attach("o", other)
        assert db.evaluate("safe", folds=2, seeds=1).rate("SE").mean >= 0


def test_it_is_attached_read_only_and_detached_at_the_end(other: Path) -> None:
    con = duckdb.connect()
    with ppdm_sql.open(con, attach={"o": str(other)}), pytest.raises(duckdb.Error, match="read-only"):
        con.execute("DELETE FROM o.s.v")
    names = con.execute("SELECT database_name FROM duckdb_databases() WHERE NOT internal").fetchall()
    assert names == [("memory",)]


def test_what_cannot_be_attached_is_an_error(tmp_path: Path, other: Path) -> None:
    (tmp_path / "x.csv").write_text("a\n")
    (tmp_path / "x.duckdb").write_text("nothing")
    cases: dict[str, tuple[type[PpdmError], str, object]] = {
        "o": (DatabaseUnavailable, "no database file", tmp_path / "none.duckdb"),
        "p": (DatabaseUnavailable, "cannot be opened", tmp_path / "x.duckdb"),
        "q": (InvalidOption, "a file of records", tmp_path / "x.csv"),
        "r": (InvalidOption, "by its path", 3),
        "temp": (NameTaken, "is there already", other),
        "memory": (NameTaken, "is there already", other),
        "": (InvalidOption, "needs a name", other),
    }
    for name, (kind, words, path) in cases.items():
        with pytest.raises(kind, match=words):
            ppdm_sql.open(attach={name: path})  # type: ignore[dict-item]


def test_a_password_is_nowhere(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    for path in (f"postgres:host=nowhere.invalid password={SECRET}", f"s3://k:{SECRET}@bucket/x.duckdb"):
        with pytest.raises(PpdmError) as caught:
            ppdm_sql.open(attach={"o": path})
        shown = [str(caught.value), repr(caught.value.__dict__), repr(caught.value.__cause__), caplog.text]
        assert SECRET not in "".join(shown)
