"""Where a column that seems to say whose a row is has far fewer values than rows, somebody is told."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import duckdb
import pytest
from swap_releases import Heard

import ppdm_sql
from ppdm_sql.audit.before_publishing import repeated_persons
from ppdm_sql.engine import Engine


@pytest.fixture
def db() -> Iterator[ppdm_sql.Database]:
    """1,000 visits of 200 patients, called by a number that nobody names, and by a name."""
    with duckdb.connect() as con:
        con.execute(
            "CREATE TABLE t AS SELECT i AS id, i % 200 AS patient_no, 'secret ' || i % 200 AS name, i % 4 AS "
            "zip, i % 50 AS age, ['a', 'b', 'c'][1 + i % 3] AS ill, i % 2 AS class FROM range(1000) r (i)"
        )
        yield ppdm_sql.open(con)


CALLS: dict[str, dict[str, Any]] = {
    "suppress": {"require": ["k >= 5 on zip"], "class_column": "class"},
    "generalize": {"require": ["k >= 5 on age"], "class_column": "class", "ranges": {"age": (0, 99)}},
    "swap": {"confidential": "ill", "by": ["age"], "proportion": 0.5},
    "randomize": {"noise": {"age": "uniform 9 on 0,99"}},
}
METHODS = list(CALLS)
CALLS |= {"audit": {"require": ["k >= 5 on zip"]}, "look": {}}


def told(db: ppdm_sql.Database, call: str, **options: Any) -> list[str]:
    """What is told of persons while something is called."""
    heard = Heard()
    if call in METHODS:
        getattr(db, call)("t", into="safe", progress=heard, **CALLS[call], **options)
    notices = heard.notices if call in METHODS else db.audit("t", **CALLS[call], **options).notices
    return [text for text in notices if "give --person" in text]


@pytest.mark.parametrize("call", CALLS)
def test_a_column_called_like_persons_with_few_values_is_told(db: ppdm_sql.Database, call: str) -> None:
    (text,) = told(db, call)
    assert text.startswith("patient_no has about ")
    assert " values in 1,000 rows, and " in text
    assert "--person patient_no" in text


@pytest.mark.parametrize("call", METHODS)
def test_a_direct_identifier_with_few_values_is_told_without_its_values(
    db: ppdm_sql.Database, call: str
) -> None:
    db.engine.connection.execute("ALTER TABLE t DROP COLUMN patient_no")
    (text,) = told(db, call, identifiers={"name": "drop"})
    assert text.startswith("name has about ")
    assert "secret" not in text


@pytest.mark.parametrize("call", ["swap", "randomize", "audit"])
def test_nobody_is_told_who_named_the_persons(db: ppdm_sql.Database, call: str) -> None:
    db.engine.connection.execute("UPDATE t SET age = patient_no % 50, ill = if(patient_no < 9, 'a', 'b')")
    assert told(db, call, person="patient_no") == []


@pytest.mark.parametrize("call", CALLS)
def test_nobody_is_told_where_rows_are_persons(db: ppdm_sql.Database, call: str) -> None:
    db.engine.connection.execute("UPDATE t SET patient_no = id")
    assert told(db, call) == []


@pytest.mark.parametrize("number", ["patient_no", "Unique Patient Number"])
@pytest.mark.parametrize("unique", [True, False])
def test_a_telephone_beside_a_number_of_persons_is_not_named(
    db: ppdm_sql.Database, number: str, unique: bool
) -> None:
    db.engine.connection.execute(
        "ALTER TABLE t ADD COLUMN phone INTEGER; UPDATE t SET phone = patient_no % 190"
        + f'; UPDATE t SET patient_no = id; ALTER TABLE t RENAME COLUMN patient_no TO "{number}"' * unique
    )
    assert [text.split()[0] for text in told(db, "look")] == ["patient_no"] * (not unique)


def test_the_notice_stays_with_the_release(db: ppdm_sql.Database) -> None:
    (text,) = told(db, "suppress")
    assert text in db.release("safe").notices


@pytest.mark.parametrize(
    ("name", "values", "few"),
    [
        ("Customer ID", "i % 700", True),
        ("Customer ID", "i % 950", False),
        ("Customer ID", "i % 9", False),
        ("Customer ID", "NULL::INTEGER", False),
        ("name", "i % 500", True),
        ("name", "i % 700", False),  # persons of the same name
    ],
)
def test_far_fewer_is_less_for_numbers_of_persons(name: str, values: str, few: bool) -> None:
    with duckdb.connect() as con:
        con.execute(f'CREATE TABLE "o\'dd ""t" AS SELECT {values} AS "{name}" FROM range(1000) r (i)')
        engine = Engine(con)
        table = engine.find('"o\'dd ""t"')
        assert len(repeated_persons(engine, table, engine.columns(table), ["name"])) == few


def test_an_empty_table_and_one_without_such_columns_say_nothing() -> None:
    with duckdb.connect() as con:
        con.execute("CREATE TABLE t (patient INTEGER); CREATE TABLE u AS SELECT 1 AS zip")
        engine = Engine(con)
        for name in ("t", "u"):
            table = engine.find(name)
            assert repeated_persons(engine, table, engine.columns(table)) == []
