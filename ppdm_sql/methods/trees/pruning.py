"""Pruning by minimum description length: a subtree stays if it makes the classes shorter to tell.

Source: Mehta, Rissanen, Agrawal 1995, "MDL-based decision tree pruning", KDD.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from ppdm_sql.methods.trees.model import Attribute, TreeNode


def pruned(nodes: Sequence[TreeNode], attributes: Sequence[Attribute]) -> tuple[TreeNode, ...]:
    """Turn every node into a leaf whose subtree takes at least as many bits as a leaf would.

    The nodes have parents before children; those that are left are :func:`numbered` anew.
    """
    splitting = {item.name: _split_bits(item, len(attributes)) for item in attributes}
    children: dict[int, list[TreeNode]] = {}
    for node in nodes:
        if node.parent is not None:
            children.setdefault(node.parent, []).append(node)
    kept, bits = {node.id: node for node in nodes}, dict[int, float]()
    for node in reversed(nodes):
        as_leaf = 1 + class_bits(node.counts)
        below = sum(bits[child.id] for child in children.get(node.id, ()))
        as_split = math.inf if node.column is None else 1 + splitting[node.column] + below
        if as_leaf <= as_split:
            kept[node.id] = leaf(node)
        bits[node.id] = min(as_leaf, as_split)
    return numbered([kept[node.id] for node in nodes])


def class_bits(counts: Sequence[int]) -> float:
    """Give the stochastic complexity of the classes of some records, in bits.

    Example:
        >>> round(class_bits((50, 50)), 2), round(class_bits((100, 0)), 2)
        (104.47, 4.47)
    """
    records, classes = sum(counts), len(counts)
    entropy = sum(n * math.log2(records / n) for n in counts if n)
    half = classes / 2
    volume = half * math.log2(math.pi) - math.lgamma(half) / math.log(2)
    return entropy + (classes - 1) / 2 * math.log2(records / 2) + volume


def _split_bits(attribute: Attribute, attributes: int) -> float:
    """Give the bits that tell which attribute is split, and where."""
    which = math.log2(attributes)
    if attribute.type == "VARCHAR":
        return which + math.log2(2**attribute.cells - 2) if attribute.cells > 1 else which
    return which + math.log2(max(len(attribute.cuts), 1))


def leaf(node: TreeNode) -> TreeNode:
    """Give a node without its split."""
    return replace(node, column=None, cut=None, values=(), null_left=False)


def numbered(nodes: Sequence[TreeNode]) -> tuple[TreeNode, ...]:
    """Number the nodes anew from the root down, left before right, without what hangs below a leaf."""
    below: dict[int, list[TreeNode]] = {}
    for node in nodes:
        if node.parent is not None:
            below.setdefault(node.parent, []).append(node)
    found, waiting = list[TreeNode](), list[tuple[TreeNode, int | None]]([(nodes[0], None)])
    while waiting:
        node, parent = waiting.pop()
        found.append(replace(node, id=len(found), parent=parent))
        if not node.is_leaf:
            children = sorted(below[node.id], key=lambda child: child.side == "left")
            waiting += [(child, found[-1].id) for child in children]
    return tuple(found)
