"""Errors of the command line: one sentence what is wrong, one what to type, no cell of the data."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from commands import TEMPLATE, assert_explained, execute, ppdm, suppress

import ppdm_sql

SUPPRESS = "suppress {} customers --class Rating --into safe --count n"
TEMPLATED = f"{SUPPRESS} --require '{TEMPLATE}'"
ERRORS = {
    "two roles": ("'Job'", f"{TEMPLATED} --identifier Job", ""),
    "empty table": ("no records", TEMPLATED, "DELETE FROM customers"),
    "empty channel": ("^", f"{SUPPRESS} --require '-> Bankruptcy = Discharged <= 50%'", ""),
    "negative count": ("'n'", TEMPLATED, "UPDATE customers SET n = -1 WHERE Job = 'Cook'"),
    "symbol in the data": ("--symbol", TEMPLATED, "UPDATE customers SET Job = '*' WHERE Job = 'Cook'"),
    "view exists": ("safe", TEMPLATED, "CREATE VIEW safe AS SELECT 1 AS one"),
    "bad threshold": ("--threshold", "audit {} customers --threshold 2", ""),
    "bad identifier": ("--identifier", f"{TEMPLATED} --identifier Job=hash", ""),
    "bad memory limit": ("memory limit 'plenty'", "audit {} customers --memory-limit plenty", ""),
    "memory limit of nothing": ("'0GB'", "audit {} customers --memory-limit 0GB", ""),
}


@pytest.mark.parametrize(("problem", "words", "before"), ERRORS.values(), ids=ERRORS)
def test_an_error_is_two_sentences_and_no_cell(bank: Path, problem: str, words: str, before: str) -> None:
    execute(bank, "SELECT 1", *([before] if before else []))
    result = ppdm(*shlex.split(words.format(bank)))
    assert_explained(result, code=2, problem=problem)


def test_a_release_name_in_use_is_refused(released: Path) -> None:
    result = suppress(released)
    assert_explained(result, code=2, problem="safe")


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    result = ppdm("releases", tmp_path / "none.duckdb")
    assert_explained(result, code=3, problem="none.duckdb")
    assert not (tmp_path / "none.duckdb").exists()


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "notes.duckdb"
    file.write_text("no database " * 1000)
    result = ppdm("releases", file)
    assert_explained(result, code=3, problem="not a DuckDB database")


def test_a_read_only_file_is_refused_by_what_writes_and_read_by_the_rest(bank: Path) -> None:
    bank.chmod(0o444)
    result = suppress(bank)
    assert_explained(result, code=3, problem="read-only")
    assert ppdm("audit", bank, "customers", "--quasi-identifier", "Job").exit_code == 0


def test_a_locked_file_is_refused(bank: Path) -> None:
    hold = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print('held', flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", hold, str(bank)]
    holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    holder.stdout.readline()
    result = suppress(bank)
    holder.communicate("")
    assert_explained(result, code=3, problem="another process")


def test_the_unforeseen_is_told_without_its_cause(bank: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise KeyError("Trader from Canada")

    monkeypatch.setattr(ppdm_sql.Database, "releases", fail)
    result = ppdm("releases", bank)
    assert_explained(result, code=3, problem="KeyError")
    assert "Traceback" in ppdm("releases", bank, "--debug").stderr


def test_the_engines_words_need_debug(bank: Path) -> None:
    execute(bank, "CREATE VIEW broken AS SELECT CAST(Job AS INTEGER) AS Job FROM customers")
    asked = ["audit", bank, "broken", "--quasi-identifier", "Job"]
    result = ppdm(*asked)
    assert_explained(result, code=3, problem="Reading broken failed")
    assert result.stderr.endswith(
        "Check that FROM broken works. Run again with --debug to see the engine's own words.\n"
    )
    assert "Could not convert" in ppdm(*asked, "--debug").stderr
