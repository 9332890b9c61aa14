"""Errors in the words of SQL: the commands and options that they name, as calls and arguments."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable

from ppdm_sql.errors import PpdmError
from ppdm_sql.options import OPTIONS, Option

_FLAG = re.compile(r"--[a-z][a-z-]*")
_CALLED = "|".join(name.replace("_", " ") for name in OPTIONS if name != "integrate")
_COMMAND = re.compile(rf"\bppdm ({_CALLED})\b")


def in_sql(error: PpdmError, arguments: Iterable[Option]) -> PpdmError:
    """Give an error with the arguments of a call in the place of the options of its command.

    Args:
        error: What a method raised.
        arguments: What the call takes.

    Example:
        >>> error = PpdmError("2 folds are given.", "Give --folds 3, or run ppdm verify first.")
        >>> str(in_sql(error, OPTIONS["evaluate"]))
        '2 folds are given. Give folds 3, or run ppdm_verify first.'
    """
    names = {flag: option.argument for option in arguments for flag in option.flags.split("/")}

    def worded(text: str) -> str:
        text = _FLAG.sub(lambda found: names.get(found[0], found[0]), text)
        return _COMMAND.sub(lambda found: f"ppdm_{found[1].replace(' ', '_')}", text)

    told = copy.copy(error)
    told.problem, told.remedy = worded(error.problem), worded(error.remedy)
    told.args = (f"{told.problem} {told.remedy}".strip(),)
    return told
