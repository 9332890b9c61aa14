"""Holds the trees that a release would record against the owner's taxonomies and the labels it shows."""

from __future__ import annotations

from collections.abc import Sequence

from ppdm_sql.audit.labels import ShownColumn
from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.engine.statements import bind


def misdrawn_nodes(engine: Engine, trees: Table, columns: Sequence[ShownColumn]) -> int:
    """Count the nodes that are not as the owner's taxonomies have them, or not marked though they are shown.

    Of intervals, those with bounds other than their labels name are counted too.

    Args:
        engine: Where the trees are.
        trees: Working table ``attribute, node, parent, label, lower, upper, closed, shown``.
        columns: The masked columns.

    Cost: one scan of the trees.
    """
    owned = {item.name: item for item in columns if item.masked.taxonomy is not None}
    query = bind("audit/recorded_trees", tables={"trees": trees})
    rows = engine.query(query, {"attributes": list(owned)}, step="recorded_trees")
    false = sum(bool(is_false) for *_, is_false in rows)
    labels = {(name, node): label for name, label, node, *_ in rows}
    recorded = {
        (name, label, labels.get((name, parent))): marked
        for name, label, _, parent, marked, _ in rows
        if label is not None
    }
    nodes = {node for item in owned.values() for node in _nodes(item)}
    marks = {node for item in owned.values() for node in _nodes(item, item.nodes)}
    unmarked = [node for node in marks if not recorded.get(node, False)]
    return false + len(nodes ^ recorded.keys()) + len(unmarked)


def _nodes(item: ShownColumn, only: set[int] | None = None) -> list[tuple[str, str, str | None]]:
    """Give the nodes of a taxonomy by their labels and those of their parents."""
    taxonomy = item.masked.taxonomy
    if taxonomy is None:
        return []
    above = (None, *(taxonomy.labels[parent] for parent in taxonomy.parents[1:]))
    named = enumerate(zip(taxonomy.labels, above, strict=True))
    return [(item.name, *pair) for node, pair in named if only is None or node in only]
