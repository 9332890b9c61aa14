"""What can go wrong, one small class each.

Every error is two sentences: what is wrong, and what to type. Neither ever holds a value of a cell,
but for a label that stands in two places of a taxonomy.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import TypeVar


class PpdmError(Exception):
    """Base of all errors of this package.

    Args:
        problem: One sentence on what is wrong, with the name concerned.
        remedy: One sentence on what to type instead.

    Example:
        >>> str(PpdmError("No table t.", "Give one of: u."))
        'No table t. Give one of: u.'
    """

    exit_code = 2

    def __init__(self, problem: str, remedy: str = "") -> None:
        super().__init__(f"{problem} {remedy}".strip())
        self.problem = problem
        self.remedy = remedy


Error = TypeVar("Error", bound=PpdmError)


class PpdmWarning(UserWarning):
    """What a run in Python says that is not an error: what the user should know, or what is not as asked.

    Like an error it never holds a value of a cell, unless the user typed it.
    """


class RequirementSyntaxError(PpdmError):
    """A requirement that cannot be read; the text carries a caret under the place."""


class UnknownTable(PpdmError):
    """A table or view that the database does not have."""


class UnknownColumn(PpdmError):
    """A column that the table does not have."""


class UnknownValue(PpdmError):
    """A protected value that the column does not hold; the message names it as the user wrote it."""


class ColumnRoleError(PpdmError):
    """A column named in two roles that exclude each other, or in none where one is needed."""


class InvalidOption(PpdmError):
    """An option whose value cannot be used."""


class InvalidSource(PpdmError):
    """A source table that a method cannot take: empty, bad counts, the suppressed symbol in it."""


class NameTaken(PpdmError):
    """A release, table or file of that name exists already."""


class UnknownRelease(PpdmError):
    """A release that the catalogue does not list."""


class UnknownModel(PpdmError):
    """A model that the database does not hold."""


class GuaranteeNotMet(PpdmError):
    """A requirement that no release of this method can meet, or that the audit found broken."""

    exit_code = 1


class DatabaseUnavailable(PpdmError):
    """A database that cannot be opened, read or written."""

    exit_code = 3


class PeerError(PpdmError):
    """A partner that cannot be reached, has gone, is silent, or has stopped the run."""

    exit_code = 3


class ProtocolError(PpdmError):
    """Something of a partner that is refused: other parameters, other records, a message that cannot be.

    ``reason`` is one word out of a closed list, which is all that the partner is told.
    """

    exit_code = 1

    def __init__(self, problem: str, remedy: str = "", *, reason: str = "refused") -> None:
        super().__init__(problem, remedy)
        self.reason = reason


HIDDEN_WORDS = "The error's engine_text holds the engine's own words, which may quote values."
MORE_MEMORY = "Give more memory, or fewer threads."


class EngineError(PpdmError):
    """A statement that the engine refused.

    The engine's own words may quote a cell, so where they can they are kept in ``engine_text``, out of the
    message. ``explained`` are errors whose message says more than that a step failed.
    """

    exit_code = 3
    engine_text = ""
    explained = True


class Conflict(EngineError):
    """A transaction that failed, with nothing written, since another connection changed the same."""


class OpenResult(EngineError):
    """A statement that DuckDB does not run while a result on the same connection is still read."""


def no_records(table: str) -> InvalidSource:
    """Say that a table is empty."""
    return InvalidSource(
        f"Table {table!r} has no records.",
        "Give a table with at least one; rows with a count of 0 stand for none.",
    )


def kind_of(value: object) -> str:
    """Name what was given by its type, never by its contents, which may be cells."""
    name = type(value).__name__
    article = "an" if name[0].lower() in "aeiou" else "a"
    return "None" if value is None else f"{article} {name}"


def said(value: object) -> str:
    """Quote a text for a message; anything else is named by its type.

    Example:
        >>> said("fast"), said(["fast"])
        ("'fast'", 'a list')
    """
    return repr(value) if isinstance(value, str) else kind_of(value)


def closest(wanted: str, names: Iterable[str], *, cutoff: float = 0.5) -> list[str]:
    """Give the names, three at most, that are spelled much like the wanted one, nearest first."""
    lowered = {name.lower(): name for name in names}
    return [lowered[name] for name in get_close_matches(wanted.lower(), lowered, n=3, cutoff=cutoff)]


def choices(wanted: str, names: Iterable[str], *, most: int = 12) -> str:
    """Write names for the end of an error message, nearest first."""
    names = list(names)
    ordered = dict.fromkeys((*closest(wanted, names), *names))
    return some([name if name == name.strip() else f'"{name}"' for name in ordered], most)


def some(words: Sequence[str], most: int, between: str = ", ") -> str:
    """Write the first of some words, and how many more there are.

    Example:
        >>> some(["a", "b", "c"], 2), some(["a"], 2)
        ('a, b and 1 more', 'a')
    """
    rest = len(words) - most
    return between.join(words[:most]) + (f" and {rest} more" if rest > 0 else "")


def unknown(
    error: type[Error], problem: str, wanted: object, names: Iterable[str], *, here: str, none: str = ""
) -> Error:
    """Say that there is none of a name, and after ``here`` which there are, nearest first, or else ``none``.

    Example:
        >>> print(unknown(UnknownTable, "There is no table", "visit", ["people", "visits"], here="Tables"))
        There is no table 'visit'. Tables: visits, people.
    """
    known = choices(wanted if isinstance(wanted, str) else "", names)
    return error(f"{problem} {said(wanted)}.", f"{here}: {known}." if known else none)


def check_choice(what: str, given: object, known: Iterable[str]) -> None:
    """Refuse what is none of the words that there are."""
    words = list(known)
    if given not in words:
        raise unknown(InvalidOption, f"There is no {what}", given, words, here="Give one of")
