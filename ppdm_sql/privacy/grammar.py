"""Pieces of the requirement language that several forms share.

No keyword is reserved. What stands first and the sign after it tell the forms apart, so ``k``, ``on`` or
``in`` are column names wherever a column name can stand.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ppdm_sql.privacy.level import read_level
from ppdm_sql.privacy.limits import MOST_ASKED

if TYPE_CHECKING:
    from ppdm_sql.privacy.reader import Reader

AT_LEAST = re.compile(">=|≥")
AT_MOST = re.compile("<=|≤")
ON = re.compile(r"on(?![\w$])", re.IGNORECASE)
OF = re.compile(r"of(?![\w$])", re.IGNORECASE)

UNLIMITED = Fraction(MOST_ASKED)
"""The limit of what is only measured, where no number is kept by every table; no text can ask for it."""
_NO_LIMIT = "; only ppdm audit takes a requirement without a limit"


def bounded(reader: Reader, sign: re.Pattern[str], expected: str, rest: re.Pattern[str]) -> bool:
    """Read the sign before a limit, or tell that the rest follows without one, where that may be."""
    if not reader.follows(rest):
        reader.expect(sign, expected)
        return True
    if not reader.limitless:
        raise reader.error(expected + _NO_LIMIT)
    reader.limited = False
    return False


def limit(reader: Reader) -> Fraction:
    """Read a limit; one that no text can ask for becomes one that no model takes."""
    asked = reader.fraction()
    return asked if asked < UNLIMITED else UNLIMITED + 1


def distribution(reader: Reader) -> dict[str, Any]:
    """Read ``of`` and the sensitive column, perhaps its level, and the quasi-identifier, up to the end."""
    reader.expect(OF, "'of'")
    sensitive, level = reader.name(), read_level(reader)
    return {"sensitive": sensitive, "level": level, "quasi_identifier": quasi_identifier(reader)}


def quasi_identifier(reader: Reader) -> tuple[str, ...]:
    """Read ``on`` and the columns of the quasi-identifier, up to the end."""
    reader.expect(ON, "'on'")
    names = reader.names()
    reader.end("',' or the end")
    return names
