"""``ppdm train``: what it prints, stores and refuses."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from commands import assert_explained, execute, ppdm

import ppdm_sql


@pytest.fixture(scope="session")
def people_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """2,000 people, 500 to test on, and a release with noisy ages."""
    file = tmp_path_factory.mktemp("people") / "people.duckdb"
    with ppdm_sql.open(file, create=True) as db:
        db.generate_agrawal("people", function=1, rows=2000, seed=1)
        db.generate_agrawal("held", function=1, rows=500, seed=2)
        noise, ranges = {"age": "gaussian 50%"}, {"age": (20, 80)}
        db.randomize("people", noise=noise, ranges=ranges, class_column="class", into="safe", seed=1)
        db.engine.query("CREATE TABLE bare AS FROM safe", step="copy")
    return file


@pytest.fixture
def people(people_file: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(people_file, tmp_path / "people.duckdb"))


def test_a_release_is_learnt_from_and_tree_and_confusion_are_printed(people: Path) -> None:
    result = ppdm("train", people, "safe", "--class", "class", "--test", "held", "--into", "m")
    assert result.exit_code == 0, result.stderr
    assert "mode" in result.stdout and "byclass" in result.stdout
    assert "age < " in result.stdout and "Group A" in result.stdout
    assert "confusion" in result.stdout and "accuracy" in result.stdout
    assert "Stored model m: " in result.stderr and "ppdm predict" in result.stderr
    ((right,),) = [execute(people, "SELECT avg((m_predict(age) = class)::INTEGER) FROM held")]
    assert right[0] > 0.9


def test_noise_is_given_for_a_table_that_does_not_know_it(people: Path) -> None:
    words = ["train", people, "bare", "--class", "class", "--mode", "global", "--into", "m", "--quiet"]
    assert_explained(ppdm(*words), code=2, problem="Nothing is known of the noise")
    result = ppdm(*words, "--noise", "age=gaussian 50%", "--range", "age=20,80", "--format", "json")
    assert (result.exit_code, result.stderr) == (0, "")
    assert json.loads(result.stdout)


def test_options_reach_the_tree(people: Path) -> None:
    words = ["train", people, "people", "--class", "class", "--mode", "original", "--quiet"]
    more = ["--columns", "age, salary", "--intervals", "12", "--max-depth", "1"]
    assert ppdm(*words, *more, "--min-split", "30", "--no-prune", "--into", "m").exit_code == 0
    with ppdm_sql.open(people, read_only=True) as db:
        tree, row = db.model("m").tree(), db.model("m").row()
    assert [item.name for item in tree.attributes] == ["salary", "age"]
    assert {item.cells for item in tree.attributes} == {12}
    assert tree.depth == 1
    assert (row.parameters["min_split"], row.parameters["prune"]) == (30, False)


def test_statements_are_printed_and_nothing_is_stored(people: Path) -> None:
    before = people.read_bytes()
    words = ["train", people, "safe", "--class", "class", "--mode", "local", "--test", "held", "--into", "m"]
    result = ppdm(*words, "--sql")
    assert result.exit_code == 0, result.stderr
    assert "CREATE MACRO" in result.stdout and "GROUP BY" in result.stdout
    assert people.read_bytes() == before


def test_a_mode_that_there_is_not_is_refused(people: Path) -> None:
    result = ppdm("train", people, "people", "--class", "class", "--mode", "best", "--into", "m")
    assert_explained(result, code=2, problem="no mode 'best'")


def test_a_misspelt_column_is_refused(people: Path) -> None:
    words = ["train", people, "people", "--class", "class", "--mode", "original", "--into", "m"]
    assert_explained(ppdm(*words, "--columns", "agee"), code=2, problem="no column 'agee'")


def test_a_test_table_without_the_class_is_refused_and_nothing_is_stored(people: Path) -> None:
    execute(people, "CREATE TABLE blind AS SELECT age FROM held")
    words = ["train", people, "people", "--class", "class", "--mode", "original", "--into", "m"]
    assert_explained(ppdm(*words, "--test", "blind", "--quiet"), code=2, problem="'class'")
    with ppdm_sql.open(people, read_only=True) as db:
        assert db.models() == []
