"""The program over the classes of free records: a step of the prices, or the plan itself.

A plan costs the bound plus the reduced costs of its choices, plus what it gives away at constraints that it
does not use to the full. So whoever knows a plan within ``gap`` of the bound knows that no better plan has a
choice whose reduced cost is above the gap, and a program over all choices of less has the optimum. Once it is
fixed how many records leave each category it is a transportation problem, whose vertices are integral; so
only these numbers are asked to be whole.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.errors import EngineError
from ppdm_sql.methods.base.arrays import Counts, Floats
from ppdm_sql.methods.swapping.lagrangian_prices import Prices, SwapConstraints, cheapest_leaving
from ppdm_sql.methods.swapping.linear_programs import ArrayProgram, Indices, Optimum
from ppdm_sql.methods.swapping.record_classes import Restriction

NEARLY = 1e-5
"""How far a solver's whole number may be from one."""


@dataclass(frozen=True)
class ClassAssignment:
    """The plan for the classes.

    Args:
        moved: Records of each class by choice, the last one staying; shaped like their reduced costs.
        gap: By how much the plan is above the bound, in units of 1 / SCALE.
    """

    moved: Counts
    gap: int


@dataclass(frozen=True)
class PriceStep:
    """Where the program moves the prices.

    Args:
        prices: The new prices.
        step: How far each moved, absolutely: of entering, then of leaving, shape (2, C).
        at_side: Which would move farther than their boxes, shape (2, C).
    """

    prices: Prices
    step: Counts
    at_side: NDArray[np.bool_]


class RestrictedProgram:
    """The program over a restriction.

    Its rows: one for each class; then the sums of the deviations from ``used``, of gains and of losses; then
    entering and leaving for each category.

    Args:
        constraints: What a plan must keep.
        restriction: The problem within boxes around prices.
    """

    def __init__(self, constraints: SwapConstraints, restriction: Restriction) -> None:
        self.constraints, self.restriction = constraints, restriction
        self.size, self.free = constraints.categories, restriction.classes
        prices = restriction.prices
        _, marginal, used = cheapest_leaving(prices, constraints.demand)
        self.used = np.array(used, dtype=np.int64)
        self.enter = np.array(prices.enter, dtype=np.int64)
        self.leave_reduced_costs = np.array(prices.leave, dtype=np.int64) - marginal
        self.unit = float(max(1, self.free.reduced_costs.max(initial=1)))
        self.classes, self.choices = np.nonzero(self.free.reduced_costs >= 0)
        self.sums = len(self.free)
        self.entering, self.leaving = self.sums + 3, self.sums + 3 + self.size

    def step(self) -> PriceStep:
        """Solve the relaxation, each price within its box, and move the prices by its duals.

        They are the best prices in the boxes if the restriction is exact.
        """
        program = self._program(whole_choices=False, whole_leaving=False)
        boxes = np.stack([self.restriction.boxes.enter, self.restriction.boxes.leave])
        violations = [
            [self._violations(program, rows, sign, box) for sign in (1.0, -1.0)]
            for rows, box in zip((self.entering, self.leaving), boxes, strict=True)
        ]
        optimum = program.solve(self._right_sides())
        if optimum is None:
            raise EngineError("No prices keep what was asked.", "Give --share 0,1, or another --proportion.")
        duals = np.rint(optimum.duals[self.entering :] * self.unit).astype(np.int64)
        enter, leave = duals[: self.size], duals[self.size :]
        at_side = (optimum.values[np.array(violations)] > NEARLY).any(axis=1) & (boxes > 0)
        prices = self.restriction.prices.plus(enter.tolist(), (leave + enter).tolist())
        return PriceStep(prices, np.abs(np.stack([enter, leave])), at_side)

    def _violations(self, program: ArrayProgram, rows: int, sign: float, box: Counts) -> Indices:
        """Let equations be violated at the cost of a box's side, which bounds their duals by the box."""
        columns = program.add(0, np.inf, box / self.unit)
        program.put(rows + np.arange(self.size), columns, sign)
        return columns

    def assign_classes(self) -> ClassAssignment | None:
        """Solve for whole records; None where these choices cannot keep the constraints."""
        for whole_choices in (False, True):
            program = self._program(whole_choices=whole_choices, whole_leaving=True)
            optimum = program.solve(self._right_sides())
            if optimum is None:
                return None
            chosen = optimum.values[: len(self.classes)]
            if np.abs(chosen - np.rint(chosen)).max(initial=0.0) <= NEARLY:
                return self._assignment(optimum)
        raise EngineError("The solver gave a part of a record.", "Try another --seed or --proportion.")

    def _program(self, *, whole_choices: bool, whole_leaving: bool) -> ArrayProgram:
        program, every = ArrayProgram(self.leaving + self.size), np.arange(self.size)
        self._add_choices(program, whole=whole_choices)
        # how many more or fewer leave a category than where that is cheapest
        demand = self.constraints.demand
        low, high = (np.array(side) - self.used for side in (demand.low, demand.high))
        columns = program.add(low, high, self.leave_reduced_costs / self.unit, whole=whole_leaving)
        for rows, value in ((self.sums, 1.0), (self.entering + every, -1.0), (self.leaving + every, -1.0)):
            program.put(rows, columns, value)
        # records that each category gains and loses, where the marginal cannot be kept
        ends = (self.enter.min(), -1.0), (self.enter.max(), 1.0)
        for place, (end, sign) in enumerate(ends):
            cost = np.abs(self.enter - end) / self.unit
            columns = program.add(0, np.full(self.size, self._half_deviation), cost, whole=whole_leaving)
            program.put(self.sums + 1 + place, columns, 1.0)
            program.put(self.entering + every, columns, sign)
        return program

    def _add_choices(self, program: ArrayProgram, *, whole: bool) -> None:
        """Add a number of records for each class and choice, which use the class up."""
        cost = self.free.reduced_costs[self.classes, self.choices] / self.unit
        columns = program.add(0, np.inf, cost, whole=whole)
        program.put(self.classes, columns, 1.0)
        moving = self.choices < self.size
        program.put(self.entering + self.choices[moving], columns[moving], 1.0)
        kinds = self.free.kinds[self.classes]
        unique = moving & (kinds < self.size)
        program.put(self.leaving + kinds[unique], columns[unique], 1.0)

    @property
    def _half_deviation(self) -> int:
        return 0 if self.constraints.net is not None else self.constraints.deviation // 2

    def _right_sides(self) -> Floats:
        net = 0 if self.constraints.net is None else self.constraints.net
        enter = self.used + self.constraints.demand.grouped + net - self.restriction.entering
        sums = [0, self._half_deviation, self._half_deviation]
        leave = self.used - self.restriction.leaving
        return np.concatenate([self.free.records, sums, enter, leave]).astype(float)

    def _assignment(self, optimum: Optimum) -> ClassAssignment:
        """Round the plan, and add up its gap in whole numbers."""
        numbers = np.rint(optimum.values).astype(np.int64)
        moved = np.zeros_like(self.free.reduced_costs)
        moved[self.classes, self.choices] = numbers[: len(self.classes)]
        leaving, gains, losses = numbers[len(self.classes) :].reshape(3, self.size)
        gap = int((np.where(self.free.reduced_costs >= 0, self.free.reduced_costs, 0) * moved).sum())
        gap += int((self.leave_reduced_costs * leaving).sum())
        gap += int(((self.enter - self.enter.min()) * gains).sum())
        gap += int(((self.enter.max() - self.enter) * losses).sum())
        return ClassAssignment(moved, gap)
