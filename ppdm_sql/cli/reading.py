"""How words of the command line become the values that methods take."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ppdm_sql.errors import InvalidOption
from ppdm_sql.options import Form
from ppdm_sql.privacy import parse_names

_TYPE = re.compile(r'(?:"[^"]*"|\([^)]*\)|[^,"(])+')


def names(text: str | None) -> tuple[str, ...]:
    """Read ``A, "odd name"``; no text gives no names."""
    return parse_names(text) if text else ()


def assignment(option: str, text: str) -> tuple[str, str]:
    """Read ``COLUMN=VALUE``; a name that holds an equals sign is quoted.

    Raises:
        InvalidOption: There is no equals sign, or nothing on one side of it.

    Example:
        >>> assignment("--taxonomy", '"a=b"=job.csv')
        ('a=b', 'job.csv')
    """
    found = re.fullmatch(r'\s*("(?:[^"]|"")+"|[^="\s][^=]*)=(.+)', text, re.DOTALL)
    if found is None:
        raise InvalidOption(f"{option} {text!r} names no column.", f"Write it as {option} COLUMN=VALUE.")
    name = found[1].strip()
    return (name[1:-1].replace('""', '"') if name.startswith('"') else name), found[2].strip()


def range_of(text: str) -> tuple[str, tuple[str, str]]:
    """Read ``COLUMN=LOWER,UPPER``.

    Raises:
        InvalidOption: It is not of that form.

    Example:
        >>> range_of("age=1,99")
        ('age', ('1', '99'))
    """
    name, bounds = assignment("--range", text)
    lower, comma, upper = (part.strip() for part in bounds.partition(","))
    if not (lower and comma and upper) or "," in upper:
        raise InvalidOption(f"--range of {name!r} is not two bounds.", f"Write it as --range {name}=1,99.")
    return name, (lower, upper)


def value(form: Form, flag: str, given: Any) -> Any:
    """Read what was given to an option.

    Args:
        form: What its value looks like.
        flag: Its name, for an error message.
        given: The text, texts, number or switch that typer gives.

    Raises:
        InvalidOption: It is not of the form.

    Example:
        >>> value(Form.ranges, "--range", ["age=1,99"]), value(Form.names, "--keep", 'a, "b c"')
        ({'age': ('1', '99')}, ('a', 'b c'))
    """
    reader = _READERS.get(form)
    return given if reader is None else reader(flag, given)


def _identifiers(flag: str, texts: Sequence[str]) -> Mapping[str, str]:
    """Read ``A`` or ``A=pseudonym``: what becomes of each direct identifier."""
    return dict(_identifier(text) for text in texts)


def _identifier(text: str) -> tuple[str, str]:
    name, _, treatment = ("", "", "") if _bare(text) != text else text.rpartition("=")
    return (_bare(name), treatment) if name else (_bare(text), "drop")


def _bare(text: str) -> str:
    """Give the name that quotes stand around, as they must in other options.

    Example:
        >>> _bare('"odd ""name"" here"'), _bare("odd name")
        ('odd "name" here', 'odd name')
    """
    found = re.fullmatch(r'"((?:[^"]|"")+)"', text)
    return text if found is None else found[1].replace('""', '"')


def _named(flag: str, text: str) -> tuple[str, str]:
    """Read ``COLUMN=VALUE``, or a value that holds for every column, under no name.

    Example:
        >>> _named("--proportion", "0.5"), _named("--proportion", "Amount=25%")
        (('', '0.5'), ('Amount', '25%'))
    """
    return assignment(flag, text) if "=" in text else ("", text.strip())


def _bins(flag: str, text: str) -> tuple[str, int | Sequence[str]]:
    """Read a number of bins, or edges between commas.

    Example:
        >>> _bins("--bins", "5"), _bins("--bins", "hours=0,20,40")
        (('', 5), ('hours', ['0', '20', '40']))
    """
    name, found = _named(flag, text)
    if "," in found and name:
        return name, [edge.strip() for edge in found.split(",")]
    if not found.isdecimal():
        raise InvalidOption(
            f"{flag} {text!r} is no number of bins.", f"Write it as {flag} 5 or {flag} A=0,10,20."
        )
    return name, int(found)


def _bounds(flag: str, text: str) -> tuple[str, str]:
    low, comma, high = (part.strip() for part in text.partition(","))
    if not (low and comma and high):
        raise InvalidOption(f"{flag} {text!r} is not a range of shares.", f"Write it as {flag} 0.4,0.6.")
    return low, high


def types(flag: str, texts: Sequence[str]) -> dict[str, str]:
    """Read ``A=TYPE,B=TYPE``; commas within the brackets of a type part nothing.

    Raises:
        InvalidOption: A part is not of that form.

    Example:
        >>> types("--types", ["zip=VARCHAR,amount=DECIMAL(8,2)"])
        {'zip': 'VARCHAR', 'amount': 'DECIMAL(8,2)'}
    """
    parts = [part for text in texts for part in _TYPE.findall(text) if part.strip()]
    return dict(assignment(flag, part) for part in parts)


def _by_column(read: Callable[[str, str], tuple[str, Any]]) -> Callable[[str, Sequence[str]], dict[str, Any]]:
    return lambda flag, texts: dict(read(flag, text) for text in texts)


def _choices(flag: str, text: str) -> tuple[str, ...]:
    """Read words between commas.

    Example:
        >>> _choices("--method", "tds, hce-tdr")
        ('tds', 'hce-tdr')
    """
    return tuple(word.strip() for word in text.split(",") if word.strip())


def _wholes(flag: str, text: str) -> tuple[int, ...]:
    """Read whole numbers between commas."""
    words = _choices(flag, text)
    if not words or not all(word.isdecimal() for word in words):
        raise InvalidOption(f"{flag} {text!r} is no list of whole numbers.", f"Write it as {flag} 2,5,10.")
    return tuple(map(int, words))


_READERS: Mapping[Form, Callable[[str, Any], Any]] = {
    Form.names: lambda _, text: names(text),
    Form.choices: _choices,
    Form.wholes: _wholes,
    Form.share: lambda _, text: int(text) if text.strip().isdecimal() else text,
    Form.shares: _by_column(_named),
    Form.bounds: _bounds,
    Form.ranges: _by_column(lambda _, text: range_of(text)),
    Form.identifiers: _identifiers,
    Form.repeated_names: lambda _, texts: [_bare(text) for text in texts],
    Form.taxonomies: _by_column(assignment),
    Form.values: _by_column(assignment),
    Form.bins: _by_column(_bins),
    Form.types: types,
}
"""How a value is read; those of other forms are taken as typer gives them."""
