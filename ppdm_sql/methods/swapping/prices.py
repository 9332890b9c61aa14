"""Prices that tell every record what to do, and the lower bound that they prove.

There is a price ``enter`` for each category that a record may enter, and a price ``leave`` for each true
category of a uniquely identifiable record. A record of true category t with posteriors p goes where
``p[h] + enter[h]`` is largest among the other categories; a uniquely identifiable one stays if
``p[t] + enter[t] - leave[t]`` is at least that. At any prices the sum of what all records then cost is a
lower bound on every plan that meets the demand (Lagrangian relaxation). All numbers are whole, in units of
1 / SCALE, so that bounds are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.methods.swapping.identification import Counts
from ppdm_sql.methods.swapping.marginal_deviation import Demand
from ppdm_sql.methods.swapping.posteriors import NEVER, SCALE

FORBIDDEN = 2 * NEVER["BIGINT"]
"""What staying is worth to a record that must change."""


@dataclass(frozen=True)
class Goal:
    """What a plan must reach.

    Args:
        demand: How many records change, and of which categories.
        deviation: Sum over the categories of records gained or lost, an even number.
        net: Records that each category gains, where that is fixed.
    """

    demand: Demand
    deviation: int
    net: Counts | None

    @property
    def categories(self) -> int:
        """Number of categories."""
        return self.demand.categories


@dataclass(frozen=True)
class Prices:
    """Prices of entering and of leaving each category."""

    enter: tuple[int, ...]
    leave: tuple[int, ...]

    @classmethod
    def zero(cls, categories: int) -> Prices:
        """Give the prices under which every record does what is best for it alone."""
        return cls((0,) * categories, (0,) * categories)

    def plus(self, enter: Sequence[int], leave: Sequence[int]) -> Prices:
        """Give the prices after a step."""
        return Prices(
            tuple(price + step for price, step in zip(self.enter, enter, strict=True)),
            tuple(price + step for price, step in zip(self.leave, leave, strict=True)),
        )


@dataclass(frozen=True)
class CuttingPlane:
    """What records do at some prices.

    Args:
        flows: Records by kind (unique by true category, then grouped) and category entered, (2 * C, C).
        costs: What they cost, by true category, in units of 1 / SCALE.
    """

    flows: Counts
    costs: tuple[int, ...]

    @classmethod
    def none(cls, categories: int) -> CuttingPlane:
        """Give the cut of no records."""
        return cls(np.zeros((2 * categories, categories), dtype=np.int64), (0,) * categories)

    def __add__(self, other: CuttingPlane) -> CuttingPlane:
        return CuttingPlane(
            self.flows + other.flows, tuple(a + b for a, b in zip(self.costs, other.costs, strict=True))
        )

    @property
    def by_category(self) -> Counts:
        """Flows of both kinds, shape (categories, categories)."""
        size = len(self.costs)
        return np.asarray(self.flows[:size] + self.flows[size:], dtype=np.int64)

    @property
    def left(self) -> Counts:
        """Uniquely identifiable records that leave each category."""
        return np.asarray(self.flows[: len(self.costs)].sum(axis=1), dtype=np.int64)

    def values(self, prices: Prices) -> list[int]:
        """Give, by true category, what these records cost at other prices."""
        found = []
        for t, (row, cost, left) in enumerate(zip(self.by_category, self.costs, self.left, strict=True)):
            entered = sum(int(n) * price for n, price in zip(row, prices.enter, strict=True))
            gone = int(row.sum()) * prices.enter[t]
            found.append(cost + gone - entered - int(left) * prices.leave[t])
        return found


def least_leaving(prices: Prices, demand: Demand) -> tuple[int, int, list[int]]:
    """Share the changes out where leaving is cheapest.

    Returns:
        What that costs, the price of the last record shared out, and the records by category.
    """
    left = [int(n) for n in demand.low]
    rest, marginal = demand.changes - sum(left), min(prices.leave)
    for t in sorted(range(demand.categories), key=lambda t: (prices.leave[t], t)):
        more = min(rest, int(demand.high[t]) - left[t])
        if more > 0:
            left[t], rest, marginal = left[t] + more, rest - more, prices.leave[t]
    return sum(price * n for price, n in zip(prices.leave, left, strict=True)), marginal, left


def bound(costs: int, prices: Prices, goal: Goal) -> int:
    """Give the lower bound that prices prove, given what all records cost at them."""
    if goal.net is None:
        balance = -(goal.deviation // 2) * (max(prices.enter) - min(prices.enter))
    else:
        balance = sum(price * int(n) for price, n in zip(prices.enter, goal.net, strict=True))
    return costs + least_leaving(prices, goal.demand)[0] + balance


def offers(table: Table | str, prices: Prices, columns: Sequence[str] = ("k", "own"), reach: int = 0) -> str:
    """Give SQL for what each record is offered: ``s0, s1, ...`` for entering, ``stay``, ``best`` of entering.

    Args:
        table: A table like ``units``, or a query in parentheses.
        prices: The prices.
        columns: Columns to carry along.
        reach: How far prices may move from these.
    """
    size = len(prices.enter)
    carried = ", ".join(columns)
    worth = [enter - leave for enter, leave in zip(prices.enter, prices.leave, strict=True)]
    staying = by_kind([*worth, *[FORBIDDEN] * size])
    best = f"greatest({', '.join(f's{h}' for h in range(size))})"
    entering = _entering(prices, 2 * reach + max(prices.enter) - min(prices.enter))
    return (
        f"SELECT *, {best} AS best FROM (SELECT {carried}, {entering}, own + {staying} AS stay FROM {table})"
    )


def by_kind(numbers: Sequence[int]) -> str:
    """Give SQL for the number of a record's kind: unique ones by true category, then members of groups.

    Example:
        >>> by_kind([5, 7])
        '([5, 7]::BIGINT[])[k + 1]'
    """
    return f"([{', '.join(map(str, numbers))}]::BIGINT[])[k + 1]"


def _entering(prices: Prices, spread: int) -> str:
    """List what entering is worth; never the true category, however far apart the prices are."""
    size = len(prices.enter)
    values = [f"p{h} + {price}::BIGINT" for h, price in enumerate(prices.enter)]
    if spread >= -NEVER["INTEGER"] - SCALE:
        values = [
            f"CASE WHEN k % {size} = {h} THEN {FORBIDDEN} ELSE {value} END" for h, value in enumerate(values)
        ]
    return ", ".join(f"{value} AS s{h}" for h, value in enumerate(values))


def entered(size: int) -> str:
    """Give SQL for the category that a row of :func:`offers` would enter, the first among equals."""
    choices = " ".join(f"WHEN s{h} THEN {h}" for h in range(size - 1))
    return f"CASE best {choices} ELSE {size - 1} END"


def scan(engine: Engine, offered: str, prices: Prices, where: str) -> CuttingPlane:
    """Let records do what prices tell; one GROUP BY.

    Args:
        engine: Where the records are.
        offered: A query that gives the columns of :func:`offers`.
        prices: The prices.
        where: SQL condition on its rows.
    """
    size = len(prices.enter)
    rows = engine.query(
        f"SELECT k, {entered(size)} AS h, count(*), (sum(own) - sum(best))::HUGEINT "
        f"FROM ({offered}) WHERE best > stay AND {where} GROUP BY 1, 2",
        step="scan",
    )
    flows = np.zeros((2 * size, size), dtype=np.int64)
    costs = [0] * size
    for kind, h, count, cost in rows:
        flows[kind, h] = count
        costs[kind % size] += int(cost) + count * prices.enter[h]
    return CuttingPlane(flows, tuple(costs))
