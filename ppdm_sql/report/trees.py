"""The page of a trained model: its tree, drawn and to be opened, and what it gets right; for the owner."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from ppdm_sql.engine import Engine
from ppdm_sql.methods.trees.model import DecisionTree, TreeNode, condition
from ppdm_sql.methods.trees.storing import Model
from ppdm_sql.options import PageOptions
from ppdm_sql.release.exporting import check_target, write_page
from ppdm_sql.report.page import (
    AFTER,
    Chart,
    Picture,
    bar_chart,
    count,
    html,
    numbers,
    several,
    share,
    vega,
)

DRAWN_SPLITS = 3
"""Splits above a node that is drawn; the list of branches below has all."""
MOST_BRANCHES = 1000
"""Nodes that the list of branches holds at most."""
NODE_HEIGHT = 40
MODES = {
    "original": "from values as they are",
    "randomized": "from randomized values as they are",
    "global": "from the distribution of all records behind the noise",
    "byclass": "from the distribution of each class behind the noise",
    "local": "from the distribution of each class behind the noise, in every node",
}
"""How a tree of each mode was grown."""


def write_model_report(engine: Engine, model: Model, options: PageOptions) -> None:
    """Write the page of a model into a file, whole or not at all.

    Cost: no scan of a table; the nodes are read.
    """
    path = Path(options.path)
    check_target(engine, path, force=options.force)
    vega()
    row, tree = model.row(), model.tree()
    _, _, *test_tables = model.tables()
    below = "The branches below show all of it. " if tree.depth > DRAWN_SPLITS else ""
    nodes = sorted(tree.nodes, key=lambda node: node.depth)[:MOST_BRANCHES]
    page = html(
        "model.html.jinja",
        row=row,
        splits=list(tree.used),
        grown=MODES[row.mode],
        tree=tree,
        drawn=tree_picture(tree, below),
        hidden=len(tree.nodes) - MOST_BRANCHES,
        kept={node.id for node in nodes},
        way=partial(_condition, tree),
        says=partial(_says, tree),
        purified=_gini_falls(tree),
        confusion=[table._replace(title="") for table in test_tables[:1]],
        right=dict(zip(test_tables[1].columns, test_tables[1].rows[0], strict=True)) if test_tables else None,
    )
    write_page(engine, path, page.encode(), force=options.force)


# -- the tree ---------------------------------------------------------------------------------


def tree_picture(tree: DecisionTree, note: str = "") -> Picture:
    nodes = [node for node in tree.nodes if node.depth <= DRAWN_SPLITS]
    depth = max(node.depth for node in nodes)
    leaves = sum(node.is_leaf or node.depth == DRAWN_SPLITS for node in nodes)
    rows = [
        {
            "id": node.id,
            "parent": node.parent,
            "way": _condition(tree, node),
            "says": f"{tree.classes[node.label]}, {100 * _purity(node):.0f} %",
            "leaf": node.is_leaf,
        }
        for node in nodes
    ]
    room = 530 // (depth + 1)
    look = {"height": max(NODE_HEIGHT * leaves, 60), "reach": room * depth, "limit": {"value": room}}
    cells = [(node.depth, _condition(tree, node), _says(tree, node)) for node in nodes]
    deeper = f"The first {DRAWN_SPLITS} levels are drawn. " if tree.depth > DRAWN_SPLITS else ""
    return Picture(
        f"The tree that predicts {tree.class_column}",
        Chart("tree", rows, look),
        f"A tree with {several(len(tree.leaves), 'leaf', 'leaves')}; the table lists what is drawn.",
        numbers(["level", "records that", "are predicted as"], cells),
        deeper + note,
        wide=True,
    )


def _condition(tree: DecisionTree, node: TreeNode) -> str:
    if node.parent is None:
        return several(node.records, "record")
    return condition(tree.nodes[node.parent], node)


def _says(tree: DecisionTree, node: TreeNode) -> str:
    return f"{tree.classes[node.label]}, {share(_purity(node))} of {count(node.records)}"


def _purity(node: TreeNode) -> float:
    return node.counts[node.label] / max(node.records, 1)


# -- what it tells ----------------------------------------------------------------------------


def _gini_falls(tree: DecisionTree) -> list[Picture]:
    """Draw by how much the splits of each column purify the records, in shares of the gini index."""
    falls: dict[str, float] = dict.fromkeys(tree.used, 0.0)
    for node in tree.nodes:
        if node.column is not None:
            below = sum(_impurity(child.counts) for child in tree.children(node))
            falls[node.column] += max(_impurity(node.counts) - below, 0.0)
    whole = _impurity(tree.root.counts)
    if not falls or not whole:
        return []
    shares = {name: fall / whole for name, fall in sorted(falls.items(), key=lambda item: -item[1])[:12]}
    best, most = next(iter(shares.items()))
    chart = bar_chart(list(shares), {AFTER: shares}, "share of the impurity taken away", ".0%", 20)
    heads = ["column", "share of the gini index"]
    says = f"What the splits of each column tell. {best} tells most, {share(most)}."
    return [Picture("By column", chart, says, numbers(heads, shares.items(), heads[1]))]


def _impurity(counts: Sequence[int]) -> float:
    """Give the Gini impurity of all records together.

    Example:
        >>> _impurity([2, 2]), _impurity([3, 0]), _impurity([0, 0])
        (2.0, 0.0, 0.0)
    """
    records = sum(counts)
    return records - sum(n * n for n in counts) / records if records else 0.0
