"""Writes the SQL that replaces the codes of a column by other numbers."""

from __future__ import annotations

import numpy as np

from ppdm_sql.methods.base.arrays import Codes

LONG = 512
"""Codes from which on runs of equal numbers are told apart by comparisons, not looked up in a list."""
MOST_RUNS = 256
"""Runs up to which comparisons are the cheaper way: a list of 27 thousand numbers takes 30 ms to pass on."""


def runs_of(numbers: Codes) -> tuple[Codes, Codes]:
    """Shorten a list: the first place of each run of equal numbers, and the number.

    Example:
        >>> runs_of(np.array([7, 7, 3]))
        (array([0, 2]), array([7, 3]))
    """
    first = np.flatnonzero(np.diff(numbers, prepend=numbers[:1] - 1))
    return first, numbers[first]


def recoded(column: str, numbers: Codes, name: str, kind: str) -> tuple[str, dict[str, object]]:
    """Give the expression that replaces code ``c`` of a column by ``numbers[c]``, and its parameters.

    Args:
        column: The column of codes.
        numbers: For each code its number.
        name: Of the parameter, where one is needed.
        kind: The SQL type of the outcome.

    Example:
        >>> recoded("c0", np.array([4, 5]), "b0", "BIGINT")
        ('CAST($b0 AS BIGINT[])[c0 + 1]', {'b0': [4, 5]})
    """
    if len(numbers) >= LONG:
        first, values = runs_of(numbers)
        if len(first) <= MOST_RUNS:
            return f"CAST({_compared(column, first.tolist(), values.tolist())} AS {kind})", {}
    return f"CAST(${name} AS {kind}[])[{column} + 1]", {name: numbers.tolist()}


def _compared(column: str, first: list[int], values: list[int]) -> str:
    """Halve the runs until one is left."""
    if len(first) == 1:
        return str(values[0])
    half = len(first) // 2
    below, above = (_compared(column, first[part], values[part]) for part in (slice(half), slice(half, None)))
    return f"CASE WHEN {column} < {first[half]} THEN {below} ELSE {above} END"
