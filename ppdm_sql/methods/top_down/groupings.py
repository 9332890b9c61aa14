"""Groupings of the records: sets of attributes by which the requirements count, measured state by state.

A few statements measure a grouping, and the text of each depends on its shape only: states and candidates
travel as parameters (:mod:`~ppdm_sql.methods.top_down.grouping_sql`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ppdm_sql.engine import Engine, Rows
from ppdm_sql.methods.base.arrays import Codes, Floats
from ppdm_sql.methods.base.code_mapping import recoded
from ppdm_sql.methods.base.collapse import Atoms
from ppdm_sql.methods.top_down.boundaries import GroupsByValue
from ppdm_sql.methods.top_down.count_tables import (
    Counted,
    CountTable,
    count_table,
    count_table_sql,
    counted_rows_sql,
)
from ppdm_sql.methods.top_down.cuts import Candidate, Cut, Cuts
from ppdm_sql.methods.top_down.grouping_sql import (
    by_value_sql,
    chain_sql,
    disclosures_sql,
    path_sql,
    specializations_sql,
    totals,
)
from ppdm_sql.privacy import Formula

KEY_BITS = 62
"""A group key is a mixed-radix BIGINT; attributes that do not fit start another key."""
WORTH_SHRINKING, WORTH_PROJECTING = 2000, 20_000
"""Tables of fewer rows are left as they are: values are not merged, attributes not left out."""
SHRINK_BELOW, MOST_COMBINATIONS = 0.3, 8
"""Merge values when the product of the live domain sizes falls below this share of what it is, and below so
many times the rows: a product far above the rows says nothing of them."""


class Grouping(ABC):
    """What measures one grouping of the records, by formulas over the counts of its groups."""

    attributes: list[int]
    """Positions of the attributes that group, in the order of the run."""
    groups: int = 1
    """Groups of the first state measured last: what measuring one more state costs."""

    @abstractmethod
    def identity(self, cuts: Cuts) -> tuple[int, ...]:
        """Tell states apart as far as this grouping can see them."""

    @abstractmethod
    def detail(self, formulas: Sequence[Formula]) -> Floats:
        """Measure the source itself, in which nothing is masked: the number of groups, then the formulas'."""

    @abstractmethod
    def counted_chain(self, states: Sequence[Cuts], formulas: Sequence[Formula]) -> Floats:
        """Measure states, a row each: the number of groups, then the formulas'."""

    @abstractmethod
    def after_disclosures(
        self, cuts: Cuts, candidates: Sequence[Candidate], formulas: Sequence[Formula]
    ) -> Floats:
        """Measure the states after candidates that all take one part out, as :meth:`after` gives them."""

    @abstractmethod
    def after_specializations(
        self, cuts: Cuts, candidates: Sequence[Candidate], formulas: Sequence[Formula]
    ) -> Floats:
        """Measure the states after candidates that split parts of their own, as :meth:`after` gives them."""

    @abstractmethod
    def path(
        self, cuts: Cuts, attribute: int, disclosed: Sequence[int], formulas: Sequence[Formula]
    ) -> Floats:
        """Measure the states on a way on which values of one attribute are disclosed, one after the other.

        Args:
            cuts: The state from which it starts.
            attribute: One that is suppressed.
            disclosed: Its value codes, in this order.
            formulas: What to measure.

        Returns:
            Shape (disclosures, formulas): of the groups that each splits, as :meth:`after` gives them.
        """

    @abstractmethod
    def by_value(self, cuts: Cuts, attribute: int, part: Codes, boundaries: Codes) -> GroupsByValue:
        """Give the present groups by the values of an attribute too.

        Args:
            cuts: The present state.
            attribute: One that groups.
            part: For each of its value codes the interval, -1 where it is not asked about.
            boundaries: First codes of right halves; the values on both sides of each are to be told apart.
        """

    @abstractmethod
    def shrink(self, horizon: Sequence[Codes]) -> None:
        """Learn, for each attribute of the run, the parts that the coming states can tell apart."""

    def chain(self, states: Sequence[Cuts], formulas: Sequence[Formula]) -> Floats:
        """Measure states, shape (states, formulas)."""
        return self.counted_chain(states, formulas)[:, 1:]

    def after(self, cuts: Cuts, candidates: Sequence[Candidate], formulas: Sequence[Formula]) -> Floats:
        """Measure the state after each candidate, shape (candidates, formulas).

        Only groups that a candidate splits are seen: NaN where it splits none; a sum is what it falls by.
        """
        read = np.full((len(candidates), len(formulas)), np.nan)
        for disjoint, measure in ((False, self.after_disclosures), (True, self.after_specializations)):
            rows = [row for row, (a, _) in enumerate(candidates) if cuts[a].disjoint == disjoint]
            if rows:
                read[rows] = measure(cuts, [candidates[row] for row in rows], formulas)
        return read


@dataclass(frozen=True)
class _Parts:
    """One attribute in a batch: the part of each of its codes in the table, and of that in each state."""

    of_code: Codes
    in_state: Codes

    @property
    def radix(self) -> int:
        return int(self.in_state.max()) + 1


class CountedGrouping(Grouping):
    """A grouping measured on counts of the collapsed source."""

    def __init__(
        self,
        engine: Engine,
        atoms: Atoms,
        attributes: Sequence[int],
        counted: Sequence[Counted],
        horizon: Sequence[Codes],
    ) -> None:
        self.attributes = sorted(attributes)
        self._engine, self._atoms, self._counted = engine, atoms, counted
        self._horizon = {i: horizon[i] for i in self.attributes}
        self._base = count_table(engine, atoms, self._coarse(), counted)
        self._projections: list[CountTable] = []
        self._within_reach: dict[int, Cut] = {}  # by identity; kept, so that no other cut gets its number

    def identity(self, cuts: Cuts) -> tuple[int, ...]:
        return tuple(id(cuts[attribute]) for attribute in self.attributes)

    def detail(self, formulas: Sequence[Formula]) -> Floats:
        coarse, groups = self._coarse(), str(self._base.table)
        if any(parts is not None for parts in coarse.values()):
            atoms = self._atoms.table
            groups = f"({count_table_sql(atoms, dict.fromkeys(self.attributes), self._counted)[0]})"
        query = f"SELECT {', '.join(['count(*)', *totals(formulas)])} FROM {groups} AS groups"
        return np.array(self._engine.query(query, step="detail")[0], dtype=np.float64)

    def counted_chain(self, states: Sequence[Cuts], formulas: Sequence[Formula]) -> Floats:
        self._reach(states)
        parts = {i: p for i in self.attributes if (p := self._parts(states, i)).radix > 1}
        counts = self._smallest_table(list(parts), states[0])
        keys = packed_keys({i: part.radix for i, part in parts.items()})
        params: dict[str, object] = {"states": len(states)}
        for key in keys:
            radix = 1
            for i in key:
                params[f"part{i}"] = parts[i].of_code.tolist()
                params[f"key{i}"] = (radix * parts[i].in_state).ravel().tolist()
                radix *= parts[i].radix
        rows = self._engine.query(chain_sql(counts.table, keys, formulas), params, step="measure_path")
        self.groups = int(rows[0][0])
        return np.array(rows, dtype=np.float64)

    def after_disclosures(
        self, cuts: Cuts, candidates: Sequence[Candidate], formulas: Sequence[Formula]
    ) -> Floats:
        takes: dict[int, Codes] = {}
        for number, (attribute, candidate) in enumerate(candidates):
            taken = takes.setdefault(attribute, np.full(len(cuts[attribute].parts), -1))
            taken[cuts[attribute].split(candidate)[0]] = number
        counts, keys, params = self._present(cuts, takes)
        params |= {f"candidate{i}": taken[counts.values[i]].tolist() for i, taken in takes.items()}
        text = disclosures_sql(counts.table, keys, list(takes), formulas)
        rows = self._engine.query(text, params, step="beside")
        return by_candidate(rows, len(candidates), len(formulas))

    def after_specializations(
        self, cuts: Cuts, candidates: Sequence[Candidate], formulas: Sequence[Formula]
    ) -> Floats:
        parts, owner = numbered_parts(cuts, candidates, range(len(candidates)))
        counts, keys, params = self._present(cuts, parts, grouped=len(parts) > 1)
        params |= {f"part{i}": part[counts.values[i]].tolist() for i, part in parts.items()}
        text = specializations_sql(counts.table, keys, list(parts), formulas)
        rows = self._engine.query(text, {**params, "candidate": owner}, step="specializations")
        return by_candidate(rows, len(candidates), len(formulas))

    def path(
        self, cuts: Cuts, attribute: int, disclosed: Sequence[int], formulas: Sequence[Formula]
    ) -> Floats:
        places = np.where(cuts[attribute].parts == 0, len(disclosed), -1)
        places[list(disclosed)] = np.arange(len(disclosed))
        counts, keys, params = self._present(cuts, {attribute: places}, grouped=False)
        params |= {"place": places[counts.values[attribute]].tolist(), "steps": len(disclosed)}
        rows = self._engine.query(path_sql(counts.table, keys, attribute, formulas), params, step="path")
        return by_candidate(rows, len(disclosed), len(formulas))

    def by_value(self, cuts: Cuts, attribute: int, part: Codes, boundaries: Codes) -> GroupsByValue:
        counts, keys, params = self._present(cuts, {attribute: part}, grouped=False)
        starts, codes = counts.values[attribute], counts.codes[attribute]
        in_order = bool((np.diff(codes) >= 0).all())
        if in_order and bool((codes[boundaries] > codes[boundaries - 1]).all()):
            coded, own = recoded(f"c{attribute}", part[starts], "part", "INTEGER")
            text, groups = by_value_sql(counts.table, keys, attribute, coded, counts.counted)
            return GroupsByValue(text, groups, params | own, starts)
        # The table has merged some of these values for good, so they are read from the atoms this once.
        parts = {i: p for i in self.attributes if i != attribute and (p := cuts[i].parts).max() > 0}
        keys, params = shares_of_keys({i: (p, int(p.max()) + 1) for i, p in parts.items()})
        coded, own = recoded(f"c{attribute}", part, "part", "INTEGER")
        rows = counted_rows_sql(self._atoms.table, self._counted)
        text, groups = by_value_sql(f"({rows})", keys, attribute, coded, self._base.counted)
        return GroupsByValue(text, groups, params | own, np.arange(len(part)))

    def _present(
        self, cuts: Cuts, split: Mapping[int, Codes], *, grouped: bool = True
    ) -> tuple[CountTable, list[list[int]], dict[str, object]]:
        """Give a table to measure candidates on, the keys of the present groups, and their parameters.

        Args:
            cuts: The present state.
            split: For each attribute of the candidates what they make of each value code.
            grouped: Whether the present groups are by these attributes too.
        """
        self._reach([cuts], split)
        by = (i for i in self.attributes if grouped or i not in split)
        here = {i: p for i in by if (p := self._parts([cuts], i)).radix > 1}
        counts = self._smallest_table(sorted({*here, *split}), cuts)
        keys, params = shares_of_keys({i: (part.of_code, part.radix) for i, part in here.items()})
        return counts, keys, params

    # -- the table of counts ----------------------------------------------------------------------

    def _coarse(self) -> dict[int, Codes | None]:
        """Give the parts to count by, None for an attribute whose values all differ."""
        return {i: None if len(p) == len(np.unique(p)) else p for i, p in self._horizon.items()}

    def shrink(self, horizon: Sequence[Codes]) -> None:
        """Merge values that no coming state tells apart, where that makes the table much smaller."""
        self._horizon = {i: horizon[i] for i in self.attributes}
        merged = {i: horizon[i][codes] for i, codes in self._base.values.items()}
        live = sum(np.log(len(np.unique(parts))) for parts in merged.values())
        few = live < np.log(MOST_COMBINATIONS * max(self._base.rows, 1))
        fewer = live < self._base.combinations + np.log(SHRINK_BELOW)
        if self._base.rows >= WORTH_SHRINKING and few and fewer:
            self._replace(self._base.merge(self._engine, horizon))

    def _reach(self, states: Sequence[Cuts], split: Mapping[int, Codes] | None = None) -> None:
        """Make the table anew from the atoms where it has merged what is to be told apart."""
        beyond: dict[int, list[Codes]] = {}
        for i in self.attributes:
            cuts = {id(state[i]): state[i] for state in states}
            parts = [cut.parts for key, cut in cuts.items() if key not in self._within_reach]
            parts += [split[i]] if split and i in split else []
            found = [part for part in parts if not self._base.tells(i, part)]
            if found:
                beyond[i] = found
            else:
                self._within_reach |= cuts
        if not beyond:
            return
        for i, parts in beyond.items():
            both = np.unique(np.stack([self._horizon[i], *parts], axis=1), axis=0, return_inverse=True)[1]
            self._horizon[i] = both.ravel()
        self._replace(count_table(self._engine, self._atoms, self._coarse(), self._counted))

    def _replace(self, base: CountTable) -> None:
        for counts in (self._base, *self._projections):
            self._engine.discard(counts.table)
        self._base, self._projections, self._within_reach = base, [], {}

    def _smallest_table(self, attributes: Sequence[int], cuts: Cuts) -> CountTable:
        """Give the smallest table that tells these attributes apart, made now where that pays.

        It pays where values are disclosed: each attribute in use stays so for many steps. A taxonomy or a
        column of intervals is asked about once or twice, together with others each time.
        """
        wide_enough = [counts for counts in self._projections if set(attributes) <= set(counts.values)]
        if wide_enough:
            return min(wide_enough, key=lambda counts: counts.rows)
        some = 0 < len(attributes) < len(self._base.values)
        lasting = some and not any(cuts[i].disjoint for i in attributes)
        if self._base.rows < WORTH_PROJECTING or not lasting:
            return self._base
        self._projections.append(self._base.project(self._engine, sorted(attributes)))
        return self._projections[-1]

    def _parts(self, states: Sequence[Cuts], attribute: int) -> _Parts:
        """Find the common refinement of all states on one attribute, by the codes of the table."""
        values = self._base.values[attribute]
        parts = {id(state[attribute]): state[attribute].parts[values] for state in states}
        column = {key: number for number, key in enumerate(parts)}
        order = [column[id(state[attribute])] for state in states]
        distinct, of_code = _common_refinement(np.stack(list(parts.values()), axis=1))
        return _Parts(of_code, distinct[:, order])


def numbered_parts(
    cuts: Cuts, candidates: Sequence[Candidate], order: Iterable[int]
) -> tuple[dict[int, Codes], list[int]]:
    """Number the parts that candidates make, in an order of these, and tell whose each part is.

    Of each attribute it is given by value code which part it is in, -1 for none.
    """
    parts, owner = {a: np.full(len(cuts[a].parts), -1) for a, _ in candidates}, list[int]()
    for number in order:
        attribute, candidate = candidates[number]
        for codes in cuts[attribute].split(candidate):
            parts[attribute][codes] = len(owner)
            owner.append(number)
    return parts, owner


def _common_refinement(parts: Codes) -> tuple[Codes, Codes]:
    """Give the distinct rows of parts, shape (codes, states), and the row of each code.

    States that follow each other refine each other, so the last one's parts are the answer most often.
    """
    finest = parts[:, parts.max(axis=0).argmax()]
    distinct = np.zeros((int(finest.max()) + 1, parts.shape[1]), dtype=parts.dtype)
    distinct[finest] = parts
    if np.array_equal(distinct[finest], parts):
        return distinct, finest
    distinct, of_code = np.unique(parts, axis=0, return_inverse=True)
    return distinct, of_code.ravel()


def packed_keys(radices: dict[int, int]) -> list[list[int]]:
    """Spread attributes over as few mixed-radix keys as their radices allow."""
    keys: list[list[int]] = []
    size = 1
    for attribute, radix in radices.items():
        size *= radix
        if not keys or size.bit_length() > KEY_BITS:
            keys.append([])
            size = radix
        keys[-1].append(attribute)
    return keys


def shares_of_keys(parts: Mapping[int, tuple[Codes, int]]) -> tuple[list[list[int]], dict[str, object]]:
    """Pack parts, given with their number, into keys; and give the share of each code in them."""
    keys = packed_keys({i: radix for i, (_, radix) in parts.items()})
    shares: dict[str, object] = {}
    for key in keys:
        size = 1
        for i in key:
            of_code, radix = parts[i]
            shares[f"key{i}"] = (size * of_code).tolist()
            size *= radix
    return keys, shares


def by_candidate(rows: Rows, candidates: int, formulas: int) -> Floats:
    """Put rows of (candidate, numbers) in the order of the candidates."""
    numbers = np.full((candidates, formulas), np.nan)
    numbers[[row[0] for row in rows]] = [row[1:] for row in rows] or np.empty((0, formulas))
    return numbers
