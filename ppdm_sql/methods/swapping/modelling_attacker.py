"""How many of the changed records an attacker can tell who models which records were cheap to change.

The attacker knows everything but which records were changed: the method, the released table and so, nearly,
the posteriors of every record. Records are put in cells that look alike to such an attacker: the released
value, the most probable other one, and by how much the released one is ahead of it. A cell is settled if the
share of its records that were changed, (changed + 1) / (records + 2), is at least :data:`SURE`: all changed
records of the cell can then be called changed with this confidence. As the attacker is given the true shares
of each cell, this is an upper bound for attackers of this kind, measured on at most :data:`SAMPLE` unique
records taken by a hash.
"""

from __future__ import annotations

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.methods.swapping.posteriors import SCALE, Candidates, by_code

SURE = 0.98
SAMPLE = 100_000
CELL = 200
"""Records that a cell should hold, which decides how finely differences are told apart."""


def attacker_share(engine: Engine, candidates: Candidates, moves: Table) -> float | None:
    """Measure the share of the changed unique records that an attacker settles; None where none changed."""
    if not candidates.unique.sum():
        return None
    ((settled, changed),) = engine.query(
        f"SELECT coalesce(sum(changed) FILTER (changed + 1 >= {SURE!r}::DOUBLE * (records + 2)), 0)::BIGINT, "
        f"sum(changed)::BIGINT FROM ({_cells(candidates, moves)})",
        step="settled_share",
    )
    return settled / changed if changed else None


def _cells(candidates: Candidates, moves: Table) -> str:
    """Give SQL for the records and changed records of each cell, of a sample."""
    size, records = candidates.categories, int(candidates.unique.sum())
    part = -(-records // SAMPLE)
    steps = max(8, min(256, min(records, SAMPLE) // (CELL * size)))
    posterior = "unblurred_" if candidates.blurred else "p"
    listed = ", ".join(
        f"CASE WHEN kind = {h} THEN true_posterior ELSE {posterior}{h} END AS posterior_{h}"
        for h in range(size)
    )
    shown = by_code("shown", [f"posterior_{h}" for h in range(size)])
    others = ", ".join(f"CASE WHEN shown = {h} THEN -1 ELSE posterior_{h} END" for h in range(size))
    rival = f"list_position([{others}], greatest({others}))"
    ahead = f"(({shown} - greatest({others})) * {steps}::BIGINT // {2 * SCALE})"
    keys = ", ".join(candidates.pattern)
    sampled = (
        f"SELECT {listed}, coalesce(m.category, u.kind) AS shown, m.category IS NOT NULL AS changed "
        f"FROM {candidates.table} AS u LEFT JOIN (SELECT {keys}, category FROM {moves}) AS m USING ({keys}) "
        f"WHERE u.kind < {size} AND hash({keys}) % {part} = 0"
    )
    return (
        f"SELECT count(*) AS records, count(*) FILTER (changed) AS changed FROM ({sampled}) "
        f"GROUP BY shown, {rival}, {ahead}"
    )
