"""Small tables are measured in memory, and to the last bit as the database measures them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

import duckdb
import numpy as np
import pytest

import ppdm_sql as ppdm
from ppdm_sql.engine import Engine
from ppdm_sql.methods.base.arrays import Floats
from ppdm_sql.methods.base.collapse import collapse, counts_by_class
from ppdm_sql.methods.top_down.constraints import Constraints
from ppdm_sql.methods.top_down.cuts import Candidate, Cuts
from ppdm_sql.methods.top_down.held_counts import HeldCounts
from ppdm_sql.methods.top_down.maskings import Intervals, Suppression
from ppdm_sql.methods.top_down.measuring import GroupingMeasure
from ppdm_sql.methods.top_down.protected_values import constraints_of
from ppdm_sql.privacy import parse

MODULE = "ppdm_sql.methods.top_down.held_counts"
ASKED = ["k >= 1 on a, b, d", "a, b, d -> class = x <= 100%", "k >= 1 on b, d"]
COLUMNS = ("a", "b", "d", "class")


@contextmanager
def measured_in_database() -> Iterator[None]:
    with mock.patch(f"{MODULE}.WORTH_HOLDING", -1):
        yield


def made(records: str = "1 + hash(i, 9) % 3") -> Engine:
    """Make 600 kinds of records, each as often as the SQL says."""
    connection = duckdb.connect()
    connection.execute(
        "CREATE TABLE people AS SELECT 'a' || hash(i) % 7 AS a, (hash(i, 1) % 40)::INTEGER AS b, "
        "(hash(i, 2) % 25)::INTEGER AS d, CASE WHEN hash(i, 3) % 5 < 2 THEN 'x' ELSE 'y' END AS class, "
        "CASE WHEN hash(i, 4) % 7 < 2 THEN 'flu' ELSE 'none' END AS ill, "
        f"({records})::INTEGER AS records FROM range(600) AS r(i)"
    )
    return Engine(connection)


def numbers(engine: Engine) -> list[Floats]:
    """Measure a walk of states, and all candidates beside each, by every kind of requirement."""
    table = engine.find("people")
    columns = {column.name: column for column in engine.columns(table)}
    atoms = collapse(engine, table, [columns[n] for n in COLUMNS], [], "records", masked=(), symbol="*")
    counts = counts_by_class(engine, atoms, range(3), 3)
    a, b, d, _ = atoms.coded
    maskings = [Suppression(a, counts[0], "*"), Intervals(b, counts[1], "*"), Intervals(d, counts[2], "*")]
    horizon = [item.top.reachable(np.ones(item.ids, dtype=bool)) for item in maskings]
    constraints = Constraints(constraints_of(engine, atoms, [parse(text) for text in ASKED]), 3)
    measure = GroupingMeasure(engine, atoms, constraints, horizon, classes=3)
    state: Cuts = tuple(item.top for item in maskings)
    states, found = [state], []
    for attribute in (1, 0, 2, 0, 1, 2, 1, 0):
        (known,) = measure.chain([state])
        candidates: list[Candidate] = [(i, int(c)) for i, cut in enumerate(state) for c in cut.candidates]
        found.append(measure.after(state, known, candidates))
        cut = state[attribute].refine(int(state[attribute].candidates[0]))
        state = (*state[:attribute], cut, *state[attribute + 1 :])
        states.append(state)
    return [measure.chain(states), measure.chain(states[3:5]), measure.chain(states[::-1]), *found]


@pytest.mark.parametrize("places", [1 << 17, 8])
@pytest.mark.parametrize("records", ["1 + hash(i, 9) % 3", "hash(i, 9) % 3"])
def test_memory_and_database_measure_the_same_to_the_last_bit(places: int, records: str) -> None:
    with measured_in_database():
        expected = numbers(made(records))
    with mock.patch(f"{MODULE}.MOST_PLACES", places):
        for here, there in zip(numbers(made(records)), expected, strict=True):
            assert here.tobytes() == there.tobytes()


def steps_of(connection: duckdb.DuckDBPyConnection, asked: list[str]) -> list[object]:
    db = ppdm.open(connection)
    ranges: dict[str, tuple[object, object]] = {"b": (0, 60), "d": (0, 60)}
    release = db.generalize(
        "people", asked, class_column="class", count_column="records", into="r", ranges=ranges
    )
    return [*release.steps(), connection.execute("SELECT * FROM r ORDER BY ALL").fetchall()]


def test_a_run_comes_to_the_same_steps_and_the_same_release() -> None:
    asked = ["k >= 4 on a, b", "k >= 6 on b, d", "b, d -> ill = flu <= 80%"]
    with measured_in_database():
        expected = steps_of(made().connection, asked)
    with mock.patch.object(HeldCounts, "chain", autospec=True, side_effect=HeldCounts.chain) as chain:
        assert steps_of(made().connection, asked) == expected
    assert chain.call_count and len(expected) > 5


def test_a_table_of_more_rows_than_are_held_is_measured_in_the_database() -> None:
    with (
        mock.patch(f"{MODULE}.WORTH_HOLDING", 100),
        mock.patch.object(HeldCounts, "chain", autospec=True, side_effect=HeldCounts.chain) as chain,
    ):
        found = numbers(made())
    assert not chain.call_count
    assert [part.tobytes() for part in found] == [part.tobytes() for part in numbers(made())]
