"""Counts of parts that share a number."""

from __future__ import annotations

import random
from unittest import mock

import duckdb
import numpy as np
import pytest

import ppdm_sql
from ppdm_sql.engine.names import Table
from ppdm_sql.methods.top_down import groupings, loop
from ppdm_sql.methods.top_down.swept_parts import SweptParts, sweep_sql
from ppdm_sql.privacy import ValueCounts, parse

SIZES = 12, 3, 5


@pytest.mark.parametrize("most", [1, 1000, 10**9, 10**13])
def test_each_candidate_is_measured_as_if_it_were_alone(most: int) -> None:
    rnd = random.Random(most)
    rows = [
        (tuple(rnd.randrange(size) for size in SIZES), rnd.choice("ab"), n, rnd.randint(0, n))
        for n in (rnd.randint(1, most) for _ in range(60))
    ]
    parts, of_code = list[tuple[int, range]](), {i: np.full(size, -1) for i, size in enumerate(SIZES)}
    for i, number in ((0, 2), (0, 3), (1, 2), (2, 4)):
        made = range(sum(len(m) for _, m in parts), sum(len(m) for _, m in parts) + number)
        free = np.flatnonzero(of_code[i] < 0)
        taken = free if i else free[: 3 * number]
        of_code[i][taken] = [made[place % number] for place in range(len(taken))]
        parts.append((i, made))
    swept = SweptParts(parts, of_code, sum(row[-2] for row in rows))
    formulas = [
        parse("k >= 2 on x").formula(ValueCounts()),
        parse("x -> y = z <= 50%").formula(ValueCounts(["p0"])),
    ]
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE counts (c0 USMALLINT, c1 USMALLINT, c2 USMALLINT, c3 VARCHAR, n BIGINT, p0 BIGINT)"
        )
        given = [(*codes, *rest) for codes, *rest in rows]
        connection.executemany("INSERT INTO counts VALUES (?, ?, ?, ?, ?, ?)", given)
        text, params = sweep_sql(Table("counts"), [[3]], swept, formulas)
        grouped = text.replace("$key3[c3 + 1]", "ascii(c3)")
        row = connection.execute(grouped, params).fetchone()
    wanted = list[float]()
    for i, made in parts:
        sizes, held = dict[tuple[str, int], int](), dict[tuple[str, int], int]()
        for codes, group, n, p0 in rows:
            # what a candidate does not touch goes with its last part, which is the rest of the group
            part = int(of_code[i][codes[i]])
            place = group, part if part in made[:-1] else made[-1]
            sizes[place] = sizes.get(place, 0) + n
            held[place] = held.get(place, 0) + p0
        wanted += [min(sizes.values()), max(held[place] / sizes[place] for place in sizes)]
    assert list(row or ()) == wanted


def test_counts_of_a_population_that_is_larger_than_the_table_do_not_run_over() -> None:
    steps = []
    for least in (0, 10**9):
        with (
            duckdb.connect() as connection,
            mock.patch.object(groupings, "WORTH_SWEEPING", least),
            mock.patch.object(loop, "SHORTEST", 10**9),  # the candidates are measured, no way ahead of them
        ):
            people = "SELECT i % 10 AS x, i % 7 AS y, i % 10 < 5 AND i % 7 < 4 AS c FROM range({}) AS r(i)"
            connection.execute(f"CREATE TABLE t AS {people.format(60)}")
            connection.execute(f"CREATE TABLE p AS {people.format(50_000)}")
            asked = ["k-map >= 4000 on x, y in p", "k >= 2 on x, y"]
            release = ppdm_sql.open(connection).generalize("t", asked, class_column="c", into="r")
            steps.append([(step.attribute, step.children, step.score) for step in release.steps()])
            assert release.verify().holds
    assert steps[0] == steps[1]
    assert len(steps[0]) > 1
