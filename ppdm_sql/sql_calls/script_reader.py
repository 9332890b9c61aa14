"""Reads what users write before the engine does: reserved words as arguments, and where a text ends."""

from __future__ import annotations

import re

from ppdm_sql.sql_calls.arguments import RESERVED

_TEXT = r"""[eE]'(?:\\.|''|[^'\\])*'|'(?:''|[^'])*'|\$(?P<tag>\w*)\$.*?\$(?P=tag)\$"""
_LITERAL = rf"""{_TEXT}|"(?:""|[^"])*"|--[^\n]*|/\*.*?\*/"""
_LITERALS = re.compile(_LITERAL, re.DOTALL)
_NAMED = re.compile(
    rf"{_LITERAL}|(?P<name>\b(?:{'|'.join(RESERVED)}))(?=\s*(?::=|=>))", re.DOTALL | re.IGNORECASE
)
_OPEN = re.compile(r"'|\"|/\*|\$\w*\$")


def with_quoted_arguments(sql: str) -> str:
    """Put ``into`` and other words that SQL reserves in quotes where they name an argument.

    Example:
        >>> print(with_quoted_arguments("CALL f('into := 1', into := 'a'); INSERT INTO t SELECT 1"))
        CALL f('into := 1', "into" := 'a'); INSERT INTO t SELECT 1
    """
    return _NAMED.sub(lambda found: f'"{found["name"].lower()}"' if found["name"] else found[0], sql)


def is_complete(sql: str) -> bool:
    """Tell whether a text ends a statement: with a semicolon that is in no literal and no comment.

    Example:
        >>> is_complete("SELECT 1;  -- one"), is_complete("SELECT ';"), is_complete("SELECT 1")
        (True, False, False)
    """
    rest = _LITERALS.sub(" ", sql).rstrip()
    return rest.endswith(";") and not _OPEN.search(rest)
