"""HCE-TDR's gains, which cost a scan each."""

from __future__ import annotations

from collections.abc import Sequence
from unittest import mock

import duckdb
import numpy as np
from numpy.typing import NDArray

from ppdm_sql.engine import Engine
from ppdm_sql.methods.top_down.counts import CountTable
from ppdm_sql.methods.top_down.cuts import Candidate, Cuts
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
