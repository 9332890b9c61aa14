"""Average risk, beta, delta and recursive diversity by their definitions: searched and released."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest
from definitions import MODELS, Model, Row
from hypothesis import given
from hypothesis import strategies as st
from privacy_models import (
    METHODS,
    ROWS,
    assert_steps_are_the_oracles,
    class_counts,
    number_of,
    opened,
    records_of,
    released,
    table_of,
)
from runs import one_in

from ppdm_sql.audit import Finding
from ppdm_sql.engine import Column
from ppdm_sql.errors import GuaranteeNotMet, InvalidOption
from ppdm_sql.methods.two_party.request import IntegrateRequest, Ownership
from ppdm_sql.privacy import parse
from ppdm_sql.release.publishing import refused

FEW_VALUES = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from(["x", "y", None]), st.sampled_from("st")), min_size=1
)


def of_two_values(seed: int) -> list[Row]:
    return [(x, y, "flu" if s == "flu" else "other") for x, y, s in table_of(seed)]


# q(flu) = 1/2, q(cold) = 1/3, q(hiv) = 1/6; in class a p = 2/3, 0, 1/3, in class b p = 1/3, 2/3, 0.
GAINED = [("a", "flu"), ("a", "flu"), ("a", "hiv"), ("b", "flu"), ("b", "cold"), ("b", "cold")]
# Of flu and cold 3, 1 in class a, 1, 2 in classes b and c; so p / q of cold is 1/2 in a, 4/3 in the others.
CHANGED = [
    *[("a", "flu")] * 3,
    *[("a", "cold")],
    *[("b", "flu"), ("b", "cold"), ("b", "cold")],
    *[("c", "flu"), ("c", "cold"), ("c", "cold")],
]
# In class a r = 4, 2, 1: 4 / 3 for l = 2, 4 / 1 for l = 3; in class b r = 2, 2.
REPEATED = [
    *[("a", "flu")] * 4,
    *[("a", "cold")] * 2,
    *[("a", "hiv")],
    *[("b", "flu")] * 2,
    *[("b", "cold")] * 2,
]
FREQUENT = [("a", "flu"), ("a", "flu"), ("b", "flu"), ("b", "cold")]
LACKING = [("a", "flu"), ("a", "cold"), ("b", "flu")]
ALL_DIFFERENT = [("a", value) for value in ("flu", "cold", "hiv", "mumps")]


@pytest.mark.parametrize(
    ("rows", "text", "found"),
    [
        # in a flu (2/3 - 1/2) / (1/2) = 1/3, hiv (1/3 - 1/6) / (1/6) = 1; in b cold (2/3 - 1/3) / (1/3) = 1
        (GAINED, "beta <= 1 of s on x", (True, 1, 0)),
        (GAINED, "beta <= 0.99 of s on x", (False, 1, 2)),
        # flu: q = 3/4, gains 1/3 in a, which is above -ln q = .288; cold: q = 1/4, gains 1 in b. Pycanon
        # holds every value to the largest -ln q of all, so that this would hold
        (FREQUENT, "beta <= 1 of s on x", (True, 1, 0)),
        (FREQUENT, "enhanced beta <= 1 of s on x", (False, 4, 1)),
        (CHANGED, "delta <= 1 of s on x", (True, 1, 0)),
        (CHANGED, "delta <= 0.5849625007 of s on x", (False, 1, 3)),
        (CHANGED, "delta <= 0.9999999999 of s on x", (False, 1, 1)),
        # that somebody has not got a disease is a disclosure; pycanon passes over p = 0
        (LACKING, "delta <= 1000000 of s on x", (False, math.inf, 1)),
        (LACKING, "delta of s on x", (True, math.inf, 0)),
        (REPEATED, "recursive c = 4/3, l = 2 of s on x", (False, pytest.approx(4 / 3), 1)),
        (REPEATED, "recursive c = 1.4, l = 2 of s on x", (True, pytest.approx(4 / 3), 0)),
        (REPEATED, "recursive c = 5, l = 3 of s on x", (False, math.inf, 1)),
        # pycanon sorts the counts upwards, so that the r1 of the paper is its last one; it finds c = 1 here
        ([("a", "flu")] * 3 + [("a", "hiv")], "recursive c = 1, l = 2 of s on x", (False, 3.0, 1)),
        (ALL_DIFFERENT, f"recursive c = 0.{'3' * 21}, l = 2 of s on x", (False, pytest.approx(1 / 3), 1)),
        (ALL_DIFFERENT, f"recursive c = 0.{'3' * 20}4, l = 2 of s on x", (True, pytest.approx(1 / 3), 0)),
    ],
)
def test_numbers_are_those_of_the_papers(rows: list[Row], text: str, found: tuple[Any, ...]) -> None:
    (finding,) = opened(rows, ("x", "s")).audit("t", [text]).findings
    assert (finding.holds, finding.reached, finding.violating_classes) == found


@pytest.mark.parametrize(
    ("rows", "text", "worst"),
    [
        (FREQUENT, "enhanced beta <= 1 of s on x", [("a", 4.0, True), ("b", 1.0, False)]),
        (
            CHANGED,
            "delta <= 1 of s on x",
            [("a", 1, False), ("b", math.log2(3 / 2), False), ("c", math.log2(3 / 2), False)],
        ),
        (REPEATED, "recursive l = 3 of s on x", [("b", math.inf, False), ("a", 4.0, False)]),
        (REPEATED, "average risk <= 5% on x", []),
    ],
)
def test_the_worst_classes_are_named(rows: list[Row], text: str, worst: list[tuple[Any, ...]]) -> None:
    audit = opened(rows, ("x", "s")).audit("t", [text], groups=3)
    assert [(g.values, g.reached, g.violates) for g in audit.worst] == [
        ((value,), pytest.approx(reached), violates) for value, reached, violates in worst
    ]


# --- the search


@pytest.mark.parametrize(
    ("name", "limits"),
    [
        ("average risk", [Fraction(1, 5), Fraction(1, 3), Fraction(1, 10)]),
        ("delta", [Fraction(1, 2), Fraction(2), Fraction(1), Fraction(5, 2)]),
        ("recursive l = 2", [1, Fraction(3, 2), 3]),
        ("recursive l = 3", [1, Fraction(3, 2), 3, 6]),
    ],
)
@given(data=st.data())
@one_in(4)
def test_pruning_is_exact(name: str, limits: list[Any], data: st.DataObject) -> None:
    rows = data.draw(FEW_VALUES if name == "delta" else ROWS)
    assert_prunes_exactly(MODELS[name], rows, data.draw(st.sampled_from(limits)))


def assert_prunes_exactly(model: Model, rows: Sequence[Row], limit: Any) -> None:
    def holds(shown: float | Fraction) -> bool:
        return model.keeps(shown, limit) if model.shown is float else shown <= limit

    def number(table: Sequence[Row]) -> Any:
        found = model.number(class_counts(table))
        return found if model.shown is float else model.shown(found)

    assert_steps_are_the_oracles(rows, model.asked(limit), number, holds)


def test_pruning_is_exact_where_many_classes_are_equally_small() -> None:
    rows = [(x, y, s) for x in "ab" for y in "xy" for s in ("flu", "cold", "hiv")]
    assert_prunes_exactly(MODELS["average risk"], rows, Fraction(1, 3))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("name", "measured", "limit"),
    [
        ("average risk", "average risk", Fraction(1, 10)),
        ("beta", "largest gain", Fraction(2, 3)),
        ("enhanced beta", "largest gain", Fraction(2, 3)),
        ("delta", "largest delta", Fraction(5, 2)),
        ("recursive l = 2", "largest ratio", 3),
        ("recursive l = 3", "largest ratio", 6),
    ],
)
def test_releases_keep_it_and_say_what_they_reached(
    method: str, name: str, measured: str, limit: Any
) -> None:
    model = MODELS[name]
    rows = of_two_values(0) if name == "delta" else table_of(3)
    release = released(rows, model.asked(limit), method)
    held = class_counts(records_of(release, "x, y, cls" if name == "average risk" else "x, y, s"))
    assert not model.broken(held, limit)
    source, after = number_of(release, measured)
    assert after == pytest.approx(model.reached(held), abs=1e-12)
    assert source == pytest.approx(model.reached(class_counts(rows)), abs=1e-12)
    assert release.verify().holds
    assert len(held) > 1, "the run refined nothing, so nothing was tried"


def test_every_state_of_a_run_is_measured_rightly() -> None:
    db = opened([(*row, row[1] or "no") for row in table_of(7)], ("x", "y", "s", "cls"))
    release = db.suppress("t", ["beta <= 100 of s on x, y"], class_column="cls", into="r", keep=["x"])
    for step in range(len(release.steps()) + 1):
        records = release.at(step).project("x, y, s").fetchall()
        (finding,) = opened(records, ("x", "y", "s")).audit("t", ["beta of s on x, y"]).findings
        assert finding.reached == pytest.approx(
            float(MODELS["beta"].number(class_counts(records))), abs=1e-12
        )


@pytest.mark.parametrize(
    ("rows", "text", "words"),
    [
        (table_of(1), "average risk <= 5% on x", r"risk is still 7\.5%\. Ask for .* at least 7\.5%,"),
        (
            GAINED,
            "beta <= 0.5 of s on x",
            r"still gains 1 in a class\. Ask for the basic kind .* >= 1,",
        ),
        (CHANGED, "delta <= 0.5 of s on x", r"delta of a class is still 1\. Ask for delta >= 1,"),
        (
            [("a", "flu"), ("b", "cold")],
            "delta <= 0.5 of s on x",
            r"lacks a value .* Ask for beta or t",
        ),
        (REPEATED, "recursive c = 1, l = 2 of s on x", r"still 1\.333 times as .* Ask for c = 1\.335,"),
        (REPEATED, "recursive c = 9, l = 3 of s on x", r"fewer than 3 different .* Ask for a smaller l,"),
    ],
)
def test_a_run_that_cannot_meet_it_says_what_would_help(rows: list[Row], text: str, words: str) -> None:
    columns = ("x", "y", "s", "cls") if len(rows[0]) > 2 else ("x", "s", "cls")
    db = opened([(*row, row[0]) for row in rows], columns)
    with pytest.raises(GuaranteeNotMet, match=words):
        db.suppress("t", [text], class_column="cls", into="r", keep=["x"])


# --- the average risk, which is of the whole table


def test_it_stands_beside_k_and_the_harder_one_decides() -> None:
    rows = [(*row, "yes" if row[1] == "x" else "no") for row in table_of(1)]
    db = opened(rows, ("x", "y", "s", "cls"))
    both = ["k >= 2 on x, y", "average risk <= 8% on x, y", "average risk <= 50% on x, y"]
    held = class_counts(records_of(db.suppress("t", both, class_column="cls", into="r"), "x, y, cls"))
    assert MODELS["average risk"].number(held) <= Fraction(8, 100)
    assert MODELS["k"].number(held) >= 2


@pytest.mark.parametrize("others", [[], ["k >= 2 on x"]])
def test_records_are_left_out_beside_it_though_it_names_columns_of_its_own(others: list[str]) -> None:
    rows = [*table_of(1), ("alone", "x", "flu")]
    db = opened([(*row, row[0]) for row in rows], ("x", "y", "s", "cls"))
    asked = ["average risk <= 15% on x, y", *others]
    release = db.suppress("t", asked, class_column="cls", into="r", suppress_records="5%")
    held = class_counts(records_of(release, "x, y, cls"))
    assert MODELS["average risk"].number(held) <= Fraction(15, 100)
    assert len(release.relation()) == len(rows) - len(others)
    assert release.verify().holds


def test_all_records_break_it_or_none_and_it_is_the_average_of_the_risks() -> None:
    audit = opened(REPEATED, ("x", "s")).audit("t", ["average risk <= 5% on x"])
    (finding,) = audit.findings
    assert (finding.holds, finding.violating_records) == (False, len(REPEATED))
    assert finding.reached == pytest.approx(audit.risks[0].average)


def test_a_refused_release_names_no_classes() -> None:
    found = Finding(parse("average risk <= 5% on x"), False, 0.05, 0.25, 6, 6, 24)
    assert "an average risk of 25 % where an average risk of 5 % is the limit; nothing was published" in str(
        refused("r", [found])
    )


@pytest.mark.parametrize("asked", ["average risk <= 5% on x", "k-map >= 5 on x in p"])
def test_two_parties_are_told_that_it_drives_no_run_of_theirs(asked: str) -> None:
    request = IntegrateRequest(require=[asked], class_column="cls", into="r", key=["id"], owns=["x"])
    columns = [Column(name, "VARCHAR") for name in ("id", "x", "cls")]
    with pytest.raises(InvalidOption, match="cannot drive a run of two parties"):
        Ownership.of(request, columns, "t")
