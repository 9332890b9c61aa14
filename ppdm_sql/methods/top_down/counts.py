"""One way to count: the records of each combination as a table, and the statements that read states off it.

A search state is a partition of each attribute's values into parts; its groups are the combinations of parts
that records have. The papers keep the records of each group in a tree (VIP, TIPS); here a group is a number
beside the counts of its combinations, ``group0``, made of the parts by :func:`group_keys`. Four statements
read all that a search asks:

- :func:`state_sql`, the numbers of a state;
- :func:`after_sql`, those of the states after candidates, read off the groups that each one splits;
- :func:`path_sql`, those along a path of disclosures of one attribute;
- :func:`breaks_sql`, the boundaries of intervals at which a split would break a limit.

The examples are of the papers' bank customers by Job (``c0``) and Country (``c1``), with ``p0`` those who
were discharged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.methods.base.arrays import Codes, Floats
from ppdm_sql.methods.base.collapse import Atoms
from ppdm_sql.methods.base.released_rows import recoded
from ppdm_sql.methods.top_down.cuts import Candidate, Cuts
from ppdm_sql.privacy import Formula

Counted = tuple[int, int]
"""Position of a coded column, and the code of the value whose records are counted."""
Params = dict[str, object]
SHOWN = "w"
"""The column of what records show, where that is counted."""
KEY_BITS = 62
"""A group's number is a BIGINT; attributes that do not fit into it make a second one."""
SLACK = 1e-9
"""By how much a limit must be missed where numbers are added up in another order than in a measurement."""


class CountTable:
    """The records of each combination of some attributes: ``c<i>``, ``n``, and ``p<j>`` of a value counted.

    Args:
        engine: Where the tables are.
        atoms: The collapsed source.
        attributes: Positions of those that group.
        counted: The values counted beside the records.
    """

    def __init__(
        self, engine: Engine, atoms: Atoms, attributes: Sequence[int], counted: Sequence[Counted]
    ) -> None:
        self.attributes, self.engine, self.atoms, self.counted = sorted(attributes), engine, atoms, counted
        self.names = ["n", *(f"p{j}" for j in range(len(counted)))]
        self.rows = self._made()
        """The SQL of what is read."""

    def _made(self) -> str:
        text = count_table_sql(self.atoms.table, self.attributes, self.counted)
        return str(self.engine.materialize("grid", text))

    # -- what is read ---------------------------------------------------------------------------------

    def source(self, formulas: Sequence[Formula]) -> Floats:
        """Measure the source, in which nothing is masked: the number of groups, then the formulas'."""
        text = f"SELECT {', '.join(['count(*)', *totals(formulas)])} FROM {self.rows} AS groups"
        return np.array(self.engine.query(text, step="detail")[0], dtype=np.float64)

    def state(self, cuts: Cuts, formulas: Sequence[Formula]) -> Floats:
        """Measure a state: the number of groups, then the formulas'."""
        keys, params = self._keys(cuts)
        text = self._state_sql(keys, formulas)
        return np.array(self.engine.query(text, params, step="state")[0], dtype=np.float64)

    def after(self, cuts: Cuts, candidates: Sequence[Candidate], formulas: Sequence[Formula]) -> Floats:
        """Measure the state after each candidate, shape (candidates, formulas).

        Only groups that a candidate splits are seen: NaN where it splits none; a sum is what it falls by.
        """
        split = split_by(cuts, candidates)
        # where they are all of one attribute, a part is of one group of its
        keys, params = self._keys(cuts, but=split.parts if len(split.parts) == 1 else ())
        parts, own = coded(split.parts, "part")
        text = after_sql(
            self.rows, keys, {i: (part, i in split.rests) for i, part in parts.items()}, formulas
        )
        params |= own | {"candidate": split.owner} | self._of_parts()
        rows = self.engine.query(text, params, step="after")
        return by_candidate(rows, len(candidates), len(formulas))

    def path(
        self, cuts: Cuts, attribute: int, disclosed: Sequence[int], formulas: Sequence[Formula]
    ) -> Floats:
        """Measure what is seen along a path of disclosures of one attribute, shape (disclosures, formulas).

        A row is of the groups that its disclosure splits, as :meth:`after` gives it.
        """
        text, params = self._path(cuts, attribute, disclosed, formulas)
        return by_candidate(self.engine.query(text, params, step="path"), len(disclosed), len(formulas))

    def rivals(
        self,
        cuts: Cuts,
        attribute: int,
        disclosed: Sequence[int],
        formulas: Sequence[Formula],
        candidates: Sequence[Candidate],
    ) -> Floats:
        """Measure the same in the states after candidates of one other attribute, each on its own.

        Returns:
            Shape (candidates, disclosures, formulas).
        """
        text, params = self._path(cuts, attribute, disclosed, formulas, candidates)
        rows = self.engine.query(text, params, step="path")
        numbers = np.full((len(candidates), len(disclosed), len(formulas)), np.nan)
        if rows:
            places, found, *read = (np.array(column, dtype=np.float64) for column in zip(*rows, strict=True))
            numbers[found.astype(np.int64), places.astype(np.int64)] = np.stack(read, axis=1)
        return numbers

    def _path(
        self,
        cuts: Cuts,
        attribute: int,
        disclosed: Sequence[int],
        formulas: Sequence[Formula],
        rivals: Sequence[Candidate] = (),
    ) -> tuple[str, Params]:
        beside = split_by(cuts, rivals)
        places = np.where(cuts[attribute].parts == 0, len(disclosed), -1)
        places[list(disclosed)] = np.arange(len(disclosed))
        split = {attribute: places, **beside.parts}
        keys, params = self._keys(cuts, but=split)
        columns, own = coded(split, "place")
        params |= own | {"steps": len(disclosed)} | ({"candidate": beside.owner} if rivals else {})
        params |= self._of_parts()
        place, *part = columns.values()
        return self._path_sql(keys, place, formulas, *part), params

    def _state_sql(self, keys: Sequence[str], formulas: Sequence[Formula]) -> str:
        return state_sql(self.rows, keys, formulas)

    def _path_sql(
        self, keys: Sequence[str], place: str, formulas: Sequence[Formula], part: str | None = None
    ) -> str:
        return path_sql(self.rows, keys, place, formulas, part)

    def invalid(
        self,
        cuts: Cuts,
        attribute: int,
        part: Codes,
        formulas: Sequence[Formula],
        known: Floats,
        limits: Floats,
    ) -> NDArray[np.bool_]:
        """Tell for each boundary whether splitting there breaks a limit; one scan of the groups by value.

        Args:
            cuts: The present state.
            attribute: One of grown intervals.
            part: For each of its value codes the interval, -1 where it is not asked about.
            formulas: Of the requirements; either all of them are sums or none is.
            known: Their numbers in the present state.
            limits: The worst numbers allowed.
        """
        sums = any(formula.total == "sum" for formula in formulas)
        text, params = self._boundaries(cuts, attribute, part, formulas)
        params |= {} if sums else {f"limit{j}": float(x) for j, x in enumerate(limits)}
        found = self.engine.arrays(text, params, step="boundaries")
        first, last = (found[end].astype(np.int64) + 1 for end in ("code", "next"))
        if not sums:
            return added_up(len(part), first, last, np.ones(len(first))) > 0
        invalid = np.zeros(len(part), dtype=bool)
        for j, limit in enumerate(limits):
            falls = added_up(len(part), first, last, found[f"fall{j}"])
            invalid |= known[j] - falls > limit * (1 + SLACK)
        return invalid

    def _boundaries(
        self, cuts: Cuts, attribute: int, part: Codes, formulas: Sequence[Formula]
    ) -> tuple[str, Params]:
        groups = self.by_value(cuts, attribute, part)
        write = falls_sql if any(formula.total == "sum" for formula in formulas) else breaks_sql
        return write(groups, needed(formulas), formulas), dict(groups.params)

    def by_value(self, cuts: Cuts, attribute: int, part: Codes) -> GroupsByValue:
        """Give the present groups by the values of an attribute too; ``part`` is as in :meth:`invalid`."""
        keys, params = self._keys(cuts, but=[attribute])
        texts, own = coded({attribute: part}, "part")
        return self._by_value(keys, texts[attribute], f"c{attribute}", params | own)

    def _by_value(self, keys: Sequence[str], part: str, value: str, params: Params) -> GroupsByValue:
        columns = ", ".join([*keys, f"{part} AS part", f"{value} AS code", *self.names])
        return GroupsByValue(f"SELECT {columns} FROM {self.rows}", group_names(keys), params)

    def _of_parts(self) -> Params:
        """Give what else formulas know of the parts that candidates make."""
        return {}

    def _keys(self, cuts: Cuts, but: Iterable[int] = ()) -> tuple[list[str], Params]:
        """Write the keys of the present groups, by all but some attributes."""
        parts = {i: cuts[i].parts for i in self.attributes if i not in but}
        return group_keys({i: part for i, part in parts.items() if part.max(initial=0) > 0})


def coded(split: Mapping[int, Codes], name: str) -> tuple[dict[int, str], Params]:
    """Write the numbers that some attributes have in the place of their codes, with the parameters."""
    texts, params = dict[int, str](), Params()
    for i, numbers in split.items():
        texts[i], own = recoded(f"c{i}", numbers, f"{name}{i}", "INTEGER")
        params |= own
    return texts, params


@dataclass(frozen=True)
class CandidateParts:
    """The parts that candidates make, numbered.

    Args:
        parts: For each attribute the part of each value code, -1 for none; where there is a rest of a group
            beside what is taken out of it, -2 for values outside of that group.
        owner: For each part, the place of its candidate.
        rests: Attributes whose candidates take one part out of a group.
    """

    parts: Mapping[int, Codes]
    owner: list[int]
    rests: set[int]


def split_by(cuts: Cuts, candidates: Sequence[Candidate]) -> CandidateParts:
    """Number the parts that candidates make."""
    parts, owner, rests = dict[int, Codes](), list[int](), set[int]()
    for number, (attribute, candidate) in enumerate(candidates):
        cut = cuts[attribute]
        if attribute not in parts:
            parts[attribute] = (
                np.full(len(cut.parts), -1) if cut.disjoint else np.where(cut.parts == 0, -1, -2)
            )
            rests |= set() if cut.disjoint else {attribute}
        for codes in cut.split(candidate):
            parts[attribute][codes] = len(owner)
            owner.append(number)
    return CandidateParts(parts, owner, rests)


def by_candidate(rows: Sequence[Sequence[float]], candidates: int, formulas: int) -> Floats:
    """Put rows of (candidate, numbers) in the order of the candidates."""
    numbers = np.full((candidates, formulas), np.nan)
    numbers[[int(row[0]) for row in rows]] = [row[1:] for row in rows] or np.empty((0, formulas))
    return numbers


def added_up(size: int, first: Codes, last: Codes, numbers: Floats) -> Floats:
    """Add up, for each boundary, the numbers of all stretches that it lies in."""
    change = np.zeros(size + 1)
    np.add.at(change, first, numbers)
    np.add.at(change, last, -numbers)
    return np.asarray(change.cumsum()[:size])


# -- the statements -----------------------------------------------------------------------------------


def count_table_sql(atoms: Table, attributes: Sequence[int], counted: Sequence[Counted]) -> str:
    """Write the SELECT of a table of counts.

    Example:
        >>> from ppdm_sql.engine.statements import formatted
        >>> print(formatted(count_table_sql(Table("atoms"), [0, 1], [(3, 1)])))
        SELECT
          c0,
          c1,
          CAST(SUM(n) AS BIGINT) AS n,
          CAST(COALESCE(SUM(n) FILTER(WHERE
            c3 = 1), 0) AS BIGINT) AS p0
        FROM "atoms"
        GROUP BY
          c0,
          c1
    """
    counts = ["sum(n)::BIGINT AS n"]
    for j, (column, code) in enumerate(counted):
        counts.append(f"coalesce(sum(n) FILTER (WHERE c{column} = {code}), 0)::BIGINT AS p{j}")
    columns = ", ".join(f"c{i}" for i in attributes)
    return f"SELECT {columns}, {', '.join(counts)} FROM {atoms} GROUP BY {columns}"


def group_keys(parts: Mapping[int, Codes], name: str = "key") -> tuple[list[str], Params]:
    """Write the number of a group from the parts of its attributes' codes, mixed-radix; with the parameters.

    Example:
        >>> group_keys({0: np.array([0, 0, 1]), 1: np.array([0, 1])})[0]
        ['CAST(CASE WHEN c0 < 2 THEN 0 ELSE 1 END AS BIGINT) + CAST(CASE WHEN c1 < 1 THEN 0 ELSE 2 END AS \
BIGINT) AS group0']
    """
    keys, params, size = list[list[str]](), Params(), 1
    for i, part in parts.items():
        radix = int(part.max()) + 1
        if not keys or (size * radix).bit_length() > KEY_BITS:
            keys.append([])
            size = 1
        text, own = recoded(f"c{i}", size * part, f"{name}{i}", "BIGINT")
        keys[-1].append(text)
        params |= own
        size *= radix
    return [f"{' + '.join(key)} AS group{number}" for number, key in enumerate(keys or [["0"]])], params


def group_names(keys: Sequence[str]) -> list[str]:
    """Name the columns that make up the number of a group."""
    return [f"group{number}" for number in range(len(keys))]


def needed(formulas: Sequence[Formula]) -> list[str]:
    """List the counted columns that some formulas need, each once."""
    return list(dict.fromkeys(("n", *(name for formula in formulas for name in formula.columns))))


def sums(counted: Iterable[str]) -> str:
    """Write the sums of counted columns as a select list."""
    return ", ".join(f"sum({name})::BIGINT AS {name}" for name in counted)


def totals(formulas: Sequence[Formula]) -> list[str]:
    """Write the number of a state for each formula, over its groups."""
    names = {name: name for name in needed(formulas)} | {"value": "0"}
    return [f"{formula.total}({formula.of(names)})" for formula in formulas]


def state_sql(counts: str, keys: Sequence[str], formulas: Sequence[Formula]) -> str:
    """Measure a state: the number of groups, then the formulas'.

    Example: the most confident group by Job and Country, each in two parts.
        >>> from ppdm_sql.privacy import ValueCounts, parse
        >>> confidence = parse("Job -> Bankruptcy = Discharged <= 50%").formula(ValueCounts(["p0"]))
        >>> keys = ["$part0[c0 + 1] + 2 * $part1[c1 + 1] AS group0"]
        >>> state_sql("counts", keys, [confidence])
        'SELECT count(*), max(p0 / nullif(n, 0)) FROM (SELECT $part0[c0 + 1] + 2 * $part1[c1 + 1] AS group0, \
sum(n)::BIGINT AS n, sum(p0)::BIGINT AS p0 FROM counts GROUP BY group0) AS groups'
    """
    names = ", ".join(group_names(keys))
    groups = f"SELECT {', '.join(keys)}, {sums(needed(formulas))} FROM {counts} GROUP BY {names}"
    return f"SELECT {', '.join(['count(*)', *totals(formulas)])} FROM ({groups}) AS groups"


def after_sql(
    counts: str, keys: Sequence[str], parts: Mapping[int, tuple[str, bool]], formulas: Sequence[Formula]
) -> str:
    """Measure the states after candidates, a row each: of the groups that it splits, or what a sum falls by.

    ``coded`` are the counts by present group and by the parts that candidates make of each attribute, which
    are fewer rows; each attribute adds them up on its own. A candidate that specializes a node makes all its
    parts; one that discloses a value leaves a rest, which is the group's total less the part.

    Args:
        counts: The table of counts.
        keys: Of the present groups.
        parts: For each attribute the SQL of a code's part, and whether its candidates leave a rest;
            ``$candidate`` says whose a part is.
        formulas: What to measure.

    Example: the smallest class by Job and Country, where Jobs are specialized and a Country is disclosed.
        >>> from ppdm_sql.engine.statements import formatted
        >>> from ppdm_sql.privacy import ValueCounts, parse
        >>> smallest = parse("k >= 4 on Job, Country").formula(ValueCounts())
        >>> parts = {0: ("$part0[c0 + 1]", False), 1: ("$part1[c1 + 1]", True)}
        >>> print(formatted(after_sql("counts", ["0 AS group0"], parts, [smallest])))
        WITH coded AS MATERIALIZED (
          SELECT
            group0,
            part0,
            part1,
            CAST(SUM(n) AS BIGINT) AS n
          FROM (
            SELECT
              0 AS group0,
              $part0[c0 + 1] AS part0,
              $part1[c1 + 1] AS part1,
              n
            FROM counts
          )
          WHERE
            part0 >= 0 OR part1 >= -1
          GROUP BY ALL
        )
        SELECT
          candidate,
          MIN(NULLIF(n, 0))
        FROM (
          SELECT
            group0,
            $candidate[part0 + 1] AS candidate,
            CAST(SUM(n) AS BIGINT) AS n
          FROM coded
          WHERE
            part0 >= 0
          GROUP BY
            group0,
            part0
        ) AS parts
        GROUP BY
          candidate
        UNION ALL
        SELECT
          $candidate[part + 1] AS candidate,
          MIN(LEAST(NULLIF(n, 0), NULLIF((
            total_n - n
          ), 0)))
        FROM (
          SELECT
            *
          FROM (
            SELECT
              group0,
              part1 AS part,
              CAST(SUM(n) AS BIGINT) AS n,
              CAST((
                SUM(SUM(n)) OVER (PARTITION BY group0)
              ) AS BIGINT) AS total_n
            FROM coded
            WHERE
              part1 >= -1
            GROUP BY
              group0,
              part1
          )
          WHERE
            part >= 0
        ) AS parts
        GROUP BY
          candidate
    """
    names, groups = needed(formulas), ", ".join(group_names(keys))
    columns = ", ".join([*keys, *(f"{text} AS part{i}" for i, (text, _) in parts.items()), *names])
    aside = [
        f"part{i} >= {-1 if rest else 0}" for i, (_, rest) in parts.items()
    ]  # the others are read by nobody
    coded = (
        f"SELECT {groups}, {', '.join(f'part{i}' for i in parts)}, {sums(names)} "
        f"FROM (SELECT {columns} FROM {counts}) WHERE {' OR '.join(aside)} GROUP BY ALL"
    )
    each = (
        write([f"part{i}" for i, (_, rest) in parts.items() if rest == rests], groups, names, formulas)
        for write, rests in ((_after_splits, False), (_after_disclosures, True))
        if rests in (rest for _, rest in parts.values())
    )
    return f"WITH coded AS MATERIALIZED ({coded}) {' UNION ALL '.join(each)}"


def _after_splits(
    parts: Sequence[str], groups: str, names: Sequence[str], formulas: Sequence[Formula]
) -> str:
    value = ", $value[{part} + 1] AS value" * (SHOWN in names)
    made = " UNION ALL ".join(
        f"SELECT {groups}, $candidate[{part} + 1] AS candidate, {sums(names)}{value.format(part=part)} "
        f"FROM coded WHERE {part} >= 0 GROUP BY {groups}, {part}"
        for part in parts
    )
    if all(formula.total != "sum" for formula in formulas):
        return f"SELECT candidate, {', '.join(totals(formulas))} FROM ({made}) AS parts GROUP BY candidate"
    own, whole_of = ({c: c for c in names} | {"value": v} for v in ("value", "0"))
    after = ", ".join(f"{f.total}({f.of(own)}) AS after_{j}" for j, f in enumerate(formulas))
    numbers = ", ".join(
        f"sum({f.of(whole_of)} - after_{j})" if f.total == "sum" else f"{f.total}(after_{j})"
        for j, f in enumerate(formulas)
    )
    whole = f"SELECT candidate, {sums(names)}, {after} FROM ({made}) AS parts GROUP BY {groups}, candidate"
    return (
        f"SELECT candidate, {numbers} FROM ({whole}) AS groups{_unsettled(own, formulas)} GROUP BY candidate"
    )


def _after_disclosures(
    parts: Sequence[str], groups: str, names: Sequence[str], formulas: Sequence[Formula]
) -> str:
    whole = ", ".join(f"(sum(sum({c})) OVER (PARTITION BY {groups}))::BIGINT AS total_{c}" for c in names)
    made = " UNION ALL ".join(
        f"SELECT {groups}, {part} AS part, {sums(names)}, {whole} "
        f"FROM coded WHERE {part} >= -1 GROUP BY {groups}, {part}"
        for part in parts
    )
    numbers = ", ".join(taken_out(names, formula) for formula in formulas)
    unsettled = _unsettled({c: f"total_{c}" for c in names}, formulas)
    return (
        f"SELECT $candidate[part + 1] AS candidate, {numbers} FROM (SELECT * FROM ({made}) WHERE part >= 0) "
        f"AS parts{unsettled} GROUP BY candidate"
    )


def taken_out(names: Sequence[str], formula: Formula, part: str = "part") -> str:
    """Write a state's number after a part, ``n``, is taken out of each group, ``total_n``; or its fall."""
    whole = {c: f"total_{c}" for c in names} | {"value": "0"}
    taken = {c: c for c in names} | {"value": f"$value[{part} + 1]"}
    rest = {c: f"(total_{c} - {c})" for c in names} | {"value": "0"}
    each = [formula.of(taken), formula.of(rest)]
    if formula.total == "sum":
        fall = f"{formula.of(whole)} - ({' + '.join(each)})"
        # a group that is left whole stays what it is, but shows more
        return (
            f"sum({fall})"
            if SHOWN in formula.columns
            else f"sum(CASE WHEN n < total_n THEN {fall} ELSE 0 END)"
        )
    return f"{formula.total}({'least' if formula.total == 'min' else 'greatest'}({', '.join(each)}))"


def _unsettled(names: Mapping[str, str], formulas: Sequence[Formula]) -> str:
    """Leave out groups whose numbers stay what they are, whatever they are split into."""
    if any(formula.settled is None for formula in formulas):
        return ""
    return " WHERE NOT (" + " AND ".join(f.settled(names) for f in formulas if f.settled) + ")"


def path_sql(
    counts: str, keys: Sequence[str], place: str, formulas: Sequence[Formula], part: str | None = None
) -> str:
    """Measure the states along a path of disclosures of one attribute, a row each.

    Args:
        counts: The table of counts.
        keys: Of the groups by the other attributes.
        place: SQL of the step at which a code's value leaves the suppressed symbol: ``$steps`` where it
            stays, -1 where it left before. What is left of a group before a step is the sum of what leaves
            at this step, at later ones, or never.
        formulas: What to measure.
        part: SQL of the part of a code of one other attribute that candidates make, where the states after
            each of these are measured along the path; the keys are without it.

    Example: the smallest class by Job and Country.
        >>> from ppdm_sql.engine.statements import formatted
        >>> from ppdm_sql.privacy import ValueCounts, parse
        >>> smallest = parse("k >= 4 on Job, Country").formula(ValueCounts())
        >>> keys = ["$part1[c1 + 1] AS group0"]
        >>> print(formatted(path_sql("counts", keys, "$place[c0 + 1]", [smallest])))
        SELECT
          place,
          MIN(LEAST(NULLIF(n, 0), NULLIF((
            total_n - n
          ), 0)))
        FROM (
          SELECT
            *,
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
                $part1[c1 + 1] AS group0,
                $place[c0 + 1] AS place,
                n
              FROM counts
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
    names, groups = needed(formulas), ", ".join(group_names(keys))
    coded, told = [*keys, f"{place} AS place"], "place"
    if part is not None:
        coded, groups, told = [*coded, f"{part} AS part"], f"{groups}, part", "place, $candidate[part + 1]"
    inside = "place >= 0" if part is None else "place >= 0 AND part >= 0"
    parts = (
        f"SELECT {groups}, place, {sums(names)} FROM (SELECT {', '.join([*coded, *names])} FROM {counts}) "
        f"WHERE {inside} GROUP BY {groups}, place"
    )
    whole = ", ".join(f"(sum({c}) OVER later)::BIGINT AS total_{c}" for c in names)
    leaving = (
        f"SELECT *, {whole} FROM ({parts}) AS parts WINDOW later AS (PARTITION BY {groups} "
        "ORDER BY place DESC ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"
    )
    numbers = ", ".join(taken_out(names, formula, "place") for formula in formulas)
    return f"SELECT {told}, {numbers} FROM ({leaving}) AS leaving WHERE place < $steps GROUP BY {told}"


@dataclass(frozen=True)
class GroupsByValue:
    """The records of the present groups by the values of one attribute too.

    Args:
        query: A SELECT of rows: their group, ``part`` (the interval, -1 for none asked), ``code`` and counts.
        groups: Names of the columns that make up a group beside ``part``.
        params: Of the query.
        lasts: Whether there are counts ``last_n, ...`` beside ``n, ...``: of what has its last value here, as
            the others count what has its first; else all that is counted has one value.
    """

    query: str
    groups: Sequence[str]
    params: Params
    lasts: bool = False


def breaks_sql(groups: GroupsByValue, counted: Sequence[str], formulas: Sequence[Formula]) -> str:
    """Write which boundaries break a limit: all those after ``code``, up to ``next``; a row each ``code``.

    Example: four ages of one job, which nobody may be inferred with to be discharged at more than 50%.
        >>> import duckdb
        >>> from ppdm_sql.privacy import ValueCounts, parse
        >>> ages = "(VALUES (0, 2, 2), (1, 2, 0), (2, 2, 1), (3, 1, 0)) AS ages(code, n, p0)"
        >>> bankers = f"SELECT 'Banker' AS job, 0 AS part, code, n, p0 FROM {ages}"
        >>> confidence = parse("Job, Age -> Bankruptcy = Discharged <= 50%").formula(ValueCounts(["p0"]))
        >>> text = breaks_sql(GroupsByValue(bankers, ["job"], {}), ["n", "p0"], [confidence])
        >>> duckdb.execute(text, {"limit0": 0.5}).fetchall()
        [(0, 1)]
    """
    left, right = sides(counted, lasts=groups.lasts)
    broken = []
    for j, formula in enumerate(formulas):
        worst, beyond = ("least", "<") if formula.total == "min" else ("greatest", ">")
        broken.append(f"{worst}({formula.of(left)}, {formula.of(right)})::DOUBLE {beyond} $limit{j}")
    return (
        f"SELECT code, max(next) AS next FROM ({sides_sql(groups, counted)}) AS sides "
        f"WHERE next IS NOT NULL AND ({' OR '.join(broken)}) GROUP BY code"
    )


def falls_sql(groups: GroupsByValue, counted: Sequence[str], formulas: Sequence[Formula]) -> str:
    """Write by what sums fall at the boundaries after ``code``, up to ``next``; a row each pair."""
    left, right = sides(counted, lasts=groups.lasts)
    whole = {name: f"total_{name}" for name in counted}
    falls = ", ".join(
        f"sum({formula.of(whole)} - ({formula.of(left)} + {formula.of(right)}))::DOUBLE AS fall{j}"
        for j, formula in enumerate(formulas)
    )
    both = sides_sql(groups, counted)
    return f"SELECT code, next, {falls} FROM ({both}) AS sides WHERE next IS NOT NULL GROUP BY code, next"


def sides(counted: Sequence[str], *, lasts: bool) -> tuple[dict[str, str], dict[str, str]]:
    """Name the counts on both sides of a boundary: to the right is what has its last value there."""
    last = "last_" if lasts else ""
    return {c: f"left_{c}" for c in counted}, {c: f"(total_{c} - left_{last}{c})" for c in counted}


def sides_sql(groups: GroupsByValue, counted: Sequence[str]) -> str:
    """Write the counts up to each value of a group and those of all, with the next value of the group."""
    by = ", ".join([*groups.groups, "part"])
    lasts = [f"last_{c}" for c in counted if groups.lasts]
    found = [f"(sum({c}) OVER along)::BIGINT AS left_{c}" for c in [*counted, *lasts]]
    found += [f"(sum({c}) OVER whole)::BIGINT AS total_{c}" for c in counted]
    by_value = f"SELECT {by}, code, {sums([*counted, *lasts])} FROM ({groups.query}) AS records "
    return (
        f"SELECT code, lead(code) OVER along AS next, lag(code) OVER along IS NULL AS begins, "
        f"{', '.join(found)} "
        f"FROM ({by_value}WHERE part >= 0 GROUP BY {by}, code) AS by_value "
        f"WINDOW along AS (PARTITION BY {by} ORDER BY code "
        f"ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW), whole AS (PARTITION BY {by})"
    )
