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

Source: Li and Sarkar 2004, problem (12); Marsten, Hogan, Blankenship 1975, "The Boxstep Method for
Large-Scale Optimization", Operations Research 23(3).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.errors import EngineError
from ppdm_sql.methods.base.arrays import Counts, Floats
from ppdm_sql.methods.swapping.linear_programs import Indices, LinearProgram, Optimum
from ppdm_sql.methods.swapping.marginals import Demand
from ppdm_sql.methods.swapping.posteriors import NEVER, SCALE, Candidates, kind_counts

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
class SwapConstraints:
    """What a plan must keep.

    Args:
        demand: How many records change, and of which categories.
        deviation: Sum over the categories of records gained or lost, an even number.
        net: Records that each category gains, where that is fixed.
    """

    demand: Demand
    deviation: int
    net: Counts | None


@dataclass(frozen=True)
class Prices:
    """Prices of entering and of leaving each category."""

    enter: tuple[int, ...]
    leave: tuple[int, ...]

    @classmethod
    def zero(cls, categories: int) -> Prices:
        """Give the prices under which every record does what is best for it alone."""
        return cls((0,) * categories, (0,) * categories)


@dataclass(frozen=True)
class RecordClasses:
    """Records that are alike.

    Args:
        kinds: True category of each class, plus the number of categories for members of groups.
        records: Records of each class; parts of them where the classes are of a sample.
        reduced_costs: Of each choice, entering a category or (last) staying; -1 where it is no choice.
    """

    kinds: Counts
    records: NDArray[Any]
    reduced_costs: Counts

    def where(self, rows: NDArray[Any]) -> RecordClasses:
        """Give some of the classes."""
        return RecordClasses(self.kinds[rows], self.records[rows], self.reduced_costs[rows])


@dataclass(frozen=True)
class Reaction:
    """What records do at prices.

    Args:
        prices: The prices.
        boxes: How far each may move, of entering and of leaving, shape (2, categories).
        classes: Records with several choices.
        entering: All others by category that they enter, and ...
        leaving: ... uniquely identifiable ones by category that they leave.
        bound: What the prices prove.
        found: Number of classes before a sample was taken.
        exact: Whether all classes are there, with their own reduced costs.
    """

    prices: Prices
    boxes: Counts
    classes: RecordClasses
    entering: Counts
    leaving: Counts
    bound: int
    found: int
    exact: bool


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
        rounds: Looks at the records, each a GROUP BY.
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
        self.size, self.rounds = candidates.categories, 0

    def solve(self) -> Solution:
        """Find the optimum.

        Cost: some GROUP BYs of the candidates.
        """
        prices, boxes = Prices.zero(self.size), self._boxes(np.full(self.size, WIDE))
        if self.candidates.rows > 2 * SAMPLE:
            prices = self._prices_of_a_sample(boxes)
            # a sample tells less of the prices of the fewer records
            records = np.maximum(1, self.candidates.unique)
            sides = np.minimum(WIDEST, FINE * np.sqrt(records.max() / records)).astype(np.int64)
            boxes = self._boxes(sides)
        return self._plan(self._best_prices(prices, boxes))

    def _boxes(self, sides: Counts) -> Counts:
        """Give boxes to all prices but one: prices of entering mean something beside each other."""
        boxes = np.stack([sides, sides])
        boxes[0, self.candidates.unique.argmax()] = 0
        return boxes

    def _prices_of_a_sample(self, boxes: Counts) -> Prices:
        """Find prices that are good for records taken by a hash of their key, of whom the same is asked."""
        part, keys = self.candidates.rows // SAMPLE, ", ".join(self.candidates.keys)
        table = self.engine.materialize(
            "sample", f"SELECT * FROM {self.candidates.table} WHERE hash({keys}) % {part} = 0"
        )
        counts, demand = kind_counts(self.engine, table, self.size), self.constraints.demand
        unique, grouped = counts[: self.size], counts[self.size :]
        shares = unique / np.maximum(1, demand.unique)
        low = np.floor(demand.low * shares).astype(np.int64)
        high = np.minimum(unique, np.ceil(demand.high * shares).astype(np.int64))
        changes = round(demand.changes * int(unique.sum()) / max(1, int(demand.unique.sum())))
        changes = min(max(changes, int(low.sum())), int(high.sum()))
        share, net = counts.sum() / self.candidates.rows, self.constraints.net
        asked = SwapConstraints(
            Demand(unique, grouped, changes, low, high),
            2 * round(self.constraints.deviation * share / 2),
            None if net is None else np.rint(net * share).astype(np.int64),
        )
        sample = replace(self.candidates, table=table, unique=unique, grouped=grouped)
        search = ExactSearch(self.engine, sample, asked)
        prices = search._best_prices(Prices.zero(self.size), boxes, SCALE // LITTLE * int(counts.sum()))
        self.rounds = search.rounds
        self.engine.discard(table)
        return prices

    def _best_prices(self, prices: Prices, boxes: Counts, little: int = 0) -> Prices:
        """Improve the prices until they are the best ones, or until a step gains little."""
        here = self._look(prices, boxes, rounded=True)
        for _ in range(STEPS):
            step = price_step(self.constraints, here)
            if here.exact and not step.at_side.any():
                return step.prices
            rounded = len(here.classes.kinds) < here.found or here.found > MOST_CLASSES
            there = self._look(step.prices, _next_boxes(here.boxes, step), rounded=rounded)
            if there.bound > here.bound:
                gain, here = there.bound - here.bound, there
                if gain < little:
                    break
            elif here.boxes.max() <= NARROWER:
                break
            else:
                here = self._look(here.prices, here.boxes // NARROWER, rounded=rounded)
        return here.prices

    def _look(self, prices: Prices, boxes: Counts, *, rounded: bool) -> Reaction:
        self.rounds += 1
        most = min(max(MOST_CLASSES, self.candidates.rows // RECORDS), MANY_CLASSES) * (1 if rounded else 2)
        look = look_at(
            self.engine, self.candidates, prices, boxes, self.constraints, rounded=rounded, most=most
        )
        logger.info("round %d: lower bound %.6g, %d classes", self.rounds, look.bound / SCALE, look.found)
        return look

    def _plan(self, prices: Prices) -> Solution:
        """Decide the ties within wider and wider limits, until the plan is within the limit of the bound."""
        limit = CLOSE
        while True:
            self.rounds += 1
            boxes = np.full((2, self.size), limit // 2)
            look = look_at(self.engine, self.candidates, prices, boxes, self.constraints)
            found = assigned_classes(self.constraints, look)
            if found is not None and (found.gap <= limit or limit >= EVERYTHING):
                break
            if limit >= EVERYTHING:
                raise EngineError(
                    "No plan keeps what was asked.", "Give --share 0,1, or another --proportion."
                )
            known = EVERYTHING if found is None else found.gap + found.gap % 2
            limit = min(known, WIDENING * limit)
        ties = tied(self.engine, self.candidates, prices, limit)
        objective = look.bound + found.gap
        return Solution(prices, ties, look.classes.kinds, found.moved, objective, look.bound, self.rounds)


def _next_boxes(boxes: Counts, step: PriceStep) -> Counts:
    """Widen the boxes of prices at their sides; narrow the others, faster where none is at its side."""
    narrower = np.maximum(boxes // NARROWER, np.minimum(boxes, step.moved) // 2)
    if step.at_side.any():
        narrower = np.maximum(boxes // 2, np.minimum(boxes, 2 * step.moved))
    return np.where(step.at_side, np.minimum(FARTHEST, WIDER * boxes), narrower)


# -- what records do at prices --------------------------------------------------------------------


def reduced_costs(
    table: Table, prices: Prices, boxes: Counts, columns: Sequence[str] = (), steps: Counts | None = None
) -> str:
    """Give SQL for the reduced cost of each choice of each record, and what its best choice costs it.

    Args:
        table: A table like ``candidates``.
        prices: The prices.
        boxes: How far each may move; what cannot become the best choice then is none, and has a cost of -1.
        columns: Columns to carry along.
        steps: To give reduced costs in, rounded down; shaped like the boxes.
    """
    size = len(prices.enter)
    worth = [enter - leave for enter, leave in zip(prices.enter, prices.leave, strict=True)]
    values = [f"p{h} + {price}::BIGINT" for h, price in enumerate(prices.enter)]
    # where prices or limits are that large, a record would enter the category that it leaves
    if 2 * int(boxes.max()) + max(prices.enter) - min(prices.enter) >= -NEVER["INTEGER"] - SCALE:
        values = [
            f"CASE WHEN kind % {size} = {h} THEN {FORBIDDEN} ELSE {value} END"
            for h, value in enumerate(values)
        ]
    worths = [*(f"worth_{h}" for h in range(size)), "worth_stay"]
    listed = ", ".join(f"{value} AS {name}" for value, name in zip(values, worths[:-1], strict=True))
    sides = [*(f"{box}::BIGINT" for box in boxes[0].tolist()), _by_kind(boxes[1].tolist() * 2)]
    lowest = ", ".join(f"{name} - {box}" for name, box in zip(worths, sides, strict=True))
    rounded = [""] * (size + 1)
    if steps is not None and steps.max() > 1:
        rounded = [*(f" // {step}" for step in steps[0].tolist()), f" // {_by_kind(steps[1].tolist() * 2)}"]
    choices = [
        f"CASE WHEN {name} + {box} >= lowest THEN (best - {name}){step} ELSE -1 END AS {choice}"
        for name, box, step, choice in zip(worths, sides, rounded, _choices(size), strict=True)
    ]
    return (
        f"SELECT {', '.join([*columns, 'kind', *choices])}, unchanged - best AS cost "
        f"FROM (SELECT *, greatest({', '.join(worths)}) AS best, greatest({lowest}) AS lowest "
        f"FROM (SELECT *, {listed}, "
        f"true_posterior + {_by_kind([*worth, *[FORBIDDEN] * size])} AS worth_stay, "
        f"true_posterior + {_by_kind([*worth, *prices.enter])} AS unchanged FROM {table}))"
    )


def _choices(size: int) -> list[str]:
    return [f"reduced_cost_{choice}" for choice in [*range(size), "stay"]]


def _by_kind(numbers: Sequence[int]) -> str:
    """Give SQL for the number of a record's kind: unique ones by true category, then members of groups."""
    return f"([{', '.join(map(str, numbers))}]::BIGINT[])[kind + 1]"


def look_at(
    engine: Engine,
    candidates: Candidates,
    prices: Prices,
    boxes: Counts,
    constraints: SwapConstraints,
    *,
    rounded: bool = False,
    most: int | None = None,
) -> Reaction:
    """See what records do that have one choice within boxes around prices, and count the others by class.

    Args:
        engine: Where the candidates are.
        candidates: The records that may change.
        prices: The prices.
        boxes: How far each may move, of entering and of leaving, shape (2, categories).
        constraints: What a plan must keep.
        rounded: Round reduced costs down to parts of the boxes.
        most: Take a sample where there are more classes.

    Cost: one GROUP BY of the candidates.
    """
    size, names = candidates.categories, _choices(candidates.categories)
    steps = np.maximum(1, boxes // ROUNDING_STEPS) if rounded else np.ones_like(boxes)
    rows = engine.arrays(
        f"SELECT kind, {', '.join(names)}, count(*) AS n, sum(cost)::BIGINT AS cost "
        f"FROM ({reduced_costs(candidates.table, prices, boxes, steps=steps)}) GROUP BY ALL ORDER BY ALL",
        step="look",
    )
    every = _fetched(rows, names)
    several = (every.reduced_costs >= 0).sum(axis=1) > 1
    fixed, free = every.where(~several), every.where(several)
    flows = np.zeros((2 * size, size + 1), dtype=np.int64)
    np.add.at(flows, (fixed.kinds, fixed.reduced_costs.argmax(axis=1)), fixed.records)
    sampled = most is not None and len(free.kinds) > most
    classes = sample(free, most) if most is not None and sampled else free
    sizes = np.column_stack([np.tile(steps[0], (len(classes.kinds), 1)), steps[1][classes.kinds % size]])
    costs = np.where(classes.reduced_costs < 0, -1, classes.reduced_costs * sizes)
    return Reaction(
        prices=prices,
        boxes=boxes,
        classes=RecordClasses(classes.kinds, classes.records, costs),
        entering=flows[:, :size].sum(axis=0),
        leaving=flows[:size, :size].sum(axis=1),
        bound=lagrangian_bound(int(rows["cost"].sum()), prices, constraints),
        found=len(free.kinds),
        exact=not sampled and steps.max() == 1,
    )


def sample(classes: RecordClasses, most: int) -> RecordClasses:
    """Take about so many of ordered classes, evenly spread over the records of each kind.

    Each kind keeps its number of records; kinds share the classes by the square roots of these numbers.
    """
    kinds, starts = np.unique(classes.kinds, return_index=True)
    totals = np.add.reduceat(classes.records, starts).astype(float)
    points = np.ceil(most * np.sqrt(totals) / np.sqrt(totals).sum()).astype(int)
    taken, weights = [], []
    for total, count, start, end in zip(
        totals, points, starts, [*starts[1:], len(classes.kinds)], strict=True
    ):
        marks = (np.arange(count) + 0.5) * total / count
        rows = np.searchsorted(np.cumsum(classes.records[start:end]), marks, side="right")
        rows, hits = np.unique(rows, return_counts=True)
        taken.append(rows + start)
        weights.append(hits * total / count)
    rows = np.concatenate(taken)
    return RecordClasses(classes.kinds[rows], np.concatenate(weights), classes.reduced_costs[rows])


def tied(engine: Engine, candidates: Candidates, prices: Prices, limit: int, *, every: bool = False) -> Table:
    """Number the classes of the records that have a second choice of at most so much reduced cost.

    Returns:
        A working table of the records' keys, ``kind``, reduced costs and ``class``, numbered from 0 in the
        order of kind and reduced costs.

    Args:
        engine: Where the candidates are.
        candidates: The records that may change.
        prices: The prices.
        limit: Largest reduced cost, an even number.
        every: Take the records without a second choice too.
    """
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
    """Count the classes of a table that :func:`tied` made; one GROUP BY of it."""
    names = _choices(categories)
    values = ", ".join(f"any_value({name}) AS {name}" for name in ["kind", *names])
    sql = f"SELECT class, count(*) AS n, {values} FROM {ties} GROUP BY class ORDER BY class"
    return _fetched(engine.arrays(sql, step="tied_classes"), names)


def _fetched(rows: dict[str, NDArray[Any]], names: Sequence[str]) -> RecordClasses:
    costs = np.stack([rows[name].astype(np.int64) for name in names], axis=1)
    return RecordClasses(rows["kind"].astype(np.int64), rows["n"].astype(np.int64), costs)


def cheapest_leaving(prices: Prices, demand: Demand) -> tuple[int, int, list[int]]:
    """Let the changes leave the categories where that is cheapest.

    Returns:
        What that costs, the price of the last record to leave, and the records by category.
    """
    left = [int(n) for n in demand.low]
    rest, marginal = demand.changes - sum(left), min(prices.leave)
    for t in sorted(range(demand.categories), key=lambda t: (prices.leave[t], t)):
        more = min(rest, int(demand.high[t]) - left[t])
        if more > 0:
            left[t], rest, marginal = left[t] + more, rest - more, prices.leave[t]
    return sum(price * n for price, n in zip(prices.leave, left, strict=True)), marginal, left


def lagrangian_bound(costs: int, prices: Prices, constraints: SwapConstraints) -> int:
    """Give the lower bound that prices prove, given what all records cost at them."""
    if constraints.net is None:
        balance = -(constraints.deviation // 2) * (max(prices.enter) - min(prices.enter))
    else:
        balance = sum(price * int(n) for price, n in zip(prices.enter, constraints.net, strict=True))
    return costs + cheapest_leaving(prices, constraints.demand)[0] + balance


# -- programs over the classes --------------------------------------------------------------------


@dataclass(frozen=True)
class PriceStep:
    """The best prices in the boxes of a look, how far each moved, and whether it would move farther."""

    prices: Prices
    moved: Counts
    at_side: NDArray[np.bool_]


@dataclass(frozen=True)
class ClassAssignment:
    """A plan for the classes of a look.

    Args:
        moved: Records of each class by choice, the last one staying; shaped like their reduced costs.
        gap: By how much the plan is above the bound, in units of 1 / SCALE.
    """

    moved: Counts
    gap: int


def price_step(constraints: SwapConstraints, look: Reaction) -> PriceStep:
    """Solve the relaxation with each price in its box; the prices are its duals.

    Raises:
        EngineError: The constraints contradict each other.
    """
    program = _ClassProgram(constraints, look)
    # equations may be violated at the cost of a box, which bounds their duals by it
    rows = np.arange(program.entering, program.rows)
    columns = [program.add(0, np.inf, look.boxes.ravel() / program.unit) for _ in range(2)]
    for violating, sign in zip(columns, (1.0, -1.0), strict=True):
        program.put(rows, violating, sign)
    optimum = program.solve(program.right_sides())
    if optimum is None:
        raise EngineError("No prices keep what was asked.", "Give --share 0,1, or another --proportion.")
    enter, leave = optimum.duals[program.entering :].reshape(2, -1) * program.unit
    # rounded once, and alike where they are halves: prices that are one must stay one
    steps = np.floor(np.stack([enter, leave + enter]) + 0.25).astype(np.int64)
    found = steps + np.array([look.prices.enter, look.prices.leave])
    violated = (optimum.values[columns[0]] + optimum.values[columns[1]]).reshape(2, -1)
    return PriceStep(
        prices=Prices(*(tuple(part) for part in found.tolist())),
        moved=np.abs(np.rint(np.stack([enter, leave]))).astype(np.int64),
        at_side=(violated > NEARLY) & (look.boxes > 0),
    )


def assigned_classes(constraints: SwapConstraints, look: Reaction) -> ClassAssignment | None:
    """Solve for whole records; None where these choices cannot keep the constraints.

    Once it is fixed how many records leave each category it is a transportation problem, whose vertices are
    integral; so at first only these numbers are asked to be whole.
    """
    for whole in (False, True):
        program = _ClassProgram(constraints, look, whole_choices=whole, whole_leaving=True)
        optimum = program.solve(program.right_sides())
        if optimum is None:
            return None
        chosen = optimum.values[: len(program.classes)]
        if np.abs(chosen - np.rint(chosen)).max(initial=0.0) <= NEARLY:
            return program.assignment(optimum)
    raise EngineError("The solver gave a part of a record.", "Try another --seed or --proportion.")


class _ClassProgram(LinearProgram):
    """The program over a look.

    Its rows: one for each class; then the sums of the deviations from ``used``, of gains and of losses; then
    entering and leaving for each category.
    """

    def __init__(
        self,
        constraints: SwapConstraints,
        look: Reaction,
        *,
        whole_choices: bool = False,
        whole_leaving: bool = False,
    ) -> None:
        self.constraints, self.look, self.free = constraints, look, look.classes
        demand, prices = constraints.demand, look.prices
        self.size, self.sums = demand.categories, len(self.free.kinds)
        self.entering, self.leaving = self.sums + 3, self.sums + 3 + self.size
        super().__init__(self.leaving + self.size)
        _, marginal, used = cheapest_leaving(prices, demand)
        self.used, self.enter = np.array(used, dtype=np.int64), np.array(prices.enter, dtype=np.int64)
        self.leave_costs = np.array(prices.leave, dtype=np.int64) - marginal
        self.unit = float(max(1, self.free.reduced_costs.max(initial=1)))
        self.half_deviation = 0 if constraints.net is not None else constraints.deviation // 2
        self._add_choices(whole=whole_choices)
        # how many more or fewer leave a category than where that is cheapest
        every = np.arange(self.size)
        low, high = (np.array(side) - self.used for side in (demand.low, demand.high))
        columns = self.add(low, high, self.leave_costs / self.unit, whole=whole_leaving)
        for rows, value in ((self.sums, 1.0), (self.entering + every, -1.0), (self.leaving + every, -1.0)):
            self.put(rows, columns, value)
        # records that each category gains and loses, where the marginal cannot be kept
        self.balance_costs = self.enter - self.enter.min(), self.enter.max() - self.enter
        for place, (cost, sign) in enumerate(zip(self.balance_costs, (-1.0, 1.0), strict=True)):
            columns = self.add(
                0, np.full(self.size, self.half_deviation), cost / self.unit, whole=whole_leaving
            )
            self.put(self.sums + 1 + place, columns, 1.0)
            self.put(self.entering + every, columns, sign)

    def _add_choices(self, *, whole: bool) -> None:
        """Add a number of records for each class and choice, which use the class up."""
        self.classes, self.choices = np.nonzero(self.free.reduced_costs >= 0)
        cost = self.free.reduced_costs[self.classes, self.choices] / self.unit
        columns: Indices = self.add(0, np.full(len(cost), np.inf), cost, whole=whole)
        self.put(self.classes, columns, 1.0)
        moving = self.choices < self.size
        self.put(self.entering + self.choices[moving], columns[moving], 1.0)
        kinds = self.free.kinds[self.classes]
        unique = moving & (kinds < self.size)
        self.put(self.leaving + kinds[unique], columns[unique], 1.0)

    def right_sides(self) -> Floats:
        """Give the right sides of the rows."""
        net = 0 if self.constraints.net is None else self.constraints.net
        enter = self.used + self.constraints.demand.grouped + net - self.look.entering
        sums = [0, self.half_deviation, self.half_deviation]
        return np.concatenate([self.free.records, sums, enter, self.used - self.look.leaving]).astype(float)

    def assignment(self, optimum: Optimum) -> ClassAssignment:
        """Round the plan, and add up its gap in whole numbers."""
        numbers = np.rint(optimum.values).astype(np.int64)
        moved = np.zeros_like(self.free.reduced_costs)
        moved[self.classes, self.choices] = numbers[: len(self.classes)]
        leaving, gains, losses = numbers[len(self.classes) :].reshape(3, self.size)
        gap = int((np.where(self.free.reduced_costs >= 0, self.free.reduced_costs, 0) * moved).sum())
        costs = zip((self.leave_costs, *self.balance_costs), (leaving, gains, losses), strict=True)
        return ClassAssignment(moved, gap + sum(int((cost * number).sum()) for cost, number in costs))
