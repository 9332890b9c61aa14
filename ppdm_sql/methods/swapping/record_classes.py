"""The problem restricted to boxes of prices: the records that are free there, in classes of alike ones.

At given prices, what a record does instead of its best choice has a *reduced cost*. While no price moves
farther than its box, a choice can become the best one only if it is, at its box's upper side, worth as much
as every other at its lower side. A record with one such choice is *fixed* (reduced-cost fixing), one with
several is *free*. Free records of one kind with the same reduced costs make a class, which is an aggregate:
it does not say whose it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.methods.base.arrays import Counts
from ppdm_sql.methods.swapping.free_posteriors import FreePosteriors, RecordLook, distinct
from ppdm_sql.methods.swapping.lagrangian_prices import (
    FixedFlows,
    Prices,
    SwapConstraints,
    by_kind,
    fixed_flows,
    lagrangian_bound,
    priced_choices,
)

EVERYTHING = 10**14
"""A reduced cost above every true one, and below that of what is forbidden."""
ROUNDING_STEPS = 8
"""Steps of a box to which reduced costs are rounded, where there are too many classes to tell apart."""


@dataclass(frozen=True)
class Boxes:
    """How far each price may move, in units of 1 / SCALE, at least 0."""

    enter: Counts
    leave: Counts

    @classmethod
    def even(cls, categories: int, side: int) -> Boxes:
        """Give the same box to every price."""
        return cls(np.full(categories, side, dtype=np.int64), np.full(categories, side, dtype=np.int64))

    @property
    def steps(self) -> Boxes:
        """Parts of the boxes, to which reduced costs are rounded."""
        enter, leave = (np.maximum(1, side // ROUNDING_STEPS) for side in (self.enter, self.leave))
        return Boxes(enter, leave)

    @property
    def largest(self) -> int:
        """The largest box."""
        return int(max(self.enter.max(), self.leave.max()))


@dataclass(frozen=True)
class RecordClasses:
    """Records that are alike.

    Args:
        kinds: True category of each class, plus the number of categories for members of groups.
        records: Records of each class; parts of them where the classes are a sample.
        reduced_costs: Of each choice, entering a category or (last) staying; -1 where it is no choice.
    """

    kinds: Counts
    records: NDArray[Any]
    reduced_costs: Counts

    def __len__(self) -> int:
        return len(self.kinds)

    def where(self, rows: NDArray[Any]) -> RecordClasses:
        """Give some of the classes."""
        return RecordClasses(self.kinds[rows], self.records[rows], self.reduced_costs[rows])

    def merged(self) -> RecordClasses:
        """Sort by kind and reduced costs, as :func:`tied` numbers classes, and count those alike as one."""
        order, begins = distinct([self.kinds, *self.reduced_costs.T])
        firsts = order[begins]
        records = np.add.reduceat(self.records[order], begins) if len(begins) else self.records
        return RecordClasses(self.kinds[firsts], records, self.reduced_costs[firsts])

    def times(self, steps: Boxes) -> RecordClasses:
        """Give reduced costs that are in steps as they are."""
        sizes = np.empty_like(self.reduced_costs)
        sizes[:, :-1], sizes[:, -1] = steps.enter, steps.leave[self.kinds % len(steps.leave)]
        costs = np.where(self.reduced_costs < 0, -1, self.reduced_costs * sizes)
        return RecordClasses(self.kinds, self.records, costs)


@dataclass(frozen=True)
class FreeRecords:
    """The records that are free while prices stay within some reach of a centre.

    Args:
        table: A table like ``candidates``.
        rows: Its rows.
        fixed: What all other records do, at all these prices.
        centre: The prices in the middle.
        reach: How far each may move from there.
        posteriors: Of the rows, where they are held in memory.
    """

    table: Table
    rows: int
    fixed: FixedFlows
    centre: Prices
    reach: Boxes
    posteriors: FreePosteriors | None = None

    def holds(self, prices: Prices, boxes: Boxes) -> bool:
        """Tell whether boxes around prices are within the reach."""
        steps = (
            np.abs(np.subtract(price, middle)) + box <= reach
            for price, middle, box, reach in (
                (prices.enter, self.centre.enter, boxes.enter, self.reach.enter),
                (prices.leave, self.centre.leave, boxes.leave, self.reach.leave),
            )
        )
        return all(bool(step.all()) for step in steps)


@dataclass(frozen=True)
class Restriction:
    """The problem restricted to boxes around prices.

    Args:
        prices: The prices.
        boxes: How far each may move.
        classes: Of the free records, perhaps a sample.
        entering: Fixed records by category that they enter, and ...
        leaving: ... uniquely identifiable ones by category that they leave.
        bound: What the prices prove.
        found: Number of classes before a sample was taken.
        free: Number of free records.
        exact: Whether all classes are there, with their own reduced costs.
    """

    prices: Prices
    boxes: Boxes
    classes: RecordClasses
    entering: Counts
    leaving: Counts
    bound: int
    found: int
    free: int
    exact: bool


def restrict(
    engine: Engine,
    free: FreeRecords,
    prices: Prices,
    boxes: Boxes,
    constraints: SwapConstraints,
    *,
    rounded: bool = False,
    most: int | None = None,
) -> Restriction:
    """Fix what records do that have one choice within the boxes, and count the classes of the others.

    Args:
        engine: Where the table is.
        free: The records; their reach must hold the boxes.
        prices: The prices.
        boxes: How far each may move.
        constraints: What a plan must keep.
        rounded: Round reduced costs down to parts of the boxes.
        most: Take a sample where there are more classes.

    Cost: one GROUP BY of the records, or a few passes over them in memory.
    """
    size = constraints.categories
    steps = boxes.steps if rounded else Boxes.even(size, 1)
    look = _look(engine, free, prices, boxes, steps)
    every = RecordClasses(look.kinds, look.records, look.reduced_costs.T).merged()
    sampled = most is not None and len(every) > most
    classes = sample(every, most) if most is not None and sampled else every
    return Restriction(
        prices=prices,
        boxes=boxes,
        classes=classes.times(steps),
        entering=look.flows[:, :size].sum(axis=0) + free.fixed.by_category.sum(axis=0),
        leaving=look.flows[:size, :size].sum(axis=1) + free.fixed.left,
        bound=lagrangian_bound(look.cost + free.fixed.cost_at(prices), prices, constraints),
        found=len(every),
        free=int(every.records.sum()),
        exact=not sampled and not (rounded and boxes.largest >= 2 * ROUNDING_STEPS),
    )


def _look(engine: Engine, free: FreeRecords, prices: Prices, boxes: Boxes, steps: Boxes) -> RecordLook:
    """Tell apart which records have one choice within boxes around prices, and which have several."""
    if free.posteriors is not None:
        return free.posteriors.look(prices, (boxes.enter, boxes.leave), (steps.enter, steps.leave))
    size = len(prices.enter)
    names = reduced_cost_names(size)
    rows = engine.arrays(
        f"SELECT kind, {', '.join(names)}, count(*) AS n, sum(cost)::BIGINT AS cost "
        f"FROM ({reduced_costs(free.table, prices, boxes, steps)}) GROUP BY ALL",
        step="restrict",
    )
    every = _fetched_classes(rows, names)
    choices = (every.reduced_costs >= 0).sum(axis=1)
    fixed, several = every.where(choices == 1), every.where(choices > 1)
    flows = np.zeros((2 * size, size + 1), dtype=np.int64)
    np.add.at(flows, (fixed.kinds, fixed.reduced_costs.argmax(axis=1)), fixed.records)
    return RecordLook(several.kinds, several.records, several.reduced_costs.T, flows, int(rows["cost"].sum()))


def sample(classes: RecordClasses, most: int) -> RecordClasses:
    """Take about so many of ordered classes, evenly spread over the records of each kind.

    Each kind keeps its number of records; kinds share the classes by the square roots of these numbers.
    """
    kinds, starts = np.unique(classes.kinds, return_index=True)
    totals = np.add.reduceat(classes.records, starts).astype(float)
    points = np.ceil(most * np.sqrt(totals) / np.sqrt(totals).sum()).astype(int)
    taken, weights = [], []
    for total, count, start, end in zip(totals, points, starts, [*starts[1:], len(classes)], strict=True):
        marks = (np.arange(count) + 0.5) * total / count
        rows = np.searchsorted(np.cumsum(classes.records[start:end]), marks, side="right")
        rows, hits = np.unique(rows, return_counts=True)
        taken.append(rows + start)
        weights.append(hits * total / count)
    rows = np.concatenate(taken)
    return RecordClasses(classes.kinds[rows], np.concatenate(weights), classes.reduced_costs[rows])


def fix_records(
    engine: Engine, free: FreeRecords, prices: Prices, reach: Boxes, columns: Sequence[str]
) -> FreeRecords:
    """Set apart the records that have one choice within a reach of prices; two scans of the free ones."""
    choices = (
        f"SELECT *, {_lowest_best(prices, reach)} AS lowest "
        f"FROM ({priced_choices(free.table, prices, columns, reach.largest)})"
    )
    is_free = _is_free(prices, reach)
    table = engine.materialize("free", f"SELECT {', '.join(columns)} FROM ({choices}) WHERE {is_free}")
    fixed = fixed_flows(engine, choices, prices, f"NOT ({is_free})")
    return FreeRecords(table, engine.size(table), free.fixed + fixed, prices, reach)


def tied(
    engine: Engine, table: Table, keys: Sequence[str], prices: Prices, limit: int, *, every: bool = False
) -> Table:
    """Number the classes of the records that have a second choice of at most so much reduced cost.

    Returns:
        A working table of the records' keys and ``class``, in the order of kind and reduced costs, from 0.

    Args:
        engine: Where the table is.
        table: A table like ``candidates``.
        keys: Columns that tell its rows apart.
        prices: The prices.
        limit: Largest reduced cost, an even number.
        every: Take the records without a second choice too.
    """
    names = reduced_cost_names(len(prices.enter))
    row = ", ".join(["kind", *names])
    boxes = Boxes.even(len(prices.enter), limit // 2)
    choices = " + ".join(f"({name} >= 0)::INTEGER" for name in names)
    where = "" if every else f" WHERE {choices} > 1"
    return engine.materialize(
        "ties",
        f"SELECT {', '.join(keys)}, {row}, dense_rank() OVER (ORDER BY {row}) - 1 AS class "
        f"FROM ({reduced_costs(table, prices, boxes, keys=keys)}){where}",
    )


def tied_classes(engine: Engine, ties: Table, categories: int) -> RecordClasses:
    """Count the classes of a table that :func:`tied` made; one GROUP BY of it."""
    names = reduced_cost_names(categories)
    values = ", ".join(f"any_value({name}) AS {name}" for name in ["kind", *names])
    sql = f"SELECT class, count(*) AS n, {values} FROM {ties} GROUP BY class ORDER BY class"
    return _fetched_classes(engine.arrays(sql, step="tied_classes"), names)


def reduced_cost_names(categories: int) -> list[str]:
    """Name the columns of reduced costs, staying last."""
    return [f"reduced_cost_{choice}" for choice in [*range(categories), "stay"]]


def _fetched_classes(rows: dict[str, NDArray[Any]], names: Sequence[str]) -> RecordClasses:
    costs = np.stack([rows[name].astype(np.int64) for name in names], axis=1)
    return RecordClasses(rows["kind"].astype(np.int64), rows["n"].astype(np.int64), costs)


def reduced_costs(
    table: Table, prices: Prices, boxes: Boxes, steps: Boxes | None = None, *, keys: Sequence[str] = ()
) -> str:
    """Give SQL for the reduced cost of each choice of each record, and what its best choice costs it.

    Args:
        table: A table like ``candidates``.
        prices: The prices.
        boxes: How far each may move.
        steps: To give reduced costs in, rounded down.
        keys: Columns to carry along.

    Example:
        >>> from ppdm_sql.engine.statements import formatted
        >>> sql = reduced_costs(Table("candidates"), Prices((7, 0), (5, 3)), Boxes.even(2, 4), keys=["w0"])
        >>> print(formatted(sql).partition("FROM")[0])
        SELECT
          w0,
          kind,
          CASE WHEN worth_0 + CAST(4 AS BIGINT) >= lowest THEN best - worth_0 ELSE -1 END AS reduced_cost_0,
          CASE WHEN worth_1 + CAST(4 AS BIGINT) >= lowest THEN best - worth_1 ELSE -1 END AS reduced_cost_1,
          CASE
            WHEN worth_stay + (
              CAST([4, 4, 4, 4] AS BIGINT[])
            )[kind + 1] >= lowest
            THEN best - worth_stay
            ELSE -1
          END AS reduced_cost_stay,
          CASE
            WHEN kind < 2
            THEN worth_stay
            ELSE true_posterior + (
              CAST([7, 0, 7, 0] AS BIGINT[])
            )[kind + 1]
          END - best AS cost
        <BLANKLINE>
    """
    size = len(prices.enter)
    columns = []
    for name, worth, box, step in zip(
        reduced_cost_names(size), _worths(size), _sides(boxes), _steps(steps, size), strict=True
    ):
        cost = f"(best - {worth}) // {step}" if step else f"best - {worth}"
        columns.append(f"CASE WHEN {worth} + {box} >= lowest THEN {cost} ELSE -1 END AS {name}")
    unchanged = (
        f"CASE WHEN kind < {size} THEN worth_stay ELSE true_posterior + {by_kind(prices.enter * 2)} END"
    )
    choices = priced_choices(table, prices, [*keys, "kind", "true_posterior"], boxes.largest)
    return (
        f"SELECT {', '.join([*keys, 'kind', *columns])}, {unchanged} - best AS cost "
        "FROM (SELECT *, greatest(best_entry, worth_stay) AS best, "
        f"{_lowest_best(prices, boxes)} AS lowest FROM ({choices}))"
    )


def _steps(steps: Boxes | None, size: int) -> list[str]:
    """Give SQL for the step of each choice; none where it is one."""
    if steps is None or steps.largest == 1:
        return [""] * (size + 1)
    entering = [f"{step}" if step > 1 else "" for step in steps.enter.tolist()]
    return [*entering, by_kind(steps.leave.tolist() * 2)]


def _worths(size: int) -> list[str]:
    return [*(f"worth_{h}" for h in range(size)), "worth_stay"]


def _sides(boxes: Boxes) -> list[str]:
    return [*(f"{box}::BIGINT" for box in boxes.enter.tolist()), by_kind(boxes.leave.tolist() * 2)]


def _lowest_best(prices: Prices, boxes: Boxes) -> str:
    """Give SQL for what a record's best choice is worth to it at least, wherever prices move."""
    pairs = zip(_worths(len(prices.enter)), _sides(boxes), strict=True)
    return f"greatest({', '.join(f'{worth} - {box}' for worth, box in pairs)})"


def _is_free(prices: Prices, boxes: Boxes) -> str:
    """Give SQL that tells whether a row of priced choices, with ``lowest``, has more than one choice."""
    pairs = zip(_worths(len(prices.enter)), _sides(boxes), strict=True)
    choices = " + ".join(f"({worth} + {box} >= lowest)::INTEGER" for worth, box in pairs)
    return f"{choices} > 1"
