"""The best prices where an attribute has two values: the cheapest records change, and how many is known.

Of the first value ``first`` records change, of the second one all others that must. The second value gains
``excess`` records then, which is 0 where the marginal is kept. Where it cannot be, either the deviation holds
``first`` where it is, which has a price of entering, or the bounds of the categories do, which have prices of
leaving. Other prices with the same choices prove less, and what they leave open grows with the records.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ppdm_sql.methods.swapping.lagrangian_prices import Prices, SwapConstraints


@dataclass(frozen=True)
class ChangeCosts:
    """What single changes cost, in units of 1 / SCALE.

    Args:
        found: By true category and place: 0 for the last record that changes, 1 for the next one. One that is
            not there has none.
    """

    found: Mapping[tuple[int, int], int]

    @property
    def limits(self) -> tuple[int, int]:
        """Give the cost up to which records of each value change."""
        known = [self.found.get((kind, 0), self.found.get((kind, 1))) for kind in (0, 1)]
        other = next((cost for cost in known if cost is not None), 0)
        first, second = (other if cost is None else cost for cost in known)
        return first, second

    @property
    def next_is_cheaper(self) -> bool:
        """Whether one more change of the first value costs less than the last one of the second."""
        more, last = self.found.get((0, 1)), self.found.get((1, 0))
        return more is not None and last is not None and more < last


def prices_of_two_values(constraints: SwapConstraints, costs: Callable[[int], ChangeCosts]) -> Prices:
    """Find prices that prove the cheapest changes to be optimal.

    Args:
        constraints: What a plan must keep; of two categories.
        costs: Gives what changes cost when so many of the first category change.

    Example: of an odd number of changes one more is of the second value, as that is cheaper.
        >>> import numpy as np
        >>> from ppdm_sql.methods.swapping.marginal_deviation import Demand
        >>> records = np.array([5, 5])
        >>> demand = Demand(records, np.array([0, 0]), 3, 0 * records, records)
        >>> costs = ChangeCosts({(0, 0): 8, (0, 1): 20, (1, 0): 4, (1, 1): 6})
        >>> prices_of_two_values(SwapConstraints(demand, 2, None), lambda first: costs)
        Prices(enter=(0, 2), leave=(6, 6))
    """
    demand, net = constraints.demand, constraints.net
    low, high, changes = demand.low, demand.high, demand.changes
    gain = int(demand.grouped[1] - demand.grouped[0]) if net is None else -int(net[0])
    fewest, most = max(int(low[0]), changes - int(high[1])), min(int(high[0]), changes - int(low[1]))
    first = min(max((changes + gain) // 2, fewest), most)
    found, excess = costs(first), 2 * first - changes - gain
    either = net is None and excess == -1 and first < most  # one side gains a record, and it may be any
    if either and found.next_is_cheaper:
        first, excess = first + 1, 1
        found = costs(first)
    one, other = found.limits
    held_by_bounds = net is None and excess * (one - other) >= 0 and excess != 0
    if held_by_bounds:
        limit = max(one, other)
        return Prices((0, 0), (limit, limit) if either else (one, other))
    one += (one - other) % 2  # unequal prices of leaving would prove less
    half = (one - other) // 2
    return Prices((0, half), (one - half, other + half))
