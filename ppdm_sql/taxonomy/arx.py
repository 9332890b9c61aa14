"""Hierarchy files of ARX: CSV without a header, a line for each leaf, its label first and the root last.

Read here rather than by a CSV library, because the empty text ``""`` is a label and an empty cell is not,
and because an error must give the line.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

from ppdm_sql.engine.space import write_new
from ppdm_sql.errors import InvalidOption, NameTaken, said

Row = tuple[int, list[str]]
"""The line on which a row begins, and its cells."""

_BREAK = re.compile(r"\r\n|\r|\n")
_NO_DELIMITER = '"\r\n'


def read(path: str | os.PathLike[str], delimiter: str) -> list[Row]:
    """Read the rows of a file; blank lines and empty cells at the end of a line count for nothing."""
    _check_delimiter(delimiter)
    rows = [(line, cells) for line, cells in _rows(_text(path), delimiter, path) if set(cells) != {None}]
    if rows and all(len(cells) == 1 for _, cells in rows):
        raise InvalidOption(
            f"No line of {path} holds the delimiter {delimiter!r}.",
            f"Write a value and its groups in each line, such as VALUE{delimiter}GROUP{delimiter}*.",
        )
    return [(line, _without_gaps(cells, line, path)) for line, cells in rows]


def write(
    paths: Sequence[Sequence[str]], path_or_file: str | os.PathLike[str] | TextIO, delimiter: str
) -> None:
    """Write rows of equal length; a short one repeats its first label."""
    _check_delimiter(delimiter)
    width = max(map(len, paths))
    rows = ([path[0]] * (width - len(path)) + list(path) for path in paths)
    text = "".join(delimiter.join(_cell(label, delimiter) for label in row) + "\n" for row in rows)
    if isinstance(path_or_file, (str, os.PathLike)):
        _save(Path(path_or_file), text)
    else:
        path_or_file.write(text)


def _check_delimiter(delimiter: str) -> None:
    if len(delimiter) != 1 or delimiter in _NO_DELIMITER:
        raise InvalidOption(
            f"{said(delimiter)} cannot delimit cells.", "Give one character, such as ';' or ','."
        )


def _text(path: str | os.PathLike[str]) -> str:
    try:
        return Path(path).read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidOption(f"{path} is not UTF-8 text.", "Save the file in UTF-8.") from None
    except (OSError, ValueError):
        raise InvalidOption(f"The file {path} cannot be read.", "Check the path.") from None


def _rows(text: str, delimiter: str, path: object) -> Iterator[tuple[int, list[str | None]]]:
    """Cut a text into rows; an empty cell without quotes is None."""
    mark = re.escape(delimiter)
    cell = re.compile(rf'(?:"([^"]*(?:""[^"]*)*)"|([^"{mark}\r\n][^{mark}\r\n]*)?)({mark}|\r\n|\r|\n|\Z)')
    at, line, first = 0, 1, 1
    cells: list[str | None] = []
    while at < len(text):
        found = cell.match(text, at)
        if found is None:
            raise InvalidOption(
                f"The quotes in line {line} of {path} do not match.",
                "Put the whole cell in double quotes, and double those inside it.",
            )
        quoted, plain, end = found.groups()
        cells.append(plain if quoted is None else quoted.replace('""', '"'))
        at, line = found.end(), line + len(_BREAK.findall(found[0]))
        if end != delimiter:
            yield first, cells
            cells, first = [], line
    if cells:
        yield first, cells


def _without_gaps(cells: list[str | None], line: int, path: object) -> list[str]:
    """Drop what is empty at the end; refuse an empty cell before others."""
    while cells[-1] is None:
        cells.pop()
    found = [cell for cell in cells if cell is not None]
    if len(found) < len(cells):
        raise InvalidOption(
            f"Line {line} of {path} has an empty cell before others.",
            'Fill it in, or write "" for the empty text.',
        )
    return found


def _cell(label: str, delimiter: str) -> str:
    """Quote a label where it needs it; a byte order mark at the start of a file would be lost."""
    plain = label and not label.startswith("\ufeff") and not set(label) & {delimiter, *_NO_DELIMITER}
    doubled = label.replace('"', '""')
    return label if plain else f'"{doubled}"'


def _save(path: Path, text: str) -> None:
    try:
        write_new(path, text.encode(), step="write taxonomy")
    except FileExistsError:
        raise NameTaken(f"There is a file {path} already.", "Give another name.") from None
    except (OSError, ValueError):
        raise InvalidOption(f"The file {path} cannot be written.", "Check the path.") from None
