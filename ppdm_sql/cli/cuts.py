"""Shows the cut of a release: as trees for a reader, as rows for a program."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from ppdm_sql.cli.output import Titled, shown
from ppdm_sql.release.cut_tree import Node

CUT = ("attribute", "node", "parent", "label", "shown")

Children = Mapping[int | None, Sequence[Node]]


def cut_table(nodes: Sequence[Node]) -> Titled:
    """Give the nodes of the cut and those above them, one row each."""
    return "cut", CUT, [[getattr(node, name) for name in CUT] for node in nodes]


def print_cut(nodes: Sequence[Node], limit: int) -> None:
    """Print the trees on stdout, under a title and with an empty line before and after."""
    console = Console(file=sys.stdout, width=None if sys.stdout.isatty() else 100_000, highlight=False)
    console.print(Text("\ncut", style="bold"))
    for tree in cut_trees(nodes, limit):
        console.print(tree)
    console.print()


def cut_trees(nodes: Sequence[Node], limit: int) -> list[Tree]:
    """Draw one tree for each masked column; of the children of a node at most ``limit`` are named.

    Example:
        >>> whole, half = Node("Job", 0, None, "ANY", None, None, None, False), (None, None, None, True)
        >>> nodes = [whole, Node("Job", 1, 0, "Clerk", *half), Node("Job", 2, 0, "Cook", *half)]
        >>> Console().print(cut_trees(nodes, 1)[0])
        Job
        └── ANY
            ├── Clerk
            └── ... and 1 more
    """
    by_attribute: dict[str, dict[int | None, list[Node]]] = defaultdict(lambda: defaultdict(list))
    for node in nodes:
        by_attribute[node.attribute][node.parent].append(node)
    trees = []
    for attribute, children in by_attribute.items():
        trees.append(Tree(Text(shown(attribute), style="bold")))
        _grow(trees[-1], children, None, limit)
    return trees


def _grow(branch: Tree, children: Children, parent: int | None, limit: int) -> None:
    """Add the children of a node below it, and theirs."""
    found = children.get(parent, ())
    for node in found[:limit]:
        _grow(branch.add(_label(node, children)), children, node.node, limit)
    if len(found) > limit:
        branch.add(Text(f"... and {len(found) - limit} more", style="dim"))


def _label(node: Node, children: Children) -> Text:
    """Write a label; a node that is shown although some values below it are too stands for the others."""
    rest = " (all other values)" if node.shown and node.node in children else ""
    return Text(shown(node.label) + rest, style="" if node.shown else "dim")
