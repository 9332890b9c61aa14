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
from collections.abc import Sequence

import numpy as np

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.engine.statements import bind
from ppdm_sql.methods.base.arrays import Codes, Floats
from ppdm_sql.methods.base.collapse import Atoms
from ppdm_sql.methods.base.released_rows import Params
from ppdm_sql.methods.top_down.constraints import Constraints
from ppdm_sql.methods.top_down.counts import (
    Counted,
    CountTable,
    GroupsByValue,
    after_sql,
    by_candidate,
    coded,
    needed,
    split_by,
    totals,
)
from ppdm_sql.methods.top_down.cuts import Candidate, Cuts
from ppdm_sql.methods.top_down.measuring import Measure
from ppdm_sql.privacy import Formula

LARGEST, RENUMBERED = 2**62, 2**32
"""Numbers of leaves stay below the first; where they would not, the leaves are numbered anew, below the
second."""


def unsigned(largest: int) -> str:
    """Give the smallest type of numbers from 0 on.

    Example:
        >>> unsigned(255), unsigned(256)
        ('UTINYINT', 'USMALLINT')
    """
    bits = next(bits for bits in (8, 16, 32, 64) if largest < 1 << bits)
    return {8: "UTINYINT", 16: "USMALLINT", 32: "UINTEGER", 64: "UBIGINT"}[bits]


class Leaves:
    """The leaf of every record, for one set of attributes."""

    def __init__(self, engine: Engine, records: Table) -> None:
        self._engine = engine
        self.table = engine.materialize("leaves", bind("two_party/first_leaves", tables={"records": records}))
        self.sizes = ""
        """A digest of the sizes of the leaves, as they were last measured."""
        self._largest = 0

    def split(self, child: str, children: int, beside: Table, params: Params) -> None:
        """Let leaves fall into parts, by SQL of each record's child over the columns of the table beside.

        The child is 0 where a record stays with the rest, which is not counted among the children.
        """
        if (self._largest + 1) * (children + 1) > LARGEST:
            self._replace(bind("two_party/renumbered_leaves", tables={"leaves": self.table}), {})
            self._largest = RENUMBERED
        self._largest = (self._largest + 1) * (children + 1) - 1
        self._replace(split_sql(self.table, beside, child, children, self._largest), params)

    def _replace(self, query: str, params: Params) -> None:
        table = self._engine.materialize("leaves", query, params)
        self._engine.discard(self.table)
        self.table = table

    def measure(self, records: Table, counts: str, numbers: Sequence[str]) -> Floats:
        """Give the number of leaves, then the numbers asked; one scan of the leaves and what is counted."""
        query = leaves_sql(self.table, records, counts, numbers)
        ((self.sizes, self._largest, *found),) = self._engine.query(query, step="leaves")
        return np.array(found, dtype=np.float64)


# -- the statements; golden files beside the tests show them --------------------------------------


def split_sql(leaves: Table, beside: Table, child: str, children: int, largest: int) -> str:
    """Write the new leaf of each record, up to the largest number."""
    leaf = f"leaf::BIGINT * {children + 1} + greatest({child}, 0)"
    return f"SELECT ({leaf})::{unsigned(largest)} AS leaf FROM {leaves} POSITIONAL JOIN {beside}"


def leaves_sql(leaves: Table, records: Table, counts: str, numbers: Sequence[str]) -> str:
    """Measure the present leaves: a digest of their sizes, the largest number, how many, what is asked."""
    groups = f"SELECT leaf, {counts} FROM {leaves} POSITIONAL JOIN {records} GROUP BY leaf"
    sizes = "sha256(string_agg(n::VARCHAR, ',' ORDER BY n))"
    return f"SELECT {', '.join([sizes, 'max(leaf)', 'count(*)', *numbers])} FROM ({groups}) AS groups"


class LeafTable(CountTable):
    """The records of one party with their leaves; it knows the present state only."""

    def __init__(
        self,
        engine: Engine,
        records: Atoms,
        attributes: Sequence[int],
        counted: Sequence[Counted],
        leaves: Leaves,
    ) -> None:
        self.leaves = leaves
        super().__init__(engine, records, attributes, counted)
        self._read: dict[object, Floats] = {}

    def _made(self) -> str:
        return ""

    @property
    def _records(self) -> str:
        own = [f"c{i}" for i in self.attributes if self.atoms.coded[i].size]  # none of the partner's
        held = [f"{text} AS {name}" for name, text in self._held.items()]
        columns = ", ".join(["leaf AS group0", *own, *held])
        return f"(SELECT {columns} FROM {self.leaves.table} POSITIONAL JOIN {self.atoms.table})"

    @property
    def _held(self) -> dict[str, str]:
        return {"n": "1"} | {f"p{j}": f"(c{i} = {code})::INTEGER" for j, (i, code) in enumerate(self.counted)}

    def source(self, formulas: Sequence[Formula]) -> Floats:
        # One party cannot know what the joined source would show.
        return np.full(1 + len(formulas), np.nan)

    def state(self, cuts: Cuts, formulas: Sequence[Formula]) -> Floats:
        asked = (self.leaves.table, *totals(formulas))
        if asked not in self._read:
            counts = ", ".join(f"sum({self._held[name]}) AS {name}" for name in needed(formulas))
            self._read = {asked: self.leaves.measure(self.atoms.table, counts, totals(formulas))}
        return self._read[asked]

    def after(self, cuts: Cuts, candidates: Sequence[Candidate], formulas: Sequence[Formula]) -> Floats:
        split = split_by(cuts, candidates)
        parts, params = coded(split.parts, "part")
        asked = {i: (part, i in split.rests) for i, part in parts.items()}
        text = after_sql(self._records, ["group0"], asked, formulas)
        rows = self.engine.query(text, {**params, "candidate": split.owner}, step="after")
        return by_candidate(rows, len(candidates), len(formulas))

    def by_value(self, cuts: Cuts, attribute: int, part: Codes) -> GroupsByValue:
        self.rows = self._records
        texts, params = coded({attribute: part}, "part")
        return self._by_value(["group0"], texts[attribute], f"c{attribute}", params)


class LeafMeasure(Measure):
    """Measures the present state, and those after one candidate, over the records of one party."""

    ahead = False  # the partner has a say in what follows
    lists = False  # what the parties share of a leaf are counts

    def __init__(self, engine: Engine, records: Atoms, constraints: Constraints, classes: int) -> None:
        self._leaves: dict[tuple[int, ...], Leaves] = {}
        super().__init__(engine, records, constraints, classes)

    def table(self, attributes: Sequence[int], counted: Sequence[Counted]) -> CountTable:
        engine, records = self._engine, self._atoms
        if tuple(attributes) not in self._leaves:
            self._leaves[tuple(attributes)] = Leaves(engine, records.table)
        return LeafTable(engine, records, attributes, counted, self._leaves[tuple(attributes)])

    def split(self, attribute: int, child: str, children: int, beside: Table, params: Params) -> None:
        for attributes, leaves in self._leaves.items():
            if attribute in attributes:
                leaves.split(child, children, beside, params)

    def digest(self) -> str:
        """Give a digest of the sizes of all leaves, as they were last measured."""
        return hashlib.sha256(",".join(leaves.sizes for leaves in self._leaves.values()).encode()).hexdigest()
