"""Kernels, the Bayes iteration and the privacy that remains, against the paper and an independent oracle."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import oracle_perturbation as oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ppdm_sql.methods.perturbation.noise import Cells, Domain, Gaussian, Retain, Uniform
from ppdm_sql.methods.perturbation.privacy_measures import conditional_privacy
from ppdm_sql.methods.perturbation.reconstruction import (
    Grid,
    bayes_step,
    category_kernel,
    grid_for,
    invert_randomization,
    kernel,
    observed_grid,
    reconstruct_distributions,
)

Noise = Gaussian | Uniform
Values = NDArray[np.float64]
UNIT = Domain(0.0, 1.0)
FIGURE_2 = Grid(0.0, 0.05, 20)


def kind(noise: Noise) -> str:
    return type(noise).__name__.lower()


def oracle_kernel(noise: Noise, grid: Grid, form: str = "cell") -> list[list[float]]:
    point = noise.domain.whole and grid.width == 1
    noisy = observed_grid(noise, grid)
    edges, ends = (g.lower + g.width * np.arange(g.cells + 1) for g in (grid, noisy))
    return oracle.transition(kind(noise), noise.scale, edges.tolist(), ends.tolist(), form, point=point)


def added(noise: Noise, values: Values, draws: np.random.Generator) -> Values:
    spread = draws.normal if isinstance(noise, Gaussian) else draws.uniform
    bounds = (0, noise.scale) if isinstance(noise, Gaussian) else (-noise.scale, noise.scale)
    noisy = values + spread(*bounds, len(values))
    return np.rint(noisy) if noise.rounded else noisy


def counts(values: Values, grid: Grid) -> NDArray[np.int64]:
    return oracle.histogram(values, grid.lower, grid.width, grid.cells)


class Found(NamedTuple):
    """One distribution that was reconstructed."""

    probabilities: Values
    iterations: int
    converged: bool


def reconstructed(seen: Any, matrix: Values, **options: Any) -> Found:
    """Reconstruct a single distribution."""
    found = reconstruct_distributions([seen], matrix, **options)
    return Found(found.probabilities[0], int(found.iterations[0]), bool(found.converged[0]))


def total_variation(one: Any, other: Any) -> float:
    return float(np.abs(np.asarray(one) - np.asarray(other)).sum() / 2)


def plateau(draws: np.random.Generator, size: int) -> Values:
    """A trapezoid on [0, 1]: it rises to 0.25, is flat, and falls from 0.75 on."""
    sides = draws.random(size) < 1 / 3
    slopes = draws.triangular(0, 0.25, 0.25, size)
    return np.where(
        sides, np.where(draws.random(size) < 0.5, slopes, 1 - slopes), draws.uniform(0.25, 0.75, size)
    )


def triangles(draws: np.random.Generator, size: int) -> Values:
    """Two triangles side by side on [0, 1]."""
    return draws.triangular(0, 0.25, 0.5, size) + 0.5 * draws.integers(0, 2, size)


# -- the paper's Figure 2 -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "noise", "randomized", "bound"),
    [
        (plateau, Gaussian(0.25, UNIT), (0.18, 0.20), 0.09),
        (plateau, Uniform(0.5, UNIT), (0.24, 0.27), 0.03),
        (triangles, Gaussian(0.25, UNIT), (0.31, 0.35), 0.17),
        (triangles, Uniform(0.5, UNIT), (0.38, 0.42), 0.06),
    ],
)
@pytest.mark.parametrize("form", ["cell", "midpoint"])
def test_the_shapes_of_figure_2_come_back(
    shape: Callable[[np.random.Generator, int], Values],
    noise: Noise,
    randomized: tuple[float, float],
    bound: float,
    form: Any,
) -> None:
    grid, n = FIGURE_2, 100_000
    noisy = observed_grid(noise, grid)
    beyond = (noisy.cells - grid.cells) // 2
    matrix = kernel(noise, grid, noisy, form)
    for seed in range(5):
        draws = np.random.default_rng(seed)
        original = shape(draws, n)
        seen, true = counts(added(noise, original, draws), noisy), counts(original, grid) / n
        found = reconstructed(seen, matrix)
        assert found.converged
        assert total_variation(found.probabilities, true) < bound
        low, high = randomized
        assert low < total_variation(seen / n, np.pad(true, beyond)) < high


# -- agreement with the oracle ------------------------------------------------------------------

CASES = [
    (Gaussian(0.25, UNIT), 20),
    (Uniform(0.5, UNIT), 20),
    (Uniform(0.123, UNIT), 10),
    (Gaussian(0.001, UNIT), 10),
    (Gaussian(1.28, UNIT), 10),
    (Gaussian(3.0, Domain(0, 9, whole=True), rounded=True), None),
    (Uniform(4.0, Domain(-4, 9, whole=True), rounded=True), None),
    (Gaussian(30.0, Domain(0, 149, whole=True)), 12),
]


@pytest.mark.parametrize("form", ["cell", "midpoint"])
@pytest.mark.parametrize(("noise", "intervals"), CASES)
def test_every_iteration_agrees_with_the_oracle(noise: Noise, intervals: int | None, form: Any) -> None:
    draws = np.random.default_rng(3)
    low, high = noise.domain.lower, noise.domain.upper
    original = low + (high - low) * draws.beta(2, 5, 3000)
    original = np.rint(original) if noise.domain.whole else original
    grid = grid_for(noise, 3000, intervals)
    noisy = observed_grid(noise, grid)
    seen = counts(added(noise, original, draws), noisy)
    if form == "midpoint":
        seen = seen * (np.asarray(oracle_kernel(noise, grid, form)).max(axis=1) > 0)
    steps = oracle.reconstructed(seen.tolist(), oracle_kernel(noise, grid, form))
    matrix = kernel(noise, grid, noisy, form)
    found = reconstructed(seen, matrix)
    assert (found.iterations, found.converged) == (len(steps), True)
    for number, expected in enumerate(steps, 1):
        after = reconstructed(seen, matrix, cap=number)
        assert after.iterations == number
        assert np.abs(after.probabilities - expected).max() < 1e-9


@given(
    scale=st.floats(0.001, 5),
    even=st.booleans(),
    whole=st.booleans(),
    rounded=st.booleans(),
    intervals=st.integers(1, 12) | st.none(),
)
def test_a_kernel_agrees_with_the_oracle_and_loses_nothing(
    scale: float, even: bool, whole: bool, rounded: bool, intervals: int | None
) -> None:
    domain = Domain(-2, 7, whole=True) if whole or rounded else Domain(-0.4, 1.3)
    noise = (Uniform if even else Gaussian)(scale * (domain.upper - domain.lower), domain, rounded)
    grid = grid_for(noise, 500, intervals)
    found = kernel(noise, grid, observed_grid(noise, grid))
    assert np.abs(found.sum(axis=0) - 1).max() < 1e-12
    assert found.min() >= 0
    assert np.abs(found - oracle_kernel(noise, grid)).max() < 1e-9


def test_the_midpoint_kernel_is_exact_for_uniform_noise_of_whole_cells() -> None:
    noise, grid = Uniform(0.5, UNIT), FIGURE_2
    noisy = observed_grid(noise, grid)
    midpoint = kernel(noise, grid, noisy, "midpoint")
    assert np.allclose(midpoint, kernel(noise, grid, noisy), atol=1e-12)
    coarse = Uniform(0.52, UNIT)
    assert not np.allclose(kernel(coarse, grid, noisy, "midpoint"), kernel(coarse, grid, noisy), atol=1e-3)


@given(st.integers(2, 12), st.integers(1, 40), st.floats(0.05, 2), st.booleans(), st.integers(0, 2**32 - 1))
def test_several_distributions_at_once_are_those_found_one_by_one(
    cells: int, size: int, scale: float, even: bool, seed: int
) -> None:
    noise = (Uniform if even else Gaussian)(scale, UNIT)
    grid = grid_for(noise, 0, cells)
    noisy = observed_grid(noise, grid)
    matrix, draws = kernel(noise, grid, noisy), np.random.default_rng(seed)
    rows = np.stack([counts(added(noise, draws.random(20 * n), draws), noisy) for n in range(size)])
    batch = reconstruct_distributions(rows, matrix, cap=50)
    for place, row in enumerate(rows):
        single = reconstructed(row, matrix, cap=50)
        assert (batch.iterations[place], batch.converged[place]) == (single.iterations, single.converged)
        assert np.abs(batch.probabilities[place] - single.probabilities).max() < 1e-12


# -- the iteration ------------------------------------------------------------------------------


@given(st.floats(0.05, 2), st.booleans(), st.integers(0, 2**32 - 1))
def test_no_step_makes_the_counts_less_likely(scale: float, even: bool, seed: int) -> None:
    noise = (Uniform if even else Gaussian)(scale, UNIT)
    grid = Grid(0.0, 0.1, 10)
    noisy = observed_grid(noise, grid)
    matrix, draws = kernel(noise, grid, noisy), np.random.default_rng(seed)
    seen = counts(added(noise, draws.random(200), draws), noisy)
    estimate, before = np.full((1, 10), 0.1), -math.inf
    for _ in range(20):
        likelihood = float(seen[seen > 0] @ np.log(matrix[seen > 0] @ estimate[0]))
        assert likelihood > before - 1e-9
        estimate, before = bayes_step(seen[None, :] / seen.sum(), matrix, estimate), likelihood


@pytest.mark.parametrize("noise", [Gaussian(0.1, UNIT), Uniform(0.3, UNIT)])
def test_expected_counts_lead_back_to_the_distribution(noise: Noise) -> None:
    grid = Grid(0.0, 0.125, 8)
    matrix = kernel(noise, grid, observed_grid(noise, grid))
    true = np.array([1, 5, 2, 2, 9, 4, 0.5, 1]) / 24.5
    found = reconstructed(1e6 * (matrix @ true), matrix, fraction=1e-12, cap=200_000)
    assert total_variation(found.probabilities, true) < 1e-3


def test_the_cap_stops_and_says_so() -> None:
    noise = Gaussian(0.25, UNIT)
    noisy = observed_grid(noise, FIGURE_2)
    draws = np.random.default_rng(1)
    seen = counts(added(noise, triangles(draws, 5000), draws), noisy)
    matrix = kernel(noise, FIGURE_2, noisy)
    stopped = reconstructed(seen, matrix, cap=3)
    assert (stopped.iterations, stopped.converged) == (3, False)
    assert not reconstructed(seen, matrix, fraction=0, cap=20).converged
    steps = [reconstructed(seen, matrix, fraction=f).iterations for f in (0.1, 0.01, 0.001)]
    assert steps == sorted(set(steps))


def test_without_records_or_with_one_cell_there_is_nothing_to_iterate() -> None:
    nothing = reconstructed([0, 0], np.eye(2))
    assert (nothing.probabilities.tolist(), nothing.iterations, nothing.converged) == ([0.5, 0.5], 0, True)
    one = reconstructed([3, 4, 5], np.array([[0.2], [0.6], [0.2]]))
    assert (one.probabilities.tolist(), one.iterations, one.converged) == ([1.0], 0, True)


def test_counts_that_no_value_reaches_go_to_the_nearest_cell_that_one_does() -> None:
    noise, grid = Uniform(0.5, UNIT), Grid(0.0, 0.25, 4)
    noisy = observed_grid(noise, grid)
    matrix = kernel(noise, grid, noisy)
    inside, outside = np.zeros(noisy.cells), np.zeros(noisy.cells)
    assert matrix[0].max() == 0 and matrix[1].max() > 0
    inside[[1, 5]], outside[[0, 5]] = [10, 90], [10, 90]
    expected = reconstructed(inside, matrix).probabilities
    assert np.array_equal(reconstructed(outside, matrix).probabilities, expected)


# -- grids --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("records", "cells"), [(0, 10), (999, 10), (3000, 30), (9999, 99), (10**7, 100)])
def test_the_number_of_intervals_follows_the_papers_rule(records: int, cells: int) -> None:
    grid = grid_for(Gaussian(1.0, Domain(20_000, 150_000)), records)
    assert (grid.lower, grid.cells) == (20_000, cells)
    assert grid.upper == pytest.approx(150_000)


@given(st.integers(-50, 50), st.integers(1, 400), st.integers(1, 120) | st.none())
def test_whole_numbers_lie_inside_their_cells_and_none_is_lost(
    lower: int, more: int, intervals: int | None
) -> None:
    grid = grid_for(Uniform(2.0, Domain(lower, lower + more, whole=True)), 5000, intervals)
    values = np.arange(lower, lower + more + 1)
    codes = np.floor((values - grid.lower) / grid.width).astype(int)
    assert codes.min() == 0 and codes.max() == grid.cells - 1
    assert grid.width == int(grid.width)
    assert grid.lower == lower - 0.5
    assert grid.cells <= (intervals or 100)
    if intervals is None and more < 100:
        assert (grid.width, grid.cells) == (1, more + 1)


def test_wide_noise_does_not_make_endless_grids() -> None:
    noise = Uniform(1e12, UNIT)
    grid = grid_for(noise, 10**6)
    noisy = observed_grid(noise, grid)
    assert noisy.cells == 2100
    assert np.abs(kernel(noise, grid, noisy).sum(axis=0) - 1).max() < 1e-9


# -- categories ---------------------------------------------------------------------------------


@pytest.mark.parametrize("probability", [0.05, 0.5, 0.95])
def test_both_ways_find_the_distribution_behind_expected_counts(probability: float) -> None:
    noise, true = Retain(probability, ("a", "b", "c")), np.array([0.6, 0.1, 0.3])
    expected = 1e6 * (category_kernel(noise) @ true)
    assert np.allclose(invert_randomization(expected, noise)[0], true)
    found = reconstructed(expected, category_kernel(noise), fraction=1e-14, cap=200_000)
    assert np.allclose(found.probabilities, true, atol=1e-3)


def test_the_category_kernel_is_that_of_randomized_response() -> None:
    noise = Retain(0.7, ("a", "b", "c"))
    matrix = category_kernel(noise)
    for place in range(3):
        for other in range(3):
            assert matrix[other][place] == pytest.approx(0.7 * (other == place) + 0.3 / 3)


def test_inversion_reports_what_it_estimated_below_0() -> None:
    found, negative = invert_randomization(np.array([90.0, 10, 0]), Retain(0.5, ("a", "b", "c")))
    assert negative.tolist() == [False, True, True]
    assert found.tolist() == [1.0, 0.0, 0.0]


# -- the privacy that remains -------------------------------------------------------------------


def test_even_values_at_full_privacy_lose_what_agrawal_and_aggarwal_say() -> None:
    even, grid = np.ones(100), Grid(0.0, 0.01, 100)
    gaussian = conditional_privacy(Gaussian(1 / 3.919928, UNIT), grid, even)
    uniform = conditional_privacy(Uniform(1 / 1.9, UNIT), grid, even)
    assert gaussian.loss == pytest.approx(0.335, abs=0.0005)
    # I(X; Y) = 1 / (2 W ln 2) bits for noise of width W = 1 / .95 on values spread over [0, 1]
    assert uniform.loss == pytest.approx(1 - 2 ** -(0.95 / (2 * math.log(2))), abs=1e-4)
    assert uniform.loss == pytest.approx(0.376, abs=0.003)
    for found in (gaussian, uniform):
        assert found.before == pytest.approx(1)
        assert found.after == pytest.approx(1 - found.loss)
        assert found.width == pytest.approx(0.65, abs=0.01)
        assert found.short is not None
        assert 0.2 < found.short < 0.27


@pytest.mark.parametrize("noise", [Gaussian(0.07, UNIT), Uniform(0.2, UNIT), Gaussian(1.5, UNIT)])
def test_the_information_agrees_with_quadrature(noise: Noise) -> None:
    shares = np.array([0.4, 0.0, 0.1, 0.2, 0.3])
    found = conditional_privacy(noise, Grid(0.0, 0.2, 5), shares)
    edges = np.linspace(0, 1, 6).tolist()
    expected = oracle.information(kind(noise), noise.scale, edges, shares.tolist())
    entropy = -sum(p * math.log2(p / 0.2) for p in shares if p)
    assert found.before == pytest.approx(2**entropy)
    assert found.loss == pytest.approx(1 - 2**-expected, abs=1e-3)


@given(
    st.sampled_from([0.001, 0.1, 1.0, 10.0, 1e6]),
    st.booleans(),
    st.booleans(),
    st.lists(st.integers(0, 9), min_size=2, max_size=9),
)
def test_what_remains_is_never_more_than_there_was(
    scale: float, even: bool, whole: bool, shares: list[int]
) -> None:
    shares[0] += 1
    domain = Domain(0, len(shares) - 1, whole=whole)
    noise = (Uniform if even else Gaussian)(scale, domain, whole)
    found = conditional_privacy(noise, grid_for(noise, 0, len(shares)), shares)
    assert 0 <= found.loss < 1
    assert 0 < found.after <= found.before + 1e-9
    assert found.short is not None and 0 <= found.short <= 1 + 1e-9
    if scale == 1e6:
        assert found.loss == pytest.approx(0, abs=1e-4)
    if scale == 0.001 and whole:
        assert found.after == pytest.approx(1)


def test_a_cell_hides_its_width_and_nothing_else() -> None:
    found = conditional_privacy(Cells((0.0, 1.0, 2.0, 6.0)), None, [1, 1, 2])
    # X is spread evenly inside each cell: h(X) = -2 (1/4) log2(1/4) - (1/2) log2(1/8) bits
    assert found.before == pytest.approx(2**2.5)
    assert found.after == pytest.approx(2**1.0)
    assert found.width == pytest.approx(0.95 * 2.5)
    assert found.short is None


def test_randomized_response_leaves_what_the_posteriors_leave() -> None:
    noise, shares = Retain(0.6, ("a", "b", "c")), np.array([0.5, 0.3, 0.2])
    joint = category_kernel(noise) * shares
    posterior = joint / joint.sum(axis=1, keepdims=True)
    left = -(joint * np.log2(posterior)).sum()
    found = conditional_privacy(noise, None, 1000 * shares)
    assert found.after == pytest.approx(2**left)
    assert found.before == pytest.approx(2 ** -(shares * np.log2(shares)).sum())
    assert found.width is None and found.short is None


def test_the_posterior_width_is_that_of_the_shortest_interval() -> None:
    noise, grid = Uniform(0.3, UNIT), Grid(0.0, 0.1, 10)
    shares = np.array([1, 8, 2, 1, 5, 5, 1, 0, 3, 4]) / 30
    noisy = observed_grid(noise, grid)
    joint = kernel(noise, grid, noisy) * shares
    widths = []
    for row in joint[joint.sum(axis=1) > 0]:
        below = np.concatenate([[0], np.cumsum(row / row.sum())])
        starts = np.linspace(0, 1, 2001)
        reached = np.interp(starts, grid.edges(), below) + 0.95
        held = reached <= 1
        ends = [np.interp(r, below, grid.edges()) for r in reached[held]]
        widths.append(min(np.array(ends) - starts[held]))
    seen = joint.sum(axis=1)[joint.sum(axis=1) > 0]
    expected = float(seen @ widths / seen.sum())
    assert conditional_privacy(noise, grid, shares).width == pytest.approx(expected, abs=2e-3)
