"""Plans of swaps on random tables: constraints, optimality, and what greedy leaves."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from math import floor
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from oracle_swap import Record, Row, limits, optimum, records, statuses, swaps_left, wanted
from swaps import Told, identified, measured, patterns, planned

from ppdm_sql.engine.names import Table
from ppdm_sql.errors import InvalidOption
from ppdm_sql.methods.swapping import exact
from ppdm_sql.methods.swapping.exact import FARTHEST, RecordClasses, reduced_costs, sample
from ppdm_sql.methods.swapping.identification import packs_of
from ppdm_sql.methods.swapping.swap import master_key

EVERY = (Fraction(0), Fraction(1))
HALF = Fraction(1, 2)


@st.composite
def tables(draw: st.DrawFn, most: int = 14) -> list[Row]:
    """Rows of two or three attributes and a confidential value of two to five."""
    categories = draw(st.integers(2, 5))
    cell = st.sampled_from(["x", "y", "it's", None])
    row = st.tuples(cell, st.sampled_from("pqr"), st.sampled_from("uv"), st.integers(0, categories - 1))
    rows: list[Row] = [(*r[:-1], str(r[-1])) for r in draw(st.lists(row, min_size=4, max_size=most))]
    assume(len({r[-1] for r in rows}) > 1)
    return rows


proportions = st.fractions(Fraction(1, 10), 1, max_denominator=10)
group_sizes = st.one_of(st.integers(1, 3), st.fractions(Fraction(1, 4), 1, max_denominator=4))


def categories(rows: list[Row]) -> int:
    return len({row[-1] for row in rows})


def changes(rows: list[Row], proportion: Fraction) -> int:
    unique = sum(status == "U" for status in statuses(rows).values())
    return floor(proportion * unique + HALF)


def check(rows: list[Row], proportion: Fraction, per_group: int | Fraction, after: list[Record]) -> None:
    assert sum(r.changed for r in after if r.unique) == changes(rows, proportion)
    sizes = Counter(row[:-1] for row in rows)
    changed = Counter(r.pattern for r in after if not r.unique and r.changed)
    for pattern, status in statuses(rows).items():
        if status == "V":
            assert changed[pattern] == wanted(per_group, sizes[pattern])


def deviation(after: list[Record]) -> int:
    net = Counter(r.now for r in after)
    net.subtract(r.true for r in after)
    return sum(map(abs, net.values()))


def cost(after: list[Record]) -> Fraction:
    return sum((r.cost(r.now) for r in after), Fraction(0))


@given(rows=tables())
def test_identification_agrees_with_a_count_in_python(rows: list[Row]) -> None:
    with identified(rows) as (engine, found):
        known = patterns(engine, found)
        status = {
            known[row[:-1]]: "U" if row[-1] == 1 else "V"
            for row in engine.query(
                f"SELECT {', '.join(found.keys)}, records FROM {found.patterns}", step="t"
            )
        }
        assert status == statuses(rows)
        assert found.identifiable == sum(row[:-1] in status for row in rows)


@given(rows=tables(), proportion=proportions, per_group=group_sizes)
def test_exact_reaches_the_optimum_that_brute_force_finds(
    rows: list[Row], proportion: Fraction, per_group: int | Fraction
) -> None:
    plan, _, after = planned(rows, proportion=proportion, per_group=per_group, share=EVERY)
    check(rows, proportion, per_group, after)
    before, size = records(rows, per_group), categories(rows)
    least = optimum(before, size, changes(rows, proportion), limits(EVERY, before, size))
    assert (deviation(after), float(cost(after))) == (least[0], pytest.approx(float(least[1]), abs=1e-6))
    assert plan.demand.deviation == least[0]
    assert measured(plan, "objective") == pytest.approx(float(least[1]), abs=1e-6)


@given(rows=tables(), proportion=proportions)
def test_exact_reaches_the_optimum_within_the_share_it_says(rows: list[Row], proportion: Fraction) -> None:
    plan, _, after = planned(rows, proportion=proportion)
    share = Fraction(plan.share[0]).limit_denominator(10**6), Fraction(plan.share[1]).limit_denominator(10**6)
    around = limits(share, after, categories(rows))
    allowed = list(zip(plan.demand.low.tolist(), plan.demand.high.tolist(), strict=True))
    assert all(
        low <= fewest <= most <= high for (low, high), (fewest, most) in zip(around, allowed, strict=True)
    )
    left = Counter(r.true for r in after if r.unique and r.changed)
    assert all(low <= left[t] <= high for t, (low, high) in enumerate(allowed))
    before, size, asked = records(rows), categories(rows), changes(rows, proportion)
    least = optimum(before, size, asked, allowed)
    assert (deviation(after), float(cost(after))) == (least[0], pytest.approx(float(least[1]), abs=1e-6))
    assert least[0] == optimum(before, size, asked, around)[0]
    asked_of = {name: after for name, _, after in plan.measures}
    assert asked_of["least changed share allowed"] <= asked_of["least changed share of a value"]
    assert asked_of["largest changed share of a value"] <= asked_of["largest changed share allowed"]


@given(
    rows=tables(),
    proportion=proportions,
    per_group=group_sizes,
    phase1=st.sampled_from(["joint", "separate"]),
)
def test_greedy_keeps_the_constraints_and_leaves_no_swap_to_make(
    rows: list[Row], proportion: Fraction, per_group: int | Fraction, phase1: str
) -> None:
    asked: dict[str, Any] = {
        "proportion": proportion,
        "per_group": per_group,
        "phase1": phase1,
        "share": EVERY,
    }
    plan, _, after = planned(rows, method="greedy", **asked)
    check(rows, proportion, per_group, after)
    assert deviation(after) == plan.demand.deviation
    assert all(price >= Fraction(-1, 10**8) for price in swaps_left(after))
    optimal, _, best = planned(rows, method="exact", **asked)
    assert optimal.demand.deviation == plan.demand.deviation
    assert measured(optimal, "objective") <= measured(plan, "objective") + 1e-8
    check(rows, proportion, per_group, best)


@given(rows=tables(), proportion=proportions, blur=st.sampled_from([0.05, 0.5, 10.0]))
def test_noise_leaves_the_constraints_alone(rows: list[Row], proportion: Fraction, blur: float) -> None:
    plan, _, after = planned(rows, proportion=proportion, blur=blur)
    check(rows, proportion, 1, after)
    assert float(cost(after)) == pytest.approx(measured(plan, "objective"), abs=1e-6)


def some_rows(count: int = 400, values: int = 4) -> list[Row]:
    """Rows that are often alike, so that there are ties."""
    return [
        (str(i * i % 97), str(i * 7 % 13), str(i // 400), str(i * i * i % 31 % values)) for i in range(count)
    ]


@pytest.mark.parametrize("method", ["exact", "greedy"])
def test_a_seed_repeats_the_plan_with_any_number_of_threads(method: str) -> None:
    plans = [
        planned(some_rows(), threads=threads, proportion=Fraction(1, 3), method=method, seed=seed)[1]
        for threads, seed in ((1, b"a"), (4, b"a"), (2, b"b"))
    ]
    assert plans[0] == plans[1]
    assert plans[0] != plans[2]


@pytest.mark.parametrize("share", [EVERY, None])
def test_sampling_and_narrowing_do_not_change_the_optimum(
    share: tuple[Fraction, Fraction] | None,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO", "ppdm_sql")
    rows = some_rows(1500)
    asked: dict[str, Any] = {"proportion": Fraction(1, 3), "share": share}
    direct = planned(rows, **asked)[0]
    rounds = caplog.messages.copy()
    caplog.clear()
    monkeypatch.setattr(exact, "MOST_CLASSES", 12)
    sampled, _, after = planned(rows, **asked)
    check(rows, Fraction(1, 3), 1, after)
    assert measured(sampled, "objective") == pytest.approx(measured(direct, "objective"), abs=1e-6)
    assert caplog.messages != rounds


def test_a_thinned_set_of_classes_keeps_the_records_of_each_kind() -> None:
    kinds = np.array([0] * 50 + [1] * 3 + [4] * 200)
    classes = RecordClasses(kinds, np.arange(1, 254), np.zeros((253, 3), dtype=np.int64))
    thin = sample(classes, 40)
    assert 20 <= len(thin.kinds) <= 45
    for kind in (0, 1, 4):
        assert thin.records[thin.kinds == kind].sum() == pytest.approx(classes.records[kinds == kind].sum())


@pytest.mark.parametrize("far", [0, 10**10])
@pytest.mark.parametrize("box", [0, FARTHEST])
def test_no_price_makes_a_record_enter_the_category_that_it_leaves(far: int, box: int) -> None:
    table = "SELECT 0 AS kind, 5 AS true_posterior, -2000000000 AS p0, 7 AS p1"
    with duckdb.connect() as con:
        con.execute(f"CREATE TABLE candidates AS {table}")
        query = reduced_costs(Table("candidates"), np.array([[far, 0], [0, 0]]), np.full((2, 2), box))
        (row,) = con.execute(f"SELECT reduced_cost_0 FROM ({query})").fetchall()
    assert row == (-1,)


def test_two_values_need_an_even_number_of_changes() -> None:
    rows: list[Row] = [(str(i), "ab"[i % 2]) for i in range(20)]
    told = Told()
    assert planned(rows, proportion=Fraction(3, 20), share=EVERY, told=told)[0].demand.deviation == 2
    assert "even number" in " ".join(told.notices)


def test_a_marginal_that_cannot_be_kept_is_proved_too() -> None:
    counts = {(a, b): 1 + a * a % 5 for a in range(12) for b in range(12)}
    rows: list[Row] = [
        (f"{a}.{i // 2}", str(b), "yn"[(a * 5 + b * i) % 3 == 0])
        for (a, b), n in counts.items()
        for i in range(n)
    ]
    unique = sum(status == "U" for status in statuses(rows).values())
    for share in (None, (Fraction(1, 10), Fraction(6, 10))):
        plan = planned(rows, proportion=Fraction(unique // 5, unique), share=share)[0]
        assert plan.demand.deviation
        assert measured(plan, "gap") == 0


def test_without_a_seed_ties_fall_otherwise_each_time() -> None:
    rows: list[Row] = [(str(i), "ab"[i % 2]) for i in range(40)]
    first, second = (planned(rows, proportion=HALF, seed=master_key(None))[1] for _ in range(2))
    assert first != second


def test_a_marginal_that_cannot_be_kept_is_said_with_the_proportions_that_would() -> None:
    rows: list[Row] = [(str(i), "rare" if i < 4 else "common") for i in range(40)]
    told = Told()
    plan = planned(rows, proportion=HALF, share=EVERY, told=told)[0]
    assert plan.demand.deviation == 24
    assert "from 0 to 0.2" in " ".join(told.notices)


def test_a_share_that_excludes_the_proportion_is_refused_with_the_reason() -> None:
    with pytest.raises(InvalidOption, match=r"changes by 0.3 to 0.4 .* cannot change by 0.5.*LOW <= 0.5"):
        planned(some_rows(), proportion=HALF, share=(Fraction(3, 10), Fraction(4, 10)))


@pytest.mark.parametrize(
    "options",
    [
        {"blur": -1.0},
        {"blur": float("nan")},
        {"smoothing": -0.5},
        {"smoothing": float("inf")},
    ],
)
def test_options_out_of_range_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidOption):
        planned(some_rows(20), proportion=HALF, **options)


def test_nothing_identifiable_gives_an_empty_plan() -> None:
    rows: list[Row] = [("a", "x"), ("a", "y")]
    for method in ("exact", "greedy"):
        plan, moves, _ = planned(rows, proportion=HALF, method=method)
        assert (moves, measured(plan, "objective"), plan.demand.deviation) == ([], 0, 0)
        assert measured(plan, "changed records settled by a modelling attacker") is None


def test_packs_that_share_a_word_share_no_place_in_it() -> None:
    packs = packs_of({position: 3 + position % 9 for position in range(70)})
    for word in {pack.word for pack in packs}:
        inside = [pack for pack in packs if pack.word == word]
        ends = [pack.stride * pack.size for pack in inside]
        assert [pack.stride for pack in inside] == [1, *ends[:-1]]
        assert ends[-1] <= 2**63


def test_keys_of_more_than_63_bits_take_several_words() -> None:
    rows: list[Row] = [(*(str(i * j % 61) for j in range(1, 14)), "xyz"[i % 3]) for i in range(60)]
    with identified(rows) as (_, found):
        assert len(found.keys) > 1
    plan, moves, after = planned(rows, proportion=HALF)
    check(rows, HALF, 1, after)
    assert len(moves) == 30
    assert plan.demand.deviation == 0
