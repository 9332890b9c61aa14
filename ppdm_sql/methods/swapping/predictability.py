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
from ppdm_sql.methods.swapping.posteriors import SCALE, Units

SURE = 0.98
SAMPLE = 100_000
CELL = 200
"""Records that a cell should hold, which decides how finely differences are told apart."""


def settled_share(engine: Engine, units: Units, moves: Table) -> float | None:
    """Measure the share of the changed unique records that an attacker settles.

    Args:
        engine: Where the units are.
        units: The records that may change.
        moves: Working table of those that do.

    Returns:
        A fraction in [0, 1]; None where no unique record is changed.
    """
    size, records = units.categories, int(units.unique.sum())
    if not records:
        return None
    part = -(-records // SAMPLE)
    steps = max(8, min(256, min(records, SAMPLE) // (CELL * size)))
    values = [f"CASE WHEN k = {h} THEN own ELSE {'o' if units.blurred else 'p'}{h} END" for h in range(size)]
    listed = ", ".join(f"{value} AS q{h}" for h, value in enumerate(values))
    shown = "CASE shown " + " ".join(f"WHEN {h} THEN q{h}" for h in range(size)) + " END"
    others = [f"CASE WHEN shown = {h} THEN -1 ELSE q{h} END" for h in range(size)]
    rival = f"list_position([{', '.join(others)}], greatest({', '.join(others)}))"
    ahead = f"(({shown} - greatest({', '.join(others)})) * {steps}::BIGINT // {2 * SCALE})"
    keys = ", ".join(units.pattern)
    sampled = (
        f"SELECT {listed}, coalesce(m.category, u.k) AS shown, m.category IS NOT NULL AS changed "
        f"FROM {units.table} AS u LEFT JOIN (SELECT {keys}, category FROM {moves}) AS m USING ({keys}) "
        f"WHERE u.k < {size} AND hash({keys}) % {part} = 0"
    )
    cells = (
        f"SELECT count(*) AS n, count(*) FILTER (changed) AS changed FROM ({sampled}) "
        f"GROUP BY shown, {rival}, {ahead}"
    )
    ((settled, changed),) = engine.query(
        f"SELECT coalesce(sum(changed) FILTER (changed + 1 >= {SURE!r}::DOUBLE * (n + 2)), 0)::BIGINT, "
        f"sum(changed)::BIGINT FROM ({cells})",
        step="settled",
    )
    return settled / changed if changed else None
