"""Numbers as a person would write them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, date, datetime

from ppdm_sql.version import __version__


class Number(str):
    """The text of a number; it stands on the right of its column."""


Cell = str | None
"""A cell of a table for readers; None is NULL."""

NONE = Number("–")


def count(number: float | None) -> Number:
    """Write a whole number.

    Example:
        >>> count(45222), count(None)
        ('45,222', '–')
    """
    return NONE if number is None else Number(f"{number:,.0f}")


def share(part: float | None) -> Number:
    """Write a share in per cent; what is not quite nothing or all is not shown as that.

    Example:
        >>> share(0.2777), share(0.99996), share(0.00001), share(1.0), share(0.05)
        ('27.8 %', '> 99.9 %', '< 0.1 %', '100 %', '5 %')
    """
    if part is None:
        return NONE
    if 0 < part < 0.0005:
        return Number("< 0.1 %")
    if 0.9995 < part < 1:
        return Number("> 99.9 %")
    return Number(f"{100 * part:.1f}".removesuffix(".0") + " %")


def measure(number: float | None) -> Number:
    """Write any number with three digits or, if it is a large one, without decimals.

    Example:
        >>> measure(0.58964), measure(45222.0), measure(3.0), measure(-0.00001234)
        ('0.59', '45,222', '3', '-1.23e-05')
    """
    if number is None or not math.isfinite(number):
        return NONE
    if abs(number) >= 100 or number == int(number):
        return Number(f"{number:,.0f}")
    return Number(f"{number:.3g}")


def listed(words: list[str] | tuple[str, ...]) -> str:
    """Join words as a sentence does.

    Example:
        >>> listed(["Job"]), listed(["Job", "Sex", "Age"])
        ('Job', 'Job, Sex and Age')
    """
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def written(day: date) -> str:
    """Write a day.

    Example:
        >>> written(date(2026, 11, 3))
        '3 November 2026'
    """
    return f"{day.day} {day:%B %Y}"


def made() -> str:
    """Say by what and when a page is made."""
    return f"Made by ppdm-sql {__version__} on {written(datetime.now(UTC).date())}."


def beside(said: Mapping[str, str]) -> str:
    """Put what is said of the sides beside each other; a single side needs no name.

    Example:
        >>> beside({"before": "1", "after": "4"}), beside({"after": "4"})
        ('1 before, 4 after', '4')
    """
    if len(said) == 1:
        return next(iter(said.values()))
    return ", ".join(f"{text} {side}" for side, text in said.items())


def span(low: int, high: int) -> str:
    """Write a range of whole numbers.

    Example:
        >>> span(2, 2), span(3, 5)
        ('2', '3–5')
    """
    return f"{low}" if low == high else f"{low}–{high}"


def several(number: int, one: str, many: str | None = None) -> str:
    """Write a number with what it counts.

    Example:
        >>> several(1, "class", "classes"), several(1200, "record")
        ('1 class', '1,200 records')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"
