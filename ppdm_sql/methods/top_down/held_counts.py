"""Measures states on a small table of counts that is held in memory, where a statement is mostly planning.

A table of counts shrinks as a run goes on, since values that no reachable state tells apart are merged. One
of a few thousand rows is read once; a state then takes a tenth of the time that a statement is planned in.
What is held are counts of combinations, no records, and only formulas that count alone are read off it: their
numbers are the same to the last bit, whoever adds up the counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

import numpy as np

from ppdm_sql.engine import Engine
from ppdm_sql.methods.base.arrays import Codes, Counts, Floats
from ppdm_sql.methods.top_down.count_tables import CountTable
from ppdm_sql.methods.top_down.cuts import Candidate, Cuts
from ppdm_sql.methods.top_down.grouping_sql import needed
from ppdm_sql.methods.top_down.groupings import CountedGrouping, numbered_parts
from ppdm_sql.privacy import Formula

Measure = Callable[["HeldCounts", int, Codes, Codes, Sequence[Formula]], Floats]
WORTH_HOLDING = 1 << 14
"""Rows up to which a table of counts is held."""
MOST_PLACES = 1 << 17
"""Groups that could be, up to which there is a place for each; else those that are get numbered."""


class HeldGrouping(CountedGrouping):
    """A grouping that is measured in memory while its table is small, and in the database otherwise."""

    _held: HeldCounts | None = None

    def counted_chain(self, states: Sequence[Cuts], formulas: Sequence[Formula]) -> Floats:
        """Measure states, a row each: the number of groups, then the formulas'."""
        if (held := self._holding(states, formulas)) is None:
            return super().counted_chain(states, formulas)
        numbers = held.chain([{i: state[i].parts for i in self.attributes} for state in states], formulas)
        self.groups = int(numbers[0, 0])
        return numbers

    def after(self, cuts: Cuts, candidates: Sequence[Candidate], formulas: Sequence[Formula]) -> Floats:
        """Measure the state after each candidate: those that take parts out beside those that split."""
        numbers = self.swept(cuts, candidates, formulas)
        return super().after(cuts, candidates, formulas) if numbers is None else numbers

    def swept(
        self, cuts: Cuts, candidates: Sequence[Candidate], formulas: Sequence[Formula]
    ) -> Floats | None:
        """Measure the states after candidates of any sort in one scan, where the counts are not held."""
        return None if self._serves(formulas) else super().swept(cuts, candidates, formulas)

    def after_disclosures(
        self, cuts: Cuts, candidates: Sequence[Candidate], formulas: Sequence[Formula]
    ) -> Floats:
        """Measure the states after candidates that all take one part out, as :meth:`after` gives them."""
        numbers = self._after_parts(cuts, candidates, formulas, HeldCounts.taken_out)
        return super().after_disclosures(cuts, candidates, formulas) if numbers is None else numbers

    def after_specializations(
        self, cuts: Cuts, candidates: Sequence[Candidate], formulas: Sequence[Formula]
    ) -> Floats:
        """Measure the states after candidates that split parts of their own, as :meth:`after` gives them."""
        numbers = self._after_parts(cuts, candidates, formulas, HeldCounts.split)
        return super().after_specializations(cuts, candidates, formulas) if numbers is None else numbers

    def _after_parts(
        self, cuts: Cuts, candidates: Sequence[Candidate], formulas: Sequence[Formula], measure: Measure
    ) -> Floats | None:
        """Measure the states after candidates in memory, attribute by attribute; None where it cannot be."""
        if not self._serves(formulas):
            return None
        rows, parts = dict[int, list[int]](), dict[int, tuple[Codes, list[int]]]()
        for row, (attribute, _) in enumerate(candidates):
            rows.setdefault(attribute, []).append(row)
        for attribute, some in rows.items():
            parts[attribute] = numbered_parts(cuts[attribute], [candidates[row][1] for row in some])
        if (held := self._holding([cuts], formulas, {i: part for i, (part, _) in parts.items()})) is None:
            return None
        held.enter({i: cuts[i].parts for i in self.attributes})
        numbers = np.full((len(candidates), len(formulas)), np.nan)
        for attribute, some in rows.items():
            part, owner = parts[attribute]
            numbers[some] = measure(held, attribute, part, np.array(owner), formulas)
        return numbers

    def _serves(self, formulas: Sequence[Formula]) -> bool:
        # Who asks to see the statements is to see those of the search too.
        few = self._base.rows <= WORTH_HOLDING and self._engine.tracer is None
        return few and all(formula.of_counts and formula.total != "sum" for formula in formulas)

    def _holding(
        self, states: Sequence[Cuts], formulas: Sequence[Formula], split: Mapping[int, Codes] | None = None
    ) -> HeldCounts | None:
        """Give the counts in memory, where they are few and tell apart what is asked."""
        if not self._serves(formulas):
            return None
        self._reach(states, split)
        if not self._serves(formulas):  # the table was made anew, of more values
            return None
        if self._held is None or self._held.counts is not self._base:
            self._held = HeldCounts(self._engine, self._base)
        return self._held


class HeldCounts:
    """The counts of a table, in memory.

    Args:
        engine: Where the table is.
        counts: The table; read when the first state is measured.
    """

    def __init__(self, engine: Engine, counts: CountTable) -> None:
        self.counts = counts
        self._engine = engine
        self._state: dict[int, Codes] = {}
        self._group: Codes = np.zeros(0, dtype=np.int64)
        self._groups = 0

    @cached_property
    def _columns(self) -> Mapping[str, Codes]:
        found = self._engine.arrays(f"SELECT * FROM {self.counts.table}", step="held_counts")
        return {name: column.astype(np.int64) for name, column in found.items()}

    def chain(self, states: Sequence[Mapping[int, Codes]], formulas: Sequence[Formula]) -> Floats:
        """Measure states, a row each: the number of groups, then the formulas'."""
        last = states[-1]
        refine = all(_tells(last[i], state[i]) for state in states for i in state)
        counted = needed(formulas)
        # States that follow each other refine each other: the last one's groups are all that is told apart.
        rows: Mapping[str, Codes] = self._columns
        if refine and len(states) > 1:
            group, number = self._numbered(last, rows)
            first = np.zeros(number, dtype=np.int64)
            first[group] = np.arange(len(group))
            rows = {name: rows[name][first] for name in rows} | added(group, number, counted, rows)
        numbers = np.empty((len(states), 1 + len(formulas)))
        for place, state in enumerate(states):
            group, number = self._numbered(state, rows)
            groups = added(group, number, counted, rows)
            worst = self._by_candidate(np.zeros(number, dtype=np.int64), groups, formulas, 1)
            numbers[place] = [number, *worst[0]]
        return numbers

    def enter(self, state: Mapping[int, Codes]) -> None:
        """Learn the present state, from which candidates are measured."""
        if not (self._state and all(self._state[i] is state[i] for i in state)):
            self._state = dict(state)
            self._group, self._groups = self._numbered(state, self._columns)

    def split(self, attribute: int, part: Codes, owner: Codes, formulas: Sequence[Formula]) -> Floats:
        """Measure the states after candidates that split groups of their own, a row each.

        Args:
            attribute: Whose candidates they are.
            part: For each of its value codes the number of the part that a candidate makes, -1 for none.
            owner: For each part the number of its candidate; ascending.
            formulas: What to measure.
        """
        _, made, groups = self._parts(attribute, part, len(owner), formulas)
        return self._by_candidate(owner[made], groups, formulas, int(owner.max()) + 1)

    def taken_out(self, attribute: int, part: Codes, owner: Codes, formulas: Sequence[Formula]) -> Floats:
        """Measure the states after candidates that each take one part out of its group, a row each."""
        group, made, groups = self._parts(attribute, part, len(owner), formulas)
        whole = added(self._group, self._groups, needed(formulas), self._columns)
        rest = {name: whole[name][group] - counts for name, counts in groups.items()}
        both = {name: np.concatenate([counts, rest[name]]) for name, counts in groups.items()}
        return self._by_candidate(owner[np.tile(made, 2)], both, formulas, int(owner.max()) + 1)

    def _parts(
        self, attribute: int, part: Codes, parts: int, formulas: Sequence[Formula]
    ) -> tuple[Codes, Codes, Mapping[str, Counts]]:
        """Count each part of each present group: its group, its number, its counts."""
        made = part[self.counts.values[attribute]][self._columns[f"c{attribute}"]]
        inside = np.flatnonzero(made >= 0)
        keys = self._group[inside] * parts + made[inside]
        place, found = numbered(keys, self._groups * parts)
        columns = {name: self._columns[name][inside] for name in needed(formulas)}
        return found // parts, found % parts, added(place, len(found), list(columns), columns)

    @staticmethod
    def _by_candidate(
        candidate: Codes, groups: Mapping[str, Counts], formulas: Sequence[Formula], candidates: int
    ) -> Floats:
        """Give the worst number of the groups of each candidate; NaN where none has records."""
        numbers, there = np.full((candidates, len(formulas)), np.nan), groups["n"] > 0
        if not there.all():
            groups, candidate = {name: counts[there] for name, counts in groups.items()}, candidate[there]
        for place, formula in enumerate(formulas):
            assert formula.of_counts is not None
            worst = np.fmin if formula.total == "min" else np.fmax
            worst.at(numbers[:, place], candidate, formula.of_counts(groups))
        return numbers

    def _numbered(self, state: Mapping[int, Codes], rows: Mapping[str, Codes]) -> tuple[Codes, int]:
        """Number the groups of a state, and give the number of each row's."""
        key, size = np.zeros(len(rows["n"]), dtype=np.int64), 1
        for i, parts in state.items():
            of_code = parts[self.counts.values[i]]
            radix = int(of_code.max(initial=0)) + 1
            if radix == 1:
                continue
            if size * radix > MOST_PLACES:
                key, found = numbered(key, size)
                size = len(found)
            key = key * radix + of_code[rows[f"c{i}"]]
            size *= radix
        group, found = numbered(key, size)
        return group, len(found)


def _tells(finer: Codes, parts: Codes) -> bool:
    """Tell whether values of different parts have different parts in a cut that may be finer."""
    if finer is parts or not parts.any():
        return True
    of_part = np.zeros(int(finer.max()) + 1, dtype=parts.dtype)
    of_part[finer] = parts
    return bool((of_part[finer] == parts).all())


def numbered(keys: Codes, size: int) -> tuple[Codes, Codes]:
    """Number the keys that there are: the number of each, and the keys by number.

    Example:
        >>> numbered(np.array([7, 2, 7]), 10)
        (array([1, 0, 1]), array([2, 7]))
    """
    if size > MOST_PLACES:
        found, places = np.unique(keys, return_inverse=True)
        return places.ravel(), found
    there = np.zeros(size, dtype=bool)
    there[keys] = True
    found = np.flatnonzero(there)
    place = np.empty(size, dtype=np.int64)
    place[found] = np.arange(len(found))
    return place[keys], found


def added(
    group: Codes, groups: int, counted: Sequence[str], columns: Mapping[str, Codes]
) -> dict[str, Counts]:
    """Add up counts by group; they are whole below 2^53, so a sum is exact.

    Example:
        >>> added(np.array([1, 0, 1]), 2, ["n"], {"n": np.array([3, 4, 5])})
        {'n': array([4, 8])}
    """
    return {
        name: np.bincount(group, weights=columns[name], minlength=groups).astype(np.int64) for name in counted
    }
