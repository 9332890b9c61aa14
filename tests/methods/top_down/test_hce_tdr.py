"""HCE-TDR's gains: what they cost, and what they are where records may be left out, which are one class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import log2
from unittest import mock

import duckdb
import numpy as np
import pytest
from numpy.typing import NDArray

import ppdm_sql
from ppdm_sql.engine import Engine
from ppdm_sql.methods.top_down.counts import CountTable
from ppdm_sql.methods.top_down.cuts import Candidate, Cuts
from ppdm_sql.methods.top_down.generalize import generalize
from ppdm_sql.methods.top_down.request import GeneralizeRequest
from ppdm_sql.privacy import Formula
from ppdm_sql.progress import SilentProgress

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


def test_a_gain_is_measured_once_a_state_though_boundaries_fall_in_it() -> None:
    asked: list[tuple[bytes, Candidate]] = []
    measured = CountTable.after

    def recorded(
        self: CountTable, cuts: Cuts, candidates: Sequence[Candidate], formulas: Sequence[Formula]
    ) -> NDArray[np.float64]:
        if formulas[0].total == "sum":
            state = b"|".join(cut.parts.tobytes() for cut in cuts)
            asked.extend((state, candidate) for candidate in candidates)
        return measured(self, cuts, candidates, formulas)

    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute(
            "CREATE TABLE people AS SELECT i AS Age, i % 7 AS Hours, i % 3 AS Shift, "
            "CASE WHEN i < 10 OR i % 7 < 2 THEN 'Y' ELSE 'N' END AS Class FROM range(60) AS r(i)"
        )
        request = GeneralizeRequest(
            into="r", require=["k >= 6 on Age, Hours"], class_column="Class", method="hce-tdr",
            condition=["Shift"],
        )  # fmt: skip
        with mock.patch.object(CountTable, "after", recorded):
            generalize(Engine(connection), "people", request, SilentProgress())
    assert len(asked) > 3
    assert len(asked) == len(set(asked))
