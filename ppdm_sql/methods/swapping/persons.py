"""Swapping where several rows are of one person: persons are identified and changed, and their rows follow.

A person is known by everything that somebody may have seen of them: the set of the combinations that the
non-confidential columns have in the person's rows. Where these columns are the same in all rows of a person
that is the row's own pattern. Whoever is the only person of one combination is the only one of their set,
too, and whoever shares one value with all persons of a combination shares it with all persons of their set;
so nobody is identifiable by a row who is not identifiable as a person.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ppdm_sql.audit.swapped_persons import LinkedRows
from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.names import column
from ppdm_sql.engine.types import without_enum
from ppdm_sql.errors import InvalidSource
from ppdm_sql.methods.base.collapse import Atoms, Dictionary, Kept

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
