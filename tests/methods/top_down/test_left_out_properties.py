"""Runs that may leave records out, against the brute-force oracle, on small hostile tables."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any
from unittest import mock

import duckdb
import pytest
from cases import expected, quote, released, solved
from cases_tds import TdsCase, broken, generalize, published_cut
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from oracle import Crowd
from oracle_left_out import LeavingOut, Released, leaving_out
from oracle_tds import Diversity, History, grouping
from runs import large_tables_begin_at_one_row, loaded
from strategies_tds import tds_cases

import ppdm_sql
from ppdm_sql.engine import Engine
from ppdm_sql.errors import GuaranteeNotMet

SHARES = st.sampled_from([Fraction(1, 20), Fraction(1, 5), Fraction(1, 3), Fraction(1, 2), Fraction(3, 4)])


def oracle_run(case: TdsCase, share: Fraction) -> tuple[LeavingOut, History, Released]:
    run = leaving_out(case, int(share * sum(case.source.counts)))
    history = solved(run.run)
    found = run.released(history, case.source)
    assume(not run.ambiguous)
    return run, history, found


def assert_as_the_oracle(case: TdsCase, share: Fraction) -> None:
    """Compare a release with the oracle's: steps, rows, cut, what is left out, and every earlier state."""
    _, history, found = oracle_run(case, share)
    with loaded(case) as connection:
        release = generalize(connection, case, suppress_records=str(share))
        moves = [(s.attribute, s.parent, tuple(s.children)) for s in release.steps()]
        assert moves == [(s.attribute, s.parent, s.children) for s in found.steps]
        for step, wanted in zip(release.steps(), found.steps, strict=True):
            numbers = (step.score, step.gain, step.loss)
            assert numbers == pytest.approx((wanted.score, wanted.gain, wanted.loss), rel=0, abs=1e-9)
        view = connection.sql(f"FROM {quote(case.release)}")
        assert released(view, case, history.columns) == expected(found.records)
        assert release.row().parameters.get("records_left_out", 0) == found.left_out
        cut = published_cut(connection, case)
        assert {name: set(values) for name, values in cut.items()} == {
            name: set(values) for name, values in found.domains.items()
        }
        assert release.verify().holds
        assert_states_hold(release, case, history, found)


def assert_states_hold(release: Any, case: TdsCase, history: History, found: Released) -> None:
    """Every earlier state holds as many records, and keeps every rule."""
    for step in range(len(found.steps) + 1):
        state = release.at(step)
        assert released(state, case, history.columns).total() == found.records.total()
        assert not broken(state, case, history)


@given(tds_cases(demand="any"), SHARES)
def test_a_run_leaves_out_what_the_oracle_leaves_out(case: TdsCase, share: Fraction) -> None:
    assert_as_the_oracle(case, share)


@settings(max_examples=max(1, settings().max_examples // 2))
@given(tds_cases(demand="any"), SHARES)
def test_the_shortcuts_for_large_tables_leave_out_the_same(case: TdsCase, share: Fraction) -> None:
    with large_tables_begin_at_one_row():
        assert_as_the_oracle(case, share)


@settings(max_examples=max(1, settings().max_examples // 2))
@given(tds_cases(demand="any"), SHARES)
def test_bad_classes_of_k_and_distinct_l_stay_bad(case: TdsCase, share: Fraction) -> None:
    """What lets a search drop a candidate for good; the oracle asserts it of every candidate."""
    exact = [
        r for r in case.rules if isinstance(r, Crowd) or (isinstance(r, Diversity) and r.kind == "distinct")
    ]
    assume(len(exact) == len(case.rules) and len({frozenset(grouping(r)) for r in exact}) > 1)
    run, _, found = oracle_run(case, share)
    assert run.exact
    assert found.left_out <= run.most


CLASSES = st.tuples(*[st.one_of(st.none(), st.integers(0, 3))] * 2, st.integers(0, 2))
COMPARED = [
    *("beta <= 1.5", "beta <= 0.4", "enhanced beta <= 2", "enhanced beta <= 1000"),
    *("delta <= 1", "delta <= 3", "t <= 0.3"),
]


@given(st.lists(CLASSES, min_size=2, max_size=14), st.sampled_from(COMPARED), SHARES)
def test_classes_are_held_against_the_table_that_is_left(
    rows: list[tuple[Any, ...]], limit: str, share: Fraction
) -> None:
    """The audit works the records out that may be missing by itself, and accepts no others."""
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t (x INTEGER, y INTEGER, s INTEGER)")
        connection.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
        asked, ranges = [f"{limit} of s on x, y"], {"x": (0, 4), "y": (0, 4)}
        db = ppdm_sql.open(connection)
        unmet = ""
        try:
            release = db.generalize("t", asked, into="r", ranges=ranges, suppress_records=str(share))
        except GuaranteeNotMet as refused:
            unmet = str(refused)
        if unmet:
            assert unmet.startswith("Nothing can meet the requirements")
            return
        assert release.verify().holds
        assert len(rows) - release.row().rows <= share * len(rows)


@pytest.mark.parametrize(
    ("limit", "rows", "left_out"),
    [
        # one record is 1.4 more than its share of the table, and then 0.75 more than that of what is left
        (
            "beta <= 1.5",
            "(0, NULL, 1), (0, NULL, 2), (1, 0, 0), (1, 0, 0), (1, 0, 1), (1, 1, 2), (1, NULL, 0), "
            "(2, 0, 1), (3, 0, 1), (3, 0, 2), (3, 1, 1), (3, 1, 2)",
            5,
        ),
        # what is left has two values, a whole step apart, where the table has three
        ("t <= 0.3", "(0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1), (1, 0, 2), (1, 1, 0), (1, 1, 0)", 3),
    ],
)
def test_a_class_is_judged_by_what_is_left_of_the_table(limit: str, rows: str, left_out: int) -> None:
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE t AS FROM (VALUES {rows}) AS v(x, y, s)")
        ranges = {"x": (0, 4), "y": (0, 4)}
        how = {"ranges": ranges, "suppress_records": "50%", "score": "paper"}
        release = ppdm_sql.open(connection).generalize("t", [f"{limit} of s on x, y"], into="r", **how)
        assert release.row().left_out == left_out and release.verify().holds


def test_the_candidates_of_a_state_are_measured_at_once_however_many_they_are() -> None:
    """A column of hundreds of values once took a statement for every few of them, in each state."""
    steps: Counter[str] = Counter()
    query = Engine.query

    def counted(self: Engine, *args: Any, step: str = "", **more: Any) -> Any:
        steps[step] += 1
        return query(self, *args, step=step, **more)

    with duckdb.connect() as connection, mock.patch.object(Engine, "query", counted):
        connection.execute(
            "CREATE TABLE t AS SELECT (hash(i) % 400)::VARCHAR AS code, i % 3 = 0 AS label "
            "FROM range(9000) t(i)"
        )
        db = ppdm_sql.open(connection)
        asked: dict[str, Any] = {"class_column": "label", "suppress_records": "1%", "max_steps": 30}
        release = db.generalize("t", ["k >= 20 on code"], into="r", **asked)
        assert release.verify().holds
        assert 20 < steps["after"] < 50
