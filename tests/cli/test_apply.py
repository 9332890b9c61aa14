"""``ppdm apply``, and the cut that ``ppdm show`` draws."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest
import staff
from commands import CELLS, assert_explained, execute, ppdm
from drafts import Tree, make_draft
from staff import AGE, CITY, JOB, MASKED

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import quoted
from ppdm_sql.privacy import KAnonymity
from ppdm_sql.release import publish

RECORDS = staff.records()
HOLDS, BREAKS = KAnonymity(1, (CITY,)), KAnonymity(len(RECORDS), (CITY,))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with the staff release ``safe`` and a table ``new``, on which one requirement breaks."""
    path = tmp_path_factory.mktemp("made") / "staff.duckdb"
    with duckdb.connect(path) as connection:
        engine = Engine(connection)
        with engine.workspace():
            publish(engine, staff.draft(engine, RECORDS, requirements=(HOLDS,)))
        both = "UPDATE ppdm.releases SET requirements = $both"
        connection.execute(both, {"both": [str(HOLDS), str(BREAKS)]})
        staff.write(
            engine, "new", [("Pilot", 16, "Paris", 1.0, staff.VALUES[staff.HIRED][0], "good"), *RECORDS]
        )
    return path


@pytest.fixture
def file(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(made, tmp_path))


def test_apply_prints_findings_and_unseen_values_and_says_what_does_not_hold(file: Path) -> None:
    result = ppdm("apply", file, "safe", "new", "--into", "made", "--format", "json")
    assert result.exit_code == 0
    printed = json.loads(result.stdout)
    assert [row["holds"] for row in printed["Requirements"]] == [True, False]
    unseen = {row["column"]: row["records"] for row in printed["Unseen values"]}
    assert unseen == {name: int(name in (JOB, AGE, CITY)) for name in MASKED}
    assert f"Made table made: {len(RECORDS) + 1} rows." in result.stderr
    assert f"Warning: {str(BREAKS)!r} does not hold on made." in result.stderr
    assert str(HOLDS) not in result.stderr
    assert execute(file, "SELECT count(*) FROM made") == [(len(RECORDS) + 1,)]


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_table_made_is_exported_where_it_keeps_what_the_release_promises(file: Path, form: str) -> None:
    execute(file, f"UPDATE ppdm.releases SET requirements = ['{HOLDS}']")
    assert ppdm("apply", file, "safe", "new", "--into", "made", "--quiet").exit_code == 0
    out = file.with_name(f"made.{form}")
    result = ppdm("export", file, "made", out)
    assert (result.exit_code, result.stderr) == (0, f"Wrote {out}.\n")
    written, made = duckdb.sql(f"FROM '{out}'"), execute(file, "SELECT * FROM made")
    assert len(written.fetchall()) == len(made)
    assert form == "csv" or sorted(map(str, duckdb.sql(f"FROM '{out}'").fetchall())) == sorted(map(str, made))


SPOILED = {
    "a requirement": ("UPDATE ppdm.releases SET requirements = requirements", "does not hold on it"),
    "a column more": ("ALTER TABLE made ADD COLUMN who VARCHAR", "columns are not those"),
    "a masked column less": (f"ALTER TABLE made DROP COLUMN {quoted(JOB)}", "columns are not those"),
    "a value that is not a label": (
        f"UPDATE made SET {quoted(JOB)} = 'Cellmarker'",
        "the cut of the release",
    ),
    "what is not measured": (
        "UPDATE ppdm.releases SET requirements = ['k >= 1 on nowhere']",
        "lacks a column",
    ),
    "no release": ("COMMENT ON TABLE made IS NULL", "There is no release 'made'"),
}


@pytest.mark.parametrize(("change", "problem"), SPOILED.values(), ids=SPOILED)
def test_a_table_made_is_not_exported_where_it_does_not(file: Path, change: str, problem: str) -> None:
    assert ppdm("apply", file, "safe", "new", "--into", "made", "--quiet").exit_code == 0
    execute(file, change)
    out = file.with_name("made.csv")
    result = ppdm("export", file, "made", out)
    assert result.exit_code != 0
    assert problem in result.stderr
    assert "Cellmarker" not in result.stderr
    assert not out.exists()


def test_unseen_values_can_be_refused(file: Path) -> None:
    result = ppdm("apply", file, "safe", "new", "--into", "made", "--unseen", "refuse")
    assert_explained(result, code=2, problem=f"1 in {JOB!r}")
    assert "Pilot" not in result.stderr
    assert execute(file, "SELECT count(*) FROM duckdb_tables() WHERE table_name = 'made'") == [(0,)]


def test_a_requirement_that_cannot_be_measured_is_noted(file: Path) -> None:
    execute(
        file, "UPDATE ppdm.releases SET requirements = ['k >= 1 on Rating']", "ALTER TABLE new DROP Rating"
    )
    result = ppdm("apply", file, "safe", "new", "--into", "made")
    assert result.exit_code == 0
    assert "Warning: 'k >= 1 on Rating' names a column that made lacks." in result.stderr


def test_where_persons_are_counted_the_reason_is_told(file: Path) -> None:
    execute(
        file,
        "CREATE TABLE seen AS SELECT 'P' || n % 40 AS who, TIMESTAMP '2024-01-01' + to_days(CAST(n AS "
        'INTEGER)) AS "seen at" FROM range(200) t(n)',
        f"COPY seen TO '{file.parent / 'seen.csv'}'",
    )
    words = ["--require", 'k >= 5 on "seen at"', "--person", "who", "--into", "by_person", "--quiet"]
    assert ppdm("generalize", file, "seen", *words).exit_code == 0
    result = ppdm("apply", file, "by_person", "seen", "--into", "made")
    told = "The requirements of by_person count persons, and nothing says whose the records of made are"
    assert (result.exit_code, told in result.stderr) == (0, True), result.stderr
    assert "lacks" not in result.stderr
    text = ["--types", "seen at=VARCHAR"]
    result = ppdm("apply", file, "by_person", file.parent / "seen.csv", *text, "--into", "text", "--quiet")
    assert_explained(result, code=2, problem="say it with --types 'seen at=TYPE'.")
    typed = ["--types", "seen at=TIMESTAMP"]
    result = ppdm("apply", file, "by_person", file.parent / "seen.csv", *typed, "--into", "text", "--quiet")
    assert result.exit_code == 0, result.stderr


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["safe", "nwe", "--into", "made"], "nwe"),
        (["saef", "new", "--into", "made"], "saef"),
        (["safe", "new", "--into", "safe"], "safe"),
        (["safe", "new", "--into", "made", "--unseen", "no"], "'no'"),
    ],
)
def test_misuse_is_two_sentences_and_no_cell(file: Path, words: list[str], problem: str) -> None:
    result = ppdm("apply", file, *words)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert problem in result.stderr
    assert not any(cell in result.stderr for cell in (*CELLS, "Pilot"))


# -- the cut --------------------------------------------------------------------------------------


def test_show_draws_the_cut_as_trees(file: Path) -> None:
    shown = ppdm("show", file, "safe", "--limit", "3").stdout
    assert (
        "\n\ncut\n"
        f"{JOB}\n"
        "└── ANY\n"
        '    ├── Blue "collar"\n'
        "    ├── White'; DROP TABLE people; --\n"
        "    │   ├── Manager\n"
        "    │   ├── Accountant\n"
        "    │   └── NULL\n"
        "    └── NULL\n"
        f"{AGE}\n"
        "└── *\n"
        "    ├── [17, 98]\n"
        "    │   ├── [17, 37)\n"
        "    │   └── [37, 98]\n"
        "    │       ├── [37, 52)\n"
        "    │       └── [52, 98]\n"
        "    └── NULL\n"
        f"{CITY}\n"
        "└── * (all other values)\n"
        "    ├── Ulm\n"
        "    └── NULL\n"
    ) in shown
    assert "Janitor" not in shown
    assert "\n\nrows\n" in shown


def test_long_lists_of_children_are_shortened(file: Path) -> None:
    shown = ppdm("show", file, "safe", "--limit", "1").stdout
    assert '└── ANY\n    ├── Blue "collar"\n    └── ... and 2 more\n' in shown
    assert "Manager" not in shown.partition("\nrows\n")[0]


def test_the_cut_is_whole_rows_in_other_formats(file: Path) -> None:
    shown = json.loads(ppdm("show", file, "safe", "--limit", "1", "--format", "json").stdout)
    assert list(shown) == ["release", "measures", "cut", "rows"]
    rows: list[dict[str, Any]] = shown["cut"]
    for name in MASKED:
        labels = {row["label"] for row in rows if row["attribute"] == name and row["shown"]}
        assert labels == set(staff.SHOWN[name])
    assert list(rows[0]) == ["attribute", "node", "parent", "label", "shown"]
    printed = ppdm("show", file, "safe", "--format", "csv").stdout.split("\n\n")[2]
    assert [row["node"] for row in csv.DictReader(io.StringIO(printed))] == [str(row["node"]) for row in rows]


def test_a_release_without_trees_shows_no_cut(tmp_path: Path) -> None:
    path = tmp_path / "staff.duckdb"
    with duckdb.connect(path) as connection:
        publish(Engine(connection), staff.draft(Engine(connection), RECORDS, with_trees=False))
    shown = json.loads(ppdm("show", path, "safe", "--format", "json").stdout)
    assert list(shown) == ["release", "measures", "rows"]
    assert "\ncut\n" not in ppdm("show", path, "safe").stdout


def test_labels_with_control_characters_do_not_break_the_tree(tmp_path: Path) -> None:
    path = tmp_path / "odd.duckdb"
    tree = Tree("ANY").grow("ANY", "[red]a\nb[/red]", "\x1b[31m")
    with duckdb.connect(path) as connection:
        engine = Engine(connection)
        columns = [("x", "generalized", False, "ANY")]
        trees = tree.rows("x", list(tree.parents))
        publish(engine, make_draft(engine, "SELECT 'ANY' AS x", columns, 1, trees=trees))
    shown = ppdm("show", path, "safe").stdout
    assert "    ├── [red]a\\nb[/red]\n" in shown
    assert "    └── \\x1b[31m\n" in shown
