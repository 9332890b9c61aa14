"""Whether the marginal can be kept is told without a solver, and as the program tells it."""

from __future__ import annotations

import numpy as np

from ppdm_sql.methods.swapping.marginal_deviation import Demand, deviation_of, least_deviation


def test_the_deviation_is_that_of_the_program() -> None:
    random, kept = np.random.default_rng(3), 0
    for _ in range(120):
        unique = random.integers(1, 12, random.integers(2, 6))
        grouped = random.integers(0, 6, len(unique)) * random.integers(0, 2)
        low = random.integers(0, unique + 1) * random.integers(0, 2)
        high = np.maximum(low, random.integers(0, unique + 1)) if random.integers(0, 2) else unique
        demand = Demand(unique, grouped, int(random.integers(low.sum(), high.sum() + 1)), low, high)
        assert deviation_of(demand) == least_deviation(demand)[0]
        kept += deviation_of(demand) == 0
    assert 30 <= kept <= 90
