"""How evenly the categories are changed: bounds on the changed share of each one's unique records.

Without bounds the optimum may change all records of one category and none of another: a released value
that is never true, or always. The default keeps each share within :data:`WIDTH` of the proportion (of its
complement, above one half), which costs the objective about a fifth on Adult's occupations. Where that band
would cost the marginal, the narrowest one that does not is used, up to :data:`CERTAIN` of the way from
certainty: so much of each category is changed, and kept, of what the proportion would change and keep.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, floor

import numpy as np

from ppdm_sql.errors import InvalidOption
from ppdm_sql.methods.base.arrays import Counts
from ppdm_sql.methods.swapping.linear_programs import solve, whole_values
from ppdm_sql.methods.swapping.marginal_deviation import Demand, JointProgram, deviation_of

WIDTH = Fraction(1, 25)
CERTAIN = Fraction(1, 4)
Share = tuple[Fraction, Fraction]


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
    around = _around(share, unique)
    low, high = ([limit * int(n) for n in unique] for limit in share)
    inside = (
        np.array([ceil(n) for n in low], dtype=np.int64),
        np.array([floor(n) for n in high], dtype=np.int64),
    )
    exists = inside[0] <= inside[1]
    fewest, most = (np.where(exists, *pair) for pair in zip(inside, around, strict=True))
    return (
        fewest if fewest.sum() <= changes else around[0],
        most if most.sum() >= changes else around[1],
    )


def _around(share: Share, unique: Counts) -> tuple[Counts, Counts]:
    """Give bounds rounded outwards."""
    low, high = share
    return (
        np.array([floor(low * int(n)) for n in unique], dtype=np.int64),
        np.array([ceil(high * int(n)) for n in unique], dtype=np.int64),
    )


@dataclass(frozen=True)
class Band:
    """Bounds on the changed share of each category.

    Args:
        share: The least and the largest share, before they are rounded to records.
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
    low, high = _around(widest, unique)
    free = replace(demand, low=low, high=high)
    wanted = deviation_of(free)
    width = WIDTH * min(proportion, 1 - proportion)
    share = proportion - width, proportion + width
    for numbers in (bounds(share, unique, demand.changes), _around(share, unique)):
        if _deviation(demand, numbers) == wanted:
            return Band(share, *numbers)
    width = _least_width(proportion, free, wanted)
    share = max(widest[0], proportion - width), min(widest[1], proportion + width)
    inside = bounds(share, unique, demand.changes)
    numbers = inside if _deviation(demand, inside) == wanted else _around(share, unique)
    return Band(share, *numbers, narrow=False)


def _deviation(demand: Demand, numbers: tuple[Counts, Counts]) -> int:
    return deviation_of(replace(demand, low=numbers[0], high=numbers[1]))


def _least_width(proportion: Fraction, demand: Demand, deviation: int) -> Fraction:
    """Find the narrowest band that reaches a deviation."""
    program, p = JointProgram(demand), float(proportion)
    width = program.variable(0, 1)
    program.problem += width
    program.problem += program.deviation <= deviation
    held = [(leave, int(n)) for leave, n in zip(program.leave, demand.unique, strict=True) if n]
    for leave, records in held:
        program.problem += leave * (1 / records) + width >= p
        program.problem += leave * (1 / records) - width <= p
    solve(program.problem)
    return max(
        abs(Fraction(left, records) - proportion)
        for left, (_, records) in zip(whole_values(leave for leave, _ in held), held, strict=True)
    )
