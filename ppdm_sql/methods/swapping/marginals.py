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

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, floor

import numpy as np

from ppdm_sql.errors import InvalidOption
from ppdm_sql.methods.base.arrays import Counts
from ppdm_sql.methods.swapping.linear_programs import LinearProgram

WIDTH = Fraction(1, 25)
CERTAIN = Fraction(1, 4)
Share = tuple[Fraction, Fraction]


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
    """How many records go from each category to each other one (n_kh of the paper), shape (C, C)."""

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


def least_deviation(demand: Demand) -> int:
    """Give the least possible sum of what the categories gain and lose, over all records jointly.

    Only a category that more than half of the records leave cannot be entered by as many.

    Example:
        >>> unique, none = np.array([8, 6]), np.zeros(2, dtype=np.int64)
        >>> [least_deviation(Demand(unique, none, changes, none, unique)) for changes in (6, 7, 14)]
        [0, 2, 4]
    """
    return 2 * max(0, 2 * int((_evenly_left(demand) + demand.grouped).max()) - demand.total)


def _evenly_left(demand: Demand) -> Counts:
    """Say how many unique records leave each category, so that no category is left by many."""
    least, most = int((demand.low + demand.grouped).max()), int((demand.high + demand.grouped).max())
    while least < most:
        middle = (least + most) // 2
        enough = np.clip(middle - demand.grouped, demand.low, demand.high).sum() >= demand.changes
        least, most = (least, middle) if enough else (middle + 1, most)
    return _filled(demand.low, np.clip(most - demand.grouped, demand.low, demand.high), demand.changes)


def _filled(low: Counts, high: Counts, total: int) -> Counts:
    """Give numbers between bounds with a sum, the first ones large."""
    room = np.cumsum(high - low) - (high - low)
    return np.asarray(low + np.clip(total - low.sum() - room, 0, high - low), dtype=np.int64)


def joint(demand: Demand) -> Flows:
    """Keep the marginal of all records together, in whole records."""
    out, size = _evenly_left(demand) + demand.grouped, demand.categories
    into = np.minimum(out, demand.total - out)
    into = _filled(into, demand.total - out, demand.total)
    program, pairs = LinearProgram(2 * size), np.nonzero(~np.eye(size, dtype=bool))
    flows = program.add(np.zeros(len(pairs[0])), np.inf, 0.0)
    program.put(pairs[0], flows, 1.0)
    program.put(size + pairs[1], flows, 1.0)
    found = program.solve(np.concatenate([out, into]))
    assert found is not None
    every = np.zeros((size, size), dtype=np.int64)
    every[pairs] = np.rint(found.values).astype(np.int64)
    # of those that leave a category, the members of groups are taken from the left
    before = np.cumsum(every, axis=1) - every
    grouped: Counts = np.clip(demand.grouped[:, None] - before, 0, every)
    return Flows(every - grouped, grouped)


def separate(demand: Demand) -> Flows:
    """Solve the paper's program for either kind of record by itself, in whole records.

    Source: Li and Sarkar 2004, (1a) to (1d); in the example's first (1c) read ``+ s- - s+``.
    """
    unique = _paper(demand.changes, demand.low, demand.high)
    return Flows(unique, _paper(int(demand.grouped.sum()), np.zeros_like(demand.grouped), demand.grouped))


def _paper(changes: int, low: Counts, high: Counts) -> Counts:
    size, every = len(high), np.arange(len(high))
    program, pairs = LinearProgram(2 * size + 1), np.nonzero(~np.eye(size, dtype=bool))
    flows = program.add(np.zeros(len(pairs[0])), np.inf, 0.0, whole=True)
    program.put(0, flows, 1.0)
    for rows, value in ((1 + pairs[0], 1.0), (1 + pairs[1], -1.0), (1 + size + pairs[0], 1.0)):
        program.put(rows, flows, value)
    for sign in (1.0, -1.0):
        program.put(1 + every, program.add(np.zeros(size), np.inf, 1.0), sign)
    program.put(1 + size + every, program.add(low, high, 0.0), -1.0)
    found = program.solve(np.concatenate([[changes], np.zeros(2 * size)]))
    assert found is not None
    matrix = np.zeros((size, size), dtype=np.int64)
    matrix[pairs] = np.rint(found.values[: len(flows)]).astype(np.int64)
    return matrix


def feasible_proportions(unique: Counts, grouped: Counts) -> tuple[float, float] | None:
    """Give the least and the largest proportion under which the marginal can be kept exactly.

    Args:
        unique: Uniquely identifiable records by category.
        grouped: Members of groups that must change, by category.
    """
    size, ends = len(unique), []
    for sign in (1.0, -1.0):
        program = LinearProgram(size)
        columns = program.add(np.zeros(size), unique, sign, whole=True)
        for category, column in enumerate(columns):
            others = np.where(np.arange(size) == category, 1.0, -1.0)
            program.put(np.arange(size), column, others)
        program.put(np.arange(size), program.add(np.zeros(size), np.inf, 0.0), 1.0)
        found = program.solve(grouped.sum() - 2 * grouped)
        if found is None:
            return None
        ends.append(round(found.values[:size].sum()) / max(1, int(unique.sum())))
    return ends[0], ends[1]


# -- the changed share of each category -----------------------------------------------------------


def rounded_changes(proportion: Fraction, records: int) -> int:
    """Give how many records a proportion is, half a record counting as one.

    Example:
        >>> rounded_changes(Fraction(1, 4), 10)
        3
    """
    return floor(proportion * records + Fraction(1, 2))


def check_share(share: Share, proportion: Fraction) -> None:
    """Refuse a share outside of which the proportion lies.

    Raises:
        InvalidOption: It does.
    """
    low, high = share
    if not low <= proportion <= high:
        raise InvalidOption(
            f"If every category changes by {float(low):g} to {float(high):g} of its records, all of them "
            f"together cannot change by {float(proportion):g}.",
            f"Give a --share with LOW <= {float(proportion):g} <= HIGH, or 0,1 for none.",
        )


def bounds(share: Share, unique: Counts, changes: int) -> tuple[Counts, Counts]:
    """Give the fewest and the most records of each category, so that its share lies within.

    Where no whole number of a category's records does, the two next to the share are taken. The side on which
    the bounds do not leave room for all changes is rounded outwards.

    Args:
        share: The least and the largest changed share.
        unique: Uniquely identifiable records of each category.
        changes: Of them, those that change in all.

    Example:
        >>> half = Fraction(12, 25), Fraction(13, 25)
        >>> [numbers.tolist() for numbers in bounds(half, np.array([96, 1]), 48)]
        [[47, 0], [49, 1]]
    """
    around, inside = _around(share, unique), _inside(share, unique)
    exists = inside[0] <= inside[1]
    fewest, most = (np.where(exists, *pair) for pair in zip(inside, around, strict=True))
    return (
        fewest if fewest.sum() <= changes else around[0],
        most if most.sum() >= changes else around[1],
    )


def _around(share: Share, unique: Counts) -> tuple[Counts, Counts]:
    """Give bounds rounded outwards."""
    return _rounded(share[0], unique, floor), _rounded(share[1], unique, ceil)


def _inside(share: Share, unique: Counts) -> tuple[Counts, Counts]:
    """Give bounds rounded inwards."""
    return _rounded(share[0], unique, ceil), _rounded(share[1], unique, floor)


def _rounded(limit: Fraction, unique: Counts, rounding: Callable[[Fraction], int]) -> Counts:
    return np.array([rounding(limit * int(n)) for n in unique], dtype=np.int64)


@dataclass(frozen=True)
class Band:
    """Bounds on the changed share of each category: before they are rounded to records, and after.

    Args:
        share: The least and the largest share.
        low: Fewest records of each category.
        high: Most records of each category.
        narrow: Whether the band is as narrow as it should be.
    """

    share: Share
    low: Counts
    high: Counts
    narrow: bool = True


def default_band(proportion: Fraction, demand: Demand) -> Band:
    """Give the band around a proportion that costs the marginal nothing.

    Its bounds are rounded inwards, like those of a share that is given, unless that would cost the marginal.

    Args:
        proportion: What was asked, in (0, 1].
        demand: What must change; its bounds do not matter.
    """
    unique = demand.unique
    widest = proportion * CERTAIN, 1 - (1 - proportion) * CERTAIN
    free = _within(demand, _around(widest, unique))
    wanted = least_deviation(free)
    width = WIDTH * min(proportion, 1 - proportion)
    share = proportion - width, proportion + width
    for numbers in (bounds(share, unique, demand.changes), _around(share, unique)):
        if least_deviation(_within(demand, numbers)) == wanted:
            return Band(share, *numbers)
    width = _least_width(proportion, free, wanted)
    share = max(widest[0], proportion - width), min(widest[1], proportion + width)
    inside = bounds(share, unique, demand.changes)
    kept = least_deviation(_within(demand, inside)) == wanted
    return Band(share, *(inside if kept else _around(share, unique)), narrow=False)


def _within(demand: Demand, numbers: tuple[Counts, Counts]) -> Demand:
    return replace(demand, low=numbers[0], high=numbers[1])


def _least_width(proportion: Fraction, demand: Demand, deviation: int) -> Fraction:
    """Find the narrowest band that reaches a deviation, by halving."""
    least, width, most, left = Fraction(0), Fraction(1), Fraction(1), demand.low
    allowed = (demand.total + deviation // 2) // 2 - demand.grouped
    for _ in range(60):
        low, high = _inside((proportion - width, proportion + width), demand.unique)
        low, high = np.maximum(low, demand.low), np.minimum(np.minimum(high, demand.high), allowed)
        if (low <= high).all() and low.sum() <= demand.changes <= high.sum():
            most, left = width, _filled(low, high, demand.changes)
        else:
            least = width
        width = (least + most) / 2
    held = ((int(n), int(records)) for n, records in zip(left, demand.unique, strict=True) if records)
    return max(abs(Fraction(n, records) - proportion) for n, records in held)
