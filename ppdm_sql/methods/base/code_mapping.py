"""Writes the SQL that replaces the codes of a column by other numbers."""

from __future__ import annotations

import numpy as np

from ppdm_sql.methods.base.arrays import Codes

FEW_RUNS = 4
"""Runs of equal numbers up to which comparisons, 1 ns each, are cheaper than a look-up in a list, 6 ns."""
CODES_A_RUN = 128
"""Codes that make a list, which is passed on with the statement and with every 2,048 rows, as dear as the
comparison of one more run, which is to be planned: 0.1 ms."""


def runs_of(numbers: Codes) -> tuple[Codes, Codes]:
    """Shorten a list: the first place of each run of equal numbers, and the number.

    Example:
        >>> runs_of(np.array([7, 7, 3]))
        (array([0, 2]), array([7, 3]))
    """
    first = np.flatnonzero(np.diff(numbers, prepend=numbers[:1] - 1))
    return first, numbers[first]


def recoded(column: str, numbers: Codes, name: str, kind: str) -> tuple[str, dict[str, object]]:
    """Give the expression that replaces code ``c`` of a column by ``numbers[c]``, and its parameters."""
    first, values = runs_of(numbers)
    if 0 < len(first) <= max(FEW_RUNS, len(numbers) // CODES_A_RUN):
        return f"CAST({_compared(column, first.tolist(), values.tolist())} AS {kind})", {}
    return f"CAST(${name} AS {kind}[])[{column} + 1]", {name: numbers.tolist()}


def _compared(column: str, first: list[int], values: list[int]) -> str:
    """Halve the runs until one is left."""
    if len(first) == 1:
        return str(values[0])
    half = len(first) // 2
    below, above = (_compared(column, first[part], values[part]) for part in (slice(half), slice(half, None)))
    return f"CASE WHEN {column} < {first[half]} THEN {below} ELSE {above} END"
