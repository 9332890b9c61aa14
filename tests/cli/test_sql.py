"""``ppdm sql``: statements as words, in a file, from standard input, and at a prompt."""

from __future__ import annotations

import json
import os
import re
import select
import stat
import sys
import time
from pathlib import Path
from typing import Any

import commands
import pytest
from commands import assert_explained, ppdm, spawn

from ppdm_sql.cli.sql import own_words
from ppdm_sql.sql_calls.calls import is_complete, with_quoted_arguments

CALL = """CALL ppdm_suppress('customers', into := 'safe', class := 'Rating', count := 'n',
    require := ['Job, Country -> Bankruptcy = Discharged <= 50%'])"""


def rows(result: Any) -> Any:
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_a_statement_is_printed_in_every_format(bank: Path) -> None:
    query = "SELECT sum(n) AS n, NULL AS nothing FROM customers"
    expected = {
        "json": '[\n  {\n    "n": 24,\n    "nothing": null\n  }\n]\n',
        "jsonl": '{"n": 24, "nothing": null}\n',
        "csv": "n,nothing\n24,\n",
        "markdown": "| n | nothing |\n| --- | --- |\n| 24 | NULL |\n",
    }
    assert {form: ppdm("sql", bank, query, "--format", form).stdout for form in expected} == expected
    assert "nothing" in ppdm("sql", bank, query).stdout


def test_moments_in_time_zones_are_shown_as_text(tmp_path: Path) -> None:
    """Python holds them only with a package that nothing here needs."""
    seen = tmp_path / "seen.duckdb"
    made = "CREATE TABLE t AS SELECT i, TIMESTAMPTZ '2024-01-01 12:00:00+00' AS day FROM range(4) r(i)"
    assert ppdm("sql", seen, "--write", f"SET TimeZone = 'UTC'; {made}").exit_code == 0
    moment = "2024-01-01 12:00:00+00"
    query = "SET TimeZone = 'UTC'; SELECT day, [day] AS days, i AS day FROM t ORDER BY i DESC LIMIT 1;"
    assert ppdm("sql", seen, query, "-f", "csv").stdout == f"day,days,day\n{moment},['{moment}'],3\n"
    pivoted = ppdm("sql", seen, "SET TimeZone = 'UTC'; PIVOT t ON i USING count(*);")
    if moment not in pivoted.stdout:  # as before DuckDB 2.0.1
        assert_explained(pivoted, code=2, problem="time zone cannot be shown")
    worst = rows(ppdm("audit", seen, "t", "--require", "k >= 4 on day", "--show-groups", "-f", "json"))
    assert "2024-01-01" in json.dumps(worst)
    assert ppdm("suppress", seen, "t", "--require", "k >= 2 on day", "--into", "s").exit_code == 0
    assert "2024-01-01" in json.dumps(rows(ppdm("show", seen, "s", "-f", "json")))
    assert ppdm("report", seen, "s", tmp_path / "owner.html").exit_code == 0


def test_a_call_with_quoted_arguments_makes_a_release(bank: Path) -> None:
    (made,) = rows(ppdm("sql", bank, "--write", CALL, "--format", "json"))
    assert (made["release"], made["verdict"]) == ("safe", "verified")
    assert commands.execute(bank, "SELECT sum(n) FROM safe") == [(24,)]


def test_several_statements_run_in_order(bank: Path) -> None:
    done = ppdm(
        "sql", bank, "CREATE TEMP TABLE t AS SELECT 1 AS a; INSERT INTO t VALUES (2);", "FROM t", "-f", "csv"
    )
    assert (done.stdout, done.stderr) == ("a\n1\n2\n", "Rows: 1.\nRows: 1.\n")


def test_statements_come_from_a_file(bank: Path, tmp_path: Path) -> None:
    script = tmp_path / "a script.sql"
    script.write_text(
        "-- into := nothing\nSELECT 'into := x' AS a;\nSELECT 2 AS b -- no end", encoding="utf-8"
    )
    assert ppdm("sql", bank, "--file", script, "-f", "csv").stdout == "a\ninto := x\n\nb\n2\n"


def test_statements_come_from_standard_input(bank: Path) -> None:
    process = spawn("sql", bank, "--format", "jsonl", stdin=-1)
    assert process.communicate("SELECT 1 AS a;\nSELECT 2 AS a")[0] == '{"a": 1}\n{"a": 2}\n'
    assert process.returncode == 0


def test_nothing_given_prints_nothing(bank: Path) -> None:
    process = spawn("sql", bank, stdin=-1)
    assert process.communicate("  ") == ("", "")


def test_a_file_is_made_with_write_only(tmp_path: Path) -> None:
    file = tmp_path / "new.duckdb"
    assert_explained(ppdm("sql", file, "SELECT 1"), code=3, problem="There is no database file")
    assert ppdm("sql", file, "--write", "CREATE TABLE t AS SELECT 1 AS a").exit_code == 0
    assert commands.execute(file, "FROM t") == [(1,)]


def test_a_file_is_read_only_without_write(bank: Path) -> None:
    assert_explained(ppdm("sql", bank, "DROP TABLE customers"), code=3, problem="Give --write to change it.")
    assert_explained(ppdm("sql", bank, CALL), code=3, problem="ppdm_suppress writes into it.")


@pytest.mark.parametrize(
    ("sql", "code", "problem"),
    [
        ("SELEC 1", 2, "syntax error"),
        ("SELECT 1; SELEC 2", 2, "syntax error"),
        ("FROM custmers", 2, "custmers"),
        ("CALL ppdm_export('nothing', 'x.csv')", 2, "There is no release 'nothing'."),
        ("SELECT ppdm_parse_requirement('k > 3 on a')", 2, "Example: k >= 4"),
        ("SELECT Job::INTEGER FROM customers", 3, "refused the statement (ConversionException)"),
        ("SELECT error('One ' || Job) FROM customers", 3, "refused the statement (InvalidInputException)"),
        ("FROM ppdm_risk('customers', [])", 2, "No column is in qi."),
        ("FROM ppdm_risk('customers', ['Job', 'job'])", 2, "A column is in qi twice."),
        ("SELECT ppdm_gaussian_noise(1, -2, 1, 'k')", 2, "The scale of noise is below 0"),
    ],
)
def test_errors_have_the_exit_codes_of_their_kind(bank: Path, sql: str, code: int, problem: str) -> None:
    assert_explained(ppdm("sql", bank, sql), code=code, problem=problem)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "Invalid Input Error: A column is in qi twice: Job",
            ("A column is in qi twice.", "Check the arguments of the call."),
        ),
        (
            "Invalid Input Error: No column is in qi: give a list of names, such as ['Age', 'Sex'].",
            ("No column is in qi.", "Give a list of names, such as ['Age', 'Sex']."),
        ),
        (
            "Invalid Input Error: The sensitive column is in qi, too: Job",
            ("The sensitive column is in qi, too.", "Check the arguments of the call."),
        ),
        (
            "Invalid Input Error: The key of a pseudonym is NULL. Give a secret text.",
            ("The key of a pseudonym is NULL.", "Give a secret text."),
        ),
        ("Conversion Error: Could not convert string 'Ann' to INT32", None),
        ("Invalid Input Error: The value 'Ann' is none", None),
    ],
)
def test_only_the_words_of_macros_are_told_and_no_name_behind_them(
    text: str, said: tuple[str, str] | None
) -> None:
    assert own_words(text) == said


def test_a_guarantee_that_cannot_be_met_exits_with_one(bank: Path) -> None:
    sql = CALL.replace("Job, Country -> Bankruptcy = Discharged <= 50%", "k >= 99 on Job")
    assert_explained(ppdm("sql", bank, "--write", sql), code=1, problem="Nothing can meet")


def test_debug_shows_the_engines_words(bank: Path) -> None:
    done = ppdm("sql", bank, "SELECT Job::INTEGER FROM customers", "--debug")
    assert "The engine's words: Conversion Error" in done.stderr


def test_the_first_error_ends_the_run(bank: Path) -> None:
    done = ppdm("sql", bank, "SELECT 1 AS a; FROM nothing; SELECT 2 AS a", "-f", "csv")
    assert (done.exit_code, done.stdout) == (2, "a\n1\n")


def test_a_call_in_a_transaction_is_refused_in_words(bank: Path) -> None:
    done = ppdm("sql", bank, "--write", f"BEGIN; INSERT INTO customers FROM customers; {CALL}", "-q")
    assert_explained(done, code=3, problem="A transaction is open on this connection")
    assert commands.execute(bank, "SELECT sum(n) FROM customers") == [(24,)]


def test_statements_are_given_once(bank: Path, tmp_path: Path) -> None:
    assert_explained(ppdm("sql", bank, "SELECT 1", "--file", tmp_path), code=2, problem="given twice")
    assert_explained(ppdm("sql", bank, "--file", tmp_path / "none"), code=2, problem="cannot be read")


def test_a_plan_is_readable(bank: Path) -> None:
    assert "\n" in ppdm("sql", bank, "EXPLAIN FROM customers").stdout.strip()


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("f(into := 1)", 'f("into" := 1)'),
        ("f(INTO=>1)", 'f("into"=>1)'),
        (
            "f(limit := {'a': 2}, to := 'x', column := 'y')",
            "f(\"limit\" := {'a': 2}, \"to\" := 'x', \"column\" := 'y')",
        ),
        ("SELECT columns FROM t ORDER BY to_date LIMIT 3", None),
        ("INSERT INTO t SELECT 1", None),
        (
            "SELECT 'into := 1', \"into := 2\", $$ into := $$, E'\\' into := ' -- into := 3\n/* into := 4 */",
            None,
        ),
        ("f($a$ ' $a$, into := 'x''into := ')", "f($a$ ' $a$, \"into\" := 'x''into := ')"),
    ],
)
def test_reserved_words_are_quoted_where_they_name_an_argument(written: str, read: str | None) -> None:
    assert with_quoted_arguments(written) == (read or written)


@pytest.mark.parametrize(
    "text", ["SELECT ';", "SELECT 1; -- ;\nSELECT 2", "/* ;", 'SELECT "a;', "SELECT $$;", ""]
)
def test_a_semicolon_in_a_literal_ends_nothing(text: str) -> None:
    assert not is_complete(text)


# -- the prompt -------------------------------------------------------------------------------


class Terminal:
    """A pseudo-terminal with ``ppdm sql`` on it."""

    def __init__(self, file: Path, state: Path, *words: str) -> None:
        import pty

        self.pid, self.end = pty.fork()
        if self.pid == 0:
            environment = {**os.environ, "XDG_STATE_HOME": str(state), "TERM": "xterm"}
            os.execve(
                sys.executable, [sys.executable, "-m", "ppdm_sql", "sql", str(file), *words], environment
            )
        self.seen = ""

    def expect(self, text: str) -> str:
        """Read until a text appears, and give what came, without control sequences."""
        began, deadline = len(self.seen), time.monotonic() + 60
        while text not in self.seen[began:]:
            assert time.monotonic() < deadline, self.seen
            if select.select([self.end], [], [], 0.1)[0]:
                read = os.read(self.end, 65536)
                if b"\x1b[6n" in read:  # where is the cursor?
                    os.write(self.end, b"\x1b[1;1R")
                self.seen += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", read.decode(errors="replace"))
        return self.seen[began:]

    def type(self, text: str) -> None:
        """Type as a person does, who waits a little."""
        time.sleep(0.3)
        os.write(self.end, text.encode())

    def leave(self) -> int:
        self.type("\x04")
        _, status = os.waitpid(self.pid, 0)
        os.close(self.end)
        return os.waitstatus_to_exitcode(status)


@pytest.mark.skipif(os.name != "posix", reason="pseudo-terminals are those of POSIX")
def test_the_prompt_reads_lines_completes_names_and_keeps_history(bank: Path, tmp_path: Path) -> None:
    terminal = Terminal(bank, tmp_path / "state")
    assert "values included" in terminal.expect("ppdm>")
    terminal.type("SELECT sum(n) AS records\r")
    terminal.expect("...>")
    terminal.type("FROM custo\t")
    terminal.expect("customers")
    terminal.type(";\r")
    assert "24" in terminal.expect("24")
    terminal.type("FROM nothing;\r")
    terminal.expect("Error: Catalog Error")
    terminal.type("FROM ppdm_ri\t")
    terminal.expect("sk")  # what was typed may be on the screen already
    terminal.type("('customers', ['Job']);\r")
    terminal.expect("marketer")
    assert terminal.leave() == 0
    history = tmp_path / "state" / "ppdm-sql" / "history"
    assert stat.S_IMODE(history.stat().st_mode) == 0o600
    assert "+FROM customers;" in history.read_text()


@pytest.mark.skipif(os.name != "posix", reason="pseudo-terminals are those of POSIX")
def test_the_prompt_knows_dot_commands_and_keeps_no_history_where_none_is_wanted(
    bank: Path, tmp_path: Path
) -> None:
    terminal = Terminal(bank, tmp_path / "state", "--no-history")
    terminal.expect("ppdm>")
    terminal.type("SELECT 6 * 7;\r")
    terminal.expect("42")
    terminal.type(".help\r")
    terminal.expect("CALL ppdm_releases(); lists the releases.")
    terminal.type(".tables\r")
    terminal.expect("customers")
    terminal.type(".read x.sql\r")
    said = terminal.expect("Type .help to list them.")
    assert "Error: There is no such dot command here." in said
    terminal.type(".quit\r")
    _, status = os.waitpid(terminal.pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert not (tmp_path / "state").exists()
