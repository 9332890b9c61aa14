"""The parts of tree growing by themselves: splits, sorted assignment, pruning."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ppdm_sql.methods.trees.model import Attribute, TreeNode
from ppdm_sql.methods.trees.records import assign_bins, cell_ends
from ppdm_sql.methods.trees.splits import Split, best_splits, class_bits, number_nodes, prune

Table = list[list[int]]


def tables(classes: int) -> st.SearchStrategy[Table]:
    """Counts of an attribute at a node: rows of cells, the last for NULL."""
    row = st.lists(st.integers(0, 9), min_size=classes, max_size=classes)
    return st.lists(row, min_size=2, max_size=6)


def impurity(*sides: list[int]) -> Fraction:
    """Records times the gini index, exactly."""
    return sum(
        (Fraction(sum(side)) - Fraction(sum(n * n for n in side), sum(side)) for side in sides if sum(side)),
        Fraction(0),
    )


def total(rows: Table, classes: int) -> list[int]:
    return [sum(row[g] for row in rows) for g in range(classes)]


def sides(table: Table, left: set[int], classes: int) -> tuple[list[int], list[int], bool] | None:
    """Split the cells, NULL with the larger side; None where one is empty."""
    known = table[:-1]
    parts = [
        total([row for cell, row in enumerate(known) if (cell in left) == side], classes) for side in (1, 0)
    ]
    if not all(map(sum, parts)):
        return None
    null_left = sum(parts[0]) >= sum(parts[1])
    larger = parts[0 if null_left else 1]
    larger[:] = [n + null for n, null in zip(larger, table[-1], strict=True)]
    return parts[0], parts[1], null_left


@given(st.integers(2, 3).flatmap(lambda k: st.lists(tables(k), min_size=1, max_size=3)))
def test_a_number_is_split_where_exact_arithmetic_splits_it(given_tables: list[Table]) -> None:
    classes = len(given_tables[0][0])
    first = total(given_tables[0], classes)
    same = [table for table in given_tables if total(table, classes) == first]
    candidates = [
        (impurity(*found[:2]), attribute, cut, found)
        for attribute, table in enumerate(same)
        for cut in range(1, len(table) - 1)
        if (found := sides(table, set(range(cut)), classes)) is not None
    ]
    best = min(candidates, default=None, key=lambda item: item[:3])
    expected = None
    if best is not None and best[0] < impurity(first):
        _, attribute, cut, (left, right, null_left) = best
        expected = Split(attribute, cut, (), null_left, tuple(left), tuple(right))
    assert best_splits([np.array([table]) for table in same], [False] * len(same)) == [expected]


@given(tables(2))
def test_two_classes_split_categories_into_the_best_of_all_subsets(table: Table) -> None:
    counts = [row if cell + 1 < len(table) else [0, 0] for cell, row in enumerate(table)]
    (found,) = best_splits([np.array([counts])], [True])
    cells = range(len(counts) - 1)
    subsets = [set(c) for size in range(1, len(cells)) for c in combinations(cells, size)]
    every = [impurity(*parts[:2]) for subset in subsets if (parts := sides(counts, subset, 2)) is not None]
    here = impurity(total(counts, 2))
    if found is None:
        assert not every or min(every) == here
    else:
        assert impurity([*found.left], [*found.right]) == min(every) < here
        assert sum(found.left) <= sum(found.right)
        listed = [counts[cell] for cell in found.cells]
        assert all(map(sum, listed)) and total(listed, 2) == [*found.left]


@given(tables(3))
def test_categories_that_are_listed_leave_null_with_the_larger_side(table: Table) -> None:
    (found,) = best_splits([np.array([table])], [True])
    if found is not None:
        assert not found.null_left
        assert total([table[cell] for cell in found.cells], 3) == [*found.left]
        assert [a + b for a, b in zip(found.left, found.right, strict=True)] == total(table, 3)


def test_a_split_into_a_gap_takes_its_lowest_boundary_and_the_first_of_equal_attributes() -> None:
    counts = np.array([[[5, 0], [0, 0], [0, 0], [0, 5], [0, 0]]])
    (found,) = best_splits([counts, counts], [False, False])
    assert found == Split(0, 1, (), True, (5, 0), (0, 5))


# -- sorted assignment ------------------------------------------------------------------------------


@st.composite
def groups(draw: st.DrawFn) -> tuple[Any, Any]:
    """Records by group and bin, and the ranks at which cells end."""
    number, bins, cells = draw(st.integers(1, 3)), draw(st.integers(1, 6)), draw(st.integers(1, 4))
    counts = [draw(st.lists(st.integers(0, 5), min_size=bins, max_size=bins)) for _ in range(number)]
    stops = [
        [*sorted(draw(st.lists(st.integers(0, sum(row)), min_size=cells - 1, max_size=cells - 1))), sum(row)]
        for row in counts
    ]
    return np.array(counts), np.array(stops)


@given(groups())
def test_every_record_goes_to_the_cell_of_its_rank(found: tuple[Any, Any]) -> None:
    counts, stops = found
    bases = 100 * np.arange(len(counts)) + 7
    assignment = assign_bins(counts, stops, bases)
    for group, row in enumerate(counts):
        rank = 0
        for place, records in enumerate(row):
            key = bases[group] + place
            for position in range(records):
                whole = [cell for first, last, cell in assignment.whole if first <= key < last]
                parts = [c for k, a, b, c in assignment.divided if k == key and a <= position < b]
                cell = int(np.searchsorted(stops[group], rank, side="right"))
                assert len(whole) == 1 and (parts or whole) == [cell]
                rank += 1


def test_ranks_at_which_cells_end_are_rounded_sums() -> None:
    found = cell_ends(np.array([[0.25, 0.25, 0.5], [0.0, 1.0, 0.0]]), np.array([10, 0]))
    assert found.tolist() == [[2, 5, 10], [0, 0, 0]]


# -- pruning ----------------------------------------------------------------------------------------

AGE = Attribute("age", "DOUBLE", (10.0, 20.0, 30.0))


def split(left: tuple[int, int], right: tuple[int, int]) -> list[TreeNode]:
    counts = (left[0] + right[0], left[1] + right[1])
    root = TreeNode(0, None, None, 0, counts, "age", 20.0)
    return [root, TreeNode(1, 0, "left", 1, left), TreeNode(2, 0, "right", 1, right)]


def test_a_split_stays_only_if_it_saves_bits() -> None:
    assert len(prune(split((50, 0), (0, 50)), [AGE])) == 3
    assert len(prune(split((26, 24), (24, 26)), [AGE])) == 1


@pytest.mark.parametrize("classes", [1, 2, 3, 5])
def test_the_bits_of_classes_are_those_of_the_formula(classes: int) -> None:
    counts = tuple(range(1, classes + 1))
    n = sum(counts)
    entropy = -sum(c * math.log2(c / n) for c in counts)
    volume = math.log2(math.pi ** (classes / 2) / math.gamma(classes / 2))
    expected = entropy + (classes - 1) / 2 * math.log2(n / 2) + volume
    assert class_bits(counts) == pytest.approx(expected)


def test_nodes_are_numbered_from_the_root_down_left_before_right() -> None:
    grown = [
        TreeNode(0, None, None, 0, (6, 6), "age", 20.0),
        TreeNode(1, 0, "left", 1, (5, 1), "age", 10.0),
        TreeNode(2, 0, "right", 1, (1, 5)),
        TreeNode(3, 1, "left", 2, (5, 0)),
        TreeNode(4, 1, "right", 2, (0, 1)),
    ]
    found = number_nodes(grown)
    assert [(node.id, node.parent, node.side, node.counts) for node in found] == [
        (0, None, None, (6, 6)),
        (1, 0, "left", (5, 1)),
        (2, 1, "left", (5, 0)),
        (3, 1, "right", (0, 1)),
        (4, 0, "right", (1, 5)),
    ]
