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


def by_attribute_sql(coded: Table, keys: Keys, attributes: Sequence[int], formulas: Sequence[Formula]) -> str:
    """Measure the states after candidates of several attributes that split groups of their own, a row each.

    Each attribute has an aggregation of its own, of a table of :func:`coded_sql`, whose ``part<i>`` numbers
    the parts of all candidates of an attribute, -1 for none. ``$candidate`` says whose a part is. The keys
    are of all attributes.

    Example: the smallest class by Job and Country, after candidates of Job; further attributes follow.
        >>> from ppdm_sql.engine.statements import formatted
        >>> from ppdm_sql.privacy import ValueCounts, parse
        >>> smallest = parse("k >= 4 on Job, Country").formula(ValueCounts())
        >>> print(formatted(by_attribute_sql(Table("coded"), [[0, 1]], [0], [smallest])))
        SELECT
          candidate,
          MIN(NULLIF(n, 0))
        FROM (
          SELECT
            group0,
            $candidate[part0 + 1] AS candidate,
            CAST(SUM(n) AS BIGINT) AS n
          FROM "coded"
          WHERE
            part0 >= 0
          GROUP BY
            group0,
            part0
        ) AS parts
        GROUP BY
          candidate
    """
    counted, groups = needed(formulas), group_keys(keys)[1]
    parts = (
        f"SELECT {groups}, $candidate[part{i} + 1] AS candidate, {sums(counted)} "
        f"FROM {coded} WHERE part{i} >= 0 GROUP BY {groups}, part{i}"
        for i in attributes
    )
    return " UNION ALL ".join(after_splits(part, groups, counted, formulas) for part in parts)


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
