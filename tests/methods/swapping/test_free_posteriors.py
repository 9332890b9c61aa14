"""A look at free records in memory finds what the look at their table finds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import duckdb
import numpy as np
import pytest

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.methods.swapping import free_posteriors
from ppdm_sql.methods.swapping.free_posteriors import FreePosteriors, distinct
from ppdm_sql.methods.swapping.lagrangian_prices import FixedFlows, Prices, SwapConstraints
from ppdm_sql.methods.swapping.marginal_deviation import Demand
from ppdm_sql.methods.swapping.record_classes import EVERYTHING, Boxes, FreeRecords, restrict

ROWS = 3000
CONSTRAINTS = SwapConstraints(
    Demand(*(np.full(3, n, dtype=np.int64) for n in (400, 100)), 300, *(np.full(3, n) for n in (0, 400))),
    0,
    None,
)
SOME = """
SELECT
    (i % 6)::USMALLINT AS kind,
    (hash(i % 700) % 90)::INTEGER AS true_posterior,
    CASE WHEN i % 3 = 0 THEN -2000000000 ELSE hash(i % 700, 0) % 100 END::INTEGER AS p0,
    CASE WHEN i % 3 = 1 THEN -2000000000 ELSE hash(i % 700, 1) % 100 END::INTEGER AS p1,
    CASE WHEN i % 3 = 2 THEN -2000000000 ELSE hash(i % 700, 2) % 100 END::INTEGER AS p2
FROM range(getvariable('rows')) AS r (i)
"""


@pytest.fixture
def engine() -> Iterator[Engine]:
    with duckdb.connect() as con:
        yield Engine(con)


def free_records(engine: Engine, rows: int) -> FreeRecords:
    engine.connection.execute(f"SET VARIABLE rows = {rows}")
    engine.connection.execute(f"CREATE TABLE candidates AS {SOME}")
    fixed = FixedFlows(np.arange(18).reshape(6, 3), (5, 6, 7))
    return FreeRecords(Table("candidates"), rows, fixed, Prices.zero(3), Boxes.even(3, EVERYTHING))


@pytest.mark.parametrize(
    "prices",
    [Prices((0, 0, 0), (0, 0, 0)), Prices((10, 0, -20), (30, 20, 10)), Prices((0, 10**10, 0), (9,) * 3)],
)
@pytest.mark.parametrize("box", [0, 12, 80, 10**9, EVERYTHING // 2])
@pytest.mark.parametrize("rounded", [False, True])
@pytest.mark.parametrize("most", [None, 20])
def test_a_look_in_memory_finds_what_the_statement_finds(
    engine: Engine,
    prices: Prices,
    box: int,
    rounded: bool,
    most: int | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(free_posteriors, "BLOCK", 100)
    free = free_records(engine, ROWS)
    held = replace(free, posteriors=FreePosteriors.read(engine, free.table, 3))
    boxes = Boxes(np.array([box, 0, box]), np.array([box, box, 2 * box]))
    one, other = (
        restrict(engine, records, prices, boxes, CONSTRAINTS, rounded=rounded, most=most)
        for records in (free, held)
    )
    assert (one.bound, one.found, one.free, one.exact) == (other.bound, other.found, other.free, other.exact)
    for name in ("entering", "leaving"):
        assert getattr(one, name).tolist() == getattr(other, name).tolist()
    for name in ("kinds", "records", "reduced_costs"):
        assert getattr(one.classes, name).tolist() == getattr(other.classes, name).tolist()
    assert one.free + one.entering.sum() >= 153  # not nothing was compared


def test_a_look_at_no_records_finds_nothing(engine: Engine) -> None:
    free = free_records(engine, 0)
    held = replace(free, posteriors=FreePosteriors.read(engine, free.table, 3))
    found = restrict(engine, held, Prices.zero(3), Boxes.even(3, 80), CONSTRAINTS, rounded=True, most=4)
    assert (found.found, found.free, found.exact) == (0, 0, False)
    assert found.entering.tolist() == free.fixed.by_category.sum(axis=0).tolist()


def test_rows_are_told_apart_by_numbers_that_do_not_fit_in_one() -> None:
    random = np.random.default_rng(1)
    columns = [random.integers(-1, 3, 500), *(random.integers(-1, 2, 500) * 2**60 for _ in range(3))]
    columns = [np.maximum(-1, column) for column in columns]
    order, begins = distinct(columns)
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    assert [rows[place] for place in order] == sorted(rows)
    assert [rows[place] for place in order[begins]] == sorted(set(rows))
