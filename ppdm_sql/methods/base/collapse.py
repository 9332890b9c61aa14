"""Collapse: from a source table to atoms, the distinct combinations with their counts, as small codes.

This is the only time that a run reads the source: the same at each look, and values are equal only where
their texts are. Everything after works on the atoms: the search on tables derived from them, and the release,
which is the atoms written out again.

Working tables made here, all temporary:

- a dictionary per coded column: ``value, code``, codes from 0 in value order, NULL last;
- ``atoms``: ``c0, c1, ...`` (codes of the coded columns), ``k0, k1, ...`` (kept columns as they are),
  ``n`` (records), one row per combination; where persons are counted, a row for each, with ``person``, a
  number from 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.exact import exact_values, is_plain
from ppdm_sql.engine.names import Table, column
from ppdm_sql.engine.source import check_counts, check_persons
from ppdm_sql.engine.statements import Sql, Statement, bind, joined, literal, sql
from ppdm_sql.errors import InvalidSource, no_records
from ppdm_sql.methods.base.arrays import Codes, Counts

ROW = "rowid"


def read_source(
    engine: Engine,
    table: Table,
    columns: Sequence[Column],
    *,
    as_they_are: Sequence[Column] = (),
    rows: bool = False,
    copy: bool = False,
) -> Table:
    """Give what a run reads in the place of its source; it lasts as long as the engine's workspace.

    A table of DuckDB is read as it stands, within :meth:`Engine.snapshot`. Anything else may say something
    else at the next look (a view over ``random()``, a file that is being written), so it is read here, once.
    """
    plain = {item.name: column(item.name, "s") for item in as_they_are}
    values = exact_values(engine, table, columns) | plain
    stable = not copy and table.stable
    if stable and is_plain(values):
        return table
    read = ({ROW: column(ROW, "s")} if rows else {}) | values
    named = [sql("{v} AS {name}", v=value, name=column(name)) for name, value in read.items()]
    query = sql("SELECT {named} FROM {table} AS s", named=named, table=table)
    return engine.overlay(query) if stable else engine.materialize("source", query)


@dataclass(frozen=True)
class Dictionary:
    """The values of one column, coded."""

    column: Column  # of the source
    table: Table  # working table ``value, code``
    size: int  # number of values, NULL included
    has_null: bool  # whether the last code is NULL


@dataclass(frozen=True)
class Kept:
    """A column that the release carries without a code: the expression that computes it."""

    name: str
    expression: Sql


@dataclass(frozen=True)
class Atoms:
    """A collapsed source."""

    table: Table  # working table of the atoms
    coded: tuple[Dictionary, ...]  # in the order of the columns ``c0, c1, ...``
    kept: tuple[Kept, ...]  # columns ``k0, k1, ...``
    records: int  # in the source, counts added up
    persons: int | None = None  # whose numbers stand in ``person``; None where records are counted

    @property
    def counted(self) -> int:
        """What requirements count in the whole source: records, or persons."""
        return self.records if self.persons is None else self.persons

    def position(self, name: str) -> int:
        return [dictionary.column.name for dictionary in self.coded].index(name)


def collapse(
    engine: Engine,
    source: Table,
    coded: Sequence[Column],
    kept: Sequence[Kept],
    count: str | None,
    *,
    masked: Sequence[str],
    symbol: str,
    person: Sequence[str] = (),
    shown: str | None = None,
) -> Atoms:
    """Read the source once and collapse it."""
    if count is not None:
        check_counts(engine, source, count)
    dictionaries = coded_columns(engine, source, coded, count, masked=masked, symbol=symbol)
    people = _numbered_persons(engine, source, person) if person else None
    atoms = engine.materialize("atoms", _atoms(source, dictionaries, kept, count, person, people))
    codes = [f"c{position}" for position in range(len(dictionaries))]
    numbered = [*codes, *(["person"] if people else [])]
    records = count_coded_records(engine, atoms, numbered, "n", source=shown or source.name)
    if not records:
        raise no_records(shown or source.name)
    return Atoms(atoms, dictionaries, tuple(kept), records, engine.size(people) if people else None)


def coded_columns(
    engine: Engine,
    source: Table,
    coded: Sequence[Column],
    count: str | None,
    *,
    masked: Sequence[str],
    symbol: str,
) -> tuple[Dictionary, ...]:
    """Number the values of some columns; in one that is masked the symbol may not stand."""
    step = "dictionary" if count is None else "counted_dictionary"
    counted = {} if count is None else {"count": [count]}
    tables = list[Table]()
    for item in coded:
        query = bind(f"base/{step}", tables={"source": source}, columns={"attribute": [item.name]} | counted)
        tables.append(engine.materialize("dictionary", query))
    parts = list[Statement]()
    for place, (item, table) in enumerate(zip(coded, tables, strict=True)):
        symbols = sql(" OR CAST(d.value AS VARCHAR) = {s}" if item.name in masked else "", s=literal(symbol))
        look = (
            "SELECT {place} AS position, d.value IS NULL AS is_null FROM {t} AS d "
            "WHERE d.value IS NULL{symbols}"
        )
        parts.append(sql(look, place=place, t=table, symbols=symbols))
    found = engine.query(joined(parts, " UNION ALL "), step="dictionaries") if parts else []
    for position, is_null in sorted(found):
        if not is_null:
            raise InvalidSource(
                f"Column {coded[position].name!r} holds the suppressed symbol {symbol!r} as a value already.",
                "Choose another one with --symbol.",
            )
    nulls = {position for position, _ in found}
    return tuple(
        Dictionary(item, table, engine.size(table), place in nulls)
        for place, (item, table) in enumerate(zip(coded, tables, strict=True))
    )


def _numbered_persons(engine: Engine, source: Table, person: Sequence[str]) -> Table:
    """Number persons as ``p0, p1, ..., person``, so that nothing after it knows who they are."""
    check_persons(engine, source, person)
    keys = [column(f"p{place}") for place in range(len(person))]
    who = [sql("{c} AS {key}", c=column(name, "s"), key=key) for name, key in zip(person, keys, strict=True)]
    numbered = """
SELECT *, CAST(row_number() OVER (ORDER BY {keys}) - 1 AS UINTEGER) AS person
FROM (SELECT DISTINCT {who} FROM {source} AS s) AS e"""
    return engine.materialize("persons", sql(numbered, keys=keys, who=who, source=source))


def _atoms(
    source: Table,
    dictionaries: Sequence[Dictionary],
    kept: Sequence[Kept],
    count: str | None,
    person: Sequence[str],
    people: Table | None,
) -> Statement:
    columns, joins = coded_rows(dict(enumerate(dictionaries)))
    if people is not None:
        columns.append(sql("p.person"))
        same = [
            sql("{c} = {key}", c=column(name, "s"), key=column(f"p{place}", "p"))
            for place, name in enumerate(person)
        ]
        joins = sql("{joins} LEFT JOIN {p} AS p ON {same}", joins=joins, p=people, same=joined(same, " AND "))
    columns += [sql("{v} AS {k}", v=item.expression, k=column(f"k{i}")) for i, item in enumerate(kept)]
    if count is None:
        atoms = "SELECT {columns}, count(*) AS n FROM {source} AS s {joins} GROUP BY ALL"
        return sql(atoms, columns=columns, source=source, joins=joins)
    return sql(
        "SELECT {columns}, CAST(sum({n}) AS BIGINT) AS n FROM {source} AS s {joins} "
        "WHERE {n} > 0 GROUP BY ALL",
        columns=columns,
        n=column(count, "s"),
        source=source,
        joins=joins,
    )


def coded_rows(dictionaries: Mapping[int, Dictionary]) -> tuple[list[Statement], Statement]:
    """Give ``c<i>``, the codes of columns of ``s`` by their positions, and the joins that look them up."""
    codes = [
        sql("{code} AS {name}", code=_code(dictionary, f"d{position}"), name=column(f"c{position}"))
        for position, dictionary in dictionaries.items()
    ]
    joins = [
        sql(
            "LEFT JOIN {table} AS {d} ON {value} = {known}",
            table=dictionary.table,
            d=column(f"d{position}"),
            value=column(dictionary.column.name, "s"),
            known=column("value", f"d{position}"),
        )
        for position, dictionary in dictionaries.items()
    ]
    return codes, joined(joins, " ")


def _code(dictionary: Dictionary, table: str) -> Statement:
    """Give a value's code; a NULL joins nothing and takes the last one, and a value unknown has none."""
    code: Sql = column("code", table)
    if dictionary.has_null:
        null = "CASE WHEN {value} IS NULL THEN {last} ELSE {code} END"
        code = sql(null, value=column(dictionary.column.name, "s"), last=dictionary.size - 1, code=code)
    small = "CAST({code} AS USMALLINT)" if dictionary.size < 2**16 else "CAST({code} AS UINTEGER)"
    return sql(small, code=code)


def count_coded_records(
    engine: Engine, coded: Table, columns: Sequence[str], count: str, *, source: str
) -> int:
    """Add up the records of coded rows, once no value lacks a code.

    A value lacks one that was not there when the values were numbered.
    """
    missing = [sql("{c} IS NULL", c=column(name)) for name in columns]
    query = sql(
        "SELECT count(*) FILTER ({missing}), CAST(sum({n}) AS BIGINT) FROM {coded}",
        missing=joined(missing or [sql("false")], " OR "),
        n=column(count),
        coded=coded,
    )
    ((faults, number),) = engine.query(query, step="uncoded")
    if faults:
        raise InvalidSource(
            f"{source!r} gave different rows each time it was read.",
            "Write it into a table first, such as CREATE TABLE t AS FROM the_view, and name that table.",
        )
    return int(number or 0)  # no rows have no sum


def counts_by_class(
    engine: Engine, atoms: Atoms, attributes: Sequence[int], classes: int | None
) -> dict[int, Counts]:
    """Count the records of each value and class of several attributes, in one statement."""
    label = "0" if classes is None else f"c{classes}"
    parts = [
        f"SELECT {i} AS attribute, c{i}::BIGINT AS a, {label} AS c, sum(n)::BIGINT AS n "
        f"FROM {atoms.table} GROUP BY ALL"
        for i in attributes
    ]
    width = 1 if classes is None else atoms.coded[classes].size
    counts = {i: np.zeros((atoms.coded[i].size, width), dtype=np.int64) for i in attributes}
    if not parts:
        return counts
    rows = engine.arrays(" UNION ALL ".join(parts), step="class_counts")
    for i, found in counts.items():
        here = rows["attribute"] == i
        found[rows["a"][here].astype(np.int64), rows["c"][here].astype(np.int64)] = rows["n"][here]
    return counts


def value_counts(engine: Engine, atoms: Atoms, attribute: int, number: str = "sum(n)::BIGINT") -> Codes:
    """Count the records of each value of one coded column; one scan of the atoms."""
    rows = engine.arrays(
        f"SELECT c{attribute} AS a, {number} AS n FROM {atoms.table} GROUP BY ALL", step="value_counts"
    )
    counts = np.zeros(atoms.coded[attribute].size, dtype=np.int64)
    counts[rows["a"].astype(np.int64)] = rows["n"]
    return counts


def person_counts(engine: Engine, atoms: Atoms, attribute: int) -> Codes:
    """Count the persons with each value of one coded column; one scan of the atoms."""
    return value_counts(engine, atoms, attribute, "count(DISTINCT person)")
