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
from ppdm_sql.progress import Progress
from ppdm_sql.release import Release

if TYPE_CHECKING:
    from ppdm_sql.audit import Audit, Exposure, Finding, Profile, Risk
    from ppdm_sql.audit.model import Counted
    from ppdm_sql.comparison.model import Comparison
    from ppdm_sql.release.applying import Applied
    from ppdm_sql.release.verification import Verification

Columns = Sequence[tuple[str, str]]
"""Name and DuckDB type of each field of a struct."""


def typed(text: str) -> Columns:
    """Read names with their types, VARCHAR where there is none."""
    return [(name, kind or "VARCHAR") for name, _, kind in (item.partition(" ") for item in text.split(", "))]


Row = tuple[Any, ...]
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
LISTED_RELEASES, LISTED_MODELS = ([name for name, _ in typed(text)] for text in (RELEASES, MODELS))


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


def report(db: Database, given: Mapping[str, Any], progress: Progress | None = None) -> str:
    """Write the page of a release or model, and give its name."""
    options = dict(given)
    found = published(db, options.pop("release"))
    if isinstance(found, Release):
        found.report(**options, progress=progress)
        return found.name
    for name in ("public", "evaluate", "exported"):
        if options.pop(name, None):
            raise InvalidOption(
                f"{found.name!r} is a model, whose page tells of the records that it was grown from.",
                f"Leave --{name} out.",
            )
    found.report(**options)
    return found.name


def listed_releases(db: Database) -> list[tuple[object, ...]]:
    """Give the releases, a row each, under :data:`LISTED_RELEASES`."""
    return [tuple(getattr(row, name) for name in LISTED_RELEASES) for row in db.releases()]


def listed_models(db: Database) -> list[tuple[object, ...]]:
    """Give the models, a row each, under :data:`LISTED_MODELS`."""
    return [
        (m.model, m.mode, m.source, m.class_column, m.rows, m.test, right(m), m.created_at)
        for m in db.models()
    ]


def right(row: ModelRow) -> float | None:
    """Give the share of right predictions on the test table, if there was one."""
    return None if row.confusion is None else accuracy(row.confusion)


# -- what calls give ---------------------------------------------------------------------------


def summarized(release: Release) -> Row:
    """Give release, method, rows, verdict, and the measures that matter."""
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
    """Give model, mode, rows, leaves and accuracy."""
    row = model.row()
    return row.model, row.mode, row.rows, len(model.tree().leaves), right(row)


def shown(found: Release | Model) -> list[Row]:
    """Describe a release or a model, then give its measures."""
    described, measures, *_ = found.tables()
    if isinstance(found, Model):
        return [(what, _text(value)) for what, value in described.rows]
    rows: list[Row] = []
    for what, value in described.rows:
        kind, _, name = what.partition(" ")
        # noise is the argument that describes it to others
        rows.append((what, _noise(name, value) if kind == "noise" else _text(value)))
    return rows + [(f"measure {name}", f"{_text(was)} -> {_text(now)}") for name, was, now in measures.rows]


def _noise(name: str, noise: str) -> str:
    return f"noise := {{{render(literal(name))}: {render(literal(noise))}}}"


def _text(value: object) -> str:
    """Write a value for a reader."""
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, datetime):
        return value.isoformat(" ", "seconds")
    if isinstance(value, (bool, dict)):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_text, value))
    return "NULL" if value is None else str(value)


def dropped(found: Release | Model) -> Row:
    """Remove a release or model, and say which."""
    found.drop()
    return found.name, "model" if isinstance(found, Model) else "release"


# -- what was measured ------------------------------------------------------------------------


def audited(audit: Audit) -> list[Row]:
    """Give what an audit found, a row for each measure."""
    rows = [_finding(found) for found in audit.findings]
    for group in audit.worst:
        asked, values = str(group.requirement), ", ".join(map(_text, group.values))
        note = f"{group.records} {audit.counted}"
        rows.append((values, f"reached of {asked}", group.reached, not group.violates, note))
    rows += list(_exposed(audit.exposure, audit.counted)) if audit.exposure else []
    rows += list(_profiled(audit.profile)) if audit.profile else []
    for sizes in audit.class_sizes:
        (k, *_), classes = sizes.sizes[0], sum(number for _, number, _ in sizes.sizes)
        if audit.exposure is None or audit.exposure.by != sizes.quasi_identifier:
            on = ", ".join(sizes.quasi_identifier)
            rows.append((on, "smallest class (k)", k, None, f"the smallest of {classes} classes"))
    rows += [row for risk in audit.risks for row in _risk(risk, audit.counted)]
    for found in audit.inferences:
        about = f"{', '.join(found.channel)} -> {', '.join(found.sensitive)}"
        rows += [(about, f"inferences above {above:g}", number, None, None) for above, number in found.above]
    for item in audit.identifiable:
        about, of = f"{item.confidential} by {', '.join(item.by)}", f"of {item.records}"
        rows.append((about, f"uniquely identifiable {audit.counted}", item.unique, None, of))
        rows.append((about, f"collectively identifiable {audit.counted}", item.grouped, None, of))
    return rows


def _risk(risk: Risk, counted: str) -> Iterator[Row]:
    on, of = ", ".join(risk.quasi_identifier), f"in {risk.population}"
    yield on, f"{risk.attacker} risk, average", risk.average, None, of
    if risk.highest is not None:
        note = f"{risk.records_at_highest} {counted}, {of}"
        yield on, f"{risk.attacker} risk, highest", risk.highest, None, note


def _finding(found: Finding) -> Row:
    about, of = str(found.requirement), f"{found.classes} classes"
    if isinstance(found.requirement, Measure):
        return about, "reached", found.reached, None, of
    broken = f"{found.violating_records} {found.counted} in {found.violating_classes} of {of} violate it"
    return about, "reached", found.reached, found.holds, f"limit {found.limit:.6g}; {broken}"


def _exposed(found: Exposure, counted: Counted) -> Iterator[Row]:
    from ppdm_sql.audit.exposure import sensitive_measures  # what only lists does without

    by = ", ".join(found.by)
    yield from ((by, name, value, None, note) for name, value, note in found.measures(counted))
    for item in found.sensitive:
        about = f"{item.sensitive} by {by}"
        yield from ((about, name, value, None, note) for name, value, note in sensitive_measures(item))
        for value in item.by_value:
            note = (
                f"{100 * value.share:.4g} % of all {counted}; certain for {value.certain} of {value.records}"
            )
            named = f"{item.sensitive} = {_text(value.value)} by {by}"
            yield named, "highest confidence", value.confidence, None, note


def _profiled(found: Profile) -> Iterator[Row]:
    yield "the table", "records", found.records, None, f"{len(found.columns)} columns"
    for column in found.columns:
        note = f"{column.looks_like}: {column.type}, {column.values} values, {column.nulls} NULLs"
        yield column.column, "share of unique records", column.share_alone, None, note
    for pair in found.pairs:
        note = f"{pair.alone} of {found.records} records"
        yield " and ".join(pair.columns), "share of unique records", pair.share_alone, None, note


def verified(found: Verification) -> list[Row]:
    """Give what a verification found, a row for each requirement and for each check."""
    rows: list[Row] = [(str(f.requirement), f.holds, f.reached, f.limit) for f in found.findings]
    return rows + [(check.check, check.holds, None, None) for check in found.checks]


def compared(found: Comparison) -> list[Row]:
    """Give settings, or releases, side by side."""
    return [
        (
            *(row.name, row.method, list(row.requirements), *astuple(row.numbers)),
            *(row.seconds, row.at_frontier, row.problem or None),
        )
        for row in found.rows
    ]


def applied(found: Applied) -> Row:
    """Give the table that was made, its rows, the records with unseen values, and what does not hold."""
    broken = [str(item.requirement) for item in found.findings if not item.holds]
    unknown = [str(requirement) for requirement in found.unmeasured]
    faults = [f"{text} does not hold" for text in broken] + [f"{text} cannot be measured" for text in unknown]
    faults += [f"{found.left_out} records left out"] if found.left_out else []
    return found.into, found.rows, sum(found.unseen.values()), "; ".join(faults) or "every requirement holds"
