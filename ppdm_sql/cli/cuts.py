"""Shows the cut of a release: as trees for a reader, as rows for a program."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from ppdm_sql.cli.drawing import Drawn, print_drawing
from ppdm_sql.cli.output import Titled, shown
from ppdm_sql.release.cut_tree import Node

CUT = ("attribute", "node", "parent", "label", "shown")

Children = Mapping[int | None, Sequence[Node]]


def cut_table(nodes: Sequence[Node]) -> Titled:
    """Give the nodes of the cut and those above them, one row each."""
    return "cut", CUT, [[getattr(node, name) for name in CUT] for node in nodes]


def print_cut(nodes: Sequence[Node], limit: int) -> None:
    """Print the trees on stdout, under a title and with an empty line before and after."""
    print_drawing("cut", cut_trees(nodes, limit))


def cut_trees(nodes: Sequence[Node], limit: int) -> Iterator[Drawn]:
    r"""Draw one tree for each masked column; of the children of a node at most ``limit`` are named.

    Example:
        >>> whole, half = Node("Job", 0, None, "ANY", None, None, None, False), (None, None, None, True)
        >>> nodes = [whole, Node("Job", 1, 0, "Clerk", *half), Node("Job", 2, 0, "Cook", *half)]
        >>> print(*(drawn.guide + drawn.label for drawn in cut_trees(nodes, 1)), sep="\n")
        Job
        └── ANY
            ├── Clerk
            └── ... and 1 more
    """
    by_attribute: dict[str, dict[int | None, list[Node]]] = defaultdict(lambda: defaultdict(list))
    for node in nodes:
        by_attribute[node.attribute][node.parent].append(node)
    for attribute, children in by_attribute.items():
        yield Drawn("", shown(attribute), "bold")
        yield from _below(children, None, "", limit)


def _below(children: Children, parent: int | None, above: str, limit: int) -> Iterator[Drawn]:
    """Draw the children of a node, and what is below each of them."""
    found = children.get(parent, ())
    for number, node in enumerate(found[:limit], start=1):
        last = number == len(found)
        yield Drawn(above + ("└── " if last else "├── "), _label(node, children), "" if node.shown else "dim")
        yield from _below(children, node.node, above + ("    " if last else "│   "), limit)
    if len(found) > limit:
        yield Drawn(f"{above}└── ", f"... and {len(found) - limit} more", "dim")


def _label(node: Node, children: Children) -> str:
    """Write a label; a node that is shown although some values below it are too stands for the others."""
    return shown(node.label) + (" (all other values)" if node.shown and node.node in children else "")
