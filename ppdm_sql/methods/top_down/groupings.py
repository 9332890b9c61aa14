"""Measures states of the descent by set-oriented queries over collapsed counts.

A channel is a set of attributes that some requirements group by. A few statements measure it, and the
text of each depends on its shape only: states and candidates travel as parameters, lists of part numbers.

- *States along a path.* Their common refinement is grouped first, which leaves few rows; these are expanded
  once per state, regrouped by the state's parts, and reduced to the worst group.
- *Candidates of one state* that each take one part out of the same group, such as suppressed values. The
  parts of all candidates are grouped at once; the rest of each group is its total less the part.
- *Candidates of one attribute* that split different groups, such as nodes of a taxonomy. One grouping by the
  parts of all of them tells what each leads to. On large grids, where reading costs more than planning, one
  grouping with a conditional sum for each part serves the candidates of all attributes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ppdm_sql.engine import Engine, Rows
from ppdm_sql.methods.base.arrays import Codes, Floats
from ppdm_sql.methods.base.collapse import Atoms
from ppdm_sql.methods.top_down.count_tables import Counted, CountTable, count_table_of, count_table_sql
from ppdm_sql.methods.top_down.cuts import Cut, Cuts
from ppdm_sql.methods.top_down.grouping_sql import beside_sql, needed, path_sql, sweep_sql, within_sql
from ppdm_sql.privacy import Formula

KEY_BITS = 62
"""A group key is a mixed-radix BIGINT; attributes that do not fit start another key."""
WORTH_SHRINKING, WORTH_PROJECTING = 2000, 20_000
"""Grids of fewer rows are left as they are: values are not merged, attributes not left out."""
SHRINK_BELOW, MOST_COMBINATIONS = 0.3, 8
"""Merge values when the product of the live domain sizes falls below this share of what it is, and below so
many times the rows: a product far above the rows says nothing of them."""
WORTH_SWEEPING, MOST_SUMS = 100_000, 80
"""Rows from which on candidates of all attributes are read at once, and sums that a statement may hold."""


@dataclass(frozen=True)
class _Parts:
    """One attribute in a batch: the part of each of its codes in the grid, and its label in each state."""

    of_code: Codes
    in_state: Codes

    @property
    def radix(self) -> int:
        return int(self.in_state.max()) + 1


class Grouping:
    """One grouping of the records.

    Args:
        engine: Where the grids are.
        atoms: The collapsed source.
        attributes: Positions of the attributes, in the order of the run.
        counted: What is counted beside the records.
        horizon: For each attribute of the run, the parts that the coming states can tell apart.
    """

    def __init__(
        self,
        engine: Engine,
        atoms: Atoms,
        attributes: Sequence[int],
        counted: Sequence[Counted],
        horizon: Sequence[Codes],
    ) -> None:
        self.attributes = sorted(attributes)
        self.groups = 1
        self._engine = engine
        self._atoms = atoms
        self._counted = counted
        self._horizon = {i: horizon[i] for i in self.attributes}
        self._base = count_table_of(engine, atoms, self._coarse(), counted)
        self._projections: list[CountTable] = []
        self._told: dict[int, Cut] = {}

    def _coarse(self) -> dict[int, Codes | None]:
        """Give the parts to group by, None for an attribute whose values all differ."""
        return {i: None if len(p) == len(np.unique(p)) else p for i, p in self._horizon.items()}

    def identity(self, cuts: Cuts) -> tuple[int, ...]:
        """Tell states apart as far as this channel can see them."""
        return tuple(id(cuts[attribute]) for attribute in self.attributes)

    def detail(self, readings: Sequence[Formula]) -> Floats:
        """Read the source itself, in which nothing is masked, before any shrinking; one scan.

        Returns:
            The number of groups, then one number a reading.
        """
        names = {name: name for name in self._base.counted}
        numbers = ", ".join(f"{reading.total}({reading.of(names)})" for reading in readings)
        groups = str(self._base.table)
        if any(parts is not None for parts in self._coarse().values()):
            groups = f"({count_table_sql(self._atoms, dict.fromkeys(self.attributes), self._counted)[0]})"
        query = f"SELECT count(*), {numbers} FROM {groups} AS groups"
        return np.array(self._engine.query(query, step="detail")[0], dtype=np.float64)

    def path(self, states: Sequence[Cuts], readings: Sequence[Formula]) -> Floats:
        """Read states, shape (states, readings); one scan of the grid."""
        return self.counted_path(states, readings)[:, 1:]

    def counted_path(self, states: Sequence[Cuts], readings: Sequence[Formula]) -> Floats:
        """Read states, each with its number of groups first."""
        self._reach(states)
        parts = {i: p for i in self.attributes if (p := self._parts(states, i)).radix > 1}
        grid = self._grid(list(parts), states[0])
        keys = _packed({i: part.radix for i, part in parts.items()})
        params: dict[str, object] = {"states": len(states)}
        for key in keys:
            radix = 1
            for i in key:
                params[f"b{i}"] = parts[i].of_code.tolist()
                params[f"m{i}"] = (radix * parts[i].in_state).ravel().tolist()
                radix *= parts[i].radix
        rows = self._engine.query(path_sql(grid, keys, readings), params, step="measure_path")
        self.groups = int(rows[0][0])
        return np.array(rows, dtype=np.float64)

    def beside(
        self, cuts: Cuts, candidates: Sequence[tuple[int, int]], readings: Sequence[Formula]
    ) -> Floats:
        """Read the states after each of many candidates, each of which takes one part out; one scan.

        Args:
            cuts: The present state.
            candidates: Attribute and id, of cuts that are not :attr:`~Cut.disjoint`.
            readings: What to read; a sum is given as what it falls by.

        Returns:
            Shape (candidates, readings), of the groups that a candidate splits; NaN where it splits none.
        """
        asked: dict[int, Codes] = {}
        for number, (attribute, candidate) in enumerate(candidates):
            part = asked.setdefault(attribute, np.full(len(cuts[attribute].labels), -1))
            part[cuts[attribute].split(candidate)[0]] = number
        self._reach([cuts], asked)
        here = {i: p for i in self.attributes if (p := self._parts([cuts], i)).radix > 1}
        grid = self._grid(sorted({*here, *asked}), cuts)
        keys, params = self._keyed(here)
        params |= {f"q{i}": part[grid.values[i]].tolist() for i, part in asked.items()}
        rows = self._engine.query(beside_sql(grid, keys, list(asked), readings), params, step="beside")
        return _by_candidate(rows, len(candidates), len(readings))

    def within(
        self, cuts: Cuts, attribute: int, candidates: Sequence[int], readings: Sequence[Formula]
    ) -> Floats:
        """Read the states after each of the candidates of one attribute; one scan.

        Args:
            cuts: The present state.
            attribute: Its position; its cut is :attr:`~Cut.disjoint`.
            candidates: Ids.
            readings: What to read; a sum is given as what it falls by.

        Returns:
            Shape (candidates, readings), of the groups that a candidate splits; NaN where it splits none.
        """
        cut = cuts[attribute]
        part, owner = np.full(len(cut.labels), -1), list[int]()
        for number, candidate in enumerate(candidates):
            for codes in cut.split(candidate):
                part[codes] = len(owner)
                owner.append(number)
        self._reach([cuts], {attribute: part})
        others = (i for i in self.attributes if i != attribute)
        here = {i: p for i in others if (p := self._parts([cuts], i)).radix > 1}
        grid = self._grid(sorted({*here, attribute}), cuts)
        keys, params = self._keyed(here)
        params |= {"q": part[grid.values[attribute]].tolist(), "owner": owner}
        text = within_sql(grid, keys, attribute, readings)
        rows = self._engine.query(text, params, step="within")
        return _by_candidate(rows, len(candidates), len(readings))

    def apart(self, cuts: Cuts, candidates: Sequence[tuple[int, int]], readings: Sequence[Formula]) -> Floats:
        """Read the states after candidates of :attr:`~Cut.disjoint` cuts, in the way that costs least."""
        attributes = list(dict.fromkeys(attribute for attribute, _ in candidates))
        if self.is_large and len(attributes) > 1:
            return self.sweep(cuts, candidates, readings)
        read = np.empty((len(candidates), len(readings)))
        for attribute in attributes:
            rows = [row for row, candidate in enumerate(candidates) if candidate[0] == attribute]
            read[rows] = self.within(cuts, attribute, [candidates[row][1] for row in rows], readings)
        return read

    @property
    def is_large(self) -> bool:
        """Whether candidates of several attributes are better read in one scan than in one each."""
        return self._base.rows >= WORTH_SWEEPING

    def sweep(self, cuts: Cuts, candidates: Sequence[tuple[int, int]], readings: Sequence[Formula]) -> Floats:
        """Read the states after candidates of several attributes; a scan for every few of them.

        Args:
            cuts: The present state.
            candidates: Attribute and id, of cuts that are :attr:`~Cut.disjoint`.
            readings: What to read; a sum is given as what it falls by.

        Returns:
            Shape (candidates, readings), of the groups that a candidate splits; NaN where it splits none.
        """
        most = max(MOST_SUMS // len(needed(readings)), 1)
        batches: list[list[list[Codes]]] = [[]]
        for attribute, candidate in candidates:
            parts = list(cuts[attribute].split(candidate))
            if batches[-1] and sum(map(len, batches[-1])) + len(parts) > most:
                batches.append([])
            batches[-1].append(parts)
        read, first = [], 0
        for batch in batches:
            attributes = [attribute for attribute, _ in candidates[first : first + len(batch)]]
            read.append(self._swept(cuts, attributes, batch, readings))
            first += len(batch)
        return np.vstack(read)

    def _swept(
        self,
        cuts: Cuts,
        attributes: Sequence[int],
        split: Sequence[Sequence[Codes]],
        readings: Sequence[Formula],
    ) -> Floats:
        part = {i: np.full(len(cuts[i].labels), -1) for i in attributes}
        numbers, made = list[range](), 0
        for attribute, parts in zip(attributes, split, strict=True):
            numbers.append(range(made, made + len(parts)))
            for number, codes in zip(numbers[-1], parts, strict=True):
                part[attribute][codes] = number
            made += len(parts)
        self._reach([cuts], part)
        here = {i: p for i in self.attributes if (p := self._parts([cuts], i)).radix > 1}
        grid = self._grid(sorted({*here, *part}), cuts)
        keys, params = self._keyed(here)
        params |= {f"q{i}": codes[grid.values[i]].tolist() for i, codes in part.items()}
        text = sweep_sql(grid, keys, list(zip(attributes, numbers, strict=True)), readings)
        (row,) = self._engine.query(text, params, step="sweep")
        return np.array(row, dtype=np.float64).reshape(len(split), len(readings))

    @staticmethod
    def _keyed(here: Mapping[int, _Parts]) -> tuple[list[list[int]], dict[str, object]]:
        """Give the keys of the present groups, and the share of each code in its key."""
        keys = _packed({i: part.radix for i, part in here.items()})
        params: dict[str, object] = {}
        for key in keys:
            radix = 1
            for i in key:
                params[f"b{i}"] = (radix * here[i].of_code).tolist()
                radix *= here[i].radix
        return keys, params

    def shrink(self, horizon: Sequence[Codes]) -> None:
        """Merge values that no coming state tells apart, where that makes the grid much smaller."""
        self._horizon = {i: horizon[i] for i in self.attributes}
        merged = {i: horizon[i][codes] for i, codes in self._base.values.items()}
        live = sum(np.log(len(np.unique(parts))) for parts in merged.values())
        few = live < np.log(MOST_COMBINATIONS * max(self._base.rows, 1))
        fewer = live < self._base.combinations + np.log(SHRINK_BELOW)
        if self._base.rows < WORTH_SHRINKING or not (few and fewer):
            return
        self._replace(self._base.merge(self._engine, dict(enumerate(horizon))))

    def _reach(self, states: Sequence[Cuts], asked: Mapping[int, Codes] | None = None) -> None:
        """Make the grid anew from the atoms where it has merged what is asked about."""
        beyond: dict[int, list[Codes]] = {}
        for i in self.attributes:
            cuts = {id(state[i]): state[i] for state in states}
            parts = [cut.labels for key, cut in cuts.items() if key not in self._told]
            parts += [asked[i]] if asked and i in asked else []
            found = [labels for labels in parts if not self._base.tells(i, labels)]
            if found:
                beyond[i] = found
            else:
                self._told |= cuts
        if not beyond:
            return
        for i, labels in beyond.items():
            both = np.unique(np.stack([self._horizon[i], *labels], axis=1), axis=0, return_inverse=True)[1]
            self._horizon[i] = both.ravel()
        self._replace(count_table_of(self._engine, self._atoms, self._coarse(), self._counted))

    def _replace(self, base: CountTable) -> None:
        for grid in (self._base, *self._projections):
            self._engine.discard(grid.table)
        self._base, self._projections = base, []
        self._told = {}

    def _grid(self, attributes: Sequence[int], cuts: Cuts) -> CountTable:
        """Give the smallest grid that tells these attributes apart, made now where that pays.

        It pays where values are disclosed: each attribute in use stays so for many steps. A taxonomy or a
        column of intervals is asked about once or twice, together with others each time.
        """
        wide_enough = [grid for grid in self._projections if set(attributes) <= set(grid.values)]
        if wide_enough:
            return min(wide_enough, key=lambda grid: grid.rows)
        some = 0 < len(attributes) < len(self._base.values)
        lasting = some and not any(cuts[i].disjoint for i in attributes)
        if self._base.rows < WORTH_PROJECTING or not lasting:
            return self._base
        self._projections.append(self._base.project(self._engine, sorted(attributes)))
        return self._projections[-1]

    def _parts(self, states: Sequence[Cuts], attribute: int) -> _Parts:
        """Find the common refinement of all states on one attribute, by the codes of the grid."""
        values = self._base.values[attribute]
        labels = {id(state[attribute]): state[attribute].labels[values] for state in states}
        column = {key: number for number, key in enumerate(labels)}
        order = [column[id(state[attribute])] for state in states]
        distinct, of_code = _common_refinement(np.stack(list(labels.values()), axis=1))
        return _Parts(of_code, distinct[:, order])


def _common_refinement(labels: Codes) -> tuple[Codes, Codes]:
    """Give the distinct rows of labels, shape (codes, states), and the row of each code.

    States that follow each other refine each other, so the last one's parts are the answer most often.
    """
    finest = labels[:, labels.max(axis=0).argmax()]
    distinct = np.zeros((int(finest.max()) + 1, labels.shape[1]), dtype=labels.dtype)
    distinct[finest] = labels
    if np.array_equal(distinct[finest], labels):
        return distinct, finest
    distinct, of_code = np.unique(labels, axis=0, return_inverse=True)
    return distinct, of_code.ravel()


def _packed(radices: dict[int, int]) -> list[list[int]]:
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


def _by_candidate(rows: Rows, candidates: int, readings: int) -> Floats:
    """Put rows of (candidate, numbers) in the order of the candidates."""
    numbers = np.full((candidates, readings), np.nan)
    numbers[[row[0] for row in rows]] = [row[1:] for row in rows] or np.empty((0, readings))
    return numbers
