"""Plans of swaps on random tables: constraints, optimality, and what greedy leaves."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from math import floor, trunc
from typing import Any
from unittest import mock

import duckdb
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from oracle_swap import Record, Row, limits, optimum, records, statuses, swaps_left, wanted
from runs import one_in
from swap_releases import Heard, identified, measured, patterns, planned

from ppdm_sql.engine.names import Table
from ppdm_sql.methods.swapping import candidates as of_candidates
from ppdm_sql.methods.swapping import exact
from ppdm_sql.methods.swapping.candidates import SCALE, packs_of
from ppdm_sql.methods.swapping.exact import FARTHEST, RecordClasses, reduced_costs, sample_of_classes
from ppdm_sql.methods.swapping.marginals import default_band

EVERY = (Fraction(0), Fraction(1))
HALF = Fraction(1, 2)
FEW = one_in(3)


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


@FEW
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
        assert found.unique.sum() + found.grouped.sum() == sum(row[:-1] in status for row in rows)


@FEW
@given(
    rows=tables(),
    proportion=proportions,
    per_group=group_sizes,
    smoothing=st.sampled_from([0, 1, 0.5]),
    products=st.sampled_from([0, 300]),
)
def test_exact_reaches_the_optimum_that_brute_force_finds(
    rows: list[Row], proportion: Fraction, per_group: int | Fraction, smoothing: float, products: int
) -> None:
    """Also where probabilities are multiplied as logarithms."""
    asked: dict[str, Any] = {"per_group": per_group, "smoothing": smoothing}
    with mock.patch.object(of_candidates, "MOST_PRODUCTS", products):
        plan, _, after = planned(rows, proportion=proportion, share=EVERY, **asked)
    check(rows, proportion, per_group, after)
    before, size = records(rows, per_group, Fraction(smoothing)), categories(rows)
    least = optimum(before, size, changes(rows, proportion), limits(EVERY, before, size))
    assert (deviation(after), float(cost(after))) == (least[0], pytest.approx(float(least[1]), abs=1e-6))
    assert plan.demand.deviation == least[0]
    assert measured(plan, "objective") == pytest.approx(float(least[1]), abs=1e-6)


@FEW
@given(rows=tables(), proportion=proportions)
def test_exact_reaches_the_optimum_within_the_share_it_says(rows: list[Row], proportion: Fraction) -> None:
    plan, _, after = planned(rows, proportion=proportion)
    unique = plan.demand.unique
    _, share, _ = default_band(proportion, plan.demand.within((np.zeros_like(unique), unique)))
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


@FEW
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


@one_in(6)
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
    thin = sample_of_classes(classes, 40)
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


def settled(after: list[Record], categories: int) -> float:
    """The share of the changed unique records in cells of alike ones of which nearly all have changed."""
    cells, changed = Counter[Any](), Counter[Any]()
    unique = [record for record in after if record.unique]
    steps = max(8, len(unique) // (200 * categories))
    for record in unique:
        known = [round(posterior * SCALE) for posterior in record.posteriors]
        others = [-1 if value == record.now else number for value, number in enumerate(known)]
        ahead = Fraction((known[record.now] - max(others)) * steps, 2 * SCALE)
        cell = record.now, others.index(max(others)), trunc(ahead)
        cells[cell] += 1
        changed[cell] += record.changed
    sure = [n for cell, n in changed.items() if n + 1 >= Fraction(98, 100) * (cells[cell] + 2)]
    return sum(sure) / changed.total()


def test_the_share_that_a_modelling_attacker_settles_is_that_of_a_count_in_python() -> None:
    alone: list[Row] = [(str(i), "z", "xy"[i % 2]) for i in range(400)]
    likely: list[Row] = [(f"{i % 20}.", str(i // 20), "xy"[(i * i % 7 + i % 20) % 2]) for i in range(400)]
    found = []
    for rows in (alone, alone + likely):
        plan, _, after = planned(rows, proportion=Fraction(1, 3))
        found.append(measured(plan, "changed records settled by a modelling attacker"))
        assert found[-1] == pytest.approx(settled(after, 2))
    assert 0 < found[1] < found[0]


def test_two_values_need_an_even_number_of_changes() -> None:
    rows: list[Row] = [(str(i), "ab"[i % 2]) for i in range(20)]
    told = Heard()
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


def test_a_marginal_that_cannot_be_kept_is_said_with_the_proportions_that_would() -> None:
    rows: list[Row] = [(str(i), "rare" if i < 4 else "common") for i in range(40)]
    told = Heard()
    plan = planned(rows, proportion=HALF, share=EVERY, told=told)[0]
    assert plan.demand.deviation == 24
    assert "from 0 to 0.2" in " ".join(told.notices)


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
