"""Where a column that seems to say whose a row is has far fewer values than rows, somebody is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import duckdb
import pytest

import ppdm_sql
from ppdm_sql.audit.before_publishing import repeated_persons
from ppdm_sql.engine import Engine

Notices = list[str]


class Heard:
    """A progress that remembers what it was told."""

    def __init__(self) -> None:
        self.notices: Notices = []

    def start(self, what: str) -> None: ...

    def update(self, **measures: object) -> None: ...

    def notice(self, text: str) -> None:
        self.notices.append(text)

    def stop(self) -> None: ...


@pytest.fixture
def db() -> Iterator[ppdm_sql.Database]:
    """1,000 visits of 200 patients, called by a number that nobody names, and by a name."""
    with duckdb.connect() as con:
        con.execute(
            "CREATE TABLE t AS SELECT i AS id, i % 200 AS patient_no, 'secret ' || i % 200 AS name, i % 4 AS "
            "zip, i % 50 AS age, ['a', 'b', 'c'][1 + i % 3] AS ill, i % 2 AS class FROM range(1000) r (i)"
        )
        yield ppdm_sql.open(con)


def suppress(db: ppdm_sql.Database, **options: Any) -> Notices:
    heard = Heard()
    db.suppress("t", ["k >= 5 on zip"], class_column="class", into="safe", progress=heard, **options)
    return heard.notices


def generalize(db: ppdm_sql.Database, **options: Any) -> Notices:
    heard = Heard()
    db.generalize(
        "t", ["k >= 5 on age"], class_column="class", into="safe", ranges={"age": (0, 99)},
        progress=heard, **options,
    )  # fmt: skip
    return heard.notices


def swap(db: ppdm_sql.Database, **options: Any) -> Notices:
    heard = Heard()
    db.swap("t", confidential="ill", by=["age"], proportion=0.5, into="safe", progress=heard, **options)
    return heard.notices


def randomize(db: ppdm_sql.Database, **options: Any) -> Notices:
    heard = Heard()
    db.randomize("t", noise={"age": "uniform 9 on 0,99"}, into="safe", progress=heard, **options)
    return heard.notices


def audit(db: ppdm_sql.Database, **options: Any) -> Notices:
    return list(db.audit("t", ["k >= 5 on zip"], **options).notices)


def look(db: ppdm_sql.Database, **options: Any) -> Notices:
    return list(db.audit("t", **options).notices)


Call = Callable[..., Notices]
METHODS: list[Call] = [suppress, generalize, swap, randomize]


def of_persons(notices: Notices) -> Notices:
    return [text for text in notices if "give --person" in text]


@pytest.mark.parametrize("call", [*METHODS, audit, look])
def test_a_column_called_like_persons_with_few_values_is_told(db: ppdm_sql.Database, call: Call) -> None:
    (told,) = of_persons(call(db))
    assert told.startswith("patient_no has about ")
    assert " values in 1,000 rows, and " in told
    assert "--person patient_no" in told


@pytest.mark.parametrize("call", METHODS)
def test_a_direct_identifier_with_few_values_is_told_without_its_values(
    db: ppdm_sql.Database, call: Call
) -> None:
    db.engine.connection.execute("ALTER TABLE t DROP COLUMN patient_no")
    (told,) = of_persons(call(db, identifiers={"name": "drop"}))
    assert told.startswith("name has about ")
    assert "secret" not in told


@pytest.mark.parametrize("call", [swap, randomize, audit])
def test_nobody_is_told_who_named_the_persons(db: ppdm_sql.Database, call: Call) -> None:
    db.engine.connection.execute("UPDATE t SET age = patient_no % 50, ill = if(patient_no < 9, 'a', 'b')")
    assert of_persons(call(db, person="patient_no")) == []


@pytest.mark.parametrize("call", [*METHODS, audit, look])
def test_nobody_is_told_where_rows_are_persons(db: ppdm_sql.Database, call: Call) -> None:
    db.engine.connection.execute("UPDATE t SET patient_no = id")
    assert of_persons(call(db)) == []


def test_the_notice_stays_with_the_release(db: ppdm_sql.Database) -> None:
    suppress(db)
    assert len(of_persons(list(db.release("safe").notices))) == 1


@pytest.mark.parametrize(
    ("values", "told"), [("i % 500", True), ("i % 700", False), ("i % 9", False), ("NULL::INTEGER", False)]
)
def test_far_fewer_is_at_most_half(values: str, told: bool) -> None:
    with duckdb.connect() as con:
        con.execute(f'CREATE TABLE "o\'dd ""t" AS SELECT {values} AS "Customer ID" FROM range(1000) r (i)')
        engine = Engine(con)
        table = engine.find('"o\'dd ""t"')
        assert len(repeated_persons(engine, table, engine.columns(table))) == told


def test_an_empty_table_and_one_without_such_columns_say_nothing() -> None:
    with duckdb.connect() as con:
        con.execute("CREATE TABLE t (patient INTEGER); CREATE TABLE u AS SELECT 1 AS zip")
        engine = Engine(con)
        for name in ("t", "u"):
            table = engine.find(name)
            assert repeated_persons(engine, table, engine.columns(table)) == []
