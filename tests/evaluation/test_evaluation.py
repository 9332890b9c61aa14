"""What a release is worth for classification: known answers, and an independent tree of scikit-learn."""

from __future__ import annotations

import logging
import random
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier
from swap_releases import Heard

import ppdm_sql
from ppdm_sql.errors import InvalidOption, InvalidSource, PpdmError, UnknownColumn
from ppdm_sql.evaluation import evaluating

CELL = "Cellmarker-Axolotl-4242"
Row = tuple[Any, ...]


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as opened:
        yield opened


def load(con: duckdb.DuckDBPyConnection, declared: str, rows: Iterable[Row], table: str = "people") -> None:
    """Make a table; ``declared`` is what stands between the parentheses of CREATE TABLE."""
    con.execute(f"CREATE OR REPLACE TABLE {table} ({declared})")
    listed = list(rows)
    if listed:
        con.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' for _ in listed[0])})", listed)


def suppress(con: duckdb.DuckDBPyConnection, require: str, **options: Any) -> Any:
    """Publish ``safe`` from ``people``; the class is ``good``."""
    chosen: dict[str, Any] = {"class_column": "good", "into": "safe"} | options
    return ppdm_sql.open(con).suppress("people", [require], **chosen)


def evaluate(con: duckdb.DuckDBPyConnection, **options: Any) -> ppdm_sql.Evaluation:
    return ppdm_sql.open(con).evaluate("safe", **({"seeds": 2, "folds": 5} | options))


def means(found: ppdm_sql.Evaluation) -> dict[str, float]:
    return {rate.error: rate.mean for rate in found.rates}


def alternating(count: int) -> list[Row]:
    """The job tells the class, the town tells nothing."""
    return [
        (["cook", "clerk"][i % 2], ["ulm", "bern"][i // 2 % 2], ["good", "bad"][i % 2]) for i in range(count)
    ]


JOBS = "job VARCHAR, town VARCHAR, good VARCHAR"


# -- known answers --------------------------------------------------------------------------------


def test_a_class_that_the_masked_column_tells_is_lost_with_it(con: duckdb.DuckDBPyConnection) -> None:
    load(con, JOBS, alternating(80))
    suppress(con, "k >= 60 on job", keep=["town"])
    found = means(evaluate(con))
    assert found == {"BE": 0, "SE": 50, "RE": 50, "majority": 50, "SE - BE": 50, "RE - SE": 0}


def test_a_class_that_a_kept_column_tells_survives_masking_and_removal(
    con: duckdb.DuckDBPyConnection,
) -> None:
    load(con, JOBS, alternating(80))
    suppress(con, "k >= 60 on town", keep=["job"])
    found = means(evaluate(con))
    assert found == {"BE": 0, "SE": 0, "RE": 0, "majority": 50, "SE - BE": 0, "RE - SE": 0}


def test_what_a_release_still_shows_is_the_benefit_over_removal(con: duckdb.DuckDBPyConnection) -> None:
    rows = [(["cook", "clerk"][i % 2], "ulm", ["good", "bad"][i % 2]) for i in range(80)]
    rows += [(f"rare {i}", "ulm", "good") for i in range(10)]
    load(con, JOBS, rows)
    suppress(con, "k >= 10 on job")
    found = means(evaluate(con))
    assert found["SE"] == 0
    assert found["RE"] == found["majority"] == pytest.approx(100 * 40 / 90)
    assert found["RE - SE"] == found["RE"]


def test_removing_the_sensitive_columns_is_measured_where_there_are_some(
    con: duckdb.DuckDBPyConnection,
) -> None:
    load(con, JOBS, alternating(80))
    suppress(con, "town -> job = cook <= 60%")
    found = means(evaluate(con))
    assert (found["BE"], found["SE"], found["RE"]) == (0, 0, 0)
    assert found["RE (sensitive)"] == found["RE (sensitive) - SE"] == 50


def test_without_a_feature_left_the_majority_is_predicted(con: duckdb.DuckDBPyConnection) -> None:
    load(con, JOBS, [("cook", "ulm", "good" if i % 4 else "bad") for i in range(80)])
    suppress(con, "k >= 10 on job, town")
    found = means(evaluate(con))
    assert (found["RE"], found["majority"]) == (25, 25)


def test_the_class_and_pseudonyms_are_no_features(con: duckdb.DuckDBPyConnection) -> None:
    rows = [(f"person {i}", ["a", "b"][i * 7919 % 101 % 2], ["good", "bad"][i % 2]) for i in range(200)]
    load(con, "name VARCHAR, job VARCHAR, good VARCHAR", rows)
    suppress(con, "k >= 2 on job", identifiers={"name": "pseudonym"})
    found = means(evaluate(con))
    assert found["BE"] > 35
    assert found["SE"] > 35


def test_a_unique_kept_column_teaches_nothing(con: duckdb.DuckDBPyConnection) -> None:
    rows = [(f"person {i}", "cook", "good" if i % 4 else "bad") for i in range(80)]
    load(con, "name VARCHAR, job VARCHAR, good VARCHAR", rows)
    suppress(con, "k >= 2 on job", keep=["name"], allow_identifiers=["name"])
    assert means(evaluate(con))["BE"] == 25


# -- values -----------------------------------------------------------------------------------------

ORDERED = {
    "INTEGER": range(100),
    "DECIMAL(20, 10)": [f"{i}e-9" for i in range(100)],
    "HUGEINT": [10**37 + i for i in range(100)],
    "DOUBLE": [*(i * 1e300 for i in range(98)), float("inf"), float("nan")],
    "DATE": [f"{1900 + i}-01-01" for i in range(100)],
    "TIMESTAMP": [f"2020-01-01 00:00:00.{i:06}" for i in range(100)],
    "TIME": [f"12:00:{i * 0.5:07.4f}" for i in range(100)],
}


@pytest.mark.parametrize("kind", ORDERED)
def test_numbers_dates_and_times_are_ordered(con: duckdb.DuckDBPyConnection, kind: str) -> None:
    values = list(ORDERED[kind])
    load(con, f"x {kind}, job VARCHAR, good BOOLEAN", [(v, "cook", i >= 50) for i, v in enumerate(values)])
    suppress(con, "k >= 2 on job", keep=["x"], allow_identifiers=["x"])
    assert means(evaluate(con))["BE"] <= 2


def test_a_number_that_is_suppressed_in_part_keeps_its_order(con: duckdb.DuckDBPyConnection) -> None:
    rows = [(i % 20, ["low", "high"][i % 20 >= 10]) for i in range(400)] + [(77, "high")]
    load(con, "x INTEGER, good VARCHAR", rows)
    suppress(con, "k >= 5 on x")
    shown = {value for (value,) in con.execute("SELECT DISTINCT x FROM safe").fetchall()}
    assert {"*", "3"} <= shown
    assert means(evaluate(con))["SE"] == 0


@pytest.mark.parametrize("kind", ["VARCHAR", "INTEGER", "DOUBLE", "DATE", "ENUM('2020-01-01')"])
def test_null_is_a_value_of_its_own(con: duckdb.DuckDBPyConnection, kind: str) -> None:
    value = {"INTEGER": 1, "DOUBLE": 0.0}.get(kind, "2020-01-01")
    rows = [(value if i % 2 else None, "cook", ["yes", "no"][i % 2]) for i in range(80)]
    load(con, f"x {kind}, job VARCHAR, good VARCHAR", rows)
    suppress(con, "k >= 2 on job", keep=["x"])
    assert means(evaluate(con))["BE"] == 0


def test_names_may_be_anything(con: duckdb.DuckDBPyConnection) -> None:
    names = ['a "b"; DROP TABLE people; --', "select", "x0", "v0", "label", "records", "Größe 大", "s"]
    declared = ", ".join('"' + name.replace('"', '""') + '" VARCHAR' for name in [*names, "it's"])
    rows = [(*(f"{n}{i % 2}" for n in names), ["y'", 'n"'][i % 2]) for i in range(60)]
    load(con, declared, rows, table='"odd ""table"""')
    db = ppdm_sql.open(con)
    mask = '"a ""b""; DROP TABLE people; --"'
    db.suppress('odd "table"', [f"k >= 5 on {mask}"], class_column="it's", into='odd "safe"', keep=names[1:])
    found = db.evaluate('odd "safe"', seeds=1)
    assert found.rate("BE").mean == found.rate("SE").mean == 0


def generalize(con: duckdb.DuckDBPyConnection, require: str, **options: Any) -> Any:
    chosen: dict[str, Any] = {"class_column": "good", "into": "safe"} | options
    return ppdm_sql.open(con).generalize("people", [require], **chosen)


def test_a_generalized_release_is_evaluated_by_its_labels(con: duckdb.DuckDBPyConnection) -> None:
    jobs = ["cook", "baker", "clerk", "lawyer"]
    rows = [(jobs[i % 4], i % 50, i % 4 < 2, i % 50 >= 20) for i in range(200)]
    load(con, "job VARCHAR, x INTEGER, hand BOOLEAN, good BOOLEAN", rows)
    taxonomy = {"any": {"hand": ["cook", "baker"], "head": ["clerk", "lawyer"]}}
    options: dict[str, Any] = {"keep": ["hand"], "interval_columns": True, "score": "paper"}
    generalize(con, "k >= 10 on job, x", taxonomies={"job": taxonomy}, **options)
    assert {x for (x,) in con.execute("SELECT DISTINCT x FROM safe").fetchall()} == {"[0, 20)", "[20, 49]"}
    found = means(evaluate(con))
    assert (found["BE"], found["SE"], found["RE"]) == (0, 0, 40)
    load(con, "job VARCHAR, x INTEGER, hand BOOLEAN, good BOOLEAN", [("cook", 19, True, True)], table="later")
    con.execute("INSERT INTO later VALUES ('pilot', 20, NULL, true), (NULL, 49, true, true)")
    tested = evaluate(con, test="later")
    assert tested.rate("BE").mean == tested.rate("SE").mean == pytest.approx(100 / 3)


# -- an independent tree ------------------------------------------------------------------------------


def noisy(seed: int, count: int) -> list[Row]:
    """Jobs, ages and a class that depends on both, not surely; some of them NULL."""
    draw = random.Random(seed)
    rows: list[Row] = []
    for _ in range(count):
        job, age = draw.choice([*"abcdefgh", None]), draw.choice([None, *range(20)])
        share = 0.2 + 0.3 * (job in ("a", "b")) + 0.4 * (age is not None and age > 12)
        rows.append((job, age, draw.choice(["p", "q"]), draw.random() < share))
    return rows


NOISY = "job VARCHAR, age INTEGER, town VARCHAR, good BOOLEAN"


def matrix(rows: Sequence[Row]) -> Any:
    """One column a job and a town, one of ages, one for an age that is missing."""
    jobs = [[row[0] == job for job in [*"abcdefgh", None]] for row in rows]
    ages = [[-1 if row[1] is None else row[1], row[1] is None] for row in rows]
    towns = [[row[2] == town for town in "pq"] for row in rows]
    return np.hstack([jobs, ages, towns]).astype(float)


def peer(train: Sequence[Row], test: Sequence[Row]) -> int:
    """Count the mistakes of a tree that is grown from single records, with the settings of the docs."""
    tree = DecisionTreeClassifier(
        criterion="entropy", min_samples_leaf=5, ccp_alpha=8 / len(train), random_state=1
    )
    tree.fit(matrix(train), [row[-1] for row in train])
    return int((tree.predict(matrix(test)) != np.array([row[-1] for row in test])).sum())


@pytest.mark.parametrize("seed", range(2))
def test_the_error_is_that_of_a_tree_grown_from_single_records(
    con: duckdb.DuckDBPyConnection, seed: int
) -> None:
    train, test = noisy(seed, 700), noisy(100 + seed, 500)
    load(con, NOISY, train)
    load(con, NOISY, test, table="later")
    suppress(con, "k >= 1 on town", keep=["job", "age"])
    found = evaluate(con, test="later", seeds=1)
    assert found.rate("BE").mean == pytest.approx(100 * peer(train, test) / 500)
    assert found.rate("SE").mean == found.rate("BE").mean


def test_cross_validation_agrees_with_single_records(con: duckdb.DuckDBPyConnection) -> None:
    rows = noisy(3, 2000)
    load(con, NOISY, rows)
    suppress(con, "k >= 1 on town", keep=["job", "age"])
    places = np.random.default_rng(0).permutation(len(rows)) % 5
    parts = [[row for row, place in zip(rows, places, strict=True) if place == fold] for fold in range(5)]
    wrong = sum(peer([row for p in parts if p is not part for row in p], part) for part in parts)
    assert evaluate(con).rate("BE").mean == pytest.approx(100 * wrong / len(rows), abs=1.5)


def test_a_sparse_matrix_gives_the_same_errors(
    con: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    load(con, NOISY, noisy(4, 800))
    suppress(con, "k >= 5 on town", keep=["job", "age"])
    dense = evaluate(con, seeds=1)
    monkeypatch.setattr(evaluating, "MOST_DENSE", 0)
    assert means(evaluate(con, seeds=1)) == pytest.approx(means(dense), abs=0.5)


# -- counts, order, seeds -----------------------------------------------------------------------------


def test_collapsed_rows_give_exactly_the_errors_of_single_records(con: duckdb.DuckDBPyConnection) -> None:
    load(con, NOISY, noisy(5, 1000))
    suppress(con, "k >= 20 on job, town", keep=["age"])
    single = evaluate(con)
    con.execute("CREATE TABLE one_by_one AS FROM people")
    con.execute("DROP TABLE people")
    con.execute("CREATE TABLE people AS SELECT *, count(*)::INT AS n FROM one_by_one GROUP BY ALL")
    suppress(con, "k >= 20 on job, town", keep=["age"], count_column="n", into="counted")
    counted = ppdm_sql.open(con).evaluate("counted", seeds=2, folds=5)
    assert counted.rates == single.rates
    assert counted.records == single.records == 1000


def test_folds_split_records_and_not_rows(con: duckdb.DuckDBPyConnection) -> None:
    load(con, "job VARCHAR, good VARCHAR, n INTEGER", [("a", "yes", 30), ("b", "no", 30), ("c", "no", 0)])
    suppress(con, "k >= 2 on job", count_column="n")
    assert means(evaluate(con, folds=10))["BE"] == 0


def test_the_order_of_rows_and_the_number_of_threads_change_nothing() -> None:
    found = []
    for turn in range(2):
        rows = noisy(6, 900)
        random.Random(turn).shuffle(rows)
        with duckdb.connect(config={"threads": turn + 1}) as opened:
            load(opened, NOISY, rows)
            suppress(opened, "k >= 20 on job, town", keep=["age"])
            found.append(evaluate(opened, sample=500).rates)
    assert found[0] == found[1]


def test_seeds_differ_and_more_of_them_change_none(con: duckdb.DuckDBPyConnection) -> None:
    load(con, NOISY, noisy(7, 600))
    suppress(con, "k >= 20 on job, town", keep=["age"])
    few, many = evaluate(con, seeds=2), evaluate(con, seeds=4)
    rate = many.rate("BE")
    assert few.rate("BE").per_cent == rate.per_cent[:2]
    assert len(set(rate.per_cent)) > 1
    assert rate.lowest < rate.mean < rate.highest
    assert rate.deviation == pytest.approx(np.std(rate.per_cent, ddof=1))
    assert evaluate(con, seeds=1).rate("BE").deviation is None


class Listening(Heard):
    """A progress that remembers measures, too, and whether it was stopped."""

    def __init__(self) -> None:
        super().__init__()
        self.updates: list[dict[str, object]] = []
        self.running = True

    def update(self, **measures: object) -> None:
        self.updates.append(measures)

    def stop(self) -> None:
        self.running = False


def test_a_sample_is_said_to_be_one(con: duckdb.DuckDBPyConnection) -> None:
    load(con, JOBS, alternating(80))
    suppress(con, "k >= 2 on job", keep=["town"])
    told = Listening()
    found = evaluate(con, sample=60, progress=told)
    assert (found.records, found.drawn) == (80, 60)
    assert told.notices == ["Each seed draws 60 of the 80 records of the release; see --sample."]
    assert {"seed": 2, "error": "RE"} in told.updates
    assert not told.running
    whole = Listening()
    assert evaluate(con, sample=80, progress=whole).drawn == 80
    assert whole.notices == []


def test_it_is_told_that_dropping_the_masked_columns_would_predict_better(
    con: duckdb.DuckDBPyConnection,
) -> None:
    load(con, JOBS, alternating(80))
    con.execute("CREATE TABLE later AS SELECT job, town, if(good = 'bad', 'good', 'bad') good FROM people")
    suppress(con, "k >= 2 on job", keep=["town"])
    told = Listening()
    rates = means(evaluate(con, test="later", seeds=1, progress=told))
    assert rates["RE"] < rates["SE"]
    assert told.notices == [
        "Dropping the masked columns would predict better than safe does: without them "
        f"{rates['RE']:g} % of the tested records are mistaken, with them as released {rates['SE']:g} %."
    ]


# -- a test table ---------------------------------------------------------------------------------------


def test_a_test_table_is_recoded_as_the_release_was(con: duckdb.DuckDBPyConnection) -> None:
    rows = [(["cook", "clerk"][i % 2], "ulm", ["good", "bad"][i % 2]) for i in range(80)]
    load(con, JOBS, [*rows, *((f"rare {i}", "ulm", "good") for i in range(10))])
    suppress(con, "k >= 10 on job")
    load(
        con,
        JOBS,
        [("cook", "x", "good"), ("clerk", None, "bad"), ("rare 3", "", "good"), ("new", "", "bad")],
        "later",
    )
    found = evaluate(con, test="later")
    assert found.test == "later"
    assert found.rate("SE").per_cent == (25.0, 25.0)
    assert found.rate("majority").mean == 50


def test_a_number_between_two_of_training_has_its_place(con: duckdb.DuckDBPyConnection) -> None:
    load(con, "x INTEGER, job VARCHAR, good BOOLEAN", [(4 * i, "cook", i >= 50) for i in range(100)])
    load(
        con,
        "x DOUBLE, job VARCHAR, good BOOLEAN",
        [(i + 0.5, "cook", i >= 198) for i in range(-9, 500)],
        "later",
    )
    suppress(con, "k >= 2 on job", keep=["x"], allow_identifiers=["x"])
    assert evaluate(con, test="later").rate("BE").mean < 1


def test_a_class_that_training_does_not_know_is_always_mistaken(con: duckdb.DuckDBPyConnection) -> None:
    load(con, JOBS, alternating(80))
    suppress(con, "k >= 2 on job", keep=["town"])
    load(con, JOBS, [("cook", "ulm", "good"), ("cook", "oslo", "ugly"), ("cook", "ulm", None)], table="later")
    assert evaluate(con, test="later").rate("BE").mean == pytest.approx(100 * 2 / 3)


def test_a_collapsed_test_table_is_counted(con: duckdb.DuckDBPyConnection) -> None:
    counted = "job VARCHAR, good VARCHAR, n INTEGER"
    load(con, counted, [("a", "yes", 30), ("b", "no", 30)])
    suppress(con, "k >= 2 on job", count_column="n")
    load(con, counted, [("a", "yes", 3), ("a", "no", 1)], table="later")
    found = evaluate(con, test="later")
    assert found.rate("BE").mean == found.rate("SE").mean == 25


TESTS: dict[str, tuple[str, list[Row], type[PpdmError], str]] = {
    "empty": (JOBS, [], InvalidSource, "'later' has no records"),
    "without a column": ("job VARCHAR, good VARCHAR", [("a", "b")], UnknownColumn, "'town'"),
    "without the class": ("job VARCHAR, town VARCHAR", [("a", "b")], UnknownColumn, "'good'"),
    "of another kind": ("job INTEGER, town VARCHAR, good VARCHAR", [(1, "a", "b")], InvalidSource, "'job'"),
}


@pytest.mark.parametrize("name", TESTS)
def test_a_test_table_that_cannot_be_used_is_refused(con: duckdb.DuckDBPyConnection, name: str) -> None:
    declared, rows, error, problem = TESTS[name]
    load(con, JOBS, alternating(80))
    suppress(con, "k >= 2 on job", keep=["town"])
    load(con, declared, rows, table="later")
    with pytest.raises(error) as caught:
        evaluate(con, test="later")
    assert problem in caught.value.problem
    assert caught.value.remedy


# -- what is refused --------------------------------------------------------------------------------------

CHANGES = {
    "a record more": f"INSERT INTO people VALUES ('{CELL}', 'ulm', 'good')",
    "a record less": f"DELETE FROM people WHERE job = '{CELL}'",
    "another class": f"UPDATE people SET good = 'ugly' WHERE job = '{CELL}'",
    "another kept value": f"UPDATE people SET town = NULL WHERE job = '{CELL}'",
    "a column less": "ALTER TABLE people DROP town",
    "another name": "ALTER TABLE people RENAME job TO profession",
    "no table": "DROP TABLE people",
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_source_that_has_changed_is_refused(
    con: duckdb.DuckDBPyConnection, change: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    load(con, JOBS, [*alternating(80), (CELL, "bern", "good")])
    suppress(con, "k >= 2 on job", keep=["town"])
    con.execute(CHANGES[change])
    told = "'safe' was made, is not in this database" if change == "no table" else "is not what it was"
    with pytest.raises(InvalidSource, match=f"'people'.*{told}") as caught:
        evaluate(con)
    assert caught.value.remedy
    assert CELL not in str(caught.value) + caplog.text


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"folds": 1}, "1 folds"),
        ({"folds": 81}, "80 records cannot fill 81 folds"),
        ({"seeds": 0}, "0 seeds"),
        ({"sample": 4}, "A sample of 4"),
    ],
)
def test_options_that_measure_nothing_are_refused(
    con: duckdb.DuckDBPyConnection, options: dict[str, int], problem: str
) -> None:
    load(con, JOBS, alternating(80))
    suppress(con, "k >= 2 on job")
    with pytest.raises(InvalidOption, match=problem):
        evaluate(con, **options)


def test_a_release_of_the_class_alone_is_refused(con: duckdb.DuckDBPyConnection) -> None:
    load(con, JOBS, alternating(80))
    suppress(con, "k >= 2 on job", identifiers={"town": "pseudonym"}, keep=[])
    con.execute(
        "UPDATE ppdm.releases SET parameters = replace(parameters::VARCHAR, 'suppressed', 'pseudonym')"
    )
    with pytest.raises(InvalidOption, match="no column to predict 'good' from"):
        evaluate(con)


# -- traces and dependencies --------------------------------------------------------------------------------


def test_an_evaluation_leaves_nothing_behind(con: duckdb.DuckDBPyConnection) -> None:
    load(con, JOBS, alternating(80))
    suppress(con, "k >= 2 on job")
    listed = (
        "SELECT table_name FROM duckdb_tables() UNION ALL SELECT type_name FROM duckdb_types() ORDER BY 1"
    )
    before = con.execute(listed).fetchall()
    evaluate(con)
    with pytest.raises(InvalidOption):
        evaluate(con, folds=81)
    assert con.execute(listed).fetchall() == before


def test_no_log_of_an_evaluation_holds_a_cell(
    con: duckdb.DuckDBPyConnection, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    load(
        con, JOBS, [(f"{CELL}{job}", f"{CELL}{town}", f"{CELL}{good}") for job, town, good in alternating(80)]
    )
    suppress(con, "k >= 2 on job", keep=["town"])
    found = evaluate(con)
    assert any(record.name.startswith("ppdm_sql") for record in caplog.records)
    assert CELL not in caplog.text + repr(found)


# -- Adult ----------------------------------------------------------------------------------------


def test_the_baseline_on_adult_is_near_that_of_c45(
    con: duckdb.DuckDBPyConnection, adult_csv: list[str]
) -> None:
    complete = "'?' NOT IN (workclass, occupation, native_country)"
    for table, file in zip(("people", "later"), adult_csv, strict=True):
        con.execute(f"CREATE TABLE {table} AS FROM read_csv('{Path(file)}') WHERE {complete}")
    columns = [name for (name, *_) in con.execute("DESCRIBE people").fetchall()]
    masked = ["race", "sex", "marital_status", "relationship"]
    keep = [name for name in columns if name not in (*masked, "income")]
    suppress(con, f"k >= 10 on {', '.join(masked)}", class_column="income", keep=keep)
    found = means(evaluate(con, test="later", seeds=1))
    assert 14.0 < found["BE"] < 14.9
    assert found["majority"] == pytest.approx(24.57, abs=0.01)
    assert found["BE"] <= found["SE"] + 0.3
    assert found["SE"] + 1 < found["RE"] < 20


def test_a_collation_merges_neither_values_nor_classes(con: duckdb.DuckDBPyConnection) -> None:
    rows = [(["cook", "COOK"][i % 2], ["ulm", "bern"][i // 2 % 2], ["Y", "y"][i % 2]) for i in range(80)]
    load(con, "job VARCHAR COLLATE NOCASE, town VARCHAR, good VARCHAR COLLATE NOCASE", rows)
    load(con, "job VARCHAR COLLATE NOCASE, town VARCHAR, good VARCHAR COLLATE NOCASE", rows, "others")
    suppress(con, "k >= 60 on town", keep=["job"])
    for test in (None, "others"):
        found = means(evaluate(con, test=test))
        assert (found["BE"], found["SE"], found["majority"]) == (0, 0, 50)
