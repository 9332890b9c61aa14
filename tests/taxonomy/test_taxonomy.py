"""Taxonomies: every way to make one gives the same tree, and none makes anything but a tree."""

from __future__ import annotations

import codecs
import csv
import datetime
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ppdm_sql import Taxonomy
from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table, quoted
from ppdm_sql.errors import (
    EngineError,
    InvalidOption,
    InvalidSource,
    NameTaken,
    PpdmError,
    UnknownColumn,
    UnknownTable,
)
from ppdm_sql.taxonomy.model import Interval
from ppdm_sql.taxonomy.suggesting import roundest, suggest
from ppdm_sql.taxonomy.tables import (
    check_intervals,
    leaf_codes,
    read_taxonomy,
    uncovered_values,
    write_taxonomy,
)

Node = tuple[str, tuple["Node", ...]]
"""A tree written out: a label and the trees below it."""

JOBS = {
    "ANY": {"Blue-collar": ["Janitor", "Mover"], "White-collar": {"Pro": ["Lawyer", "Doctor"], "Clerk": {}}}
}
CELL = "Quokka-7731"
HOSTILE = [
    *("", " ", ";", '"', '""', "\n", "\r\n", "\r", ",", "a;b", 'say "x"', "*", "**", "NULL", "é", "e\u0301"),
    *("\ufeff", "\ufeffa", "日本", "'; DROP TABLE t; --", "[1, 2)", "[1, 2]", "\x00", "\t", "\u2028", "$a"),
    *("x" * 3000, "Group 1", "-1", "30", "30.0", "\x1b[2J"),
]


@pytest.fixture
def engine() -> Iterator[Engine]:
    with duckdb.connect() as connection:
        yield Engine(connection)


def execute(engine: Engine, *statements: str) -> list[tuple[Any, ...]]:
    for statement in statements:
        engine.connection.execute(statement)
    return engine.connection.fetchall()


def refused(make: Callable[[], object], *words: str, error: type[PpdmError] = InvalidOption) -> None:
    """Assert that a call is refused in words, none of which is a label, unless it is among the words."""
    with pytest.raises(error) as caught:
        make()
    message = str(caught.value)
    assert all(word in message for word in words), message
    assert CELL not in message or any(CELL in word for word in words)
    assert caught.value.remedy
    assert caught.value.__cause__ is None


# -- trees --------------------------------------------------------------------------------------


@st.composite
def trees(draw: st.DrawFn) -> Node:
    """Draw a tree with chains of single children and labels of any text, one node below the root at least."""
    size = draw(st.integers(2, 12))
    label = st.sampled_from(HOSTILE) | st.text(max_size=4)
    labels = draw(st.lists(label, min_size=size, max_size=size, unique=True))
    parents = [draw(st.integers(max(0, node - 4), node - 1)) for node in range(1, size)]

    def below(node: int) -> Node:
        return labels[node], tuple(below(child) for child in range(1, size) if parents[child - 1] == node)

    return below(0)


def collapsed(tree: Node, *, is_root: bool = True) -> Node:
    """Take chains out: a leaf keeps its label, a root its own, another chain the label at its top."""
    label, below = tree
    if not below:
        return tree
    parts = tuple(collapsed(child, is_root=False) for child in below)
    if len(parts) > 1 or (is_root and not parts[0][1]):
        return label, parts
    (only,) = parts
    return (label, only[1]) if only[1] else only


def written_out(taxonomy: Taxonomy, node: int = 0) -> Node:
    return taxonomy.labels[node], tuple(written_out(taxonomy, child) for child in taxonomy.children[node])


def rows_of(tree: Node, above: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """The rows of an ARX file."""
    label, below = tree
    path = (label, *above)
    return [row for child in below for row in rows_of(child, path)] if below else [path]


def edges_of(tree: Node, parent: str | None = None) -> list[tuple[str, str | None]]:
    label, below = tree
    return [(label, parent), *(edge for child in below for edge in edges_of(child, label))]


def mapping_of(tree: Node) -> dict[str, Any]:
    label, below = tree
    return {label: {name: inside for child in below for name, inside in mapping_of(child).items()}}


@given(trees())
def test_rows_edges_and_mappings_make_the_tree_without_its_chains(tree: Node) -> None:
    expected = collapsed(tree)
    assert written_out(Taxonomy.from_paths(rows_of(tree), root=tree[0])) == expected
    assert written_out(Taxonomy.from_edges(edges_of(tree))) == expected
    assert written_out(Taxonomy.from_dict(mapping_of(tree))) == expected


@given(trees(), st.randoms())
def test_the_order_of_edges_orders_children_and_nothing_else(tree: Node, order: random.Random) -> None:
    edges = edges_of(tree)
    order.shuffle(edges)

    def sorted_as_given(node: Node) -> Node:
        place = {child: at for at, (child, _) in enumerate(edges)}
        return node[0], tuple(sorted_as_given(c) for c in sorted(node[1], key=lambda c: place[c[0]]))

    assert written_out(Taxonomy.from_edges(edges)) == collapsed(sorted_as_given(tree))


@given(trees())
def test_a_taxonomy_comes_back_from_its_paths_and_its_file(tree: Node) -> None:
    taxonomy = Taxonomy.from_dict(mapping_of(tree))
    assert Taxonomy.from_paths(taxonomy.paths()) == taxonomy
    with tempfile.TemporaryDirectory() as folder:
        for delimiter in (";", ",", "|"):
            file = Path(folder, f"{ord(delimiter)}.csv")
            taxonomy.to_csv(file, delimiter=delimiter)
            assert Taxonomy.from_csv(file, delimiter=delimiter) == taxonomy
            with file.open(encoding="utf-8", newline="") as text:
                rows = list(csv.reader(text, delimiter=delimiter, strict=True))
            assert len({len(row) for row in rows}) == 1
            assert [row[0] for row in rows] == [taxonomy.labels[leaf] for leaf in taxonomy.leaves]


CONNECTION = duckdb.connect()


@given(trees(), st.sampled_from(["t", "my table", 'ta"ble', "'; DROP TABLE t; --", "select", "日本", "a.b"]))
def test_a_taxonomy_comes_back_from_its_table(tree: Node, name: str) -> None:
    engine = Engine(CONNECTION)
    taxonomy = Taxonomy.from_edges(edges_of(tree))
    write_taxonomy(engine, taxonomy, name)
    try:
        assert read_taxonomy(engine, name) == taxonomy
        described = [(column.name, column.type) for column in engine.columns(engine.find(name))]
        assert described == [("child", "VARCHAR"), ("parent", "VARCHAR"), ("position", "INTEGER")]
    finally:
        execute(engine, f"DROP TABLE {quoted(name)}")


@given(trees())
def test_nodes_are_numbered_depth_first_and_described_alike(tree: Node) -> None:
    taxonomy = Taxonomy.from_edges(edges_of(tree))
    assert [edge[0] for edge in edges_of(written_out(taxonomy))] == list(taxonomy.labels)
    assert taxonomy.leaves == tuple(n for n in range(len(taxonomy.labels)) if n not in taxonomy.parents)
    for node, parent in enumerate(taxonomy.parents):
        assert taxonomy.depths[node] == (taxonomy.depths[parent] + 1 if node else 0)
        assert node == 0 or node in taxonomy.children[parent]


def test_a_very_deep_tree_is_no_problem(engine: Engine) -> None:
    edges: list[tuple[str, str | None]] = [("0", None)]
    for depth in range(1, 4000):
        edges += [(str(depth), str(depth - 1)), (f"leaf {depth}", str(depth - 1))]
    taxonomy = Taxonomy.from_edges(edges)
    assert max(taxonomy.depths) == 3999
    write_taxonomy(engine, taxonomy, "deep")
    assert read_taxonomy(engine, "deep") == taxonomy


# -- what is not a taxonomy ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "parents"),
    [
        ((), ()),
        (("a",), (-1,)),
        (("a", "b"), (-1,)),
        (("a", "b", "b"), (-1, 0, 0)),
        (("a", "b", 3), (-1, 0, 0)),
        (("a", "b", "c"), (0, 0, 0)),
        (("a", "b", "c"), (-1, -1, 0)),
        (("a", "b", "c"), (-1, 2, 1)),
        (("a", "b", "c"), (-1, 0, 3)),
        (("a", "b", "c", "d", "e"), (-1, 0, 0, 1, 1)),
        (("a", "b", "c"), (-1, 0, 1)),
        (("a", "b", "c", "d"), (-1, 0, 1, 1)),
        (("a", "b", "c", "d"), (-1, 0, 0, 2)),
    ],
)
def test_an_inconsistent_taxonomy_cannot_be_made(labels: Any, parents: Any) -> None:
    refused(lambda: Taxonomy(labels, parents))


@pytest.mark.parametrize(
    ("pairs", "words"),
    [
        ([], ["no nodes"]),
        ([("a", None)], ["nothing below"]),
        ([(CELL, "r"), (CELL, "s"), ("s", "r")], ["1 node ", f"more than one parent: '{CELL}'."]),
        ([(CELL, None), (CELL, "r")], ["1 node ", f"more than one parent: '{CELL}'."]),
        ([(c, p) for c in ("\u202e" + "x" * 99, "c") for p in "rs"], [f"'\\u202e{'x' * 59}...' and 1 more"]),
        ([(None, CELL), (None, "r")], ["2 rows without a child"]),
        ([("a", CELL), ("b", "r")], ["2 roots"]),
        ([("a", None), (CELL, None)], ["2 roots"]),
        ([(CELL, "b"), ("b", CELL)], ["0 roots"]),
        ([(CELL, CELL)], ["0 roots"]),
        ([("a", "r"), (CELL, "b"), ("b", CELL)], ["2 nodes in a cycle"]),
        ([("a", "r"), (CELL, CELL)], ["1 node in a cycle"]),
    ],
)
def test_pairs_that_are_no_tree_are_refused_by_counts(pairs: Any, words: list[str]) -> None:
    refused(lambda: Taxonomy.from_edges(pairs), *words)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([], ["no rows"]),
        ([("*",)], ["nothing below"]),
        ([(CELL, "A"), ("b", "A"), (CELL, "B")], ["Rows 1, 3:", "different parents"]),
        ([(CELL, "A", "*"), ("b", "B", "*"), ("c", "A", "B", "*")], ["Rows 1, 3:", "different parents"]),
        ([("a", CELL, "b", CELL)], ["Row 1:", "twice"]),
        ([("a", "*", CELL), ("b", "c")], ["Row 1:", "twice"]),
        ([(CELL, CELL, "*"), ("a", CELL, "*")], ["Row 1:", "group elsewhere"]),
        ([("a", "*"), ("b", "*"), ("*", "*")], ["Row 3:", "group elsewhere"]),
        ([(CELL,), ()], ["Row 2:", "not a list of texts"]),
        ([("a", "A"), CELL], ["Row 2:", "not a list of texts"]),
        ([("a", None, "*")], ["Row 1:", "not a list of texts"]),
        ([(CELL, f"A{at}") for at in range(8)], ["Rows 1, 2, 3, 4, 5 and 3 more:"]),
    ],
)
def test_rows_that_are_no_tree_are_refused_by_their_numbers(rows: Any, words: list[str]) -> None:
    refused(lambda: Taxonomy.from_paths(rows), *words)


@pytest.mark.parametrize(
    ("mapping", "words"),
    [
        ({}, []),
        ({"a": ["x"], "b": ["y"]}, []),
        ({"a": []}, []),
        ({"a": {CELL: [CELL]}}, [f"repeats 1 label: '{CELL}'."]),
        ({"a": {CELL: ["x", "y"], "b": [CELL, "z"]}}, [f"repeats 1 label: '{CELL}'."]),
        ({"a": [1, 2]}, []),
        ({"a": CELL}, []),
        ({"a": [{CELL: []}]}, []),
    ],
)
def test_mappings_that_are_no_tree_are_refused(mapping: Any, words: list[str]) -> None:
    refused(lambda: Taxonomy.from_dict(mapping), *words)


# -- rows and files -----------------------------------------------------------------------------


def from_text(folder: Path, text: str | bytes, **options: str) -> Taxonomy:
    file = folder / "it's a file.csv"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return Taxonomy.from_csv(file, **options)


def test_rows_without_a_common_end_get_a_root() -> None:
    assert Taxonomy.from_paths([("a", "A"), ("b", "A"), ("c",)]).paths() == [
        ("a", "A", "*"),
        ("b", "A", "*"),
        ("c", "*"),
    ]
    assert Taxonomy.from_paths([("a",), ("b",)], root="ANY").labels == ("ANY", "a", "b")
    assert Taxonomy.from_paths([("a",)]).labels == ("*", "a")
    assert Taxonomy.from_paths([("a", "*"), ("b", "A"), ("c", "A")]).labels == ("*", "a", "A", "b", "c")


def test_ragged_rows_repeated_levels_and_repeated_rows_are_read(tmp_path: Path) -> None:
    text = "Preschool;Preschool;Primary;*\n1st;1st;Primary;*\nDoctorate;*\n1st;Primary;*\nDoctorate;*;*;*\n"
    taxonomy = from_text(tmp_path, text)
    assert taxonomy.paths() == [("Preschool", "Primary", "*"), ("1st", "Primary", "*"), ("Doctorate", "*")]


@pytest.mark.parametrize(
    "text",
    [
        "a;A;*\nb;A;*\nc;*\n",
        "a;A;*\nb;A;*\nc;*",
        "a;A;*\r\nb;A;*\r\nc;*\r\n",
        "a;A;*\rb;A;*\rc;*\r",
        "\n\na;A;*\n\n;;\nb;A;*\nc;*;\n\n",
        '"a";A;"*"\n"b";A;*\nc;*;;\n',
        codecs.BOM_UTF8 + b"a;A;*\nb;A;*\nc;*\n",
        codecs.BOM_UTF8 + b'"a";A;*\nb;A;*\nc;*\n',
    ],
)
def test_line_ends_quotes_blanks_and_a_byte_order_mark_change_nothing(
    tmp_path: Path, text: str | bytes
) -> None:
    assert from_text(tmp_path, text).labels == ("*", "A", "a", "b", "c")


def test_quoted_cells_hold_delimiters_quotes_line_breaks_and_nothing(tmp_path: Path) -> None:
    text = '"a;b";"say ""A""";*\n"two\r\nlines";"say ""A""";*\n"";none;*\nd"e;none;*\n'
    labels = ("*", 'say "A"', "a;b", "two\r\nlines", "none", "", 'd"e')
    assert from_text(tmp_path, text).labels == labels


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["no rows"]),
        ("\n;;\n", ["no rows"]),
        (f"{CELL},*\nb,*\n", ["delimiter ';'"]),
        (f"a;*\n{CELL};;*\n", ["Line 2", "empty cell"]),
        (f"a;*\n\n;{CELL};*\n", ["Line 3", "empty cell"]),
        (f'a;*\n"{CELL};*\nb;*\n', ["line 2", "quotes"]),
        (f'a;*\n"{CELL}"b;*\n', ["line 2", "quotes"]),
        (f'"a\rb";*\r"{CELL};*\rb;*\r', ["line 3", "quotes"]),
        (f'"a\nb";*\n{CELL};A;*\nc;B;*\n{CELL};B;*\n', ["lines 3, 5:", f"label ('{CELL}') has different"]),
        (f"{CELL};a;{CELL};*\n", ["line 1:", f"a label ('{CELL}') stands there twice"]),
        (f"a;{CELL};*\n{CELL};*\n", ["line 2:", f"the first label ('{CELL}') is a group elsewhere"]),
        (f"{CELL};A;*\nA;A;*\n".encode("utf-16"), ["UTF-8"]),
        (f"{CELL};Gr\xfcn;*\n".encode("latin-1"), ["UTF-8"]),
    ],
)
def test_a_file_that_is_no_taxonomy_is_refused_by_its_lines(
    tmp_path: Path, text: str | bytes, words: list[str]
) -> None:
    refused(lambda: from_text(tmp_path, text), *words)


def test_a_file_that_cannot_be_read_or_written_is_refused(tmp_path: Path) -> None:
    taxonomy = Taxonomy.from_dict(JOBS)
    refused(lambda: Taxonomy.from_csv(tmp_path / "none.csv"), "none.csv")
    refused(lambda: Taxonomy.from_csv(tmp_path), "cannot be read")
    refused(lambda: taxonomy.to_csv(tmp_path / "no folder" / "job.csv"), "cannot be written")
    refused(
        lambda: Taxonomy.from_dict({"a": ["\ud800", "b"]}).to_csv(tmp_path / "a.csv"), "cannot be written"
    )
    taxonomy.to_csv(tmp_path / "job.csv")
    refused(lambda: taxonomy.to_csv(tmp_path / "job.csv"), "job.csv", error=NameTaken)
    for delimiter in ("", ";;", '"', "\n"):
        refused(lambda d=delimiter: from_text(tmp_path, "a;*\n", delimiter=d), "cannot delimit")


@pytest.fixture(scope="session")
def hierarchies(adult_csv: list[str]) -> list[Path]:
    files = sorted((Path(adult_csv[0]).parent / "hierarchies").glob("*.csv"))
    assert len(files) == 9
    return files


def test_the_hierarchies_of_adult_are_read_row_by_row(hierarchies: list[Path]) -> None:
    for file in hierarchies:
        rows = [line.split(";") for line in file.read_text(encoding="utf-8").split("\n") if line]
        taxonomy = Taxonomy.from_csv(file)
        siblings = Counter(pair for row in rows for pair in set(pairwise(row)))
        assert len(siblings) >= len(taxonomy.labels) - 1
        paths = {path[0]: path for path in taxonomy.paths()}
        assert set(paths) == {row[0] for row in rows}
        for row in rows:
            assert [label for label in row if label in paths[row[0]]] == list(paths[row[0]])


def test_the_hierarchies_of_adult_cover_its_columns(
    engine: Engine, hierarchies: list[Path], adult_csv: list[str]
) -> None:
    adult = engine.connection.read_csv(adult_csv)
    adult.create("adult")
    for file in hierarchies:
        values = dictionary(engine, f"SELECT DISTINCT {file.stem} FROM adult")
        codes = leaf_codes(engine, values, Taxonomy.from_csv(file), column=file.stem)
        assert set(uncovered_values(engine, values, codes)) <= {"?"}
        assert (codes > 0).any()


# -- names: tables, files, mappings ---------------------------------------------------------------


def test_what_is_given_is_read_for_what_it_is(engine: Engine, tmp_path: Path) -> None:
    jobs = Taxonomy.from_dict(JOBS)
    file = tmp_path / "job.csv"
    jobs.to_csv(file)
    write_taxonomy(engine, jobs, "job.csv")
    for name in (jobs, JOBS, file, str(file), "job.csv"):
        assert read_taxonomy(engine, name) == jobs


def test_a_name_of_nothing_is_refused(engine: Engine, tmp_path: Path) -> None:
    execute(engine, "CREATE TABLE jobs (child VARCHAR, parent VARCHAR)")
    refused(lambda: read_taxonomy(engine, "jbos"), "'jbos'", "jobs", error=UnknownTable)
    refused(lambda: read_taxonomy(engine, "x" * 5000), "neither a file", error=UnknownTable)
    refused(lambda: read_taxonomy(engine, tmp_path / "jobs"), "cannot be read")


def test_a_table_is_read_by_its_columns_in_any_case_and_place(engine: Engine) -> None:
    execute(
        engine,
        'CREATE TABLE "My Jobs" (note INTEGER, PARENT VARCHAR, "Child" VARCHAR, Position DOUBLE)',
        "INSERT INTO \"My Jobs\" VALUES (1, 'A', 'b', 3), (2, 'A', 'a', 2), (3, 'R', 'A', 1), "
        "(4, 'R', 'c', -1)",
    )
    expected = [("c", "R"), ("a", "A", "R"), ("b", "A", "R")]
    assert read_taxonomy(engine, "My Jobs").paths() == expected
    execute(engine, 'CREATE VIEW jobs AS SELECT * FROM "My Jobs" ORDER BY position')
    assert read_taxonomy(engine, "main.jobs").paths() == expected


def test_a_table_without_positions_keeps_the_order_of_its_rows(engine: Engine) -> None:
    execute(
        engine,
        "CREATE TABLE t AS SELECT i AS child, CASE WHEN i > 0 THEN (i - 1) // 3 END AS parent "
        "FROM range(3000) r(i)",
        "SET default_order = 'DESC'",
        "SET default_null_order = 'NULLS_FIRST'",
    )
    taxonomy = read_taxonomy(engine, "t")
    assert taxonomy.labels[:3] == ("0", "1", "4")
    write_taxonomy(engine, taxonomy, "again")
    assert read_taxonomy(engine, "again") == taxonomy


def test_a_table_that_is_no_tree_is_refused(engine: Engine) -> None:
    execute(
        engine, "CREATE TABLE t (child VARCHAR, parent VARCHAR)", "CREATE TABLE u (child VARCHAR, up VARCHAR)"
    )
    refused(lambda: read_taxonomy(engine, "u"), "'parent'", "child, up", error=UnknownColumn)
    refused(lambda: read_taxonomy(engine, "t"), "no nodes")
    execute(engine, f"INSERT INTO t VALUES (NULL, '{CELL}'), ('a', '{CELL}')")
    refused(lambda: read_taxonomy(engine, "t"), "1 row without a child")
    execute(engine, "DELETE FROM t", f"INSERT INTO t VALUES ('{CELL}', 'A'), ('{CELL}', 'B')")
    refused(lambda: read_taxonomy(engine, "t"), f"more than one parent: '{CELL}'.")


# -- storing --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["jobs", "JOBS", "Staff", "passing"])
def test_a_name_in_use_is_refused(engine: Engine, name: str) -> None:
    execute(
        engine,
        "CREATE TABLE Jobs (a INTEGER)",
        "CREATE VIEW staff AS SELECT 1",
        "CREATE TEMP TABLE passing (a INT)",
    )
    refused(lambda: write_taxonomy(engine, Taxonomy.from_dict(JOBS), name), error=NameTaken)
    assert execute(engine, "SELECT count(*) FROM Jobs") == [(0,)]


def test_a_stored_taxonomy_says_what_it_is_and_names_no_value(engine: Engine) -> None:
    write_taxonomy(engine, Taxonomy.from_dict({"ANY": [CELL, "b"]}), "jobs")
    ((comment,),) = execute(engine, "SELECT comment FROM duckdb_tables() WHERE table_name = 'jobs'")
    assert "Taxonomy" in comment
    assert CELL not in comment


def test_a_run_that_only_shows_its_statements_stores_nothing(engine: Engine) -> None:
    seen: list[str] = []
    engine.dry, engine.tracer = True, seen.append
    write_taxonomy(engine, Taxonomy.from_dict({"ANY": ["it's", 'a "b"']}), "jobs")
    assert execute(engine, "SELECT count(*) FROM duckdb_tables()") == [(0,)]
    execute(engine, *seen)
    engine.dry, engine.tracer = False, None
    assert read_taxonomy(engine, "jobs").labels == ("ANY", "it's", 'a "b"')


def test_a_failure_while_storing_leaves_nothing(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    write = engine.write

    def fail_at_the_comment(sql: str, *rest: Any, step: str) -> None:
        write("SELECT nothing" if step == "comment" else sql, *rest, step=step)

    monkeypatch.setattr(engine, "write", fail_at_the_comment)
    with pytest.raises(EngineError):
        write_taxonomy(engine, Taxonomy.from_dict(JOBS), "jobs")
    assert execute(engine, "SELECT count(*) FROM duckdb_tables()") == [(0,)]


def test_storing_waits_for_no_ones_transaction(engine: Engine) -> None:
    execute(engine, "BEGIN")
    refused(
        lambda: write_taxonomy(engine, Taxonomy.from_dict(JOBS), "jobs"), "transaction", error=EngineError
    )
    execute(engine, "ROLLBACK")
    refused(lambda: write_taxonomy(engine, Taxonomy.from_dict(JOBS), ""), "name")


# -- intervals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("label", "interval"),
    [
        ("[37, 52)", Interval("37", "52", closed=False)),
        ("[-1.5, 2e3]", Interval("-1.5", "2e3", closed=True)),
        ("[2020-01-01 00:00:00+00, infinity)", Interval("2020-01-01 00:00:00+00", "infinity", closed=False)),
        ("[37,52)", None),
        ("(37, 52)", None),
        ("37, 52)", None),
        ("[37, 52", None),
        ("[37, 52, 60)", None),
        ("[, 52)", None),
        ("[37, 52) ", None),
        ("x[37, 52)", None),
        ("", None),
    ],
)
def test_a_label_is_an_interval_only_where_it_reads_as_one(label: str, interval: Interval | None) -> None:
    assert Interval.of_label(label) == interval


def test_a_taxonomy_is_one_of_intervals_if_every_leaf_is() -> None:
    assert Taxonomy.from_dict({"*": {"young": ["[0, 9)", "[9, 18)"], "[18, 99]": []}}).is_interval
    mixed = Taxonomy.from_dict({"*": {"[0, 18)": ["[0, 9)", "[9, 18)"], "old": []}})
    assert not mixed.is_interval
    assert mixed.intervals[1] == Interval("0", "18", closed=False)


def dictionary(engine: Engine, values: str) -> Table:
    """A working table of distinct values with codes, NULL last."""
    numbered = "SELECT value, row_number() OVER (ORDER BY value NULLS LAST) - 1 AS code"
    return engine.materialize("dictionary", f"{numbered} FROM ({values}) AS v(value)")


def matched(engine: Engine, values: str, taxonomy: Taxonomy) -> list[str | None]:
    """The labels of the leaves of values, in the order of their codes."""
    table = dictionary(engine, values)
    codes = leaf_codes(engine, table, taxonomy, column="c")
    assert codes.dtype == np.int64
    assert len(codes) == execute(engine, f"SELECT count(*) FROM {table}")[0][0]
    assert set(codes.tolist()) <= {-1, *taxonomy.leaves}
    return [None if code < 0 else taxonomy.labels[code] for code in codes]


def typed(kind: str, *values: object) -> str:
    """A query of values of a type, a VALUES list of texts."""
    listed = ", ".join("(NULL)" if value is None else f"('{value}')" for value in values)
    return f"SELECT CAST(v AS {kind}) FROM (VALUES {listed}) AS l(v)"


@pytest.mark.parametrize(
    ("kind", "values", "labels", "expected"),
    [
        ("VARCHAR", ["30", "30.0", "b", None], ["30.0", "a", "b"], [None, "30.0", "b", None]),
        ("VARCHAR", ["", "NULL", None], ["", "NULL"], ["", "NULL", None]),
        ("INTEGER", [30, 31, 32, None], ["30.0", "31", "3.2e1"], ["30.0", "31", "3.2e1", None]),
        ("INTEGER", [30, 31], ["30.4", "30.9"], [None, None]),
        ("INTEGER", [30, 31], ["thirty", "31"], [None, "31"]),
        ("DECIMAL(6,2)", ["1.50", "2.00"], ["1.5", "2", "1.505"], ["1.5", "2"]),
        ("DOUBLE", ["0.1", "1e300"], ["0.10", "1e300"], ["0.10", "1e300"]),
        ("FLOAT", ["0.1", "nan"], ["0.1", "nan"], ["0.1", "nan"]),
        ("BOOLEAN", ["true", "false"], ["true", "no"], ["no", "true"]),
        ("DATE", ["2020-01-02", "2020-02-03"], ["2020-1-2", "2020-02-03 12:00"], ["2020-1-2", None]),
        ("TIMESTAMP", ["2020-01-02", "2020-01-02 12:00:00"], ["2020-01-02", "2020-01-02 12:00"], None),
        ("ENUM ('b', 'a')", ["a", "b", None], ["a", "c"], [None, "a", None]),
        ("HUGEINT", [2**100], [str(2**100), "1"], [str(2**100)]),
        ("INTEGER[]", ["[1, 2]", "[3]"], ["[1, 2]", "x"], ["[1, 2]", None]),
        ("BLOB", [r"\xAA"], [r"\xAA", "x"], [r"\xAA"]),
    ],
)
def test_a_value_is_the_leaf_of_its_text_or_of_its_type(
    engine: Engine, kind: str, values: list[Any], labels: list[str], expected: list[str | None] | None
) -> None:
    found = matched(engine, typed(kind, *values), Taxonomy.from_dict({"*": labels}))
    assert found == (labels if expected is None else expected)


@pytest.mark.parametrize(
    ("kind", "values", "labels", "expected"),
    [
        ("INTEGER", [-1, 0, 9, 10, 20, 21, None], ["[0, 10)", "[10, 20]"], [None, 0, 0, 1, 1, None, None]),
        ("INTEGER", [4, 5, 6], ["[0, 5)", "[5, 5]", "[6, 9]"], [0, 1, 2]),
        ("INTEGER", [4, 5, 7], ["[6, 9]", "[0, 5)"], [1, None, 0]),
        ("INTEGER", [1], ["[0.0, 1.0e1)", "[1e1, 2e1]"], [0]),
        ("DOUBLE", ["-inf", "0.5", "inf", "nan"], ["[-inf, 0.5)", "[0.5, inf)"], [0, 1, None, None]),
        ("DECIMAL(6,2)", ["0.99", "1.00"], ["[0, 1)", "[1, 2.5]"], [0, 1]),
        (
            "DATE",
            ["2019-12-31", "2020-01-01"],
            ["[2019-01-01, 2020-01-01)", "[2020-01-01, 2021-01-01)"],
            [0, 1],
        ),
        (
            "TIMESTAMP",
            ["2020-01-01 11:59:59.9", "2020-01-01 12:00"],
            ["[2020-01-01, 2020-01-01 12:00)", "[2020-01-01 12:00, 2021-01-01]"],
            [0, 1],
        ),
        (
            "TIMESTAMPTZ",
            ["2020-01-01 00:00:00+00"],
            ["[2019-12-31, 2020-01-03)", "[2020-01-03, 2021-01-01)"],
            [0],
        ),
        ("TIME", ["11:59:59", "12:00:00"], ["[00:00:00, 12:00:00)", "[12:00:00, 24:00:00)"], [0, 1]),
        ("VARCHAR", ["10115", "20095"], ["[10000, 20000)", "[20000, 30000)"], [0, 1]),
        ("BIGINT", [2**60 - 1, 2**60], [f"[0, {2**60})", f"[{2**60}, {2**61})"], [0, 1]),
    ],
)
def test_a_value_is_the_leaf_interval_that_holds_it(
    engine: Engine, kind: str, values: list[Any], labels: list[str], expected: list[int | None]
) -> None:
    found = matched(engine, typed(kind, *values), Taxonomy.from_dict({"*": labels}))
    assert found == [None if at is None else labels[at] for at in expected]


@given(
    st.lists(st.integers(-20, 20), min_size=2, max_size=9, unique=True).map(sorted),
    st.lists(st.integers(-25, 25) | st.none(), unique=True, max_size=30),
    st.lists(st.booleans(), min_size=9, max_size=9),
    st.randoms(),
)
def test_containment_agrees_with_counting_by_hand(
    bounds: list[int], values: list[int | None], used: list[bool], order: random.Random
) -> None:
    pairs = [pair for pair, use in zip(pairwise(bounds), used, strict=False) if use] or [
        (bounds[0], bounds[1])
    ]
    closed = [at + 1 == len(pairs) or pairs[at + 1][0] > upper for at, (_, upper) in enumerate(pairs)]
    labels = [f"[{low}, {up}{']' if shut else ')'}" for (low, up), shut in zip(pairs, closed, strict=True)]
    shuffled = order.sample(labels, len(labels))
    expected: list[str | None] = []
    for value in [*sorted(v for v in values if v is not None), *([None] if None in values else [])]:
        held = [
            label
            for label, (low, up), shut in zip(labels, pairs, closed, strict=True)
            if value is not None and (low <= value < up or (shut and value == up))
        ]
        expected.append(held[0] if held else None)
    source = typed("SMALLINT", *values) if values else "SELECT 1::SMALLINT WHERE FALSE"
    assert matched(Engine(CONNECTION), source, Taxonomy.from_dict({"*": shuffled})) == expected


@pytest.mark.parametrize(
    ("kind", "tree", "words"),
    [
        ("INTEGER", ["[0, ten)", "[10, 20)"], ["1 interval", "not values of the column's type"]),
        ("INTEGER", ["[0, 1.5)", "[1.5, 9]"], ["Each of 2 intervals", "not values"]),
        ("TINYINT", ["[0, 100)", "[100, 1000)"], ["not values"]),
        ("DATE", ["[2020-01-01 12:00, 2021-01-01)", "x"], []),
        ("DATE", ["[2020-01-01 12:00, 2021-01-01)", "[2021-01-01, 2022-01-01]"], ["not values"]),
        ("ENUM ('1', '2')", ["[1, 3)", "[3, 4)"], ["not values"]),
        ("DECIMAL(6,2)", ["[0, 1.005)", "[1.005, 9)"], ["not values"]),
        ("INTEGER", ["[9, 0)", "[10, 20)"], ["1 interval", "empty"]),
        ("INTEGER", ["[5, 5)", "[10, 20)"], ["empty"]),
        ("VARCHAR", ["[9, 17)", "[17, 22)"], ["empty"]),
        ("INTEGER", ["[0, 10)", "[9, 20)"], ["overlaps"]),
        ("INTEGER", ["[0, 10]", "[10, 20)"], ["overlaps"]),
        ("INTEGER", ["[0, 10)", "[0, 10]"], ["overlaps"]),
        ("INTEGER", {"[0, 5)": ["[0, 3)", "[3, 7)"], "[7, 9)": []}, ["1 interval", "reaches out"]),
        ("INTEGER", {"[0, 9)": {"low": ["[0, 3)", "[3, 9]"], "x": []}, "y": []}, []),
        (
            "INTEGER",
            {"[0, 9)": {"a": ["[0, 3)", "[3, 5)"], "b": ["[5, 7)", "[7, 9]"]}, "[10, 11)": []},
            ["reaches out"],
        ),
    ],
)
def test_intervals_that_are_none_in_the_columns_type_are_refused(
    engine: Engine, kind: str, tree: Any, words: list[str]
) -> None:
    taxonomy = Taxonomy.from_dict({"*": tree})
    table = dictionary(engine, f"SELECT NULL::{kind}")
    if words:
        refused(lambda: leaf_codes(engine, table, taxonomy, column="the column"), "'the column'", *words)
        refused(lambda: check_intervals(engine, table, taxonomy, column="the column"), *words)
    else:
        assert leaf_codes(engine, table, taxonomy, column="the column").tolist() == [-1]


def test_wider_intervals_may_nest_and_leave_gaps(engine: Engine) -> None:
    tree = {
        "*": {"[0, 20)": {"low": ["[0, 5)", "[6, 10]"], "[11, 20)": []}, "[20, 30]": ["[20, 25)", "[25, 30]"]}
    }
    found = matched(engine, typed("INTEGER", 5, 10, 11, 30), Taxonomy.from_dict(tree))
    assert found == [None, "[6, 10]", "[11, 20)", "[25, 30]"]


def test_a_value_whose_type_does_not_read_its_text_is_matched_by_its_text(engine: Engine) -> None:
    values = "SELECT union_value(number := 2)::UNION(number INTEGER, text VARCHAR)"
    assert matched(engine, values, Taxonomy.from_dict({"*": ["2", "3"]})) == ["2"]


def test_two_leaves_that_are_one_value_are_refused(engine: Engine) -> None:
    taxonomy = Taxonomy.from_dict({"*": {"a": ["30", "31"], "b": ["30.0", "32"]}})
    values = dictionary(engine, typed("INTEGER", 30, 31))
    refused(lambda: leaf_codes(engine, values, taxonomy, column="age"), "'age'", "same value")
    assert matched(engine, typed("VARCHAR", "30", "30.0"), taxonomy) == ["30", "30.0"]


def test_an_empty_column_has_no_codes(engine: Engine) -> None:
    for labels in (["a", "b"], ["[0, 1)", "[1, 2)"]):
        assert matched(engine, "SELECT 1 WHERE FALSE", Taxonomy.from_dict({"*": labels})) == []


def test_values_that_no_leaf_covers_are_named_in_their_order_without_null(engine: Engine) -> None:
    values = dictionary(engine, typed("INTEGER", 100, 20, 3, None))
    codes = leaf_codes(engine, values, Taxonomy.from_dict({"*": ["20", "21"]}), column="age")
    assert uncovered_values(engine, values, codes) == ["3", "100"]
    assert uncovered_values(engine, values, np.zeros(4, dtype=np.int64)) == []


# -- suggestions ----------------------------------------------------------------------------------


def suggested(engine: Engine, kind: str, values: Iterable[object], **options: Any) -> Taxonomy:
    execute(engine, f"CREATE OR REPLACE TABLE people (c {kind})")
    rows = [(None if value is None else str(value),) for value in values]
    engine.connection.executemany("INSERT INTO people VALUES (?)", rows)
    return suggest(engine, "people", "C", **options)


def leaves_of(taxonomy: Taxonomy) -> list[str]:
    return [taxonomy.labels[leaf] for leaf in taxonomy.leaves]


def records_by_leaf(engine: Engine, taxonomy: Taxonomy) -> Counter[int]:
    """Records of ``people`` by leaf; every value but NULL has one."""
    values = dictionary(engine, "SELECT DISTINCT c FROM people")
    codes = leaf_codes(engine, values, taxonomy, column="c")
    assert uncovered_values(engine, values, codes) == []
    sizes = execute(
        engine, f"SELECT d.code, count(*) FROM people p JOIN {values} d ON d.value = p.c GROUP BY 1"
    )
    found: Counter[int] = Counter()
    for code, size in sizes:
        found[int(codes[code])] += size
    return found


moments = st.datetimes(datetime.datetime(1900, 1, 1), datetime.datetime(2100, 1, 1))
COLUMNS: dict[str, st.SearchStrategy[Any]] = {
    "SMALLINT": st.integers(-50, 50),
    "HUGEINT": st.integers(-(10**38), 10**38),
    "UBIGINT": st.integers(0, 2**64 - 1),
    "DECIMAL(9,3)": st.decimals(-1000, 1000, places=3),
    "DOUBLE": st.floats(allow_nan=True, allow_infinity=True),
    "FLOAT": st.floats(width=32, allow_nan=False, allow_infinity=False),
    "DATE": st.dates(datetime.date(1900, 1, 1), datetime.date(2100, 1, 1)),
    "TIMESTAMP": moments,
    "TIMESTAMP_S": moments.map(lambda moment: moment.replace(microsecond=0)),
    "TIMESTAMPTZ": moments.map(lambda moment: f"{moment}+00"),
    "TIME": st.times(),
}


@given(st.data(), st.sampled_from(sorted(COLUMNS)), st.integers(1, 4), st.integers(2, 3))
def test_suggested_intervals_nest_cover_every_value_and_share_the_records(
    data: st.DataObject, kind: str, levels: int, fanout: int
) -> None:
    pool = data.draw(st.lists(COLUMNS[kind], min_size=1, max_size=25))
    values = data.draw(st.lists(st.sampled_from([*pool, None]), max_size=60))
    engine = Engine(CONNECTION)
    taxonomy = suggested(engine, kind, [*pool, *values], levels=levels, fanout=fanout)
    assert taxonomy.is_interval
    assert max(taxonomy.depths) <= levels
    sizes = records_by_leaf(engine, taxonomy)
    assert set(sizes) == set(taxonomy.leaves)
    distinct = execute(engine, "SELECT c::VARCHAR, count(*) FROM people WHERE c IS NOT NULL GROUP BY c")
    total, share = sum(sizes.values()), fanout**levels
    heavy = sum(size * share >= total for _, size in distinct)
    assert len(sizes) <= share + heavy
    if len(distinct) > share:
        assert max(sizes.values()) < max(2 * total / share + 1, max(size for _, size in distinct) + 1)


@pytest.mark.parametrize(
    ("above", "upto", "kind", "expected"),
    [
        ("21", "22", "INTEGER", "22"),
        ("17", "37", "INTEGER", "30"),
        ("99", "137", "INTEGER", "100"),
        ("3103", "3137", "INTEGER", "3130"),
        ("-50", "-3", "INTEGER", "-10"),
        ("-7", "-3", "INTEGER", "-3"),
        ("-5", "37", "INTEGER", "0"),
        ("-3", "0", "INTEGER", "0"),
        ("0.2471", "0.2539", "DOUBLE", "0.25"),
        ("3.14159", "3.1618", "DOUBLE", "3.16"),
        ("1e-07", "2.5e-07", "DOUBLE", "0.0000002"),
        ("999.50", "1000.25", "DECIMAL(8,2)", "1000"),
        ("1.0000001", "1.0000002", "FLOAT", "1.0000002"),
        (str(2**100), str(2**100 + 1), "HUGEINT", str(2**100 + 1)),
        ("12:00:00", "13:00:00", "TIME", "13:00:00"),
        ("1", "nan", "DOUBLE", "nan"),
        ("-inf", "3.7", "DOUBLE", "3.7"),
        ("1e299", "3.7e300", "DOUBLE", "3.7e300"),
    ],
)
def test_a_bound_is_the_roundest_number_between_two(above: str, upto: str, kind: str, expected: str) -> None:
    assert roundest(above, upto, kind) == expected


@given(st.decimals(allow_nan=False, allow_infinity=False), st.decimals(allow_nan=False, allow_infinity=False))
def test_a_round_number_lies_above_the_one_and_not_above_the_other(one: Decimal, other: Decimal) -> None:
    low, high = sorted([one, other])
    if low < high:
        assert low < Decimal(roundest(str(low), str(high), "DECIMAL(38,10)")) <= high


def test_bounds_of_dates_are_first_days_where_they_can_be(engine: Engine) -> None:
    days = ["1999-03-01", "1999-04-15", "2001-02-03", "2001-02-17", "2001-02-19", "2001-05-01", "2001-05-05"]
    assert leaves_of(suggested(engine, "DATE", days, levels=3)) == [
        "[1999-03-01, 1999-04-01)",
        "[1999-04-01, 2001-01-01)",
        "[2001-01-01, 2001-02-17)",
        "[2001-02-17, 2001-02-19)",
        "[2001-02-19, 2001-05-01)",
        "[2001-05-01, 2001-05-05)",
        "[2001-05-05, 2001-05-05]",
    ]
    moments = ["2020-01-01 10:00:00", "2020-01-01 12:34:56", "2020-01-01 12:35:10.5"]
    assert leaves_of(suggested(engine, "TIMESTAMP", moments, levels=2)) == [
        "[2020-01-01 10:00:00, 2020-01-01 12:00:00)",
        "[2020-01-01 12:00:00, 2020-01-01 12:35:00)",
        "[2020-01-01 12:35:00, 2020-01-01 12:35:10.5]",
    ]


def test_ages_become_a_tree_of_intervals(engine: Engine) -> None:
    taxonomy = suggested(engine, "INTEGER", [*range(17, 91), None, None], levels=3)
    assert taxonomy.labels[:5] == ("*", "[17, 54)", "[17, 36)", "[17, 27)", "[27, 36)")
    assert leaves_of(taxonomy)[-1] == "[82, 90]"
    assert {len(below) for below in taxonomy.children} == {0, 2}


def test_a_value_of_many_records_stands_alone(engine: Engine) -> None:
    taxonomy = suggested(engine, "INTEGER", [0] * 900 + [*range(100, 200)], levels=2)
    assert leaves_of(taxonomy) == ["[0, 100)", "[100, 134)", "[134, 167)", "[167, 199]"]
    between = suggested(engine, "INTEGER", [*range(1, 101), *[50] * 300], levels=2)
    assert leaves_of(between) == ["[1, 34)", "[34, 50)", "[50, 51)", "[51, 68)", "[68, 100]"]


def test_a_single_value_makes_a_single_leaf(engine: Engine) -> None:
    assert suggested(engine, "INTEGER", [5, 5]).labels == ("*", "[5, 5]")
    assert suggested(engine, "VARCHAR", ["a", None]).labels == ("*", "a")


def test_codes_are_masked_from_the_right(engine: Engine) -> None:
    zips = suggested(engine, "VARCHAR", ["13053", "13068", "13067", "14850", "14853", None])
    assert zips.paths() == [
        ("13053", "13***", "*"),
        ("13067", "1306*", "13***", "*"),
        ("13068", "1306*", "13***", "*"),
        ("14850", "14***", "*"),
        ("14853", "14***", "*"),
    ]
    diseases = suggested(engine, "VARCHAR", ["A01", "A01.1", "A01.12", "A02", "B20.0"], levels=3)
    assert ("A01.12", "A01.*", "A0*", "*") in diseases.paths()
    assert ("A02", "A0*", "*") in diseases.paths()
    by_rule = suggested(engine, "VARCHAR", ["A01", "A01.1", "A01.12", "A02", "B20.0"])
    assert by_rule == suggest(engine, "people", "C", rule="prefixes")
    assert suggest(engine, "people", "C", levels=10**9).labels[0] == "*"
    assert suggest(engine, "people", "C", levels=1).paths()[0] == ("A01", "*")


def test_words_are_no_codes(engine: Engine) -> None:
    for texts in (
        ["ab1", "1abc", "2c"],
        ["ab1", "ab22", "1abc"],
        ["abc", "ab1"],
        ["a 1", "b 2"],
        ["1", "2"],
        ["a1*", "b2*"],
    ):
        taxonomy = suggested(engine, "VARCHAR", texts)
        assert {label for label in taxonomy.labels[1:] if label.endswith("*")} <= set(texts)


def test_frequent_texts_stay_apart_and_rare_ones_are_grouped(engine: Engine) -> None:
    jobs = ["clerk"] * 30 + ["cook"] * 26 + [f"rare {at % 10}" for at in range(40)] + [None] * 50
    taxonomy = suggested(engine, "VARCHAR", jobs)
    assert taxonomy.labels[:4] == ("*", "clerk", "cook", "Group 1")
    sizes = Counter(path[1] for path in taxonomy.paths() if len(path) == 3)
    assert sizes == {"Group 1": 5, "Group 2": 5}
    assert leaves_of(taxonomy)[2:] == [f"rare {at}" for at in range(10)]


def test_names_of_groups_and_the_root_are_no_values(engine: Engine) -> None:
    texts = ["*", "**", "Group 1", "Group 1*", *(f"text {at}" for at in range(12))]
    taxonomy = suggested(engine, "VARCHAR", texts)
    assert taxonomy.labels[0] == "***"
    assert set(leaves_of(taxonomy)) == set(texts)
    assert "Group 1**" in taxonomy.labels


def test_all_kinds_of_texts_are_grouped_as_they_are(engine: Engine) -> None:
    for kind, values in {
        "BOOLEAN": ["true", "false", "true"],
        "ENUM ('b', 'a', 'c')": ["a", "b", "b"],
        "VARCHAR": ["", " ", "a;b", '"', "\n", None],
        "INTEGER[]": ["[1, 2]", "[3]"],
        "UUID": ["00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000002"],
    }.items():
        taxonomy = suggested(engine, kind, values)
        distinct = {row[0] for row in execute(engine, "SELECT DISTINCT c::VARCHAR FROM people")}
        assert set(leaves_of(taxonomy)) == distinct - {None}


@pytest.mark.parametrize("kind", ["VARCHAR", "INTEGER", "DATE"])
def test_a_column_of_nothing_is_refused(engine: Engine, kind: str) -> None:
    execute(engine, f"CREATE TABLE people (c {kind})")
    refused(lambda: suggest(engine, "people", "c"), "'c'", "no value", error=InvalidSource)
    execute(engine, "INSERT INTO people VALUES (NULL), (NULL)")
    refused(lambda: suggest(engine, "people", "c"), "'c'", "no value", error=InvalidSource)


def test_too_many_texts_are_refused_with_advice_unless_they_are_codes(engine: Engine) -> None:
    execute(
        engine,
        f"CREATE TABLE people AS SELECT '{CELL} ' || i AS name, 'A' || (100000 + i) AS code "
        "FROM range(10001) r(i)",
    )
    refused(
        lambda: suggest(engine, "people", "name"), "'name'", "10001", "child and parent", error=InvalidSource
    )
    assert len(suggest(engine, "people", "code").leaves) == 10001


@pytest.mark.parametrize(
    "options", [{"levels": 0}, {"fanout": 1}, {"levels": 14}, {"levels": 10**9}, {"fanout": 11}]
)
def test_sizes_that_cannot_be_are_refused(engine: Engine, options: dict[str, int]) -> None:
    refused(lambda: suggested(engine, "INTEGER", [1, 2], **options), "levels")


def test_collapsed_rows_weigh_what_they_count(engine: Engine) -> None:
    execute(
        engine,
        "CREATE TABLE people AS SELECT i AS age, CASE WHEN i < 4 THEN 10 WHEN i = 9 THEN 0 ELSE 1 END AS n "
        "FROM range(10) r(i)",
        "CREATE TABLE spread AS SELECT age FROM people, range(n)",
    )
    expected = suggest(engine, "spread", "age", levels=2)
    assert suggest(engine, "people", "age", levels=2, count_column="N") == expected
    assert suggest(engine, "people", "age", levels=2) != expected
    execute(engine, "UPDATE people SET n = -1 WHERE age = 0")
    refused(lambda: suggest(engine, "people", "age", count_column="n"), "'n'", error=InvalidSource)
    refused(lambda: suggest(engine, "people", "agge"), "'agge'", "age", error=UnknownColumn)
    refused(lambda: suggest(engine, "people", "age", count_column="m"), "'m'", error=UnknownColumn)


def test_hostile_names_of_tables_and_columns_are_quoted(engine: Engine) -> None:
    table, column = '"; DROP TABLE x; --', 'a "b", c'
    execute(engine, f"CREATE TABLE {quoted(table)} AS SELECT i AS {quoted(column)} FROM range(9) r(i)")
    assert suggest(engine, table, column).is_interval


def test_a_suggestion_leaves_nothing_behind(engine: Engine) -> None:
    suggested(engine, "INTEGER", range(100))
    suggested(engine, "VARCHAR", range(100))
    assert execute(engine, "SELECT table_name FROM duckdb_tables()") == [("people",)]


def test_suggestions_for_adult_cover_it(engine: Engine, adult_csv: list[str]) -> None:
    engine.connection.read_csv(adult_csv[0]).create("adult")
    for name in ("age", "capital_gain", "hours_per_week", "education", "native_country"):
        execute(engine, f"CREATE OR REPLACE TABLE people AS SELECT {name} AS c FROM adult")
        taxonomy = suggest(engine, "people", "c")
        assert sum(records_by_leaf(engine, taxonomy).values()) == 32561
        assert max(taxonomy.depths) > 1
        assert taxonomy.is_interval or "Group 1" in taxonomy.labels
