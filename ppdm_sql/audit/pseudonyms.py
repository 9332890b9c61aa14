"""Judges pseudonyms: one for each value, on the records of that value, and nothing that gives it away."""

from __future__ import annotations

from collections.abc import Sequence

from ppdm_sql.audit.comparing import (
    counting,
    fingerprint,
    known_values,
    plain_column,
    refuse,
    sums,
    text,
    total,
)
from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.names import Table, column
from ppdm_sql.engine.source import Source, over, source_of
from ppdm_sql.engine.statements import Sql, Statement, literal, sql

SHAPE = "^[0-9a-f]{64}$"
"""What a pseudonym looks like."""
TRIED = 1000
"""Values of a column that are tried for a pseudonym that anybody can compute."""


def accept_pseudonyms(
    engine: Engine,
    source: Table,
    released: Table | Source,
    names: Sequence[str],
    unchanged: Sequence[Column],
    count: str | None = None,
) -> None:
    """Judge the pseudonyms of a release by the columns that it shows unchanged beside them."""
    if not isinstance(released, Table):
        faults = _faults_elsewhere((source_of(engine, source), released), names, unchanged)
    else:
        before, after = (_rows(rows, names, unchanged, count) for rows in (source, released))
        faults = pseudonym_faults(engine, before, after, names)
    refuse(faults, "The pseudonyms are")


def _rows(rows: Table, names: Sequence[str], unchanged: Sequence[Column], count: str | None) -> Statement:
    records, counts = counting(count)
    return sql(
        "SELECT {f} AS f, {people}, {n} AS records FROM {rows} AS s WHERE {counts}",
        f=fingerprint([*map(plain_column, unchanged)]),
        people=named_people([column(name, "s") for name in names]),
        n=records,
        rows=rows,
        counts=counts,
    )


def named_people(values: Sequence[Sql]) -> list[Statement]:
    """Call identifiers ``p0, p1, ...``."""
    return [sql("{v} AS p{place}", v=value, place=place) for place, value in enumerate(values)]


def pseudonym_faults(
    engine: Engine, before: Statement, after: Statement, names: Sequence[str], kept: Sequence[str] = ()
) -> list[str]:
    """Say in words what is wrong with the pseudonyms of a release; nothing if all is well."""
    # Records are not followed: those of a value must be, by their fingerprints, those of a pseudonym.
    faults = []
    for place, name in enumerate(names):
        own = column(f"p{place}", "r")
        first, second = sums(engine, [_people(rows, own) for rows in (before, after)], step="pseudonyms")
        if name in kept:
            faults += [f"{name!r} is not one number for each person and the own records"] * (first != second)
            continue
        ((odd, known),) = engine.query(_given_away(before, after, own), step="pseudonyms")
        faults += _worded(name, differ=first != second, odd=odd, computable=known)
    return faults


def _worded(name: str, *, differ: bool, odd: int, computable: bool) -> list[str]:
    found = [
        (differ, f"the pseudonyms of {name!r} are not one for each value and its records"),
        (odd, f"{odd} values of {name!r} are no pseudonyms"),
        (computable, f"pseudonyms of {name!r} can be computed from the values"),
    ]
    return [words for wrong, words in found if wrong]


def _people(rows: Statement, own: Sql) -> Statement:
    """Give a row for each person of a side: a fingerprint of what the records of each show."""
    each = "SELECT sum(r.records)::HUGEINT AS n, {f} AS f FROM ({rows}) AS r GROUP BY {own}"
    people = sql(each, f=total(sql("r.f"), sql("r.records")), rows=rows, own=own)
    return sql("SELECT hash(e.n, e.f) AS f, 1 AS records FROM ({people}) AS e", people=people)


def _given_away(before: Statement, after: Statement, own: Sql) -> Statement:
    """Count released values that do not look like pseudonyms, and those that are digests of values."""
    values = "SELECT DISTINCT {own} AS p FROM ({rows}) AS r"
    return sql(
        "SELECT count(*) FILTER (NOT regexp_matches(CAST(p AS VARCHAR), {shape})), "
        "count(*) FILTER (CAST(p AS VARCHAR) IN "
        "(SELECT sha256(CAST(p AS VARCHAR)) FROM ({before} LIMIT {tried}) AS t)) "
        "FROM ({after}) AS a",
        shape=literal(SHAPE),
        before=sql(values, own=own, rows=before),
        tried=TRIED,
        after=sql(values, own=own, rows=after),
    )


# -- where records live elsewhere: no identifier, digest or pseudonym is handed over ----------------


def _faults_elsewhere(
    sides: tuple[Source, Source], names: Sequence[str], unchanged: Sequence[Column]
) -> list[str]:
    """Ask the same in aggregates that are made where the records live; all digests are tried."""
    faults: list[str] = []
    source, released = sides
    for name in names:
        digest = sql("sha256({own})", own=text(column("p", "r")))
        people, records, _, _, digests = _people_elsewhere(source, name, unchanged, digest)
        own = _people_elsewhere(released, name, unchanged, text(column("p", "r")))
        differ, computable = (people, records) != tuple(own[:2]), bool(own[3]) and digests == own[4]
        faults += _worded(name, differ=differ, odd=own[2], computable=computable)
    return faults


def _people_elsewhere(rows: Source, name: str, unchanged: Sequence[Column], shown: Statement) -> list[int]:
    """Count people, what the records of each show, odd and known values, and add up what stands for them."""
    read = (
        "SELECT count(*), {records}, count(*) FILTER (WHERE NOT (regexp_matches({own}, {shape}) "
        "AND length({own}) = 64)), count(r.p), {shown} FROM "
        "(SELECT {p} AS p, count(*) AS n, {f} AS f FROM {rows} AS s GROUP BY {p}) AS r"
    )

    def query(table: Table) -> Statement:
        return sql(
            read,
            records=total(fingerprint([column("n", "r"), column("f", "r")])),
            own=text(column("p", "r")),
            shape=literal(SHAPE),  # a line end may follow where Java looks for the end
            shown=total(fingerprint([shown])),
            p=column(name, "s"),
            f=total(fingerprint(known_values(unchanged))),
            rows=table,
        )

    (found,) = rows.aggregate(over(query), step="pseudonyms")
    return [int(number) for number in found]
