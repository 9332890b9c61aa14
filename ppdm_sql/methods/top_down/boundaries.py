"""Finds the boundaries of grown intervals that break a requirement, all of an attribute in one statement.

A boundary splits each group of records that has values on both sides of it. The counts of both sides are
sums along the values, so one pass over the groups by value tells of every boundary at once. What breaks a
limit now does so in all later states, since requirements are monotone.

Where each side needs ``k`` records and nothing else, those boundaries are invalid that leave 1 to ``k - 1``
records of a group on one side. They lie behind its first record up to its ``k``-th one, or as near to its
last one, so the records at both ends of a group are all that has to be put in order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.engine import Engine
from ppdm_sql.methods.base.arrays import Codes, Floats
from ppdm_sql.methods.top_down.count_tables import sums
from ppdm_sql.methods.top_down.grouping_sql import is_smallest_class
from ppdm_sql.privacy import Formula

SLACK = 1e-9
"""By how much a limit must be missed where numbers are added up in another order than in a measurement."""
MOST_ENDS = 4096
"""Size of the smallest class up to which only the ends of each group are put in order. Where the column has
fewer values than that size, it is cheaper to add up all values of each group."""


@dataclass(frozen=True)
class GroupsByValue:
    """The records of one grouping in the present state, by the values of one attribute too.

    Args:
        query: A SELECT of rows: their group, ``part`` (the interval, -1 for none asked), ``code`` and counts.
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
    least = int(np.ceil(limits.max()))
    if is_smallest_class(formulas) and least <= min(len(groups.starts), MOST_ENDS):
        found = engine.arrays(ends_sql(groups), {**groups.params, "least": least}, step="boundaries")
    else:
        params = {**groups.params, **{f"limit{j}": float(limit) for j, limit in enumerate(limits)}}
        found = engine.arrays(breaks_sql(groups, counted, formulas), params, step="boundaries")
    edges = np.zeros(size + 1, dtype=np.int64)
    np.add.at(edges, groups.starts[found["code"]] + 1, 1)
    np.add.at(edges, groups.starts[found["next"].astype(np.int64)] + 1, -1)
    return np.asarray(edges.cumsum()[:size] > 0)


def ends_sql(groups: GroupsByValue) -> str:
    """Write which boundaries leave fewer than ``$least`` records of a group on a side, as :func:`breaks_sql`.

    A place is a code and, in its last 32 bits, the records there; of a group the ``$least`` first and last
    places are kept, and added up until they hold so many records.

    Example: five ages of one job, two records of the first, of which no side may hold fewer than two.
        >>> import duckdb
        >>> ages = "(VALUES (0, 2), (1, 1), (2, 1), (3, 1)) AS ages(code, n)"
        >>> bankers = f"SELECT 'Banker' AS job, 0 AS part, code, n FROM {ages}"
        >>> text = ends_sql(GroupsByValue(bankers, ["job"], {}, np.arange(4)))
        >>> duckdb.execute(text, {"least": 2}).fetchall()
        [(2, 3)]
    """
    last = "last_n" if groups.lasts else "n"
    by = ", ".join([*groups.groups, "part"])
    first_places, last_places = (
        f"{end}((code::BIGINT << 32) + least({n}, $least), $least) FILTER ({n} > 0)"
        for end, n in (("min", "n"), ("max", last))
    )
    return (
        "SELECT code, max(next) AS next FROM ("
        f"SELECT unnest([firsts[1] >> 32, {_reached('lasts')}]) AS code, "
        f"unnest([{_reached('firsts')}, lasts[1] >> 32]) AS next "
        f"FROM (SELECT {first_places} AS firsts, {last_places} AS lasts "
        f"FROM ({groups.query}) AS records WHERE part >= 0 GROUP BY {by}) AS ends"
        ") AS sides WHERE code < next GROUP BY code"
    )


def _reached(places: str) -> str:
    """Write the code at which places, added up in their order, hold ``$least`` records; else the last one."""
    records = "({} & 4294967295)"
    added = f"((place >> 32) << 32) + {records.format('reached')} + {records.format('place')}"
    enough = f"{records.format('reached')} >= $least"
    step = f"lambda reached, place: CASE WHEN {enough} THEN reached ELSE {added} END"
    return f"list_reduce({places}, {step}) >> 32"


def breaks_sql(groups: GroupsByValue, counted: Sequence[str], formulas: Sequence[Formula]) -> str:
    """Write which boundaries break a limit: all those after ``code``, up to ``next``; a row each ``code``.

    Example: four ages of one job, which nobody may be inferred with to be discharged at more than 50%.
        >>> import duckdb
        >>> from ppdm_sql.privacy import ValueCounts, parse
        >>> ages = "(VALUES (0, 2, 2), (1, 2, 0), (2, 2, 1), (3, 1, 0)) AS ages(code, n, p0)"
        >>> bankers = f"SELECT 'Banker' AS job, 0 AS part, code, n, p0 FROM {ages}"
        >>> confidence = parse("Job, Age -> Bankruptcy = Discharged <= 50%").formula(ValueCounts(["p0"]))
        >>> text = breaks_sql(GroupsByValue(bankers, ["job"], {}, np.arange(4)), ["n", "p0"], [confidence])
        >>> duckdb.execute(text, {"limit0": 0.5}).fetchall()
        [(0, 1)]
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
    lasts = [f"last_{c}" for c in counted if groups.lasts]
    sides = [f"(sum({c}) OVER along)::BIGINT AS left_{c}" for c in [*counted, *lasts]]
    sides += [f"(sum({c}) OVER whole)::BIGINT AS total_{c}" for c in counted]
    by_value = f"SELECT {by}, code, {sums([*counted, *lasts])} FROM ({groups.query}) AS records "
    return (
        f"SELECT code, lead(code) OVER along AS next, {', '.join(sides)} "
        f"FROM ({by_value}WHERE part >= 0 GROUP BY {by}, code) AS by_value "
        f"WINDOW along AS (PARTITION BY {by} ORDER BY code "
        f"ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW), whole AS (PARTITION BY {by})"
    )
