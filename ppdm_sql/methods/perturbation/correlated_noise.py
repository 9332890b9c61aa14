"""Noise that is correlated as the data are, so that no filter can tell one from the other.

Noise of the data's correlations hides all columns if it is equally strong beside each; otherwise the two can
be told apart where columns follow from each other. What is drawn here hides as much as noise of given
strengths can.

Source: Huang, Du, Chen 2005, "Deriving Private Information from Randomized Data", SIGMOD, section 6.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np
from sqlglot import exp

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table, alias, column
from ppdm_sql.engine.source import source_of
from ppdm_sql.methods.base.arrays import Floats

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
