"""What is published in the current database, and which names are free."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeVar

from ppdm_sql.engine import Engine
from ppdm_sql.engine.faults import only_read
from ppdm_sql.engine.names import Table, column, plain_name
from ppdm_sql.engine.statements import sql, text
from ppdm_sql.errors import InvalidOption, NameTaken, PpdmError, UnknownRelease, unknown
from ppdm_sql.privacy import Requirement, parse_all
from ppdm_sql.privacy.level import as_recorded
from ppdm_sql.release.layout import SCHEMA, Draft, Measured, Shape, macro
from ppdm_sql.release.tables import listing
from ppdm_sql.results import ResultTable
from ppdm_sql.sources import read_again
from ppdm_sql.version import __version__

# Keys of ``ppdm.releases.parameters`` beside the options of the method; each is there where it says anything
SHAPE = "published"  # the shape of the release
MOVED = "moved dates"
FINGERPRINT = "key fingerprint"  # tells the keys of files apart
NOTICES = "notices"  # what the user was told
READ = "read"  # how a source is read again that is not a table of the file
LOCATION = "location"  # where the rows stand that are outside of the database
HIERARCHIES = "hierarchies"  # where those of requirements are, and what they held
RECORD = "to_sign"  # what is there to sign: what was asked, by whom and why, tried and exported
ASKED = "asked"  # under the last: what was asked, as a policy writes it
UPDATABLE = "updatable"  # what was asked of a release that is updatable, so that it can be asked again
LEFT_OUT = "records_left_out"  # how many records were left out, where some might be

REPORT = "release_report"
"""The view of all releases with their measures; a release called ``report`` would need this name."""


@dataclass(frozen=True)
class CatalogueRow:
    """One row of ``ppdm.releases``."""

    release: str
    method: str  # such as ``PDA``
    source: str  # the table as the user wrote it
    requirements: tuple[str, ...]
    parameters: dict[str, Any]  # options of the method, and what stands under the keys above
    rows: int  # number of records
    verified: bool  # always so
    stopped: str
    created_at: datetime  # in UTC
    version: str  # of ppdm-sql

    @property
    def asked(self) -> tuple[Requirement, ...]:
        """What holds on the release; hierarchies are those that it was made by."""
        record = self.parameters.get(HIERARCHIES, {})
        return tuple(as_recorded(asked, record) for asked in parse_all(self.requirements))

    @property
    def notices(self) -> tuple[str, ...]:
        """What the user was told during the run; none in files made before that was kept."""
        return tuple(self.parameters.get(NOTICES, ()))

    @property
    def record(self) -> dict[str, Any]:
        """What is there to sign, by part; nothing for files made before that was kept."""
        return dict(self.parameters.get(RECORD, {}))

    @property
    def options(self) -> dict[str, Any]:
        """What was asked of the method beside what :meth:`Release.tables` tells in words of its own."""
        others = (SHAPE, NOTICES, LOCATION, HIERARCHIES, RECORD, UPDATABLE, "noise")
        return {name: value for name, value in self.parameters.items() if name not in others and value}

    @property
    def left_out(self) -> int | None:
        """How many records of the source are not in the release; None where none might be left out."""
        found = self.parameters.get(LEFT_OUT)
        return None if found is None else int(found)

    def read_again(self, engine: Engine) -> AbstractContextManager[None]:
        """Read what the release was made from once more, under the name that the catalogue has for it."""
        return read_again(engine, self.source, self.parameters.get(READ, {}), self.release)

    def shape(self, catalog: str) -> Shape:
        return Shape.of_record(self.release, catalog, self.parameters[SHAPE])


def catalogue_row(draft: Draft) -> CatalogueRow:
    """Give the row that a draft will have, but for what is told of the run."""
    parameters = {**draft.parameters, SHAPE: draft.record()}
    return CatalogueRow(
        *(draft.name, draft.method, draft.source, tuple(map(str, draft.requirements)), parameters),
        *(draft.number, True, draft.stopped, datetime.now(UTC), __version__),
    )


def parts(engine: Engine) -> set[str]:
    """Name the tables that not every file has: ``releases``, ``taxonomies``, ``models``, ``transcripts``."""
    return {name for (name,) in engine.look_up(text("release/catalogue"), step="catalogue")}


_RELEASES = listing("releases", "created_at", "release", every=True)


def releases(engine: Engine) -> list[CatalogueRow]:
    if "releases" not in parts(engine):
        return []
    rows = []
    for found in engine.look_up(_RELEASES, step="releases"):
        release, method, source, requirements, parameters, *rest = found
        row = release, method, source, tuple(requirements), json.loads(parameters)
        rows.append(CatalogueRow(*row, *rest))
    return rows


def find(engine: Engine, name: str) -> CatalogueRow:
    """Find a release: by its name as it stands, else without regard to case."""
    rows = {row.release: row for row in releases(engine)}
    nothing = "Nothing is published in this database."
    return find_listed(rows, name, what="release", error=UnknownRelease, none=nothing)


# -- what somebody signs: it stays with the owner, and no export and no page for others reads it --------


def keep_record(engine: Engine, release: str, **parts: object) -> None:
    """Keep parts of the record of a release in the place of what it has for them."""
    with engine.transaction():
        row = find(engine, release)
        parameters = {**row.parameters, RECORD: {**row.record, **parts}}
        kept = {"release": row.release, "parameters": json.dumps(parameters, ensure_ascii=False)}
        update = "UPDATE {t} SET parameters = $parameters WHERE release = $release"
        engine.write(sql(update, t=Table("releases", SCHEMA)), kept, step="keep record")


def record_of(row: CatalogueRow, measures: Sequence[Measured]) -> list[ResultTable]:
    """Give the record as a table; none of a release that was not made by a policy, nor tried since."""
    known = {"asked"}.issuperset(row.record)
    return [] if known else [ResultTable("record", ("about", "what", "said"), list(_lines(row, measures)))]


def _lines(row: CatalogueRow, measures: Sequence[Measured]) -> Iterator[tuple[str, str, object]]:
    record, why = row.record, {name.lower(): said for name, said in row.record.get("why", {}).items()}
    yield from (("sign-off", name, said) for name, said in record.get("signoff", {}).items())
    released = {str(name): str(treatment) for name, treatment, *_ in row.parameters["published"]["columns"]}
    names = dict.fromkeys((*released, *row.parameters.get("identifiers", {})))
    others = why.keys() - {name.lower() for name in names}
    for name in (*names, *(name for name in record.get("why", {}) if name.lower() in others)):
        role = released.get(name, "not released")
        yield "column", name, ": ".join([role, *([why[name.lower()]] if name.lower() in why else [])])
    for asked in row.requirements:
        reached = next((one.after for one in measures if one.measure.endswith(f": {asked}")), None)
        yield "requirement", asked, "holds" if reached is None else reached
    for tried in record.get("tried", ()):
        yield "tried, not chosen", tried["setting"], tried["came of it"]
    for attack in record.get("attacks", ()):
        yield "attack", attack["attack"], attack["came of it"]
    for export in record.get("exports", ()):
        yield "export", export["file"], f"SHA-256 {export['sha256']}" if export["sha256"] else "not finished"


# -- names that are free ------------------------------------------------------------------------------


class ReleasePlace(NamedTuple):
    """Where a new release will stand: the current database and schema, and what of the catalogue is there."""

    catalog: str
    schema: str
    catalogue: bool
    report: bool  # or the frozen rows of a release ``report``


def place_here(engine: Engine) -> ReleasePlace:
    return _place(engine, "")[0]


def _place(engine: Engine, name: str) -> tuple[ReleasePlace, list[tuple[Any, ...]]]:
    """Give the place of a new release, and what is there that a release of this name could meet."""
    catalog, schema = engine.current()
    found = engine.look_up(text("release/names_in_use"), {"name": name}, step="names_in_use")
    if any(row[2] is None for row in found):
        raise InvalidOption(
            f"A database called {SCHEMA} is open, and releases are kept in a schema of that name.",
            "Rename the file, or attach it under another name.",
        )
    there = {part.lower() for *parts, part in found if parts == [catalog, SCHEMA]}
    return ReleasePlace(catalog, schema, "releases" in there, REPORT in there), found


_IS_READ_ONLY = "SELECT d.readonly FROM duckdb_databases() AS d WHERE d.database_name = current_catalog()"


def check_writable(engine: Engine) -> None:
    """Make sure that something can be published; else a long run would end in nothing."""
    if not engine.dry and engine.look_up(_IS_READ_ONLY, step="read-only") == [(True,)]:
        raise only_read()


def check_free(engine: Engine, name: str, *, writes: bool = True, updatable: bool = False) -> ReleasePlace:
    """Make sure that a release of this name can be published.

    Where it takes the place of another that is asked once that is removed, in a transaction that other
    connections do not see.
    """
    if not plain_name(name, "What is to be made") or "\0" in name:
        raise InvalidOption("A release needs a name.", "Give one with --into NAME.")
    if writes:
        check_writable(engine)
    place, found = _place(engine, name)
    replaced = name == engine.publishing.replaces
    if replaced and not writes:
        return place
    view = Table(name, place.schema, place.catalog)
    macros = [] if replaced else [macro(view), *([macro(view, "version")] if updatable else [])]
    for taken in _in_the_way(engine, name, place, found, macros):
        raise NameTaken(f"There is {taken} already.", "Choose another name, or drop what has this one.")
    if f"release_{name}".lower() == REPORT:
        raise NameTaken(f"{SCHEMA}.{REPORT} is the view of all releases.", "Choose another name.")
    return place


def _in_the_way(
    engine: Engine,
    name: str,
    place: ReleasePlace,
    found: list[tuple[Any, ...]],
    macros: Sequence[Table],
) -> Iterator[str]:
    for catalog, schema, other in found:
        here = catalog == "temp" or schema == place.schema
        if other.lower() == name.lower() and here:
            yield f"a table or view {other!r}"
        if other.lower() == f"release_{name}".lower() != REPORT and schema == SCHEMA:
            yield f"a release {other.removeprefix('release_')!r}"
    has_models = (place.catalog, SCHEMA, "models") in found
    for kind, is_there in (("release", place.catalogue), ("model", has_models)):
        listed = sql("SELECT t.{name} FROM {t} AS t", name=column(kind), t=Table(f"{kind}s", SCHEMA))
        names = engine.look_up(listed, step=f"{kind}_names") if is_there else []
        yield from (f"a {kind} {other!r}" for (other,) in names if other.lower() == name.lower())
    # the binder knows macros at once; listing all functions costs 13 ms
    for wanted in macros:
        if not engine.refuses(f"EXPLAIN FROM {wanted}()", "Catalog Error"):
            yield f"a macro '{wanted.name}'"


Listed = TypeVar("Listed")


def find_listed(
    rows: Mapping[str, Listed], name: str, *, what: str, error: type[PpdmError], none: str
) -> Listed:
    """Find a row by its name as it stands, else without regard to case."""
    name = plain_name(name, f"A {what}")
    found = rows.get(name) or {known.lower(): row for known, row in rows.items()}.get(name.lower())
    if found is None:
        here = f"{what.capitalize()}s here"
        raise unknown(error, f"There is no {what}", name, rows, here=here, none=none)
    return found
