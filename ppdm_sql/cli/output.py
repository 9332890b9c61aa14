"""What is printed: tables and drawings on stdout; notices and how far a run is on stderr."""

from __future__ import annotations

import csv
import json
import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from itertools import zip_longest
from typing import TYPE_CHECKING, Annotated, Any
from unicodedata import category, east_asian_width

import typer

from ppdm_sql.options import Option
from ppdm_sql.progress import SilentProgress
from ppdm_sql.results import ResultTable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status

LONG_LIST = 60
"""Characters up to which a list or a mapping stands on one line of a table."""

Titled = ResultTable | tuple[str, Sequence[str], Sequence[Sequence[Any]]]
"""A table to print, or its title, the names of its columns and its rows."""


class Format(StrEnum):
    table = "table"
    csv = "csv"
    json = "json"
    jsonl = "jsonl"
    markdown = "markdown"


OutputFormat = Annotated[Format, "How tables are printed.", Option(flag="--format/-f", choices=Format)]
Quiet = Annotated[bool, "Print no progress and no notes, only warnings.", Option(flag="--quiet/-q")]
Debug = Annotated[bool, "With an error, print the traceback and the engine's message."]


def print_tables(tables: Sequence[Titled], form: Format) -> None:
    # json is one document, an object by title, or an array for a single untitled table;
    # jsonl has one object a row, and where there are titles their key is "table"
    _WRITERS[form]([ResultTable(*table) for table in tables])
    sys.stdout.flush()


def notice(text: str, *, quiet: bool = False) -> None:
    """Say something on stderr, unless the user wants quiet."""
    if not quiet:
        typer.echo(text, err=True)


# -- values -----------------------------------------------------------------------------------


def plain(value: object) -> Any:
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, (float, Decimal, Fraction)):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value.isoformat(" ", "seconds") if isinstance(value, datetime) else str(value)


def shown(value: object) -> str:
    """Write a value for a reader: NULL in capitals, booleans as in SQL, six digits, no control characters.

    Example:
        >>> shown(None), shown(2 / 3), shown(["a", None]), shown(math.inf)
        ('NULL', '0.666667', 'a; NULL', 'inf')
    """
    if isinstance(value, float) and math.isinf(value):
        return f"{value:g}"  # JSON has no such number, so it is not a plain value
    value = plain(value)
    if isinstance(value, list):
        return "; ".join(shown(item) for item in value)
    if isinstance(value, float):
        return f"{value:.6g}"
    as_json = isinstance(value, (dict, bool))
    text = json.dumps(value, ensure_ascii=False) if as_json else "NULL" if value is None else str(value)
    return text if text.isprintable() else "".join(_printable(character) for character in text)


def _printable(character: str) -> str:
    return character if character.isprintable() else character.encode("unicode_escape").decode()


# -- formats ----------------------------------------------------------------------------------


Line = Sequence[tuple[str, str]]
"""Parts of a line, each a text and its style."""


def _put(lines: Iterable[Line]) -> None:
    """Write lines: with their styles on a terminal, bare into a file."""
    if not sys.stdout.isatty():
        sys.stdout.writelines("".join(text for text, _ in line) + "\n" for line in lines)
        return
    console = _console()
    for line in lines:
        for text, style in line:
            console.print(text, style=style, end="", soft_wrap=True)
        console.print()


def _write_tables(tables: Sequence[ResultTable]) -> None:
    """Draw tables on a terminal, folded to its width; a file gets the same, unfolded."""
    console = _console() if sys.stdout.isatty() else None
    for number, (title, columns, rows, *_) in enumerate(tables):
        above: list[Line] = [*([[]] if number else []), *([[(shown(title), "bold")]] if title else [])]
        _put([*above, *_lines(columns, rows, console)])


def _lines(columns: Sequence[str], rows: Sequence[Sequence[Any]], console: Console | None) -> Iterator[Line]:
    cells = [[[shown(column)] for column in columns]]
    cells += [[_in_lines(value).split("\n") for value in row] for row in rows]
    right = [_all_numbers(row[place] for row in rows) for place in range(len(columns))]
    widths = [max(_width(line) for cell in column for line in cell) for column in zip(*cells, strict=True)]
    free = sum(widths) if console is None else console.width - 3 * (len(columns) - 1)
    if console is not None and sum(widths) > free:
        most = max((n for n in range(1, free) if sum(min(n, width) for width in widths) <= free), default=1)
        cells = [
            [[part for line in cell for part in _folded(line, most, console)] for cell in row]
            for row in cells
        ]
        widths = [min(most, width) for width in widths]
    for number, row in enumerate(cells):
        for parts in zip_longest(*row, fillvalue=""):
            spaces = [" " * (width - _width(part)) for part, width in zip(parts, widths, strict=True)]
            placed = zip(parts, spaces, right, strict=True)
            line = "   ".join(space + part if to_right else part + space for part, space, to_right in placed)
            yield [(line.rstrip(), "" if number else "bold")]
        if number == 0:
            yield [("─" * (sum(widths) + 3 * (len(widths) - 1)), "")]


def _folded(line: str, most: int, console: Console) -> list[str]:
    if _width(line) <= most:
        return [line]
    from rich.text import Text

    return [part.plain.rstrip() for part in Text(line).wrap(console, most, overflow="fold")]


def _width(text: str) -> int:
    """Count the places that a text takes on a line: two for a wide character, none for an accent."""
    if text.isascii():
        return len(text)
    wide = sum(east_asian_width(character) in "WF" for character in text)
    return len(text) + wide - sum(category(character) in ("Mn", "Me") for character in text)


def _console(*, stderr: bool = False) -> Console:
    from rich.console import Console  # it is slow to load, and not needed without a terminal

    return Console(stderr=stderr, markup=False, emoji=False, highlight=False)


def _in_lines(value: object) -> str:
    """Write a long list of several words each, or a long mapping, an item a line; all else as a value."""
    text = shown(value)
    if len(text) <= LONG_LIST:
        return text
    if isinstance(value, Mapping):
        return "\n".join(_item(shown(key), item) for key, item in value.items())
    if isinstance(value, (list, tuple)) and any(" " in shown(item) for item in value):
        return "\n".join(map(shown, value))
    return text


def _item(key: str, value: object) -> str:
    """Write an item of a mapping; what takes several lines stands below its key, moved in."""
    lines = _in_lines(value).split("\n")
    return f"{key}: {lines[0]}" if len(lines) == 1 else "\n  ".join([f"{key}:", *lines])


def _all_numbers(values: Iterable[object]) -> bool:
    kinds = (int, float, Decimal, Fraction, type(None))
    return all(isinstance(value, kinds) and not isinstance(value, bool) for value in values)


def _write_csv(tables: Sequence[ResultTable]) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    for number, (_, columns, rows, *_) in enumerate(tables):
        if number:
            sys.stdout.write("\n")
        writer.writerow(columns)
        writer.writerows([_csv_value(value) for value in row] for row in rows)


def _csv_value(value: object) -> object:
    value = plain(value)
    return json.dumps(value, ensure_ascii=False) if isinstance(value, (list, dict)) else value


def _write_json(tables: Sequence[ResultTable]) -> None:
    document: object = {table.title: _objects(table) for table in tables}
    if len(tables) == 1 and not tables[0].title:
        document = _objects(tables[0])
    json.dump(document, sys.stdout, indent=2, ensure_ascii=False)
    sys.stdout.write("\n")


def _write_jsonl(tables: Sequence[ResultTable]) -> None:
    for table in tables:
        named = {"table": table.title} if table.title else {}
        for row in _objects(table):
            sys.stdout.write(json.dumps(named | row, ensure_ascii=False) + "\n")


def _objects(table: ResultTable) -> list[dict[str, Any]]:
    columns = list(table.columns)
    keys = [f"{name} {n + 1}" if (n := columns[:at].count(name)) else name for at, name in enumerate(columns)]
    return [dict(zip(keys, map(plain, row), strict=True)) for row in table.rows]


def _write_markdown(tables: Sequence[ResultTable]) -> None:
    for number, (title, columns, rows, *_) in enumerate(tables):
        heading = [f"### {shown(title)}", ""] if title else []
        lines = [*heading, _markdown_row(columns), "|" + " --- |" * len(columns)]
        lines += [_markdown_row(row) for row in rows]
        sys.stdout.write(("\n" if number else "") + "\n".join(lines) + "\n")


def _markdown_row(values: Sequence[Any]) -> str:
    return "| " + " | ".join(shown(value).replace("|", "\\|") for value in values) + " |"


_WRITERS: dict[Format, Callable[[Sequence[ResultTable]], None]] = {
    Format.table: _write_tables,
    Format.csv: _write_csv,
    Format.json: _write_json,
    Format.jsonl: _write_jsonl,
    Format.markdown: _write_markdown,
}


# -- trees ------------------------------------------------------------------------------------

Branch = tuple[int, str, str]
"""A node of a tree: its depth, its label and its style."""


def print_tree(title: str, nodes: Iterable[Branch]) -> None:
    """Print trees on stdout, under a title and with an empty line before and after."""
    nodes_drawn = ([(guide, ""), (label, style)] for guide, label, style in drawn(nodes))
    _put([[], [(title, "bold")], *nodes_drawn, []])


def drawn(nodes: Iterable[Branch]) -> list[tuple[str, str, str]]:
    """Give the guide, label and style of each node of trees, which come depth-first; roots have no guide."""
    lines: list[tuple[str, str, str]] = []
    follows: list[bool] = []  # at each depth whether a sibling comes below
    for depth, label, style in reversed(list(nodes)):
        follows = [*follows[: depth + 1], *[False] * (depth + 1 - len(follows))]
        above = "".join("│   " if sibling else "    " for sibling in follows[1:depth])
        own = ("├── " if follows[depth] else "└── ") if depth else ""
        lines.append((above + own, label, style))
        follows[depth] = True
    return lines[::-1]


# -- progress ---------------------------------------------------------------------------------

SECONDS_BETWEEN_LINES = 5.0


class TerminalProgress(SilentProgress):
    """Says on stderr how far a run is, and what the user should know.

    On a terminal, a line changes in place and goes away at the end; elsewhere there is one every few seconds,
    for logs, and none of a short run. Quiet leaves only what is not as it was asked.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet
        self._live = sys.stderr.isatty() and not quiet
        self._what = ""
        self._status: Status | None = None
        self._printed = time.monotonic()

    def start(self, what: str) -> None:
        self._what = what
        if self._live:
            if self._status is None:
                self._status = _console(stderr=True).status("")
                self._status.start()
            self._show(what)

    def update(self, **measures: object) -> None:
        if self._status is not None:
            self._show(self._line(measures))
        elif not (self._quiet or self._live) and time.monotonic() - self._printed >= SECONDS_BETWEEN_LINES:
            self._printed = time.monotonic()
            typer.echo(self._line(measures), err=True)

    def notice(self, text: str) -> None:
        if not self._quiet:
            self._print(f"Note: {text}")

    def warn(self, text: str) -> None:
        self._print(f"Warning: {text}")

    def stop(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None

    def _line(self, measures: Mapping[str, object]) -> str:
        return f"{self._what}: " + ", ".join(f"{name} {value}" for name, value in measures.items())

    def _show(self, text: str) -> None:
        from rich.markup import escape

        assert self._status is not None
        self._status.update(escape(text))

    def _print(self, text: str) -> None:
        if self._live:
            (self._status.console if self._status else _console(stderr=True)).print(text)
        else:
            typer.echo(text, err=True)
