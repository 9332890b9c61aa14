"""Measures states for the loop: each table of counts gives what it sees, for all constraints together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ppdm_sql.engine import Engine
from ppdm_sql.engine.types import is_ordered
from ppdm_sql.methods.base.arrays import Codes, Floats
from ppdm_sql.methods.base.collapse import Atoms, person_counts, value_counts
from ppdm_sql.methods.top_down.constraints import (
    Constraint,
    Constraints,
    codes_counted,
)
from ppdm_sql.methods.top_down.counts import (
    VALUE_LIST,
    CountedValue,
    CountTable,
    GroupsByValue,
    Params,
    ValueTable,
    names_of,
    worst_of,
)
from ppdm_sql.methods.top_down.cuts import Candidate, Cuts, refine
from ppdm_sql.methods.top_down.maskings import Masking
from ppdm_sql.methods.top_down.score import LITERAL, Worth, by_chance
from ppdm_sql.privacy import Counts, Formula, ValueCounts
from ppdm_sql.privacy.formula import MOST_COLUMNS, Columns, sum_of

FEW = 20
"""Sensitive values that are counted in a column each; the counts of more are a list, which costs less."""
MOST_PROTECTED = 16
"""Protected values counted in one table; further ones get a table of their own."""


class MeasuredTable(NamedTuple):
    """The positions of some constraints, the table of counts that measures them, and their formulas."""

    positions: list[int]
    table: CountTable
    formulas: list[Formula]


class Measure:
    """Measures states for the loop."""

    ahead = True
    """Whether states along a path of disclosures can be measured, not only those after one candidate."""
    exact = True
    """Whether the numbers after a candidate are those of the state then, or tell only what it loses."""
    lists = True
    """Whether the counts of many sensitive values can be a list."""
    weighs_boundaries = False
    """Whether all boundaries of an interval can be weighed at once."""
    most: int = 1 << 31
    """How many candidates are worth measuring at once."""

    def __init__(
        self,
        engine: Engine,
        atoms: Atoms,
        constraints: Constraints,
        maskings: Sequence[Masking] = (),
    ) -> None:
        self._engine, self._atoms, self._maskings = engine, atoms, maskings
        self._constraints, self._lasting = constraints.all, constraints.lasting
        self._tables = [
            MeasuredTable(positions, *self._make_table([constraints.all[position] for position in positions]))
            for positions in _groups(constraints.all)
        ]

    def _make_table(self, constraints: Sequence[Constraint]) -> tuple[CountTable, list[Formula]]:
        """Make the table that counts for some constraints, and give their formulas."""
        attributes, sensitive = sorted(constraints[0].attributes), constraints[0].sensitive
        columns: dict[CountedValue, str] = {}
        if (population := constraints[0].requirement.population) is not None:
            from ppdm_sql.methods.top_down.population import POPULATION, population_table

            both = population_table(self._engine, self._atoms, self._maskings, attributes, population)
            values = ValueCounts(population=POPULATION)
            return both, [item.requirement.formula(values) for item in constraints]
        as_list = self.lists and all(_is_listed(self._atoms, constraint) for constraint in constraints)
        formulas = [
            formula_of(self._engine, self._atoms, constraint, columns, listed=as_list)
            for constraint in constraints
        ]
        if sensitive is not None and as_list:
            return ValueTable(self._engine, self._atoms, attributes, sensitive), formulas
        return self.table(attributes, list(columns)), formulas

    def table(self, attributes: Sequence[int], values: Sequence[CountedValue]) -> CountTable:
        return CountTable(self._engine, self._atoms, attributes, values)

    # -- whole states -----------------------------------------------------------------------------

    def state(self, cuts: Cuts | None) -> Floats:
        """Read the constraints' numbers of a state; None for the source, in which nothing is masked."""
        numbers = np.empty(len(self._constraints))
        for positions, table, formulas in self._tables:
            row = table.source(formulas) if cuts is None else table.state(cuts, formulas)
            numbers[positions] = row[1:]
        return numbers

    def source(self, detail: Floats) -> Floats:
        """Give the number of each constraint in the source, for the measures, from its state."""
        return detail

    # -- states after candidates ------------------------------------------------------------------

    def after(self, cuts: Cuts, current: Floats, candidates: Sequence[Candidate]) -> Floats:
        """Measure the states after candidates; ``current`` holds for groups that they do not split."""
        numbers = np.repeat(current[None, :], len(candidates), axis=0)
        for entry in self._tables:
            rows = [row for row, (a, _) in enumerate(candidates) if a in entry.table.attributes]
            if rows:
                own = [candidates[row] for row in rows]
                after = self._after(entry, cuts, current[entry.positions], own)
                numbers[np.ix_(rows, entry.positions)] = after
        return numbers

    def _after(
        self, entry: MeasuredTable, cuts: Cuts, current: Floats, candidates: Sequence[Candidate]
    ) -> Floats:
        rows = entry.table.after(cuts, candidates, entry.formulas)
        return worst_after(current, rows, entry.formulas)

    def path(
        self,
        cuts: Cuts,
        current: Floats,
        attribute: int,
        codes: Sequence[int],
        rivals: Sequence[tuple[Candidate, Floats]],
    ) -> tuple[Floats, Floats]:
        """Measure the states along a path of disclosures, and those after each rival in all of them.

        Rivals are candidates of other attributes that split groups of their own, with the numbers of the
        states after them; there are none where a number is a sum.
        """
        numbers = np.repeat(current[None, :], len(codes), axis=0)
        after = np.repeat(np.array([of for _, of in rivals]).reshape(-1, 1, len(current)), len(codes), axis=1)
        for positions, table, formulas in self._tables:
            if attribute not in table.attributes:
                continue
            (along_path,) = table.path(cuts, attribute, codes, formulas)
            numbers[:, positions] = along(current[positions], along_path, formulas)
            for other in dict.fromkeys(a for (a, _), _ in rivals if a in table.attributes):
                rows = [row for row, ((a, _), _) in enumerate(rivals) if a == other]
                others = [rivals[row][0] for row in rows]
                beside = table.path(cuts, attribute, codes, formulas, others)
                for row, own in zip(rows, beside, strict=True):
                    after[row][:, positions] = along(after[row, 0, positions], own, formulas)
        for j, constraint in enumerate(self._constraints):
            worse = np.fmax if constraint.direction > 0 else np.fmin
            after[:, :, j] = worse(after[:, :, j], numbers[:, j])
        return numbers, after

    def invalid_boundaries(
        self, cuts: Cuts, current: Floats, attribute: int, part: Codes, boundaries: Codes
    ) -> Codes:
        """Pick the boundaries at which splitting an interval breaks a limit; -1 in ``part`` is in none."""
        invalid = np.zeros(len(part), dtype=bool)
        for positions, table, formulas in self._tables:
            lasting = [n for n, position in enumerate(positions) if self._lasting[position]]
            if attribute in table.attributes and lasting:
                here = [positions[n] for n in lasting]
                limits = np.array([self._constraints[position].limit for position in here])
                own = [formulas[n] for n in lasting]
                invalid |= table.invalid(cuts, attribute, part, own, current[here], limits)
        return np.asarray(boundaries[invalid[boundaries]])

    def shares_groups(self, attribute: int, other: int) -> bool:
        """Whether a step of one attribute can change the groups that candidates of the other split."""
        return any(attribute in m.table.attributes and other in m.table.attributes for m in self._tables)


def worst_after(before: Floats, after: Floats, formulas: Sequence[Formula]) -> Floats:
    """Put the numbers of groups that candidates split to those of the state before; for a sum, what falls."""
    kinds = np.array([formula.total for formula in formulas])
    worse = np.where(kinds == "max", np.fmax(before, after), np.fmin(before, after))
    return np.asarray(np.where(kinds == "sum", before - np.nan_to_num(after), worse))


def along(current: Floats, after: Floats, formulas: Sequence[Formula]) -> Floats:
    """Put what is seen along a path together: the worst of all groups seen is that of those that stand."""
    numbers = np.empty(after.shape)
    for j, formula in enumerate(formulas):
        if formula.total == "sum":
            numbers[:, j] = current[j] - np.nan_to_num(after[:, j]).cumsum()
        else:
            worse = np.fmax if formula.total == "max" else np.fmin
            numbers[:, j] = worse(current[j], worse.accumulate(after[:, j]))
    return numbers


def _groups(constraints: Sequence[Constraint]) -> Iterable[list[int]]:
    """Gather the constraints that one table of counts can serve: the same attributes, few values counted."""
    by_kind: dict[object, list[list[int]]] = {}
    for position, constraint in enumerate(constraints):
        counts, population = constraint.requirement.counts, constraint.requirement.population
        counts_all = constraint.sensitive if counts is Counts.VALUES else None
        adds_up = counts is Counts.GROUPS  # candidates are read as what they add, where others are as worst
        same = by_kind.setdefault((frozenset(constraint.attributes), counts_all, adds_up, population), [[]])
        protected = sum(constraints[other].protected is not None for other in same[-1])
        if counts is Counts.PROTECTED and protected >= MOST_PROTECTED:
            same.append([])
        same[-1].append(position)
    return [group for groups in by_kind.values() for group in groups]


def _is_listed(atoms: Atoms, constraint: Constraint) -> bool:
    """Whether the sensitive values are counted in a list and not in a column each."""
    if constraint.sensitive is None or constraint.protected is not None:
        return False
    values = atoms.coded[constraint.sensitive]
    by_order = constraint.requirement.by_order and is_ordered(values.column.type)
    return values.size > (MOST_COLUMNS if by_order else FEW)


def formula_of(
    engine: Engine,
    atoms: Atoms,
    constraint: Constraint,
    names: dict[CountedValue, str],
    *,
    listed: bool = False,
    shares: Sequence[int] | None = None,
) -> Formula:
    """Give the formula of a constraint, and add what it counts unless that is a list.

    ``shares`` are the records of each sensitive value, where they are not those of all atoms.
    """
    sensitive = constraint.sensitive
    if sensitive is None:
        return constraint.requirement.formula(ValueCounts(records=atoms.counted))
    counts = value_counts if atoms.persons is None else person_counts
    dictionary = atoms.coded[sensitive]
    columns = (
        [VALUE_LIST]
        if listed
        else [
            names.setdefault((sensitive, code), f"p{len(names)}") for code in codes_counted(atoms, constraint)
        ]
    )
    values = ValueCounts(
        columns=columns,
        totals=lambda: counts(engine, atoms, sensitive).tolist() if shares is None else shares,
        type=dictionary.column.type,
        records=atoms.counted if shares is None else sum(shares),
        listed=listed,
    )
    formula = constraint.requirement.formula(values)
    if atoms.persons is None or not constraint.requirement.counts_values:
        return formula
    # the values that persons have, each of theirs once, in the place of persons
    value_sum = f"({sum_of('{' + v + '}' for v in values.columns)})"
    return replace(formula, of=lambda c: formula.of({**c, "n": value_sum.format_map(c)}))


# -- persons --------------------------------------------------------------------------------------
#
# Of whom one may have records in several groups, so that they do not add up: who has records in two parts of
# a group is in both, and once in the group. So groups and parts are first made into sets of persons (a row
# for each group, part and person), which are then counted. A number that refinement only brings nearer to its
# limit is read off the groups that a candidate splits, as where records are counted; one that refinement can
# repair, as a template's, off the whole of every state.


class PersonTable(CountTable):
    """The combinations of each person: ``c<i>, person``, and ``p<j>``, 1 where a record of theirs has it."""

    element = "person"

    def _make_rows(self) -> str:
        flags = [f"(c{i} = {code})::UTINYINT" for i, code in self.values]
        columns = [*(f"c{i}" for i in self.attributes), "person"]
        values = [f"max({text}) AS p{j}" for j, text in enumerate(flags)]
        text = f"SELECT {', '.join([*columns, *values])} FROM {self.atoms.table} GROUP BY ALL"
        return str(self.engine.materialize("people", text))

    def merge_counts(self, names: Sequence[str]) -> str:
        return ", ".join([self.element, *(f"max({name}) AS {name}" for name in names[1:])])

    def counts(self, names: Sequence[str]) -> str:
        return ", ".join(["count(*)::BIGINT AS n", *(f"sum({name})::BIGINT AS {name}" for name in names[1:])])

    def read_columns(self, names: Sequence[str]) -> list[str]:
        return [self.element, *names[1:]]

    def _after_disclosures(
        self, parts: Sequence[str], groups: Sequence[str], names: Sequence[str], formulas: Sequence[Formula]
    ) -> str:
        return " UNION ALL ".join(self._without(part, ", ".join(groups), names, formulas) for part in parts)

    def _without(self, part: str, groups: str, names: Sequence[str], formulas: Sequence[Formula]) -> str:
        """Measure states without a part of each group, where ``lost_n`` have no other value of it."""
        values = names[1:]
        having = ", ".join(["count(*) AS parts", *(f"sum({name}) AS having_{name}" for name in values)])
        whole = ["count(*)::BIGINT AS total_n"]
        whole += [f"count(*) FILTER (having_{name} > 0)::BIGINT AS total_{name}" for name in values]
        lost_counts = ["count(*) FILTER (parts = 1)::BIGINT AS lost_n"]
        lost_counts += [f"count(*) FILTER ({c} = 1 AND having_{c} = 1)::BIGINT AS lost_{c}" for c in values]
        counts = self.merge_counts(names)
        sets = f"SELECT {groups}, {part} AS part, {counts} FROM coded WHERE {part} >= -1 GROUP BY ALL"
        numbers = ", ".join(_number_without(names, formula) for formula in formulas)
        return (
            f"SELECT $candidate[part + 1] AS candidate, {numbers} FROM (WITH sets AS MATERIALIZED ({sets}), "
            f"each AS MATERIALIZED (SELECT {groups}, person, {having} FROM sets GROUP BY {groups}, person), "
            f"parts AS (SELECT {groups}, part, {self.counts(names)}, {', '.join(lost_counts)} FROM sets "
            f"JOIN each USING ({groups}, person) WHERE part >= 0 GROUP BY {groups}, part), "
            f"wholes AS (SELECT {groups}, {', '.join(whole)} FROM each GROUP BY {groups}) "
            f"SELECT * FROM parts JOIN wholes USING ({groups})) GROUP BY candidate"
        )

    def _by_value(self, keys: Sequence[str], part: str, value: str, params: Params) -> GroupsByValue:
        """Give persons by the first and the last value that they have.

        A boundary has to its left who has a first value there, and to its right who has a last one: some are
        on both sides.
        """
        groups, sets_by = ", ".join(names_of(keys)), [*keys, f"{part} AS part"]
        ends = [
            f"{end}({value}){'' if name == 'n' else f' FILTER ({name} = 1)'} AS {which}_{name}"
            for name in self.names
            for end, which in (("min", "first"), ("max", "last"))
        ]
        sets = f"SELECT {', '.join([*sets_by, *ends])} FROM {self.rows} GROUP BY {groups}, part, person"
        pairs = [(f"first_{name}", name) for name in self.names]
        pairs += [(f"last_{name}", f"last_{name}") for name in self.names]
        events = " UNION ALL ".join(
            f"SELECT {groups}, part, {code} AS code, "
            + ", ".join(f"{int(code == other)} AS {name}" for other, name in pairs)
            + f" FROM sets WHERE {code} IS NOT NULL"
            for code, _ in pairs
        )
        text = f"WITH sets AS MATERIALIZED ({sets}) {events}"
        return GroupsByValue(text, names_of(keys), params, lasts=True)


class PersonMeasure(Measure):
    """Measures states in persons; what the release tells of classes and information stays in records."""

    ahead = lists = False

    def table(self, attributes: Sequence[int], values: Sequence[CountedValue]) -> PersonTable:
        return PersonTable(self._engine, self._atoms, attributes, values)

    def _after(
        self, entry: MeasuredTable, cuts: Cuts, current: Floats, candidates: Sequence[Candidate]
    ) -> Floats:
        positions, table, formulas = entry
        lasting = self._lasting[positions]
        numbers = np.empty((len(candidates), len(positions)))
        if lasting.any():
            own = [formulas[n] for n in np.flatnonzero(lasting)]
            numbers[:, lasting] = worst_after(current[lasting], table.after(cuts, candidates, own), own)
        if not lasting.all():
            own = [formulas[n] for n in np.flatnonzero(~lasting)]
            states = (refine(cuts, candidate) for candidate in candidates)
            numbers[:, ~lasting] = np.array([table.state(state, own)[1:] for state in states])
        return numbers


def _number_without(names: Sequence[str], formula: Formula) -> str:
    whole, part = ({c: name.format(c) for c in names} for name in ("total_{}", "{}"))
    rest = {c: f"(total_{c} - lost_{c})" for c in names}
    if formula.total == "sum":
        return f"sum({formula.of(whole)} - ({formula.of(part)} + {formula.of(rest)}))"
    return f"{formula.total}({worst_of(formula, (part, rest))})"


# -- HCE-TDR's gain -------------------------------------------------------------------------------
#
# How much a refinement tells of the class, given all condition attributes: the data quality of a table is
# H(D | P u Q), the entropy of the class D over the equivalence classes of all condition attributes, the
# quasi-identifier Q at the present cut and the others, P, at full detail ("Anonymizing classification data
# using rough set theory", 2013, sections 3 to 5).


class ConditionalEntropy:
    """Gains by the reduction of H(D | P u Q), in bits per record of the table; a GROUP BY for each state."""

    least = -np.inf
    """Candidates that gain less are not beneficial in the present state; in a later one they may be."""

    def __init__(
        self,
        engine: Engine,
        atoms: Atoms,
        attributes: Sequence[int],
        classes: int,
        worth: Worth = LITERAL,
    ) -> None:
        values = [(classes, code) for code in range(atoms.coded[classes].size - 1)]
        self._records, self.worth = atoms.records, worth
        self._values = atoms.coded[classes].size
        entropy = class_entropy([f"p{j}" for j in range(len(values))])
        self._formulas = [entropy, replace(entropy, of=lambda _: "1")]
        self._table = CountTable(engine, atoms, attributes, values)
        self._parts: list[Codes] = []
        self._gains: dict[Candidate, float] = {}

    def of(self, cuts: Cuts, candidates: Sequence[Candidate]) -> Floats:
        """Give the gains of candidates, and measure those that were not yet asked about in this state."""
        parts = [cut.parts for cut in cuts]
        same = (a is b or np.array_equal(a, b) for a, b in zip(parts, self._parts, strict=False))
        if not (self._parts and all(same)):  # where a boundary took the place of another, they stay
            self._parts, self._gains = parts, {}
        if new := [candidate for candidate in candidates if candidate not in self._gains]:
            self._gains.update(zip(new, self._falls(cuts, new).tolist(), strict=True))
        return np.array([self._gains[candidate] for candidate in candidates], dtype=np.float64)

    def _falls(self, cuts: Cuts, candidates: Sequence[Candidate]) -> Floats:
        """Measure by what the entropy falls after each of some candidates, and what that is worth."""
        falls, groups = self._table.after(cuts, candidates, self._formulas).T
        falls = repeatable(falls)
        if self.worth.literal:
            return falls / self._records
        chance = by_chance(1 - np.nan_to_num(groups), self._values)  # in groups of more than one class
        return self.worth.gains(falls, chance, self._records, np.zeros(len(falls)))


def repeatable(sums: Floats) -> Floats:
    """Round sums to twelve digits; the last bits of a parallel sum depend on its order. No sum is 0."""
    return np.array([float(f"{number:.12g}") for number in np.nan_to_num(sums)])


def class_entropy(classes: Sequence[str]) -> Formula:
    """The entropy of the classes left in the groups, the sum of n I(R), in bits; one class is the rest.

    Divided by the records it is H(D | attributes), the conditional entropy of the decision.
    """

    def rest(c: Columns) -> str:
        return " - ".join([c["n"], *(c[v] for v in classes)])

    def formula(c: Columns) -> str:
        each = sum_of(_times_log(f"({part})") for part in (rest(c), *(c[v] for v in classes)))
        return f"greatest({_times_log(c['n'])} - ({each}), 0)"

    def pure(c: Columns) -> str:
        return f"greatest({', '.join([rest(c), *(c[v] for v in classes)])}) = {c['n']}"

    return Formula("sum", ("n", *classes), formula, pure)


def _times_log(number: str) -> str:
    return f"{number} * log2(greatest({number}, 1))"
