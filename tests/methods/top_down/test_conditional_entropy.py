"""HCE-TDR's gains, which cost a scan each."""

from __future__ import annotations

from collections.abc import Sequence
from unittest import mock

import duckdb
import numpy as np
from numpy.typing import NDArray

from ppdm_sql.engine import Engine
from ppdm_sql.methods.base.arrays import Floats
from ppdm_sql.methods.top_down.counts import CountTable
from ppdm_sql.methods.top_down.cuts import Candidate, Cuts
from ppdm_sql.methods.top_down.gains import ConditionalEntropy
from ppdm_sql.methods.top_down.generalize import generalize
from ppdm_sql.methods.top_down.request import GeneralizeRequest
from ppdm_sql.privacy import Formula
from ppdm_sql.progress import SilentProgress


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


def test_gains_of_all_columns_measured_together_are_those_measured_column_by_column() -> None:
    measured = CountTable.after

    def by_column(
        self: CountTable, cuts: Cuts, candidates: Sequence[Candidate], formulas: Sequence[Formula]
    ) -> NDArray[np.float64]:
        found = [measured(self, cuts, [candidate], formulas) for candidate in candidates]
        return np.concatenate(found)

    together = gains()
    with mock.patch.object(CountTable, "after", by_column):
        expected = gains()
    assert len(together) > 30
    assert together == expected


def gains() -> dict[tuple[bytes, Candidate], float]:
    """Give all gains that a run over four columns asks for, one suppressed, by state and candidate."""
    found = dict[tuple[bytes, Candidate], float]()
    measured = ConditionalEntropy.of

    def recorded(self: ConditionalEntropy, cuts: Cuts, candidates: Sequence[Candidate]) -> Floats:
        gained = measured(self, cuts, candidates)
        state = b"|".join(cut.parts.tobytes() for cut in cuts)
        found.update(zip([(state, candidate) for candidate in candidates], gained.tolist(), strict=True))
        return gained

    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute(
            "CREATE TABLE people AS SELECT (hash(i) % 30)::INTEGER AS Age, "
            "(hash(i, 1) % 20)::INTEGER AS Hours, "
            "(hash(i, 2) % 9)::INTEGER AS Gain, 's' || i % 3 AS Shift, i % 2 AS Night, "
            "CASE WHEN hash(i) % 30 < 10 OR hash(i, 1) % 20 < 5 THEN 'Y' ELSE 'N' END AS Class "
            "FROM range(400) AS r(i)"
        )
        request = GeneralizeRequest(
            into="r", require=["k >= 6 on Age, Hours, Gain, Shift"], class_column="Class", method="hce-tdr",
            condition=["Night"], suppress=["Shift"],
        )  # fmt: skip
        with mock.patch.object(ConditionalEntropy, "of", recorded):
            generalize(Engine(connection), "people", request, SilentProgress())
    return found
