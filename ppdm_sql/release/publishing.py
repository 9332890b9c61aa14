"""Publishes a draft in one transaction, once the audit has accepted it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from ppdm_sql.audit import Finding, findings
from ppdm_sql.engine import Engine, statements
from ppdm_sql.engine.names import column
from ppdm_sql.engine.types import has_enum, plain_type
from ppdm_sql.errors import GuaranteeNotMet
from ppdm_sql.privacy import Counts, requirement_of
from ppdm_sql.privacy.level import hierarchies
from ppdm_sql.privacy.quoting import of_persons
from ppdm_sql.release import ddl
from ppdm_sql.release.catalogue import (
    HIERARCHIES,
    LOCATION,
    NOTICES,
    READ,
    SHAPE,
    ReleasePlace,
    check_free,
)
from ppdm_sql.release.control import control_table
from ppdm_sql.release.draft import Draft
from ppdm_sql.release.layout import Shape, record_count
from ppdm_sql.release.verification import value_checks, view_check
from ppdm_sql.version import __version__

if TYPE_CHECKING:
    from ppdm_sql.release.placing import Placing


def freeze(engine: Engine, draft: Draft, notices: Sequence[str] = (), placing: Placing | None = None) -> None:
    """Publish a draft with what the user was told: all of it, or nothing."""
    place = check_free(engine, draft.name)
    shape = Shape.of_draft(draft, place.catalog, place.schema)
    with engine.transaction():
        _create_catalogue(engine, draft, place)
        frozen = ddl.create_reader(shape, draft.select) if shape.outside else None
        engine.write(frozen or ddl.create_table(shape.frozen, draft.select), step="freeze")
        if engine.dry:
            engine.write("-- Here the audit reads the frozen table; if it refuses: ROLLBACK", step="accept")
        else:
            draft = _accepted(engine, draft, shape)
        placed = _placed(engine, draft, shape, placing)
        engine.write(ddl.create_view(shape), step="create view")
        if shape.stepwise:
            engine.write(ddl.create_macro(shape), step="create macro")
        engine.write(ddl.comments(shape, draft.method), step="comments")
        if draft.control is not None:
            kept = ddl.create_table(control_table(draft.name), f"FROM {draft.control}")
            engine.write(kept, step="keep control")
        _record(engine, replace(draft, parameters={**draft.parameters, **placed}), shape, notices)
        if not engine.dry:
            _refuse_unverified(engine, shape)
            if draft.settle is not None:
                draft.settle()
            if placing is not None:
                placing.publish()
                _read_published(engine, draft, shape, placing)


def _read_published(engine: Engine, draft: Draft, shape: Shape, placing: Placing) -> None:
    """Let what reads rows that stand outside alone read them where they are from now on."""
    if shape.outside:
        select = statements.render(placing.stored_rows(shape.names))
        engine.write(ddl.create_reader(shape, select), step="freeze")
        engine.write(ddl.comments(shape, draft.method), step="comments")


def _placed(engine: Engine, draft: Draft, shape: Shape, placing: Placing | None) -> dict[str, object]:
    """Write the accepted rows where they go outside of the database, and give what is recorded of it."""
    if placing is None:
        return {}
    if engine.dry:
        engine.write(f"-- Here the rows are written to {placing.target}, and read back.", step="place")
        return {}
    return {LOCATION: placing.write(shape, draft.unfolded)}


def _create_catalogue(engine: Engine, draft: Draft, place: ReleasePlace) -> None:
    """Make what is missing of the catalogue; a file that has one may lack the taxonomies and the report."""
    trees = ("taxonomies",) if draft.taxonomies is not None else ()
    report = () if place.report else ("report",)
    for part in (*(trees if place.catalogue else ("schema", *ddl.CATALOGUE)), *report):
        engine.write(statements.text(f"release/create_{part}"), step=f"create {part}")


def _accepted(engine: Engine, draft: Draft, shape: Shape) -> Draft:
    """Check the frozen rows by what they are, not by how they came about; give all that was measured."""
    types = engine.query(f"DESCRIBE {shape.frozen}", step="describe")
    ((records,),) = engine.query(record_count(shape), step="count records")
    if tuple(row[0] for row in types) != shape.stored_names or records != draft.rows:
        raise GuaranteeNotMet(
            f"The rows of {draft.name!r} are not the columns and the {draft.rows} records that the method "
            "promised, so nothing was published.",
            "Report this as a defect.",
        )
    packed = {item.name for item in draft.columns if item.packed}
    _without_dictionaries(engine, shape, {row[0]: row[1] for row in types if row[0] not in packed})
    cut = None if draft.cuts is None else shape.cut(draft.cuts, draft.taxonomies)
    asked = draft.requirements
    broken = [
        found
        for found in findings(engine, shape.frozen, asked, count=draft.count, person=shape.people, cut=cut)
        if not found.holds
    ]
    if broken:
        raise refused(draft.name, broken)
    if draft.accept is None:
        return draft
    return replace(draft, measures=(*draft.measures, *draft.accept(shape.owned_rows())))


def _refuse_unverified(engine: Engine, shape: Shape) -> None:
    """Ask of the release, before it is committed, what `ppdm verify` will ask of it."""
    failed = [
        check.check for check in (view_check(engine, shape), *value_checks(engine, shape)) if not check.holds
    ]
    if failed:
        raise GuaranteeNotMet(
            f"The release {shape.name!r} would not verify (broken: {'; '.join(failed)}), so nothing was "
            "published.",
            "Report this as a defect.",
        )


def _without_dictionaries(engine: Engine, shape: Shape, types: dict[str, str]) -> None:
    """Turn ENUM columns into text: their type lists every value of the source."""
    for name, type_text in types.items():
        if has_enum(type_text):
            to = exp.AlterColumn(this=column(name), dtype=plain_type(type_text))
            alter = exp.Alter(this=shape.frozen.expression(), kind="TABLE", actions=[to])
            engine.write(statements.render(alter), step="plain types")


def refused(name: str, broken: list[Finding]) -> GuaranteeNotMet:
    """Say which requirement the rows break, what was asked and what was reached."""
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


def _record(engine: Engine, draft: Draft, shape: Shape, notices: Sequence[str]) -> None:
    """Write the steps, the cuts, the trees, the measures and the row of the catalogue."""
    name = {"release": draft.name}
    for part, table in (("steps", draft.steps), ("cuts", draft.cuts), ("taxonomies", draft.taxonomies)):
        if table is not None:
            sql = statements.bind(f"release/insert_{part}", tables={f"run_{part}": table})
            engine.write(sql, name, step=f"insert {part}")
    if draft.compose is not None and not engine.dry:
        draft.compose()
    if draft.measures:
        measures, before, after = (list(part) for part in zip(*draft.measures, strict=True))
        values = {**name, "measures": measures, "before": before, "after": after}
        engine.write(statements.text("release/insert_measures"), values, step="insert measures")
    told = [*engine.read_notices.get(draft.source, ()), *notices]
    facts = _facts(draft, shape, told, engine.read_as.get(draft.source))
    engine.write(statements.text("release/insert_release"), facts, step="insert release")


def _facts(
    draft: Draft, shape: Shape, notices: Sequence[str], read_as: Mapping[str, Any] | None
) -> dict[str, object]:
    told: dict[str, object] = {NOTICES: list(notices)} if notices else {}
    if read_as is not None:
        told[READ] = dict(read_as)
    if named := hierarchies(draft.requirements):
        told[HIERARCHIES] = named
    return {
        "release": draft.name,
        "method": draft.method,
        "source": draft.source,
        "requirements": [str(requirement) for requirement in draft.requirements],
        "parameters": json.dumps({**draft.parameters, SHAPE: shape.record(), **told}, ensure_ascii=False),
        "rows": draft.rows,
        "stopped": draft.stopped,
        "version": __version__,
    }
