"""Measures states in which a bad class of one grouping takes records of another's along.

Where requirements group by several sets of columns, what is kept is the largest set of records in which every
class of every requirement is good: the bad classes go, all is counted again, until nothing is bad. So it is
where a class is held against the table, which is then the one that is left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.methods.base.arrays import Codes, Floats
from ppdm_sql.methods.base.collapse import Atoms
from ppdm_sql.methods.top_down.count_tables import Counted, sums
from ppdm_sql.methods.top_down.cuts import Candidate, Cuts, refined
from ppdm_sql.methods.top_down.groupings import CountedGrouping, packed_keys
from ppdm_sql.methods.top_down.left_out import AllowedConstraints
from ppdm_sql.methods.top_down.left_out_measure import AllowedMeasure, AskedGrouping, placed
from ppdm_sql.methods.top_down.left_out_sql import KeyedRules, classes_sql, round_sql

STATES = 16
"""How many states are measured at once."""


def settled(
    engine: Engine,
    rows: Table,
    groupings: Callable[[Table], Sequence[KeyedRules]],
    records: int,
    most: int,
    *,
    once: bool,
) -> Table:
    """Take the bad classes away and count again, until nothing is bad or a state leaves out too much.

    Args:
        engine: Where the rows are.
        rows: Working table of counts with ``state``, keys and ``n``.
        groupings: Gives what is asked of the classes, by the rows that are left.
        records: Of each state.
        most: How many a state may leave out; one that leaves out more is taken away.
        once: Whether no class of what is left changes, so that one round is enough.

    Cost: some three scans of the rows a round.
    """
    before = engine.size(rows)
    while True:
        next_rows = engine.materialize("settled", round_sql(rows, groupings(rows)))
        engine.discard(rows)
        rows = engine.materialize("within", _within_sql(next_rows), {"least": records - most})
        engine.discard(next_rows)
        after = engine.size(rows)
        if once or after in (before, 0):
            return rows
        before = after


def _within_sql(rows: Table) -> str:
    states = f"SELECT state FROM {rows} GROUP BY state HAVING sum(n) >= $least"
    return f"SELECT r.* FROM {rows} AS r SEMI JOIN ({states}) AS s ON s.state = r.state"


class SettledMeasure(AllowedMeasure):
    """Measures what is kept where a bad class of one grouping takes records of another's along.

    Cost: for every few candidates a grouped table of all their states, and some rounds over it; where
    classes are held against the table, the same for each candidate.
    """

    def __init__(
        self,
        engine: Engine,
        atoms: Atoms,
        constraints: AllowedConstraints,
        horizon: Sequence[Codes],
        classes: int | None = None,
    ) -> None:
        super().__init__(engine, atoms, constraints, horizon, classes)
        self._compares = constraints.compares_with_table
        everything: dict[Counted, str] = {}
        for asked in self._asked:
            for key in asked.counted:
                everything.setdefault(key, f"p{len(everything)}")
        union = sorted({i for asked in self._asked for i in asked.attributes})
        self._everything = everything
        self._all = CellGrouping(engine, atoms, union, list(everything), horizon)

    def detail(self) -> Floats:
        cells = self._all.source_cells(self._asked)
        return np.asarray(self._measured_cells(cells, 1)[0])

    def chain(self, states: Sequence[Cuts]) -> Floats:
        batches = [states[first : first + self._batch] for first in range(0, len(states), self._batch)]
        cells = ((self._all.cells(batch, self._asked), len(batch)) for batch in batches)
        return np.vstack([self._measured_cells(*of_batch) for of_batch in cells])

    @property
    def _batch(self) -> int:
        return 1 if self._compares else STATES

    def after(self, cuts: Cuts, known: Floats, candidates: Sequence[Candidate]) -> Floats:
        return self.chain([refined(cuts, candidate) for candidate in candidates])

    def _measured_cells(self, cells: tuple[Table, Sequence[Sequence[str]]], states: int) -> Floats:
        """Settle the states, and measure what is left of them."""
        rows, keys = cells
        limits = self._allowed

        def groupings(table: Table) -> list[KeyedRules]:
            return self._keyed(table, keys)

        single = len(self._asked) == 1 and not self._compares
        rows = settled(self._engine, rows, groupings, limits.records, limits.most, once=single)
        numbers = np.full((states, self._size), np.nan)
        numbers[:, limits.left_out] = limits.records
        for asked, grouping in zip(self._asked, groupings(rows), strict=True):
            found = np.array(
                self._engine.query(classes_sql(rows, grouping), step="settled classes"), dtype=np.float64
            )
            if len(found):
                there = found[:, 0].astype(np.int64)
                some = numbers[there]
                some[:, limits.left_out] = left = limits.records - found[:, 1]
                placed(some, limits, asked, left, found[:, 2], found[:, 3:])
                numbers[there] = some
        self._engine.discard(rows)
        return numbers

    def _keyed(self, rows: Table, keys: Sequence[Sequence[str]]) -> list[KeyedRules]:
        """Give what is asked of the classes of the rows, the shares of the table being those of the rows."""
        shares: dict[int, list[int]] = {}

        def totals(column: int) -> list[int]:
            if column not in shares:
                names = [self._everything[column, code] for code in range(self._atoms.coded[column].size)]
                (found,) = self._engine.query(f"SELECT {sums(names)} FROM {rows}", step="shares")
                shares[column] = [int(number or 0) for number in found]
            return shares[column]

        return [
            KeyedRules(
                own,
                [
                    "sum(n)::BIGINT AS n",
                    *(f"sum({self._everything[key]})::BIGINT AS {p}" for key, p in asked.counted.items()),
                ],
                asked.rules(self._engine, self._atoms, totals),
            )
            for asked, own in zip(self._asked, keys, strict=True)
        ]


class CellGrouping(CountedGrouping):
    """The counts by the attributes of all groupings, of which states are tables of keyed cells."""

    def source_cells(self, asked: Sequence[AskedGrouping]) -> tuple[Table, Sequence[Sequence[str]]]:
        """Give the cells of the source itself, in which nothing is masked, as state 0."""
        keys = [[f"c{i}" for i in grouping.attributes] or ["state"] for grouping in asked]
        return self._engine.materialize("cells", self._source_sql()), keys

    def _source_sql(self) -> str:
        columns = ", ".join(f"c{i}" for i in self.attributes)
        counts = ", ".join(
            f"coalesce(sum(n) FILTER (WHERE c{column} = {code}), 0)::BIGINT AS p{j}"
            for j, (column, code) in enumerate(self._counted)
        )
        more = f", {counts}" if counts else ""
        return (
            f"SELECT 0 AS state, {columns}, sum(n)::BIGINT AS n{more} FROM {self._atoms.table} "
            f"GROUP BY {columns}"
        )

    def cells(
        self, states: Sequence[Cuts], asked: Sequence[AskedGrouping]
    ) -> tuple[Table, Sequence[Sequence[str]]]:
        """Give the cells of states, and for each grouping the columns that tell its classes apart."""
        self._reach(states)
        parts = {i: p for i in self.attributes if (p := self._parts(states, i)).radix > 1}
        counts = self._smallest_table(list(parts), states[0])
        params: dict[str, object] = {"states": len(states)}
        params |= {f"part{i}": part.of_code.tolist() for i, part in parts.items()}
        columns, names = list[str](), list[list[str]]()
        for number, grouping in enumerate(asked):
            radices = {i: parts[i].radix for i in grouping.attributes if i in parts}
            names.append([])
            for place, key in enumerate(packed_keys(radices)):
                radix, terms = 1, list[str]()
                for i in key:
                    name = f"key{number}_{i}"
                    params[name] = (radix * parts[i].in_state).ravel().tolist()
                    terms.append(f"${name}[part{i} * $states + state + 1]")
                    radix *= parts[i].radix
                names[-1].append(f"g{number}_{place}")
                columns.append(f"0::BIGINT + {' + '.join(terms)} AS g{number}_{place}")
        summed = sums(counts.counted)
        listed = "".join(f"$part{i}[c{i} + 1] AS part{i}, " for i in parts)
        by_part = "GROUP BY " + ", ".join(f"part{i}" for i in parts) if parts else ""
        text = (
            f"SELECT {', '.join(['state', *columns])}, {summed} "
            f"FROM (SELECT {listed}{summed} FROM {counts.table} {by_part}) AS refinement, "
            f"range($states) AS states(state) "
            f"GROUP BY {', '.join(['state', *(name for own in names for name in own)])}"
        )
        return self._engine.materialize("cells", text, params), names


def allowed_measure(
    engine: Engine,
    atoms: Atoms,
    constraints: AllowedConstraints,
    horizon: Sequence[Codes],
    classes: int | None = None,
) -> AllowedMeasure:
    """Choose what measures the states of a run."""
    several = len({frozenset(item.attributes) for item in constraints.asked}) > 1
    settles = constraints.most and (several or constraints.compares_with_table)
    kind = SettledMeasure if settles else AllowedMeasure
    return kind(engine, atoms, constraints, horizon, classes)
