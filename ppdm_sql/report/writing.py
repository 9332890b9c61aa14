"""Makes the page of a release and writes it into a file."""

from __future__ import annotations

import hashlib
import os
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path

from ppdm_sql.audit.noise import NoiseModel, noise_models
from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.engine.statements import text
from ppdm_sql.errors import EngineError, InvalidOption, InvalidSource, PpdmError, UnknownTable, some
from ppdm_sql.evaluation import Evaluation, evaluate
from ppdm_sql.evaluation.evaluating import BE, MAJORITY, RE, SE, errors_of
from ppdm_sql.methods.top_down.information_loss import DETAIL
from ppdm_sql.options import AttackOptions, EvaluateRequest, ReportOptions, RiskRequest
from ppdm_sql.progress import Progress, SilentProgress
from ppdm_sql.release import Measured, Release, ReleasedColumn, Verification
from ppdm_sql.release.catalogue import MOVED, CatalogueRow, parts, record_of
from ppdm_sql.release.composition import quasi_identifier
from ppdm_sql.release.control import made_from
from ppdm_sql.release.exporting import check_target, write_page
from ppdm_sql.release.labels import Node, told
from ppdm_sql.release.layout import Shape
from ppdm_sql.release.verification import verify
from ppdm_sql.report import cost, promise
from ppdm_sql.report.page import Chart, Picture, html, numbers, several, vega
from ppdm_sql.report.subject import CountedSide, Subject, measure_table, release_side, source_side
from ppdm_sql.results import ResultTable
from ppdm_sql.risk.attacking import attack
from ppdm_sql.risk.measuring import table_risk

RISKIEST = 10
"""Combinations of the source that are named for each requirement."""
PAIRS = 2
"""Columns of a set that singles people out, of which the page tells; more take a while."""
ATTACK_COLUMNS = ("attack", "knows", "guesses", "tried", "rate", "worst", "baseline", "allowed", "verdict")
"""What the page says of an attack."""
QUICK = EvaluateRequest(folds=5, seeds=1, sample=20_000)
"""How the error of the headline is measured, where no evaluation is asked for."""
CutTree = tuple[str, Node, Mapping[int | None, Sequence[Node]], Mapping[str | None, int]]
"""A column, the root of its cut, the nodes below each node, and the records that show a label."""
MOST_STEPS = 200
MOST_NAMED = 6
MOST_POINTS = 300
KINDS = {
    "HELLO": "versions, requirements, options, who owns which column",
    "KEYS": "which records both sides have",
    "SCORE": "the best candidate of a side",
    "WIN": "the specialization that is performed, and the side of each record",
    "DIGEST": "digests of the states, to be compared",
    "LABELS": "the labels of the release",
}
"""What each kind of message is about."""


def write_report(engine: Engine, release: Release, options: ReportOptions, progress: Progress) -> None:
    """Write the page of a release into a file, whole or not at all.

    Cost: the verification; the audit of release and source; for each column some scans of it on either side,
    and one for each pair of eight columns at most.
    """
    path = Path(options.path)
    check_target(engine, path, force=options.force)
    if options.public and options.evaluate:
        raise InvalidOption(
            "The error of a classifier on the source is the owner's to know.",
            "Leave --evaluate out, or --public.",
        )
    try:
        content = report_page(engine, release, options, progress).encode()
    finally:
        progress.stop()
    write_page(engine, path, content, force=options.force)


def report_page(engine: Engine, release: Release, options: ReportOptions, progress: Progress) -> str:
    vega()
    progress.start(f"verifying {release.name}")
    row = release.row()
    shape = row.shape(engine.current()[0])
    verification = verify(engine, row, shape)
    _refuse_unreadable(release.name, verification)
    with ExitStack() as stack:
        if not options.public:
            # A file that is gone is told in the page, as a table that is gone.
            with suppress(InvalidSource):
                stack.enter_context(row.read_again(engine))
        evaluation = evaluate(engine, release, EvaluateRequest(), progress) if options.evaluate else None
        errors = {} if options.public else _errors(engine, row, shape, evaluation)
        progress.start(f"counting {release.name}")
        stack.enter_context(engine.workspace())
        export = _digest(options.exported)
        subject = _released_subject(engine, row, shape)
        if options.public:
            return html("release.html.jinja", owner=None, exported=export, **_public(subject, verification))
        subject, source, no_source = _with_source(subject, row)
        nodes, measures = release.cut(), release.measures()
        content = _public(subject, verification, nodes, measures)
        owner = _owners(subject, release, row, source, nodes, measures, evaluation)
        owner |= {"no_source": no_source, "errors": errors}
        owner |= _attackers(subject, release, row, source, progress)
        return html("release.html.jinja", owner=owner, exported=export, **content)


def _public(
    subject: Subject,
    verification: Verification,
    nodes: Sequence[Node] = (),
    measures: Sequence[Measured] = (),
) -> dict[str, object]:
    """Give what both editions show; nothing of the source is given for the public one."""
    masked_columns, symbol = subject.columns("suppressed", "generalized"), subject.shape.symbol
    hides = {item.name for item in masked_columns if symbol in subject.after.records_of(item.name, [symbol])}
    models = _noises(subject)
    pictures, apart = cost.associations(subject)
    return {
        "subject": subject,
        "verification": verification,
        "masked": masked_columns,
        "showing": sum(subject.after.counts(item.name).values > 1 for item in masked_columns),
        "columns": _columns(subject, hides, nodes, measures),
        "hides": hides,
        "asked": promise.requirements_table(subject),
        "distributions": promise.distributions(subject),
        "curves": promise.curves(subject),
        "alone": promise.alone(subject),
        "is_noisy": bool(models),
        "noises": cost.noise_table(models),
        "noise": cost.noise(subject, models),
        "same": subject.columns(*cost.KEPT),
        "changed": subject.columns(*cost.CHANGED),
        "most_drawn": cost.MOST_COLUMNS,
        "values": cost.values(subject),
        "associations": pictures,
        "apart": apart,
    }


def _owners(
    subject: Subject,
    release: Release,
    row: CatalogueRow,
    source: Table | None,
    nodes: Sequence[Node],
    measures: Sequence[Measured],
    evaluation: Evaluation | None,
) -> dict[str, object]:
    by = list(row.parameters.get("by", ()))
    stepwise = subject.shape.stepwise
    return {
        "row": row,
        "record": record_of(row, measures),
        "riskiest": _riskiest(subject),
        "by": by,
        "identifiable": promise.identifiable(subject, by, source),
        "left_out": cost.left_out(subject),
        "information": cost.information(measures),
        "evaluation": evaluation,
        "detail": next((one.after for one in measures if one.measure == DETAIL), None),
        "trees": _trees(subject, nodes) if stepwise else [],
        "steps": _gains(subject, release) if stepwise else [],
        "messages": _messages(subject.engine, row.release),
        "measures": [ResultTable("", Measured._fields, measures, {"before": "", "after": ""})]
        if measures
        else [],
    }


def _attackers(
    subject: Subject, release: Release, row: CatalogueRow, source: Table | None, progress: Progress
) -> dict[str, list[ResultTable]]:
    """Give the columns of the source that single people out, and what attackers get; nothing without it."""
    content: dict[str, list[ResultTable]] = {"singling": [], "attacks": []}
    if source is None:
        return content
    columns = {item.name.lower() for item in subject.engine.columns(source)}
    known_columns = {*quasi_identifier(row, subject.shape)}
    known_columns |= {item.name for item in subject.columns("kept", "class")}
    by = [name for name in subject.shape.names if name in known_columns and name.lower() in columns]
    with suppress(PpdmError):  # of rows that are collapsed, or of too many columns, there is no such table
        if by and subject.shape.count is None:
            people = row.parameters.get("person", ())
            request = RiskRequest(table=source, by=by, max_size=PAIRS, person=people)
            tables = table_risk(subject.engine, request, progress).tables()
            content["singling"] = [table for table in tables if table.title.startswith(("Keys", "Sets"))]
    with suppress(PpdmError):
        attacks, *others = attack(subject.engine, release, AttackOptions(), progress).tables()
        places = [attacks.columns.index(name) for name in ATTACK_COLUMNS]
        rows = [[values[place] for place in places] for values in attacks.rows]
        units = {"tried": ""} | dict(attacks.units)
        content["attacks"] = [ResultTable("", ATTACK_COLUMNS, rows, units), *others]
    return content


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


def _released_subject(engine: Engine, row: CatalogueRow, shape: Shape) -> Subject:
    """Give what leaves the owner: the rows, the requirements and the method."""
    requirements = row.asked
    rows = engine.overlay(shape.owned_rows())
    measurements = measure_table(engine, rows, requirements, shape.count, shape.recorded, shape.people)
    side = release_side(engine, shape)
    of = row.release, row.method, shape, requirements, side, measurements
    return Subject(engine, *of, left_out=row.left_out or 0)


def _noises(subject: Subject) -> dict[str, NoiseModel]:
    noises = {item.name: item.noise for item in subject.shape.columns if item.noise}
    return noise_models(subject.engine, noises) if noises else {}


def _columns(
    subject: Subject, hides: Collection[str], nodes: Sequence[Node], measures: Sequence[Measured]
) -> ResultTable:
    """Say what became of each column; the cut and the measures are the owner's."""
    shape = subject.shape

    def labels_of(item: ReleasedColumn) -> tuple[set[str | None], int]:
        counts = subject.after.counts(item.name)
        symbol = [shape.symbol] if item.name in hides else []  # it may be rare
        return {*symbol, *(one.value for one in counts.listed)}, counts.values

    rows = [*told(shape.columns, shape.symbol, nodes, measures, labels_of)]
    return numbers(["column", "the release shows"], rows)


def _with_source(subject: Subject, row: CatalogueRow) -> tuple[Subject, Table | None, str]:
    """Put the source beside the release; where it is gone or another, say so and leave it out."""
    engine = subject.engine
    other_source = f"The source {row.source} is not what it was when the release was made"
    moved_dates = f"The dates of {row.release} were moved before it was made, its source's were not"
    try:
        engine.find(row.source)
    except (UnknownTable, InvalidOption):
        return subject, None, f"The source {row.source} is not in this database"
    if MOVED in row.parameters:
        return subject, None, moved_dates
    try:
        source = made_from(engine, row)
    except InvalidSource:
        return subject, None, other_source
    cells = {name: model.labels for name, model in _noises(subject).items() if model.kind == "cells"}
    side = source_side(engine, source, subject.shape, cells)
    if not _is_same(subject, side, row.left_out or 0):
        return subject, None, other_source
    names = {item.name for item in engine.columns(source)}
    grouping = {name for requirement in subject.requirements for name in requirement.attributes}
    measurements = None
    person = row.parameters.get("person", ())
    if grouping | {*person} <= names:
        measurements = measure_table(
            engine, source, subject.requirements, subject.shape.count, person=person, smallest=RISKIEST
        )
    return replace(subject, before=side, measurements_before=measurements), source, ""


def _is_same(subject: Subject, side: CountedSide, left_out: int) -> bool:
    """Tell whether what is released as it is looks the same; but for the number of records left out."""
    names = [item.name for item in subject.columns(*cost.KEPT)]
    if any(name not in side.codes for name in names):
        return False
    records = subject.after.records
    if left_out:
        return not side.codes or side.records == records + left_out
    return (not side.codes or side.records == records) and all(
        side.counts(name) == subject.after.counts(name) for name in names
    )


def _riskiest(subject: Subject) -> list[ResultTable]:
    before = subject.measurements_before
    if before is None:
        return []
    tables = []
    for sizes, worst in zip(before.sizes, before.smallest, strict=True):
        rows = [
            (
                *(None if value is None else str(value) for value in group.values),
                group.records,
                1 / group.records,
            )
            for group in worst
        ]
        tables.append(numbers([*sizes.quasi_identifier, subject.counted, "risk"], rows, "risk"))
    return tables


# -- how it came about -----------------------------------------------------------------------------


def _trees(subject: Subject, nodes: Sequence[Node]) -> list[CutTree]:
    """Give the cut of each column."""
    below = defaultdict[str, dict[int | None, list[Node]]](dict)
    for node in nodes:
        below[node.attribute].setdefault(node.parent, []).append(node)
    trees = list[CutTree]()
    for item in subject.columns("suppressed", "generalized"):
        if children := below.get(item.name):
            counts, cut = subject.after.counts(item.name), chain.from_iterable(children.values())
            every = counts.values == len(counts.listed)  # else what is not listed is there, too
            none = dict.fromkeys([node.label for node in cut if every and node.shown], 0)
            trees.append((item.name, children[None][0], children, {**none, **dict(counts.listed)}))
    return trees


def _gains(subject: Subject, release: Release) -> list[Picture] | None:
    """Draw what each step gained: information about the class, or certainty; None where there was no step."""
    every_step, label = release.steps(), release.row().parameters.get("class")
    steps = [step for step in every_step if step.gain is not None]
    if not steps:
        return [] if every_step else None
    cells = []
    for step in steps[:MOST_STEPS]:
        children = ["NULL" if child is None else str(child) for child in step.children]
        to = some(children, MOST_NAMED, "; ")
        cells.append((step.step, step.attribute, step.parent, to, step.gain))
    left_out = len(steps) - len(cells)
    every = -(-len(steps) // MOST_POINTS)
    rows = [{"step": step.step, "amount": step.gain} for step in steps[::every]]
    return [
        Picture(
            "Gain of each step",
            Chart("steps", rows, {"up": "gain, in bits" if label else "gain, as a share"}),
            f"The gain of {several(len(steps), 'step')}, "
            + ("in bits about the class." if label else "as the fall of the certainty penalty."),
            numbers(["step", "column", "from", "to", "gain"], cells),
            (f"Every {every}th step is drawn. " if every > 1 else "")
            + (f"The table leaves out {several(left_out, 'step')}." if left_out > 0 else ""),
        )
    ]


def _messages(engine: Engine, release: str) -> list[ResultTable]:
    """Sum up the messages between two parties by their kind and direction."""
    if "transcripts" not in parts(engine):
        return []
    messages = engine.query(text("report/messages"), {"release": release}, step="messages")
    rows = [(kind, KINDS.get(kind, ""), *counts) for kind, *counts in messages]
    heads = ["message", "about", "direction", "messages", "bytes", "first round", "last round"]
    return [numbers(heads, rows)] if rows else []
