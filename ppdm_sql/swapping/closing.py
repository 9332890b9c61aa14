"""Ends the search: a small program decides the records near a tie, and proves that it did so best.

At given prices, what a record does instead of its best choice costs an *excess*. A plan costs the bound plus
its excesses, plus what it gives away at bounds that it does not use. So whoever knows a plan within ``gap``
of the bound knows that no better plan holds an excess above the gap, and a program over all choices of less
excess has the optimum. Once it is fixed how many records leave each category it is a transportation problem,
whose corners are whole; so only these numbers are asked to be whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.engine import Engine
from ppdm_sql.errors import EngineError
from ppdm_sql.names import Table
from ppdm_sql.swapping.identification import Counts
from ppdm_sql.swapping.prices import Cut, Goal, Prices, least_leaving, offers
from ppdm_sql.swapping.solver import Program, Term

EVERYTHING = 10**14
"""An excess above every true one, and below that of what is forbidden."""
TOP = "greatest(best, stay)"
"""SQL for what a record's best choice is worth to it."""
NEARLY = 1e-5
"""How far a solver's whole number may be from one."""


@dataclass(frozen=True)
class Classes:
    """Records near a tie, alike ones in one class.

    Args:
        kinds: True category of each class, plus the number of categories for members of groups.
        records: Records of each class.
        excess: Excess of each choice, entering a category or (last) staying; -1 where it is too much.
    """

    kinds: Counts
    records: Counts
    excess: Counts

    def __len__(self) -> int:
        return len(self.kinds)


def classes(engine: Engine, table: Table, prices: Prices, limit: int, grid: int = 1) -> Classes:
    """Count the records that have a second choice of at most so much excess; one GROUP BY.

    Args:
        engine: Where the table is.
        table: A table like ``units``.
        prices: The prices.
        limit: Largest excess, in units of 1 / SCALE.
        grid: Excesses are rounded down to multiples of this.
    """
    names = _names(prices)
    rows = engine.arrays(
        f"SELECT k, {', '.join(names)}, count(*) AS n FROM ({_excesses(table, prices, limit, grid)}) "
        f"GROUP BY ALL ORDER BY ALL",
        step="classes",
    )
    return _classes(rows, names)


def ties(
    engine: Engine, table: Table, keys: Sequence[str], prices: Prices, limit: int, *, every: bool = False
) -> tuple[Table, Classes]:
    """Group the records that have a second choice of at most so much excess, or all of them.

    Returns:
        A working table of their keys and ``class``, and the classes in their order.
    """
    names = _names(prices)
    row = ", ".join(["k", *names])
    found = engine.materialize(
        "ties",
        f"SELECT {', '.join(keys)}, {row}, dense_rank() OVER (ORDER BY {row}) - 1 AS class "
        f"FROM ({_excesses(table, prices, limit, 1, keys, every=every)})",
    )
    values = ", ".join(f"any_value({name}) AS {name}" for name in ["k", *names])
    rows = engine.arrays(
        f"SELECT class, count(*) AS n, {values} FROM {found} GROUP BY class ORDER BY class", step="classes"
    )
    return found, _classes(rows, names)


def _names(prices: Prices) -> list[str]:
    return [f"e{i}" for i in range(len(prices.enter) + 1)]


def _excesses(
    table: Table,
    prices: Prices,
    limit: int,
    grid: int,
    keys: Sequence[str] = (),
    *,
    every: bool = False,
) -> str:
    values = [
        f"CASE WHEN top - {choice} <= {limit} THEN (top - {choice}) // {grid} * {grid} ELSE -1 END AS {name}"
        for name, choice in zip(_names(prices), _choices(prices), strict=True)
    ]
    offered = offers(table, prices, [*keys, "k", "own"])
    return (
        f"SELECT {', '.join([*keys, 'k', *values])} FROM (SELECT *, {TOP} AS top FROM ({offered})) "
        f"WHERE {every} OR {near(prices, limit)}"
    )


def _classes(rows: dict[str, NDArray[Any]], names: Sequence[str]) -> Classes:
    excess = np.stack([rows[name].astype(np.int64) for name in names], axis=1)
    return Classes(rows["k"].astype(np.int64), rows["n"].astype(np.int64), excess)


def near(prices: Prices, limit: int) -> str:
    """Give SQL that tells whether a row of offers has a second choice within a limit."""
    counted = " + ".join(f"({TOP} - {choice} <= {limit})::INTEGER" for choice in _choices(prices))
    return f"{counted} >= 2"


def _choices(prices: Prices) -> list[str]:
    return [*(f"s{h}" for h in range(len(prices.enter))), "stay"]


@dataclass(frozen=True)
class Decided:
    """What the program says.

    Args:
        moved: Records of each class by choice, the last one staying; the shape of ``Classes.excess``.
        excess: By how much the plan is above the bound, in units of 1 / SCALE.
    """

    moved: Counts
    excess: int


@dataclass(frozen=True)
class Better:
    """Prices that a program gives.

    Args:
        prices: The prices.
        further: Step of those prices that are at the side of the box; None where none is.
    """

    prices: Prices
    further: Prices | None


class Closing:
    """The program over the records near a tie.

    Args:
        goal: What a plan must reach.
        prices: The prices.
        ties: The records near a tie.
        rest: What the other records do.
    """

    def __init__(self, goal: Goal, prices: Prices, ties: Classes, rest: Cut) -> None:
        self.goal, self.prices, self.ties, self.rest = goal, prices, ties, rest
        _, marginal, used = least_leaving(prices, goal.demand)
        self.used = used
        self.leave_excess = [price - marginal for price in prices.leave]
        self.unit = float(max(1, int(ties.excess.max(initial=1))))

    def better_prices(self, box: int) -> Better:
        """Solve without whole numbers, and give the prices of that optimum.

        Records that are not near a tie do not change their choice while every choice's price moves by less
        than half of their excess; within such a box the new prices are the best ones.

        Args:
            box: Farthest that a price may move, in units of 1 / SCALE.
        """
        self._build(leaving=False, choices=False, box=box)
        self.program.solve()
        enter, leave = (
            [round(price * self.unit) for price in self.program.duals(rows)]
            for rows in (self.entering, self.leaving)
        )
        used = np.array(self.program.values(self.loose)).reshape(-1, 4).T > NEARLY
        at_side = used[0] | used[1], used[2] | used[3]
        far_enter = [step * bool(far) for step, far in zip(enter, at_side[0], strict=True)]
        far_leave = [step * bool(far) for step, far in zip(leave, at_side[1], strict=True)]
        further = Prices.zero(len(enter)).plus(far_enter, np.add(far_leave, far_enter).tolist())
        better = self.prices.plus(enter, np.add(leave, enter).tolist())
        return Better(better, further if used.any() else None)

    def decide(self) -> Decided | None:
        """Solve for whole records; None where these records cannot reach the goal."""
        for choices in (False, True):
            self._build(leaving=True, choices=choices)
            if not self.program.solve():
                return None
            found = np.array(self.program.values(variable for _, _, variable in self.chosen))
            if np.abs(found - np.rint(found)).max(initial=0.0) <= NEARLY:
                return self._decided(found)
        raise EngineError("The solver gave a part of a record.", "Try another --seed or --proportion.")

    def _build(self, *, leaving: bool, choices: bool, box: int | None = None) -> None:
        self.program = Program()
        self.loose: list[Any] = []
        self._choose(whole=choices)
        self._steps(whole=leaving)
        self._net(whole=leaving)
        self._count(box)

    def _choose(self, *, whole: bool) -> None:
        """A number of records for each class and choice, which use the class up."""
        self.chosen: list[tuple[int, int, Any]] = []
        for row, (excess, records) in enumerate(zip(self.ties.excess, self.ties.records, strict=True)):
            mine = [
                (row, int(choice), self.program.number(cost=excess[choice] / self.unit, whole=whole))
                for choice in np.flatnonzero(excess >= 0)
            ]
            self.program.equal([(variable, 1.0) for _, _, variable in mine], int(records))
            self.chosen += mine

    def _steps(self, *, whole: bool) -> None:
        """Records that leave each category, above or below the cheapest number of them."""
        demand = self.goal.demand
        self.steps = [
            self.program.number(
                int(demand.low[t]) - used, int(demand.high[t]) - used, cost=excess / self.unit, whole=whole
            )
            for t, (used, excess) in enumerate(zip(self.used, self.leave_excess, strict=True))
        ]
        self.program.equal([(step, 1.0) for step in self.steps], 0)

    def _net(self, *, whole: bool) -> None:
        """Records that each category gains and loses, where the marginal cannot be kept."""
        half = 0 if self.goal.net is not None else self.goal.deviation // 2
        enter = self.prices.enter
        self.gains, self.losses = (
            [self.program.number(0, half, cost=abs(price - end) / self.unit, whole=whole) for price in enter]
            for end in (min(enter), max(enter))
        )
        for changes in (self.gains, self.losses):
            self.program.equal([(change, 1.0) for change in changes], half)

    def _count(self, box: int | None) -> None:
        """Add the constraints of leaving and entering, which may be broken at the price of a box's side."""
        size = self.goal.categories
        left: list[list[Any]] = [[] for _ in range(size)]
        come: list[list[Any]] = [[] for _ in range(size)]
        for row, choice, variable in self.chosen:
            if choice < size:
                come[choice].append(variable)
                if self.ties.kinds[row] < size:
                    left[self.ties.kinds[row]].append(variable)
        net = np.zeros(size, dtype=np.int64) if self.goal.net is None else self.goal.net
        into = self.rest.by_category.sum(axis=0)
        self.leaving, self.entering = [], []
        for t in range(size):
            out = self.used[t] + int(self.goal.demand.grouped[t])
            ones = [(variable, 1.0) for variable in come[t]]
            change = [(self.gains[t], -1.0), (self.losses[t], 1.0), (self.steps[t], -1.0)]
            self.entering.append(
                self.program.equal([*ones, *change, *self._loosened(box)], out + int(net[t]) - int(into[t]))
            )
            ones = [(variable, 1.0) for variable in left[t]]
            self.leaving.append(
                self.program.equal(
                    [*ones, (self.steps[t], -1.0), *self._loosened(box)],
                    self.used[t] - int(self.rest.left[t]),
                )
            )

    def _loosened(self, box: int | None) -> list[Term]:
        if box is None:
            return []
        pair = [self.program.number(cost=box / self.unit) for _ in range(2)]
        self.loose += pair
        return [(pair[0], 1.0), (pair[1], -1.0)]

    def _decided(self, found: NDArray[np.float64]) -> Decided:
        moved = np.zeros_like(self.ties.excess)
        for (row, choice, _), number in zip(self.chosen, found, strict=True):
            moved[row, choice] = round(number)
        # at bounds of the goal that are not used
        total = int((np.where(self.ties.excess >= 0, self.ties.excess, 0) * moved).sum())
        enter = self.prices.enter
        for weights, variables in (
            (self.leave_excess, self.steps),
            ([price - min(enter) for price in enter], self.gains),
            ([max(enter) - price for price in enter], self.losses),
        ):
            total += sum(w * n for w, n in zip(weights, self.program.wholes(variables), strict=True))
        return Decided(moved, total)
