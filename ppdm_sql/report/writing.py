"""Makes the page of a release and writes it into a file."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from ppdm_sql.audit.noise import NoiseModel, noise_models
from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.errors import EngineError, InvalidOption, InvalidSource, PpdmError, UnknownTable
from ppdm_sql.evaluation import EvaluateOptions, Evaluation, evaluate
from ppdm_sql.evaluation.evaluating import BE, MAJORITY, RE, SE, errors_of
from ppdm_sql.methods.top_down.information_loss import DETAIL
from ppdm_sql.privacy import parse_all
from ppdm_sql.progress import Progress, SilentProgress
from ppdm_sql.release import Measured, Release, ReleasedColumn, Verification
from ppdm_sql.release.catalogue import READ, CatalogueRow
from ppdm_sql.release.cut_tree import Node, told
from ppdm_sql.release.exporting import check_target, write_page
from ppdm_sql.release.layout import Shape
from ppdm_sql.release.verification import verify
from ppdm_sql.report import cost, course, crossing, noise, promise, swaps
from ppdm_sql.report.associations import associations
from ppdm_sql.report.charts import Drawing
from ppdm_sql.report.limits import limits
from ppdm_sql.report.measuring import measured
from ppdm_sql.report.page import Block, Chapter, Numbers, Page, html
from ppdm_sql.report.sides import CountedSide, release_side, source_side
from ppdm_sql.report.subject import Subject
from ppdm_sql.report.words import Cell, Number, count, made, several, share, written
from ppdm_sql.sources import read_again

RISKIEST = 10
"""Combinations of the source that are named for each requirement."""
QUICK = EvaluateOptions(folds=5, seeds=1, sample=20_000)
"""How the error of the headline is measured, where no evaluation is asked for."""
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
    and one for each pair of eight columns at most.
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
        errors = {} if options.public else _errors(engine, row, shape, evaluation)
        progress.start(f"counting {release.name}")
        stack.enter_context(engine.workspace())
        digest = _digest(options.exported)
        subject = _published(engine, drawing, row, shape)
        if options.public:
            return _public_page(subject, verification, digest)
        return _owners_page(subject, release, row, verification, digest, evaluation, errors)


def _refuse_unreadable(name: str, verification: Verification) -> None:
    if not verification.findings and any(not check.holds for check in verification.checks[:2]):
        raise EngineError(
            f"The rows of {name!r} are not those that were published.",
            "Run ppdm verify to see what has changed.",
        )


def _errors(
    engine: Engine, row: CatalogueRow, shape: Shape, evaluation: Evaluation | None
) -> Mapping[str, float]:
    """Give the errors of a classifier: of an evaluation, or of a small one, where there can be one."""
    if evaluation is not None:
        return {rate.error: rate.mean for rate in evaluation.rates}
    if not any(item.treatment == "class" for item in shape.columns):
        return {}
    try:
        return errors_of(engine, row, shape, QUICK, (BE, SE, RE, MAJORITY), SilentProgress())
    except PpdmError:
        return {}


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
        engine,
        drawing,
        row.release,
        row.method,
        shape,
        requirements,
        release_side(engine, shape),
        found,
        left_out=row.left_out or 0,
    )


def _noises(subject: Subject) -> dict[str, NoiseModel]:
    noises = {item.name: item.noise for item in subject.shape.columns if item.noise}
    return noise_models(subject.engine, noises) if noises else {}


# -- the public edition -----------------------------------------------------------------------


def _public_page(subject: Subject, verification: Verification, digest: tuple[str, str] | None) -> Page:
    """Make the page that everybody may see; it is given nothing of the source."""
    chapters = [
        _columns(subject),
        promise.promise(subject),
        promise.risk(subject, Block()),
        noise.noise(subject, _noises(subject)),
        Chapter("values", "What is in it", [cost.values(subject), associations(subject)]),
        _limits(subject),
    ]
    return Page(
        title=subject.name,
        edition="Report on a release, made from what is released alone",
        lead=[_first_sentence(subject, None), *_missing(subject), _requirements_sentence(subject)],
        verdict=_verdict(verification),
        worth=_worth(subject),
        facts=[("Method", _method(subject)), *_file_facts(digest)],
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


def _columns(subject: Subject, nodes: Sequence[Node] = (), measures: Sequence[Measured] = ()) -> Chapter:
    """Say what became of each column, and what the symbol is; the cut and the measures are the owner's."""
    shape = subject.shape
    hidden = {item.name for item in subject.columns("suppressed", "generalized") if _is_hiding(subject, item)}

    def counted(item: ReleasedColumn) -> tuple[set[str | None], int]:
        found = subject.after.counts(item.name)
        symbol = [shape.symbol] if item.name in hidden else []  # it may be rare
        return {*symbol, *(one.value for one in found.listed)}, found.values

    rows = [*told(shape.columns, shape.symbol, nodes, measures, counted)]
    words = (
        f"{shape.symbol} stands for a value that the release does not show: any of its column's, but for "
        "those that the column shows."
    )
    blocks = [Block(tables=[Numbers(["column", "the release shows"], rows)])]
    return Chapter(
        "columns", "What became of each column", [*blocks, Block(sentences=[words] if hidden else ())]
    )


def _is_hiding(subject: Subject, item: ReleasedColumn) -> bool:
    return subject.shape.symbol in subject.after.records_of(item.name, [subject.shape.symbol])


def _missing(subject: Subject) -> list[str]:
    """Say how many records of the source are not in the release, where its method can tell."""
    if subject.left_out:
        left, whole = subject.left_out, subject.left_out + _records(subject.after)
        verb, they = ("is", "it was") if left == 1 else ("are", "they were")
        of_all = share(left / whole)
        return [f"{several(left, 'record')}, {of_all} of the source's, {verb} missing: {they} left out."]
    return ["No record of the source is missing."] if subject.method in ("PDA", "TDS", "HCE-TDR") else []


def _worth(
    subject: Subject, measures: Sequence[Measured] = (), errors: Mapping[str, float] | None = None
) -> str:
    """Say what the release is still worth; the detail and the errors are the owner's to know."""
    said, masked = [], subject.columns("suppressed", "generalized")
    if masked:
        showing = sum(subject.after.counts(item.name).values > 1 for item in masked)
        verb = "shows" if 1 in (showing, len(masked)) else "show"
        some = "All" if showing == len(masked) > 1 else f"{showing} of"
        kept = [one.after for one in measures if one.measure == DETAIL]
        detail = f", and {share(kept[0])} of the detail of the masked cells is kept" if kept else ""
        said.append(f"{some} {several(len(masked), 'masked column')} {verb} something{detail}.")
    if errors:
        (label,) = subject.columns("class")
        was, now, blind = (Number(f"{errors[of]:.1f} %") for of in (BE, SE, MAJORITY))
        said.append(
            f"A decision tree that learns from the release is wrong about {label.name} in {now} of the "
            f"records it has not seen; from the original in {was}, and without any column in {blind}."
        )
        if RE in errors and round(errors[RE], 1) < round(errors[SE], 1):
            without = Number(f"{errors[RE]:.1f} %")
            said.append(
                f"Without its masked columns it would be wrong in {without}: they do more harm than good."
            )
    return " ".join(said)


def _file_facts(digest: tuple[str, str] | None) -> list[tuple[str, str]]:
    return [] if digest is None else [("File", digest[0]), ("SHA-256", digest[1])]


def _limits(subject: Subject) -> Chapter:
    items = limits(subject.method, subject.requirements)
    return Chapter("limits", "What is not promised", [Block(items=items)])


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
    errors: Mapping[str, float],
) -> Page:
    subject, source, said = _with_source(subject, row)
    measures = release.measures()
    costs = [
        cost.left_out(subject),
        cost.values(subject),
        cost.information(subject, measures),
        cost.classifier(evaluation),
        associations(subject),
    ]
    return Page(
        title=release.name,
        edition="Report on a release, for its owner: it tells of the source and must not be passed on",
        lead=[
            *(_first_sentence(subject, row.source), *_missing(subject)),
            *(_requirements_sentence(subject), *said),
        ],
        verdict=_verdict(verification),
        worth=_worth(subject, measures, errors),
        facts=[*_owners_facts(subject, row), *_file_facts(digest)],
        chapters=[
            _columns(subject, release.cut(), measures),
            promise.promise(subject),
            promise.risk(subject, _riskiest(subject)),
            swaps.swaps(subject, release, source),
            noise.noise(subject, _noises(subject)),
            Chapter("cost", "What it cost", costs),
            course.course(subject, release),
            crossing.crossed(subject.engine, row.release),
            Chapter("measures", "All measures", [_all_measures(measures)]),
            _limits(subject),
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
    facts = [("Source", row.source), ("Method", _method(subject))]
    facts.append(("Published", f"{written(row.created_at.date())}, by ppdm-sql {row.version}"))
    if row.left_out is not None:
        most = row.parameters.get("suppress_records", "")
        facts.append(("Records left out", f"{row.left_out}; at most {most} of the source's"))
    if subject.shape.stepwise:
        facts.append(("Ended", ENDED.get(row.stopped, row.stopped)))
    return [*facts, *(("Notice", notice) for notice in row.notices)]
