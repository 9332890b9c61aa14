"""The comment on an installed macro, by which our macros are known from anybody else's."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sqlglot import exp

from ppdm_sql.engine.names import Table
from ppdm_sql.engine.statements import literal, render
from ppdm_sql.macros.macros import Macro
from ppdm_sql.version import __version__

_MARK = re.compile(r"Installed by ppdm-sql (\S+?)( with the schema)?\.")


@dataclass(frozen=True)
class Mark:
    """The last sentence of a comment.

    Args:
        version: The ppdm-sql that installed the macro.
        with_schema: Whether it made the schema, too.
    """

    version: str
    with_schema: bool

    def __str__(self) -> str:
        return f"Installed by ppdm-sql {self.version}{' with the schema' * self.with_schema}."


def read_mark(comment: str | None) -> Mark | None:
    """Find the mark at the end of a comment; None where the macro is not ours.

    Example:
        >>> read_mark("Risk. Installed by ppdm-sql 0.1.0.")
        Mark(version='0.1.0', with_schema=False)
        >>> read_mark("My own.") is None
        True
    """
    sentence = re.search(r"Installed by [^\n]+$", comment or "")
    found = _MARK.fullmatch(sentence[0]) if sentence else None
    return Mark(found[1], found[2] is not None) if found else None


def commented(macro: Macro, place: Table, *, with_schema: bool) -> str:
    """Write the statement that documents an installed macro and marks it as ours."""
    sentences = [macro.title, f"Example: {macro.example};", str(Mark(__version__, with_schema))]
    words = literal(" ".join(sentences))
    return render(exp.Comment(this=place.expression(), kind=macro.kind, expression=words))


def is_newer(version: str, than: str) -> bool:
    """Compare the numbers of two versions.

    Example:
        >>> is_newer("0.10.0", "0.9.1"), is_newer("0.1.0", "0.1.0")
        (True, False)
    """
    first, second = ([int(number) for number in re.findall(r"\d+", text)] for text in (version, than))
    return first > second
