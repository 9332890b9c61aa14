"""The trees of a release's masked columns, the cut through them that the release shows, and words for it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from ppdm_sql.engine import Engine
from ppdm_sql.engine.statements import text
from ppdm_sql.release.catalogue import parts
from ppdm_sql.release.layout import Measured, ReleasedColumn, Treatment

SHOWN: dict[Treatment, str] = {
    "lower bound": "the lower bounds of intervals",
    "upper bound": "the upper bounds of intervals",
    "swapped": "some values are swapped",
    "randomized": "values with noise",
    "discretized": "cells in place of values",
    "sensitive": "as it is (sensitive)",
    "class": "as it is (the class)",
    "kept": "as it is",
    "pseudonym": "pseudonym",
    "count": "the number of records",
}
"""What a column shows that is not masked, by its treatment."""
_INTERVAL = re.compile(r"[\[(].*, .*[\])]")


@dataclass(frozen=True)
class Node:
    """One node of the tree of a masked column, a row of ``ppdm.taxonomies``.

    Args:
        attribute: The column.
        node: Its number; parents have smaller ones than their children.
        parent: The number of its parent, None for the root.
        label: What the release shows for it; None is NULL.
        lower: For an interval the text of the lower bound, which it includes.
        upper: For an interval the text of the upper bound.
        closed: For an interval whether the upper bound is included.
        shown: Whether it is in the cut.
    """

    attribute: str
    node: int
    parent: int | None
    label: str | None
    lower: str | None
    upper: str | None
    closed: bool | None
    shown: bool


def tree(engine: Engine, release: str, attribute: str) -> list[Node]:
    """List the nodes of one column's tree, parents before children."""
    return _nodes(engine, "taxonomy", {"release": release, "attribute": attribute})


def cut(engine: Engine, release: str) -> list[Node]:
    """List the nodes that a release shows and all above them, by column, parents before children."""
    return _nodes(engine, "cut", {"release": release})


def _nodes(engine: Engine, step: str, params: dict[str, object]) -> list[Node]:
    if "taxonomies" not in parts(engine):
        return []
    return [Node(*row) for row in engine.query(text(f"release/{step}"), params, step=step)]


def told(
    columns: Sequence[ReleasedColumn],
    symbol: str,
    nodes: Sequence[Node] = (),
    measures: Sequence[Measured] = (),
    counted: Callable[[ReleasedColumn], tuple[Collection[str | None], int]] | None = None,
) -> Iterator[tuple[str, str]]:
    """Say what became of each column of a release."""
    found, trees = {one.measure: one for one in measures}, defaultdict[str, list[Node]](list)
    for node in nodes:
        trees[node.attribute].append(node)
    for item in columns:
        tree = trees[item.name]
        labels: Collection[str | None] = [node.label for node in tree if node.shown]
        number = len(labels)
        if item.treatment in SHOWN or not (labels or counted):
            yield item.name, SHOWN.get(item.treatment, item.treatment)
            continue
        if counted is not None and (of_rows := counted(item))[1]:  # an empty release shows no label
            labels, number = of_rows
        of = found.get(f"values disclosed: {item.name}")
        loss = found.get(f"generalized information loss: {item.name}")
        lossless = loss is not None and loss.after == 0
        if item.treatment == "suppressed" and (lossless or symbol not in labels) and number > 1:
            yield item.name, "as it is"
        elif lossless and number > 1 and not _are_intervals(labels):  # leaves may stand for several values
            yield item.name, f"{number:,} labels, the finest of its hierarchy"
        else:
            yield item.name, _labels(item, symbol, labels, number, of and of.before, _levels(tree))


def _levels(nodes: Sequence[Node]) -> set[int]:
    """Give how far below the top of its tree a column's labels stand; NULL, which no tree has, aside."""
    depths: dict[int | None, int] = {None: -1}
    for node in nodes:
        depths[node.node] = depths[node.parent] + 1
    return {depths[node.node] for node in nodes if node.shown and node.label is not None}


def _are_intervals(labels: Collection[str | None]) -> bool:
    """Tell whether most labels are intervals."""
    return sum(_INTERVAL.fullmatch(label or "") is not None for label in labels) * 2 > len(labels)


def _labels(
    item: ReleasedColumn,
    symbol: str,
    labels: Collection[str | None],
    number: int,
    of: float | None,
    at: Collection[int],
) -> str:
    """Say what a masked column shows.

    Example:
        >>> sex, job = ReleasedColumn("sex", "suppressed"), ReleasedColumn("job", "generalized")
        >>> _labels(sex, "*", ["*"], 1, None, ()), _labels(sex, "*", ["f", "*"], 2, 3, ())
        ('* in every record', '1 of 3 values, * for the others')
        >>> _labels(job, "*", ["Cook", "Any"], 2, None, {0, 1})
        '2 labels, 0 to 1 levels below the top of its hierarchy'
    """
    if number == 1:
        (label,) = labels
        return f"{'NULL' if label is None else label} in every record"
    if item.treatment == "suppressed":
        shown = f"{number - 1:,}" + (f" of {of:,.0f}" if of else "")
        return f"{shown} value{'s' * ((of or number - 1) != 1)}, {symbol} for the others"
    if _are_intervals(labels):
        return f"{number:,} intervals"
    if not at:
        return f"{number:,} labels"
    below = " to ".join(dict.fromkeys(map(str, (min(at), max(at)))))
    return f"{number:,} labels, {below} level{'s' * ({*at} != {1})} below the top of its hierarchy"
