"""Quotes names, values and numbers so that they read back as the same.

What a bare name or value may look like is said here once, for printing and for reading.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from fractions import Fraction

from ppdm_sql.errors import InvalidOption, said

Value = str | None
"""A protected value as it is written, cast to its column's type by the engine; None is SQL NULL."""

Number = int | float | str | Fraction
"""A share as it is given: a number, or a text such as ``1%``, ``0.01`` or ``1/3``."""

_HUGE = re.compile(r"e[-+]?\d{3}|.{200}", re.IGNORECASE)
"""What would take long to read, and is not a share."""

_TYPOGRAPHIC_QUOTES = "\u2018\u2019\u201a\u201c\u201d\u201e"
"""Never part of a bare word: a pasted quotation mark would make a value that no record has."""

BARE_NAME = re.compile(rf"[^\W\d](?:[\w$]|[^\x00-\x7f\s→≤≥{_TYPOGRAPHIC_QUOTES}])*")
"""A letter or underscore, then letters, digits, $ and what else is not ASCII (combining marks)."""

BARE_VALUE = re.compile(rf"""(?:[^\s,;()'"<=≤{_TYPOGRAPHIC_QUOTES}]|<(?!=))+""")
"""Ends at white space, a comma, a semicolon, a parenthesis, a quote, = or <=."""


def quote_name(name: str) -> str:
    """Print a column name, in double quotes unless it is one plain word."""
    return name if BARE_NAME.fullmatch(name) else '"' + name.replace('"', '""') + '"'


def quote_value(value: Value) -> str:
    """Print a value, in single quotes unless it is one plain word; None is NULL."""
    if value is None:
        return "NULL"
    bare = BARE_VALUE.fullmatch(value) and value.lower() != "null"
    return value if bare else "'" + value.replace("'", "''") + "'"


def number_text(number: Fraction) -> str:
    """Print a number as a decimal where that is exact, otherwise as a fraction such as 1/3."""
    places = _decimal_places(number.denominator)
    if not places:
        return str(number)
    digits = str(abs(number.numerator) * 10**places // number.denominator).zfill(places + 1)
    return f"{'-' if number < 0 else ''}{digits[:-places]}.{digits[-places:]}"


def _decimal_places(denominator: int) -> int:
    """Give the decimal places of n / denominator; 0 also where no number of them is enough."""
    powers = {2: 0, 5: 0}
    for prime in powers:
        while denominator % prime == 0:
            denominator //= prime
            powers[prime] += 1
    return max(powers.values()) if denominator == 1 else 0


def percent(share: Fraction) -> str:
    """Print a share in percent where that is exact, otherwise as a fraction."""
    text = number_text(share * 100)
    return number_text(share) if "/" in text else f"{text}%"


def read_share(value: Number, option: str, within: str = "") -> Fraction:
    """Read a share, exactly."""
    text = str(value).strip()
    remedy = f"Write it as {option} 5% or 0.05."
    try:
        if _HUGE.search(text):
            raise ValueError
        share = Fraction(text.removesuffix("%").strip()) / (100 if text.endswith("%") else 1)
    except (ValueError, ZeroDivisionError):
        raise InvalidOption(f"{option} {said(value)} is not a share.", remedy) from None
    at_an_end = (share == 0 and "[" in within) or (share == 1 and "]" in within)
    if within and not (0 < share < 1 or at_an_end):
        if 1 <= share < 100 and "%" not in text:
            remedy = f"Write it as {option} {text}% for {text} in a hundred."
        raise InvalidOption(f"{option} {text} is not a share in {within}.", remedy)
    return share


def name_list(names: Iterable[str]) -> str:
    return ", ".join(map(quote_name, names))


def of_persons(words: str) -> str:
    """Say of persons what a model says of records; the words hold numbers, and no name or value."""
    return words.replace("records", "persons")
