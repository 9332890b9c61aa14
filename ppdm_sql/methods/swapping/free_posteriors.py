"""Free records in memory, where they are few: planning a statement would take longer than looking at them.

They are held without keys: the posteriors of those that are alike, and their number. What is found is what
:func:`ppdm_sql.methods.swapping.record_classes.reduced_costs` finds, to the last unit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.methods.base.arrays import Counts
from ppdm_sql.methods.swapping.lagrangian_prices import FORBIDDEN, Prices

BLOCK = 2048
"""Rows that are looked at at a time, so that what is computed of them stays near the processor."""
LARGEST = 2**62
"""So many numbers fit in one of a sort."""
Sides = tuple[Counts, Counts]
"""Numbers for each price: of entering, and of leaving."""


class RecordLook(NamedTuple):
    """What a look at records finds.

    Args:
        kinds: Kind of each record that has several choices.
        records: So many are alike.
        reduced_costs: Of each choice, in steps; -1 where it is none; shape (C + 1, rows).
        flows: All others by kind and choice, shape (2 * C, C + 1).
        cost: What the best choices of all cost.
    """

    kinds: Counts
    records: Counts
    reduced_costs: Counts
    flows: Counts
    cost: int


@dataclass(frozen=True)
class FreePosteriors:
    """Records by kind and posteriors, in the order of kinds.

    Args:
        ends: Where each kind begins, and the last one ends, shape (2 * C + 1,).
        records: Records of each row.
        posteriors: Of entering each category, :data:`FORBIDDEN` for the true one, and (last) of the true one,
            shape (C + 1, rows).
    """

    ends: Counts
    records: Counts
    posteriors: Counts

    @classmethod
    def read(cls, engine: Engine, table: Table, categories: int) -> FreePosteriors:
        """Read a table like ``candidates``; one GROUP BY of it."""
        names = [*(f"p{h}" for h in range(categories)), "true_posterior"]
        query = f"SELECT kind, {', '.join(names)}, count(*) AS n FROM {table} GROUP BY ALL"
        rows = engine.arrays(query, step="free_posteriors")
        order = np.argsort(rows["kind"], kind="stable")
        kinds = rows["kind"][order].astype(np.int64)
        posteriors = np.empty((len(names), len(kinds)), dtype=np.int64)
        for name, row in zip(names, posteriors, strict=True):
            row[:] = rows.pop(name)[order]
        posteriors[kinds % categories, np.arange(len(kinds))] = FORBIDDEN
        ends = np.searchsorted(kinds, np.arange(2 * categories + 1))
        return cls(ends, rows["n"][order].astype(np.int64), posteriors)

    def look(self, prices: Prices, sides: Sides, steps: Sides) -> RecordLook:
        """Tell apart which records have one choice within boxes around prices, and which have several.

        Args:
            prices: The prices.
            sides: Boxes of the prices of entering, and of leaving.
            steps: To give reduced costs in, rounded down.
        """
        size, cost = len(prices.enter), 0
        flows, free = np.zeros((2 * size, size + 1), dtype=np.int64), [_nothing(size)]
        for kind, block in self._blocks():
            true, records, posteriors = kind % size, self.records[block], self.posteriors[:, block]
            stay = prices.enter[true] - prices.leave[true]
            worths = posteriors + _column(prices.enter, stay if kind < size else FORBIDDEN)
            best, box = worths.max(axis=0), _column(sides[0], sides[1][true])
            choices = worths + box >= (worths - box).max(axis=0)
            several = np.add.reduce(choices, axis=0, dtype=np.int32) > 1
            flows[kind] += choices @ np.where(several, 0, records)
            unchanged = posteriors[size] + (stay if kind < size else prices.enter[true])
            cost += int((unchanged - best) @ records)
            reduced = (best[several] - worths[:, several]) // _column(steps[0], steps[1][true])
            free.append(
                (
                    np.full(reduced.shape[1], kind),
                    records[several],
                    np.where(choices[:, several], reduced, -1),
                )
            )
        kinds, records, costs = (np.concatenate(parts, axis=-1) for parts in zip(*free, strict=True))
        return RecordLook(kinds, records, costs, flows, cost)

    def _blocks(self) -> Iterator[tuple[int, slice]]:
        """Give the kind of some rows and where they are, for all rows."""
        for kind, (begin, end) in enumerate(pairwise(self.ends.tolist())):
            for start in range(begin, end, BLOCK):
                yield kind, slice(start, min(end, start + BLOCK))


def _nothing(size: int) -> tuple[Counts, Counts, Counts]:
    none = np.zeros(0, dtype=np.int64)
    return none, none, np.zeros((size + 1, 0), dtype=np.int64)


def _column(entering: Sequence[int] | Counts, staying: int) -> Counts:
    """Give a number for each choice, as a column."""
    return np.array([*entering, staying], dtype=np.int64)[:, None]


def distinct(columns: Sequence[Counts]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Sort rows of numbers of at least -1 by their columns: their order, and where unlike rows begin in it.

    Example:
        >>> order, begins = distinct([np.array([1, 0, 1]), np.array([-1, 5, -1])])
        >>> order.tolist(), begins.tolist()
        ([1, 0, 2], [0, 1])
    """
    words = _packed(columns)
    order = np.lexsort(words[::-1])
    unlike = np.zeros(max(0, len(order) - 1), dtype=bool)
    for word in words:
        unlike |= np.diff(word[order]) != 0
    return order, np.flatnonzero(np.concatenate([np.ones(min(1, len(order)), dtype=bool), unlike]))


def _packed(columns: Sequence[Counts]) -> list[Counts]:
    """Put as many columns as fit into one number, in their order: fewer are sorted faster."""
    words, room = list[Counts](), 0
    for column in columns:
        numbers = int(column.max(initial=0)) + 2
        if numbers > room:
            words.append(np.zeros(len(column), dtype=np.int64))
            room = LARGEST
        words[-1] = words[-1] * numbers + (column + 1)
        room //= numbers
    return words
