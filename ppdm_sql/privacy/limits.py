"""Brings limits into numbers that can be compared: exactly where that can be, else to the strict side."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

MOST_RECORDS = 10**15
"""More records than any table has; floating point holds every whole number up to it."""
HIGHEST_LIMIT = 10**30
"""Limits of records or values above it are refused."""
SHARES = 10**18
"""Largest denominator of the limit of a share: exact for every table of so many records."""
FINEST, DISTANCES = 10**7, 10**12
"""Denominators of limits that floating point still tells apart from all that is measured beside them."""
LARGEST = 2**127 - 1
"""What the whole numbers of a statement go up to."""
_DIGITS = 80
"""To which a power of 2 is worked out; the fractions compared with it have some 40."""
SLACK, DECIMALS = 1e-9, 9
"""By how much a measured exp(entropy), which is floating point, may miss a limit of so many decimals."""


def at_most(limit: Fraction, denominator: int) -> Fraction:
    """Give the largest fraction up to a limit whose denominator is no larger than one.

    A share of at most ``denominator`` records keeps the limit if and only if it keeps what is given here.

    Example:
        >>> at_most(Fraction("0.3333333333333333"), 100), at_most(Fraction(3, 4), 100)
        (Fraction(33, 100), Fraction(3, 4))
    """
    if limit.denominator <= denominator:
        return limit
    near = limit.limit_denominator(denominator)
    return near if near < limit else below(near, denominator)


def below(limit: Fraction, denominator: int) -> Fraction:
    """Give the largest fraction below a limit whose denominator is no larger than one."""
    if limit.denominator > denominator:
        return at_most(limit, denominator)
    # The neighbour below limit = p/q has the largest denominator d <= denominator with p * d = 1 (mod q).
    inverse = pow(limit.numerator, -1, limit.denominator) if limit.denominator > 1 else 0
    largest = denominator - (denominator - inverse) % limit.denominator
    return Fraction((limit.numerator * largest - 1) // limit.denominator, largest)


def power_of_two(exponent: Fraction, denominator: int) -> Fraction:
    """Give the largest fraction up to a power of 2 whose denominator is no larger than one.

    Example:
        >>> power_of_two(Fraction(3), 100), power_of_two(Fraction(1, 2), 100)
        (Fraction(8, 1), Fraction(140, 99))
    """
    if exponent.denominator == 1:
        return Fraction(2**exponent.numerator)
    with localcontext() as context:
        context.prec = _DIGITS
        power = Decimal(2) ** (Decimal(exponent.numerator) / Decimal(exponent.denominator))
    # Any other power of 2 is irrational, so no fraction is lost by going a little below it.
    return at_most(Fraction(power) * (1 - Fraction(1, 10 ** (_DIGITS - 10))), denominator)


def entropy_limit(limit: Fraction) -> float:
    """Give the number below which a measured exp(entropy) breaks a limit."""
    # a class can reach a short number such as 2.5 exactly, and is then measured a little beside it; a number
    # of many digits is reached by none
    if (limit * 10**DECIMALS).denominator == 1:
        return float(limit) - SLACK
    return float(limit)


def fraction(name: str, limit: Fraction) -> dict[str, int]:
    return {f"{name}_numerator": limit.numerator, f"{name}_denominator": limit.denominator}


def rounded_up(number: float, parts: int) -> float:
    return float(-(-number * parts // 1) / parts)
