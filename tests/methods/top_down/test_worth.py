"""What a release is worth, as it is recorded when it is published."""

from __future__ import annotations

from collections import Counter
from math import log, log2
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ppdm_sql
from ppdm_sql.methods.top_down.information_loss import information_beyond_chance
from ppdm_sql.methods.top_down.score import entropy
from ppdm_sql.progress import SilentProgress

QUIET: dict[str, Any] = {"progress": SilentProgress()}


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2)), max_size=40))
def test_information_beyond_chance_is_the_sum_over_pairs_less_its_mean_by_chance(
    records: list[tuple[int, int]],
) -> None:
    pairs, rows, columns = Counter(records), Counter(r for r, _ in records), Counter(c for _, c in records)
    n = max(len(records), 1)
    plain = sum(m / n * log2(m * n / (rows[r] * columns[c])) for (r, c), m in pairs.items())
    chance = (max(len(rows), 1) - 1) * (max(len(columns), 1) - 1) / (2 * n * log(2))
    counts = np.zeros((5, 3), dtype=np.int64)
    for place in records:
        counts[place] += 1
    assert information_beyond_chance(counts) == pytest.approx(max(0.0, plain - chance), abs=1e-9)


def test_a_column_that_has_nothing_to_do_with_the_class_tells_nothing_of_it() -> None:
    """Values of eight records each, and a coin for the class: uncorrected, they seem to tell a tenth."""
    drawn = np.random.default_rng(1).multinomial(8, [1 / 2, 1 / 2], size=400).astype(np.int64)
    raw = float(entropy(drawn.sum(axis=0)) - entropy(drawn).mean())
    assert raw > 0.08
    assert information_beyond_chance(drawn) < 0.02


@pytest.mark.parametrize("allowed", [0, "5%"])
def test_the_detail_kept_is_that_of_the_released_cells(allowed: float | str) -> None:
    """Counted on the released rows themselves, by what a label hides of its column."""
    with duckdb.connect() as con:
        con.execute(
            "CREATE TABLE t AS SELECT if(i < 4, 'teal', ['red', 'pink', 'blue'][1 + i % 3]) AS colour, "
            "if(i = 99, 'ring', ['disc', 'cube'][1 + i % 2]) AS shape, 'one' AS same FROM range(200) r (i)"
        )
        tree = {"any": {"warm": ["red", "pink"], "cold": ["blue", "teal"]}}
        release = ppdm_sql.open(con).generalize(
            "t",
            ["k >= 20 on colour, shape, same"],
            taxonomies={"colour": tree},
            suppress_records=allowed,
            into="safe",
            **QUIET,
        )
        rows = con.sql("SELECT colour, shape, same FROM safe").fetchall()
        found = {m.measure: (m.before, m.after) for m in release.measures()}
    hidden = {"any": 1.0, "warm": 1 / 3, "cold": 1 / 3, "*": 1.0}
    kept = sum(1 - hidden.get(cell, 0.0) for row in rows for cell in row)
    assert found["detail kept"] == (1.0, pytest.approx(kept / (3 * 200)))
    labels = [len(set(column)) for column in zip(*rows, strict=True)]
    assert found["columns that show something"] == (2.0, sum(number > 1 for number in labels))
