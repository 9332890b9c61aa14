"""``ppdm taxonomy``: shows, stores and drafts taxonomies."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from commands import assert_explained, execute, ppdm

from ppdm_sql import Taxonomy

JOBS = "Cook;Craft;*\nArtist;Craft;*\nTrader;Office;*\nClerk;Office;*\nDoctor;*\n"
TREE = """\
*
├── Craft
│   ├── Cook
│   └── Artist
├── Office
│   ├── Trader
│   └── Clerk
└── Doctor
"""


@pytest.fixture
def jobs(tmp_path: Path) -> Path:
    file = tmp_path / "jobs.csv"
    file.write_text(JOBS)
    return file


def test_the_help_says_that_a_draft_lists_values() -> None:
    said = " ".join(ppdm("taxonomy", "suggest", "--help").stdout.split())
    assert "The draft lists values of the column: it is the owner's" in said


# -- show and add -------------------------------------------------------------------------------


def test_a_file_and_the_table_made_of_it_show_the_same_tree(bank: Path, jobs: Path) -> None:
    added = ppdm("taxonomy", "add", bank, "jobs", jobs)
    assert (added.exit_code, added.stdout) == (0, "")
    assert added.stderr == "Stored jobs: 8 nodes, 5 leaves.\n"
    assert ppdm("taxonomy", "show", bank, "JOBS").stdout == TREE
    assert ppdm("taxonomy", "show", bank, jobs).stdout == TREE
    assert execute(bank, "SELECT count(*), max(position) FROM jobs") == [(8, 7)]


def test_other_formats_give_a_row_for_each_node(bank: Path, jobs: Path) -> None:
    rows = json.loads(ppdm("taxonomy", "show", bank, jobs, "--format", "json").stdout)
    assert rows[0] == {"node": 0, "parent": None, "label": "*", "depth": 0, "leaf": False}
    assert rows[2] == {"node": 2, "parent": 1, "label": "Cook", "depth": 2, "leaf": True}
    assert len(rows) == 8
    printed = ppdm("taxonomy", "show", bank, jobs, "--format", "csv").stdout
    assert [row["label"] for row in csv.DictReader(io.StringIO(printed))] == [row["label"] for row in rows]


def test_control_characters_of_labels_do_not_reach_the_terminal(bank: Path, tmp_path: Path) -> None:
    file = tmp_path / "odd.csv"
    file.write_text('"\x1b[2J";A;*\n"two\nlines";A;*\n[red]b;*\n')
    shown = ppdm("taxonomy", "show", bank, file).stdout
    assert shown == "*\n├── A\n│   ├── \\x1b[2J\n│   └── two\\nlines\n└── [red]b\n"


def test_add_reads_other_delimiters(bank: Path, jobs: Path) -> None:
    jobs.write_text(JOBS.replace(";", ","))
    words = ["taxonomy", "add", bank, "it's", jobs, "--delimiter", ","]
    assert ppdm(*words, "--quiet").stderr == ""
    assert ppdm("taxonomy", "show", bank, "it's").stdout == TREE


# -- suggest ------------------------------------------------------------------------------------


def test_a_draft_is_printed_or_written_and_can_be_added(bank: Path, tmp_path: Path) -> None:
    file = tmp_path / "job.csv"
    words = ["taxonomy", "suggest", bank, "customers", "job", "--count", "n"]
    printed = ppdm(*words)
    written = ppdm(*words, "--into", file)
    assert (printed.exit_code, printed.stderr) == (0, "")
    assert (written.exit_code, written.stdout) == (0, "")
    assert "lists values" in written.stderr
    assert file.read_text() == printed.stdout
    leaves = {path[0] for path in Taxonomy.from_csv(file).paths()}
    assert leaves == {row[0] for row in execute(bank, "SELECT DISTINCT Job FROM customers")}
    assert ppdm("taxonomy", "add", bank, "jobs", file).exit_code == 0


def test_levels_and_fanout_shape_the_intervals(bank: Path) -> None:
    execute(bank, "CREATE TABLE people AS SELECT i AS age FROM range(17, 91) r(i)")
    words = ["taxonomy", "suggest", bank, "people", "age", "--levels"]
    assert ppdm(*words, "1").stdout == "[17, 54);*\n[54, 90];*\n"
    assert ppdm(*words, "1", "--fanout", "3").stdout == "[17, 42);*\n[42, 67);*\n[67, 90];*\n"
    assert len(ppdm(*words, "3").stdout.splitlines()) == 8


def test_a_draft_of_an_unknown_column_or_over_a_file_is_refused(bank: Path, jobs: Path) -> None:
    words = ["taxonomy", "suggest", bank, "customers"]
    assert_explained(ppdm(*words, "Jop"), code=2, problem="'Jop'")
    assert_explained(ppdm(*words, "Job", "--into", jobs), code=2, problem="jobs.csv")
    assert jobs.read_text() == JOBS
    assert_explained(ppdm(*words, "Job", "--levels", "40"), code=2, problem="--levels")


# -- errors -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("Potter;A;*\nClerk;A;*\nPotter;B;*\n", "jobs.csv, lines 1, 3: a label ('Potter') has"),
        ("Cook;Weaver;*\nWeaver;*\n", "line 2: the first label ('Weaver') is a group"),
        ("Cook,Craft,*\n", "delimiter ';'"),
        ("", "no rows"),
    ],
)
def test_a_file_that_is_no_taxonomy_is_refused_by_its_lines(
    bank: Path, jobs: Path, text: str, problem: str
) -> None:
    jobs.write_text(text)
    assert_explained(ppdm("taxonomy", "add", bank, "jobs", jobs), code=2, problem=problem)
    assert_explained(ppdm("taxonomy", "show", bank, jobs), code=2, problem=problem)
    assert execute(bank, "SELECT count(*) FROM duckdb_tables() WHERE table_name = 'jobs'") == [(0,)]


def test_the_traceback_of_a_refused_file_names_one_label_at_most(bank: Path, jobs: Path) -> None:
    jobs.write_text("Cook;A;*\nClerk;A;*\nCook;B;*\n")
    result = ppdm("taxonomy", "show", bank, jobs, "--debug")
    assert "Traceback" in result.stderr
    assert "a label ('Cook') has different parents" in result.stderr
    assert "Clerk" not in result.stderr


def test_names_that_are_taken_or_of_nothing_are_refused(bank: Path, jobs: Path) -> None:
    assert_explained(ppdm("taxonomy", "add", bank, "Customers", jobs), code=2, problem="'customers'")
    assert_explained(ppdm("taxonomy", "show", bank, "custmers"), code=2, problem="'custmers'")
    assert_explained(ppdm("taxonomy", "show", bank, "customers"), code=2, problem="'parent'")
    assert_explained(
        ppdm("taxonomy", "add", bank, "new", jobs.with_name("none.csv")), code=2, problem="none.csv"
    )
    assert ppdm("taxonomy", "nonsense").exit_code == 2
