"""Runs that may leave records out, against the brute-force oracle, on small hostile tables."""

from __future__ import annotations

from collections import Counter
from contextlib import nullcontext
from dataclasses import replace
from fractions import Fraction
from typing import Any
from unittest import mock

import duckdb
import pytest
from cases import Case, assert_same_steps, broken, expected, published_cut, quote, released, run, solved
from hypothesis import assume, given
from hypothesis import strategies as st
from oracle import Crowd, Diversity, Rule, grouping
from oracle_left_out import leaving_out
from runs import large_tables_begin_at_one_row, loaded, one_in
from strategies import cases

import ppdm_sql
from ppdm_sql.engine import Engine
from ppdm_sql.errors import GuaranteeNotMet

SHARES = st.sampled_from([Fraction(1, 20), Fraction(1, 5), Fraction(1, 3), Fraction(1, 2), Fraction(3, 4)])


@given(cases(demand="any"), SHARES, st.booleans(), st.sampled_from([False, False, True]))
def test_a_run_leaves_out_what_the_oracle_leaves_out(
    case: Case, share: Fraction, large: bool, exact: bool
) -> None:
    """Steps, rows, cut, what is left out, and every earlier state.

    Of k and distinct l the oracle asserts of every candidate that bad classes stay bad, which lets a search
    drop a candidate for good.
    """
    if exact:
        case = replace(case, rules=tuple(map(_exact, case.rules)))
    oracle = leaving_out(case, int(share * sum(case.source.counts)))
    history = solved(oracle.run)
    found = oracle.released(history, case.source)
    assume(not oracle.ambiguous)
    assert found.left_out <= oracle.most
    with loaded(case) as connection, large_tables_begin_at_one_row() if large else nullcontext():
        release = run(connection, case, suppress_records=str(share))
        assert_same_steps(release, replace(history, steps=found.steps))
        view = connection.sql(f"FROM {quote(case.release)}")
        assert released(view, case, history.columns) == expected(found.records)
        assert release.row().parameters.get("records_left_out", 0) == found.left_out
        cut = published_cut(connection, case)
        assert {name: set(values) for name, values in cut.items()} == {
            name: set(values) for name, values in found.domains.items()
        }
        assert release.verify().holds
        for step in {0, len(found.steps) // 2, len(found.steps)}:
            state = release.at(step)
            assert released(state, case, history.columns).total() == found.records.total()
            assert not broken(state, case, history)


def _exact(rule: Rule) -> Rule:
    distinct = isinstance(rule, Diversity) and rule.kind == "distinct"
    return rule if distinct or isinstance(rule, Crowd) else Crowd(2, grouping(rule))


CLASSES = st.tuples(*[st.one_of(st.none(), st.integers(0, 3))] * 2, st.integers(0, 2))
COMPARED = [
    *("beta <= 1.5", "beta <= 0.4", "enhanced beta <= 2", "enhanced beta <= 1000"),
    *("delta <= 1", "delta <= 3", "t <= 0.3"),
]


@one_in(2)
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
        assert 0 < steps["after"] + steps["path"] < 50
