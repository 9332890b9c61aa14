"""Arguments and options that commands share, and how their texts become values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Annotated

import typer

from ppdm_sql.cli.output import Format
from ppdm_sql.errors import InvalidOption
from ppdm_sql.privacy import parse_names

DatabasePath = Annotated[Path, typer.Argument(metavar="DATABASE", help="A DuckDB file.", show_default=False)]
TableName = Annotated[
    str, typer.Argument(metavar="TABLE", help="A table or view: NAME or SCHEMA.NAME.", show_default=False)
]
ReleaseName = Annotated[
    str, typer.Argument(metavar="RELEASE", help="A release; see ppdm releases.", show_default=False)
]
PublishedName = Annotated[
    str,
    typer.Argument(
        metavar="NAME", help="A release or a model; see ppdm releases and ppdm models.", show_default=False
    ),
]
Require = Annotated[
    list[str] | None,
    typer.Option("--require", "-r", metavar="TEXT", help="What must hold; repeatable.", show_default=False),
]
Count = Annotated[
    str | None,
    typer.Option("--count", metavar="COLUMN", help="Rows are collapsed; this column says how many records."),
]
OutputFormat = Annotated[Format, typer.Option("--format", "-f", help="How tables are printed.")]
Sql = Annotated[bool, typer.Option("--sql", help="Print the statements; change nothing.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="On stderr only what is not as asked.")]
Debug = Annotated[bool, typer.Option("--debug", help="With an error, the traceback and the engine's words.")]
Threads = Annotated[
    int | None, typer.Option("--threads", min=1, help="Number of threads; without it, the engine's choice.")
]
MemoryLimit = Annotated[
    str | None, typer.Option("--memory-limit", metavar="SIZE", help="Such as 2GB; else the engine's choice.")
]
AcceptPartial = Annotated[
    bool, typer.Option("--accept-partial", help="Exit with 0, not 130, when Ctrl-C stopped the run early.")
]
Keep = Annotated[
    str | None, typer.Option("--keep", metavar="A,B", help="Further columns to release as they are.")
]
Identifier = Annotated[
    list[str] | None,
    typer.Option(
        "--identifier", metavar="A[=pseudonym]", help="Direct identifier to drop or replace; repeatable."
    ),
]
AllowAbsent = Annotated[
    bool, typer.Option("--allow-absent", help="Protected values may be such that their column lacks them.")
]
Symbol = Annotated[str, typer.Option("--symbol", help="What stands for a suppressed value.")]


def names(text: str | None) -> tuple[str, ...]:
    """Read ``A, "odd name"``; no text gives no names."""
    return parse_names(text) if text else ()


def identifiers(texts: Sequence[str]) -> Mapping[str, str]:
    """Read ``A`` or ``A=pseudonym``: what becomes of each direct identifier."""
    return dict(_identifier(text) for text in texts)


def _identifier(text: str) -> tuple[str, str]:
    name, _, treatment = text.rpartition("=")
    return (name, treatment) if name else (text, "drop")


def assignment(option: str, text: str) -> tuple[str, str]:
    """Read ``COLUMN=VALUE``; a name that holds an equals sign is quoted.

    Raises:
        InvalidOption: There is no equals sign, or nothing on one side of it.

    Example:
        >>> assignment("--taxonomy", '"a=b"=job.csv')
        ('a=b', 'job.csv')
    """
    found = re.fullmatch(r'\s*("(?:[^"]|"")+"|[^="]+)=(.+)', text, re.DOTALL)
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


def share(text: str) -> Fraction:
    """Read a share written as a percentage or a fraction.

    Raises:
        InvalidOption: It is neither, or not in [0, 1].

    Example:
        >>> share("50%"), share("0.5")
        (Fraction(1, 2), Fraction(1, 2))
    """
    number = text.strip().removesuffix("%")
    try:
        value = Fraction(number) / (100 if "%" in text else 1)
    except (ValueError, ZeroDivisionError):
        value = Fraction(-1)
    if not 0 <= value <= 1:
        raise InvalidOption(
            f"--threshold {text!r} is not a share between 0 and 1.", "Write it as 50% or 0.5."
        )
    return value
