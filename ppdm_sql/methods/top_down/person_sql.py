"""The statements by which a grouping is measured where persons are counted.

Persons do not add up: who has records in two parts of a group is in both, and once in the group. So groups
and parts are first made into sets of persons (a row for each group, part and person), which are then counted.
The codes, keys and parameters are those of :mod:`~ppdm_sql.methods.top_down.grouping_sql`; ``people`` holds
a row for each combination and person, ``p<j>`` being 1 where a record of theirs holds the ``j``-th value
counted.
"""

from __future__ import annotations

from collections.abc import Sequence

from ppdm_sql.engine.names import Table
from ppdm_sql.methods.top_down.count_tables import Counted
from ppdm_sql.methods.top_down.grouping_sql import Keys, group_keys, is_smallest_class, needed, totals
from ppdm_sql.privacy import Formula


def people_sql(atoms: Table, columns: Sequence[str], counted: Sequence[Counted]) -> str:
    """Write the SELECT of the combinations of each person.

    Example: the visits of a hospital by sex and zip, with those for a flu.
        >>> from ppdm_sql.engine.statements import formatted
        >>> print(formatted(people_sql(Table("atoms"), ["c0", "c1"], [(2, 1)])))
        SELECT
          c0,
          c1,
          person,
          CAST(MAX(CASE WHEN c2 = 1 THEN 1 ELSE 0 END) AS UTINYINT) AS p0
        FROM "atoms"
        GROUP BY ALL
    """
    held = [
        f"max(CASE WHEN c{i} = {code} THEN 1 ELSE 0 END)::UTINYINT AS p{j}"
        for j, (i, code) in enumerate(counted)
    ]
    return f"SELECT {', '.join([*columns, 'person', *held])} FROM {atoms} GROUP BY ALL"


def state_sql(people: str, groups: Sequence[str], formulas: Sequence[Formula]) -> str:
    """Measure a state: the number of groups, then the formulas'.

    Args:
        people: The table, or a SELECT in parentheses.
        groups: The keys of the groups as ``... AS group0``; or nothing, for one group.
        formulas: What to measure.

    Example:
        >>> from ppdm_sql.engine.statements import formatted
        >>> from ppdm_sql.privacy import ValueCounts, parse
        >>> smallest = parse("k >= 4 on sex, zip").formula(ValueCounts())
        >>> print(formatted(state_sql("people", ["c0 AS group0"], [smallest])))
        SELECT
          COUNT(*),
          MIN(NULLIF(n, 0))
        FROM (
          SELECT
            group0,
            CAST(COUNT(*) AS BIGINT) AS n
          FROM (
            SELECT
              c0 AS group0,
              person
            FROM people
            GROUP BY ALL
          )
          GROUP BY
            group0
        )
    """
    names = ", ".join(name.rpartition(" AS ")[2] for name in groups)
    counts, held = _counts(formulas), _held(formulas)
    sets = f"SELECT {', '.join([*groups, 'person', *held])} FROM {people} GROUP BY ALL"
    counted = f"SELECT {', '.join([names, *counts])} FROM ({sets}) GROUP BY {names}"
    return f"SELECT {', '.join(['count(*)', *totals(formulas)])} FROM ({counted})"


def specialized_sql(
    people: Table, counts: Table, keys: Keys, attribute: int, formulas: Sequence[Formula]
) -> str:
    """Measure the states after candidates of one attribute that split groups of their own, a row each.

    Where nothing but the smallest class is asked, persons are counted in those parts alone that can be the
    smallest: no person has more than ``$most`` records, so a part with that many times the records of the
    smallest one, ``counts`` says, has no fewer persons.

    Example:
        >>> from ppdm_sql.engine.statements import formatted
        >>> from ppdm_sql.privacy import ValueCounts, parse
        >>> ill = parse("zip -> ill = flu <= 50%").formula(ValueCounts(["p0"]))
        >>> print(formatted(specialized_sql(Table("people"), Table("counts"), [[1]], 0, [ill])))
        WITH sets AS (
          SELECT
            CAST(0 AS BIGINT) + $key1[c1 + 1] AS group0,
            $part[c0 + 1] AS part,
            person,
            MAX(p0) AS p0
          FROM "people"
          WHERE
            $part[c0 + 1] >= 0
          GROUP BY ALL
        ), parts AS (
          SELECT
            group0,
            $candidate[part + 1] AS candidate,
            CAST(COUNT(*) AS BIGINT) AS n,
            CAST(SUM(p0) AS BIGINT) AS p0
          FROM sets
          GROUP BY
            group0,
            part
        )
        SELECT
          candidate,
          MAX(p0 / NULLIF(n, 0))
        FROM parts
        GROUP BY
          candidate
    """
    groups, counted = group_keys(keys)[1], ", ".join(_counts(formulas))
    sets = _sets_of_parts(people, counts, keys, attribute, formulas)
    parts = f"SELECT {groups}, $candidate[part + 1] AS candidate, {counted} FROM sets GROUP BY {groups}, part"
    ctes = f"WITH {sets}, parts AS ({parts})"
    if formulas[0].total != "sum":
        return f"{ctes} SELECT candidate, {', '.join(totals(formulas))} FROM parts GROUP BY candidate"
    merged = ", ".join([groups, "$candidate[part + 1] AS candidate", "person", *_held(formulas)])
    whole = (
        f"SELECT {groups}, candidate, {counted} FROM (SELECT {merged} FROM sets GROUP BY ALL) "
        f"GROUP BY {groups}, candidate"
    )
    names = {name: name for name in needed(formulas)}
    signed = [f"SELECT candidate, {_terms(formulas, names, '')} FROM ({whole})"]
    signed.append(f"SELECT candidate, {_terms(formulas, names, '-')} FROM parts")
    falls = ", ".join(f"sum(fall{j})" for j in range(len(formulas)))
    return f"{ctes} SELECT candidate, {falls} FROM ({' UNION ALL '.join(signed)}) GROUP BY candidate"


def _sets_of_parts(
    people: Table, counts: Table, keys: Keys, attribute: int, formulas: Sequence[Formula]
) -> str:
    """Write the table ``sets``: a row a group, part and person; of small parts alone if those will do."""
    numbered, groups = group_keys(keys)
    part = f"$part[c{attribute} + 1]"
    if not is_smallest_class(formulas):
        read = ", ".join([numbered, f"{part} AS part", "person", *_held(formulas)])
        return f"sets AS (SELECT {read} FROM {people} WHERE {part} >= 0 GROUP BY ALL)"
    small = (
        f"SELECT {groups}, part FROM (SELECT {groups}, part, n, "
        f"min(n) OVER (PARTITION BY $candidate[part + 1]) AS least FROM ("
        f"SELECT {numbered}, {part} AS part, sum(n)::BIGINT AS n FROM {counts} WHERE {part} >= 0 "
        f"GROUP BY ALL)) WHERE n <= least * $most"
    )
    source = f"SELECT {numbered}, {part} AS part, person FROM {people} WHERE {part} >= 0"
    sets = (
        f"SELECT {groups}, part, person FROM ({source}) SEMI JOIN small USING ({groups}, part) GROUP BY ALL"
    )
    return f"small AS ({small}), sets AS ({sets})"


def disclosed_sql(
    people: Table, counts: Table, keys: Keys, attribute: int, formulas: Sequence[Formula]
) -> str:
    """Measure the states after candidates of one attribute that each take a value out of a group, a row each.

    The rest of a group is not its total less the part: it loses only those persons who have no other value of
    the group's, whom ``lost_n`` counts. ``$label`` gives the candidate that takes out a code, -1 for a code
    that stays in the part, -2 for one elsewhere. As :func:`specialized_sql` it leaves large groups out where
    nothing but the smallest class is asked.
    """
    numbered, groups = group_keys(keys)
    label, columns = f"$label[c{attribute} + 1]", needed(formulas)
    held = [name for name in columns if name != "n"]
    filtered = ""
    source = f"(SELECT {', '.join([numbered, f'{label} AS label', 'person', *held])} FROM {people} "
    source += f"WHERE {label} >= -1)"
    if is_smallest_class(formulas):
        filtered = (
            f"small AS (SELECT DISTINCT {groups} FROM (SELECT {groups}, n, total - n AS rest, "
            f"min(least(n, coalesce(nullif(total - n, 0), n))) OVER (PARTITION BY label) AS least FROM ("
            f"SELECT {groups}, label, n, sum(n) OVER (PARTITION BY {groups}) AS total FROM ("
            f"SELECT {numbered}, {label} AS label, sum(n)::BIGINT AS n FROM {counts} WHERE {label} >= -1 "
            f"GROUP BY ALL)) WHERE label >= 0) "
            f"WHERE n <= least * $most OR rest BETWEEN 1 AND least * $most), "
        )
        source += f" SEMI JOIN small USING ({groups})"
    most = [f"max({name}) AS {name}" for name in held]
    sets = f"SELECT {', '.join([groups, 'label', 'person', *most])} FROM {source} GROUP BY ALL"
    having = ["count(*) AS labels", *(f"sum({name}) AS having_{name}" for name in held)]
    each = f"SELECT {', '.join([groups, 'person', *having])} FROM sets GROUP BY {groups}, person"
    whole = ["count(*)::BIGINT AS total_n"]
    whole += [f"count(*) FILTER (having_{name} > 0)::BIGINT AS total_{name}" for name in held]
    lost = ["count(*) FILTER (labels = 1)::BIGINT AS lost_n"]
    lost += [f"count(*) FILTER ({n} = 1 AND having_{n} = 1)::BIGINT AS lost_{n}" for n in held]
    parts = ", ".join([groups, "label AS candidate", *_counts(formulas), *lost])
    numbers = ", ".join(_without(columns, formula) for formula in formulas)
    return (
        f"WITH {filtered}sets AS MATERIALIZED ({sets}), each AS MATERIALIZED ({each}), "
        f"parts AS (SELECT {parts} FROM sets JOIN each USING ({groups}, person) WHERE label >= 0 "
        f"GROUP BY {groups}, label), "
        f"totals AS (SELECT {groups}, {', '.join(whole)} FROM each GROUP BY {groups}) "
        f"SELECT candidate, {numbers} FROM parts JOIN totals USING ({groups}) GROUP BY candidate"
    )


def persons_by_value_sql(people: str, keys: Keys, attribute: int, values: int) -> tuple[str, list[str]]:
    """Write the groups by the values of an attribute: persons by the first and the last one that they have.

    A boundary has to its left who has a first value there, and to its right who has a last one: some are on
    both sides. ``$part`` gives the interval of each code, -1 where it is not asked about.

    Args:
        people: The table, or a SELECT in parentheses.
        keys: Of the other attributes.
        attribute: Whose values are told apart.
        values: How many values of sensitive columns are counted.
    """
    numbered, groups = group_keys(keys)
    names = ["n", *(f"p{j}" for j in range(values))]
    among = ["", *(f" FILTER (p{j} = 1)" for j in range(values))]
    ends = [
        f"{end}(c{attribute}){some} AS {which}{name}"
        for name, some in zip(names, among, strict=True)
        for end, which in (("min", "first_"), ("max", "last_"))
    ]
    part = f"$part[c{attribute} + 1]"
    sets = f"SELECT {numbered}, {part} AS part, {', '.join(ends)} FROM {people} WHERE {part} >= 0 "
    sets += f"GROUP BY {groups}, part, person"
    counted = [(f"first_{name}", name) for name in names] + [
        (f"last_{name}", f"last_{name}") for name in names
    ]
    events = " UNION ALL ".join(
        f"SELECT {groups}, part, {code} AS code, "
        + ", ".join(f"{int(code == other)} AS {name}" for other, name in counted)
        + f" FROM sets WHERE {code} IS NOT NULL"
        for code, _ in counted
    )
    return f"WITH sets AS MATERIALIZED ({sets}) {events}", groups.split(", ")


def _without(columns: Sequence[str], formula: Formula) -> str:
    """Write a state's number after parts are taken out of groups; for a sum, what it falls by."""
    whole, part = ({c: name.format(c) for c in columns} for name in ("total_{}", "{}"))
    rest = {c: f"(total_{c} - lost_{c})" for c in columns}
    each = [formula.of(part), formula.of(rest)]
    if formula.total == "sum":
        return f"sum({formula.of(whole)} - ({' + '.join(each)}))"
    worst = "least" if formula.total == "min" else "greatest"
    return f"{formula.total}({worst}({', '.join(each)}))"


def _counts(formulas: Sequence[Formula]) -> list[str]:
    """Count the persons of a set, and those who have each value."""
    values = [name for name in needed(formulas) if name != "n"]
    return ["count(*)::BIGINT AS n", *(f"sum({name})::BIGINT AS {name}" for name in values)]


def _held(formulas: Sequence[Formula]) -> list[str]:
    return [f"max({name}) AS {name}" for name in needed(formulas) if name != "n"]


def _terms(formulas: Sequence[Formula], names: dict[str, str], sign: str) -> str:
    return ", ".join(f"{sign}({formula.of(names)}) AS fall{j}" for j, formula in enumerate(formulas))
