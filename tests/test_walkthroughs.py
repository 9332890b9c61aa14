"""The walkthroughs, read as a shell does, print what the papers print and take the steps that ppdm takes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import pytest
import sqlglot
from sqlglot import exp

import ppdm_sql
from ppdm_sql.cli.demo import JOBS
from ppdm_sql.engine.statements import sql_folder
from ppdm_sql.examples import creation

FOLDER = sql_folder() / "walkthroughs"
Row = tuple[Any, ...]
NAMES = ("pda", "tds", "hce_tdr", "swapping", "reconstruction")
SHELL = Path(sys.executable).with_name("duckdb")
EXAMPLES = {"pda": "customers", "tds": "employees", "swapping": "policies"}
MOST_CTES = 4
each = pytest.mark.parametrize("name", NAMES)
in_shell = pytest.mark.skipif(not SHELL.exists(), reason="the command line of DuckDB (duckdb-cli) is missing")


@dataclass(frozen=True)
class Statement:
    """A statement and the sentence before it."""

    sentence: str
    sql: str

    @property
    def prints(self) -> bool:
        """Whether it is a query."""
        return self.sql.startswith(("SELECT", "WITH", "FROM"))


@dataclass(frozen=True)
class Printed:
    """What a query printed, under its sentence."""

    sentence: str
    columns: tuple[str, ...]
    rows: list[Row]

    def picked(self, *columns: str) -> list[Row]:
        """Some columns of all rows."""
        places = [self.columns.index(column) for column in columns]
        return [tuple(row[place] for place in places) for row in self.rows]


def text(name: str) -> str:
    return (FOLDER / f"{name}.sql").read_text(encoding="utf-8")


def statements(name: str) -> Iterator[Statement]:
    """Give the statements; each ends with a line that ends with a semicolon."""
    comment: list[str] = []
    body: list[str] = []
    for line in text(name).splitlines():
        if line.startswith("--"):
            assert not body, "no comment stands inside a statement"
            comment.append(line[2:].strip())
        elif not line:
            assert not body, "no empty line stands inside a statement"
            comment = []
        else:
            body.append(line)
            if line.endswith(";"):
                yield Statement(" ".join(comment), "\n".join(body))
                comment, body = [], []
    assert not body, "the last statement is complete"


def play(connection: duckdb.DuckDBPyConnection, name: str) -> list[Printed]:
    """Run a walkthrough from top to bottom, and give what it printed."""
    found = []
    for statement in statements(name):
        ran = connection.execute(statement.sql)
        if statement.prints:
            columns = tuple(column[0] for column in ran.description or ())
            found.append(Printed(statement.sentence, columns, [plain(row) for row in ran.fetchall()]))
    return found


def play_in_shell(shell: Path, name: str, *options: str) -> list[Printed]:
    """Do likewise in the command line of DuckDB, all at once."""
    command = [str(shell), "-no-init", "-bail", "-json", *options]
    run = subprocess.run(command, input=text(name), capture_output=True, text=True, check=False, timeout=60)
    assert (run.returncode, run.stderr) == (0, "")
    queries = [statement for statement in statements(name) if statement.prints]
    found, place = [], 0
    for statement in queries:
        rows, place = json.JSONDecoder().raw_decode(run.stdout, place)
        place += len(run.stdout[place:]) - len(run.stdout[place:].lstrip())
        found.append(
            Printed(statement.sentence, tuple(rows[0]), [plain(tuple(row.values())) for row in rows])
        )
    assert place == len(run.stdout), "the shell prints what the queries give, and nothing else"
    return found


def plain(row: Row) -> Row:
    """Give numbers as floats; the shell's JSON has large whole numbers as texts."""
    return tuple(number(cell) for cell in row)


def number(cell: Any) -> Any:
    if cell is None or isinstance(cell, bool):
        return cell
    try:
        return float(cell)
    except ValueError:
        return cell


def under(printed: list[Printed], start: str) -> Printed:
    """What stands under the sentence that begins like this."""
    (found,) = [table for table in printed if table.sentence.startswith(start)]
    return found


@cache
def printed_by(name: str) -> list[Printed]:
    """What a walkthrough prints on a connection of its own."""
    with duckdb.connect() as connection:
        return play(connection, name)


@contextmanager
def played(name: str) -> Iterator[tuple[duckdb.DuckDBPyConnection, list[Printed]]]:
    with duckdb.connect() as connection:
        yield connection, play(connection, name)


def same(one: list[Printed], other: list[Printed]) -> bool:
    return len(one) == len(other) and all(
        a.columns == b.columns
        and [[type(cell) for cell in row] for row in a.rows]
        == [[type(cell) for cell in row] for row in b.rows]
        and all(
            cell == (pytest.approx(twin, abs=1e-9) if isinstance(twin, float) else twin)
            for row, expected in zip(a.rows, b.rows, strict=True)
            for cell, twin in zip(row, expected, strict=True)
        )
        for a, b in zip(one, other, strict=True)
    )


# -- every file -------------------------------------------------------------------------------------


def test_every_file_of_the_folder_is_tested() -> None:
    assert {path.stem for path in FOLDER.glob("*.sql")} == set(NAMES)


@each
def test_a_sentence_stands_before_every_statement(name: str) -> None:
    for statement in statements(name):
        assert re.search(r"[a-z].*[.:)]$", statement.sentence), statement.sql


@each
def test_nothing_but_temporary_tables_views_and_macros_is_made(name: str) -> None:
    made = set()
    for statement in statements(name):
        (tree,) = sqlglot.parse(statement.sql, dialect="duckdb")
        assert isinstance(tree, exp.Create | exp.Query | exp.Insert | exp.Update | exp.Delete)
        if isinstance(tree, exp.Create):
            assert re.match("CREATE OR REPLACE TEMP (TABLE|VIEW|MACRO) ", statement.sql)
            made.add(tree.find(exp.Table).name)  # type: ignore[union-attr]
        elif not isinstance(tree, exp.Query):
            assert tree.find(exp.Table).name in made  # type: ignore[union-attr]


@each
def test_a_walkthrough_is_formatted_as_the_step_files_are(name: str) -> None:
    assert text(name).endswith(";\n")
    assert all(len(line) <= 100 and line == line.rstrip() for line in text(name).splitlines())
    for statement in statements(name):
        (tree,) = sqlglot.parse(statement.sql, dialect="duckdb")
        assert isinstance(tree, exp.Expression)
        assert len(list(tree.find_all(exp.CTE))) <= MOST_CTES
        stars = [star for star in tree.find_all(exp.Star) if not isinstance(star.parent, exp.Count)]
        assert not stars or re.search(r"^FROM (\w+ AS \w;|\(VALUES)$", statement.sql, re.MULTILINE)
        for table in tree.find_all(exp.Table):
            written = isinstance(
                table.parent, exp.Create | exp.Insert | exp.Schema | exp.Pivot | exp.UserDefinedFunction
            )
            assert written or table.alias, f"{table} has no alias in: {statement.sentence}"


@each
def test_a_walkthrough_can_be_run_again_in_the_same_shell(name: str) -> None:
    with played(name) as (connection, printed):
        assert same(printed, printed_by(name))
        assert same(play(connection, name), printed)


@each
@pytest.mark.parametrize("read_only", [False, True])
def test_a_walkthrough_reads_and_leaves_nothing_in_a_database(
    name: str, read_only: bool, tmp_path: Path
) -> None:
    """The database has tables of the same names, with other columns and nothing in them."""
    path = tmp_path / "bank.duckdb"
    made = {
        tree.find(exp.Table).name  # type: ignore[union-attr]
        for statement in statements(name)
        for tree in sqlglot.parse(statement.sql, dialect="duckdb")
        if isinstance(tree, exp.Create)
    }
    with duckdb.connect(path) as connection:
        for table in sorted(made):
            connection.execute(f"CREATE TABLE {table} (nothing INTEGER)")
    before = path.read_bytes()
    with duckdb.connect(path, read_only=read_only) as connection:
        assert same(play(connection, name), printed_by(name))
    assert path.read_bytes() == before
    with duckdb.connect(path) as connection:
        assert set(connection.sql("SELECT table_name FROM duckdb_tables()").fetchall()) == {
            (t,) for t in made
        }
        assert connection.sql("FROM duckdb_views() WHERE NOT internal").fetchall() == []


@each
@in_shell
def test_the_command_line_prints_the_same(name: str) -> None:
    assert same(play_in_shell(SHELL, name), printed_by(name))


@pytest.mark.parametrize(("name", "table"), EXAMPLES.items())
def test_a_walkthrough_begins_with_the_example_table(name: str, table: str) -> None:
    with played(name) as (connection, _), duckdb.connect() as other:
        other.execute(creation(table))
        example = other.sql(f"FROM {table}")
        columns = ", ".join(example.columns)
        assert sorted(connection.sql(f"SELECT {columns} FROM {table}").fetchall()) == sorted(
            example.fetchall()
        )


# -- what top-down methods have in common --------------------------------------------------------------


def winners(printed: list[Printed], *columns: str) -> list[tuple[Any, ...]]:
    """The first candidate of every round."""
    rounds = [table for table in printed if table.sentence.startswith("Round ")]
    assert [int(table.sentence.split()[1].rstrip(":")) for table in rounds] == list(range(1, len(rounds) + 1))
    assert all(table.picked("place")[0] == (1,) for table in rounds)
    return [table.picked(*columns)[0] for table in rounds]


def assert_steps(printed: list[Printed], steps: list[Any], *columns: str) -> None:
    """The winners are the steps of ppdm, candidates stand by their score, and none is left at the end.

    Candidates with a place are valid and beneficial; ``columns`` say what is refined, its gain and loss.
    """
    found = winners(printed, "attribute", *columns, "score")
    refined = ((s.attribute, *(s.children if columns[0] == "value" else [s.parent])) for s in steps)
    assert [row[:2] for row in found] == [*refined]
    for row, step in zip(found, steps, strict=True):
        assert row[2:] == pytest.approx((step.gain, step.loss, step.score), abs=5e-7)
    for table in (table for table in printed if {"place", "score"} <= {*table.columns}):
        rows = table.picked("place", "score", "valid", "beneficial")
        placed = [row for row in rows if row[0] is not None]
        assert [row[0] for row in placed] == list(range(1, len(placed) + 1))
        assert [row[1] for row in placed] == sorted((row[1] for row in placed), reverse=True)
        assert all(row[2] and row[3] for row in placed)
    last = under(printed, "No candidate is valid").picked("place", "valid", "beneficial")
    assert all(place is None and not (valid and useful) for place, valid, useful in last)


# -- PDA ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pda() -> list[Printed]:
    return printed_by("pda")


def test_pda_prints_table_1(pda: list[Printed]) -> None:
    assert under(pda, "Print Table 1").rows == [
        ("Cook", "US", "No", "Current", "0G/4B", 4),
        ("Artist", "France", "No", "Current", "1G/3B", 4),
        ("Doctor", "US", "Yes", "Never", "4G/2B", 6),
        ("Trader", "UK", "No", "Discharged", "4G/0B", 4),
        ("Trader", "UK", "No", "Never", "1G/0B", 1),
        ("Trader", "Canada", "No", "Never", "1G/0B", 1),
        ("Clerk", "Canada", "No", "Never", "3G/0B", 3),
        ("Clerk", "Canada", "No", "Discharged", "1G/0B", 1),
    ]


def test_pda_prints_the_80_percent_of_example_1(pda: list[Printed]) -> None:
    assert under(pda, "Example 1:").rows[0] == ("Trader", "UK", 5, 4, 80.0)


def test_pda_prints_figures_1_and_2(pda: list[Printed]) -> None:
    states = ("initially", "after disclosing Clerk", "after disclosing Canada")
    job, country, child = "⊥Job", "⊥Country", "⊥Child"
    assert [sorted(under(pda, f"Figure 1, {state}").rows) for state in states] == [
        [(job, country, child, 24, 5)],
        [("Clerk", country, child, 4, 1), (job, country, child, 20, 4)],
        [("Clerk", "Canada", child, 4, 1), (job, "Canada", child, 1, 0), (job, country, child, 19, 4)],
    ]
    leaves = [under(pda, f"Figure 2, {state}").picked("ic", "discharged", "records") for state in states]
    assert [sorted(found) for found in leaves] == [
        [("⊥Job, ⊥Child", 5, 24), ("⊥Job, ⊥Country", 5, 24)],
        [
            ("Clerk, ⊥Child", 1, 4),
            ("Clerk, ⊥Country", 1, 4),
            ("⊥Job, ⊥Child", 4, 20),
            ("⊥Job, ⊥Country", 4, 20),
        ],
        [
            ("Clerk, Canada", 1, 4),
            ("Clerk, ⊥Child", 1, 4),
            ("⊥Job, Canada", 0, 1),
            ("⊥Job, ⊥Child", 4, 20),
            ("⊥Job, ⊥Country", 4, 19),
        ],
    ]
    found = [
        {row[0] for row in under(pda, f"Figure 2, {state}").picked("channel_confidence_percent")}
        for state in states
    ]
    assert found == [{20.83}, {25.0}, {25.0}]


def test_pda_prints_table_2(pda: list[Printed]) -> None:
    assert under(pda, "Table 2").rows == [
        ("Cook", "US", "No", "Current", "0G/4B", 4),
        ("Artist", "France", "No", "Current", "1G/3B", 4),
        ("Doctor", "US", "Yes", "Never", "4G/2B", 6),
        ("⊥Job", "⊥Country", "No", "Discharged", "5G/0B", 5),
        ("⊥Job", "⊥Country", "No", "Never", "5G/0B", 5),
    ]
    inference = under(pda, "The inference of Example 1 is gone").picked("ic", "confidence_percent")
    assert ("⊥Job, ⊥Country", 50.0) in inference


def test_pda_discloses_what_ppdm_discloses(pda: list[Printed]) -> None:
    templates = [f"Job, {other} -> Bankruptcy = Discharged <= 50%" for other in ("Country", "Child")]
    with duckdb.connect() as connection:
        connection.execute(creation("customers"))
        release = ppdm_sql.open(connection).suppress(
            "customers", templates, class_column="Rating", count_column="n", into="safe", score="paper"
        )
        steps = release.steps()
    assert_steps(pda, steps, "value", "info_gain", "priv_loss")


# -- TDS ------------------------------------------------------------------------------------------------

SALARY = {"[1, 99)": ["[1, 37)", "[37, 99)"]}
SEX = {"ANY_Sex": ["M", "F"]}


@pytest.fixture(scope="module")
def tds() -> list[Printed]:
    return printed_by("tds")


def test_tds_prints_slides_7_and_8(tds: list[Printed]) -> None:
    assert under(tds, "Slide 7").rows == [
        ("M", "Janitor", "30K", "0Y3N", 3, 3),
        ("M", "Mover", "32K", "0Y4N", 4, 4),
        ("M", "Carpenter", "35K", "2Y3N", 5, 5),
        ("F", "Technician", "37K", "3Y1N", 4, 4),
        ("F", "Manager", "42K", "4Y2N", 6, 9),
        ("F", "Manager", "44K", "3Y0N", 3, 9),
        ("M", "Accountant", "44K", "3Y0N", 3, 3),
        ("F", "Accountant", "44K", "3Y0N", 3, 3),
        ("M", "Lawyer", "44K", "2Y0N", 2, 2),
        ("F", "Lawyer", "44K", "1Y0N", 1, 1),
    ]
    slide_8 = under(tds, "Slide 8")
    assert slide_8.picked("Sex", "Job", "a_qid1") == [
        ("M", "Janitor", 3),
        ("M", "Mover", 4),
        ("M", "Carpenter", 5),
        ("F", "Technician", 4),
        ("F", "Manager", 9),
        ("M", "Professional", 5),
        ("F", "Professional", 4),
    ]
    assert slide_8.picked("Class")[-2:] == [("5Y0N",), ("4Y0N",)]


def test_tds_prints_the_tree_of_partitions_of_slide_16(tds: list[Printed]) -> None:
    assert under(tds, "Slide 16, the root").rows == [("ANY_Sex", "ANY_Job", "[1, 99)", 34)]
    assert under(tds, "Slide 16, after the first").rows == [
        ("ANY_Sex", "ANY_Job", "[1, 37)", 12),
        ("ANY_Sex", "ANY_Job", "[37, 99)", 22),
    ]
    assert sorted(under(tds, "Slide 16, after the second").rows) == [
        ("ANY_Sex", "Blue-collar", "[1, 37)", 12),
        ("ANY_Sex", "Blue-collar", "[37, 99)", 4),
        ("ANY_Sex", "White-collar", "[37, 99)", 18),
    ]


def generalized(connection: duckdb.DuckDBPyConnection, **more: Any) -> ppdm_sql.Release:
    connection.execute(creation("employees"))
    return ppdm_sql.open(connection).generalize(
        "employees",
        ["k >= 4 on Sex, Job", "k >= 4 on Job, Salary"],
        class_column="Class",
        count_column="n",
        into="safe",
        score="paper",
        **more,
    )


def test_tds_splits_salary_where_ppdm_splits_it(tds: list[Printed]) -> None:
    with duckdb.connect() as connection:
        release = generalized(
            connection, taxonomies={"Sex": SEX, "Job": JOBS}, ranges={"Salary": (1, 99)}, max_steps=1
        )
        (step,) = release.steps()
    left, right, gain = under(tds, "A number has no taxonomy").picked("left_half", "right_half", "info_gain")[
        0
    ]
    assert (step.attribute, step.children, gain) == (
        "Salary",
        (left, right),
        pytest.approx(step.gain, abs=5e-7),
    )


def test_tds_specializes_what_ppdm_specializes(tds: list[Printed]) -> None:
    with duckdb.connect() as connection:
        release = generalized(connection, taxonomies={"Sex": SEX, "Job": JOBS, "Salary": SALARY})
        steps = release.steps()
        partitions = [sorted(release.partitions(number).fetchall()) for number in range(len(steps) + 1)]
        records = connection.sql("SELECT Sex, Job, Salary, sum(n) FROM safe GROUP BY ALL").fetchall()
    assert_steps(tds, steps, "node", "info_gain", "anony_loss")
    trees = [table for table in tds if table.columns == ("Sex", "Job", "Salary", "records")]
    assert [sorted(table.rows) for table in trees] == partitions
    assert sorted(under(tds, "The generalized table").picked("Sex", "Job", "Salary", "records")) == sorted(
        records
    )
    assert under(tds, "Both quasi-identifiers keep").picked("holds") == [(True,), (True,)]


# -- HCE-TDR ----------------------------------------------------------------------------------------------

PEOPLE_TREES = {
    "Job": {
        "ANY_Job": {"White_collar": ["Adm_clerical", "Sales"], "Blue_collar": ["Craft_repair", "Cleaners"]}
    },
    "Age": {"[1, 99)": {"[1, 40)": ["[1, 35)", "[35, 40)"], "[40, 99)": []}},
    "Sex": {"ANY_Sex": ["Male", "Female"]},
}


def test_hce_tdr_refines_what_ppdm_refines() -> None:
    with played("hce_tdr") as (connection, printed):
        connection.execute("CREATE TABLE decision_table AS SELECT * EXCLUDE (person) FROM people")
        release = ppdm_sql.open(connection).generalize(
            "decision_table",
            ["k >= 3 on Job, Age, Sex"],
            class_column="Income",
            condition=["Overtime"],
            taxonomies=PEOPLE_TREES,
            method="hce-tdr",
            into="safe",
            score="paper",
        )
        steps = release.steps()
        ((before, after),) = connection.sql(
            "SELECT m.before, m.after FROM ppdm.measures AS m "
            "WHERE measure = 'conditional entropy: all condition attributes'"
        ).fetchall()
        groups = connection.sql("SELECT Job, Age, Sex, count(*) FROM safe GROUP BY ALL").fetchall()
    assert_steps(printed, steps, "node", "gain", "loss")
    left = dict(under(printed, "H(D | B)").rows)["{Overtime}"]
    for (entropy,), step in zip(winners(printed, "conditional_entropy"), steps, strict=True):
        left -= step.gain
        assert entropy == pytest.approx(left, abs=5e-7)
    ((metric,),) = under(printed, "The data metric").rows
    assert (0, metric) == pytest.approx((before, after), abs=5e-7)
    assert sorted(under(printed, "The 3-anonymous table").rows) == sorted(groups)


def test_hce_tdr_prints_the_two_groups_of_figure_1() -> None:
    printed = printed_by("hce_tdr")
    assert under(printed, "Who joins").rows == [(8, 1)]
    assert under(printed, "The 3-anonymous table").rows == [
        ("White_collar", "[40, 99)", "Male", 4),
        ("Blue_collar", "[1, 40)", "Female", 4),
    ]


def test_hce_tdr_sees_what_the_gain_of_a_single_attribute_does_not() -> None:
    """The gain of Job is that of TDS without Overtime, and all of the entropy with it."""
    with played("hce_tdr") as (connection, printed):
        entropy = dict(under(printed, "H(D | B)").rows)
        connection.execute("CREATE TABLE decision_table AS SELECT * EXCLUDE (person, Overtime) FROM people")
        first = (
            ppdm_sql.open(connection)
            .generalize(
                "decision_table",
                ["k >= 3 on Job, Age, Sex"],
                class_column="Income",
                taxonomies=PEOPLE_TREES,
                into="safe",
                score="paper",
            )
            .steps()[0]
        )
    assert (first.attribute, first.gain) == ("Job", pytest.approx(entropy["{}"] - entropy["{Job}"], abs=5e-7))
    assert winners(printed, "gain")[0] == (entropy["{Overtime}"] - entropy["{Overtime, Job}"],)


# -- swapping ---------------------------------------------------------------------------------------------

STATUS = ["U", "V1", "V1", "V2", "V2", "U", "U", "", "", "U", "V3", "V3", "U", "", "", "U"]
TABLE_3 = [
    (1, 0.2269, 0.7563, 0.0168, "Med", "High", 0.7395, "Med", 0),
    (6, 0.2842, 0.1895, 0.5263, "High", "High", 0, "Low", 0.2421),
    (7, 0.1698, 0.7547, 0.0755, "Med", "Med", 0, "High", 0.6792),
    (10, 0.0476, 0.6349, 0.3175, "Low", "Low", 0, "Med", -0.5873),
    (13, 0.6090, 0.0902, 0.3008, "Low", "Med", 0.5188, "Low", 0),
    (16, 0.1130, 0.0502, 0.8368, "High", "Low", 0.7238, "High", 0),
    (2, 0.7431, 0.1651, 0.0917, "Low", "Med", 0.5780, "Med", 0.5780),
    (4, 0.0826, 0.8257, 0.0917, "Med", "High", 0.7339, "High", 0.7339),
    (11, 0.0769, 0.0684, 0.8547, "High", "Low", 0.7778, "Low", 0.7778),
]
OTHER_FLOW = {"Low": "High", "Med": "Low", "High": "Med"}
"""The other optimal solution of Phase I, which ppdm takes."""


@pytest.fixture(scope="module")
def swapping() -> list[Printed]:
    return printed_by("swapping")


def test_swapping_prints_the_status_of_table_1(swapping: list[Printed]) -> None:
    assert [row[0] for row in under(swapping, "Table 1").picked("identifiable_status")] == STATUS


def test_swapping_prints_table_3(swapping: list[Printed]) -> None:
    assert under(swapping, "Table 3 up to Phase I").rows == [row[:7] for row in TABLE_3]
    assert under(swapping, "Table 3, its last columns").rows == [
        (row[0], row[4], row[5], row[7], row[8]) for row in TABLE_3
    ]
    assert under(swapping, "The objective (12a)").rows == [(4.07185,)]
    assert under(swapping, "The objective is 2.42375").rows == [(2.42375,)]


def test_swapping_prints_appendix_b(swapping: list[Printed]) -> None:
    assert under(swapping, "Appendix B prints").rows == [
        ("Age", "30-39", "2/4", "3/6", "1/6"),
        ("Gender", "Female", "3/4", "3/6", "1/6"),
        ("Location", "CA", "1/4", "5/6", "1/6"),
    ]


def test_swapping_keeps_the_papers_constraints(swapping: list[Printed]) -> None:
    assert under(swapping, "The optimal solutions").rows == [(1, 0, 0, 1, 1, 0, 0), (0, 1, 1, 0, 0, 1, 0)]
    for _, before, after in under(swapping, "Goal G1").rows:
        assert before == after
    assert under(swapping, "Constraints C1 and C2").rows == [("U", 6, 6, 3), ("V", 3, 6, 3)]
    assert under(swapping, "Step 4").picked("with_negative_cost") == [(0,)]


def swapped(connection: duckdb.DuckDBPyConnection, method: str, seed: int) -> ppdm_sql.Release:
    return ppdm_sql.open(connection).swap(
        "main.policies",
        confidential="Amount",
        by=["Age", "Gender", "Location"],
        proportion=0.5,
        method=method,
        phase1="separate" if method == "greedy" else "joint",
        share=(0, 1),
        keep=["No"],
        into="safe",
        seed=seed,
    )


def objective(connection: duckdb.DuckDBPyConnection) -> float:
    """What ppdm says its release costs."""
    query = "SELECT after FROM ppdm.measures WHERE measure = 'objective: Amount'"
    ((found,),) = connection.execute(query).fetchall()
    assert isinstance(found, float)
    return found


COST = """
    SELECT sum(t.posterior - n.posterior)
    FROM safe AS s
    JOIN main.policies AS p ON p.No = s.No AND p.Amount <> s.Amount
    JOIN identifiable_patterns AS i
        ON i.Age = p.Age AND i.Gender = p.Gender AND i.Location = p.Location
    JOIN posteriors AS t ON t.No = i.first_member AND t.Amount = p.Amount
    JOIN posteriors AS n ON n.No = i.first_member AND n.Amount = s.Amount
"""


@pytest.mark.parametrize(("method", "seed"), [("greedy", 1), ("greedy", 2), ("exact", 1)])
def test_swapping_has_the_posteriors_of_ppdm(method: str, seed: int) -> None:
    """What a release of ppdm costs by the posteriors of the walkthrough is what ppdm says it costs."""
    with played("swapping") as (connection, printed):
        connection.execute(creation("policies").replace("policies", "main.policies", 1))
        swapped(connection, method, seed)
        ((cost,),) = connection.execute(COST).fetchall()
        assert cost == pytest.approx(objective(connection), abs=1e-8)
        if method == "exact":
            assert round(cost, 5) == under(printed, "The greedy procedure depends").rows[0][0] == 2.13535


def swaps_performed(connection: duckdb.DuckDBPyConnection) -> float:
    """Repeat the walkthrough's statements of Phase II until no swap pays; give the objective."""
    found = {s.sentence.split(":")[0]: s for s in statements("swapping")}
    listing, perform = found["Step 3 of Table 2"], found["Perform the first swap of the list"]
    (strike,) = [s for s in found.values() if s.sentence.startswith("Take it off the list")]
    while True:
        connection.execute(listing.sql)
        if not connection.sql("FROM swap_list").fetchall():
            query = "SELECT sum(difference) FROM record_differences"
            return float(connection.execute(query).fetchall()[0][0])
        while connection.sql("FROM swap_list").fetchall():
            connection.execute(perform.sql)
            connection.execute(strike.sql)


def test_swapping_ends_where_ppdm_ends_and_elsewhere_from_the_other_solution_of_phase_1() -> None:
    with played("swapping") as (connection, _):
        connection.execute(creation("policies").replace("policies", "main.policies", 1))
        swapped(connection, "greedy", 1)
        assert round(objective(connection), 5) == 2.42375  # as under "The objective is"
        for changed in product((6, 16), (1, 7), (10, 13)):
            connection.execute("UPDATE perturbed_records SET amount = true_amount")
            for true, new in OTHER_FLOW.items():
                connection.execute(
                    "UPDATE perturbed_records SET amount = $new "
                    "WHERE true_amount = $true AND (status = 'V' OR list_contains($changed, No))",
                    {"new": new, "true": true, "changed": list(changed)},
                )
            assert round(swaps_performed(connection), 5) == 2.77723


# -- reconstruction -----------------------------------------------------------------------------------------

NOISES = {"gaussian": "gaussian 0.25", "uniform": "uniform 0.5"}


def reconstructed(
    connection: duckdb.DuckDBPyConnection, noise: str, kernel: str, iterations: int = 10_000
) -> tuple[list[float], int]:
    found = ppdm_sql.open(connection).reconstruct(
        f"{noise}_people",
        into=f"{noise}_{kernel}_{iterations}",
        noise={"w": NOISES[noise]},
        ranges={"w": (0, 1)},
        intervals=20,
        kernel=kernel,
        max_iterations=iterations,
    )
    query = f"SELECT probability FROM {found.into} ORDER BY lower"
    return [row[0] for row in connection.execute(query).fetchall()], found.distributions[0].iterations


@pytest.mark.parametrize("noise", NOISES)
def test_reconstruction_iterates_as_ppdm_does(noise: str) -> None:
    with played("reconstruction") as (connection, printed):
        connection.execute(f"CREATE TABLE {noise}_people AS SELECT w FROM randomized WHERE noise = '{noise}'")
        for iteration in (1, 2):
            expected, _ = reconstructed(connection, noise, "midpoint", iteration)
            query = "SELECT probability FROM iterations WHERE noise = $noise AND iteration = $i ORDER BY p"
            rows = connection.execute(query, {"noise": noise, "i": iteration}).fetchall()
            assert [row[0] for row in rows] == pytest.approx(expected, abs=1e-9)
        for kernel in ("midpoint",) if noise == "gaussian" else ("midpoint", "cell"):
            expected, iterations = reconstructed(connection, noise, kernel)
            rows = connection.execute(
                "SELECT probability FROM reconstructed WHERE noise = $noise ORDER BY p", {"noise": noise}
            ).fetchall()
            assert [row[0] for row in rows] == pytest.approx(expected, abs=1e-9)
            assert (
                dict(under(printed, "How many iterations").picked("noise", "iterations"))[noise] == iterations
            )


def test_reconstruction_prints_table_1_but_for_its_misprints() -> None:
    with played("reconstruction") as (connection, printed):
        table = under(printed, "Print Table 1")
        assert table.rows == [
            (0.5, 0.5, 0.5, 1.35),
            (0.95, 0.95, 0.95, 3.92),
            (0.999, 0.999, 0.999, 6.58),
        ]
        exact = connection.execute(
            "SELECT gaussian_in_sigma FROM privacy_widths ORDER BY confidence"
        ).fetchall()
    assert [float(row[0]) for row in exact] == pytest.approx([1.34898, 3.91993, 6.58105], abs=1e-3)
    assert under(printed, "Section 3 adds").rows == [(0.95, -0.24, 0.74), (0.999, -0.57, 1.07)]


def test_reconstruction_brings_back_the_shape_of_figure_2() -> None:
    printed = printed_by("reconstruction")
    for _, randomized, found in under(printed, "How far both").rows:
        assert found < randomized / 2
    rows = under(printed, "Figures 2a and 2c").picked("lower", "original", "randomized", "reconstructed")
    assert sum(row[1] for row in rows) == 2 * 10_000
    assert sum(row[3] for row in rows) == pytest.approx(2 * 10_000, abs=4)
    assert all(row[3] == 0 for row in rows if not 0 <= row[0] < 1)
