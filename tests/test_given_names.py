"""What takes a name takes a text: a frame is refused in words that show none of its cells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import duckdb
import pyarrow
import pytest

import ppdm_sql
from ppdm_sql import Database, InvalidOption, PpdmError
from ppdm_sql.integrate import Party

CELL = "Meier-Leutheusser"


class Frame:
    """Like a data frame: it prints its cells, has columns, compares with everything, and is not a list."""

    columns = (CELL,)

    def __repr__(self) -> str:
        return CELL

    def __iter__(self) -> Any:
        return iter([CELL])

    def __len__(self) -> int:
        return 1


FRAMES = (Frame(), pyarrow.table({"name": [CELL]}), [Frame()], None, 3)
NAMED: dict[str, Callable[[Database, Any], object]] = {
    "audit": lambda db, x: db.audit(x, ["k >= 2 on job"]),
    "audit population": lambda db, x: db.audit("t", ["k >= 2 on job"], population=x or 3),
    "suppress": lambda db, x: db.suppress(x, ["k >= 2 on job"], class_column="good", into="safe"),
    "suppress into": lambda db, x: db.suppress("t", ["k >= 2 on job"], class_column="good", into=x),
    "suppress class": lambda db, x: db.suppress("t", ["k >= 2 on job"], class_column=x or 3, into="safe"),
    "generalize": lambda db, x: db.generalize(x, ["k >= 2 on job"], class_column="good", into="safe"),
    "swap": lambda db, x: db.swap(x, confidential="job", by=["age"], proportion=1, into="safe"),
    "randomize": lambda db, x: db.randomize(x, noise={"age": "uniform 5"}, into="safe"),
    "reconstruct": lambda db, x: db.reconstruct(x, into="d"),
    "evaluate": lambda db, x: db.evaluate(x),
    "apply release": lambda db, x: db.apply(x, "t", into="safe"),
    "generate": lambda db, x: db.generate_agrawal(x, function=1, rows=10),
    "train": lambda db, x: db.train(x, class_column="good", into="m"),
    "predict": lambda db, x: db.predict(x, "t", into="p"),
    "model": lambda db, x: db.model(x),
    "release": lambda db, x: db.release(x),
    "party": lambda db, x: Party(db, x, [], class_column="good", key="job", owns="age", into="safe"),
}
LISTS: dict[str, Callable[[Database, Any], object]] = {
    "require": lambda db, x: db.audit("t", x),
    "quasi-identifier": lambda db, x: db.audit("t", quasi_identifier=x),
    "confidential": lambda db, x: db.audit("t", confidential=x, by=["age"]),
    "keep": lambda db, x: db.suppress("t", ["k >= 2 on job"], class_column="good", into="s", keep=x),
    "suppress": lambda db, x: db.generalize(
        "t", ["k >= 2 on job"], class_column="good", into="s", suppress=x
    ),
    "by": lambda db, x: db.swap("t", confidential="job", by=x, proportion=1, into="s"),
    "noise": lambda db, x: db.randomize("t", noise=x, into="s"),
    "columns": lambda db, x: db.train("t", class_column="good", into="m", columns=x),
    "owns": lambda db, x: Party(db, "t", [], class_column="good", key="job", owns=x, into="s"),
    "identifiers": lambda db, x: db.suppress(
        "t", ["k >= 2 on job"], class_column="good", into="s", identifiers=x
    ),
    "identifier": lambda db, x: db.suppress(
        "t", ["k >= 2 on job"], class_column="good", into="s", identifiers={"age": x}
    ),
    "taxonomy": lambda db, x: db.generalize(
        "t", ["k >= 2 on job"], class_column="good", into="s", taxonomies={"job": x}
    ),
    "proportion": lambda db, x: db.swap("t", confidential="job", by=["age"], proportion=x, into="s"),
}


@pytest.fixture
def db() -> Database:
    con = duckdb.connect()
    con.execute("CREATE TABLE t AS SELECT i % 2 AS job, i AS age, i < 5 AS good FROM range(10) r (i)")
    return ppdm_sql.open(con)


@pytest.mark.parametrize("given", FRAMES, ids=lambda given: type(given).__name__)
@pytest.mark.parametrize("call", NAMED.values(), ids=NAMED)
def test_a_frame_is_no_name(db: Database, call: Callable[..., object], given: object) -> None:
    with pytest.raises(PpdmError) as caught:
        call(db, given)
    assert CELL not in str(caught.value)
    assert caught.value.remedy


@pytest.mark.parametrize("given", [FRAMES[0], FRAMES[1], [FRAMES[0]]], ids=lambda given: type(given).__name__)
@pytest.mark.parametrize("call", LISTS.values(), ids=LISTS)
def test_a_frame_is_no_list_of_names(db: Database, call: Callable[..., object], given: object) -> None:
    with pytest.raises(PpdmError) as caught:
        call(db, given)
    assert CELL not in str(caught.value)
    assert caught.value.remedy


@pytest.mark.parametrize("name", ["confidential", "sensitive", "by", "person", "categories"])
def test_none_is_no_list_of_names(db: Database, name: str) -> None:
    with pytest.raises(InvalidOption, match="not as None"):
        db.audit("t", ["k >= 2 on job"], **{name: None})


def test_the_error_says_how_a_frame_becomes_a_table(db: Database) -> None:
    with pytest.raises(
        InvalidOption, match=r"not as a Frame\. Register .*connection\.register\('visits', df\)"
    ):
        db.generalize(Frame(), ["k >= 2 on job"], class_column="good", into="safe")  # type: ignore[arg-type]


def test_one_name_is_a_list_of_one(db: Database) -> None:
    kept = db.suppress("t", "k >= 2 on job", class_column="good", into="safe", keep="age")
    assert kept.relation().columns == ["job", "age", "good"]
    assert db.audit("t", quasi_identifier="job").risks == db.audit("t", quasi_identifier=["job"]).risks
