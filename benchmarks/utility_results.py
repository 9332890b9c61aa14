"""What utility.py has measured: kept in a file of the form of figures.json, and the lines of its tables."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

from figures import Cell, keep, kept
from figures import Row as Line
from rows import Measured

OF_FOLDS = "utility-folds"
"""The table of what was measured of each fold, from which the means are made."""


class Key(NamedTuple):
    """What a row was measured on."""

    table: str
    method: str
    k: int
    left_out: float
    fold: int


@dataclass(frozen=True)
class Row:
    """What was measured; None where it could not be.

    Args:
        entropy: Of the class given the labels, in bits a record.
        kept: Cells that are kept, in per cent.
        classes: Different combinations of labels.
        error: Of a tree, in per cent.
        seconds: CPU time.
        source: Error of a tree on the source, in per cent.
        refused: Why there is no release.
    """

    entropy: float | None = None
    kept: float | None = None
    classes: int | None = None
    error: float | None = None
    seconds: float | None = None
    source: float | None = None
    refused: str = ""


class Results:
    """Rows by what they were measured on; with a file, each is written as soon as it is measured."""

    def __init__(self, file: Path | None = None) -> None:
        self._file, self._rows = file, dict[Key, Row]()
        for line in kept(file) if file is not None else ():
            if isinstance(line, Line) and line.table == OF_FOLDS:
                self._rows[Key(**line.of)] = Row(**line.cells)

    def __contains__(self, key: Key) -> bool:
        return key in self._rows

    def __iter__(self) -> Iterator[Key]:
        return iter(self._rows)

    def __getitem__(self, key: Key) -> Row:
        return self._rows[key]

    def add(self, key: Key, row: Row) -> None:
        """Keep a row."""
        self._rows[key] = row
        if self._file is not None:
            keep([Line(OF_FOLDS, key._asdict(), asdict(row))], self._file)


def mean(rows: Iterable[Row], what: str) -> float | None:
    """Give the mean of a number over the rows that have it."""
    found = [value for row in rows if (value := getattr(row, what)) is not None]
    return statistics.fmean(found) if found else None


DECIMALS = {"entropy": 4, "kept": 1, "classes": 0, "error": 2, "seconds": 1}
"""What is shown of a row, and with how many decimals."""


def _rounded(value: float | None, what: str) -> Cell:
    decimals = DECIMALS[what]
    return None if value is None else round(value, decimals) if decimals else round(value)


def means(results: Results, keys: Iterable[Key]) -> Measured:
    """Give the means over the folds, a line for each table, k, share and method."""
    gathered: dict[Key, list[Row]] = {}
    for key in keys:
        gathered.setdefault(key._replace(fold=0), []).append(results[key])
    tables = list(dict.fromkeys(key.table for key in gathered))
    for key in sorted(gathered, key=lambda key: (tables.index(key.table), key.k, key.left_out)):
        rows = gathered[key]
        of: dict[str, Cell] = {"table": key.table, "k": key.k, "left out": f"{key.left_out:.0%}"}
        of["method"] = key.method
        refused = [row.refused for row in rows if row.refused]
        cells = {what: _rounded(mean(rows, what), what) for what in DECIMALS}
        yield of, {"entropy": refused[0]} if refused else cells


def compared(results: Results, keys: Iterable[Key]) -> Measured:
    """Give the mean tree error and entropy of each table and method over all k."""
    for (table, share, method), own in _grouped(keys):
        every = [results[key] for key in results if table in (key.table, "all")]
        known = [results[key] for key in own if not results[key].refused]
        cells = {"error of the source": _rounded(mean(every, "source"), "error")}
        cells |= {what: _rounded(mean(known, what), what) for what in ("error", "entropy")}
        yield {"table": table, "left out": f"{share:.0%}", "method": method}, cells


def searched(results: Results, keys: Iterable[Key]) -> Measured:
    """Give the mean tree error and entropy of each table and method beside those that the search reaches."""
    known = [key for key in keys if key._replace(method="reference") in results]
    for (table, share, method), own in _grouped(key for key in known if not results[key].refused):
        best = [key._replace(method="reference") for key in own]
        cells: dict[str, Cell] = {"settings": len(own)}
        for what in ("error", "entropy"):
            cells[what] = _rounded(mean((results[key] for key in own), what), what)
            cells[f"{what} of the search"] = _rounded(mean((results[key] for key in best), what), what)
        yield {"table": table, "left out": f"{share:.0%}", "method": method}, cells


def without_left_out(results: Results, keys: Iterable[Key]) -> Results:
    """Let an earlier version, which could leave out nothing, stand beside what leaves some out, too."""
    found = Results()
    for key in keys:
        earlier = key if key in results else key._replace(left_out=0.0)
        if earlier in results:
            found.add(key, results[earlier])
    return found


def _grouped(keys: Iterable[Key]) -> list[tuple[tuple[str, float, str], list[Key]]]:
    """Gather the keys of methods by table and share, with those of all tables last."""
    groups: dict[tuple[str, float, str], list[Key]] = {}
    for key in keys:
        if key.method != "reference":
            for table in (key.table, "all"):
                groups.setdefault((table, key.left_out, key.method), []).append(key)
    return sorted(groups.items(), key=lambda item: (item[0][0] == "all", item[0]))
