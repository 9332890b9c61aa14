"""Carries a plan out: so many records of each pattern take another value; chance says which of them.

Records of one pattern are alike to the method, but may differ in columns that are only carried along. Which
of them change is decided by a keyed hash of what they hold, so that it depends neither on the order of rows
nor on the number of threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ppdm_sql.audit.comparing import OwnedRows, fingerprint, text
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
    read_once: bool = False,
) -> Atoms:
    """Give the atoms after the moves; combinations may occur in several rows.

    Other confidential columns of the atoms may have been swapped already. What is ``read_once`` may stay a
    view.
    """
    changed, keys = f"c{identified.confidential}", ", ".join(identified.keys)
    columns = [f"c{i}" for i in range(len(atoms.coded))] + [f"k{i}" for i in range(len(atoms.kept))]
    types = f"SELECT any_value(typeof({changed})) FROM {atoms.table}"
    ((code_type,),) = engine.query(types, step="code type")
    new = f"coalesce(t.category, r.{changed})::{code_type} AS {changed}"
    listed = ", ".join(new if name == changed else f"r.{name}" for name in columns)
    # the new values of each pattern end to end, and what stays as it is behind them
    window = f"OVER (PARTITION BY {keys} ORDER BY category)"
    targets = (
        f"(SELECT {keys}, category, sum(records) {window} - records AS first, "
        f"sum(records) {window} AS beyond FROM {moves} UNION ALL "
        f"SELECT {keys}, NULL, sum(records), {2**62} FROM {moves} GROUP BY {keys})"
    )
    if not atoms.kept and len(atoms.coded) == len(identified.by) + 1:  # each row is all of its pattern
        rows = (
            f"SELECT {listed}, coalesce(least(r.n, t.beyond) - t.first, r.n)::BIGINT AS n "
            f"FROM {atoms.table} AS r LEFT JOIN {targets} AS t "
            f"ON {_same(identified, 't', 'r')} AND t.first < r.n"
        )
    else:
        pieces = _pieces(engine, atoms, identified, moves, columns, key)
        same = " AND ".join(f"t.{name} = r.{name}" for name in identified.keys)
        rows = (
            f"SELECT {', '.join(f'a.{name}' for name in columns)}, a.n FROM {atoms.table} AS a "
            f"ANTI JOIN {moves} AS m ON {_same(identified, 'm', 'a')} UNION ALL "
            f"SELECT {listed}, (least(r.beyond, t.beyond) - greatest(r.first, t.first))::BIGINT AS n "
            f"FROM {pieces} AS r JOIN {targets} AS t ON {same} AND r.first < t.beyond AND t.first < r.beyond"
        )
    return replace(atoms, table=engine.overlay(rows) if read_once else engine.materialize("swapped", rows))


def _same(identified: IdentifiableRecords, other: str, atoms: str) -> str:
    """Join the atoms to what has the patterns' keys."""
    pairs = zip(identified.keys, identified.words_of(atoms), strict=True)
    return " AND ".join(f"{other}.{name} = {word}" for name, word in pairs)


def _pieces(
    engine: Engine,
    atoms: Atoms,
    identified: IdentifiableRecords,
    moves: Table,
    columns: Sequence[str],
    key: bytes,
) -> Table:
    """Lay the records of each pattern end to end: as they stand, or in an order that chance decides."""
    words, keys = identified.words_of("a"), ", ".join(identified.keys)
    keyed = ", ".join(f"{word} AS {name}" for word, name in zip(words, identified.keys, strict=True))
    touched = engine.materialize(
        "touched",
        f"SELECT {', '.join(f'a.{name}' for name in columns)}, a.n, {keyed}, "
        f"count(*) OVER (PARTITION BY {', '.join(words)}) AS rows_alike "
        f"FROM {atoms.table} AS a SEMI JOIN {moves} AS m ON {_same(identified, 'm', 'a')}",
    )
    listed = ", ".join((*columns, keys))
    drawn = f"md5($key || CAST(row({', '.join(columns)}) AS VARCHAR) || '/' || copy)"
    place = f"row_number() OVER (PARTITION BY {keys} ORDER BY {drawn}) AS place"
    copies = f"SELECT *, unnest(range(n)) AS copy FROM {touched} WHERE rows_alike > 1"
    return engine.materialize(
        "pieces",
        f"SELECT {listed}, 0 AS first, n AS beyond FROM {touched} WHERE rows_alike = 1 UNION ALL "
        f"SELECT {listed}, place - 1, place FROM (SELECT *, {place} FROM ({copies}) AS c) AS p",
        {"key": key.hex()},
    )


# -- persons, who have several rows ---------------------------------------------------------------


@dataclass(frozen=True)
class SwappedPersons:
    """A collapsed source, and the persons whose its records are.

    The columns that say whose a record is are coded after all others. ``atoms`` has one row for each person:
    what they are known by, their confidential values, and who they are as ``k0, k1, ...``.
    """

    rows: Atoms
    person: Sequence[int]  # positions in the rows
    atoms: Atoms
    by: Sequence[int]  # positions in the atoms


def persons_of(
    engine: Engine, rows: Atoms, by: Sequence[int], confidential: Sequence[int], person: Sequence[int]
) -> SwappedPersons:
    """Give each person a row; who has several confidential values, has none to exchange, and is refused."""
    codes = [f"c{position}" for position in person]
    wanted = list(dict.fromkeys((*by, *confidential)))
    differ = ", ".join(f"min(c{position}) <> max(c{position}) AS d{position}" for position in wanted)
    counts = ", ".join(f"count(*) FILTER (WHERE d{position})" for position in wanted)
    query = f"SELECT {counts} FROM (SELECT {differ} FROM {rows.table} GROUP BY {', '.join(codes)})"
    (found,) = engine.query(query, step="varying")
    varying = dict(zip(wanted, found, strict=True))
    for position in confidential:
        if varying[position]:
            raise _several_values(rows.coded[position].column.name, varying[position])
    constant = [position for position in by if not varying[position]]
    several = [position for position in by if varying[position]]
    coded, joined = [rows.coded[position] for position in constant], ""
    columns = [f"min(a.c{position}) AS c{place}" for place, position in enumerate(constant)]
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
    kept = tuple(Kept(f"person {place}", column(f"k{place}")) for place in range(len(codes)))
    return SwappedPersons(rows, person, Atoms(table, tuple(coded), kept, engine.size(table)), range(known))


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
    """Give the rows of the persons their new values: as they are released, and with whose they are.

    ``after`` are the persons after the swaps, numbers perhaps in bins.
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
    return replace(linked, coded=linked.coded[: len(coded) - len(persons.person)]), linked


def linked_rows(engine: Engine, linked: Atoms, persons: SwappedPersons) -> OwnedRows:
    """Write down whose each released row is, for the audit alone: a working table that nobody keeps."""
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
    of_source = fingerprint([text(column(linked.coded[p].column.name, "s")) for p in persons.person])
    who = fingerprint([text(column(f"c{position}", "s")) for position in persons.person])
    return OwnedRows(table, who, of_source, names, "n")
