"""What a trained tree is: the attributes it was grown from, its nodes, and these in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from ppdm_sql.errors import some

Mode = Literal["original", "randomized", "global", "byclass", "local"]
MODES: tuple[Mode, ...] = ("original", "randomized", "global", "byclass", "local")
RECONSTRUCTED: tuple[Mode, ...] = ("global", "byclass", "local")
"""The modes that need to know the noise."""

Side = Literal["left", "right"]


@dataclass(frozen=True)
class Attribute:
    name: str  # the column
    # what a prediction takes for it: `DOUBLE` for numbers, `VARCHAR` for categories
    type: Literal["DOUBLE", "VARCHAR"]
    # the inner boundaries of the cells of a number, ascending; empty for categories
    cuts: tuple[float, ...] = ()
    values: tuple[str, ...] = ()  # the categories as text, in their order; empty for numbers
    # the noise on it in the words of `--noise`, where the tree was grown from reconstructed values
    noise: str | None = None

    @property
    def cells(self) -> int:
        return len(self.values) if self.type == "VARCHAR" else len(self.cuts) + 1


@dataclass(frozen=True)
class TreeNode:
    """A node of a tree: a leaf, or a split of its records in two.

    A number goes left if it is less than ``cut``, NULL goes where ``null_left`` says. A category goes left if
    it is among ``values``; all others, unseen ones and NULL too, go right.
    """

    id: int  # position in the tree's nodes, from 0; a node comes before its children, left before right
    parent: int | None  # the node above; None for the root
    side: Side | None  # which child of it; None for the root
    depth: int  # splits above it
    counts: tuple[int, ...]  # training records by class, in the order of the tree's classes
    column: str | None = None  # the attribute it splits; None for a leaf
    cut: float | None = None  # where a number is split; None for a leaf and for categories
    values: tuple[str, ...] = ()  # the categories that go left
    null_left: bool = False  # whether NULL goes left

    @property
    def records(self) -> int:
        return sum(self.counts)

    @property
    def label(self) -> int:
        """Position of the most frequent class, the first of several."""
        return self.counts.index(max(self.counts))

    @property
    def is_leaf(self) -> bool:
        return self.column is None


@dataclass(frozen=True)
class DecisionTree:
    """A decision tree.

    Args:
        mode: How it was grown.
        class_column: The column that it predicts.
        class_type: Its SQL type in the training table; ``VARCHAR`` for an ENUM.
        classes: The classes as text, in the order of the column's values.
        attributes: What it could split, in the order of the table.
        nodes: Its nodes, the root first, each before its left and then its right subtree.

    Example:
        >>> leaves = TreeNode(1, 0, "left", 1, (2, 0)), TreeNode(2, 0, "right", 1, (0, 3))
        >>> root = TreeNode(0, None, None, 0, (2, 3), "age", 40.0)
        >>> age = Attribute("age", "DOUBLE", (40.0,))
        >>> tree = DecisionTree("original", "good", "VARCHAR", ("no", "yes"), (age,), (root, *leaves))
        >>> tree.depth, len(tree.leaves), tree.used, [node.id for node in tree.children(tree.root)]
        (1, 2, ('age',), [1, 2])
    """

    mode: Mode
    class_column: str
    class_type: str
    classes: tuple[str, ...]
    attributes: tuple[Attribute, ...]
    nodes: tuple[TreeNode, ...]

    @property
    def root(self) -> TreeNode:
        return self.nodes[0]

    @property
    def leaves(self) -> tuple[TreeNode, ...]:
        return tuple(node for node in self.nodes if node.is_leaf)

    @property
    def depth(self) -> int:
        """Most splits above a node."""
        return max(node.depth for node in self.nodes)

    @property
    def used(self) -> tuple[str, ...]:
        """The attributes that it splits, in the order of the table."""
        split = {node.column for node in self.nodes}
        return tuple(attribute.name for attribute in self.attributes if attribute.name in split)

    def attribute(self, name: str) -> Attribute:
        return {attribute.name: attribute for attribute in self.attributes}[name]

    def children(self, node: TreeNode) -> tuple[TreeNode, ...]:
        """Give the left and the right child of a node; none for a leaf."""
        return tuple(self._children[node.id])

    @cached_property
    def _children(self) -> list[list[TreeNode]]:
        return children_of(self.nodes)


def children_of(nodes: Sequence[TreeNode]) -> list[list[TreeNode]]:
    """Give, for each node by its number, its left and its right child; none for a leaf."""
    children: list[list[TreeNode]] = [[] for _ in nodes]
    for node in nodes:
        if node.parent is not None:
            children[node.parent].append(node)
    return children


# -- in words ---------------------------------------------------------------------------------------

MOST_NAMED = 6
"""Categories that are named; more are only counted."""


def words(tree: DecisionTree, node: TreeNode) -> str:
    """Say how records come to a node, and what is predicted for them if it is a leaf."""
    text = f"{node.records} records" if node.parent is None else condition(tree.nodes[node.parent], node)
    if not node.is_leaf:
        return text
    share = 100 * node.counts[node.label] / max(node.records, 1)
    return f"{text}: {tree.classes[node.label]} ({share:.1f}% of {node.records})"


def condition(parent: TreeNode, child: TreeNode) -> str:
    """Say which records go from a node to a child of it; categories that are not named go right."""
    left = child.side == "left"
    if parent.cut is not None:
        return f"{parent.column} {'<' if left else '>='} {parent.cut:.6g}"
    return f"{parent.column} is {'' if left else 'none of '}{some(parent.values, MOST_NAMED)}"
