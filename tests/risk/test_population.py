"""Risks in a population: closed forms, figures of the sources, and populations that are known."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

import ppdm_sql
from ppdm_sql.errors import ColumnRoleError, InvalidOption, InvalidSource, UnknownColumn
from ppdm_sql.risk.population import estimates, pitman, zayatz


def table(rows: Sequence[Sequence[Any]], heads: str) -> ppdm_sql.Database:
    con = duckdb.connect(config={"threads": 1})
    con.execute(f"CREATE TABLE t ({heads})")
    columns = [list(column) for column in zip(*rows, strict=True)]
    con.execute(f"INSERT INTO t SELECT {', '.join(['unnest(?)'] * len(columns))}", columns)
    return ppdm_sql.open(con)


# -- a population that is there --------------------------------------------------------------------


def test_with_the_population_the_risks_are_exact() -> None:
    db = table([("a",), ("a",), ("b",)], "x VARCHAR")
    db.engine.connection.execute(
        "CREATE TABLE everybody AS SELECT unnest(['a', 'a', 'a', 'a', 'b', 'c']) AS x"
    )
    prosecutor, journalist, marketer = db.risk("t", population="everybody", threshold="60%").risks
    assert (prosecutor.highest, prosecutor.average, prosecutor.share_above) == (1, 2 / 3, 1 / 3)
    assert (journalist.highest, journalist.share_above) == (1, 1 / 3)
    assert marketer.average == pytest.approx((2 / 4 + 1 / 1) / 3)
    with_counts = "CREATE TABLE counted AS FROM (VALUES ('a', 4), ('b', 10)) v(x, n)"
    db.engine.connection.execute(with_counts)
    found = db.risk("t", population="counted(n)")
    assert found.risks[1].highest == 1 / 4
    assert found.suda.fraction == 3 / 14
    assert found.estimates == ()


def test_a_population_that_lacks_a_class_is_refused() -> None:
    db = table([("a",), ("b",)], "x VARCHAR")
    db.engine.connection.execute("CREATE TABLE few AS SELECT 'a' AS x")
    with pytest.raises(InvalidSource, match="lacks 1 classes"):
        db.risk("t", population="few")
    db.engine.connection.execute("CREATE TABLE other AS SELECT 'a' AS y")
    with pytest.raises(UnknownColumn, match="no column 'x'"):
        db.risk("t", population="other")


def test_a_population_smaller_than_the_table_is_refused() -> None:
    db = table([("a",), ("b",)], "x VARCHAR")
    for given_as in (1, "1", " 1 "):
        with pytest.raises(InvalidOption, match="The population has 1 persons, and the table 2"):
            db.risk("t", population=given_as)


# -- a population of which the size is known -------------------------------------------------------


def test_zayatz_in_closed_form() -> None:
    # two classes of one and one of two among 4 of 8: h1 = 1/2, h2 = 2 C(6, 3) / C(8, 4) = 4/7
    once, twice = 1 / 2, 2 * math.comb(6, 3) / math.comb(8, 4)
    share = 2 * once / (2 * once + 1 * twice)
    assert zayatz({1: 2, 2: 1}, 8) == pytest.approx(2 * share / 0.5)


def test_a_whole_population_has_the_uniques_that_are_seen() -> None:
    assert zayatz({1: 5, 2: 3, 7: 1}, 18) == pytest.approx(5)


def test_pitman_is_at_the_maximum_of_the_likelihood() -> None:
    sizes = {1: 400, 2: 120, 3: 50, 4: 30, 6: 12, 10: 5}
    n, u = sum(size * count for size, count in sizes.items()), sum(sizes.values())

    def against(given: Any) -> float:
        theta, alpha = given
        if not (0 < alpha < 1 and theta > -alpha):
            return math.inf
        found = sum(math.log(theta + i) for i in range(1, n))
        found -= sum(math.log(theta + i * alpha) for i in range(1, u))
        return found - sum(c * sum(math.log(i - alpha) for i in range(1, j)) for j, c in sizes.items())

    theta, alpha = minimize(against, [100, 0.5], method="Nelder-Mead").x
    uniques = math.exp(math.lgamma(theta + 1) - math.lgamma(theta + alpha) + alpha * math.log(20_000))
    assert pitman(sizes, 20_000) == pytest.approx(uniques, rel=1e-4)


def test_without_a_solution_the_rule_takes_zayatz_and_says_so() -> None:
    found = {one.model: one for one in estimates({1: 60}, 6000)}
    assert (found["Pitman"].converged, found["Pitman"].population_uniques) == (False, None)
    assert found["Dankar"].chosen == "Zayatz"
    assert found["Dankar"].population_uniques == found["Zayatz"].population_uniques
    assert pitman({1: 60}, 6000) is None


def test_the_rule_takes_pitman_for_small_samples_only() -> None:
    sizes = {1: 400, 2: 120, 3: 50, 4: 30, 6: 12, 10: 5}
    assert [estimates(sizes, size)[2].chosen for size in (20_000, 5_000)] == ["Pitman", "Zayatz"]


def test_no_sample_unique_makes_no_population_unique() -> None:
    assert [one.population_uniques for one in estimates({2: 5, 3: 2}, 1000)] == [0, None, 0]


@pytest.mark.parametrize(("fraction", "within"), [(0.05, 0.35), (0.3, 0.2)])
def test_the_rule_is_near_the_truth_of_a_known_population(fraction: float, within: float) -> None:
    drawn = random.Random(5)
    people = [
        (min(int(drawn.expovariate(1 / 30)), 90), drawn.randrange(2), int(drawn.paretovariate(0.7)) % 400)
        for _ in range(40_000)
    ]
    truth = Counter(Counter(people).values())[1]
    sample = drawn.sample(people, int(fraction * len(people)))
    sizes = Counter(Counter(sample).values())
    rule = estimates(sizes, len(people))[2]
    assert rule.converged
    assert rule.population_uniques == pytest.approx(truth, rel=within)
    found = table(sample, "age INTEGER, sex INTEGER, area INTEGER").risk("t", population=len(people))
    assert [one.model for one in found.estimates] == ["Zayatz", "Pitman", "Dankar"]
    assert found.estimates[2] == rule
    assert found.suda.fraction == pytest.approx(fraction)


@given(st.dictionaries(st.integers(1, 40), st.integers(1, 300), min_size=1, max_size=6), st.integers(1, 1000))
def test_estimates_are_within_the_population(sizes: dict[int, int], times: int) -> None:
    population = times * sum(size * count for size, count in sizes.items())
    for one in estimates(sizes, population):
        uniques = one.population_uniques
        assert one.converged == (uniques is not None)
        assert uniques is None or -1e-6 <= uniques <= population * (1 + 1e-9)


# -- weights ---------------------------------------------------------------------------------------

INDIVIDUAL = [(2, 3, 1, 18.0), (3, 3, 3, 45.5), (2, 3, 1, 39.0), (2, 3, 2, 17.0)]
INDIVIDUAL += [(3, 3, 1, 92.0), (3, 3, 1, 8.0), (1, 4, 1, 123.5), (2, 3, 1, 51.0)]


def test_individual_risks_are_those_of_sdcmicro() -> None:
    # sdcMicro, test_indivRisk.R: "method = exact, qual = default, survey = TRUE"
    printed = [0.01355297, 0.08579129, 0.01355297, 0.17707583, 0.01877883, 0.01877883, 0.03931625, 0.01355297]
    db = table(INDIVIDUAL, "a INTEGER, b INTEGER, c INTEGER, w DOUBLE")
    (found,) = db.risk("t", weights="w", threshold="5%").summed
    assert found.of == "records"
    assert found.number == 8
    assert found.expected == pytest.approx(sum(printed), abs=1e-7)
    assert found.highest == pytest.approx(max(printed), abs=1e-8)
    assert found.average == pytest.approx(sum(printed) / 8, abs=1e-8)
    assert found.share_above == 2 / 8


@pytest.mark.parametrize(
    ("f", "weight"), [(1, 1.0), (1, 3.5), (2, 1.2), (7, 5.0), (100, 2.0), (150, 9.0), (40, 1.01)]
)
def test_an_individual_risk_is_its_integral(f: int, weight: float) -> None:
    # E(1 / F | f) = p times the integral of y^(f - 1) / (p + (1 - p) y) over [0, 1]
    p, steps = 1 / weight, 200_000
    middle = ((i + 0.5) / steps for i in range(steps))
    wanted = p * sum(y ** (f - 1) / (p + (1 - p) * y) for y in middle) / steps
    db = table([(1, weight)] * f, "x INTEGER, w DOUBLE")
    (found,) = db.risk("t", by="x", weights="w").summed
    assert found.highest == pytest.approx(wanted, rel=1e-5)


def test_a_household_is_found_by_any_of_its_members() -> None:
    rows = [("a", 1), ("a", 1), ("b", 1), ("b", 2), ("c", 2), ("d", 3)]
    (found,) = table(rows, "x VARCHAR, home INTEGER").risk("t", household="home").summed
    # records: 1/2, 1/2, 1/2, 1/2, 1, 1; households: 1 - 1/8, 1, 1
    assert (found.of, found.number) == ("households", 3)
    assert found.expected == pytest.approx(7 / 8 + 2, abs=1e-9)
    assert found.highest == 1


def test_a_person_counts_once_with_their_weight() -> None:
    rows = [("a", "p", 4.0), ("a", "p", 4.0), ("a", "q", 2.0), ("b", "q", 2.0)]
    db = table(rows, "x VARCHAR, who VARCHAR, w DOUBLE")
    (found,) = db.risk("t", by="x", person="who", weights="w").summed
    (plain,) = (
        table([("a", 4.0), ("a", 2.0), ("b", 2.0)], "x VARCHAR, w DOUBLE").risk("t", weights="w").summed
    )
    assert (found.of, found.number) == ("persons", 3)
    assert (found.expected, found.highest) == (plain.expected, plain.highest)


@pytest.mark.parametrize("weight", [None, 0.0, -1.0, math.inf, math.nan])
def test_weights_that_stand_for_nobody_are_refused(weight: float | None) -> None:
    with pytest.raises(InvalidSource, match="in 1 row. Say"):
        table([("a", 2.0), ("b", weight)], "x VARCHAR, w DOUBLE").risk("t", weights="w")


def test_roles_are_checked() -> None:
    db = table([("a", 2.0, None)], "x VARCHAR, w DOUBLE, home INTEGER")
    with pytest.raises(InvalidSource, match="not numbers"):
        db.risk("t", weights="x")
    with pytest.raises(InvalidSource, match="household column 'home' is NULL in 1 row"):
        db.risk("t", household="home")
    with pytest.raises(ColumnRoleError, match="'w' is named in two roles"):
        db.risk("t", by="w", weights="w")
    with pytest.raises(UnknownColumn, match="weigth"):
        db.risk("t", weights="weigth")
