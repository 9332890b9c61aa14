"""Measures states of the descent by set-oriented queries over collapsed counts.

A channel is a set of attributes that some requirements group by. Two statements measure it, and the text
of each depends on its shape only: states and candidates travel as parameters, lists of part numbers.

- *States along a path.* Their common refinement is grouped first, which leaves few rows; these are expanded
  once per state, regrouped by the state's parts, and reduced to the worst group.
- *Candidates of one state*, each of which separates parts from its groups. The parts of all candidates are
  grouped at once; the rest of each group is its total less the candidate's parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ppdm_sql.engine import Engine
from ppdm_sql.refinement.collapse import Atoms
from ppdm_sql.refinement.cuts import Codes, Cuts, Floats
from ppdm_sql.refinement.gauges import Gauges
from ppdm_sql.refinement.grids import Grid, grid_of

KEY_BITS = 62
"""A group key is a mixed-radix BIGINT; attributes that do not fit start another key."""
WORTH_SHRINKING, WORTH_PROJECTING = 2000, 20_000
"""Grids of fewer rows are left as they are: values are not merged, attributes not left out."""
SHRINK_BELOW = 0.3
"""Merge values when the product of the live domain sizes falls below this share."""


@dataclass(frozen=True)
class _Parts:
    """One attribute in a batch: the part of each of its codes in the grid, and its label in each state."""

    of_code: Codes
    in_state: Codes

    @property
    def radix(self) -> int:
        return int(self.in_state.max()) + 1


class Channel:
    """One grouping of the records, and the gauges that read it.

    Args:
        engine: Where the grids are.
        atoms: The collapsed source.
        gauges: All gauges of the run.
        attributes: Positions of the attributes, in the order of the run.
        protected: Positions of the gauges that the protected counts feed.
        anonymity: Positions of the gauges that read the smallest group.
    """

    def __init__(
        self,
        engine: Engine,
        atoms: Atoms,
        gauges: Gauges,
        attributes: Sequence[int],
        protected: Sequence[int],
        anonymity: Sequence[int],
    ) -> None:
        self.attributes = sorted(attributes)
        self.gauges = [*protected, *anonymity]
        self.anonymity_count = len(anonymity)
        self.groups = 1
        self._engine = engine
        values = [gauges.gauges[position].protected or (0, 0) for position in protected]
        self._base = grid_of(engine, atoms, self.attributes, values)
        self._projections: list[Grid] = []

    def identity(self, cuts: Cuts) -> tuple[int, ...]:
        """Tell states apart as far as this channel can see them."""
        return tuple(id(cuts[attribute]) for attribute in self.attributes)

    def detail(self) -> Floats:
        """Measure the source itself, in which nothing is masked; one scan of the grid."""
        worst = "".join(f", max(p{j} / n)" for j in range(self._base.protected))
        query = f"SELECT min(n){worst} FROM {self._base.table}"
        return np.asarray(self._numbers(self._engine.query(query, step="detail"))[0])

    def path(self, states: Sequence[Cuts]) -> Floats:
        """Measure states, shape (states, gauges of this channel); one scan of the grid."""
        parts = {i: p for i in self.attributes if (p := self._parts(states, i)).radix > 1}
        grid = self._grid(list(parts))
        keys = _packed({i: part.radix for i, part in parts.items()})
        params: dict[str, object] = {"states": len(states)}
        for key in keys:
            radix = 1
            for i in key:
                params[f"b{i}"] = parts[i].of_code[grid.values[i]].tolist()
                params[f"m{i}"] = (radix * parts[i].in_state).ravel().tolist()
                radix *= parts[i].radix
        rows = self._engine.query(_path_text(grid, keys), params, step="measure_path")
        self.groups = int(rows[0][0])
        return self._numbers([row[1:] for row in rows])

    def beside(self, cuts: Cuts, candidates: Sequence[tuple[int, int]]) -> Floats:
        """Measure the states after each of many candidates; one scan of the grid.

        Args:
            cuts: The present state.
            candidates: Attribute and id.

        Returns:
            Numbers of the groups that a candidate splits, NaN where it splits none.
        """
        here = {i: p for i in self.attributes if (p := self._parts([cuts], i)).radix > 1}
        asked: dict[int, Codes] = {}
        owner: list[int] = []
        for number, (attribute, candidate) in enumerate(candidates):
            part = asked.setdefault(attribute, np.full(len(cuts[attribute].labels), -1))
            for codes in cuts[attribute].split_off(candidate):
                part[codes] = len(owner)
                owner.append(number)
        grid = self._grid(sorted({*here, *asked}))
        keys = _packed({i: part.radix for i, part in here.items()})
        params: dict[str, object] = {}
        for key in keys:
            radix = 1
            for i in key:
                params[f"b{i}"] = (radix * here[i].of_code[grid.values[i]]).tolist()
                radix *= here[i].radix
        params |= {f"q{i}": part[grid.values[i]].tolist() for i, part in asked.items()}
        several = len(owner) > len(candidates)
        params |= {"owner": owner} if several else {}
        text = _beside_text(grid, keys, list(asked), several=several)
        rows = self._engine.query(text, params, step="measure_beside")
        numbers = np.full((len(candidates), len(self.gauges)), np.nan)
        numbers[[row[0] for row in rows]] = self._numbers([row[1:] for row in rows])
        return numbers

    def shrink(self, reachable: Sequence[Codes]) -> None:
        """Merge values that no reachable state tells apart, where that makes the grid much smaller."""
        live = sum(np.log(len(np.unique(reachable[i][v]))) for i, v in self._base.values.items())
        if self._base.rows < WORTH_SHRINKING or live > self._base.combinations + np.log(SHRINK_BELOW):
            return
        self._replace(self._base.merge(self._engine, dict(enumerate(reachable))))

    def _replace(self, base: Grid) -> None:
        for grid in (self._base, *self._projections):
            self._engine.discard(grid.table)
        self._base, self._projections = base, []

    def _grid(self, attributes: Sequence[int]) -> Grid:
        """Give the smallest grid that tells these attributes apart, made now where that pays."""
        wide_enough = [grid for grid in self._projections if set(attributes) <= set(grid.values)]
        if wide_enough:
            return min(wide_enough, key=lambda grid: grid.rows)
        if self._base.rows < WORTH_PROJECTING or not 0 < len(attributes) < len(self._base.values):
            return self._base
        self._projections.append(self._base.project(self._engine, sorted(attributes)))
        return self._projections[-1]

    def _parts(self, states: Sequence[Cuts], attribute: int) -> _Parts:
        """Find the common refinement of all states on one attribute."""
        labels = {id(state[attribute]): state[attribute].labels for state in states}
        column = {key: number for number, key in enumerate(labels)}
        order = [column[id(state[attribute])] for state in states]
        distinct, of_code = _common_refinement(np.stack(list(labels.values()), axis=1))
        return _Parts(of_code, distinct[:, order])

    def _numbers(self, rows: Sequence[tuple[float, ...]]) -> Floats:
        """Turn rows of (smallest group, confidences) into numbers of this channel's gauges."""
        found = np.array(rows, dtype=np.float64)
        return np.hstack([found[:, 1:], np.repeat(found[:, :1], self.anonymity_count, axis=1)])


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


def _sum(terms: Iterable[str]) -> str:
    """Add terms as BIGINT; lists of small numbers arrive as INTEGER, whose sum could overflow."""
    return "0::BIGINT + " + " + ".join(terms)


def _path_text(grid: Grid, keys: Sequence[Sequence[int]]) -> str:
    used = [i for key in keys for i in key]
    fine = "".join(f"$b{i}[c{i} + 1] AS b{i}, " for i in used)
    parts = [_sum(f"$m{i}[b{i} * $states + e + 1]" for i in key) for key in keys]
    coarse = "".join(f"{part} AS g{number}, " for number, part in enumerate(parts))
    by_part = "GROUP BY " + ", ".join(f"b{i}" for i in used) if used else ""
    by_group = ", ".join(["e", *(f"g{number}" for number in range(len(keys)))])
    worst = "".join(f", max(p{j} / n)" for j in range(grid.protected))
    return (
        f"SELECT count(*), min(n){worst} FROM ("
        f"SELECT e, {coarse}{grid.sums} FROM (SELECT {fine}{grid.sums} FROM {grid.table} {by_part}) AS fine, "
        f"range($states) AS r(e) GROUP BY {by_group}) AS groups GROUP BY e ORDER BY e"
    )


def _beside_text(grid: Grid, keys: Sequence[Sequence[int]], asked: Sequence[int], *, several: bool) -> str:
    groups = [_sum(f"$b{i}[c{i} + 1]" for i in key) for key in keys] or ["0"]
    numbered = ", ".join(f"{group} AS g{number}" for number, group in enumerate(groups))
    split = ", ".join(f"$q{i}[c{i} + 1] AS q{i}" for i in asked)
    g = ", ".join(f"g{number}" for number in range(len(groups)))
    q = ", ".join(f"q{i}" for i in asked)
    totals = ", ".join(f"sum({c})::BIGINT AS total_{c}" for c in grid.counted)
    rest, protected = "nullif(total_n - n, 0)", range(grid.protected)
    worst = "".join(f", max(greatest(worst_{j}, (total_p{j} - p{j}) / {rest}))" for j in protected)
    owned = (
        f"SELECT *, k AS o, n AS smallest{''.join(f', p{j} / n AS worst_{j}' for j in protected)} FROM parts"
    )
    if several:
        worst_parts = "".join(f", max(p{j} / n) AS worst_{j}" for j in protected)
        owned = (
            f"SELECT {g}, $owner[k + 1] AS o, min(n) AS smallest{worst_parts}, {grid.sums} "
            f"FROM parts GROUP BY {g}, o"
        )
    listed = f"SELECT {g}, unnest([{q}]) AS k, {', '.join(grid.counted)} FROM fine"
    return (
        f"WITH fine AS MATERIALIZED (SELECT {numbered}, {split}, {grid.sums} FROM {grid.table} "
        f"GROUP BY {g}, {q}), "
        f"parts AS (SELECT {g}, k, {grid.sums} FROM ({listed}) WHERE k >= 0 GROUP BY {g}, k), "
        f"owned AS ({owned}), groups AS (SELECT {g}, {totals} FROM fine GROUP BY {g}) "
        f"SELECT o, min(least(smallest, {rest})){worst} FROM owned JOIN groups USING ({g}) GROUP BY o"
    )
