"""Releases whose rows stand in Spark: whole or not at all, and what the audit accepted."""

from __future__ import annotations

import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from commands import ppdm, spawn

import ppdm_sql
from ppdm_sql import Database, PpdmError, Release
from ppdm_sql.engine import places
from ppdm_sql.engine.places import FolderOfRows
from ppdm_sql.engine.spark.session import SparkPlace
from ppdm_sql.errors import GuaranteeNotMet, InvalidOption, InvalidSource, NameTaken
from ppdm_sql.release import placing, publishing

pytestmark = pytest.mark.spark

PEOPLE = """
    SELECT ['cook', 'clerk', 'boss', NULL][1 + (i * 7) % 4] AS job, 20 + (i * 13) % 50 AS age,
        if(i % 3 = 0, 'yes', 'no') AS ill, if(i % 5 = 0, 'good', 'bad') AS rating,
        i % 11 AS kept, 'p' || i AS name
    FROM range(2000) AS r(i)
"""
ASKED: dict[str, Any] = {
    "require": ["k >= 20 on job, age", "job -> ill = yes <= 40%"],
    "class_column": "rating",
    "keep": ["kept"],
}
RELEASED = "job, age, ill, rating, kept"


@pytest.fixture
def people(parquet: Callable[[str, str], str]) -> str:
    return parquet("people", PEOPLE)


@pytest.fixture
def db(spark_place: SparkPlace, tmp_path: Path) -> Iterator[Database]:
    """A ledger in a file, with the same people in a table of its own."""
    with ppdm_sql.open(tmp_path / "ledger.duckdb", create=True) as opened:
        opened.engine.spark = SparkPlace(spark_place.session)
        opened.engine.connection.execute(f"CREATE TABLE here AS {PEOPLE}")
        yield opened


@pytest.fixture
def table(spark_session: Any) -> Iterator[str]:
    """A name of a table that is dropped at the end."""
    name = f"safe_{secrets.token_hex(4)}"
    yield name
    spark_session.sql(f"DROP TABLE IF EXISTS {name}")


def rows(db: Database, source: str, columns: str = RELEASED) -> list[tuple[Any, ...]]:
    return db.engine.connection.execute(f"SELECT {columns} FROM {source} ORDER BY ALL").fetchall()


def files(folder: Path) -> str:
    return f"'{folder}/*.parquet'"


def left(folder: Path) -> set[str]:
    return {name for name in os.listdir(folder) if not name.startswith(("ledger", "people"))}


def pending(db: Database) -> bool:
    found = db.engine.connection.execute(
        "SELECT count(*) FROM duckdb_tables() WHERE table_name = 'pending'"
    ).fetchone()
    return found != (0,)


def made(db: Database, people: str, folder: Path, **more: Any) -> Release:
    return db.generalize(people, into="safe", to=str(folder / "safe"), **ASKED | more)


def test_the_rows_are_those_of_a_run_in_duckdb_and_the_ledger_has_them_collapsed(
    db: Database, people: str, tmp_path: Path
) -> None:
    here = db.generalize("here", into="here_safe", **ASKED)
    there = made(db, people, tmp_path)
    assert there.steps() == here.steps()
    assert list(map(repr, there.cut())) == list(map(repr, here.cut()))
    assert rows(db, files(tmp_path / "safe")) == rows(db, "here_safe")
    assert [(m.measure, m.after) for m in there.measures()] == [(m.measure, m.after) for m in here.measures()]
    assert there.row().rows == 2000
    assert left(tmp_path) == {"safe"}
    assert not pending(db)
    unfolded = f"(SELECT * FROM safe, range({there.row().shape('ledger').count}))"
    assert rows(db, unfolded) == rows(db, "here_safe")
    assert len(there.at(0).fetchall()) < len(rows(db, "safe"))
    db.engine.spark = None  # what the ledger keeps needs no Spark
    there.export(tmp_path / "exported.parquet")
    there.report(tmp_path / "page.html")
    there.report(tmp_path / "public.html", public=True)
    assert str(tmp_path) in (tmp_path / "page.html").read_text()
    assert str(tmp_path) not in (tmp_path / "public.html").read_text()
    compared = {str(row[0]): row[1:] for row in db.compare(["safe", "here_safe"]).tables()[0].rows}
    assert compared["safe"] == compared["here_safe"]
    with pytest.raises(InvalidSource, match="'safe' was made, is not in this database"):
        db.evaluate("safe")
    assert rows(db, f"'{tmp_path}/exported.parquet'") == rows(db, "safe")
    with pytest.raises(InvalidOption, match="--spark"):
        there.verify()
    with pytest.raises(InvalidOption, match="--spark"):
        db.suppress("here", into="other", to=f"{tmp_path}/other", **ASKED)
    there.drop()
    assert left(tmp_path) == {"exported.parquet", "page.html", "public.html"}


def test_a_table_takes_rows_in_batches_that_end_in_the_order_of_their_values(
    db: Database, people: str, spark_session: Any, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "TOGETHER", 150)
    monkeypatch.setattr("ppdm_sql.release.placing.RECORDS_OF_A_PART", 300)
    monkeypatch.setattr("ppdm_sql.release.placing.MOST_OF_ONE", 7)
    handed: list[int] = []
    in_order = places._in_order

    def watched(frame: Any, parts: Any) -> Any:
        handed.append(frame.count())
        return in_order(frame, parts)

    monkeypatch.setattr(places, "_in_order", watched)
    release = db.generalize(people, into="safe", to=table, **ASKED)
    assert len(handed) > 3 and max(handed) <= 150
    db.generalize("here", into="here_safe", **ASKED)
    columns = RELEASED.split(", ")
    read = spark_session.table(table).selectExpr("input_file_name() AS file", *columns).collect()
    expected = db.engine.connection.execute(f"FROM here_safe SELECT {RELEASED}").fetchall()
    assert sorted(map(repr, (tuple(row)[1:] for row in read))) == sorted(map(repr, expected))
    files = {row["file"] for row in read}
    assert len(files) >= len(handed)
    for file in files:  # as they stand in the table of DuckDB
        rows_of_file = [tuple(row)[1:] for row in read if row["file"] == file]
        order = [expected.index(row) for row in rows_of_file]
        assert order == sorted(order)
    assert release.verify().holds
    spark_session.sql(f"INSERT INTO {table} SELECT * FROM {table} LIMIT 1")
    assert not release.verify().holds
    release.drop()
    assert not spark_session.catalog.tableExists(table)
    assert not [item for item in spark_session.catalog.listTables() if item.name.startswith("ppdm_")]


def test_a_table_whose_rows_cannot_all_be_written_is_not_there(
    db: Database, people: str, spark_session: Any, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The third of several batches is refused; the table is gone with the two that stand in it."""
    monkeypatch.setattr(places, "TOGETHER", 20)
    in_order, handed = places._in_order, list[Any]()

    def failing(frame: Any, parts: Any) -> Any:
        handed.append(frame)
        written = in_order(frame, parts)
        return written.where("raise_error('clerk') IS NULL") if len(handed) == 3 else written

    monkeypatch.setattr(places, "_in_order", failing)
    with pytest.raises(PpdmError) as refused:
        db.suppress(people, into="safe", to=table, **ASKED)
    assert len(handed) == 3 and "clerk" not in str(refused.value)
    assert not [
        it.name for it in spark_session.catalog.listTables() if it.name.startswith(("ppdm_", "safe_"))
    ]
    assert not db.releases() and not pending(db)


def test_pseudonyms_link_the_records_of_a_person_and_their_key_is_in_no_plan(
    db: Database, people: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    whole = places._in_order

    def watched(frame: Any, parts: Any) -> Any:
        made = whole(frame, parts)
        seen.append(made._plan.to_proto(db.engine.spark.session.client).SerializeToString().decode("latin1"))
        return made

    monkeypatch.setattr(places, "_in_order", watched)
    made(db, people, tmp_path, identifiers={"name": "pseudonym"})
    (distinct,) = db.engine.connection.execute(
        f"SELECT count(DISTINCT name) FROM {files(tmp_path / 'safe')} WHERE length(name) = 32"
    ).fetchall()
    assert distinct == (2000,)
    assert seen
    assert not any("sha" in plan or "hmac" in plan for plan in seen)


def test_a_count_column_of_the_table_stays_in_its_rows(
    db: Database, parquet: Callable[[str, str], str], tmp_path: Path
) -> None:
    counted = parquet(
        "counted", "SELECT ['x', 'y', 'z'][1 + i % 3] AS a, 'g' AS g, i % 4 AS n FROM range(40) r(i)"
    )
    release = db.suppress(
        counted, ["k >= 5 on a"], class_column="g", count_column="n", into="safe", to=f"{tmp_path}/safe"
    )
    assert rows(db, files(tmp_path / "safe"), "a, g, n") == rows(db, "safe", "a, g, n")
    assert release.verify().holds


def test_persons_are_counted_and_not_written(
    db: Database, parquet: Callable[[str, str], str], tmp_path: Path
) -> None:
    visits = "SELECT ['x', 'y', 'z'][1 + i % 3] AS a, 'g' AS g, i // 4 AS patient FROM range(60) r(i)"
    db.engine.connection.execute(f"CREATE TABLE visits AS {visits}")
    asked: dict[str, Any] = {"require": ["k >= 5 on a"], "class_column": "g", "person": "patient"}
    here = db.suppress("visits", into="here_safe", **asked)
    there = db.suppress(parquet("visits", visits), into="safe", to=f"{tmp_path}/safe", **asked)
    assert there.steps() == here.steps()
    assert rows(db, files(tmp_path / "safe"), "*") == rows(db, "here_safe", "*")
    assert there.verify().holds


def test_rows_stand_in_the_order_of_their_values(
    db: Database, people: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ppdm_sql.release.placing.RECORDS_OF_A_PART", 300)
    monkeypatch.setattr("ppdm_sql.release.placing.MOST_OF_ONE", 7)
    made(db, people, tmp_path)
    parts = sorted((tmp_path / "safe").glob("*.parquet"))
    assert len(parts) > 1
    stored = [row for part in parts for row in duckdb.sql(f"SELECT {RELEASED} FROM '{part}'").fetchall()]
    assert stored == duckdb.sql(f"FROM {files(tmp_path / 'safe')} SELECT {RELEASED} ORDER BY ALL").fetchall()


def test_hostile_names_and_values(
    db: Database, parquet: Callable[[str, str], str], tmp_path: Path, spark_session: Any
) -> None:
    values = """SELECT ['it''s', '"', '`', '${x}', ' trailing ', '', NULL, 'Zoë'][1 + i % 8] AS "a`b "". c",
        'g' AS "rowid", i % 2 AS "n", i % 3 AS "v0" FROM range(160) r(i)"""
    source, folder = (
        parquet("hostile", values),
        tmp_path / "a *{b,c} [d]%20? dir" / "it's `odd` {a,b}* [x] 100% dir",
    )
    folder.parent.mkdir()
    release = db.suppress(
        source,
        ['k >= 5 on "a`b "". c"'],
        class_column="rowid",
        keep=["n", "v0"],
        into='sa"fe',
        to=str(folder),
    )
    assert release.verify().holds
    db.engine.connection.execute(f"CREATE TABLE hostile AS {values}")
    db.suppress("hostile", ['k >= 5 on "a`b "". c"'], class_column="rowid", keep=["n", "v0"], into="h")
    written = [str(file) for file in folder.glob("*.parquet")]
    found = duckdb.execute("SELECT * FROM read_parquet($f) ORDER BY ALL", {"f": written})
    assert found.fetchall() == rows(db, "h", "*")


class TestWhatIsRefused:
    def test_a_target_that_is_there(self, db: Database, people: str, tmp_path: Path) -> None:
        (tmp_path / "safe").mkdir()
        with pytest.raises(NameTaken, match="safe already"):
            made(db, people, tmp_path)
        assert not db.releases()

    def test_a_table_that_is_there(self, db: Database, people: str, spark_session: Any, table: str) -> None:
        spark_session.sql(f"CREATE TABLE {table} (a INT)")
        with pytest.raises(NameTaken, match="has a table"):
            db.suppress(people, into="safe", to=table, **ASKED)

    def test_a_schema_that_is_not_there(self, db: Database, people: str) -> None:
        with pytest.raises(InvalidOption, match="no schema"):
            db.suppress(people, into="safe", to="nowhere.safe", **ASKED)

    def test_an_object_store(self, db: Database, people: str) -> None:
        with pytest.raises(InvalidOption, match="on s3a, where"):
            db.suppress(people, into="safe", to="s3a://bucket/safe", **ASKED)

    def test_a_folder_that_is_not_there(self, db: Database, people: str, tmp_path: Path) -> None:
        with pytest.raises(InvalidOption, match="cannot be written"):
            db.suppress(people, into="safe", to=f"{tmp_path}/no/safe", **ASKED)

    def test_nothing_is_left_of_a_run_that_the_audit_refuses(
        self, db: Database, people: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(*_: Any) -> None:
            raise GuaranteeNotMet("Refused.")

        monkeypatch.setattr(publishing, "_refuse_unverified", refuse)
        with pytest.raises(GuaranteeNotMet):
            made(db, people, tmp_path)
        assert left(tmp_path) == set()
        assert not db.releases() and not pending(db)


def test_a_fault_planted_in_what_was_written_is_refused(
    db: Database, people: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = places._in_order

    def faulty(frame: Any, parts: Any) -> Any:
        made = whole(frame, parts)
        return made.limit(1999).union(made.limit(1).selectExpr("'boss' AS job", *parts.names[1:]))

    monkeypatch.setattr(places, "_in_order", faulty)
    with pytest.raises(GuaranteeNotMet, match="not what the audit accepted"):
        made(db, people, tmp_path)
    assert left(tmp_path) == set()
    assert not db.releases() and not pending(db)


def change_a_byte(folder: Path) -> None:
    (part,) = folder.glob("*.parquet")
    content = bytearray(part.read_bytes())
    content[len(content) // 2] ^= 1
    part.write_bytes(content)


def add_a_file(folder: Path) -> None:
    duckdb.sql(f"SELECT * FROM '{folder}/*.parquet' LIMIT 1").write_parquet(str(folder / "more.parquet"))


def replace_the_rows(folder: Path) -> None:
    (part,) = folder.glob("*.parquet")
    duckdb.sql(f"SELECT * REPLACE ('no' AS ill) FROM '{part}'").write_parquet(f"{part}.new")
    os.replace(f"{part}.new", part)


def remove_a_file(folder: Path) -> None:
    for part in folder.glob("*.parquet"):
        part.unlink()


def hide_a_file(folder: Path) -> None:
    (folder / "_more.parquet").write_bytes(b"hidden from Spark")


FAULTS = [change_a_byte, add_a_file, replace_the_rows, remove_a_file, hide_a_file, shutil.rmtree]


def test_verify_finds_what_was_changed_later(db: Database, people: str, tmp_path: Path) -> None:
    release, folder = made(db, people, tmp_path), tmp_path / "safe"
    shutil.copytree(folder, tmp_path / "whole")
    for fault in FAULTS:
        fault(folder)
        found = {check.check: check.holds for check in release.verify().checks}
        assert not found[f"the files of {folder} are those published"], fault.__name__
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(tmp_path / "whole", folder)
    assert release.verify().holds
    shutil.rmtree(folder)
    folder.mkdir()
    (folder / "other").touch()  # is not the release's own, and stays
    release.drop()
    assert left(tmp_path) == {"safe", "whole"}
    assert not db.releases() and not pending(db)


def test_new_records_are_recoded(
    db: Database, people: str, parquet: Callable[[str, str], str], tmp_path: Path
) -> None:
    release = made(db, people, tmp_path)
    new = "SELECT * REPLACE (if(age = 20, 99, age) AS age) FROM (" + PEOPLE + ") WHERE age < 40"
    db.engine.connection.execute(f"CREATE TABLE new_here AS {new}")
    applied = db.apply(release, parquet("people2", new), into="new_safe", to=f"{tmp_path}/new_safe")
    here = db.apply(release, "new_here", into="new_here_safe")
    assert rows(db, files(tmp_path / "new_safe")) == rows(db, "new_here_safe")
    assert applied.unseen == here.unseen
    assert [found.reached for found in applied.findings] == [found.reached for found in here.findings]
    assert (applied.to, applied.placed) == (f"{tmp_path}/new_safe", here.rows)


class TestWhatAKilledRunLeaves:
    def noted(self, db: Database, target: Path) -> FolderOfRows:
        place = FolderOfRows(db.engine.spark, str(target), "a" * 12)
        placing.note(db.engine.look_up, place, "write")
        return place

    def place_of(self, release: Release, db: Database) -> FolderOfRows:
        place = placing.place_of(db.engine, release.row().parameters)
        assert isinstance(place, FolderOfRows)
        return place

    def test_is_removed_before_the_next_is_written_and_a_release_by_its_drop_alone(
        self, db: Database, people: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        place = self.noted(db, tmp_path / "killed")
        place.rows.mkdir(parents=True)
        (place.rows / "part-0.parquet").write_bytes(b"half")
        release = made(db, people, tmp_path)
        assert left(tmp_path) == {"safe"}
        placing.note(db.engine.look_up, self.place_of(release, db), "write")  # as an old copy of the ledger
        placing.sweep(db.engine)
        assert left(tmp_path) == {"safe"}
        monkeypatch.setattr("ppdm_sql.release.placing.remove", lambda *_: None)
        release.drop()
        assert left(tmp_path) == {"safe"}
        placing.sweep(db.engine)
        assert left(tmp_path) == set()

    def test_is_removed_when_it_has_its_name_but_no_commit(self, db: Database, tmp_path: Path) -> None:
        place = self.noted(db, tmp_path / "killed")
        place.rows.mkdir(parents=True)
        place.give_name()
        assert left(tmp_path) == {"killed", place.staging.name}
        placing.sweep(db.engine)
        assert left(tmp_path) == set()

    def test_is_left_alone_while_its_run_goes_on(self, db: Database, tmp_path: Path) -> None:
        place = self.noted(db, tmp_path / "going")
        with place.aside():
            placing.sweep(db.engine)
            assert place.staging.is_dir()
        assert not place.staging.exists()

    def test_is_not_confused_with_what_somebody_else_made(self, db: Database, tmp_path: Path) -> None:
        self.noted(db, tmp_path / "others")
        (tmp_path / "others").mkdir()
        placing.sweep(db.engine)
        assert left(tmp_path) == {"others"}

    def test_behind_its_commit_is_its_private_folder_alone(
        self, db: Database, people: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("settle", "_forget"):  # what a run does behind its commit, where it is not killed
            monkeypatch.setattr(placing if name == "_forget" else FolderOfRows, name, lambda *_: None)
        monkeypatch.setattr(shutil, "rmtree", lambda *_, **__: None)
        release = made(db, people, tmp_path)
        monkeypatch.undo()
        place = self.place_of(release, db)
        (place.staging / "combinations.parquet").write_bytes(b"cells")
        assert left(tmp_path) == {"safe", place.staging.name}
        placing.sweep(db.engine)
        assert left(tmp_path) == {"safe"} and not pending(db)
        assert (tmp_path / "safe" / places.MARK).read_text("utf-8").endswith(places.SETTLED)
        assert release.verify().holds

    def test_is_forgotten_after_a_while(
        self, db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.noted(db, tmp_path / "killed")
        placing.sweep(db.engine)
        assert pending(db)
        monkeypatch.setattr(placing, "SECONDS_TO_COME", -1)
        placing.sweep(db.engine)
        assert not pending(db)


ON_THE_COMMAND_LINE = ["--require", "k >= 20 on job, age", "--class", "rating", "--range", "age=0,100"]


def test_the_command_line(people: str, tmp_path: Path, spark_url: str) -> None:
    file, safe, spark = tmp_path / "l.duckdb", str(tmp_path / "safe"), ("--spark", spark_url)
    asked = [*ON_THE_COMMAND_LINE, *spark, "--into", "safe", "--to", safe]
    assert f"Wrote {safe}: 2000 rows." in ppdm("generalize", file, people, *asked).stderr
    assert safe in ppdm("show", file, "safe").stdout
    verified = ppdm("verify", file, "safe", *spark)
    assert verified.exit_code == 0
    assert f"the rows of {safe} are those of the release" in verified.stdout
    assert "Add --spark URL" in ppdm("verify", file, "safe").stderr
    assert ppdm("drop", file, "safe").exit_code == 0
    assert not Path(safe).exists()


def sweep_until_the_server_is_done(file: Path, folder: Path) -> None:
    """Open the ledger as the next commands do; a server may go on with a job whose client was killed."""
    deadline = time.monotonic() + 60
    while any(folder.glob(".ppdm-*")) and time.monotonic() < deadline:
        with ppdm_sql.open(file):
            time.sleep(0.05)


@pytest.mark.parametrize("moment", [".ppdm-*/owner", ".ppdm-*/rows", "safe"])
def test_a_killed_command_leaves_nothing_or_all(
    people: str, tmp_path: Path, spark_url: str, moment: str
) -> None:
    file, safe = tmp_path / "ledger.duckdb", tmp_path / "safe"
    asked = [*ON_THE_COMMAND_LINE, "--spark", spark_url, "--into", "safe", "--to", str(safe)]
    command = spawn("generalize", file, people, *asked)
    while command.poll() is None and not any(tmp_path.glob(moment)):
        time.sleep(0.002)
    command.kill()
    command.communicate()
    sweep_until_the_server_is_done(file, tmp_path)
    with ppdm_sql.open(file, spark=spark_url) as db:
        if db.releases():
            assert db.release("safe").verify().holds
            assert left(tmp_path) == {"safe"}
        else:
            assert left(tmp_path) == set()


@pytest.mark.parametrize("command", ["apply", "swap"])
def test_other_commands_that_are_killed_leave_nothing_or_all(
    people: str, tmp_path: Path, spark_url: str, command: str
) -> None:
    file, safe = tmp_path / "ledger.duckdb", tmp_path / "safe"
    words = [people, "--confidential", "job", "--by", "age", "--proportion", "0.3"]
    if command == "apply":
        with ppdm_sql.open(file, create=True) as db:
            db.engine.connection.execute(f"CREATE TABLE here AS {PEOPLE}")
            db.suppress("here", into="before", **ASKED)
        words = ["before", people]
    else:
        duckdb.sql(f"FROM ({PEOPLE}) WHERE job IS NOT NULL").write_parquet(f"{people}/rows.parquet")
    words += ["--spark", spark_url, "--into", "safe", "--to", str(safe)]
    running = spawn(command, file, *words)
    while running.poll() is None and not any(tmp_path.glob(".ppdm-*/rows")):
        time.sleep(0.002)
    running.kill()
    told = running.communicate()
    assert running.returncode in (0, -9), told
    sweep_until_the_server_is_done(file, tmp_path)
    with ppdm_sql.open(file) as db:
        made = {table.name for table in db.engine.tables() if table.schema == "main"} - {"here", "before"}
        assert (made, left(tmp_path)) in (({"safe"}, {"safe"}), (set(), set()))


def test_errors_tell_no_cell(db: Database, people: str, tmp_path: Path, capfd: Any) -> None:
    with pytest.raises(PpdmError) as refused:
        db.suppress(people, ["k >= 9999 on job"], class_column="rating", into="safe", to=f"{tmp_path}/safe")
    told = str(refused.value) + "".join(capfd.readouterr())
    assert not any(value in told for value in ("clerk", "boss", "p17"))
    assert left(tmp_path) == set()
