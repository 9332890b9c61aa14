"""A limit on the average risk, by definition: read, audited and searched."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import pytest
from hypothesis import example, given
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

from ppdm_sql.audit import Finding
from ppdm_sql.engine import Column
from ppdm_sql.errors import GuaranteeNotMet, InvalidOption, RequirementSyntaxError
from ppdm_sql.methods.two_party.request import IntegrateRequest, Ownership
from ppdm_sql.privacy import parse, parse_measure
from ppdm_sql.release.publishing import refused


def average(rows: Sequence[Row]) -> Fraction:
    """The mean of 1 / class size over the records; the last column is in no class."""
    risks = [Fraction(1, held.total()) for held in class_counts(rows) for _ in range(held.total())]
    return sum(risks, Fraction()) / len(risks)


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("average risk <= 5% on Sex, Job", "average risk <= 5% on Sex, Job"),
        ("Average  RISK≤1/3 ON Sex", "average risk <= 1/3 on Sex"),
        ("average -> Disease <= 50%", "average -> Disease <= 50%"),
        ("average, risk -> Disease <= 50%", "average, risk -> Disease <= 50%"),
    ],
)
def test_it_is_read_and_keeps_no_word_for_itself(text: str, printed: str) -> None:
    assert str(parse(text)) == printed == str(parse(printed))


def test_what_makes_no_sense_is_refused_and_no_limit_is_a_measure() -> None:
    assert str(parse_measure("average risk on Sex")) == "average risk on Sex"
    with pytest.raises(RequirementSyntaxError, match=r"Expected '<=';"):
        parse("average risk on Sex")
    for share in ("0", "101%"):
        with pytest.raises(InvalidOption, match="outside"):
            parse(f"average risk <= {share} on Sex")


@given(rows=ROWS, risk=st.fractions(0, 1, max_denominator=12).filter(lambda risk: risk > 0))
@HALF
def test_the_audit_judges_as_the_definition(rows: list[Row], risk: Fraction) -> None:
    audit = opened(rows, ("x", "y", "s")).audit("t", [f"average risk <= {risk} on x, y"], groups=3)
    (finding,) = audit.findings
    assert finding.holds == (average(rows) <= risk)
    assert finding.reached == pytest.approx(float(average(rows)), abs=1e-12)
    assert finding.violating_records == (0 if finding.holds else len(rows))
    assert finding.classes == len(class_counts(rows))
    assert finding.violating_classes == (0 if finding.holds else finding.classes)
    assert audit.worst == ()
    assert finding.reached == pytest.approx(audit.risks[0].average)


@given(rows=ROWS, risk=st.sampled_from([Fraction(1, 10), Fraction(1, 5), Fraction(1, 3)]))
@example(rows=[(x, y, s) for x in "ab" for y in "xy" for s in ("flu", "cold", "hiv")], risk=Fraction(1, 3))
@HALF
def test_pruning_is_exact(rows: list[Row], risk: Fraction) -> None:
    text = f"average risk <= {risk} on x, y"
    assert_steps_are_the_oracles(rows, text, average, lambda reached: reached <= risk)


@pytest.mark.parametrize("method", METHODS)
def test_releases_keep_it_and_say_what_they_reached(method: str) -> None:
    rows = table_of(1)
    release = released(rows, "average risk <= 10% on x, y", method)
    records = records_of(release, "x, y, cls")
    assert Fraction(1, 40) < average(records) <= Fraction(1, 10)
    source, after = number_of(release, "average risk")
    assert after == pytest.approx(float(average(records)), abs=1e-12)
    assert source == pytest.approx(float(average(rows)), abs=1e-12)
    assert release.verify().holds


def test_it_stands_beside_k_and_the_harder_one_decides() -> None:
    rows = [(*row, "yes" if row[1] == "x" else "no") for row in table_of(1)]
    db = opened(rows, ("x", "y", "s", "cls"))
    both = ["k >= 2 on x, y", "average risk <= 8% on x, y", "average risk <= 50% on x, y"]
    release = db.suppress("t", both, class_column="cls", into="r")
    assert average(records_of(release, "x, y, cls")) <= Fraction(8, 100)
    assert min(held.total() for held in class_counts(records_of(release, "x, y, cls"))) >= 2


@pytest.mark.parametrize("others", [[], ["k >= 2 on x"]])
def test_records_are_left_out_beside_it_though_it_names_columns_of_its_own(others: list[str]) -> None:
    rows = [*table_of(1), ("alone", "x", "flu")]
    db = opened([(*row, row[0]) for row in rows], ("x", "y", "s", "cls"))
    asked = ["average risk <= 15% on x, y", *others]
    release = db.suppress("t", asked, class_column="cls", into="r", suppress_records="5%")
    assert average(records_of(release, "x, y, cls")) <= Fraction(15, 100)
    assert len(release.relation()) == len(rows) - len(others)
    assert release.verify().holds


def test_a_run_that_cannot_meet_it_says_what_would_help() -> None:
    db = opened([(*row, row[0]) for row in table_of(1)], ("x", "y", "s", "cls"))
    with pytest.raises(GuaranteeNotMet, match=r"average risk is still 7\.5%\. Ask for .* at least 7\.5%,"):
        db.suppress("t", ["average risk <= 5% on x"], class_column="cls", into="r", keep=["x"])


def test_a_refused_release_names_no_classes() -> None:
    found = Finding(parse("average risk <= 5% on x"), False, 0.05, 0.25, 6, 6, 24)
    assert "an average risk of 25 % where an average risk of 5 % is the limit; nothing was published" in str(
        refused("r", [found])
    )


def test_two_parties_are_told_that_it_drives_no_run_of_theirs() -> None:
    asked = IntegrateRequest(
        require=["average risk <= 5% on x"], class_column="cls", into="r", key=["id"], owns=["x"]
    )
    columns = [Column(name, "VARCHAR") for name in ("id", "x", "cls")]
    with pytest.raises(InvalidOption, match="drives no run of two parties"):
        Ownership.of(asked, columns, "t")
