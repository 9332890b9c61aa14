"""A release of a staff list with every kind of masked column, made by hand; its names and labels hurt."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from drafts import Label, Refinement, Tree, make_draft, shown_at, working
from filling import fill, quote

from ppdm_sql.engine import Engine
from ppdm_sql.privacy import Requirement
from ppdm_sql.release import Draft

JOB, AGE, CITY, PAY, HIRED = 'Job "it\'s"', "select", "Städte; --", "step", "f"
MASKED = (JOB, AGE, CITY, PAY, HIRED)
TYPES = {JOB: "VARCHAR", AGE: "INTEGER", CITY: "VARCHAR", PAY: "DOUBLE", HIRED: "TIMESTAMP"}
READ = {AGE: int, PAY: float, HIRED: datetime.fromisoformat}
BLUE, WHITE = 'Blue "collar"', "White'; DROP TABLE people; --"

WHOLE_AGE, YOUNG, OLDER, MIDDLE, OLD = "[17, 98]", "[17, 37)", "[37, 98]", "[37, 52)", "[52, 98]"
WHOLE_PAY, LOW, HIGH = "[-1e-05, 99.5]", "[-1e-05, 12.25)", "[12.25, 99.5]"
FIRST, MIDST, LAST = "2020-01-01 00:00:00", "2022-06-30 08:15:00", "2025-01-01 00:00:00"
EVER, EARLY, LATE = f"[{FIRST}, {LAST})", f"[{FIRST}, {MIDST})", f"[{MIDST}, {LAST})"

INTERVALS = {
    AGE: {
        label: (*label[1:-1].split(", "), label[-1] == "]")
        for label in (WHOLE_AGE, YOUNG, OLDER, MIDDLE, OLD)
    },
    PAY: {label: (*label[1:-1].split(", "), label[-1] == "]") for label in (WHOLE_PAY, LOW, HIGH)},
    HIRED: {label: (*label[1:-1].split(", "), label[-1] == "]") for label in (EVER, EARLY, LATE)},
}
TREES = {
    JOB: Tree("ANY")
    .grow("ANY", BLUE, WHITE, None)
    .grow(BLUE, "Janitor", "Mover's")
    .grow(WHITE, "Manager", "Accountant", "NULL"),
    AGE: Tree("*", INTERVALS[AGE])
    .grow("*", WHOLE_AGE, None)
    .grow(WHOLE_AGE, YOUNG, OLDER)
    .grow(OLDER, MIDDLE, OLD),
    CITY: Tree("*").grow("*", "Ulm", None),
    PAY: Tree(WHOLE_PAY, INTERVALS[PAY]).grow(WHOLE_PAY, LOW, HIGH),
    HIRED: Tree(EVER, INTERVALS[HIRED]).grow(EVER, EARLY, LATE),
}
REFINEMENTS: list[Refinement] = [
    (JOB, "ANY", [BLUE, WHITE, None]),
    (AGE, "*", [WHOLE_AGE, None]),
    (CITY, "*", ["Ulm"]),
    (AGE, WHOLE_AGE, [YOUNG, OLDER]),
    (PAY, WHOLE_PAY, [LOW, HIGH]),
    (JOB, WHITE, ["Manager", "Accountant", "NULL"]),
    (CITY, "*", [None]),
    (HIRED, EVER, [EARLY, LATE]),
    (AGE, OLDER, [MIDDLE, OLD]),
]
SHOWN = {
    JOB: [BLUE, "Manager", "Accountant", "NULL", None],
    AGE: [YOUNG, MIDDLE, OLD, None],
    CITY: ["*", "Ulm", None],
    PAY: [LOW, HIGH],
    HIRED: [EARLY, LATE],
}
VALUES: dict[str, list[Any]] = {
    JOB: ["Janitor", "Mover's", "Manager", "Accountant", None],
    AGE: [17, 36, 37, 51, 52, 98, None],
    CITY: ["Ulm", "Bern", "Köln", None],
    PAY: [-1e-05, 0.0, 12.2, 12.25, 99.5],
    HIRED: [datetime.fromisoformat(text) for text in (FIRST, "2022-06-30 08:14:59.5", MIDST)],
}
Record = tuple[Any, ...]


def records(number: int = 60, seed: int = 1) -> list[Record]:
    """Make records: a value of each masked column, and a class."""
    chosen = random.Random(seed)
    return [
        (*(chosen.choice(VALUES[name]) for name in MASKED), chosen.choice(["good", "bad"]))
        for _ in range(number)
    ]


def leaf(name: str, value: Any) -> Label:
    """Find the leaf of a value, the root where there is none."""
    tree = TREES[name]
    inner = set(tree.parents.values())
    if value is None or name in (JOB, CITY):
        return value if value in tree.parents and value not in inner else tree.root
    for label, (lower, upper, closed) in INTERVALS[name].items():
        low, high = (READ[name](bound) for bound in (lower, upper))
        if label not in inner and (low <= value < high or (closed and value == high)):
            return label
    return tree.root


def masked(record: Record, step: int = len(REFINEMENTS)) -> list[Label]:
    """Say what a record shows after a step."""
    return [
        shown_at(TREES[name].path(leaf(name, value)), name, REFINEMENTS, step)
        for name, value in zip(MASKED, record, strict=False)
    ]


def released(record: Record, step: int = len(REFINEMENTS)) -> Record:
    """Give the released row of a record, in the order of :data:`COLUMNS`."""
    row: list[Any] = []
    for name, label in zip(MASKED, masked(record, step), strict=True):
        row.append(label)
        if name in INTERVALS:
            bounds = INTERVALS[name].get(label)
            row += [None, None] if bounds is None else [READ[name](bound) for bound in bounds[:2]]
    return (*row, *record[len(MASKED) :])


def expected(rows: Sequence[Record], step: int = len(REFINEMENTS)) -> Counter[Record]:
    """Count the released rows of some records."""
    return Counter(released(row, step) for row in rows)


def _columns() -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = []
    for name in MASKED:
        treatment = "suppressed" if name == CITY else "generalized"
        found.append((name, treatment, False, TREES[name].root))
        if name in INTERVALS:
            found.append((f"{name}_lower", "lower bound", False, None, name, TYPES[name]))
            found.append((f"{name}_upper", "upper bound", False, None, name, TYPES[name]))
    return [*found, ("Rating", "class")]


COLUMNS = _columns()
NAMES = [column[0] for column in COLUMNS]
FROZEN_TYPES = {column[0]: column[5] if len(column) > 5 else "VARCHAR" for column in COLUMNS}


def write(engine: Engine, table: str, rows: Sequence[Record], *, count: bool = False) -> None:
    """Write records as a table, with a column nobody asked for; ``count`` makes each row two records."""
    columns = TYPES | {"Rating": "VARCHAR", "secret": "VARCHAR"} | ({"n": "INTEGER"} if count else {})
    more = ["a secret", *([2] if count else [])]
    fill(engine.connection, table, columns, [[*row, *more] for row in rows])


def draft(
    engine: Engine,
    rows: Sequence[Record],
    *,
    count: bool = False,
    packed: bool = False,
    name: str = "safe",
    requirements: tuple[Requirement, ...] = (),
    with_trees: bool = True,
) -> Draft:
    """Make the draft of the release of some records."""
    final = expected(rows)
    types = FROZEN_TYPES | ({"n": "BIGINT"} if count else {})
    frozen = [(*row, 2 * n) for row, n in final.items()] if count else list(final.elements())
    table = working(engine, "frozen", types, frozen)
    columns = [*COLUMNS, *([("n", "count")] if count else [])]
    select = f"SELECT * FROM {table} ORDER BY ALL"
    if packed:
        enum = engine.enumerate_values(
            f"SELECT DISTINCT {quote(JOB)} FROM {table} WHERE {quote(JOB)} NOT NULL"
        )
        select = f"SELECT * REPLACE ({quote(JOB)}::{enum} AS {quote(JOB)}) FROM {table} ORDER BY ALL"
        columns[0] = (*columns[0][:2], True, *columns[0][3:])
    trees = [row for name in MASKED for row in TREES[name].rows(name, SHOWN[name])]
    cities = {row[MASKED.index(CITY)] for row in rows}
    return make_draft(
        engine,
        select,
        columns,
        len(rows) * (2 if count else 1),
        name=name,
        requirements=requirements,
        refinements=REFINEMENTS,
        cuts=[(CITY, city, city if city in ("Ulm", None) else "*") for city in cities],
        count="n" if count else None,
        trees=trees if with_trees else None,
    )
