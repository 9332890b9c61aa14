"""How evenly the categories are changed: bounds on the changed share of each one's unique records.

Without bounds the optimum may change all records of one category and none of another: a released value
that is never true, or always. The default keeps each share within :data:`WIDTH` of the proportion (of its
complement, above one half), which costs the objective about a fifth on Adult's occupations. Where that band
would cost the marginal, the narrowest one that does not is used, up to :data:`CERTAIN` of the way from
certainty: so much of each category is changed, and kept, of what the proportion would change and keep.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import ceil, floor

import numpy as np

from ppdm_sql.errors import InvalidOption
from ppdm_sql.methods.swapping.identification import Counts
from ppdm_sql.methods.swapping.linear_programs import solve, whole_values
from ppdm_sql.methods.swapping.marginal_deviation import Demand, JointProgram, least_deviation

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
    """Refuse a share that cannot hold.

    Raises:
        InvalidOption: Not two fractions in order, or the proportion is outside.
    """
    low, high = share
    if not 0 <= low <= high <= 1:
        raise InvalidOption(
            f"A share of {float(low):g} to {float(high):g} is not a range of fractions.",
            "Give --share LOW,HIGH with 0 <= LOW <= HIGH <= 1.",
        )
    if not low <= proportion <= high:
        raise InvalidOption(
            f"If every category changes by {float(low):g} to {float(high):g} of its records, all of them "
            f"together cannot change by {float(proportion):g}.",
            f"Give a --share with LOW <= {float(proportion):g} <= HIGH, or 0,1 for none.",
        )


def bounds(share: Share, unique: Counts) -> tuple[Counts, Counts]:
    """Give the fewest and the most records of each category, rounded outwards."""
    low, high = share
    return (
        np.array([floor(low * int(n)) for n in unique], dtype=np.int64),
        np.array([ceil(high * int(n)) for n in unique], dtype=np.int64),
    )


def default_share(proportion: Fraction, demand: Demand) -> tuple[Share, bool]:
    """Give the band around a proportion that costs the marginal nothing.

    Args:
        proportion: What was asked, in (0, 1].
        demand: What must change; its bounds do not matter.

    Returns:
        The band, and whether it is as narrow as it should be.
    """
    widest = proportion * CERTAIN, 1 - (1 - proportion) * CERTAIN
    free = _bounded(demand, widest)
    wanted = least_deviation(free)[0]
    width = WIDTH * min(proportion, 1 - proportion)
    band = proportion - width, proportion + width
    if least_deviation(_bounded(demand, band))[0] == wanted:
        return band, True
    width = _least_width(proportion, free, wanted)
    return (max(widest[0], proportion - width), min(widest[1], proportion + width)), False


def _bounded(demand: Demand, share: Share) -> Demand:
    low, high = bounds(share, demand.unique)
    return replace(demand, low=low, high=high)


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
