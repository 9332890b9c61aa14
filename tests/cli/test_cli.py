"""The command line: what it prints where, its exit codes, the life of a release."""

from __future__ import annotations

import csv
import json
import re
import shlex
from pathlib import Path
from typing import Any

import duckdb
import pytest
from commands import CELLS, TEMPLATE, execute, ppdm, spawn, suppress

import ppdm_sql
from ppdm_sql.cli.app import COMMANDS

NAMES = list(COMMANDS)
GROUPS = {
    "taxonomy": ("show", "add", "suggest"),
    "generate": ("agrawal",),
    "integrate": ("serve", "join", "keygen", "transcript"),
}

# -- help and usage -----------------------------------------------------------------------------


def test_help_lists_every_command() -> None:
    listed = ppdm("--help").stdout
    assert all(f"\n  {name} " in listed for name in NAMES)


def test_every_command_has_an_example_in_its_help() -> None:
    for name in NAMES:
        result = ppdm(name, "--help")
        assert result.exit_code == 0
        assert f"Examples:\n    ppdm {name}" in result.stdout
    for name, commands in GROUPS.items():
        for command in commands:
            assert f"\n  {command} " in ppdm(name, "--help").stdout
            text = ppdm(name, command, "--help").stdout
            assert re.search(rf"Examples?:\s+ppdm {name} {command} ", text)


def test_every_command_appears_in_the_readme() -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    assert [name for name in NAMES if f"ppdm {name}" not in readme] == []


@pytest.mark.parametrize(
    "words",
    ["suppress a b", "steps a", "nonsense", "steps a b --format xml", "steps a b --x"],
)
def test_misuse_exits_with_2_and_says_so_on_stderr(words: str) -> None:
    result = ppdm(*words.split())
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "Error: " in result.stderr


def test_version_and_folder_of_step_files_are_those_of_the_package() -> None:
    assert ppdm("--version").stdout == f"{ppdm_sql.__version__}\n"
    folder = Path(ppdm("sql-path").stdout.strip())
    assert (folder / "examples" / "customers.sql").is_file()


# -- stdout is data, stderr the rest ------------------------------------------------------------


def test_suppress_prints_data_on_stdout_and_notices_on_stderr(bank: Path) -> None:
    result = suppress(bank, "--format", "json")
    assert result.exit_code == 0
    measures = json.loads(result.stdout)["measures"]
    assert [m["after"] for m in measures if m["measure"] == f"confidence: {TEMPLATE}"] == [0.5]
    assert "Published safe: 24 records" in result.stderr
    assert f"ppdm show {bank} safe" in result.stderr


def test_redundant_templates_are_said_to_be_so(bank: Path) -> None:
    result = suppress(bank, "--require", "Job -> Bankruptcy = Discharged <= 75%")
    assert result.exit_code == 0
    assert "Note: 'Job -> Bankruptcy = Discharged <= 75%' follows from" in result.stderr


# -- audit and verify ---------------------------------------------------------------------------


def test_audit_exits_by_whether_requirements_hold(bank: Path) -> None:
    for require, code in ((TEMPLATE, 1), (TEMPLATE.replace("50%", "80%"), 0)):
        result = ppdm("audit", bank, "customers", "--count", "n", "--require", require, "--format", "json")
        assert result.exit_code == code
        assert json.loads(result.stdout)


def test_audit_measures_without_a_limit_and_no_other_command_does(bank: Path) -> None:
    asked = ("customers", "--count", "n", "--require", "Job -> Bankruptcy")
    result = ppdm("audit", bank, *asked, "--require", "l of Bankruptcy on Job", "--format", "json")
    assert result.exit_code == 0
    rows = json.loads(result.stdout)["Requirements"]
    assert [(row["holds"], row["limit"], row["reached"]) for row in rows] == [(None, None, 1)] * 2
    refused = ppdm("suppress", bank, *asked, "--class", "Rating", "--into", "x")
    assert refused.exit_code == 2
    assert "only ppdm audit takes a requirement without a limit" in refused.stderr


def test_audit_lists_many_columns_once_and_numbers_requirements(bank: Path) -> None:
    wide = [f"column_{place}" for place in range(33)]
    ones = ", ".join(f"1 AS {name}" for name in wide)
    execute(bank, f"CREATE TABLE wide AS SELECT Job, {ones} FROM customers")
    asked = ("--require", f"k >= 1 on {', '.join(wide)}", "--require", f"{', '.join(wide)} -> Job <= 100%")
    result = ppdm("audit", bank, "wide", *asked, "--show-groups")
    assert result.exit_code == 0, result.stderr
    assert "Class sizes on the columns of requirement 1" in result.stdout
    assert "Inferences from the columns of requirement 1 to Job" in result.stdout
    assert "Worst groups of requirement 2" in result.stdout
    assert result.stdout.count("column_32") == 4  # in two requirements, and over two lists of groups


def test_audit_names_no_group_unless_asked(bank: Path) -> None:
    asked = ["audit", bank, "customers", "--count", "n", "--require", TEMPLATE]
    assert not any(cell in ppdm(*asked).stdout for cell in CELLS)
    assert "Trader" in ppdm(*asked, "--show-groups", "--groups", "3").stdout


def test_verify_accepts_a_release_and_refuses_a_changed_one(released: Path) -> None:
    assert ppdm("verify", released, "safe").exit_code == 0
    ((frozen,),) = execute(
        released,
        "SELECT table_name FROM duckdb_columns() WHERE schema_name = 'ppdm' AND column_name = 'Bankruptcy'",
    )
    execute(released, f"""UPDATE ppdm."{frozen}" SET Bankruptcy = 'Discharged'""")
    assert ppdm("verify", released, "safe").exit_code == 1


# -- the life of a release ----------------------------------------------------------------------


def test_releases_lists_what_was_published(released: Path) -> None:
    (row,) = json.loads(ppdm("releases", released, "--format", "json").stdout)
    assert (row["release"], row["method"], row["source"], row["rows"]) == ("safe", "PDA", "customers", 24)


def test_show_prints_facts_measures_and_rows(released: Path) -> None:
    shown = json.loads(ppdm("show", released, "safe", "--format", "json").stdout)
    assert list(shown) == ["release", "measures", "cut", "rows"]
    assert sum(row["n"] for row in shown["rows"]) == 24


def test_show_of_a_wide_release_is_its_shape_unless_all_is_asked_for(bank: Path) -> None:
    wide = [f"w{place}" for place in range(30)]
    made = ", ".join(f"'{name} cell' AS {name}" for name in wide)
    execute(bank, f"CREATE TABLE wide AS SELECT *, {made} FROM customers")
    kept = ("--keep", ",".join(wide), "--class", "Rating", "--count", "n", "--into", "safe")
    assert ppdm("suppress", bank, "wide", *kept, "--require", TEMPLATE).exit_code == 0
    shape, whole = ppdm("show", bank, "safe"), ppdm("show", bank, "safe", "--all")
    assert len(shape.stdout.splitlines()) < 40
    assert all(name in shape.stdout for name in wide)
    assert "w3 cell" not in shape.stdout
    assert "--all" in shape.stderr
    assert "w3 cell" in whole.stdout
    assert "w3 cell" in ppdm("show", bank, "safe", "--format", "json").stdout


def test_show_goes_back_to_an_earlier_step_and_prints_partitions(released: Path) -> None:
    rows = json.loads(ppdm("show", released, "safe", "--step", "0", "--format", "json").stdout)
    assert {row["Job"] for row in rows} == {"*"}
    assert json.loads(ppdm("show", released, "safe", "--partitions", "--format", "json").stdout)


def test_export_writes_a_file_and_does_not_replace_it(released: Path, tmp_path: Path) -> None:
    file = tmp_path / "safe.csv"
    assert ppdm("export", released, "safe", file).exit_code == 0
    again = ppdm("export", released, "safe", file)
    assert again.exit_code == 2
    assert "--force" in again.stderr
    assert ppdm("export", released, "safe", file, "--force").exit_code == 0
    assert sum(int(row["n"]) for row in csv.DictReader(file.open())) == 24


def test_drop_removes_the_release(released: Path) -> None:
    assert ppdm("drop", released, "safe").exit_code == 0
    assert json.loads(ppdm("releases", released, "--format", "json").stdout) == []


def test_hostile_names_pass_through_the_command_line(tmp_path: Path) -> None:
    table, job, ill, label = '"; DROP TABLE x; --', 'a "b".c', "select", "naïve, Ω"
    file = tmp_path / "odd.duckdb"
    with duckdb.connect(str(file)) as connection:
        quoted = ['"' + name.replace('"', '""') + '"' for name in (table, job, ill, label)]
        connection.execute("CREATE TABLE {} ({} TEXT, {} TEXT, {} TEXT)".format(*quoted))
        connection.executemany(
            f"INSERT INTO {quoted[0]} VALUES (?, ?, ?)",
            [("p", "yes", "g"), ("p", "no", "b"), ("q", "no", "g")],
        )
    require = f"{quoted[1]} -> {quoted[2]} = yes <= 50%"
    into = "it's; a 'release'"
    words = ["suppress", file, table, "--require", require, "--class", label, "--into", into]
    assert ppdm(*words).exit_code == 0
    assert ppdm("verify", file, into).exit_code == 0
    (row,) = json.loads(ppdm("releases", file, "--format", "json").stdout)
    assert row["release"] == into


# -- processes ----------------------------------------------------------------------------------


def test_a_reader_that_leaves_early_is_no_error(released: Path) -> None:
    process = spawn("show", released, "safe", "--format", "jsonl")
    assert process.stdout is not None
    process.stdout.close()
    process.wait()
    assert process.stderr is not None
    assert process.stderr.read() == ""


def test_protected_values_that_do_not_occur_are_refused_unless_they_are_meant(bank: Path) -> None:
    publish = ("--class", "Rating", "--into", "safe")
    said = "Column 'Bankruptcy' does not hold the protected value 'never'."
    for command, more in (("audit", ()), ("suppress", publish), ("generalize", publish)):
        asked = (command, bank, "customers", "--count", "n", *more, *(["-q"] if more else []), "--require")
        refused = ppdm(*asked, "Job -> Bankruptcy IN (never, Discharged) <= 100%")
        assert refused.exit_code == 2
        assert f"Error: {said}" in refused.stderr
        assert "--allow-absent" in refused.stderr
        assert "Never" not in refused.stderr
        assert "Current" not in refused.stderr
    assert ppdm("releases", bank, "--format", "json").stdout.strip() == "[]"
    for command, more in (("audit", ()), ("suppress", publish)):
        asked = (command, bank, "customers", "--count", "n", *more, "--allow-absent", "--require")
        meant = ppdm(*asked, "Job -> Bankruptcy IN (never, Discharged) <= 100%")
        assert meant.exit_code == 0
        assert f"Note: {said}" in " ".join(meant.stderr.split())
    assert ppdm("verify", bank, "safe").exit_code == 0


def test_what_sql_prints_changes_nothing_and_makes_the_release_when_it_is_run(
    bank: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy" / bank.name
    copy.parent.mkdir()
    copy.write_bytes(bank.read_bytes())
    printed = suppress(bank, "--sql").stdout
    assert bank.read_bytes() == copy.read_bytes()
    assert re.search(r"^-- \w+: [A-Z].*\.$", printed, re.MULTILINE)
    execute(copy, printed)
    assert suppress(bank).exit_code == 0
    rows = "FROM safe"
    assert execute(copy, rows) == execute(bank, rows)
    steps = "SELECT * EXCLUDE (release) FROM ppdm.steps ORDER BY step"
    assert execute(copy, steps) == execute(bank, steps)


SHOWN = {
    "audit demo.duckdb policies --by Age --sensitive Amount": "SELECT",
    "swap demo.duckdb policies --confidential Amount --by Age --proportion 0.5 --into x": "CREATE VIEW",
    "randomize demo.duckdb people --noise 'age=uniform 5' --key-file new.key --into x": "CREATE TEMP",
    "reconstruct demo.duckdb people_noisy --into x": "GROUP BY ALL",
    "train demo.duckdb people --class class --mode original --into x": "CREATE MACRO",
    "predict demo.duckdb people_byclass people_test --into x": "CASE WHEN",
    "apply demo.duckdb customers_safe customers --into x": "AS\nSELECT",
    "generate agrawal new.duckdb --function 2 --rows 10 --into x": "CREATE TABLE",
    "taxonomy add demo.duckdb x jobs.csv": "CREATE TABLE",
    "drop demo.duckdb people_byclass": "DROP MACRO",
    "drop demo.duckdb customers_safe": "DROP VIEW",
}


@pytest.mark.parametrize("words", SHOWN)
def test_sql_shows_the_statements_and_changes_nothing(
    demo: tuple[Path, Any], monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    monkeypatch.chdir(demo[0])
    before = Path("demo.duckdb").read_bytes()
    result = ppdm(*shlex.split(words), "--sql")
    assert result.exit_code == 0, result.stderr
    assert SHOWN[words] in result.stdout
    assert Path("demo.duckdb").read_bytes() == before
    assert list(Path().glob("new.*")) == []


def test_usage_shows_that_a_file_needs_no_database() -> None:
    for name in ("audit", "suppress", "swap", "train", "compare"):
        assert f"{name} [OPTIONS] [DATABASE] [TABLE" in ppdm(name, "--help").stdout


def test_a_missing_table_is_an_error_in_words_of_the_command(bank: Path) -> None:
    for command in ("audit", "compare"):
        result = ppdm(command, bank)
        assert result.exit_code == 2
        assert result.stderr.startswith("Error: TABLE is missing.")
        assert "without DATABASE where TABLE is a file" in result.stderr
