"""Phase I: how many records leave and enter each category, so that the marginal is kept.

A record cannot enter the category that it leaves. Records can be exchanged so that ``out`` leave and ``in``
enter each category if and only if the sums are the same and no category's ``in`` plus ``out`` is above them.

Without bounds on the changed share of each category the optimum may change all records of one and none of
another: a released value that is never true, or always. The default keeps each share within :data:`WIDTH` of
the proportion (of its complement, above one half), which costs the objective about a fifth on Adult's
occupations. Where that band would cost the marginal, the narrowest one that does not is used, up to
:data:`CERTAIN` of the way from certainty.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, floor
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ppdm_sql.errors import EngineError
from ppdm_sql.methods.base.arrays import Counts, Floats

WIDTH = Fraction(1, 25)
CERTAIN = Fraction(1, 4)
Share = tuple[Fraction, Fraction]


@dataclass(frozen=True)
class Demand:
    """What must change, and what that may cost the marginal."""

    unique: Counts  # uniquely identifiable records by category (N_k of the paper)
    grouped: Counts  # members of groups that must change, by category
    changes: int  # uniquely identifiable records that must change
    low: Counts  # fewest of them by category
    high: Counts  # most of them by category
    deviation: int = 0  # sum over the categories of records gained or lost, an even number
    net: Counts | None = None  # records that each category gains, where that is fixed

    @property
    def categories(self) -> int:
        return len(self.unique)

    @property
    def total(self) -> int:
        return self.changes + int(self.grouped.sum())

    def within(self, bounds: tuple[Counts, Counts]) -> Demand:
        return replace(self, low=bounds[0], high=bounds[1])


@dataclass(frozen=True)
class Flows:
    """How many records go from each category to each other one (n_kh of the paper), shape (C, C)."""

    unique: Counts
    grouped: Counts

    @property
    def net(self) -> Counts:
        flows = self.unique + self.grouped
        return np.asarray(flows.sum(axis=0) - flows.sum(axis=1), dtype=np.int64)

    @property
    def deviation(self) -> int:
        return int(np.abs(self.net).sum())


class LinearProgram:
    """A minimization under equations with these right sides, built a block of columns at a time."""

    def __init__(self, right: ArrayLike) -> None:
        self.right, self.columns = np.asarray(right, dtype=np.float64), 0
        self._blocks: list[tuple[Floats, ...]] = []
        self._entries: list[tuple[NDArray[Any], ...]] = []

    def add(self, low: ArrayLike, high: ArrayLike, cost: ArrayLike, *, whole: bool = False) -> Counts:
        """Add columns between two bounds with their coefficients in the objective; give their indices."""
        parts = (np.asarray(part, dtype=np.float64) for part in (low, high, cost, whole))
        self._blocks.append(tuple(np.broadcast_arrays(*parts)))
        self.columns += len(self._blocks[-1][0])
        return np.arange(self.columns - len(self._blocks[-1][0]), self.columns)

    def put(self, rows: ArrayLike, columns: ArrayLike, coefficients: ArrayLike) -> None:
        entries = (np.asarray(rows), np.asarray(columns), np.asarray(coefficients, dtype=np.float64))
        self._entries.append(tuple(part.ravel() for part in np.broadcast_arrays(*entries)))

    def solve(self) -> tuple[Floats, Floats] | None:
        """Give the optimal columns and by how much each row's side costs; None where there is no solution."""
        import highspy

        solver: Any = highspy.Highs()  # type: ignore[no-untyped-call, unused-ignore]
        # with its default gaps HiGHS calls plans optimal that are not
        options = {"output_flag": False, "threads": 1, "mip_rel_gap": 0.0, "mip_abs_gap": 0.0}
        for option, value in options.items():
            solver.setOptionValue(option, value)
        solver.passModel(self._model())
        # HiGHS may be sure only where nothing is presolved; to presolve whole numbers may end the process
        # (HiGHS 1.15, its issue 2866)
        whole = any(whole.any() for *_, whole in self._blocks)
        for presolve in ("off",) if whole else ("choose", "off"):
            solver.setOptionValue("presolve", presolve)
            solver.clearSolver()
            _run(solver, self.columns)
            status = solver.getModelStatus()
            if status != highspy.HighsModelStatus.kUnknown:
                break
        if status == highspy.HighsModelStatus.kInfeasible:
            return None
        if status not in (highspy.HighsModelStatus.kOptimal, highspy.HighsModelStatus.kModelEmpty):
            raise EngineError(
                f"The solver stopped without an answer ({solver.modelStatusToString(status)}).",
                "Try --method greedy, or another --proportion.",
            )
        solution = solver.getSolution()
        return np.array(solution.col_value), np.array(solution.row_dual)

    def _model(self) -> Any:
        import highspy

        rows, columns, coefficients = (np.concatenate(parts) for parts in zip(*self._entries, strict=True))
        low, high, cost, whole = (np.concatenate(parts) for parts in zip(*self._blocks, strict=True))
        order = np.lexsort((rows, columns))
        model = highspy.HighsLp()
        model.num_col_, model.num_row_ = self.columns, len(self.right)
        model.col_lower_, model.col_upper_, model.col_cost_ = low, high, cost
        model.row_lower_ = model.row_upper_ = self.right
        matrix = model.a_matrix_
        matrix.format_ = highspy.MatrixFormat.kColwise
        matrix.start_ = np.searchsorted(columns[order], np.arange(self.columns + 1))
        matrix.index_, matrix.value_ = rows[order], coefficients[order]
        if whole.any():
            types = highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger
            model.integrality_ = [types[int(is_whole)] for is_whole in whole]
        return model


LONG = 5_000
"""Columns of a program that may take longer than somebody waits who has pressed Ctrl-C."""


def _run(solver: Any, columns: int) -> None:
    """Run; a long program beside the main thread, which alone hears Ctrl-C, but not in the solver."""
    if columns < LONG or threading.current_thread() is not threading.main_thread():
        solver.run()
        return
    solver.HandleUserInterrupt = True
    solver.startSolve()
    try:
        solver.wait()
    except BaseException:
        solver.cancelSolve()
        solver.wait()
        raise


# -- whole records that keep the marginal ---------------------------------------------------------


def least_deviation(demand: Demand) -> int:
    """Give the least possible sum of what the categories gain and lose, over all records jointly.

    Only a category that more than half of the records leave cannot be entered by as many.
    """
    return 2 * max(0, 2 * int((_evenly_left(demand) + demand.grouped).max()) - demand.total)


def _evenly_left(demand: Demand) -> Counts:
    """Say how many unique records leave each category, so that no category is left by many."""
    least, most = int((demand.low + demand.grouped).max()), int((demand.high + demand.grouped).max())
    while least < most:
        middle = (least + most) // 2
        enough = np.clip(middle - demand.grouped, demand.low, demand.high).sum() >= demand.changes
        least, most = (least, middle) if enough else (middle + 1, most)
    return _fill_between(demand.low, np.clip(most - demand.grouped, demand.low, demand.high), demand.changes)


def _fill_between(low: Counts, high: Counts, total: int) -> Counts:
    """Give numbers between bounds with a sum, the first ones large."""
    room = np.cumsum(high - low) - (high - low)
    return np.asarray(low + np.clip(total - low.sum() - room, 0, high - low), dtype=np.int64)


def joint(demand: Demand) -> Flows:
    """Keep the marginal of all records together."""
    out, size = _evenly_left(demand) + demand.grouped, demand.categories
    into = _fill_between(np.minimum(out, demand.total - out), demand.total - out, demand.total)
    program, pairs = LinearProgram(np.concatenate([out, into])), np.nonzero(~np.eye(size, dtype=bool))
    flows = program.add(np.zeros(len(pairs[0])), np.inf, 0.0)
    program.put(pairs[0], flows, 1.0)
    program.put(size + pairs[1], flows, 1.0)
    every = _matrix(program, size)
    # of those that leave a category, members of groups go to the first categories
    before = np.cumsum(every, axis=1) - every
    grouped: Counts = np.clip(demand.grouped[:, None] - before, 0, every)
    return Flows(every - grouped, grouped)


def separate(demand: Demand) -> Flows:
    """Solve the paper's (1a) to (1d) for either kind; in its example's first (1c) read ``+ s- - s+``."""
    unique = _paper(demand.changes, demand.low, demand.high)
    return Flows(unique, _paper(int(demand.grouped.sum()), np.zeros_like(demand.grouped), demand.grouped))


def _paper(changes: int, low: Counts, high: Counts) -> Counts:
    size, every = len(high), np.arange(len(high))
    program = LinearProgram(np.concatenate([[changes], np.zeros(2 * size)]))
    pairs = np.nonzero(~np.eye(size, dtype=bool))
    flows = program.add(np.zeros(len(pairs[0])), np.inf, 0.0, whole=True)
    program.put(0, flows, 1.0)
    for rows, value in ((1 + pairs[0], 1.0), (1 + pairs[1], -1.0), (1 + size + pairs[0], 1.0)):
        program.put(rows, flows, value)
    for sign in (1.0, -1.0):
        program.put(1 + every, program.add(np.zeros(size), np.inf, 1.0), sign)
    program.put(1 + size + every, program.add(low, high, 0.0), -1.0)
    return _matrix(program, size)


def _matrix(program: LinearProgram, size: int) -> Counts:
    solution = program.solve()
    assert solution is not None
    flows, pairs = np.zeros((size, size), dtype=np.int64), ~np.eye(size, dtype=bool)
    flows[pairs] = np.rint(solution[0][: pairs.sum()]).astype(np.int64)
    return flows


def feasible_proportions(unique: Counts, grouped: Counts) -> tuple[float, float] | None:
    """Give the least and the largest under which the marginal can be kept exactly."""
    changes, enough = np.arange(unique.sum() + 1), np.zeros(unique.sum() + 1, dtype=np.int64)
    possible = np.ones_like(enough, dtype=bool)
    for records, members in zip(unique.tolist(), grouped.tolist(), strict=True):
        # no more than half of all that change may leave a category, as that many must enter it
        room = (changes + grouped.sum()) // 2 - members
        enough += np.minimum(room, records)
        possible &= room >= 0
    proportions = changes[possible & (enough >= changes)] / max(1, int(unique.sum()))
    return (float(proportions[0]), float(proportions[-1])) if len(proportions) else None


# -- the changed share of each category -----------------------------------------------------------


def rounded_changes(proportion: Fraction, records: int) -> int:
    """Give how many records a proportion is, half a record counting as one."""
    return floor(proportion * records + Fraction(1, 2))


def bounds(share: Share, unique: Counts, changes: int) -> tuple[Counts, Counts]:
    """Give the fewest and the most records of each category, so that its share lies within.

    Where no whole number of a category's records does, the two next to the share are taken. The side on which
    the bounds do not leave room for all changes is rounded outwards.

    Example:
        >>> half = Fraction(12, 25), Fraction(13, 25)
        >>> [numbers.tolist() for numbers in bounds(half, np.array([96, 1]), 48)]
        [[47, 0], [49, 1]]
    """
    around, inside = _to_counts(share, unique, floor, ceil), _to_counts(share, unique, ceil, floor)
    exists = inside[0] <= inside[1]
    fewest, most = (np.where(exists, *pair) for pair in zip(inside, around, strict=True))
    return (
        fewest if fewest.sum() <= changes else around[0],
        most if most.sum() >= changes else around[1],
    )


def _to_counts(share: Share, unique: Counts, *roundings: Callable[[Fraction], int]) -> tuple[Counts, Counts]:
    low, high = (
        np.array([rounding(limit * int(n)) for n in unique], dtype=np.int64)
        for limit, rounding in zip(share, roundings, strict=True)
    )
    return low, high


def default_band(proportion: Fraction, demand: Demand) -> tuple[Demand, Share, bool]:
    """Hold the share of each category in the band around a proportion that costs the marginal nothing.

    Its bounds are rounded inwards, like those of a share in the request, unless that would cost the marginal.
    The band comes with the demand, and whether it is as narrow as it should be.
    """

    def demands_within(share: Share) -> Iterator[Demand]:
        yield demand.within(bounds(share, demand.unique, demand.changes))
        yield demand.within(_to_counts(share, demand.unique, floor, ceil))

    widest = proportion * CERTAIN, 1 - (1 - proportion) * CERTAIN
    _, free = demands_within(widest)
    deviation = least_deviation(free)
    width = WIDTH * min(proportion, 1 - proportion)
    share = proportion - width, proportion + width
    for band in demands_within(share):
        if least_deviation(band) == deviation:
            return band, share, True
    width = _least_width(proportion, free, deviation)
    share = max(widest[0], proportion - width), min(widest[1], proportion + width)
    inside, around = demands_within(share)
    return inside if least_deviation(inside) == deviation else around, share, False


def _least_width(proportion: Fraction, demand: Demand, deviation: int) -> Fraction:
    """Find the narrowest band that reaches a deviation, by halving."""
    least, width, most, leaving = Fraction(0), Fraction(1), Fraction(1), demand.low
    most_leaving = (demand.total + deviation // 2) // 2 - demand.grouped
    for _ in range(60):
        low, high = _to_counts((proportion - width, proportion + width), demand.unique, ceil, floor)
        low, high = np.maximum(low, demand.low), np.minimum(np.minimum(high, demand.high), most_leaving)
        if (low <= high).all() and low.sum() <= demand.changes <= high.sum():
            most, leaving = width, _fill_between(low, high, demand.changes)
        else:
            least = width
        width = (least + most) / 2
    groups = ((int(n), int(records)) for n, records in zip(leaving, demand.unique, strict=True) if records)
    return max(abs(Fraction(n, records) - proportion) for n, records in groups)
