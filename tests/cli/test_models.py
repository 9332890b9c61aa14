"""``ppdm generate``, ``train``, ``predict`` and ``models``, and ``show`` and ``drop`` of models."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path

import pytest
from commands import assert_explained, execute, ppdm

import ppdm_sql
from ppdm_sql.methods.trees.model import Attribute, DecisionTree, TreeNode
from ppdm_sql.methods.trees.storing import store_model

TREE = DecisionTree(
    "byclass",
    "class",
    "VARCHAR",
    ("Group A", "Group B"),
    (
        Attribute("age", "DOUBLE", (40.0, 60.0), noise="gaussian 15 on 20,80"),
        Attribute("salary", "DOUBLE", (50_000.0,)),
    ),
    (
        TreeNode(0, None, None, 0, (500, 500), "age", 40.0),
        TreeNode(1, 0, "left", 1, (250, 10)),
        TreeNode(2, 0, "right", 1, (250, 490), "age", 60.0),
        TreeNode(3, 2, "left", 2, (5, 480)),
        TreeNode(4, 2, "right", 2, (245, 10)),
    ),
)


@pytest.fixture(scope="session")
def trained_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("trained") / "people.duckdb"
    with ppdm_sql.open(file, create=True) as db:
        db.generate_agrawal("people", function=1, rows=200, seed=1)
        options = {"level": "100%", "seed": None}
        tested = ((9, 1), (2, 8))
        store_model(
            db.engine, "m", TREE, source="people", parameters=options, test="held out", confusion=tested
        )
    return file


@pytest.fixture
def trained(trained_file: Path, tmp_path: Path) -> Path:
    """A fresh copy of 200 people and a model of them, which is always right."""
    return Path(shutil.copy(trained_file, tmp_path / "people.duckdb"))


def test_predict_makes_a_table_and_counts_the_classes(trained: Path) -> None:
    result = ppdm("predict", trained, "m", "people", "--into", "p", "--format", "json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout) == [
        {"predicted": "Group A", "records": 100},
        {"predicted": "Group B", "records": 100},
    ]
    assert result.stderr == "Made table p: 200 rows.\n"
    assert execute(trained, "SELECT count(*) FROM p WHERE predicted = class") == [(200,)]


def test_columns_are_chosen_and_the_prediction_is_named(trained: Path) -> None:
    words = ["predict", trained, "M", "people", "--keep", "car, AGE", "--column", "odd name", "--into", "p"]
    result = ppdm(*words, "--quiet")
    assert (result.exit_code, result.stderr) == (0, "")
    described = execute(trained, "DESCRIBE p")
    assert [name for name, *_ in described] == ["car", "age", "odd name"]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["n", "people", "--into", "p"], "no model 'n'"),
        (["m", "people", "--into", "p", "--column", "AGE"], "--column"),
        (["m", "people", "--into", "p", "--keep", "aeg"], "'aeg'"),
        (["m", "cars", "--into", "p"], "'age'"),
    ],
)
def test_what_cannot_be_is_explained(trained: Path, words: list[str], problem: str) -> None:
    execute(trained, "CREATE TABLE cars AS SELECT car FROM people")
    assert_explained(ppdm("predict", trained, *words), code=2, problem=problem)


def test_show_draws_the_tree_with_the_results_of_the_training(trained: Path) -> None:
    result = ppdm("show", trained, "m")
    assert (result.exit_code, result.stderr) == (0, "")
    assert (
        "1000 records\n"
        "├── age < 40: Group A (96.2% of 260)\n"
        "└── age >= 40\n"
        "    ├── age < 60: Group B (99.0% of 485)\n"
        "    └── age >= 60: Group A (96.1% of 255)\n"
    ) in result.stdout
    for words in ("gaussian 15 on 20,80", '"m_predict"("age")', "held out", "0.85", "100%"):
        assert words in result.stdout


def test_show_tries_a_model_on_a_table(trained: Path) -> None:
    result = ppdm("show", trained, "m", "--test", "people", "--format", "json")
    printed = json.loads(result.stdout)
    assert printed["confusion"] == [
        {"class": "Group A", "as Group A": 100, "as Group B": 0, "right": 1.0},
        {"class": "Group B", "as Group A": 0, "as Group B": 100, "right": 1.0},
    ]
    assert printed["accuracy"] == [{"table": "people", "records": 200, "accuracy": 1.0}]
    assert [node["column"] for node in printed["nodes"]] == ["age", None, "age", None, None]
    assert [node["counts"] for node in printed["nodes"]][0] == [500, 500]


def test_every_format_holds_the_tree(trained: Path) -> None:
    for form in ("csv", "jsonl", "markdown"):
        result = ppdm("show", trained, "m", "--format", form)
        assert result.exit_code == 0
        assert "Group B" in result.stdout and "held out" in result.stdout
    tables = ppdm("show", trained, "m", "--format", "csv").stdout.split("\n\n")
    nodes = list(csv.DictReader(io.StringIO(tables[1])))
    assert [node["cut"] for node in nodes] == ["40.0", "", "60.0", "", ""]


def test_options_of_releases_are_refused_for_models_and_the_other_way_round(
    trained: Path, released: Path
) -> None:
    for more in (["--step", "1"], ["--partitions"]):
        assert_explained(ppdm("show", trained, "m", *more), code=2, problem="is a model")
    assert_explained(ppdm("show", released, "safe", "--test", "customers"), code=2, problem="is a release")


def test_a_test_table_that_cannot_serve_is_explained(trained: Path) -> None:
    execute(trained, "CREATE TABLE other AS SELECT age, 'unseen' AS class FROM people")
    assert_explained(ppdm("show", trained, "m", "--test", "other"), code=2, problem="200 records of other")


def test_models_are_listed_apart_from_releases(trained: Path) -> None:
    (listed,) = json.loads(ppdm("models", trained, "--format", "json").stdout)
    assert (listed["model"], listed["mode"], listed["accuracy"]) == ("m", "byclass", 0.85)
    assert ppdm("releases", trained, "--format", "json").stdout == "[]\n"


def test_drop_removes_a_model(trained: Path) -> None:
    result = ppdm("drop", trained, "m")
    assert (result.exit_code, result.stderr) == (0, "Dropped m.\n")
    assert execute(trained, "SELECT count(*) FROM ppdm.nodes") == [(0,)]
    assert_explained(ppdm("drop", trained, "m"), code=2, problem="'m'")


def test_an_unknown_name_is_answered_with_releases_and_models(trained: Path) -> None:
    result = ppdm("show", trained, "n")
    assert_explained(result, code=2, problem="no release or model 'n'.")
    assert "Here are: m." in result.stderr


# -- train -------------------------------------------------------------------------------------------


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


def test_a_test_table_without_the_class_is_refused_and_nothing_is_stored(people: Path) -> None:
    execute(people, "CREATE TABLE blind AS SELECT age FROM held")
    words = ["train", people, "people", "--class", "class", "--mode", "original", "--into", "m"]
    assert_explained(ppdm(*words, "--test", "blind", "--quiet"), code=2, problem="'class'")
    with ppdm_sql.open(people, read_only=True) as db:
        assert db.models() == []


# -- generate ----------------------------------------------------------------------------------------


PEOPLE = ("--function", "2", "--rows", "100", "--into", "people")


def test_a_file_is_made_and_holds_the_table(tmp_path: Path) -> None:
    file = tmp_path / "new.duckdb"
    result = ppdm("generate", "agrawal", file, *PEOPLE, "--seed", "3", "--format", "json")
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
    told = ppdm("generate", "agrawal", file, *PEOPLE, "--no-balanced")
    seed = told.stderr.rstrip(".\n").rpartition(" ")[2]
    again = [*PEOPLE[:-1], "again", "--no-balanced", "--seed", seed, "--quiet"]
    quiet = ppdm("generate", "agrawal", file, *again)
    assert (quiet.exit_code, quiet.stderr) == (0, "")
    assert execute(file, "FROM people EXCEPT FROM again") == []


def test_people_that_cannot_be_made_are_explained(tmp_path: Path) -> None:
    file = tmp_path / "new.duckdb"
    wrong = ppdm("generate", "agrawal", file, "--function", "7", *PEOPLE[2:])
    assert_explained(wrong, code=2, problem="function 7")
    assert ppdm("generate", "agrawal", file, *PEOPLE).exit_code == 0
    assert_explained(ppdm("generate", "agrawal", file, *PEOPLE), code=2, problem="'people'")
    assert ppdm("generate", "agrawal", file).exit_code == 2
