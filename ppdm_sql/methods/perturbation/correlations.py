"""Correlations between columns: what a filter gets back by them, and noise that hides among the columns.

Sources: Kargupta, Datta, Wang, Sivakumar 2003, "On the Privacy Preserving Properties of Random Data
Perturbation Techniques", ICDM, for the attack; Huang, Du, Chen 2005, "Deriving Private Information from
Randomized Data", SIGMOD, section 6, for the noise.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np
from sqlglot import exp

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table, alias, column
from ppdm_sql.engine.source import source_of
from ppdm_sql.engine.types import double
from ppdm_sql.methods.base.arrays import Floats
from ppdm_sql.methods.perturbation.noise import AdditiveNoise, Noise, Uniform
from ppdm_sql.release.draft import MeasureRow

LEAST_EIGENVALUE = 1e-6
"""Columns that follow from each other are moved so far from doing so."""

DIGITS = 6
"""Sums that threads share differ in their last digits, so what is made of them is rounded."""

MOST_STEPS, SMALLEST_GAIN = 1_000, 1e-7
"""The climb to the best correlations stops at either; it ends well above those of the data in any case."""


def mixing_matrix(
    engine: Engine, table: Table, columns: Sequence[exp.Expression], deviations: Sequence[float] | None = None
) -> Floats:
    """Give the lower triangular matrix that turns independent noise into noise that hides among the columns.

    The result keeps variance 1. Where noise is equally strong beside each column, its correlations are those
    of the columns; a constant column is independent of the others.

    Args:
        engine: The database.
        table: One row a record; a NULL counts for no pair of columns that it is in.
        columns: The original numbers.
        deviations: Standard deviations of the noise; by default in proportion to those of the columns.

    Cost: one scan of the table.

    Example:
        >>> import duckdb
        >>> con = duckdb.connect()
        >>> _ = con.execute("CREATE TABLE t AS SELECT i AS a, i % 2 AS b FROM range(4) r (i)")
        >>> found = mixing_matrix(Engine(con), Table("t"), [column("a"), column("b")])
        >>> (found @ found.T).round(3)
        array([[1.   , 0.447],
               [0.447, 1.   ]])
    """
    covariances = np.nan_to_num(joint_moments(engine, table, columns).covariances, posinf=0.0, neginf=0.0)
    spread = np.sqrt(np.diag(covariances))
    varies = spread > 0
    scale = np.where(varies, spread, 1.0)
    correlations = np.where(np.outer(varies, varies), covariances / np.outer(scale, scale), 0.0).round(DIGITS)
    np.fill_diagonal(correlations, 1.0)
    if deviations is None:
        return _correlation_root(correlations)
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
    left, slope = _remaining_error(signal, root)
    for _ in range(MOST_STEPS):
        moved = root + rate * slope @ root
        moved /= np.linalg.norm(moved, axis=1, keepdims=True)
        reached, next_slope = _remaining_error(signal, moved)
        if reached < left:
            rate /= 2
            continue
        gain, root, left, slope, rate = reached - left, moved, reached, next_slope, 2 * rate
        if gain <= SMALLEST_GAIN * left:
            break
    return root @ root.T


def _remaining_error(signal: Floats, root: Floats) -> tuple[float, Floats]:
    """Give the squared error that the best filter leaves of all columns, and how noise changes it."""
    weights = np.linalg.solve(signal + root @ root.T, signal)
    return float(np.trace(signal - signal @ weights)), weights @ weights.T


class JointMoments(NamedTuple):
    """What was measured of some columns; 0 where there is nothing to measure."""

    records: int
    means: Floats  # of the columns
    covariances: Floats  # the matrix of them


def joint_moments(engine: Engine, table: Table, columns: Sequence[exp.Expression]) -> JointMoments:
    """Measure means and covariances, pair by pair over the records where neither is NULL, in one scan."""
    size = len(columns)
    source = source_of(engine, table)
    ((records, *row),) = source.aggregate(partial(moments_query, columns=columns), step="covariances")
    found = np.array([0.0 if number is None else number for number in row], dtype=np.float64)
    covariances = np.zeros((size, size))
    for (i, j), number in zip(_pairs(size), found[size:], strict=True):
        covariances[i, j] = covariances[j, i] = number
    return JointMoments(records, found[:size], covariances)


def moments_query(rows: exp.Expression, columns: Sequence[exp.Expression]) -> exp.Select:
    """Write the SELECT of number of records, means, and covariances.

    Example:
        >>> from ppdm_sql.engine.statements import formatted, render
        >>> people = Table("people").expression()
        >>> print(formatted(render(moments_query(people, [column("age"), column("pay")]))))
        SELECT
          COUNT(*),
          AVG("y0"),
          AVG("y1"),
          COVAR_POP("y0", "y0"),
          COVAR_POP("y0", "y1"),
          COVAR_POP("y1", "y1")
        FROM (
          SELECT
            CASE WHEN ISFINITE(CAST("age" AS DOUBLE)) THEN CAST("age" AS DOUBLE) END AS "y0",
            CASE WHEN ISFINITE(CAST("pay" AS DOUBLE)) THEN CAST("pay" AS DOUBLE) END AS "y1"
          FROM "people"
        ) AS v
    """
    size = len(columns)
    means = [exp.func("avg", column(f"y{i}")) for i in range(size)]
    products = [exp.func("covar_pop", column(f"y{i}"), column(f"y{j}")) for i, j in _pairs(size)]
    values = exp.select(*as_doubles(columns, "y")).from_(rows)
    return exp.select("count(*)", *means, *products).from_(values.subquery("v"))


def _pairs(size: int) -> list[tuple[int, int]]:
    return list(combinations_with_replacement(range(size), 2))


def as_doubles(columns: Sequence[exp.Expression], prefix: str) -> list[exp.Expression]:
    """Give columns as finite numbers, NULL for others, called by a letter and their place."""
    numbers = [exp.cast(found, "DOUBLE") for found in columns]
    finite = [exp.case().when(exp.func("isfinite", number), number.copy()) for number in numbers]
    return [alias(number, f"{prefix}{place}") for place, number in enumerate(finite)]


THRESHOLD = 0.25
"""A warning is given where all columns remove so much of the noise that one column alone leaves."""


@dataclass(frozen=True)
class Attack:
    """What an attacker can remove of the noise of each column, as shares of its standard deviation.

    0 leaves all of the noise, 1 none. The attacker knows the noise and makes the best linear estimate. One
    column alone tells something too: where noise is strong, the mean is the better guess.
    """

    alone: Mapping[str, float]  # for each column, removed by who looks at that column only
    together: Mapping[str, float]  # for each column, removed by who looks at all noisy columns
    measured: bool  # whether that was measured on the true values; else it is what the covariances promise
    correlated: bool = False  # whether the noise is correlated

    @property
    def measures(self) -> tuple[MeasureRow, ...]:
        """The shares, as measures of a release."""
        by = (("a column alone", self.alone), ("all noisy columns", self.together))
        return tuple(
            (f"noise that {what} can remove: {name}", None, removed[name])
            for name in self.alone
            for what, removed in by
        )

    @property
    def warning(self) -> str | None:
        """What to tell an owner whose columns give too much away together; None where they do not."""
        left = {name: 1 - share for name, share in self.alone.items() if share < 1}
        gains = {name: 1 - (1 - self.together[name]) / left[name] for name in left}
        worst = max(gains, key=lambda name: gains[name], default="")
        if gains.get(worst, 0.0) <= THRESHOLD:
            return None
        all_of_it, alone = (f"{100 * removed[worst]:.0f} %" for removed in (self.together, self.alone))
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
    noises: Mapping[str, Noise],
    released: Mapping[str, exp.Expression],
    original: Mapping[str, exp.Expression] | None = None,
    mixing: Floats | None = None,
) -> Attack | None:
    """Filter the noise out of all noisy columns together, as an attacker would, and measure what is left.

    Args:
        engine: The database; Python sees means, covariances and mean squared errors.
        table: One row a record.
        noises: The noise of each column; only noise that is added counts.
        released: For each column its noisy numbers.
        original: For each column its true numbers, which the owner has; None to go by the covariances.
        mixing: How the added noises are correlated, from ``mixing_matrix``.

    Returns:
        None where fewer than two columns have added noise, or nothing can be measured of them.

    Cost: one scan of the table with an aggregate for each pair of columns, one with two for each column.
    """
    added = {name: noise for name, noise in noises.items() if isinstance(noise, AdditiveNoise)}
    if len(added) < 2:
        return None
    noisy = [released[name] for name in added]
    found = joint_moments(engine, table, noisy)
    if not found.records or not np.isfinite(found.covariances).all():
        return None
    deviations = np.array([deviation(noise) for noise in added.values()])
    mixed = np.eye(len(added)) if mixing is None else mixing
    filters = (
        _filter_each(found, deviations),
        _linear_filter(found.covariances, deviations[:, None] * mixed, found.records),
    )
    errors = [left for _, left in filters]
    if original is not None:
        true = [original[name] for name in added]
        errors = _measured(engine, table, noisy, true, found.means, [weights for weights, _ in filters])
    alone, together = (_removed(list(added), error, deviations) for error in errors)
    return Attack(alone, together, measured=original is not None, correlated=mixing is not None)


def deviation(noise: AdditiveNoise) -> float:
    """Give the standard deviation of noise, in the column's unit; rounding to whole numbers adds to it."""
    variance = noise.scale**2 / (3 if isinstance(noise, Uniform) else 1)
    return math.sqrt(variance + (1 / 12 if noise.rounded and noise.domain.whole else 0))


def _linear_filter(covariances: Floats, factor: Floats, records: int) -> tuple[Floats, Floats]:
    """Find the weights of the best linear estimate of the true values, and its mean squared errors.

    The noise has covariances F F', with F the factor. In the coordinates in which its variance is 1
    everywhere, a principal component of variance v holds v - 1 of data. It is weighted by its share of data,
    (v - 1) / v, which is its error, too; a component that does not exceed what noise of so many records
    reaches by chance (Marchenko and Pastur) is taken for noise.
    """
    inverse = np.linalg.inv(factor)
    values, vectors = np.linalg.eigh(inverse @ covariances @ inverse.T)
    kept = values > (1 + math.sqrt(len(values) / records)) ** 2
    shares = np.where(kept, 1 - 1 / np.where(kept, values, 1.0), 0.0)
    axes = factor @ vectors
    return (axes * shares) @ vectors.T @ inverse, axes**2 @ shares


def _filter_each(found: JointMoments, deviations: Floats) -> tuple[Floats, Floats]:
    """Give what :func:`_linear_filter` does for each column by itself."""
    variances = np.diag(found.covariances)
    each = [
        _linear_filter(np.array([[variance]]), np.array([[noise]]), found.records)
        for variance, noise in zip(variances, deviations, strict=True)
    ]
    return np.diag([weights[0, 0] for weights, _ in each]), np.array([left[0] for _, left in each])


def _measured(
    engine: Engine,
    table: Table,
    noisy: Sequence[exp.Expression],
    true: Sequence[exp.Expression],
    means: Floats,
    filters: Sequence[Floats],
) -> list[Floats]:
    """Measure the mean squared errors of estimates; a missing value is taken for the mean."""
    source = source_of(engine, table)
    query = partial(errors_query, noisy=noisy, true=true, means=means, filters=filters)
    (found,) = source.aggregate(query, step="filter errors")
    squared = np.array([0.0 if error is None else error for error in found], dtype=np.float64)
    return list(squared.reshape(len(filters), len(noisy)))


def errors_query(
    rows: exp.Expression,
    noisy: Sequence[exp.Expression],
    true: Sequence[exp.Expression],
    means: Floats,
    filters: Sequence[Floats],
) -> exp.Select:
    """Write the SELECT of the mean squared error of each filter and column.

    Example: half of what an age deviates from the mean of 40 is taken for data.
        >>> from ppdm_sql.engine.statements import formatted, render
        >>> people, halved = Table("people").expression(), np.array([[0.5]])
        >>> noisy, true = [column("noisy_age")], [column("age")]
        >>> print(formatted(render(errors_query(people, noisy, true, np.array([40.0]), [halved]))))
        SELECT
          AVG(
            POWER((
              (
                "z0" * CAST('0.5' AS DOUBLE)
              ) - "x0"
            ), CAST('2.0' AS DOUBLE))
          )
        FROM (
          SELECT
            COALESCE("y0" - CAST('40.0' AS DOUBLE), CAST('0.0' AS DOUBLE)) AS "z0",
            "x0" - CAST('40.0' AS DOUBLE) AS "x0"
          FROM (
            SELECT
              CASE
                WHEN ISFINITE(CAST("noisy_age" AS DOUBLE))
                THEN CAST("noisy_age" AS DOUBLE)
              END AS "y0",
              CASE WHEN ISFINITE(CAST("age" AS DOUBLE)) THEN CAST("age" AS DOUBLE) END AS "x0"
            FROM "people"
          ) AS v
        ) AS c
    """
    size = len(noisy)
    values = exp.select(*as_doubles(noisy, "y"), *as_doubles(true, "x")).from_(rows)
    centred = [
        alias(exp.Coalesce(this=column(f"y{i}") - double(means[i]), expressions=[double(0)]), f"z{i}")
        for i in range(size)
    ]
    kept = [alias(column(f"x{i}") - double(means[i]), f"x{i}") for i in range(size)]
    errors = [
        exp.func("avg", exp.Pow(this=exp.paren(_estimate(row) - column(f"x{i}")), expression=double(2)))
        for weights in filters
        for i, row in enumerate(weights)
    ]
    each = exp.select(*centred, *kept).from_(values.subquery("v"))
    return exp.select(*errors).from_(each.subquery("c"))


def _estimate(weights: Floats) -> exp.Expression:
    """Write a weighted sum of the centred columns."""
    terms = [column(f"z{i}") * double(weight) for i, weight in enumerate(weights) if weight]
    return exp.paren(reduce(operator.add, terms)) if terms else double(0)


def _removed(names: Sequence[str], errors: Floats, deviations: Floats) -> dict[str, float]:
    """Give the share of the noise that is gone, at least 0, by column."""
    shares = np.clip(1 - np.sqrt(errors) / deviations, 0.0, 1.0)
    return {name: round(float(share), DIGITS) for name, share in zip(names, shares, strict=True)}
