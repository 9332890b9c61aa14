"""The macros in a file: installed once, replaced, removed; the report of all releases beside them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

import ppdm_sql
from ppdm_sql import examples
from ppdm_sql.engine import Engine
from ppdm_sql.engine.statements import sql_folder
from ppdm_sql.engine.statements import text as text_of
from ppdm_sql.errors import EngineError, InvalidOption, NameTaken
from ppdm_sql.macros import PIECES, macros

NAMES = [macro.name for macro in macros()]
OURS = sorted((schema, name) for schema in ("main", "ppdm") for name in NAMES)
ANSWERS = (
    "SELECT * FROM ppdm_equivalence_classes('policies', ['Age', 'Gender']) ORDER BY ALL",
    "SELECT * FROM ppdm.ppdm_risk('policies', ['Age'])",
    "SELECT * FROM ppdm_confidence('policies', ['Age'], 'Amount') ORDER BY ALL",
    "SELECT * FROM ppdm.ppdm_identifiable('policies', ['Age', 'Gender', 'Location'], 'Amount') ORDER BY ALL",
    "SELECT * FROM ppdm_diversity('policies', ['Age'], 'Amount') ORDER BY ALL",
    "SELECT * FROM ppdm_closeness('policies', ['Gender'], 'Amount') ORDER BY ALL",
    "SELECT * FROM ppdm_closeness('employees', ['Sex'], 'Salary') ORDER BY ALL",
    "SELECT ppdm_version()",
)
LOCATED = [Path(sys.executable).parent / "duckdb", shutil.which("duckdb") or ""]
CLIENT = os.environ.get("PPDM_DUCKDB_CLI") or next((str(p) for p in LOCATED if p and Path(p).exists()), None)
OTHER_PYTHON = os.environ.get("PPDM_OTHER_PYTHON")
needs_client = pytest.mark.skipif(CLIENT is None, reason="no duckdb command; pip install duckdb-cli")
needs_python = pytest.mark.skipif(
    OTHER_PYTHON is None, reason="PPDM_OTHER_PYTHON names no Python with another DuckDB"
)


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as opened:
        yield opened


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file with the example tables."""
    path = tmp_path / "bank.duckdb"
    with ppdm_sql.open(path, create=True) as db:
        examples.write(db.engine)
    return path


def standing(con: duckdb.DuckDBPyConnection) -> list[Any]:
    """Everything in the database that has a name, with its text and comment."""
    queries = (
        "SELECT schema_name, function_name, function_type, macro_definition, comment FROM duckdb_functions() "
        "WHERE function_type LIKE '%macro' AND NOT internal",
        "SELECT schema_name, table_name, comment FROM duckdb_tables()",
        "SELECT schema_name, view_name, sql, comment FROM duckdb_views() WHERE NOT internal",
        "SELECT schema_name, sequence_name FROM duckdb_sequences()",
        "SELECT DISTINCT schema_name FROM duckdb_schemas() WHERE NOT internal",
    )
    return [sorted(con.execute(query).fetchall(), key=str) for query in queries]


def installed(con: duckdb.DuckDBPyConnection) -> list[tuple[str, str]]:
    found = con.execute(
        "SELECT schema_name, function_name FROM duckdb_functions() WHERE starts_with(function_name, 'ppdm_') "
        "AND function_type LIKE '%macro' AND NOT internal"
    )
    return sorted(found.fetchall())


def commented_as(con: duckdb.DuckDBPyConnection, version: str) -> None:
    """Make the macros look as if another ppdm-sql had installed them."""
    for schema, name in OURS:
        kind = "MACRO" if name == "ppdm_version" else "MACRO TABLE"
        con.execute(f"COMMENT ON {kind} {schema}.{name} IS 'Some words. Installed by ppdm-sql {version}.'")


# -- installing -------------------------------------------------------------------------------------


def test_installing_again_changes_nothing(con: duckdb.DuckDBPyConnection) -> None:
    db = ppdm_sql.open(con)
    first = db.install()
    before = standing(con)
    second = db.install()
    assert standing(con) == before
    assert installed(con) == OURS
    assert (first.replaced, second.replaced) == (None, ppdm_sql.__version__)
    assert first.macros == second.macros == tuple(NAMES)


def test_the_macros_stay_in_the_file(file: Path) -> None:
    with ppdm_sql.open(file) as db:
        db.install()
        answers = [db.engine.query(query, step="answer") for query in ANSWERS]
    assert all(answers)
    with duckdb.connect(str(file), read_only=True) as con:
        assert [con.execute(query).fetchall() for query in ANSWERS] == answers


def test_the_files_run_in_the_shell_after_their_pieces(con: duckdb.DuckDBPyConnection) -> None:
    folder = sql_folder()
    pieces = [folder / "pieces" / f"{piece}.sql" for piece in reversed(PIECES)]
    for file in (folder / "00_macros.sql", *pieces, *(folder / "macros").glob("*.sql")):
        con.execute(file.read_text(encoding="utf-8"))
    con.execute("CREATE TABLE people AS SELECT i % 3 AS a, i % 2 AS b FROM range(60) AS r (i)")
    asked = "SELECT records, classes, k FROM ppdm_risk('people', ['a', 'b'])"
    plainly = con.execute(asked).fetchall()
    assert plainly == [(60, 6, 10)]


def test_every_macro_is_documented_with_an_example(con: duckdb.DuckDBPyConnection) -> None:
    examples.write(Engine(con))
    ppdm_sql.open(con).install()
    rows = con.execute(
        "SELECT comment FROM duckdb_functions() WHERE schema_name = 'ppdm' AND function_type LIKE '%macro'"
    ).fetchall()
    assert len(rows) == len(NAMES)
    for (comment,) in rows:
        example = comment.partition("Example: ")[2].partition(";")[0]
        assert con.execute(example).fetchall()
        assert comment.endswith(f"Installed by ppdm-sql {ppdm_sql.__version__} with the schema.")


def test_without_short_names_the_macros_are_in_the_schema_only(con: duckdb.DuckDBPyConnection) -> None:
    db = ppdm_sql.open(con)
    db.install(short_names=False)
    assert installed(con) == [("ppdm", name) for name in sorted(NAMES)]
    db.install()
    assert installed(con) == OURS
    db.install(short_names=False)
    assert installed(con) == [("ppdm", name) for name in sorted(NAMES)]


def test_an_older_version_is_replaced_with_all_it_had(con: duckdb.DuckDBPyConnection) -> None:
    db = ppdm_sql.open(con)
    db.install()
    new = standing(con)
    con.execute("CREATE OR REPLACE MACRO ppdm.ppdm_risk(tbl, qi) AS TABLE SELECT 1 AS old")
    con.execute("CREATE MACRO ppdm_forgotten() AS 1")
    con.execute("COMMENT ON MACRO ppdm_forgotten IS 'Gone. Installed by ppdm-sql 0.0.9.'")
    commented_as(con, "0.0.9")
    con.execute("COMMENT ON MACRO ppdm.ppdm_version IS 'Old. Installed by ppdm-sql 0.0.9 with the schema.'")
    assert db.install().replaced == "0.0.9"
    assert standing(con) == new


def test_a_newer_version_is_not_replaced(con: duckdb.DuckDBPyConnection) -> None:
    db = ppdm_sql.open(con)
    db.install()
    commented_as(con, "99.1.0")
    before = standing(con)
    with pytest.raises(InvalidOption, match=r"99\.1\.0"):
        db.install()
    assert standing(con) == before


IN_THE_WAY = {
    "CREATE MACRO ppdm_risk(a, b) AS TABLE SELECT 1": "macro main.ppdm_risk",
    "CREATE MACRO PPDM_Risk(a) AS a": "macro main.PPDM_Risk",
    "CREATE TABLE ppdm_closeness (a INTEGER)": "table main.ppdm_closeness",
    "CREATE VIEW ppdm_version AS SELECT 1": "view main.ppdm_version",
    "CREATE SCHEMA ppdm; CREATE MACRO ppdm.ppdm_diversity(a) AS 1": "macro ppdm.ppdm_diversity",
    "CREATE SCHEMA ppdm; CREATE TABLE ppdm.ppdm_diversity (a INTEGER)": "table ppdm.ppdm_diversity",
}


@pytest.mark.parametrize("made", IN_THE_WAY)
def test_what_somebody_else_called_so_is_in_the_way(con: duckdb.DuckDBPyConnection, made: str) -> None:
    con.execute(made)
    before = standing(con)
    with pytest.raises(NameTaken, match=IN_THE_WAY[made]):
        ppdm_sql.open(con).install()
    assert standing(con) == before


def test_without_short_names_a_macro_of_yours_is_not_in_the_way(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE MACRO ppdm_risk(a, b) AS TABLE SELECT 1 AS mine")
    db = ppdm_sql.open(con)
    db.install(short_names=False)
    assert con.execute("FROM ppdm_risk(1, 2)").fetchall() == [(1,)]
    db.uninstall()
    assert con.execute("FROM ppdm_risk(1, 2)").fetchall() == [(1,)]


def test_all_is_installed_or_nothing(con: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch) -> None:
    db, written = ppdm_sql.open(con), Engine.write

    def failing(engine: Engine, sql: str, *more: Any, step: str) -> None:
        if "ppdm_closeness" in sql:
            sql = "SELECT error('no')"
        written(engine, sql, *more, step=step)

    monkeypatch.setattr(Engine, "write", failing)
    before = standing(con)
    with pytest.raises(EngineError):
        db.install()
    assert standing(con) == before


def test_an_open_transaction_is_left_alone(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("BEGIN; CREATE TABLE mine AS SELECT 1 AS a")
    for work in (ppdm_sql.open(con).install, ppdm_sql.open(con).uninstall):
        with pytest.raises(EngineError, match="transaction is open"):
            work()
    con.execute("COMMIT")
    assert con.execute("FROM mine").fetchall() == [(1,)]


def test_a_file_called_as_the_schema_is_refused(tmp_path: Path) -> None:
    with ppdm_sql.open(tmp_path / "ppdm.duckdb", create=True) as db, pytest.raises(InvalidOption):
        db.install()


@pytest.mark.parametrize("name", ["main.duckdb", "odd name;.duckdb", 'quo"te.duckdb', "temp2.db"])
def test_files_of_other_names_take_the_macros(tmp_path: Path, name: str) -> None:
    with ppdm_sql.open(tmp_path / name, create=True) as db:
        db.install()
        assert installed(db.engine.connection) == OURS
        db.uninstall()
        assert installed(db.engine.connection) == []


# -- removing ---------------------------------------------------------------------------------------


def test_uninstalling_leaves_what_was_there_before(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE t AS SELECT 1 AS a; CREATE MACRO ppdm_own(a) AS a; CREATE SCHEMA other")
    before = standing(con)
    db = ppdm_sql.open(con)
    db.install()
    assert db.uninstall() == tuple(sorted(NAMES))
    assert standing(con) == before
    assert db.uninstall() == ()


@pytest.mark.parametrize("again", [False, True])
def test_a_schema_that_was_there_stays(con: duckdb.DuckDBPyConnection, again: bool) -> None:
    con.execute("CREATE SCHEMA ppdm")
    before = standing(con)
    db = ppdm_sql.open(con)
    for _ in range(1 + again):
        db.install()
    db.uninstall()
    assert standing(con) == before


@pytest.mark.parametrize(
    "made",
    [
        "CREATE TABLE ppdm.mine (a INTEGER)",
        "CREATE VIEW ppdm.mine AS SELECT 1 AS a",
        "CREATE MACRO ppdm.mine() AS 1",
        "CREATE SEQUENCE ppdm.mine",
        "CREATE TYPE ppdm.mine AS ENUM ('a')",
    ],
)
def test_a_schema_that_holds_something_else_stays(con: duckdb.DuckDBPyConnection, made: str) -> None:
    db = ppdm_sql.open(con)
    db.install()
    con.execute(made)
    db.uninstall()
    assert installed(con) == []
    with pytest.raises(duckdb.Error, match="mine"):
        con.execute(made)


def test_a_macro_that_you_put_in_the_place_of_ours_is_yours(con: duckdb.DuckDBPyConnection) -> None:
    db = ppdm_sql.open(con)
    db.install()
    con.execute("CREATE OR REPLACE MACRO ppdm_risk(a) AS TABLE SELECT a AS mine")
    with pytest.raises(NameTaken, match=r"main\.ppdm_risk"):
        db.install()
    assert db.uninstall() == tuple(sorted(NAMES))
    assert installed(con) == [("main", "ppdm_risk")]
    assert con.execute("FROM ppdm_risk(7)").fetchall() == [(7,)]


# -- other clients ----------------------------------------------------------------------------------


def ask(file: Path, query: str) -> str:
    """Ask the command-line client, which has no Python."""
    assert CLIENT is not None
    command = [CLIENT, "-readonly", "-noheader", "-csv", str(file), query]
    run = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    return run.stdout if run.returncode == 0 else run.stderr


@needs_client
@pytest.mark.parametrize("query", ANSWERS)
def test_the_command_line_client_gives_the_same_answers(file: Path, query: str) -> None:
    with ppdm_sql.open(file) as db:
        db.install()
        expected = db.engine.query(query, step="answer")
    printed = [line.split(",") for line in ask(file, query).splitlines()]
    assert len(printed) == len(expected)
    for cells, row in zip(printed, expected, strict=True):
        for cell, value in zip(cells, row, strict=True):
            written = cell.strip('"')
            if isinstance(value, float):
                assert float(written) == pytest.approx(value, abs=1e-12)
            else:
                assert written == ("NULL" if value is None else str(value))


@needs_client
def test_the_command_line_client_refuses_a_misspelt_column_by_name(file: Path) -> None:
    with ppdm_sql.open(file) as db:
        db.install()
    assert '"Aeg"' in ask(file, "FROM ppdm_risk('policies', ['Aeg'])")
    assert "twice: Age, age" in ask(file, "FROM ppdm_risk('policies', ['Age', 'age'])")


@needs_client
def test_the_command_line_client_reads_the_report(file: Path) -> None:
    with ppdm_sql.open(file) as db:
        released(db)
    assert ask(file, "SELECT release, smallest_class FROM ppdm.release_report") == "safe,4\n"


@needs_python
def test_files_go_back_and_forth_between_two_versions_of_duckdb(file: Path) -> None:
    script = (
        "import sys, duckdb, ppdm_sql\n"
        "with ppdm_sql.open(sys.argv[1]) as db:\n"
        "    seen = [db.engine.query(query, step='q') for query in sys.argv[2:]]\n"
        "    db.uninstall(), db.install()\n"
        "print(repr(seen))\n"
    )
    with ppdm_sql.open(file) as db:
        db.install()
        answers = [db.engine.query(query, step="answer") for query in ANSWERS]
    command = [str(OTHER_PYTHON), "-c", script, str(file), *ANSWERS]
    environment = {**os.environ, "PYTHONPATH": str(Path(ppdm_sql.__file__).parents[1])}
    run = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert run.stdout.strip() == repr(answers)
    with ppdm_sql.open(file, read_only=True) as db:
        assert [db.engine.query(query, step="answer") for query in ANSWERS] == answers


# -- the report -------------------------------------------------------------------------------------


def released(db: ppdm_sql.Database, name: str = "safe") -> ppdm_sql.Release:
    return db.generalize(
        "employees", ["k >= 4 on Sex, Job"], class_column="Class", count_column="n", into=name,
        taxonomies={"Job": {"ANY": ["Janitor", "Mover", "Carpenter", "Technician", "Manager", "Accountant",
                                    "Lawyer", "Doctor"]}},
    )  # fmt: skip


@pytest.fixture
def db(con: duckdb.DuckDBPyConnection) -> ppdm_sql.Database:
    examples.write(Engine(con))
    return ppdm_sql.open(con)


def report(db: ppdm_sql.Database) -> list[dict[str, Any]]:
    found = db.engine.connection.execute("FROM ppdm.release_report")
    names = [column[0] for column in found.description]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def test_the_report_has_a_row_a_release_with_its_measures(db: ppdm_sql.Database) -> None:
    first = released(db)
    template = "Job, Country -> Bankruptcy = Discharged <= 50%"
    second = db.suppress(
        "customers", [template], class_column="Rating", count_column="n", into="other", score="paper"
    )
    swapped = db.swap(
        "policies", confidential="Amount", by=["Age", "Gender"], proportion=0.5, into="swapped", seed=1
    )
    rows = report(db)
    assert [row["release"] for row in rows] == ["safe", "other", "swapped"]
    for row, release in zip(rows, (first, second, swapped), strict=True):
        listed = release.row()
        for name in ("method", "source", "rows", "verified", "stopped", "created_at", "version"):
            assert row[name] == getattr(listed, name)
        assert row["requirements"] == list(listed.requirements)
        measured = {name: (value["before"], value["after"]) for name, value in row["measures"].items()}
        assert measured == {name: (before, after) for name, before, after in release.measures()}
    assert rows[0]["smallest_class"] == 4 and rows[0]["highest_confidence"] is None
    assert rows[0]["information_loss"] > 0
    assert rows[1]["highest_confidence"] == 0.5 and 0 < rows[1]["suppressed_cells"] < 1
    assert rows[2]["records_changed"] > 0
    first.drop()
    assert [row["release"] for row in report(db)] == ["other", "swapped"]


def test_noise_is_in_the_report_by_its_privacy_level(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE people AS SELECT i % 80 AS age FROM range(400) AS r (i)")
    db = ppdm_sql.open(con)
    db.randomize("people", noise=["age=uniform 50%"], into="noisy", seed=1)
    assert [row["privacy_level"] for row in report(db)] == [pytest.approx(0.5)]


def test_a_catalogue_without_the_report_gets_it_from_the_next_release_and_with_the_macros(
    db: ppdm_sql.Database,
) -> None:
    released(db)
    db.engine.connection.execute("DROP VIEW ppdm.release_report")
    released(db, "another")
    db.engine.connection.execute("DROP VIEW ppdm.release_report")
    db.install()
    assert [row["release"] for row in report(db)] == ["safe", "another"]
    before = standing(db.engine.connection)
    db.install()
    assert standing(db.engine.connection) == before


def test_installing_makes_no_report_where_there_is_no_catalogue(db: ppdm_sql.Database) -> None:
    db.install()
    with pytest.raises(duckdb.Error, match="release_report"):
        report(db)


@pytest.mark.parametrize("name", ["report", "Report"])
def test_no_release_can_take_the_name_of_the_report(db: ppdm_sql.Database, name: str) -> None:
    with pytest.raises(NameTaken, match="release_report"):
        released(db, name)
    released(db)
    with pytest.raises(NameTaken, match="release_report"):
        released(db, name)


def test_a_release_called_report_in_an_older_file_is_left_alone(db: ppdm_sql.Database) -> None:
    released(db)
    con = db.engine.connection
    con.execute("DROP VIEW ppdm.release_report; CREATE TABLE ppdm.release_report AS SELECT 'rows' AS frozen")
    released(db, "another")
    db.install()
    assert con.execute("FROM ppdm.release_report").fetchall() == [("rows",)]


def test_the_report_works_where_the_file_is_attached(file: Path) -> None:
    with ppdm_sql.open(file) as db:
        released(db)
    with duckdb.connect() as con:
        con.execute(f"ATTACH '{file}' AS elsewhere (READ_ONLY)")
        assert con.execute("SELECT release FROM elsewhere.ppdm.release_report").fetchall() == [("safe",)]


def test_a_measure_that_is_there_twice_does_not_break_the_report(db: ppdm_sql.Database) -> None:
    released(db)
    db.engine.connection.execute("INSERT INTO ppdm.measures FROM ppdm.measures")
    assert len(report(db)) == 1


def test_the_report_is_shown_by_sql_before_it_is_made(db: ppdm_sql.Database) -> None:
    assert "ppdm.release_report" in text_of("release/create_report")
    statements: list[str] = []
    db.engine.dry, db.engine.tracer = True, statements.append
    released(db)
    assert any("CREATE VIEW IF NOT EXISTS ppdm.release_report" in sql for sql in statements)
