"""Errors in the words of SQL: the commands and options that they name, as calls and arguments."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable

from ppdm_sql.errors import PpdmError
from ppdm_sql.options import OPTIONS, Form, Option
from ppdm_sql.sql_calls.arguments import sql_name

_FLAG = re.compile(r"(--[a-z][a-z-]*)(?: ([A-Z]\w*(?:,\w+)*)(?=[.,;]? |[.,;]?$))?")
"""An option, and columns behind it that stand there as an example."""
_CALLED = "|".join(name.replace("_", " ") for name in OPTIONS if name != "integrate")
_COMMAND = re.compile(rf"\bppdm ({_CALLED})\b")


def in_sql(error: PpdmError, arguments: Iterable[Option]) -> PpdmError:
    """Give an error with the arguments of a call in the place of the options of its command.

    Args:
        error: What a method raised.
        arguments: What the call takes.

    Example:
        >>> error = PpdmError("--sensitive is given alone.", "Give --by Age,Sex, or run ppdm verify first.")
        >>> print(in_sql(error, OPTIONS["audit"]))
        sensitive is given alone. Give by := ['Age', 'Sex'], or run ppdm_verify first.
    """
    known = {flag: option for option in arguments for flag in option.flags.split("/")}

    def argument(found: re.Match[str]) -> str:
        flag, columns = found.groups()
        if flag not in known:
            return found[0]
        name = sql_name(known[flag])
        if columns is None or known[flag].form is not Form.names:
            return name if columns is None else f"{name} {columns}"
        return f"{name} := {columns.split(',')}"

    def worded(text: str) -> str:
        text = _FLAG.sub(argument, text)
        return _COMMAND.sub(lambda found: f"ppdm_{found[1].replace(' ', '_')}", text)

    reworded = copy.copy(error)
    reworded.problem, reworded.remedy = worded(error.problem), worded(error.remedy)
    reworded.args = (f"{reworded.problem} {reworded.remedy}".strip(),)
    return reworded
