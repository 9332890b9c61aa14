"""The worked example of Li and Sarkar 2004, Tables 1 to 3."""

from __future__ import annotations

from fractions import Fraction

import duckdb
import numpy as np
import pytest
from oracle_swap import Row, limits, optimum, records
from swap_releases import identified, measured, patterns, planned

from ppdm_sql.engine import statements
from ppdm_sql.methods.swapping.candidates import SCALE, candidates
from ppdm_sql.methods.swapping.exact import EVERYTHING, find_ties, tied_classes
from ppdm_sql.methods.swapping.greedy import improve
from ppdm_sql.methods.swapping.marginals import Demand, joint, separate

HALF = Fraction(1, 2)
EVERY = (Fraction(0), Fraction(1))
STATUS = ["U", "V", "V", "V", "V", "U", "U", "", "", "U", "V", "V", "U", "", "", "U"]
VALUES = ["High", "Low", "Med"]
TABLE_3 = {
    1: (0.2269, 0.7563, 0.0168),
    6: (0.2842, 0.1895, 0.5263),
    7: (0.1698, 0.7547, 0.0755),
    10: (0.0476, 0.6349, 0.3175),
    13: (0.6090, 0.0902, 0.3008),
    16: (0.1130, 0.0502, 0.8368),
    2: (0.7431, 0.1651, 0.0917),
    4: (0.0826, 0.8257, 0.0917),
    11: (0.0769, 0.0684, 0.8547),
}
PHASE_1 = {1: "High", 6: "High", 7: "Med", 10: "Low", 13: "Med", 16: "Low", 2: "Med", 4: "High", 11: "Low"}
"""What Table 3 gives after Phase I; of groups, the member that is perturbed."""


@pytest.fixture(scope="module")
def policies() -> list[Row]:
    return duckdb.sql(statements.text("examples/policies").rstrip(";\n") + " ORDER BY No").fetchall()


def shown(policies: list[Row], number: int) -> Row:
    return policies[number - 1][1:-1]


def posteriors_found(policies: list[Row]) -> dict[Row, dict[str, float]]:
    with identified([row[1:] for row in policies]) as (engine, found):
        table = candidates(engine, found, 1, 0.0, 0.0, b"").table
        known = patterns(engine, found)
        rows = engine.query(f"SELECT w0, kind % 3, true_posterior, p0, p1, p2 FROM {table}", step="test")
    return {
        known[key,]: {
            v: (true_posterior if VALUES[t] == v else p) / SCALE for v, p in zip(VALUES, ps, strict=True)
        }
        for key, t, true_posterior, *ps in rows
    }


def test_the_status_of_every_record_is_that_of_table_1(policies: list[Row]) -> None:
    with identified([row[1:] for row in policies]) as (engine, found):
        known = patterns(engine, found)
        rows = engine.query(f"SELECT w0, records FROM {found.patterns}", step="test")
        status = {known[key,]: "U" if count == 1 else "V" for key, count in rows}
        assert [status.get(row[1:-1], "") for row in policies] == STATUS
        assert (found.unique.tolist(), found.groups.tolist()) == ([2, 2, 2], [1, 1, 1])


def test_posteriors_are_those_of_table_3(policies: list[Row]) -> None:
    found = posteriors_found(policies)
    for number, printed in TABLE_3.items():
        posterior = found[shown(policies, number)]
        assert [posterior[v] for v in ("Low", "Med", "High")] == pytest.approx(printed, abs=6e-5)


@pytest.mark.parametrize("solve", [joint, separate])
def test_phase_1_keeps_the_marginal(solve: object) -> None:
    two, one, none = (np.full(3, n, dtype=np.int64) for n in (2, 1, 0))
    found = solve(Demand(two, one, 3, none, two))  # type: ignore[operator]
    assert found.deviation == 0
    assert (found.unique.sum(), found.grouped.sum()) == (3, 3)
    if solve is separate:
        assert (found.unique.sum(axis=0) == found.unique.sum(axis=1)).all()
        assert (found.grouped.sum(axis=0) == found.grouped.sum(axis=1)).all()


def test_the_papers_swaps_lead_from_4_0718_to_2_4237(policies: list[Row]) -> None:
    with identified([row[1:] for row in policies]) as (engine, found):
        table = candidates(engine, found, 1, 0.0, 0.0, b"")
        nothing = np.zeros((2, 3), dtype=np.int64)
        ties = find_ties(engine, table, nothing, EVERYTHING, every=True)
        classes = tied_classes(engine, ties, 3)
        known = patterns(engine, found)
        rows = engine.query(f"SELECT w0, class FROM {ties}", step="test")
        class_of = {known[key,]: number for key, number in rows}
    placed = np.zeros_like(classes.reduced_costs)
    for number, value in PHASE_1.items():
        row = class_of[shown(policies, number)]
        true = classes.kinds[row] % 3
        placed[row, 3 if VALUES.index(value) == true else VALUES.index(value)] += 1
    cost = costs_of(posteriors_found(policies), {shown(policies, n): n for n in PHASE_1}, class_of, policies)
    assert float((placed * cost).sum()) == pytest.approx(4.07185, abs=5e-5)
    swapped = improve(classes, placed)
    assert float((swapped * cost).sum()) == pytest.approx(2.42375, abs=5e-5)


def costs_of(
    found: dict[Row, dict[str, float]], numbers: dict[Row, int], class_of: dict[Row, int], policies: list[Row]
) -> np.ndarray:
    """What each class pays for each value, staying last."""
    cost = np.zeros((len(class_of), 4))
    for pattern, row in class_of.items():
        true = policies[numbers[pattern] - 1][-1]
        cost[row, :3] = [found[pattern][true] - found[pattern][value] for value in VALUES]
    return cost


def test_the_optimum_is_2_13535_and_brute_force_agrees(policies: list[Row]) -> None:
    rows = [row[1:] for row in policies]
    plan, _, after = planned(rows, proportion=HALF, share=EVERY)
    deviation, least = optimum(records(rows), 3, 3, limits(EVERY, records(rows), 3))
    assert (plan.demand.deviation, deviation) == (0, 0)
    assert measured(plan, "objective") == pytest.approx(2.13535, abs=5e-6)
    assert float(least) == pytest.approx(measured(plan, "objective"), abs=1e-6)
    assert sum(record.cost(record.now) for record in after) == least
    assert measured(plan, "gap") <= 1e-8
