"""Trees through the Python interface: agreement with the reference, what is refused, told, and kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import duckdb
import pytest
from filling import quote
from hypothesis import given
from hypothesis import strategies as st
from runs import one_in
from swap_releases import Heard
from tree_cases import NOISE, both, write_mixed

import ppdm_sql
from ppdm_sql.errors import (
    ColumnRoleError,
    InvalidOption,
    InvalidSource,
    NameTaken,
    PpdmError,
    UnknownColumn,
    UnknownTable,
)
from ppdm_sql.methods.trees.model import MODES, DecisionTree

HOSTILE = ['a "ß✓"', "it's", '"; DROP TABLE t; --', "select", "a.b", "class_text", "code0", "node", "v1"]
RECONSTRUCTED = ("global", "byclass", "local")
WAYS = ("randomized", "local")
"""The mode that does least and the one that does most; the reference is compared with all five."""


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as opened:
        yield opened


@pytest.fixture
def mixed(con: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """The tables ``t`` and ``originals``, 1,500 records each."""
    write_mixed(con, seed=0, records=1500)
    return con


def train(con: duckdb.DuckDBPyConnection, table: str = "t", **options: Any) -> ppdm_sql.Database | Any:
    given = {"class_column": "class", "into": "m", "mode": "randomized"} | options
    return ppdm_sql.open(con).train(table, **given)


def catalogue(con: duckdb.DuckDBPyConnection) -> list[Any]:
    """Every table, view, type and macro, and every setting."""
    return [
        con.execute(query).fetchall()
        for query in (
            "SELECT table_name FROM duckdb_tables() ORDER BY ALL",
            "SELECT type_name FROM duckdb_types() WHERE NOT internal ORDER BY ALL",
            "SELECT function_name FROM duckdb_functions() WHERE NOT internal ORDER BY ALL",
            "SELECT name, value FROM duckdb_settings() ORDER BY ALL",
        )
    ]


# -- agreement with the reference -------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_trees_equal_the_reference_split_by_split_and_count_by_count(
    con: duckdb.DuckDBPyConnection, mode: str
) -> None:
    write_mixed(con, seed=1, records=6000)
    found, expected = both(con, mode, noise=NOISE, min_split=100, pruned=False)
    assert len(expected) > 30
    assert found == expected


@pytest.mark.parametrize("mode", MODES)
def test_pruned_trees_equal_the_reference(con: duckdb.DuckDBPyConnection, mode: str) -> None:
    write_mixed(con, seed=4, records=3000)
    found, expected = both(con, mode, noise=NOISE, min_split=20, pruned=True)
    assert len(expected) > 3
    assert found == expected


@pytest.mark.parametrize("mode", MODES)
def test_the_functions_of_the_paper_give_the_tree_of_the_reference(
    con: duckdb.DuckDBPyConnection, mode: str
) -> None:
    ppdm_sql.open(con).generate_agrawal("originals", function=3, rows=4000, seed=1)
    con.execute(
        "CREATE TABLE t AS SELECT salary + (hash(rowid) % 1000 - 499.5) * 60 AS salary, commission, "
        "age + (hash(rowid, 1) % 1000 - 499.5) / 25 AS age, elevel, class FROM originals"
    )
    con.execute("CREATE OR REPLACE TABLE originals AS SELECT salary, age, elevel, class FROM originals")
    noise = {"salary": "uniform 30000 on 20000,150000", "age": "uniform 20 on 20,80"}
    found, expected = both(con, mode, noise=noise, min_split=40, pruned=True)
    assert len(expected) > 5
    assert found == expected


@pytest.mark.parametrize("mode", WAYS)
def test_neither_threads_nor_an_earlier_run_change_a_tree(
    mixed: duckdb.DuckDBPyConnection, mode: str
) -> None:
    given = NOISE if mode in RECONSTRUCTED else {}
    trees = []
    for threads in (1, 4):
        mixed.execute(f"SET threads = {threads}")
        trees.append(train(mixed, mode=mode, noise=given, into=f"m{threads}").tree())
    assert trees[0] == trees[1]


@pytest.mark.parametrize("mode", WAYS)
def test_a_level_that_is_counted_in_parts_gives_the_same_tree(
    mixed: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    noise = NOISE if mode in RECONSTRUCTED else {}
    whole = train(mixed, mode=mode, noise=noise, prune=False, into="whole").tree()
    monkeypatch.setattr("ppdm_sql.methods.trees.train.MOST_COUNTS", 1)
    assert train(mixed, mode=mode, noise=noise, prune=False, into="parts").tree() == whole


def test_function_1_is_found_from_originals_and_by_class(con: duckdb.DuckDBPyConnection) -> None:
    db = ppdm_sql.open(con)
    db.generate_agrawal("people", function=1, rows=10_000, seed=1)
    db.generate_agrawal("held", function=1, rows=2000, seed=2)
    con.execute(
        "CREATE TABLE t AS SELECT age + (hash(rowid) % 10000 - 4999.5) / 10000 * 60 AS age, class FROM people"
    )
    right = {}
    for mode in ("original", "randomized", "byclass"):
        table = "people" if mode == "original" else "t"
        given = {"age": "uniform 30 on 20,80"} if mode == "byclass" else {}
        model = train(con, table, mode=mode, columns=["age"], noise=given, test="held", into=mode)
        matrix = model.row().confusion
        right[mode] = (matrix[0][0] + matrix[1][1]) / 2000
    assert right["original"] > 0.98
    assert right["byclass"] > 0.95
    assert right["randomized"] < right["byclass"] - 0.05


# -- training and prediction agree ------------------------------------------------------------------


def predicted(tree: DecisionTree) -> list[tuple[int, ...]]:
    """The training records by class and predicted class, as the tree's counts say."""
    matrix = [[0] * len(tree.classes) for _ in tree.classes]
    for leaf in tree.leaves:
        for position, records in enumerate(leaf.counts):
            matrix[position][leaf.label] += records
    return [tuple(row) for row in matrix]


@one_in(4)
@given(
    st.lists(
        st.tuples(
            st.one_of(st.none(), st.sampled_from([*(0.1 * k for k in range(15)), float("inf"), -1e300])),
            st.one_of(st.none(), st.sampled_from(["", "a", "it's", "ß"])),
            st.integers(0, 2),
        ),
        min_size=1,
        max_size=60,
    ),
    st.integers(2, 12),
)
def test_any_tiny_table_gives_a_tree_that_predicts_as_it_counted(
    rows: list[tuple[float | None, str | None, int]], intervals: int
) -> None:
    with duckdb.connect() as con:
        con.execute("CREATE TABLE t (x DOUBLE, y VARCHAR, class INTEGER)")
        con.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
        ranges = {"x": (0, 1.4)}
        model = train(con, min_split=2, prune=False, intervals=intervals, ranges=ranges, test="t")
        tree = model.tree()
        assert model.row().confusion == tuple(predicted(tree))
        assert sum(tree.root.counts) == len(rows)
        for node in tree.nodes:
            if children := tree.children(node):
                parts = zip(*(child.counts for child in children), strict=True)
                assert tuple(map(sum, parts)) == node.counts
                assert all(child.records for child in children)


# -- odd tables -------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", WAYS)
def test_tiny_tables_and_one_class_give_a_tree(mixed: duckdb.DuckDBPyConnection, mode: str) -> None:
    noise = NOISE if mode in RECONSTRUCTED else {}
    for records in (1, 25):
        mixed.execute(f"CREATE TABLE few{records} AS FROM t LIMIT {records}")
        tree = train(mixed, f"few{records}", mode=mode, noise=noise, min_split=2, into=f"m{records}").tree()
        assert tree.root.records == records
    mixed.execute("CREATE TABLE one AS FROM t WHERE class = 'no'")
    tree = train(mixed, "one", mode=mode, noise=noise).tree()
    assert (len(tree.nodes), tree.classes) == (1, ("no",))


@pytest.mark.parametrize("mode", WAYS)
def test_constant_columns_and_columns_of_nulls_split_nothing(
    mixed: duckdb.DuckDBPyConnection, mode: str
) -> None:
    mixed.execute(
        "CREATE TABLE u AS SELECT 0.5 AS a, 7 AS b, 'x' AS c, NULL::DOUBLE AS d, NULL::VARCHAR AS f, "
        "0.1 AS e, class FROM t"
    )
    heard = Heard()
    given = NOISE if mode in RECONSTRUCTED else {}
    tree = train(mixed, "u", mode=mode, noise=given, min_split=2, progress=heard).tree()
    assert tree.used == ()
    assert [item.name for item in tree.attributes] == ["a", "b", "c", "e"]
    assert sum("has no values" in text for text in heard.notices) == 2


@pytest.mark.parametrize("mode", RECONSTRUCTED[1:])
def test_noisy_columns_of_nulls_extreme_noise_and_values_far_outside_give_a_tree(
    mixed: duckdb.DuckDBPyConnection, mode: str
) -> None:
    for level in ("0.1%", "100000%"):
        noise = {"a": f"gaussian {level} on 0,1", "b": f"uniform {level} on 0,30 whole rounded"}
        assert train(mixed, mode=mode, noise=noise, into=f"m{level}").tree().root.records == 1500
    for number, value in enumerate(("a + 1e9", "'-Infinity'", "'NaN'")):
        mixed.execute(f"UPDATE t SET a = {value} WHERE rowid % 50 = {number}")
    tree = train(mixed, mode=mode, noise=NOISE).tree()
    assert all(0 < node.cut < 1 for node in tree.nodes if node.column == "a" and node.cut is not None)
    mixed.execute("UPDATE t SET a = NULL")
    assert "a" not in train(mixed, mode=mode, noise=NOISE, into="nulls").tree().used


def test_records_without_a_class_are_left_out_and_counted(mixed: duckdb.DuckDBPyConnection) -> None:
    mixed.execute("UPDATE t SET class = NULL WHERE rowid % 10 = 0")
    heard = Heard()
    assert train(mixed, progress=heard).tree().root.records == 1350
    assert "150 records without a class are left out." in heard.notices


def test_a_range_sets_the_cells_of_a_plain_column(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE t AS SELECT i / 10.0 AS x, i >= 50 AS class FROM range(100) r (i)")
    tree = train(con, ranges={"x": (0, 20)}, intervals=4).tree()
    assert tree.attributes[0].cuts == (5.0, 10.0, 15.0)
    assert tree.root.cut == 5.0


def test_a_column_named_by_the_user_may_have_any_name(con: duckdb.DuckDBPyConnection) -> None:
    write_mixed(con, seed=6, records=400)
    shown = ", ".join(f"a + {place} * b AS {quote(name)}" for place, name in enumerate(HOSTILE))
    con.execute(f'CREATE TABLE "odd; name" AS SELECT {shown}, d AS "tex""t", class AS "cl""ass" FROM t')
    noise = {HOSTILE[0]: "gaussian 1 on 0,1", HOSTILE[2]: "uniform 5 on 0,99"}
    for mode in MODES:
        given = noise if mode in RECONSTRUCTED else {}
        into = f"m{mode}; '\""
        model = train(
            con, '"odd; name"', class_column='cl"ass', mode=mode, noise=given, into=into, test="odd; name"
        )
        names = [item.name for item in model.tree().attributes]
        assert names == [*HOSTILE, 'tex"t']
    assert con.execute("SELECT count(*) FROM t").fetchone() == (400,)


# -- released columns -------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", WAYS)
def test_a_release_knows_its_noise(mixed: duckdb.DuckDBPyConnection, mode: str) -> None:
    db = ppdm_sql.open(mixed)
    noise = {"a": "gaussian 0.25 on 0,1", "b": "cells 0,10,20,31", "d": "retain 0.8"}
    db.randomize("originals", noise=noise, class_column="class", into="safe", seed=1)
    tree = train(mixed, "safe", mode=mode, test="originals").tree()
    found = {item.name: (item.type, item.noise) for item in tree.attributes}
    assert found["a"] == ("DOUBLE", noise["a"] if mode in RECONSTRUCTED else None)
    assert found["b"] == ("DOUBLE", noise["b"])
    assert found["d"] == ("VARCHAR", None)
    assert tree.attribute("b").cuts == (10.0, 20.0)


def test_released_intervals_are_split_as_the_numbers_they_stand_for(
    con: duckdb.DuckDBPyConnection,
) -> None:
    con.execute("CREATE TABLE o AS SELECT i % 30 AS x, i % 30 >= 20 AS class FROM range(300) r (i)")
    db = ppdm_sql.open(con)
    db.randomize("o", noise={"x": "cells 0,10,20,30"}, class_column="class", into="safe", seed=1)
    model = train(con, "safe", test="o")
    assert model.tree().root.cut == 20.0
    assert model.row().confusion == ((200, 0), (0, 100))
    assert con.execute("SELECT m_predict(19.5), m_predict(20)").fetchone() == (False, True)


# -- refusals and leftovers -------------------------------------------------------------------------

BAD: list[tuple[dict[str, Any], type[PpdmError], str]] = [
    ({"class_column": "clas"}, UnknownColumn, "'clas'"),
    ({"columns": ["a", "class"]}, ColumnRoleError, "'class'"),
    ({"columns": ["day"]}, InvalidSource, "DATE"),
    ({"columns": ["id"], "noise": {"id": "gaussian 1 on 0,1"}, "mode": "local"}, InvalidSource, "'id'"),
    ({"columns": ["id"]}, InvalidSource, "more than 256"),
    ({"class_column": "id"}, InvalidSource, "more than 256"),
    ({"mode": "byclass", "noise": NOISE, "columns": ["c"]}, InvalidOption, "nothing to reconstruct"),
    ({"mode": "original", "noise": NOISE}, InvalidOption, "--noise"),
    ({"intervals": 1}, InvalidOption, "--intervals 1"),
    ({"intervals": 1001}, InvalidOption, "--intervals 1001"),
    ({"max_depth": -1}, InvalidOption, "--max-depth -1"),
    ({"max_depth": 65}, InvalidOption, "--max-depth 65"),
    ({"min_split": 1}, InvalidOption, "--min-split 1"),
    ({"into": "t"}, NameTaken, "'t'"),
    ({"into": ""}, InvalidOption, "name"),
    ({"test": "nowhere"}, UnknownTable, "'nowhere'"),
    ({"table": "nowhere"}, UnknownTable, "'nowhere'"),
    ({"table": "empty"}, InvalidSource, "no record with a class"),
    ({"ranges": {"a": (1, 0)}}, InvalidOption, "--range"),
    ({"columns": ["a"], "ranges": {"a": (0, 1e200)}}, InvalidSource, "too large to be divided"),
]


@pytest.mark.parametrize(("options", "error", "problem"), BAD)
def test_what_cannot_be_trained_is_refused_and_leaves_nothing(
    mixed: duckdb.DuckDBPyConnection, options: dict[str, Any], error: type[PpdmError], problem: str
) -> None:
    mixed.execute("ALTER TABLE t ADD COLUMN day DATE")
    mixed.execute("ALTER TABLE t ADD COLUMN id VARCHAR")
    mixed.execute("UPDATE t SET id = 'person ' || rowid, day = '2000-01-01'")
    mixed.execute("CREATE TABLE empty AS FROM t LIMIT 0")
    before = catalogue(mixed)
    with pytest.raises(error) as caught:
        train(mixed, **options)
    assert problem in str(caught.value)
    assert len(caught.value.remedy) > 5
    assert "person" not in str(caught.value)
    assert catalogue(mixed) == before


def test_a_failure_half_way_leaves_nothing(
    mixed: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise RuntimeError("half way")

    before = catalogue(mixed)
    monkeypatch.setattr("ppdm_sql.methods.trees.train.best_splits", refuse)
    with pytest.raises(RuntimeError, match="half way"):
        train(mixed, mode="local", noise=NOISE)
    assert catalogue(mixed) == before


def test_nothing_but_the_model_is_left(mixed: duckdb.DuckDBPyConnection) -> None:
    tables, types, macros, settings_ = catalogue(mixed)
    train(mixed, mode="local", noise=NOISE)
    after = catalogue(mixed)
    assert {*after[0]} - {*tables} == {("models",), ("nodes",)}
    assert (after[1], after[3]) == (types, settings_)
    assert {*after[2]} - {*macros} == {("m_predict",)}


def test_columns_that_cannot_be_split_are_left_out_with_a_notice(mixed: duckdb.DuckDBPyConnection) -> None:
    mixed.execute("CREATE TABLE u AS SELECT *, DATE '2000-01-01' AS day, 'person ' || rowid AS id FROM t")
    heard = Heard()
    tree = train(mixed, "u", progress=heard).tree()
    assert [item.name for item in tree.attributes] == ["a", "b", "c", "d", "e"]
    assert [text for text in heard.notices if "Left out" in text and "'day'" in text]
    assert [text for text in heard.notices if "Left out" in text and "'id'" in text]


def test_depth_and_size_are_bounded(mixed: duckdb.DuckDBPyConnection) -> None:
    assert train(mixed, max_depth=0, into="m0").tree().nodes[0].is_leaf
    assert train(mixed, max_depth=2, prune=False, into="m2").tree().depth == 2
    tree = train(mixed, min_split=400, prune=False, into="m400").tree()
    assert all(node.records >= 400 for node in tree.nodes if not node.is_leaf)


def test_pruning_takes_back_splits_that_chance_made(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        "CREATE TABLE t AS SELECT hash(i) % 1000 AS x, hash(i, 1) % 2 AS class FROM range(2000) AS r (i)"
    )
    assert len(train(con, prune=False, into="grown").tree().nodes) > 20
    assert len(train(con, into="pruned").tree().nodes) == 1


def test_a_collation_merges_neither_categories_nor_classes(con: duckdb.DuckDBPyConnection) -> None:
    """Letters in capitals tell the class, and are another class."""
    for name, collation in (("plain", ""), ("collated", "COLLATE NOCASE")):
        con.execute(f"CREATE TABLE {name} (job VARCHAR {collation}, x DOUBLE, class VARCHAR {collation})")
        con.execute(
            f"INSERT INTO {name} SELECT if(i % 2 = 0, 'cook', 'COOK'), i % 7, if(i % 2 = 0, 'Y', 'y') "
            "FROM range(400) AS r (i)"
        )
    plain, collated = (train(con, name, mode="original", into=f"m_{name}") for name in ("plain", "collated"))
    tree = collated.tree()
    assert tree == plain.tree()
    assert (tree.classes, tree.root.counts, len(tree.leaves)) == (("Y", "y"), (200, 200), 2)
    assert collated.predict("collated", into="p").classes == {"Y": 200, "y": 200}
    con.execute("SET default_collation = 'NOCASE'")
    assert plain.confusion("plain") == collated.confusion("collated") == ((200, 0), (0, 200))
    wrong = "SELECT count(*) FROM collated WHERE m_plain_predict(job)::BLOB <> class::BLOB"
    assert con.execute(wrong).fetchall() == [(0,)]


def test_classes_that_are_equal_with_other_texts_stay_apart(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        "CREATE TABLE t AS SELECT i % 2 AS x, ['30 days', '1 month'][1 + i % 2]::INTERVAL AS wait "
        "FROM range(100) AS r (i)"
    )
    tree = train(con, mode="original", class_column="wait").tree()
    assert (tree.classes, tree.root.counts) == (("1 month", "30 days"), (50, 50))
