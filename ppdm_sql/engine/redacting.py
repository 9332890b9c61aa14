"""Statements as a log may hold them: without literals, which can be cells, and without comments."""

from __future__ import annotations

import re

# Read from left to right: a quote means what it does only outside of what began before it.
_PARTS = re.compile(
    r"""
      (?P<text> [eE]'(?:\\.|''|[^'\\])*(?:'|\Z) | '(?:[^']|'')*(?:'|\Z) )
    | (?P<dollars> \$(?P<tag>\w*)\$.*?(?:\$(?P=tag)\$|\Z) )
    | (?P<kept> "(?:[^"]|"")*" | \$?[^\W\d]\w* )
    | (?P<comment> --[^\n]* | /\*.*?(?:\*/|\Z) )
    | (?P<number> (?:\d[\w.]*|\.\d[\w.]*)(?:(?<=[eE])[+-]\d+)? )
    """,
    re.VERBOSE | re.DOTALL,
)


def redacted(sql: str) -> str:
    """Write a statement on one line with ``?`` in the place of each literal.

    Names stay; parameters are still ``$name``. Whatever is not closed is taken to be a text to its end.
    """
    shown = _PARTS.sub(lambda part: part["kept"] or ("" if part["comment"] else "?"), sql)
    return " ".join(shown.split())
