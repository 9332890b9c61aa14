"""Makes the page of a release and writes it into a file."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from ppdm_sql.audit.noise import NoiseModel, noise_models
from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.errors import EngineError, InvalidOption, InvalidSource, UnknownTable
from ppdm_sql.evaluation import EvaluateOptions, Evaluation, evaluate
from ppdm_sql.privacy import parse_all
from ppdm_sql.progress import Progress
from ppdm_sql.release import Measured, Release, Treatment, Verification
from ppdm_sql.release.catalogue import READ, CatalogueRow
from ppdm_sql.release.exporting import check_target, write_page
from ppdm_sql.release.layout import Shape
from ppdm_sql.release.verification import verify
from ppdm_sql.report import cost, course, crossing, noise, promise, swaps
from ppdm_sql.report.associations import associations
from ppdm_sql.report.charts import Drawing
from ppdm_sql.report.limits import LIMITS
from ppdm_sql.report.measuring import measured
from ppdm_sql.report.page import Block, Chapter, Numbers, Page, html
from ppdm_sql.report.sides import CountedSide, release_side, source_side
from ppdm_sql.report.subject import Subject
from ppdm_sql.report.words import Cell, count, made, several, share, written
from ppdm_sql.sources import read_again

RISKIEST = 10
"""Combinations of the source that are named for each requirement."""
METHODS = {
    "PDA": "suppression (Progressive Disclosure Algorithm; Wang, Fung, Yu 2005)",
    "TDS": "generalization (Top-Down Specialization; Fung, Wang, Yu 2005)",
    "HCE-TDR": "generalization guided by the conditional entropy (HCE-TDR, 2013)",
    "TDS2P": "generalization of two parties' records (TDS2P; Wang, Fung, Dong 2005)",
    "swap": "swapping of confidential values (Li, Sarkar 2004)",
    "randomize": "randomization (Agrawal, Srikant 2000)",
}
"""What each method is called on a page."""


ENDED = {
    "complete": "when no step was left",
    "max-steps": "at the number of steps that was asked for",
    "interrupted": "early, by Ctrl-C",
}
TREATMENTS: dict[Treatment, str] = {
    "suppressed": "Suppressed",
    "generalized": "Generalized",
    "lower bound": "Lower bounds",
    "upper bound": "Upper bounds",
    "swapped": "Swapped",
    "randomized": "Randomized",
    "discretized": "Shown as cells",
    "sensitive": "Sensitive, as it is",
    "class": "Class, as it is",
    "kept": "As it is",
    "pseudonym": "Pseudonym",
    "count": "Number of records",
}
"""What the columns of each treatment are called."""


@dataclass(frozen=True)
class ReportOptions:
    """What is asked of a report.

    Args:
        public: Whether the page is for others than the owner.
        force: Whether a file is replaced.
        evaluate: Whether the error of a classifier is measured.
        exported: The file that the release was exported to, whose digest the page gives.
    """

    public: bool = False
    force: bool = False
    evaluate: bool = False
    exported: str | os.PathLike[str] | None = None


def write_report(
    engine: Engine, release: Release, path: str | os.PathLike[str], options: ReportOptions, progress: Progress
) -> None:
    """Write the page of a release into a file, whole or not at all.

    Raises:
        NameTaken: The file exists, and is not to be replaced.
        InvalidOption: A library or the folder is missing, or an option cannot be used.
        EngineError: The rows of the release cannot be read.

    Cost: the verification; the audit of release and source; for each column some scans of it on either side,
    and one for each pair of eight columns at most; at most a dozen audits of states on the way.
    """
    check_target(engine, Path(path), force=options.force)
    if options.public and options.evaluate:
        raise InvalidOption(
            "The error of a classifier on the source is the owner's to know.",
            "Leave --evaluate out, or --public.",
        )
    try:
        content = html(report_page(engine, release, options, progress)).encode()
    finally:
        progress.stop()
    write_page(engine, Path(path), content, force=options.force)


def report_page(engine: Engine, release: Release, options: ReportOptions, progress: Progress) -> Page:
    """Make the page of a release."""
    drawing = Drawing()
    progress.start(f"verifying {release.name}")
    row = release.row()
    shape = row.shape(engine.current()[0])
    verification = verify(engine, row, shape)
    _refuse_unreadable(release.name, verification)
    with ExitStack() as stack:
        if not options.public:
            # A file that is gone is told in the page, as a table that is gone.
            with suppress(InvalidSource):
                stack.enter_context(read_again(engine, row.source, row.parameters.get(READ, {}), row.release))
        evaluation = evaluate(engine, release, EvaluateOptions(), progress) if options.evaluate else None
        progress.start(f"counting {release.name}")
        stack.enter_context(engine.workspace())
        digest = _digest(options.exported)
        subject = _published(engine, drawing, row, shape)
        if options.public:
            return _public_page(subject, verification, digest)
        return _owners_page(subject, release, row, verification, digest, evaluation)


def _refuse_unreadable(name: str, verification: Verification) -> None:
    if not verification.findings and any(not check.holds for check in verification.checks[:2]):
        raise EngineError(
            f"The rows of {name!r} are not those that were published.",
            "Run ppdm verify to see what has changed.",
        )


def _digest(exported: str | os.PathLike[str] | None) -> tuple[str, str] | None:
    """Give name and SHA-256 of an exported file."""
    if exported is None:
        return None
    try:
        with open(exported, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as cause:
        raise InvalidOption(
            f"The exported file {os.fspath(exported)} cannot be read.",
            "Give the file that ppdm export wrote.",
        ) from cause
    return Path(exported).name, digest


def _published(engine: Engine, drawing: Drawing, row: CatalogueRow, shape: Shape) -> Subject:
    """Give what leaves the owner: the rows, the requirements and the method."""
    requirements = tuple(parse_all(row.requirements))
    rows = engine.overlay(shape.owned_rows())
    found = measured(engine, rows, requirements, shape.count, shape.recorded, shape.people)
    return Subject(
        engine, drawing, row.release, row.method, shape, requirements, release_side(engine, shape), found
    )


def _noises(subject: Subject) -> dict[str, NoiseModel]:
    noises = {item.name: item.noise for item in subject.shape.columns if item.noise}
    return noise_models(subject.engine, noises) if noises else {}


# -- the public edition -----------------------------------------------------------------------


def _public_page(subject: Subject, verification: Verification, digest: tuple[str, str] | None) -> Page:
    """Make the page that everybody may see; it is given nothing of the source."""
    chapters = [
        promise.promise(subject),
        promise.risk(subject, Block()),
        noise.noise(subject, _noises(subject)),
        Chapter("values", "What is in it", [cost.values(subject), associations(subject)]),
        _limits(subject.method),
    ]
    return Page(
        title=subject.name,
        edition="Report on a release, made from what is released alone",
        lead=[_first_sentence(subject, None), _requirements_sentence(subject)],
        verdict=_verdict(verification),
        facts=[("Method", _method(subject)), *_columns(subject), *_file_facts(digest)],
        chapters=chapters,
        made=made(),
    )


def _first_sentence(subject: Subject, source: str | None) -> str:
    records = _records(subject.after)
    origin = "" if source is None else f" of {source}"
    columns = several(len(subject.shape.columns), "column")
    return f"{subject.name} holds {several(records, 'record')}{origin} in {columns}."


def _requirements_sentence(subject: Subject) -> str:
    asked = [str(requirement) for requirement in subject.requirements]
    if not asked:
        return f"It was made by {_method(subject)}."
    named = "one requirement" if len(asked) == 1 else several(len(asked), "requirement")
    return f"It was made by {_method(subject)} under {named}: {'; '.join(asked)}."


def _verdict(verification: Verification) -> tuple[str, bool]:
    broken = [str(found.requirement) for found in verification.findings if not found.holds]
    broken += [check.check for check in verification.checks if not check.holds]
    if broken:
        return f"This release does not verify. Broken: {'; '.join(broken)}.", False
    if verification.findings:
        return "An audit of the released rows confirms every requirement.", True
    return "The released rows are those that were published.", True


def _method(subject: Subject) -> str:
    return METHODS.get(subject.method, subject.method)


def _columns(subject: Subject) -> list[tuple[str, str]]:
    """List the columns by what became of them."""
    found: dict[Treatment, list[str]] = {}
    for item in subject.shape.columns:
        found.setdefault(item.treatment, []).append(item.name)
    return [(TREATMENTS[treatment], ", ".join(names)) for treatment, names in found.items()]


def _file_facts(digest: tuple[str, str] | None) -> list[tuple[str, str]]:
    return [] if digest is None else [("File", digest[0]), ("SHA-256", digest[1])]


def _limits(method: str) -> Chapter:
    return Chapter("limits", "What is not promised", [Block(items=LIMITS.get(method, ()))])


def _records(side: CountedSide) -> int:
    name = next(iter(side.codes), None)
    return 0 if name is None else side.counts(name).records


# -- the owner's edition ----------------------------------------------------------------------


def _owners_page(
    subject: Subject,
    release: Release,
    row: CatalogueRow,
    verification: Verification,
    digest: tuple[str, str] | None,
    evaluation: Evaluation | None,
) -> Page:
    subject, source, said = _with_source(subject, row)
    measures = release.measures()
    costs = [
        cost.values(subject),
        cost.information(subject, measures),
        cost.classifier(evaluation),
        associations(subject),
    ]
    return Page(
        title=release.name,
        edition="Report on a release, for its owner: it tells of the source and must not be passed on",
        lead=[_first_sentence(subject, row.source), _requirements_sentence(subject), *said],
        verdict=_verdict(verification),
        facts=[*_owners_facts(subject, row), *_file_facts(digest)],
        chapters=[
            promise.promise(subject),
            promise.risk(subject, _riskiest(subject)),
            swaps.swaps(subject, release, source),
            noise.noise(subject, _noises(subject)),
            Chapter("cost", "What it cost", costs),
            course.course(subject, release),
            crossing.crossed(subject.engine, row.release),
            Chapter("measures", "All measures", [_all_measures(measures)]),
            _limits(row.method),
        ],
        made=made(),
    )


def _with_source(subject: Subject, row: CatalogueRow) -> tuple[Subject, Table | None, list[str]]:
    """Put the source beside the release; where it is gone or another, say so and leave it out."""
    engine = subject.engine
    try:
        source = engine.find(row.source)
    except (UnknownTable, InvalidOption):
        return subject, None, [f"The source {row.source} is not in this database, so nothing of it is shown."]
    cells = {name: model.labels for name, model in _noises(subject).items() if model.kind == "cells"}
    side = source_side(engine, source, subject.shape, cells)
    if not _is_same(subject, side, row.left_out or 0):
        changed = f"The source {row.source} is not what it was when the release was made"
        return subject, None, [f"{changed}, so nothing of it is shown."]
    names = {item.name for item in engine.columns(source)}
    wanted = {name for requirement in subject.requirements for name in requirement.attributes}
    found = None
    person = row.parameters.get("person", ())
    if wanted | {*person} <= names:
        found = measured(
            engine, source, subject.requirements, subject.shape.count, person=person, smallest=RISKIEST
        )
    return replace(subject, before=side, measured_before=found), source, []


def _is_same(subject: Subject, side: CountedSide, left_out: int) -> bool:
    """Tell whether what is released as it is looks the same; but for the number of records left out."""
    kept = [item.name for item in subject.columns(*cost.KEPT)]
    if any(name not in side.codes for name in kept):
        return False
    records = _records(subject.after)
    if left_out:
        return not side.codes or _records(side) == records + left_out
    return (not side.codes or _records(side) == records) and all(
        side.counts(name) == subject.after.counts(name) for name in kept
    )


def _all_measures(found: Sequence[Measured]) -> Block:
    return Block("What the run measured", tables=[cost.measure_table(found)]) if found else Block()


def _riskiest(subject: Subject) -> Block:
    """Name the smallest classes of the source, for each quasi-identifier."""
    if subject.measured_before is None:
        return Block()
    tables = []
    for sizes, worst in zip(subject.measured_before.sizes, subject.measured_before.smallest, strict=True):
        rows: list[list[Cell]] = [
            [
                *(None if value is None else str(value) for value in group.values),
                count(group.records),
                share(1 / group.records),
            ]
            for group in worst
        ]
        tables.append(Numbers([*sizes.quasi_identifier, subject.counted, "risk"], rows))
    return Block("The riskiest combinations of the source", tables=tables)


def _owners_facts(subject: Subject, row: CatalogueRow) -> list[tuple[str, str]]:
    """List what the catalogue knows."""
    facts = [("Source", row.source), ("Method", _method(subject)), *_columns(subject)]
    facts.append(("Published", f"{written(row.created_at.date())}, by ppdm-sql {row.version}"))
    if row.left_out is not None:
        most = row.parameters.get("suppress_records", "")
        facts.append(("Records left out", f"{row.left_out}; at most {most} of the source's"))
    if subject.shape.stepwise:
        facts.append(("Ended", ENDED.get(row.stopped, row.stopped)))
    return [*facts, *(("Notice", notice) for notice in row.notices)]
