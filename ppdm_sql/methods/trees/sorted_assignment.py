"""Sorted assignment: the lowest values of a group go to its first cell, the next ones to the next, and so on.

The records of a group lie in bins, in the order of the values. A bin whose records all go to one cell is
whole; only the records of the others are sorted, by value and then by record. Ranks are exact.

Source: Agrawal, Srikant 2000, section 4.2, where the sorted values are assigned to the intervals in turn, as
many to each as the reconstructed distribution says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.engine.statements import bind
from ppdm_sql.methods.base.arrays import Floats

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class CellAssignment:
    """Which bins, and which records of divided bins, go to which cell."""

    whole: Ints  # rows `first, last, cell`: the bins from first up to last, last excluded, are of that cell
    # rows `bin, first, last, cell`: of this bin, the records from rank first up to last, last excluded, go to
    # that cell
    divided: Ints


NO_BINS = CellAssignment(np.empty((0, 3), dtype=np.int64), np.empty((0, 4), dtype=np.int64))


def concatenated(assignments: Sequence[CellAssignment]) -> CellAssignment:
    """Join assignments of different bins."""
    whole = np.concatenate([item.whole for item in assignments])
    return CellAssignment(whole, np.concatenate([item.divided for item in assignments]))


def cell_ends(probabilities: Floats, records: Ints) -> Ints:
    """Give the rank at which each cell ends: its cumulative probability times the group's records, rounded.

    Example:
        >>> cell_ends(np.array([[0.2, 0.5, 0.3]]), np.array([8])).tolist()
        [[2, 6, 8]]
    """
    ends = np.rint(probabilities.cumsum(axis=1) * records[:, None]).astype(np.int64)
    ends[:, -1] = records
    return np.asarray(np.minimum(ends, records[:, None]))


def assign_bins(counts: Ints, ends: Ints, first_bins: Ints) -> CellAssignment:
    """Assign the bins of each group to cells, with the ends of :func:`cell_ends`, and number the bins.

    Example:
        >>> found = assign_bins(np.array([[2, 0, 3, 1]]), np.array([[2, 4, 6]]), np.array([10]))
        >>> found.whole.tolist(), found.divided.tolist()
        ([[10, 11, 0], [13, 14, 2]], [[12, 0, 2, 1], [12, 2, 3, 2]])
    """
    groups, places = np.nonzero(counts)
    sizes, cells = counts[groups, places], ends.shape[1]
    stops = sizes.cumsum()
    starts = stops - sizes
    totals = counts.sum(axis=1)
    # ranks run on from group to group, so that one search over all of them finds each bin's cells
    flat = (ends + (totals.cumsum() - totals)[:, None]).ravel()
    first = np.searchsorted(flat, starts, side="right")
    last = np.searchsorted(flat, stops - 1, side="right")
    bins = first_bins[groups] + places
    return CellAssignment(
        _whole(bins, first, last, cells), _divided(bins, starts, stops, first, last, flat, cells)
    )


def _whole(bins: Ints, first: Ints, last: Ints, cells: int) -> Ints:
    """Join whole bins that follow each other and go to one cell of one group; empty ones between belong."""
    if not len(bins):
        return NO_BINS.whole
    labels = np.where(first == last, first, -1)
    begins = np.flatnonzero(np.diff(labels, prepend=-2))
    stops = np.append(begins[1:], len(bins)) - 1
    runs = np.stack([bins[begins], bins[stops] + 1, labels[begins] % cells], axis=1)
    return np.asarray(runs[labels[begins] >= 0])


def _divided(bins: Ints, starts: Ints, stops: Ints, first: Ints, last: Ints, flat: Ints, cells: int) -> Ints:
    """Divide bins: a part for each cell that has records there."""
    divided = np.flatnonzero(first < last)
    sizes = (last - first)[divided] + 1
    places = np.repeat(divided, sizes)
    cell = first[places] + np.arange(len(places)) - np.repeat(sizes.cumsum() - sizes, sizes)
    begin = np.where(cell == first[places], starts[places], flat[cell - 1])
    stop = np.minimum(flat[cell], stops[places])
    rows = np.stack([bins[places], begin - starts[places], stop - starts[places], cell % cells], axis=1)
    return np.asarray(rows[begin < stop])


def write_whole_bins(engine: Engine, assignment: CellAssignment) -> Table:
    """Write the working table ``whole_bins(bin, cell)``."""
    first, last, cell = assignment.whole.T.tolist()
    values = {"first": first, "last": last, "cell": cell}
    return engine.materialize("whole_bins", bind("trees/whole_bins", tables={}), values)


def write_divided_bins(engine: Engine, assignment: CellAssignment) -> Table:
    """Write the working table ``divided_bins(bin, first, last, cell)``."""
    bins, first, last, cell = assignment.divided.T.tolist()
    values = {"bin": bins, "first": first, "last": last, "cell": cell}
    return engine.materialize("divided_bins", bind("trees/divided_bins", tables={}), values)


def sorted_query(records: str, divided_bins: Table, value: str = "r.value", join: str = "") -> str:
    """Give SQL for ``id, cell`` of the records in divided bins: their rank by value tells their cell.

    ``records`` is SQL for ``id, bin`` and more of every record of the groups; ``join``, for what has to be
    joined to give the ``value`` of a record ``r``.

    Example:
        >>> from ppdm_sql.engine.statements import formatted
        >>> ages = "SELECT s.id, s.bin, s.age AS value FROM people AS s"
        >>> print(formatted(sorted_query(ages, Table("divided_bins"))))
        SELECT
          r.id,
          b.cell
        FROM (
          SELECT
            r.id,
            r.bin,
            ROW_NUMBER() OVER (PARTITION BY r.bin ORDER BY r.value, r.id) - 1 AS rank
          FROM (
            SELECT
              *
            FROM (
              SELECT
                s.id,
                s.bin,
                s.age AS value
              FROM people AS s
            ) AS a
            WHERE
              a.bin IN (
                SELECT
                  b.bin
                FROM "divided_bins" AS b
              )
          ) AS r
        ) AS r
        JOIN "divided_bins" AS b
          ON b.bin = r.bin AND r.rank >= b.first AND r.rank < b.last
    """
    rank = f"row_number() OVER (PARTITION BY r.bin ORDER BY {value}, r.id) - 1"
    some = f"SELECT * FROM ({records}) AS a WHERE a.bin IN (SELECT b.bin FROM {divided_bins} AS b)"
    ranked = f"SELECT r.id, r.bin, {rank} AS rank FROM ({some}) AS r {join}"
    return (
        f"SELECT r.id, b.cell FROM ({ranked}) AS r JOIN {divided_bins} AS b "
        "ON b.bin = r.bin AND r.rank >= b.first AND r.rank < b.last"
    )
