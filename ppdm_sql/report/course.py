"""How a top-down release came about: its cuts as trees, its steps as curves; for the owner."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from sqlglot import exp

from ppdm_sql.audit import findings
from ppdm_sql.engine.names import alias, column, free_name
from ppdm_sql.engine.statements import render
from ppdm_sql.privacy.requirement import Counts, Requirement
from ppdm_sql.release import Release, ReleasedColumn, Step
from ppdm_sql.release.cut_tree import Node
from ppdm_sql.release.layout import Shape
from ppdm_sql.release.states import state
from ppdm_sql.report.page import Block, Branch, Chapter, Numbers, Picture
from ppdm_sql.report.sides import ValueCount
from ppdm_sql.report.subject import Subject
from ppdm_sql.report.words import Cell, count, measure, several, share

MOST_CHILDREN = 50
"""Children of a node that a tree lists at most."""
ALL_STATES, SOME_STATES, ROWS_OF_STATES = 12, 8, 3_000_000
"""Up to how many states are all audited, how many of more are, and the rows of all of them together."""
MOST_CURVES = 4
MOST_STEPS = 200
MOST_NAMED = 6
MOST_POINTS = 300


def course(subject: Subject, release: Release) -> Chapter:
    """Show the trees with what the release shows of them, the gain of each step and the worst requirement."""
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
            records = _records(subject.after.counts(item.name).listed)
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
    return Block(
        "The steps",
        pictures=[
            *_gains(subject, known, release.row().parameters.get("class")),
            *_worst(subject, len(steps)),
        ],
    )


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
    look: dict[str, object] = {
        "up": "gain, in bits" if label else "gain, as a share",
        "scale": "linear",
        "ticks": None,
        "format": ".2~f",
        "limits": [],
    }
    return [
        Picture(
            "Gain of each step",
            subject.drawing.draw("steps", rows, **look),
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


def _worst(subject: Subject, steps: int) -> list[Picture]:
    """Audit some of the states on the way, and draw what each requirement had reached there."""
    # The catalogue holds the last cut only, by which a population is mapped.
    wanted = [one for one in subject.requirements if one.population is None][:MOST_CURVES]
    if not wanted or subject.shape.person is not None:  # the states on the way are collapsed, without persons
        return []
    shape = _collapsed(subject, wanted)
    rows = max(1, _rows(subject, shape))
    wanted_states = steps + 1 if steps < ALL_STATES else SOME_STATES
    most = max(2, min(wanted_states, ROWS_OF_STATES // rows))
    spread = {round(steps * i / (most - 1)) for i in range(most)}
    at = sorted(spread if steps >= most else range(steps + 1))
    reached: list[list[float]] = []
    for step in at:
        then = subject.engine.materialize("state", state(shape, exp.Literal.number(step)))
        found = findings(subject.engine, then, wanted, count=shape.count)
        subject.engine.discard(then)
        reached.append([one.reached for one in found])
    return [
        _curve(subject, one, list(zip(at, (row[place] for row in reached), strict=True)))
        for place, one in enumerate(wanted)
    ]


def _collapsed(subject: Subject, wanted: Sequence[Requirement]) -> Shape:
    """Collapse the release over its masked columns and those of the requirements; one scan of it.

    With fewer columns many rows are equal, so that earlier states are soon audited.
    """
    shape = subject.shape
    named = {name for one in wanted for name in (*one.attributes, *one.sensitive_columns)} | {*shape.masked}
    kept = [item for item in shape.columns if item.name in named]
    count_column = free_name("records", shape.names)
    query = exp.select(*(column(item.name, "f") for item in kept)).from_(shape.stored())
    query = query.select(alias(shape.records("f"), count_column))
    query = query.group_by(*(exp.Literal.number(place) for place in range(1, len(kept) + 1)))
    table = subject.engine.materialize("collapsed", query)
    columns = (*kept, ReleasedColumn(count_column, "count"))
    return Shape(shape.name, shape.catalog, shape.schema, columns, count_column, shape.symbol, working=table)


def _rows(subject: Subject, shape: Shape) -> int:
    query = exp.select(exp.Count(this=exp.Star())).from_(shape.stored())
    ((rows,),) = subject.engine.query(render(query), step="rows")
    return int(rows)


def _curve(subject: Subject, requirement: Requirement, points: Sequence[tuple[int, float]]) -> Picture:
    limit = float(requirement.limit)
    sizes = requirement.counts is Counts.RECORDS
    percent = requirement.counts is Counts.PROTECTED
    words = "smallest class" if sizes else "highest confidence" if percent else f"worst {requirement.form}"
    write = share if percent else count if sizes else measure
    cells: list[list[Cell]] = [[count(step), write(amount)] for step, amount in points]
    svg = subject.drawing.draw(
        "steps",
        [{"step": step, "amount": amount} for step, amount in points],
        up=words,
        scale="log" if sizes else "linear",
        ticks=[step * 10**power for power in range(10) for step in (1, 2, 5)] if sizes else None,
        format=".0%" if percent else "~s",
        limits=[{"limit": limit}],
    )
    return Picture(
        f"{words.capitalize()} after each step",
        svg,
        f"{requirement}: {words} from {write(points[0][1])} to {write(points[-1][1])}; "
        f"the limit is {write(limit)}.",
        Numbers(["step", words], cells),
        f"{requirement}. The dashed line is the limit."[:200],
    )
