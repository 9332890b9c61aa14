"""Columns of many suppressed values: what is decided together is what is decided one by one."""

from __future__ import annotations

import random
from contextlib import nullcontext
from fractions import Fraction
from typing import Any
from unittest import mock

import duckdb
import pytest
from cases import expected, released
from cases_tds import TdsCase, generalize
from oracle import Crowd, Source, Template
from oracle_tds import Closeness, Diversity, Rule
from runs import large_tables_begin_at_one_row, loaded

import ppdm_sql
from ppdm_sql.methods.top_down.loop import Refinement
from ppdm_sql.methods.top_down.measuring import Measure

RULES: list[tuple[Rule, ...]] = [
    (Crowd(3, ("s", "z")),),
    (Crowd(3, ("z", "s")), Crowd(2, ("w", "z"))),
    (Diversity("distinct", Fraction(2), "d", ("z", "s")),),
    (Diversity("entropy", Fraction(3, 2), "d", ("z", "w")), Crowd(2, ("z",))),
    (Closeness(Fraction(1, 2), "d", ("z", "s"), ordered=False),),
    (Template(("s", "z"), "d", ("p",), Fraction(4, 5)), Crowd(2, ("z", "w"))),
]


def drawn(seed: int, rules: tuple[Rule, ...]) -> TdsCase:
    """A table with some thirty codes, the first of which are the most frequent, and two other columns."""
    rnd = random.Random(seed)

    def record() -> tuple[str | None, ...]:
        z = int(rnd.triangular(0, 30, 0))
        return (
            None if z == 5 else f"{z:02}",
            rnd.choice("mf"),
            rnd.choice("uvw"),
            rnd.choice("ppqr"),
            "g" if z % 5 + rnd.randrange(4) < 4 else rnd.choice("gb"),
        )

    rows = tuple(record() for _ in range(160))
    columns = ("z", "s", "w", "d", "c")
    return TdsCase(
        source=Source(columns, rows, (1,) * len(rows)),
        types=dict.fromkeys(columns, "VARCHAR"),
        rules=rules,
        class_column="c",
        count_column=None,
        keep=(),
        table="t",
        release="safe",
        as_text=True,
        treatments={},
        suppressed=(),
        method="tds",
        condition=(),
    )


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("rules", RULES)
def test_disclosures_decided_together_are_the_oracles_one_by_one(rules: tuple[Rule, ...], seed: int) -> None:
    case = drawn(seed, rules)
    history = case.oracle().run()
    assert not history.ambiguous
    for paths in (nullcontext(), large_tables_begin_at_one_row()):
        with loaded(case) as connection, paths:
            release = generalize(connection, case)
            found = [(step.attribute, tuple(step.children), step.score) for step in release.steps()]
            assert [move[:2] for move in found] == [(step.attribute, step.children) for step in history.steps]
            assert [move[2] for move in found] == pytest.approx([step.score for step in history.steps])
            assert released(release.relation(), case, history.columns) == expected(history.states[-1])


def tied(seed: int) -> list[tuple[str | None, str, str, str]]:
    """Records of many codes that are alike: few sizes, NULL, duplicates, in some tables one class."""
    rnd = random.Random(seed)
    sizes, classes = [1, 2, 2, 3, 3, 3, 6, 40], "gbx"[: 1 + seed % 3]
    codes = [None if z == 7 else f"{z:02}" for z in range(60) for _ in range(rnd.choice(sizes[: 3 + seed]))]
    return [(z, rnd.choice("mf"), rnd.choice("ppqr"), rnd.choice(classes)) for z in codes]


ASKED: list[dict[str, Any]] = [
    {"require": ["k >= 3 on s, z"], "class_column": "c"},
    {"require": ["k >= 2 on z"]},
    {"require": ["k >= 3 on z", "s, z -> d = q <= 60%"], "class_column": "c", "weights": {"z": 2.5}},
    {"require": ["t <= 0.4 of d on z, s"], "class_column": "c", "limits": {"z": 20}},
    {"require": ["k >= 2 on z, s", "distinct l >= 2 of d on z"], "class_column": "c", "max_steps": 9},
]


@pytest.mark.parametrize("asked", ASKED)
def test_disclosures_decided_together_are_those_decided_one_by_one(asked: dict[str, Any]) -> None:
    decided: list[int] = []

    def perform(self: Refinement, most: int | None, performed: Any = Refinement._perform_decided) -> None:
        decided.append(len(self._decided))
        performed(self, most)

    def run(seed: int) -> list[object]:
        con = duckdb.connect()
        con.execute("CREATE TABLE t (z VARCHAR, s VARCHAR, d VARCHAR, c VARCHAR)")
        con.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", tied(seed))
        with ppdm_sql.open(con) as db:
            release = db.suppress("t", into="r", **asked)
            steps = [(s.attribute, s.children, s.score, s.gain, s.loss) for s in release.steps()]
            return [steps, sorted(map(str, release.relation().fetchall()))]

    for seed in range(6):
        with mock.patch.object(Measure, "ahead", new=False):
            one_by_one = run(seed)
        with mock.patch.object(Refinement, "_perform_decided", perform):
            assert run(seed) == one_by_one
    assert sum(decided) > 5


def test_a_grown_column_of_very_many_values_is_published_without_a_row_for_each() -> None:
    con = duckdb.connect()
    con.execute("CREATE TABLE t AS SELECT (range * 7919) % 12007 AS z, range % 3 = 0 AS c FROM range(24014)")
    with ppdm_sql.open(con) as db:
        release = db.generalize("t", require=["k >= 20 on z"], class_column="c", into="r", max_steps=3)
        assert release.verify().holds
    assert con.execute("SELECT count(*) FROM ppdm.cuts").fetchone() == (0,)
