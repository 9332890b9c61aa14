"""Reads the small pieces of a requirement: names, values, numbers and signs, and what several forms share.

No keyword is reserved. What stands first and the sign after it tell the forms apart, so ``k``, ``on`` or
``in`` are column names wherever a column name can stand.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar
from unicodedata import combining, east_asian_width

from ppdm_sql.errors import RequirementSyntaxError
from ppdm_sql.privacy.limits import HIGHEST_LIMIT
from ppdm_sql.privacy.quoting import BARE_NAME, BARE_VALUE, Value, quote_name

_Item = TypeVar("_Item")

AT_LEAST, AT_MOST = re.compile(">=|≥"), re.compile("<=|≤")
ON, OF, IN = (re.compile(rf"{word}(?![\w$])", re.IGNORECASE) for word in ("on", "of", "in"))
OPEN, CLOSE, EQUALS, COMMA = map(re.compile, (r"\(", r"\)", "=", ","))
UNLIMITED = Fraction(HIGHEST_LIMIT)
"""The limit of what is only measured, where no number is kept by every table; no text can ask for it."""

_SPACE = re.compile(r"\s*")
_NAME = re.compile(rf'"(?:[^"]|"")*+"|{BARE_NAME.pattern}')
_LIST_NAME = re.compile(r'"(?:[^"]|"")*+"|[^\s,"](?:[^,"]*[^\s,"])?')
_VALUE = re.compile(rf"'(?:[^']|'')*+'|{BARE_VALUE.pattern}")
_GLUED = re.compile(r"""[^\s,;()"<>=≤≥→]+""")
_WORDS = re.compile(r"""(?!(?:on|of|in|by)\b)(?:(?!->)[^\s,;()'"<>=≤≥→])+""", re.IGNORECASE)
_END = re.compile(r"\Z")
_WHOLE = re.compile(r"[0-9]++(?![./%])")
_FRACTION = re.compile(r"[0-9]+\s*/\s*[0-9]+|[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)")
_PERCENT = re.compile(r"%")
_DOT = re.compile(r"\.")
_MOST_DIGITS = 1000
"""Of a number; Python writes none of more than 4300."""
_MOST_PARTS = 3
"""Of the name of a table: its database, its schema and itself."""


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
        match = pattern.match(self.text, self._at)
        if match is None:
            return None
        self._at = match.end()
        return match.group()

    def follows(self, pattern: re.Pattern[str]) -> bool:
        """Tell whether the pattern matches here, after white space; stay."""
        self._skip_space()
        return pattern.match(self.text, self._at) is not None

    def expect(self, pattern: re.Pattern[str], expected: str) -> str:
        text = self.accept(pattern)
        if text is None:
            raise self.error(expected)
        return text

    def end(self, expected: str = "the end") -> None:
        self.expect(_END, expected)

    def name(self) -> str:
        """Read a column name, bare or in double quotes."""
        name = self.expect(_NAME, "a column name, in double quotes unless it is one plain word")
        if not name.startswith('"'):
            self._bare_name = self._at - len(name), self._at
        return _inside(name)

    def names(self) -> tuple[str, ...]:
        return self._items(self.name)

    def only_names(self) -> tuple[str, ...]:
        """Read names up to the end: whatever stands between commas, in double quotes if it holds one."""
        names = self._items(lambda: _inside(self.expect(_LIST_NAME, "a column name")))
        self.end("',' or the end")
        return names

    def value(self, expected: str = "a value, in single quotes unless it is one plain word") -> Value:
        """Read a value: bare, in single quotes, or NULL."""
        value = self.expect(_VALUE, expected)
        if value.startswith("'"):
            return value[1:-1].replace("''", "'")
        return None if value.lower() == "null" else value

    def values(self) -> tuple[Value, ...]:
        return self._items(self.value)

    def _items(self, read: Callable[[], _Item]) -> tuple[_Item, ...]:
        items = [read()]
        while self.accept(COMMA):
            items.append(read())
        return tuple(items)

    def whole(self) -> int:
        return int(self._number(_WHOLE, "a whole number"))

    def fraction(self, expected: str = "a number") -> Fraction:
        """Read a number such as 2.5, .5 or 5/2, exactly."""
        return self._number(_FRACTION, expected)

    def share(self) -> Fraction:
        """Read a share such as 0.75, 3/4 or 75%, exactly."""
        number = self.fraction("a fraction or a percentage")
        return number / 100 if self.accept(_PERCENT) else number

    # -- what several forms share

    def bounded(self, sign: re.Pattern[str], expected: str, rest: re.Pattern[str]) -> bool:
        """Read the sign before a limit, or tell that the rest follows without one, where that may be."""
        if not self.follows(rest):
            self.expect(sign, expected)
            return True
        if not self.limitless:
            raise self.error(f"{expected}; only ppdm audit takes a requirement without a limit")
        self.limited = False
        return False

    def limit(self) -> Fraction:
        """Read a limit without end; one that no text can ask for becomes one that no model takes."""
        number = self.fraction()
        return number if number < UNLIMITED else UNLIMITED + 1

    def quasi_identifier(self) -> tuple[str, ...]:
        """Read ``on`` and the columns of the quasi-identifier, up to the end."""
        self.expect(ON, "'on'")
        names = self.names()
        self.end("',' or the end")
        return names

    def in_population(self) -> tuple[tuple[str, ...], PopulationTable]:
        """Read ``on Sex, Job in census.main.people(n)``, up to the end."""
        self.expect(ON, "'on'")
        columns = self.names()
        self.expect(IN, "',' or 'in' and the table of the population")
        parts = [self.name()]
        while len(parts) < _MOST_PARTS and self.accept(_DOT):
            parts.append(self.name())
        return columns, PopulationTable(tuple(parts), self.weights())

    def weights(self) -> str | None:
        """Read the count column ``(n)`` of a population where it stands, and the end."""
        weights = None
        if self.accept(OPEN):
            weights = self.name()
            self.expect(CLOSE, "')'")
        self.end("'(' or the end" if weights is None else "the end")
        return weights

    # -- errors

    def error(self, expected: str) -> RequirementSyntaxError:
        """Say what was expected here: the text, a caret under the place, one correct example."""
        text = "".join(sign if sign.isprintable() else " " for sign in self.text)
        indent = " " * sum(map(_width, text[: self._at]))
        return RequirementSyntaxError(
            f"Expected {expected}{self._unquoted()}.\n  {text}\n  {indent}^\nExample: {self.example}"
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
        digits = "".join(self.expect(pattern, expected).split())
        with suppress(ValueError, ZeroDivisionError):  # a division by zero
            if len(digits) <= _MOST_DIGITS:
                return Fraction(digits)
        self._at = start
        raise self.error(expected)

    def _skip_space(self) -> None:
        space = _SPACE.match(self.text, self._at)
        self._at = space.end() if space else self._at


def _inside(name: str) -> str:
    return name[1:-1].replace('""', '"') if name.startswith('"') else name


def _width(sign: str) -> int:
    """Give the columns that a sign takes on a terminal."""
    if combining(sign):
        return 0
    return 2 if east_asian_width(sign) in "WF" else 1


@dataclass(frozen=True)
class PopulationTable:
    """A table of everybody, of whom an audited table holds some.

    Example:
        >>> str(PopulationTable(("census", "main", "odd name"), "n"))
        'census.main."odd name"(n)'
    """

    parts: tuple[str, ...]  # of its name: perhaps its database's, perhaps its schema's, the table's
    weights: str | None = None  # the column that says how many persons a row stands for; None for one

    @property
    def name(self) -> str:
        return ".".join(map(quote_name, self.parts))

    def __str__(self) -> str:
        return self.name if self.weights is None else f"{self.name}({quote_name(self.weights)})"


def weighted(source: Any) -> tuple[Any, str | None]:
    """Part a table or file from the count column in parentheses behind it; frames have none."""
    for opening in OPEN.finditer(source, 1) if isinstance(source, str) else ():
        with suppress(RequirementSyntaxError):
            weights = Reader(source[opening.start() :], "citizens(n)").weights()
            return source[: opening.start()].rstrip(), weights
    return source, None


def sized(source: Any) -> tuple[Any, str | int | None]:
    """Take a number for that of the persons in a population; else part a table from its count column.

    Example:
        >>> sized("48000"), sized("citizens(n)")
        ((None, 48000), ('citizens', 'n'))
    """
    is_number = isinstance(source, int | str) and re.fullmatch(r"\s*[0-9]{1,18}\s*", str(source))
    return (None, int(source)) if is_number else weighted(source)
