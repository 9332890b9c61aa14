"""Carries a plan out: so many records of each pattern take another value; chance says which of them.

Records of one pattern are alike to the method, but may differ in columns that are only carried along. Which
of them change is decided by a keyed hash of what they hold, so that it depends neither on the order of rows
nor on the number of threads.
"""

from __future__ import annotations

from dataclasses import replace

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.methods.base.collapse import Atoms
from ppdm_sql.methods.swapping.identification import IdentifiableRecords


def swapped(
    engine: Engine,
    atoms: Atoms,
    identified: IdentifiableRecords,
    moves: Table,
    key: bytes,
    *,
    one_each: bool = False,
    read_once: bool = False,
) -> Atoms:
    """Give the atoms after the moves; combinations may occur in several rows.

    Args:
        engine: Where the atoms are.
        atoms: The collapsed source, other confidential columns swapped already or not.
        identified: The patterns, and how their keys follow from the atoms.
        moves: Working table ``w0 ..., kind, category, records``.
        key: Of the run and the attribute; at least 16 bytes.
        one_each: Whether no more than one record of a pattern moves.
        read_once: Whether they are read no more than once, so that a view of them is enough.

    Cost: two scans of the atoms, each joined with the moves; a sort of the records of those groups that
    differ in a carried column.
    """
    write = _Writer(engine, atoms, identified, moves, key, one_each=one_each)
    rows = write.rows()
    table = engine.overlay(rows) if read_once else engine.materialize("swapped", rows)
    return replace(atoms, table=table)


class _Writer:
    """The statements of one attribute. Only codes and names of our own stand in them."""

    def __init__(
        self,
        engine: Engine,
        atoms: Atoms,
        identified: IdentifiableRecords,
        moves: Table,
        key: bytes,
        *,
        one_each: bool,
    ) -> None:
        self.engine, self.atoms, self.moves, self.key = engine, atoms, moves, key
        self.one_each, self.categories = one_each, identified.categories
        self.changed = f"c{identified.confidential}"
        self.columns = [f"c{i}" for i in range(len(atoms.coded))] + [f"k{i}" for i in range(len(atoms.kept))]
        self.names, self.keys = identified.keys, ", ".join(identified.keys)
        self.words = identified.words_of("a")
        self.source = f"{atoms.table} AS a", f"JOIN {moves} AS m ON {self._same('m')}"
        self.one_row_each = not atoms.kept and len(atoms.coded) == len(identified.by) + 1

    def rows(self) -> str:
        """Select the atoms with the new values."""
        targets = self._targets()
        return self._whole(targets) if self.one_row_each else self._in_pieces(targets)

    def _whole(self, targets: str) -> str:
        """Select the rows, each of which is all of its pattern, cut at the targets."""
        atoms, _ = self.source
        return (
            f"SELECT {self._changed('a')}, coalesce(least(a.n, t.beyond) - t.first, a.n)::BIGINT AS n "
            f"FROM {atoms} LEFT JOIN {targets} AS t ON {self._same('t')} AND t.first < a.n"
        )

    def _in_pieces(self, targets: str) -> str:
        """Select what does not move, then what moves, laid out in pieces and cut at the targets."""
        pieces = self._pieces()
        atoms, join = self.source
        same = " AND ".join(f"t.{name} = p.{name}" for name in self.names)
        return (
            f"SELECT {self._listed()}, a.n FROM {atoms} ANTI {join} UNION ALL "
            f"SELECT {self._changed('p')}, "
            "(least(p.beyond, t.beyond) - greatest(p.first, t.first))::BIGINT AS n "
            f"FROM {pieces} AS p JOIN {targets} AS t ON {same} AND p.first < t.beyond AND t.first < p.beyond"
        )

    def _same(self, other: str) -> str:
        """Join the atoms to what has the patterns' keys."""
        pairs = zip(self.names, self.words, strict=True)
        return " AND ".join(f"{other}.{name} = {word}" for name, word in pairs)

    def _changed(self, rows: str) -> str:
        """List the columns, the new value in the place of the old one where there is one."""
        new = f"coalesce(t.category, {rows}.{self.changed})::{self._type()} AS {self.changed}"
        return ", ".join(new if name == self.changed else f"{rows}.{name}" for name in self.columns)

    def _type(self) -> str:
        """Give the type of the codes, as the atoms have it."""
        query = f"SELECT any_value(typeof({self.changed})) FROM {self.atoms.table}"
        ((found,),) = self.engine.query(query, step="code type")
        return str(found)

    def _listed(self) -> str:
        return ", ".join(f"a.{name}" for name in self.columns)

    def _targets(self) -> str:
        """Lay the new values of each pattern end to end, and what stays as it is behind them."""
        if self.one_each:  # then all of a unique pattern moves, and nothing is behind it
            return (
                f"(SELECT {self.keys}, category, 0 AS first, 1 AS beyond FROM {self.moves} UNION ALL "
                f"SELECT {self.keys}, NULL, 1, {2**62} FROM {self.moves} WHERE kind >= {self.categories})"
            )
        window = f"OVER (PARTITION BY {self.keys} ORDER BY category)"
        return (
            f"(SELECT {self.keys}, category, sum(records) {window} - records AS first, "
            f"sum(records) {window} AS beyond FROM {self.moves} UNION ALL "
            f"SELECT {self.keys}, NULL, sum(records), {2**62} FROM {self.moves} GROUP BY {self.keys})"
        )

    def _pieces(self) -> Table:
        """Lay the records of each pattern end to end: as they stand, or in an order that chance decides."""
        atoms, join = self.source
        keyed = ", ".join(f"{word} AS {name}" for word, name in zip(self.words, self.names, strict=True))
        alike = f"count(*) OVER (PARTITION BY {', '.join(self.words)}) AS rows_alike"
        touched = self.engine.materialize(
            "touched", f"SELECT {self._listed()}, a.n, {keyed}, {alike} FROM {atoms} SEMI {join}"
        )
        listed = ", ".join((*self.columns, self.keys))
        drawn = f"md5($key || CAST(row({', '.join(self.columns)}) AS VARCHAR) || '/' || copy)"
        place = f"row_number() OVER (PARTITION BY {self.keys} ORDER BY {drawn}) AS place"
        copies = f"SELECT *, unnest(range(n)) AS copy FROM {touched} WHERE rows_alike > 1"
        return self.engine.materialize(
            "pieces",
            f"SELECT {listed}, 0 AS first, n AS beyond FROM {touched} WHERE rows_alike = 1 UNION ALL "
            f"SELECT {listed}, place - 1, place FROM (SELECT *, {place} FROM ({copies}) AS c) AS p",
            {"key": self.key.hex()},
        )
