"""Reads CSV files: every row or none, the first line as names, texts in types that lose nothing of them."""

from __future__ import annotations

import csv
import gzip
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from sqlglot import exp

from ppdm_sql.engine import Engine
from ppdm_sql.engine.statements import literal, render
from ppdm_sql.errors import EngineError, InvalidSource
from ppdm_sql.sources.files import unreachable, without_secrets

_DELIMITERS = (",", ";", "\t", "|")
_NOT_IN_TEXT = "\x01"
_IS_DATA = re.compile(
    r"[+-]?(\d+([.,]\d+)*|[.,]\d+)([eE][+-]?\d+)?%?|\d{1,4}[-./]\d{1,2}[-./]\d{1,4}.*|\S+@\S+\.\S+|true|false|null",
    re.IGNORECASE,
)
"""What is no name of a column, as far as can be told: a number, a date, an address, a truth value."""
_ENCODINGS = {
    "UTF-32LE": re.compile(rb"\xff\xfe\0\0|[^\0]\0\0\0"),
    "UTF-32BE": re.compile(rb"\0\0\xfe\xff|\0\0\0[^\0]"),
    "UTF-16LE": re.compile(rb"\xff\xfe|[^\0]\0"),
    "UTF-16BE": re.compile(rb"\xfe\xff|\0[^\0]"),
}
"""How files begin, by what they are written in: with a byte order mark, or a letter that is filled up."""
_LINE = re.compile(r"CSV Error on Line: (\d+)")
_TOO_LONG = re.compile(r"Maximum line size of (\d+) bytes exceeded")
_WIDTH = re.compile(r"Expected Number of Columns: (\d+) Found: (\d+)")
_FILE = re.compile(r"^\s*file = (.+)$", re.MULTILINE)


class CsvForm(NamedTuple):
    """How the files are written."""

    delimiter: str
    names: tuple[str, ...]


def read_csv(
    engine: Engine, files: Sequence[str], said: Mapping[str, object], shown: str
) -> tuple[exp.Select, list[str]]:
    """Write what reads CSV files, each column as texts.

    Args:
        engine: What reads the first lines.
        files: The files, which have the same columns in the same order.
        said: The columns of which the user says a type: these are names.
        shown: What the files are called in messages.

    Returns:
        A SELECT of every record, which fails where a row does not fit, and what the user should know.

    Raises:
        InvalidSource: The first line is none of names, or the text is not UTF-8.
    """
    form, notices = _form(files, engine, said, shown)
    options: dict[str, str | bool] = {
        "auto_detect": False,
        "header": True,
        "delim": form.delimiter,
        "quote": '"',
        "escape": '"',
    }
    options |= {"comment": "", "strict_mode": True, "null_padding": False, "ignore_errors": False}
    return exp.select("*").from_(_reader(files, options, form.names)), notices


# -- the first line ---------------------------------------------------------------------------


def _form(
    files: Sequence[str], engine: Engine, said: Mapping[str, object], shown: str
) -> tuple[CsvForm, list[str]]:
    """Read the first line of each file; all must have the same names."""
    forms: dict[CsvForm, str] = {}
    for file in files:
        _refuse_wide_letters(file)
        forms.setdefault(_form_of(_first_line(engine, file), file), file)
    if len(forms) > 1:
        one, other = list(forms.values())[:2]
        raise InvalidSource(
            f"{without_secrets(other)} does not have the columns of {without_secrets(one)}, in their order.",
            "Read files of one form at a time, or load them with DuckDB's read_csv and union_by_name = true.",
        )
    (form,) = forms
    _refuse_data(form.names, said, shown)
    return _named(form, shown)


def _refuse_wide_letters(file: str) -> None:
    """Refuse a file here whose letters take two or four bytes, in which DuckDB would read NULs."""
    first = b""
    packed = file.lower().endswith(".gz")
    with suppress(OSError, ValueError, EOFError), gzip.open(file) if packed else open(file, "rb") as opened:
        first = opened.read(4)  # where it cannot be, DuckDB says why
    encoding = next((name for name, begin in _ENCODINGS.items() if begin.match(first)), None)
    if encoding is not None:
        raise _not_utf8(f"{file} is {encoding}, not UTF-8.", encoding)


def _not_utf8(problem: str, encoding: str) -> InvalidSource:
    return InvalidSource(
        problem, f"Convert the file first, such as: iconv -f {encoding} -t UTF-8 FILE > NEW.csv."
    )


def _first_line(engine: Engine, file: str) -> str:
    """Read the line that names the columns; DuckDB reads packed and distant files, too."""
    options: dict[str, str | bool] = {
        "auto_detect": False,
        "header": False,
        "delim": _NOT_IN_TEXT,
        "quote": "",
        "escape": "",
    }
    options |= {"comment": "", "strict_mode": False, "null_padding": True, "ignore_errors": True}
    query = exp.select("line").from_(_reader([file], options, ("line",))).limit(1)
    try:
        rows = engine.look_up(render(query), step="first line")
    except EngineError as cause:
        raise unreadable_csv(cause.engine_text, without_secrets(file)) from None
    if not rows or not (rows[0][0] or "").strip():
        raise InvalidSource(
            f"{without_secrets(file)} is empty, or its first line is.",
            "The first line must hold the names of the columns.",
        )
    return str(rows[0][0]).removeprefix("\ufeff")


def _form_of(line: str, file: str) -> CsvForm:
    """Find the character that parts the names: the one of which there are most outside of quotes."""
    bare = re.sub(r'"(?:[^"]|"")*"', "", line)
    if '"' in bare:
        raise InvalidSource(
            f"A name in the first line of {without_secrets(file)} has a quote that is not closed.",
            "Mend the first line: a name holds no line break, and a quote in it is doubled.",
        )
    counts = {delimiter: bare.count(delimiter) for delimiter in _DELIMITERS}
    best = max(_DELIMITERS, key=lambda delimiter: counts[delimiter])  # the first of those that are even
    (names,) = csv.reader([line], delimiter=best, quotechar='"', doublequote=True)
    return CsvForm(best, tuple(name.strip() for name in names))


def _refuse_data(names: Sequence[str], said: Mapping[str, object], shown: str) -> None:
    """Refuse a first line that holds values, not names; it is not quoted, since they may be somebody's."""
    known = {name.lower() for name in said}
    if any(_IS_DATA.fullmatch(name) and name.lower() not in known for name in names):
        raise InvalidSource(
            f"The first line of {shown} looks like a record, not like the names of its columns.",
            "Put a line with the names before it; if they are names, say a type of each, as in "
            "--types '2024=DOUBLE'.",
        )


def _named(form: CsvForm, shown: str) -> tuple[CsvForm, list[str]]:
    """Give columns without a name one, and those with the name of another what DuckDB's reader calls them."""
    names: list[str] = []
    taken: dict[str, int] = {}  # each name, and how many have been made from it
    for place, given in enumerate(form.names):
        name = given or f"column{place}"
        while name.lower() in taken:
            taken[name.lower()] += 1
            name = f"{name}_{taken[name.lower()]}"
        taken[name.lower()] = 0
        names.append(name)
    notices, renamed = list[str](), list[str]()
    for place, (given, name) in enumerate(zip(form.names, names, strict=True), start=1):
        if not given:
            notices.append(f"The column at place {place} of {shown} has no name, so it is called {name}.")
        elif name != given:
            renamed.append(f"place {place} {given!r} is {name!r}")
    if renamed:
        told = f"Columns of {shown} have the name of one before them, so they are renamed:"
        notices.append(f"{told} {', '.join(renamed)}.")
    return CsvForm(form.delimiter, tuple(names)), notices


# -- the rows ---------------------------------------------------------------------------------


def _reader(files: Sequence[str], options: Mapping[str, str | bool], names: Sequence[str]) -> exp.Expression:
    """Write a call of DuckDB's reader."""
    listed = exp.Array(expressions=[literal(file) for file in files])
    kinds = exp.Struct(
        expressions=[exp.PropertyEQ(this=literal(name), expression=literal("VARCHAR")) for name in names]
    )
    given = {name: literal(value) for name, value in options.items()} | {"columns": kinds}
    arguments = [exp.EQ(this=exp.column(name), expression=value) for name, value in given.items()]
    call = exp.Anonymous(this="read_csv", expressions=[listed, *arguments])
    return exp.Table(this=call)


def unreadable_csv(text: str, shown: str) -> InvalidSource:
    """Say where a file cannot be read and why; what the engine says quotes the line."""
    if (unread := unreachable(shown, text)) is not None:
        return unread
    line, width, file = _LINE.search(text), _WIDTH.search(text), _FILE.search(text)
    named = without_secrets(file[1].strip()) if file and os.path.basename(file[1].strip()) else shown
    where = f"Line {line[1]} of {named}" if line else named
    if width:
        return InvalidSource(
            f"{where} holds {width[2]} value(s), where the first line names {width[1]} column(s).",
            'Mend the line (a value that holds the delimiter stands in "quotes"), or load the file yourself '
            "with DuckDB's read_csv, which can leave lines out.",
        )
    if (most := _TOO_LONG.search(text)) is not None:
        return InvalidSource(
            f"{where} is longer than the {int(most[1]):,} bytes that DuckDB reads.",
            "Shorten the line, or load the file yourself with DuckDB's read_csv and its max_line_size.",
        )
    if "unicode" in text or "utf-8" in text.lower():
        return _not_utf8(f"{where} is not UTF-8.", "LATIN1")
    if "quote" in text.lower() and line:
        return InvalidSource(
            f"{where} has a quote that is not closed, or text behind a closing one.",
            "Mend the line; a quote within a quoted value is doubled.",
        )
    return InvalidSource(
        f"{where} cannot be read as CSV.",
        'Check that lines end alike and values with delimiters stand in "quotes", or load the file yourself '
        "with DuckDB's read_csv.",
    )
