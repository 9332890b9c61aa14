"""Runs by the default score, against the brute-force oracle of what a step is worth."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any
from unittest import mock

import duckdb
import pytest
from cases import Case, expected, quote, released, run, solved
from hypothesis import assume, given
from hypothesis import strategies as st
from oracle import History
from oracle_worth import Worth, of_k, worth
from runs import loaded, one_in
from strategies import cases

import ppdm_sql
from ppdm_sql.methods.top_down.generalize import GeneralizationRun

SHARES = st.sampled_from([Fraction(0), Fraction(1, 20), Fraction(1, 5), Fraction(1, 3), Fraction(1, 2)])


def oracle_run(case: Case, share: Fraction, detail: float | None) -> tuple[Worth, History]:
    made = worth(case, int(share * sum(case.source.counts)), detail)
    history = solved(made.run)
    assume(not made.ambiguous)
    return made, history


@one_in(2)
@given(cases(method="tds", demand="solvable"), st.integers(1, 4), SHARES, st.booleans(), st.data())
def test_a_run_takes_the_steps_of_an_eager_one(
    case: Case, k: int, share: Fraction, has_class: bool, data: st.DataObject
) -> None:
    assume(has_class or share)  # else as before, see test_wishes.py
    case = replace(of_k(case, k), boundary="valid")
    detail = data.draw(st.sampled_from([None, 0.0, 0.1, 3.0])) if has_class else None
    options: dict[str, Any] = {"score": "default", "suppress_records": str(share), "detail": detail}
    options["rare"] = "apart"
    if not has_class:
        case = replace(case, class_column=None)
    made, history = oracle_run(case, share, detail)
    found = made.released(history, case.source)
    # a column of which NULL alone is left shows the symbol if it was to grow intervals
    assume(all(set(values) != {None} for values in found.domains.values()))
    # few different numbers would be taken for codes
    with loaded(case) as connection, mock.patch.object(GeneralizationRun, "codes", return_value=()):
        release = run(connection, case, **options)
        moves = [(s.attribute, s.parent, tuple(s.children)) for s in release.steps()]
        assert moves == [(s.attribute, s.parent, s.children) for s in found.steps]
        scores = [step.score for step in release.steps()]
        assert scores == pytest.approx([step.score for step in found.steps], rel=1e-9, abs=1e-9)
        view = connection.sql(f"FROM {quote(case.release)}")
        assert released(view, case, history.columns) == expected(found.records)
        assert release.row().parameters.get("records_left_out", 0) == found.left_out
        assert release.verify().holds


def test_values_are_disclosed_beside_an_interval_that_was_measured() -> None:
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE visits AS SELECT (i % 6)::VARCHAR AS ward, i * 7 % 10 AS age, "
            "CASE WHEN i * i % 10 < age THEN 'yes' ELSE 'no' END AS back "
            "FROM range(200) r(i)"
        )
        release = ppdm_sql.open(connection).generalize(
            "visits", ["k >= 5 on ward, age"], class_column="back", into="safe"
        )
        assert {step.attribute for step in release.steps()} == {"ward", "age"}
        assert release.verify().holds
