"""The labels of all nodes of a release, as one working table, made in SQL so that no value leaves it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.engine.statements import Statement, bind
from ppdm_sql.methods.base.released_rows import Params
from ppdm_sql.methods.top_down.maskings import Intervals, Masking, Suppression

Specialized = Mapping[int, Sequence[int]]
"""The specialized nodes of one attribute with their children, in the order of the run."""


def as_lists(names: Sequence[str], rows: Sequence[Sequence[object]]) -> Params:
    """Turn rows into one list a column, for a statement that takes them all at once.

    Example:
        >>> as_lists(["code", "node"], [(0, 7), (1, 8)])
        {'code': [0, 1], 'node': [7, 8]}
    """
    return {name: [row[i] for row in rows] for i, name in enumerate(names)}


def label_table(
    engine: Engine, maskings: Sequence[Masking], specialized: Sequence[Specialized], texts: Table
) -> Table:
    """Make the working table ``attribute`` (position), ``node, label, lower, upper, closed``.

    The last three are NULL for what is no interval. Bounds are values of the column as text.
    """
    known = [(position, *label) for position, masking in enumerate(maskings) for label in masking.labels]
    grown: list[tuple[object, ...]] = []
    for position, masking in enumerate(maskings):
        if isinstance(masking, Intervals):
            values = masking.dictionary.size - masking.dictionary.has_null
            ends = values, *(masking.range or (None, None)), masking.symbol, *_tails(masking)
            grown += [(position, *interval, *ends) for interval in _intervals(masking, specialized[position])]
    params = as_lists(("attribute", "node", "label", "lower", "upper", "closed"), known)
    names = (
        *("attribute", "node", "low", "high", "total", "first", "after", "symbol"),
        *("bottom", "top", "above_bottom", "from_top"),
    )
    params["suppressed"] = [a for a, masking in enumerate(maskings) if isinstance(masking, Suppression)]
    query = bind("top_down/labels", tables={"texts": texts})
    if grown:  # it takes as long to plan as the rest of the outcome, however few intervals there are
        params |= as_lists([f"interval_{name}" for name in names], grown)
        intervals = bind("top_down/interval_labels", tables={"texts": texts})
        query = Statement(f"{query}\nUNION ALL (\n{intervals}\n)", file="top_down/labels")
    return engine.materialize("labels", query, params)


def _tails(masking: Intervals) -> tuple[str | None, str | None, int | None, int | None]:
    """Give the bounds of a column's tails, and the codes where they end and begin."""
    tails = masking.tails
    if tails is None:
        return None, None, None, None
    above = None if tails.bottom is None else tails.above_bottom
    return tails.bottom, tails.top, above, None if tails.top is None else tails.from_top


def _intervals(masking: Intervals, specialized: Specialized) -> list[tuple[int, int, int]]:
    """Give the nodes of grown intervals with their bounds: the first code, and the one after the last."""
    return [(node, *masking.histogram.bounds(node)) for node, _ in masking.nodes(specialized)]


def text_table(
    engine: Engine, maskings: Sequence[Masking], specialized: Sequence[Specialized], most: int
) -> Table:
    """Make the working table ``attribute, code, value``: the values of the masked attributes as text.

    Args:
        engine: Where the dictionaries are.
        maskings: Of the attributes.
        specialized: By attribute.
        most: Values above which only the bounds of grown intervals are taken.
    """
    tables: dict[int, Table] = {}
    params: Params = {}
    for position, masking in enumerate(maskings):
        if masking.treatment is None or not masking.dictionary.size:
            continue
        tables[position] = masking.dictionary.table
        if isinstance(masking, Intervals) and masking.dictionary.size > most:
            bounds = {code for _, *ends in _intervals(masking, specialized[position]) for code in ends}
            last = masking.dictionary.size - masking.dictionary.has_null - 1
            params[f"codes{position}"] = sorted({last, *bounds})
    return engine.materialize("texts", texts_sql(tables, params), params)


def texts_sql(dictionaries: Mapping[int, Table], params: Params) -> str:
    """Write the SELECT of the values of some attributes as text; of some only the codes that are listed.

    Example: the papers' bank customers by Job, shown as values, and by Salary, shown as intervals.
        >>> from ppdm_sql.engine.statements import formatted
        >>> print(formatted(texts_sql({0: Table("jobs"), 2: Table("salaries")}, {"codes2": [0, 36]})))
        SELECT
          0 AS attribute,
          code,
          CAST(value AS TEXT) AS value
        FROM "jobs"
        UNION ALL
        SELECT
          2 AS attribute,
          code,
          CAST(value AS TEXT) AS value
        FROM "salaries"
        WHERE
          ARRAY_CONTAINS($codes2, code)
    """
    parts = [
        f"SELECT {position} AS attribute, code, value::VARCHAR AS value FROM {table}"
        + (f" WHERE list_contains($codes{position}, code)" if f"codes{position}" in params else "")
        for position, table in dictionaries.items()
    ]
    nothing = "SELECT NULL::INTEGER AS attribute, NULL::BIGINT AS code, NULL::VARCHAR AS value WHERE false"
    return " UNION ALL ".join(parts) or nothing
