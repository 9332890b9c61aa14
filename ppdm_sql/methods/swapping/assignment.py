"""From a solution over classes of records to the records: who moves where."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.methods.swapping.blur import keyed_hash
from ppdm_sql.methods.swapping.identification import Counts
from ppdm_sql.methods.swapping.posteriors import SCALE, Units
from ppdm_sql.methods.swapping.prices import Prices, entered, offers


@dataclass(frozen=True)
class Assigned:
    """The records that change.

    Args:
        moves: Working table: the pattern's key, ``k``, ``category`` (the new one), ``records`` and ``cost``.
        unique: Uniquely identifiable records by true and new category, shape (C, C).
        grouped: Members of groups by true and new category.
        objective: Sum of the costs without noise, in units of probability.
    """

    moves: Table
    unique: Counts
    grouped: Counts
    objective: float


def assign(engine: Engine, units: Units, prices: Prices, ties: Table, moved: Counts, seed: bytes) -> Assigned:
    """Let every record do what is best at the prices, and share the ties out by a keyed hash.

    Args:
        engine: Where the units are.
        units: The records that may change.
        prices: The prices.
        ties: Working table of the keys and ``class`` of records that are decided one class at a time.
        moved: Records of each class by category entered; those left over in the last column stay.
        seed: Decides which records of a class move.

    Cost: one scan of the units.
    """
    size = units.categories
    keys = ", ".join(units.keys)
    costs = "o" if units.blurred else "p"
    chosen = _chosen(engine, units, ties, moved, seed)
    carried = [*units.keys, "k", "own", *([f"o{h}" for h in range(size)] if units.blurred else [])]
    carried += [] if units.blurred else [f"p{h}" for h in range(size)]
    free = (
        f"SELECT {', '.join(carried)}, {entered(size)} AS category FROM "
        f"({offers(units.table, prices, carried)}) AS f ANTI JOIN {ties} USING ({keys}) WHERE best > stay"
    )
    tied = f"SELECT {', '.join(carried)}, category FROM {units.table} JOIN {chosen} USING ({keys})"
    value = "CASE category " + " ".join(f"WHEN {h} THEN {costs}{h}" for h in range(size)) + " END"
    pattern = ", ".join(units.pattern)
    rows = f"SELECT {pattern}, k, category::USMALLINT AS category, (own - {value})::BIGINT AS cost FROM "
    rows += f"({free} UNION ALL {tied})"
    if units.keys == units.pattern:
        select = f"SELECT {pattern}, k, category, 1::BIGINT AS records, cost FROM ({rows})"
    else:
        select = (
            f"SELECT {pattern}, k, category, count(*) AS records, sum(cost)::BIGINT AS cost FROM ({rows}) "
            f"GROUP BY {pattern}, k, category"
        )
    moves = engine.materialize("moves", select)
    engine.discard(chosen)
    return _assigned(engine, moves, size)


def _chosen(engine: Engine, units: Units, ties: Table, moved: Counts, seed: bytes) -> Table:
    """Give the records of the ties that move, with the category that they enter."""
    rows, columns = np.nonzero(moved[:, : units.categories])
    counts = moved[rows, columns]
    ends = (
        np.concatenate([np.cumsum(counts[rows == row]) for row in np.unique(rows)]) if len(rows) else counts
    )
    quotas = {"classes": rows, "categories": columns, "ends": ends, "counts": counts}
    keys = ", ".join(units.keys)
    order = f"{keyed_hash(seed, units.keys, 'tie')}, {keys}"
    return engine.materialize(
        "chosen",
        f"SELECT {keys}, q.category FROM (SELECT {keys}, class, "
        f"row_number() OVER (PARTITION BY class ORDER BY {order}) AS place FROM {ties}) AS t "
        "JOIN (SELECT unnest($classes::BIGINT[]) AS class, unnest($categories::BIGINT[]) AS category, "
        "unnest($ends::BIGINT[]) AS last, unnest($counts::BIGINT[]) AS records) AS q "
        "ON q.class = t.class AND t.place <= q.last AND t.place > q.last - q.records",
        {name: values.tolist() for name, values in quotas.items()},
    )


def _assigned(engine: Engine, moves: Table, size: int) -> Assigned:
    rows = engine.query(
        f"SELECT k, category, sum(records)::BIGINT, sum(cost)::HUGEINT FROM {moves} GROUP BY 1, 2",
        step="flows",
    )
    flows = np.zeros((2 * size, size), dtype=np.int64)
    for kind, category, records, _ in rows:
        flows[kind, category] = records
    return Assigned(moves, flows[:size], flows[size:], sum(int(row[3]) for row in rows) / SCALE)
