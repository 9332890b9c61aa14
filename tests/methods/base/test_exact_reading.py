"""What is equal is not always the same text, and what is read twice is not always the same table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import duckdb
import numpy as np
import pytest

import ppdm_sql
from ppdm_sql.engine import Engine
from ppdm_sql.engine.exact import exact_columns, exact_values, is_plain
from ppdm_sql.engine.names import quoted
from ppdm_sql.errors import GuaranteeNotMet, InvalidSource
from ppdm_sql.methods.base.collapse import count_coded_records, read_source
from ppdm_sql.methods.swapping.marginals import bounds
from ppdm_sql.release import Draft, publishing

LOOSE = """
CREATE TABLE people (
    id INTEGER, name VARCHAR COLLATE NOCASE, town VARCHAR COLLATE NOCASE.NOACCENT,
    wait INTERVAL, pay DOUBLE, tags VARCHAR[], class VARCHAR COLLATE NOCASE
);
INSERT INTO people SELECT
    i,
    ['ABC', 'Abc', 'abc', 'xyz'][1 + i % 4],
    ['Lübeck', 'LUBECK', 'lubeck'][1 + i % 3],
    ['30 days', '1 month', '2 days', '48:00:00'][1 + (i // 2) % 4]::INTERVAL,
    ['-0.0', '0.0', '1.5'][1 + i % 3]::DOUBLE,
    [['a, b'], ['a', 'b'], ['A', 'b']][1 + i % 3],
    if(i % 7 < 3, 'Y', 'y')
FROM range(600) AS r (i);
CREATE VIEW moving AS SELECT id, name, class, (random() * 30)::INTEGER::VARCHAR AS lot FROM people;
"""


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as found:
        found.execute(LOOSE)
        yield found


@pytest.fixture
def db(connection: duckdb.DuckDBPyConnection) -> ppdm_sql.Database:
    return ppdm_sql.open(connection)


def texts(connection: duckdb.DuckDBPyConnection, table: str, *columns: str) -> Counter[Any]:
    """Count the rows by the texts of some columns, without the engine's equality."""
    shown = ", ".join(f'"{name}"::VARCHAR' for name in columns)
    return Counter(connection.execute(f"SELECT {shown} FROM {table}").fetchall())


# -- equal values, different texts -------------------------------------------------------------------


@pytest.mark.parametrize("command", ["suppress", "generalize"])
def test_a_release_shows_the_texts_of_the_source(
    connection: duckdb.DuckDBPyConnection, db: ppdm_sql.Database, command: str
) -> None:
    release = getattr(db, command)(
        "people",
        require=["k >= 20 on name, wait", "name -> town <= 90%"],
        class_column="class",
        keep=["tags"],
        into="safe",
    )
    assert release.verify().holds
    columns = ("name", "wait", "town", "class", "tags")
    assert texts(connection, "safe", *columns) == texts(connection, "people", *columns)


def test_a_class_is_as_large_as_its_text_is_frequent(
    connection: duckdb.DuckDBPyConnection, db: ppdm_sql.Database
) -> None:
    db.suppress("people", require=["k >= 30 on name, wait, town"], class_column="class", into="safe")
    assert min(texts(connection, "safe", "name", "wait", "town").values()) >= 30
    assert "*" in {cell for row in texts(connection, "safe", "name", "wait", "town") for cell in row}


def test_zero_has_one_text_in_a_class(connection: duckdb.DuckDBPyConnection, db: ppdm_sql.Database) -> None:
    db.suppress("people", require=["k >= 2 on pay"], class_column="class", into="safe")
    assert texts(connection, "safe", "pay") == {("0.0",): 400, ("1.5",): 200}


def test_the_audit_counts_texts(connection: duckdb.DuckDBPyConnection, db: ppdm_sql.Database) -> None:
    connection.execute("CREATE TABLE two (a VARCHAR COLLATE NOCASE, b INTERVAL)")
    connection.execute("INSERT INTO two VALUES ('x', '30 days'), ('X', '1 month')")
    found = db.audit("two", require=["k >= 2 on a", "k >= 2 on b"]).findings
    assert [finding.reached for finding in found] == [1.0, 1.0]


def test_categories_with_a_collation_are_randomized_and_verify(
    connection: duckdb.DuckDBPyConnection, db: ppdm_sql.Database
) -> None:
    release = db.randomize("people", noise=["name=retain 0.5"], keep=["town", "wait"], into="noisy")
    assert release.verify().holds
    assert {name for (name,) in texts(connection, "noisy", "name")} == {"ABC", "Abc", "abc", "xyz"}
    assert texts(connection, "noisy", "town", "wait") == texts(connection, "people", "town", "wait")


@pytest.mark.parametrize("confidential", ["name", "wait"])
def test_values_that_are_equal_are_swapped_as_different_ones(
    connection: duckdb.DuckDBPyConnection, db: ppdm_sql.Database, confidential: str
) -> None:
    release = db.swap(
        "people",
        confidential=[confidential],
        by=["id", "town"],
        proportion=0.25,
        keep=["pay"],
        into="swapped",
    )
    assert release.verify().holds
    assert texts(connection, "swapped", confidential) == texts(connection, "people", confidential)
    assert texts(connection, "swapped", "id", "town") == texts(connection, "people", "id", "town")


def test_the_number_of_threads_does_not_choose_among_equal_values(
    connection: duckdb.DuckDBPyConnection, db: ppdm_sql.Database
) -> None:
    found = []
    for threads in (1, 2, 4):
        connection.execute(f"SET threads = {threads}")
        name = f"safe_{threads}"
        db.suppress(
            "people",
            require=["k >= 20 on name, wait, pay"],
            class_column="class",
            keep=["town", "tags"],
            into=name,
        )
        found.append(connection.execute(f"SELECT t::VARCHAR FROM {name} AS t").fetchall())
    assert found[0] == found[1] == found[2]


UNIONS = """
CREATE TABLE mixed (u UNION(number INTEGER, word VARCHAR), s VARCHAR, class VARCHAR);
INSERT INTO mixed VALUES
    (union_value(number := 1), 'p', 'a'), (union_value(word := '1'), 'q', 'b'),
    (union_value(number := 1), 'p', 'a'), (union_value(word := '1'), 'q', 'b');
"""


def test_a_union_is_measured_as_the_text_that_is_exported(
    connection: duckdb.DuckDBPyConnection, db: ppdm_sql.Database
) -> None:
    connection.execute(UNIONS)
    (found,) = db.audit("mixed", require=["u -> s = p <= 50%"]).findings
    assert (found.holds, found.reached, found.classes) == (True, 0.5, 1)
    db.suppress("mixed", require=["u -> s = p <= 50%"], class_column="class", into="safe")
    assert texts(connection, "safe", "u", "s") == {("1", "p"): 2, ("1", "q"): 2}


def test_a_protected_union_cannot_be_split_by_its_kinds(
    connection: duckdb.DuckDBPyConnection, db: ppdm_sql.Database
) -> None:
    connection.execute(UNIONS)
    with pytest.raises(GuaranteeNotMet, match="Nothing can meet"):
        db.suppress("mixed", require=["s -> u = 1 <= 50%"], class_column="class", into="safe")


@pytest.mark.parametrize(
    ("type_text", "values"),
    [
        ("VARCHAR[]", ["['a, b']", "['a', 'b']", "['NULL']", "[NULL]", "['']", "[]"]),
        ("STRUCT(a VARCHAR, b VARCHAR)", ["{'a': 'x', 'b': 'y, z'}", "{'a': 'x, y', 'b': 'z'}"]),
        ("MAP(VARCHAR, VARCHAR)", ["MAP {'a=b': 'c'}", "MAP {'a': 'b=c'}"]),
        ("BLOB", [r"'\x41, \x00'", "'A'", r"'\x5Cx41'"]),
        ("BIT", ["'0101'", "'101'"]),
        ("JSON", ["""'{"a":1}'""", """'{"a": 1}'"""]),
        ("UUID", ["'00000000-0000-0000-0000-000000000001'", "'00000000-0000-0000-0000-000000000002'"]),
        ("DECIMAL(8,2)", ["1.50", "1.51"]),
        ("TIME WITH TIME ZONE", ["'10:00:00+01'", "'09:00:00+00'"]),
        ("INTERVAL", ["'30 days'", "'1 month'", "'24:00:00'", "'1 day'"]),
        ("DOUBLE[]", ["[0.0]", "['-0.0'::DOUBLE]", "['nan'::DOUBLE]"]),
        ("STRUCT(i INTERVAL)", ["{'i': '30 days'::INTERVAL}", "{'i': '1 month'::INTERVAL}"]),
        ("VARIANT", ["1", "1.0::DECIMAL(2,1)", "'one'"]),
    ],
)
def test_every_text_of_a_type_is_a_class_of_its_own(
    connection: duckdb.DuckDBPyConnection, db: ppdm_sql.Database, type_text: str, values: list[str]
) -> None:
    connection.execute(f"CREATE TABLE t (v {type_text}, class VARCHAR)")
    for value in values:
        connection.execute(f"INSERT INTO t SELECT ({value})::{type_text}, 'a' FROM range(3)")
    (found,) = db.audit("t", require=["k >= 3 on v"]).findings
    assert (found.reached, found.classes) == (3, len(values))
    release = db.suppress("t", require=["k >= 3 on v"], class_column="class", into="safe")
    assert release.verify().holds
    assert texts(connection, "safe", "v") == texts(connection, "t", "v")
    assert len(texts(connection, "safe", "v")) == len(values)


@pytest.mark.parametrize("leaves", [["[0, 50)", "[50, 100)"], ["1", "2"]])
def test_nulls_without_a_type_are_read_as_text(
    connection: duckdb.DuckDBPyConnection, db: ppdm_sql.Database, leaves: list[str]
) -> None:
    connection.execute("CREATE VIEW t AS SELECT NULL AS v, i % 2 AS w FROM range(8) r (i)")
    require = ["k >= 2 on v, w", "w -> v <= 100%", "v -> w = 1 <= 50%"]
    assert db.audit("t", require=require).holds
    with pytest.raises(ppdm_sql.PpdmError, match="does not hold the protected value"):
        db.audit("t", require=["w -> v = 5 <= 50%"])
    release = db.generalize("t", ["k >= 2 on v, w"], into="safe", taxonomies={"v": {"any": leaves}})
    assert release.verify().holds
    for noise in ("uniform 50%", "cells 3", "retain 0.5"):
        with pytest.raises((ppdm_sql.InvalidOption, ppdm_sql.InvalidSource)):
            db.randomize("t", noise={"v": noise}, record="w", into="noisy")


def test_texts_inside_of_others_lose_their_collation(
    connection: duckdb.DuckDBPyConnection, db: ppdm_sql.Database
) -> None:
    connection.execute("CREATE TABLE t AS SELECT [name] AS v, {'n': name} AS s, 'a' AS class FROM people")
    db.suppress("t", require=["k >= 3 on v, s"], class_column="class", into="safe")
    assert texts(connection, "safe", "v", "s") == texts(connection, "t", "v", "s")
    assert exact_columns(db.engine.columns(db.engine.find("t"))) == db.engine.columns(db.engine.find("t"))


@pytest.mark.parametrize(
    ("made", "collated"),
    [
        ("CREATE TABLE {} (name VARCHAR, age INTEGER)", False),
        ("CREATE TABLE {} (age INTEGER, name VARCHAR COLLATE NOCASE)", True),
        ("CREATE TABLE {} (age INTEGER); ALTER TABLE {} ADD name VARCHAR COLLATE NOCASE", True),
        ('CREATE TABLE {} ("collate" INTEGER, name VARCHAR)', False),
        ("CREATE VIEW {} AS SELECT name FROM people", True),
        ("CREATE VIEW {} AS SELECT 'a' AS name", False),
        ("CREATE TEMP TABLE {} AS SELECT name FROM people", True),
    ],
)
@pytest.mark.parametrize("name", ["t", 'a "b', "COLLATE"])
def test_a_collation_is_seen_in_tables_and_views(
    connection: duckdb.DuckDBPyConnection, made: str, collated: bool, name: str
) -> None:
    connection.execute(made.replace("{}", quoted(name)))
    engine = Engine(connection)
    columns = [item for item in engine.columns(engine.find(name)) if item.name == "name"]
    assert is_plain(exact_values(engine, engine.find(name), columns)) is not collated


@pytest.mark.parametrize("kind", ["TABLE", "VIEW"])
@pytest.mark.parametrize("name", ["nobody", "no 'body"])
def test_what_has_no_records_is_named_as_the_user_knows_it(
    connection: duckdb.DuckDBPyConnection, db: ppdm_sql.Database, kind: str, name: str
) -> None:
    connection.execute(f"CREATE {kind} {quoted(name)} AS SELECT * FROM people LIMIT 0")
    asked = {"require": ["k >= 2 on name, town"], "class_column": "class", "into": "safe"}
    for run in (
        lambda: db.audit(name, asked["require"]),
        lambda: db.suppress(name, **asked),
        lambda: db.generalize(name, **asked),
        lambda: db.swap(name, confidential=["name"], by=["town"], proportion=0.25, into="safe"),
        lambda: db.randomize(name, noise=["pay=gaussian 5"], record="id", into="safe"),
    ):
        with pytest.raises(InvalidSource) as raised:
            run()
        assert raised.value.problem == f"Table {name!r} has no records."


# -- a source that changes ---------------------------------------------------------------------------


def runs(db: ppdm_sql.Database, source: str) -> Iterator[ppdm_sql.Release]:
    require = ["k >= 5 on name, lot"]
    yield db.suppress(source, require=require, class_column="class", into="a")
    yield db.generalize(source, require=require, class_column="class", into="b")
    yield db.swap(source, confidential=["name"], by=["id", "lot"], proportion=0.25, into="c")
    kept = {"keep": ["name"], "allow_identifiers": ["name"]}
    yield db.randomize(source, noise=["lot=retain 0.5"], **kept, record="id", into="d")


def test_a_view_that_gives_other_rows_each_time_is_read_once(db: ppdm_sql.Database) -> None:
    for release in runs(db, "moving"):
        assert release.verify().holds
        assert None not in {cell for row in release.relation().fetchall() for cell in row}


def test_columns_that_are_generated_at_each_look_are_read_once(
    connection: duckdb.DuckDBPyConnection, db: ppdm_sql.Database
) -> None:
    generated = "lot VARCHAR GENERATED ALWAYS AS ((random() * 30)::INTEGER::VARCHAR)"
    connection.execute(f"CREATE TABLE lots (id INTEGER, name VARCHAR, class VARCHAR, {generated})")
    connection.execute("INSERT INTO lots SELECT id, name, class FROM people")
    for release in runs(db, "lots"):
        assert release.verify().holds


class Meddling(ppdm_sql.progress.SilentProgress):
    """Another connection writes into the source whenever the run says what it is doing."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self.other = connection.cursor()
        self.writes = 0

    def start(self, what: str) -> None:
        if not what.startswith("collapsing") and not what.startswith("reading"):
            self.writes += 1
            self.other.execute("UPDATE people SET name = name || 'new', wait = INTERVAL 1 hour")
            self.other.execute("INSERT INTO people SELECT * FROM people LIMIT 7")


def test_a_run_sees_the_source_as_it_was_when_it_began(
    connection: duckdb.DuckDBPyConnection, db: ppdm_sql.Database
) -> None:
    before = texts(connection, "people", "id", "town")
    progress = Meddling(connection)
    swapped = db.swap(
        "people", confidential=["name"], by=["id", "town"], proportion=0.25, into="c", progress=progress
    )
    assert swapped.verify().holds
    assert texts(connection, "c", "id", "town") == before
    assert progress.writes
    records = connection.execute("SELECT count(*) FROM people").fetchall()
    noisy = db.randomize(
        "people", noise=["name=retain 0.5", "pay=gaussian 50%"], keep=["wait"], into="d", progress=progress
    )
    assert noisy.verify().holds
    assert noisy.relation().count("*").fetchall() == records


def test_a_value_that_was_not_numbered_is_an_error_of_the_source(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    engine = Engine(connection)
    with engine.workspace():
        coded = engine.materialize("coded", "SELECT 1 AS c0, 2 AS c1, 4 AS n UNION ALL SELECT 3, NULL, 5")
        assert count_coded_records(engine, coded, ["c0"], "n", source="visits") == 9
        with pytest.raises(InvalidSource, match=r"^'visits' gave different rows .* Write it into a table"):
            count_coded_records(engine, coded, ["c0", "c1"], "n", source="visits")


def test_a_run_that_reads_a_changing_view_twice_is_refused(
    connection: duckdb.DuckDBPyConnection, db: ppdm_sql.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ppdm_sql.methods.top_down.run.read_source", lambda engine, table, columns: table)
    connection.execute(
        "CREATE VIEW wild AS SELECT id, class, if(id = 0, NULL, random()::VARCHAR) AS lot FROM people"
    )
    with pytest.raises(InvalidSource, match="^'wild' gave different rows each time"):
        db.suppress("wild", require=["k >= 2 on lot"], class_column="class", into="safe")
    assert not db.releases()


def test_only_tables_of_duckdb_are_stable(connection: duckdb.DuckDBPyConnection) -> None:
    engine = Engine(connection)
    connection.execute("CREATE TEMP TABLE own AS SELECT 1 AS a")
    assert [engine.find(name).stable for name in ("people", "own", "moving")] == [True, True, False]


def test_a_plain_table_is_read_as_it_stands(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("CREATE TABLE plain AS SELECT 1 AS a, 'x' AS b, DATE '2020-01-01' AS c")
    engine = Engine(connection)
    with engine.workspace():
        table = engine.find("plain")
        assert read_source(engine, table, engine.columns(table)) == table


def test_nothing_is_left_of_what_was_read(
    connection: duckdb.DuckDBPyConnection, db: ppdm_sql.Database
) -> None:
    list(runs(db, "moving"))
    db.suppress("people", require=["k >= 2 on wait"], class_column="class", into="safe")
    left = connection.execute(
        "SELECT table_name FROM duckdb_tables() WHERE temporary UNION ALL "
        "SELECT view_name FROM duckdb_views() WHERE temporary AND NOT internal"
    ).fetchall()
    assert left == []


# -- what is published verifies ----------------------------------------------------------------------


def test_a_release_that_would_not_verify_is_not_published(
    db: ppdm_sql.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = publishing._record

    def forgetful(engine: Engine, draft: Draft, placed: Any, notices: Any) -> None:
        made(engine, draft, placed, notices)
        engine.write("DELETE FROM ppdm.steps", step="forget")

    monkeypatch.setattr(publishing, "_record", forgetful)
    with pytest.raises(GuaranteeNotMet, match=r"would not verify .*masked columns show labels of the cut"):
        db.suppress("people", require=["k >= 30 on name, wait, town"], class_column="class", into="safe")
    assert not db.releases()


# -- shares of a swap --------------------------------------------------------------------------------


def test_a_share_is_held_by_whole_records() -> None:
    share = Fraction(48, 100), Fraction(52, 100)
    low, high = bounds(share, np.array([96, 50, 1, 0]), 73)
    assert low.tolist() == [47, 24, 0, 0]
    assert high.tolist() == [49, 26, 1, 0]


def test_a_share_leaves_room_for_all_changes() -> None:
    share = Fraction(1, 4), Fraction(1, 2)
    low, high = bounds(share, np.array([3, 3, 3]), 4)
    assert low.sum() <= 4 <= high.sum()


def test_the_measures_tell_the_share_that_is_held(
    connection: duckdb.DuckDBPyConnection, db: ppdm_sql.Database
) -> None:
    release = db.swap(
        "people", confidential=["town"], by=["id"], proportion=0.5, share=(0.48, 0.52), into="swapped"
    )
    measures = {name: after for name, _, after in release.measures()}
    least, allowed = (measures[f"least changed share {of}: town"] for of in ("of a value", "allowed"))
    assert 0.48 <= allowed <= least
    assert (
        measures["largest changed share of a value: town"]
        <= measures["largest changed share allowed: town"]
        <= 0.52
    )
