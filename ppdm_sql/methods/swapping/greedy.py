"""The paper's Phase II: swaps of two records' values, the cheapest first, until none lowers the objective.

Admissible are swaps that change neither how many unique records differ from their true value nor which
members of groups do (rules 1 to 4 of the paper's Appendix A). What a swap of records i and j costs is a sum
of one number for each, so among the records in two *states* (true value, present value, unique or of a group)
the cheapest swap is of the first in one order and the first in another; a heap over the pairs of states gives
the swaps in order. ``by_choice`` has the records of each class by present value, the true one last.

Source: Li and Sarkar 2004, Table 2 and Appendix A.
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.engine import Engine
from ppdm_sql.errors import InvalidOption
from ppdm_sql.methods.base.arrays import Counts
from ppdm_sql.methods.swapping.candidates import Candidates
from ppdm_sql.methods.swapping.exact import EVERYTHING, RecordClasses, Solution, find_ties, tied_classes
from ppdm_sql.methods.swapping.marginals import Flows

MOST = 4_000_000
"""Numbers (unlike records times values) that the greedy method holds at most."""


def greedy(engine: Engine, candidates: Candidates, start: Flows, seed: bytes) -> Solution:
    size = candidates.categories
    if candidates.rows * (size + 1) > MOST:
        raise InvalidOption(
            f"The greedy method takes at most {MOST // (size + 1)} records of {size} values.",
            "Use --method exact.",
        )
    prices = np.zeros((2, size), dtype=np.int64)
    table = find_ties(engine, candidates, prices, EVERYTHING, every=True)
    classes = tied_classes(engine, table, size)
    by_choice = improve(classes, random_phase_one(classes, start, seed))
    return Solution(prices, table, by_choice, 0, None)


def random_phase_one(classes: RecordClasses, start: Flows, seed: bytes) -> Counts:
    size = len(start.unique)
    random = np.random.default_rng(int.from_bytes(hashlib.sha256(seed + b"phase 1").digest(), "big"))
    by_choice = np.zeros_like(classes.reduced_costs)
    for kind, flows in enumerate(np.concatenate([start.unique, start.grouped])):
        rows = np.flatnonzero(classes.kinds == kind)
        remaining = classes.records[rows].copy()
        for category, number in enumerate(flows):
            if number:
                records = random.multivariate_hypergeometric(remaining, int(number), method="marginals")
                by_choice[rows, category] = records
                remaining -= records
        by_choice[rows, size] = remaining
    return by_choice


def improve(classes: RecordClasses, by_choice: Counts) -> Counts:
    by_choice = by_choice.copy()
    while True:
        states = _States(classes, by_choice)
        swaps = list(states.swaps())
        if not swaps:
            return by_choice
        for first, second, records in swaps:
            for node, other in ((first, second), (second, first)):
                row, value = states.rows[node], states.present[other]
                by_choice[row, states.columns[node]] -= records
                by_choice[row, states.size if value == states.true[node] else value] += records


class _States:
    """The records before a pass: nodes are alike records with one present value, in states."""

    def __init__(self, classes: RecordClasses, by_choice: Counts) -> None:
        self.size = by_choice.shape[1] - 1
        self.rows, self.columns = np.nonzero(by_choice)
        self.free = by_choice[self.rows, self.columns].tolist()
        kinds = classes.kinds[self.rows]
        self.true = kinds % self.size
        self.present = np.where(self.columns == self.size, self.true, self.columns)
        codes, state = np.unique((kinds * (self.size + 1)) + self.columns, return_inverse=True)
        self.members = [np.flatnonzero(state == s) for s in range(len(codes))]
        self.kind, column = np.divmod(codes, self.size + 1)  # of each state
        self.changed = column < self.size
        self.values = np.where(self.changed, column, self.kind % self.size)
        self.costs = self._costs(classes)
        self.orders: dict[tuple[int, int], tuple[list[int], list[int]]] = {}

    def _costs(self, classes: RecordClasses) -> Counts:
        """What each node pays for each present value instead of its own, shape (nodes, categories)."""
        every = classes.reduced_costs[self.rows]
        rows = np.arange(len(every))
        now = every[rows, self.columns]
        costs = every[:, : self.size] - now[:, None]
        costs[rows, self.true] = every[:, self.size] - now
        return np.asarray(costs, dtype=np.int64)

    def _admissible(self) -> NDArray[np.bool_]:
        """Tell which states may swap, by the paper's rules 1 to 4, shape (states, states)."""
        true, grouped = self.kind % self.size, self.kind >= self.size
        is_changed, present = self.changed, self.values
        unlike = present[:, None] != present[None, :]
        both = is_changed[:, None] & is_changed[None, :]
        exchanged = (true[:, None] != present[None, :]) & (present[:, None] != true[None, :])
        alike = true[:, None] == true[None, :]
        one_way = ~grouped[:, None] & ~grouped[None, :] & (is_changed[:, None] | is_changed[None, :])
        return np.asarray(unlike & np.where(alike, both | one_way, both & exchanged))

    def swaps(self) -> Iterator[tuple[int, int, int]]:
        """Give the swaps of a pass, the cheapest first: two nodes, and how many of their records."""
        if not self.members:
            return
        present = self.values
        least = np.stack([self.costs[members].min(axis=0) for members in self.members])
        cost = least[:, present] + least[:, present].T
        firsts, seconds = np.nonzero(
            self._admissible() & (cost < 0) & np.triu(np.ones_like(cost, dtype=bool), 1)
        )
        heap = [(int(cost[a, b]), int(a), int(b), 0, 0) for a, b in zip(firsts, seconds, strict=True)]
        heapq.heapify(heap)
        while heap:
            bound, a, b, i, j = heapq.heappop(heap)
            (nodes, mine), (others, theirs) = self._order(a, int(present[b])), self._order(b, int(present[a]))
            while i < len(nodes) and not self.free[nodes[i]]:
                i += 1
            while j < len(others) and not self.free[others[j]]:
                j += 1
            if i == len(nodes) or j == len(others) or mine[i] + theirs[j] >= 0:
                continue
            if mine[i] + theirs[j] > bound:
                heapq.heappush(heap, (mine[i] + theirs[j], a, b, i, j))
                continue
            first, second = nodes[i], others[j]
            records = min(self.free[first], self.free[second])
            self.free[first] -= records
            self.free[second] -= records
            yield first, second, records
            heapq.heappush(heap, (bound, a, b, i, j))

    def _order(self, state: int, value: int) -> tuple[list[int], list[int]]:
        """Give the nodes of a state by what they pay for a value, and what that is."""
        if (state, value) not in self.orders:
            members = self.members[state]
            costs = self.costs[members, value]
            order = np.argsort(costs, kind="stable")
            self.orders[state, value] = members[order].tolist(), costs[order].tolist()
        return self.orders[state, value]
