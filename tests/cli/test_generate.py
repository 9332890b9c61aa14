"""``ppdm generate agrawal``: what it makes, prints and refuses."""

from __future__ import annotations

import json
from pathlib import Path

from commands import assert_explained, execute, ppdm

WORDS = ("--function", "2", "--rows", "100", "--into", "people")


def test_a_file_is_made_and_holds_the_table(tmp_path: Path) -> None:
    file = tmp_path / "new.duckdb"
    result = ppdm("generate", "agrawal", file, *WORDS, "--seed", "3", "--format", "json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout) == [
        {"class": "Group A", "records": 50},
        {"class": "Group B", "records": 50},
    ]
    assert result.stderr == f"Made {file}.\nMade table people: 100 records, seed 3.\n"
    assert execute(file, "SELECT count(*), count(DISTINCT salary) FROM people") == [(100, 100)]
    ((tags,),) = execute(file, "SELECT tags FROM duckdb_databases() WHERE database_name = 'new'")
    assert "v1.0.0" in str(tags)


def test_the_seed_that_is_told_makes_the_same_table(tmp_path: Path) -> None:
    file = tmp_path / "new.duckdb"
    told = ppdm("generate", "agrawal", file, *WORDS, "--no-balanced")
    seed = told.stderr.rstrip(".\n").rpartition(" ")[2]
    again = [*WORDS[:-1], "again", "--no-balanced", "--seed", seed, "--quiet"]
    quiet = ppdm("generate", "agrawal", file, *again)
    assert (quiet.exit_code, quiet.stderr) == (0, "")
    assert execute(file, "FROM people EXCEPT FROM again") == []


def test_the_statements_are_printed_and_nothing_is_made(tmp_path: Path) -> None:
    file = tmp_path / "new.duckdb"
    result = ppdm("generate", "agrawal", file, *WORDS, "--sql")
    assert result.exit_code == 0, result.stderr
    assert "CREATE TABLE" in result.stdout and "COMMIT" in result.stdout
    assert not file.exists()


def test_what_cannot_be_is_explained(tmp_path: Path) -> None:
    file = tmp_path / "new.duckdb"
    wrong = ppdm("generate", "agrawal", file, "--function", "7", *WORDS[2:])
    assert_explained(wrong, code=2, problem="function 7")
    assert ppdm("generate", "agrawal", file, *WORDS).exit_code == 0
    assert_explained(ppdm("generate", "agrawal", file, *WORDS), code=2, problem="'people'")
    assert ppdm("generate", "agrawal", file).exit_code == 2
