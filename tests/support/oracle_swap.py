"""Swapping told again in plain Python, record by record: what the SQL and the solver are compared with."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import ceil, floor, lcm

Row = tuple[object, ...]


@dataclass
class Record:
    """A record that may change: what it shows, how probable each value is, and what it holds now."""

    pattern: Row
    true: int
    unique: bool
    posteriors: list[Fraction]
    now: int

    @property
    def changed(self) -> bool:
        return self.now != self.true

    def cost(self, value: int) -> Fraction:
        return self.posteriors[self.true] - self.posteriors[value]


def statuses(rows: Sequence[Row]) -> dict[Row, str]:
    """Give each pattern's status, U or V; patterns that are not identifiable are left out."""
    shown = defaultdict(list)
    for *pattern, value in rows:
        shown[tuple(pattern)].append(value)
    return {
        pattern: "U" if len(values) == 1 else "V"
        for pattern, values in shown.items()
        if len(set(values)) == 1
    }


def posteriors(
    rows: Sequence[Row], patterns: Iterable[Row], smoothing: Fraction = Fraction(0)
) -> dict[Row, list[Fraction]]:
    """Give the simple-Bayes posteriors of patterns, values in order."""
    inside = Counter(row[-1] for row in rows)
    hits = Counter((place, cell, row[-1]) for row in rows for place, cell in enumerate(row[:-1]))
    known = [len({row[place] for row in rows}) for place in range(len(rows[0]) - 1)]
    found = {}
    for pattern in patterns:
        weights = []
        for value in sorted(inside):  # type: ignore[type-var]
            weight = Fraction(inside[value], len(rows))
            for place, cell in enumerate(pattern):
                weight *= (hits[place, cell, value] + smoothing) / (inside[value] + smoothing * known[place])
            weights.append(weight)
        total = sum(weights)
        found[pattern] = [weight / total for weight in weights]
    return found


def wanted(per_group: int | Fraction, size: int) -> int:
    """Give how many records of a group change."""
    asked = per_group if isinstance(per_group, int) else max(1, floor(per_group * size + Fraction(1, 2)))
    return min(asked, size - 1)


def records(
    rows: Sequence[Row], per_group: int | Fraction = 1, smoothing: Fraction = Fraction(0)
) -> list[Record]:
    """List the records that may change; of a group, as many as must."""
    codes = {value: code for code, value in enumerate(sorted({row[-1] for row in rows}))}  # type: ignore[type-var]
    found = []
    sizes = Counter(row[:-1] for row in rows)
    truth = {row[:-1]: codes[row[-1]] for row in rows}
    known = statuses(rows)
    of = posteriors(rows, known, smoothing)
    for pattern, status in known.items():
        count = 1 if status == "U" else wanted(per_group, sizes[pattern])
        true, unique = truth[pattern], status == "U"
        found += [Record(pattern, true, unique, of[pattern], true) for _ in range(count)]
    return found


def limits(
    share: tuple[Fraction, Fraction], found: Sequence[Record], categories: int
) -> list[tuple[int, int]]:
    """Give the fewest and most unique records of each value that may change."""
    counts = Counter(record.true for record in found if record.unique)
    return [(floor(share[0] * counts[t]), ceil(share[1] * counts[t])) for t in range(categories)]


def optimum(
    found: Sequence[Record], categories: int, changes: int, allowed: Sequence[tuple[int, int]]
) -> tuple[int, Fraction]:
    """Try everything: give the least deviation of the marginal, and the least cost among its plans."""
    start = (0,) * categories
    states: dict[tuple[tuple[int, ...], tuple[int, ...]], int] = {(start, start): 0}
    fractions = [[record.cost(value) for value in range(categories)] for record in found]
    whole = lcm(*(cost.denominator for costs in fractions for cost in costs))
    exact = [[int(cost * whole) for cost in costs] for costs in fractions]  # integers add up much faster
    for record, costs in zip(found, exact, strict=True):
        following: dict[tuple[tuple[int, ...], tuple[int, ...]], int] = {}
        for (left, net), cost in states.items():
            for value in range(categories):
                if value == record.true and not record.unique:
                    continue
                moved = value != record.true
                step = (
                    _plus(left, record.true, int(moved and record.unique)),
                    _plus(_plus(net, record.true, -int(moved)), value, int(moved)),
                )
                total = cost + costs[value]
                if step not in following or total < following[step]:
                    following[step] = total
        states = following
    ends = [
        (sum(map(abs, net)), cost)
        for (left, net), cost in states.items()
        if sum(left) == changes
        and all(low <= n <= high for n, (low, high) in zip(left, allowed, strict=True))
    ]
    deviation, cost = min(ends)
    return deviation, Fraction(cost, whole)


def _plus(numbers: tuple[int, ...], place: int, step: int) -> tuple[int, ...]:
    return (*numbers[:place], numbers[place] + step, *numbers[place + 1 :])


def admissible(one: Record, other: Record) -> bool:
    """Tell whether a swap leaves as many unique records changed, and the same members of groups."""
    if one.now == other.now:
        return False
    if not all(record.unique or record.changed for record in (one, other)):
        return False  # the members of groups that stay are not looked at
    before = [(record.unique, record.changed) for record in (one, other)]
    after = [(one.unique, other.now != one.true), (other.unique, one.now != other.true)]
    uniques = [sum(changed for unique, changed in pair if unique) for pair in (before, after)]
    groups = [[changed for unique, changed in pair if not unique] for pair in (before, after)]
    return uniques[0] == uniques[1] and groups[0] == groups[1]


def swaps_left(found: Sequence[Record]) -> Iterator[Fraction]:
    """Give what each admissible swap costs."""
    for one, other in combinations(found, 2):
        if admissible(one, other):
            yield one.cost(other.now) - one.cost(one.now) + other.cost(one.now) - other.cost(other.now)
