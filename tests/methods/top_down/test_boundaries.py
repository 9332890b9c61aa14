"""Where grown intervals are split: at the best boundary that keeps the requirements."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import duckdb
import numpy as np
import pytest
from cases import Case, expected, released, run
from oracle import Closeness, Crowd, Diversity, Growing, Method, Rule, Source, Template
from runs import loaded

import ppdm_sql
from ppdm_sql.engine import Engine
from ppdm_sql.methods.base.collapse import collapse, counts_by_class
from ppdm_sql.methods.top_down.constraints import Constraints, constraints_of
from ppdm_sql.methods.top_down.cuts import Cuts
from ppdm_sql.methods.top_down.interval_cuts import ClassHistogram, IntervalCut, value_places
from ppdm_sql.methods.top_down.measuring import Measure
from ppdm_sql.privacy import parse

BOTH = pytest.mark.parametrize("method", ["tds", "hce-tdr"])


# -- an outlier does not mask a column --------------------------------------------------------------


@pytest.fixture
def outliers() -> Any:
    """4 records of class A at x = 1, and 60 of B and C from 10 to 29, most of which change at 22."""
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t (x INTEGER, c VARCHAR)")
        rows = [(1, "A")] * 4
        rows += [(x, c) for x in range(10, 30) for c in ("BBC" if x < 22 else "CCB")]
        connection.executemany("INSERT INTO t VALUES (?, ?)", rows)
        yield connection


@BOTH
def test_the_best_boundary_that_keeps_k_is_taken_where_the_best_one_does_not(
    outliers: Any, method: str
) -> None:
    release = ppdm_sql.open(outliers).generalize(
        "t", ["k >= 5 on x"], class_column="c", into="safe", method=method, score="paper"
    )
    assert release.steps()[0].children == ("[1, 11)", "[11, 29]")
    assert ("[11, 22)", "[22, 29]") in [step.children for step in release.steps()]
    assert release.row().parameters["boundary"] == "valid"
    assert release.verify().holds


@BOTH
def test_the_printed_rule_leaves_an_interval_whose_best_boundary_is_invalid(
    outliers: Any, method: str
) -> None:
    release = ppdm_sql.open(outliers).generalize(
        "t",
        ["k >= 5 on x"],
        class_column="c",
        into="safe",
        method=method,
        boundary="best",
        score="paper",
    )
    assert release.steps() == []
    assert release.row().parameters["boundary"] == "best"


def test_a_rule_that_does_not_exist_is_refused(outliers: Any) -> None:
    with pytest.raises(ppdm_sql.InvalidOption, match=r"Give one of: valid, best\."):
        ppdm_sql.open(outliers).generalize(
            "t", ["k >= 5 on x"], class_column="c", into="safe", boundary="first"
        )


# -- columns of more values than the random tables have --------------------------------------------


RULES: list[tuple[Method, tuple[Rule, ...]]] = [
    ("tds", (Crowd(3, ("x", "y")),)),
    ("tds", (Crowd(3, ("x", "s")), Crowd(5, ("y", "x")))),
    ("tds", (Diversity("distinct", Fraction(2), "d", ("x", "y")), Crowd(2, ("x", "s")))),
    ("tds", (Closeness(Fraction(2, 5), "d", ("x", "s"), ordered=False), Crowd(2, ("y",)))),
    ("tds", (Template(("x", "y"), "d", ("p",), Fraction(7, 10)), Crowd(2, ("y", "s")))),
    ("hce-tdr", (Crowd(3, ("x", "y", "s")),)),
    ("hce-tdr", (Diversity("entropy", Fraction(3, 2), "d", ("x", "y")),)),
]


def drawn(seed: int, method: Method, rules: tuple[Rule, ...], records: int = 80) -> Case:
    """A table with two ordered columns of 14 values or so, NULL among those of one, and a plain one."""
    rnd = random.Random(seed)

    def record() -> tuple[Any, ...]:
        x, y = rnd.choice([*range(14), None]), int(rnd.triangular(0, 14, 3))
        near = (x or 0) + y + rnd.randrange(8)
        return x, y, rnd.choice("mf"), rnd.choice("ppqr"), "g" if near < 15 else rnd.choice("gb")

    rows = tuple(record() for _ in range(records))
    source = Source(("x", "y", "s", "d", "c"), rows, (1,) * len(rows))
    types = {"x": "INTEGER", "y": "INTEGER", "s": "VARCHAR", "d": "VARCHAR", "c": "VARCHAR"}
    return Case(source, types, rules, "c", method, {"x": Growing(), "y": Growing()})


@pytest.mark.parametrize(("method", "rules"), RULES)
def test_a_run_over_many_boundaries_takes_the_oracles_steps(method: Method, rules: tuple[Rule, ...]) -> None:
    case = drawn(RULES.index((method, rules)), method, rules)
    history = case.oracle().run()
    assert not history.ambiguous
    with loaded(case) as connection:
        release = run(connection, case)
        found = [(step.attribute, step.parent, tuple(step.children)) for step in release.steps()]
        assert found == [(step.attribute, step.parent, step.children) for step in history.steps]
        assert released(release.relation(), case, history.columns) == expected(history.states[-1])


# -- all boundaries at once, and one by one ---------------------------------------------------------


DEMANDS = [
    "k >= 8 on x, y",
    "distinct l >= 3 of d on x, y",
    "entropy l >= 2.2 of d on x, y",
    "recursive c = 1.5, l = 2 of d on y, x",
    "t <= 0.2 of d on x, y",
    "beta <= 0.8 of d on x, y",
    "x, y -> d = p <= 60%",
    "average risk <= 0.9% on x, y",
]


@pytest.mark.parametrize("demand", DEMANDS)
def test_boundaries_found_invalid_together_are_those_found_so_one_by_one(demand: str) -> None:
    case = drawn(7, "tds", (Crowd(1, ("x", "y")),), records=600)
    with loaded(case) as connection:
        engine = Engine(connection)
        table = engine.find("t")
        named = {column.name: column for column in engine.columns(table)}
        coded = [named[name] for name in ("x", "y", "d", "c")]
        atoms = collapse(engine, table, coded, [], None, masked=(), symbol="*")
        counts = counts_by_class(engine, atoms, range(2), 3)
        tops = [
            IntervalCut.top(ClassHistogram(counts[i], of.has_null, value_places(engine, of, None), 0))
            for i, of in enumerate(atoms.coded[:2])
        ]
        constraints = Constraints(constraints_of(engine, atoms, [parse(demand)], []), 2)
        measure = Measure(engine, atoms, constraints)
        null = len(counts[0]) - 1
        cuts: Cuts = (tops[0].refine(null).refine(8), tops[1])
        known = measure.state(cuts)
        assert constraints.valid(known)
        for attribute, cut in enumerate(cuts):
            inside = 1 + np.flatnonzero(cut.parts[1:] == cut.parts[:-1])
            one_by_one = [measure.after(cuts, known, [(attribute, int(b))])[0] for b in inside]
            wanted = inside[~constraints.valid(np.array(one_by_one))]
            found = measure.invalid_boundaries(cuts, known, attribute, cut.parts, inside)
            assert found.tolist() == wanted.tolist()
            assert attribute == 0 or 0 < len(wanted) < len(inside), "the demand decides nothing here"
