"""How many numbers a column has, their mean and their standard deviation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.engine.statements import bind

TOLERANCE = 1e-9
"""Of means and deviations, which differ in their last digits from one order of addition to another."""


class Moments(NamedTuple):
    """Of the values of a column that are not NULL.

    Args:
        values: How many there are.
        mean: Their mean, 0 where there is none.
        deviation: Their standard deviation (of the population), 0 where there is none.
    """

    values: int
    mean: float
    deviation: float


def moments(engine: Engine, released: Table, names: Sequence[str]) -> dict[str, Moments]:
    """Measure the finite numbers of columns; two scans of each."""
    found = {}
    for name in names:
        query = bind("audit/moments", tables={"released": released}, columns={"value": [name]})
        (measured,) = engine.query(query, step="moments")
        found[name] = Moments(*measured)
    return found


def same_moments(found: Mapping[str, Moments], published: Mapping[str, Moments]) -> bool:
    """Tell whether moments are those that were published, but for their last digits."""
    return found.keys() == published.keys() and all(_same(found[name], published[name]) for name in found)


def _same(one: Moments, other: Moments) -> bool:
    unit = max(one.deviation, other.deviation)
    mean = math.isclose(one.mean, other.mean, rel_tol=TOLERANCE, abs_tol=TOLERANCE * unit)
    deviation = math.isclose(one.deviation, other.deviation, rel_tol=TOLERANCE)
    return one.values == other.values and mean and deviation
