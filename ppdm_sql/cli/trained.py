"""Prints a trained model."""

from __future__ import annotations

from collections.abc import Iterator

from ppdm_sql.cli.drawing import Drawn, print_drawing
from ppdm_sql.cli.output import Format, Titled, print_tables, shown
from ppdm_sql.methods.trees.model import DecisionTree
from ppdm_sql.methods.trees.printing import words
from ppdm_sql.methods.trees.storing import Matrix, Model, accuracy
from ppdm_sql.sql_calls.describing import model_description

NODES = ("node", "parent", "side", "depth", "counts", "column", "cut", "values", "null_left")


def print_model(model: Model, test: str | None, form: Format) -> None:
    """Print description, tree and, for a test table or the one of the training, the confusion matrix."""
    row, tree = model.row(), model.tree()
    matrix, tested = (row.confusion, row.test) if test is None else (model.confusion(test), test)
    described: Titled = ("model", ("what", "value"), model_description(row, tree))
    results = [] if matrix is None else confusion_tables(row.classes, matrix, tested or "")
    if form is not Format.table:
        print_tables([described, _nodes(tree), *results], form)
        return
    print_tables([described], form)
    print_drawing("tree", _branches(tree))
    if results:
        print_tables(results, form)


def confusion_tables(classes: tuple[str, ...], matrix: Matrix, test: str) -> list[Titled]:
    """Give the tested records by class and predicted class, and the share that is right."""
    rows = [
        (label, *counts, _share(counts[place], sum(counts)))
        for place, (label, counts) in enumerate(zip(classes, matrix, strict=True))
    ]
    records = sum(map(sum, matrix))
    return [
        ("confusion", ("class", *(f"as {label}" for label in classes), "right"), rows),
        ("accuracy", ("table", "records", "accuracy"), [(test, records, accuracy(matrix))]),
    ]


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _nodes(tree: DecisionTree) -> Titled:
    rows = [
        [node.id, *(getattr(node, name) for name in NODES[1:]), tree.classes[node.label]]
        for node in tree.nodes
    ]
    return "nodes", (*NODES, "predicted"), rows


def _branches(tree: DecisionTree) -> Iterator[Drawn]:
    """Draw the tree one node at a time; however deep it is, nothing recurs."""
    above: dict[int, str] = {}
    for node in tree.nodes:
        if node.parent is None:
            above[node.id], branch = "", ""
        else:
            last = node.side == "right"
            branch = above[node.parent] + ("└── " if last else "├── ")
            above[node.id] = above[node.parent] + ("    " if last else "│   ")
        yield Drawn("", branch + shown(words(tree, node)), "" if node.is_leaf else "dim")
