"""Opening a file: only DuckDB databases are, and what is not says how to become one."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import commands
import duckdb
import pytest

import ppdm_sql
from ppdm_sql.errors import DatabaseUnavailable, InvalidOption

COPIES = {"visits.parquet": "", "visits.csv": "", "visits.json": "", "odd name.csv.gz": "", "it's.csv": ""}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with duckdb.connect() as connection:
        for name in COPIES:
            path = str(tmp_path / name).replace("'", "''")
            connection.execute(f"COPY (SELECT 1 AS a, 'x' AS b FROM range(4)) TO '{path}'")
    return tmp_path


@pytest.mark.parametrize("name", COPIES)
def test_a_file_of_rows_is_refused_and_can_be_loaded(folder: Path, name: str) -> None:
    for read_only in (True, False):
        with pytest.raises(DatabaseUnavailable, match="is not a DuckDB database but a") as caught:
            ppdm_sql.open(folder / name, read_only=read_only, create=True)
    found = re.search(r"duckdb (.*) \(or: ppdm (.*)\)\.$", caught.value.remedy)
    assert found is not None
    assert commands.ppdm(*shlex.split(found[2])).exit_code == 0
    new = Path(shlex.split(found[2])[1])
    assert str(new) in caught.value.remedy
    new.unlink()
    shell = Path(sys.executable).with_name("duckdb")
    subprocess.run([shell, *shlex.split(found[1])], check=True, capture_output=True)
    with ppdm_sql.open(new) as db:
        (table,) = db.engine.tables()
        assert db.audit(table.name, ["k >= 4 on a"]).holds


@pytest.mark.parametrize(
    "words",
    [
        ["suppress", "FILE", "visits", "-r", "k >= 2 on a", "--class", "b", "--into", "x"],
        ["audit", "FILE", "visits", "--quasi-identifier", "a"],
        ["releases", "FILE"],
        ["install", "FILE"],
        ["sql", "FILE", "SELECT 1"],
        ["sql", "FILE", "--write", "SELECT 1"],
        ["demo", "FILE"],
    ],
    ids=lambda words: words[0],
)
def test_no_command_opens_another_kind_of_file(folder: Path, words: list[str]) -> None:
    file = folder / "visits.csv"
    before = file.read_bytes()
    result = commands.ppdm(*(file if word == "FILE" else word for word in words))
    assert result.exit_code == 3 or words[0] == "demo" and result.exit_code != 0, result.stderr
    assert file.read_bytes() == before
    assert "Published" not in result.stderr and "Installed" not in result.stderr


def test_a_table_of_sqlite_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "people.db"
    file.write_bytes(b"SQLite format 3\0" + bytes(4080))
    with pytest.raises(DatabaseUnavailable, match=r"a SQLite file.*sqlite_scan\('.*people.db', 'my_table'\)"):
        ppdm_sql.open(file)


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "new.duckdb").touch()
    with pytest.raises(DatabaseUnavailable, match="is empty"):
        ppdm_sql.open(tmp_path / "new.duckdb", create=True)


def test_a_name_with_a_colon_is_only_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ppdm_sql.open("sqlite:x.duckdb", create=True).close()
    assert [path.name for path in tmp_path.iterdir()] == ["sqlite:x.duckdb"]


def test_a_database_may_have_any_name(tmp_path: Path) -> None:
    with ppdm_sql.open(tmp_path / "odd.csv", create=True) as db:
        db.engine.write("CREATE TABLE t AS SELECT 1 AS a", step="make")
    with ppdm_sql.open(tmp_path / "odd.csv") as db:
        assert [table.name for table in db.engine.tables()] == ["t"]


def test_an_encrypted_file_is_named_so(tmp_path: Path) -> None:
    with duckdb.connect() as connection:
        try:
            connection.execute("SET force_mbedtls_unsafe = 'true'")
        except duckdb.Error:
            pytest.skip("this DuckDB writes no encrypted file without an extension")
        connection.execute(f"ATTACH '{tmp_path / 'e.duckdb'}' AS e (ENCRYPTION_KEY 'abc')")
        connection.execute("CREATE TABLE e.t AS SELECT 1 AS a")
    with pytest.raises(DatabaseUnavailable, match="is encrypted"):
        ppdm_sql.open(tmp_path / "e.duckdb")


@pytest.mark.parametrize("left", [100, 5000, 13000, None])
def test_a_damaged_file_is_named_so(tmp_path: Path, left: int | None) -> None:
    file = tmp_path / "bank.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.execute("CREATE TABLE t AS SELECT range AS a FROM range(9999)")
    content = bytearray(file.read_bytes())
    if left is None:
        for place in range(4096, len(content), 97):
            content[place] ^= 0x55
    file.write_bytes(content[:left])
    result = commands.ppdm("releases", file)
    commands.assert_explained(result, code=3, problem="is damaged")


@pytest.mark.parametrize(
    ("name", "problem"),
    [("a\0b.duckdb", "NUL"), ("x" * 300 + ".duckdb", "too long"), ("file/x.duckdb", "folder")],
)
def test_a_path_that_cannot_be(tmp_path: Path, name: str, problem: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DatabaseUnavailable, match=problem) as caught:
        ppdm_sql.open(f"{tmp_path}/{name}", create=True)
    assert len(str(caught.value)) < 300
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.skipif(os.name != "posix", reason="makes a pipe")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.duckdb")
    with pytest.raises(DatabaseUnavailable, match="not a regular file"):
        ppdm_sql.open(tmp_path / "pipe.duckdb", read_only=True)


@pytest.mark.parametrize("limit", ["-1", "-1GB", "0GB", "none", "plenty", "1e9", ""])
def test_a_memory_limit_that_is_none(limit: str) -> None:
    with pytest.raises(InvalidOption, match="cannot be used") as caught:
        ppdm_sql.open(":memory:", memory_limit=limit)
    assert "--" not in str(caught.value)


@pytest.mark.parametrize("limit", ["1GB", "512 MiB", "1.5gb", "50%"])
def test_a_memory_limit(limit: str) -> None:
    ppdm_sql.open(":memory:", memory_limit=limit).close()


@pytest.mark.parametrize("given", ["bank.duckdb", None, 1])
def test_a_database_that_is_made_by_hand_says_what_opens_one(given: object) -> None:
    with pytest.raises(InvalidOption, match=r"Write ppdm_sql.open\('bank.duckdb'\)") as caught:
        ppdm_sql.Database(given)  # type: ignore[arg-type]
    assert "bank" not in caught.value.problem
