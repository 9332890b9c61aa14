"""Measures states for the loop: every channel measures what it sees, the gauges get it all together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from ppdm_sql.engine import Engine
from ppdm_sql.methods.base.arrays import Codes, Floats
from ppdm_sql.methods.base.collapse import Atoms, value_counts
from ppdm_sql.methods.top_down.constraints import Constraint, Constraints
from ppdm_sql.methods.top_down.count_tables import Counted
from ppdm_sql.methods.top_down.cuts import Cuts
from ppdm_sql.methods.top_down.formulas import class_entropy, squared_size
from ppdm_sql.methods.top_down.groupings import Grouping
from ppdm_sql.privacy import Counts, Formula, ValueCounts

MOST_CLASSES = 64
"""Values of the class attribute above which the entropy of the class is not told."""
MOST_PROTECTED = 16
"""Protected values counted in one grid; further ones get a grid of their own."""


class MeasuredGrouping(Protocol):
    """What a measure asks of a grouping of the records; :class:`Grouping` says more of each."""

    attributes: list[int]
    groups: int

    @property
    def is_large(self) -> bool:
        """Whether candidates of several attributes are better read in one scan than in one each."""

    def identity(self, cuts: Cuts) -> tuple[int, ...]:
        """Tell states apart as far as this grouping can see them."""

    def detail(self, readings: Sequence[Formula]) -> Floats:
        """Read the source itself, the number of groups first."""

    def path(self, states: Sequence[Cuts], readings: Sequence[Formula]) -> Floats:
        """Read states."""

    def counted_path(self, states: Sequence[Cuts], readings: Sequence[Formula]) -> Floats:
        """Read states, each with its number of groups first."""

    def beside(
        self, cuts: Cuts, candidates: Sequence[tuple[int, int]], readings: Sequence[Formula]
    ) -> Floats:
        """Read the states after candidates that each take one part out."""

    def apart(self, cuts: Cuts, candidates: Sequence[tuple[int, int]], readings: Sequence[Formula]) -> Floats:
        """Read the states after candidates that split parts of their own."""

    def shrink(self, horizon: Sequence[Codes]) -> None:
        """Learn what the coming states can tell apart."""


class GroupingFormulas(NamedTuple):
    """A channel with the gauges that read it, and how each does."""

    channel: MeasuredGrouping
    gauges: list[int]
    readings: list[Formula]


class GroupingMeasure:
    """Measures states for the loop, over the atoms of one run.

    Args:
        engine: Where the grids are.
        atoms: The collapsed source.
        gauges: What to measure.
        horizon: For each attribute, the parts that the first states can tell apart.
        classes: Position of the class attribute, where :meth:`information` will be asked.

    Cost: one scan of the atoms per channel, then one scan of its grid per batch.
    """

    def __init__(
        self,
        engine: Engine,
        atoms: Atoms,
        gauges: Constraints,
        horizon: Sequence[Codes],
        classes: int | None = None,
    ) -> None:
        self._engine, self._atoms, self._horizon, self._classes = engine, atoms, horizon, classes
        self._size = len(gauges.all)
        self.watches: list[GroupingFormulas] = []
        self._informative: dict[tuple[int, ...], tuple[MeasuredGrouping, list[Formula]]] = {}
        for group in _groups(gauges.all):
            self._watch([gauges.all[position] for position in group], group)

    def _watch(self, gauges: Sequence[Constraint], positions: list[int]) -> None:
        engine, atoms, classes = self._engine, self._atoms, self._classes
        counted: dict[Counted, str] = {}
        formulas = [_formula(engine, atoms, gauge, counted) for gauge in gauges]
        told = [squared_size()]
        if classes is not None and atoms.coded[classes].size <= MOST_CLASSES:
            labels = [(classes, code) for code in range(atoms.coded[classes].size - 1)]
            names = [counted.setdefault(label, f"p{len(counted)}") for label in labels]
            told.append(class_entropy(names))
        channel = self.channel(sorted(gauges[0].attributes), list(counted))
        self.watches.append(GroupingFormulas(channel, positions, formulas))
        self._informative.setdefault(tuple(channel.attributes), (channel, told))

    def channel(self, attributes: Sequence[int], counted: Sequence[Counted]) -> MeasuredGrouping:
        """Make what measures the groups of some attributes."""
        return Grouping(self._engine, self._atoms, attributes, counted, self._horizon)

    @property
    def groups(self) -> int:
        """Groups of the first state of the last path: what measuring one more state costs."""
        return max(watch.channel.groups for watch in self.watches)

    @property
    def sweeps(self) -> bool:
        """Whether measuring the candidates of all attributes costs about as much as those of one."""
        return all(watch.channel.is_large for watch in self.watches)

    @property
    def foresees(self) -> bool:
        """Whether states further on can be measured: all can, over the atoms."""
        return True

    def detail(self) -> Floats:
        """Measure the source itself, in which nothing is masked."""
        numbers = np.empty(self._size)
        for watch in self.watches:
            numbers[watch.gauges] = watch.channel.detail(watch.readings)[1:]
        return numbers

    def path(self, states: Sequence[Cuts]) -> Floats:
        """Measure states that follow each other, shape (states, gauges)."""
        numbers = np.empty((len(states), self._size))
        for watch in self.watches:
            keys = [watch.channel.identity(state) for state in states]
            distinct = dict(zip(keys, states, strict=True))
            read = watch.channel.path(list(distinct.values()), watch.readings)
            found = dict(zip(distinct, read, strict=True))
            numbers[:, watch.gauges] = [found[key] for key in keys]
        return numbers

    def beside(self, cuts: Cuts, known: Floats, candidates: Sequence[tuple[int, int]]) -> Floats:
        """Measure the state after each candidate, shape (candidates, gauges).

        Args:
            cuts: The present state.
            known: Its numbers, which hold for channels that a candidate does not touch.
            candidates: Attribute and id.
        """
        numbers = np.repeat(known[None, :], len(candidates), axis=0)
        for watch in self.watches:
            for rows, read in self._read_beside(watch, cuts, candidates):
                before = known[watch.gauges]
                totals = np.array([reading.total for reading in watch.readings])
                worse = np.where(totals == "max", np.fmax(before, read), np.fmin(before, read))
                after = np.where(totals == "sum", before - np.nan_to_num(read), worse)
                numbers[np.ix_(rows, watch.gauges)] = after
        return numbers

    @staticmethod
    def _read_beside(
        watch: GroupingFormulas, cuts: Cuts, candidates: Sequence[tuple[int, int]]
    ) -> Iterator[tuple[list[int], Floats]]:
        """Read the candidates that share a part, then those that have parts of their own."""
        mine = [row for row, (attribute, _) in enumerate(candidates) if attribute in watch.channel.attributes]
        shared = [row for row in mine if not cuts[candidates[row][0]].disjoint]
        if shared:
            read = watch.channel.beside(cuts, [candidates[row] for row in shared], watch.readings)
            yield shared, read
        rows = [row for row in mine if row not in shared]
        if rows:
            read = watch.channel.apart(cuts, [candidates[row] for row in rows], watch.readings)
            yield rows, read

    def information(self, cuts: Cuts | None) -> dict[tuple[int, ...], Floats]:
        """Tell, for each set of attributes that records are grouped by, what its groups are like.

        Args:
            cuts: A state; None for the source, to be asked before the first step.

        Returns:
            Number of groups, sum of their squared sizes, and entropy of the class left in them, in bits
            together; the last only where the class has few values.
        """
        found = {}
        for attributes, (channel, told) in self._informative.items():
            read = channel.detail(told) if cuts is None else channel.counted_path([cuts], told)[0]
            found[attributes] = read
        return found

    def forget(self, reachable: Sequence[Codes]) -> None:
        """Let each channel merge what no reachable state tells apart."""
        for watch in self.watches:
            watch.channel.shrink(reachable)


def _groups(constraints: Sequence[Constraint]) -> Iterable[list[int]]:
    """Gather the constraints that one table of counts can serve: the same attributes, few values counted."""
    found: dict[object, list[list[int]]] = {}
    for position, constraint in enumerate(constraints):
        counts = constraint.requirement.counts
        counts_all = constraint.sensitive if counts is Counts.VALUES else None
        added_up = counts is Counts.GROUPS  # candidates are read as what they add, where others are as worst
        same = found.setdefault((frozenset(constraint.attributes), counts_all, added_up), [[]])
        protected = sum(constraints[other].protected is not None for other in same[-1])
        if counts is Counts.PROTECTED and protected >= MOST_PROTECTED:
            same.append([])
        same[-1].append(position)
    return [group for groups in found.values() for group in groups]


def _formula(engine: Engine, atoms: Atoms, constraint: Constraint, counted: dict[Counted, str]) -> Formula:
    """Give the formula of a constraint, and add what it counts."""
    sensitive = constraint.sensitive
    if sensitive is None:
        return constraint.requirement.formula(ValueCounts(records=atoms.records))
    dictionary = atoms.coded[sensitive]
    codes = range(dictionary.size) if constraint.protected is None else (constraint.protected,)
    values = ValueCounts(
        columns=[counted.setdefault((sensitive, code), f"p{len(counted)}") for code in codes],
        totals=lambda: value_counts(engine, atoms, sensitive).tolist(),
        type=dictionary.column.type,
        records=atoms.records,
    )
    return constraint.requirement.formula(values)
