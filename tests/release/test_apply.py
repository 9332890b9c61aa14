"""Applying the cut of a release to other records, compared with brute force in Python."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

import duckdb
import pytest
import staff
from drafts import Tree, make_draft, publish_as_it_is, quote
from staff import AGE, CITY, HIRED, JOB, MASKED, PAY

import ppdm_sql
from ppdm_sql.engine import Engine
from ppdm_sql.errors import (
    InvalidOption,
    InvalidSource,
    NameTaken,
    PpdmError,
    UnknownColumn,
)
from ppdm_sql.privacy import KAnonymity
from ppdm_sql.release import publish

RECORDS = staff.records()
STRANGE: dict[str, list[Any]] = {
    JOB: ["Pilot", "janitor", "NULL", "Retired", "ANY", staff.BLUE],
    AGE: [16, 99, -3, 44],
    CITY: ["Paris", "*"],
    PAY: [-1.0, 99.51, float("nan"), float("inf"), None, 50.0],
    HIRED: [datetime(2019, 12, 31), datetime(2025, 1, 1), datetime(2024, 12, 31, 23, 59), None],
}


@pytest.fixture
def engine() -> Engine:
    return Engine(duckdb.connect())


@pytest.fixture
def db(engine: Engine) -> ppdm_sql.Database:
    """A database with the release ``safe``."""
    publish(engine, staff.draft(engine, RECORDS))
    return ppdm_sql.Database(engine)


def strangers(number: int = 80, seed: int = 2) -> list[staff.Record]:
    """Make records of which about half the values are known."""
    chosen = random.Random(seed)
    values = {name: staff.VALUES[name] + STRANGE[name] for name in MASKED}
    return [
        (*(chosen.choice(values[name]) for name in MASKED), chosen.choice(["good", "bad", None]))
        for _ in range(number)
    ]


def is_unseen(name: str, value: Any) -> bool:
    """Say whether the staff release knows a value: by a leaf, or suppressed."""
    if name == CITY:
        return value not in staff.VALUES[CITY]
    return staff.leaf(name, value) == staff.TREES[name].root


def rows_of(db: ppdm_sql.Database, table: str) -> list[Any]:
    return db.engine.connection.execute(f"FROM {quote(table)}").fetchall()


def types_of(db: ppdm_sql.Database, table: str) -> dict[str, str]:
    return {row[0]: row[1] for row in db.engine.connection.execute(f"DESCRIBE {quote(table)}").fetchall()}


def tables(db: ppdm_sql.Database) -> list[Any]:
    return db.engine.connection.execute("SELECT table_name FROM duckdb_tables() ORDER BY ALL").fetchall()


# -- what the new table shows ---------------------------------------------------------------------


@pytest.mark.parametrize("count", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_new_records_show_what_brute_force_says(engine: Engine, count: bool, seed: int) -> None:
    publish(engine, staff.draft(engine, RECORDS, count=count))
    new, db = strangers(seed=seed), ppdm_sql.Database(engine)
    staff.write(engine, "new", new, count=count)
    applied = db.apply("safe", "new", into="made")
    rows = rows_of(db, "made")
    assert Counter(row[: len(staff.NAMES)] for row in rows) == staff.expected(new)
    assert all(row[len(staff.NAMES) :] == ((2,) if count else ()) for row in rows)
    assert applied.rows == len(new)
    each = 2 if count else 1
    assert applied.unseen == {
        name: each * sum(is_unseen(name, record[place]) for record in new)
        for place, name in enumerate(MASKED)
    }
    assert all(applied.unseen.values())


def test_the_source_of_a_release_shows_the_release_and_nothing_is_unseen(db: ppdm_sql.Database) -> None:
    staff.write(db.engine, "again", RECORDS)
    applied = db.apply(db.release("safe"), "again", into="made", unseen="refuse")
    assert set(applied.unseen.values()) == {0}
    assert rows_of(db, "made") == db.release("safe").relation().fetchall()


def test_the_new_table_has_the_columns_of_the_release_and_nothing_else_is_left(db: ppdm_sql.Database) -> None:
    staff.write(db.engine, "new", strangers())
    before = tables(db)
    db.apply("safe", "new", into="made")
    assert sorted([*before, ("made",)]) == tables(db)
    assert types_of(db, "made") == staff.FROZEN_TYPES
    assert list(types_of(db, "made")) == staff.NAMES


def test_columns_that_the_table_lacks_are_left_out_and_others_spelled_as_released(
    db: ppdm_sql.Database,
) -> None:
    staff.write(db.engine, "new", RECORDS)
    renamed = ", ".join(f"{quote(name)} AS {quote(name.upper())}" for name in reversed(MASKED))
    db.engine.connection.execute(f"CREATE VIEW short AS SELECT {renamed} FROM new")
    db.apply("safe", "short", into="made")
    assert list(types_of(db, "made")) == staff.NAMES[:-1]
    assert Counter(rows_of(db, "made")) == Counter(staff.released(record)[:-1] for record in RECORDS)


def test_pseudonyms_are_left_out_and_sensitive_and_kept_columns_stay(engine: Engine) -> None:
    columns = [("who", "pseudonym"), ("job", "suppressed"), ("ill", "sensitive"), ("town", "kept")]
    select = "SELECT 'x' AS who, '*' AS job, 'yes' AS ill, 'Ulm' AS town"
    publish_as_it_is(engine, make_draft(engine, select, columns, 1, trees=Tree("*").rows("job", ["*"])))
    engine.connection.execute(
        "CREATE TABLE new AS SELECT 'Ann' AS who, 'ill'::ENUM('ill', 'secret') AS town, 1 AS job, [2] AS ill"
    )
    db = ppdm_sql.Database(engine)
    db.apply("safe", "new", into="made")
    assert types_of(db, "made") == {"job": "VARCHAR", "ill": "INTEGER[]", "town": "VARCHAR"}
    assert rows_of(db, "made") == [("*", [2], "ill")]


def test_the_order_of_the_rows_is_a_function_of_their_values(db: ppdm_sql.Database) -> None:
    new = strangers(200)
    found = []
    for seed in range(2):
        random.Random(seed).shuffle(new)
        staff.write(db.engine, f"new {seed}", new)
        db.apply("safe", f"new {seed}", into=f"made {seed}")
        found.append(rows_of(db, f"made {seed}"))
    assert found[0] == found[1]


def test_an_empty_table_gives_an_empty_one(db: ppdm_sql.Database) -> None:
    staff.write(db.engine, "new", RECORDS)
    db.engine.connection.execute("DELETE FROM new")
    applied = db.apply("safe", "new", into="made", unseen="refuse")
    assert (applied.rows, applied.findings, rows_of(db, "made")) == (0, (), [])


# -- how values are compared ----------------------------------------------------------------------


def labels(engine: Engine, tree: Tree, values: str, kind: str = "generalized") -> list[Any]:
    """Apply a cut that shows every leaf to a column ``x``, and give value and label of each row."""
    inner = set(tree.parents.values())
    leaves = [label for label in tree.parents if label not in inner] or [tree.root]
    columns = [("x", kind, False, tree.root), ("id", "kept")]
    select = "SELECT 'any' AS x, 1 AS id"
    publish_as_it_is(engine, make_draft(engine, select, columns, 1, trees=tree.rows("x", leaves)))
    engine.connection.execute(f"CREATE TABLE new AS SELECT x, x::VARCHAR AS id FROM ({values}) AS v(x)")
    ppdm_sql.Database(engine).apply("safe", "new", into="made")
    return engine.connection.execute("SELECT id, x FROM made ORDER BY ALL").fetchall()


def intervals(root: str, *leaves: str) -> Tree:
    bounds = {label: (*label[1:-1].split(", "), label[-1] == "]") for label in (root, *leaves)}
    return Tree(root, bounds).grow(root, *leaves)


AGES = intervals("[17, 98]", "[17, 37)", "[37, 98]")
COARSE = intervals("[0.5, 98.5]", "[0.5, 37.4)", "[37.4, 98.5]")


@pytest.mark.parametrize("kind", ["UTINYINT", "INTEGER", "HUGEINT", "DECIMAL(9,1)", "FLOAT", "DOUBLE"])
def test_numbers_of_any_type_lie_in_intervals(engine: Engine, kind: str) -> None:
    found = labels(engine, AGES, f"SELECT unnest([16, 17, 36, 37, 98, 99])::{kind}")
    assert {Decimal(value): label for value, label in found} == {
        16: "[17, 98]",
        17: "[17, 37)",
        36: "[17, 37)",
        37: "[37, 98]",
        98: "[37, 98]",
        99: "[17, 98]",
    }


@pytest.mark.parametrize("kind", ["TINYINT", "INTEGER", "DECIMAL(4,0)"])
def test_bounds_between_whole_numbers_are_not_rounded(engine: Engine, kind: str) -> None:
    found = labels(engine, COARSE, f"SELECT unnest([0, 1, 37, 38, 98, 99])::{kind}")
    low, high, top = "[0.5, 37.4)", "[37.4, 98.5]", "[0.5, 98.5]"
    assert dict(found) == {"0": top, "1": low, "37": low, "38": high, "98": high, "99": top}


def test_large_whole_numbers_are_compared_exactly(engine: Engine) -> None:
    n = 2**60
    tree = intervals(f"[{n}, {n + 3}]", f"[{n}, {n + 1})", f"[{n + 1}, {n + 3}]")
    found = labels(engine, tree, f"SELECT unnest([{n - 1}, {n}, {n + 1}, {n + 3}, {n + 4}])::BIGINT")
    leaves = list(tree.parents)
    assert [label for _, label in found] == [tree.root, leaves[0], leaves[1], leaves[1], tree.root]


def test_floats_lie_where_their_text_says(engine: Engine) -> None:
    tree = intervals("[0.1, 0.9]", "[0.1, 0.7)", "[0.7, 0.9]")
    found = labels(engine, tree, "SELECT unnest([0.1, 0.3, 0.7, 0.9])::FLOAT")
    assert [label for _, label in found] == ["[0.1, 0.7)", "[0.1, 0.7)", "[0.7, 0.9]", "[0.7, 0.9]"]


def test_dates_lie_among_time_stamps_and_time_stamps_among_dates(engine: Engine) -> None:
    tree = intervals(staff.EVER, staff.EARLY, staff.LATE)
    found = labels(engine, tree, "SELECT unnest(['2022-06-30', '2022-07-01', '2025-01-01'])::DATE")
    assert dict(found) == {"2022-06-30": staff.EARLY, "2022-07-01": staff.LATE, "2025-01-01": staff.EVER}
    other = Engine(duckdb.connect())
    days = intervals("[2020-01-01, 2020-03-01]", "[2020-01-01, 2020-02-01)", "[2020-02-01, 2020-03-01]")
    found = labels(other, days, "SELECT unnest(['2020-01-31 23:59', '2020-02-01'])::TIMESTAMP")
    assert [label for _, label in found] == list(days.parents)


@pytest.mark.parametrize(
    "values", ["'37'", "true", "[37]", "TIME '10:00'", "DATE '2020-01-01'", "'37'::ENUM('37')"]
)
def test_what_cannot_be_compared_with_intervals_is_refused(engine: Engine, values: str) -> None:
    with pytest.raises(InvalidSource, match="'x' of table new"):
        labels(engine, AGES, f"SELECT {values}")
    assert not engine.connection.execute("SELECT 1 FROM duckdb_tables() WHERE table_name = 'made'").fetchall()


def test_text_that_reads_as_the_intervals_is_matched_as_text(engine: Engine) -> None:
    found = labels(engine, AGES, "SELECT unnest(['[17, 37)', '[37, 98]', 'x', NULL])")
    assert [label for _, label in found] == ["[17, 37)", "[37, 98]", "[17, 98]", "[17, 98]"]


def test_a_column_of_null_can_be_compared_with_everything(engine: Engine) -> None:
    assert labels(engine, AGES, "SELECT NULL::VARCHAR") == [(None, "[17, 98]")]


CODES = Tree("ANY").grow("ANY", "low", "high").grow("low", "1", "02", "2.50").grow("high", "1e2", None)


@pytest.mark.parametrize(
    ("kind", "values", "found"),
    [
        ("INTEGER", "[1, 2, 3, 100]", ["1", "02", "ANY", "1e2"]),
        ("DOUBLE", "[1, 2, 2.5, 3, 100]", ["1", "02", "2.50", "ANY", "1e2"]),
        ("DECIMAL(9,3)", "[1, 2, 2.5, 3, 100]", ["1", "02", "2.50", "ANY", "1e2"]),
        ("VARCHAR", "['1', '02', '2', '1.0', '2.50']", ["1", "02", "ANY", "ANY", "2.50"]),
    ],
)
def test_numbers_match_labels_that_are_equal_numbers(
    engine: Engine, kind: str, values: str, found: Any
) -> None:
    rows = labels(engine, CODES, f"SELECT unnest({values})::{kind} ORDER BY 1")
    wanted = dict(zip(values.strip("[]").replace("'", "").split(", "), found, strict=True))
    read = str if kind == "VARCHAR" else lambda text: float(text)
    assert {read(value): label for value, label in rows} == {
        read(key): value for key, value in wanted.items()
    }


def test_a_label_that_is_the_same_text_comes_before_one_of_the_same_number(engine: Engine) -> None:
    found = labels(engine, Tree("ANY").grow("ANY", "02", "2.0", "2"), "SELECT unnest([2, 2])")
    assert found == [("2", "2"), ("2", "2")]


def test_null_and_the_text_null_are_different_values(engine: Engine) -> None:
    found = labels(engine, Tree("*").grow("*", "NULL", None), "SELECT unnest(['NULL', NULL, 'null'])")
    assert found == [("NULL", "NULL"), ("null", "*"), (None, None)]


def test_whatever_leaves_overlap_each_row_stays_one_row(engine: Engine) -> None:
    tree = intervals("[0, 9]", "[0, 5]", "[3, 9]", "[5, 5]")
    found = labels(engine, tree, "SELECT unnest([2, 4, 5, 5, 7])")
    assert found == [("2", "[0, 5]"), ("4", "[0, 5]"), ("5", "[0, 5]"), ("5", "[0, 5]"), ("7", "[3, 9]")]


# -- requirements ---------------------------------------------------------------------------------


def test_the_requirements_are_measured_on_the_new_table(engine: Engine) -> None:
    required = (KAnonymity(1, (CITY,)), KAnonymity(5, (CITY, PAY)))
    publish(engine, staff.draft(engine, RECORDS, requirements=required[:1]))
    engine.connection.execute(
        "UPDATE ppdm.releases SET requirements = $all",
        {"all": [str(requirement) for requirement in required]},
    )
    staff.write(engine, "new", RECORDS[:4])
    applied = ppdm_sql.Database(engine).apply("safe", "new", into="made")
    assert [found.holds for found in applied.findings] == [True, False]
    assert not applied.holds
    groups = Counter(
        (row[MASKED.index(CITY)], row[MASKED.index(PAY)]) for row in map(staff.masked, RECORDS[:4])
    )
    assert applied.findings[1].reached == min(groups.values())
    titles = [table.title for table in applied.tables()]
    assert titles == ["Requirements", "Unseen values"]


# -- what is refused ------------------------------------------------------------------------------


def test_unseen_values_are_refused_with_their_number_and_without_a_value(db: ppdm_sql.Database) -> None:
    staff.write(db.engine, "new", [("Pilot", 16, "Paris", 1.0, staff.VALUES[HIRED][0], "good"), *RECORDS])
    before = tables(db)
    with pytest.raises(InvalidSource) as caught:
        db.apply("safe", "new", into="made", unseen="refuse")
    assert f"1 in {JOB!r}, 1 in {AGE!r}, 1 in {CITY!r}" in str(caught.value)
    assert PAY not in str(caught.value).replace("--", "")
    assert not any(cell in str(caught.value) for cell in ("Pilot", "16", "Paris"))
    assert tables(db) == before


@pytest.mark.parametrize("name", MASKED)
def test_a_table_without_a_masked_column_is_refused(db: ppdm_sql.Database, name: str) -> None:
    staff.write(db.engine, "new", RECORDS)
    db.engine.connection.execute(f"ALTER TABLE new DROP {quote(name)}")
    with pytest.raises(UnknownColumn, match="new has no column"):
        db.apply("safe", "new", into="made")


@pytest.mark.parametrize("taken", ["new", "NEW", "view of mine", "safe", "Safe"])
def test_a_name_that_is_taken_is_refused(db: ppdm_sql.Database, taken: str) -> None:
    staff.write(db.engine, "new", RECORDS)
    db.engine.connection.execute('CREATE VIEW "view of mine" AS SELECT 1 AS a')
    before = rows_of(db, "new")
    with pytest.raises(NameTaken):
        db.apply("safe", "new", into=taken)
    assert rows_of(db, "new") == before


def test_a_release_without_trees_is_refused(engine: Engine) -> None:
    publish(engine, staff.draft(engine, RECORDS, with_trees=False))
    staff.write(engine, "new", RECORDS)
    with pytest.raises(InvalidOption, match="without the tree"):
        ppdm_sql.Database(engine).apply("safe", "new", into="made")
    engine.connection.execute("DROP TABLE ppdm.taxonomies")
    with pytest.raises(InvalidOption, match="Publish it anew"):
        ppdm_sql.Database(engine).apply("safe", "new", into="made")


@pytest.mark.parametrize(
    ("arguments", "options", "error"),
    [
        (("safe", "new"), {"into": ""}, InvalidOption),
        (("safe", "words"), {}, InvalidSource),
        (("safe", "negative"), {}, InvalidSource),
    ],
)
def test_misuse_is_an_error_in_words(
    engine: Engine, arguments: Sequence[str], options: dict[str, str], error: type[PpdmError]
) -> None:
    publish(engine, staff.draft(engine, RECORDS, count=True))
    staff.write(engine, "new", RECORDS, count=True)
    engine.connection.execute("CREATE VIEW words AS SELECT * REPLACE ('two' AS n) FROM new")
    engine.connection.execute("CREATE VIEW negative AS SELECT * REPLACE (-1 AS n) FROM new")
    with pytest.raises(error):
        ppdm_sql.Database(engine).apply(*arguments, **({"into": "made"} | options))


def test_an_open_transaction_is_refused_and_left_alone(db: ppdm_sql.Database) -> None:
    staff.write(db.engine, "new", RECORDS)
    db.engine.connection.begin()
    with pytest.raises(PpdmError, match="transaction"):
        db.apply("safe", "new", into="made")
    db.engine.connection.commit()


# -- what is left behind --------------------------------------------------------------------------


def test_a_run_that_fails_in_the_audit_leaves_nothing(
    db: ppdm_sql.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    staff.write(db.engine, "new", RECORDS)
    before = tables(db)
    monkeypatch.setattr("ppdm_sql.release.applying.findings", fail)
    with pytest.raises(KeyboardInterrupt):
        db.apply("safe", "new", into="made")
    assert tables(db) == before


def test_a_dry_engine_shows_the_statement_and_makes_nothing(db: ppdm_sql.Database) -> None:
    staff.write(db.engine, "new", RECORDS)
    before, shown = tables(db), list[str]()
    db.engine.dry, db.engine.tracer = True, shown.append
    db.apply("safe", "new", into="made")
    db.engine.dry, db.engine.tracer = False, None
    assert tables(db) == before
    assert sum('"made" AS SELECT' in sql for sql in shown) == 1


@pytest.mark.parametrize("name", ['a "b"', "it's; --", "select", "Größe ✓", "t", "m0"])
def test_hostile_names_of_tables(db: ppdm_sql.Database, name: str) -> None:
    staff.write(db.engine, name, RECORDS)
    assert db.apply("safe", quote(name), into=f"{name} made").rows == len(RECORDS)
    assert Counter(rows_of(db, f"{name} made")) == staff.expected(RECORDS)


def test_a_release_that_masks_nothing_has_no_cut_to_apply(engine: Engine) -> None:
    publish(engine, make_draft(engine, "SELECT 1 AS a", [("a", "kept")], 1))
    engine.connection.execute("CREATE TABLE new AS SELECT 1 AS a")
    with pytest.raises(InvalidOption, match="masks no column"):
        ppdm_sql.Database(engine).apply("safe", "new", into="made")


def test_a_column_that_is_shown_as_its_root_alone_has_no_unseen_values() -> None:
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t AS SELECT * FROM (VALUES (2.5::DOUBLE, 'g'), (NULL, 'b')) v(A, C)")
        db = ppdm_sql.open(connection)
        db.generalize("t", ["k >= 2 on A"], class_column="C", into="r")
        connection.execute("CREATE TABLE o AS SELECT * FROM (VALUES (9::DOUBLE, 'g'), (NULL, 'g')) v(A, C)")
        assert db.apply("r", "o", into="recoded", unseen="refuse").unseen == {"A": 0}
        assert connection.sql("SELECT DISTINCT A FROM recoded").fetchall() == [("*",)]


def test_a_collation_does_not_merge_values_of_the_table() -> None:
    with ppdm_sql.open(":memory:") as db:
        connection = db.engine.connection
        connection.execute(
            "CREATE TABLE t AS SELECT if(i < 60, 'ABC', 'Abc' || (i % 9)) AS name, (i % 2)::VARCHAR AS y "
            "FROM range(69) r(i)"
        )
        db.suppress("t", ["k >= 5 on name"], class_column="y", into="safe")
        connection.execute("CREATE TABLE others (name VARCHAR COLLATE NOCASE, y VARCHAR)")
        connection.execute("INSERT INTO others VALUES ('ABC', 'a'), ('abc', 'b'), ('Abc1', 'c')")
        db.apply("safe", "others", into="shown")
        rows = connection.execute("SELECT name, y FROM shown ORDER BY y").fetchall()
        assert rows == [("ABC", "a"), ("*", "b"), ("*", "c")]


def test_rows_stand_in_an_order_of_their_own_where_the_release_left_records_out() -> None:
    """The place of a row in the source tells nothing, in no column."""
    with ppdm_sql.open() as db:
        connection = db.engine.connection
        connection.execute(
            "CREATE TABLE t AS SELECT CASE WHEN i = 0 THEN 'rare' ELSE 'often' END AS a, "
            "(hash(i) % 50)::INT AS b FROM range(60) AS r(i)"
        )
        made = db.generalize("t", ["k >= 5 on a"], keep=["b"], into="safe", suppress_records=0.05)
        assert made.row().left_out == 1
        db.apply("safe", "t", into="applied")
        rows = connection.execute("SELECT a, b FROM applied").fetchall()
    assert len(rows) == 59 and rows == sorted(rows)
