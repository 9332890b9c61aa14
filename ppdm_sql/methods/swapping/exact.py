"""Phase II solved to optimality: prices for every category, in boxes, and a program for the ties.

1. Prices are improved step by step. A look tells which choices records have while each price stays within its
   box, and a program over the classes of alike records gives the best prices there. Boxes of prices that want
   to move farther are widened, all others get smaller; as long as there are too many classes their excesses
   are rounded, and a sample of them is taken.
2. In large tables first prices come from a sample of the records, and records whose choice no price within
   reach changes are set apart, as a constant.
3. A program decides the records near a tie (see :mod:`ppdm_sql.methods.swapping.class_program`). It is
   solved again with a larger limit until its plan is within the limit of the bound, which proves it optimal.

Source: Li and Sarkar 2004, problem (12), solved here by Lagrangian relaxation.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace

import numpy as np

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.errors import EngineError
from ppdm_sql.methods.swapping.class_program import Better, ClassProgram
from ppdm_sql.methods.swapping.identification import Counts
from ppdm_sql.methods.swapping.marginal import Demand
from ppdm_sql.methods.swapping.posteriors import SCALE, Units
from ppdm_sql.methods.swapping.prices import CuttingPlane, Goal, Prices
from ppdm_sql.methods.swapping.record_classes import (
    EVERYTHING,
    Boxes,
    Level,
    RecordScan,
    look,
    narrowed,
    tied,
)

logger = logging.getLogger("ppdm_sql")
SAMPLE = 40_000
"""Records on which the first prices are sought."""
OPEN = 60_000
"""Records that need no narrowing."""
REACH = 6
"""Boxes that a narrowed table reaches."""
WIDE, FINE = SCALE // 2, SCALE // 50
"""First boxes: without any prices, and around those that a sample gives to the most frequent category."""
MOST, MANY, RECORDS = 700, 4_000, 250
"""Classes in a program for prices: from, up to, and by how many records that are looked at."""
WIDEST = SCALE // 10
"""Largest of the boxes around a sample's prices."""
LITTLE = 100_000
"""A sample's search is over when a step gains less than one in so many, a record."""
NARROWER, WIDER, FARTHEST = 4, 3, 100 * SCALE
"""How boxes change: divided and multiplied by this, and never larger than that."""
STEPS = 60
"""Looks that a search for prices takes at most."""
CLOSE, WIDENING = 1_000, 64
"""First limit of the excesses that the last program looks at, an even number, and by how much it grows."""


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


class Exact:
    """One solution of Phase II.

    Args:
        engine: Where the units are.
        units: The records that may change.
        goal: What the plan must reach.
    """

    def __init__(self, engine: Engine, units: Units, goal: Goal) -> None:
        self.engine, self.units, self.goal = engine, units, goal
        size = goal.categories
        self.rounds, self.prices = 0, Prices.zero(size)
        everywhere = Boxes.even(size, EVERYTHING)
        self._open = units.rows
        self.levels = [Level(units.table, units.rows, CuttingPlane.none(size), self.prices, everywhere)]

    def solve(self) -> Solution:
        """Find the optimum.

        Cost: a few scans of all units, and some of those that are open; for two values, a sort instead.
        """
        if self.goal.categories == 2:
            self._two_prices()
        elif self.units.rows > 2 * SAMPLE:
            self._sampled_prices()
            self._search(self._sample_boxes())
        else:
            self._search(self._boxes(WIDE))
        return self._closed()

    # -- prices ---------------------------------------------------------------------------------

    def _boxes(self, side: int) -> Boxes:
        """Give the same box to all prices but one: prices of entering mean something beside each other."""
        boxes = Boxes.even(self.goal.categories, side)
        boxes.enter[np.argmax(self.goal.demand.unique)] = 0
        return boxes

    def _sample_boxes(self) -> Boxes:
        """Give boxes around a sample's prices: the fewer records, the less a sample tells of their price."""
        records = np.maximum(1, self.goal.demand.unique)
        sides = np.minimum(WIDEST, FINE * np.sqrt(records.max() / records)).astype(np.int64)
        return Boxes(np.where(self._boxes(1).enter, sides, 0), sides)

    def _search(self, boxes: Boxes, little: int = 0) -> None:
        """Improve the prices until they are the best ones, or until a step gains little.

        Args:
            boxes: How far they may move at first.
            little: What is little, in units of 1 / SCALE.
        """
        seen = self._look(self.prices, boxes, rounded=True)
        for _ in range(STEPS):
            better = ClassProgram(self.goal, seen).better_prices()
            inside = not better.at_side.any()
            if inside and seen.exact:
                self.prices = better.prices
                return
            rounded = len(seen.choosing) < seen.near or seen.near > MOST
            after = self._look(better.prices, _next_boxes(seen.boxes, better), rounded=rounded)
            if after.bound > seen.bound:
                gain, seen = after.bound - seen.bound, after
                if gain < little:
                    self.prices = seen.prices
                    return
            elif seen.boxes.largest <= NARROWER:
                break
            else:
                smaller = Boxes(seen.boxes.enter // NARROWER, seen.boxes.leave // NARROWER)
                seen = self._look(seen.prices, smaller, rounded=rounded)
            self.prices = seen.prices

    def _look(self, prices: Prices, boxes: Boxes, *, rounded: bool) -> RecordScan:
        self.rounds += 1
        level = self._level(prices, boxes)
        most = min(max(MOST, level.rows // RECORDS), MANY)
        most = most if rounded else 2 * most
        seen = look(self.engine, level, prices, boxes, self.goal, rounded=rounded, most=most)
        self._open = seen.open
        logger.info("round %d: lower bound %.6g, %d records open", self.rounds, seen.bound / SCALE, seen.open)
        return seen

    def _level(self, prices: Prices, boxes: Boxes) -> Level:
        """Give the narrowest level that holds the boxes; make one where that pays."""
        while not self.levels[-1].holds(prices, boxes):
            self.engine.discard(self.levels.pop().table)
        level = self.levels[-1]
        smaller = 2 * REACH * boxes.largest <= level.reach.largest
        if smaller and level.rows > OPEN and 2 * REACH * self._open <= level.rows:
            reach = Boxes(*(np.maximum(CLOSE, box * REACH) for box in (boxes.enter, boxes.leave)))
            self.levels.append(narrowed(self.engine, level, prices, reach, self._columns()))
        return self.levels[-1]

    def _columns(self) -> list[str]:
        return [*self.units.keys, "k", "own", *(f"p{h}" for h in range(self.units.categories))]

    def _sampled_prices(self) -> None:
        """Find prices that are good for records taken by a hash of their key."""
        part = self.units.rows // SAMPLE
        table = self.engine.materialize(
            "sample",
            f"SELECT * FROM {self.units.table} WHERE hash({', '.join(self.units.keys)}) % {part} = 0",
        )
        size = self.goal.categories
        found: dict[int, int] = dict(
            self.engine.query(f"SELECT k, count(*) FROM {table} GROUP BY 1", step="sample")
        )
        counts = np.array([found.get(kind, 0) for kind in range(2 * size)], dtype=np.int64)
        sample = replace(self.units, table=table, unique=counts[:size], grouped=counts[size:])
        part_of = Exact(self.engine, sample, _in_proportion(self.goal, counts, self.units.rows))
        part_of._search(part_of._boxes(WIDE), SCALE // LITTLE * int(counts.sum()))
        self.prices, self.rounds = part_of.prices, part_of.rounds
        self.engine.discard(table)

    def _two_prices(self) -> None:
        """Let the cheapest records move: with two values it is known how many of either."""
        demand = self.goal.demand
        net = int(demand.grouped[1] - demand.grouped[0]) if self.goal.net is None else -int(self.goal.net[0])
        first = min(max((demand.changes + net) // 2, int(demand.low[0])), int(demand.high[0]))
        wanted = first, demand.changes - first
        place = "row_number() OVER (PARTITION BY k ORDER BY own - CASE k WHEN 0 THEN p1 ELSE p0 END)"
        ends: dict[int, int] = dict(
            self.engine.query(
                f"SELECT k, own - CASE k WHEN 0 THEN p1 ELSE p0 END FROM {self.units.table} WHERE k < 2 "
                f"QUALIFY {place} = CASE k WHEN 0 THEN {wanted[0]} ELSE {wanted[1]} END",
                step="cheapest",
            )
        )
        self.rounds += 1
        least, most = ends.get(0, min(ends.values(), default=0)), ends.get(1, min(ends.values(), default=0))
        half = (least - most) // 2
        self.prices = Prices((0, half), (least - half, most + half))

    # -- the plan -------------------------------------------------------------------------------

    def _closed(self) -> Solution:
        """Decide the ties within wider and wider limits, until the plan is within the limit of the bound."""
        limit = CLOSE
        while True:
            self.rounds += 1
            boxes = Boxes.even(self.goal.categories, limit // 2)
            seen = look(self.engine, self._level(self.prices, boxes), self.prices, boxes, self.goal)
            proved, within = seen.bound / SCALE, limit / SCALE
            logger.info("round %d: lower bound %.6g, ties within %.3g", self.rounds, proved, within)
            decided = ClassProgram(self.goal, seen).decide()
            if decided is not None and (decided.excess <= limit or limit >= EVERYTHING):
                break
            if limit >= EVERYTHING:
                raise EngineError(
                    "No plan keeps what was asked.", "Give --share 0,1, or another --proportion."
                )
            known = EVERYTHING if decided is None else decided.excess + decided.excess % 2
            limit = min(known, WIDENING * limit)
        ties = tied(self.engine, self.levels[-1].table, self.units.keys, self.prices, limit)
        objective = seen.bound + decided.excess
        kinds = seen.choosing.kinds
        return Solution(self.prices, ties, kinds, decided.moved, objective, seen.bound, self.rounds)


def _next_boxes(boxes: Boxes, better: Better) -> Boxes:
    """Widen the boxes of prices at their sides; narrow the others, faster where none is at its side."""
    inside = not better.at_side.any()
    sides = []
    for box, step, at_side in zip((boxes.enter, boxes.leave), better.step, better.at_side, strict=True):
        if inside:
            next_box = np.maximum(box // NARROWER, np.minimum(box, step) // 2)
        else:
            next_box = np.maximum(box // 2, np.minimum(box, 2 * step))
        sides.append(np.where(at_side, np.minimum(FARTHEST, WIDER * box), next_box))
    return Boxes(sides[0], sides[1])


def _in_proportion(goal: Goal, counts: Counts, rows: int) -> Goal:
    """Ask of a sample what is asked of all."""
    demand, size = goal.demand, goal.categories
    unique, share = counts[:size], counts.sum() / rows
    part = unique / np.maximum(1, demand.unique)
    low = np.floor(demand.low * part).astype(np.int64)
    high = np.minimum(unique, np.ceil(demand.high * part).astype(np.int64))
    changes = round(demand.changes * int(unique.sum()) / max(1, int(demand.unique.sum())))
    changes = min(max(changes, int(low.sum())), int(high.sum()))
    net = None if goal.net is None else np.rint(goal.net * share).astype(np.int64)
    asked = Demand(unique, counts[size:], changes, low, high)
    return Goal(asked, 2 * round(goal.deviation * share / 2), net)
