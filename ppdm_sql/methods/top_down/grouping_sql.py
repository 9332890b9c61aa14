"""The statements by which a grouping is measured. Their text depends on the shape of the question only.

States and candidates travel as parameters, lists that are looked up by code: ``$part<i>`` gives the part of
attribute ``i`` that a code is in, ``$key<i>`` its share in the key of a group, a mixed-radix number.
The examples are of the papers' bank customers by Job (``c0``) and Country (``c1``), under the template that
nobody may be inferred to be discharged; ``p0`` counts those who are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ppdm_sql.engine.names import Table
from ppdm_sql.methods.top_down.count_tables import sums
from ppdm_sql.privacy import Formula

Keys = Sequence[Sequence[int]]
"""The attributes that make up each key of a group."""


def needed(formulas: Sequence[Formula]) -> list[str]:
    """List the counted columns that some formulas need, each once."""
    return list(dict.fromkeys(name for formula in formulas for name in formula.columns))


def is_smallest_class(formulas: Sequence[Formula]) -> bool:
    """Tell whether nothing but the size of the smallest group is asked."""
    return all(formula.total == "min" and formula.columns == ("n",) for formula in formulas)


def totals(formulas: Sequence[Formula]) -> list[str]:
    """Write the number of a state for each formula, over its groups."""
    names = {name: name for name in needed(formulas)}
    return [f"{formula.total}({formula.of(names)})" for formula in formulas]


def chain_sql(counts: Table, keys: Keys, formulas: Sequence[Formula]) -> str:
    """Measure states that refine each other: number of groups and formulas, a row each.

    The counts are grouped by the states' common refinement first, which leaves few rows; ``$key<i>`` holds a
    list for each part of it, with an entry for each state.

    Example:
        >>> from ppdm_sql.engine.statements import formatted
        >>> from ppdm_sql.privacy import ValueCounts, parse
        >>> confidence = parse("Job -> Bankruptcy = Discharged <= 50%").formula(ValueCounts(["p0"]))
        >>> print(formatted(chain_sql(Table("counts"), [[0, 1]], [confidence])))
        SELECT
          COUNT(*),
          MAX(p0 / NULLIF(n, 0))
        FROM (
          SELECT
            state,
            CAST(0 AS BIGINT) + $key0[part0 * $states + state + 1] + $key1[part1 * $states + state + 1] AS group0,
            CAST(SUM(n) AS BIGINT) AS n,
            CAST(SUM(p0) AS BIGINT) AS p0
          FROM (
            SELECT
              $part0[c0 + 1] AS part0,
              $part1[c1 + 1] AS part1,
              CAST(SUM(n) AS BIGINT) AS n,
              CAST(SUM(p0) AS BIGINT) AS p0
            FROM "counts"
            GROUP BY
              part0,
              part1
          ) AS refinement, RANGE(0, $states) AS states(state)
          GROUP BY
            state,
            group0
        ) AS groups
        GROUP BY
          state
        ORDER BY
          state
    """  # noqa: E501
    used = [i for key in keys for i in key]
    summed = sums(needed(formulas))
    parts = "".join(f"$part{i}[c{i} + 1] AS part{i}, " for i in used)
    by_part = "GROUP BY " + ", ".join(f"part{i}" for i in used) if used else ""
    groups = [_sum(f"$key{i}[part{i} * $states + state + 1]" for i in key) for key in keys]
    numbered = "".join(f"{group} AS group{number}, " for number, group in enumerate(groups))
    by_group = ", ".join(["state", *(f"group{number}" for number in range(len(keys)))])
    return (
        f"SELECT {', '.join(['count(*)', *totals(formulas)])} FROM ("
        f"SELECT state, {numbered}{summed} "
        f"FROM (SELECT {parts}{summed} FROM {counts} {by_part}) AS refinement, "
        f"range($states) AS states(state) GROUP BY {by_group}) AS groups GROUP BY state ORDER BY state"
    )


def disclosures_sql(counts: Table, keys: Keys, attributes: Sequence[int], formulas: Sequence[Formula]) -> str:
    """Measure the states after candidates that each take one part out of a group, a row each.

    The parts of all candidates are counted at once; the rest of each group is its total less the part.
    ``$candidate<i>`` gives the candidate that takes out a code, -1 for none.

    Example: the smallest class by Job and Country.
        >>> from ppdm_sql.engine.statements import formatted
        >>> from ppdm_sql.privacy import ValueCounts, parse
        >>> smallest = parse("k >= 4 on Job, Country").formula(ValueCounts())
        >>> print(formatted(disclosures_sql(Table("counts"), [[1]], [0], [smallest])))
        WITH fine AS MATERIALIZED (
          SELECT
            CAST(0 AS BIGINT) + $key1[c1 + 1] AS group0,
            $candidate0[c0 + 1] AS candidate0,
            CAST(SUM(n) AS BIGINT) AS n
          FROM "counts"
          GROUP BY
            group0,
            candidate0
        ), parts AS (
          SELECT
            group0,
            candidate,
            CAST(SUM(n) AS BIGINT) AS n
          FROM (
            SELECT
              group0,
              UNNEST([candidate0]) AS candidate,
              n
            FROM fine
          )
          WHERE
            candidate >= 0
          GROUP BY
            group0,
            candidate
        ), groups AS (
          SELECT
            group0,
            CAST(SUM(n) AS BIGINT) AS total_n
          FROM fine
          GROUP BY
            group0
        )
        SELECT
          candidate,
          MIN(LEAST(NULLIF(n, 0), NULLIF((
            total_n - n
          ), 0)))
        FROM parts
        JOIN groups
          USING (group0)
        GROUP BY
          candidate
    """
    counted = needed(formulas)
    fine = coded_sql(counts, keys, {"candidate": attributes}, formulas)
    return " ".join((disclosed(fine, keys, attributes, counted), numbers_after(keys, counted, formulas)))


def coded_sql(
    counts: Table | str,
    keys: Keys,
    split: Mapping[str, Sequence[int]],
    formulas: Sequence[Formula],
    mark: str = "$",
) -> str:
    """Write the counts by present group and by what candidates make of each attribute, which are fewer rows.

    ``split`` names the attributes of each sort of candidates: ``$part<i>`` or ``$candidate<i>`` give the
    number by code; with another mark they are columns of what is read.

    Example:
        >>> from ppdm_sql.privacy import ValueCounts, parse
        >>> smallest = parse("k >= 4 on Job, Country").formula(ValueCounts())
        >>> coded_sql(Table("counts"), [[0, 1]], {"part": [0]}, [smallest])
        'SELECT 0::BIGINT + $key0[c0 + 1] + $key1[c1 + 1] AS group0, $part0[c0 + 1] AS part0, \
sum(n)::BIGINT AS n FROM "counts" GROUP BY group0, part0'
    """
    numbered, groups = group_keys(keys, mark)
    made = [(sort, i) for sort, attributes in split.items() for i in attributes]
    columns = ", ".join([numbered, *(f"{mark}{sort}{i}[c{i} + 1] AS {sort}{i}" for sort, i in made)])
    by = ", ".join([groups, *(f"{sort}{i}" for sort, i in made)])
    return f"SELECT {columns}, {sums(needed(formulas))} FROM {counts} GROUP BY {by}"


def disclosed(
    fine: str, keys: Keys, attributes: Sequence[int], counted: Sequence[str], sort: str = "candidate"
) -> str:
    """Write the common tables: the parts that candidates make, and the groups that they are in."""
    summed = sums(counted)
    groups = group_keys(keys)[1]
    numbers = ", ".join(f"{sort}{i}" for i in attributes)
    whole = ", ".join(f"sum({c})::BIGINT AS total_{c}" for c in counted)
    listed = f"SELECT {groups}, unnest([{numbers}]) AS {sort}, {', '.join(counted)} FROM fine"
    return (
        f"WITH fine AS MATERIALIZED ({fine}), "
        f"parts AS (SELECT {groups}, {sort}, {summed} FROM ({listed}) WHERE {sort} >= 0 "
        f"GROUP BY {groups}, {sort}), "
        f"groups AS (SELECT {groups}, {whole} FROM fine GROUP BY {groups})"
    )


def numbers_after(keys: Keys, counted: Sequence[str], formulas: Sequence[Formula]) -> str:
    """Write the numbers of the states after candidates that take parts out, from these and their groups."""
    numbers = ", ".join(taken_out(counted, formula) for formula in formulas)
    but_settled = unsettled(counted, formulas, "total_{}")
    joined = f"parts JOIN groups USING ({group_keys(keys)[1]})"
    return f"SELECT candidate, {numbers} FROM {joined}{but_settled} GROUP BY candidate"


def taken_out(counted: Sequence[str], formula: Formula) -> str:
    """Write a state's number after a part, ``n``, is taken out of each group, ``total_n``."""
    whole, part = ({c: name.format(c) for c in counted} for name in ("total_{}", "{}"))
    rest = {c: f"(total_{c} - {c})" for c in counted}
    return after_split(formula, whole, [part, rest])


def after_split(formula: Formula, whole: Mapping[str, str], parts: Sequence[Mapping[str, str]]) -> str:
    """Write a state's number after groups fall into parts; for a sum, what it falls by."""
    each = [formula.of(part) for part in parts]
    if formula.total == "sum":
        split = f"greatest({', '.join(part['n'] for part in parts)}) < {whole['n']}"
        return f"sum(CASE WHEN {split} THEN {formula.of(whole)} - ({' + '.join(each)}) ELSE 0 END)"
    worst = "least" if formula.total == "min" else "greatest"
    return f"{formula.total}({worst}({', '.join(each)}))"


def specializations_sql(
    counts: Table, keys: Keys, attributes: Sequence[int], formulas: Sequence[Formula]
) -> str:
    """Measure the states after candidates that split groups of their own, a row each.

    ``$part<i>`` numbers the parts of all candidates by code, -1 for none, and ``$candidate`` says whose a
    part is. The counts by all that these tell apart are few rows; each attribute adds them up on its own.

    Example:
        >>> from ppdm_sql.engine.statements import formatted
        >>> from ppdm_sql.privacy import ValueCounts, parse
        >>> confidence = parse("Job -> Bankruptcy = Discharged <= 50%").formula(ValueCounts(["p0"]))
        >>> print(formatted(specializations_sql(Table("counts"), [[1]], [0], [confidence])))
        WITH coded AS (
          SELECT
            CAST(0 AS BIGINT) + $key1[c1 + 1] AS group0,
            $part0[c0 + 1] AS part0,
            CAST(SUM(n) AS BIGINT) AS n,
            CAST(SUM(p0) AS BIGINT) AS p0
          FROM "counts"
          GROUP BY
            group0,
            part0
        )
        SELECT
          candidate,
          MAX(p0 / NULLIF(n, 0))
        FROM (
          SELECT
            group0,
            $candidate[part0 + 1] AS candidate,
            CAST(SUM(n) AS BIGINT) AS n,
            CAST(SUM(p0) AS BIGINT) AS p0
          FROM coded
          WHERE
            part0 >= 0
          GROUP BY
            group0,
            part0
        ) AS parts
        GROUP BY
          candidate
    """
    coded = coded_sql(counts, keys, {"part": attributes}, formulas)
    read_again = "MATERIALIZED " * (len(attributes) > 1)
    numbers = (_after_splits(keys, f"part{i}", formulas) for i in attributes)
    return f"WITH coded AS {read_again}({coded}) {' UNION ALL '.join(numbers)}"


def _after_splits(keys: Keys, part: str, formulas: Sequence[Formula]) -> str:
    """Write the numbers of the states after the candidates whose parts a column numbers."""
    counted, groups = needed(formulas), group_keys(keys)[1]
    parts = (
        f"SELECT {groups}, $candidate[{part} + 1] AS candidate, {sums(counted)} "
        f"FROM coded WHERE {part} >= 0 GROUP BY {groups}, {part}"
    )
    if all(formula.total != "sum" for formula in formulas):
        return f"SELECT candidate, {', '.join(totals(formulas))} FROM ({parts}) AS parts GROUP BY candidate"
    names = {c: c for c in counted}
    after = ", ".join(f"sum({formula.of(names)}) AS after_{j}" for j, formula in enumerate(formulas))
    falls = ", ".join(f"sum({formula.of(names)} - after_{j})" for j, formula in enumerate(formulas))
    whole = f"SELECT candidate, {sums(counted)}, {after} FROM ({parts}) AS parts GROUP BY {groups}, candidate"
    but_settled = unsettled(counted, formulas)
    return f"SELECT candidate, {falls} FROM ({whole}) AS groups{but_settled} GROUP BY candidate"


def path_sql(counts: Table, keys: Keys, attribute: int, formulas: Sequence[Formula]) -> str:
    """Measure the states on a way of disclosures of one attribute, a row each.

    ``$place`` says at which step the value of a code leaves the suppressed symbol: ``$steps`` where it stays,
    -1 where it left it before. The keys are of the other attributes. What is left of a group before a step is
    the sum of what leaves at this step, at later ones, or never.

    Example: the smallest class by Job and Country.
        >>> from ppdm_sql.engine.statements import formatted
        >>> from ppdm_sql.privacy import ValueCounts, parse
        >>> smallest = parse("k >= 4 on Job, Country").formula(ValueCounts())
        >>> print(formatted(path_sql(Table("counts"), [[1]], 0, [smallest])))
        SELECT
          place,
          MIN(LEAST(NULLIF(n, 0), NULLIF((
            total_n - n
          ), 0)))
        FROM (
          SELECT
            place,
            n,
            CAST((
              SUM(n) OVER later
            ) AS BIGINT) AS total_n
          FROM (
            SELECT
              group0,
              place,
              CAST(SUM(n) AS BIGINT) AS n
            FROM (
              SELECT
                CAST(0 AS BIGINT) + $key1[c1 + 1] AS group0,
                $place[c0 + 1] AS place,
                n
              FROM "counts"
            )
            WHERE
              place >= 0
            GROUP BY
              group0,
              place
          ) AS parts
          WINDOW later AS (
            PARTITION BY group0
            ORDER BY place DESC
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
          )
        ) AS leaving
        WHERE
          place < $steps
        GROUP BY
          place
    """
    counted = needed(formulas)
    numbers = ", ".join(taken_out(counted, formula) for formula in formulas)
    leaving = _leaving_sql(counts, keys, attribute, counted)
    return f"SELECT place, {numbers} FROM ({leaving}) AS leaving WHERE place < $steps GROUP BY place"


def _leaving_sql(counts: Table, keys: Keys, attribute: int, counted: Sequence[str]) -> str:
    """Write what leaves each group at each step, and what the group held just before."""
    numbered, groups = group_keys(keys)
    coded = f"SELECT {numbered}, $place[c{attribute} + 1] AS place, {', '.join(counted)} FROM {counts}"
    parts = (
        f"SELECT {groups}, place, {sums(counted)} FROM ({coded}) WHERE place >= 0 GROUP BY {groups}, place"
    )
    whole = ", ".join(f"(sum({c}) OVER later)::BIGINT AS total_{c}" for c in counted)
    return (
        f"SELECT place, {', '.join(counted)}, {whole} FROM ({parts}) AS parts "
        f"WINDOW later AS (PARTITION BY {groups} ORDER BY place DESC "
        "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"
    )


def by_value_sql(
    counts: Table | str, keys: Keys, attribute: int, part: str, counted: Sequence[str]
) -> tuple[str, Sequence[str]]:
    """Write the rows of the groups with the value of an attribute, and name the columns that make up a group.

    ``part`` is the SQL of the interval of each code, -1 where it is not asked about.

    Example:
        >>> by_value_sql(Table("counts"), [[1]], 0, "$part[c0 + 1]", ["n"])[0]
        'SELECT 0::BIGINT + $key1[c1 + 1] AS group0, $part[c0 + 1] AS part, c0 AS code, n FROM "counts"'
    """
    numbered, groups = group_keys(keys)
    by_value = f"{part} AS part, c{attribute} AS code"
    return f"SELECT {numbered}, {by_value}, {', '.join(counted)} FROM {counts}", groups.split(", ")


def unsettled(counted: Sequence[str], formulas: Sequence[Formula], name: str = "{}") -> str:
    """Leave out groups whose numbers stay what they are, whatever they are split into."""
    if any(formula.settled is None for formula in formulas):
        return ""
    names = {c: name.format(c) for c in counted}
    return " WHERE NOT (" + " AND ".join(f.settled(names) for f in formulas if f.settled) + ")"


def group_keys(keys: Keys, mark: str = "$") -> tuple[str, str]:
    """Write the keys of the present groups as a select list, and their names."""
    groups = [_sum(f"{mark}key{i}[c{i} + 1]" for i in key) for key in keys] or ["0"]
    numbered = ", ".join(f"{group} AS group{number}" for number, group in enumerate(groups))
    return numbered, ", ".join(f"group{number}" for number in range(len(groups)))


def _sum(terms: Iterable[str]) -> str:
    """Add terms as BIGINT; lists of small numbers arrive as INTEGER, whose sum could overflow."""
    return "0::BIGINT + " + " + ".join(terms)
