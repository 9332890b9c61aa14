"""What stands where a table's name may stand: tables first, then files; and what else is told."""

from __future__ import annotations

import logging
import os
import threading
from pathlib import Path
from typing import Any

import duckdb
import pytest
from sides import Noted, credentials

import ppdm_sql
from ppdm_sql import (
    Database,
    DatabaseUnavailable,
    InvalidOption,
    InvalidSource,
    NameTaken,
    PpdmError,
    UnknownTable,
)
from ppdm_sql.integrate import Party, keygen
from ppdm_sql.sources.files import unreachable, without_secrets

ROWS = "SELECT i % 2 AS job, i AS age, 'x' || i % 3 AS good FROM range(30) r (i)"


@pytest.fixture
def db(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    with ppdm_sql.open() as opened:
        for name, form in (
            ("p.parquet", "parquet"),
            ("j.json", "json"),
            ("l.ndjson", "json"),
            ("c.csv", "csv"),
        ):
            opened.engine.connection.execute(f"COPY ({ROWS}) TO '{name}' (FORMAT {form})")
        yield opened


def release(db: Database, source: Any, **options: Any) -> ppdm_sql.Release:
    return db.suppress(source, ["k >= 2 on job"], class_column="good", into="safe", **options)


@pytest.mark.parametrize("name", ["p.parquet", "j.json", "l.ndjson", "c.csv", "./p.parq*t", "[pq].parquet"])
def test_a_release_is_made_from_a_file(db: Database, name: str) -> None:
    made = release(db, name)
    assert made.row().rows == 30
    assert made.row().source == name
    assert made.row().parameters["read"]["kind"] == "file"


def test_several_files_are_one_table(db: Database, tmp_path: Path) -> None:
    for year in (2023, 2024):
        (tmp_path / f"{year}.csv").write_text("job,good\ncook,1\n")
    assert release(db, "20*.csv").row().rows == 2


def test_files_of_several_forms_are_an_error(db: Database, tmp_path: Path) -> None:
    (tmp_path / "2023.csv").write_text("job,good\ncook,1\n")
    (tmp_path / "2024.csv").write_text("good,job\ncook,1\n")
    with pytest.raises(InvalidSource, match=r"2024\.csv does not have the columns of 2023\.csv"):
        release(db, "20*.csv")
    with pytest.raises(InvalidSource, match="not all CSV, Parquet or JSON"):
        release(db, "*")


def test_a_table_of_the_name_comes_first(db: Database) -> None:
    db.engine.connection.execute("""CREATE TABLE "p.parquet" AS SELECT 1 AS job, 2 AS good FROM range(4)""")
    assert release(db, "p.parquet").row().rows == 4


def test_a_damaged_file_is_an_error_without_a_cell(db: Database, tmp_path: Path) -> None:
    (tmp_path / "d.parquet").write_bytes(b"PAR1 Leutheusser")
    (tmp_path / "d.json").write_text('{"job": "Leutheusser", }\n{"job": ')
    for name, form in (("d.parquet", "Parquet"), ("d.json", "JSON")):
        with pytest.raises(InvalidSource, match=f"cannot be read as {form}") as caught:
            release(db, name)
        assert "Leutheusser" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("visit", "There is no table or view 'visit'. Tables here: p. Files here: visits.csv."),
        ("visits.cvs", "There is no table or view 'visits.cvs'. Tables here: p. Files here: visits.csv."),
        ("visit.csv", "There is no file 'visit.csv'. Check the path. Files here: visits.csv."),
        ("sub/visit", "Files here: sub/visits.parquet."),
        ("*.tsv", "There is no file '*.tsv'."),
        ("sub", "'sub' is a folder. Name the files in it, such as 'sub/*.parquet'."),
        ("", "The name of the table is empty."),
        ("other.duckdb", "--attach 'other.duckdb AS other'"),
        ("table.xlsx", "is a spreadsheet. Save it as CSV"),
        ("table.dat", "a file whose suffix does not say"),
    ],
)
def test_what_is_no_source_is_told_with_what_could_be_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    for name in ("visits.csv", "sub/visits.parquet", "table.xlsx", "table.dat"):
        (tmp_path / name).write_text("a\n1\n")
    duckdb.connect("other.duckdb").close()
    con = duckdb.connect()
    con.execute("CREATE TABLE p AS SELECT 1 AS a")
    with pytest.raises(ppdm_sql.PpdmError) as caught:
        ppdm_sql.open(con).audit(given, ["k on a"])
    assert words in str(caught.value)


def test_a_release_of_a_file_is_evaluated_from_the_file(db: Database, tmp_path: Path) -> None:
    release(db, "c.csv", types={"job": "VARCHAR"})
    (tmp_path / "elsewhere").mkdir()
    before = db.evaluate("safe", folds=2, seeds=1, test="p.parquet", types={"job": "VARCHAR"})
    assert before.rate("SE").mean >= 0
    (tmp_path / "c.csv").rename("moved.csv")
    with pytest.raises(InvalidSource, match=r"c\.csv from which 'safe' was made is not where it was"):
        db.evaluate("safe")
    (tmp_path / "c.csv").write_text("job,age,good\n1,2,3\n")
    with pytest.raises(InvalidSource, match="is not what it was"):
        db.evaluate("safe")


def test_secrets_in_an_address_are_not_kept() -> None:
    assert without_secrets("s3://key:secret@b/x*.parquet") == "s3://b/x*.parquet"
    assert without_secrets("https://h/x.csv?sig=secret#a") == "https://h/x.csv"


def test_a_call_in_sql_takes_a_file(db: Database) -> None:
    con = db.engine.connection
    ppdm_sql.register(con)
    call = "FROM ppdm_suppress('p.parquet', 'safe', require := 'k >= 2 on job', class := 'good', types := {})"
    call = call.replace(", types := {}", ", types := {'job': 'VARCHAR'}")
    assert con.execute(f"SELECT release, rows {call}").fetchall() == [("safe", 30)]
    assert con.execute("SELECT source FROM ppdm.releases").fetchall() == [("p.parquet",)]
    ppdm_sql.unregister(con)
    with pytest.raises(UnknownTable):
        db.audit("p.parque", ["k on job"])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no such files")
def test_a_release_of_what_is_read_only_once_cannot_be_evaluated(db: Database) -> None:
    os.mkfifo("pipe")
    feeding = threading.Thread(target=lambda: Path("pipe").write_bytes(Path("c.csv").read_bytes()))
    feeding.start()
    with pytest.warns(ppdm_sql.PpdmWarning, match="can be read only once"):
        assert release(db, "pipe").row().rows == 30
    feeding.join()
    with pytest.raises(InvalidSource, match=r"'safe' was made from pipe, which can be read only once"):
        db.evaluate("safe")


@pytest.mark.parametrize(
    "file", ["http://127.0.0.1:9/v.csv", "http://127.0.0.1:9/v.json", "s3://b/*.parquet"]
)
def test_an_address_that_gives_nothing_is_told_as_such(db: Database, file: str) -> None:
    con = db.engine.connection
    con.execute("SET autoinstall_known_extensions = false")  # else DuckDB looks for it on the network
    with pytest.raises(InvalidSource, match=r"(did not answer|cannot be reached: DuckDB's ext)"):
        db.audit(file, ["k on job"])


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("IO Error: Could not connect to server error for HTTP HEAD to '{}'", "did not answer."),
        ('HTTP Error: Unable to connect to URL "{}": 404 (Not Found).', "answered with HTTP status 404."),
        ("HTTP Error: HTTP GET error on '{}' (HTTP 403)", "answered with HTTP status 403."),
        ("HTTP Error: HTTP GET error on '{}' (HTTP 0 Internal Server Error)", "did not answer."),
        ("Invalid Input Error: CSV Error on Line: 2\nOriginal Line: 1,Leutheusser", None),
    ],
)
def test_what_an_address_says_is_told_without_its_secrets(words: str, problem: str | None) -> None:
    address = "https://ann:pw@example.org/v.csv?token=1"
    found = unreachable(address, words.replace("{}", address))
    assert (found and found.problem) == (problem and f"https://example.org/v.csv {problem}")
    assert unreachable("v.csv", words) is None


# -- attached databases ------------------------------------------------------------------------------


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


# -- two parties -------------------------------------------------------------------------------------


def test_two_parties_integrate_their_files(tmp_path: Path) -> None:
    keygen(tmp_path / "keys", ["one", "other"])
    numbers = range(60)
    mine = "".join(f"{n:02},{'fm'[n % 2]},{'yn'[n % 2]}\n" for n in numbers)
    theirs = "".join(f"{n},{'abc'[n % 3]},{'yn'[n % 2]}\n" for n in reversed(numbers))
    # without --types the keys of one side are texts, such as 07, and those of the other numbers
    (tmp_path / "one.csv").write_text("ssn,sex,class\n" + mine)
    (tmp_path / "other.csv").write_text("ssn,job,class\n" + theirs)
    listening, made = Noted(), {}

    def take_part(name: str, owned: str) -> None:
        with ppdm_sql.open(tmp_path / f"{name}.duckdb", create=True) as db:
            keys = credentials(tmp_path / "keys", name)
            party = Party(
                db, str(tmp_path / f"{name}.csv"), ["k >= 4 on sex, job"], class_column="class", key="ssn",
                owns=[owned], into="both",
                types={"ssn": "BIGINT"} if name == "one" else None,
                progress=listening if name == "one" else Noted(),
            )  # fmt: skip
            if name == "one":
                release = party.serve("127.0.0.1:0", keys, "other", timeout=30, wait=30)
            else:
                assert listening.listens.wait(30)
                release = party.join(f"127.0.0.1:{listening.port}", keys, "one", timeout=30)
            made[name] = release.relation().fetchall()
            assert release.row().source.endswith(f"{name}.csv")
            assert release.row().parameters["read"]["kind"] == "file"

    threads = [threading.Thread(target=take_part, args=pair) for pair in (("one", "sex"), ("other", "job"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(90)
    assert len(made["one"]) == 60
    assert made["one"] == made["other"]
