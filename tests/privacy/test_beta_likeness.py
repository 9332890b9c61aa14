"""beta-likeness, by definition: read, audited, searched, and compared with pycanon."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
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
    number_of,
    opened,
    records_of,
    released,
    table_of,
)

import ppdm_sql
from ppdm_sql.errors import ColumnRoleError, GuaranteeNotMet, InvalidOption, RequirementSyntaxError
from ppdm_sql.privacy import parse, parse_measure

# Six records of two classes: q(flu) = 1/2, q(cold) = 1/3, q(hiv) = 1/6; in class a p = 2/3, 0, 1/3.
PATIENTS: list[Row] = [
    *[("a", "flu"), ("a", "flu"), ("a", "hiv")],
    *[("b", "flu"), ("b", "cold"), ("b", "cold")],
]


def gains(rows: Sequence[Row]) -> dict[Row, list[tuple[Fraction, float]]]:
    """For each class, the gain (p - q) / q of each value that it has more often, beside -ln q."""
    table = Counter(row[-1] for row in rows)
    classes: dict[Row, list[Any]] = defaultdict(list)
    for row in rows:
        classes[row[:-1]].append(row[-1])
    found: dict[Row, list[tuple[Fraction, float]]] = {}
    for of_class, held in classes.items():
        found[of_class] = [(Fraction(0), math.inf)]
        for value, records in table.items():
            p, q = Fraction(held.count(value), len(held)), Fraction(records, len(rows))
            if p > q:
                found[of_class].append(((p - q) / q, -math.log(q)))
    return found


def reached(rows: Sequence[Row], *, enhanced: bool) -> float:
    """The largest gain; where one is above its own limit, the number of records."""
    pairs = [pair for of_class in gains(rows).values() for pair in of_class]
    broken = enhanced and any(gain > own for gain, own in pairs)
    return float(len(rows)) if broken else float(max(gain for gain, _ in pairs))


def violating(rows: Sequence[Row], beta: Fraction, *, enhanced: bool) -> int:
    return sum(
        any(gain > beta or (enhanced and gain > own) for gain, own in of_class)
        for of_class in gains(rows).values()
    )


# --- the language


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("beta <= 1.5 of Disease on Sex, Job", "beta <= 1.5 of Disease on Sex, Job"),
        ("BETA≤3/2 OF Disease ON Sex", "beta <= 1.5 of Disease on Sex"),
        ("Enhanced Beta <= 2 of Disease on Sex", "enhanced beta <= 2 of Disease on Sex"),
        ("beta -> Disease <= 50%", "beta -> Disease <= 50%"),
        ("enhanced, beta -> Disease <= 50%", "enhanced, beta -> Disease <= 50%"),
    ],
)
def test_both_kinds_are_read_and_keep_no_word_for_themselves(text: str, printed: str) -> None:
    assert str(parse(text)) == printed == str(parse(printed))


def test_without_a_limit_the_basic_kind_is_a_measure() -> None:
    assert str(parse_measure("beta of Disease on Sex")) == "beta of Disease on Sex"
    with pytest.raises(RequirementSyntaxError, match=r"Expected '<='[\s\S]*enhanced beta <= 1.5 of"):
        parse_measure("enhanced beta of Disease on Sex")


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(InvalidOption, match="below 0"):
        parse("beta <= -1 of Disease on Sex")
    for kind in ("beta", "enhanced beta"):
        with pytest.raises(InvalidOption, match="too large"):
            parse(f"{kind} <= 1{'0' * 30} of Disease on Sex")
    with pytest.raises(ColumnRoleError, match="sensitive"):
        parse("beta <= 1 of Sex on Sex")


# --- the audit


def test_gains_are_those_of_the_definition() -> None:
    audit = opened(PATIENTS, ("x", "s")).audit("t", ["beta <= 1 of s on x", "beta <= 0.99 of s on x"])
    # In a: flu (2/3 - 1/2) / (1/2) = 1/3, hiv (1/3 - 1/6) / (1/6) = 1; in b: cold (2/3 - 1/3) / (1/3) = 1.
    assert [(f.holds, f.reached, f.violating_classes) for f in audit.findings] == [
        (True, 1, 0),
        (False, 1, 2),
    ]


def test_the_enhanced_kind_protects_frequent_values() -> None:
    rows = [("a", "flu")] * 2 + [("b", "flu"), ("b", "cold")]
    both = ["beta <= 1 of s on x", "enhanced beta <= 1 of s on x"]
    audit = opened(rows, ("x", "s")).audit("t", both, groups=2)
    basic, enhanced = audit.findings
    # flu: q = 3/4, gains 1/3 in a, which is above -ln q = .288; cold: q = 1/4, gains 1 in b.
    assert (basic.holds, basic.reached) == (True, 1.0)
    assert (enhanced.holds, enhanced.reached, enhanced.violating_classes) == (False, 4.0, 1)
    assert [(group.values, group.reached, group.violates) for group in audit.worst[2:]] == [
        (("a",), 4.0, True),
        (("b",), 1.0, False),
    ]


@given(rows=ROWS, beta=st.fractions(0, 4, max_denominator=12), enhanced=st.booleans())
@HALF
def test_the_audit_judges_as_the_definition(rows: list[Row], beta: Fraction, enhanced: bool) -> None:
    text = f"{'enhanced ' * enhanced}beta <= {beta} of s on x, y"
    (finding,) = opened(rows, ("x", "y", "s")).audit("t", [text]).findings
    assert finding.violating_classes == violating(rows, beta, enhanced=enhanced)
    assert finding.holds == (finding.violating_classes == 0)
    assert finding.reached == pytest.approx(reached(rows, enhanced=enhanced), abs=1e-12)


# --- the search


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["", "enhanced "])
def test_releases_keep_it_and_say_what_they_reached(method: str, kind: str) -> None:
    refined = 0
    for seed in range(4):
        rows = table_of(seed)
        release = released(rows, f"{kind}beta <= 2/3 of s on x, y", method)
        records = records_of(release)
        assert violating(records, Fraction(2, 3), enhanced=bool(kind)) == 0
        source, after = number_of(release, "largest gain")
        assert after == pytest.approx(reached(records, enhanced=bool(kind)), abs=1e-12)
        assert source == pytest.approx(reached(rows, enhanced=bool(kind)), abs=1e-12)
        refined += len(set(records)) > len({row[-1] for row in records})
    assert refined, "no run refined anything, so nothing was tried"


def test_a_looser_limit_shows_the_source_as_it_is() -> None:
    rows = table_of(7)
    db = opened([(*row, row[1] or "no") for row in rows], ("x", "y", "s", "cls"))
    release = db.suppress("t", ["beta <= 100 of s on x, y"], class_column="cls", into="r", keep=["x"])
    for step in range(len(release.steps()) + 1):
        records = release.at(step).project("x, y, s").fetchall()
        table = opened(records, ("x", "y", "s"))
        (finding,) = table.audit("t", ["beta of s on x, y"]).findings
        assert finding.reached == pytest.approx(reached(records, enhanced=False), abs=1e-12)


def test_a_run_that_cannot_meet_it_says_what_would_help() -> None:
    db = opened([(*row, row[0]) for row in PATIENTS], ("x", "s", "cls"))
    with pytest.raises(
        GuaranteeNotMet, match=r"still gains 1 in a class\. Ask for the basic kind with beta >= 1,"
    ):
        db.suppress("t", ["beta <= 0.5 of s on x"], class_column="cls", into="r", keep=["x"])


def test_the_sql_calls_and_the_evaluation_take_it() -> None:
    connection = duckdb.connect()
    ppdm_sql.register(connection)
    rows = [(*row, "yes" if row[1] == "x" else "no") for row in table_of(3)]
    connection.execute("CREATE TABLE t (x VARCHAR, y VARCHAR, s VARCHAR, cls VARCHAR)")
    connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", [list(row) for row in rows])
    connection.execute(
        "CALL ppdm_suppress('t', 'r', require := ['enhanced beta <= 1 of s on x, y'], class := 'cls')"
    )
    (parts,) = connection.execute("SELECT ppdm_parse_requirement('beta <= 1.5 of s on x')").fetchone() or ()
    assert (parts["kind"], parts["columns"], parts["sensitive"], parts["threshold"]) == (
        "beta",
        ["x"],
        "s",
        1.5,
    )
    db = ppdm_sql.open(connection)
    assert db.release("r").verify().holds
    assert db.evaluate("r", folds=2, seeds=1).release is not None


# --- pycanon


def test_pycanon_holds_frequent_values_to_the_limit_of_the_rarest() -> None:
    """Its beta is at most the largest -ln q of all values; Cao and Karras give each value its own."""
    rows = [("a", "x", "flu")] * 2 + [("b", "x", "flu"), ("b", "x", "cold")]
    (finding,) = opened(rows, ("x", "y", "s")).audit("t", ["enhanced beta <= 1 of s on x, y"]).findings
    assert not finding.holds
