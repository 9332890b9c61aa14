"""Finds the boundaries of grown intervals that break a requirement, all of an attribute in one statement.

A boundary splits each group of records that has values on both sides of it. The counts of both sides are
sums along the values, so one pass over the groups by value tells of every boundary at once. What breaks a
limit now does so in all later states, since requirements are monotone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.engine import Engine
from ppdm_sql.lazy_dataclass import dataclass
from ppdm_sql.methods.base.arrays import Codes, Floats
from ppdm_sql.privacy import Formula

SLACK = 1e-9
"""By how much a limit must be missed where numbers are added up in another order than in a measurement."""


@dataclass(frozen=True)
class GroupsByValue:
    """The records of one grouping in the present state, by the values of one attribute too.

    Args:
        query: A SELECT of the groups, ``part`` (the interval, -1 for none asked), ``code`` and the counts.
        groups: Names of the columns that make up a group beside ``part``.
        params: Of the query.
        starts: For each ``code``, the first value code that it stands for; they ascend.
        lasts: Whether there are counts ``last_n, ...`` beside ``n, ...``: of what has its last value here, as
            the others count what has its first; else all that is counted has one value.
    """

    query: str
    groups: Sequence[str]
    params: Mapping[str, object]
    starts: Codes
    lasts: bool = False


def invalid_boundaries(
    engine: Engine,
    groups: GroupsByValue,
    formulas: Sequence[Formula],
    known: Floats,
    limits: Floats,
    size: int,
) -> NDArray[np.bool_]:
    """Tell for each boundary whether splitting there breaks a limit; one scan of the groups by value.

    Args:
        engine: Where the groups are.
        groups: By the values of the attribute.
        formulas: Of the requirements; either all of them are sums or none is.
        known: Their numbers in the present state.
        limits: The worst numbers allowed.
        size: Number of values of the attribute.
    """
    counted = list(dict.fromkeys(("n", *(name for formula in formulas for name in formula.columns))))
    if any(formula.total == "sum" for formula in formulas):
        found = engine.arrays(falls_sql(groups, counted, formulas), groups.params, step="boundary_falls")
        first, last = groups.starts[found["code"]] + 1, groups.starts[found["next"].astype(np.int64)]
        invalid = np.zeros(size, dtype=bool)
        for j, limit in enumerate(limits):
            change = np.zeros(size + 1)
            np.add.at(change, first, -found[f"fall{j}"])
            np.add.at(change, last + 1, found[f"fall{j}"])
            invalid |= known[j] + change.cumsum()[:size] > limit * (1 + SLACK)
        return invalid
    params = {**groups.params, **{f"limit{j}": float(limit) for j, limit in enumerate(limits)}}
    found = engine.arrays(breaks_sql(groups, counted, formulas), params, step="boundaries")
    edges = np.zeros(size + 1, dtype=np.int64)
    np.add.at(edges, groups.starts[found["code"]] + 1, 1)
    np.add.at(edges, groups.starts[found["next"].astype(np.int64)] + 1, -1)
    return np.asarray(edges.cumsum()[:size] > 0)


def breaks_sql(groups: GroupsByValue, counted: Sequence[str], formulas: Sequence[Formula]) -> str:
    """Write which boundaries break a limit: all those after ``code``, up to ``next``; a row each ``code``.

    Example: the boundaries of ages that leave fewer than the limit on one side, by Job.
        >>> from ppdm_sql.engine.statements import formatted
        >>> from ppdm_sql.privacy import ValueCounts, parse
        >>> groups = GroupsByValue("SELECT * FROM ages", ["job"], {}, np.arange(3))
        >>> smallest = parse("k >= 4 on Job, Age").formula(ValueCounts())
        >>> print(formatted(breaks_sql(groups, ["n"], [smallest])))
        SELECT
          code,
          MAX(next) AS next
        FROM (
          SELECT
            code,
            LEAD(code) OVER along AS next,
            CAST((
              SUM(n) OVER along
            ) AS BIGINT) AS left_n,
            CAST((
              SUM(n) OVER whole
            ) AS BIGINT) AS total_n
          FROM (
            SELECT
              *
            FROM ages
          ) AS by_value
          WHERE
            part >= 0
          WINDOW along AS (
            PARTITION BY job, part
            ORDER BY code
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
          ), whole AS (PARTITION BY job, part)
        ) AS sides
        WHERE
          NOT next IS NULL
          AND (
            CAST(LEAST(NULLIF(left_n, 0), NULLIF((
              total_n - left_n
            ), 0)) AS DOUBLE) < $limit0
          )
        GROUP BY
          code
    """
    left, right = _sides(counted, lasts=groups.lasts)
    broken = []
    for j, formula in enumerate(formulas):
        worst, beyond = ("least", "<") if formula.total == "min" else ("greatest", ">")
        broken.append(f"{worst}({formula.of(left)}, {formula.of(right)})::DOUBLE {beyond} $limit{j}")
    return (
        f"SELECT code, max(next) AS next FROM ({_sides_sql(groups, counted)}) AS sides "
        f"WHERE next IS NOT NULL AND ({' OR '.join(broken)}) GROUP BY code"
    )


def falls_sql(groups: GroupsByValue, counted: Sequence[str], formulas: Sequence[Formula]) -> str:
    """Write by what sums fall at the boundaries after ``code``, up to ``next``; a row each pair."""
    left, right = _sides(counted, lasts=groups.lasts)
    whole = {name: f"total_{name}" for name in counted}
    falls = ", ".join(
        f"sum({formula.of(whole)} - ({formula.of(left)} + {formula.of(right)}))::DOUBLE AS fall{j}"
        for j, formula in enumerate(formulas)
    )
    sides = _sides_sql(groups, counted)
    return f"SELECT code, next, {falls} FROM ({sides}) AS sides WHERE next IS NOT NULL GROUP BY code, next"


def _sides(counted: Sequence[str], *, lasts: bool) -> tuple[dict[str, str], dict[str, str]]:
    """Name the counts on both sides of a boundary: to the right is what has its last value there."""
    last = "last_" if lasts else ""
    return {c: f"left_{c}" for c in counted}, {c: f"(total_{c} - left_{last}{c})" for c in counted}


def _sides_sql(groups: GroupsByValue, counted: Sequence[str]) -> str:
    """Write the counts up to each value of a group and those of all, with the next value of the group."""
    by = ", ".join([*groups.groups, "part"])
    sums = [f"(sum({c}) OVER along)::BIGINT AS left_{c}" for c in counted]
    sums += [f"(sum(last_{c}) OVER along)::BIGINT AS left_last_{c}" for c in counted if groups.lasts]
    sums += [f"(sum({c}) OVER whole)::BIGINT AS total_{c}" for c in counted]
    return (
        f"SELECT code, lead(code) OVER along AS next, {', '.join(sums)} "
        f"FROM ({groups.query}) AS by_value WHERE part >= 0 "
        f"WINDOW along AS (PARTITION BY {by} ORDER BY code "
        f"ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW), whole AS (PARTITION BY {by})"
    )
