"""Raises the lower bound by cutting planes: each look at what records do at some prices bounds it everywhere.

The bound is a sum over the true categories, and a cut for each of them tells far more than one for their
sum. The next prices are the nearest to the best ones, within a box, at which the cuts still promise
:data:`LEVEL` of what is left to gain; the best ones are the centre of the program, and its rows are
scaled by the number of records.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ppdm_sql.swapping.posteriors import SCALE
from ppdm_sql.swapping.prices import Cut, Goal, Prices, bound
from ppdm_sql.swapping.solver import Program, Term

LEVEL = 0.5
LITTLE = 0.01
KEPT = 30
"""Cuts that a program holds, the latest of them."""
Look = Callable[[Prices], Cut]


@dataclass(frozen=True)
class Found:
    """The best prices of a search.

    Args:
        prices: The prices.
        bound: What they prove.
        cut: What records do at them.
    """

    prices: Prices
    bound: int
    cut: Cut


def search(
    look: Look,
    goal: Goal,
    start: Prices,
    *,
    box: int,
    records: int,
    tolerance: float,
    most: int,
    middle: Prices | None = None,
) -> Found:
    """Look for the prices that prove most.

    Args:
        look: Tells what all records do at some prices.
        goal: What a plan must reach.
        start: Prices to begin with.
        box: How far a price may be from the middle, in units of 1 / SCALE.
        records: Records that decide, for scaling.
        tolerance: Stop when no more than this is left to gain, a record, in units of probability.
        most: Stop after so many looks.
        middle: Middle of the box; None for the best prices so far, wherever they are.
    """
    cut = look(start)
    best = Found(start, bound(cut, start, goal), cut)
    cuts = [cut]
    for _ in range(most - 1):
        scale = SCALE * records
        master = partial(_Master, cuts[-KEPT:], goal, best.prices, middle or best.prices, box, records)
        promised, prices = master().highest()
        left = promised - best.bound / scale
        if left <= tolerance:
            break
        prices = master().nearest(promised - (1 - LEVEL) * left) or prices
        cut = look(prices)
        cuts.append(cut)
        if (reached := bound(cut, prices, goal)) > best.bound:
            best = Found(prices, reached, cut)
    return best


class _Master:
    """The program of the cuts, in steps from the best prices and in units of probability a record."""

    def __init__(
        self, cuts: Sequence[Cut], goal: Goal, centre: Prices, middle: Prices, box: int, records: int
    ) -> None:
        self.goal, self.centre, self.records = goal, centre, records
        self.program = Program()
        every = range(goal.categories)
        self.enter = [
            self._step(m - p, box if h else 0)
            for h, m, p in zip(every, middle.enter, centre.enter, strict=True)
        ]
        self.leave = [self._step(m - p, box) for m, p in zip(middle.leave, centre.leave, strict=True)]
        self.terms: list[Term] = []
        self.constant = 0.0
        self._leaving()
        self._balance()
        self._costs(cuts)

    def _step(self, offset: int, box: int) -> Any:
        return self.program.number((offset - box) / SCALE, (offset + box) / SCALE)

    def highest(self) -> tuple[float, Prices]:
        """Give the highest bound that the cuts allow, a record, and the prices that reach it."""
        self.program.charge((variable, -weight) for variable, weight in self.terms)
        self.program.solve()
        variables, weights = zip(*self.terms, strict=True)
        values = self.program.values(variables)
        return self.constant + sum(v * w for v, w in zip(values, weights, strict=True)), self._reached()

    def nearest(self, level: float) -> Prices | None:
        """Give the prices nearest to the centre at which the cuts still allow a bound.

        The largest step counts, and a little the sum of them: prices that tell nothing stay as they are.
        """
        radius = self.program.number(cost=1.0)
        for step in (*self.enter, *self.leave):
            size = self.program.number(cost=LITTLE)
            self.program.at_most([(size, 1.0), (radius, -1.0)], 0)
            self.program.at_most([(step, 1.0), (size, -1.0)], 0)
            self.program.at_least([(step, 1.0), (size, 1.0)], 0)
        self.program.at_least(self.terms, level - self.constant)
        return self._reached() if self.program.solve() else None

    def _reached(self) -> Prices:
        enter, leave = (self.program.values(steps) for steps in (self.enter, self.leave))
        return Prices(
            tuple(p + round(step * SCALE) for p, step in zip(self.centre.enter, enter, strict=True)),
            tuple(p + round(step * SCALE) for p, step in zip(self.centre.leave, leave, strict=True)),
        )

    def _leaving(self) -> None:
        """Every price of leaving is a common one, plus or minus what a bound of its category is worth."""
        demand, n = self.goal.demand, self.records
        common = self.program.number(None, None)
        self.terms.append((common, demand.changes / n))
        for t, step in enumerate(self.leave):
            low, high = int(demand.low[t]), int(demand.high[t])
            loose = 0 if low <= 0 and high >= demand.unique[t] else None
            plus, minus = self.program.number(0, loose), self.program.number(0, loose)
            self.terms += [(plus, low / n), (minus, -high / n)]
            self.program.equal(
                [(common, 1.0), (plus, 1.0), (minus, -1.0), (step, -1.0)], self.centre.leave[t] / SCALE
            )

    def _balance(self) -> None:
        """What the marginal is worth: its fixed change, or the widest range of prices."""
        goal, n = self.goal, self.records
        centre = [price / SCALE for price in self.centre.enter]
        if goal.net is not None:
            self.terms += [(step, int(d) / n) for step, d in zip(self.enter, goal.net, strict=True)]
            self.constant += sum(price * int(d) for price, d in zip(centre, goal.net, strict=True)) / n
        elif goal.deviation:
            top, bottom = self.program.number(None, None), self.program.number(None, None)
            self.terms += [(top, -goal.deviation / 2 / n), (bottom, goal.deviation / 2 / n)]
            for step, price in zip(self.enter, centre, strict=True):
                self.program.at_least([(top, 1.0), (step, -1.0)], price)
                self.program.at_most([(bottom, 1.0), (step, -1.0)], price)

    def _costs(self, cuts: Sequence[Cut]) -> None:
        """What the records of each category cost is below every cut."""
        n = self.records
        costs = [self.program.number(None, None) for _ in self.enter]
        self.terms += [(cost, 1.0) for cost in costs]
        for cut in cuts:
            values, left = cut.values(self.centre), cut.left
            for t, (row, value) in enumerate(zip(cut.by_category, values, strict=True)):
                slopes = row / n
                slopes[t] -= row.sum() / n
                steps = [
                    (step, slope) for step, slope in zip(self.enter, slopes.tolist(), strict=True) if slope
                ]
                leaving = (self.leave[t], int(left[t]) / n)
                self.program.at_most([(costs[t], 1.0), *steps, leaving], value / SCALE / n)
