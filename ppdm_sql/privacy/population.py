"""The population that a requirement counts in: a table that is named in its text."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ppdm_sql.errors import RequirementSyntaxError
from ppdm_sql.privacy import grammar
from ppdm_sql.privacy.quoting import quote_name
from ppdm_sql.privacy.reader import Reader

_IN = re.compile(r"in(?![\w$])", re.IGNORECASE)
_DOT = re.compile(r"\.")
_OPEN = re.compile(r"\(")
_CLOSE = re.compile(r"\)")
_MOST_PARTS = 3
"""Of the name of a table: its database, its schema and itself."""


@dataclass(frozen=True)
class PopulationTable:
    """A table of everybody, of whom an audited table holds some.

    Args:
        parts: Of its name: the table's, before it perhaps its schema's, before that perhaps its database's.
        weights: The column that says how many persons a row stands for; None where a row is a person.

    Example:
        >>> str(PopulationTable(("census", "main", "odd name"), "n"))
        'census.main."odd name"(n)'
    """

    parts: tuple[str, ...]
    weights: str | None = None

    @property
    def name(self) -> str:
        """Its name as SQL has it."""
        return ".".join(map(quote_name, self.parts))

    def __str__(self) -> str:
        return self.name if self.weights is None else f"{self.name}({quote_name(self.weights)})"


def in_population(reader: Reader) -> tuple[tuple[str, ...], PopulationTable]:
    """Read ``on Sex, Job in census.main.people(n)``, up to the end."""
    reader.expect(grammar.ON, "'on'")
    columns = reader.names()
    reader.expect(_IN, "',' or 'in' and the table of the population")
    parts = [reader.name()]
    while len(parts) < _MOST_PARTS and reader.accept(_DOT):
        parts.append(reader.name())
    return columns, PopulationTable(tuple(parts), _weights(reader))


def weighted(given: Any) -> tuple[Any, str | None]:
    """Part a table or file from the count column in parentheses behind it; frames have none."""
    for opened in _OPEN.finditer(given, 1) if isinstance(given, str) else ():
        with suppress(RequirementSyntaxError):
            weights = _weights(Reader(given[opened.start() :], "citizens(n)"))
            return given[: opened.start()].rstrip(), weights
    return given, None


def sized(given: Any) -> tuple[Any, str | int | None]:
    """Take a number for that of the persons in a population; else part a table from its count column.

    Example:
        >>> sized("48000"), sized("citizens(n)")
        ((None, 48000), ('citizens', 'n'))
    """
    is_number = isinstance(given, int | str) and re.fullmatch(r"\s*[0-9]{1,18}\s*", str(given))
    return (None, int(given)) if is_number else weighted(given)


def _weights(reader: Reader) -> str | None:
    """Read ``(n)`` where it stands, and the end."""
    weights = None
    if reader.accept(_OPEN):
        weights = reader.name()
        reader.expect(_CLOSE, "')'")
    reader.end("'(' or the end" if weights is None else "the end")
    return weights
