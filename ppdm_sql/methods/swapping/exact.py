"""Phase II solved to the optimum: a program over classes of alike records, at prices that fix all others.

There is a price of *entering* each category, and one of *leaving* it for each true category of a uniquely
identifiable record. A record of true category t with posteriors p enters the category h where
``p[h] + enter[h]`` is largest among the others; a unique one stays if ``p[t] + enter[t] - leave[t]`` is at
least that. What any other choice is worth less is its *reduced cost*. At any prices, what all records cost
then is a lower bound on every plan that keeps the constraints (Lagrangian relaxation); all numbers are whole,
in units of 1 / SCALE, so that bounds are exact.

1. The prices with the best bound are found by the boxstep method. While each price stays within its box, most
   records have one choice, and a program over the classes of the others gives the best prices there. Boxes
   of prices that want to move farther are widened, all others get smaller; as long as there are too many
   classes their reduced costs are rounded, and a sample of them is taken.
2. The plan is a program over all choices of little reduced cost. A plan costs the bound plus the reduced
   costs of its choices, so one within ``gap`` of the bound shows that no better plan has a choice above the
   gap; if the program had all choices up to the gap, its plan is optimal.

Prices, and the boxes around them, are arrays of shape (2, categories): of entering, and of leaving.

Source: Li and Sarkar 2004, problem (12); Marsten, Hogan, Blankenship 1975, "The Boxstep Method for
Large-Scale Optimization", Operations Research 23(3).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.errors import EngineError
from ppdm_sql.methods.base.arrays import Counts, Floats
from ppdm_sql.methods.swapping.candidates import NEVER, SCALE, Candidates, kind_counts
from ppdm_sql.methods.swapping.marginals import Demand, LinearProgram

logger = logging.getLogger("ppdm_sql")
FORBIDDEN = 2 * NEVER["BIGINT"]
"""What staying is worth to a record that must change."""
EVERYTHING = 10**14
"""A reduced cost above every true one, and below that of what is forbidden."""
WIDE, FARTHEST = SCALE // 2, 100 * SCALE
"""How far a price may move from where it is, its *box*: at first, and at most."""
NARROWER, WIDER, STEPS = 4, 3, 60
"""How boxes change: divided and multiplied by this; and how many programs for prices are solved at most."""
SAMPLE, LITTLE = 40_000, 100_000
"""Records on which first prices are sought in large tables, until a step gains one in so many a record."""
FINE, WIDEST = SCALE // 50, SCALE // 10
"""Boxes around a sample's prices: of the most frequent category, and the largest."""
ROUNDING_STEPS = 8
"""Steps of a box to which reduced costs are rounded, where there are too many classes to tell apart."""
MOST_CLASSES, MANY_CLASSES, RECORDS = 700, 4_000, 250
"""Classes in a program for prices: from, up to, and by how many records that are scanned."""
CLOSE, WIDENING = 1_000, 64
"""First limit of the reduced costs in the last program, and by how much it grows."""
NEARLY = 1e-5
"""How far a solver's whole number may be from one."""


@dataclass(frozen=True)
class RecordClasses:
    """Classes of alike records, with the reduced costs of entering each category and of staying, or -1."""

    kinds: Counts
    records: NDArray[Any]
    reduced_costs: Counts

    def where(self, rows: NDArray[Any]) -> RecordClasses:
        return RecordClasses(self.kinds[rows], self.records[rows], self.reduced_costs[rows])


@dataclass(frozen=True)
class Relaxation:
    """What records do at prices, and the bound that this proves.

    Those with several choices stand in ``classes``, all others are added up by the category that they enter
    and, unique ones, by the one that they leave. There were ``class_count`` before sampling; ``exact`` says
    that all are there with their own reduced costs.
    """

    prices: Counts
    boxes: Counts
    classes: RecordClasses
    entering: Counts
    leaving: Counts
    bound: int
    class_count: int
    exact: bool


class Solution(NamedTuple):
    """A plan: at the prices every record does what is best, but for ties, decided one class at a time."""

    prices: Counts
    ties: Table  # the keys of the records, and their class
    by_choice: Counts  # records of each class, by what they do
    objective: int  # in units of 1 / SCALE
    bound: int | None  # what every plan costs at least; None where nothing is proved


class ExactSearch:
    def __init__(self, engine: Engine, candidates: Candidates, demand: Demand) -> None:
        self.engine, self.candidates, self.demand = engine, candidates, demand
        self.size, self.rounds = candidates.categories, 0

    def solve(self) -> Solution:
        prices, boxes = np.zeros((2, self.size), dtype=np.int64), self._boxes(np.full(self.size, WIDE))
        if self.candidates.rows > 2 * SAMPLE:
            prices = self._prices_of_a_sample(prices, boxes)
            # a sample tells less of the prices of the fewer records
            records = np.maximum(1, self.candidates.unique)
            sides = np.minimum(WIDEST, FINE * np.sqrt(records.max() / records)).astype(np.int64)
            boxes = self._boxes(sides)
        return self._plan(self._best_prices(prices, boxes))

    def _boxes(self, sides: Counts) -> Counts:
        """Give boxes to all prices but one, since only differences between prices of entering matter."""
        boxes = np.stack([sides, sides])
        boxes[0, self.candidates.unique.argmax()] = 0
        return boxes

    def _prices_of_a_sample(self, prices: Counts, boxes: Counts) -> Counts:
        """Find prices that are good for records sampled by a hash of their key, under the same demand."""
        part, keys = self.candidates.rows // SAMPLE, ", ".join(self.candidates.keys)
        table = self.engine.materialize(
            "sample", f"SELECT * FROM {self.candidates.table} WHERE hash({keys}) % {part} = 0"
        )
        counts, demand = kind_counts(self.engine, table, self.size), self.demand
        unique, grouped = counts[: self.size], counts[self.size :]
        shares = unique / np.maximum(1, demand.unique)
        low = np.floor(demand.low * shares).astype(np.int64)
        high = np.minimum(unique, np.ceil(demand.high * shares).astype(np.int64))
        changes = round(demand.changes * int(unique.sum()) / max(1, int(demand.unique.sum())))
        changes = min(max(changes, int(low.sum())), int(high.sum()))
        share = counts.sum() / self.candidates.rows
        net = None if demand.net is None else np.rint(demand.net * share).astype(np.int64)
        demand = Demand(unique, grouped, changes, low, high, 2 * round(demand.deviation * share / 2), net)
        sample = replace(self.candidates, table=table, unique=unique, grouped=grouped)
        search = ExactSearch(self.engine, sample, demand)
        sample_prices = search._best_prices(prices, boxes, SCALE // LITTLE * int(counts.sum()))
        self.rounds = search.rounds
        self.engine.discard(table)
        return sample_prices

    def _best_prices(self, prices: Counts, boxes: Counts, little: int = 0) -> Counts:
        here = self._relaxation(prices, boxes, coarse=True)
        for _ in range(STEPS):
            prices, shifts, at_side = price_step(self.demand, here)
            if here.exact and not at_side.any():
                return prices
            coarse = len(here.classes.kinds) < here.class_count or here.class_count > MOST_CLASSES
            there = self._relaxation(prices, _next_boxes(here.boxes, shifts, at_side), coarse=coarse)
            if there.bound > here.bound:
                gain, here = there.bound - here.bound, there
                if gain < little:
                    break
            elif here.boxes.max() <= NARROWER:
                break
            else:
                here = self._relaxation(here.prices, here.boxes // NARROWER, coarse=coarse)
        return here.prices

    def _relaxation(
        self, prices: Counts, boxes: Counts, *, coarse: bool = False, take_sample: bool = True
    ) -> Relaxation:
        """Add up the records with one choice in the boxes, and count the others by class."""
        size, names, demand = self.size, _choices(self.size), self.demand
        most = min(max(MOST_CLASSES, self.candidates.rows // RECORDS), MANY_CLASSES) * (1 if coarse else 2)
        steps = np.maximum(1, boxes // ROUNDING_STEPS) if coarse else np.ones_like(boxes)
        rows = self.engine.arrays(
            f"SELECT kind, {', '.join(names)}, count(*) AS n, sum(cost)::BIGINT AS cost "
            f"FROM ({reduced_costs(self.candidates.table, prices, boxes, steps=steps)}) "
            "GROUP BY ALL ORDER BY ALL",
            step="relaxation",
        )
        every = _record_classes(rows, names)
        several = (every.reduced_costs >= 0).sum(axis=1) > 1
        decided, classes, number = every.where(~several), every.where(several), int(several.sum())
        flows = np.zeros((2 * size, size + 1), dtype=np.int64)
        np.add.at(flows, (decided.kinds, decided.reduced_costs.argmax(axis=1)), decided.records)
        take_sample &= number > most
        if take_sample:
            classes = sample_of_classes(classes, most)
        sizes = np.column_stack([np.tile(steps[0], (len(classes.kinds), 1)), steps[1][classes.kinds % size]])
        costs = np.where(classes.reduced_costs < 0, -1, classes.reduced_costs * sizes)
        enter: list[int] = prices[0].tolist()
        balance = -(demand.deviation // 2) * (max(enter) - min(enter))
        if demand.net is not None:
            balance = sum(price * n for price, n in zip(enter, demand.net.tolist(), strict=True))
        bound = sum(rows["cost"].tolist()) + cheapest_leaving(prices, demand)[0] + balance
        self.rounds += 1
        logger.info("round %d: lower bound %.6g, %d classes", self.rounds, bound / SCALE, number)
        return Relaxation(
            prices=prices,
            boxes=boxes,
            classes=replace(classes, reduced_costs=costs),
            entering=flows[:, :size].sum(axis=0),
            leaving=flows[:size, :size].sum(axis=1),
            bound=bound,
            class_count=number,
            exact=not take_sample and steps.max() == 1,
        )

    def _plan(self, prices: Counts) -> Solution:
        """Decide the ties within wider and wider limits, until the plan is within the limit of the bound."""
        limit = CLOSE
        while True:
            boxes = np.full((2, self.size), limit // 2)
            relaxation = self._relaxation(prices, boxes, take_sample=False)
            by_choice, gap = whole_plan(self.demand, relaxation) or (None, EVERYTHING)
            if by_choice is not None and (gap <= limit or limit >= EVERYTHING):
                break
            if limit >= EVERYTHING:
                raise EngineError(
                    "No plan keeps what was asked.", "Give --share 0,1, or another --proportion."
                )
            limit = min(gap + gap % 2, WIDENING * limit)
        ties = find_ties(self.engine, self.candidates, prices, limit)
        return Solution(prices, ties, by_choice, relaxation.bound + gap, relaxation.bound)


def _next_boxes(boxes: Counts, shifts: Counts, at_side: NDArray[np.bool_]) -> Counts:
    """Widen the boxes of prices at their sides; narrow the others, faster where none is at its side."""
    narrower = np.maximum(boxes // NARROWER, np.minimum(boxes, shifts) // 2)
    if at_side.any():
        narrower = np.maximum(boxes // 2, np.minimum(boxes, 2 * shifts))
    return np.where(at_side, np.minimum(FARTHEST, WIDER * boxes), narrower)


# -- what records do at prices --------------------------------------------------------------------


def reduced_costs(
    table: Table, prices: Counts, boxes: Counts, columns: Sequence[str] = (), steps: Counts | None = None
) -> str:
    """Give SQL for the reduced cost, rounded down to the steps, of each choice that is one in the boxes."""
    (enter, leave), size = prices.tolist(), prices.shape[1]
    worth = [entry - departure for entry, departure in zip(enter, leave, strict=True)]
    values = [f"p{h} + {price}::BIGINT" for h, price in enumerate(enter)]
    # where prices or limits are that large, a record would enter the category that it leaves
    if 2 * int(boxes.max()) + max(enter) - min(enter) >= -NEVER["INTEGER"] - SCALE:
        values = [
            f"CASE WHEN kind % {size} = {h} THEN {FORBIDDEN} ELSE {value} END"
            for h, value in enumerate(values)
        ]
    worths = [*(f"worth_{h}" for h in range(size)), "worth_stay"]
    worth_columns = ", ".join(f"{value} AS {name}" for value, name in zip(values, worths[:-1], strict=True))
    sides = [*(f"{box}::BIGINT" for box in boxes[0].tolist()), _by_kind(boxes[1].tolist() * 2)]
    lowest = ", ".join(f"{name} - {box}" for name, box in zip(worths, sides, strict=True))
    divisors = [""] * (size + 1)
    if steps is not None and steps.max() > 1:
        divisors = [*(f" // {step}" for step in steps[0].tolist()), f" // {_by_kind(steps[1].tolist() * 2)}"]
    choices = [
        f"CASE WHEN {name} + {box} >= lowest THEN (best - {name}){step} ELSE -1 END AS {choice}"
        for name, box, step, choice in zip(worths, sides, divisors, _choices(size), strict=True)
    ]
    return (
        f"SELECT {', '.join([*columns, 'kind', *choices])}, unchanged - best AS cost "
        f"FROM (SELECT *, greatest({', '.join(worths)}) AS best, greatest({lowest}) AS lowest "
        f"FROM (SELECT *, {worth_columns}, "
        f"true_posterior + {_by_kind([*worth, *[FORBIDDEN] * size])} AS worth_stay, "
        f"true_posterior + {_by_kind([*worth, *enter])} AS unchanged FROM {table}))"
    )


def _choices(size: int) -> list[str]:
    return [f"reduced_cost_{choice}" for choice in [*range(size), "stay"]]


def _by_kind(numbers: Sequence[int]) -> str:
    """Unique ones come first, by true category, then members of groups."""
    return f"([{', '.join(map(str, numbers))}]::BIGINT[])[kind + 1]"


def sample_of_classes(classes: RecordClasses, most: int) -> RecordClasses:
    """Sample about ``most`` of the ordered classes, evenly over each kind, and keep its records."""
    kinds, starts = np.unique(classes.kinds, return_index=True)
    totals = np.add.reduceat(classes.records, starts).astype(float)
    points = np.ceil(most * np.sqrt(totals) / np.sqrt(totals).sum()).astype(int)
    picks, weights = [], []
    for total, count, start, end in zip(
        totals, points, starts, [*starts[1:], len(classes.kinds)], strict=True
    ):
        marks = (np.arange(count) + 0.5) * total / count
        rows = np.searchsorted(np.cumsum(classes.records[start:end]), marks, side="right")
        rows, hits = np.unique(rows, return_counts=True)
        picks.append(rows + start)
        weights.append(hits * total / count)
    return replace(classes.where(np.concatenate(picks)), records=np.concatenate(weights))


def find_ties(
    engine: Engine, candidates: Candidates, prices: Counts, limit: int, *, every: bool = False
) -> Table:
    """Number the classes of the records with a second choice within the limit, or of all records."""
    names, keys = _choices(candidates.categories), candidates.keys
    row = ", ".join(["kind", *names])
    choices = " + ".join(f"({name} >= 0)::INTEGER" for name in names)
    boxes = np.full((2, candidates.categories), limit // 2)
    where = "" if every else f" WHERE {choices} > 1"
    return engine.materialize(
        "ties",
        f"SELECT {', '.join(keys)}, {row}, dense_rank() OVER (ORDER BY {row}) - 1 AS class "
        f"FROM ({reduced_costs(candidates.table, prices, boxes, keys)}){where}",
    )


def tied_classes(engine: Engine, ties: Table, categories: int) -> RecordClasses:
    names = _choices(categories)
    values = ", ".join(f"any_value({name}) AS {name}" for name in ["kind", *names])
    sql = f"SELECT class, count(*) AS n, {values} FROM {ties} GROUP BY class ORDER BY class"
    return _record_classes(engine.arrays(sql, step="tied_classes"), names)


def _record_classes(rows: dict[str, NDArray[Any]], names: Sequence[str]) -> RecordClasses:
    costs = np.stack([rows[name].astype(np.int64) for name in names], axis=1)
    return RecordClasses(rows["kind"].astype(np.int64), rows["n"].astype(np.int64), costs)


def cheapest_leaving(prices: Counts, demand: Demand) -> tuple[int, int, list[int]]:
    """Let the changes leave where that is cheapest: what it costs, the last price, how many by category."""
    leave, leaving = prices[1].tolist(), demand.low.tolist()
    remaining, marginal = demand.changes - sum(leaving), min(leave)
    for t in sorted(range(demand.categories), key=lambda t: (leave[t], t)):
        more = min(remaining, int(demand.high[t]) - leaving[t])
        if more > 0:
            leaving[t], remaining, marginal = leaving[t] + more, remaining - more, leave[t]
    return sum(price * n for price, n in zip(leave, leaving, strict=True)), marginal, leaving


# -- programs over the classes --------------------------------------------------------------------


def price_step(demand: Demand, relaxation: Relaxation) -> tuple[Counts, Counts, NDArray[np.bool_]]:
    """Find the best prices in the boxes (duals), how far each moved, and whether it would move farther."""
    program = _ClassProgram(demand, relaxation)
    # equations may be violated at the cost of a box, which bounds their duals by it
    rows = np.arange(program.entering, len(program.right))
    columns = [program.add(0, np.inf, relaxation.boxes.ravel() / program.unit) for _ in range(2)]
    for violating, sign in zip(columns, (1.0, -1.0), strict=True):
        program.put(rows, violating, sign)
    optimum = program.solve()
    if optimum is None:
        raise EngineError("No prices keep what was asked.", "Give --share 0,1, or another --proportion.")
    values, duals = optimum
    enter, leave = duals[program.entering :].reshape(2, -1) * program.unit
    # rounded once, halves alike, so that equal prices stay equal
    steps = np.floor(np.stack([enter, leave + enter]) + 0.25).astype(np.int64)
    violations = (values[columns[0]] + values[columns[1]]).reshape(2, -1)
    shifts = np.abs(np.rint(np.stack([enter, leave]))).astype(np.int64)
    return relaxation.prices + steps, shifts, (violations > NEARLY) & (relaxation.boxes > 0)


def whole_plan(demand: Demand, relaxation: Relaxation) -> tuple[Counts, int] | None:
    """Solve for whole records of each class by choice, and tell how far the plan is above the bound.

    None where these choices cannot keep the constraints. Once it is fixed how many records leave each
    category it is a transportation problem, whose vertices are integral; so at first only these numbers are
    asked to be whole.
    """
    for whole in (False, True):
        program = _ClassProgram(demand, relaxation, choices=whole, leaving=True)
        optimum = program.solve()
        if optimum is None:
            return None
        records = optimum[0][: len(program.classes)]
        if np.abs(records - np.rint(records)).max(initial=0.0) <= NEARLY:
            return program.assignment(optimum[0])
    raise EngineError("The solver gave a part of a record.", "Try another --seed or --proportion.")


class _ClassProgram(LinearProgram):
    """The program over a relaxation.

    Its rows: one for each class; then the sums of the deviations from ``cheapest``, of gains and of losses;
    then entering and leaving for each category.
    """

    def __init__(
        self, demand: Demand, relaxation: Relaxation, *, choices: bool = False, leaving: bool = False
    ) -> None:
        """Ask for whole numbers of choices, or of the records that leave a category."""
        self.free, self.size = relaxation.classes, demand.categories
        sums = len(self.free.kinds)
        self.entering, self.leaving = sums + 3, sums + 3 + self.size
        _, marginal, numbers = cheapest_leaving(relaxation.prices, demand)
        cheapest, (enter, leave) = np.array(numbers, dtype=np.int64), relaxation.prices
        half = 0 if demand.net is not None else demand.deviation // 2
        goal = cheapest + demand.grouped + (0 if demand.net is None else demand.net) - relaxation.entering
        super().__init__(
            np.concatenate([self.free.records, [0, half, half], goal, cheapest - relaxation.leaving])
        )
        self.unit = float(max(1, self.free.reduced_costs.max(initial=1)))
        self._add_choices(whole=choices)
        # how many more or fewer leave a category than where that is cheapest
        every, self.leave_costs = np.arange(self.size), leave - marginal
        low, high = demand.low - cheapest, demand.high - cheapest
        columns = self.add(low, high, self.leave_costs / self.unit, whole=leaving)
        for rows, value in ((sums, 1.0), (self.entering + every, -1.0), (self.leaving + every, -1.0)):
            self.put(rows, columns, value)
        # records that each category gains and loses, where the marginal cannot be kept
        self.balance_costs = enter - enter.min(), enter.max() - enter
        for place, (cost, sign) in enumerate(zip(self.balance_costs, (-1.0, 1.0), strict=True)):
            columns = self.add(0, np.full(self.size, half), cost / self.unit, whole=leaving)
            self.put(sums + 1 + place, columns, 1.0)
            self.put(self.entering + every, columns, sign)

    def _add_choices(self, *, whole: bool) -> None:
        self.classes, self.choices = np.nonzero(self.free.reduced_costs >= 0)
        cost = self.free.reduced_costs[self.classes, self.choices] / self.unit
        columns = self.add(0, np.full(len(cost), np.inf), cost, whole=whole)
        self.put(self.classes, columns, 1.0)
        moving = self.choices < self.size
        self.put(self.entering + self.choices[moving], columns[moving], 1.0)
        kinds = self.free.kinds[self.classes]
        unique = moving & (kinds < self.size)
        self.put(self.leaving + kinds[unique], columns[unique], 1.0)

    def assignment(self, values: Floats) -> tuple[Counts, int]:
        """Round the plan, and add up its gap."""
        numbers = np.rint(values).astype(np.int64)
        records, others = numbers[: len(self.classes)], numbers[len(self.classes) :].reshape(3, self.size)
        by_choice = np.zeros_like(self.free.reduced_costs)
        by_choice[self.classes, self.choices] = records
        gap = _exact_sum(self.free.reduced_costs[self.classes, self.choices], records)
        for costs, number in zip((self.leave_costs, *self.balance_costs), others, strict=True):
            gap += _exact_sum(costs, number)
        return by_choice, gap


def _exact_sum(costs: Counts, records: Counts) -> int:
    """Add up costs of records in Python's numbers, which do not overflow as 64 bits do.

    Example:
        >>> _exact_sum(np.array([EVERYTHING]), np.array([10**7]))
        1000000000000000000000
    """
    pairs = zip(costs[records != 0].tolist(), records[records != 0].tolist(), strict=True)
    return sum(cost * number for cost, number in pairs)
