"""One way to count: the records of each combination as a table, and the statements that read states off it.

A search state is a partition of each attribute's values into parts; its groups are the combinations of parts
that records have. The papers keep the records of each group in a tree (VIP, TIPS); here a group is a number
beside the counts of its combinations, ``group0``, made of the parts by :func:`group_keys`. Four statements
read all that a search asks (tests/methods/top_down/golden/search.sql has one of each): the numbers of a
state, those of the states after candidates, those along a path of disclosures, and the boundaries of
intervals at which a split would break a limit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.engine import Engine
from ppdm_sql.errors import InvalidOption
from ppdm_sql.methods.base.arrays import Codes, Floats
from ppdm_sql.methods.base.collapse import Atoms
from ppdm_sql.methods.base.released_rows import recoded
from ppdm_sql.methods.top_down.cuts import Candidate, Cuts
from ppdm_sql.privacy import Formula

CountedValue = tuple[int, int]
"""Position of a coded column, and the code of the value whose records are counted."""
Params = dict[str, object]
DETAIL_COLUMN = "w"
"""The column of what records show, where that is counted."""
KEY_BITS = 62
"""A group's number is a BIGINT; attributes that do not fit into it make a second one."""
VALUE_LIST = "held"
"""The column that lists the values of a group."""
MOST_CELLS = 30_000_000
"""Values of a divided column times those of the sensitive one, a row of a statement each."""
SLACK = 1e-9
"""By how much a limit must be missed where numbers are added up in another order than in a measurement."""


class CountTable:
    """The records of each combination of attributes: ``c<i>``, ``n``, and ``p<j>`` of a value counted."""

    element = ""
    """What is counted in the place of records, where it tells rows apart and does not add up."""

    def __init__(
        self, engine: Engine, atoms: Atoms, attributes: Sequence[int], values: Sequence[CountedValue]
    ) -> None:
        self.attributes, self.engine, self.atoms, self.values = sorted(attributes), engine, atoms, values
        self.names = ["n", *(f"p{j}" for j in range(len(values)))]
        self.rows = self._make_rows()
        """The SQL of what is read."""

    def _make_rows(self) -> str:
        columns = ", ".join(f"c{i}" for i in self.attributes)
        counts = ["sum(n)::BIGINT AS n"]
        for j, (column, code) in enumerate(self.values):
            counts.append(f"coalesce(sum(n) FILTER (WHERE c{column} = {code}), 0)::BIGINT AS p{j}")
        text = f"SELECT {columns}, {', '.join(counts)} FROM {self.atoms.table} GROUP BY {columns}"
        return str(self.engine.materialize("grid", text))

    # -- what is read ---------------------------------------------------------------------------------

    def source(self, formulas: Sequence[Formula]) -> Floats:
        """Measure the source, in which nothing is masked: the number of groups, then the formulas'."""
        keys = [f"c{i}" for i in self.attributes]
        groups = f"({self.group_sql(keys, self.rows, counts_of(formulas))})" if self.element else self.rows
        return self._numbers(groups, formulas, {}, "detail")

    def state(self, cuts: Cuts, formulas: Sequence[Formula]) -> Floats:
        keys, params = self._keys(self.full_cuts(cuts))
        groups = f"({self.group_sql(keys, self.rows, counts_of(formulas))})"
        return self._numbers(groups, formulas, params, "state")

    def _numbers(self, groups: str, formulas: Sequence[Formula], params: Params, step: str) -> Floats:
        text = f"SELECT {', '.join(['count(*)', *totals(formulas)])} FROM {groups} AS groups"
        return np.array(self.engine.query(text, params, step=step)[0], dtype=np.float64)

    def after(self, cuts: Cuts, candidates: Sequence[Candidate], formulas: Sequence[Formula]) -> Floats:
        """Measure the state after each candidate, shape (candidates, formulas).

        Only groups that a candidate splits are seen: NaN where it splits none; a sum is what it falls by.
        """
        cuts = self.full_cuts(cuts)
        split = split_by(cuts, candidates)
        # where they are all of one attribute, a part is of one group of its
        keys, params = self._keys(cuts, but=split.parts if len(split.parts) == 1 else ())
        parts, own = part_columns(split.parts, "part")
        text = self.after_sql(keys, parts, split.rests, formulas)
        params |= own | {"candidate": split.owner} | self._part_params()
        numbers = np.full((len(candidates), len(formulas)), np.nan)
        for candidate, *row in self.engine.query(text, params, step="after"):
            numbers[int(candidate)] = row
        return numbers

    def path(
        self,
        cuts: Cuts,
        attribute: int,
        codes: Sequence[int],
        formulas: Sequence[Formula],
        rivals: Sequence[Candidate] = (),
    ) -> Floats:
        """Measure what is seen along a path of disclosures of one attribute, as :meth:`after` gives it.

        With candidates of one other attribute, in the states after each of them on its own.

        Returns:
            Shape (candidates, disclosures, formulas); of the path itself there is one.
        """
        cuts = self.full_cuts(cuts)
        beside = split_by(cuts, rivals)
        places = np.where(cuts[attribute].parts == 0, len(codes), -1)
        places[list(codes)] = np.arange(len(codes))
        split = {attribute: places, **beside.parts}
        keys, params = self._keys(cuts, but=split)
        columns, own = part_columns(split, "place")
        params |= own | {"steps": len(codes)} | ({"candidate": beside.owner} if rivals else {})
        place, *part = columns.values()
        text = self.path_sql(keys, place, formulas, *part)
        numbers = np.full((max(len(rivals), 1), len(codes), len(formulas)), np.nan)
        for candidate, at, *row in self.engine.query(text, params | self._part_params(), step="path"):
            numbers[int(candidate), int(at)] = row
        return numbers

    def invalid(
        self,
        cuts: Cuts,
        attribute: int,
        part: Codes,
        formulas: Sequence[Formula],
        numbers: Floats,
        limits: Floats,
    ) -> NDArray[np.bool_]:
        """Tell for each boundary whether splitting there breaks a limit; one scan of the groups by value.

        Of each value code ``part`` is the interval, -1 where it is not asked about; ``numbers`` are the
        present state's. Either all formulas are sums or none is.
        """
        sums = any(formula.total == "sum" for formula in formulas)
        text, params = self._boundaries(cuts, attribute, part, formulas, sums=sums)
        params |= {} if sums else {f"limit{j}": float(x) for j, x in enumerate(limits)}
        rows = self.engine.arrays(text, params, step="boundaries")
        first, last = (rows[end].astype(np.int64) + 1 for end in ("code", "next"))
        if not sums:
            return sums_at(len(part), first, last, np.ones(len(first))) > 0
        invalid = np.zeros(len(part), dtype=bool)
        for j, limit in enumerate(limits):
            falls = sums_at(len(part), first, last, rows[f"fall{j}"])
            invalid |= numbers[j] - falls > limit * (1 + SLACK)
        return invalid

    def _boundaries(
        self, cuts: Cuts, attribute: int, part: Codes, formulas: Sequence[Formula], *, sums: bool
    ) -> tuple[str, Params]:
        groups = self.by_value(cuts, attribute, part)
        return (falls_sql if sums else breaks_sql)(groups, counts_of(formulas), formulas), dict(groups.params)

    def by_value(self, cuts: Cuts, attribute: int, part: Codes) -> GroupsByValue:
        """Give the present groups by the values of an attribute too; ``part`` is as in :meth:`invalid`."""
        keys, text, params = self._by_part(cuts, attribute, part)
        return self._by_value(keys, text, f"c{attribute}", params)

    def _by_part(self, cuts: Cuts, attribute: int, part: Codes) -> tuple[list[str], str, Params]:
        cuts = self.full_cuts(cuts)
        beyond = np.full(len(cuts[attribute].parts) - len(part), -1)  # values of a population: in no interval
        keys, params = self._keys(cuts, but=[attribute])
        texts, own = part_columns({attribute: np.concatenate([part, beyond])}, "part")
        return keys, texts[attribute], params | own

    def _by_value(self, keys: Sequence[str], part: str, value: str, params: Params) -> GroupsByValue:
        columns = ", ".join([*keys, f"{part} AS part", f"{value} AS code", *self.names])
        return GroupsByValue(f"SELECT {columns} FROM {self.rows}", names_of(keys), params)

    def full_cuts(self, cuts: Cuts) -> Cuts:
        """Give the cuts over all values that are counted."""
        return cuts

    def _part_params(self) -> Params:
        """Give what else formulas know of the parts that candidates make."""
        return {}

    def _keys(self, cuts: Cuts, but: Iterable[int] = ()) -> tuple[list[str], Params]:
        """Write the keys of the present groups, by all but some attributes."""
        parts = {i: cuts[i].parts for i in self.attributes if i not in but}
        return group_keys({i: part for i, part in parts.items() if part.max(initial=0) > 0})

    # -- the statements -------------------------------------------------------------------------------

    def merge_counts(self, names: Sequence[str]) -> str:
        """Write the counts of rows that are put together, with the element that they are of."""
        return sums(names)

    def counts(self, names: Sequence[str]) -> str:
        """Write the counts of a group from its rows, one an element."""
        return sums(names)

    def read_columns(self, names: Sequence[str]) -> list[str]:
        return list(names)

    def group_sql(self, keys: Sequence[str], rows: str, names: Sequence[str], where: str = "") -> str:
        groups = ", ".join(names_of(keys))
        query = f"SELECT {', '.join(keys)}, {self.merge_counts(names)} FROM {rows} {where}"
        if not self.element:
            return f"{query} GROUP BY {groups}"
        return f"SELECT {groups}, {self.counts(names)} FROM ({query} GROUP BY ALL) GROUP BY {groups}"

    def after_sql(
        self, keys: Sequence[str], parts: Mapping[int, str], rests: set[int], formulas: Sequence[Formula]
    ) -> str:
        """Measure the states after candidates, a row each: of the groups that it splits, or a sum's fall.

        ``coded`` are the counts by present group and by the parts that candidates make of each attribute,
        which are fewer rows. A candidate that specializes a node makes all its parts; one that discloses a
        value leaves a rest, -1 among the parts of an attribute of ``rests``. ``$candidate`` says whose a
        part is.
        """
        names, groups = counts_of(formulas), names_of(keys)
        columns = [*keys, *(f"{text} AS part{i}" for i, text in parts.items()), *self.read_columns(names)]
        aside = [f"part{i} >= {-1 if i in rests else 0}" for i in parts]  # the others are read by nobody
        by_part = (
            f"SELECT {', '.join([*groups, *(f'part{i}' for i in parts)])}, {self.merge_counts(names)} "
            f"FROM (SELECT {', '.join(columns)} FROM {self.rows}) WHERE {' OR '.join(aside)} GROUP BY ALL"
        )
        of_rests = [f"part{i}" for i in parts if i in rests]
        of_splits = [f"part{i}" for i in parts if i not in rests]
        each = [self._after_splits(of_splits, groups, names, formulas)] if of_splits else []
        each += [self._after_disclosures(of_rests, groups, names, formulas)] if of_rests else []
        return f"WITH coded AS MATERIALIZED ({by_part}) {' UNION ALL '.join(each)}"

    def _after_splits(
        self, parts: Sequence[str], groups: Sequence[str], names: Sequence[str], formulas: Sequence[Formula]
    ) -> str:
        value = ["$value[{part} + 1] AS value"] * (DETAIL_COLUMN in names)
        keys = [*groups, "{part} AS part", "$candidate[{part} + 1] AS candidate", *value]
        rows = " UNION ALL ".join(
            self.group_sql([key.format(part=part) for key in keys], "coded", names, f"WHERE {part} >= 0")
            for part in parts
        )
        if all(formula.total != "sum" for formula in formulas):
            numbers = ", ".join(totals(formulas))
            return f"SELECT candidate, {numbers} FROM ({rows}) AS parts GROUP BY candidate"
        own, whole_of = ({c: c for c in names} | {"value": v} for v in ("value", "0"))
        after = ", ".join(f"{f.total}({f.of(own)}) AS after_{j}" for j, f in enumerate(formulas))
        numbers = ", ".join(
            f"sum({f.of(whole_of)} - after_{j})" if f.total == "sum" else f"{f.total}(after_{j})"
            for j, f in enumerate(formulas)
        )
        whole = f"SELECT candidate, {sums(names)}, {after} FROM ({rows}) AS parts"
        whole = f"{whole} GROUP BY {', '.join(groups)}, candidate"
        where = _changing_groups(own, formulas)
        return f"SELECT candidate, {numbers} FROM ({whole}) AS groups{where} GROUP BY candidate"

    def _after_disclosures(
        self, parts: Sequence[str], groups: Sequence[str], names: Sequence[str], formulas: Sequence[Formula]
    ) -> str:
        by = ", ".join(groups)
        whole = ", ".join(f"(sum(sum({c})) OVER (PARTITION BY {by}))::BIGINT AS total_{c}" for c in names)
        rows = " UNION ALL ".join(
            f"SELECT {by}, {part} AS part, {sums(names)}, {whole} "
            f"FROM coded WHERE {part} >= -1 GROUP BY {by}, {part}"
            for part in parts
        )
        numbers = ", ".join(number_without(names, formula) for formula in formulas)
        where = _changing_groups({c: f"total_{c}" for c in names}, formulas)
        return (
            f"SELECT $candidate[part + 1] AS candidate, {numbers} FROM (SELECT * FROM ({rows}) "
            f"WHERE part >= 0) AS parts{where} GROUP BY candidate"
        )

    def path_sql(
        self, keys: Sequence[str], place: str, formulas: Sequence[Formula], part: str | None = None
    ) -> str:
        """Measure the states along a path of disclosures of one attribute, a row each.

        ``place`` is the step at which a value leaves the suppressed symbol: ``$steps`` where it stays, -1
        where it left before. What is left of a group before a step is what leaves at this step, at later
        ones, or never. ``part`` is the part that candidates of one other attribute make, each on its own.
        """
        names, owner = counts_of(formulas), "0" if part is None else "$candidate[part + 1]"
        keys = keys if part is None else [*keys, f"{part} AS part"]
        groups, inside = ", ".join(names_of(keys)), "" if part is None else " AND part >= 0"
        parts = (
            f"SELECT {groups}, place, {sums(names)} FROM "
            f"(SELECT {', '.join([*keys, f'{place} AS place', *names])} FROM {self.rows}) "
            f"WHERE place >= 0{inside} GROUP BY {groups}, place"
        )
        whole = ", ".join(f"(sum({c}) OVER later)::BIGINT AS total_{c}" for c in names)
        leaving = (
            f"SELECT *, {whole} FROM ({parts}) AS parts WINDOW later AS (PARTITION BY {groups} "
            "ORDER BY place DESC ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"
        )
        numbers = ", ".join(number_without(names, formula, "place") for formula in formulas)
        return (
            f"SELECT {owner} AS candidate, place, {numbers} FROM ({leaving}) AS leaving "
            "WHERE place < $steps GROUP BY candidate, place"
        )


# -- parts that candidates make -----------------------------------------------------------------------


def part_columns(split: Mapping[int, Codes], name: str) -> tuple[dict[int, str], Params]:
    """Write the numbers that some attributes have in the place of their codes, with the parameters."""
    texts, params = dict[int, str](), Params()
    for i, numbers in split.items():
        texts[i], own = recoded(f"c{i}", numbers, f"{name}{i}", "INTEGER")
        params |= own
    return texts, params


@dataclass(frozen=True)
class CandidateParts:
    """The parts that candidates make, numbered."""

    parts: Mapping[int, Codes]
    """For each attribute the part of each value code, -1 for none; -2 outside of a group that has a rest."""
    owner: list[int]  # for each part, the place of its candidate
    rests: set[int]  # attributes whose candidates take one part out of a group


def split_by(cuts: Cuts, candidates: Sequence[Candidate]) -> CandidateParts:
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


def sums_at(size: int, first: Codes, last: Codes, numbers: Floats) -> Floats:
    """Add up, for each boundary, the numbers of all stretches that it lies in."""
    change = np.zeros(size + 1)
    np.add.at(change, first, numbers)
    np.add.at(change, last, -numbers)
    return np.asarray(change.cumsum()[:size])


# -- pieces of the statements -------------------------------------------------------------------------


def group_keys(parts: Mapping[int, Codes], name: str = "key") -> tuple[list[str], Params]:
    """Write the number of a group from its parts, mixed-radix; with the parameters."""
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


def names_of(keys: Sequence[str]) -> list[str]:
    return [key.rpartition(" AS ")[2] for key in keys]


def counts_of(formulas: Sequence[Formula]) -> list[str]:
    return list(dict.fromkeys(("n", *(name for formula in formulas for name in formula.columns))))


def sums(names: Iterable[str]) -> str:
    return ", ".join(f"sum({name})::BIGINT AS {name}" for name in names)


def totals(formulas: Sequence[Formula]) -> list[str]:
    names = {name: name for name in counts_of(formulas)} | {"value": "0"}
    return [f"{formula.total}({formula.of(names)})" for formula in formulas]


def worst_of(formula: Formula, sides: Iterable[Mapping[str, str]]) -> str:
    """Write the worse number of two parts of a group."""
    return f"{'least' if formula.total == 'min' else 'greatest'}({', '.join(map(formula.of, sides))})"


def number_without(names: Sequence[str], formula: Formula, part: str = "part") -> str:
    """Write a state's number after a part, ``n``, is taken out of each group, ``total_n``; or its fall."""
    whole = {c: f"total_{c}" for c in names} | {"value": "0"}
    own = {c: c for c in names} | {"value": f"$value[{part} + 1]"}
    rest = {c: f"(total_{c} - {c})" for c in names} | {"value": "0"}
    if formula.total != "sum":
        return f"{formula.total}({worst_of(formula, (own, rest))})"
    fall = f"{formula.of(whole)} - ({formula.of(own)} + {formula.of(rest)})"
    # a group that is left whole stays what it is, but shows more
    whole_stays = DETAIL_COLUMN not in formula.columns
    return f"sum(CASE WHEN n < total_n THEN {fall} ELSE 0 END)" if whole_stays else f"sum({fall})"


def _changing_groups(names: Mapping[str, str], formulas: Sequence[Formula]) -> str:
    """Leave out groups whose numbers stay what they are, whatever they are split into."""
    if any(formula.settled is None for formula in formulas):
        return ""
    return " WHERE NOT (" + " AND ".join(f.settled(names) for f in formulas if f.settled) + ")"


# -- boundaries of intervals --------------------------------------------------------------------------


@dataclass(frozen=True)
class GroupsByValue:
    """The records of the present groups by the values of one attribute too."""

    query: str  # rows of a group, ``part`` (the interval, -1 for none asked), ``code`` and counts
    groups: Sequence[str]  # the columns that make up a group beside ``part``
    params: Params
    lasts: bool = False
    """Whether ``last_n, ...`` count what has its last value here, as ``n, ...`` what has its first."""


def breaks_sql(groups: GroupsByValue, names: Sequence[str], formulas: Sequence[Formula]) -> str:
    """Write which boundaries break a limit: all those after ``code``, up to ``next``; a row each ``code``."""
    both = sides(names, lasts=groups.lasts)
    return breaking_sql(f"({sides_sql(groups, names)})", [worst_of(f, both) for f in formulas], formulas)


def breaking_sql(sides_of: str, worst: Sequence[str], formulas: Sequence[Formula]) -> str:
    """Write the same, by the worse number of both sides at each value that ``sides_of`` have."""
    condition = " OR ".join(
        f"{number}::DOUBLE {'<' if formula.total == 'min' else '>'} $limit{j}"
        for j, (number, formula) in enumerate(zip(worst, formulas, strict=True))
    )
    return (
        f"SELECT code, max(next) AS next FROM {sides_of} AS sides WHERE next IS NOT NULL AND ({condition}) "
        "GROUP BY code"
    )


def falls_sql(groups: GroupsByValue, names: Sequence[str], formulas: Sequence[Formula]) -> str:
    """Write by what sums fall at the boundaries after ``code``, up to ``next``; a row each pair."""
    left, right = sides(names, lasts=groups.lasts)
    whole = {name: f"total_{name}" for name in names}
    falls = ", ".join(
        f"sum({formula.of(whole)} - ({formula.of(left)} + {formula.of(right)}))::DOUBLE AS fall{j}"
        for j, formula in enumerate(formulas)
    )
    both = sides_sql(groups, names)
    return f"SELECT code, next, {falls} FROM ({both}) AS sides WHERE next IS NOT NULL GROUP BY code, next"


def sides(names: Sequence[str], *, lasts: bool) -> tuple[dict[str, str], dict[str, str]]:
    """Name the counts on both sides of a boundary: to the right is what has its last value there."""
    last = "last_" if lasts else ""
    return {c: f"left_{c}" for c in names}, {c: f"(total_{c} - left_{last}{c})" for c in names}


def sides_sql(groups: GroupsByValue, names: Sequence[str]) -> str:
    """Write the counts up to each value of a group and those of all, with the next value of the group."""
    by = ", ".join([*groups.groups, "part"])
    lasts = [f"last_{c}" for c in names if groups.lasts]
    columns = [f"(sum({c}) OVER along)::BIGINT AS left_{c}" for c in [*names, *lasts]]
    columns += [f"(sum({c}) OVER whole)::BIGINT AS total_{c}" for c in names]
    by_value = f"SELECT {by}, code, {sums([*names, *lasts])} FROM ({groups.query}) AS records "
    return (
        f"SELECT code, lead(code) OVER along AS next, lag(code) OVER along IS NULL AS begins, "
        f"{', '.join(columns)} "
        f"FROM ({by_value}WHERE part >= 0 GROUP BY {by}, code) AS by_value "
        f"WINDOW along AS (PARTITION BY {by} ORDER BY code "
        f"ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW), whole AS (PARTITION BY {by})"
    )


# -- lists of the counts of a sensitive column's values ------------------------------------------------

_LISTS = "sum({0})::BIGINT AS {1}n, list({{'n': {0}, 'q': q}}) FILTER ({0} > 0) AS {1}held"
_SIDES = ("one", "other")


class ValueTable(CountTable):
    """The records of each combination and sensitive value: ``c<i>, v, q, n``; ``q`` is of the whole table.

    For a sensitive column with more values than can be counted in a column each: those of a group become a
    list of their counts. What is left of a group where a part is taken out of it is found value by value, so
    that no list is ever subtracted from another.
    """

    element = "v, q"

    def __init__(self, engine: Engine, atoms: Atoms, attributes: Sequence[int], sensitive: int) -> None:
        self._sensitive, self._values = f"c{sensitive}", atoms.coded[sensitive]
        super().__init__(engine, atoms, attributes, ())

    def _make_rows(self) -> str:
        columns = ", ".join([*(f"c{i}" for i in self.attributes), self._sensitive])
        text = (
            f"SELECT {columns}, {self._sensitive} AS v, sum(n)::BIGINT AS n, "
            f"(sum(sum(n)) OVER (PARTITION BY {self._sensitive}))::BIGINT AS q "
            f"FROM {self.atoms.table} GROUP BY {columns}"
        )
        return str(self.engine.materialize("grid", text))

    def merge_counts(self, names: Sequence[str]) -> str:
        return f"{self.element}, sum(n)::BIGINT AS n"

    def counts(self, names: Sequence[str]) -> str:
        return _LISTS.format("n", "")

    def read_columns(self, names: Sequence[str]) -> list[str]:
        return ["v", "q", "n"]

    def after(self, cuts: Cuts, candidates: Sequence[Candidate], formulas: Sequence[Formula]) -> Floats:
        for attribute in split_by(cuts, candidates).rests:
            self._check_divided(attribute)
        return super().after(cuts, candidates, formulas)

    def path(
        self,
        cuts: Cuts,
        attribute: int,
        codes: Sequence[int],
        formulas: Sequence[Formula],
        rivals: Sequence[Candidate] = (),
    ) -> Floats:
        self._check_divided(attribute)
        return super().path(cuts, attribute, codes, formulas, rivals)

    def _check_divided(self, attribute: int) -> None:
        """Refuse a column that a value at a time is taken out of, where all pairs of values are too many."""
        own = self.atoms.coded[attribute]
        if own.size * self._values.size > MOST_CELLS:
            raise InvalidOption(
                f"Columns {own.column.name!r} and {self._values.column.name!r} have {own.size} and "
                f"{self._values.size} values, too many to measure each of the one without each of the other.",
                f"Give {own.column.name!r} a taxonomy, or release one of them in coarser values.",
            )

    def _boundaries(
        self, cuts: Cuts, attribute: int, part: Codes, formulas: Sequence[Formula], *, sums: bool
    ) -> tuple[str, Params]:
        self._check_divided(attribute)
        keys, text, params = self._by_part(cuts, attribute, part)
        keys, by = [*keys, f"{text} AS part"], ", ".join([*names_of(keys), "part"])
        up_to = "sum(n) OVER earlier"
        where = f"WHERE {text} >= 0"
        both = _sides(keys, f"c{attribute}", self.rows, where, up_to, f"sum(n) OVER whole - {up_to}")
        following = f"lead(place) OVER (PARTITION BY {by} ORDER BY place) AS next"
        rows = f"(SELECT *, place AS code, {following} FROM ({both}))"
        return breaking_sql(rows, [worst_of(f, map(_side, _SIDES)) for f in formulas], formulas), params

    def _after_disclosures(
        self, parts: Sequence[str], groups: Sequence[str], names: Sequence[str], formulas: Sequence[Formula]
    ) -> str:
        numbers = ", ".join(map(_of_sides, formulas))
        return " UNION ALL ".join(
            f"SELECT $candidate[place + 1] AS candidate, {numbers} FROM "
            f"({_sides(groups, part, 'coded', f'WHERE {part} >= -1', 'n', 'sum(n) OVER whole - n')}) "
            "WHERE place >= 0 GROUP BY candidate"
            for part in parts
        )

    def path_sql(
        self, keys: Sequence[str], place: str, formulas: Sequence[Formula], part: str | None = None
    ) -> str:
        owner, where = "0", f"WHERE {place} >= 0"
        if part is not None:
            owner, where = "$candidate[part + 1]", f"{where} AND {part} >= 0"
            keys = [*keys, f"{part} AS part"]
        both = _sides(keys, place, self.rows, where, "n", "sum(n) OVER later - n")
        numbers = ", ".join([f"{owner} AS candidate", "place", *map(_of_sides, formulas)])
        return f"SELECT {numbers} FROM ({both}) WHERE place < $steps GROUP BY candidate, place"


def _sides(keys: Sequence[str], place: str, rows: str, where: str, one: str, other: str) -> str:
    """Write each group divided at each of its places, with the values of both sides listed.

    ``one`` and ``other`` are the records of a value on each side. A group has at each place all its values,
    of which there may be none.
    """
    names = ", ".join(names_of(keys))
    windows = f"whole AS (PARTITION BY {names}, v)"
    for name, order in ("later", "place DESC"), ("earlier", "place"):
        windows += (
            f", {name} AS (PARTITION BY {names}, v ORDER BY {order} "
            "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"
        )
    return (
        f"WITH cells AS MATERIALIZED (SELECT {', '.join(keys)}, {place} AS place, v, q, "
        f"sum(n)::BIGINT AS n FROM {rows} {where} GROUP BY ALL), "
        f"every AS (SELECT {names}, place, v, q, coalesce(n, 0) AS n "
        f"FROM (SELECT DISTINCT {names}, place FROM cells) "
        f"JOIN (SELECT DISTINCT {names}, v, q FROM cells) USING ({names}) "
        f"LEFT JOIN cells USING ({names}, place, v, q)), "
        f"divided AS (SELECT {names}, place, q, ({one})::BIGINT AS one, ({other})::BIGINT AS other "
        f"FROM every WINDOW {windows}) "
        f"SELECT {names}, place, {_LISTS.format('one', 'one_')}, {_LISTS.format('other', 'other_')} "
        f"FROM divided GROUP BY {names}, place"
    )


def _side(side: str) -> dict[str, str]:
    return {name: f"{side}_{name}" for name in ("n", VALUE_LIST)}


def _of_sides(formula: Formula) -> str:
    return f"{formula.total}({worst_of(formula, map(_side, _SIDES))})"
