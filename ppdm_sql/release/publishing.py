"""Publishes a draft in one transaction, once the audit has accepted it, and removes what it published."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ppdm_sql.audit import Finding, findings
from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table, column, quoted
from ppdm_sql.engine.statements import Statement, joined, literal, render, sql, text
from ppdm_sql.engine.types import has_enum, plain_type
from ppdm_sql.errors import GuaranteeNotMet
from ppdm_sql.privacy import Counts, requirement_of
from ppdm_sql.privacy.level import hierarchies
from ppdm_sql.privacy.quoting import of_persons
from ppdm_sql.release.catalogue import (
    HIERARCHIES,
    LOCATION,
    NOTICES,
    READ,
    RECORD,
    SHAPE,
    CatalogueRow,
    check_free,
    find,
    parts,
)
from ppdm_sql.release.control import CONTROL, control_table
from ppdm_sql.release.labels import state
from ppdm_sql.release.layout import SCHEMA, Draft, ReleasedColumn, Shape, Treatment, record_count
from ppdm_sql.release.tables import creation, insertion
from ppdm_sql.release.verification import reads_release, value_checks, view_check
from ppdm_sql.release.versions import record_version, set_aside, version_checks, version_removals, versions_of
from ppdm_sql.version import __version__

if TYPE_CHECKING:
    from ppdm_sql.release.placing import Placing

CATALOGUE = ("releases", "steps", "cuts", "measures", "taxonomies")
OPTIONAL = ("taxonomies", "transcripts")
"""Tables about releases that a file may lack."""


def freeze(engine: Engine, draft: Draft, notices: Sequence[str] = (), placing: Placing | None = None) -> None:
    """Publish a draft with what the user was told: all of it, or nothing."""
    version = draft.version
    with engine.transaction():
        if engine.publishing.replaces == draft.name:
            grows = version is not None and version.number > 1
            remove(engine, find(engine, draft.name), grows=grows)
            if version is not None and grows:
                set_aside(engine, draft.name, version.number - 1)
        place = check_free(engine, draft.name, updatable=draft.updatable)
        draft = replace(draft, catalog=place.catalog, schema=place.schema)
        # a file that has a catalogue may lack the taxonomies and the report
        trees = ("taxonomies",) if draft.taxonomies is not None else ()
        if not place.catalogue:
            engine.write(text("release/create_schema"), step="create schema")
        for part in trees if place.catalogue else CATALOGUE:
            engine.write(creation(part), step=f"create {part}")
        if not place.report:
            engine.write(text("release/create_report"), step="create report")
        if draft.outside:
            _create_reader(engine, draft, draft.select)
        else:
            engine.write(create_table(draft.frozen, draft.select), step="freeze")
        if engine.dry:
            engine.write("-- Here the audit reads the frozen table; if it refuses: ROLLBACK", step="accept")
        else:
            draft = _accepted(engine, draft)
        placed = dict[str, object]()
        if placing is not None and engine.dry:
            engine.write(f"-- Here the rows are written to {placing.target}, and read back.", step="place")
        elif placing is not None:
            placed[LOCATION] = placing.write(draft, draft.unfolded)
        engine.write(f"CREATE VIEW {draft.view} AS {render(draft.rows())}", step="create view")
        if draft.stepwise:
            # columns called step are always qualified, so the argument never meets one
            rows = state(draft, column("step"))
            engine.write(f"CREATE MACRO {draft.macro}(step) AS TABLE {rows}", step="create macro")
        engine.write(_comments(draft, draft.method), step="comments")
        if draft.control is not None:
            kept = create_table(control_table(draft.name), f"FROM {draft.control}")
            engine.write(kept, step="keep control")
        _record(engine, draft, placed, notices)
        if version is not None:
            record_version(engine, draft, version)
        if not engine.dry:
            _refuse_unverified(engine, draft)
            if draft.settle is not None:
                draft.settle()
            if placing is not None:
                placing.give_name()
                if draft.outside:  # its rows are elsewhere from now on
                    _create_reader(engine, draft, placing.stored_rows(draft.names))
                    engine.write(_comments(draft, draft.method), step="comments")


def _create_reader(engine: Engine, shape: Shape, select: str) -> None:
    """Make the view that stands for the frozen table of rows that are outside of the database alone."""
    engine.write(f"CREATE OR REPLACE VIEW {shape.frozen} AS {select}", step="freeze")


def create_table(table: Table, select: str) -> str:
    return f"CREATE TABLE {table} AS {select}"


def _accepted(engine: Engine, draft: Draft) -> Draft:
    """Check the frozen rows by what they are, not by how they came about; give all that was measured."""
    types = {name: kind for name, kind, *_ in engine.query(f"DESCRIBE {draft.frozen}", step="describe")}
    records = engine.number(record_count(draft), step="count records")
    if tuple(types) != draft.stored_names or records != draft.number:
        raise GuaranteeNotMet(
            f"The rows of {draft.name!r} are not the columns and the {draft.number} records that the method "
            "promised, so nothing was published.",
            "Report this as a defect.",
        )
    packed = {item.name for item in draft.columns if item.packed}
    for name, kind in types.items():
        if name not in packed and has_enum(kind):  # such a type lists every value of the source
            alter = "ALTER TABLE {t} ALTER COLUMN {c} SET DATA TYPE {plain}"
            plain = sql(alter, t=draft.frozen, c=column(name), plain=plain_type(kind))
            engine.write(plain, step="plain types")
    cut = None if draft.cuts is None else draft.cut(draft.cuts, draft.taxonomies)
    of = engine, draft.frozen, draft.requirements
    found = findings(*of, count=draft.count, person=draft.people, cut=cut)
    if broken := [one for one in found if not one.holds]:
        raise refused(draft.name, broken)
    if draft.accept is None:
        return draft
    return replace(draft, measures=(*draft.measures, *draft.accept(draft.owned_rows())))


def refused(name: str, broken: list[Finding]) -> GuaranteeNotMet:
    first, rest = broken[0], len(broken) - 1
    more = f" (and {rest} more)" if rest else ""
    asked = requirement_of(first.requirement)
    where = f", in {first.violating_classes} of {first.classes} classes"
    reached, limit = asked.amount(first.reached), asked.amount(first.limit)
    if first.counted == "persons":
        reached, limit = of_persons(reached), of_persons(limit)
    return GuaranteeNotMet(
        f"The rows of {name!r} break {str(asked)!r}{more}: {reached} where "
        f"{limit} is the limit{'' if asked.counts is Counts.GROUPS else where}; nothing "
        "was published.",
        "Ask for less, or report this if the method said that the requirement can be met.",
    )


def _refuse_unverified(engine: Engine, draft: Draft) -> None:
    """Ask of the release, before it is committed, what `ppdm verify` will ask of it."""
    checks = [view_check(engine, draft), *value_checks(engine, draft)]
    if failed := [check.check for check in checks if not check.holds]:
        raise GuaranteeNotMet(
            f"The release {draft.name!r} would not verify (broken: {'; '.join(failed)}), so nothing was "
            "published.",
            "Report this as a defect.",
        )
    of_all = version_checks(engine, versions_of(engine, draft), draft.requirements)
    if failed := [what for what, holds in of_all if not holds]:
        raise GuaranteeNotMet(
            f"Together with the versions before, {draft.name!r} would not keep its promise (broken: "
            f"{'; '.join(failed)}), so nothing was published.",
            "Publish the table as a new release under another name, or report this as a defect.",
        )


def _record(engine: Engine, draft: Draft, placed: Mapping[str, object], notices: Sequence[str]) -> None:
    """Write the steps, the cuts, the trees, the measures and the row of the catalogue."""
    name = {"release": draft.name}
    for part, table, order in (
        ("steps", draft.steps, " ORDER BY r.step ASC"),
        ("cuts", draft.cuts, ""),
        ("taxonomies", draft.taxonomies, " ORDER BY r.attribute ASC, r.node ASC"),
    ):
        if table is not None:
            rows = sql("{t} AS r" + order, t=table)
            engine.write(insertion(part, rows), name, step=f"insert {part}")
    if draft.compose is not None and not engine.dry:
        draft.compose(draft)
    if draft.measures:
        measures, before, after = (list(part) for part in zip(*draft.measures, strict=True))
        values = {**name, "measure": measures, "before": before, "after": after}
        engine.write(insertion("measures", many=True), values, step="insert measures")
    parameters: dict[str, Any] = {**draft.parameters, **placed, SHAPE: draft.record()}
    read = engine.given.get(draft.source)
    if told := [*(read.notices if read else ()), *notices]:
        parameters[NOTICES] = told
    if read and read.how:
        parameters[READ] = dict(read.how)
    if named := hierarchies(draft.requirements):
        parameters[HIERARCHIES] = named
    if engine.publishing.record:
        parameters[RECORD] = {**parameters.get(RECORD, {}), **engine.publishing.record}
    facts = {
        **name,
        "method": draft.method,
        "source": draft.source,
        "requirements": [str(requirement) for requirement in draft.requirements],
        "parameters": json.dumps(parameters, ensure_ascii=False),
        "rows": draft.number,
        "verified": True,  # nothing is recorded that the audit refused
        "stopped": draft.stopped,
        "version": __version__,
    }
    engine.write(insertion("releases"), facts, step="insert release")


def remove(engine: Engine, row: CatalogueRow, *, grows: bool = False) -> None:
    """Remove what a release has in the database; a view that is not its own stays.

    Where it ``grows``, its rows and earlier versions stay, for a new version.
    """
    shape, there = row.shape(engine.current()[0]), parts(engine)
    tables = [name for name in (*CATALOGUE, "transcripts") if name not in OPTIONAL or name in there]
    rows = f"DROP {'VIEW' if shape.outside else 'TABLE'} IF EXISTS {shape.frozen}"
    delete = "DELETE FROM {t} WHERE {c} = {name}"
    statements = [
        *([f"DROP VIEW IF EXISTS {shape.view}"] if reads_release(engine, shape) else []),
        *([f"DROP MACRO TABLE IF EXISTS {shape.macro}"] if shape.stepwise else []),
        *([] if grows else [*version_removals(shape, versions_of(engine, shape)), rows]),
        *(
            sql(delete, t=Table(table, SCHEMA), c=column("release"), name=literal(shape.name))
            for table in tables
        ),
        *([f"DROP TABLE IF EXISTS {control_table(shape.name)}"] if CONTROL in row.parameters else []),
    ]
    for statement in statements:
        engine.write(statement, step="drop")


# -- comments ---------------------------------------------------------------------------------------

_TREATMENTS: dict[Treatment, str] = {
    "suppressed": "Values that are not disclosed are shown as the symbol ",
    "generalized": "Generalized by a taxonomy or to intervals.",
    "lower bound": "Lower bound, included, of the interval in ",
    "upper bound": "Upper bound of the interval in ",
    "swapped": "Confidential attribute; the values of some records are exchanged.",
    "randomized": "Randomized; the originals are unknown. The noise: ",
    "discretized": "Shown as cells; the originals are unknown. The cells: ",
    "sensitive": "Sensitive attribute, as it is.",
    "class": "Class attribute, as it is.",
    "kept": "Released as it is.",
    "pseudonym": "Keyed pseudonym of a direct identifier.",
    "count": "Number of records that the row stands for.",
}
NOISE_COMMENTS = _TREATMENTS["randomized"], _TREATMENTS["discretized"]
"""What stands before the noise in the comment of a column."""


def _comments(shape: Shape, method: str) -> Statement:
    """Write what method made the release and how each column was treated; nothing of the source."""
    made = f"{method} release, made by ppdm-sql {__version__}."
    kept = f"{made} {promised(shape)}Its requirements, steps and measures are in the schema {SCHEMA}."
    frozen = f"{made} Frozen rows, read by a view."
    if shape.outside:
        frozen = f"{made} Reads the files of the rows."
    said = [
        _comment("VIEW" if shape.outside else "TABLE", str(shape.frozen), frozen),
        _comment("VIEW", str(shape.view), kept),
    ]
    if shape.stepwise:
        earlier = f"{made} The argument is a step: 0 gives the most general state."
        said.append(_comment("MACRO TABLE", str(shape.macro), earlier))
    return joined([*said, *_column_comments(shape, shape.view)], ";\n")


def table_comments(shape: Shape, method: str, table: Table) -> Statement:
    """Write the comments of a table that an export makes; they name the method and the treatments."""
    told = f"{method} release, made by ppdm-sql {__version__}. {promised(shape)}".rstrip()
    return joined([_comment("TABLE", str(table), told), *_column_comments(shape, table)], ";\n")


def promised(shape: Shape) -> str:
    """Say that rows are records, and what is promised is of persons; nothing where both are the same."""
    if shape.person is None:
        return ""
    return "A row is a record; the requirements are kept for persons, who may have several. "


def _column_comments(shape: Shape, table: Table) -> list[Statement]:
    return [
        _comment("COLUMN", f"{table}.{quoted(item.name)}", _treated(shape, item)) for item in shape.columns
    ]


def _comment(kind: str, of: str, words: str) -> Statement:
    return sql("COMMENT ON {what} IS {words}", what=Statement(f"{kind} {of}"), words=literal(words))


def _treated(shape: Shape, item: ReleasedColumn) -> str:
    named = shape.symbol if item.treatment == "suppressed" else item.of or item.noise
    binned = " Numbers are shown as bins." if item.bins else ""
    moved = f" Moved by up to {item.moved} days, all dates of a person alike." if item.moved else ""
    return _TREATMENTS[item.treatment] + (named or "") + binned + moved
