"""Lagrangian prices, which tell every record what to do, and the lower bound that they prove.

There is a price ``enter`` for each category that a record may enter, and a price ``leave`` for each true
category of a uniquely identifiable record. A record of true category t with posteriors p enters the category
h where ``p[h] + enter[h]`` is largest among the others; a uniquely identifiable one stays if
``p[t] + enter[t] - leave[t]`` is at least that. At any prices the sum of what all records then cost is a
lower bound on every plan that keeps the constraints (Lagrangian relaxation). All numbers are whole, in units
of 1 / SCALE, so that bounds are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.methods.base.arrays import Counts
from ppdm_sql.methods.swapping.marginal_deviation import Demand
from ppdm_sql.methods.swapping.posteriors import NEVER, SCALE

FORBIDDEN = 2 * NEVER["BIGINT"]
"""What staying is worth to a record that must change."""
ROUNDED = 2
"""By how much prices that are one may differ: each is the sum of two rounded ones."""


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

    def levelled(self, demand: Demand) -> Prices:
        """Give the same price to leaving all categories whose prices differ by rounding alone.

        Of two such categories as many records as can be would leave the cheaper one, so that a bound may be
        lower by a unit for each of them.

        Example:
            >>> none, records = np.zeros(3, dtype=np.int64), np.full(3, 8)
            >>> Prices((0, 5, 7), (31, 30, 90)).levelled(Demand(records, none, 12, none, records)).leave
            (31, 31, 90)
        """
        marginal = cheapest_leaving(self, demand)[1]
        leave = (marginal if abs(price - marginal) <= ROUNDED else price for price in self.leave)
        return Prices(self.enter, tuple(leave))


@dataclass(frozen=True)
class FixedFlows:
    """What records do whose choice no price within reach changes: their cost is linear in the prices.

    Args:
        flows: Records by kind (unique by true category, then grouped) and category entered, (2 * C, C).
        costs: What they cost at prices of zero, by true category, in units of 1 / SCALE.
    """

    flows: Counts
    costs: tuple[int, ...]

    @classmethod
    def none(cls, categories: int) -> FixedFlows:
        """Give the flows of no records."""
        return cls(np.zeros((2 * categories, categories), dtype=np.int64), (0,) * categories)

    def __add__(self, other: FixedFlows) -> FixedFlows:
        return FixedFlows(
            self.flows + other.flows, tuple(a + b for a, b in zip(self.costs, other.costs, strict=True))
        )

    @property
    def by_category(self) -> Counts:
        """Flows of both kinds by true and new category, (C, C)."""
        size = len(self.costs)
        return np.asarray(self.flows[:size] + self.flows[size:], dtype=np.int64)

    @property
    def left(self) -> Counts:
        """Uniquely identifiable records that leave each category."""
        return np.asarray(self.flows[: len(self.costs)].sum(axis=1), dtype=np.int64)

    def cost_at(self, prices: Prices) -> int:
        """Give what these records cost at prices."""
        # in Python's integers: prices of up to 10**15 times millions of records pass 64 bits
        total = 0
        for t, (row, cost, left) in enumerate(zip(self.by_category, self.costs, self.left, strict=True)):
            entering = sum(int(n) * price for n, price in zip(row, prices.enter, strict=True))
            total += cost + int(row.sum()) * prices.enter[t] - entering - int(left) * prices.leave[t]
        return total


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


def priced_choices(
    table: Table | str, prices: Prices, columns: Sequence[str] = ("kind", "true_posterior"), reach: int = 0
) -> str:
    """Give SQL for what each record's choices are worth to it: entering each category, and staying.

    Args:
        table: A table like ``candidates``, or a query in parentheses.
        prices: The prices.
        columns: Columns to carry along.
        reach: How far prices may move from these.

    Example:
        >>> from ppdm_sql.engine.names import Table
        >>> from ppdm_sql.engine.statements import formatted
        >>> print(formatted(priced_choices(Table("candidates"), Prices((7, 0), (5, 3)))))
        SELECT
          *,
          GREATEST(worth_0, worth_1) AS best_entry
        FROM (
          SELECT
            kind,
            true_posterior,
            p0 + CAST(7 AS BIGINT) AS worth_0,
            p1 + CAST(0 AS BIGINT) AS worth_1,
            true_posterior + (
              CAST([2, -3, -2000000000000000, -2000000000000000] AS BIGINT[])
            )[kind + 1] AS worth_stay
          FROM "candidates"
        )
    """
    size = len(prices.enter)
    worth = [enter - leave for enter, leave in zip(prices.enter, prices.leave, strict=True)]
    staying = by_kind([*worth, *[FORBIDDEN] * size])
    entering = _worth_of_entering(prices, 2 * reach + max(prices.enter) - min(prices.enter))
    best = f"greatest({', '.join(f'worth_{h}' for h in range(size))})"
    return (
        f"SELECT *, {best} AS best_entry FROM (SELECT {', '.join(columns)}, {entering}, "
        f"true_posterior + {staying} AS worth_stay FROM {table})"
    )


def by_kind(numbers: Sequence[int]) -> str:
    """Give SQL for the number of a record's kind: unique ones by true category, then members of groups.

    Example:
        >>> by_kind([5, 7])
        '([5, 7]::BIGINT[])[kind + 1]'
    """
    return f"([{', '.join(map(str, numbers))}]::BIGINT[])[kind + 1]"


def _worth_of_entering(prices: Prices, spread: int) -> str:
    size = len(prices.enter)
    values = [f"p{h} + {price}::BIGINT" for h, price in enumerate(prices.enter)]
    # prices farther apart than NEVER would let a record enter the category that it leaves
    if spread >= -NEVER["INTEGER"] - SCALE:
        values = [
            f"CASE WHEN kind % {size} = {h} THEN {FORBIDDEN} ELSE {value} END"
            for h, value in enumerate(values)
        ]
    return ", ".join(f"{value} AS worth_{h}" for h, value in enumerate(values))


def entered(size: int) -> str:
    """Give SQL for the category that a row of :func:`priced_choices` enters, the first among equals.

    Example:
        >>> entered(3)
        'CASE best_entry WHEN worth_0 THEN 0 WHEN worth_1 THEN 1 ELSE 2 END'
    """
    choices = " ".join(f"WHEN worth_{h} THEN {h}" for h in range(size - 1))
    return f"CASE best_entry {choices} ELSE {size - 1} END"


def fixed_flows(engine: Engine, choices: str, prices: Prices, where: str) -> FixedFlows:
    """Let records do what prices tell; one GROUP BY.

    Args:
        engine: Where the records are.
        choices: A query that gives the columns of :func:`priced_choices`.
        prices: The prices.
        where: SQL condition on its rows.
    """
    size = len(prices.enter)
    rows = engine.query(
        f"SELECT kind, {entered(size)} AS category, count(*), "
        "(sum(true_posterior) - sum(best_entry))::HUGEINT "
        f"FROM ({choices}) WHERE best_entry > worth_stay AND {where} GROUP BY 1, 2",
        step="fixed_flows",
    )
    flows = np.zeros((2 * size, size), dtype=np.int64)
    costs = [0] * size
    for kind, category, count, cost in rows:
        flows[kind, category] = count
        costs[kind % size] += int(cost) + count * prices.enter[category]
    return FixedFlows(flows, tuple(costs))
