"""Measures states over records, each of which knows its leaf: the class that it is in.

The paper keeps a tree of partitions whose leaves hold records (TIPS, slides 15 and 16). Here a leaf is a
number beside each record: records with the same number share a class. A specialization, whoever made it,
multiplies the numbers and adds the child, so that one pass over one column makes the new leaves. What values
the partner's columns hold need not be known for it.

The working tables of one party stand in the agreed order of the records, row beside row, and are read by
positional joins; :meth:`~ppdm_sql.engine.Engine.workspace` sees to it that DuckDB keeps that order.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.methods.base.arrays import Codes, Floats
from ppdm_sql.methods.base.code_mapping import recoded
from ppdm_sql.methods.base.collapse import Atoms
from ppdm_sql.methods.top_down.constraints import Constraints
from ppdm_sql.methods.top_down.count_tables import Counted
from ppdm_sql.methods.top_down.cuts import Cuts
from ppdm_sql.methods.top_down.grouping_sql import needed, taken_out
from ppdm_sql.methods.top_down.measuring import GroupingMeasure
from ppdm_sql.privacy import Formula

LARGEST, RENUMBERED = 2**62, 2**32
"""Numbers of leaves stay below the first; where they would not, the leaves are numbered anew, below the
second."""
Params = dict[str, object]
Text = Callable[[str, Sequence[Formula]], str]


def unsigned(largest: int) -> str:
    """Give the smallest type of numbers from 0 on.

    Example:
        >>> unsigned(255), unsigned(256)
        ('UTINYINT', 'USMALLINT')
    """
    bits = next(bits for bits in (8, 16, 32, 64) if largest < 1 << bits)
    return {8: "UTINYINT", 16: "USMALLINT", 32: "UINTEGER", 64: "UBIGINT"}[bits]


class Leaves:
    """The leaf of every record, for one set of attributes.

    Args:
        engine: Where the tables are.
        records: Working table of the records.
    """

    def __init__(self, engine: Engine, records: Table) -> None:
        self._engine = engine
        self.table = engine.materialize("leaves", f"SELECT 0::UTINYINT AS leaf FROM {records}")
        self.sizes = ""
        self._largest = 0

    def split(self, child: str, children: int, beside: str, params: Params) -> None:
        """Let leaves fall into parts.

        Args:
            child: SQL of each record's child, 0 where it stays with the rest.
            children: How many there are, the rest aside.
            beside: The table, in the order of the records, whose columns ``child`` names.
            params: Parameters of ``child``.

        Cost: one scan of two columns.
        """
        if (self._largest + 1) * (children + 1) > LARGEST:
            self._replace(_RENUMBERED.format(leaves=self.table), {})
            self._largest = RENUMBERED
        self._largest = (self._largest + 1) * (children + 1) - 1
        leaf = f"leaf::BIGINT * {children + 1} + greatest({child}, 0)"
        query = (
            f"SELECT ({leaf})::{unsigned(self._largest)} AS leaf FROM {self.table} POSITIONAL JOIN {beside}"
        )
        self._replace(query, params)

    def _replace(self, query: str, params: Params) -> None:
        table = self._engine.materialize("leaves", query, params)
        self._engine.discard(self.table)
        self.table = table

    def read(self, records: Table, sums: str, numbers: Sequence[str]) -> Floats:
        """Read the present leaves, and take down a digest of their sizes.

        Returns:
            The number of leaves, then the numbers asked.

        Cost: one scan of the leaves and the columns counted.
        """
        asked = "".join(f", {number}" for number in numbers)
        groups = f"SELECT leaf, {sums} FROM {self.table} POSITIONAL JOIN {records} GROUP BY leaf"
        sizes = "sha256(string_agg(n::VARCHAR, ',' ORDER BY n))"
        query = f"SELECT {sizes}, max(leaf), count(*){asked} FROM ({groups}) AS groups"
        ((self.sizes, self._largest, *found),) = self._engine.query(query, step="leaves")
        return np.array(found, dtype=np.float64)


_RENUMBERED = """
SELECT d.number AS leaf
FROM (SELECT leaf, row_number() OVER () AS place FROM {leaves}) AS r
JOIN (SELECT leaf, row_number() OVER (ORDER BY leaf) AS number FROM {leaves} GROUP BY leaf) AS d
    ON d.leaf = r.leaf
ORDER BY r.place
"""


class LeafGrouping:
    """One grouping of the records, read off their leaves; it knows the present state only.

    Args:
        engine: Where the tables are.
        records: Working table of the records.
        attributes: Positions of the attributes that group.
        counted: What is counted beside the records.
        leaves: The leaves by those attributes.
    """

    def __init__(
        self,
        engine: Engine,
        records: Table,
        attributes: Sequence[int],
        counted: Sequence[Counted],
        leaves: Leaves,
    ) -> None:
        self.attributes, self.groups, self.leaves = list(attributes), 1, leaves
        self._engine, self._records = engine, records
        self._read: dict[object, Floats] = {}
        self._counted = {f"p{j}": f"c{column} = {code}" for j, (column, code) in enumerate(counted)}

    @property
    def is_large(self) -> bool:
        """Candidates of each attribute are read in a scan of its column."""
        return False

    def identity(self, cuts: Cuts) -> tuple[int, ...]:
        """There is one state."""
        return ()

    def detail(self, readings: Sequence[Formula]) -> Floats:
        """Say that one party cannot know what the joined source would show."""
        return np.full(1 + len(readings), np.nan)

    def path(self, states: Sequence[Cuts], readings: Sequence[Formula]) -> Floats:
        """Read the present state."""
        return self.counted_path(states, readings)[:, 1:]

    def counted_path(self, states: Sequence[Cuts], readings: Sequence[Formula]) -> Floats:
        """Read the present state, its number of groups first."""
        names = {name: name for name in ("n", *self._counted)}
        numbers = [f"{reading.total}({reading.of(names)})" for reading in readings]
        asked = (self.leaves.table, *numbers)
        if asked not in self._read:
            self._read = {asked: self.leaves.read(self._records, self._sums(needed(readings)), numbers)}
        self.groups = int(self._read[asked][0])
        return np.repeat(self._read[asked][None, :], len(states), axis=0)

    def beside(
        self, cuts: Cuts, candidates: Sequence[tuple[int, int]], readings: Sequence[Formula]
    ) -> Floats:
        """Read the states after candidates that each take one part out of the present groups."""
        return self._by_attribute(cuts, candidates, readings, self._taken_out)

    def apart(self, cuts: Cuts, candidates: Sequence[tuple[int, int]], readings: Sequence[Formula]) -> Floats:
        """Read the states after candidates that split groups of their own."""
        return self._by_attribute(cuts, candidates, readings, self._within)

    def shrink(self, horizon: Sequence[Codes]) -> None:
        """Nothing is merged."""

    def _by_attribute(
        self,
        cuts: Cuts,
        candidates: Sequence[tuple[int, int]],
        readings: Sequence[Formula],
        text: Text,
    ) -> Floats:
        """Read the candidates of each attribute; one scan of its column and the leaves."""
        read = np.full((len(candidates), len(readings)), np.nan)
        for attribute in dict.fromkeys(attribute for attribute, _ in candidates):
            rows = [row for row, (of, _) in enumerate(candidates) if of == attribute]
            part, owner = np.full(len(cuts[attribute].labels), -1), list[int]()
            for row in rows:
                for codes in cuts[attribute].split(candidates[row][1]):
                    part[codes] = len(owner)
                    owner.append(row)
            number, params = recoded(f"c{attribute}", part, "part", "INTEGER")
            params["owner"] = owner
            for row, *numbers in self._engine.query(text(number, readings), params, step="candidates"):
                read[row] = numbers
        return read

    def _sums(self, counted: Sequence[str]) -> str:
        sums = {"n": "count(*) AS n"}
        sums |= {p: f"count(*) FILTER ({test}) AS {p}" for p, test in self._counted.items()}
        return ", ".join(sums[name] for name in dict.fromkeys(("n", *counted)))

    def _parts(self, number: str, counted: Sequence[str], where: str = "") -> str:
        """Group the records by leaf and part, -1 for those that no candidate moves."""
        joined = f"{self.leaves.table} POSITIONAL JOIN {self._records}"
        parted = f"SELECT *, {number} AS q FROM {joined}"
        return f"SELECT leaf, q, {self._sums(counted)} FROM ({parted}) AS parted {where} GROUP BY leaf, q"

    def _within(self, number: str, readings: Sequence[Formula]) -> str:
        counted = needed(readings)
        names = {name: name for name in counted}
        numbers = ", ".join(f"{reading.total}({reading.of(names)})" for reading in readings)
        parts = self._parts(number, counted, "WHERE q >= 0")
        return f"SELECT $owner[q + 1] AS o, {numbers} FROM ({parts}) AS parts GROUP BY o"

    def _taken_out(self, number: str, readings: Sequence[Formula]) -> str:
        counted = needed(readings)
        numbers = ", ".join(taken_out(counted, reading) for reading in readings)
        totals = ", ".join(f"sum({name})::BIGINT AS total_{name}" for name in counted)
        return (
            f"WITH parts AS MATERIALIZED ({self._parts(number, counted)}), "
            f"wholes AS (SELECT leaf, {totals} FROM parts GROUP BY leaf) "
            f"SELECT $owner[q + 1] AS o, {numbers} FROM parts JOIN wholes USING (leaf) "
            "WHERE q >= 0 GROUP BY o"
        )


class LeafMeasure(GroupingMeasure):
    """Measures the present state, and those beside it, over the records of one party.

    Args:
        engine: Where the tables are.
        records: The records, coded, as atoms of one record each.
        gauges: What to measure.
        classes: Position of the class attribute.
    """

    def __init__(self, engine: Engine, records: Atoms, gauges: Constraints, classes: int) -> None:
        self._leaves: dict[tuple[int, ...], Leaves] = {}
        super().__init__(engine, records, gauges, (), classes)

    def channel(self, attributes: Sequence[int], counted: Sequence[Counted]) -> LeafGrouping:
        """Make what measures the groups of some attributes."""
        engine, records = self._engine, self._atoms.table
        if tuple(attributes) not in self._leaves:
            self._leaves[tuple(attributes)] = Leaves(engine, records)
        return LeafGrouping(engine, records, attributes, counted, self._leaves[tuple(attributes)])

    @property
    def foresees(self) -> bool:
        """Only what stands beside the present state is measured: the partner has a say in what follows."""
        return False

    def split(
        self, attribute: int, child: str, children: int, beside: str, params: Mapping[str, object]
    ) -> None:
        """Let the leaves by an attribute fall into parts; the arguments are those of :meth:`Leaves.split`."""
        for attributes, leaves in self._leaves.items():
            if attribute in attributes:
                leaves.split(child, children, beside, dict(params))

    def digest(self) -> str:
        """Give a digest of the sizes of all leaves, as they were last read."""
        return hashlib.sha256(",".join(leaves.sizes for leaves in self._leaves.values()).encode()).hexdigest()
