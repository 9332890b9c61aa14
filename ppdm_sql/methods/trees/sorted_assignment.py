"""Sorted assignment: the lowest values of a group go to its first cell, the next ones to the next, and so on.

The records of a group lie in bins, in the order of the values. A bin whose records all go to one cell is
whole; only the records of the others are sorted, by value and then by record. Ranks are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.engine.statements import bind
from ppdm_sql.methods.perturbation.transition_matrices import Array

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Assignment:
    """Which bins, and which records of divided bins, go to which cell.

    Args:
        runs: Rows ``first, last, cell``: the keys from first up to last, last excluded, are whole bins of
            that cell.
        parts: Rows ``key, first, last, cell``: the records of a divided bin, from place first up to last,
            last excluded, go to that cell.
    """

    runs: Ints
    parts: Ints


NOTHING = Assignment(np.empty((0, 3), dtype=np.int64), np.empty((0, 4), dtype=np.int64))
"""Assigns no bin."""


def together(found: Sequence[Assignment]) -> Assignment:
    """Join assignments of different keys."""
    runs = np.concatenate([item.runs for item in found])
    return Assignment(runs, np.concatenate([item.parts for item in found]))


def ends(probabilities: Array, records: Ints) -> Ints:
    """Give the rank at which each cell ends: the rounded sums of its probabilities times the records.

    Args:
        probabilities: A row for each group.
        records: Of each group.

    Example:
        >>> ends(np.array([[0.2, 0.5, 0.3]]), np.array([8])).tolist()
        [[2, 6, 8]]
    """
    found = np.rint(probabilities.cumsum(axis=1) * records[:, None]).astype(np.int64)
    found[:, -1] = records
    return np.asarray(np.minimum(found, records[:, None]))


def assigned(counts: Ints, cell_ends: Ints, bases: Ints) -> Assignment:
    """Assign bins to cells.

    Args:
        counts: Records by group and bin.
        cell_ends: For each group the rank at which each cell ends, as from :func:`ends`.
        bases: The key of the first bin of each group; the others follow it.

    Example:
        >>> found = assigned(np.array([[2, 0, 3, 1]]), np.array([[2, 4, 6]]), np.array([10]))
        >>> found.runs.tolist(), found.parts.tolist()
        ([[10, 11, 0], [13, 14, 2]], [[12, 0, 2, 1], [12, 2, 3, 2]])
    """
    groups, bins = np.nonzero(counts)
    sizes, cells = counts[groups, bins], cell_ends.shape[1]
    stops = sizes.cumsum()
    starts = stops - sizes
    totals = counts.sum(axis=1)
    flat = (cell_ends + (totals.cumsum() - totals)[:, None]).ravel()
    first = np.searchsorted(flat, starts, side="right")
    last = np.searchsorted(flat, stops - 1, side="right")
    keys = bases[groups] + bins
    return Assignment(_runs(keys, first, last, cells), _parts(keys, starts, stops, first, last, flat, cells))


def _runs(keys: Ints, first: Ints, last: Ints, cells: int) -> Ints:
    """Join whole bins that follow each other and go to one cell of one group; empty ones between belong."""
    if not len(keys):
        return NOTHING.runs
    labels = np.where(first == last, first, -1)
    begins = np.flatnonzero(np.diff(labels, prepend=-2))
    stops = np.append(begins[1:], len(keys)) - 1
    found = np.stack([keys[begins], keys[stops] + 1, labels[begins] % cells], axis=1)
    return np.asarray(found[labels[begins] >= 0])


def _parts(keys: Ints, starts: Ints, stops: Ints, first: Ints, last: Ints, flat: Ints, cells: int) -> Ints:
    """Divide bins: a part for each cell that has records there."""
    divided = np.flatnonzero(first < last)
    sizes = (last - first)[divided] + 1
    bins = np.repeat(divided, sizes)
    cell = first[bins] + np.arange(len(bins)) - np.repeat(sizes.cumsum() - sizes, sizes)
    begin = np.where(cell == first[bins], starts[bins], flat[cell - 1])
    stop = np.minimum(flat[cell], stops[bins])
    rows = np.stack([keys[bins], begin - starts[bins], stop - starts[bins], cell % cells], axis=1)
    return np.asarray(rows[begin < stop])


def write_runs(engine: Engine, found: Assignment) -> Table:
    """Write the working table ``runs(key, cell)``: the cell of each key of a whole bin."""
    first, last, cell = found.runs.T.tolist()
    values = {"first": first, "last": last, "cell": cell}
    return engine.materialize("runs", bind("trees/runs", tables={}), values)


def write_parts(engine: Engine, found: Assignment) -> Table:
    """Write the working table ``parts(key, first, last, cell)``."""
    key, first, last, cell = found.parts.T.tolist()
    values = {"key": key, "first": first, "last": last, "cell": cell}
    return engine.materialize("parts", bind("trees/parts", tables={}), values)


def divided(records: str, parts: Table, value: str = "r.w", join: str = "") -> str:
    """Give SQL for ``id, cell`` of the records of divided bins.

    Args:
        records: SQL for ``id, key`` and more: every record of the groups, and its bin.
        parts: From :func:`write_parts`.
        value: SQL for the value of a record ``r``.
        join: SQL for what has to be joined for it.
    """
    place = f"row_number() OVER (PARTITION BY r.key ORDER BY {value}, r.id) - 1"
    some = f"SELECT * FROM ({records}) WHERE key IN (SELECT p.key FROM {parts} AS p)"
    ranked = f"SELECT r.id, r.key, {place} AS place FROM ({some}) AS r {join}"
    return (
        f"SELECT r.id, p.cell FROM ({ranked}) AS r JOIN {parts} AS p "
        "ON p.key = r.key AND r.place >= p.first AND r.place < p.last"
    )
