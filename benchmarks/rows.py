"""What benchmarks share whose tables have columns of their own: printed, kept, held against another version.

A benchmark gives what it measures line by line: what each was measured of, and the cells. Here they are
printed, kept in figures.json with ``--record``, and held against another version with ``--against PATH``: the
same script with the same options is run by the interpreter of that checkout, and what it finds stands below.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TypeAlias

from figures import Cell, Row, keep, revision, stamped, texts_of

Cells: TypeAlias = Mapping[str, Cell]
Measured: TypeAlias = Iterable[tuple[Cells, Cells]]
"""Of what something was measured, and what was measured, line by line."""
Key: TypeAlias = tuple[str, str]
WIDTH = 12


def options_of(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Add the options that every such benchmark has."""
    parser.add_argument(
        "--against",
        type=Path,
        metavar="PATH",
        help="a checkout of another version with its own .venv, which measures the same",
    )
    parser.add_argument("--record", action="store_true", help="keep the rows in benchmarks/figures.json")
    parser.add_argument("--rows", action="store_true", help=argparse.SUPPRESS)
    return parser


def present(name: str, options: argparse.Namespace, measured: Measured) -> None:
    """Print the rows of a table as they are measured, above those of the other version, and keep them.

    Args:
        name: Of the table.
        options: Of the command line.
        measured: What is measured, line by line.
    """
    before = {} if options.against is None else _of_other(name, options.against)
    heads: list[str] = []
    for of, cells in measured:
        row = Row(name, of, cells)
        if options.rows:
            print(json.dumps({"table": name, "of": of, "cells": cells}), flush=True)
            continue
        if row.key in before:
            known = None if options.against is None else revision(options.against)
            row = replace(row, before=before[row.key], against=known)
        if heads != (heads := [*of, *cells]):
            print(_line(heads))
        print(_line(_texts([*of.values(), *cells.values()])), flush=True)
        if row.before:
            earlier = [row.before.get(head) for head in cells]
            print(_line(_texts(["before", *[""] * (len(of) - 1), *earlier])), flush=True)
        if options.record:
            keep([stamped(row)])


def _of_other(name: str, checkout: Path) -> dict[Key, Cells]:
    """Give what the other version measures of the same."""
    found = [Row(**json.loads(line)) for line in _told_by(checkout).splitlines()]
    return {row.key: row.cells for row in found if row.table == name}


@cache
def _told_by(checkout: Path) -> str:
    """Let the other version run this script with the same options, and give what it prints."""
    python = checkout.absolute() / ".venv" / "bin" / "python"
    with tempfile.TemporaryDirectory() as folder:  # so that only the other version can be imported
        command = [str(python), str(Path(sys.argv[0]).resolve()), *_without_against(sys.argv[1:]), "--rows"]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=folder).stdout


def _without_against(words: list[str]) -> list[str]:
    kept: list[str] = []
    for place, word in enumerate(words):
        named = word.startswith("--against") or word == "--record"
        if not named and (place == 0 or words[place - 1] != "--against"):
            kept.append(word)
    return kept


def _texts(cells: Iterable[Cell]) -> list[str]:
    return [text for cell in cells for text in texts_of([cell])]


def _line(cells: Iterable[str]) -> str:
    return "  ".join(f"{cell:>{WIDTH}}" for cell in cells)
