"""Looks at the records: how many of them are alike in all that they may do while prices move within boxes.

At given prices, what a record does instead of its best choice costs an *excess*. While no price moves
farther than its box, a choice can become the best one only if it is, at its box's upper side, worth as much
as every other at its lower side. Records with the same such choices and the same excesses make a class; most
records have one choice. A class is an aggregate: it does not say whose it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.methods.swapping.identification import Counts
from ppdm_sql.methods.swapping.prices import CuttingPlane, Goal, Prices, bound, by_kind, offers, scan

EVERYTHING = 10**14
"""An excess above every true one, and below that of what is forbidden."""
TOP = "greatest(best, stay)"
"""SQL for what a record's best choice is worth to it."""
GRID = 8
"""Steps of a box to which excesses are rounded, where there are too many classes to tell apart."""


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
    def largest(self) -> int:
        """The largest box."""
        return int(max(self.enter.max(), self.leave.max()))


@dataclass(frozen=True)
class Classes:
    """Records that are alike.

    Args:
        kinds: True category of each class, plus the number of categories for members of groups.
        records: Records of each class; parts of them where the classes are a sample.
        excess: Excess of each choice, entering a category or (last) staying; -1 where it is no choice.
    """

    kinds: Counts
    records: NDArray[Any]
    excess: Counts

    def __len__(self) -> int:
        return len(self.kinds)

    def where(self, rows: NDArray[Any]) -> Classes:
        """Give some of the classes."""
        return Classes(self.kinds[rows], self.records[rows], self.excess[rows])


@dataclass(frozen=True)
class Level:
    """The records that have a choice while prices stay within some reach of a centre.

    Args:
        table: A table like ``units``.
        rows: Its rows.
        settled: What all other records do, at all these prices.
        centre: The prices in the middle.
        reach: How far each may move from there.
    """

    table: Table
    rows: int
    settled: CuttingPlane
    centre: Prices
    reach: Boxes

    def holds(self, prices: Prices, boxes: Boxes) -> bool:
        """Tell whether boxes around prices are within the reach."""
        steps = (
            np.abs(np.subtract(mine, middle)) + box <= reach
            for mine, middle, box, reach in (
                (prices.enter, self.centre.enter, boxes.enter, self.reach.enter),
                (prices.leave, self.centre.leave, boxes.leave, self.reach.leave),
            )
        )
        return all(bool(step.all()) for step in steps)


@dataclass(frozen=True)
class RecordScan:
    """What records may do within boxes around prices.

    Args:
        prices: The prices.
        boxes: How far each may move.
        choosing: The classes with a choice, perhaps a sample of them.
        into: Records without a choice, by category that they enter, and ...
        left: ... uniquely identifiable ones by category that they leave.
        bound: What the prices prove.
        near: Classes with a choice.
        open: Records with a choice.
        exact: Whether all of them are told apart.
    """

    prices: Prices
    boxes: Boxes
    choosing: Classes
    into: Counts
    left: Counts
    bound: int
    near: int
    open: int
    exact: bool


def look(
    engine: Engine,
    level: Level,
    prices: Prices,
    boxes: Boxes,
    goal: Goal,
    *,
    rounded: bool = False,
    most: int | None = None,
) -> RecordScan:
    """Count the classes; one GROUP BY over the level's records.

    Args:
        engine: Where the table is.
        level: The records; it must hold the boxes.
        prices: The prices.
        boxes: How far each may move.
        goal: What a plan must reach.
        rounded: Round excesses down to parts of the boxes.
        most: Take a sample where there are more classes with a choice.
    """
    size, names = goal.categories, names_of(goal.categories)
    rows = engine.arrays(
        f"SELECT k, {', '.join(names)}, count(*) AS n, sum(cost)::BIGINT AS cost "
        f"FROM ({_choices(level.table, prices, boxes, rounded=rounded)}) GROUP BY ALL",
        step="look",
    )
    found = classes_of(rows, names)
    choices = (found.excess >= 0).sum(axis=1)
    choosing = in_order(found.where(choices > 1))
    into, left = _flows(found.where(choices == 1), size)
    near, sampled = len(choosing), most is not None and len(choosing) > most
    return RecordScan(
        prices=prices,
        boxes=boxes,
        choosing=thinned(choosing, most) if most is not None and sampled else choosing,
        into=into + level.settled.by_category.sum(axis=0),
        left=left + level.settled.left,
        bound=bound(int(rows["cost"].sum()) + sum(level.settled.values(prices)), prices, goal),
        near=near,
        open=int(choosing.records.sum()),
        exact=not sampled and not (rounded and boxes.largest >= 2 * GRID),
    )


def _flows(settled: Classes, size: int) -> tuple[Counts, Counts]:
    """Count who enters each category, and which unique records leave each, of classes with one choice."""
    choice = settled.excess.argmax(axis=1)
    moving = choice < size
    unique = moving & (settled.kinds < size)
    into, left = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    np.add.at(into, choice[moving], settled.records[moving])
    np.add.at(left, settled.kinds[unique], settled.records[unique])
    return into, left


def thinned(classes: Classes, most: int) -> Classes:
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
    return Classes(classes.kinds[rows], np.concatenate(weights), classes.excess[rows])


def narrowed(engine: Engine, level: Level, prices: Prices, reach: Boxes, columns: Sequence[str]) -> Level:
    """Set apart the records that have one choice within a reach of prices.

    Cost: two scans of the level's records.
    """
    offered = (
        f"SELECT *, {_sure(prices, reach)} AS sure "
        f"FROM ({offers(level.table, prices, columns, reach.largest)})"
    )
    choosing = _choosing(prices, reach)
    table = engine.materialize("open", f"SELECT {', '.join(columns)} FROM ({offered}) WHERE {choosing}")
    settled = scan(engine, offered, prices, f"NOT ({choosing})")
    ((rows,),) = engine.query(f"SELECT count(*) FROM {table}", step="open")
    return Level(table, rows, level.settled + settled, prices, reach)


def tied(
    engine: Engine, table: Table, keys: Sequence[str], prices: Prices, limit: int, *, every: bool = False
) -> Table:
    """Number the classes of the records that have a second choice of at most so much excess.

    Returns:
        A working table of the records' keys and ``class``, in the order of kind and excesses, from 0.

    Args:
        engine: Where the table is.
        table: A table like ``units``.
        keys: Columns that tell its rows apart.
        prices: The prices.
        limit: Largest excess, an even number.
        every: Take the records without a second choice too.
    """
    size = len(prices.enter)
    names = names_of(size)
    row = ", ".join(["k", *names])
    choices = _choices(table, prices, Boxes.even(size, limit // 2), rounded=False, keys=keys)
    near = " + ".join(f"({name} >= 0)::INTEGER" for name in names)
    where = "" if every else f" WHERE {near} > 1"
    return engine.materialize(
        "ties",
        f"SELECT {', '.join(keys)}, {row}, dense_rank() OVER (ORDER BY {row}) - 1 AS class "
        f"FROM ({choices}){where}",
    )


def tied_classes(engine: Engine, ties: Table, categories: int) -> Classes:
    """Count the classes of a table that :func:`tied` made; one GROUP BY of it."""
    names = names_of(categories)
    values = ", ".join(f"any_value({name}) AS {name}" for name in ["k", *names])
    sql = f"SELECT class, count(*) AS n, {values} FROM {ties} GROUP BY class ORDER BY class"
    return classes_of(engine.arrays(sql, step="classes"), names)


def in_order(classes: Classes) -> Classes:
    """Sort classes as :func:`tied` numbers them."""
    return classes.where(np.lexsort((*classes.excess.T[::-1], classes.kinds)))


def names_of(categories: int) -> list[str]:
    """Name the columns of excesses, staying last."""
    return [f"e{i}" for i in range(categories + 1)]


def classes_of(rows: dict[str, NDArray[Any]], names: Sequence[str]) -> Classes:
    """Read classes from fetched columns."""
    excess = np.stack([rows[name].astype(np.int64) for name in names], axis=1)
    return Classes(rows["k"].astype(np.int64), rows["n"].astype(np.int64), excess)


def _choices(table: Table, prices: Prices, boxes: Boxes, *, rounded: bool, keys: Sequence[str] = ()) -> str:
    """Give SQL for the excess of each choice of each record, and what its best choice costs it."""
    size = len(prices.enter)
    chosen = []
    for name, choice, box in zip(names_of(size), _names(size), _boxes(boxes), strict=True):
        excess = f"top - {choice}"
        if rounded and (grid := _grid(boxes, choice, size)):
            excess = f"({excess}) // {grid} * {grid}"
        chosen.append(f"CASE WHEN {choice} + {box} >= sure THEN {excess} ELSE -1 END AS {name}")
    base = f"CASE WHEN k < {size} THEN stay ELSE own + {by_kind(prices.enter * 2)} END"
    offered = offers(table, prices, [*keys, "k", "own"], boxes.largest)
    return (
        f"SELECT {', '.join([*keys, 'k', *chosen])}, {base} - top AS cost "
        f"FROM (SELECT *, {TOP} AS top, {_sure(prices, boxes)} AS sure FROM ({offered}))"
    )


def _grid(boxes: Boxes, choice: str, size: int) -> str:
    if choice == "stay":
        return by_kind(np.maximum(1, boxes.leave // GRID).tolist() * 2)
    grid = int(boxes.enter[int(choice[1:])]) // GRID
    return f"{grid}" if grid > 1 else ""


def _names(size: int) -> list[str]:
    return [*(f"s{h}" for h in range(size)), "stay"]


def _boxes(boxes: Boxes) -> list[str]:
    return [*(f"{box}::BIGINT" for box in boxes.enter.tolist()), by_kind(boxes.leave.tolist() * 2)]


def _sure(prices: Prices, boxes: Boxes) -> str:
    """Give SQL for what a record's best choice is worth to it at least."""
    pairs = zip(_names(len(prices.enter)), _boxes(boxes), strict=True)
    return f"greatest({', '.join(f'{choice} - {box}' for choice, box in pairs)})"


def _choosing(prices: Prices, boxes: Boxes) -> str:
    """Give SQL that tells whether a row of offers, with ``sure``, has more than one choice."""
    pairs = zip(_names(len(prices.enter)), _boxes(boxes), strict=True)
    counted = " + ".join(f"({choice} + {box} >= sure)::INTEGER" for choice, box in pairs)
    return f"{counted} > 1"
