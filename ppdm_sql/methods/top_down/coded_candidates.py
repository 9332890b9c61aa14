"""The statements that measure candidates of all attributes on one table made for them.

The counts are read once, by present group and by what candidates make of each attribute. What is left has
fewer rows, and each statement reads it, not the counts. The examples are those of
:mod:`~ppdm_sql.methods.top_down.grouping_sql`.
"""

from __future__ import annotations

from collections.abc import Sequence

from ppdm_sql.engine.names import Table
from ppdm_sql.methods.top_down.count_tables import sums
from ppdm_sql.methods.top_down.grouping_sql import (
    Keys,
    after_splits,
    disclosed,
    group_keys,
    needed,
    numbers_after,
)
from ppdm_sql.privacy import Formula


def by_attribute_sql(
    coded: Table, keys: Keys, attributes: Sequence[int], formulas: Sequence[Formula], *, listed: bool
) -> str:
    """Measure the states after candidates of several attributes that split groups of their own, a row each.

    It reads a table of :func:`coded_sql`, whose ``part<i>`` numbers the parts of all candidates, -1 for none.
    ``$candidate`` says whose a part is. The keys are of all attributes. Each attribute has an aggregation of
    its own, which is planned by itself; where the parts of a row are ``listed`` under each other there is one
    of them all.

    Example: the smallest class by Job and Country, after candidates of both.
        >>> from ppdm_sql.engine.statements import formatted
        >>> from ppdm_sql.privacy import ValueCounts, parse
        >>> smallest = parse("k >= 4 on Job, Country").formula(ValueCounts())
        >>> print(formatted(by_attribute_sql(Table("coded"), [[0, 1]], [0, 1], [smallest], listed=True)))
        SELECT
          candidate,
          MIN(NULLIF(n, 0))
        FROM (
          SELECT
            group0,
            $candidate[part + 1] AS candidate,
            CAST(SUM(n) AS BIGINT) AS n
          FROM (
            SELECT
              group0,
              UNNEST([part0, part1]) AS part,
              n
            FROM "coded"
          )
          WHERE
            part >= 0
          GROUP BY
            group0,
            part
        ) AS parts
        GROUP BY
          candidate
    """
    counted, groups = needed(formulas), group_keys(keys)[1]
    if listed:
        together = ", ".join(f"part{i}" for i in attributes)
        rows = f"(SELECT {groups}, unnest([{together}]) AS part, {', '.join(counted)} FROM {coded})"
        return after_splits(_parts(rows, groups, "part", counted), groups, counted, formulas)
    parts = " UNION ALL ".join(_parts(coded, groups, f"part{i}", counted) for i in attributes)
    return after_splits(parts, groups, counted, formulas)


def _parts(rows: Table | str, groups: str, part: str, counted: Sequence[str]) -> str:
    """Write the parts that candidates make of each group."""
    return (
        f"SELECT {groups}, $candidate[{part} + 1] AS candidate, {sums(counted)} "
        f"FROM {rows} WHERE {part} >= 0 GROUP BY {groups}, {part}"
    )


def coded_disclosures_sql(
    coded: Table, keys: Keys, attributes: Sequence[int], formulas: Sequence[Formula]
) -> str:
    """Measure the same on a table of :func:`coded_sql`, which knows more candidates than these.

    Example:
        >>> from ppdm_sql.privacy import ValueCounts, parse
        >>> smallest = parse("k >= 4 on Job, Country").formula(ValueCounts())
        >>> coded_disclosures_sql(Table("coded"), [[1]], [0], [smallest]).partition("), parts")[0]
        'WITH fine AS MATERIALIZED (SELECT group0, candidate0, sum(n)::BIGINT AS n FROM "coded" \
GROUP BY group0, candidate0'
    """
    counted, by = needed(formulas), group_keys(keys)[1]
    columns = ", ".join([by, *(f"candidate{i}" for i in attributes)])
    fine = f"SELECT {columns}, {sums(counted)} FROM {coded} GROUP BY {columns}"
    return " ".join((disclosed(fine, keys, attributes, counted), numbers_after(keys, counted, formulas)))
