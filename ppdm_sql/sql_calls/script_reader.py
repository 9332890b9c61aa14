"""Reads what users write before the engine does: INTO as the name of an argument, and where a text ends."""

from __future__ import annotations

import re

_TEXT = r"""[eE]'(?:\\.|''|[^'\\])*'|'(?:''|[^'])*'|\$(?P<tag>\w*)\$.*?\$(?P=tag)\$"""
_LITERAL = rf"""{_TEXT}|"(?:""|[^"])*"|--[^\n]*|/\*.*?\*/"""
_LITERALS = re.compile(_LITERAL, re.DOTALL)
_INTO = re.compile(rf"{_LITERAL}|(?P<into>\binto)(?=\s*(?::=|=>))", re.DOTALL | re.IGNORECASE)
_OPEN = re.compile(r"'|\"|/\*|\$\w*\$")


def with_into(sql: str) -> str:
    """Put ``into`` in quotes where it names an argument; SQL reserves the word.

    Example:
        >>> print(with_into("CALL f('into := 1', into := 'a'); INSERT INTO t SELECT 1"))
        CALL f('into := 1', "into" := 'a'); INSERT INTO t SELECT 1
    """
    return _INTO.sub(lambda found: f'"{found["into"].lower()}"' if found["into"] else found[0], sql)


def is_complete(sql: str) -> bool:
    """Tell whether a text ends a statement: with a semicolon that is in no literal and no comment.

    Example:
        >>> is_complete("SELECT 1;  -- one"), is_complete("SELECT ';"), is_complete("SELECT 1")
        (True, False, False)
    """
    rest = _LITERALS.sub(" ", sql).rstrip()
    return rest.endswith(";") and not _OPEN.search(rest)
