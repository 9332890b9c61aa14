"""Phase I: how many records leave each category and how many enter it, so that the marginal is kept.

A record cannot enter the category that it leaves. Records can be exchanged so that ``out`` leave and ``in``
enter each category if and only if the sums are the same and no category's ``in`` plus ``out`` is above them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.methods.swapping.identification import Counts
from ppdm_sql.methods.swapping.solver import Program


@dataclass(frozen=True)
class Demand:
    """What must change.

    Args:
        unique: Uniquely identifiable records by category (N_k of the paper).
        grouped: Members of groups that must change, by category.
        changes: Uniquely identifiable records that must change.
        low: Fewest of them by category.
        high: Most of them by category.
    """

    unique: Counts
    grouped: Counts
    changes: int
    low: Counts
    high: Counts

    @property
    def categories(self) -> int:
        """Number of categories."""
        return len(self.unique)

    @property
    def total(self) -> int:
        """Records that change."""
        return self.changes + int(self.grouped.sum())


@dataclass(frozen=True)
class Marginal:
    """Where the records of each category go.

    Args:
        unique: Uniquely identifiable records from category k to h, shape (categories, categories).
        grouped: Members of groups from category k to h.
    """

    unique: Counts
    grouped: Counts

    @property
    def net(self) -> Counts:
        """Records that each category gains."""
        flows = self.unique + self.grouped
        return np.asarray(flows.sum(axis=0) - flows.sum(axis=1), dtype=np.int64)

    @property
    def deviation(self) -> int:
        """Sum over the categories of records gained or lost."""
        return int(np.abs(self.net).sum())


def least_deviation(demand: Demand) -> tuple[int, Counts, Counts]:
    """Solve Phase I for all records jointly, in integers.

    Returns:
        The least possible deviation, and the records that leave and enter each category in a solution.
    """
    program, every = Program(), range(demand.categories)
    leave = [program.number(int(demand.low[k]), int(demand.high[k]), whole=True) for k in every]
    enter = [program.number(0, demand.total, whole=True) for _ in every]
    slack = [(program.number(cost=1.0), program.number(cost=1.0)) for _ in every]
    program.equal([(v, 1.0) for v in leave], demand.changes)
    program.equal([(v, 1.0) for v in enter], demand.total)
    for k in every:
        fixed = int(demand.grouped[k])
        program.at_most([(leave[k], 1.0), (enter[k], 1.0)], demand.total - fixed)
        minus, plus = slack[k]
        program.equal([(leave[k], 1.0), (enter[k], -1.0), (minus, 1.0), (plus, -1.0)], -fixed)
    program.solve()
    out = np.array(program.wholes(leave), dtype=np.int64)
    into = np.array(program.wholes(enter), dtype=np.int64)
    return int(np.abs(into - out - demand.grouped).sum()), out, into


def joint(demand: Demand) -> Marginal:
    """Solve Phase I for all records jointly, and say who goes where."""
    _, out, into = least_deviation(demand)
    program, size = Program(), demand.categories
    flows = {(k, h): program.number() for k in range(size) for h in range(size) if k != h}
    for k in range(size):
        program.equal([(flows[k, h], 1.0) for h in range(size) if h != k], int(out[k] + demand.grouped[k]))
        program.equal([(flows[h, k], 1.0) for h in range(size) if h != k], int(into[k]))
    program.solve()
    total = np.zeros((size, size), dtype=np.int64)
    for (k, h), value in zip(flows, program.wholes(flows.values()), strict=True):
        total[k, h] = value
    grouped = _taken(total, demand.grouped)
    return Marginal(total - grouped, grouped)


def _taken(flows: Counts, wanted: Counts) -> Counts:
    """Take so many out of each row, from the left."""
    before = np.cumsum(flows, axis=1) - flows
    taken: Counts = np.clip(wanted[:, None] - before, 0, flows)
    return taken


def separate(demand: Demand) -> Marginal:
    """Solve the paper's program for either kind of record by itself, and round.

    Source: Li and Sarkar 2004, (1a) to (1d); in the example's first (1c) read ``+ s- - s+``.
    """
    unique = _paper(demand.changes, demand.low, demand.high)
    grouped = _paper(int(demand.grouped.sum()), np.zeros_like(demand.grouped), demand.grouped)
    return Marginal(unique, grouped)


def _paper(changes: int, low: Counts, high: Counts) -> Counts:
    program, size = Program(), len(high)
    flows = {(k, h): program.number() for k in range(size) for h in range(size) if k != h}
    program.equal([(flow, 1.0) for flow in flows.values()], changes)
    for k in range(size):
        leaving = [(flows[k, h], 1.0) for h in range(size) if h != k]
        entering = [(flows[h, k], -1.0) for h in range(size) if h != k]
        minus, plus = program.number(cost=1.0), program.number(cost=1.0)
        program.equal([*leaving, *entering, (minus, 1.0), (plus, -1.0)], 0)
        program.at_most(leaving, int(high[k]))
        program.at_least(leaving, int(low[k]))
    program.solve()
    found = np.zeros((size, size))
    for (k, h), value in zip(flows, program.values(flows.values()), strict=True):
        found[k, h] = value
    return _rounded_flows(found, changes)


def _rounded_flows(flows: NDArray[np.float64], changes: int) -> Counts:
    """Round so that all flows add up to the changes, and no row leaves the whole numbers around its sum."""
    rows = _rounded_to(flows.sum(axis=1), changes)
    return np.array([_rounded_to(row, int(total)) for row, total in zip(flows, rows, strict=True)])


def _rounded_to(numbers: NDArray[np.float64], total: int) -> Counts:
    """Round down, and up where most was lost, so that the sum is right."""
    floors: Counts = np.floor(numbers + 1e-6).astype(np.int64)
    lost = numbers - floors
    for place in np.argsort(-lost, kind="stable")[: total - int(floors.sum())]:
        floors[place] += 1
    return floors


def feasible_proportions(unique: Counts, grouped: Counts) -> tuple[float, float] | None:
    """Give the least and the largest proportion under which the marginal can be kept exactly.

    Args:
        unique: Uniquely identifiable records by category.
        grouped: Members of groups that must change, by category.
    """
    ends = []
    for sign in (1.0, -1.0):
        program = Program()
        leave = [program.number(0, int(n), cost=sign, whole=True) for n in unique]
        for k in range(len(unique)):
            others = [(v, -1.0) for h, v in enumerate(leave) if h != k]
            program.at_most([(leave[k], 1.0), *others], int(grouped.sum()) - 2 * int(grouped[k]))
        if not program.solve():
            return None
        ends.append(sum(program.wholes(leave)) / max(1, int(unique.sum())))
    return ends[0], ends[1]
