"""Compares two tables by keys, without following a record: by sums of fingerprints, and by counts.

A fingerprint is a number of 64 bits that stands for a combination of values. That any two combinations of
10 million share one has a probability of 3 in a million.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

from sqlglot import exp

from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.names import Table, column
from ppdm_sql.engine.source import Source, over, source_of
from ppdm_sql.engine.statements import Sql, Statement, joined, literal, sql
from ppdm_sql.engine.types import Kind, kind_of, without_enum
from ppdm_sql.errors import GuaranteeNotMet

DEFECT = "Report this as a defect."
CHANGED = "Run it again if the source was being changed; else report this as a defect."

DAY = 86_400_000_000  # microseconds
SHAPE, DIGITS = "^[0-9a-f]{32}$", 32
"""What a pseudonym looks like."""
TRIED = 1000
"""Values of a column that are tried for a pseudonym that anybody can compute."""


def refuse(faults: Sequence[str], what: str, advice: str = DEFECT) -> None:
    """Refuse what has faults, in words such as ``The pseudonyms are``."""
    if faults:
        raise GuaranteeNotMet(
            f"{what} not what was promised: {'; '.join(faults)}; nothing was published.", advice
        )


def refuse_defect(words: str) -> NoReturn:
    """Refuse what only a defect of the package can bring about."""
    raise GuaranteeNotMet(f"{words}; nothing was published.", DEFECT)


# -- what rows of ``s`` are compared by ------------------------------------------------------------


def fingerprint(values: Sequence[Sql]) -> Statement:
    """Give the number that stands for the values of a row; 0 stands for none."""
    return sql("hash({values})", values=values or [0])


def total(fingerprints: Sql, records: Sql | None = None) -> Statement:
    """Add fingerprints up, each as often as there are records with it; 0 for no rows."""
    if records is None:  # whatever the type of a hash is where the rows live
        return sql("coalesce(sum({f}::HUGEINT), 0)", f=fingerprints)
    return sql("coalesce(sum({f}::HUGEINT * {records})::HUGEINT, 0)", f=fingerprints, records=records)


def plain_column(item: Column) -> exp.Expression:
    """Give a column, as text where an ENUM is in it, whose numbers differ from table to table."""
    return without_enum(column(item.name, "s"), item.type)


def known_values(columns: Sequence[Column]) -> list[Sql]:
    """Give what a fingerprint is made of where columns are released as they are, wherever they live."""
    # A hash may pass over NULL, so that the same values in other columns would have the same.
    missing = [sql("{c} IS NULL", c=column(item.name, "s")) for item in columns]
    return [*missing, *map(_without_sign, columns)]


def _without_sign(item: Column) -> Sql:
    """Give a column; zero without its sign, as a release has it."""
    value = plain_column(item)
    return sql("{v} + 0", v=value) if kind_of(item.type) is Kind.REAL else value


def text(value: Sql) -> Statement:
    return sql("CAST({v} AS VARCHAR)", v=value)


def counting(count: str | None) -> tuple[Sql, Statement]:
    """Give the number of records of a row, and the condition that it stands for any."""
    if count is None:
        return sql("1"), sql("TRUE")
    records = column(count, "s")
    return records, sql("{records} > 0", records=records)


def counted(count: str | None) -> Statement:
    return sql("count(*)") if count is None else sql("CAST(sum({n}) AS BIGINT)", n=column(count, "s"))


# -- comparisons -------------------------------------------------------------------------------------


def sums(engine: Engine, sides: Sequence[Statement], *, step: str) -> list[tuple[int, int]]:
    """Give for each side, a SELECT of ``f`` and ``records``, its records and the sum of its fingerprints."""
    measured = "SELECT {n}, sum(r.records)::HUGEINT, {total} FROM ({side}) AS r"
    whole = total(sql("r.f"), sql("r.records"))
    queries = [sql(measured, n=n, total=whole, side=side) for n, side in enumerate(sides)]
    found = engine.query(joined(queries, " UNION ALL "), step=step)
    return [(int(records or 0), int(sum_)) for _, records, sum_ in sorted(found)]


def stacked(
    before: tuple[Statement, Sql], after: tuple[Statement, Sql], *keys: tuple[str, Sql, Sql]
) -> Statement:
    """Put two sides under each other, each with its keys and its records as ``before`` or ``after``."""
    side = "SELECT {keys}, ({before})::BIGINT AS before, ({after})::BIGINT AS after {rows}"
    first = [sql("{v} AS {n}", v=value, n=column(name)) for name, value, _ in keys]
    second = [sql("{v} AS {n}", v=value, n=column(name)) for name, _, value in keys]
    return sql(
        "{first} UNION ALL {second}",
        first=sql(side, keys=first, before=before[1], after=0, rows=before[0]),
        second=sql(side, keys=second, before=0, after=after[1], rows=after[0]),
    )


def moved_rows(engine: Engine, stack: Table | Statement, keys: Sequence[str], count: Statement) -> int:
    """Count, of two sides under each other, what has another number of records in the second."""
    moved = sql(
        "SELECT {count} FROM (SELECT {keys} FROM {stack} AS o GROUP BY {keys} "
        "HAVING sum(o.before) <> sum(o.after)) AS m",
        count=count,
        keys=[column(name, "o") for name in keys],
        stack=stack,
    )
    ((number,),) = engine.query(moved, step="moved_rows")
    return int(number)


# -- whose the rows are ------------------------------------------------------------------------------


@dataclass(frozen=True)
class OwnedRows:
    """Released rows with the persons whose they are, which the rows themselves do not say."""

    # The method says it, for the audit alone, and its word is checked: the rows that it shows must be
    # those of the release, and each person must have the rows that they have in the source, by all that
    # is released as it is.

    table: Table  # the rows, perhaps collapsed, without ENUMs
    person: Sql  # what says in a row ``s`` of the table whose it is, one value for each person
    of_source: Sql  # the same value in a row ``s`` of the source
    names: Mapping[str, str]  # for each released column its column in the table, but for pseudonyms
    records: str | None = None  # its column with the number of released rows; None for one

    def column(self, name: str) -> exp.Expression:
        """Give what a released column shows."""
        return column(self.names[name], "s")

    @property
    def rows(self) -> tuple[Statement, Sql]:
        """The rows, and the number of records of one."""
        return sql("FROM {t} AS s", t=self.table), counting(self.records)[0]


def ownership_faults(
    engine: Engine,
    source: Table,
    released: Table,
    owned: OwnedRows,
    unchanged: Sequence[Column],
    changed: Sequence[str],
) -> list[str]:
    """Say in words what rows are not those of the release, or not their persons'; nothing if all are."""
    rows, records = owned.rows
    plain: list[Sql] = [plain_column(item) for item in unchanged]
    shown = [*plain, *(text(column(name, "s")) for name in changed)]
    own: list[Sql] = [owned.column(item.name) for item in unchanged]
    as_known = [*own, *(text(owned.column(name)) for name in changed)]
    side = "SELECT {f} AS f, {n} AS records {rows}"
    from_released, from_source = (sql("FROM {t} AS s", t=table) for table in (released, source))
    one, other = sums(
        engine,
        [
            sql(side, f=fingerprint(shown), n=1, rows=from_released),
            sql(side, f=fingerprint(as_known), n=records, rows=rows),
        ],
        step="owned",
    )
    stack = stacked(
        (from_source, sql("1")),
        (rows, records),
        ("person", owned.of_source, owned.person),
        ("unchanged", fingerprint(plain), fingerprint(own)),
    )
    keys, persons = ("person", "unchanged"), sql("count(DISTINCT m.person)")
    strangers = moved_rows(engine, sql("({stack})", stack=stack), keys, persons)
    found = [
        (one != other, "the released rows are not those of which it is known whose they are"),
        (strangers, f"{strangers} persons have other rows than in the source"),
    ]
    return [words for wrong, words in found if wrong]


# -- pseudonyms: one for each value, on the records of that value, and nothing that gives it away ----------


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
        (odd, f"{odd} values of {name!r} are not pseudonyms"),
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
        "(SELECT unnest([substr(sha256(CAST(p AS VARCHAR)), 1, {digits}), md5(CAST(p AS VARCHAR))]) "
        "FROM ({before} LIMIT {tried}) AS t)) "
        "FROM ({after}) AS a",
        shape=literal(SHAPE),
        digits=DIGITS,
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
        digest = sql("substr(sha256({own}), 1, {n})", own=text(column("p", "r")), n=DIGITS)
        people, records, _, _, digests = _people_elsewhere(source, name, unchanged, digest)
        own = _people_elsewhere(released, name, unchanged, text(column("p", "r")))
        differ, computable = (people, records) != tuple(own[:2]), bool(own[3]) and digests == own[4]
        faults += _worded(name, differ=differ, odd=own[2], computable=computable)
    return faults


def _people_elsewhere(rows: Source, name: str, unchanged: Sequence[Column], shown: Statement) -> list[int]:
    """Count people, what the records of each show, odd and known values, and add up what stands for them."""
    read = (
        "SELECT count(*), {records}, count(*) FILTER (WHERE NOT (regexp_matches({own}, {shape}) "
        "AND length({own}) = {digits})), count(r.p), {shown} FROM "
        "(SELECT {p} AS p, count(*) AS n, {f} AS f FROM {rows} AS s GROUP BY {p}) AS r"
    )

    def query(table: Table) -> Statement:
        return sql(
            read,
            records=total(fingerprint([column("n", "r"), column("f", "r")])),
            own=text(column("p", "r")),
            digits=DIGITS,
            shape=literal(SHAPE),  # a line end may follow where Java looks for the end
            shown=total(fingerprint([shown])),
            p=column(name, "s"),
            f=total(fingerprint(known_values(unchanged))),
            rows=table,
        )

    (found,) = rows.aggregate(over(query), step="pseudonyms")
    return [int(number) for number in found]


# -- dates that were moved --------------------------------------------------------------------------


def accept_moved(
    engine: Engine, sides: tuple[Table, Table], dates: Sequence[str], person: Sequence[str], days: int
) -> None:
    """Refuse dates after, where a person's are not those before, moved by one number of days up to ``days``.

    What is compared are the first, the last and the number of a person's dates in each column.
    """
    who = [sql("{c} AS p{n}", c=column(name, "s"), n=n) for n, name in enumerate(person)]
    ends = "min({c}) AS a{n}, max({c}) AS b{n}, count({c}) AS n{n}"
    numbers = [sql(ends, c=column(name, "s"), n=n) for n, name in enumerate(dates)]
    read = "SELECT {who}, {numbers} FROM {rows} AS s GROUP BY ALL"
    before, after = (sql(read, who=who, numbers=numbers, rows=rows) for rows in sides)
    places = range(len(dates))
    micro = "(epoch_us(a.{v}{n}::TIMESTAMP) - epoch_us(b.{v}{n}::TIMESTAMP))"
    moved = [Statement(micro.format(v=v, n=n)) for n in places for v in "ab"]
    query = """
SELECT count(*)
FROM ({before}) AS b
FULL JOIN ({after}) AS a ON {same}
WHERE {counts} OR greatest({moved}) <> least({moved}) OR abs(greatest({moved})) NOT BETWEEN {day} AND {most}
    OR greatest({moved}) % {day} <> 0"""
    found = sql(
        query,
        before=before,
        after=after,
        same=joined([sql("b.p{n} = a.p{n}", n=n) for n in range(len(person))], " AND "),
        counts=joined([sql("b.n{n} IS DISTINCT FROM a.n{n}", n=n) for n in places], " OR "),
        moved=moved,
        most=days * DAY,
        day=DAY,
    )
    ((wrong,),) = engine.query(found, step="moved_dates")
    refuse([f"those of {wrong} persons are not moved by one number of days"] * bool(wrong), "The dates are")
