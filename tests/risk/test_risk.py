"""``ppdm risk`` as its users meet it: command, call in SQL, notices, and the command that it proposes."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import duckdb
import pytest
from commands import ppdm

import ppdm_sql
from ppdm_sql.engine.printing import purpose
from ppdm_sql.engine.statements import Statement
from ppdm_sql.errors import InvalidOption, InvalidSource, NameTaken, UnknownColumn

PEOPLE = """
    CREATE TABLE people AS SELECT
        'p' || (i // 2) AS patient_id, i % 2 AS sex, 20 + i % 41 AS age, '0' || (2138 + i % 7) AS zip,
        CASE WHEN i % 11 THEN ['flu', 'cold', 'measles'][i % 3 + 1] END AS "dia ""gnosis; DROP",
        1.5 + i % 3 AS w
    FROM range(400) r (i)
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as con:
        con.execute(PEOPLE)
        con.execute("CREATE VIEW elders AS SELECT * FROM people WHERE age > 40")
        con.execute("COPY people TO '" + str(tmp_path / "people.csv") + "'")
    return tmp_path / "clinic.duckdb"


def proposed(stderr: str) -> list[str]:
    """The words of the proposed command, without its first one."""
    (line,) = [line for line in stderr.splitlines() if line.startswith("  ppdm generalize")]
    return shlex.split(line)[1:]


def test_the_command_prints_tables_and_changes_nothing(file: Path) -> None:
    before = file.read_bytes()
    done = ppdm("risk", file, "people", "--population", "4000", "--max-size", "2")
    assert done.exit_code == 0, done.stderr
    for title in (
        "Columns that identify alone",
        "Sets of columns that single out most",
        "Re-identification risk on sex, age, zip,",
        "Minimal sample uniques",
        "Population uniques, estimated",
    ):
        assert title in done.stdout
    assert "direct identifier" in done.stdout
    assert "patient_id" in done.stderr
    assert "anonym" not in done.output.lower()
    assert file.read_bytes() == before


def test_as_json_it_holds_the_same(file: Path) -> None:
    done = ppdm("risk", file, "people", "--by", "sex,age", "--weights", "w", "--format", "json", "-q")
    found = json.loads(done.stdout)
    assert not done.stderr
    with ppdm_sql.open(file) as db:
        measured = db.risk("people", by=["sex", "age"], weights="w")
        assert list(found) == [table.title for table in measured.tables()]
        assert found["Individual risk"][0]["expected re-identifications"] == pytest.approx(
            measured.summed[0].expected
        )


@pytest.mark.parametrize(
    "more",
    [
        ["people", "--person", "patient_id"],
        ["people", "--by", 'zip,"dia ""gnosis; DROP"'],
        ["elders", "--max-size", "1"],
    ],
)
def test_the_proposed_command_runs_as_printed(file: Path, more: list[str]) -> None:
    done = ppdm("risk", file, *more)
    assert done.exit_code == 0, done.stderr
    words = proposed(done.stderr)
    made = ppdm(*words)
    assert made.exit_code == 0, made.stderr
    with ppdm_sql.open(file) as db:
        assert db.release(words[words.index("--into") + 1]).verify().holds


def test_the_proposed_command_reads_a_file_alike(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = ppdm("risk", "people.csv", "--types", "zip=VARCHAR", "--null", "flu,x")
    assert done.exit_code == 0, done.stderr
    words = proposed(done.stderr)
    assert "zip=VARCHAR" in words
    assert "flu,x" in words
    made = ppdm(*words)
    assert made.exit_code == 0, made.stderr
    assert Path("people_safe.csv").exists()


def test_the_scores_become_a_table_of_the_owner(file: Path) -> None:
    done = ppdm("risk", file, "people", "--by", "age,zip", "--into", "scored")
    assert done.exit_code == 0, done.stderr
    with duckdb.connect(str(file)) as con:
        ((rows, scored),) = con.execute("SELECT count(*), count(smallest_unique) FROM scored").fetchall()
        ((comment,),) = con.execute(
            "SELECT comment FROM duckdb_tables() WHERE table_name = 'scored'"
        ).fetchall()
    assert (rows, scored > 0, "owner" in comment) == (400, True, True)
    again = ppdm("risk", file, "people", "--into", "scored")
    assert (again.exit_code, again.stdout) == (2, "")


def test_with_sql_the_statements_are_printed_and_nothing_is_made(file: Path) -> None:
    done = ppdm("risk", file, "people", "--by", "age,zip", "--into", "scored", "--sql")
    assert done.exit_code == 0, done.stderr
    assert 'CREATE TABLE "clinic"."main"."scored" AS' in done.stdout
    with duckdb.connect(str(file)) as con:
        assert con.execute("SELECT count(*) FROM duckdb_tables()").fetchall() == [(1,)]


def test_the_call_in_sql_gives_a_row_for_each_measure(file: Path) -> None:
    with duckdb.connect(str(file)) as con:
        ppdm_sql.register(con)
        asked = (
            "FROM ppdm_table_risk('people', \"by\" := ['age', 'zip'], population := '4000', max_size := 2)"
        )
        found = con.execute(asked).fetchall()
        kept = con.execute("SELECT k FROM ppdm_risk('people', ['age', 'zip'])").fetchall()
        con.execute("CALL ppdm_table_risk('people', household := 'w', \"into\" := 'scored')").fetchall()
        assert con.execute("SELECT count(*) FROM scored").fetchall() == [(400,)]
        with pytest.raises(duckdb.InvalidInputException, match="max_size"):
            con.execute("CALL ppdm_table_risk('people', max_size := 0)").fetchall()
        ppdm_sql.unregister(con)
    measures = {(about, measure): value for about, measure, value, _ in found}
    with ppdm_sql.open(file) as db:
        measured = db.risk("people", by=["age", "zip"], population=4000, max_size=2)
    (pair,) = [one for one in measured.sets if len(one.columns) == 2]
    assert measures["age, zip", "separation"] == pair.separation
    assert measures["age, zip", "share alone"] == pair.share_alone
    assert measures["Dankar", "population uniques"] == measured.estimates[2].population_uniques
    assert ("the table", "first requirement", None, "k >= 5 on age, zip") in found
    assert kept == [(measured.sizes.sizes[0][0],)]


def test_a_frame_and_a_view_are_measured_like_a_table(file: Path) -> None:
    with ppdm_sql.open(file) as db:
        view = db.risk("elders", by=["age", "zip"])
        frame = db.engine.connection.sql("FROM elders").to_arrow_table()
        assert db.risk(frame, by=["age", "zip"]).sets == view.sets


def test_columns_that_identify_alone_are_named_and_never_left_out(file: Path) -> None:
    with ppdm_sql.open(file) as db:
        db.engine.connection.execute(
            "ALTER TABLE people ADD COLUMN birth_date DATE; UPDATE people SET birth_date = "
            "DATE '1950-01-01' + (rowid * 5 // 8)::INTEGER"
        )
        found = db.risk("people")
        assert [item.column for item in found.set_aside] == ["patient_id"]
        assert any("patient_id" in notice for notice in found.notices)
        identifying = found.tables()[0]
        assert identifying.title == "Columns that identify alone"
        assert {row[0]: row[4] for row in identifying.rows} == {
            "patient_id": "not measured: direct identifier"
        }
        alone = {one.columns[0]: one.share_alone for one in found.columns}
        assert 0 < alone["birth_date"] < 0.5
        db.engine.connection.execute(
            "UPDATE people SET birth_date = DATE '1950-01-01' + (rowid * 4 // 5)::INTEGER"
        )
        found = db.risk("people")
        assert found.tables()[0].rows[1][::4] == ("birth_date", "measured")
        assert "birth_date" in str(found.requirement)
        assert db.risk("people", by=["patient_id", "sex"]).tables()[0].title == "Columns"


def test_what_cannot_be_asked_is_refused_with_what_to_type(file: Path) -> None:
    with ppdm_sql.open(file) as db:
        con = db.engine.connection
        con.execute(
            "CREATE TABLE empty AS FROM people LIMIT 0; CREATE TABLE ids AS SELECT patient_id FROM people"
        )
        with pytest.raises(UnknownColumn, match="'zpi'.*zip"):
            db.risk("people", by="zpi")
        with pytest.raises(InvalidSource, match="no records"):
            db.risk("empty", by="age")
        with pytest.raises(InvalidSource, match="no records"):
            db.risk("elders", by=["age"], population="empty")
        with pytest.raises(InvalidOption, match="--by A,B"):
            db.risk("ids")
        with pytest.raises(InvalidOption, match="--max-size"):
            db.risk("people", max_size=0)
        with pytest.raises(InvalidOption, match="--threshold"):
            db.risk("people", threshold=2)
        with pytest.raises(NameTaken):
            db.risk("people", into="ELDERS")


def test_errors_and_logs_hold_no_cell(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG", "ppdm_sql")
    with ppdm_sql.open(file) as db:
        found = db.risk("people", into="scored", population=9000)
    assert found.suda.by_value
    assert not any(cell in caplog.text for cell in ("measles", "02138", "p17"))


def test_nothing_is_left_behind(file: Path) -> None:
    with ppdm_sql.open(file) as db:
        names = [table.name for table in db.engine.tables()]
        db.risk("people", household="patient_id", weights="w", population="people")
        with pytest.raises(InvalidSource):
            db.risk("people", weights="patient_id")
        assert [table.name for table in db.engine.tables()] == names


def test_a_row_of_each_kind_of_value_is_measured(tmp_path: Path) -> None:
    kinds: dict[str, Any] = {
        "li": "[1, NULL]",
        "st": "{'a': 1}",
        "ma": "MAP {'k': 'v'}",
        "bl": "'\\x00'::BLOB",
        "iv": "INTERVAL 1 MONTH",
        "na": "'nan'::DOUBLE",
        "nu": "NULL",
        "en": "'x'::ENUM('x', 'y')",
        "ts": "TIMESTAMPTZ '2020-01-01 00:00:00+00'",
        "un": "union_value(a := 1)",
    }
    path = tmp_path / "kinds.duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute(
            f"CREATE TABLE t AS SELECT {', '.join(f'{v} AS {n}' for n, v in kinds.items())}, i % 3 AS a, "
            "i AS b FROM range(30) r (i)"
        )
    done = ppdm("risk", path, "t", "--by", ",".join([*kinds, "a"]), "--max-size", "2", "--into", "scored")
    assert done.exit_code == 0, done.stderr
    with duckdb.connect(str(path)) as con:
        assert con.execute("SELECT count(*) FROM scored").fetchall() == [(30,)]


def test_every_statement_has_a_sentence(file: Path) -> None:
    seen: list[Statement] = []
    with ppdm_sql.open(file) as db:
        db.engine.tracer = seen.append
        db.risk("elders", person="patient_id", weights="w", population="people", into="scored")
        db.risk("people", household="patient_id", population=9000)
    assert sorted({statement.step for statement in seen if not purpose(statement)}) == []
