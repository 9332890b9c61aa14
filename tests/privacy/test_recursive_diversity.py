"""Recursive (c, l)-diversity, by definition: read, audited, searched, and compared with pycanon."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st
from privacy_models import (
    HALF,
    METHODS,
    ROWS,
    Row,
    assert_steps_are_the_oracles,
    class_counts,
    number_of,
    opened,
    records_of,
    released,
    table_of,
)

import ppdm_sql
from ppdm_sql.errors import ColumnRoleError, GuaranteeNotMet, InvalidOption, RequirementSyntaxError
from ppdm_sql.privacy import parse, parse_measure

# In class a r = 4, 2, 1: 4 / 3 for l = 2, 4 / 1 for l = 3; in class b r = 2, 2.
PATIENTS: list[Row] = [
    *[("a", "flu")] * 4,
    *[("a", "cold")] * 2,
    *[("a", "hiv")],
    *[("b", "flu")] * 2,
    *[("b", "cold")] * 2,
]


def ratio(held: Counter[Any], least: int) -> Fraction | float:
    """r1 / (r_l + ... + r_m) of a class, by definition."""
    r = sorted(held.values(), reverse=True)
    rarer = sum(r[least - 1 :])
    return Fraction(r[0], rarer) if rarer else math.inf


def largest(rows: Sequence[Row], least: int) -> Fraction | float:
    return max(ratio(held, least) for held in class_counts(rows))


# --- the language


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("recursive c = 3, l = 2 of Disease on Sex, Job", "recursive c = 3, l = 2 of Disease on Sex, Job"),
        ("RECURSIVE C=5/2,L=3 OF Disease ON Sex", "recursive c = 2.5, l = 3 of Disease on Sex"),
        ("recursive -> Disease <= 50%", "recursive -> Disease <= 50%"),
        ("recursive, c -> Disease <= 50%", "recursive, c -> Disease <= 50%"),
    ],
)
def test_it_is_read_and_keeps_no_word_for_itself(text: str, printed: str) -> None:
    assert str(parse(text)) == printed == str(parse(printed))


def test_without_c_it_is_a_measure() -> None:
    assert str(parse_measure("recursive l = 2 of Disease on Sex")) == "recursive l = 2 of Disease on Sex"
    with pytest.raises(RequirementSyntaxError, match=r"Expected 'c'; only ppdm audit[\s\S]*c = 3, l = 2 of"):
        parse("recursive l = 2 of Disease on Sex")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("recursive c = 0, l = 2 of Disease on Sex", "not above 0"),
        (f"recursive c = 1{'0' * 30}, l = 2 of Disease on Sex", "too large"),
        ("recursive c = 3, l = 1 of Disease on Sex", "asks for nothing"),
        (f"recursive c = 3, l = 1{'0' * 30} of Disease on Sex", "too large"),
    ],
)
def test_numbers_that_make_no_sense_are_refused(text: str, words: str) -> None:
    with pytest.raises(InvalidOption, match=words):
        parse(text)


def test_a_column_in_two_roles_is_refused() -> None:
    with pytest.raises(ColumnRoleError, match="sensitive"):
        parse("recursive c = 3, l = 2 of Sex on Sex")


# --- the audit


def test_ratios_are_those_of_the_definition_and_stay_below_c() -> None:
    texts = [f"recursive c = {c}, l = {least} of s on x" for c, least in (("4/3", 2), (1.4, 2), (5, 3))]
    audit = opened(PATIENTS, ("x", "s")).audit("t", texts)
    assert [(f.holds, f.violating_classes, f.violating_records) for f in audit.findings] == [
        (False, 1, 7),
        (True, 0, 0),
        (False, 1, 4),
    ]
    assert [f.reached for f in audit.findings] == pytest.approx([4 / 3, 4 / 3, math.inf])


def test_only_measured_it_holds_even_where_a_class_has_too_few_values() -> None:
    audit = opened(PATIENTS, ("x", "s")).audit("t", ["recursive l = 3 of s on x"], groups=2)
    assert audit.holds
    assert [(g.values, g.reached, g.violates) for g in audit.worst] == [
        (("b",), math.inf, False),
        (("a",), 4.0, False),
    ]


@given(rows=ROWS, c=st.fractions(0, 4, max_denominator=12).filter(lambda c: c > 0), least=st.integers(2, 4))
@HALF
def test_the_audit_judges_as_the_definition(rows: list[Row], c: Fraction, least: int) -> None:
    text = f"recursive c = {c}, l = {least} of s on x, y"
    (finding,) = opened(rows, ("x", "y", "s")).audit("t", [text]).findings
    assert finding.violating_classes == sum(ratio(held, least) >= c for held in class_counts(rows))
    assert finding.holds == (finding.violating_classes == 0)
    assert finding.reached == pytest.approx(float(largest(rows, least)), abs=1e-12)


def test_limits_of_many_digits_are_compared_exactly() -> None:
    rows = [*[("a", "flu")], *[("a", "cold")], *[("a", "hiv")], *[("a", "mumps")]]
    texts = [f"recursive c = 0.{'3' * 20}{last}, l = 2 of s on x" for last in (3, 4)]
    below, above = opened(rows, ("x", "s")).audit("t", texts).findings
    assert (below.holds, above.holds) == (False, True)


# --- the search


@given(rows=ROWS, c=st.sampled_from([Fraction(1), Fraction(3, 2), Fraction(3)]), least=st.integers(2, 3))
@HALF
def test_pruning_is_exact(rows: list[Row], c: Fraction, least: int) -> None:
    text = f"recursive c = {c}, l = {least} of s on x, y"
    assert_steps_are_the_oracles(rows, text, lambda table: largest(table, least), lambda reached: reached < c)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("c", "least"), [(3, 2), (6, 3)])
def test_releases_keep_it_and_say_what_they_reached(method: str, c: int, least: int) -> None:
    refined = 0
    for seed in (0, 1, 3):
        rows = table_of(seed)
        release = released(rows, f"recursive c = {c}, l = {least} of s on x, y", method)
        records = records_of(release)
        assert largest(records, least) < c
        source, after = number_of(release, "largest ratio")
        assert after == pytest.approx(float(largest(records, least)), abs=1e-12)
        assert source == pytest.approx(float(largest(rows, least)), abs=1e-12)
        assert release.verify().holds
        refined += len(set(records)) > len({row[-1] for row in records})
    assert refined, "no run refined anything, so nothing was tried"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("recursive c = 1, l = 2 of s on x", r"still 1\.333 times as .* rarer ones\. Ask for c = 1\.335,"),
        ("recursive c = 9, l = 3 of s on x", r"fewer than 3 different values\. Ask for a smaller l,"),
    ],
)
def test_a_run_that_cannot_meet_it_says_what_would_help(text: str, words: str) -> None:
    db = opened([(*row, row[0]) for row in PATIENTS], ("x", "s", "cls"))
    with pytest.raises(GuaranteeNotMet, match=words):
        db.suppress("t", [text], class_column="cls", into="r", keep=["x"])


def test_the_sql_calls_take_it() -> None:
    connection = duckdb.connect()
    ppdm_sql.register(connection)
    connection.execute("CREATE TABLE t (x VARCHAR, y VARCHAR, s VARCHAR, cls VARCHAR)")
    rows = [[*row, "yes" if row[1] == "x" else "no"] for row in table_of(3)]
    connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
    connection.execute(
        "CALL ppdm_suppress('t', 'r', require := ['recursive c = 3, l = 2 of s on x, y'], class := 'cls')"
    )
    assert ppdm_sql.open(connection).release("r").verify().holds
    (parts,) = connection.execute(
        "SELECT ppdm_parse_requirement('recursive c = 3, l = 2 of s on x')"
    ).fetchone() or ((),)
    assert (parts["kind"], parts["columns"], parts["sensitive"], parts["threshold"]) == (
        "recursive l = 2",
        ["x"],
        "s",
        3.0,
    )


# --- pycanon


def test_pycanon_divides_the_rarest_value_by_the_more_frequent_ones() -> None:
    """It sorts the counts upwards, so that the r1 of the paper is its last one; it finds c = 1 here."""
    rows: list[Row] = [("a", "x", "flu")] * 3 + [("a", "x", "hiv")]
    (finding,) = opened(rows, ("x", "y", "s")).audit("t", ["recursive c = 1, l = 2 of s on x, y"]).findings
    assert (finding.holds, finding.reached) == (False, 3.0)
