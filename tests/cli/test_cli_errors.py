"""Errors of the command line: one sentence what is wrong, one what to type, no cell of the data."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from commands import TEMPLATE, assert_explained, execute, ppdm, suppress

import ppdm_sql

SUPPRESS = ["--class", "Rating", "--into", "safe", "--count", "n"]


def case(name: str, code: int, problem: str, words: list[str], *setup: str) -> Any:
    return pytest.param(code, problem, words, setup, id=name)


@pytest.mark.parametrize(
    ("code", "problem", "words", "setup"),
    [
        case("missing table", 2, "custmers", ["suppress", "custmers", "--require", TEMPLATE, *SUPPRESS]),
        case(
            "missing column",
            2,
            "Its columns are: Country",
            ["suppress", "customers", "--require", "Countri -> Bankruptcy <= 50%", *SUPPRESS],
        ),
        case(
            "two roles",
            2,
            "'Job'",
            ["suppress", "customers", "--require", TEMPLATE, *SUPPRESS, "--identifier", "Job"],
        ),
        case(
            "class is sensitive",
            2,
            "'Rating'",
            ["suppress", "customers", "--require", "Job -> Rating = Bad <= 90%", *SUPPRESS],
        ),
        case(
            "empty table",
            2,
            "no records",
            ["suppress", "customers", "--require", TEMPLATE, *SUPPRESS],
            "DELETE FROM customers",
        ),
        case(
            "empty channel",
            2,
            "^",
            ["suppress", "customers", "--require", "-> Bankruptcy = Discharged <= 50%", *SUPPRESS],
        ),
        case(
            "threshold over 1",
            2,
            "outside (0, 1]",
            ["suppress", "customers", "--require", "Job -> Bankruptcy = Discharged <= 150%", *SUPPRESS],
        ),
        case(
            "threshold 0",
            2,
            "outside (0, 1]",
            ["suppress", "customers", "--require", "Job -> Bankruptcy = Discharged <= 0%", *SUPPRESS],
        ),
        case(
            "negative count",
            2,
            "'n'",
            ["suppress", "customers", "--require", TEMPLATE, *SUPPRESS],
            "UPDATE customers SET n = -1 WHERE Job = 'Cook'",
        ),
        case(
            "null count",
            2,
            "'n'",
            ["suppress", "customers", "--require", TEMPLATE, *SUPPRESS],
            "UPDATE customers SET n = NULL WHERE Job = 'Cook'",
        ),
        case(
            "symbol in the data",
            2,
            "--symbol",
            ["suppress", "customers", "--require", TEMPLATE, *SUPPRESS],
            "UPDATE customers SET Job = '*' WHERE Job = 'Cook'",
        ),
        case(
            "view exists",
            2,
            "safe",
            ["suppress", "customers", "--require", TEMPLATE, *SUPPRESS],
            "CREATE VIEW safe AS SELECT 1 AS one",
        ),
        case(
            "no solution",
            1,
            "Bankruptcy",
            ["suppress", "customers", "--require", "Job -> Bankruptcy = Discharged <= 10%", *SUPPRESS],
        ),
        case("unknown release", 2, "sfae", ["show", "sfae"]),
        case("bad threshold", 2, "--threshold", ["audit", "customers", "--threshold", "2"]),
        case(
            "bad identifier",
            2,
            "--identifier",
            ["suppress", "customers", "--require", TEMPLATE, *SUPPRESS, "--identifier", "Job=hash"],
        ),
        case(
            "bad memory limit",
            2,
            "memory limit 'plenty'",
            ["audit", "customers", "--memory-limit", "plenty"],
        ),
        case(
            "memory limit that is none",
            2,
            "memory limit '-1'",
            ["audit", "customers", "--memory-limit", "-1"],
        ),
        case("memory limit of nothing", 2, "'0GB'", ["audit", "customers", "--memory-limit", "0GB"]),
    ],
)
def test_an_error_is_two_sentences_and_no_cell(
    bank: Path, code: int, problem: str, words: list[str], setup: tuple[str, ...]
) -> None:
    execute(bank, "SELECT 1", *setup)
    result = ppdm(words[0], bank, *words[1:])
    assert_explained(result, code=code, problem=problem)


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
