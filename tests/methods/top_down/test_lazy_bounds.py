"""Old numbers only bound scores: a run takes the steps of one that measures all candidates in every state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

import duckdb
import numpy as np
import pytest

import ppdm_sql as ppdm
from ppdm_sql.engine import Engine
from ppdm_sql.methods.top_down.interval_cuts import IntervalCut
from ppdm_sql.methods.top_down.loop import Refinement, RefinementStep
from ppdm_sql.methods.top_down.measuring import Measure
from ppdm_sql.progress import SilentProgress

NUMBERS = "(hash(i, {seed}, {place}) % {values})::INTEGER"
ASKED: dict[str, dict[str, Any]] = {
    "one set": {"require": ["k >= 4 on x, y, z"]},
    "conditional entropy": {"require": ["k >= 4 on x, y, z"], "method": "hce-tdr"},
    "two sets": {"require": ["k >= 5 on x, y", "k >= 6 on y, z"]},
    "disclosures beside intervals": {"require": ["k >= 3 on t, x", "k >= 4 on t, z, y"]},
    "disclosures of two columns": {"require": ["k >= 3 on t, u, x"]},
    "confidence": {"require": ["t, x -> ill = a <= 70%", "y, t -> ill = b <= 80%"]},
    "diversity": {"require": ["distinct l >= 2 of ill on x, t", "k >= 3 on y, t"]},
    "average": {"require": ["average risk <= 20% on x, t", "k >= 2 on y, t"]},
    "certainty": {"require": ["k >= 4 on x, t", "k >= 3 on t, y"], "class_column": None},
    "left out": {"require": ["k >= 4 on x, t, y"], "suppress_records": "4%"},
    "disclosures that leave out": {"require": ["k >= 2 on t, u, x"], "suppress_records": "15%"},
    "weighted disclosures": {
        "require": ["k >= 2 on t, u"],
        "suppress_records": "20%",
        "weights": {"t": 3},
        "limits": {"t": 9},
    },
    "diversity left out": {"require": ["distinct l >= 2 of ill on t, u"], "suppress_records": "15%"},
}
WORSE = {217: "two sets"}
"""Tables on which an old score of an interval that bounds a new one leads to worse steps."""


def steps(seed: int, asked: dict[str, Any], score: str) -> list[ppdm.Step]:
    numbers = [
        NUMBERS.format(seed=seed, place=place, values=(9, 17, 40)[(seed + place) % 3]) for place in range(3)
    ]
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute(
            f"CREATE TABLE t AS SELECT *, CASE WHEN hash(x + y, {seed}, 7) % 3 < 1 OR z < 3 THEN 'Y' "
            f"ELSE 'N' END AS class FROM (SELECT {numbers[0]} AS x, {numbers[1]} AS y, {numbers[2]} AS z, "
            f"'v' || (hash(i, {seed}, 9) % 25 * (hash(i, {seed}, 10) % 3))::VARCHAR AS t, "
            f"'w' || (hash(i, {seed}, 11) % 6)::VARCHAR AS u, "
            f"chr(97 + (hash(i, {seed}, 8) % 3)::INTEGER) AS ill FROM range({60 + seed % 90}) AS r(i))"
        )
        made = ppdm.Database(Engine(connection)).generalize(
            "t", into="r", progress=SilentProgress(), score=score, **{"class_column": "class", **asked}
        )
        return made.steps()


def move(step: ppdm.Step) -> tuple[object, ...]:
    return step.attribute, step.parent, step.children


def eagerly(best: Callable[..., RefinementStep | None]) -> Callable[..., RefinementStep | None]:
    def measured(self: Refinement, interrupted: Callable[[], bool]) -> RefinementStep | None:
        for fresh in self._fresh:
            fresh[:] = False
        for attribute, cut in enumerate(self.state.cuts):
            if self._weighs_boundaries and isinstance(cut, IntervalCut) and self._tries_others(attribute):
                ids = np.array([candidate for _, candidate in self._unknown([attribute])], dtype=np.int64)
                self._weigh_boundaries(attribute, cut, ids)
        while self._measure_all():
            pass
        return best(self, interrupted)

    return measured


@pytest.mark.parametrize(
    ("counts", "asked"),
    [
        (
            [[7, 10, 5], [0, 16, 32], [0, 29, 33], [5, 29, 32], [14, 33, 32]],
            {"detail": 0, "suppress_records": "5%"},
        ),
        ([[0, 3], [32, 0], [13, 38], [21, 0], [0, 30], [39, 3], [9, 5]], {"detail": 0}),
    ],
)
def test_a_value_that_gains_nothing_yet_may_be_the_best_along_a_path(
    counts: list[list[int]], asked: dict[str, Any]
) -> None:
    def run() -> list[ppdm.Step]:
        with duckdb.connect(config={"threads": 1}) as connection:
            rows = [(f"v{v}", f"c{c}", n) for v, own in enumerate(counts) for c, n in enumerate(own) if n]
            connection.execute("CREATE TABLE t (t VARCHAR, class VARCHAR, n INTEGER)")
            connection.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
            made = ppdm.Database(Engine(connection)).suppress(
                "t", ["k >= 2 on t"], into="r", class_column="class", count_column="n", **asked
            )
            return made.steps()

    lazy = run()
    with (
        mock.patch.object(Refinement, "best", eagerly(Refinement.best)),
        mock.patch.object(Measure, "ahead", new=False),
    ):
        assert list(map(move, run())) == list(map(move, lazy))


@pytest.mark.parametrize(("first", "score"), list(enumerate(["paper", "default"])))
@pytest.mark.parametrize("name", ASKED)
def test_a_run_takes_the_steps_of_one_that_measures_everything(name: str, first: int, score: str) -> None:
    for seed in [first, *(seed for seed, asked in WORSE.items() if asked == name)]:
        lazy = steps(seed, ASKED[name], score)
        with (
            mock.patch.object(Refinement, "best", eagerly(Refinement.best)),
            mock.patch.object(Measure, "ahead", new=False),
        ):
            eager = steps(seed, ASKED[name], score)
        assert list(map(move, lazy)) == list(map(move, eager)), seed
        assert [step.score for step in lazy] == pytest.approx([step.score for step in eager], rel=1e-9), seed
