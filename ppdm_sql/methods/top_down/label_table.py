"""The labels of all nodes of a release, as one working table, made in SQL so that no value leaves it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.methods.base.released_rows import Params
from ppdm_sql.methods.top_down.maskings import Intervals, Masking, Suppression

_KNOWN = {
    "attribute": "INTEGER", "node": "BIGINT", "label": "VARCHAR", "lower": "VARCHAR", "upper": "VARCHAR",
    "closed": "BOOLEAN",
}  # fmt: skip


def label_table(
    engine: Engine, maskings: Sequence[Masking], specialized: Sequence[Mapping[int, Sequence[int]]]
) -> Table:
    """Make the working table ``attribute`` (position), ``node, label, lower, upper, closed``.

    The last three are NULL for what is no interval. Bounds are values of the column as text.

    Args:
        engine: Where the dictionaries are.
        maskings: Of the attributes.
        specialized: For each attribute its specialized nodes with their children.
    """
    known = [(position, *label) for position, masking in enumerate(maskings) for label in masking.labels]
    params: Params = {name: [row[i] for row in known] for i, name in enumerate(_KNOWN)}
    unnested = ", ".join(f"unnest(CAST(${name} AS {kind}[])) AS {name}" for name, kind in _KNOWN.items())
    parts = [f"SELECT {unnested}"]
    grown = {}
    for position, masking in enumerate(maskings):
        if isinstance(masking, Suppression):
            parts.append(
                f"SELECT {position}, code + 1, value::VARCHAR, NULL, NULL, NULL "
                f"FROM {masking.dictionary.table}"
            )
        elif isinstance(masking, Intervals):
            grown[position] = masking
    if grown:
        parts.append(_intervals(grown, specialized, params))
    return engine.materialize("labels", " UNION ALL ".join(parts), params)


def _intervals(
    grown: Mapping[int, Intervals], specialized: Sequence[Mapping[int, Sequence[int]]], params: Params
) -> str:
    """Write the labels of grown intervals: the bounds are looked up in the dictionaries."""
    rows: list[tuple[object, ...]] = []
    texts = []
    for position, masking in grown.items():
        values = masking.dictionary.size - masking.dictionary.has_null
        first, after = masking.range or (None, None)
        nodes = [node for node, _ in masking.nodes(specialized[position])]
        bounds = [masking.histogram.bounds(node) for node in nodes]
        for node, (low, high) in zip(nodes, bounds, strict=True):
            rows.append((position, node, low, high, values, first, after, masking.symbol))
        params[f"codes_{position}"] = sorted({values - 1, *(code for pair in bounds for code in pair)})
        texts.append(
            f"SELECT {position} AS attribute, code, value::VARCHAR AS text "
            f"FROM {masking.dictionary.table} WHERE list_contains($codes_{position}, code)"
        )
    names = ("i_attribute", "i_node", "i_low", "i_high", "i_values", "i_first", "i_after", "i_symbol")
    params |= {name: [row[i] for row in rows] for i, name in enumerate(names)}
    return _INTERVALS.format(texts=" UNION ALL ".join(texts))


_INTERVALS = """
SELECT attribute, node, CASE
        WHEN low = 0 AND high > total THEN symbol
        WHEN low < total THEN '[' || lower || ', ' || upper || CASE WHEN closed THEN ']' ELSE ')' END
    END, lower, upper, closed
FROM (
    SELECT i.*,
        CASE WHEN i.high <= i.total THEN CASE WHEN i.low = 0 THEN coalesce(i.first, l.text) ELSE l.text END
        END AS lower,
        CASE WHEN i.high <= i.total THEN CASE WHEN i.high = i.total THEN coalesce(i.after, u.text)
            ELSE u.text END END AS upper,
        CASE WHEN i.high <= i.total THEN i.high = i.total AND i.after IS NULL END AS closed
    FROM (
        SELECT unnest(CAST($i_attribute AS INTEGER[])) AS attribute,
            unnest(CAST($i_node AS BIGINT[])) AS node, unnest(CAST($i_low AS BIGINT[])) AS low,
            unnest(CAST($i_high AS BIGINT[])) AS high, unnest(CAST($i_values AS BIGINT[])) AS total,
            unnest(CAST($i_first AS VARCHAR[])) AS first, unnest(CAST($i_after AS VARCHAR[])) AS after,
            unnest(CAST($i_symbol AS VARCHAR[])) AS symbol
    ) AS i
    LEFT JOIN ({texts}) AS l ON l.attribute = i.attribute AND l.code = i.low
    LEFT JOIN ({texts}) AS u
        ON u.attribute = i.attribute AND u.code = CASE WHEN i.high < i.total THEN i.high ELSE i.total - 1 END
) AS bounds
"""
