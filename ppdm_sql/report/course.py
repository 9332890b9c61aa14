"""How a top-down release came about: its cuts as trees, its steps as curves; for the owner."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from ppdm_sql.release import Release, Step
from ppdm_sql.release.cut_tree import Node
from ppdm_sql.report.page import Block, Branch, Chapter, Numbers, Picture
from ppdm_sql.report.sides import ValueCount
from ppdm_sql.report.subject import Subject
from ppdm_sql.report.words import Cell, count, measure, several

MOST_CHILDREN = 50
"""Children of a node that a tree lists at most."""
MOST_LEVELS = 60
"""Levels of a tree that are listed at most: an interval can lose its values one by one."""
MOST_STEPS = 200
MOST_NAMED = 6
MOST_POINTS = 300


def course(subject: Subject, release: Release) -> Chapter:
    """Show the trees with what the release shows of them, and the gain of each step."""
    if not subject.shape.stepwise:
        return Chapter("course", "How it came about", [])
    return Chapter("course", "How it came about", [_trees(subject, release), _steps(subject, release)])


# -- trees ------------------------------------------------------------------------------------


def _trees(subject: Subject, release: Release) -> Block:
    nodes: dict[str, list[Node]] = defaultdict(list)
    for node in release.cut():
        nodes[node.attribute].append(node)
    trees = []
    for item in subject.columns("suppressed", "generalized"):
        if found := nodes.get(item.name):
            counts = subject.after.counts(item.name)
            every = counts.values == len(counts.listed)  # else what is not listed is there, too
            none = dict.fromkeys([node.label for node in found if every and node.shown], 0)
            records = {**none, **_records(counts.listed)}
            trees.append((item.name, _branch(found[0], _children(found), records)))
    said = ["The release shows the coloured values; what stands above them was specialized on the way."]
    return Block("What is shown of each column", sentences=said if trees else (), trees=trees)


def _records(counted: Sequence[ValueCount]) -> Mapping[str | None, int]:
    return {one.value: one.records for one in counted}


def _children(nodes: Sequence[Node]) -> Mapping[int, list[Node]]:
    found: dict[int, list[Node]] = defaultdict(list)
    for node in nodes:
        if node.parent is not None:
            found[node.parent].append(node)
    return found


def _branch(
    node: Node, children: Mapping[int, list[Node]], records: Mapping[str | None, int], depth: int = 0
) -> Branch:
    """Make a branch of a node and of all below it."""
    below = children.get(node.node, [])
    if below and depth == MOST_LEVELS:
        return Branch(node.label, "and what is below it", node.shown, is_open=False)
    listed = [_branch(child, children, records, depth + 1) for child in below[:MOST_CHILDREN]]
    if len(below) > MOST_CHILDREN:
        listed.append(Branch(f"{several(len(below) - MOST_CHILDREN, 'value')} more"))
    note = ""
    if node.shown and node.label in records:
        note = several(records[node.label], "record")
    is_open = depth < 2 and len(below) <= MOST_CHILDREN // 2
    return Branch(node.label, note, node.shown, listed, is_open)


# -- steps ------------------------------------------------------------------------------------


def _steps(subject: Subject, release: Release) -> Block:
    steps = release.steps()
    if not steps:
        said = "No step could be made: the release shows its most general state."
        return Block("The steps", sentences=[said])
    known = [step for step in steps if step.gain is not None]
    return Block("The steps", pictures=_gains(subject, known, release.row().parameters.get("class")))


def _gains(subject: Subject, steps: Sequence[Step], label: str | None) -> list[Picture]:
    """Draw what each step gained: information about the class, or certainty where there is none."""
    if not steps:
        return []
    cells: list[list[Cell]] = [
        [count(step.step), step.attribute, step.parent, _written(step.children), measure(step.gain)]
        for step in steps[:MOST_STEPS]
    ]
    left_out = len(steps) - len(cells)
    every = -(-len(steps) // MOST_POINTS)
    rows = [{"step": step.step, "amount": step.gain} for step in steps[::every]]
    return [
        Picture(
            "Gain of each step",
            subject.drawing.draw("steps", rows, up="gain, in bits" if label else "gain, as a share"),
            f"The gain of {several(len(steps), 'step')}, "
            + ("in bits about the class." if label else "as the fall of the certainty penalty."),
            Numbers(["step", "column", "from", "to", "gain"], cells),
            (f"Every {every}th step is drawn. " if every > 1 else "")
            + (f"The table leaves out {several(left_out, 'step')}." if left_out > 0 else ""),
        )
    ]


def _written(children: Sequence[str | None]) -> str:
    """Write the labels that a step brought, the first of them."""
    named = "; ".join("NULL" if child is None else str(child) for child in children[:MOST_NAMED])
    return named + (f" and {len(children) - MOST_NAMED} more" if len(children) > MOST_NAMED else "")
