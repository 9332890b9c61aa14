"""Old numbers only bound scores: a run takes the steps of one that measures all in every state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

import duckdb

import ppdm_sql as ppdm
from ppdm_sql.engine import Engine
from ppdm_sql.methods.top_down.loop import Refinement
from ppdm_sql.methods.top_down.ranking import RefinementStep
from ppdm_sql.progress import SilentProgress

NUMBERS = "(hash(i, {seed}, {place}) % {values})::INTEGER"


def steps(seed: int, **asked: Any) -> list[ppdm.Step]:
    numbers = [
        NUMBERS.format(seed=seed, place=place, values=(9, 17, 40)[(seed + place) % 3]) for place in range(3)
    ]
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute(
            f"CREATE TABLE t AS SELECT *, CASE WHEN hash(x + y, {seed}, 7) % 3 < 1 OR z < 3 THEN 'Y' "
            f"ELSE 'N' END AS class FROM (SELECT {numbers[0]} AS x, {numbers[1]} AS y, {numbers[2]} AS z, "
            f"chr(97 + (hash(i, {seed}, 8) % 3)::INTEGER) AS ill "
            f"FROM range({60 + seed % 90}) AS r(i))"
        )
        made = ppdm.Database(Engine(connection)).generalize(
            "t", class_column="class", into="r", progress=SilentProgress(), **asked
        )
        return made.steps()


def eagerly(best: Callable[..., RefinementStep | None]) -> Callable[..., RefinementStep | None]:
    def measured(self: Refinement, interrupted: Callable[[], bool]) -> RefinementStep | None:
        while self._measure_all():
            pass
        return best(self, interrupted)

    return measured


def test_a_run_whose_gains_are_measured_takes_the_steps_of_one_that_measures_everything() -> None:
    """Where the best boundary of an interval became invalid, the one in its place may score more."""
    asked: dict[str, Any] = {"require": ["k >= 4 on x, y, z"], "method": "hce-tdr"}
    for seed in (0, 7, 10, 13, 20, 25):
        lazy = steps(seed, **asked)
        with mock.patch.object(Refinement, "best", eagerly(Refinement.best)):
            assert lazy == steps(seed, **asked), seed
        assert lazy
