"""Carries a plan out: so many records of each pattern take another value; chance says which of them.

Records of one pattern are alike to the method, but may differ in columns that are only carried along. Which
of them change is decided by a keyed hash of what they hold, so that it depends neither on the order of rows
nor on the number of threads.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ppdm_sql.audit.swapped_persons import LinkedRows
from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.names import Table, column
from ppdm_sql.engine.types import without_enum
from ppdm_sql.errors import InvalidSource
from ppdm_sql.methods.base.collapse import Atoms, Dictionary, Kept
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


WHO = "person"


@dataclass(frozen=True)
class SwappedPersons:
    """A collapsed source, and the persons whose its records are.

    Args:
        rows: The collapsed source; the columns that say whose a record is are coded, after all others.
        person: Positions of these columns.
        atoms: One row for each person: what they are known by, their confidential values, and as ``k0, k1,
            ...`` the codes that say who they are.
        by: Positions in ``atoms`` of what persons are known by.
    """

    rows: Atoms
    person: tuple[int, ...]
    atoms: Atoms
    by: tuple[int, ...]


def persons_of(
    engine: Engine, rows: Atoms, by: Sequence[int], confidential: Sequence[int], person: Sequence[int]
) -> SwappedPersons:
    """Give each person a row.

    Args:
        engine: Where the collapsed source is.
        rows: The collapsed source.
        by: Positions of the non-confidential columns.
        confidential: Positions of the confidential ones, without NULLs.
        person: Positions of the columns that say whose a record is.

    Raises:
        InvalidSource: A confidential column has several values in the rows of a person, who then has none
            that could be exchanged for another one's.

    Cost: two GROUP BYs of the collapsed source; another one where non-confidential columns vary.
    """
    codes = [f"c{position}" for position in person]
    varying = _varying(engine, rows, (*by, *confidential), codes)
    for position in confidential:
        if varying[position]:
            raise _several_values(rows.coded[position].column.name, varying[position])
    constant = [position for position in by if not varying[position]]
    several = [position for position in by if varying[position]]
    coded, columns, joined = [rows.coded[position] for position in constant], list[str](), ""
    columns += [f"min(a.c{position}) AS c{place}" for place, position in enumerate(constant)]
    if several:
        joined, dictionary = _sets(engine, rows, several, codes)
        columns.append(f"any_value(s.code) AS c{len(coded)}")
        coded.append(dictionary)
    known = len(coded)
    columns += [f"min(a.c{position}) AS c{known + place}" for place, position in enumerate(confidential)]
    coded += [rows.coded[position] for position in confidential]
    columns += [f"a.{code} AS k{place}" for place, code in enumerate(codes)]
    grouped = ", ".join(f"a.{code}" for code in codes)
    table = engine.materialize(
        "persons",
        f"SELECT {', '.join(columns)}, 1::BIGINT AS n FROM {rows.table} AS a {joined} GROUP BY {grouped}",
    )
    kept = tuple(Kept(f"{WHO} {place}", column(f"k{place}")) for place in range(len(codes)))
    return SwappedPersons(
        rows, tuple(person), Atoms(table, tuple(coded), kept, engine.size(table)), tuple(range(known))
    )


def _varying(engine: Engine, rows: Atoms, positions: Iterable[int], codes: Sequence[str]) -> dict[int, int]:
    """Count, for each of some columns, the persons in whose rows it has several values."""
    wanted = list(dict.fromkeys(positions))
    differ = ", ".join(f"min(c{position}) <> max(c{position}) AS d{position}" for position in wanted)
    counts = ", ".join(f"count(*) FILTER (WHERE d{position})" for position in wanted)
    query = f"SELECT {counts} FROM (SELECT {differ} FROM {rows.table} GROUP BY {', '.join(codes)})"
    (found,) = engine.query(query, step="varying")
    return dict(zip(wanted, map(int, found), strict=True))


def _several_values(name: str, persons: int) -> InvalidSource:
    have = "persons have" if persons > 1 else "person has"
    return InvalidSource(
        f"{persons} {have} several values of the confidential column {name!r}, and all rows of a person are "
        "to change alike.",
        f"Give each person one value of {name} in a view, such as the last one.",
    )


def _sets(
    engine: Engine, rows: Atoms, several: Sequence[int], codes: Sequence[str]
) -> tuple[str, Dictionary]:
    """Number the sets of the combinations that varying columns have in a person's rows, and join them."""
    who, combination = ", ".join(codes), ", ".join(f"c{position}" for position in several)
    sets = engine.materialize(
        "person_sets",
        f"SELECT {who}, list_sort(list(DISTINCT row({combination})), 'ASC') AS value "
        f"FROM {rows.table} GROUP BY {who}",
    )
    values = engine.materialize(
        "sets",
        "SELECT value, (row_number() OVER (ORDER BY value ASC) - 1)::UINTEGER AS code "
        f"FROM (SELECT DISTINCT value FROM {sets})",
    )
    coded = engine.materialize(
        "coded_sets", f"SELECT {who}, v.code FROM {sets} AS s JOIN {values} AS v ON v.value = s.value"
    )
    same = " AND ".join(f"s.{code} = a.{code}" for code in codes)
    # no column can have an empty name, so nobody takes the sets for one
    dictionary = Dictionary(Column("", "VARCHAR"), values, engine.size(values), False)
    return f"JOIN {coded} AS s ON {same}", dictionary


def rows_after(engine: Engine, persons: SwappedPersons, after: Atoms) -> tuple[Atoms, Atoms]:
    """Give the rows of the persons their new confidential values.

    Args:
        engine: Where all is.
        persons: The persons before the swaps.
        after: The same persons after them, numbers perhaps in bins.

    Returns:
        The collapsed rows without who the persons are, as they are released; and with them.

    Cost: one join of the collapsed source with the persons.
    """
    rows, known = persons.rows, len(persons.by)
    new = {item.column.name: known + place for place, item in enumerate(after.coded[known:])}
    columns, coded = list[str](), list[Dictionary]()
    for position, item in enumerate(rows.coded):
        place = new.get(item.column.name) if position not in persons.person else None
        columns.append(f"r.c{position}" if place is None else f"p.c{place} AS c{position}")
        coded.append(item if place is None else after.coded[place])
    columns += [f"r.k{place}" for place in range(len(rows.kept))]
    same = " AND ".join(f"p.k{place} = r.c{position}" for place, position in enumerate(persons.person))
    table = engine.materialize(
        "swapped_rows",
        f"SELECT {', '.join(columns)}, r.n FROM {rows.table} AS r JOIN {after.table} AS p ON {same}",
    )
    linked = replace(rows, table=table, coded=tuple(coded))
    shown = len(coded) - len(persons.person)
    return replace(linked, coded=linked.coded[:shown]), linked


def linked_rows(engine: Engine, linked: Atoms, persons: SwappedPersons) -> LinkedRows:
    """Write down whose each released row is, for the audit alone: a working table that nobody keeps.

    Cost: one scan of the collapsed rows.
    """
    columns, joins, names = list[str](), list[str](), dict[str, str]()
    for position, item in enumerate(linked.coded):
        plain = without_enum(column("value", f"d{position}"), item.column.type)
        columns.append(f"{plain.sql('duckdb')} AS c{position}")
        joins.append(f"LEFT JOIN {item.table} AS d{position} ON d{position}.code = a.c{position}")
        if position not in persons.person:
            names[item.column.name] = f"c{position}"
    for place, kept in enumerate(linked.kept):
        columns.append(f"a.k{place}")
        names[kept.name] = f"k{place}"
    table = engine.materialize(
        "linked", f"SELECT {', '.join(columns)}, a.n FROM {linked.table} AS a {' '.join(joins)}"
    )
    return LinkedRows(table, tuple(f"c{position}" for position in persons.person), names, "n")


def as_persons(words: str) -> str:
    """Say of persons what is said of records.

    Example:
        >>> as_persons("uniquely identifiable records changed")
        'uniquely identifiable persons changed'
    """
    return words.replace("records", "persons").replace("record", "person")
