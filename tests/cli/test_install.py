"""``ppdm install`` and ``ppdm uninstall``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from commands import assert_explained, execute, ppdm

from ppdm_sql.macros import macros

QUERY = "SELECT records, classes, k FROM ppdm_risk('policies', ['Age', 'Gender'])"
HOLDING = (
    "import sys, duckdb\n"
    "con = duckdb.connect(sys.argv[1], read_only=True)\n"
    "print(con.execute(sys.argv[2]).fetchall(), flush=True)\n"
    "sys.stdin.read()\n"
)


def hold(file: Path) -> subprocess.Popen[str]:
    """Keep a file open in another process, once it has answered a query."""
    command = [sys.executable, "-c", HOLDING, str(file), QUERY]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_install_puts_the_macros_into_the_file_and_says_what_to_type(bank: Path) -> None:
    result = ppdm("install", bank)
    assert (result.exit_code, result.stdout) == (0, "")
    assert "ppdm_risk" in result.stderr and f"duckdb {bank}" in result.stderr
    assert execute(bank, QUERY) == [(16, 6, 1)]


def test_install_twice_and_uninstall_twice_are_fine(bank: Path) -> None:
    for _ in range(2):
        assert ppdm("install", bank).exit_code == 0
    assert "Removed ppdm_closeness" in ppdm("uninstall", bank).stderr
    again = ppdm("uninstall", bank)
    assert again.exit_code == 0 and "No macros" in again.stderr
    left = "SELECT count(*) FROM duckdb_functions() WHERE function_name LIKE 'ppdm%'"
    assert execute(bank, left) == [(0,)]


def test_an_older_version_is_named_when_it_is_replaced(bank: Path) -> None:
    ppdm("install", bank)
    comments = (
        "SELECT format('COMMENT ON MACRO {} {}.{} IS ''Old. Installed by ppdm-sql 0.0.9.''', "
        "if(function_type = 'table_macro', 'TABLE', ''), schema_name, function_name) "
        "FROM duckdb_functions() WHERE function_name LIKE 'ppdm%'"
    )
    execute(bank, *(text for (text,) in execute(bank, comments)))
    assert " in place of 0.0.9: ppdm_closeness" in ppdm("install", bank).stderr


def test_no_short_names_leaves_the_main_schema_alone(bank: Path) -> None:
    result = ppdm("install", bank, "--no-short-names")
    assert "ppdm.ppdm_risk" in result.stderr
    query = "SELECT DISTINCT schema_name FROM duckdb_functions() WHERE function_name LIKE 'ppdm%'"
    assert execute(bank, query) == [("ppdm",)]


@pytest.mark.parametrize("command", ["install", "uninstall"])
def test_sql_prints_the_statements_and_changes_nothing(bank: Path, command: str) -> None:
    for words in (["install"], ["uninstall"])[: 1 + (command == "install")]:
        quiet = ppdm(*words, bank, "--quiet")
        assert (quiet.exit_code, quiet.output) == (0, "")
    before = bank.read_bytes()
    result = ppdm(command, bank, "--sql")
    assert result.exit_code == 0 and result.stderr == ""
    assert bank.read_bytes() == before
    execute(bank, *(part for part in result.stdout.split(";\n") if part.strip()))
    left = "SELECT count(*) FROM duckdb_functions() WHERE function_name LIKE 'ppdm%'"
    assert execute(bank, left) == [(2 * len(macros()) if command == "install" else 0,)]


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    for command in ("install", "uninstall"):
        assert_explained(ppdm(command, tmp_path / "no.duckdb"), code=3, problem="There is no database file")


def test_two_clients_ask_while_a_third_that_would_write_is_refused(bank: Path) -> None:
    ppdm("install", bank, "--quiet")
    with hold(bank) as first, hold(bank) as second:
        for client in (first, second):
            assert client.stdout is not None and client.stdout.readline() == "[(16, 6, 1)]\n"
        assert_explained(ppdm("install", bank), code=3, problem="open in another process")
        for client in (first, second):
            client.communicate("")
    assert ppdm("install", bank).exit_code == 0


def test_a_macro_of_yours_is_in_the_way(bank: Path) -> None:
    execute(bank, "CREATE MACRO ppdm_risk(a) AS a")
    result = ppdm("install", bank)
    assert_explained(result, code=2, problem="macro main.ppdm_risk already")
    assert "--no-short-names" in result.stderr
    assert ppdm("install", bank, "--no-short-names").exit_code == 0
