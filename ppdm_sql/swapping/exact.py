"""Phase II solved to optimality: prices for every category, a box around them, and a program for the ties.

1. Prices are sought on a sample where the table is large.
2. In a box around them most records decide alike at all prices: they become a constant. The search goes on
   with the others, and the box shrinks, until few are left. When a side is hit the box is widened.
3. A program decides the records near a tie (see :mod:`ppdm_sql.swapping.closing`). It is solved again with a
   larger limit until its plan is within the limit of the bound, which proves it optimal.

Source: Li and Sarkar 2004, problem (12), solved here by Lagrangian relaxation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ppdm_sql.engine import Engine
from ppdm_sql.errors import EngineError
from ppdm_sql.names import Table
from ppdm_sql.swapping.closing import EVERYTHING, Better, Classes, Closing, classes, near, ties
from ppdm_sql.swapping.identification import Counts
from ppdm_sql.swapping.marginal import Demand
from ppdm_sql.swapping.posteriors import SCALE, Units
from ppdm_sql.swapping.prices import Cut, Goal, Prices, bound, offers, scan
from ppdm_sql.swapping.search import search

SAMPLE = 40_000
"""Records on which the first prices are sought."""
OPEN = 20_000
"""Records that need no narrowing."""
FEW = 50
"""Records that need no search."""
PRECISION = 1e-3
"""What the search may leave to gain, a record."""
LOOKS = 60
FARTHEST = 2 * SCALE
"""Largest step of a price, in units of 1 / SCALE."""
COARSE, FINE = SCALE // 16, SCALE // 100
"""First limit of the excesses that a program looks at: after a search on all records, and on a sample."""
NARROWER, WIDER = 8, 4
GRID = 24
"""Steps to which excesses are rounded while they are too many to tell apart."""
MOST = 2_000
"""Classes that a program for prices may have before they are rounded."""
STEPS = 60
TOLERANCE = 3e-7
"""What a search within a box may leave to gain, an open record; a solver's numbers are not nearer."""
FINEST = SCALE // 10_000
"""A box that is not searched in for smaller ones."""


@dataclass(frozen=True)
class Solution:
    """A plan over the units, and its proof.

    Args:
        prices: At which every record outside ``ties`` does what is best.
        ties: Working table: the keys and ``class`` of the records that are decided one class at a time.
        kinds: True category of each class, plus the number of categories for members of groups.
        moved: Records of each class by choice, the last one staying.
        objective: What the plan costs, in units of 1 / SCALE.
        bound: What every plan costs at least; None where nothing is proved.
        rounds: Looks at the records, each a GROUP BY.
    """

    prices: Prices
    ties: Table
    kinds: Counts
    moved: Counts
    objective: int
    bound: int | None
    rounds: int


@dataclass(frozen=True)
class Level:
    """The records that are still open within a box of prices.

    Args:
        table: A table like ``units``.
        rows: Its rows.
        constant: What all other records do, at all prices of the box.
        centre: Middle of the box.
        box: Half its width, in units of 1 / SCALE.
        slack: At all prices of the box, second choices of the other records have more excess than this.
    """

    table: Table
    rows: int
    constant: Cut
    centre: Prices
    box: int
    slack: int

    def holds(self, prices: Prices) -> bool:
        """Tell whether prices are in the box."""
        return self.farthest(prices) <= self.box

    def farthest(self, prices: Prices) -> int:
        """Give the largest distance of a price from the middle."""
        pairs = zip((*prices.enter, *prices.leave), (*self.centre.enter, *self.centre.leave), strict=True)
        return max(abs(price - middle) for price, middle in pairs)


class Exact:
    """One solution of Phase II.

    Args:
        engine: Where the units are.
        units: The records that may change.
        goal: What the plan must reach.
    """

    def __init__(self, engine: Engine, units: Units, goal: Goal) -> None:
        self.engine, self.units, self.goal = engine, units, goal
        self.rounds = 0

    def solve(self) -> Solution:
        """Find the optimum.

        Cost: about two scans of all units, and some scans of those that are open.
        """
        whole = self._whole(self.units.table, self.units.rows)
        self.levels, self.prices = [whole], Prices.zero(self.goal.categories)
        if whole.rows > 2 * SAMPLE:
            table, rows, goal = self._sample()
            part = Exact(self.engine, replace(self.units, table=table), goal)
            part.levels, part.prices = [self._whole(table, rows)], self.prices
            part.search_prices(FARTHEST)
            part.improve_prices(COARSE)
            self.prices, self.rounds = part.prices, part.rounds
            self.engine.discard(table)
            return self._closed(self.improve_prices(self._search_boxes()))
        if whole.rows > FEW:
            self.search_prices(FARTHEST)
        return self._closed(self.improve_prices(COARSE))

    # -- prices ---------------------------------------------------------------------------------

    def _whole(self, table: Table, rows: int) -> Level:
        size = self.goal.categories
        return Level(table, rows, Cut.none(size), Prices.zero(size), EVERYTHING, EVERYTHING)

    def _look(self, prices: Prices) -> Cut:
        self.rounds += 1
        level = self.levels[-1]
        return level.constant + scan(self.engine, level.table, prices)

    def search_prices(self, box: int) -> None:
        """Search by cutting planes, from the present prices and no farther than a box."""
        level = self.levels[-1]
        self.prices = search(
            self._look,
            self.goal,
            self.prices,
            box=box * (10 if self.units.blurred and box == FARTHEST else 1),
            records=max(1, level.rows),
            tolerance=PRECISION if box == FARTHEST else TOLERANCE,
            most=LOOKS,
            middle=None if box == FARTHEST else level.centre,
        ).prices

    def _search_boxes(self) -> int:
        """Search in smaller and smaller boxes until few records are open; in wider ones when a side is hit.

        Returns:
            The last box.
        """
        box = FINE
        while True:
            self.levels.append(self._narrowed(self.levels[-1], self.prices, box))
            self.search_prices(box)
            if self.levels[-1].farthest(self.prices) > 0.95 * box and box < FARTHEST:
                self.engine.discard(self.levels.pop().table)
                box = min(box * WIDER, self.levels[-1].box // 2)
            elif self.levels[-1].rows <= OPEN or box <= FINEST:
                return box
            else:
                box //= NARROWER

    def improve_prices(self, limit: int) -> int:
        """Take the prices of programs over records near a tie, ever nearer ones.

        Within half the limit of the excess of these records the prices of a program are the best ones; where
        they are at its side the limit is widened again.

        Returns:
            The last limit of their excess.
        """
        lower = bound(self._look(self.prices), self.prices, self.goal)
        for _ in range(STEPS):
            self._narrow(limit)
            found, limit, exact = self._classes(limit)
            closing = Closing(self.goal, self.prices, found, self._rest(limit))
            better = closing.better_prices(limit // 2)
            free, before = better.further is None, lower
            lower = self._farther(better, lower)
            if exact and (free or lower == before):
                break
            stay = not free and lower > before
            limit = min(COARSE, 2 * limit) if stay else max(1, limit // NARROWER)
        return limit

    def _farther(self, better: Better, lower: int) -> int:
        """Take better prices, and go on in the same direction, twice as far each time, while that helps.

        Prices of values with few records have far to go, which the box of the others does not let them.
        """
        prices, further = better.prices, better.further
        while True:
            self._widen(prices)
            reached = bound(self._look(prices), prices, self.goal)
            if reached <= lower:
                return lower
            self.prices, lower = prices, reached
            if further is None:
                return lower
            prices = prices.plus(further.enter, further.leave)
            further = further.plus(further.enter, further.leave)

    def _classes(self, limit: int) -> tuple[Classes, int, bool]:
        """Give the records near a tie, the limit that is used, and whether they are told apart exactly."""
        level = self.levels[-1]
        while True:
            if level.rows <= OPEN or limit < GRID:
                found = classes(self.engine, level.table, self.prices, limit)
                if len(found) <= MOST or limit < GRID:
                    return found, limit, True
            found = classes(self.engine, level.table, self.prices, limit, max(1, limit // GRID))
            if len(found) <= MOST:
                return found, limit, False
            limit //= 2

    def _narrow(self, limit: int) -> None:
        """Leave out the records that cannot matter while prices stay within a limit of these."""
        level = self.levels[-1]
        if level.rows > OPEN and level.box > NARROWER * limit // 2:
            self.levels.append(self._narrowed(level, self.prices, limit))

    def _widen(self, prices: Prices) -> None:
        """Go back to a level that holds the prices."""
        while not self.levels[-1].holds(prices):
            self.engine.discard(self.levels.pop().table)

    def _rest(self, limit: int) -> Cut:
        """Give what the records do that are not near a tie."""
        level = self.levels[-1]
        return level.constant + scan(
            self.engine, level.table, self.prices, f"NOT ({near(self.prices, limit)})"
        )

    def _sample(self) -> tuple[Table, int, Goal]:
        """Take records by a hash of their key, and ask the same of them in proportion."""
        part = self.units.rows // SAMPLE
        size = self.goal.categories
        table = self.engine.materialize(
            "sample",
            f"SELECT * FROM {self.units.table} WHERE hash({', '.join(self.units.keys)}) % {part} = 0",
        )
        found: dict[int, int] = dict(
            self.engine.query(f"SELECT k, count(*) FROM {table} GROUP BY 1", step="sample")
        )
        counts = np.array([found.get(kind, 0) for kind in range(2 * size)], dtype=np.int64)
        demand = _in_proportion(self.goal.demand, counts[:size], counts[size:])
        share = counts.sum() / self.units.rows
        net = None if self.goal.net is None else np.rint(self.goal.net * share).astype(np.int64)
        goal = Goal(demand, 2 * round(self.goal.deviation * share / 2), net)
        return table, int(counts.sum()), goal

    def _narrowed(self, level: Level, prices: Prices, box: int) -> Level:
        """Set apart the records whose choice is the same at all prices of a box.

        A price moves by the box at most, and a choice holds three of them: what has an excess of six times
        the box in the middle has more than three times the box everywhere.
        """
        wide = near(prices, 6 * box)
        columns = self._columns()
        table = self.engine.materialize(
            "open",
            f"SELECT {', '.join(columns)} FROM ({offers(level.table, prices, columns)}) WHERE {wide}",
        )
        fixed = scan(self.engine, level.table, prices, f"NOT ({wide})")
        ((rows,),) = self.engine.query(f"SELECT count(*) FROM {table}", step="open")
        return Level(table, rows, level.constant + fixed, prices, box, 3 * box)

    def _columns(self) -> list[str]:
        return [*self.units.keys, "k", "own", *(f"p{h}" for h in range(self.units.categories))]

    def _closed(self, limit: int) -> Solution:
        """Decide the ties within wider and wider limits, until the plan is within the limit of the bound."""
        lower = bound(self._look(self.prices), self.prices, self.goal)
        limit = max(1, limit // NARROWER)
        while True:
            while limit > self.levels[-1].slack:
                self.engine.discard(self.levels.pop().table)
            level = self.levels[-1]
            found, alike = ties(self.engine, level.table, self.units.keys, self.prices, limit)
            decided = Closing(self.goal, self.prices, alike, self._rest(limit)).decide()
            if decided is not None and (decided.excess <= limit or limit >= EVERYTHING):
                objective = lower + decided.excess
                return Solution(self.prices, found, alike.kinds, decided.moved, objective, lower, self.rounds)
            self.engine.discard(found)
            if limit >= EVERYTHING:
                raise EngineError(
                    "No plan keeps what was asked.", "Give --share 0,1, or another --proportion."
                )
            limit = min(EVERYTHING, limit * WIDER if decided is None else decided.excess)


def _in_proportion(demand: Demand, unique: Counts, grouped: Counts) -> Demand:
    """Ask of a sample what is asked of all."""
    part = unique / np.maximum(1, demand.unique)
    low = np.floor(demand.low * part).astype(np.int64)
    high = np.minimum(unique, np.ceil(demand.high * part).astype(np.int64))
    changes = round(demand.changes * int(unique.sum()) / max(1, int(demand.unique.sum())))
    return Demand(unique, grouped, min(max(changes, int(low.sum())), int(high.sum())), low, high)
