"""Columns of many suppressed values: what is decided together is what is decided one by one."""

from __future__ import annotations

import random
from contextlib import nullcontext
from fractions import Fraction
from typing import Any
from unittest import mock

import duckdb
import pytest
from cases import Case, expected, released, run
from oracle import Closeness, Crowd, Diversity, Rule, Source, Template
from runs import large_tables_begin_at_one_row, loaded

import ppdm_sql
from ppdm_sql.methods.top_down.loop import Refinement
from ppdm_sql.methods.top_down.measuring import Measure
from ppdm_sql.progress import SilentProgress

RULES: list[tuple[Rule, ...]] = [
    (Crowd(3, ("s", "z")),),
    (Crowd(3, ("z", "s")), Crowd(2, ("w", "z"))),
    (Diversity("distinct", Fraction(2), "d", ("z", "s")),),
    (Diversity("entropy", Fraction(3, 2), "d", ("z", "w")), Crowd(2, ("z",))),
    (Closeness(Fraction(1, 2), "d", ("z", "s"), ordered=False),),
    (Template(("s", "z"), "d", ("p",), Fraction(4, 5)), Crowd(2, ("z", "w"))),
]


def drawn(seed: int, rules: tuple[Rule, ...]) -> Case:
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
    return Case(Source(columns, rows, (1,) * len(rows)), dict.fromkeys(columns, "VARCHAR"), rules, "c")


@pytest.mark.parametrize(("seed", "rules"), list(enumerate(RULES)))
def test_disclosures_decided_together_are_the_oracles_one_by_one(seed: int, rules: tuple[Rule, ...]) -> None:
    case = drawn(seed, rules)
    history = case.oracle().run()
    assert not history.ambiguous
    lists = mock.patch("ppdm_sql.methods.top_down.measuring.FEW", 0)
    for counted in (nullcontext(), large_tables_begin_at_one_row(), lists):
        with loaded(case) as connection, counted:
            release = run(connection, case)
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


def path_run(seed: int, asked: dict[str, Any]) -> list[tuple[Any, ...]]:
    """The steps of a run, with their numbers, and at the end the rows."""
    with duckdb.connect() as con:
        con.execute("CREATE TABLE t (z VARCHAR, s VARCHAR, d VARCHAR, c VARCHAR, x INTEGER)")
        rows = [(*row, place * 7 % 17) for place, row in enumerate(tied(seed))]
        con.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?)", rows)
        release = ppdm_sql.open(con).generalize("t", into="r", progress=SilentProgress(), **asked)
        steps = [(s.attribute, s.children, s.score, s.gain, s.loss) for s in release.steps()]
        return [*steps, (sorted(map(str, release.relation().fetchall())),)]


CLASS = {"class_column": "c"}
OUT = {**CLASS, "suppress_records": "15%"}
ASKED: list[dict[str, Any]] = [
    {"require": ["k >= 3 on s, z"], **CLASS},
    {"require": ["k >= 3 on s, z"], **CLASS, "score": "paper"},
    {"require": ["k >= 2 on z"]},
    {"require": ["k >= 3 on z", "s, z -> d = q <= 60%"], **CLASS, "weights": {"z": 2.5}},
    {"require": ["t <= 0.4 of d on z, s"], **CLASS, "limits": {"z": 20}},
    {"require": ["k >= 2 on z, s", "distinct l >= 2 of d on z"], **CLASS, "max_steps": 9},
    {"require": ["k >= 3 on z, x"], **CLASS, "score": "paper", "weights": {"z": 30}},
    {"require": ["k >= 2 on z, x"], **CLASS, "ranges": {"x": (0, 17)}, "weights": {"z": 30}},
    {"require": ["k >= 2 on z, s"], **OUT},
    {"require": ["k >= 2 on z, s"], **OUT, "weights": {"z": 3}, "limits": {"z": 9}},
    {"require": ["k >= 2 on z, x"], **OUT, "ranges": {"x": (0, 17)}, "weights": {"z": 30}},
    {"require": ["distinct l >= 2 of d on z, s"], **OUT},
]


@pytest.mark.parametrize("asked", ASKED, ids=str)
def test_disclosures_decided_together_are_those_decided_one_by_one(asked: dict[str, Any]) -> None:
    decided: list[int] = []

    def perform(self: Refinement, most: int | None, performed: Any = Refinement._perform_decided) -> None:
        decided.append(len(self._decisions))
        performed(self, most)

    for seed in (2, 1):
        with mock.patch.object(Measure, "ahead", new=False):
            *one_by_one, rows = path_run(seed, asked)
        with mock.patch.object(Refinement, "_perform_decided", perform):
            *together, same = path_run(seed, asked)
        assert same == rows
        assert [step[:2] for step in together] == [step[:2] for step in one_by_one]
        assert [step[2:] for step in together] == [pytest.approx(step[2:], rel=1e-9) for step in one_by_one]
        if sum(decided) > 5:
            break
    else:
        pytest.fail("hardly anything was decided together")


VALUE_MODELS = [
    "distinct l >= 2",
    "entropy l >= 1.5",
    "recursive c = 4, l = 2",
    "recursive c = 9, l = 3",
    "t <= 0.4",
    "beta <= 2",
    "enhanced beta <= 3",
    "delta <= 3",
]


@pytest.mark.parametrize("asked", VALUE_MODELS)
def test_values_counted_in_lists_give_the_run_that_columns_of_them_give(asked: str) -> None:
    def run(**options: Any) -> list[object]:
        con = duckdb.connect()
        con.execute("CREATE TABLE t (z VARCHAR, s VARCHAR, d VARCHAR, c VARCHAR, a INTEGER)")
        con.executemany(
            "INSERT INTO t VALUES (?, ?, ?, ?, ?)",
            [(*row, place * 7 % 40) for place, row in enumerate(tied(2))],
        )
        con.execute("INSERT INTO t SELECT z, s, NULL, c, a FROM t USING SAMPLE 9 ROWS (reservoir, 1)")
        with ppdm_sql.open(con) as db:
            ruled = {"require": [f"{asked} of d on z, s, a"], "class_column": "c", "into": "r"}
            release = db.generalize("t", **ruled, **options)
            assert release.verify().holds
            steps = [
                (s.attribute, s.children, *(round(number, 9) for number in (s.score, s.gain, s.loss)))
                for s in release.steps()
            ]
            return [steps, sorted(map(str, release.relation().fetchall()))]

    options = [{"suppress": ["z"]}, {"taxonomies": {"z": "prefixes 1"}}][VALUE_MODELS.index(asked) % 2]
    columns = run(**options)
    with mock.patch("ppdm_sql.methods.top_down.measuring.FEW", 0):
        assert run(**options) == columns


def test_a_sensitive_column_of_thousands_of_codes_drives_a_run() -> None:
    con = duckdb.connect()
    con.execute(
        "CREATE TABLE t AS SELECT i % 7 AS a, i % 5 AS b, 'C' || (i * 31 % 3000) AS d FROM range(9000) r(i)"
    )
    with ppdm_sql.open(con) as db:
        release = db.generalize("t", require=["entropy l >= 200 of d on a, b"], into="r")
        assert release.verify().holds
        assert len(release.steps()) > 1
        with pytest.raises(ppdm_sql.InvalidOption, match="3000 different values; where persons are"):
            db.generalize("t", require=["entropy l >= 200 of d on a, b"], into="s", suppress_records="1%")
        con.execute("CREATE TABLE w AS SELECT 'z' || i AS z, i AS d FROM range(9000) r(i), range(2) s")
        with pytest.raises(ppdm_sql.InvalidOption, match="'z' and 'd' have 9000 and 9000 values"):
            db.suppress("w", require=["entropy l >= 2 of d on z"], into="s")
        con.execute("CREATE TABLE n AS SELECT a, d[2:]::INT AS e FROM t")
        with pytest.raises(ppdm_sql.InvalidOption, match="more than 200 different numbers or dates"):
            db.generalize("n", require=["t <= 0.2 of e on a"], into="s")
        with pytest.raises(
            ppdm_sql.InvalidOption, match="takes 200. Count a level of it, such as `by ranges 10`"
        ):
            db.generalize("n", require=["t <= 0.2 of e on a"], into="s", suppress_records="1%")


def test_t_by_order_takes_two_hundred_numbers_also_beside_what_counts_in_lists() -> None:
    con = duckdb.connect()
    con.execute(
        "CREATE TABLE t AS SELECT i % 2 AS a, i % 5 AS b, (i * 31 + i % 7) % 199 AS e FROM range(1990) r(i)"
    )
    with ppdm_sql.open(con) as db:
        asked = ["distinct l >= 30 of e on a, b", "t <= 0.1 of e on a, b"]
        release = db.generalize("t", require=asked, into="r")
        db.install()
        reached = con.execute("SELECT max(t) FROM ppdm_closeness('r', ['a', 'b'], 'e')").fetchone()
        assert reached is not None
        (measured,) = [after for name, _, after in release.measures() if name.startswith("largest distance")]
        assert measured == pytest.approx(reached[0])
        assert 0 < measured <= 0.1


def test_a_grown_column_of_very_many_values_is_published_without_a_row_for_each() -> None:
    con = duckdb.connect()
    con.execute("CREATE TABLE t AS SELECT (range * 7919) % 12007 AS z, range % 3 = 0 AS c FROM range(24014)")
    with ppdm_sql.open(con) as db:
        release = db.generalize("t", require=["k >= 20 on z"], class_column="c", into="r", max_steps=3)
        assert release.verify().holds
    assert con.execute("SELECT count(*) FROM ppdm.cuts").fetchone() == (0,)
