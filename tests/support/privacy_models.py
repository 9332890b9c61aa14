"""What the tests of privacy models share: small random tables, and releases of them by every method."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import duckdb
import pytest
from definitions import Row
from filling import fill
from hypothesis import assume
from hypothesis import strategies as st
from oracle import PDA, Crowd, NoSolution, Source, Values

import ppdm_sql

VALUES = st.sampled_from(["flu", "cold", "hiv", None])
ROWS = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from(["x", "y", None]), VALUES), min_size=1, max_size=30
)
"""Rows of x, y and a sensitive value s."""
METHODS = ("suppress", "tds", "hce-tdr")


def opened(rows: Sequence[Row], columns: Sequence[str]) -> ppdm_sql.Database:
    """Open a database in memory with the rows in the table t."""
    connection = duckdb.connect()
    fill(connection, "t", dict.fromkeys(columns, "VARCHAR"), rows)
    return ppdm_sql.open(connection)


def class_counts(rows: Sequence[Row]) -> list[Counter[Any]]:
    """Count the sensitive values, the last column, of each class of the other columns."""
    classes: dict[Row, Counter[Any]] = defaultdict(Counter)
    for *of_class, value in rows:
        classes[tuple(of_class)][value] += 1
    return list(classes.values())


def table_of(seed: int) -> list[Row]:
    """Forty records, some values NULL, in which y tells something about s."""
    draw = random.Random(seed)
    return [
        (
            draw.choice("abc"),
            y,
            draw.choice(["flu", "flu", "cold", "hiv", None] if y == "x" else ["flu", "cold"]),
        )
        for y in (draw.choice(["x", "y", None]) for _ in range(40))
    ]


def released(rows: Sequence[Row], requirement: str, method: str) -> ppdm_sql.Release:
    """Release rows of x, y, s with a class column that follows y: ``r``, of the columns x, y, s and cls."""
    db = opened([(*row, "yes" if row[1] == "x" else "no") for row in rows], ("x", "y", "s", "cls"))
    if method == "suppress":
        return db.suppress("t", [requirement], class_column="cls", into="r", score="paper")
    return db.generalize(
        "t",
        [requirement],
        class_column="cls",
        into="r",
        method=method,
        taxonomies={"x": {"ANY": {"ab": ["a", "b"], "c": []}}},
        suppress=["y"],
        score="paper",
    )


def records_of(release: ppdm_sql.Release, columns: str = "x, y, s") -> list[Row]:
    """Give the released rows."""
    return release.relation().project(columns).fetchall()


class OneRule(PDA):
    """PDA by brute force, which measures every candidate afresh in every state, with a rule of one number.

    Args:
        rows: Of x, y, s and cls.
        number: Gives the number of a table of x, y and s; it rises as more is told.
        holds: Tells whether a table of that number may be released.
    """

    def __init__(
        self, rows: Sequence[Row], number: Callable[[Sequence[Row]], Any], holds: Callable[[Any], bool]
    ) -> None:
        source = Source(("x", "y", "s", "cls"), tuple(rows), (1,) * len(rows))
        self._number, self._holds = number, holds
        super().__init__(source, [Crowd(1, ("x", "y"))], "cls")
        self.columns = source.columns
        self.table = source.records(self.columns)
        self.fits_already = self.valid(self.measures(self.table))

    def measures(self, state: Counter[Values]) -> list[Fraction]:
        return [self._number([row[:3] for row in state.elements()])]

    def valid(self, measures: Sequence[Fraction]) -> bool:
        return self._holds(measures[0])

    def loss(self, attribute: str, now: Sequence[Fraction], then: Sequence[Fraction]) -> float:
        return float(then[0] - now[0])


def assert_steps_are_the_oracles(
    rows: Sequence[Row],
    requirement: str,
    number: Callable[[Sequence[Row]], Any],
    holds: Callable[[Any], bool],
) -> None:
    """Compare the steps of a suppression with those of an oracle that prunes nothing."""
    labelled = [(*row, "yes" if row[1] == "x" else "no") for row in rows]
    try:
        run = OneRule(labelled, number, holds).run()
    except NoSolution:
        assume(False)
        raise
    assume(not run.ambiguous)
    steps = released(rows, requirement, "suppress").steps()
    wanted = [(step.attribute, list(step.children)) for step in run.steps]
    assert [(step.attribute, list(step.children)) for step in steps] == wanted
    numbers = [(step.score, step.loss) for step in run.steps]
    assert [(step.score, step.loss) for step in steps] == [pytest.approx(pair, abs=1e-9) for pair in numbers]


def number_of(release: ppdm_sql.Release, measure: str) -> tuple[float, float]:
    """Give what a measure was in the source and is in the release."""
    (found,) = [m for m in release.measures() if m.measure.startswith(measure)]
    assert found.before is not None
    assert found.after is not None
    return found.before, found.after
