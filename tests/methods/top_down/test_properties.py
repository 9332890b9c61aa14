"""Suppression and generalization against the brute-force oracle, on small hostile tables."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, get_args

import duckdb
import pytest
from cases import (
    Case,
    PublishedNode,
    assert_same_steps,
    broken,
    expected,
    published_cut,
    published_tree,
    quote,
    released,
    run,
    solved,
)
from hypothesis import assume, given
from hypothesis import strategies as st
from oracle import (
    PDA,
    Closeness,
    Crowd,
    Diversity,
    Growing,
    History,
    Method,
    Node,
    NoSolution,
    Rule,
    Source,
    grouping,
)
from runs import large_tables_begin_at_one_row, loaded, one_in
from strategies import cases

import ppdm_sql

EVERY = pytest.mark.parametrize("method", get_args(Method))
STEPS = st.sampled_from([None, None, None, 0, 1, 2, 3])


def tables(connection: duckdb.DuckDBPyConnection) -> set[str]:
    """The tables that are not the catalogue's, working tables among them."""
    query = "SELECT table_name FROM duckdb_tables() WHERE schema_name <> 'ppdm' OR temporary"
    return {name for (name,) in connection.execute(query).fetchall()}


@EVERY
@one_in(2)
@given(st.data())
def test_a_run_is_the_oracles_in_every_step_row_and_record_of_it(method: Method, data: st.DataObject) -> None:
    case = data.draw(cases(method=method))
    most, large = data.draw(STEPS), data.draw(st.booleans())
    oracle = case.oracle()
    history = solved(oracle.run, most)
    assume(most is None or not isinstance(oracle, PDA) or not oracle.fits_already)
    with loaded(case) as connection:
        before = connection.sql(f"FROM {quote(case.table)}").fetchall(), tables(connection)
        with large_tables_begin_at_one_row() if large else contextlib.nullcontext():
            release = run(connection, case, max_steps=most)
        assert_same_steps(release, history)
        view = connection.sql(f"FROM {quote(case.release)}")
        assert released(view, case, history.columns) == expected(history.states[-1])
        assert (release.row().stopped, release.row().verified) == (history.stopped, True)
        assert not large or release.verify().holds
        last = len(history.states) - 1
        for step in {0, data.draw(st.integers(0, last)), last}:
            state = history.states[step]
            relation = connection.sql(f"FROM {quote(case.release + '_at')}({step})")
            assert released(relation, case, history.columns) == expected(state)
            assert not broken(relation, case, history)
        assert published_cut(connection, case) == history.cut
        assert_trees(connection, case, history)
        if release.row().stopped == "complete":
            again = case.oracle()
            again.resume(published_cut(connection, case))
            candidates = again.candidates()
            assert again.ambiguous or candidates == []
        assert (connection.sql(f"FROM {quote(case.table)}").fetchall(), tables(connection)) == before


def assert_trees(connection: duckdb.DuckDBPyConnection, case: Case, history: History) -> None:
    for name in history.masked:
        tree = published_tree(connection, case, name)
        shown = {tree[node].label for node in tree if tree[node].shown}
        assert shown == history.labels(name)
        assert [node.label for node in tree.values() if node.parent is None] == [history.roots[name]]
        if history.roots[name] not in shown:
            assert_a_cut(tree)


def assert_a_cut(tree: dict[int, PublishedNode]) -> None:
    """On the way from each leaf to the root there is one node shown."""
    inner = {node.parent for node in tree.values()}
    for number in tree.keys() - inner:
        above: list[int] = [number]
        while (parent := tree[above[-1]].parent) is not None:
            above.append(parent)
        assert sum(tree[node].shown for node in above) == 1


@one_in(4)
@given(st.data(), st.integers(0, 3))
def test_neither_row_order_nor_threads_change_a_release(data: st.DataObject, seed: int) -> None:
    case = data.draw(cases("solvable", data.draw(st.sampled_from(get_args(Method)))))
    history = solved(case.oracle().run)
    with loaded(case) as one, loaded(case, shuffle=seed, threads=1) as other:
        first, second = run(one, case), run(other, case)
        assert first.relation().columns == second.relation().columns
        assert first.relation().fetchall() == second.relation().fetchall()
        for release in (first, second):  # scores may differ in their last bits: threads add up in any order
            assert_same_steps(release, history)
        middle = len(history.states) // 2
        assert first.at(middle).fetchall() == second.at(middle).fetchall()


@one_in(6)
@given(cases("fits", "pda"))
def test_a_table_that_satisfies_already_is_released_whole(case: Case) -> None:
    oracle = case.oracle()
    history = solved(oracle.run)
    assert isinstance(oracle, PDA) and oracle.fits_already
    with loaded(case) as connection:
        release = run(connection, case)
        assert_same_steps(release, history)
        whole = expected(case.source.records(history.columns))
        assert released(release.relation(), case, history.columns) == whole


@one_in(4)
@given(st.data())
def test_demands_without_a_solution_are_refused_and_nothing_is_published(data: st.DataObject) -> None:
    case = data.draw(cases("unsolvable", data.draw(st.sampled_from(get_args(Method)))))
    with pytest.raises(NoSolution):
        case.oracle().run()
    with loaded(case) as connection:
        before = tables(connection)
        with pytest.raises(ppdm_sql.GuaranteeNotMet):
            run(connection, case)
        published = "SELECT view_name FROM duckdb_views() WHERE NOT internal"
        assert connection.execute(published).fetchall() == []
        assert tables(connection) == before


# -- a real table ---------------------------------------------------------------------------------


def group(label: str, *children: Node | str) -> Node:
    """A node over others, or over leaves given by their labels."""
    return Node(label, tuple(child if isinstance(child, Node) else Node(child) for child in children))


EDUCATION = group(
    "ANY",
    group(
        "School",
        group("Elementary", "Preschool", "1st-4th", "5th-6th", "7th-8th"),
        group("High", "9th", "10th", "11th", "12th", "HS-grad"),
    ),
    group(
        "Higher",
        group("College", "Some-college", "Assoc-voc", "Assoc-acdm"),
        group("University", "Bachelors", "Masters", "Doctorate", "Prof-school"),
    ),
)
HOURS = group(
    "[0, 99]",
    Node("[0, 40)", interval=(0, 40, False)),
    group("[40, 99]", Node("[40, 41)", interval=(40, 41, False)), Node("[41, 99]", interval=(41, 99, True))),
)
TREATMENTS = {"age": Growing(), "education": EDUCATION, "hours_per_week": HOURS}
PERSON, WORK = ("age", "education", "sex"), ("hours_per_week", "education", "relationship")
DEMANDS: list[tuple[Method, tuple[Rule, ...], tuple[str, ...]]] = [
    ("tds", (Crowd(5, PERSON), Crowd(8, WORK)), ()),
    ("tds", (Crowd(4, PERSON), Diversity("entropy", Fraction(3), "occupation", WORK)), ()),
    (
        "tds",
        (
            Diversity("distinct", Fraction(3), "occupation", PERSON),
            Closeness(Fraction(2, 5), "race", WORK, ordered=False),
        ),
        (),
    ),
    ("hce-tdr", (Crowd(6, (*PERSON, "hours_per_week")),), ("workclass", "relationship")),
]


@pytest.mark.parametrize(("method", "rules", "condition"), DEMANDS)
def test_a_run_on_a_sample_of_adult_takes_the_oracles_steps(
    adult_csv: list[str], method: Method, rules: tuple[Rule, ...], condition: tuple[str, ...]
) -> None:
    columns = tuple(dict.fromkeys([*PERSON, *WORK, "occupation", "race", "workclass", "income"]))
    with duckdb.connect() as connection:
        everyone = connection.read_csv(adult_csv).project(", ".join(columns)).fetchall()
    rows = tuple(everyone[::240])
    numbers = ("age", "hours_per_week")
    masked = {name for rule in rules for name in grouping(rule)}
    case = Case(
        Source(columns, rows, (1,) * len(rows)),
        {name: "INTEGER" if name in numbers else "VARCHAR" for name in columns},
        rules,
        "income",
        method,
        {name: found for name, found in TREATMENTS.items() if name in masked},
        condition=condition,
    )
    history = case.oracle().run()
    assert not history.ambiguous
    assert len(history.steps) > 5
    with loaded(case) as connection:
        release = run(connection, case)
        assert_same_steps(release, history)
        assert released(release.relation(), case, history.columns) == expected(history.states[-1])


# -- ties -----------------------------------------------------------------------------------------

BOTH = pytest.mark.parametrize("method", ["tds", "hce-tdr"])
Moves = list[tuple[str, tuple[str | None, ...]]]


def moves(
    columns: str, rows: Sequence[tuple[Any, ...]], require: str, *, method: str, **options: Any
) -> tuple[Moves, list[float]]:
    """What a run over counted rows did step by step, and what each step gained."""
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE t ({columns}, C VARCHAR, n BIGINT)")
        marks = ", ".join("?" for _ in rows[0])
        connection.executemany(f"INSERT INTO t VALUES ({marks})", rows)
        asked = {"class_column": "C", "count_column": "n", "into": "safe", "score": "paper"} | options
        release = ppdm_sql.open(connection).generalize("t", [require], method=method, **asked)
        steps = release.steps()
        return [(step.attribute, tuple(step.children)) for step in steps], [step.gain for step in steps]


@BOTH
@pytest.mark.parametrize(("scale", "winner"), [(10**6, "B"), (10**12, "A")])
def test_scores_count_as_equal_within_a_share_of_a_billionth(method: str, scale: int, winner: str) -> None:
    """B tells more of the class than A does by one record: in a million that counts, in 10^12 it does not."""
    six, four = 6 * scale // 10, 4 * scale // 10
    rows = [
        ("a", "a", "g", six),
        ("a", "a", "b", four),
        ("x", "x", "g", four),
        ("x", "x", "b", six - 1),
        ("a", "x", "b", 1),
    ]
    trees = {"A": {"ANY": ["a", "x"]}, "B": {"ANY": ["a", "x"]}}
    done, _ = moves("A VARCHAR, B VARCHAR", rows, "k >= 2 on A, B", method=method, taxonomies=trees)
    assert done == [(winner, ("a", "x"))]


@BOTH
def test_gains_that_only_rounding_makes_are_0_and_steps_go_by_order(method: str) -> None:
    """The class is independent of both attributes, in numbers whose logarithms are not exact."""
    rows = [
        (a, b, c, weight_a * weight_b * weight_c)
        for a, weight_a in (("x", 1), ("y", 2), ("z", 3))
        for b, weight_b in ((10, 1), (20, 5), (30, 7))
        for c, weight_c in (("g", 3), ("b", 7))
    ]
    done, gains = moves("A VARCHAR, B INTEGER", rows, "k >= 1 on B, A", method=method)
    grown = [("B", ("[10, 20)", "[20, 30]")), ("B", ("[20, 30)", "[30, 30]"))]
    assert done == [*grown, ("A", ("x",)), ("A", ("y",)), ("A", ("z",))]
    assert gains == [0.0] * 5


@BOTH
def test_equal_splits_are_made_at_the_smallest_boundary(method: str) -> None:
    rows = [(1, "g", 1), (2, "b", 1), (3, "g", 1)]
    done, _ = moves("A INTEGER", rows, "k >= 1 on A", method=method)
    assert done == [("A", ("[1, 2)", "[2, 3]")), ("A", ("[2, 3)", "[3, 3]"))]


@BOTH
def test_equal_intervals_are_split_from_the_lowest_on(method: str) -> None:
    rows = [
        (v, c, n) for v, good in ((1, 9), (2, 8), (3, 2), (4, 1)) for c, n in (("g", good), ("b", 10 - good))
    ]
    done, _ = moves("A INTEGER", rows, "k >= 1 on A", method=method)
    assert [children for _, children in done] == [
        ("[1, 3)", "[3, 4]"),
        ("[1, 2)", "[2, 3)"),
        ("[3, 4)", "[4, 4]"),
    ]


@BOTH
def test_equal_nodes_are_specialized_in_the_order_of_their_labels_by_code_point(method: str) -> None:
    rows = [(str(value), "gb"[value % 2], 1) for value in range(6)]
    tree = {"ANY": {"b": ["0", "1"], "B": ["3", "2"], "a": ["4", "5"]}}
    done, _ = moves("A VARCHAR", rows, "k >= 1 on A", method=method, taxonomies={"A": tree})
    assert [children for _, children in done] == [("b", "B", "a"), ("3", "2"), ("4", "5"), ("0", "1")]


def test_a_value_protected_twice_counts_once_with_its_lowest_threshold() -> None:
    rows = [
        ("a", "x", "g", 3),
        ("a", "y", "b", 1),
        ("b", "x", "g", 2),
        ("b", "y", "b", 4),
        ("c", "x", "b", 2),
        ("c", "y", "b", 2),
    ]
    steps = []
    for require in (
        ["A -> S = x <= 90%", "A -> S = y <= 95%"],
        ["A -> S = x <= 90%", "A -> S IN (x, y) <= 95%"],
        ["A -> S = x <= 90%", "A -> S <= 95%"],
        ["A -> S <= 95%", "A -> S = x <= 90%"],
    ):
        with duckdb.connect() as connection:
            connection.execute("CREATE TABLE t (A VARCHAR, S VARCHAR, C VARCHAR, n INTEGER)")
            connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
            release = ppdm_sql.open(connection).suppress(
                "t", require, class_column="C", count_column="n", into="safe"
            )
            steps.append(release.steps())
    assert steps == [steps[0]] * 4
