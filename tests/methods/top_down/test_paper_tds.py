"""The examples of the TDS and HCE-TDR papers, to the digit.

Sources: the slides of Wang, Fung, Dong, "Integrating private databases for data analysis", ISI 2005; Ye, Wu,
Hu, Hu, "Anonymizing classification data using rough set theory", Knowledge-Based Systems 43, 2013.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import duckdb
import pytest

import ppdm_sql
from ppdm_sql.examples import creation

Taxonomies = dict[str, Any]

JOB = {
    "ANY_Job": {
        "Blue-collar": {
            "Non-Technical": ["Janitor", "Mover"],
            "Technical": ["Carpenter", "Technician"],
        },
        "White-collar": {"Manager": [], "Professional": ["Accountant", "Lawyer"]},
    }
}
"""Slide 15's upper nodes and slide 8's Professional; the slides do not say what is below Blue-collar."""
FLAT_JOB = {
    "ANY_Job": {
        **dict.fromkeys(["Janitor", "Mover", "Carpenter", "Technician", "Manager"]),
        "Professional": ["Accountant", "Lawyer"],
    }
}
SEX = {"ANY_Sex": ["M", "F"]}
SALARY = {"[1, 99)": ["[1, 37)", "[37, 99)"]}
SLIDE_8 = {
    ("M", "Janitor", 0, 3, 3),
    ("M", "Mover", 0, 4, 4),
    ("M", "Carpenter", 2, 3, 5),
    ("F", "Technician", 3, 1, 4),
    ("F", "Manager", 7, 2, 9),
    ("M", "Professional", 5, 0, 5),
    ("F", "Professional", 4, 0, 4),
}
"""Sex, Job, records of class Y, of class N, a(qid); the slide writes the manager's 4Y2N and 3Y0N apart."""


@pytest.fixture
def employees() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute(creation("employees"))
        yield connection


def generalized(
    connection: duckdb.DuckDBPyConnection, require: list[str], taxonomies: Taxonomies, **more: Any
) -> Any:
    asked: dict[str, Any] = {"class_column": "Class", "count_column": "n", "into": "safe", "score": "paper"}
    asked |= more
    return ppdm_sql.open(connection).generalize("employees", require, taxonomies=taxonomies, **asked)


def partitions(release: Any, step: int) -> set[tuple[Any, ...]]:
    """The leaves of the paper's tree of partitions: generalized cells, records."""
    return set(release.partitions(step).fetchall())


# -- slides 7 and 8: a(qid) -----------------------------------------------------------------------


def test_slide_7_the_smallest_a_qid_is_1(employees: duckdb.DuckDBPyConnection) -> None:
    audit = ppdm_sql.open(employees).audit("employees", ["k >= 1 on Sex, Job"], count_column="n", groups=1)
    assert audit.findings[0].reached == 1
    assert [(group.values, group.records) for group in audit.worst] == [(("F", "Lawyer"), 1)]
    sizes = "SELECT Sex, Job, sum(n) FROM employees GROUP BY ALL"
    assert {row[-1] for row in employees.execute(sizes).fetchall()} == {3, 4, 5, 9, 2, 1}
    assert employees.execute("SELECT sum(n) FROM employees").fetchall() == [(34,)]


def slide_8(connection: duckdb.DuckDBPyConnection, k: int) -> set[tuple[Any, ...]]:
    generalized(connection, [f"k >= {k} on Sex, Job"], {"Sex": SEX, "Job": FLAT_JOB})
    return set(
        connection.execute(
            """
            SELECT Sex, Job, sum(CASE Class WHEN 'Y' THEN n ELSE 0 END),
                sum(CASE Class WHEN 'N' THEN n ELSE 0 END), sum(n)
            FROM safe GROUP BY ALL
            """
        ).fetchall()
    )


@pytest.mark.parametrize("k", [1, 2, 3])
def test_slide_8_accountants_and_lawyers_become_professionals(
    employees: duckdb.DuckDBPyConnection, k: int
) -> None:
    """All nine are of class Y, so telling them apart is not beneficial, whatever k allows."""
    assert slide_8(employees, k) == SLIDE_8


def test_slide_8_keeps_the_smallest_a_qid_at_3(employees: duckdb.DuckDBPyConnection) -> None:
    slide_8(employees, 3)
    db = ppdm_sql.open(employees)
    assert db.audit("safe", ["k >= 3 on Sex, Job"], count_column="n").holds
    assert not db.audit("safe", ["k >= 4 on Sex, Job"], count_column="n").holds


def test_slide_7_asks_k_4_which_slide_8_does_not_reach(employees: duckdb.DuckDBPyConnection) -> None:
    """The slide's three janitors are fewer than its k1 = 4; under 4 no job may be told."""
    found = slide_8(employees, 4)
    assert {row[:2] for row in found} == {("M", "ANY_Job"), ("F", "ANY_Job")}
    assert min(row[-1] for row in found) >= 4


# -- slide 15: the tree of partitions -------------------------------------------------------------

SLIDE_15 = ["k >= 4 on Sex, Job", "k >= 4 on Job, Salary"]
TREES = {"Sex": SEX, "Job": JOB, "Salary": SALARY}


def test_slide_15_the_tree_of_partitions(employees: duckdb.DuckDBPyConnection) -> None:
    release = generalized(employees, SLIDE_15, TREES)
    assert [(s.attribute, s.parent, tuple(s.children)) for s in release.steps()[:2]] == [
        ("Salary", "[1, 99)", ("[1, 37)", "[37, 99)")),
        ("Job", "ANY_Job", ("Blue-collar", "White-collar")),
    ]
    assert partitions(release, 0) == {("ANY_Sex", "ANY_Job", "[1, 99)", 34)}
    assert partitions(release, 1) == {
        ("ANY_Sex", "ANY_Job", "[1, 37)", 12),
        ("ANY_Sex", "ANY_Job", "[37, 99)", 22),
    }
    assert partitions(release, 2) == {
        ("ANY_Sex", "Blue-collar", "[1, 37)", 12),
        ("ANY_Sex", "Blue-collar", "[37, 99)", 4),
        ("ANY_Sex", "White-collar", "[37, 99)", 18),
    }


def test_slide_15_both_quasi_identifiers_keep_k(employees: duckdb.DuckDBPyConnection) -> None:
    release = generalized(employees, SLIDE_15, TREES)
    assert release.verify().holds
    assert ppdm_sql.open(employees).audit("safe", SLIDE_15, count_column="n").holds


def test_slide_11_grown_intervals_find_the_slides_split_of_salary(
    employees: duckdb.DuckDBPyConnection,
) -> None:
    """The best split by Class of salaries between 1 and 99 is the slide's 37, the least on the right."""
    release = generalized(
        employees, SLIDE_15, {"Sex": SEX, "Job": JOB}, ranges={"Salary": (1, 99)}, max_steps=1
    )
    (step,) = release.steps()
    assert (step.attribute, step.parent) == ("Salary", "[1, 99)")
    assert tuple(step.children) == ("[1, 37)", "[37, 99)")
    assert partitions(release, 1) == {
        ("ANY_Sex", "ANY_Job", "[1, 37)", 12),
        ("ANY_Sex", "ANY_Job", "[37, 99)", 22),
    }


def bits(*classes: int) -> float:
    """I(R) of slide 14."""
    return -sum(n / sum(classes) * math.log2(n / sum(classes)) for n in classes)


def test_slide_14_the_first_specialization_wins_by_gain_per_loss(
    employees: duckdb.DuckDBPyConnection,
) -> None:
    """I(34) = I(21Y, 13N); [1, 37) is 2Y10N and [37, 99) 19Y3N; A falls in QID2 alone, from 34 to 12."""
    step = generalized(employees, SLIDE_15, TREES).steps()[0]
    assert step.gain == pytest.approx(
        0.9596868937742169 - 12 / 34 * 0.6500224216483541 - 22 / 34 * 0.5746356978376794
    )
    assert step.loss == 34 - 12
    assert step.score == pytest.approx(step.gain / 23)


# -- Figure 1 of the HCE-TDR paper -----------------------------------------------------------------

PEOPLE = [
    ("Adm_clerical", 41, "Male", "high"),
    ("Sales", 45, "Male", "high"),
    ("Sales", 52, "Male", "high"),
    ("Adm_clerical", 63, "Male", "low"),
    ("Craft_repair", 23, "Female", "low"),
    ("Cleaners", 31, "Female", "low"),
    ("Craft_repair", 38, "Female", "high"),
    ("Cleaners", 36, "Female", "low"),
]
HCE_TREES = {
    "Job": {
        "ANY_Job": {
            "White_collar": ["Adm_clerical", "Sales"],
            "Blue_collar": ["Craft_repair", "Cleaners"],
        }
    },
    "Age": {"[1, 99)": {"[1, 40)": ["[1, 35)", "[35, 40)"], "[40, 99)": []}},
    "Sex": {"ANY_Sex": ["Male", "Female"]},
}


@pytest.mark.parametrize("method", ["tds", "hce-tdr"])
def test_figure_1_of_hce_tdr_two_groups_of_at_least_3(method: str) -> None:
    """The figure is not in the text at hand: these rows are made up to give the two groups that it names.

    The quasi-identifier, its groups, k = 3 and the taxonomies' named nodes (White_collar over Adm_clerical
    and Sales, [35, 40), [40, 99)) are the paper's; the other leaves and all eight people are ours.
    """
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE people (Job VARCHAR, Age INTEGER, Sex VARCHAR, Income VARCHAR)")
        connection.executemany("INSERT INTO people VALUES (?, ?, ?, ?)", PEOPLE)
        release = ppdm_sql.open(connection).generalize(
            "people",
            ["k >= 3 on Job, Age, Sex"],
            class_column="Income",
            into="safe",
            method=method,
            taxonomies=HCE_TREES,
            score="paper",
        )
        found = connection.execute("SELECT Job, Age, Sex, count(*) FROM safe GROUP BY ALL").fetchall()
        assert set(found) == {
            ("White_collar", "[40, 99)", "Male", 4),
            ("Blue_collar", "[1, 40)", "Female", 4),
        }
        assert release.verify().holds
