"""Models in the file: tables, macro, and what they predict, checked against a walk down the tree."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import duckdb
import pytest
from filling import fill, quote

import ppdm_sql
from ppdm_sql.engine import Engine
from ppdm_sql.errors import InvalidOption, InvalidSource, NameTaken, UnknownColumn
from ppdm_sql.methods.trees.model import Attribute, DecisionTree, TreeNode
from ppdm_sql.methods.trees.predicting import confusion
from ppdm_sql.methods.trees.storing import Model, accuracy, check_model_name, store_model

HOSTILE = ('a "b"; DROP TABLE t; --', "select", "größe 'x'")
WORDS = ("it's", 'q"q', "", "NULL", "ü", "; --")


def grown(
    nodes: int, seed: int = 0, *, names: tuple[str, ...] = ("x", "y", "job"), chain: bool = False, **more: Any
) -> DecisionTree:
    """A tree of a number of splits at random; the last attribute is a category."""
    draw = random.Random(seed)
    made: list[TreeNode] = []

    def grow(splits: int, parent: int | None, side: Any, depth: int) -> None:
        place, counts = len(made), (draw.randint(0, 9), draw.randint(0, 9), draw.randint(1, 9))
        if not splits:
            made.append(TreeNode(place, parent, side, depth, counts))
            return
        name = draw.choice(names)
        how: dict[str, Any] = {"cut": draw.choice([0.1, 1 / 3, -2.5, 1e-300, 1e20, draw.gauss(0, 2)])}
        if name == names[-1]:
            how = {"values": tuple(draw.sample(WORDS, 3))}
        made.append(TreeNode(place, parent, side, depth, counts, name, null_left=draw.random() < 0.5, **how))
        left = (splits - 1) * (place % 2) if chain else draw.randint(0, splits - 1)
        pending.extend([(splits - 1 - left, place, "right", depth + 1), (left, place, "left", depth + 1)])

    pending: list[tuple[int, int | None, Any, int]] = [(nodes, None, None, 0)]
    while pending:
        grow(*pending.pop())
    numbers = (Attribute(name, "DOUBLE", (0.1, 1 / 3)) for name in names[:-1])
    attributes = (*numbers, Attribute(names[-1], "VARCHAR", (), WORDS, "retain 0.5 of 'a','b'"))
    named = {"class_column": "good", "class_type": "VARCHAR", "classes": ("no", "it's", 'y"s')} | more
    return DecisionTree("byclass", attributes=attributes, nodes=tuple(made), **named)


def walked(tree: DecisionTree, record: dict[str, Any]) -> str:
    """The class at the end of the way down the tree, by the rules of the model's documentation."""
    node = tree.root
    while not node.is_leaf:
        value = record[node.column or ""]
        if node.cut is None:
            left = value in node.values
        elif value is None:
            left = node.null_left
        else:
            left = not math.isnan(value) and value < node.cut
        node = tree.children(node)[0 if left else 1]
    return tree.classes[node.label]


def filled(con: duckdb.DuckDBPyConnection, names: tuple[str, ...], size: int = 300) -> list[dict[str, Any]]:
    """A table ``t`` of records that meet cuts exactly, NULL, NaN and infinities."""
    draw = random.Random(7)
    numbers = [None, math.nan, math.inf, -math.inf, 0.1, 1 / 3, -2.5, 1e-300, 1e20, 0.0, 0.30000000000000004]
    records = [
        {
            **{name: draw.choice([*numbers, draw.gauss(0, 2)]) for name in names[:-1]},
            names[-1]: draw.choice([*WORDS, None, "unseen"]),
            "good": draw.choice(["no", "it's", 'y"s']),
        }
        for _ in range(size)
    ]
    types = [*["DOUBLE"] * (len(names) - 1), "VARCHAR", "VARCHAR"]
    fill(con, "t", dict(zip(records[0], types, strict=True)), map(list, (r.values() for r in records)))
    return records


def stored(con: duckdb.DuckDBPyConnection, tree: DecisionTree, name: str = "m", **more: Any) -> Model:
    options = {"source": "t", "parameters": {"level": 1}, "test": None, "confusion": None} | more
    return store_model(Engine(con), name, tree, **options)


def rows(con: duckdb.DuckDBPyConnection, query: str) -> list[tuple[Any, ...]]:
    return con.sql(query).fetchall()


def called(tree: DecisionTree, macro: str) -> str:
    """A call of the macro with the columns that the tree uses."""
    return f"{quote(macro)}({', '.join(map(quote, tree.used))})"


# -- prediction -------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_macro_and_table_predict_what_a_walk_down_the_tree_does(seed: int) -> None:
    con, names = duckdb.connect(), HOSTILE if seed % 2 else ("x", "y", "job")
    tree, records = grown(12, seed, names=names), filled(con, names)
    expected = [walked(tree, record) for record in records]
    model = stored(con, tree)
    assert [label for (label,) in rows(con, f"SELECT {called(tree, 'm_predict')} FROM t")] == expected
    model.predict("t", into="p")
    assert [label for (label,) in rows(con, "SELECT predicted FROM p")] == expected
    assert len(set(expected)) > 1


@pytest.mark.parametrize("chain", [True, False])
def test_deep_trees_predict(chain: bool) -> None:
    con = duckdb.connect()
    tree, records = grown(1_500, 3, chain=chain), filled(con, ("x", "y", "job"))
    assert tree.depth > (700 if chain else 15)
    stored(con, tree)
    expected = [walked(tree, record) for record in records]
    assert [label for (label,) in rows(con, f"SELECT {called(tree, 'm_predict')} FROM t")] == expected


def test_a_tree_of_one_leaf_needs_no_column() -> None:
    con = duckdb.connect()
    tree = grown(0)
    model = stored(con, tree)
    assert rows(con, "SELECT m_predict()") == [(tree.classes[tree.root.label],)]
    con.execute("CREATE TABLE t AS SELECT 1 AS other FROM range(3)")
    assert model.predict("t", into="p").classes == {tree.classes[tree.root.label]: 3}


@pytest.mark.parametrize(
    ("class_type", "classes"),
    [
        ("INTEGER", ("-1", "0", "7")),
        ("BOOLEAN", ("false", "true", "true")),
        ("DATE", ("2000-01-01", "2001-02-03", "1999-12-31")),
        ("DECIMAL(8,2)", ("0.10", "1.25", "99.00")),
    ],
)
def test_a_prediction_has_the_type_of_the_class(class_type: str, classes: tuple[str, ...]) -> None:
    con = duckdb.connect()
    tree = grown(5, class_type=class_type, classes=classes)
    filled(con, ("x", "y", "job"))
    stored(con, tree).predict("t", into="p")
    for query in (f"SELECT {called(tree, 'm_predict')} AS c FROM t", "SELECT predicted AS c FROM p"):
        relation = con.sql(query)
        assert str(relation.types[0]) == class_type
        assert {label for (label,) in rows(con, f"SELECT DISTINCT c::VARCHAR FROM ({query})")} <= set(classes)


def test_numbers_of_any_type_and_dictionaries_are_taken() -> None:
    con = duckdb.connect()
    tree = grown(12, 1)
    filled(con, ("x", "y", "job"))
    con.execute(
        "CREATE TABLE u AS SELECT x::DECIMAL(18, 3) AS x, y::FLOAT AS y, job::ENUM('it''s', 'ü', '') AS job "
        "FROM t WHERE abs(x) < 1e9 AND NOT isinf(y) AND (job IN ('it''s', 'ü', '') OR job IS NULL)"
    )
    model = stored(con, tree)
    model.predict("u", into="p")
    relation = con.sql("SELECT x::DOUBLE AS x, y::DOUBLE AS y, job::VARCHAR AS job, predicted FROM p")
    found = [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]
    assert len(found) > 20
    assert [record["predicted"] for record in found] == [walked(tree, record) for record in found]


def test_parameters_of_the_macro_are_the_used_columns_in_the_order_of_the_table() -> None:
    con = duckdb.connect()
    tree = grown(12, 1)
    stored(con, tree)
    query = "SELECT parameters FROM duckdb_functions() WHERE function_name = 'm_predict'"
    assert rows(con, query) == [(list(tree.used),)]
    assert tree.used == ("x", "y", "job")
    by_name = rows(con, "SELECT m_predict(job := 'ü', y := 2, x := -1), m_predict(-1, 2, 'ü')")
    assert by_name[0][0] == by_name[0][1] == walked(tree, {"x": -1.0, "y": 2.0, "job": "ü"})


# -- the table that predict makes -------------------------------------------------------------------


def test_predicted_tables_hold_all_columns_or_those_that_are_named() -> None:
    con = duckdb.connect()
    filled(con, ("x", "y", "job"))
    model = stored(con, grown(5))
    assert sum(model.predict("t", into="p").classes.values()) == 300
    assert con.sql("FROM p").columns == ["x", "y", "job", "good", "predicted"]
    model.predict("T", into="q", keep=["GOOD"], column="class")
    model.predict("t", into="r", keep=[])
    assert (con.sql("FROM q").columns, con.sql("FROM r").columns) == (["good", "class"], ["predicted"])
    assert rows(con, "SELECT good, predicted FROM p") == rows(con, "FROM q")
    con.execute("ALTER TABLE t RENAME good TO Predicted")
    with pytest.raises(InvalidOption, match="'predicted'"):
        model.predict("t", into="s")
    for taken in ("p", "T", "m"):
        with pytest.raises(NameTaken):
            model.predict("t", into=taken, keep=["x"])


def test_an_empty_table_is_predicted_to_be_empty() -> None:
    con = duckdb.connect()
    con.execute("CREATE TABLE t (x DOUBLE, y DOUBLE, job VARCHAR)")
    made = stored(con, grown(5)).predict("t", into="p")
    assert (made.classes, rows(con, "FROM p")) == ({}, [])


def test_all_missing_columns_are_named() -> None:
    con = duckdb.connect()
    con.execute("CREATE TABLE t (y DOUBLE, jop VARCHAR)")
    model = stored(con, grown(12, 1))
    with pytest.raises(UnknownColumn, match="'x', 'job'"):
        model.predict("t", into="p")
    with pytest.raises(UnknownColumn, match="'x', 'job', 'good'"):
        model.confusion("t")
    assert rows(con, "SELECT count(*) FROM duckdb_tables() WHERE table_name = 'p'") == [(0,)]


def test_a_value_that_is_no_number_is_not_in_the_error() -> None:
    con = duckdb.connect()
    con.execute("CREATE TABLE t AS SELECT 'secret' AS x, 'secret' AS y, 'a' AS job")
    with pytest.raises(ppdm_sql.EngineError) as caught:
        stored(con, grown(12, 1)).predict("t", into="p")
    assert "secret" not in str(caught.value)
    assert rows(con, "SELECT count(*) FROM duckdb_tables() WHERE table_name = 'p'") == [(0,)]


# -- confusion --------------------------------------------------------------------------------------


def test_the_confusion_matrix_counts_classes_by_predicted_class() -> None:
    con = duckdb.connect()
    tree, records = grown(9, 2), filled(con, ("x", "y", "job"))
    expected = {(actual, label): 0 for actual in tree.classes for label in tree.classes}
    for record in records:
        expected[record["good"], walked(tree, record)] += 1
    matrix = confusion(Engine(con), tree, "t")
    assert {
        (actual, label): count
        for actual, row in zip(tree.classes, matrix, strict=True)
        for label, count in zip(tree.classes, row, strict=True)
    } == expected
    right = sum(record["good"] == walked(tree, record) for record in records)
    assert accuracy(matrix) == right / len(records)


def test_test_tables_with_other_classes_or_no_records_are_refused() -> None:
    con = duckdb.connect()
    filled(con, ("x", "y", "job"))
    model = stored(con, grown(5))
    con.execute("UPDATE t SET good = 'secret' WHERE rowid < 3; UPDATE t SET good = NULL WHERE rowid = 5")
    with pytest.raises(InvalidSource, match="4 records of t") as caught:
        model.confusion("t")
    assert "secret" not in str(caught.value)
    con.execute("DELETE FROM t")
    with pytest.raises(InvalidSource, match="no records"):
        model.confusion("t")


# -- the file ---------------------------------------------------------------------------------------


def test_a_model_survives_in_the_file_and_reads_without_python(tmp_path: Path) -> None:
    file = tmp_path / "models.duckdb"
    tree = grown(12, 1)
    with ppdm_sql.open(file, create=True) as db:
        store_model(
            db.engine, "m", tree, source="t", parameters={"a": [1]}, test="u", confusion=[(1, 2, 3)] * 3
        )
    with ppdm_sql.open(file, read_only=True) as db:
        model = db.model("M")
        assert model.tree() == tree
        (row,) = db.models()
        assert (row.model, row.mode, row.source, row.class_column) == ("m", "byclass", "t", "good")
        assert (row.rows, row.test, row.confusion) == (tree.root.records, "u", ((1, 2, 3),) * 3)
        assert row.parameters["a"] == [1]
    with duckdb.connect(str(file), read_only=True) as con:
        record = {"x": -1.0, "y": 1 / 3, "job": None}
        assert rows(con, "SELECT m_predict(-1, 1 / 3, NULL)") == [(walked(tree, record),)]
        columns = "node, parent, side, attribute, cut, categories, counts, predicted"
        assert rows(con, f"SELECT {columns} FROM ppdm.nodes ORDER BY node") == [
            (n.id, n.parent, n.side, n.column, n.cut, list(n.values), list(n.counts), tree.classes[n.label])
            for n in tree.nodes
        ]
        ((definition,),) = rows(
            con, "SELECT macro_definition FROM duckdb_functions() WHERE function_name = 'm_predict'"
        )
        assert "ppdm" not in definition


def test_cuts_are_kept_to_the_last_bit_when_the_file_is_opened_again(tmp_path: Path) -> None:
    file, cut = tmp_path / "m.duckdb", 0.1 + 0.2
    leaves = TreeNode(1, 0, "left", 1, (2, 0)), TreeNode(2, 0, "right", 1, (0, 3))
    tree = DecisionTree(
        "original", "c", "VARCHAR", ("low", "high"), (Attribute("x", "DOUBLE", (cut,)),),
        (TreeNode(0, None, None, 0, (2, 3), "x", cut), *leaves),
    )  # fmt: skip
    with ppdm_sql.open(file, create=True) as db:
        store_model(db.engine, "m", tree, source="t", parameters={}, test=None, confusion=None)
    exported = tmp_path / "out"
    with duckdb.connect(str(file)) as con:
        con.execute(f"EXPORT DATABASE '{exported}'")
    with duckdb.connect(str(file), read_only=True) as con, duckdb.connect() as copy:
        copy.execute(f"IMPORT DATABASE '{exported}'")
        for where in (con, copy):
            below, there = math.nextafter(cut, 0), cut
            assert where.execute("SELECT m_predict(?), m_predict(?)", [below, there]).fetchall() == [
                ("low", "high")
            ]


def test_a_dropped_model_leaves_nothing_whatever_its_name_and_others_stay() -> None:
    con = duckdb.connect()
    name, tree = 'm"; DROP TABLE t; -- ü', grown(5)
    filled(con, ("x", "y", "job"))
    model = stored(con, tree, name)
    stored(con, grown(4), "n")
    assert model.tree() == tree
    assert len(rows(con, f"SELECT {called(tree, f'{name}_predict')} FROM t")) == 300
    db = ppdm_sql.open(con)
    db.model(name).drop()
    assert [row.model for row in db.models()] == ["n"]
    assert rows(con, "SELECT DISTINCT model FROM ppdm.nodes") == [("n",)]
    macros = "SELECT function_name FROM duckdb_functions() WHERE function_name LIKE '%\\_predict' ESCAPE '\\'"
    assert rows(con, macros) == [("n_predict",)]
    stored(con, tree, name)
    assert len(rows(con, "FROM t")) == 300


def test_names_that_are_in_use_are_refused_before_anything_is_written() -> None:
    con = duckdb.connect()
    con.execute(
        "CREATE TABLE t AS SELECT 1 AS a; CREATE VIEW v AS FROM t; CREATE MACRO taken_predict(a) AS a"
    )
    con.execute("CREATE MACRO tabled_predict(a) AS TABLE FROM t")
    db = ppdm_sql.open(con)
    stored(con, grown(3), "m")
    for name in ("t", "V", "M", "taken", "TAKEN", "tabled"):
        with pytest.raises(NameTaken):
            check_model_name(db.engine, name)
        with pytest.raises(NameTaken):
            stored(con, grown(3), name)
    with pytest.raises(InvalidOption):
        check_model_name(db.engine, "")
    assert [row.model for row in db.models()] == ["m"]


def test_releases_and_models_do_not_share_names() -> None:
    con = duckdb.connect()
    con.execute("CREATE TABLE t AS SELECT 'cook' AS job, 'good' AS rating FROM range(4)")
    db = ppdm_sql.open(con)
    stored(con, grown(3), "m")
    with pytest.raises(NameTaken, match="model 'm'"):
        db.suppress("t", ["k >= 2 on job"], class_column="rating", into="M")
    db.suppress("t", ["k >= 2 on job"], class_column="rating", into="safe")
    with pytest.raises(NameTaken, match="safe"):
        stored(con, grown(3), "Safe")


def test_a_failure_while_storing_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    con = duckdb.connect()
    monkeypatch.setattr("ppdm_sql.methods.trees.storing.create_macro", lambda *_: "nonsense")
    with pytest.raises(ppdm_sql.EngineError):
        stored(con, grown(3))
    assert ppdm_sql.open(con).models() == []
    assert rows(con, "SELECT count(*) FROM duckdb_schemas() WHERE schema_name = 'ppdm'") == [(0,)]
