"""Reads the small pieces of a requirement: names, values, numbers and signs.

What a bare name or value may look like is said here once, for reading and for printing.
"""

from __future__ import annotations

import re
from contextlib import suppress
from fractions import Fraction
from unicodedata import combining, east_asian_width

from ppdm_sql.errors import RequirementSyntaxError
from ppdm_sql.privacy.quoting import BARE_NAME, BARE_VALUE, Value

_SPACE = re.compile(r"\s*")
_NAME = re.compile(rf'"(?:[^"]|"")*+"|{BARE_NAME.pattern}')
_VALUE = re.compile(rf"'(?:[^']|'')*+'|{BARE_VALUE.pattern}")
_GLUED = re.compile(r"""[^\s,;()"<>=≤≥→]+""")
_WORDS = re.compile(r"""(?!(?:on|of|in|by)\b)(?:(?!->)[^\s,;()'"<>=≤≥→])+""", re.IGNORECASE)
_COMMA = re.compile(r",")
_END = re.compile(r"\Z")
_WHOLE = re.compile(r"[0-9]++(?![./%])")
_FRACTION = re.compile(r"[0-9]+\s*/\s*[0-9]+|[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)")
_PERCENT = re.compile(r"%")
_MOST_DIGITS = 1000
"""Of a number; Python writes none of more than 4300."""


class Reader:
    """A place in a text, moved forward by what is read.

    Args:
        text: What the user wrote.
        example: One correct text of the form being read, shown when the text is not.

    ``limitless`` says whether a limit may be missing, ``limited`` whether one was there.

    Example:
        >>> reader = Reader('Job, "odd name"', example="Job, Country")
        >>> reader.names()
        ('Job', 'odd name')
    """

    def __init__(self, text: str, example: str) -> None:
        self.text = text.strip()
        self.example = example
        self._at = 0
        self._bare_name = 0, 0
        self.limitless = False
        self.limited = True

    def accept(self, pattern: re.Pattern[str]) -> str | None:
        """Read what the pattern matches here, after white space, or give None and stay."""
        self._skip_space()
        found = pattern.match(self.text, self._at)
        if found is None:
            return None
        self._at = found.end()
        return found.group()

    def follows(self, pattern: re.Pattern[str]) -> bool:
        """Tell whether the pattern matches here, after white space; stay."""
        self._skip_space()
        return pattern.match(self.text, self._at) is not None

    def expect(self, pattern: re.Pattern[str], expected: str) -> str:
        """Read what the pattern matches here."""
        found = self.accept(pattern)
        if found is None:
            raise self.error(expected)
        return found

    def end(self, expected: str = "the end") -> None:
        """Make sure that nothing follows."""
        self.expect(_END, expected)

    def name(self) -> str:
        """Read a column name, bare or in double quotes."""
        found = self.expect(_NAME, "a column name, in double quotes unless it is one plain word")
        if found.startswith('"'):
            return found[1:-1].replace('""', '"')
        self._bare_name = self._at - len(found), self._at
        return found

    def names(self) -> tuple[str, ...]:
        """Read column names with commas between them."""
        names = [self.name()]
        while self.accept(_COMMA):
            names.append(self.name())
        return tuple(names)

    def value(self, expected: str = "a value, in single quotes unless it is one plain word") -> Value:
        """Read a value: bare, in single quotes, or NULL."""
        found = self.expect(_VALUE, expected)
        if found.startswith("'"):
            return found[1:-1].replace("''", "'")
        return None if found.lower() == "null" else found

    def values(self) -> tuple[Value, ...]:
        """Read values with commas between them."""
        values = [self.value()]
        while self.accept(_COMMA):
            values.append(self.value())
        return tuple(values)

    def whole(self) -> int:
        """Read a whole number."""
        return int(self._number(_WHOLE, "a whole number"))

    def fraction(self, expected: str = "a number") -> Fraction:
        """Read a number such as 2.5, .5 or 5/2, exactly."""
        return self._number(_FRACTION, expected)

    def share(self) -> Fraction:
        """Read a share such as 0.75, 3/4 or 75%, exactly."""
        number = self.fraction("a fraction or a percentage")
        return number / 100 if self.accept(_PERCENT) else number

    def error(self, expected: str) -> RequirementSyntaxError:
        """Say what was expected here: the text, a caret under the place, one correct example."""
        shown = "".join(sign if sign.isprintable() else " " for sign in self.text)
        indent = " " * sum(map(_width, shown[: self._at]))
        return RequirementSyntaxError(
            f"Expected {expected}{self._unquoted()}.\n  {shown}\n  {indent}^\nExample: {self.example}"
        )

    def _unquoted(self) -> str:
        """Say how to quote a name, where a bare one ends in the middle of words that may be one name."""
        start, end = self._bare_name
        glued = self._at == end and self.text.startswith("'", end)
        words = (_GLUED if glued else _WORDS).match(self.text, self._at)
        if words is None or not end or self.text[end : self._at].strip():
            return ""
        while words is not None:
            end = words.end()
            space = _SPACE.match(self.text, end)
            words = _WORDS.match(self.text, space.end() if space else end)
        name = "".join(sign if sign.isprintable() else " " for sign in self.text[start:end])
        shell = "" if "'" in name else ", and single quotes around it all for the shell"
        return f'; for one name write "{name}"{shell}'

    def _number(self, pattern: re.Pattern[str], expected: str) -> Fraction:
        self._skip_space()
        start = self._at
        found = self.expect(pattern, expected)
        digits = "".join(found.split())
        with suppress(ValueError, ZeroDivisionError):  # a division by zero
            if len(digits) <= _MOST_DIGITS:
                return Fraction(digits)
        self._at = start
        raise self.error(expected)

    def _skip_space(self) -> None:
        found = _SPACE.match(self.text, self._at)
        self._at = found.end() if found else self._at


def _width(sign: str) -> int:
    """Give the columns that a sign takes on a terminal."""
    if combining(sign):
        return 0
    return 2 if east_asian_width(sign) in "WF" else 1
