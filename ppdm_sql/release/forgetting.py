"""Takes a person out of every version of the releases of a file that are updatable, in one transaction."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import astuple, dataclass, field, fields, replace
from itertools import pairwise

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table, column
from ppdm_sql.engine.statements import Statement, sql
from ppdm_sql.errors import InvalidOption, PpdmError
from ppdm_sql.privacy import Requirement
from ppdm_sql.release import catalogue
from ppdm_sql.release.catalogue import SHAPE, UPDATABLE, CatalogueRow
from ppdm_sql.release.layout import SCHEMA, Shape
from ppdm_sql.release.publishing import remove
from ppdm_sql.release.versions import (
    VERSIONS,
    KeptVersion,
    count_rows,
    departed_rows,
    in_broken,
    in_cohorts,
    key,
    same,
    stored,
    version_checks,
    versions_of,
    write_macro,
)
from ppdm_sql.results import Result, ResultTable


class UnknownPerson(PpdmError):
    """A person of whom no release that is updatable holds a record; the message does not name anybody."""

    exit_code = 1


@dataclass(frozen=True)
class TakenOut:
    """What left one release.

    Args:
        release: Its name.
        records: Records of the person, over all versions.
        others: Records of others that left, too, as their classes did not keep the requirements any more.
        versions: How many versions are still published.
        dropped: Numbers of the versions that were dropped, as nothing was left or the audit refused them.
    """

    release: str
    records: int
    others: int
    versions: int
    dropped: tuple[int, ...]


@dataclass(frozen=True)
class Forgotten(Result):
    """What a person was taken out of, and what could not be reached.

    Args:
        releases: The releases that held records of the person.
        exported: What was exported of them, each with the release; a file still holds the person.
        unreachable: Releases of persons' records that are not updatable, each with its source.
        unread: Sources that cannot be read now, which may still hold the person.
    """

    releases: tuple[TakenOut, ...]
    exported: tuple[tuple[str, str], ...] = field(default=())
    unreachable: tuple[tuple[str, str], ...] = field(default=())
    unread: tuple[str, ...] = field(default=())

    def tables(self) -> list[ResultTable]:
        """Give the releases."""
        names = [item.name for item in fields(TakenOut)]
        rows = [(*astuple(item)[:-1], ", ".join(map(str, item.dropped))) for item in self.releases]
        return [ResultTable("", names, rows)]

    @property
    def notes(self) -> list[str]:
        """Say what still holds the person, or may do so."""
        files = [f"Already exported to {file}: it still holds this person." for _, file in self.exported]
        files += [f"{source} cannot be read, and may still hold this person." for source in self.unread]
        return files + [
            f"{name} cannot be reached, as it was not made with --updatable: make it again from {source}, "
            "once that does not hold this person any more."
            for name, source in self.unreachable
        ]


def forget(engine: Engine, person: str, names: Sequence[str] = ()) -> Forgotten:
    """Take a person out of every version of the releases of the current database that are updatable."""
    engine.require_autocommit()
    catalogue.check_writable(engine)
    rows = [catalogue.find(engine, name) for name in names] or catalogue.releases(engine)
    can = [row for row in rows if UPDATABLE in row.parameters]
    others = [(row.release, row.source) for row in rows if row.parameters.get("person") and row not in can]
    if unfit := [row.release for row in rows if names and row not in can]:
        raise InvalidOption(
            f"The release {unfit[0]!r} was not made with --updatable, so nobody can be taken out of it.",
            "Take the person out of its table, and make it again.",
        )
    unread = [row.source for row in can if not _refuse_in_source(engine, row, person)]
    with engine.transaction(), engine.workspace():
        found = [taken for row in can if (taken := _taken_out(engine, row, person)) is not None]
    if not found:
        beside = f" ({', '.join(name for name, _ in others)} cannot be looked into.)" if others else ""
        raise UnknownPerson(
            f"No updatable release here holds a record of that person.{beside}",
            "Write the person as the column of --person holds it; ppdm releases lists the releases.",
        )
    reached = {item.release for item in found}
    exports = [
        (row.release, str(export["file"]))
        for row in can
        if row.release in reached
        for export in row.record.get("exports", ())  # as ppdm run notes them
    ]
    return Forgotten(tuple(found), tuple(exports), tuple(others), tuple(dict.fromkeys(unread)))


def _refuse_in_source(engine: Engine, row: CatalogueRow, person: str) -> bool:
    """Refuse while the table still holds the person: the next version would take the records in again.

    Tell whether it could be read.
    """
    held = "SELECT count(*) FROM {t} AS s WHERE CAST({c} AS VARCHAR) = $person"
    (name,) = row.parameters["person"]
    try:
        with row.read_again(engine):
            query = sql(held, t=engine.find(row.source), c=column(name, "s"))
            ((records,),) = engine.look_up(query, {"person": person}, step="still in source")
    except PpdmError:
        return False
    if records:
        raise InvalidOption(
            f"{row.source} still holds {records} record{'s' * (records != 1)} of that person, which the next "
            f"version of {row.release!r} would show again.",
            "Take the person out of the table first.",
        )
    return True


def _taken_out(engine: Engine, row: CatalogueRow, person: str) -> TakenOut | None:
    """Take a person out of all versions of a release, and others whose classes are too small then."""
    shape = row.shape(engine.current()[0])
    versions, asked = versions_of(engine, shape), row.asked
    who = sql("record_person = $person")
    records = sum(_deleted(engine, item.shape, who, {"person": person}) for item in versions)
    if not records:
        return None
    others = 0
    while taken := sum(_spread(engine, versions, item) for item in _broken(engine, versions, asked)):
        others += taken
    kept = [item for item in versions if count_rows(engine, stored(item.shape))]
    while kept and not all(holds for _, holds in version_checks(engine, kept, asked)):
        del kept[0]
    dropped = tuple(item.number for item in versions if item not in kept)
    if versions[-1] not in kept:
        remove(engine, row)
        return TakenOut(row.release, records, others, 0, tuple(item.number for item in versions))
    for item in versions:
        if item not in kept:
            engine.write(sql("DROP TABLE {t}", t=stored(item.shape)), step="drop version")
    _recount(engine, row, shape, kept, dropped)
    return TakenOut(row.release, records, others, len(kept), dropped)


def _broken(engine: Engine, versions: Sequence[KeptVersion], asked: Sequence[Requirement]) -> list[Table]:
    """Give the records that must leave, too: of cohorts and of groups that left which break something."""
    groups = [(item.shape, stored(item.shape)) for item in versions]
    groups += [
        (before.shape, departed_rows(engine, before.shape, after.shape))
        for before, after in pairwise(versions)
    ]
    found = []
    for shape, rows in groups:
        if (broken := in_broken(engine, rows, in_cohorts(asked), shape.people)) is not None:
            hit = sql("SELECT DISTINCT {key} FROM {t} AS r WHERE {any}", key=key("r"), t=rows, any=broken)
            found.append(engine.materialize("leaving", hit))
    return found


def _spread(engine: Engine, versions: Sequence[KeptVersion], leaving: Table) -> int:
    where = "EXISTS (SELECT 1 FROM {t} AS l WHERE {same})"
    return sum(
        _deleted(engine, of, sql(where, t=leaving, same=same(key("l"), key(stored(of).name))))
        for of in (item.shape for item in versions)
    )


def _deleted(engine: Engine, shape: Shape, where: Statement, params: dict[str, object] | None = None) -> int:
    before = count_rows(engine, stored(shape))
    engine.write(sql("DELETE FROM {t} WHERE {where}", t=stored(shape), where=where), params, step="take out")
    return before - count_rows(engine, stored(shape))


def _recount(
    engine: Engine, row: CatalogueRow, shape: Shape, kept: Sequence[KeptVersion], dropped: Sequence[int]
) -> None:
    of = {"release": row.release}
    for item in kept:
        now = replace(item.shape, persons=_persons(engine, item.shape))
        told = {
            **of,
            "version": item.number,
            "rows": count_rows(engine, stored(item.shape)),
            "shape": json.dumps(now.record()),
        }
        update = "UPDATE {t} SET rows = $rows, shape = $shape WHERE release = $release AND version = $version"
        engine.write(sql(update, t=VERSIONS), told, step="recount version")
    for number in dropped:
        delete = "DELETE FROM {t} WHERE release = $release AND version = {n}"
        engine.write(sql(delete, t=VERSIONS, n=number), of, step="drop version")
    newest = replace(shape, persons=_persons(engine, shape))
    parameters = json.dumps({**row.parameters, SHAPE: newest.record()}, ensure_ascii=False)
    update = "UPDATE {t} SET rows = $rows, parameters = $parameters WHERE release = $release"
    told = {**of, "rows": count_rows(engine, stored(shape)), "parameters": parameters}
    engine.write(sql(update, t=Table("releases", SCHEMA)), told, step="recount")
    if dropped:
        write_macro(engine, shape, [(item.number, item.shape) for item in kept])


def _persons(engine: Engine, shape: Shape) -> int:
    query = sql("SELECT count(DISTINCT {p}) FROM {t}", p=column(shape.people[0]), t=stored(shape))
    return engine.number(query, step="persons")
