"""What is published or was measured, in few columns that a person can read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ppdm_sql.database import Database
from ppdm_sql.engine.statements import literal, render
from ppdm_sql.errors import InvalidOption, UnknownRelease, unknown
from ppdm_sql.methods.trees.storing import Model, ModelRow, accuracy
from ppdm_sql.privacy import Measure
from ppdm_sql.release import Release
from ppdm_sql.results import ResultTable

if TYPE_CHECKING:
    from ppdm_sql.audit.model import Audit, Counted, Exposure, Risk
    from ppdm_sql.audit.profiling import Profile
    from ppdm_sql.comparison.model import Comparison
    from ppdm_sql.release.applying import Applied, AppliedTable
    from ppdm_sql.release.verification import Verification
    from ppdm_sql.risk.measuring import TableRisk

Columns = Sequence[tuple[str, str]]
"""Name and DuckDB type of each field of a struct."""


def typed(text: str) -> Columns:
    """Read names with their types, VARCHAR where there is none."""
    return [(name, kind or "VARCHAR") for name, _, kind in (item.partition(" ") for item in text.split(", "))]


Row = Sequence[Any]
"""What a call returns."""
_SUMMARY = (
    "detail kept",
    "columns that show something",
    "uniquely identifiable records",
    "collectively identifiable records",
    "uniquely identifiable records changed",
    "marginal deviation",
    "privacy level at",
    "noise that all noisy columns can remove",
)
"""Measures of a release that matter beside those of its requirements, by what they begin with."""
RELEASES = "release, method, source, requirements VARCHAR[], rows BIGINT, stopped, created_at TIMESTAMP"
MODELS = "model, mode, source, class, rows BIGINT, test, accuracy DOUBLE, created_at TIMESTAMP"


def published(db: Database, name: str) -> Release | Model:
    """Find what has a name; no release is called as a model is."""
    models = [row.model for row in db.models()]
    try:
        return db.model(name) if name.lower() in map(str.lower, models) else db.release(name)
    except UnknownRelease:
        known = [*(row.release for row in db.releases()), *models]
        if not models:
            raise
        words = "There is no release or model"
        raise unknown(UnknownRelease, words, name, known, here="Here are") from None


def report(db: Database, arguments: Mapping[str, Any]) -> str:
    """Write the page of a release or model, and give its name."""
    options = dict(arguments)
    described = published(db, options.pop("release"))
    if isinstance(described, Release):
        described.report(**options, progress=db.progress)
        return described.name
    for name in ("public", "evaluate", "exported"):
        if options.pop(name, None):
            raise InvalidOption(
                f"{described.name!r} is a model, whose page tells about the records that it was grown from.",
                f"Leave --{name} out.",
            )
    described.report(**options)
    return described.name


def export(db: Database, arguments: Mapping[str, Any]) -> Release | AppliedTable:
    """Write the file of a release, or of a table that the cut of one was applied to."""
    from ppdm_sql.release.applying import exportable  # few runs write a file

    options = dict(arguments)
    release = exportable(db.engine, options.pop("release"))
    release.export(**options)
    return release


def listed_releases(db: Database) -> ResultTable:
    names = [name for name, _ in typed(RELEASES)]
    return ResultTable("", names, [tuple(getattr(row, name) for name in names) for row in db.releases()])


def listed_models(db: Database) -> ResultTable:
    rows = [
        (m.model, m.mode, m.source, m.class_column, m.rows, m.test, right(m), m.created_at)
        for m in db.models()
    ]
    return ResultTable("", [name for name, _ in typed(MODELS)], rows)


def right(row: ModelRow) -> float | None:
    """Give the share of right predictions on the test table, if there was one."""
    return None if row.confusion is None else accuracy(row.confusion)


# -- what calls give ---------------------------------------------------------------------------


def summarized(release: Release) -> Row:
    row = release.row()
    early = "" if row.stopped == "complete" else f", stopped early ({row.stopped})"
    verdict = ("verified" if row.verified else "not verified") + early
    return row.release, row.method, row.rows, verdict, list(_summary(release))


def _summary(release: Release) -> Iterator[str]:
    """Write each measure that matters as ``smallest class: k >= 4 on Job: 1 -> 4``."""
    requirements = set(release.row().requirements)
    for name, before, after in release.measures():
        kind, _, of = name.partition(": ")
        if of in requirements or name in _SUMMARY or kind in _SUMMARY or kind.startswith("privacy level at"):
            was = "" if before is None else f"{before:.6g} -> "
            yield f"{name}: {was}{'NULL' if after is None else f'{after:.6g}'}"


def trained(model: Model) -> Row:
    row = model.row()
    return row.model, row.mode, row.rows, len(model.tree().leaves), right(row)


def shown(release: Release | Model) -> Iterator[Row]:
    """Describe a release or a model, then give its measures."""
    described, measures, *_ = release.tables()
    is_release = isinstance(release, Release)
    for what, value in described.rows:
        kind, _, name = what.partition(" ")
        if is_release and kind == "noise":  # as the argument that describes it to others
            yield what, f"noise := {{{render(literal(name))}: {render(literal(value))}}}"
        else:
            yield what, _text(value)
    for name, was, now in measures.rows if is_release else ():
        yield f"measure {name}", f"{_text(was)} -> {_text(now)}"


def _text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, datetime):
        return value.isoformat(" ", "seconds")
    if isinstance(value, (bool, dict)):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_text, value))
    return "NULL" if value is None else str(value)


def dropped(release: Release | Model) -> Row:
    release.drop()
    return release.name, "model" if isinstance(release, Model) else "release"


# -- what was measured ------------------------------------------------------------------------


def audited(audit: Audit) -> Iterator[Row]:
    """Give what an audit found, a row for each measure."""
    counted, by = audit.counted, audit.exposure.by if audit.exposure else None
    for finding in audit.findings:
        about, note = str(finding.requirement), f"{finding.classes} classes"
        if isinstance(finding.requirement, Measure):
            yield about, "reached", finding.reached, None, note
            continue
        broken = f"{finding.violating_records} {finding.counted} in {finding.violating_classes} of {note}"
        note = f"limit {finding.limit:.6g}; {broken} violate it"
        yield about, "reached", finding.reached, finding.holds, note
    for group in audit.worst:
        about, measure = ", ".join(map(_text, group.values)), f"reached of {group.requirement}"
        yield about, measure, group.reached, not group.violates, f"{group.records} {counted}"
    if audit.exposure:
        yield from _exposed(audit.exposure, counted)
    if audit.profile:
        yield from _profiled(audit.profile)
    for sizes in audit.class_sizes:
        (k, *_), classes = sizes.sizes[0], sum(number for _, number, _ in sizes.sizes)
        if sizes.quasi_identifier != by:
            on = ", ".join(sizes.quasi_identifier)
            yield on, "smallest class (k)", k, None, f"the smallest of {classes} classes"
    for risk in audit.risks:
        yield from _risk(risk, counted)
    for item in audit.inferences:
        about = f"{', '.join(item.channel)} -> {', '.join(item.sensitive)}"
        yield from (
            (about, f"inferences above {above:g}", number, None, None) for above, number in item.above
        )
    for one in audit.identifiable:
        about, of = f"{one.confidential} by {', '.join(one.by)}", f"of {one.records}"
        yield about, f"uniquely identifiable {counted}", one.unique, None, of
        yield about, f"collectively identifiable {counted}", one.grouped, None, of


def _exposed(exposure: Exposure, counted: Counted) -> Iterator[Row]:
    by = ", ".join(exposure.by)
    measured = [(by, measure) for measure in exposure.measures(counted)]
    for item in exposure.sensitive:
        measured += [(f"{item.sensitive} by {by}", measure) for measure in item.measures()]
        for value in item.by_value:
            about = f"{item.sensitive} = {_text(value.value)} by {by}"
            share = f"{100 * value.share:.4g} % of all {counted}"
            note = f"{share}; certain for {value.certain} of {value.records}"
            measured.append((about, ("highest confidence", value.confidence, note)))
    yield from ((about, name, value, None, note) for about, (name, value, note) in measured)


def _profiled(profile: Profile) -> Iterator[Row]:
    yield "the table", "records", profile.records, None, f"{len(profile.columns)} columns"
    for column in profile.columns:
        note = f"{column.looks_like}: {column.type}, {column.values} values, {column.nulls} NULLs"
        yield column.column, "share of unique records", column.share_alone, None, note
    for pair in profile.pairs:
        note = f"{pair.alone} of {profile.records} records"
        yield " and ".join(pair.columns), "share of unique records", pair.share_alone, None, note


def _risk(risk: Risk, counted: str) -> Iterator[Row]:
    on, of = ", ".join(risk.quasi_identifier), f"in {risk.population}"
    yield on, f"{risk.attacker} risk, average", risk.average, None, of
    if risk.highest is not None:
        note = f"{risk.records_at_highest} {counted}, {of}"
        yield on, f"{risk.attacker} risk, highest", risk.highest, None, note


def at_risk(measured: TableRisk) -> list[Row]:
    """Give what was measured of who can be found in a table, a row for each measure."""
    rows: list[Row] = [
        (item.column, "set aside", None, f"{item.looks_like}: {item.alone} unique records")
        for item in measured.set_aside
    ]
    for one in measured.sets:
        on, note = ", ".join(one.columns), f"{one.alone} {measured.counted} alone in {one.classes} classes"
        note += "; a key" if one.columns in measured.keys else ""
        rows += [
            (on, "share alone", one.share_alone, note),
            (on, "distinction", one.distinction, None),
            (on, "separation", one.separation, None),
            (on, "minimal sample uniques", one.minimal_uniques, None),
        ]
    for risk in measured.risks:
        for on, measure, number, _, note in _risk(risk, measured.counted):
            rows.append((on, measure, number, note))
        if risk.share_above is not None:
            above = f"{risk.attacker} risk, share above {risk.threshold:g}"
            rows.append((", ".join(measured.by), above, risk.share_above, f"in {risk.population}"))
    rows += [(name, "part of SUDA", part, None) for name, part in measured.suda.by_column.items()]
    rows += [(f"{n} = {_text(v)}", "part of SUDA", part, None) for n, v, part in measured.suda.by_value]
    suda = {"DIS": measured.suda.disclosive, "DIS-SUDA, highest": measured.suda.highest}
    rows += [("the table", measure, number, None) for measure, number in suda.items()]
    for estimate in measured.estimates:
        note = f"converged; {estimate.chosen}".rstrip("; ") if estimate.converged else "not converged"
        rows.append((estimate.model, "population uniques", estimate.population_uniques, note))
    for summed in measured.summed:
        rows.append((summed.of, "expected re-identifications", summed.expected, f"of {summed.number}"))
        rows.append((summed.of, "individual risk, highest", summed.highest, None))
    rows += [("the table", "first requirement", None, measured.requirement)] if measured.requirement else []
    return rows + [("the table", "notice", None, notice) for notice in measured.notices]


def verified(verification: Verification) -> list[Row]:
    rows: list[Row] = [(str(f.requirement), f.holds, f.reached, f.limit) for f in verification.findings]
    return rows + [(check.check, check.holds, None, None) for check in verification.checks]


def compared(comparison: Comparison) -> list[Row]:
    return [
        (
            *(row.name, row.method, list(row.requirements), *astuple(row.numbers)),
            *(row.seconds, row.at_frontier, row.problem or None),
        )
        for row in comparison.rows
    ]


def applied(found: Applied) -> Row:
    """Give the table that was made, its rows, the records with unseen values, and what does not hold."""
    broken = [str(item.requirement) for item in found.findings if not item.holds]
    unknown = [str(requirement) for requirement in found.unmeasured]
    faults = [f"{text} does not hold" for text in broken] + [f"{text} cannot be measured" for text in unknown]
    faults += [f"{found.left_out} records left out"] if found.left_out else []
    return found.into, found.rows, sum(found.unseen.values()), "; ".join(faults) or "every requirement holds"
