"""Tails of grown columns: values from a bound up, or down from one, share a label that opens there."""

from __future__ import annotations

import datetime
import random
from typing import Any
from unittest import mock

import duckdb
import pytest

import ppdm_sql
from ppdm_sql.methods.top_down.interval_cuts import Tails

ANY = "any value"


def opened(
    rows: list[tuple[int | None]], seed: int = 0
) -> tuple[duckdb.DuckDBPyConnection, ppdm_sql.Database]:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t (age INTEGER, c INTEGER)")
    chosen = random.Random(seed)
    connection.executemany("INSERT INTO t VALUES (?, ?)", [(age, chosen.randrange(2)) for (age,) in rows])
    return connection, ppdm_sql.open(connection)


def holds(label: str | None, age: int | None) -> bool:
    """Whether a label is true of an age."""
    if label is None or age is None:
        return label is None and age is None
    words = label.split()
    if label == ANY:
        return True
    if label.endswith(" or more"):
        return age >= int(words[0])
    if label.endswith(" or less"):
        return age <= int(words[0])
    if label.startswith("less than "):
        return age < int(words[2])
    lower, upper = label[1:-1].split(", ")
    return int(lower) <= age < int(upper) or (label.endswith("]") and age == int(upper))


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("label", [None, "c"])
def test_no_label_splits_a_tail_and_each_is_true(seed: int, label: str | None) -> None:
    chosen = random.Random(seed)
    ages = [(chosen.randrange(0, 110),) for _ in range(chosen.choice([8, 40, 120]))]
    ages += [(None,)] * chosen.choice([0, 3])
    connection, db = opened(ages, seed)
    bottom, top = chosen.choice([(None, 90), (18, None), (18, 90), (-5, 200), (50, 51)])
    release = db.generalize(
        "t",
        ["k >= 3 on age"],
        class_column=label,
        into="safe",
        tops={} if top is None else {"age": top},
        bottoms={} if bottom is None else {"age": bottom},
    )
    assert release.verify().holds
    found = connection.execute("SELECT value, generalized FROM ppdm.cuts").fetchall()
    shown = {None if value is None else int(value): text for value, text in found}
    assert all(text == "*" or holds(text, age) for age, text in shown.items())
    if top is not None:
        tail = {text for age, text in shown.items() if age is not None and age >= top}
        assert len(tail) <= 1
        assert all(text.endswith(" or more") or text in (ANY, "*") for text in tail)
    if bottom is not None:
        tail = {text for age, text in shown.items() if age is not None and age <= bottom}
        assert len(tail) <= 1
        assert all(
            text.endswith(" or less") or text.startswith("less") or text in (ANY, "*") for text in tail
        )
    # what the release shows of each value is what new records of these values get
    connection.execute("CREATE TABLE new AS SELECT DISTINCT age, 1 AS c FROM t")
    db.apply("safe", "new", into="again", unseen="refuse")
    assert {row[0] for row in connection.execute("SELECT age FROM again").fetchall()} == set(shown.values())


WAYS: list[dict[str, Any]] = [
    {},
    {"require": ["k >= 3 on age, zone", "distinct l >= 2 of ill on age"]},
    {"ranges": {"age": (-9, 210)}, "interval_columns": True},
    {"min_widths": {"age": 7}, "symbol": "?", "boundary": "best"},
    {"taxonomies": {"age": "ranges 5,10,20"}},
]


@pytest.mark.parametrize("seed", range(20))
def test_a_release_with_tails_keeps_its_promise_whatever_is_left_out(seed: int) -> None:
    chosen = random.Random(seed)
    bottom, top = chosen.choice([(None, 90), (18, None), (18, 90), (-5, 200), (50, 51), (200, None)])
    ages = [(chosen.choice([5, 17, 30, 31, 60, 91]),) for _ in range(chosen.choice([12, 30]))]
    outliers = chosen.choice([4, 9])
    ages += [(age,) for age in chosen.sample(range(110), outliers)] + [(None,)] * chosen.choice([0, 1, 4])
    connection, db = opened(ages, seed)
    connection.execute("ALTER TABLE t ADD zone INTEGER; ALTER TABLE t ADD ill INTEGER")
    connection.execute("UPDATE t SET zone = age // 50 + rowid % 2, ill = rowid % 3")
    given: dict[str, Any] = {
        "require": [chosen.choice(["k >= 3 on age", "k >= 3 on age, zone"])],
        "class_column": chosen.choice([None, "c"]),
        "tops": {} if top is None else {"age": top},
        "bottoms": {} if bottom is None else {"age": bottom},
    }
    release = db.generalize("t", into="safe", suppress_records="60%", **given | chosen.choice(WAYS))
    assert release.verify().holds
    assert release.row().rows + (release.row().left_out or 0) == len(ages)
    found = connection.execute("SELECT value, generalized FROM ppdm.cuts WHERE attribute = 'age'").fetchall()
    shown = {None if value is None else int(value): text for value, text in found}
    assert all(text in ("*", "?") or holds(text, age) for age, text in shown.items())
    numbers = {age: text for age, text in shown.items() if age is not None}
    assert bottom is None or len({text for age, text in numbers.items() if age <= bottom}) <= 1
    assert top is None or len({text for age, text in numbers.items() if age >= top}) <= 1
    for step in range(len(release.steps()) + 1):
        classes = release.at(step).aggregate("count(*)", given["require"][0].split(" on ")[1]).fetchall()
        assert all(size >= 3 for (size,) in classes)


@pytest.mark.parametrize(
    ("kept", "lone", "tails", "labels"),
    [
        ([20, 20, 20, 50, 50, 50], 1, {"bottoms": {"age": 18}}, {"less than 50", "[50, 50]"}),
        (
            [20, 20, 20, 50, 50, 50],
            1,
            {"bottoms": {"age": 18}, "tops": {"age": 90}},
            {"less than 50", "50 or more"},
        ),
        ([20, 20, 20, 50, 50, 50], 95, {"tops": {"age": 90}}, {"[20, 50)", "50 or more"}),
        ([30, 40, None], 31, {"bottoms": {"age": 18}, "tops": {"age": 90}}, {"*"}),
        ([30, 40, 50], None, {"bottoms": {"age": 18}, "tops": {"age": 90}}, {ANY}),
    ],
)
def test_labels_are_those_of_the_records_that_are_kept(
    kept: list[int | None], lone: int | None, tails: dict[str, Any], labels: set[str]
) -> None:
    connection, db = opened([(age,) for age in [*kept, lone]])
    connection.execute("ALTER TABLE t ADD zone VARCHAR DEFAULT 'town'")
    connection.execute("UPDATE t SET zone = 'hut' WHERE age IS NOT DISTINCT FROM $1", [lone])
    release = db.generalize("t", ["k >= 3 on age, zone"], into="safe", suppress_records="1/4", **tails)
    assert release.row().left_out == 1
    assert {age for age, _ in release.relation().fetchall()} == labels


def test_the_tail_is_called_as_the_owner_wrote_its_bound() -> None:
    connection, db = opened([(age,) for age in range(100) for _ in range(5)])
    db.generalize(
        "t", ["k >= 5 on age"], class_column="c", into="safe", tops={"age": "90"}, bottoms={"age": 18}
    )
    labels = {row[0] for row in connection.execute("SELECT DISTINCT age FROM safe").fetchall()}
    assert {text for text in labels if " or " in text} <= {"90 or more", "18 or less"} | {
        text for text in labels if holds(text, 89) or holds(text, 19)
    }


def test_bounds_of_an_open_interval_are_null_on_its_open_side() -> None:
    connection, db = opened([(10,)] * 5 + [(50,)] * 5 + [(95,)] * 5)
    db.generalize(
        "t",
        ["k >= 5 on age"],
        into="safe",
        tops={"age": 90},
        bottoms={"age": 18},
        interval_columns=True,
    )
    rows = connection.execute("SELECT DISTINCT age, age_lower, age_upper FROM safe ORDER BY ALL").fetchall()
    assert rows == [("18 or less", None, 18), ("90 or more", 90, None), ("[50, 90)", 50, 90)]


def test_new_values_beyond_all_that_were_seen_lie_in_the_tail() -> None:
    connection, db = opened([(10,)] * 5 + [(50,)] * 5 + [(95,)] * 5)
    db.generalize("t", ["k >= 5 on age"], into="safe", tops={"age": 90}, bottoms={"age": 18})
    connection.execute("CREATE TABLE new AS SELECT unnest([1000, -7]) AS age")
    db.apply("safe", "new", into="mapped", unseen="refuse")
    rows = connection.execute("FROM mapped ORDER BY ALL").fetchall()
    assert rows == [("18 or less",), ("90 or more",)]


def test_dates_have_tails_too() -> None:
    connection = duckdb.connect()
    connection.execute(
        "CREATE TABLE t AS SELECT DATE '1920-01-01' + (i * 400)::INTEGER AS d FROM range(90) r (i)"
    )
    release = ppdm_sql.open(connection).generalize(
        "t", ["k >= 2 on d"], into="safe", bottoms={"d": datetime.date(1936, 12, 31)}
    )
    labels = {row[0] for row in release.relation().fetchall()}
    assert "1936-12-31 or less" in labels
    assert all(label >= "[1936-12-31" for label in labels - {"1936-12-31 or less"})


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"tops": {"age": "old"}}, "do not begin at values"),
        ({"tops": {"age": "90.4"}}, "do not begin at values"),
        ({"bottoms": {"age": 17.5}}, "do not begin at values"),
        ({"tops": {"age": 10}, "bottoms": {"age": 10}}, "do not begin at values"),
        ({"tops": {"ag": 10}}, "ag"),
        ({"tops": {"age": 10}, "suppress": ["age"]}, "not grown in the run"),
        ({"bottoms": {"c": 1}}, "no requirement lets it be masked"),
    ],
)
def test_a_tail_that_cannot_be_is_refused_in_words(options: dict[str, Any], words: str) -> None:
    _, db = opened([(10,)] * 5 + [(50,)] * 5)
    with pytest.raises(ppdm_sql.PpdmError, match=words):
        db.generalize("t", ["k >= 2 on age"], into="safe", **options)


def test_the_audit_refuses_a_label_that_splits_a_tail() -> None:
    _, db = opened([(age,) for age in (10, 20, 95, 99) for _ in range(5)])

    def everywhere(self: Tails, low: int, high: int, boundaries: Any) -> Any:
        return boundaries > 0

    with (
        mock.patch.object(Tails, "__call__", everywhere),
        pytest.raises(ppdm_sql.GuaranteeNotMet, match="tell values of its tails apart"),
    ):
        db.generalize("t", ["k >= 5 on age"], into="safe", tops={"age": 90})
