"""Arguments of calls in SQL: their forms as JSON, and what the methods take for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ppdm_sql.errors import InvalidOption, PpdmError
from ppdm_sql.options import Form, Option
from ppdm_sql.privacy import parse_names


class Unfit(Exception):
    """A value that is not of the form that an argument takes."""


RESERVED = ("column", "into", "limit", "to")
"""Names of arguments that are reserved words of SQL, which stand in quotes."""


def sql_name(option: Option) -> str:
    """Give the name of an argument as SQL wants it."""
    return f'"{option.argument}"' if option.argument in RESERVED else option.argument


def value(call: str, option: Option, given: object) -> Any:
    """Turn the value of an argument, as JSON has it, into what the method takes.

    Raises:
        InvalidOption: It is of another form.

    Example:
        >>> from ppdm_sql.options import OPTIONS
        >>> value("ppdm_suppress", OPTIONS["suppress"][5], "Child, Age")
        ('Child', 'Age')
    """
    try:
        return _READERS[option.form](given)
    except PpdmError:
        raise
    except (Unfit, ValueError, TypeError, ZeroDivisionError):
        raise InvalidOption(
            f"The argument {option.argument} of {call} cannot be used.",
            f"Write it as {sql_name(option)} := {option.example} ({option.form.value}).",
        ) from None


# -- forms ------------------------------------------------------------------------------------


def text(value: object) -> str:
    """Read a text."""
    if not isinstance(value, str):
        raise Unfit
    return value


def flag(value: object) -> bool:
    """Read true or false."""
    if not isinstance(value, bool):
        raise Unfit
    return value


def number(value: object) -> int | float:
    """Read a number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise Unfit
    return value


def whole(value: object) -> int:
    """Read a whole number.

    Example:
        >>> whole(3.0)
        3
    """
    found = number(value)
    if found != int(found):
        raise Unfit
    return int(found)


def share(value: object) -> int | float | str:
    """Read a number, or a text such as ``50%``."""
    return value if isinstance(value, str) else number(value)


def texts(value: object) -> tuple[str, ...]:
    """Read a text or a list of texts."""
    return tuple(map(text, value)) if isinstance(value, list) else (text(value),)


def wholes(value: object) -> tuple[int, ...]:
    """Read a whole number or a list of them."""
    return tuple(map(whole, value)) if isinstance(value, list) else (whole(value),)


def names(value: object) -> tuple[str, ...]:
    """Read names between commas, or a list of names as they stand.

    Example:
        >>> names('a, "b c"'), names(["b c"])
        (('a', 'b c'), ('b c',))
    """
    return texts(value) if isinstance(value, list) else parse_names(text(value))


def shares(value: object) -> object:
    """Read one share for all, or a share for each column."""
    return {name: share(item) for name, item in value.items()} if isinstance(value, dict) else share(value)


def thresholds(value: object) -> list[int | float | str]:
    """Read one share or a list of shares."""
    return [share(item) for item in (value if isinstance(value, list) else [value])]


def bounds(value: object) -> tuple[Any, Any]:
    """Read a list of two: a lower and an upper bound."""
    if not isinstance(value, list) or len(value) != 2 or None in value:
        raise Unfit
    return value[0], value[1]


def ranges(value: object) -> dict[str, tuple[Any, Any]]:
    """Read the bounds of columns."""
    return {name: bounds(item) for name, item in _fields(value).items()}


def identifiers(value: object) -> dict[str, str]:
    """Read what becomes of direct identifiers; names alone are dropped."""
    if isinstance(value, dict):
        return {name: text(item) for name, item in value.items()}
    return dict.fromkeys(names(value), "drop")


def types(value: object) -> dict[str, str]:
    """Read the types of columns."""
    return {name: text(item) for name, item in _fields(value).items()}


def values(value: object) -> dict[str, int | float | str]:
    """Read a number or a text for columns."""
    return {name: share(item) for name, item in _fields(value).items()}


def noises(value: object) -> dict[str, str]:
    """Read the noise of columns."""
    return {name: text(item) for name, item in _fields(value).items()}


def taxonomies(value: object) -> dict[str, Any]:
    """Read the taxonomies of columns: a file or table, or nested objects and lists."""
    return {name: item if isinstance(item, dict) else text(item) for name, item in _fields(value).items()}


def bins(value: object) -> int | dict[str, Any]:
    """Read a number of bins, or for columns a number or a list of edges."""
    if not isinstance(value, dict):
        return whole(value)
    return {name: item if isinstance(item, list) else whole(item) for name, item in value.items()}


def _fields(value: object) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise Unfit
    return value


_READERS: Mapping[Form, Callable[[Any], Any]] = {
    Form.text: text,
    Form.path: text,
    Form.whole: whole,
    Form.number: number,
    Form.flag: flag,
    Form.texts: texts,
    Form.choices: texts,
    Form.wholes: wholes,
    Form.names: names,
    Form.repeated_names: names,
    Form.share: share,
    Form.shares: shares,
    Form.thresholds: thresholds,
    Form.bounds: bounds,
    Form.ranges: ranges,
    Form.identifiers: identifiers,
    Form.noises: noises,
    Form.taxonomies: taxonomies,
    Form.bins: bins,
    Form.types: types,
    Form.values: values,
}
