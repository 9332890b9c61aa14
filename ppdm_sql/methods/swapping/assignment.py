"""From a solution over classes of records to the records: who takes which other value."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ppdm_sql.engine import Engine, statements
from ppdm_sql.engine.names import Table
from ppdm_sql.methods.base.arrays import Counts
from ppdm_sql.methods.swapping.gumbel_noise import keyed_hash
from ppdm_sql.methods.swapping.lagrangian_prices import Prices, entered, priced_choices
from ppdm_sql.methods.swapping.posteriors import SCALE, Candidates, by_code


@dataclass(frozen=True)
class RecordAssignment:
    """The records that change.

    Args:
        moves: Working table: the pattern's key, ``kind``, ``category`` (the new one), ``records``, ``cost``.
        unique: Uniquely identifiable records by true and new category, shape (C, C).
        grouped: Members of groups by true and new category.
        objective: Sum of the costs without noise, in units of probability.
    """

    moves: Table
    unique: Counts
    grouped: Counts
    objective: float


def assign(
    engine: Engine, candidates: Candidates, prices: Prices, ties: Table, moved: Counts, seed: bytes
) -> RecordAssignment:
    """Let every record do what is best at the prices, and share the ties out by a keyed hash.

    Args:
        engine: Where the candidates are.
        candidates: The records that may change.
        prices: The prices.
        ties: Working table of the keys and ``class`` of records that are decided one class at a time.
        moved: Records of each class by category entered; those left over in the last column stay.
        seed: Decides which records of a class move.

    Cost: one scan of the candidates.
    """
    chosen = _chosen(engine, candidates, ties, moved, seed)
    moves = engine.materialize("moves", changes(candidates, prices, ties, chosen))
    engine.discard(chosen)
    return _counted(engine, moves, candidates.categories)


def changes(candidates: Candidates, prices: Prices, ties: Table, chosen: Table) -> str:
    """Give SQL for the records that move: those that no tie holds, by the prices, and the chosen ones.

    Example:
        >>> import numpy as np
        >>> from ppdm_sql.engine.statements import formatted
        >>> none, keys = np.zeros(2, dtype=np.int64), ("w0",)
        >>> candidates = Candidates(Table("candidates"), keys, keys, 2, False, none, none)
        >>> print(formatted(changes(candidates, Prices.zero(2), Table("ties"), Table("chosen"))))
        ... # doctest: +ELLIPSIS
        SELECT
          w0,
          kind,
          category,
          CAST(1 AS BIGINT) AS records,
          cost
        FROM (
          SELECT
            w0,
            kind,
            CAST(category AS USMALLINT) AS category,
            CAST((
              true_posterior - CASE category WHEN 0 THEN p0 WHEN 1 THEN p1 END
            ) AS BIGINT) AS cost
          FROM (
            ...
            ANTI JOIN "ties"
              USING (w0)
            WHERE
              best_entry > worth_stay
            UNION ALL
            ...
            FROM "candidates"
            JOIN "chosen"
              USING (w0)
          )
        )
    """
    size, keys, pattern = candidates.categories, ", ".join(candidates.keys), ", ".join(candidates.pattern)
    posteriors = [f"{'unblurred_' if candidates.blurred else 'p'}{h}" for h in range(size)]
    carried = [*candidates.keys, "kind", "true_posterior", *posteriors]
    # pricing takes the posteriors with their noise from the table itself
    choices = priced_choices(candidates.table, prices, carried)
    untied = (
        f"SELECT {', '.join(carried)}, {entered(size)} AS category FROM ({choices}) AS f "
        f"ANTI JOIN {ties} USING ({keys}) WHERE best_entry > worth_stay"
    )
    tied = f"SELECT {', '.join(carried)}, category FROM {candidates.table} JOIN {chosen} USING ({keys})"
    rows = (
        f"SELECT {pattern}, kind, category::USMALLINT AS category, "
        f"(true_posterior - {by_code('category', posteriors)})::BIGINT AS cost "
        f"FROM ({untied} UNION ALL {tied})"
    )
    if candidates.keys == candidates.pattern:
        return f"SELECT {pattern}, kind, category, 1::BIGINT AS records, cost FROM ({rows})"
    return (
        f"SELECT {pattern}, kind, category, count(*) AS records, sum(cost)::BIGINT AS cost FROM ({rows}) "
        f"GROUP BY {pattern}, kind, category"
    )


def _chosen(engine: Engine, candidates: Candidates, ties: Table, moved: Counts, seed: bytes) -> Table:
    """Give the records of the ties that move, with the category that they enter."""
    classes, categories = np.nonzero(moved[:, : candidates.categories])
    records = moved[classes, categories]
    # of a class, the first records enter one category, the next ones another
    summed, begins = np.cumsum(records), np.searchsorted(classes, classes)
    last = summed - (summed - records)[begins]
    quotas = {"classes": classes, "categories": categories, "last": last, "records": records}
    keys = ", ".join(candidates.keys)
    order = f"{keyed_hash(seed, candidates.keys, 'tie')}, {keys}"
    return engine.materialize(
        "chosen",
        f"SELECT {keys}, q.category FROM (SELECT {keys}, class, "
        f"row_number() OVER (PARTITION BY class ORDER BY {order}) AS place FROM {ties}) AS t "
        "JOIN (SELECT unnest($classes::BIGINT[]) AS class, unnest($categories::BIGINT[]) AS category, "
        "unnest($last::BIGINT[]) AS last, unnest($records::BIGINT[]) AS records) AS q "
        "ON q.class = t.class AND t.place <= q.last AND t.place > q.last - q.records",
        {name: values.tolist() for name, values in quotas.items()},
    )


def _counted(engine: Engine, moves: Table, size: int) -> RecordAssignment:
    rows = engine.query(statements.bind("swapping/flows", tables={"moves": moves}), step="flows")
    flows = np.zeros((2 * size, size), dtype=np.int64)
    for kind, category, records, _ in rows:
        flows[kind, category] = records
    return RecordAssignment(moves, flows[:size], flows[size:], sum(int(row[3]) for row in rows) / SCALE)
