"""Whether the marginal can be kept is told without a solver, and as trying all numbers tells it."""

from __future__ import annotations

from itertools import product

import numpy as np

from ppdm_sql.methods.swapping.marginals import Demand, joint, least_deviation


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
