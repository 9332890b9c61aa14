"""The statements that find the classes which break a requirement, and what is left without them.

Rows of counts carry ``state`` and, for each grouping, the keys of the class that they are in.
"""

from __future__ import annotations

from collections.abc import Sequence

from ppdm_sql.engine.names import Table
from ppdm_sql.lazy_dataclass import dataclass
from ppdm_sql.methods.top_down.count_tables import sums
from ppdm_sql.methods.top_down.grouping_sql import Keys, group_keys, needed
from ppdm_sql.methods.top_down.left_out import ClassRule, broken
from ppdm_sql.methods.top_down.swept_parts import SweptParts, taken_parts_sql
from ppdm_sql.privacy import Formula
from ppdm_sql.privacy.formula import Columns


def kept_formulas(rules: Sequence[ClassRule]) -> list[Formula]:
    """Give the numbers of a state: the worst of each rule over the classes that break none, then the records
    in those that break one, then how many classes break none.
    """  # noqa: D205
    columns = tuple(dict.fromkeys(("n", *(name for rule in rules for name in rule.formula.columns))))

    def kept(formula: Formula) -> Formula:
        def of_class(c: Columns) -> str:
            return f"CASE WHEN NOT ({broken(rules, c)}) THEN {formula.of(c)} END"

        return Formula(formula.total, columns, of_class)

    def left(c: Columns) -> str:
        return f"CASE WHEN {broken(rules, c)} THEN {c['n']} ELSE 0 END"

    def classes(c: Columns) -> str:
        return f"CASE WHEN {c['n']} > 0 AND NOT ({broken(rules, c)}) THEN 1 ELSE 0 END"

    return [
        *(kept(rule.formula) for rule in rules),
        Formula("sum", columns, left),
        Formula("sum", columns, classes),
    ]


def states_sql(
    counts: Table, keys: Keys, parts: SweptParts, formulas: Sequence[Formula]
) -> tuple[str, dict[str, object]]:
    """Measure the state after each candidate, all in one row: every number is one of the whole state.

    The parts are those that each candidate takes out of their groups; a group that a candidate does not split
    is all rest. The parameters are those of the parts.

    Example: the smallest class by Job and Country, after a disclosure of the first Job.
        >>> import numpy as np
        >>> from ppdm_sql.engine.statements import formatted
        >>> from ppdm_sql.privacy import ValueCounts, parse
        >>> smallest = parse("k >= 4 on Job, Country").formula(ValueCounts())
        >>> first = SweptParts([(0, range(0, 1))], {0: np.array([0, -1, -1, -1])}, records=6)
        >>> print(formatted(states_sql(Table("counts"), [[1]], first, [smallest])[0]))
        SELECT
          MIN(LEAST(NULLIF(n_0, 0), NULLIF((
            n - n_0
          ), 0)))
        FROM (
          SELECT
            n,
            (
              n_word0 >> 0
            ) & 7 AS n_0
          FROM (
            SELECT
              CAST(SUM(n) AS BIGINT) AS n,
              CAST(SUM(n * weight0) AS BIGINT) AS n_word0
            FROM (
              SELECT
                CAST(0 AS BIGINT) + $key1[c1 + 1] AS group0,
                CAST(CASE WHEN c0 < 1 THEN 1 ELSE 0 END AS BIGINT) AS weight0,
                n
              FROM "counts"
            )
            GROUP BY
              group0
          )
        ) AS groups
    """
    return taken_parts_sql(counts, keys, parts, formulas, lambda formula, _, parts: _total(formula, parts))


def split_sql(counts: Table, keys: Keys, attribute: int, formulas: Sequence[Formula]) -> str:
    """Measure what each part of an attribute holds, as it is and as it would be split: two rows each.

    ``$part`` gives the finest part of each code, ``$owner`` the one that it is in now.
    """
    counted = needed(formulas)
    names = {c: c for c in counted}
    numbers = ", ".join(f"{formula.total}({formula.of(names)})" for formula in formulas)
    numbered, groups = group_keys(keys)
    rows = f"SELECT {numbered}, $part[c{attribute} + 1] AS part, {', '.join(counted)} FROM {counts}"
    summed = sums(counted)
    return (
        f"WITH parts AS MATERIALIZED (SELECT {groups}, part, {summed} FROM ({rows}) "
        f"GROUP BY {groups}, part), "
        f"wholes AS (SELECT {groups}, $owner[part + 1] AS owner, {summed} FROM parts "
        f"GROUP BY {groups}, owner) "
        f"SELECT $owner[part + 1] AS owner, 1 AS side, {numbers} FROM parts GROUP BY owner "
        f"UNION ALL SELECT owner, 0, {numbers} FROM wholes GROUP BY owner"
    )


def _total(formula: Formula, parts: Sequence[Columns]) -> str:
    """Write a state's number over groups that fall into parts."""
    each = [formula.of(part) for part in parts]
    if formula.total == "sum":
        return f"sum({' + '.join(each)})"
    return f"{formula.total}({'least' if formula.total == 'min' else 'greatest'}({', '.join(each)}))"


# -- rounds: the classes of several groupings, each without the records of the others' bad ones ----


@dataclass(frozen=True)
class KeyedRules:
    """What one grouping asks of its classes.

    Args:
        keys: The columns that tell its classes apart.
        counts: Select items of ``n``, the records, and of all else that the rules count.
        rules: What is asked.
    """

    keys: Sequence[str]
    counts: Sequence[str]
    rules: Sequence[ClassRule]


def round_sql(rows: Table, groupings: Sequence[KeyedRules]) -> str:
    """Write the rows that are in no bad class of any grouping, all classes being those of all rows.

    Example:
        >>> from ppdm_sql.engine.statements import formatted
        >>> from ppdm_sql.privacy import ValueCounts, parse
        >>> rule = ClassRule(parse("k >= 4 on Job").formula(ValueCounts()), 4.0, -1)
        >>> print(formatted(round_sql(Table("cells"), [KeyedRules(["g0"], ["sum(n) AS n"], [rule])])))
        WITH bad0 AS (
          SELECT
            state,
            g0
          FROM (
            SELECT
              state,
              g0,
              SUM(n) AS n
            FROM "cells"
            GROUP BY
              state,
              g0
          ) AS classes
          WHERE
            COALESCE(NULLIF(n, 0) < CAST('4.0' AS DOUBLE), FALSE)
        )
        SELECT
          r.*
        FROM "cells" AS r
        ANTI JOIN bad0
          ON bad0.state = r.state AND bad0.g0 = r.g0
    """
    bad, joins = [], []
    for number, grouping in enumerate(groupings):
        keys = ["state", *grouping.keys]
        names = {c: c for c in dict.fromkeys(("n", *needed([rule.formula for rule in grouping.rules])))}
        classes = f"SELECT {', '.join([*keys, *grouping.counts])} FROM {rows} GROUP BY {', '.join(keys)}"
        where = broken(grouping.rules, names)
        bad.append(f"bad{number} AS (SELECT {', '.join(keys)} FROM ({classes}) AS classes WHERE {where})")
        same = " AND ".join(f"bad{number}.{key} = r.{key}" for key in keys)
        joins.append(f"ANTI JOIN bad{number} ON {same}")
    return f"WITH {', '.join(bad)} SELECT r.* FROM {rows} AS r {' '.join(joins)}"


def classes_sql(rows: Table, grouping: KeyedRules) -> str:
    """Write the numbers of each state over its classes: the state, its records, its classes, the worst."""
    keys = ["state", *grouping.keys]
    classes = f"SELECT {', '.join([*keys, *grouping.counts])} FROM {rows} GROUP BY {', '.join(keys)}"
    names = {c: c for c in dict.fromkeys(("n", *needed([rule.formula for rule in grouping.rules])))}
    worst = [f"{rule.formula.total}({rule.formula.of(names)})" for rule in grouping.rules]
    numbers = ", ".join(["state", "sum(n)::BIGINT", "count(*)", *worst])
    return f"SELECT {numbers} FROM ({classes}) AS classes GROUP BY state"
