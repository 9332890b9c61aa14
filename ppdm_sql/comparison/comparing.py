"""Compares settings on one table, or releases that exist; publishes the best where asked to.

The settings of a grid are every combination of the options that were given several values. The table is read
once for all that mask the same columns, and rows are measured whatever made them.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

from ppdm_sql.audit import findings
from ppdm_sql.audit.collapsing import Collapsed
from ppdm_sql.audit.exposure import class_sizes
from ppdm_sql.comparison.model import BEST, ComparedRow, Comparison, ReleaseNumbers, ranked, write_comparison
from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table, free_name, resolve_all
from ppdm_sql.errors import ColumnRoleError, GuaranteeNotMet, InvalidOption, PpdmError, check_choice, said
from ppdm_sql.evaluation.evaluating import BASELINES, SE, errors_of, tree_class
from ppdm_sql.methods.base.collapse import Atoms
from ppdm_sql.methods.base.released_rows import Output
from ppdm_sql.methods.top_down.generalize import GeneralizationRun, generalize
from ppdm_sql.methods.top_down.information_loss import DETAIL
from ppdm_sql.methods.top_down.loop import State
from ppdm_sql.methods.top_down.request import GeneralizeRequest, RefinementRequest
from ppdm_sql.methods.top_down.run import RefinementRun
from ppdm_sql.methods.top_down.suppress import SuppressionRun, suppress
from ppdm_sql.options import CompareRequest, EvaluateRequest
from ppdm_sql.privacy import Asked, Counts, KAnonymity, Measure, Requirement, parse_measures
from ppdm_sql.progress import Progress, SilentProgress
from ppdm_sql.release import CatalogueRow, Draft, Release, check_free, get, releases
from ppdm_sql.release.catalogue import READ, SHAPE
from ppdm_sql.release.draft import MeasureRow
from ppdm_sql.release.exporting import check_target
from ppdm_sql.release.layout import Shape
from ppdm_sql.sources import Source, read_again
from ppdm_sql.sources.given import given
from ppdm_sql.version import __version__

SUPPRESSION, CONDITIONED = "pda", "hce-tdr"
METHODS = ("tds", CONDITIONED, SUPPRESSION)
"""The methods that a grid can try: those that are given requirements."""
GRID = ("k", "method", "suppress_records")
"""The options that may have several values, the outermost first."""
OF_TABLES = (
    *("require", "k", "class_column", "taxonomies", "keep_best", "into"),
    *("person", "limits", "weights", "min_widths", "tops", "bottoms"),
)
"""What only a table can be asked, not a release."""


# -- what is asked ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Setting:
    """One setting of the grid."""

    name: str  # what sets it apart from the others
    choices: Mapping[str, object]  # the options that have several values, with its own
    request: RefinementRequest  # what its run is asked

    @property
    def method(self) -> str:
        return self.request.method if isinstance(self.request, GeneralizeRequest) else SUPPRESSION


def settings(asked: CompareRequest) -> list[Setting]:
    """List the settings of a grid."""
    for method in asked.method:
        check_choice("method", method, METHODS)
    values: dict[str, Any] = {
        "k": asked.k or (None,),
        "method": asked.method or ("tds",),
        "suppress_records": asked.suppress_records or ("0",),
    }
    varied = {name for name in GRID if len(set(values[name])) > 1} or {"method"}
    into = asked.into or f"comparison_{secrets.token_hex(8)}"
    found = []
    for combination in product(*(dict.fromkeys(values[name]) for name in GRID)):
        choices = dict(zip(GRID, combination, strict=True))
        named = ", ".join(_said(name, value) for name, value in choices.items() if name in varied)
        tried = {name: value for name, value in choices.items() if name in varied or name != GRID[-1]}
        told = {name: value for name, value in tried.items() if value is not None}
        found.append(Setting(named, told, _request(asked, into, **choices)))
    return found


def _said(name: str, value: object) -> str:
    return {"method": f"{value}", "k": f"k = {value}"}.get(name, f"{value} left out")


def _request(
    asked: CompareRequest, into: str, k: int | None, method: str, suppress_records: Any
) -> RefinementRequest:
    """Make the request of one setting; what a method does not know is left out or kept in the clear."""
    kind = RefinementRequest if method == SUPPRESSION else GeneralizeRequest
    options = {one.name: getattr(asked, one.name) for one in fields(kind) if hasattr(asked, one.name)}
    options |= {"require": list(_requirements(asked, k)), "into": into, "suppress_records": suppress_records}
    if "method" in options:
        options["method"] = method
    if method != CONDITIONED:
        options.pop("condition", None)
        options["keep"] = tuple(dict.fromkeys((*asked.keep, *asked.condition)))
    return kind(**options)


def _requirements(asked: CompareRequest, k: int | None) -> Iterator[Requirement]:
    """Give the requirements of a setting, its k where one has no limit of its own."""
    found: list[Asked] = list(parse_measures(asked.require))
    if asked.quasi_identifier:
        found.insert(0, Measure(KAnonymity(1, tuple(asked.quasi_identifier))))
    if not found:
        raise InvalidOption(
            "Nothing is said of what the settings keep.", "Give --qi A,B and --k 2,5,10, or --require."
        )
    if k is not None and not any(isinstance(one, Measure) for one in found):
        raise InvalidOption("--k has no columns that it is about.", "Give them with --qi A,B.")
    for one in found:
        yield _limited(one, k) if isinstance(one, Measure) else one


def _limited(measure: Measure, k: int | None) -> Requirement:
    if not isinstance(measure.of, KAnonymity):
        raise InvalidOption(f"The requirement {str(measure)!r} has no limit.", "Write its limit.")
    if k is None:
        raise InvalidOption("No k is given.", "Add the k to try, such as --k 2,5,10.")
    return replace(measure.of, k=k)


# -- the comparison --------------------------------------------------------------------------------


def compare(engine: Engine, asked: CompareRequest, progress: Progress) -> Comparison:
    """Try settings on a table, or put releases side by side; see :meth:`ppdm_sql.Database.compare`."""
    _check(engine, asked)
    tables = asked.tables
    named = [tables] if isinstance(tables, str) or not isinstance(tables, Sequence) else list(tables)
    try:
        found = _releases(engine, named, asked)
        if found is None:
            made = engine.unblocked(lambda: _tried(engine, named[0], asked, progress))
        else:
            made = ranked(engine.alone(lambda: _compared(engine, found, asked, progress)))
        if asked.page is not None:
            _write(engine, made, Path(asked.page), force=asked.force)
        return made
    finally:
        progress.stop()


def _check(engine: Engine, asked: CompareRequest) -> None:
    """Refuse early what would fail after all settings were tried."""
    if asked.evaluate:
        tree_class()
    if asked.page is not None:
        from ppdm_sql.report.page import Drawing  # few runs draw

        Drawing()
        check_target(engine, Path(asked.page), force=asked.force)
    if (asked.keep_best is None) != (asked.into is None):
        raise InvalidOption(
            "The best setting is published under a name, and nothing else is.",
            "Give both --keep-best and --into, or none of them.",
        )
    if asked.into is not None:
        check_free(engine, asked.into)
    if asked.keep_best is not None:
        check_choice("measure", asked.keep_best, BEST)
    if asked.keep_best == "error" and not asked.evaluate:
        raise InvalidOption("The error of a classifier is not measured.", "Add --evaluate.")


def _releases(engine: Engine, named: Sequence[Source], asked: CompareRequest) -> list[Release] | None:
    """Give the releases to compare; None where settings are to be tried on a table."""
    if any(getattr(asked, name) for name in OF_TABLES):
        if len(named) != 1:
            raise InvalidOption(f"Settings are tried on one table, not on {len(named)}.", "Name one table.")
        return None
    known = {row.release.lower() for row in releases(engine)}
    if len(named) == 1 and not (isinstance(named[0], str) and named[0].lower() in known):
        return None
    return [get(engine, name) for name in dict.fromkeys(map(str, named))]


def _write(engine: Engine, found: Comparison, page: Path, *, force: bool) -> None:
    try:
        write_comparison(engine, found, page, force=force)
    except PpdmError as error:
        if found.best is not None:
            error.remedy = f"{error.remedy} The release {found.best.name} is published.".strip()
        raise


# -- settings on a table ---------------------------------------------------------------------------


class CollapsedRows(RefinementRun):
    """A run whose rows stay collapsed, since nobody reads them but what measures them."""

    def outputs(self, atoms: Atoms) -> list[Output]:
        """Add the number of records, unless the release has it anyway."""
        columns = super().outputs(atoms)
        return columns if self.roles.count else [*columns, Output("n", self._records, "count")]

    @property
    def _records(self) -> str:
        return free_name("records", self.columns)

    def draft(self, transformed: State) -> Draft:
        return replace(super().draft(transformed), count=self.roles.count or self._records)


class CollapsedGeneralization(CollapsedRows, GeneralizationRun):
    pass


class CollapsedSuppression(CollapsedRows, SuppressionRun):
    pass


class SettingProgress(SilentProgress):
    """The progress of one setting after the other: each is a phase, and no notice is given twice."""

    def __init__(self, listener: Progress) -> None:
        self._said = set[str]()
        self._listener, self.of, self.update = listener, listener.start, listener.update  # type: ignore[method-assign]

    def notice(self, text: str) -> None:
        if text not in self._said:
            self._said.add(text)
            self._listener.notice(text)


def _tried(engine: Engine, source: Source, asked: CompareRequest, progress: Progress) -> Comparison:
    """Try the settings, and publish the best one where that is asked for."""
    with given(engine, source, asked.types, asked.nulls, progress=progress) as table:
        found, tried = engine.alone(lambda: _grid(engine, table, asked, progress))
        if asked.keep_best is None:
            return ranked(found)
        if found.interrupted:
            progress.warn("Not all settings were tried, so none is published.")
            return ranked(found)
        best = _best(found, tried, asked.keep_best)
        progress.start(f"publishing {best.name}")
        release = engine.alone(lambda: _published(engine, table, best.request, progress))
        return replace(ranked(found), best=release)


def _best(found: Comparison, tried: Sequence[Setting], by: str) -> Setting:
    """Choose the setting with the least of what was asked; of equals that of most detail, then the first."""
    least = [
        (getattr(row.numbers, BEST[by]), row.numbers.detail_lost or 0.0, place)
        for place, row in enumerate(found.rows)
        if getattr(row.numbers, BEST[by]) is not None
    ]
    if not least:
        raise InvalidOption(
            f"No setting has a number for {said(by)}, so none is published.",
            "See the table, without --keep-best.",
        )
    return tried[min(least)[2]]


def _published(engine: Engine, table: str, request: RefinementRequest, progress: Progress) -> Release:
    if isinstance(request, GeneralizeRequest):
        return generalize(engine, table, request, progress)
    return suppress(engine, table, request, progress)


def _grid(
    engine: Engine, source: str, asked: CompareRequest, listener: Progress
) -> tuple[Comparison, list[Setting]]:
    """Try every setting; Ctrl-C ends with those that were tried."""
    progress, tried = SettingProgress(listener), settings(asked)
    runs = [_run(engine, source, setting.request, asked, progress) for setting in tried]
    refused = [found for found in runs if isinstance(found, PpdmError)]
    if len(refused) == len(runs):
        raise refused[0]
    read: dict[tuple[object, ...], tuple[Atoms, Table]] = {}  # by what the collapsed source depends on
    baseline: dict[str, float] = {}

    def row_of(number: int) -> ComparedRow:
        setting, run = tried[number], runs[number]
        progress.of(f"setting {number + 1} of {len(tried)}, {setting.name}")
        texts = tuple(map(str, setting.request.require))
        row = ComparedRow((setting.name,), setting.method, setting.choices, texts)
        if isinstance(run, PpdmError):
            return replace(row, problem=run.problem)
        if run.collapsed_over not in read:
            read[run.collapsed_over] = run.read(), run.rows
        atoms, run.rows = read[run.collapsed_over]
        return _measured(engine, run, atoms, row, baseline if asked.evaluate else None)

    with engine.workspace(), engine.snapshot():
        next(run for run in runs if not isinstance(run, PpdmError)).check_kept()
        rows, interrupted = _until_interrupted(map(row_of, range(len(tried))))
    return Comparison(source, rows, interrupted, baseline=baseline), tried


def _run(
    engine: Engine, source: str, request: RefinementRequest, asked: CompareRequest, progress: Progress
) -> RefinementRun | PpdmError:
    """Make the run of a setting, or give what it cannot be asked."""
    try:
        # a classifier reads source and release alike, record by record
        if isinstance(request, GeneralizeRequest):
            generalized = GeneralizationRun if asked.evaluate else CollapsedGeneralization
            return generalized(engine, source, request, progress)
        return (SuppressionRun if asked.evaluate else CollapsedSuppression)(engine, source, request, progress)
    except (InvalidOption, ColumnRoleError) as error:
        return error


def _until_interrupted(made: Iterable[ComparedRow]) -> tuple[tuple[ComparedRow, ...], bool]:
    """Collect rows until Ctrl-C, of which the first one is not spared."""
    rows: list[ComparedRow] = []
    try:
        rows.extend(made)
    except KeyboardInterrupt:
        if not rows:
            raise
        return tuple(rows), True
    return tuple(rows), False


def _measured(
    engine: Engine, run: RefinementRun, atoms: Atoms, row: ComparedRow, baseline: dict[str, float] | None
) -> ComparedRow:
    """Search for what a setting would release, and measure it."""
    started = time.perf_counter()
    with engine.workspace():
        try:
            run.prepare(atoms)
            draft = run.draft(run.descend(lambda: False))
        except GuaranteeNotMet as error:
            return replace(row, problem=error.problem, seconds=time.perf_counter() - started)
        rows, people = engine.materialize("rows", draft.select), [draft.person] if draft.person else []
        known = _grouped_by(draft.requirements)
        numbers = _numbers(engine, rows, draft.requirements, known, draft.count, people, draft.measures)
        left_out = atoms.records - (numbers.records or 0)
        row = replace(row, seconds=time.perf_counter() - started)
        if baseline is not None:
            numbers = replace(numbers, error=_error_of_draft(engine, draft, rows, baseline, run.progress))
    return replace(row, numbers=replace(numbers, left_out=left_out))


def _error_of_draft(
    engine: Engine, draft: Draft, rows: Table, baseline: dict[str, float], progress: Progress
) -> float:
    """Measure the error of a classifier on rows that are not published."""
    shape = replace(Shape.of_draft(draft, *engine.current()), working=rows)
    parameters: dict[str, Any] = {**draft.parameters, SHAPE: shape.record()}
    row = CatalogueRow(
        *(draft.name, draft.method, draft.source, tuple(map(str, draft.requirements)), parameters),
        *(draft.rows, True, draft.stopped, datetime.now(UTC), __version__),
    )
    return _error(engine, row, shape, baseline, progress)


# -- releases that exist ---------------------------------------------------------------------------


def _compared(
    engine: Engine, found: Sequence[Release], asked: CompareRequest, progress: Progress
) -> Comparison:
    """Measure releases, by the columns that are asked for or, each, by those of its own requirements."""
    baseline: dict[str, float] = {}

    def row_of(number: int) -> ComparedRow:
        progress.start(f"release {number + 1} of {len(found)}, {found[number].name}")
        return _row(engine, found[number], asked, progress, baseline)

    rows, interrupted = _until_interrupted(map(row_of, range(len(found))))
    return Comparison("", rows, interrupted, baseline=baseline)


def _row(
    engine: Engine, release: Release, asked: CompareRequest, progress: Progress, baseline: dict[str, float]
) -> ComparedRow:
    row = release.row()
    shape, requirements = row.shape(engine.current()[0]), row.asked
    known = _grouped_by(requirements)
    if asked.quasi_identifier:
        known = [resolve_all(asked.quasi_identifier, shape.names, table=row.release)]
    with engine.workspace():
        rows = engine.overlay(shape.owned_rows())
        numbers = _numbers(engine, rows, requirements, known, shape.count, shape.people, release.measures())
    found = ComparedRow((release.name,), row.method, {}, row.requirements, numbers)
    if not asked.evaluate:
        return found
    try:
        with read_again(engine, row.source, row.parameters.get(READ, {}), row.release):
            error = _error(engine, row, shape, baseline, progress)
    except PpdmError as refused:
        return replace(found, problem=f"Not evaluated: {refused.problem}")
    return replace(found, numbers=replace(numbers, error=error))


# -- numbers ---------------------------------------------------------------------------------------


def _numbers(
    engine: Engine,
    rows: Table,
    requirements: Sequence[Requirement],
    known: Sequence[Sequence[str]],
    count: str | None,
    person: Sequence[str],
    measures: Iterable[MeasureRow],
) -> ReleaseNumbers:
    """Measure rows by the audit's own steps; classes and templates in persons, if rows say whose they are.

    Cost: one scan of the rows, which collapses them, then scans of the classes; one more for templates.
    """
    names = tuple(dict.fromkeys(name for columns in known for name in columns))
    collapsed = Collapsed(engine, rows, names, count, person)
    sizes = [class_sizes(collapsed, columns).sizes for columns in known]
    templates = [one for one in requirements if one.counts is Counts.PROTECTED]
    reached = [found.reached for found in findings(engine, rows, templates, count=count, person=person)]
    smallest = min((one[0][0] for one in sizes), default=None)
    found = [sum(classes for _, classes, _ in one) / sum(records for *_, records in one) for one in sizes]
    kept = next((after for name, _, after in measures if name == DETAIL), None)
    return ReleaseNumbers(
        records=collapsed.size[1],
        smallest_class=smallest,
        highest_risk=None if smallest is None else 1 / smallest,
        average_risk=max(found, default=None),
        confidence=max(reached, default=None),
        detail_lost=None if kept is None else 1 - kept,
    )


def _error(
    engine: Engine, row: CatalogueRow, shape: Shape, baseline: dict[str, float], progress: Progress
) -> float:
    """Measure the error of a classifier on rows; the first time also those that go into ``baseline``."""
    wanted = (SE,) if baseline else (SE, *BASELINES)
    found = errors_of(engine, row, shape, EvaluateRequest(seeds=1), wanted, progress)
    baseline |= {name: found[name] for name in found if name != SE}
    return found[SE]


def _grouped_by(requirements: Iterable[Requirement]) -> list[tuple[str, ...]]:
    """List the sets of columns that requirements group by, each once."""
    return list({frozenset(one.attributes): one.attributes for one in requirements}.values())
