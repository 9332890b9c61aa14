"""Measures states from which records may be left out: those in classes that break a requirement.

Where all requirements group by the same columns and compare no class with the table, or nothing may be left
out, what is kept follows from the classes of a state, and candidates are measured by the groups they split.
Else a bad class of one set of columns takes records of another's along: what is kept is the largest set of
records in which every class of every requirement is good. The bad classes go, all is counted again, until
nothing is bad; where classes are held against the table, that is the one which is left.

A step shows each record of the part that it refines more: its share of what the step tells of the class,
and the fall of its label's certainty penalty. The sum along a record's labels is what it shows; left out, it
shows nothing. So a step that leaves records out pays for what they would have shown, and no record is left
out because it may be.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, cast

import numpy as np

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.methods.base.arrays import Codes, Floats
from ppdm_sql.methods.base.collapse import Atoms
from ppdm_sql.methods.base.released_rows import recoded
from ppdm_sql.methods.top_down.constraints import (
    AllowedConstraints,
    ClassRule,
    Constraint,
    breaks,
    by_fate,
    codes_counted,
)
from ppdm_sql.methods.top_down.counts import (
    DETAIL_COLUMN,
    CountedValue,
    CountTable,
    Params,
    counts_of,
    group_keys,
    names_of,
    sides,
    sides_sql,
    sums,
    sums_at,
    totals,
)
from ppdm_sql.methods.top_down.cuts import Candidate, Cuts, FixedCut, add_detail, refine
from ppdm_sql.methods.top_down.measuring import (
    ConditionalEntropy,
    Measure,
    MeasuredTable,
    along,
    class_entropy,
    formula_of,
    repeatable,
    worst_after,
)
from ppdm_sql.methods.top_down.score import LEAST_GAIN, total_entropy
from ppdm_sql.privacy import Counts, Formula
from ppdm_sql.privacy.formula import Columns

BITS = 60
"""What records show is counted in whole units, so small that all of it together fits into a BIGINT."""
NOISE = 2e-11
"""A difference of sums of twelve digits below this share of them is rounding error."""
Totals = Callable[[int], Sequence[int]]
"""Gives the records of each value of a coded column."""


@dataclass(frozen=True)
class ConstraintGroup:
    """The constraints that group by the same attributes, their positions, and what is counted for them."""

    attributes: tuple[int, ...]
    positions: list[int]
    constraints: Sequence[Constraint]
    columns: dict[CountedValue, str]

    def rules(self, engine: Engine, atoms: Atoms, totals_left: Totals | None = None) -> list[ClassRule]:
        """Give what each constraint asks of a class; ``left`` counts the records left, None for all."""
        rules = list[ClassRule]()
        for item in self.constraints:
            limit, shares, requirement = item.limit, None, item.requirement
            if requirement.counts is Counts.GROUPS:
                continue
            if totals_left is not None and item.sensitive is not None and requirement.compares_with_table:
                shares = totals_left(item.sensitive)  # of what is left of the table
                limit = requirement.search_limit(max(sum(shares), 1))
            formula = formula_of(engine, atoms, item, self.columns, shares=shares)
            rules.append(ClassRule(formula, limit, item.direction))
        return rules

    def pick(self, numbers: Floats, limits: AllowedConstraints) -> Floats:
        """Pick the worst of each rule, the records left out and the classes kept among a state's numbers."""
        left_out, classes, worst = numbers[limits.left_out], 0.0, list[float]()
        for position, item in zip(self.positions, self.constraints, strict=True):
            if item.requirement.counts is Counts.GROUPS:
                classes = float(round(numbers[position] * (limits.records - left_out)))
            else:
                worst.append(numbers[position])
        return np.array([*worst, left_out, classes])

    def put(
        self, numbers: Floats, limits: AllowedConstraints, left_out: Floats, classes: Floats, worst: Floats
    ) -> None:
        """Put the records left out, the classes kept and the worst of each rule there into the numbers."""
        records, of_rules = limits.records - np.nan_to_num(left_out), iter(worst.T)
        for position, item in zip(self.positions, self.constraints, strict=True):
            groups = item.requirement.counts is Counts.GROUPS
            numbers[:, position] = classes / np.maximum(records, 1) if groups else next(of_rules)


def constraint_groups(atoms: Atoms, constraints: Sequence[Constraint]) -> list[ConstraintGroup]:
    """Gather constraints by the attributes that they group by."""
    positions_by: dict[frozenset[int], list[int]] = {}
    for position, item in enumerate(constraints):
        positions_by.setdefault(frozenset(item.attributes), []).append(position)
    groups = []
    for attributes, positions in positions_by.items():
        here = [constraints[position] for position in positions]
        values = dict.fromkeys((item.sensitive, code) for item in here for code in codes_counted(atoms, item))
        columns = {(int(i or 0), code): f"p{j}" for j, (i, code) in enumerate(values)}
        groups.append(ConstraintGroup(tuple(sorted(attributes)), positions, here, columns))
    return groups


# -- what records show ---------------------------------------------------------------------------------


class BoundaryWorth(NamedTuple):
    """What splits at boundaries keep and lose, by value code: the first of the right half."""

    left: Floats  # records of the left half that are kept
    right: Floats
    lost: Floats  # the detail of records that are newly left out
    left_out: Floats  # how many these are


class WeighedTable(CountTable):
    """A table of counts with what the records of a row show, ``w``, in units of :attr:`unit`."""

    def __init__(
        self, engine: Engine, atoms: Atoms, attributes: Sequence[int], values: Sequence[CountedValue]
    ) -> None:
        super().__init__(engine, atoms, attributes, values)
        self.names.append(DETAIL_COLUMN)
        self._counts, self.unit, self._detail_params = self.rows, 1.0, Params()
        self.more_detail = np.empty(0)
        """By how much more records show in the parts of the candidates that are measured next."""
        self.show([np.zeros(item.size) for item in atoms.coded], 1.0)

    def show(self, by_code: Sequence[Floats], more: float) -> None:
        """Let values show as much as this, and a step as much more at most."""
        of = [by_code[i] for i in self.attributes]
        most = sum(float(abs(each).max(initial=0.0)) for each in of) + more
        self.unit = 2.0 ** np.ceil(np.log2(max(most * self.atoms.records, 1e-300)) - BITS)
        self.rows, self._detail_params = self.with_detail(by_code, "shown")

    def with_detail(self, by_code: Sequence[Floats], name: str) -> tuple[str, Params]:
        """Write the counts where values show as much as this, with the parameters."""
        texts, params = ["0"], Params()
        for i in self.attributes:
            if by_code[i].any():
                units = np.rint(by_code[i] / self.unit).astype(np.int64)
                text, own = recoded(f"c{i}", units, f"{name}{i}", "BIGINT")
                texts.append(text)
                params |= own
        return f"(SELECT *, n * ({' + '.join(texts)}) AS {DETAIL_COLUMN} FROM {self._counts})", params

    def _part_params(self) -> Params:
        return {"value": np.rint(self.more_detail / self.unit).astype(np.int64).tolist()}

    def _keys(self, cuts: Cuts, but: Sequence[int] = ()) -> tuple[list[str], Params]:  # type: ignore[override]
        keys, params = super()._keys(cuts, but)
        return keys, params | self._detail_params

    def boundaries(
        self, cuts: Cuts, attribute: int, part: Codes, rules: Sequence[ClassRule]
    ) -> BoundaryWorth:
        """Tell for each boundary what a split there keeps and loses; ``part`` is as in :meth:`invalid`."""
        groups = self.by_value(cuts, attribute, part)
        names = [*counts_of([rule.formula for rule in rules]), DETAIL_COLUMN]
        text = kept_sides_sql(sides_sql(groups, names), rules, names)
        rows = self.engine.arrays(text, groups.params, step="boundaries")
        size = len(part)
        ends = 1 + np.append(np.flatnonzero(np.diff(part)), size - 1)  # of each stretch of the same interval
        end = ends[np.searchsorted(ends, rows["code"].astype(np.int64), side="right")]
        begin = np.append(0, ends)[np.searchsorted(ends, rows["code"].astype(np.int64), side="right")]
        first = rows["code"].astype(np.int64) + 1
        last = np.where(rows["inside"].astype(bool), rows["next"].astype(np.int64) + 1, end)
        left, right, lost_detail, left_out = (
            sums_at(size, first, last, rows[name]) for name in ("kept_left", "kept_right", "lost", "newly")
        )
        right = right + sums_at(size, begin, first, rows["kept_whole"])  # groups that begin behind it
        return BoundaryWorth(left, right, lost_detail, left_out)


def kept_sides_sql(sides_of: str, rules: Sequence[ClassRule], names: Sequence[str]) -> str:
    """Write what both sides of the boundaries after ``code``, up to ``next``, keep and lose; a row each.

    Behind its last value, where ``inside`` is false, a group is whole on the left; ``kept_whole`` are the
    records of the groups that begin at ``code``.
    """
    left, right = sides(names, lasts=False)
    whole = {name: f"total_{name}" for name in names}

    def if_kept(side: Columns, name: str) -> str:
        return f"CASE WHEN {breaks(rules, side)} THEN 0 ELSE {side[name]} END"

    inside = "next IS NOT NULL"
    halves = f"({if_kept(left, 'n')} + {if_kept(right, 'n')})"
    detail = f"({if_kept(left, DETAIL_COLUMN)} + {if_kept(right, DETAIL_COLUMN)})"
    numbers = {
        "kept_left": f"CASE WHEN {inside} THEN {if_kept(left, 'n')} ELSE {if_kept(whole, 'n')} END",
        "kept_right": f"CASE WHEN {inside} THEN {if_kept(right, 'n')} ELSE 0 END",
        "lost": f"CASE WHEN {inside} THEN {if_kept(whole, DETAIL_COLUMN)} - {detail} ELSE 0 END",
        "newly": f"CASE WHEN {inside} THEN {if_kept(whole, 'n')} - {halves} ELSE 0 END",
        "kept_whole": f"CASE WHEN begins THEN {if_kept(whole, 'n')} ELSE 0 END",
    }
    columns = ", ".join(f"sum({number})::DOUBLE AS {name}" for name, number in numbers.items())
    return (
        f"SELECT code, coalesce(next, 0) AS next, {inside} AS inside, {columns} FROM ({sides_of}) AS sides "
        "GROUP BY ALL"
    )


def detail_of_kept(rules: Sequence[ClassRule]) -> Formula:
    """Give what groups that break no rule show, and with ``value``, what a step shows each of them more."""
    return by_fate(rules, [DETAIL_COLUMN], lambda c: f"{c[DETAIL_COLUMN]} + {c['n']} * {c['value']}")


# -- what is kept, by the classes of one set of columns -----------------------------------------------


def kept_formulas(rules: Sequence[ClassRule]) -> list[Formula]:
    """Give the worst of each rule over the classes that break none, then the records in those that break one,
    then how many classes break none.
    """  # noqa: D205
    worst = [by_fate(rules, (), rule.formula.of, total=rule.formula.total) for rule in rules]
    left_out = by_fate(rules, (), lambda c: c["n"], kept=False)
    return [*worst, left_out, by_fate(rules, (), lambda c: f"({c['n']} > 0)::INTEGER")]


class AllowedMeasure(Measure):
    """Measures what is kept and what is left out, by the classes of one set of columns."""

    ahead = exact = False
    most = 4096

    def __init__(self, engine: Engine, atoms: Atoms, constraints: AllowedConstraints) -> None:
        self._engine, self._atoms = engine, atoms
        self._allowed, self._constraints = constraints, constraints.all
        self._groups, self._tables = constraint_groups(atoms, constraints.on_classes), []
        kind = WeighedTable if constraints.weighed else CountTable
        for group in self._groups:
            rules = group.rules(engine, atoms)
            detail = [detail_of_kept(rules)] if constraints.weighed else []
            table = kind(engine, atoms, group.attributes, list(group.columns))
            self._tables.append(MeasuredTable(group.positions, table, [*kept_formulas(rules), *detail]))
        groups = any(item.requirement.counts is Counts.GROUPS for item in constraints.on_classes)
        self.weighs_boundaries = self.ahead = constraints.weighed and constraints.monotone and not groups

    def state(self, cuts: Cuts | None) -> Floats:
        _, table, formulas = self._tables[0]
        row = table.source(formulas) if cuts is None else table.state(cuts, formulas)
        return np.asarray(self._put(np.zeros((1, len(self._constraints))), row[None, 1:])[0])

    def source(self, detail: Floats) -> Floats:
        """Give the worst number of each constraint in the source over all its classes, kept or not."""
        numbers = np.zeros((1, len(self._constraints)))
        for group, entry in zip(self._groups, self._tables, strict=True):
            rules = group.rules(self._engine, self._atoms)
            classes, *worst = entry.table.source([rule.formula for rule in rules])
            group.put(numbers, self._allowed, np.zeros(1), np.array([classes]), np.array([worst]))
        return np.asarray(numbers[0])

    def after(self, cuts: Cuts, current: Floats, candidates: Sequence[Candidate]) -> Floats:
        """Measure the state after each candidate; of the worst class only whether it becomes worse.

        More cannot be told from the groups that a candidate splits, as the worst one may be left out then.
        A loss asks for no more.
        """
        _, table, formulas = self._tables[0]
        rows = worst_after(self._rule_numbers(current), table.after(cuts, candidates, formulas), formulas)
        return self._put(np.repeat(current[None, :], len(candidates), axis=0), rows)

    def _rule_numbers(self, current: Floats) -> Floats:
        numbers = self._groups[0].pick(current, self._allowed)
        return np.append(numbers, 0.0) if self._allowed.weighed else numbers

    @property
    def _weighed_table(self) -> WeighedTable:
        return cast(WeighedTable, self._tables[0].table)

    @property
    def unit(self) -> float:
        return self._weighed_table.unit

    def show(self, by_code: Sequence[Floats], more: float) -> None:
        """Let values show as much as this, and the candidates that come as much more at most."""
        self._weighed_table.show(by_code, more)

    def weighed_after(
        self, cuts: Cuts, current: Floats, candidates: Sequence[Candidate], values: Sequence[Floats]
    ) -> Floats:
        """Measure the state after each candidate, of which it is known what it shows."""
        self._weighed_table.more_detail = np.concatenate(values)
        return self.after(cuts, current, candidates)

    def weighed_path(
        self, cuts: Cuts, current: Floats, attribute: int, codes: Sequence[int], values: Sequence[Floats]
    ) -> Floats:
        """Measure the states along a path of disclosures, exact up to the first that leaves records out."""
        formulas, table = self._tables[0].formulas, self._weighed_table
        table.more_detail = np.concatenate(values)
        (rows,) = table.path(cuts, attribute, codes, formulas)
        numbers = along(self._rule_numbers(current), rows, formulas)
        numbers[:, -1] = -np.nan_to_num(rows[:, -1])
        return self._put(np.repeat(current[None, :], len(codes), axis=0), numbers)

    def boundaries(self, cuts: Cuts, attribute: int, part: Codes) -> BoundaryWorth:
        """Tell what splits at boundaries keep and lose; ``part`` is as in :meth:`CountTable.invalid`."""
        rules = self._groups[0].rules(self._engine, self._atoms)
        return self._weighed_table.boundaries(cuts, attribute, part, rules)

    def _put(self, numbers: Floats, rows: Floats) -> Floats:
        """Put what was read of states into their numbers."""
        if self._allowed.weighed:
            numbers[:, -1], rows = rows[:, -1] * (self.unit / max(self._atoms.records, 1)), rows[:, :-1]
        numbers[:, self._allowed.left_out] = rows[:, -2]
        self._groups[0].put(numbers, self._allowed, rows[:, -2], rows[:, -1], rows[:, :-2])
        return numbers

    def invalid_boundaries(
        self, cuts: Cuts, current: Floats, attribute: int, part: Codes, boundaries: Codes
    ) -> Codes:
        """Pick the boundaries at which the bad classes of one set of columns alone hold too many records."""
        invalid, most = np.zeros(len(part), dtype=bool), np.array([float(self._allowed.most)])
        for _, table, formulas in self._tables:
            if attribute in table.attributes:
                place = len(formulas) - 2 - self._allowed.weighed
                left_out = formulas[place : place + 1]
                now = table.state(cuts, left_out)[1:]
                invalid |= table.invalid(cuts, attribute, part, left_out, now, most)
        return np.asarray(boundaries[invalid[boundaries]])


# -- rounds: the classes of several sets of columns, each without the records of the others' bad ones ---


@dataclass(frozen=True)
class KeyedRules:
    """What one set of columns asks of its classes."""

    keys: Sequence[str]  # the columns that tell these apart
    counts: Sequence[str]  # select items of all that the rules count
    rules: Sequence[ClassRule]

    def classes_sql(self, rows: Table) -> str:
        keys = ", ".join(["state", *self.keys])
        return f"SELECT {', '.join([keys, *self.counts])} FROM {rows} GROUP BY {keys}"

    def numbers_sql(self, rows: Table) -> str:
        """Write a row for each state: its number, its records, its classes, the worst of each rule."""
        worst = totals([rule.formula for rule in self.rules])
        numbers = ", ".join(["state", "sum(n)::BIGINT", "count(*)", *worst])
        return f"SELECT {numbers} FROM ({self.classes_sql(rows)}) AS classes GROUP BY state"


def round_sql(rows: Table, groupings: Sequence[KeyedRules]) -> str:
    """Write the rows that are in no bad class of any set of columns, all classes being those of all rows."""
    bad, joins = [], []
    for number, grouping in enumerate(groupings):
        keys = ["state", *grouping.keys]
        where = breaks(grouping.rules, {c: c for c in counts_of([rule.formula for rule in grouping.rules])})
        classes = f"({grouping.classes_sql(rows)}) AS classes"
        bad.append(f"bad{number} AS (SELECT {', '.join(keys)} FROM {classes} WHERE {where})")
        same = " AND ".join(f"bad{number}.{key} = r.{key}" for key in keys)
        joins.append(f"ANTI JOIN bad{number} ON {same}")
    return f"WITH {', '.join(bad)} SELECT r.* FROM {rows} AS r {' '.join(joins)}"


class CellTable(WeighedTable):
    """The counts by the attributes of all sets of columns, of which states are tables of keyed cells."""

    def __init__(self, engine: Engine, atoms: Atoms, constraints: AllowedConstraints) -> None:
        self.groups, self._limits = constraint_groups(atoms, constraints.on_classes), constraints
        every = dict.fromkeys(key for group in self.groups for key in group.columns)
        self._every = {key: f"p{j}" for j, key in enumerate(every)}
        union = sorted({i for group in self.groups for i in group.attributes})
        super().__init__(engine, atoms, union, list(every))

    def keys(self, cuts: Cuts, state: int = 0) -> tuple[list[list[str]], Params]:
        """Write the keys of a state's classes, for each set of columns."""
        keys, params = list[list[str]](), Params()
        for number, group in enumerate(self.groups):
            own, values = group_keys({i: cuts[i].parts for i in group.attributes}, f"s{state}g{number}_")
            keys.append([key.replace(" AS group", f" AS g{number}_") for key in own])
            params |= values
        return keys, params

    def settle(
        self, states: Sequence[Cuts], details: Sequence[Sequence[Floats]]
    ) -> tuple[Table, list[KeyedRules]]:
        """Give the cells of some states that are kept, and what is asked of their classes.

        The bad classes are taken away and all is counted again, until nothing is bad; once is enough where no
        class of what is left changes. A state that leaves out more than it may is taken away whole.
        """
        each, params, names = list[str](), Params(), list[list[str]]()
        for state, (cuts, by_code) in enumerate(zip(states, details, strict=True)):
            counts, own = self.with_detail(by_code, f"s{state}shown")
            keys, values = self.keys(cuts, state)
            columns, params = [key for set_keys in keys for key in set_keys], params | own | values
            names = [names_of(set_keys) for set_keys in keys]
            text = f"SELECT {state} AS state, {', '.join(columns)}, {sums(self.names)} FROM {counts}"
            each.append(f"{text} GROUP BY ALL")
        engine, limits = self.engine, self._limits
        rows, before = engine.materialize("cells", " UNION ALL ".join(each), params), -1
        while (size := engine.size(rows)) not in (before, 0):
            good = engine.materialize("settled", round_sql(rows, self._groupings(rows, names)))
            engine.discard(rows)
            good_states = f"SELECT state FROM {good} GROUP BY state HAVING sum(n) >= $least"
            within = f"SELECT r.* FROM {good} AS r SEMI JOIN ({good_states}) AS s ON s.state = r.state"
            rows = engine.materialize("within", within, {"least": limits.records - limits.most})
            engine.discard(good)
            before = size
            if not limits.settles:
                break
        return rows, self._groupings(rows, names)

    def _groupings(self, rows: Table, keys: Sequence[Sequence[str]]) -> list[KeyedRules]:
        return [self._keyed_rules(rows, *pair) for pair in zip(self.groups, keys, strict=True)]

    def _keyed_rules(self, rows: Table, group: ConstraintGroup, keys: Sequence[str]) -> KeyedRules:
        """Give what is asked of the classes of some rows, the shares of the table being those of the rows."""

        def totals_left(column: int) -> list[int]:
            names = [self._every[column, code] for code in range(self.atoms.coded[column].size)]
            (row,) = self.engine.query(f"SELECT {sums(names)} FROM {rows}", step="shares")
            return [int(number or 0) for number in row]

        counts = [f"sum({self._every[key]})::BIGINT AS {p}" for key, p in group.columns.items()]
        return KeyedRules(
            keys, ["sum(n)::BIGINT AS n", *counts], group.rules(self.engine, self.atoms, totals_left)
        )


class SettledMeasure(AllowedMeasure):
    """Measures what is kept where a bad class takes records of other classes along: state by state."""

    exact, most = True, 16

    def __init__(self, engine: Engine, atoms: Atoms, constraints: AllowedConstraints) -> None:
        super().__init__(engine, atoms, constraints)
        self._all = CellTable(engine, atoms, constraints)
        self._by_code = [np.zeros(item.size) for item in atoms.coded]
        self.weighs_boundaries = self.ahead = False

    def state(self, cuts: Cuts | None) -> Floats:
        if cuts is None:
            cuts = tuple(FixedCut(item.size) for item in self._atoms.coded)
        return np.asarray(self._of_states([cuts], [self._by_code])[0])

    def show(self, by_code: Sequence[Floats], more: float) -> None:
        self._by_code = list(by_code)
        self._all.show(by_code, more)

    def weighed_after(
        self, cuts: Cuts, current: Floats, candidates: Sequence[Candidate], values: Sequence[Floats]
    ) -> Floats:
        details = list[list[Floats]]()
        for (attribute, candidate), own in zip(candidates, values, strict=True):
            after = list(self._by_code)
            after[attribute] = add_detail(after[attribute], cuts[attribute], candidate, own)
            details.append(after)
        numbers = self._of_states([refine(cuts, candidate) for candidate in candidates], details)
        numbers[:, -1] -= current[-1]
        return numbers

    def after(self, cuts: Cuts, current: Floats, candidates: Sequence[Candidate]) -> Floats:
        states = [refine(cuts, candidate) for candidate in candidates]
        return self._of_states(states, [self._by_code] * len(states))

    def _of_states(self, states: Sequence[Cuts], details: Sequence[Sequence[Floats]]) -> Floats:
        size = 1 if self._allowed.compares_with_table else int(self.most)
        numbers = [np.empty((0, len(self._constraints)))]
        for first in range(0, len(states), size):
            numbers.append(self._measure_states(states[first : first + size], details[first : first + size]))
        return np.vstack(numbers)

    def _measure_states(self, states: Sequence[Cuts], by_code: Sequence[Sequence[Floats]]) -> Floats:
        """Settle some states at once, and measure what is left of them."""
        limits, (rows, groupings) = self._allowed, self._all.settle(states, by_code)
        numbers = np.full((len(states), len(self._constraints)), np.nan)
        numbers[:, limits.left_out] = limits.records
        for group, grouping in zip(self._groups, groupings, strict=True):
            classes = np.array(
                self._engine.query(grouping.numbers_sql(rows), step="settled classes"), np.float64
            )
            if len(classes):
                places = classes[:, 0].astype(np.int64)
                state_rows = numbers[places]
                state_rows[:, limits.left_out] = left_out = limits.records - classes[:, 1]
                group.put(state_rows, limits, left_out, classes[:, 2], classes[:, 3:])
                numbers[places] = state_rows
        if limits.weighed:
            text = f"SELECT state, sum({DETAIL_COLUMN}) FROM {rows} GROUP BY state"
            numbers[:, -1] = 0.0
            for state, detail in self._engine.query(text, step="settled classes"):
                numbers[state, -1] = float(detail) * self._all.unit / max(self._atoms.records, 1)
        self._engine.discard(rows)
        return numbers


# -- HCE-TDR's gain: what is left out is one class ----------------------------------------------------


class KeptEntropy(ConditionalEntropy):
    """Gains by the reduction of H(D | Q) where detail about records that are left out tells nobody anything.

    The entropy of a state is that of the class over the equivalence classes that are kept, with all that is
    left out as one more. A gain can be below 0: where a step costs more records than its detail is worth.
    """

    least = -LEAST_GAIN

    def __init__(self, engine: Engine, atoms: Atoms, constraints: AllowedConstraints, classes: int) -> None:
        (group,) = constraint_groups(atoms, constraints.on_classes)
        columns, self._records = dict(group.columns), atoms.records
        self._parts, self._gains = [], {}
        values = [(classes, code) for code in range(atoms.coded[classes].size - 1)]
        names = [columns.setdefault(value, f"p{len(columns)}") for value in values]
        self._kept_formulas = kept_entropy(group.rules(engine, atoms), names)
        self._formulas = [class_entropy(names)]
        self._table = CountTable(engine, atoms, group.attributes, list(columns))

    def _falls(self, cuts: Cuts, candidates: Sequence[Candidate]) -> Floats:
        now = self._table.state(cuts, self._kept_formulas)[None, 1:]
        differences = np.nan_to_num(self._table.after(cuts, candidates, self._kept_formulas))
        before, after = self._together(now), self._together(np.nan_to_num(now) - differences)
        falls = np.where(abs(before - after) > NOISE * before, before - after, 0.0)
        return np.asarray(falls / self._records)

    @staticmethod
    def _together(rows: Floats) -> Floats:
        """Add the entropy of what is left out, whose class counts are all but the first of the numbers."""
        left_out = np.nan_to_num(rows[:, 1:]).round().astype(np.int64)
        return repeatable(np.nan_to_num(rows[:, 0]) + total_entropy(left_out))


def kept_entropy(rules: Sequence[ClassRule], classes: Sequence[str]) -> list[Formula]:
    """Give the entropy of the classes in the groups that break no rule, in bits; then the records by class
    of those that do, the rest first.
    """  # noqa: D205
    rest = " - ".join(["{n}", *(f"{{{name}}}" for name in classes)])
    each = [partial(str.format_map, text) for text in (rest, *(f"{{{name}}}" for name in classes))]
    left_out = (by_fate(rules, classes, of, kept=False) for of in each)
    return [by_fate(rules, classes, class_entropy(classes).of), *left_out]
