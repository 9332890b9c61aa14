"""Suppression against the brute-force oracle, on small hostile tables."""

from __future__ import annotations

import contextlib
from typing import Any

import duckdb
import pytest
from cases import Case, broken, expected, quote, released, solved, suppress, text
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from oracle import BOTTOM, NoSolution, Run
from runs import large_tables_begin_at_one_row, loaded
from strategies import cases

import ppdm_sql


def oracle_run(case: Case, max_steps: int | None = None) -> Run:
    return solved(case.oracle().run, max_steps)


def assert_same_steps(release: Any, run: Run) -> None:
    found = release.steps()
    assert [step.step for step in found] == list(range(1, len(found) + 1))
    assert [(s.attribute, tuple(s.children)) for s in found] == [
        (s.attribute, tuple(text(value) for value in s.values)) for s in run.steps
    ]
    assert {step.parent for step in found} <= {"*"}
    for step, wanted in zip(found, run.steps, strict=True):
        numbers = (step.score, step.gain, step.loss)
        assert numbers == pytest.approx((wanted.score, wanted.gain, wanted.loss), rel=0, abs=1e-9)


@given(cases())
def test_a_run_takes_the_oracles_steps_to_the_oracles_table(case: Case) -> None:
    run = oracle_run(case)
    with loaded(case) as connection:
        release = suppress(connection, case)
        assert_same_steps(release, run)
        records = released(connection.sql(f"FROM {quote(case.release)}"), case, run.columns)
        assert records == expected(run.states[-1])
        assert not broken(records, run.columns, case)
        assert release.verify().holds


@given(cases(demand="solvable"))
def test_the_shortcuts_for_large_tables_change_no_step(case: Case) -> None:
    run = oracle_run(case)
    with loaded(case) as connection, large_tables_begin_at_one_row():
        release = suppress(connection, case)
        assert_same_steps(release, run)
        assert released(release.relation(), case, run.columns) == expected(run.states[-1])


@given(cases())
def test_every_state_of_a_run_is_the_oracles_and_keeps_the_promise(case: Case) -> None:
    run = oracle_run(case)
    with loaded(case) as connection:
        suppress(connection, case)
        macro = quote(case.release + "_at")
        for step, state in enumerate(run.states):
            records = released(connection.sql(f"FROM {macro}({step})"), case, run.columns)
            assert records == expected(state)
            assert not broken(records, run.columns, case)


@given(cases(demand="fits"))
def test_a_table_that_satisfies_already_is_released_whole(case: Case) -> None:
    run = oracle_run(case)
    assert run.fits_already
    assert not any(BOTTOM in row for row in run.states[-1])
    with loaded(case) as connection:
        release = suppress(connection, case)
        assert_same_steps(release, run)
        assert released(release.relation(), case, run.columns) == expected(case.source.records(run.columns))


@settings(max_examples=max(1, settings().max_examples // 2))
@given(cases(demand="solvable"), st.integers(0, 3))
def test_neither_row_order_nor_threads_change_a_release(case: Case, seed: int) -> None:
    run = oracle_run(case)
    with loaded(case) as one, loaded(case, shuffle=seed, threads=1) as other:
        first, second = suppress(one, case), suppress(other, case)
        assert first.relation().columns == second.relation().columns
        assert first.relation().fetchall() == second.relation().fetchall()
        assert first.steps() == second.steps()
        middle = len(run.states) // 2
        assert first.at(middle).fetchall() == second.at(middle).fetchall()


@given(cases(demand="solvable"), st.integers(0, 3))
def test_max_steps_publishes_the_state_after_so_many_steps(case: Case, most: int) -> None:
    run = oracle_run(case, max_steps=most)
    assume(run.stopped == "max-steps" or not run.fits_already)
    with loaded(case) as connection:
        release = suppress(connection, case, max_steps=most)
        assert_same_steps(release, run)
        assert released(release.relation(), case, run.columns) == expected(run.states[-1])
        query = "SELECT stopped, verified FROM ppdm.releases WHERE release = $name"
        assert connection.execute(query, {"name": case.release}).fetchall() == [(run.stopped, True)]


@given(cases())
def test_a_run_leaves_the_source_and_no_working_table(case: Case) -> None:
    with loaded(case) as connection:
        source = connection.sql(f"FROM {quote(case.table)}").fetchall()
        tables = {row[0] for row in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
        with contextlib.suppress(ppdm_sql.GuaranteeNotMet):
            suppress(connection, case)
        assert connection.sql(f"FROM {quote(case.table)}").fetchall() == source
        left = "SELECT table_name FROM duckdb_tables() WHERE schema_name <> 'ppdm' OR temporary"
        assert {row[0] for row in connection.execute(left).fetchall()} == tables


@settings(max_examples=max(1, settings().max_examples // 2))
@given(cases(demand="unsolvable"))
def test_demands_without_a_solution_are_refused_and_nothing_is_published(case: Case) -> None:
    with pytest.raises(NoSolution):
        case.oracle().run()
    with loaded(case) as connection:
        with pytest.raises(ppdm_sql.GuaranteeNotMet):
            suppress(connection, case)
        published = "SELECT view_name FROM duckdb_views() WHERE NOT internal"
        assert connection.execute(published).fetchall() == []


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
