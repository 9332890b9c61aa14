"""The oracle of what a step shows: its formulas, on tables that are counted by hand."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from cases import Case
from hypothesis import assume, given
from hypothesis import strategies as st
from oracle import Cell, Crowd, Growing, History, Node, NoSolution, Source, Step, Treatment
from oracle_wishes import WishedTDS, Wishes
from oracle_worth import Worth, by_chance, of_k, worth
from strategies import cases

CHANCE_OF_8 = 1 / (16 * math.log(2))


def table(columns: str, *rows: Sequence[Any]) -> Source:
    """A table whose rows end with their numbers of records."""
    return Source(
        tuple(columns.split()), tuple(tuple(row[:-1]) for row in rows), tuple(row[-1] for row in rows)
    )


def run(
    source: Source,
    k: int,
    treatments: Mapping[str, Treatment] | None = None,
    most: int = 0,
    detail: float | None = None,
) -> tuple[Worth, History]:
    """A run whose class is the column ``class``, if there is one."""
    masked = tuple(name for name in source.columns if name != "class")
    label = "class" if "class" in source.columns else None
    made = Worth(source, [Crowd(k, masked)], label, treatments or {}, most=most, detail=detail)
    return made, made.run()


def told(steps: Sequence[Step]) -> list[tuple[Cell, tuple[Cell, ...], float]]:
    return [(step.parent, step.children, pytest.approx(step.score, abs=1e-12)) for step in steps]


def test_chance_grows_with_children_classes_and_choices_and_falls_with_records() -> None:
    assert by_chance(classes=2, children=3, records=10) == pytest.approx(0.14426950)
    assert by_chance(classes=3, children=3, records=10) == pytest.approx(0.28853901)
    assert by_chance(classes=2, children=3, records=100) == pytest.approx(0.01442695)
    assert by_chance(classes=2, children=2, records=10, choices=4) == pytest.approx(0.07213475 + 0.2)
    assert by_chance(classes=1, children=2, records=10) == by_chance(classes=2, children=1, records=10) == 0


def test_a_disclosure_tells_all_that_it_gains_to_the_records_of_the_value() -> None:
    source = table("a class", ("x", "+", 4), ("y", "-", 4))
    made, history = run(source, 4)
    gain = 1 - CHANCE_OF_8 - math.log2(2) / 8
    assert told(history.steps) == [("*", ("x",), gain + 0.3 / 2), ("*", ("y",), 0.3 / 2)]
    assert history.steps[0].gain == pytest.approx(gain)
    assert made.worth == {
        ("x", "+"): pytest.approx(2 * gain + 0.3),
        ("y", "-"): pytest.approx(0.3),
    }


def test_what_chance_tells_is_no_gain() -> None:
    source = table("a class", ("x", "+", 6), ("x", "-", 2), ("y", "+", 2), ("y", "-", 6))
    _, history = run(source, 4)
    told_by_table = 1 + 6 / 8 * math.log2(6 / 8) + 2 / 8 * math.log2(2 / 8)
    by_choice = math.log2(2) / 16
    assert history.steps[0].gain == pytest.approx(told_by_table - 1 / (32 * math.log(2)) - by_choice) != 0
    source = table("a class", ("x", "+", 5), ("x", "-", 4), ("y", "+", 4), ("y", "-", 5))
    _, history = run(source, 4)
    assert [step.gain for step in history.steps] == [0, 0]
    assert told(history.steps) == [("*", ("x",), 0.15), ("*", ("y",), 0.15)]


def test_gains_count_as_shares_of_what_is_unknown_and_detail_by_the_columns() -> None:
    source = table(
        "a b class", ("x", "p", "+", 3), ("y", "p", "-", 3), ("x", "q", "+", 1), ("y", "q", "+", 1)
    )
    made, _ = run(source, 8)
    unknown = -5 / 8 * math.log2(5 / 8) - 3 / 8 * math.log2(3 / 8)
    after = 0.5 * -(3 / 4 * math.log2(3 / 4) + 1 / 4 * math.log2(1 / 4))
    (way,) = made.operators["a"].splits(made.cuts["a"])[0]
    gain = unknown - after - CHANCE_OF_8 - math.log2(2) / 8
    assert made.gain_of("a", way) == pytest.approx(gain)
    shown, rest = way.parts
    assert made.value("a", way, shown) == pytest.approx(2 * gain / unknown + 0.3 / 2)
    assert made.value("a", way, rest) == 0


TREE = Node("ANY", (Node("A", (Node("a1"), Node("a2"), Node("a3"))), Node("b"), Node("unused")))


def test_a_taxonomy_pays_by_leaves_and_counts_the_children_that_hold_records() -> None:
    source = table("a class", ("a1", "+", 4), ("b", "-", 4))
    _, history = run(source, 4, {"a": TREE})
    assert told(history.steps) == [
        ("ANY", ("A", "b", "unused"), 1 - CHANCE_OF_8 + 0.3 * (4 * (1 - 2 / 4) + 4) / 8),
        ("A", ("a1", "a2", "a3"), 0.3 * 2 / 4 * 4 / 8),
    ]


def test_an_interval_takes_the_best_valid_boundary_and_pays_for_having_chosen_it() -> None:
    source = table("a class", (1, "+", 1), (2, "+", 3), (4, "-", 3), (9, "-", 1))
    made, history = run(source, 4, {"a": Growing()})
    gain = 1 - CHANCE_OF_8 - math.log2(3) / 8
    assert told(history.steps) == [("[1, 9]", ("[1, 4)", "[4, 9]"), gain + 0.3 * (5 / 8 + 3 / 8) / 2)]
    assert {part.label for part in made.cuts["a"]} == {"[1, 4)", "[4, 9]"}


def test_the_best_boundary_is_that_of_the_score_not_of_the_gain() -> None:
    source = table("a class", (0, "+", 4), (1, "-", 4), (2, "-", 4), (100, "-", 4))
    _, history = run(source, 4, {"a": Growing()}, detail=3)
    assert history.steps[0].children == ("[0, 2)", "[2, 100]")
    _, history = run(source, 4, {"a": Growing()}, detail=0)
    assert history.steps[0].children == ("[0, 1)", "[1, 100]")
    assert len(history.steps) == 1, "nothing is worth anything where detail does not count"


NUMBERS = table("a", (1, 2), (2, 2), (4, 2), (9, 1))


def test_a_step_costs_what_its_left_out_records_would_have_shown() -> None:
    made, history = run(NUMBERS, 2, {"a": Growing()}, most=1)
    assert told(history.steps) == [
        ("[1, 9]", ("[1, 4)", "[4, 9]"), (4 * 5 / 8 + 3 * 3 / 8) / 7),
        ("[1, 4)", ("[1, 2)", "[2, 4)"), (2 * 2 / 8 + 2 * 1 / 8) / 7),
    ]
    assert made.newly == [0, 0]
    (way,) = made.operators["a"].splits(made.cuts["a"])[-1]
    assert way.parts[1].values == {9}
    lost = made.weighed("a", way, 0.0)
    assert (lost.newly, lost.score) == (1, pytest.approx(-3 / 8 / 7))


def test_records_are_left_out_where_the_others_are_shown_more() -> None:
    source = table("a", ("x", 3), ("y", 1))
    made, history = run(source, 2, most=1)
    assert told(history.steps) == [("*", ("x",), 3 / 4)]
    assert made.newly == [1]
    found = made.released(history, source)
    assert (found.left_out, dict(found.records)) == (1, {("x",): 3})
    _, nothing = run(source, 2)
    assert nothing.steps == []


def test_what_is_left_out_already_counts_for_neither_side() -> None:
    source = table("a b", ("x", "p", 4), ("y", "p", 1), ("x", "q", 4))
    made, history = run(source, 2, most=1)
    # b would leave nobody out, and shows 4 of 9 at each of its steps; a shows 8 of 9 and loses y
    assert told(history.steps[:1]) == [("*", ("x",), 8 / 9 / 2)]
    assert told(history.steps[1:2]) == [("*", ("p",), 4 / 9 / 2)]
    assert made.newly == [1, 0, 0]


def test_without_a_class_and_a_budget_the_steps_are_those_of_the_certainty_penalty() -> None:
    _, history = run(NUMBERS, 2, {"a": Growing()})
    today = WishedTDS(NUMBERS, [Crowd(2, ("a",))], None, {"a": Growing()}, wishes=Wishes()).run()
    assert told(history.steps) == told(today.steps)


@given(cases(), st.integers(1, 5), st.sampled_from([0, 0, 1, 3, 10]), st.booleans())
def test_scores_add_up_to_what_the_kept_records_are_shown(
    drawn: Case, k: int, most: int, classless: bool
) -> None:
    case = replace(of_k(drawn, k), class_column=None if classless else drawn.class_column)
    made = worth(case, most)
    at_first = sum(made.table[row] for row in made.gone())
    try:
        history = made.run()
    except NoSolution:
        assume(False)
    gone = made.gone()
    assert sum(made.newly) == sum(made.table[row] for row in gone) - at_first <= most
    kept = math.fsum(made.table[row] * more for row, more in made.worth.items() if row not in gone)
    shown = math.fsum(step.score * (step.loss + 1) for step in history.steps)
    assert shown == pytest.approx(kept / made.table.total(), abs=1e-9)
    assert min(made.measures(made.kept(made.state()))[:-1], default=k) >= k
