"""Whether the marginal can be kept is told without a solver, and as trying all numbers tells it."""

from __future__ import annotations

from itertools import product
from unittest import mock

import highspy
import numpy as np

from ppdm_sql.methods.swapping.marginals import (
    Demand,
    LinearProgram,
    feasible_proportions,
    joint,
    least_deviation,
)


def tried(demand: Demand) -> int:
    """Try all numbers of records that may leave and enter the categories."""
    total, ranges = (
        demand.total,
        [range(low, high + 1) for low, high in zip(demand.low.tolist(), demand.high.tolist(), strict=True)],
    )
    best = None
    for leave in product(*ranges):
        out = np.array(leave) + demand.grouped
        if sum(leave) != demand.changes:
            continue
        for first in product(*(range(total - int(n) + 1) for n in out[:-1])):
            into = np.array([*first, total - sum(first)])
            if 0 <= into[-1] <= total - out[-1]:
                found = int(np.abs(into - out).sum())
                best = found if best is None else min(best, found)
    assert best is not None
    return best


def test_the_deviation_is_that_of_all_numbers() -> None:
    random, kept = np.random.default_rng(3), 0
    for _ in range(150):
        unique = random.integers(1, 5, random.integers(2, 4))
        grouped = random.integers(0, 4, len(unique)) * random.integers(0, 2)
        low = random.integers(0, unique + 1) * random.integers(0, 2)
        high = np.maximum(low, random.integers(0, unique + 1)) if random.integers(0, 2) else unique
        demand = Demand(unique, grouped, int(random.integers(low.sum(), high.sum() + 1)), low, high)
        flows = joint(demand)
        assert least_deviation(demand) == tried(demand) == flows.deviation
        assert flows.unique.sum() == demand.changes
        assert (flows.grouped.sum(axis=1) == grouped).all()
        kept += flows.deviation == 0
    assert 30 <= kept <= 130


def test_the_proportions_that_keep_the_marginal_are_the_first_and_the_last_of_all() -> None:
    random = np.random.default_rng(5)
    for _ in range(100):
        unique = random.integers(0, 6, random.integers(2, 5))
        grouped = random.integers(0, 4, len(unique)) * random.integers(0, 2)
        none = np.zeros_like(unique)
        every = range(unique.sum() + 1)
        kept = [n for n in every if least_deviation(Demand(unique, grouped, n, none, unique)) == 0]
        ends = (kept[0] / max(1, unique.sum()), kept[-1] / max(1, unique.sum())) if kept else None
        assert feasible_proportions(unique, grouped) == ends


def test_a_solver_that_is_unsure_is_asked_again_without_presolving() -> None:
    """As HiGHS was on a program of 841 rows for a million records of two values."""
    real, asked = highspy.Highs.getModelStatus, list[str]()

    def unsure(solver: highspy.Highs) -> highspy.HighsModelStatus:
        asked.append(solver.getOptionValue("presolve")[1])
        return real(solver) if len(asked) > 1 else highspy.HighsModelStatus.kUnknown

    program = LinearProgram([3])
    program.put(0, program.add([0, 0], [2, 2], [1, 2]), 1.0)
    with mock.patch.object(highspy.Highs, "getModelStatus", unsure):
        found = program.solve()
    assert found is not None
    assert (found[0].tolist(), asked) == ([2, 1], ["choose", "off"])
