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
from collections.abc import Callable, Sequence

import numpy as np

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.engine.statements import bind
from ppdm_sql.methods.base.arrays import Codes, Floats
from ppdm_sql.methods.base.code_mapping import recoded
from ppdm_sql.methods.base.collapse import Atoms
from ppdm_sql.methods.base.released_rows import Params
from ppdm_sql.methods.top_down.boundaries import GroupsByValue
from ppdm_sql.methods.top_down.constraints import Constraints
from ppdm_sql.methods.top_down.count_tables import Counted
from ppdm_sql.methods.top_down.cuts import Candidate, Cuts
from ppdm_sql.methods.top_down.grouping_sql import needed, taken_out, totals
from ppdm_sql.methods.top_down.groupings import Grouping, numbered_parts
from ppdm_sql.methods.top_down.measuring import GroupingMeasure
from ppdm_sql.privacy import Formula

LARGEST, RENUMBERED = 2**62, 2**32
"""Numbers of leaves stay below the first; where they would not, the leaves are numbered anew, below the
second."""
Writer = Callable[[str, str, Sequence[Formula], Sequence[str]], str]
"""Writes the statement that measures candidates: of the records with their leaves, the part of each, the
formulas, and what they count."""


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
        """Let leaves fall into parts; one scan of two columns.

        Args:
            child: SQL of each record's child, 0 where it stays with the rest.
            children: How many there are, the rest aside.
            beside: The table, in the order of the records, whose columns ``child`` names.
            params: Parameters of ``child``.
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


def _parts(joined: str, part: str, counts: str, where: str = "") -> str:
    """Group the records by leaf and part, -1 for those that no candidate moves."""
    parted = f"SELECT *, {part} AS part FROM {joined}"
    return f"SELECT leaf, part, {counts} FROM ({parted}) AS parted {where} GROUP BY leaf, part"


def specializations_sql(joined: str, part: str, formulas: Sequence[Formula], counts: Sequence[str]) -> str:
    """Measure the states after candidates that split leaves of their own, a row each."""
    parts = _parts(joined, part, ", ".join(counts), "WHERE part >= 0")
    numbers = ", ".join(totals(formulas))
    return f"SELECT $candidate[part + 1] AS candidate, {numbers} FROM ({parts}) AS parts GROUP BY candidate"


def disclosures_sql(joined: str, part: str, formulas: Sequence[Formula], counts: Sequence[str]) -> str:
    """Measure the states after candidates that each take one part out of the present leaves, a row each."""
    counted = needed(formulas)
    numbers = ", ".join(taken_out(counted, formula) for formula in formulas)
    whole = ", ".join(f"sum({name})::BIGINT AS total_{name}" for name in counted)
    return (
        f"WITH parts AS MATERIALIZED ({_parts(joined, part, ', '.join(counts))}), "
        f"wholes AS (SELECT leaf, {whole} FROM parts GROUP BY leaf) "
        f"SELECT $candidate[part + 1] AS candidate, {numbers} FROM parts JOIN wholes USING (leaf) "
        "WHERE part >= 0 GROUP BY candidate"
    )


def by_value_sql(joined: str, part: str, attribute: int, counted: Sequence[Counted]) -> str:
    """Write the records of each leaf with the value of an attribute."""
    held = (f", (c{column} = {code})::INTEGER AS p{j}" for j, (column, code) in enumerate(counted))
    return f"SELECT leaf, c{attribute} AS code, {part} AS part, 1 AS n{''.join(held)} FROM {joined}"


class LeafGrouping(Grouping):
    """A grouping read off the leaves of the records; it knows the present state only."""

    def __init__(
        self,
        engine: Engine,
        records: Table,
        attributes: Sequence[int],
        counted: Sequence[Counted],
        leaves: Leaves,
    ) -> None:
        self.attributes, self.leaves = list(attributes), leaves
        self._engine, self._records, self._counted = engine, records, counted
        self._read: dict[object, Floats] = {}
        self._counts = {"n": "count(*) AS n"} | {
            f"p{j}": f"count(*) FILTER (c{column} = {code}) AS p{j}"
            for j, (column, code) in enumerate(counted)
        }

    def identity(self, cuts: Cuts) -> tuple[int, ...]:
        return ()  # there is one state

    def detail(self, formulas: Sequence[Formula]) -> Floats:
        # One party cannot know what the joined source would show.
        return np.full(1 + len(formulas), np.nan)

    def counted_chain(self, states: Sequence[Cuts], formulas: Sequence[Formula]) -> Floats:
        asked = (self.leaves.table, *totals(formulas))
        if asked not in self._read:
            counts = ", ".join(self._counts_of(formulas))
            self._read = {asked: self.leaves.measure(self._records, counts, totals(formulas))}
        self.groups = int(self._read[asked][0])
        return np.repeat(self._read[asked][None, :], len(states), axis=0)

    def after_disclosures(
        self, cuts: Cuts, candidates: Sequence[Candidate], formulas: Sequence[Formula]
    ) -> Floats:
        return self._by_attribute(cuts, candidates, formulas, disclosures_sql)

    def after_specializations(
        self, cuts: Cuts, candidates: Sequence[Candidate], formulas: Sequence[Formula]
    ) -> Floats:
        return self._by_attribute(cuts, candidates, formulas, specializations_sql)

    def path(
        self, cuts: Cuts, attribute: int, disclosed: Sequence[int], formulas: Sequence[Formula]
    ) -> Floats:
        raise NotImplementedError("the partner has a say in what follows")

    def by_value(self, cuts: Cuts, attribute: int, part: Codes, boundaries: Codes) -> GroupsByValue:
        number, params = recoded(f"c{attribute}", part, "part", "INTEGER")
        joined = f"{self.leaves.table} POSITIONAL JOIN {self._records}"
        text = by_value_sql(joined, number, attribute, self._counted)
        return GroupsByValue(text, ["leaf"], params, np.arange(len(part)))

    def shrink(self, horizon: Sequence[Codes]) -> None:
        pass  # nothing is merged

    def _by_attribute(
        self, cuts: Cuts, candidates: Sequence[Candidate], formulas: Sequence[Formula], writer: Writer
    ) -> Floats:
        """Measure the candidates of each attribute; one scan of its column and the leaves."""
        read = np.full((len(candidates), len(formulas)), np.nan)
        joined = f"{self.leaves.table} POSITIONAL JOIN {self._records}"
        for attribute in dict.fromkeys(attribute for attribute, _ in candidates):
            rows = [row for row, (of, _) in enumerate(candidates) if of == attribute]
            parts, owner = numbered_parts(cuts, candidates, rows)
            number, params = recoded(f"c{attribute}", parts[attribute], "part", "INTEGER")
            params["candidate"] = owner
            text = writer(joined, number, formulas, self._counts_of(formulas))
            for candidate, *numbers in self._engine.query(text, params, step="candidates"):
                read[candidate] = numbers
        return read

    def _counts_of(self, formulas: Sequence[Formula]) -> list[str]:
        return [self._counts[name] for name in dict.fromkeys(("n", *needed(formulas)))]


class LeafMeasure(GroupingMeasure):
    """Measures the present state, and those after one candidate, over the records of one party."""

    measures_ahead = False  # the partner has a say in what follows

    def __init__(self, engine: Engine, records: Atoms, constraints: Constraints, classes: int) -> None:
        self._leaves: dict[tuple[int, ...], Leaves] = {}
        super().__init__(engine, records, constraints, (), classes)

    def grouping(self, attributes: Sequence[int], counted: Sequence[Counted]) -> Grouping:
        """Make what measures the groups of some attributes, on leaves that equal groupings share."""
        engine, records = self._engine, self._atoms.table
        if tuple(attributes) not in self._leaves:
            self._leaves[tuple(attributes)] = Leaves(engine, records)
        return LeafGrouping(engine, records, attributes, counted, self._leaves[tuple(attributes)])

    def split(self, attribute: int, child: str, children: int, beside: Table, params: Params) -> None:
        """Let the leaves by an attribute fall into parts; the arguments are those of :meth:`Leaves.split`."""
        for attributes, leaves in self._leaves.items():
            if attribute in attributes:
                leaves.split(child, children, beside, params)

    def digest(self) -> str:
        """Give a digest of the sizes of all leaves, as they were last measured."""
        return hashlib.sha256(",".join(leaves.sizes for leaves in self._leaves.values()).encode()).hexdigest()
