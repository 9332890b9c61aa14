"""Average risk, beta, delta and recursive diversity by their definitions: audited, searched and released."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

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
from ppdm_sql.audit import Finding
from ppdm_sql.engine import Column
from ppdm_sql.errors import GuaranteeNotMet, InvalidOption
from ppdm_sql.methods.two_party.request import IntegrateRequest, Ownership
from ppdm_sql.privacy import parse
from ppdm_sql.release.publishing import refused

Held = Counter[Any]
"""The records of each sensitive value of a class, or of the table."""
FEW_VALUES = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from(["x", "y", None]), st.sampled_from("st")), min_size=1
)


def risk(held: Held, table: Held) -> Fraction:
    """Its records' part of the mean of 1 / class size over all records."""
    return held.total() * Fraction(1, held.total()) / table.total()


def gain(held: Held, table: Held) -> Fraction:
    """The largest (p - q) / q of a value."""
    ratios = (Fraction(n * table.total(), held.total() * table[value]) for value, n in held.items())
    return max(0, *(ratio - 1 for ratio in ratios))


def enhanced_gain(held: Held, table: Held) -> Fraction | float:
    """The same; infinite where a gain is above its own limit of -ln q."""
    for value, n in held.items():
        p, q = Fraction(n, held.total()), Fraction(table[value], table.total())
        if (p - q) / q > -math.log(q):
            return math.inf
    return gain(held, table)


def change(held: Held, table: Held) -> Fraction | float:
    """The largest of p / q and q / p over all values of the table; infinite where p = 0."""
    shares = [(Fraction(held[v], held.total()), Fraction(n, table.total())) for v, n in table.items()]
    return math.inf if any(p == 0 for p, _ in shares) else max(max(p / q, q / p) for p, q in shares)


def ratio(least: int) -> Callable[[Held, Held], Fraction | float]:
    """r1 / (r_l + ... + r_m) of a class."""

    def of_class(held: Held, _: Held) -> Fraction | float:
        r = sorted(held.values(), reverse=True)
        rarer = sum(r[least - 1 :])
        return Fraction(r[0], rarer) if rarer else math.inf

    return of_class


@dataclass(frozen=True)
class Model:
    """A privacy model by its definition."""

    text: str  # of the requirement, without its limit
    measured: str  # what its number is called in the measures of a release
    of_class: Callable[[Held, Held], Fraction | float]  # the number of a class, given that of the table
    limits: st.SearchStrategy[Any]
    tried: Sequence[Fraction | int]  # limits that runs are tried with
    keeps: Callable[[Any, Any], bool] = lambda number, limit: number <= limit
    whole: Callable[[Sequence[Any]], Any] = max  # the number of the table of those of the classes
    shown: Callable[[Any], float] = float
    rows: st.SearchStrategy[Any] = ROWS  # in which pruning is compared with the oracle
    columns: str = "x, y, s"  # of a release
    table: Callable[[int], list[Row]] = table_of

    def asked(self, limit: Fraction | int) -> str:
        return self.text.format(limit)

    def numbers(self, rows: Sequence[Row]) -> list[Any]:
        table = Counter(row[-1] for row in rows)
        return [self.of_class(held, table) for held in class_counts(rows)]

    def number(self, rows: Sequence[Row]) -> Any:
        return self.whole(self.numbers(rows))

    def reached(self, rows: Sequence[Row]) -> float:
        """What is shown of a table; a gain above its own limit counts as the records."""
        number = self.number(rows)
        broken = self.of_class is enhanced_gain and number == math.inf
        return float(len(rows) if broken else self.shown(number))

    def violating(self, rows: Sequence[Row], limit: Fraction | int) -> int:
        """The classes that break a limit: all or none where it is on the table."""
        if self.whole is sum:
            return 0 if self.keeps(self.number(rows), limit) else len(class_counts(rows))
        return sum(not self.keeps(number, limit) for number in self.numbers(rows))


def within(change: Fraction | float, delta: Fraction) -> bool:
    """change <= 2^delta, exactly."""
    return change != math.inf and change**delta.denominator <= 2**delta.numerator


def recursive(least: int, c: int) -> Model:
    return Model(
        f"recursive c = {{}}, l = {least} of s on x, y",
        "largest ratio",
        ratio(least),
        st.fractions(0, 4, max_denominator=12).filter(bool),
        [Fraction(1), Fraction(3, 2), Fraction(3), c],
        keeps=lambda number, limit: number < limit,
    )


UP_TO_4 = st.fractions(0, 4, max_denominator=12)
MODELS = {
    "average risk": Model(
        "average risk <= {} on x, y",
        "average risk",
        risk,
        st.fractions(0, 1, max_denominator=12).filter(bool),
        [Fraction(1, 5), Fraction(1, 3), Fraction(1, 10)],
        whole=sum,
        columns="x, y, cls",
    ),
    "beta": Model("beta <= {} of s on x, y", "largest gain", gain, UP_TO_4, [Fraction(2, 3)]),
    "enhanced beta": Model(
        "enhanced beta <= {} of s on x, y", "largest gain", enhanced_gain, UP_TO_4, [Fraction(2, 3)]
    ),
    "delta": Model(
        "delta <= {} of s on x, y",
        "largest delta",
        change,
        UP_TO_4,
        [Fraction(1, 2), Fraction(2), Fraction(1), Fraction(5, 2)],
        keeps=within,
        shown=lambda change: math.inf if change == math.inf else math.log2(change),
        rows=FEW_VALUES,
        table=lambda seed: [(x, y, "flu" if s == "flu" else "other") for x, y, s in table_of(seed)],
    ),
    "recursive l = 2": recursive(2, 3),
    "recursive l = 3": recursive(3, 6),
    "recursive l = 4": recursive(4, 9),
}


# --- the audit


@pytest.mark.parametrize("name", MODELS)
@given(rows=ROWS, data=st.data())
@HALF
def test_the_audit_judges_as_the_definition(name: str, rows: list[Row], data: st.DataObject) -> None:
    model = MODELS[name]
    limit = data.draw(model.limits)
    (finding,) = opened(rows, ("x", "y", "s")).audit("t", [model.asked(limit)]).findings
    broken = model.violating(rows, limit)
    assert (finding.classes, finding.violating_classes) == (len(class_counts(rows)), broken)
    assert finding.holds == (not broken)
    assert finding.reached == pytest.approx(model.reached(rows), abs=1e-12)


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


@pytest.mark.parametrize("name", ["average risk", "delta", "recursive l = 2", "recursive l = 3"])
@given(data=st.data())
@HALF
def test_pruning_is_exact(name: str, data: st.DataObject) -> None:
    model = MODELS[name]
    rows, limit = data.draw(model.rows), data.draw(st.sampled_from(model.tried))
    assume(rows)
    assert_prunes_exactly(model, rows, limit)


def assert_prunes_exactly(model: Model, rows: Sequence[Row], limit: Any) -> None:
    def holds(shown: float | Fraction) -> bool:
        return model.keeps(shown, limit) if model.shown is float else shown <= limit

    def number(table: Sequence[Row]) -> Any:
        found = model.number(table)
        return found if model.shown is float else model.shown(found)

    assert_steps_are_the_oracles(rows, model.asked(limit), number, holds)


def test_pruning_is_exact_where_many_classes_are_equally_small() -> None:
    rows = [(x, y, s) for x in "ab" for y in "xy" for s in ("flu", "cold", "hiv")]
    assert_prunes_exactly(MODELS["average risk"], rows, Fraction(1, 3))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("name", "limit"),
    [
        ("average risk", Fraction(1, 10)),
        ("beta", Fraction(2, 3)),
        ("enhanced beta", Fraction(2, 3)),
        ("delta", Fraction(1)),
        ("delta", Fraction(5, 2)),
        ("recursive l = 2", 3),
        ("recursive l = 3", 6),
    ],
)
def test_releases_keep_it_and_say_what_they_reached(method: str, name: str, limit: Any) -> None:
    model, refined = MODELS[name], 0
    for seed in (0, 1, 3):
        rows = model.table(seed)
        release = released(rows, model.asked(limit), method)
        records = records_of(release, model.columns)
        assert not model.violating(records, limit)
        source, after = number_of(release, model.measured)
        assert after == pytest.approx(model.reached(records), abs=1e-12)
        assert source == pytest.approx(model.reached(rows), abs=1e-12)
        assert release.verify().holds
        refined += len(class_counts(records)) > 1
    assert refined, "no run refined anything, so nothing was tried"


def test_every_state_of_a_run_is_measured_rightly() -> None:
    db = opened([(*row, row[1] or "no") for row in table_of(7)], ("x", "y", "s", "cls"))
    release = db.suppress("t", ["beta <= 100 of s on x, y"], class_column="cls", into="r", keep=["x"])
    for step in range(len(release.steps()) + 1):
        records = release.at(step).project("x, y, s").fetchall()
        (finding,) = opened(records, ("x", "y", "s")).audit("t", ["beta of s on x, y"]).findings
        assert finding.reached == pytest.approx(float(MODELS["beta"].number(records)), abs=1e-12)


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


@pytest.mark.parametrize(
    ("asked", "parsed", "kind", "threshold"),
    [
        ("enhanced beta <= 1 of s on x, y", "beta <= 1.5 of s on x", "beta", 1.5),
        ("delta <= 3 of s on x, y", "delta <= 1.5 of s on x", "delta", 1.5),
        ("recursive c = 3, l = 2 of s on x, y", "recursive c = 3, l = 2 of s on x", "recursive l = 2", 3.0),
    ],
)
def test_the_sql_calls_and_the_evaluation_take_it(
    asked: str, parsed: str, kind: str, threshold: float
) -> None:
    connection = duckdb.connect()
    ppdm_sql.register(connection)
    connection.execute("CREATE TABLE t (x VARCHAR, y VARCHAR, s VARCHAR, cls VARCHAR)")
    rows = [[*row, "yes" if row[1] == "x" else "no"] for row in table_of(3)]
    connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
    connection.execute("CALL ppdm_suppress('t', 'r', require := [$1], class := 'cls')", [asked])
    db = ppdm_sql.open(connection)
    assert db.release("r").verify().holds
    assert kind != "beta" or db.evaluate("r", folds=2, seeds=1).release is not None
    (parts,) = connection.execute("SELECT ppdm_parse_requirement($1)", [parsed]).fetchone() or ((),)
    assert (parts["kind"], parts["columns"], parts["sensitive"]) == (kind, ["x"], "s")
    assert parts["threshold"] == threshold


# --- the average risk, which is of the whole table


def test_it_stands_beside_k_and_the_harder_one_decides() -> None:
    rows = [(*row, "yes" if row[1] == "x" else "no") for row in table_of(1)]
    db = opened(rows, ("x", "y", "s", "cls"))
    both = ["k >= 2 on x, y", "average risk <= 8% on x, y", "average risk <= 50% on x, y"]
    records = records_of(db.suppress("t", both, class_column="cls", into="r"), "x, y, cls")
    assert MODELS["average risk"].number(records) <= Fraction(8, 100)
    assert min(held.total() for held in class_counts(records)) >= 2


@pytest.mark.parametrize("others", [[], ["k >= 2 on x"]])
def test_records_are_left_out_beside_it_though_it_names_columns_of_its_own(others: list[str]) -> None:
    rows = [*table_of(1), ("alone", "x", "flu")]
    db = opened([(*row, row[0]) for row in rows], ("x", "y", "s", "cls"))
    asked = ["average risk <= 15% on x, y", *others]
    release = db.suppress("t", asked, class_column="cls", into="r", suppress_records="5%")
    assert MODELS["average risk"].number(records_of(release, "x, y, cls")) <= Fraction(15, 100)
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
    with pytest.raises(InvalidOption, match="drives no run of two parties"):
        Ownership.of(request, columns, "t")
