"""Versions of an updatable release: how they are kept, what is audited of them, and who is taken out of all.

The frozen table of such a release holds three private columns: whose each record is, a digest of its source
values, and its *cohort*, the number of the version in which it entered. Whoever compares all versions can at
most tell a record's cohort; so every requirement holds within each cohort of each class, and within those
that leave a class together.

Source: Fung, Wang, Fu, Pei 2008, "Anonymity for continuous data publishing", EDBT, section 3, whose forward,
cross and backward attacks all come down to telling the cohorts apart.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise

from sqlglot import exp

from ppdm_sql.audit.auditing import broken_classes, findings
from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table, column, free_name
from ppdm_sql.engine.statements import Statement, bind, joined, literal, render, sql, subquery
from ppdm_sql.privacy import Requirement
from ppdm_sql.release.layout import PRIVATE, SCHEMA, Draft, Shape, Version, macro
from ppdm_sql.release.tables import creation, insertion, listing

VERSIONS = Table("versions", SCHEMA)
COHORT = PRIVATE[-1]
EVERY = sql("TRUE")


@dataclass(frozen=True, kw_only=True)
class KeptVersion(Version):
    rows: int
    shape: Shape  # whose rows are those of this version
    created_at: datetime


def versions_of(engine: Engine, shape: Shape) -> list[KeptVersion]:
    """List the versions of a release that are still published, oldest first; none where it has none."""
    if not shape.updatable:
        return []
    rows = engine.look_up(listing("versions", "version"), {"release": shape.name}, step="versions")
    found = []
    for number, count, *told, recorded, created_at in rows:
        of = Shape.of_record(shape.name, shape.catalog, json.loads(recorded))
        newest = number == rows[-1][0]
        kept = replace(of, working=None if newest else version_table(shape.name, number))
        found.append(KeptVersion(number, *told, rows=count, shape=kept, created_at=created_at))
    return found


def version_table(name: str, number: int) -> Table:
    return Table(f"version_{number}_{name}", SCHEMA)


def in_cohorts(requirements: Sequence[Requirement]) -> tuple[Requirement, ...]:
    """Ask requirements of each cohort of each class."""
    return tuple(item.over((*item.attributes, COHORT), item.sensitive_columns) for item in requirements)


# -- publishing -------------------------------------------------------------------------------------


def set_aside(engine: Engine, name: str, number: int) -> None:
    """Keep the frozen table of the version before under its number; the view must be gone already."""
    renamed = sql(
        "ALTER TABLE {t} RENAME TO {name}",
        t=Table(f"release_{name}", SCHEMA),
        name=column(version_table(name, number).name),
    )
    engine.write(renamed, step="set aside")


def record_version(engine: Engine, draft: Draft, version: Version) -> None:
    facts = {
        "release": draft.name,
        "version": version.number,
        "rows": draft.number,
        "entered": draft.number if version.number == 1 else version.entered,
        "gone": version.gone,
        "waiting": version.waiting,
        "shape": json.dumps(draft.record()),
    }
    engine.write(creation("versions"), step="create versions")
    engine.write(insertion("versions"), facts, step="insert version")
    before = [] if version.number == 1 else versions_of(engine, draft)[:-1]
    write_macro(engine, draft, [*((item.number, item.shape) for item in before), (version.number, draft)])


def write_macro(engine: Engine, shape: Shape, versions: Sequence[tuple[int, Shape]]) -> None:
    """Write the table macro that gives the rows of each version by its number."""
    number = column(free_name("ppdm_version", shape.names))
    rows = [
        sql(
            "SELECT {n} AS {number}, r.* FROM ({rows}) AS r",
            n=n,
            number=number,
            rows=Statement(render(of.rows())),
        )
        for n, of in versions
    ]
    made = sql(
        "CREATE {replaced} MACRO {macro}(version) AS TABLE "
        "SELECT {shown} FROM ({rows}) AS v WHERE v.{number} = version",
        replaced=sql("OR REPLACE" if versions[-1][0] > 1 else ""),
        macro=macro(shape.view, "version"),
        shown=[column(name, "v") for name in shape.names],
        rows=joined(rows, " UNION ALL BY NAME "),
        number=number,
    )
    engine.write(made, step="create version macro")


def version_removals(shape: Shape, versions: Sequence[KeptVersion]) -> list[str]:
    """Write the statements that remove what an updatable release has beside what others have."""
    if not versions:
        return []
    older = [item.shape.working for item in versions if item.shape.working is not None]
    delete = "DELETE FROM {versions} AS v WHERE v.release = {name}"
    return [
        sql("DROP MACRO TABLE IF EXISTS {macro}", macro=macro(shape.view, "version")),
        *(sql("DROP TABLE IF EXISTS {t}", t=table) for table in older),
        sql(delete, versions=VERSIONS, name=literal(shape.name)),
    ]


# -- what is audited ----------------------------------------------------------------------------------


def version_checks(
    engine: Engine, versions: Sequence[KeptVersion], requirements: Sequence[Requirement]
) -> list[tuple[str, bool]]:
    """Say what holds on the versions of a release, by SQL over their tables alone."""
    checks = []
    for item in versions:
        said = f"version {item.number} keeps the requirements within each cohort"
        checks.append((said, holds_in_cohorts(engine, item.shape, stored(item.shape), requirements)))
    with engine.workspace():
        gone = list[Table]()
        for before, after in pairwise(versions):
            said, of = f"version {after.number}", (engine, before.shape, after.shape)
            gone.append(departed_rows(*of))
            fine = holds_in_cohorts(engine, before.shape, gone[-1], requirements)
            enters = _enters_well(*of, before.number, departed_persons(engine, gone))
            checks += [
                (f"each class of {said} lies within one of version {before.number}", _nests(*of)),
                (f"{said} adds nothing to earlier cohorts, and nobody returns", enters),
                (f"those that {said} leaves out keep the requirements, too", fine),
            ]
    return checks


def stored(shape: Shape) -> Table:
    """Give the table that holds the rows of a version, with its private columns."""
    return shape.working or Table(shape.frozen.name, SCHEMA)


def count_rows(engine: Engine, rows: Table, where: Statement = EVERY) -> int:
    """Count rows, which are called ``r``."""
    query = sql("SELECT count(*) FROM {t} AS r WHERE {where}", t=rows, where=where)
    return engine.number(query, step="count rows")


def holds_in_cohorts(engine: Engine, shape: Shape, rows: Table, requirements: Sequence[Requirement]) -> bool:
    """Tell whether every cohort of every class of some rows of a version keeps the requirements."""
    some = count_rows(engine, rows)
    found = findings(engine, rows, in_cohorts(requirements), person=shape.people) if some else []
    return all(one.holds for one in found)


def departed_rows(engine: Engine, before: Shape, after: Shape) -> Table:
    tables = {"before": stored(before), "after": stored(after)}
    return engine.materialize("departed", bind("release/departed", tables=tables))


def departed_persons(engine: Engine, gone: Sequence[Table]) -> Table:
    shown = [sql("SELECT g.record_person FROM {t} AS g", t=table) for table in gone]
    nobody = sql("SELECT NULL::VARCHAR AS record_person WHERE FALSE")
    return engine.materialize("departed_persons", joined([nobody, *shown], " UNION "))


def _nests(engine: Engine, before: Shape, after: Shape) -> bool:
    """Tell whether all records that a class shows together were shown together before."""
    parts = [
        sql(
            "SELECT 1 FROM ({pairs}) AS p GROUP BY p.label HAVING count(*) > 1",
            pairs=sql(
                "SELECT DISTINCT CAST({new} AS VARCHAR) AS label, CAST({old} AS VARCHAR) AS was "
                "FROM {after} AS a JOIN {before} AS b ON {same}",
                new=column(name, "a"),
                old=column(name, "b"),
                after=stored(after),
                before=stored(before),
                same=same(key("a"), key("b")),
            ),
        )
        for name in after.masked
    ]
    if set(after.masked) != set(before.masked) or not parts:
        return after.masked == before.masked
    query = sql("SELECT count(*) FROM ({parts}) AS p", parts=joined(parts, " UNION ALL "))
    return engine.number(query, step="nested classes") == 0


def _enters_well(engine: Engine, before: Shape, after: Shape, number: int, departed: Table) -> bool:
    """Tell whether a version adds nothing to cohorts up to a number, and nobody who had left to others."""
    added = departed_rows(engine, after, before)  # what is in it and was not before
    tables = {"after": stored(after), "departed_persons": departed, "added": added}
    query = bind("release/intruders", tables=tables, values={"version": number})
    return engine.query(query, step="intruders") == [(0, 0)]


def identified(source: Table, person: str, digested: Sequence[str]) -> Statement:
    """Read a source with the private columns, in the first cohort; in a digest a text follows its length."""
    value = "coalesce(length({t}) || ':' || {t}, '-')"
    texts = [sql("CAST({c} AS VARCHAR)", c=column(name, "s")) for name in digested]
    return sql(
        "SELECT s.*, CAST({who} AS VARCHAR) AS record_person, md5({values}) AS record_digest, "
        "CAST(1 AS UINTEGER) AS record_cohort FROM {t} AS s",
        who=column(person, "s"),
        values=joined([sql(value, t=text) for text in texts] or [sql("''")], " || "),
        t=source,
    )


def entered_records(
    engine: Engine, source: Table, shape: Shape, person: str, digested: Sequence[str]
) -> Table:
    """Give the records of a source that are in a version, without those that wait or left with others."""
    today = subquery(identified(source, person, digested))
    text = bind("release/entered_records", tables={"today": today, "version_rows": stored(shape)})
    return engine.materialize("entered_records", text)


def same(left: Sequence[exp.Column], right: Sequence[exp.Column]) -> Statement:
    """Write that columns are equal, NULL being a value."""
    pairs = zip(left, right, strict=True)
    return joined([sql("{a} IS NOT DISTINCT FROM {b}", a=a, b=b) for a, b in pairs], " AND ")


def key(table: str) -> list[exp.Column]:
    """Name what tells the records of a version apart: whose, digest and cohort."""
    return [column(name, table) for name in PRIVATE]


def in_broken(
    engine: Engine, rows: Table, requirements: Sequence[Requirement], person: Sequence[str]
) -> Statement | None:
    """Write whether a row of ``r`` is in a class, of the rows of a table, that breaks a requirement."""
    if not count_rows(engine, rows):
        return None
    found = [
        sql(
            "EXISTS (SELECT 1 FROM {classes} AS c WHERE {same})",
            classes=classes,
            same=same(
                [column(f"a{place}", "c") for place in range(len(names))],
                [column(name, "r") for name in names],
            ),
        )
        for names, classes in broken_classes(engine, rows, requirements, person)
    ]
    return sql("({any})", any=joined(found, " OR ")) if found else None
