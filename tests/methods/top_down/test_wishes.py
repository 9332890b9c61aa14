"""Runs without a class, and wishes of single columns, against the brute-force oracle and in words."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from dataclasses import replace
from fractions import Fraction
from typing import Any

import duckdb
import pytest
from cases import Case, assert_same_steps, broken, expected, quote, released, run, solved
from hypothesis import given
from hypothesis import strategies as st
from oracle import Growing, grouping
from oracle_wishes import WishedTDS, Wishes
from runs import large_tables_begin_at_one_row, loaded, one_in
from strategies import ORDERED, cases

import ppdm_sql

# -- wishes ----------------------------------------------------------------------------------------

WEIGHTS = st.sampled_from([Fraction(3), Fraction(1, 2), Fraction(1)])
DAY = 86_400
WIDTHS: dict[str, list[tuple[Any, Fraction]]] = {
    "INTEGER": [(2, Fraction(2)), ("90", Fraction(90)), (1.5, Fraction(2))],
    "DECIMAL(9,2)": [("0.1", Fraction(1, 10)), (8, Fraction(8))],
    "DOUBLE": [(1, Fraction(1)), (3, Fraction(3))],
    "DATE": [(1, Fraction(DAY)), ("30 days", Fraction(30 * DAY))],
    "TIMESTAMP": [("1 hour", Fraction(3600)), (0.5, Fraction(DAY // 2))],
    "TIME": [("2 hours", Fraction(7200))],
}


def is_grown(case: Case, name: str) -> bool:
    plain = case.treatments.get(name)
    return name not in case.suppressed and isinstance(plain, Growing)


@st.composite
def wished(draw: st.DrawFn, case: Case) -> tuple[Wishes, dict[str, Any]]:
    """Draw wishes of a case, as the oracle and as the product takes them."""
    masked = [n for n in dict.fromkeys(n for r in case.rules for n in grouping(r)) if n not in case.keep]
    ordered = [n for n in masked if is_grown(case, n) and case.types[n] in WIDTHS]
    weights = {name: draw(WEIGHTS) for name in masked if draw(st.booleans())}
    limits = {name: draw(st.integers(1, 4)) for name in masked if draw(st.integers(0, 2)) == 0}
    widths = {n: draw(st.sampled_from(WIDTHS[case.types[n]])) for n in ordered if draw(st.booleans())}
    options = {
        "weights": {name: float(weight) for name, weight in weights.items()},
        "limits": limits,
        "min_widths": {name: given for name, (given, _) in widths.items()},
    }
    return Wishes(weights, limits, {name: width for name, (_, width) in widths.items()}), options


@one_in(2)
@given(st.data())
def test_a_run_heeds_wishes_with_and_without_a_class_as_the_oracle_does(data: st.DataObject) -> None:
    case = data.draw(cases(method="tds"))
    wishes, options = data.draw(wished(case)) if data.draw(st.integers(0, 2)) else (Wishes(), {})
    if data.draw(st.integers(0, 3)) == 0:  # all is suppressed
        case = replace(case, treatments={}, suppressed=[n for n in case.types if case.types[n] in ORDERED])
        masked = {name for rule in case.rules for name in grouping(rule)} - {*case.keep}
        case = replace(case, suppressed=tuple(name for name in case.suppressed if name in masked))
        wishes, options = replace(wishes, widths={}), options | {"min_widths": {}}
    if data.draw(st.integers(0, 2)):
        case = replace(case, class_column=None)
    tds = WishedTDS(*case.asked, boundary=case.boundary, wishes=wishes)
    history = solved(tds.run)
    large = large_tables_begin_at_one_row() if data.draw(st.booleans()) else nullcontext()
    with loaded(case) as connection, large:
        release = run(connection, case, **options)
        assert_same_steps(release, history)
        view = connection.sql(f"FROM {quote(case.release)}")
        assert released(view, case, history.columns) == expected(history.states[-1])
        assert not broken(view, case, history)
        assert release.verify().holds
        if case.class_column is None:
            (left,) = (row.after for row in release.measures() if row.measure == "certainty penalty")
            assert left == pytest.approx(tds.certainty_penalty(), abs=1e-9)


def test_months_are_those_of_the_calendar() -> None:
    connection = duckdb.connect()
    days = ["2024-01-31", "2024-02-28", "2024-02-29", "2024-03-31"]
    connection.execute("CREATE TABLE t AS SELECT unnest($days::DATE[]) AS d", {"days": days})
    release = ppdm_sql.open(connection).generalize(
        "t", ["k >= 1 on d"], into="safe", min_widths={"d": "1 month"}
    )
    assert sorted({row[0] for row in release.relation().fetchall()}) == [
        "[2024-01-31, 2024-02-29)",
        "[2024-02-29, 2024-03-31]",
    ]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"limits": {"agee": 3}}, "agee"),
        ({"limits": {"ward": 3}}, "no requirement lets it be masked"),
        ({"limits": {"age": 0}}, "at least 1"),
        ({"limits": {"age": "many"}}, "not a number of labels"),
        ({"limits": {"age": 3, "AGE": 4}}, "named twice"),
        ({"weights": {"age": 0}}, "not a number above 0"),
        ({"weights": {"age": "inf"}}, "not a number above 0"),
        ({"min_widths": {"sex": 3}}, "not grown in the run"),
        ({"min_widths": {"age": "1 month"}}, "least width"),
        ({"min_widths": {"age": -5}}, "least width"),
    ],
)
def test_a_wish_that_cannot_be_heeded_is_refused_in_words(
    people: ppdm_sql.Database, options: dict[str, Any], words: str
) -> None:
    with pytest.raises(ppdm_sql.PpdmError, match=words):
        people.generalize("people", ["k >= 2 on age, sex"], into="safe", **options)


def test_a_table_that_needs_no_protection_is_not_released_beyond_a_limit(people: ppdm_sql.Database) -> None:
    release = people.suppress("people", ["k >= 1 on age, sex"], into="safe", limits={"age": 4})
    assert len({row[0] for row in release.relation().fetchall()}) == 4


# -- without a class, in words ---------------------------------------------------------------------


@pytest.fixture
def people() -> ppdm_sql.Database:
    """Sixty people of whom nothing is to be predicted."""
    connection = duckdb.connect()
    connection.execute(
        """CREATE TABLE people AS SELECT 20 + i % 30 AS age, ['m', 'f'][1 + i % 2] AS sex, i % 3 AS ward,
        i * 1.5::DOUBLE AS cost, i AS number FROM range(60) r (i)"""
    )
    return ppdm_sql.open(connection)


def test_hce_tdr_needs_a_class(people: ppdm_sql.Database) -> None:
    with pytest.raises(ppdm_sql.InvalidOption, match="none is given. Give --class"):
        people.generalize("people", ["k >= 2 on age"], into="safe", method="hce-tdr")


def test_a_release_says_what_its_steps_gained(people: ppdm_sql.Database) -> None:
    people.generalize("people", ["k >= 2 on age, sex"], into="any")
    people.generalize("people", ["k >= 2 on age, sex"], class_column="ward", into="ward")
    people.generalize("people", ["k >= 2 on age"], class_column="ward", method="hce-tdr", into="hce")
    gains = {name: people.release(name).row().parameters["gain"] for name in ("any", "ward", "hce")}
    assert gains == {
        "any": "certainty",
        "ward": "information about the class",
        "hce": "conditional entropy",
    }


def test_a_value_of_a_constant_column_is_shown_without_a_class(people: ppdm_sql.Database) -> None:
    people.engine.write("CREATE TABLE same AS SELECT 'x' AS a FROM range(9)", step="test")
    release = people.suppress("same", ["k >= 9 on a"], into="safe")
    assert set(release.relation().fetchall()) == {("x",)}


@pytest.mark.parametrize(("label", "told"), [("cost", True), ("number", False), ("ward", False)])
def test_a_class_of_floating_point_numbers_gets_a_notice(
    people: ppdm_sql.Database, label: str, told: bool
) -> None:
    if told:
        with pytest.warns(ppdm_sql.PpdmWarning, match="DOUBLE and has 60 values"):
            people.suppress("people", ["k >= 2 on sex"], class_column=label, into="safe")
    else:
        people.suppress("people", ["k >= 2 on sex"], class_column=label, into="safe")


def test_a_class_of_hundreds_of_values_gets_a_notice(people: ppdm_sql.Database) -> None:
    people.engine.write("CREATE TABLE many AS SELECT i AS c, i % 2 AS a FROM range(101) r (i)", step="test")
    with pytest.warns(ppdm_sql.PpdmWarning, match="INTEGER and has 101 values|BIGINT and has 101 values"):
        people.generalize("many", ["k >= 2 on a"], class_column="c", into="safe")


def test_infinite_numbers_and_one_moment_can_be_split_without_a_class() -> None:
    connection = duckdb.connect()
    connection.execute(
        """CREATE TABLE t AS SELECT v::DOUBLE AS x, DATE '2020-01-01' AS d
        FROM (VALUES ('-inf'), ('1'), ('2'), ('inf'), ('nan'), (NULL)) s (v), range(3)"""
    )
    release = ppdm_sql.open(connection).generalize("t", ["k >= 3 on x, d"], into="safe")
    assert len(set(release.relation().fetchall())) > 2
    assert all(0 <= m.after <= 1 for m in release.measures() if m.measure == "certainty penalty")


def test_a_release_without_a_class_is_evaluated_on_a_column_that_was_kept(people: ppdm_sql.Database) -> None:
    pytest.importorskip("sklearn")
    people.generalize("people", ["k >= 2 on age, sex"], keep=["ward"], into="safe")
    with pytest.raises(ppdm_sql.InvalidOption, match="made without a class"):
        people.evaluate("safe", seeds=1, folds=2)
    with pytest.raises(ppdm_sql.InvalidOption, match="does not show 'age' as it is"):
        people.evaluate("safe", seeds=1, folds=2, class_column="age")
    found = people.evaluate("safe", seeds=1, folds=2, class_column="WARD")
    assert found.rate("majority").mean > 50


def test_true_extremes_in_labels_are_told_and_a_range_is_offered(people: ppdm_sql.Database) -> None:
    with pytest.warns(ppdm_sql.PpdmWarning, match="outermost bounds of 'age' are .* --range age=LOW,HIGH"):
        people.generalize("people", ["k >= 2 on age, sex"], into="safe")
    ranged = people.generalize("people", ["k >= 2 on age, sex"], into="round", ranges={"age": (0, 99)})
    assert not any("outermost" in text for text in ranged.notices)


def test_the_range_offered_for_a_name_with_a_blank_can_be_typed() -> None:
    connection = duckdb.connect()
    connection.execute('CREATE TABLE t AS SELECT i AS "mean age" FROM range(9) r(i)')
    with pytest.warns(ppdm_sql.PpdmWarning, match="--range 'mean age=LOW,HIGH'"):
        ppdm_sql.open(connection).generalize("t", ['k >= 2 on "mean age"'], into="safe")


def test_a_category_holds_its_codes_though_they_are_longer() -> None:
    connection = duckdb.connect()
    codes = ["A00", "A00.1", "A00.11", "A01.0", "B20"]
    connection.execute("CREATE TABLE t AS SELECT unnest($codes) AS icd FROM range(3)", {"codes": codes})
    release = ppdm_sql.open(connection).generalize(
        "t", ["k >= 6 on icd"], into="safe", taxonomies={"icd": "prefixes 1,3"}
    )
    assert {row[0] for row in release.relation().fetchall()} <= {"*", "A*", "A00*", "A01*", "B*"}
    found = connection.execute("SELECT value, generalized FROM ppdm.cuts WHERE value LIKE 'A00%'").fetchall()
    assert len({label for _, label in found}) == 1


@pytest.mark.parametrize(("rule", "limit", "told"), [("year", 20, True), ("year,decade", 20, False)])
def test_a_limit_that_no_first_step_can_keep_is_told_with_what_helps(
    rule: str, limit: int, told: bool
) -> None:
    connection = duckdb.connect()
    connection.execute(
        "CREATE TABLE t AS SELECT DATE '1930-06-15' + to_years((i % 79)::INTEGER) AS \"the day\" "
        "FROM range(790) r(i)"
    )
    of = {"taxonomies": {"the day": f"dates {rule}"}, "limits": {"the day": limit}}
    with warnings.catch_warnings(record=True, action="always") as caught:
        release = ppdm_sql.open(connection).generalize("t", ['k >= 5 on "the day"'], into="safe", **of)
    said = [str(one.message) for one in caught if "--limit" in str(one.message)]
    assert len(said) == told
    assert all("would show 79, and --limit allows 20. Give --limit 'the day=79'" in text for text in said)
    assert (len(set(release.relation().fetchall())) == 1) == told
