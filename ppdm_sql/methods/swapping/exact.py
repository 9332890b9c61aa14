"""Phase II solved to the optimum: Lagrangian prices for every category, then a program for the ties.

1. The prices with the best bound are found by the boxstep method. While each price stays within its box, most
   records are fixed, and a program over the classes of the free ones gives the best prices there. Boxes of
   prices that want to move farther are widened, all others get smaller; as long as there are too many classes
   their reduced costs are rounded, and a sample of them is taken.
2. In large tables first prices come from a sample of the records, and records that no price within reach
   frees are set apart. The posteriors of a few free records are held in memory.
3. A program decides the records near a tie (see :mod:`ppdm_sql.methods.swapping.restricted_program`). It is
   solved again with a larger limit until its plan is within the limit of the bound, which proves it optimal.

Source: Li and Sarkar 2004, problem (12); Marsten, Hogan, Blankenship 1975, "The Boxstep Method for
Large-Scale Optimization", Operations Research 23(3).
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace

import numpy as np

from ppdm_sql.engine import Engine, statements
from ppdm_sql.engine.names import Table
from ppdm_sql.errors import EngineError
from ppdm_sql.methods.base.arrays import Counts
from ppdm_sql.methods.swapping.free_posteriors import FreePosteriors
from ppdm_sql.methods.swapping.lagrangian_prices import FixedFlows, Prices, SwapConstraints
from ppdm_sql.methods.swapping.marginal_deviation import Demand
from ppdm_sql.methods.swapping.posteriors import SCALE, Candidates, kind_counts
from ppdm_sql.methods.swapping.record_classes import (
    EVERYTHING,
    Boxes,
    FreeRecords,
    Restriction,
    fix_records,
    restrict,
    tied,
)
from ppdm_sql.methods.swapping.restricted_program import PriceStep, RestrictedProgram
from ppdm_sql.methods.swapping.two_values import ChangeCosts, prices_of_two_values

logger = logging.getLogger("ppdm_sql")
SAMPLE = 40_000
"""Records on which the first prices are sought."""
FEW_FREE = 60_000
"""So many free records are looked at as they are; of more, those that can be fixed are set apart."""
MOST_HELD = 2_000_000
"""Posteriors that are held in memory, where the free records are few."""
REACH = 6
"""Boxes that the reach of a table of free records holds."""
WIDE, FINE = SCALE // 2, SCALE // 50
"""First boxes: without any prices, and around those that a sample gives to the most frequent category."""
MOST_CLASSES, MANY_CLASSES, RECORDS = 700, 4_000, 250
"""Classes in a program for prices: from, up to, and by how many records that are scanned."""
WIDEST = SCALE // 10
"""Largest of the boxes around a sample's prices."""
LITTLE = 100_000
"""A sample's search is over when a step gains less than one in so many, a record."""
NARROWER, WIDER, FARTHEST = 4, 3, 100 * SCALE
"""How boxes change: divided and multiplied by this, and never larger than that."""
STEPS = 60
"""Scans that a search for prices takes at most."""
CLOSE, WIDENING = 1_000, 64
"""First limit of the reduced costs in the last program, an even number, and by how much it grows."""


@dataclass(frozen=True)
class Solution:
    """A plan for the candidates, and its proof.

    Args:
        prices: At which every record outside ``ties`` does what is best.
        ties: Working table: the keys and ``class`` of the records that are decided one class at a time.
        kinds: True category of each class, plus the number of categories for members of groups.
        moved: Records of each class by choice, the last one staying.
        objective: What the plan costs, in units of 1 / SCALE.
        bound: What every plan costs at least; None where nothing is proved.
        rounds: Looks at the records: each a GROUP BY, or a pass over them in memory.
    """

    prices: Prices
    ties: Table
    kinds: Counts
    moved: Counts
    objective: int
    bound: int | None
    rounds: int


class ExactSearch:
    """One solution of Phase II.

    Args:
        engine: Where the candidates are.
        candidates: The records that may change.
        constraints: What the plan must keep.
    """

    def __init__(self, engine: Engine, candidates: Candidates, constraints: SwapConstraints) -> None:
        self.engine, self.candidates, self.constraints = engine, candidates, constraints
        size = constraints.categories
        self.rounds, self.prices = 0, Prices.zero(size)
        self._free_rows = candidates.rows
        everywhere = Boxes.even(size, EVERYTHING)
        every = FreeRecords(candidates.table, candidates.rows, FixedFlows.none(size), self.prices, everywhere)
        self.nested = [every]
        """Tables of free records, each a part of the one before, with a smaller reach."""

    def solve(self) -> Solution:
        """Find the optimum.

        Cost: a few scans of all candidates, and some of those that are free; for two values, a sort instead.
        """
        if self.constraints.categories == 2:
            self._prices_of_two_values()
        elif self.candidates.rows > 2 * SAMPLE:
            self._prices_of_a_sample()
            self._search(self._boxes_around_a_sample())
        else:
            self._search(self._boxes(WIDE))
        return self._plan()

    # -- prices ---------------------------------------------------------------------------------

    def _boxes(self, side: int) -> Boxes:
        """Give the same box to all prices but one: prices of entering mean something beside each other."""
        boxes = Boxes.even(self.constraints.categories, side)
        boxes.enter[np.argmax(self.constraints.demand.unique)] = 0
        return boxes

    def _boxes_around_a_sample(self) -> Boxes:
        """Give larger boxes to the fewer records: a sample tells less of their price."""
        records = np.maximum(1, self.constraints.demand.unique)
        sides = np.minimum(WIDEST, FINE * np.sqrt(records.max() / records)).astype(np.int64)
        return Boxes(np.where(self._boxes(1).enter, sides, 0), sides)

    def _search(self, boxes: Boxes, little: int = 0) -> None:
        """Improve the prices until they are the best ones, or until a step gains little.

        Args:
            boxes: How far they may move at first.
            little: What is little, in units of 1 / SCALE.
        """
        here = self._restrict(self.prices, boxes, rounded=True)
        for _ in range(STEPS):
            step = RestrictedProgram(self.constraints, here).step()
            if here.exact and not step.at_side.any():
                self.prices = step.prices
                return
            rounded = len(here.classes) < here.found or here.found > MOST_CLASSES
            there = self._restrict(step.prices, _next_boxes(here.boxes, step), rounded=rounded)
            if there.bound > here.bound:
                gain, here = there.bound - here.bound, there
                if gain < little:
                    self.prices = here.prices
                    return
            elif here.boxes.largest <= NARROWER:
                break
            else:
                smaller = Boxes(here.boxes.enter // NARROWER, here.boxes.leave // NARROWER)
                here = self._restrict(here.prices, smaller, rounded=rounded)
            self.prices = here.prices

    def _restrict(self, prices: Prices, boxes: Boxes, *, rounded: bool) -> Restriction:
        self.rounds += 1
        free = self._free(prices, boxes)
        most = min(max(MOST_CLASSES, free.rows // RECORDS), MANY_CLASSES) * (1 if rounded else 2)
        found = restrict(self.engine, free, prices, boxes, self.constraints, rounded=rounded, most=most)
        self._free_rows = found.free
        proved = found.bound / SCALE
        logger.info("round %d: lower bound %.6g, %d free records", self.rounds, proved, found.free)
        return found

    def _free(self, prices: Prices, boxes: Boxes) -> FreeRecords:
        """Give the smallest table whose reach holds the boxes; make a smaller one where that pays."""
        while not self.nested[-1].holds(prices, boxes):
            self.engine.discard(self.nested.pop().table)
        free = self.nested[-1]
        smaller = 2 * REACH * boxes.largest <= free.reach.largest
        if smaller and free.rows > FEW_FREE and 2 * REACH * self._free_rows <= free.rows:
            reach = Boxes(*(np.maximum(CLOSE, box * REACH) for box in (boxes.enter, boxes.leave)))
            self.nested.append(fix_records(self.engine, free, prices, reach, self._columns()))
        return self._held(self.nested[-1])

    def _held(self, free: FreeRecords) -> FreeRecords:
        """Hold few records in memory, as they are looked at again and again."""
        size = self.candidates.categories
        if free.posteriors is None and free.rows <= FEW_FREE and free.rows * (size + 1) <= MOST_HELD:
            posteriors = FreePosteriors.read(self.engine, free.table, size)
            self.nested[-1] = free = replace(free, posteriors=posteriors)
        return free

    def _columns(self) -> list[str]:
        posteriors = [f"p{h}" for h in range(self.candidates.categories)]
        return [*self.candidates.keys, "kind", "true_posterior", *posteriors]

    def _prices_of_a_sample(self) -> None:
        """Find prices that are good for records taken by a hash of their key."""
        part, keys = self.candidates.rows // SAMPLE, ", ".join(self.candidates.keys)
        table = self.engine.materialize(
            "sample", f"SELECT * FROM {self.candidates.table} WHERE hash({keys}) % {part} = 0"
        )
        size = self.constraints.categories
        counts = kind_counts(self.engine, table, size)
        sample = replace(self.candidates, table=table, unique=counts[:size], grouped=counts[size:])
        asked = _in_proportion(self.constraints, counts, self.candidates.rows)
        search = ExactSearch(self.engine, sample, asked)
        search._search(search._boxes(WIDE), SCALE // LITTLE * int(counts.sum()))
        self.prices, self.rounds = search.prices, search.rounds
        self.engine.discard(table)

    def _prices_of_two_values(self) -> None:
        """Let the cheapest records move: with two values it is known how many of either."""

        def costs(first: int) -> ChangeCosts:
            self.rounds += 1
            query = statements.bind(
                "swapping/costliest_changes",
                tables={"candidates": self.candidates.table},
                values={"first": first, "second": self.constraints.demand.changes - first},
            )
            rows = self.engine.query(query, step="costliest_changes")
            return ChangeCosts({(kind, place): cost for kind, place, cost in rows})

        self.prices = prices_of_two_values(self.constraints, costs)

    # -- the plan -------------------------------------------------------------------------------

    def _plan(self) -> Solution:
        """Decide the ties within wider and wider limits, until the plan is within the limit of the bound.

        What rounded prices leave open grows with the records, and the limit with it: they are levelled first.
        """
        limit = CLOSE
        while True:
            self.rounds += 1
            boxes = Boxes.even(self.constraints.categories, limit // 2)
            free = self._free(self.prices, boxes)
            restriction = restrict(self.engine, free, self.prices, boxes, self.constraints)
            proved, within = restriction.bound / SCALE, limit / SCALE
            logger.info("round %d: lower bound %.6g, ties within %.3g", self.rounds, proved, within)
            found = RestrictedProgram(self.constraints, restriction).assign_classes()
            if found is not None and (found.gap <= limit or limit >= EVERYTHING):
                break
            if limit >= EVERYTHING:
                raise EngineError(
                    "No plan keeps what was asked.", "Give --share 0,1, or another --proportion."
                )
            level = self.prices.levelled(self.constraints.demand)
            if level != self.prices:
                self.prices = level
                continue
            known = EVERYTHING if found is None else found.gap + found.gap % 2
            limit = min(known, WIDENING * limit)
        ties = tied(self.engine, self.nested[-1].table, self.candidates.keys, self.prices, limit)
        return Solution(
            prices=self.prices,
            ties=ties,
            kinds=restriction.classes.kinds,
            moved=found.moved,
            objective=restriction.bound + found.gap,
            bound=restriction.bound,
            rounds=self.rounds,
        )


def _next_boxes(boxes: Boxes, step: PriceStep) -> Boxes:
    """Widen the boxes of prices at their sides; narrow the others, faster where none is at its side."""
    inside = not step.at_side.any()
    sides = []
    for box, moved, at_side in zip((boxes.enter, boxes.leave), step.step, step.at_side, strict=True):
        if inside:
            next_box = np.maximum(box // NARROWER, np.minimum(box, moved) // 2)
        else:
            next_box = np.maximum(box // 2, np.minimum(box, 2 * moved))
        sides.append(np.where(at_side, np.minimum(FARTHEST, WIDER * box), next_box))
    return Boxes(sides[0], sides[1])


def _in_proportion(constraints: SwapConstraints, counts: Counts, rows: int) -> SwapConstraints:
    """Ask of a sample what is asked of all."""
    demand, size, net = constraints.demand, constraints.categories, constraints.net
    unique, share = counts[:size], counts.sum() / rows
    part = unique / np.maximum(1, demand.unique)
    low = np.floor(demand.low * part).astype(np.int64)
    high = np.minimum(unique, np.ceil(demand.high * part).astype(np.int64))
    changes = round(demand.changes * int(unique.sum()) / max(1, int(demand.unique.sum())))
    changes = min(max(changes, int(low.sum())), int(high.sum()))
    asked = Demand(unique, counts[size:], changes, low, high)
    part_net = None if net is None else np.rint(net * share).astype(np.int64)
    return SwapConstraints(asked, 2 * round(constraints.deviation * share / 2), part_net)
