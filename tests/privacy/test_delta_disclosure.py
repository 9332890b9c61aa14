"""delta-disclosure privacy, by definition: read, audited, searched, and compared with pycanon."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

import duckdb
import pytest
from hypothesis import assume, given
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

# q(flu) = 1/2, q(cold) = 1/2; in class a p = 3/4, 1/4, in class b 1/3, 2/3.
PATIENTS: list[Row] = [
    *[("a", "flu")] * 3,
    *[("a", "cold")],
    *[("b", "flu")],
    *[("b", "cold")] * 2,
    *[("c", "flu")],
    *[("c", "cold")],
    *[("c", "cold")],
]


def changes(rows: Sequence[Row]) -> list[Fraction | float]:
    """For each class, the largest of p / q and q / p over all values of the table; infinite where p = 0."""
    table = Counter(row[-1] for row in rows)
    found: list[Fraction | float] = []
    for held in class_counts(rows):
        shares = [
            (Fraction(held[value], held.total()), Fraction(records, len(rows)))
            for value, records in table.items()
        ]
        found.append(
            math.inf if any(p == 0 for p, _ in shares) else max(max(p / q, q / p) for p, q in shares)
        )
    return found


def largest(rows: Sequence[Row]) -> float:
    """The largest |log2(p / q)|."""
    return max(math.inf if change == math.inf else math.log2(change) for change in changes(rows))


def violates(change: Fraction | float, delta: Fraction) -> bool:
    """change > 2^delta, exactly."""
    return change == math.inf or change**delta.denominator > 2**delta.numerator


# --- the language


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("delta <= 1 of Disease on Sex, Job", "delta <= 1 of Disease on Sex, Job"),
        ("DELTA≤3/2 OF Disease ON Sex", "delta <= 1.5 of Disease on Sex"),
        ("delta -> Disease <= 50%", "delta -> Disease <= 50%"),
        ("delta, of -> Disease <= 50%", "delta, of -> Disease <= 50%"),
    ],
)
def test_it_is_read_and_keeps_no_word_for_itself(text: str, printed: str) -> None:
    assert str(parse(text)) == printed == str(parse(printed))


def test_without_a_limit_it_is_a_measure() -> None:
    assert str(parse_measure("delta of Disease on Sex")) == "delta of Disease on Sex"
    with pytest.raises(RequirementSyntaxError, match=r"Expected '<='; only ppdm audit[\s\S]*delta <= 1 of"):
        parse("delta of Disease on Sex")


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(InvalidOption, match="below 0"):
        parse("delta <= -1 of Disease on Sex")
    with pytest.raises(InvalidOption, match="too large"):
        parse(f"delta <= 1{'0' * 30} of Disease on Sex")
    with pytest.raises(ColumnRoleError, match="sensitive"):
        parse("delta <= 1 of Sex on Sex")


# --- the audit


def test_it_is_that_of_the_definition() -> None:
    # p / q of cold is 1/2 in a (flu 3/2), 4/3 in b and c (flu 2/3).
    texts = [f"delta <= {delta} of s on x" for delta in (1, "0.5849625007", "0.9999999999")]
    audit = opened(PATIENTS, ("x", "s")).audit("t", texts, groups=3)
    assert [(f.holds, f.reached, f.violating_classes) for f in audit.findings] == [
        (True, 1.0, 0),
        (False, 1.0, 3),
        (False, 1.0, 1),
    ]
    assert [(g.values, g.violates) for g in audit.worst[:3]] == [
        (("a",), False),
        (("b",), False),
        (("c",), False),
    ]
    assert [g.reached for g in audit.worst[:3]] == pytest.approx([1, math.log2(3 / 2), math.log2(3 / 2)])


def test_a_class_that_lacks_a_value_keeps_no_delta() -> None:
    rows = [("a", "flu"), ("a", "cold"), ("b", "flu")]
    audit = opened(rows, ("x", "s")).audit("t", ["delta <= 1000000 of s on x", "delta of s on x"])
    limited, measured = audit.findings
    assert (limited.holds, limited.reached, limited.violating_classes) == (False, math.inf, 1)
    assert (measured.holds, measured.reached) == (True, math.inf)


@given(rows=ROWS, delta=st.fractions(0, 4, max_denominator=12))
@HALF
def test_the_audit_judges_as_the_definition(rows: list[Row], delta: Fraction) -> None:
    (finding,) = opened(rows, ("x", "y", "s")).audit("t", [f"delta <= {delta} of s on x, y"]).findings
    assert finding.violating_classes == sum(violates(change, delta) for change in changes(rows))
    assert finding.holds == (finding.violating_classes == 0)
    assert finding.reached == pytest.approx(largest(rows), abs=1e-12)


# --- the search


@given(
    rows=st.lists(
        st.tuples(st.sampled_from("abc"), st.sampled_from(["x", "y", None]), st.sampled_from("st"))
    ),
    delta=st.sampled_from([Fraction(1, 2), Fraction(1), Fraction(2)]),
)
@HALF
def test_pruning_is_exact(rows: list[Row], delta: Fraction) -> None:
    assume(rows)
    text = f"delta <= {delta} of s on x, y"
    assert_steps_are_the_oracles(rows, text, largest, lambda reached: reached <= float(delta))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("delta", [Fraction(1), Fraction(5, 2)])
def test_releases_keep_it_and_say_what_they_reached(method: str, delta: Fraction) -> None:
    refined = 0
    for seed in range(4):
        rows = [(x, y, "flu" if s == "flu" else "other") for x, y, s in table_of(seed)]
        release = released(rows, f"delta <= {delta} of s on x, y", method)
        records = records_of(release)
        assert not any(violates(change, delta) for change in changes(records))
        source, after = number_of(release, "largest delta")
        assert after == pytest.approx(largest(records), abs=1e-12)
        assert source == pytest.approx(largest(rows), abs=1e-12)
        assert release.verify().holds
        refined += len(set(records)) > len({row[-1] for row in records})
    assert refined, "no run refined anything, so nothing was tried"


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (PATIENTS, r"delta of a class is still 1\. Ask for delta >= 1,"),
        ([("a", "flu"), ("b", "cold")], r"still lacks a value .* Ask for beta or t instead"),
    ],
)
def test_a_run_that_cannot_meet_it_says_what_would_help(rows: list[Row], words: str) -> None:
    db = opened([(*row, row[0]) for row in rows], ("x", "s", "cls"))
    with pytest.raises(GuaranteeNotMet, match=words):
        db.suppress("t", ["delta <= 0.5 of s on x"], class_column="cls", into="r", keep=["x"])


def test_the_sql_calls_take_it() -> None:
    connection = duckdb.connect()
    ppdm_sql.register(connection)
    connection.execute("CREATE TABLE t (x VARCHAR, y VARCHAR, s VARCHAR, cls VARCHAR)")
    rows = [[*row, "yes" if row[1] == "x" else "no"] for row in table_of(3)]
    connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
    connection.execute("CALL ppdm_suppress('t', 'r', require := ['delta <= 3 of s on x, y'], class := 'cls')")
    assert ppdm_sql.open(connection).release("r").verify().holds
    (parts,) = connection.execute("SELECT ppdm_parse_requirement('delta <= 1.5 of s on x')").fetchone() or ()
    assert (parts["kind"], parts["columns"], parts["sensitive"], parts["threshold"]) == (
        "delta",
        ["x"],
        "s",
        1.5,
    )


# --- pycanon


def test_pycanon_passes_over_values_that_a_class_lacks() -> None:
    """Knowing that somebody has not got a disease is a disclosure: p = 0 is infinitely far from q."""
    rows = [("a", "x", "flu"), ("a", "x", "cold"), ("b", "x", "flu"), ("b", "x", "flu")]
    (finding,) = opened(rows, ("x", "y", "s")).audit("t", ["delta of s on x, y"]).findings
    assert finding.reached == math.inf
