"""The filter over all noisy columns, and correlated noise, by the figures of the papers and by numpy."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table, column
from ppdm_sql.methods.perturbation.correlations import Attack, deviation, filter_attack, mixing_matrix
from ppdm_sql.methods.perturbation.noise import Domain, Gaussian, Uniform

Array = NDArray[np.float64]
RECORDS = 6_000
ANY = Domain(0, 1)


def drawn(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def factors(columns: int, of: int, seed: int, records: int = RECORDS) -> Array:
    """Columns that are mixtures of a few factors; of none, independent ones. Means and scales differ."""
    draw = drawn(seed)
    if of:
        values = draw.normal(size=(records, of)) @ draw.normal(size=(of, columns))
    else:
        values = draw.normal(size=(records, columns))
    return values * draw.uniform(1, 1_000, columns) + draw.uniform(-5_000, 5_000, columns)


def loaded(original: Array, noisy: Array, *, masked: Array | None = None) -> Engine:
    """A table ``t`` with the true values x0, x1 ... and the noisy ones y0, y1 ... of each record."""
    named = {
        f"{letter}{j}": v[:, j] for letter, v in (("x", original), ("y", noisy)) for j in range(v.shape[1])
    }
    arrays = {
        name: pa.array(values, mask=None if masked is None else masked[:, int(name[1:])])
        for name, values in named.items()
    }
    con = duckdb.connect()
    con.register("arrow", pa.table(arrays))
    con.execute("CREATE TABLE t AS FROM arrow")
    return Engine(con)


def columns(letter: str, size: int) -> list[Any]:
    return [column(f"{letter}{j}") for j in range(size)]


def attacked(engine: Engine, scales: Array, *, mixed: Array | None = None) -> Attack:
    size = len(scales)
    noises = {f"c{j}": Gaussian(float(scale), ANY) for j, scale in enumerate(scales)}
    found = filter_attack(engine, Table("t"), noises, columns("y", size), columns("x", size), mixed)
    assert found is not None
    return found


def as_the_data(original: Array) -> Array:
    return np.linalg.cholesky(np.corrcoef(original.T) + 1e-6 * np.eye(original.shape[1]))


def mean(shares: Any) -> float:
    return float(np.mean(list(shares.values())))


# -- the figures of the papers ------------------------------------------------------------------------


@pytest.mark.parametrize("level", [0.25, 1.0])
def test_two_factors_behind_30_columns_leave_about_a_quarter_of_the_noise(level: float) -> None:
    original = factors(30, 2, seed=1)
    scales = level * original.std(axis=0)
    engine = loaded(original, original + scales * drawn(2).normal(size=original.shape))
    found = attacked(engine, scales)
    assert 1 - mean(found.together) == pytest.approx((2 / 30) ** 0.5, abs=0.02)
    assert mean(found.alone) == pytest.approx(1 - (1 / (1 + level**2)) ** 0.5, abs=0.02)
    assert found.warning is not None and "--correlated" in found.warning


@pytest.mark.parametrize("level", [0.25, 2.0])
def test_independent_columns_tell_nothing_of_each_other(level: float) -> None:
    original = factors(10, 0, seed=3)
    scales = level * original.std(axis=0)
    found = attacked(loaded(original, original + scales * drawn(4).normal(size=original.shape)), scales)
    assert all(abs(found.together[name] - found.alone[name]) < 0.01 for name in found.alone)
    assert found.warning is None


@pytest.mark.parametrize("level", [0.25, 2.0])
def test_noise_that_is_correlated_as_the_data_are_is_not_filtered_out(level: float) -> None:
    original = factors(12, 2, seed=5)
    scales = level * original.std(axis=0)
    mixed = mixing_matrix(loaded(original, original), Table("t"), columns("x", 12), list(scales))
    noise = scales * (drawn(6).normal(size=original.shape) @ mixed.T)
    found = attacked(loaded(original, original + noise), scales, mixed=mixed)
    assert all(abs(found.together[name] - found.alone[name]) < 0.02 for name in found.alone)
    assert found.warning is None


@pytest.mark.parametrize("alone", [0, 0.3, 1])
def test_correlated_noise_hides_columns_beside_which_it_is_not_equally_strong(alone: float) -> None:
    original = factors(12, 2, seed=5)
    original = original / original.std(axis=0) + alone * drawn(22).normal(size=original.shape)
    scales = drawn(23).uniform(0.4, 1, 12) * original.std(axis=0)
    engine = loaded(original, original)
    found = {}
    best = mixing_matrix(engine, Table("t"), columns("x", 12), list(scales))
    for name, mixed in (("as the data", as_the_data(original)), ("best", best)):
        assert np.allclose((mixed**2).sum(axis=1), 1)
        noise = scales * (drawn(24).normal(size=original.shape) @ mixed.T)
        found[name] = attacked(loaded(original, original + noise), scales, mixed=mixed)
    apart = attacked(loaded(original, original + scales * drawn(24).normal(size=original.shape)), scales)
    assert mean(found["best"].together) <= mean(found["as the data"].together) + 0.005
    assert mean(found["best"].together) < mean(apart.together) - (0.2 if alone < 1 else 0.02)
    if alone > 0:
        assert found["best"].warning is None
    if alone < 1:
        warning = found["as the data"].warning
        assert warning is not None and "--correlated" not in warning and "in proportion" in warning


def test_the_best_correlations_are_those_of_the_data_where_noise_is_equally_strong() -> None:
    original = factors(6, 3, seed=17) + factors(6, 0, seed=18)
    engine = loaded(original, original)
    best = mixing_matrix(engine, Table("t"), columns("x", 6), list(0.5 * original.std(axis=0)))
    assert np.allclose(np.triu(best, 1), 0)
    assert np.allclose((best**2).sum(axis=1), 1)
    assert np.allclose(best @ best.T, np.corrcoef(original.T), atol=0.02)


def test_the_measured_errors_are_those_of_numpy() -> None:
    original = factors(5, 2, seed=9, records=2_000)
    scales = 0.4 * original.std(axis=0)
    noisy = original + scales * drawn(10).normal(size=original.shape)
    found = attacked(loaded(original, noisy), scales)
    white = (noisy - noisy.mean(axis=0)) / scales
    values, vectors = np.linalg.eigh(np.cov(white.T, bias=True))
    shares = np.where(values > (1 + (5 / 2_000) ** 0.5) ** 2, 1 - 1 / values, 0)
    estimate = noisy.mean(axis=0) + scales * (white @ (vectors * shares) @ vectors.T)
    errors = np.sqrt(((estimate - original) ** 2).mean(axis=0)) / scales
    assert list(found.together.values()) == pytest.approx(1 - errors, abs=1e-5)


# -- what counts, and what does not -----------------------------------------------------------------


def test_the_mean_is_taken_where_values_are_missing() -> None:
    original = factors(6, 1, seed=11)
    scales = 0.5 * original.std(axis=0)
    noisy = original + scales * drawn(12).normal(size=original.shape)
    masked = drawn(13).uniform(size=original.shape) < 0.1
    whole, holed = (
        attacked(loaded(original, noisy), scales),
        attacked(loaded(original, noisy, masked=masked), scales),
    )
    assert mean(holed.alone) == pytest.approx(mean(whole.alone), abs=0.01)
    assert mean(holed.alone) + 0.3 < mean(holed.together) <= mean(whole.together)


def test_numbers_that_are_not_finite_are_missing_and_too_large_ones_stop_the_attack() -> None:
    original = factors(3, 1, seed=20)
    scales = 0.5 * original.std(axis=0)
    noisy = original + scales * drawn(21).normal(size=original.shape)
    expected = attacked(loaded(original, noisy), scales)
    noisy[0, 0], noisy[1, 1], original[2, 2] = np.inf, np.nan, -np.inf
    found = attacked(loaded(original, noisy), scales)
    assert mean(found.together) == pytest.approx(mean(expected.together), abs=0.01)
    engine = loaded(original * 1e300, noisy * 1e300)
    noises = {name: Gaussian(1.0, ANY) for name in "abc"}
    assert filter_attack(engine, Table("t"), noises, columns("y", 3), columns("x", 3)) is None
    assert np.isfinite(mixing_matrix(engine, Table("t"), columns("x", 3), [1.0] * 3)).all()


def test_constant_and_missing_columns_are_known_once_their_mean_is() -> None:
    original = np.column_stack([np.full(RECORDS, 5.0), factors(1, 0, seed=15)[:, 0]])
    scales = np.array([2.0, 0.5 * original[:, 1].std()])
    noisy = original + scales * drawn(16).normal(size=original.shape)
    found = attacked(loaded(original, noisy), scales)
    assert found.alone["c0"] > 0.95 and found.together["c0"] > 0.95
    masked = np.zeros(original.shape, dtype=bool)
    masked[:, 0] = True
    assert 0 <= attacked(loaded(original, noisy, masked=masked), scales).together["c1"] <= 1


def test_a_warning_tells_of_the_worst_column_and_only_beyond_what_it_gives_away_itself() -> None:
    gone = Attack({"a": 0.1, "b": 0.5}, {"a": 0.2, "b": 0.7})
    assert gone.warning is not None
    assert "70 % of the noise of b" in gone.warning and "alone 50 %" in gone.warning
    assert Attack({"a": 0.6, "b": 1.0}, {"a": 0.68, "b": 1.0}).warning is None


@pytest.mark.parametrize(
    ("noise", "expected"),
    [
        (Gaussian(2.0, ANY), 2.0),
        (Uniform(3.0, ANY), 3**0.5),
        (Uniform(3.0, Domain(0, 9, whole=True), rounded=True), (3 + 1 / 12) ** 0.5),
        (Gaussian(2.0, ANY, rounded=True), 2.0),
    ],
)
def test_deviations_of_noise(noise: Gaussian | Uniform, expected: float) -> None:
    assert deviation(noise) == pytest.approx(expected)


# -- correlated noise -------------------------------------------------------------------------------


@pytest.mark.parametrize("broken", ["constant", "collinear", "missing", "single"])
def test_columns_without_correlations_of_their_own_can_be_mixed(broken: str) -> None:
    values = factors(3, 0, seed=19)
    if broken == "constant":
        values[:, 1] = 7
    if broken == "collinear":
        values[:, 1] = 3 - 2 * values[:, 0]
    masked = np.zeros(values.shape, dtype=bool)
    masked[:, 1] = broken == "missing"
    masked[1:, 1] |= broken == "single"
    engine = loaded(values, values, masked=masked)
    found = mixing_matrix(engine, Table("t"), columns("x", 3), [1.0, 2.0, 3.0])
    assert np.isfinite(found).all()
    assert np.allclose((found**2).sum(axis=1), 1)
    correlation = (found @ found.T)[0, 1]
    assert correlation == pytest.approx(-1 if broken == "collinear" else 0, abs=0.01)
