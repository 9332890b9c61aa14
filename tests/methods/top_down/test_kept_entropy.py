"""HCE-TDR where records may be left out: gains are of the release, in which they are one class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import log2

import duckdb
import pytest

import ppdm_sql

COLUMNS = ("animal", "job", "town")
K, SHARE = 5, 0.08
Disclosed = dict[str, set[str]]


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as opened:
        opened.execute(
            "CREATE TABLE people AS SELECT 'a' || least(hash(i) % 9, 4) AS animal, "
            "'j' || least(hash(i, 1) % 12, 6) AS job, 't' || (hash(i, 2) % 4)::INTEGER AS town, "
            "CASE WHEN (hash(i) % 9 + hash(i, 1) % 12 + hash(i, 3) % 5) % 3 = 0 THEN 'good' ELSE 'bad' END "
            "AS label FROM range(400) t(i)"
        )
        yield opened


def entropy(rows: list[tuple[str, ...]], disclosed: Disclosed) -> tuple[float, int]:
    """The entropy of the class in a state, what is left out as one class; and how many records that is."""
    classes: dict[tuple[str, ...], Counter[str]] = {}
    for *cells, label in rows:
        shown = [v if v in disclosed[c] else "*" for c, v in zip(COLUMNS, cells, strict=True)]
        classes.setdefault(tuple(shown), Counter())[label] += 1
    left = sum((of for of in classes.values() if of.total() < K), Counter[str]())
    kept = [of for of in classes.values() if of.total() >= K]
    bits = sum(n * log2(of.total() / n) for of in (*kept, left) for n in of.values())
    return bits / len(rows), left.total()


def test_every_gain_is_the_fall_of_the_entropy_with_what_is_left_out_as_one_class(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    release = ppdm_sql.open(connection).generalize(
        "people",
        [f"k >= {K} on {', '.join(COLUMNS)}"],
        class_column="label",
        into="safe",
        method="hce-tdr",
        suppress_records=SHARE,
        score="paper",
    )
    rows = connection.execute(f"SELECT {', '.join(COLUMNS)}, label FROM people").fetchall()
    disclosed: Disclosed = {name: set() for name in COLUMNS}
    before, left = entropy(rows, disclosed)
    for step in release.steps():
        disclosed[step.attribute] |= set(step.children) - {"*"}
        after, left = entropy(rows, disclosed)
        assert step.gain == pytest.approx(before - after, abs=1e-9)
        before = after
    assert left == release.row().left_out
    assert left > 0
    # where it stopped, whatever else could be disclosed leaves out too much, or tells less than it costs
    values = {name: {row[place] for row in rows} for place, name in enumerate(COLUMNS)}
    others = [(name, value) for name in COLUMNS for value in values[name] - disclosed[name]]
    worse = 0
    for name, value in others:
        then, out = entropy(rows, {**disclosed, name: disclosed[name] | {value}})
        worse += out <= SHARE * len(rows)
        assert out > SHARE * len(rows) or then > before
    assert worse, "some step that would be valid was not taken, since it costs more than it tells"


def test_conditions_and_distances_are_told_by_all_records(connection: duckdb.DuckDBPyConnection) -> None:
    release = ppdm_sql.open(connection).generalize(
        "people",
        [f"k >= {K} on animal, job"],
        class_column="label",
        into="safe",
        method="hce-tdr",
        condition=["town"],
        suppress_records=SHARE,
        score="paper",
    )
    assert release.verify().holds
    assert release.steps()
