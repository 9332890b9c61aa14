"""Drafts of releases made by hand, and what their states must show, by brute force."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

from filling import quote

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.privacy import Requirement
from ppdm_sql.release import Draft, Release, ReleasedColumn, publish

Label = str | None
Refinement = tuple[str, Label, list[Label]]
"""A step: the attribute, the parent's label, those of the children."""

STEPS = {"step": "INTEGER", "attribute": "VARCHAR", "parent": "VARCHAR", "children": "VARCHAR[]"}
STEPS |= {"score": "DOUBLE", "gain": "DOUBLE", "loss": "DOUBLE"}
CUTS = {"attribute": "VARCHAR", "value": "VARCHAR", "generalized": "VARCHAR"}
TAXONOMIES = {"attribute": "VARCHAR", "node": "INTEGER", "parent": "INTEGER", "label": "VARCHAR"}
TAXONOMIES |= {"lower": "VARCHAR", "upper": "VARCHAR", "closed": "BOOLEAN", "shown": "BOOLEAN"}


def publish_as_it_is(engine: Engine, draft: Draft) -> Release:
    """Publish a draft whose labels and rows are made up apart, so that the release would not verify."""
    with mock.patch("ppdm_sql.release.publishing._refuse_unverified"):
        return publish(engine, draft)


def working(engine: Engine, step: str, columns: Mapping[str, str], rows: Iterable[Sequence[object]]) -> Table:
    """Make a working table of the columns and types given."""
    typed = ", ".join(f"NULL::{kind} AS {quote(name)}" for name, kind in columns.items())
    table = engine.materialize(step, f"SELECT * FROM (SELECT {typed}) WHERE false")
    for row in rows:
        engine.connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(columns))})", list(row))
    return table


@dataclass
class Tree:
    """The tree of one attribute.

    Args:
        root: Label of the root; the nodes below are added with :meth:`grow`.
        bounds: Lower bound, upper bound and whether that is included, for the labels that are intervals.
    """

    root: str
    bounds: Mapping[Label, tuple[str, str, bool]] = field(default_factory=dict)
    parents: dict[Label, Label] = field(default_factory=dict)

    def grow(self, parent: str, *children: Label) -> Tree:
        """Add children below a node."""
        self.parents |= dict.fromkeys(children, parent)
        return self

    def path(self, leaf: Label) -> list[Label]:
        """Give the labels from the root to a node."""
        labels = [leaf]
        while labels[0] != self.root:
            labels.insert(0, self.parents[labels[0]])
        return labels

    def rows(self, attribute: str, shown: Iterable[Label]) -> list[tuple[object, ...]]:
        """Give the rows of ``ppdm.taxonomies``, depth-first."""
        order = self._below(self.root)
        place = {label: number for number, label in enumerate(order)}
        cut = set(shown)
        return [
            (
                attribute,
                place[label],
                None if label == self.root else place[self.parents[label]],
                label,
                *self.bounds.get(label, (None, None, None)),
                label in cut,
            )
            for label in order
        ]

    def _below(self, label: Label) -> list[Label]:
        children = [child for child, parent in self.parents.items() if parent == label and child != self.root]
        return [label, *(below for child in children for below in self._below(child))]


def shown_at(path: Sequence[Label], attribute: str, steps: Sequence[Refinement], step: int) -> Label:
    """Say what a record shows after some steps, from the root down; the record's own path is known."""
    at = 0
    for refined, parent, children in steps[:step]:
        if refined == attribute and parent == path[at] and at + 1 < len(path) and path[at + 1] in children:
            at += 1
    return path[at]


def make_draft(
    engine: Engine,
    select: str,
    columns: Sequence[Sequence[Any]],
    rows: int,
    *,
    name: str = "safe",
    requirements: tuple[Requirement, ...] = (),
    steps: Sequence[tuple[int, str, list[Label]]] = (),
    refinements: Sequence[Refinement] = (),
    cuts: Sequence[tuple[str, Label, str]] = (),
    count: str | None = None,
    trees: Iterable[Sequence[object]] | None = None,
) -> Draft:
    """Make a draft; ``steps`` are disclosures, ``refinements`` steps of any kind, numbered from 1."""
    moves: list[tuple[object, ...]]
    moves = [(n, attribute, "*", children, 0.5, 0.25, 0.125) for n, attribute, children in steps]
    moves += [
        (n, attribute, parent, children, 0.5, 0.25, 0.125)
        for n, (attribute, parent, children) in enumerate(refinements, start=1)
    ]
    return Draft(
        name=name,
        method="PDA",
        source="people",
        requirements=requirements,
        parameters={"class": "Rating"},
        stopped="complete",
        select=select,
        count=count,
        columns=tuple(ReleasedColumn(*column) for column in columns),
        symbol="*",
        number=rows,
        steps=working(engine, "steps", STEPS, moves),
        cuts=working(engine, "cuts", CUTS, cuts),
        measures=(("confidence", 0.8, 0.25), ("rows changed", None, 19.0)),
        taxonomies=None if trees is None else working(engine, "taxonomies", TAXONOMIES, trees),
    )
