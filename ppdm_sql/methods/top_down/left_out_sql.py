"""The statements that find the classes which break a requirement, and what is left without them.

Rows of counts carry ``state`` and, for each grouping, the keys of the class that they are in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ppdm_sql.engine.names import Table
from ppdm_sql.methods.top_down.grouping_sql import Keys, coded_sql, disclosed, group_keys, needed
from ppdm_sql.methods.top_down.left_out import ClassRule, broken
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


def states_sql(counts: Table, keys: Keys, attributes: Sequence[int], formulas: Sequence[Formula]) -> str:
    """Measure the state after each candidate of some attributes, a row each.

    A sum changes by what it changes in the groups that a candidate touches. The worst of those that it does
    not touch has the first place, by what they are worth, that it leaves out: as it touches places 1, 2, 3
    and 7, that is place 4.

    ``$part<i>`` gives the part of each code, -1 for none; ``$candidate`` says whose a part is. The first
    ``$taken`` parts are taken out of their groups, which leaves the rest. There are ``$candidates``.

    The lists are columns here: as constants, those of thousands of values take longer to plan than all else.
    """
    groups = group_keys(keys)[1]
    lists = [*(f"key{i}" for key in keys for i in key), *(f"part{i}" for i in attributes)]
    rows = f"{counts}, (SELECT {', '.join(f'${name} AS of_{name}' for name in lists)})"
    fine = coded_sql(rows, keys, {"part": attributes}, formulas, "of_")
    told = [_change(j, f) if f.total == "sum" else _worst(j, f) for j, f in enumerate(formulas)]

    def listed(name: str, *before: str) -> str:
        return ", ".join([*before, *(one[name] for one in told if name in one)])

    others = " ".join(one["other"] for one in told if "other" in one)
    return (
        f"{disclosed(fine, keys, attributes, needed(formulas), 'part')}, "
        f"wholes AS MATERIALIZED (SELECT {listed('place', '*')} "
        f"FROM (SELECT {listed('whole', '*')} FROM groups)), "
        f"touched AS (SELECT of_part[part + 1] AS candidate, {listed('touched')} "
        f"FROM parts JOIN wholes USING ({groups}), (SELECT $candidate AS of_part) "
        f"GROUP BY {groups}, candidate), "
        f"states AS (SELECT {listed('state', 'candidate')} "
        f"FROM (SELECT {listed('turn', '*')} FROM touched) GROUP BY candidate) "
        f"SELECT {listed('number', 'candidate')} "
        f"FROM range($candidates) AS asked(candidate) LEFT JOIN states USING (candidate) {others}"
    )


def _change(j: int, formula: Formula) -> Mapping[str, str]:
    """Write how a sum over groups is found from what it changes in those that are touched."""
    whole, part, rest = (f"coalesce({number}, 0)" for number in _numbers(formula))
    pieces = f"sum({part} + CASE WHEN part < $taken THEN {rest} ELSE 0 END)"
    return {
        "whole": f"{whole} AS whole{j}",
        "touched": f"{pieces} - any_value(whole{j}) AS change{j}",
        "state": f"sum(change{j}) AS change{j}",
        "number": f"(SELECT sum(whole{j}) FROM wholes) + coalesce(change{j}, 0)",
    }


def _worst(j: int, formula: Formula) -> Mapping[str, str]:
    """Write how the worst of all groups is found from that of those that are touched, and of the others."""
    worse, order = ("least", "ASC") if formula.total == "min" else ("greatest", "DESC")
    whole, part, rest = _numbers(formula)
    pieces = f"{worse}({part}, CASE WHEN part < $taken THEN {rest} END)"
    return {
        "whole": f"{whole} AS whole{j}",
        "place": f"row_number() OVER (ORDER BY whole{j} {order} NULLS LAST) AS place{j}",
        "touched": f"any_value(place{j}) AS place{j}, {formula.total}({pieces}) AS own{j}",
        "turn": f"row_number() OVER (PARTITION BY candidate ORDER BY place{j}) AS turn{j}",
        "state": f"{formula.total}(own{j}) AS own{j}, count(*) FILTER (place{j} = turn{j}) AS first{j}",
        "number": f"{worse}(own{j}, other{j}.whole{j})",
        "other": f"LEFT JOIN wholes AS other{j} ON other{j}.place{j} = coalesce(first{j}, 0) + 1",
    }


def _numbers(formula: Formula) -> tuple[str, str, str]:
    """Write the number of a whole group, of a part of it, and of the rest."""
    names = [(c, f"total_{c}") for c in formula.columns]
    wholes, parts = dict(names), {c: c for c, _ in names}
    return formula.of(wholes), formula.of(parts), formula.of({c: f"({whole} - {c})" for c, whole in names})


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
