"""The attack that an owner should try first: all noisy columns together filter the noise out of each.

Where columns are correlated, what they have in common is data and what is left is mostly noise.

Source: Kargupta, Datta, Wang, Sivakumar 2003, "On the Privacy Preserving Properties of Random Data
Perturbation Techniques", ICDM, section 5; Huang, Du, Chen 2005, "Deriving Private Information from Randomized
Data", SIGMOD, sections 4 to 6.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce

import numpy as np
from sqlglot import exp

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table, alias, column
from ppdm_sql.engine.source import source_of
from ppdm_sql.engine.types import double
from ppdm_sql.methods.base.arrays import Floats
from ppdm_sql.methods.perturbation.correlated_noise import DIGITS, JointMoments, as_doubles, joint_moments
from ppdm_sql.methods.perturbation.noise import AdditiveNoise, Noise, Uniform
from ppdm_sql.release.draft import MeasureRow

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
