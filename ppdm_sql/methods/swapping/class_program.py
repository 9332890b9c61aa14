"""The program over the classes that have a choice: for better prices, or for the plan itself.

A plan costs the bound plus its excesses, plus what it gives away at bounds of the goal that it does not use.
So whoever knows a plan within ``gap`` of the bound knows that no better plan holds an excess above the gap,
and a program over all choices of less excess has the optimum. Once it is fixed how many records leave each
category it is a transportation problem, whose corners are whole; so only these numbers are asked to be whole.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.errors import EngineError
from ppdm_sql.methods.swapping.identification import Counts
from ppdm_sql.methods.swapping.linear_programs import ArrayProgram, Indices, Optimum
from ppdm_sql.methods.swapping.prices import Goal, Prices, least_leaving
from ppdm_sql.methods.swapping.record_classes import RecordScan

NEARLY = 1e-5
"""How far a solver's whole number may be from one."""


@dataclass(frozen=True)
class Decided:
    """The plan of the classes.

    Args:
        moved: Records of each class by choice, the last one staying; the shape of ``Classes.excess``.
        excess: By how much the plan is above the bound, in units of 1 / SCALE.
    """

    moved: Counts
    excess: int


@dataclass(frozen=True)
class Better:
    """Prices that the program gives.

    Args:
        prices: The prices.
        step: How far each moved, absolutely: of entering, then of leaving, shape (2, C).
        at_side: Which would move farther than their boxes, shape (2, C).
    """

    prices: Prices
    step: Counts
    at_side: NDArray[np.bool_]


class ClassProgram:
    """The program over what a look found.

    Its rows: one for each class; then the sums of steps, gains and losses; then entering and leaving for
    each category.

    Args:
        goal: What a plan must reach.
        seen: The look.
    """

    def __init__(self, goal: Goal, seen: RecordScan) -> None:
        self.goal, self.seen, self.size = goal, seen, goal.categories
        _, marginal, used = least_leaving(seen.prices, goal.demand)
        self.used = np.array(used, dtype=np.int64)
        self.enter = np.array(seen.prices.enter, dtype=np.int64)
        self.leave_excess = np.array(seen.prices.leave, dtype=np.int64) - marginal
        self.unit = float(max(1, seen.choosing.excess.max(initial=1)))
        self.classes, self.choices = np.nonzero(seen.choosing.excess >= 0)
        self.sums = len(seen.choosing)
        self.entering, self.leaving = self.sums + 3, self.sums + 3 + self.size

    def better_prices(self) -> Better:
        """Solve without whole numbers, each price within its box; give the prices of that optimum.

        They are the best ones in the boxes if the classes are exact.
        """
        program = self._built(choices=False, steps=False)
        boxes = np.stack([self.seen.boxes.enter, self.seen.boxes.leave])
        loosened = [
            [self._loosened(program, rows, sign, box) for sign in (1.0, -1.0)]
            for rows, box in zip((self.entering, self.leaving), boxes, strict=True)
        ]
        answer = program.solve(self._right())
        if answer is None:
            raise EngineError("No prices keep what was asked.", "Give --share 0,1, or another --proportion.")
        duals = np.rint(answer.duals[self.entering :] * self.unit).astype(np.int64)
        enter, leave = duals[: self.size], duals[self.size :]
        at_side = (answer.values[np.array(loosened)] > NEARLY).any(axis=1) & (boxes > 0)
        prices = self.seen.prices.plus(enter.tolist(), (leave + enter).tolist())
        return Better(prices, np.abs(np.stack([enter, leave])), at_side)

    def _loosened(self, program: ArrayProgram, rows: int, sign: float, box: Counts) -> Indices:
        """Let equations be broken at the price of a box's side."""
        columns = program.add(0, np.inf, box / self.unit)
        program.put(rows + np.arange(self.size), columns, sign)
        return columns

    def decide(self) -> Decided | None:
        """Solve for whole records; None where these choices cannot reach the goal."""
        for choices in (False, True):
            answer = self._built(choices=choices, steps=True).solve(self._right())
            if answer is None:
                return None
            chosen = answer.values[: len(self.classes)]
            if np.abs(chosen - np.rint(chosen)).max(initial=0.0) <= NEARLY:
                return self._decided(answer)
        raise EngineError("The solver gave a part of a record.", "Try another --seed or --proportion.")

    def _built(self, *, choices: bool, steps: bool) -> ArrayProgram:
        """Make the program; asked to be whole are the choices, or the steps, or none."""
        program, every = ArrayProgram(self.leaving + self.size), np.arange(self.size)
        self._choose(program, whole=choices)
        # how many more or fewer leave a category than where that is cheapest
        low, high = (np.array(side) - self.used for side in (self.goal.demand.low, self.goal.demand.high))
        columns = program.add(low, high, self.leave_excess / self.unit, whole=steps)
        for rows, value in ((self.sums, 1.0), (self.entering + every, -1.0), (self.leaving + every, -1.0)):
            program.put(rows, columns, value)
        # records that each category gains and loses, where the marginal cannot be kept
        ends = (self.enter.min(), -1.0), (self.enter.max(), 1.0)
        for place, (end, sign) in enumerate(ends):
            cost = np.abs(self.enter - end) / self.unit
            columns = program.add(0, np.full(self.size, self._half), cost, whole=steps)
            program.put(self.sums + 1 + place, columns, 1.0)
            program.put(self.entering + every, columns, sign)
        return program

    def _choose(self, program: ArrayProgram, *, whole: bool) -> None:
        """A number of records for each class and choice, which use the class up."""
        choosing = self.seen.choosing
        cost = choosing.excess[self.classes, self.choices] / self.unit
        columns = program.add(0, np.inf, cost, whole=whole)
        program.put(self.classes, columns, 1.0)
        moving = self.choices < self.size
        program.put(self.entering + self.choices[moving], columns[moving], 1.0)
        kinds = choosing.kinds[self.classes]
        unique = moving & (kinds < self.size)
        program.put(self.leaving + kinds[unique], columns[unique], 1.0)

    @property
    def _half(self) -> int:
        return 0 if self.goal.net is not None else self.goal.deviation // 2

    def _right(self) -> NDArray[np.float64]:
        """Give the equations' right sides: records of the classes, sums, entering, leaving."""
        net = 0 if self.goal.net is None else self.goal.net
        enter = self.used + self.goal.demand.grouped + net - self.seen.into
        sums = [0, self._half, self._half]
        records = self.seen.choosing.records
        return np.concatenate([records, sums, enter, self.used - self.seen.left]).astype(float)

    def _decided(self, answer: Optimum) -> Decided:
        choosing, size = self.seen.choosing, self.size
        numbers = np.rint(answer.values).astype(np.int64)
        moved = np.zeros_like(choosing.excess)
        moved[self.classes, self.choices] = numbers[: len(self.classes)]
        steps, gains, losses = numbers[len(self.classes) :].reshape(3, size)
        # at bounds of the goal that are not used
        total = int((np.where(choosing.excess >= 0, choosing.excess, 0) * moved).sum())
        total += int((self.leave_excess * steps).sum())
        total += int(((self.enter - self.enter.min()) * gains).sum())
        total += int(((self.enter.max() - self.enter) * losses).sum())
        return Decided(moved, total)
