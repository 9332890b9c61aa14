"""``ppdm reconstruct``: what it prints, reads, refuses and leaves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from commands import assert_explained, execute, ppdm

ANSWERS = """
CREATE TABLE answers AS SELECT
    i % 100 + 60 * ((i * 7919 % 10007) / 10007 - 0.5) AS pay, (20 + i % 9 + i // 9 % 3)::INTEGER AS age,
    if(i % 10 < 7, 'Cook', ['Cook', 'Clerk', 'Trader'][i // 10 % 3 + 1]) AS job, i % 2 = 0 AS good
FROM range(5000) AS r (i)
"""
PAY = ["--noise", "pay=uniform 30", "--range", "pay=0,100"]


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    file = tmp_path / "survey.duckdb"
    execute(file, ANSWERS)
    return file


def reconstruct(file: Path, *more: str) -> Any:
    return ppdm("reconstruct", file, "answers", "--into", "found", *more)


def test_the_distribution_is_printed_and_what_stopped_the_iteration(survey: Path) -> None:
    result = reconstruct(survey, "--column", "pay", *PAY)
    assert result.exit_code == 0, result.stderr
    for title in ("Distribution", "Reconstruction", "Privacy by entropy"):
        assert title in result.stdout
    assert "chi-square criterion" in result.stdout
    assert "Made table found: 50 rows. Stopped by: chi-square criterion." in result.stderr
    assert execute(survey, "SELECT count(*), round(sum(probability), 9), round(sum(records)) FROM found") == [
        (50, 1.0, 5000.0)
    ]


def test_json_holds_the_rows_of_the_table(survey: Path) -> None:
    result = reconstruct(survey, "--column", "pay", *PAY, "--by-class", "good", "--format", "json")
    document = json.loads(result.stdout)
    shown = [(row["lower"], row["probability"], row["class"]) for row in document["Distribution"]]
    assert shown == execute(survey, "SELECT lower, probability, class::VARCHAR FROM found")
    (first, second) = document["Reconstruction"]
    assert (first["class"], second["class"]) == ("false", "true")
    assert {"records", "iterations", "stopped by", "noise"} <= set(first)
    assert 0 < document["Privacy by entropy"][0]["loss"] < 1


def test_all_options_are_read(survey: Path) -> None:
    noise = ["--noise", "age=uniform 1 rounded", "--range", "age=20,28"]
    noise += [*PAY, "--noise", "job=retain 70% of Cook,Clerk,Trader"]
    columns = ["--column", "pay", "--column", "job", "--column", "age"]
    more = ["--kernel", "midpoint", "--categorical", "inversion", "--fraction", "0", "--max-iterations", "4"]
    result = reconstruct(survey, *noise, *columns, *more, "--intervals", "6", "--quiet", "--format", "json")
    assert result.exit_code == 0
    assert all(line.startswith("Warning: ") for line in result.stderr.splitlines())  # the cap was reached
    runs = {row["column"]: row for row in json.loads(result.stdout)["Reconstruction"]}
    assert list(runs) == ["pay", "job", "age"]
    stops = {name: (row["iterations"], row["stopped by"], row["cells"]) for name, row in runs.items()}
    assert stops == {"pay": (4, "cap", 6), "job": (0, "none needed", 3), "age": (4, "cap", 5)}
    assert execute(survey, "SELECT DISTINCT attribute FROM found ORDER BY attribute") == [
        ("age",), ("job",), ("pay",)
    ]  # fmt: skip


def test_a_cap_nulls_and_values_outside_are_told(survey: Path) -> None:
    execute(survey, "INSERT INTO answers VALUES (NULL, 1, 'Cook', true), (-500, 1, 'Cook', true)")
    result = reconstruct(survey, "--column", "pay", *PAY, "--fraction", "0", "--max-iterations", "2")
    for words in (
        "the cap stopped 1 of 1 iterations",
        "Stopped by: cap.",
        "pay: 1 records have no value",
        "pay: 1 values lie farther out",
    ):
        assert words in result.stderr


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--column", "wage", *PAY], "has no column 'wage'"),
        (["--column", "pay", "--noise", "pay=uniform 30"], "range of the original values of 'pay'"),
        (["--column", "pay", "--noise", "pay=gauss 30"], "cannot be read"),
    ],
)
def test_what_cannot_be_done_is_explained(survey: Path, words: list[str], problem: str) -> None:
    assert_explained(reconstruct(survey, *words), code=2, problem=problem)
    assert execute(survey, "SELECT table_name FROM duckdb_tables()") == [("answers",)]
