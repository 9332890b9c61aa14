"""What utility.py has measured: kept in a file of JSON lines, and printed as tables."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple


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
        if file is not None and file.exists():
            for line in file.read_text(encoding="utf-8").splitlines():
                found = json.loads(line)
                self._rows[Key(**found["key"])] = Row(**found["row"])

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
            with self._file.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps({"key": key._asdict(), "row": asdict(row)}) + "\n")


def mean(rows: Iterable[Row], what: str) -> float | None:
    """Give the mean of a number over the rows that have it."""
    found = [value for row in rows if (value := getattr(row, what)) is not None]
    return statistics.fmean(found) if found else None


def _said(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


FORMS = {"entropy": ".4f", "kept": ".1f", "classes": ".0f", "error": ".2f", "seconds": ".1f"}
"""What is printed of a row, and how."""


def beside(results: Results, before: Results, keys: Iterable[Key]) -> Iterator[str]:
    """Write means over the folds, a line for each table, k and method: before, now, with records left out."""
    keys = [key for key in keys if key.method != "reference"]
    shares = sorted({key.left_out for key in keys})
    said = " / ".join(["before", *("now" if not share else f"{share:.0%} left out" for share in shares)])
    yield f"| table, k, method | entropy: {said} | kept, % | classes | error, % | seconds |"
    yield "|---" * 6 + "|"
    for key in dict.fromkeys(key._replace(fold=0, left_out=0.0) for key in keys):
        sides = [[before[k] for k in before if k._replace(fold=0) == key]]
        sides += [
            [results[k] for k in keys if k._replace(fold=0) == key._replace(left_out=s)] for s in shares
        ]
        cells = [f"{key.table}, {key.k}, {key.method}"]
        for what, form in FORMS.items():
            cells.append(" / ".join(_said(mean(rows, what), form) or "none" for rows in sides))
        yield "| " + " | ".join(cells) + " |"


def printed(results: Results, keys: Iterable[Key]) -> Iterator[str]:
    """Write the means over the folds, a line for each table, method, k and share."""
    gathered: dict[Key, list[Row]] = {}
    for key in keys:
        gathered.setdefault(key._replace(fold=0), []).append(results[key])
    yield "| table | k | left out | method | entropy | kept, % | classes | error, % | seconds |"
    yield "|---|---|---|---|---|---|---|---|---|"
    tables = list(dict.fromkeys(key.table for key in gathered))
    order = sorted(gathered, key=lambda key: (tables.index(key.table), key.k, key.left_out))
    for key in order:
        rows = gathered[key]
        cells = [key.table, str(key.k), f"{key.left_out:.0%}", key.method]
        numbers = [_said(mean(rows, what), form) for what, form in FORMS.items()]
        refused = [row.refused for row in rows if row.refused]
        yield "| " + " | ".join([*cells, *(numbers if not refused else [refused[0], "", "", "", ""])]) + " |"


def compared(results: Results, before: Results, keys: Iterable[Key]) -> Iterator[str]:
    """Write the mean tree error and entropy of each table and method, before and now.

    Before there are no left-out records: what leaves some out is compared with what did not.
    """
    yield "| table | left out | method | error of the source | before | now | entropy before | now |"
    yield "|---" * 8 + "|"
    for (table, share, method), own in _grouped(keys):
        earlier = {key: key if key in before else key._replace(left_out=0.0) for key in own}
        both = [key for key in own if earlier[key] in before]
        both = [key for key in both if not results[key].refused and not before[earlier[key]].refused]
        every = [results[key] for key in results if table in (key.table, "all")]
        cells = [table, f"{share:.0%}", method, _said(mean(every, "source"), ".2f")]
        for what, form in (("error", ".2f"), ("entropy", ".4f")):
            cells.append(_said(mean((before[earlier[key]] for key in both), what), form))
            cells.append(_said(mean((results[key] for key in both), what), form))
        yield "| " + " | ".join(cells) + " |"


def searched(results: Results, keys: Iterable[Key]) -> Iterator[str]:
    """Write the mean tree error and entropy of each table and method beside those that the search reaches."""
    yield "| table | left out | method | settings | error | of the search | entropy | of the search |"
    yield "|---" * 8 + "|"
    known = [key for key in keys if key._replace(method="reference") in results]
    for (table, share, method), own in _grouped(key for key in known if not results[key].refused):
        best = [key._replace(method="reference") for key in own]
        cells = [table, f"{share:.0%}", method, str(len(own))]
        for what, form in (("error", ".2f"), ("entropy", ".4f")):
            cells.append(_said(mean((results[key] for key in own), what), form))
            cells.append(_said(mean((results[key] for key in best), what), form))
        yield "| " + " | ".join(cells) + " |"


def _grouped(keys: Iterable[Key]) -> list[tuple[tuple[str, float, str], list[Key]]]:
    """Gather the keys of methods by table and share, with those of all tables last."""
    groups: dict[tuple[str, float, str], list[Key]] = {}
    for key in keys:
        if key.method != "reference":
            for table in (key.table, "all"):
                groups.setdefault((table, key.left_out, key.method), []).append(key)
    return sorted(groups.items(), key=lambda item: (item[0][0] == "all", item[0]))
