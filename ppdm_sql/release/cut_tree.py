"""The trees of a release's masked columns, and the cut through them that the release shows."""

from __future__ import annotations

from dataclasses import dataclass

from ppdm_sql.engine import Engine
from ppdm_sql.engine.statements import text
from ppdm_sql.release.catalogue import parts


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
