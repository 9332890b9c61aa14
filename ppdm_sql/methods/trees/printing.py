"""Trees in words: what decides at each node, and what a leaf says."""

from __future__ import annotations

from ppdm_sql.errors import some
from ppdm_sql.methods.trees.model import DecisionTree, TreeNode

MOST_NAMED = 6
"""So many categories are named; more are counted."""


def words(tree: DecisionTree, node: TreeNode) -> str:
    """Say how records come to a node, and what is predicted for them if it is a leaf.

    Example:
        >>> leaves = TreeNode(1, 0, "left", 1, (2, 1)), TreeNode(2, 0, "right", 1, (0, 3))
        >>> tree = DecisionTree("original", "good", "VARCHAR", ("no", "yes"), (),
        ...     (TreeNode(0, None, None, 0, (2, 4), "age", 40.0), *leaves))
        >>> [words(tree, node) for node in tree.nodes]
        ['6 records', 'age < 40: no (66.7% of 3)', 'age >= 40: yes (100.0% of 3)']
    """
    way = f"{node.records} records" if node.parent is None else condition(tree.nodes[node.parent], node)
    if not node.is_leaf:
        return way
    share = 100 * node.counts[node.label] / max(node.records, 1)
    return f"{way}: {tree.classes[node.label]} ({share:.1f}% of {node.records})"


def condition(parent: TreeNode, child: TreeNode) -> str:
    """Say which records go from a node to a child of it; categories that are not named go right."""
    left = child.side == "left"
    if parent.cut is not None:
        return f"{parent.column} {'<' if left else '>='} {parent.cut:.6g}"
    return f"{parent.column} is {'' if left else 'none of '}{some(parent.values, MOST_NAMED)}"
