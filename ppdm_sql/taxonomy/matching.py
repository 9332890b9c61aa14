"""Holds a taxonomy against the values of a column: which leaf covers each of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.engine.statements import bind
from ppdm_sql.errors import InvalidOption
from ppdm_sql.taxonomy.model import Taxonomy

Arrays = dict[str, NDArray[Any]]

NO_LEAF = -1
"""Node of a value that no leaf covers, NULL among them."""

_FAULTS = (
    ("has bounds that are no values of the column's type", "Write them as the column holds them."),
    ("is empty", "Write [lower, upper)."),
    ("overlaps another one of the leaves", "Let each interval end where the next begins."),
    ("reaches out of the interval above it", "Widen the interval above it."),
)
"""What may be wrong with an interval, in the order of ``taxonomy/interval_faults.sql``, and the remedy."""


def leaf_codes(
    engine: Engine, dictionary: Table, taxonomy: Taxonomy, *, column: str, text: bool = False
) -> NDArray[np.int64]:
    """Find the leaf that covers each value of a column.

    A value taxonomy matches by text, or in the column's type: the label ``30.0`` is the number 30. A taxonomy
    of intervals matches by containment in the column's type; a leaf ``90 or more`` holds all from 90 up.
    """
    if taxonomy.is_interval and not text:
        check_intervals(engine, dictionary, taxonomy, column=column)
        rows = _held(engine, dictionary, taxonomy)
    else:
        rows = _equal(engine, dictionary, taxonomy, column, text=text)
    nodes = np.full(len(rows["code"]), NO_LEAF, dtype=np.int64)
    nodes[rows["code"].astype(np.int64)] = rows["node"]
    return nodes


def _held(engine: Engine, dictionary: Table, taxonomy: Taxonomy) -> Arrays:
    """Match by containment."""
    found = [taxonomy.intervals[leaf] for leaf in taxonomy.leaves]
    lowers, uppers, closed = zip(*(interval for interval in found if interval is not None), strict=True)
    lists = {"lowers": lowers, "uppers": uppers, "closed": closed, "nodes": taxonomy.leaves}
    query = bind("taxonomy/interval_nodes", tables={"dictionary": dictionary})
    return engine.arrays(query, {name: list(part) for name, part in lists.items()}, step="interval_nodes")


def _equal(engine: Engine, dictionary: Table, taxonomy: Taxonomy, column: str, *, text: bool) -> Arrays:
    """Match by text or in the column's type."""
    lists = {"labels": [taxonomy.labels[leaf] for leaf in taxonomy.leaves], "nodes": list(taxonomy.leaves)}
    step = "text_nodes" if text else "value_nodes"
    rows = engine.arrays(bind(f"taxonomy/{step}", tables={"dictionary": dictionary}), lists, step=step)
    if not text and (rows["leaves"] > 1).any():
        raise InvalidOption(
            f"The taxonomy of {column!r} has leaves that are the same value in the column's type.",
            "Write each value once, as the column holds it.",
        )
    return rows


def check_intervals(engine: Engine, dictionary: Table, taxonomy: Taxonomy, *, column: str) -> None:
    """Make sure that the intervals of a taxonomy are intervals of the column's type that nest."""
    found = {node: interval for node, interval in enumerate(taxonomy.intervals) if interval is not None}
    place = {node: position for position, node in enumerate(found)}
    above = _intervals_above(taxonomy)
    lists = {
        "bounds": [bound for interval in found.values() for bound in interval[:2]],
        "closed": [interval.closed for interval in found.values()],
        "leaf": [not taxonomy.children[node] for node in found],
        "above": [place.get(above[node], -1) for node in found],
    }
    query = bind("taxonomy/interval_faults", tables={"dictionary": dictionary})
    (counts,) = engine.query(query, lists, step="interval_faults")
    for count, (fault, remedy) in zip(counts, _FAULTS, strict=True):
        if count:
            which = "1 interval" if count == 1 else f"Each of {count} intervals"
            raise InvalidOption(f"{which} of the taxonomy of {column!r} {fault}.", remedy)


def uncovered_values(engine: Engine, dictionary: Table, codes: NDArray[np.int64]) -> list[str]:
    """Name the values that no leaf covers, for an owner who asked to see values; NULL is left out."""
    query = bind("taxonomy/uncovered_values", tables={"dictionary": dictionary})
    missing = np.flatnonzero(codes == NO_LEAF).tolist()
    return [value for (value,) in engine.query(query, {"codes": missing}, step="uncovered_values")]


def _intervals_above(taxonomy: Taxonomy) -> list[int]:
    """For each node, the nearest ancestor that is an interval, -1 where there is none."""
    above = [-1] * len(taxonomy.labels)
    for node, parent in enumerate(taxonomy.parents[1:], 1):
        above[node] = above[parent] if taxonomy.intervals[parent] is None else parent
    return above
