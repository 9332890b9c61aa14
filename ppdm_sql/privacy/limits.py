"""Brings limits into numbers that can be compared: exactly where that can be, else to the strict side."""

from __future__ import annotations

from fractions import Fraction

MOST_RECORDS = 10**15
"""More records than any table has; floating point holds every whole number up to it."""
MOST_ASKED = 10**30
"""Limits of records or values above it are refused."""
SHARES = 10**18
"""Largest denominator of the limit of a share: exact for every table of so many records."""
FINEST, DISTANCES = 10**7, 10**12
"""Denominators of limits that floating point still tells apart from all that is measured beside them."""
LARGEST = 2**127 - 1
"""What the whole numbers of a statement go up to."""
SLACK, DECIMALS = 1e-9, 9
"""By how much a measured exp(entropy), which is floating point, may miss a limit of so many decimals."""


def at_most(limit: Fraction, denominator: int) -> Fraction:
    """Give the largest fraction up to a limit whose denominator is no larger than one.

    A share of at most ``denominator`` records keeps the limit if and only if it keeps what is given here.

    Args:
        limit: At least 0.
        denominator: The largest one wanted, at least 1.

    Example:
        >>> at_most(Fraction("0.3333333333333333"), 100), at_most(Fraction(3, 4), 100)
        (Fraction(33, 100), Fraction(3, 4))
    """
    if limit.denominator <= denominator:
        return limit
    near = limit.limit_denominator(denominator)
    if near < limit:
        return near
    # The neighbour below near = p/q has the largest denominator d <= denominator with p * d = 1 (mod q).
    inverse = pow(near.numerator, -1, near.denominator) if near.denominator > 1 else 0
    below = denominator - (denominator - inverse) % near.denominator
    return Fraction((near.numerator * below - 1) // near.denominator, below)


def entropy_limit(limit: Fraction) -> float:
    """Give the number below which a measured exp(entropy) breaks a limit.

    A class can reach a short number such as 2 or 2.5 exactly, and is then measured a little beside it. A
    number of many digits is reached by none, so nothing is allowed for.

    Example:
        >>> entropy_limit(Fraction(2)) < 2 < entropy_limit(Fraction("2.0000000001"))
        True
    """
    if (limit * 10**DECIMALS).denominator == 1:
        return float(limit) - SLACK
    return float(limit)


def rounded_up(number: float, parts: int) -> float:
    """Round up to a multiple of 1 / parts.

    Example:
        >>> rounded_up(0.3341, 1000)
        0.335
    """
    return float(-(-number * parts // 1) / parts)
