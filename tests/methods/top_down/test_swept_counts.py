"""What a sweep counts is read in memory, to the last bit as the statement reads it."""

from __future__ import annotations

import random
from unittest import mock

import duckdb
import numpy as np
import pytest

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.methods.top_down.conditional_entropy import class_entropy, times_log
from ppdm_sql.methods.top_down.count_tables import CountTable
from ppdm_sql.methods.top_down.swept_counts import PartsInMemory
from ppdm_sql.methods.top_down.swept_parts import SweptParts, sweep_sql
from ppdm_sql.privacy import Formula, ValueCounts, parse

SIZES = 3, 6
WORST = [
    parse("k >= 2 on x").formula(ValueCounts()),
    parse("x -> y = z <= 50%").formula(ValueCounts(["p0"])),
]
ENTROPY = [class_entropy(["p0", "p1"])]
KEYS: dict[str, object] = {"key0": [0, 1, 2]}


def filled(connection: duckdb.DuckDBPyConnection, most: int) -> CountTable:
    """Make a table of counts over two attributes, of whose records two values are counted."""
    rnd = random.Random(most)
    rows = list[tuple[int, ...]]()
    for _ in range(40):
        n = rnd.randint(1, most)
        p0 = rnd.choice([0, n, rnd.randint(0, n)])
        rows.append((*(rnd.randrange(size) for size in SIZES), n, p0, rnd.randint(0, n - p0)))
    connection.execute("CREATE TABLE counts (c0 USMALLINT, c1 USMALLINT, n BIGINT, p0 BIGINT, p1 BIGINT)")
    connection.executemany("INSERT INTO counts VALUES (?, ?, ?, ?, ?)", rows)
    codes = {i: np.arange(size) for i, size in enumerate(SIZES)}
    records = sum(row[2] for row in rows)
    return CountTable(Table("counts"), len(rows), records, codes, codes, ["n", "p0", "p1"])


def made(records: int) -> SweptParts:
    """Take parts of the second attribute out of their groups: two candidates of three parts, one of two."""
    of_candidates = [(1, range(3)), (1, range(3, 5))]
    return SweptParts(of_candidates, {1: np.array([0, 0, 1, 2, 3, 4])}, records)


@pytest.mark.parametrize("formulas", [WORST, ENTROPY], ids=["worst", "sums"])
@pytest.mark.parametrize("most", [1, 30, 10**6, 10**12])
def test_what_a_sweep_counts_is_read_in_memory_as_the_statement_reads_it(
    most: int, formulas: list[Formula]
) -> None:
    with duckdb.connect() as connection:
        counts = filled(connection, most)
        parts = made(counts.records)
        text, params = sweep_sql(counts.table, [[0]], parts, formulas)
        row = connection.execute(text, KEYS | params).fetchone()
        memory = PartsInMemory(Engine(connection), counts.records)
        found = memory.measure(counts, [[0]], KEYS, parts.but_rest(), {0: 3}, formulas)
    assert found is not None
    assert found.ravel().tolist() == pytest.approx(row, rel=0 if formulas is WORST else 1e-13, abs=0)
    assert found.any()


def test_counts_that_need_more_bits_than_those_of_the_state_before_are_counted_again() -> None:
    with duckdb.connect() as connection:
        counts = filled(connection, 1000)
        parts = made(counts.records).but_rest()
        engine = Engine(connection)
        memory = PartsInMemory(engine, counts.records)
        fine = memory.measure(counts, [[0]], KEYS, parts, {0: 3}, WORST)
        with mock.patch.object(engine, "arrays", wraps=engine.arrays) as asked:
            again = memory.measure(counts, [[0]], KEYS, parts, {0: 3}, WORST)
            assert asked.call_count == 1
            coarse = memory.measure(counts, [], {}, parts, {}, WORST)
            assert asked.call_count == 3
        whole = PartsInMemory(engine, counts.records).measure(counts, [], {}, parts, {}, WORST)
    assert fine is not None
    assert coarse is not None
    assert np.array_equal(again, fine)
    assert np.array_equal(coarse, whole)
    assert not np.array_equal(coarse, fine)


def test_many_groups_and_many_sums_are_left_to_the_database() -> None:
    module = "ppdm_sql.methods.top_down.swept_counts"
    with duckdb.connect() as connection:
        counts = filled(connection, 10)
        parts = made(counts.records).but_rest()
        memory = PartsInMemory(Engine(connection), counts.records)
        assert memory.serves(2, WORST)
        assert not memory.serves(1000, WORST)
        assert not memory.serves(1, [Formula("min", ("n",), lambda c: c["n"])])
        with mock.patch(f"{module}.MOST_GROUPS", 2):
            assert memory.measure(counts, [[0]], KEYS, parts, {0: 3}, WORST) is None
        with mock.patch(f"{module}.MOST_WORDS", 1):
            assert memory.measure(counts, [[0]], KEYS, parts, {0: 3}, WORST) is None
        assert memory.measure(counts, [[0]], KEYS, parts, {0: 3}, WORST) is not None


def test_logarithms_of_counts_are_those_of_the_engine() -> None:
    numbers = np.array([*range(5000), 10**6 + 3, 10**9 + 7, 10**12 + 39])
    found = duckdb.execute(
        "SELECT n * log2(greatest(n, 1)) AS x FROM (SELECT unnest($n) AS n)", {"n": numbers.tolist()}
    )
    assert times_log(numbers).tolist() == [x for (x,) in found.fetchall()]
