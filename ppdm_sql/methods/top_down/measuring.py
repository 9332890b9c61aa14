"""Measures states for the loop: each grouping measures what it sees, the constraints get it all together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ppdm_sql.engine import Engine
from ppdm_sql.methods.base.arrays import Codes, Floats
from ppdm_sql.methods.base.collapse import Atoms, person_counts, value_counts
from ppdm_sql.methods.top_down.boundaries import invalid_boundaries
from ppdm_sql.methods.top_down.conditional_entropy import class_entropy
from ppdm_sql.methods.top_down.constraints import Constraint, Constraints
from ppdm_sql.methods.top_down.count_tables import Counted
from ppdm_sql.methods.top_down.cuts import Candidate, Cuts
from ppdm_sql.methods.top_down.groupings import CountedGrouping, Grouping
from ppdm_sql.methods.top_down.maskings import Masking
from ppdm_sql.privacy import Counts, Formula, PopulationTable, ValueCounts
from ppdm_sql.privacy.formula import sum_of

MOST_CLASSES = 64
"""Values of the class attribute above which the entropy of the class is not measured."""
MOST_PROTECTED = 16
"""Protected values counted in one table; further ones get a table of their own."""
SQUARED_SIZE = Formula("sum", ("n",), lambda c: f"{c['n']}::DOUBLE * {c['n']}")
"""The discernibility of a table: the sum of squared class sizes (Bayardo, Agrawal 2005)."""


class MeasuredGrouping(NamedTuple):
    """A grouping with the positions of the constraints that it measures, and their formulas."""

    grouping: Grouping
    constraints: list[int]
    formulas: list[Formula]


class InformativeGrouping(NamedTuple):
    """A grouping of which is told what its groups are like; its place among the measured, if it is one."""

    grouping: Grouping
    formulas: list[Formula]
    place: int | None = None


class GroupingMeasure:
    """Measures states for the loop, over the atoms of one run.

    Args:
        engine: Where the tables are.
        atoms: The collapsed source.
        constraints: What to measure.
        horizon: For each attribute, the parts that the first states can tell apart.
        classes: Position of the class attribute, where :meth:`information` will be asked.
        maskings: Of the attributes, where populations are counted.

    Cost: one scan of the atoms per grouping, then one scan of its table of counts per batch.
    """

    measures_ahead = True
    """Whether states further on can be measured, not only those after one candidate."""

    def __init__(
        self,
        engine: Engine,
        atoms: Atoms,
        constraints: Constraints,
        horizon: Sequence[Codes],
        classes: int | None = None,
        maskings: Sequence[Masking] = (),
    ) -> None:
        self._engine, self._atoms, self._horizon, self._classes = engine, atoms, horizon, classes
        self._maskings = maskings
        self._constraints, self._size = constraints.all, len(constraints.all)
        self._lasting = constraints.lasting
        self._measured: list[MeasuredGrouping] = []
        self._uninformed: list[tuple[int, ...]] = []
        self._informative: dict[tuple[int, ...], InformativeGrouping] = {}
        self._details: dict[int, Floats] = {}  # of the source, by place among the measured
        for positions in _groups(constraints.all):
            some = [constraints.all[position] for position in positions]
            population = some[0].requirement.population
            if population is None:
                self._add(some, positions)
            else:
                self._add_population(some, positions, population)

    def _add_population(
        self, constraints: Sequence[Constraint], positions: list[int], population: PopulationTable
    ) -> None:
        """Measure in a population; its groups are not those of the release, so they tell no information."""
        from ppdm_sql.methods.top_down.population_counts import POPULATION, population_grouping

        attributes = sorted(constraints[0].attributes)
        grouping = population_grouping(
            self._engine, self._atoms, self._maskings, attributes, population, self._horizon
        )
        formulas = [item.requirement.formula(ValueCounts(population=POPULATION)) for item in constraints]
        self._measured.append(MeasuredGrouping(grouping, positions, formulas))
        self._uninformed.append(tuple(attributes))

    def _inform(self) -> None:
        """Make what tells of groups that no requirement counts in the table alone, once it is asked for."""
        while self._uninformed:
            if (attributes := self._uninformed.pop(0)) not in self._informative:
                counted: dict[Counted, str] = {}
                information = self.information_formulas(counted)
                grouping = self.grouping(attributes, list(counted))
                self._informative[attributes] = InformativeGrouping(grouping, information)

    def _add(self, constraints: Sequence[Constraint], positions: list[int]) -> None:
        engine, atoms = self._engine, self._atoms
        counted: dict[Counted, str] = {}
        formulas = [formula_of(engine, atoms, constraint, counted) for constraint in constraints]
        information = self.information_formulas(counted)
        grouping = self.grouping(sorted(constraints[0].attributes), list(counted))
        informative = InformativeGrouping(grouping, information, len(self._measured))
        self._informative.setdefault(tuple(grouping.attributes), informative)
        self._measured.append(MeasuredGrouping(grouping, positions, formulas))

    def information_formulas(self, counted: dict[Counted, str]) -> list[Formula]:
        """Give what is told of groups, and add what it counts."""
        classes = self._classes
        if classes is None or self._atoms.coded[classes].size > MOST_CLASSES:
            return [SQUARED_SIZE]
        values = [(classes, code) for code in range(self._atoms.coded[classes].size - 1)]
        names = [counted.setdefault(value, f"p{len(counted)}") for value in values]
        return [SQUARED_SIZE, class_entropy(names)]

    def grouping(self, attributes: Sequence[int], counted: Sequence[Counted]) -> Grouping:
        """Make what measures the groups of some attributes."""
        return CountedGrouping(self._engine, self._atoms, attributes, counted, self._horizon)

    @property
    def groups(self) -> int:
        """Groups of the first state of the last chain: what measuring one more state costs."""
        return max(measured.grouping.groups for measured in self._measured)

    def detail(self) -> Floats:
        """Measure the source itself, in which nothing is masked."""
        numbers = np.empty(self._size)
        for place, (grouping, positions, formulas) in enumerate(self._measured):
            found = self._details.get(place)
            numbers[positions] = grouping.detail(formulas)[1:] if found is None else found
        return numbers

    def source(self, detail: Floats) -> Floats:
        """Give the number of each constraint in the source, for the measures, from :meth:`detail`."""
        return detail

    def chain(self, states: Sequence[Cuts]) -> Floats:
        """Measure states that follow each other, shape (states, constraints)."""
        numbers = np.empty((len(states), self._size))
        for grouping, positions, formulas in self._measured:
            keys = [grouping.identity(state) for state in states]
            distinct = dict(zip(keys, states, strict=True))
            read = grouping.chain(list(distinct.values()), formulas)
            found = dict(zip(distinct, read, strict=True))
            numbers[:, positions] = [found[key] for key in keys]
        return numbers

    def after(self, cuts: Cuts, known: Floats, candidates: Sequence[Candidate]) -> Floats:
        """Measure the state after each candidate, shape (candidates, constraints).

        Args:
            cuts: The present state.
            known: Its numbers, which hold for groups that a candidate does not split.
            candidates: Of any attributes.
        """
        numbers = np.repeat(known[None, :], len(candidates), axis=0)
        for grouping, positions, formulas in self._measured:
            rows = [row for row, (attribute, _) in enumerate(candidates) if attribute in grouping.attributes]
            if rows:
                some, measured = [candidates[row] for row in rows], (grouping, positions, formulas)
                found = self._numbers_after(MeasuredGrouping(*measured), cuts, known[positions], some)
                numbers[np.ix_(rows, positions)] = found
        return numbers

    def _numbers_after(
        self, measured: MeasuredGrouping, cuts: Cuts, known: Floats, candidates: Sequence[Candidate]
    ) -> Floats:
        """Measure the constraints of one grouping after candidates of its attributes."""
        read = measured.grouping.after(cuts, candidates, measured.formulas)
        return worst_after(known, read, measured.formulas)

    def path(self, cuts: Cuts, known: Floats, attribute: int, disclosed: Sequence[int]) -> Floats:
        """Measure the states on a way of disclosures of one attribute, shape (disclosures, constraints).

        Args:
            cuts: The state from which it starts.
            known: Its numbers.
            attribute: One that is suppressed.
            disclosed: Its value codes, in this order.

        Cost: one scan of the counts of each grouping, however long the way is.
        """
        numbers = np.repeat(known[None, :], len(disclosed), axis=0)
        for grouping, positions, formulas in self._measured:
            if attribute in grouping.attributes:
                read = grouping.path(cuts, attribute, disclosed, formulas)
                for position, formula, column in zip(positions, formulas, read.T, strict=True):
                    # Requirements are monotone: the worst of all groups seen is that of those that stand.
                    if formula.total == "sum":
                        numbers[:, position] = known[position] - np.nan_to_num(column).cumsum()
                    else:
                        worst = np.fmax if formula.total == "max" else np.fmin
                        numbers[:, position] = worst(known[position], worst.accumulate(column))
        return numbers

    def invalid_boundaries(
        self, cuts: Cuts, known: Floats, attribute: int, part: Codes, boundaries: Codes
    ) -> Codes:
        """Pick the boundaries at which splitting the present state breaks a limit; a scan per grouping.

        Args:
            cuts: The present state.
            known: Its numbers.
            attribute: One of grown intervals.
            part: For each of its value codes the interval, -1 where it is not asked about.
            boundaries: Those to decide on, inside these intervals.
        """
        invalid = np.zeros(len(part), dtype=bool)
        for grouping, positions, formulas in self._measured:
            lasting = [n for n, position in enumerate(positions) if self._lasting[position]]
            if attribute in grouping.attributes and lasting:
                groups = grouping.by_value(cuts, attribute, part, boundaries)
                here = [positions[n] for n in lasting]
                limits = np.array([self._constraints[position].limit for position in here])
                of = ([formulas[n] for n in lasting], known[here], limits, len(part))
                invalid |= invalid_boundaries(self._engine, groups, *of)
        return np.asarray(boundaries[invalid[boundaries]])

    def information(self, cuts: Cuts | None) -> dict[tuple[int, ...], Floats]:
        """Tell, for each set of attributes that records are grouped by, what its groups are like.

        Args:
            cuts: A state; None for the source, to be asked before the first step.

        Returns:
            Number of groups, sum of their squared sizes, and entropy of the class left in them, in bits
            together; the last only where the class has few values.
        """
        self._inform()
        if cuts is not None:
            return {a: g.counted_chain([cuts], asked)[0] for a, (g, asked, _) in self._informative.items()}
        told = dict[tuple[int, ...], Floats]()
        for attributes, (grouping, asked, place) in self._informative.items():
            # The source is grouped for both: that is the largest GROUP BY of all, and done once.
            required = [] if place is None else self._measured[place].formulas
            told[attributes], detail = np.split(grouping.detail([*asked, *required]), [1 + len(asked)])
            if place is not None:
                self._details[place] = detail
        return told

    def shrink(self, reachable: Sequence[Codes]) -> None:
        """Let each grouping merge what no reachable state tells apart."""
        for measured in self._measured:
            measured.grouping.shrink(reachable)


def worst_after(before: Floats, read: Floats, formulas: Sequence[Formula]) -> Floats:
    """Put the numbers of groups that candidates split to those of the state before; for a sum, what falls."""
    totals = np.array([formula.total for formula in formulas])
    worse = np.where(totals == "max", np.fmax(before, read), np.fmin(before, read))
    return np.asarray(np.where(totals == "sum", before - np.nan_to_num(read), worse))


def _groups(constraints: Sequence[Constraint]) -> Iterable[list[int]]:
    """Gather the constraints that one table of counts can serve: the same attributes, few values counted."""
    found: dict[object, list[list[int]]] = {}
    for position, constraint in enumerate(constraints):
        counts = constraint.requirement.counts
        counts_all = constraint.sensitive if counts is Counts.VALUES else None
        added_up = counts is Counts.GROUPS  # candidates are read as what they add, where others are as worst
        population = constraint.requirement.population
        same = found.setdefault((frozenset(constraint.attributes), counts_all, added_up, population), [[]])
        protected = sum(constraints[other].protected is not None for other in same[-1])
        if counts is Counts.PROTECTED and protected >= MOST_PROTECTED:
            same.append([])
        same[-1].append(position)
    return [group for groups in found.values() for group in groups]


def formula_of(engine: Engine, atoms: Atoms, constraint: Constraint, counted: dict[Counted, str]) -> Formula:
    """Give the formula of a constraint, and add what it counts."""
    sensitive = constraint.sensitive
    if sensitive is None:
        return constraint.requirement.formula(ValueCounts(records=atoms.counted))
    counts = value_counts if atoms.persons is None else person_counts
    dictionary = atoms.coded[sensitive]
    codes = range(dictionary.size) if constraint.protected is None else (constraint.protected,)
    values = ValueCounts(
        columns=[counted.setdefault((sensitive, code), f"p{len(counted)}") for code in codes],
        totals=lambda: counts(engine, atoms, sensitive).tolist(),
        type=dictionary.column.type,
        records=atoms.counted,
    )
    formula = constraint.requirement.formula(values)
    if atoms.persons is None or not constraint.requirement.counts_values:
        return formula
    return _over_values(formula, values.columns)


def _over_values(formula: Formula, columns: Sequence[str]) -> Formula:
    """Let a formula see the values that persons have in the place of persons, each of theirs once."""
    return replace(
        formula, formula=lambda c: formula.formula({**c, "n": f"({sum_of(c[v] for v in columns)})"})
    )
