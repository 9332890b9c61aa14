"""Measures states from which records may be left out, for the loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ppdm_sql.engine import Engine
from ppdm_sql.methods.base.arrays import Codes, Floats
from ppdm_sql.methods.base.collapse import Atoms, value_counts
from ppdm_sql.methods.top_down.boundaries import invalid_boundaries
from ppdm_sql.methods.top_down.constraints import Constraint
from ppdm_sql.methods.top_down.count_tables import Counted
from ppdm_sql.methods.top_down.cuts import Candidate, Cuts
from ppdm_sql.methods.top_down.groupings import CountedGrouping, by_candidate, numbered_parts
from ppdm_sql.methods.top_down.left_out import AllowedConstraints, ClassRule
from ppdm_sql.methods.top_down.left_out_sql import kept_formulas, states_sql
from ppdm_sql.methods.top_down.measuring import GroupingMeasure, InformativeGrouping
from ppdm_sql.privacy import Counts, Formula, ValueCounts

Totals = Callable[[int], Sequence[int]]
"""Gives the records of each value of a coded column."""


@dataclass(frozen=True)
class AskedGrouping:
    """The constraints that group by the same attributes.

    Args:
        attributes: Their positions.
        positions: Of the constraints.
        constraints: In that order.
        counted: What is counted for them, with the names of the counts.
    """

    attributes: tuple[int, ...]
    positions: Sequence[int]
    constraints: Sequence[Constraint]
    counted: Mapping[Counted, str]

    def rules(self, engine: Engine, atoms: Atoms, totals: Totals | None = None) -> list[ClassRule]:
        """Give what each constraint on classes asks.

        Args:
            engine: Where the atoms are.
            atoms: The collapsed source.
            totals: Of the records that are left; None while all of them are.
        """
        shares = totals or (lambda column: value_counts(engine, atoms, column).tolist())
        return [
            self._rule(atoms, item, shares)
            for item in self.constraints
            if item.requirement.counts is not Counts.GROUPS
        ]

    def _rule(self, atoms: Atoms, item: Constraint, totals: Totals) -> ClassRule:
        if item.sensitive is None:
            formula = item.requirement.formula(ValueCounts(records=atoms.records))
            return ClassRule(formula, item.limit, item.direction)
        records, limit, shares = atoms.records, item.limit, list[int]()
        if item.requirement.compares_with_table:  # which is what is left of it
            shares = list(totals(item.sensitive))
            records = sum(shares)
            limit = item.requirement.search_limit(max(records, 1))
        values = ValueCounts(
            columns=[self.counted[item.sensitive, code] for code in _codes(atoms, item)],
            totals=lambda: shares,
            type=atoms.coded[item.sensitive].column.type,
            records=records,
        )
        return ClassRule(item.requirement.formula(values), limit, item.direction)


def asked_groupings(atoms: Atoms, constraints: Sequence[Constraint]) -> list[AskedGrouping]:
    """Gather constraints by the attributes that they group by."""
    found: dict[frozenset[int], list[int]] = {}
    for position, item in enumerate(constraints):
        found.setdefault(frozenset(item.attributes), []).append(position)
    groupings = []
    for attributes, positions in found.items():
        counted: dict[Counted, str] = {}
        for position in positions:
            item = constraints[position]
            for code in _codes(atoms, item):
                assert item.sensitive is not None
                counted.setdefault((item.sensitive, code), f"p{len(counted)}")
        here = [constraints[position] for position in positions]
        groupings.append(AskedGrouping(tuple(sorted(attributes)), positions, here, counted))
    return groupings


def _codes(atoms: Atoms, item: Constraint) -> Sequence[int]:
    """List the values that a constraint counts."""
    if item.sensitive is None:
        return ()
    return range(atoms.coded[item.sensitive].size) if item.protected is None else (item.protected,)


class SweptGrouping(CountedGrouping):
    """A grouping whose states are measured whole, since what is kept of the others matters too."""

    def after(self, cuts: Cuts, candidates: Sequence[Candidate], formulas: Sequence[Formula]) -> Floats:
        """Measure the state after each candidate: its own numbers, shape (candidates, formulas); one scan."""
        # Parts that leave a rest come first, as a limit is planned faster than a list of what each is.
        order = sorted(range(len(candidates)), key=lambda row: cuts[candidates[row][0]].disjoint)
        part, owners = numbered_parts(cuts, candidates, order)
        counts, keys, params = self._present(cuts, part)
        params |= {f"part{i}": codes[counts.values[i]].tolist() for i, codes in part.items()}
        params |= {"candidate": owners, "taken": sum(not cuts[a].disjoint for a, _ in candidates)}
        text = states_sql(counts.table, keys, list(part), formulas)
        rows = self._engine.query(text, params | {"candidates": len(candidates)}, step="states")
        return by_candidate(rows, len(candidates), len(formulas))


class AllowedMeasure(GroupingMeasure):
    """Measures what is kept and what is left out, where the classes of a state are those of one grouping.

    That is so where all requirements group by the same columns and compare no class with the table; and
    where nothing may be left out, so that one bad class of any grouping is one too many.

    Cost: the candidates of a state are measured in one scan of the counts.
    """

    measures_ahead = False

    def __init__(
        self,
        engine: Engine,
        atoms: Atoms,
        constraints: AllowedConstraints,
        horizon: Sequence[Codes],
        classes: int | None = None,
    ) -> None:
        self._engine, self._atoms, self._horizon, self._classes = engine, atoms, horizon, classes
        self._allowed, self._constraints = constraints, constraints.all
        self._size = len(constraints.all)
        self._measured, self._informative, self._uninformed, self._details = [], {}, [], {}
        self._asked = asked_groupings(atoms, constraints.asked)
        self._formulas = [kept_formulas(asked.rules(engine, atoms)) for asked in self._asked]
        self._groupings = [self._grouping(asked) for asked in self._asked]

    def _grouping(self, asked: AskedGrouping) -> SweptGrouping:
        counted = dict(asked.counted)
        information = self.information_formulas(counted)
        grouping = SweptGrouping(self._engine, self._atoms, asked.attributes, list(counted), self._horizon)
        informative = InformativeGrouping(grouping, information)
        self._informative.setdefault(tuple(grouping.attributes), informative)
        return grouping

    @property
    def groups(self) -> int:
        return max(grouping.groups for grouping in self._groupings)

    def detail(self) -> Floats:
        pairs = zip(self._groupings, self._formulas, strict=True)
        found = self._numbers([grouping.detail(formulas)[None, 1:] for grouping, formulas in pairs])
        return np.asarray(found[0])

    def source(self, detail: Floats) -> Floats:
        """Give the worst number of each constraint in the source over all its classes, kept or not."""
        numbers = np.zeros(self._size)
        for asked, grouping in zip(self._asked, self._groupings, strict=True):
            rules = asked.rules(self._engine, self._atoms)
            classes, *worst = grouping.detail([rule.formula for rule in rules])
            of_rules = iter(worst)
            for position, item in zip(asked.positions, asked.constraints, strict=True):
                groups = item.requirement.counts is Counts.GROUPS
                numbers[position] = classes / self._allowed.records if groups else next(of_rules)
        return numbers

    def chain(self, states: Sequence[Cuts]) -> Floats:
        pairs = zip(self._groupings, self._formulas, strict=True)
        return self._numbers([grouping.counted_chain(states, found)[:, 1:] for grouping, found in pairs])

    def after(self, cuts: Cuts, known: Floats, candidates: Sequence[Candidate]) -> Floats:
        numbers = np.repeat(known[None, :], len(candidates), axis=0)
        for asked, grouping, formulas in zip(self._asked, self._groupings, self._formulas, strict=True):
            rows = [row for row, (attribute, _) in enumerate(candidates) if attribute in asked.attributes]
            if rows:
                read = grouping.after(cuts, [candidates[row] for row in rows], formulas)
                numbers[rows] = self._put(numbers[rows], asked, read)
        return numbers

    def invalid_boundaries(
        self, cuts: Cuts, known: Floats, attribute: int, part: Codes, boundaries: Codes
    ) -> Codes:
        """Pick the boundaries at which the bad classes of one grouping alone hold too many records."""
        invalid = np.zeros(len(part), dtype=bool)
        for asked, grouping, formulas in zip(self._asked, self._groupings, self._formulas, strict=True):
            if attribute in asked.attributes:
                left = formulas[-2:-1]
                now = grouping.chain([cuts], left)[0]
                groups = grouping.by_value(cuts, attribute, part, boundaries)
                of = (left, now, np.array([float(self._allowed.most)]), len(part))
                invalid |= invalid_boundaries(self._engine, groups, *of)
        return np.asarray(boundaries[invalid[boundaries]])

    def _numbers(self, read: Sequence[Floats]) -> Floats:
        """Put the numbers of all groupings together, shape (states, constraints)."""
        numbers = np.zeros((len(read[0]), self._size))
        for asked, found in zip(self._asked, read, strict=True):
            numbers = self._put(numbers, asked, found)
        return numbers

    def _put(self, numbers: Floats, asked: AskedGrouping, read: Floats) -> Floats:
        """Put the numbers of one grouping in; without an allowance any bad class will do."""
        left, classes = read[:, -2], read[:, -1]
        place = self._allowed.left_out
        numbers[:, place] = left if len(self._asked) == 1 else np.maximum(numbers[:, place], left)
        placed(numbers, self._allowed, asked, left, classes, read[:, :-2])
        return numbers

    def shrink(self, reachable: Sequence[Codes]) -> None:
        for grouping in self._groupings:
            grouping.shrink(reachable)


def placed(
    numbers: Floats,
    constraints: AllowedConstraints,
    asked: AskedGrouping,
    left: Floats,
    classes: Floats,
    worst: Floats,
) -> None:
    """Put what was measured of one grouping into the numbers of states, shape (states, constraints).

    Args:
        numbers: Where to.
        constraints: Of the run.
        asked: The grouping.
        left: Records left out.
        classes: Classes kept.
        worst: Of each rule of the grouping, over the classes kept.
    """
    kept = constraints.records - np.nan_to_num(left)
    of_rules = iter(worst.T)
    for position, item in zip(asked.positions, asked.constraints, strict=True):
        if item.requirement.counts is Counts.GROUPS:
            numbers[:, position] = classes / np.maximum(kept, 1)
        else:
            numbers[:, position] = next(of_rules)
        if position in constraints.averaged:
            place = constraints.left_out + 1 + constraints.averaged.index(position)
            numbers[:, place] = kept / np.maximum(classes, 1)
