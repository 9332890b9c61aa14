"""Correlations between columns: what a filter gets back by them, and noise that hides among the columns.

Sources: Kargupta, Datta, Wang, Sivakumar 2003, "On the Privacy Preserving Properties of Random Data
Perturbation Techniques", ICDM, for the attack; Huang, Du, Chen 2005, "Deriving Private Information from
Randomized Data", SIGMOD, section 6, for the noise.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np
from sqlglot import exp

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.engine.source import aggregated
from ppdm_sql.engine.statements import Statement, sql
from ppdm_sql.methods.base.arrays import Floats
from ppdm_sql.methods.perturbation.noise import AdditiveNoise, Uniform
from ppdm_sql.release.layout import MeasureRow

LEAST_EIGENVALUE = 1e-6
"""Keeps the matrix regular where columns follow from each other."""

DIGITS = 6
"""Sums over several threads differ in their last digits, so results are rounded to these."""

MOST_STEPS, SMALLEST_GAIN = 1_000, 1e-7
"""The climb to the best correlations stops at either; it ends well above those of the data in any case."""


def mixing_matrix(
    engine: Engine, table: Table, columns: Sequence[exp.Expression], deviations: Sequence[float]
) -> Floats:
    """Give the lower triangular matrix that turns independent noise into noise that hides among the columns.

    The result keeps variance 1. Where noise is equally strong beside each column, its correlations are those
    of the columns; a constant column is independent of the others.
    """
    covariances = np.nan_to_num(joint_moments(engine, table, columns).covariances, posinf=0.0, neginf=0.0)
    spread = np.sqrt(np.diag(covariances))
    varies = spread > 0
    scale = np.where(varies, spread, 1.0)
    correlations = np.where(np.outer(varies, varies), covariances / np.outer(scale, scale), 0.0).round(DIGITS)
    np.fill_diagonal(correlations, 1.0)
    strength = (np.where(varies, spread, 0.0) / np.array(deviations)).round(DIGITS)
    return _correlation_root(_hardest_to_filter(correlations * np.outer(strength, strength)))


def _correlation_root(correlations: Floats) -> Floats:
    """Give the lower triangular root of a matrix of correlations, which may be singular."""
    values, vectors = np.linalg.eigh(correlations)
    regular = (vectors * np.maximum(values, LEAST_EIGENVALUE)) @ vectors.T
    norms = np.sqrt(np.diag(regular))
    return np.linalg.cholesky(regular / np.outer(norms, norms))


def _hardest_to_filter(signal: Floats) -> Floats:
    """Find the correlations of noise from which a filter removes least.

    What the best linear filter leaves, the parallel sum of signal and noise, is concave in the noise
    (Anderson, Duffin 1969), so climbing leads to the top. The rows of the root that is moved keep length 1.
    """
    signal = signal + LEAST_EIGENVALUE * np.eye(len(signal))
    root, rate = np.eye(len(signal)), 1.0
    error, slope = _remaining_error(signal, root)
    for _ in range(MOST_STEPS):
        next_root = root + rate * slope @ root
        next_root /= np.linalg.norm(next_root, axis=1, keepdims=True)
        next_error, next_slope = _remaining_error(signal, next_root)
        if next_error < error:
            rate /= 2
            continue
        gain, root, error, slope, rate = next_error - error, next_root, next_error, next_slope, 2 * rate
        if gain <= SMALLEST_GAIN * error:
            break
    return root @ root.T


def _remaining_error(signal: Floats, root: Floats) -> tuple[float, Floats]:
    """Give the squared error that the best filter leaves of all columns, and how noise changes it."""
    weights = np.linalg.solve(signal + root @ root.T, signal)
    return float(np.trace(signal - signal @ weights)), weights @ weights.T


class JointMoments(NamedTuple):
    """Means and covariances of columns; 0 where there is nothing to measure."""

    records: int
    means: Floats  # of the columns
    covariances: Floats  # the matrix of them


def joint_moments(engine: Engine, table: Table, columns: Sequence[exp.Expression]) -> JointMoments:
    """Measure means and covariances, pair by pair over the records where neither is NULL, in one scan."""
    size = len(columns)
    pairs = list(combinations_with_replacement(range(size), 2))
    means = [sql("avg(y{i})", i=i) for i in range(size)]
    ((records, *row),) = aggregated(
        engine,
        table,
        "SELECT count(*), {measures} FROM (SELECT {values} FROM {rows}) AS v",
        step="covariances",
        measures=[*means, *(sql("covar_pop(y{i}, y{j})", i=i, j=j) for i, j in pairs)],
        values=_finite(columns, "y"),
    )
    numbers = np.array([0.0 if number is None else number for number in row], dtype=np.float64)
    covariances = np.zeros((size, size))
    for (i, j), number in zip(pairs, numbers[size:], strict=True):
        covariances[i, j] = covariances[j, i] = number
    return JointMoments(records, numbers[:size], covariances)


def _finite(columns: Sequence[exp.Expression], prefix: str) -> list[Statement]:
    """Give columns as finite numbers, NULL for others, called by a letter and their place."""
    number = f"CASE WHEN isfinite({{c}}::DOUBLE) THEN {{c}}::DOUBLE END AS {prefix}{{place}}"
    return [sql(number, c=item, place=place) for place, item in enumerate(columns)]


THRESHOLD = 0.25
"""A warning is given where all columns remove this share of the noise that one column alone leaves."""


@dataclass(frozen=True)
class Attack:
    """What an attacker can remove of the noise of each column, as shares of its standard deviation.

    0 leaves all of the noise, 1 none. The attacker knows the noise and makes the best linear estimate. One
    column alone tells something too: where noise is strong, the mean is the better guess.
    """

    alone: Mapping[str, float]  # for each column, removed by who looks at that column only
    together: Mapping[str, float]  # for each column, removed by who looks at all noisy columns
    correlated: bool = False  # whether the noise is correlated

    @property
    def measures(self) -> tuple[MeasureRow, ...]:
        by = (("a column alone", self.alone), ("all noisy columns", self.together))
        return tuple(
            (f"noise that {what} can remove: {name}", None, shares[name])
            for name in self.alone
            for what, shares in by
        )

    @property
    def warning(self) -> str | None:
        """What to tell an owner whose columns give too much away together; None where they do not."""
        remaining = {name: 1 - share for name, share in self.alone.items() if share < 1}
        gains = {name: 1 - (1 - self.together[name]) / remaining[name] for name in remaining}
        worst = max(gains, key=lambda name: gains[name], default="")
        if gains.get(worst, 0.0) <= THRESHOLD:
            return None
        all_of_it, alone = (f"{100 * shares[worst]:.0f} %" for shares in (self.together, self.alone))
        remedy = "noise as strong beside every column, in proportion to its standard deviation, hides better"
        if not self.correlated:
            remedy = "--correlated draws noise that is correlated as the columns are"
        return (
            f"All noisy columns together let an attacker remove {all_of_it} of the noise of {worst}, that "
            f"column alone {alone}; {remedy}."
        )


def filter_attack(
    engine: Engine,
    table: Table,
    noises: Mapping[str, AdditiveNoise],
    released: Sequence[exp.Expression],
    original: Sequence[exp.Expression],
    mixing: Floats | None = None,
) -> Attack | None:
    """Filter the noise out of all noisy columns together, as an attacker would, and measure what is left.

    None where fewer than two columns have noise, or nothing can be measured of them. ``mixing`` is from
    :func:`mixing_matrix`. Python sees means, covariances and mean squared errors.
    """
    if len(noises) < 2:
        return None
    moments = joint_moments(engine, table, released)
    if not moments.records or not np.isfinite(moments.covariances).all():
        return None
    deviations = np.array([deviation(noise) for noise in noises.values()])
    matrix = np.eye(len(noises)) if mixing is None else mixing
    variances = np.diag(moments.covariances)
    each = [
        _linear_filter(np.array([[variance]]), np.array([[noise]]), moments.records)[0, 0]
        for variance, noise in zip(variances, deviations, strict=True)
    ]
    together = _linear_filter(moments.covariances, deviations[:, None] * matrix, moments.records)
    errors = _errors(engine, table, released, original, moments.means, [np.diag(each), together])
    shares = np.clip(1 - np.sqrt(errors) / deviations, 0.0, 1.0).tolist()
    alone, of_all = ({n: round(r, DIGITS) for n, r in zip(noises, of, strict=True)} for of in shares)
    return Attack(alone, of_all, correlated=mixing is not None)


def deviation(noise: AdditiveNoise) -> float:
    """Give the standard deviation of noise, in the column's unit; rounding to whole numbers adds to it."""
    variance = noise.scale**2 / (3 if isinstance(noise, Uniform) else 1)
    return math.sqrt(variance + (1 / 12 if noise.rounded and noise.domain.whole else 0))


def _linear_filter(covariances: Floats, factor: Floats, records: int) -> Floats:
    """Find the weights of the best linear estimate of the true values.

    The noise has covariances F F', with F the factor. In the coordinates in which its variance is 1
    everywhere, a principal component of variance v holds v - 1 of data. It is weighted by its share of data,
    (v - 1) / v; a component that does not exceed what noise of so many records reaches by chance (Marchenko
    and Pastur) is taken for noise.
    """
    inverse = np.linalg.inv(factor)
    values, vectors = np.linalg.eigh(inverse @ covariances @ inverse.T)
    holds_data = values > (1 + math.sqrt(len(values) / records)) ** 2
    shares = np.where(holds_data, 1 - 1 / np.where(holds_data, values, 1.0), 0.0)
    return np.asarray((factor @ vectors * shares) @ vectors.T @ inverse)


def _errors(
    engine: Engine,
    table: Table,
    noisy: Sequence[exp.Expression],
    true: Sequence[exp.Expression],
    means: Floats,
    filters: Sequence[Floats],
) -> Floats:
    """Measure the mean squared errors of estimates, a row a filter; a missing value is taken for the mean."""
    centred = [sql("coalesce(y{i} - {m}, 0e0) AS z{i}", i=i, m=float(m)) for i, m in enumerate(means)]
    centred += [sql("x{i} - {m} AS x{i}", i=i, m=float(m)) for i, m in enumerate(means)]
    errors = [
        sql("avg(pow({estimate} - x{i}, 2e0))", estimate=_estimate(row), i=i)
        for weights in filters
        for i, row in enumerate(weights)
    ]
    (squares,) = aggregated(
        engine,
        table,
        "SELECT {errors} FROM (SELECT {centred} FROM (SELECT {values} FROM {rows}) AS v) AS c",
        step="filter errors",
        errors=errors,
        centred=centred,
        values=[*_finite(noisy, "y"), *_finite(true, "x")],
    )
    mean_squares = np.array([0.0 if error is None else error for error in squares], dtype=np.float64)
    return mean_squares.reshape(len(filters), len(noisy))


def _estimate(weights: Floats) -> Statement:
    terms = [sql("z{i} * {w}", i=i, w=float(weight)) for i, weight in enumerate(weights) if weight]
    return Statement(f"({' + '.join(terms) or '0e0'})")
