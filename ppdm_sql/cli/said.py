"""Sentences that the statements of ppdm itself raise, told from words that may quote a cell."""

from __future__ import annotations

import re

from ppdm_sql.macros.macros import macros
from ppdm_sql.sql_calls.row_functions import FUNCTIONS

_RAISED = re.compile(r"\berror\('((?:''|[^'])*)'")
_CHECK = "Check the arguments of the call."


def own_words(text: str) -> tuple[str, str] | None:
    """Give what an audit macro or a function of a row says of its arguments: the problem, and a remedy.

    The names that were given stand behind some of the sentences; they are left out, as they may be cells.

    Args:
        text: The words of the engine.

    Example:
        >>> own_words("Invalid Input Error: A column is in qi twice: Job")
        ('A column is in qi twice.', 'Check the arguments of the call.')
        >>> own_words("Invalid Input Error: The key of a pseudonym is NULL. Give a secret text.")
        ('The key of a pseudonym is NULL.', 'Give a secret text.')
        >>> own_words("Conversion Error: Could not convert string 'Ann' to INT32")
    """
    said = text.partition("\n")[0].partition("Error: ")[2]
    bodies = [*(macro.body for macro in macros()), *(function.body for function in FUNCTIONS)]
    known = {found.replace("''", "'") for body in bodies for found in _RAISED.findall(body)}
    found = max((sentence for sentence in known if said.startswith(sentence)), key=len, default=None)
    if found is None:
        return None
    problem, given, remedy = found.removesuffix(" in column ").partition(": give ")
    if given:
        return f"{problem}.", f"Give {remedy}"
    problem, _, remedy = problem.rstrip(" .:").partition(". ")
    return f"{problem}.", f"{remedy}." if remedy else _CHECK
