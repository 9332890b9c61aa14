"""Phase I: how many records leave each category and how many enter it, so that the marginal is kept.

A record cannot enter the category that it leaves. Records can be exchanged so that ``out`` leave and ``in``
enter each category if and only if the sums are the same and no category's ``in`` plus ``out`` is above them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ppdm_sql.methods.base.arrays import Counts, Floats
from ppdm_sql.methods.swapping.linear_programs import minimization, solve, values, whole_values


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
class Flows:
    """How many records go from each category to each other one (n_kh of the paper).

    Args:
        unique: Uniquely identifiable records by true and new category, shape (categories, categories).
        grouped: Members of groups by true and new category.
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


class JointProgram:
    """Phase I for all records jointly, in integers, as a PuLP problem without an objective.

    Its variables, by category: ``leave`` and ``enter``, uniquely identifiable records that leave it and all
    records that enter it; ``deviation`` is the sum of what the categories gain and lose.
    """

    def __init__(self, demand: Demand) -> None:
        import pulp  # type: ignore[import-untyped, unused-ignore]

        self.problem, variable = minimization()
        bounds = zip(demand.low.tolist(), demand.high.tolist(), strict=True)
        self.leave = [variable(low, high, whole=True) for low, high in bounds]
        self.enter = [variable(0, demand.total, whole=True) for _ in self.leave]
        loss_and_gain = [(variable(), variable()) for _ in self.leave]
        self.variable, self.deviation = variable, pulp.lpSum(loss_and_gain)
        self.problem += pulp.lpSum(self.leave) == demand.changes
        self.problem += pulp.lpSum(self.enter) == demand.total
        every = zip(self.leave, self.enter, loss_and_gain, demand.grouped.tolist(), strict=True)
        for leave, enter, (loss, gain), grouped in every:
            # no record enters the category that it leaves
            self.problem += leave + enter <= demand.total - grouped
            self.problem += leave - enter + loss - gain == -grouped


def deviation_of(demand: Demand) -> int:
    """Give the least possible deviation; no program is solved where the marginal can be kept.

    It can be where each category is entered by as many as leave it, who are not more than all others.

    Example:
        >>> unique, none = np.array([8, 6]), np.zeros(2, dtype=np.int64)
        >>> [deviation_of(Demand(unique, none, changes, none, unique)) for changes in (6, 7, 14)]
        [0, 2, 4]
    """
    most = np.minimum(demand.high, demand.total // 2 - demand.grouped)
    keeps = (demand.low <= most).all() and demand.low.sum() <= demand.changes <= most.sum()
    return 0 if keeps else least_deviation(demand)[0]


def least_deviation(demand: Demand) -> tuple[int, Counts, Counts]:
    """Solve Phase I for all records jointly.

    Returns:
        The least possible deviation, and the records that leave and enter each category in a solution.
    """
    program = JointProgram(demand)
    program.problem += program.deviation
    solve(program.problem)
    out, into = (np.array(whole_values(part), dtype=np.int64) for part in (program.leave, program.enter))
    return int(np.abs(into - out - demand.grouped).sum()), out, into


def joint(demand: Demand) -> Flows:
    """Solve Phase I for all records jointly, and a transportation problem for who goes where."""
    _, out, into = least_deviation(demand)
    problem, variable = minimization()
    flows = _flow_variables(demand.categories, variable)
    for category, (left, entered) in enumerate(zip(out + demand.grouped, into, strict=True)):
        leaving, entering = _through(flows, category, demand.categories)
        problem += leaving == int(left)
        problem += entering == int(entered)
    solve(problem)
    total = np.zeros((demand.categories, demand.categories), dtype=np.int64)
    for pair, flow in zip(flows, whole_values(flows.values()), strict=True):
        total[pair] = flow
    grouped = _taken(total, demand.grouped)
    return Flows(total - grouped, grouped)


def _flow_variables(categories: int, variable: Callable[[], Any]) -> dict[tuple[int, int], Any]:
    """Make the paper's n_kh: records of category k that enter h."""
    return {(k, h): variable() for k in range(categories) for h in range(categories) if k != h}


def _through(flows: dict[tuple[int, int], Any], category: int, categories: int) -> tuple[Any, Any]:
    """Sum up what leaves a category, and what enters it."""
    import pulp

    others = [other for other in range(categories) if other != category]
    leaving, entering = [(category, h) for h in others], [(k, category) for k in others]
    return pulp.lpSum(flows[pair] for pair in leaving), pulp.lpSum(flows[pair] for pair in entering)


def _taken(flows: Counts, wanted: Counts) -> Counts:
    """Take so many out of each row, from the left."""
    before = np.cumsum(flows, axis=1) - flows
    taken: Counts = np.clip(wanted[:, None] - before, 0, flows)
    return taken


def separate(demand: Demand) -> Flows:
    """Solve the paper's program for either kind of record by itself, and round.

    Source: Li and Sarkar 2004, (1a) to (1d); in the example's first (1c) read ``+ s- - s+``.
    """
    unique = _paper(demand.changes, demand.low, demand.high)
    grouped = _paper(int(demand.grouped.sum()), np.zeros_like(demand.grouped), demand.grouped)
    return Flows(unique, grouped)


def _paper(changes: int, low: Counts, high: Counts) -> Counts:
    import pulp

    problem, variable = minimization()
    flows, deviations = _flow_variables(len(high), variable), []
    problem += pulp.lpSum(flows.values()) == changes
    for category in range(len(high)):
        leaving, entering = _through(flows, category, len(high))
        minus, plus = variable(), variable()
        deviations += [minus, plus]
        problem += leaving - entering + minus - plus == 0
        problem += leaving <= int(high[category])
        problem += leaving >= int(low[category])
    problem += pulp.lpSum(deviations)
    solve(problem)
    found = np.zeros((len(high), len(high)))
    for pair, flow in zip(flows, values(flows.values()), strict=True):
        found[pair] = flow
    return _rounded_flows(found, changes)


def _rounded_flows(flows: Floats, changes: int) -> Counts:
    """Round so that all flows add up to the changes, and no row leaves the whole numbers around its sum."""
    rows = _rounded_to(flows.sum(axis=1), changes)
    return np.array([_rounded_to(row, int(total)) for row, total in zip(flows, rows, strict=True)])


def _rounded_to(numbers: Floats, total: int) -> Counts:
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
    import pulp

    ends = []
    for sign in (1, -1):
        problem, variable = minimization()
        leave = [variable(0, int(records), whole=True) for records in unique]
        problem += sign * pulp.lpSum(leave)
        for out, members in zip(leave, grouped.tolist(), strict=True):
            others = pulp.lpSum(other for other in leave if other is not out)
            problem += out - others <= int(grouped.sum()) - 2 * members
        if not solve(problem):
            return None
        ends.append(sum(whole_values(leave)) / max(1, int(unique.sum())))
    return ends[0], ends[1]
