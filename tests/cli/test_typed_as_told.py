"""What messages advise works when it is typed, whatever columns are called; no failure leaves a file."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import duckdb
import pytest
from commands import execute, ppdm

import ppdm_sql
from ppdm_sql import DatabaseUnavailable, EngineError

ODD = ["birth date", " age ", 'tri"age', "diag'nosis", "a=b", "kosten €"]


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    """A table whose columns have names that need care, each of whole numbers from 0 to 19."""
    file = tmp_path / "odd.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.execute("CREATE TABLE t AS SELECT 'P' || n % 20 AS \"Patient ID\" FROM range(100) r(n)")
        for name in ODD:
            quoted = '"' + name.replace('"', '""') + '"'
            connection.execute(f"ALTER TABLE t ADD COLUMN {quoted} BIGINT")
            connection.execute(f"UPDATE t SET {quoted} = rowid % 20")
    return file


@pytest.mark.parametrize("name", ODD)
def test_an_option_that_is_advised_for_a_column_can_be_typed(odd: Path, name: str) -> None:
    on = '"' + name.replace('"', '""') + '"'
    words = ["generalize", str(odd), "t", "--require", f"k >= 5 on {on}", "--person", '"Patient ID"']
    told = ppdm(*words, "--into", "safe").stderr
    advised = re.search(r"give others with (--range .+)\.\n", told)
    assert advised is not None, told
    option = shlex.split(advised[1].replace("LOW,HIGH", "0,50"))
    again = ppdm(*words, "--into", "again", *option)
    assert (again.exit_code, "outermost bounds" in again.stderr) == (0, False), again.stderr


def test_the_person_that_is_advised_can_be_typed(odd: Path) -> None:
    told = ppdm("audit", str(odd), "t", "--by", '" age "').stderr
    advised = re.search(r"give (--person .+)\.\n", told)
    assert advised is not None, told
    done = ppdm("audit", str(odd), "t", "--by", '" age "', *shlex.split(advised[1]))
    assert done.exit_code == 0, done.stderr


def test_a_list_of_columns_shows_blanks_at_the_ends(odd: Path) -> None:
    told = ppdm(
        "generalize", str(odd), "t", "--into", "x", "--require", 'k >= 5 on " age "', "--limit", " age =5"
    )
    assert (told.exit_code, 'Its columns are: " age ", ' in told.stderr) == (2, True), told.stderr


def test_names_in_quotes_are_read_by_every_option_of_columns(odd: Path) -> None:
    noise = ["--noise", '"diag\'nosis"=cells 0,10,20']
    made = ppdm(
        "randomize", str(odd), "t", "--into", "r", *noise, "--identifier", '"birth date"=pseudonym', "--quiet"
    )
    assert made.exit_code == 0, made.stderr
    read = ppdm("reconstruct", str(odd), "r", "--into", "d", "--column", '"diag\'nosis"', "--quiet")
    assert read.exit_code == 0, read.stderr
    limited = ppdm(
        "generalize", str(odd), "t", "--into", "g", "-r", 'k >= 5 on "tri""age"', "--limit", 'tri"age=2', "-q"
    )
    assert limited.exit_code == 0, limited.stderr


def test_names_in_a_list_need_quotes_for_commas_and_quotes_alone(odd: Path) -> None:
    for typed in ("diag'nosis, birth date", '"diag\'nosis",birth date'):
        made = ppdm("audit", str(odd), "t", "--by", typed, "-q")
        assert made.exit_code == 0, made.stderr
    told = ppdm("audit", str(odd), "t", "--by", "birth date diag'nosis", "-q")
    assert told.exit_code == 2
    assert "birth date diag'nosis" in told.stderr


def test_values_that_are_not_listed_are_told_with_an_option_to_paste(odd: Path) -> None:
    execute(odd, "ALTER TABLE t ADD COLUMN \"o'k\" VARCHAR; UPDATE t SET \"o'k\" = 'x' || rowid % 3")
    told = ppdm("randomize", str(odd), "t", "--into", "r", "--noise", '"o\'k"=retain 0.7 of x0,x1', "-q")
    assert told.exit_code == 2
    assert "in 33 records" in told.stderr
    advised = re.search(r"List all values in (--noise .+)\.\n", told.stderr)
    assert advised is not None, told.stderr
    assert shlex.split(advised[1]) == ["--noise", '"o\'k"=retain ... of A,B,C']


def test_a_spreadsheet_alone_is_told_as_one(tmp_path: Path) -> None:
    (tmp_path / "visits.xlsx").write_bytes(b"PK")
    told = ppdm("audit", str(tmp_path / "visits.xlsx"))
    assert (told.exit_code, "is a spreadsheet" in told.stderr) == (2, True), told.stderr


@pytest.mark.parametrize("what", ["missing", "no database"])
def test_a_file_that_was_made_for_nothing_is_removed(tmp_path: Path, odd: Path, what: str) -> None:
    other = tmp_path / "none.duckdb" if what == "missing" else tmp_path / "text.duckdb"
    if what == "no database":
        other.write_text("not a database, but longer than the header of one" * 100)
    made = tmp_path / "made.duckdb"
    words = ["generalize", str(made), "o.main.t", "--attach", f"{other} AS o", "--into", "s"]
    told = ppdm(*words, "--require", 'k >= 5 on "a=b"')
    assert (told.exit_code, made.exists()) == (3, False), told.stderr
    assert not list(tmp_path.glob("made*"))


def test_comparing_needs_a_file_that_can_be_read_only(odd: Path) -> None:
    odd.chmod(0o444)
    found = ppdm("compare", str(odd), "t", "--qi", '" age "', "--k", "5", "--quiet")
    assert found.exit_code == 0, found.stderr
    words = ["--keep-best", "loss", "--into", "best"]
    told = ppdm("compare", str(odd), "t", "--qi", '" age "', "--k", "5", *words)
    assert (told.exit_code, "is read-only" in told.stderr) == (3, True), told.stderr
    call = "FROM ppdm_compare('t', qi := [' age '], k := [5])"
    assert ppdm("sql", str(odd), "-q", call).exit_code == 0
    call = "FROM ppdm_compare('t', qi := [' age '], k := [5], keep_best := 'loss', \"into\" := 'best')"
    told = ppdm("sql", str(odd), "-q", call)
    assert (told.exit_code, "open read-only" in told.stderr) == (3, True), told.stderr


def test_comparing_makes_no_file_that_holds_nothing(odd: Path, tmp_path: Path) -> None:
    execute(odd, f"COPY t TO '{tmp_path / 't.parquet'}'")
    words = ["--qi", '" age "', "--k", "5", "--quiet"]
    found = ppdm("compare", str(tmp_path / "new.duckdb"), str(tmp_path / "t.parquet"), *words)
    assert (found.exit_code, list(tmp_path.glob("new*"))) == (0, []), found.stderr
    alone = ppdm("compare", str(tmp_path / "t.parquet"), *words)
    assert (alone.exit_code, alone.stdout[:7]) == (0, "setting"), alone.stderr
    best = ["--keep-best", "loss", "--into", "best"]
    lost = ppdm("compare", str(tmp_path / "t.parquet"), *words, *best)
    assert (lost.exit_code, "nothing is kept" in lost.stderr) == (2, True), lost.stderr
    found = ppdm("compare", str(tmp_path / "new.duckdb"), str(tmp_path / "t.parquet"), *words, *best)
    assert (found.exit_code, (tmp_path / "new.duckdb").exists()) == (0, True), found.stderr
    told = ppdm("compare", str(tmp_path / "other.duckdb"), "nope", *words)
    assert (told.exit_code, "There is no database file" in told.stderr) == (3, True), told.stderr


def test_a_database_that_is_open_read_only_is_told_in_words(odd: Path) -> None:
    with ppdm_sql.open(odd, read_only=True) as db:
        for work in (
            lambda: db.generalize("t", ['k >= 5 on " age "'], into="x", ranges={" age ": (0, 50)}),
            lambda: db.train("t", class_column="a=b", mode="original", into="x"),
            lambda: db.compare("t", quasi_identifier=[" age "], k=[5], keep_best="loss", into="x"),
        ):
            with pytest.raises(DatabaseUnavailable, match="open read-only, and this writes into it"):
                work()


def test_the_name_of_the_best_setting_is_checked_first(odd: Path) -> None:
    words = ["compare", str(odd), "t", "--qi", '" age "', "--k", "5", "--keep-best", "loss", "--into", "t"]
    told = ppdm(*words)
    assert (told.exit_code, "trying" in told.stderr) == (2, False), told.stderr
    assert "There is a table or view 't' already." in told.stderr


def test_a_full_disk_leaves_no_part_of_a_small_file(
    odd: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import errno
    import os

    def full(number: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    for name, words in {
        "draft.csv": ["taxonomy", "suggest", str(odd), "t", " age ", "--into"],
        "k.key": ["randomize", str(odd), "t", "--into", "r", "--noise", "kosten €=cells 3", "--key-file"],
    }.items():
        told = ppdm(*words, str(tmp_path / name))
        assert (told.exit_code, "The disk is full" in told.stderr) == (3, True), told.stderr
        assert not (tmp_path / name).exists()


def test_a_commit_for_which_there_is_no_room_is_no_conflict() -> None:
    from ppdm_sql.engine.faults import explained, is_conflict

    text = 'Failed to commit: Could not write file "/a/b.duckdb.wal": No space left on device'
    cause = duckdb.TransactionException(text)
    assert not is_conflict(cause, inside=True)
    error = explained("commit", cause, inside=True, read=list)
    assert isinstance(error, EngineError)
    assert error.problem.startswith("The disk is full: the step 'commit' needs more room in /a")
