"""Compares settings on one table, or releases that exist; publishes the best where asked to.

The settings of a grid are every combination of the options that were given several values. The table is read
once for all that mask the same columns, and rows are measured whatever made them.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
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
OF_ALL = (
    *("class_column", "count_column", "identifiers", "max_steps", "symbol", "allow_absent", "person"),
    *("score", "detail", "limits", "weights", "allow_identifiers"),
)
"""The options that are passed on to every run as they are."""
OF_GENERALIZATION = (
    *("taxonomies", "ranges", "suppress", "categories", "looks"),
    *("boundary", "rare", "min_widths", "tops", "bottoms"),
)
"""Further ones that suppression does not know."""
Shared = dict[tuple[object, ...], tuple[Atoms, Table]]
"""The collapsed source, and the source as it was read, by what they depend on."""


# -- what is asked ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class TriedSetting:
    """One setting of the grid."""

    name: str  # what sets it apart from the others
    choices: Mapping[str, object]  # the options that have several values, with its own
    request: RefinementRequest  # what its run is asked

    @property
    def method(self) -> str:
        """Its method, as the options name it."""
        return self.request.method if isinstance(self.request, GeneralizeRequest) else SUPPRESSION


def settings(options: CompareRequest, into: str) -> list[TriedSetting]:
    """List the settings of a grid."""
    for method in options.method:
        check_choice("method", method, METHODS)
    values: dict[str, Any] = {
        "k": options.k or (None,),
        "method": options.method or ("tds",),
        "suppress_records": options.suppress_records or ("0",),
    }
    varied = {name for name in GRID if len(set(values[name])) > 1} or {"method"}
    found = []
    for combination in product(*(dict.fromkeys(values[name]) for name in GRID)):
        choices = dict(zip(GRID, combination, strict=True))
        named = ", ".join(_said(name, value) for name, value in choices.items() if name in varied)
        tried = {name: value for name, value in choices.items() if name in varied or name != GRID[-1]}
        given = {name: value for name, value in tried.items() if value is not None}
        found.append(TriedSetting(named, given, _request(options, choices, into)))
    return found


def _said(name: str, value: object) -> str:
    return {"method": f"{value}", "k": f"k = {value}"}.get(name, f"{value} left out")


def _request(options: CompareRequest, choices: Mapping[str, Any], into: str) -> RefinementRequest:
    """Make the request of one setting; what a method does not know is left out or kept in the clear."""
    common: dict[str, Any] = {
        "require": list(_requirements(options, choices["k"])),
        "into": into,
        "suppress_records": choices["suppress_records"],
        **{name: getattr(options, name) for name in OF_ALL},
    }
    method = choices["method"]
    clear = tuple(dict.fromkeys((*options.keep, *options.condition)))
    if method == SUPPRESSION:
        return RefinementRequest(**common, keep=clear)
    how: dict[str, Any] = {name: getattr(options, name) for name in OF_GENERALIZATION}
    if method == CONDITIONED:
        return GeneralizeRequest(
            **common, **how, keep=options.keep, method=method, condition=options.condition
        )
    return GeneralizeRequest(**common, **how, keep=clear, method=method)


def _requirements(options: CompareRequest, k: int | None) -> Iterator[Requirement]:
    """Give the requirements of a setting, its k where one has no limit of its own."""
    asked: list[Asked] = list(parse_measures(options.require))
    if options.quasi_identifier:
        asked.insert(0, Measure(KAnonymity(1, tuple(options.quasi_identifier))))
    if not asked:
        raise InvalidOption(
            "Nothing is said of what the settings keep.", "Give --qi A,B and --k 2,5,10, or --require."
        )
    if k is not None and not any(isinstance(one, Measure) for one in asked):
        raise InvalidOption("--k has no columns that it is about.", "Give them with --qi A,B.")
    for one in asked:
        yield _limited(one, k) if isinstance(one, Measure) else one


def _limited(measure: Measure, k: int | None) -> Requirement:
    if not isinstance(measure.of, KAnonymity):
        raise InvalidOption(f"The requirement {str(measure)!r} has no limit.", "Write its limit.")
    if k is None:
        raise InvalidOption("No k is given.", "Add the k to try, such as --k 2,5,10.")
    return replace(measure.of, k=k)


# -- the comparison --------------------------------------------------------------------------------


def compare(engine: Engine, options: CompareRequest, progress: Progress) -> Comparison:
    """Try settings on a table, or put releases side by side; see :meth:`ppdm_sql.Database.compare`."""
    _check(engine, options)
    tables = options.tables
    named = [tables] if isinstance(tables, str) or not isinstance(tables, Sequence) else list(tables)
    try:
        found = _releases(engine, named, options)
        if found is None:
            return _finished(engine, _tried(engine, named, options, progress), options)
        measured = engine.alone(lambda: compared_releases(engine, found, options, progress))
        return _finished(engine, ranked(measured), options)
    finally:
        progress.stop()


def _check(engine: Engine, options: CompareRequest) -> None:
    """Refuse early what would fail after all settings were tried."""
    if options.evaluate:
        tree_class()
    if options.page is not None:
        from ppdm_sql.report.page import Drawing  # few runs draw

        Drawing()
        check_target(engine, Path(options.page), force=options.force)
    if (options.keep_best is None) != (options.into is None):
        raise InvalidOption(
            "The best setting is published under a name, and nothing else is.",
            "Give both --keep-best and --into, or none of them.",
        )
    if options.into is not None:
        check_free(engine, options.into)
    if options.keep_best is not None:
        check_choice("measure", options.keep_best, BEST)
    if options.keep_best == "error" and not options.evaluate:
        raise InvalidOption("The error of a classifier is not measured.", "Add --evaluate.")


def _tries_settings(options: CompareRequest) -> bool:
    """Tell whether anything is asked that only a table can be asked."""
    asked = options.require, options.k, options.class_column, options.taxonomies, options.keep_best
    wished = options.person, options.limits, options.weights, options.min_widths, options.tops
    return any(map(bool, (*asked, *wished, options.bottoms, options.into)))


def _releases(engine: Engine, named: Sequence[Source], options: CompareRequest) -> list[Release] | None:
    """Give the releases to compare; None where settings are to be tried on a table."""
    if _tries_settings(options):
        if len(named) != 1:
            raise InvalidOption(f"Settings are tried on one table, not on {len(named)}.", "Name one table.")
        return None
    known = {row.release.lower() for row in releases(engine)}
    if len(named) == 1 and not (isinstance(named[0], str) and named[0].lower() in known):
        return None
    return [get(engine, name) for name in dict.fromkeys(map(str, named))]


def _tried(
    engine: Engine,
    named: Sequence[Source],
    options: CompareRequest,
    progress: Progress,
) -> Comparison:
    """Try the settings, and publish the best one where that is asked for."""

    def run() -> Comparison:
        with given(engine, named[0], options.types, options.nulls, progress=progress) as table:
            found = engine.alone(lambda: GridRun(engine, table, options, progress).compared())
            if options.keep_best is None:
                return ranked(found)
            if found.interrupted:
                progress.warn("Not all settings were tried, so none is published.")
                return ranked(found)
            best = _best(found, options)
            release = engine.alone(lambda: _published(engine, table, best, progress))
            return replace(ranked(found), best=release)

    return engine.unblocked(run)


def _best(found: Comparison, options: CompareRequest) -> TriedSetting:
    """Choose the setting with the least of what was asked; of equals that of most detail, then the first."""
    number = BEST[options.keep_best or ""]
    tried = settings(options, options.into or "")
    least = [
        (getattr(row.numbers, number), row.numbers.detail_lost or 0.0, place)
        for place, row in enumerate(found.rows)
        if getattr(row.numbers, number) is not None
    ]
    if not least:
        raise InvalidOption(
            f"No setting has a number for {said(options.keep_best)}, so none is published.",
            "See the table, without --keep-best.",
        )
    return tried[min(least)[2]]


def _published(engine: Engine, table: str, best: TriedSetting, progress: Progress) -> Release:
    progress.start(f"publishing {best.name}")
    if isinstance(best.request, GeneralizeRequest):
        return generalize(engine, table, best.request, progress)
    return suppress(engine, table, best.request, progress)


def _finished(engine: Engine, found: Comparison, options: CompareRequest) -> Comparison:
    """Write the page, where one is asked for."""
    if options.page is not None:
        try:
            write_comparison(engine, found, Path(options.page), force=options.force)
        except PpdmError as error:
            if found.best is not None:
                error.remedy = f"{error.remedy} The release {found.best.name} is published.".strip()
            raise
    return found


# -- settings on a table ---------------------------------------------------------------------------


class CollapsedRows(RefinementRun):
    """A run whose rows stay collapsed, since nobody reads them but what measures them."""

    def outputs(self, atoms: Atoms) -> list[Output]:
        """Add the number of records, unless the release has it anyway."""
        columns = super().outputs(atoms)
        return columns if self.roles.count else [*columns, Output("n", self.records_column, "count")]

    @property
    def records_column(self) -> str:
        """What the number of records is called; no column of the source is called so."""
        return free_name("records", self.columns)

    def draft(self, transformed: State) -> Draft:
        """Name the number of records as the count."""
        return replace(super().draft(transformed), count=self.roles.count or self.records_column)


class CollapsedGeneralization(CollapsedRows, GeneralizationRun):
    """A generalization that is measured only."""


class CollapsedSuppression(CollapsedRows, SuppressionRun):
    """A suppression that is measured only."""


class SettingProgress(SilentProgress):
    """The progress of one setting after the other: each is a phase, and no notice is given twice."""

    def __init__(self, listener: Progress) -> None:
        self._listener, self._said = listener, set[str]()

    def of(self, what: str) -> None:
        """Name the setting."""
        self._listener.start(what)

    def update(self, **measures: object) -> None:
        """Pass the numbers on."""
        self._listener.update(**measures)

    def notice(self, text: str) -> None:
        """Pass on what was not said of an earlier setting."""
        if text not in self._said:
            self._said.add(text)
            self._listener.notice(text)


class GridRun:
    """All settings of a grid on one table."""

    def __init__(self, engine: Engine, source: str, options: CompareRequest, progress: Progress) -> None:
        self._engine, self._source, self._options = engine, source, options
        self._progress = SettingProgress(progress)
        self._settings = settings(options, options.into or f"comparison_{secrets.token_hex(8)}")
        self._shared: Shared = {}
        self._baseline: dict[str, float] = {}
        self._made = [self._run(setting) for setting in self._settings]
        refused = [found for found in self._made if isinstance(found, PpdmError)]
        if len(refused) == len(self._made):
            raise refused[0]

    def _run(self, setting: TriedSetting) -> RefinementRun | PpdmError:
        """Make the run of a setting, or give what it cannot be asked."""
        # a classifier reads source and release alike, record by record
        suppression = SuppressionRun if self._options.evaluate else CollapsedSuppression
        generalization = GeneralizationRun if self._options.evaluate else CollapsedGeneralization
        kind = generalization if isinstance(setting.request, GeneralizeRequest) else suppression
        try:
            return kind(self._engine, self._source, setting.request, self._progress)  # type: ignore[arg-type]
        except (InvalidOption, ColumnRoleError) as error:
            return error

    def compared(self) -> Comparison:
        """Try every setting; Ctrl-C ends with those that were tried."""
        rows: list[ComparedRow] = []
        interrupted = False
        try:
            with self._engine.workspace(), self._engine.snapshot():
                next(run for run in self._made if not isinstance(run, PpdmError)).check_kept()
                pairs = zip(self._settings, self._made, strict=True)
                for number, (setting, run) in enumerate(pairs, start=1):
                    self._progress.of(f"setting {number} of {len(self._made)}, {setting.name}")
                    rows.append(self._row(setting, run))
        except KeyboardInterrupt:
            if not rows:
                raise
            interrupted = True
        return Comparison(self._source, tuple(rows), interrupted, baseline=self._baseline)

    def _row(self, setting: TriedSetting, run: RefinementRun | PpdmError) -> ComparedRow:
        asked = tuple(map(str, setting.request.require))
        row = ComparedRow((setting.name,), setting.method, setting.choices, asked)
        if isinstance(run, PpdmError):
            return replace(row, problem=run.problem)
        atoms = self._collapsed(run)
        started = time.perf_counter()
        with self._engine.workspace():
            try:
                run.prepare(atoms)
                draft = run.draft(run.descend(lambda: False))
            except GuaranteeNotMet as error:
                return replace(row, problem=error.problem, seconds=time.perf_counter() - started)
            rows = self._engine.materialize("rows", draft.select)
            numbers = self._numbers(draft, rows, atoms.records)
            seconds = time.perf_counter() - started
            if self._options.evaluate:
                numbers = replace(numbers, error=self._error(draft, rows))
        return replace(row, numbers=numbers, seconds=seconds)

    def _collapsed(self, run: RefinementRun) -> Atoms:
        """Give the collapsed source of a run; made once for all runs for which it is the same."""
        key = run.collapsed_over
        if key not in self._shared:
            atoms = run.read()
            self._shared[key] = atoms, run.rows
        atoms, run.rows = self._shared[key]
        return atoms

    def _numbers(self, draft: Draft, rows: Table, records: int) -> ReleaseNumbers:
        """Measure the rows that would be released."""
        found = measured_rows(
            self._engine,
            rows,
            requirements=draft.requirements,
            quasi_identifiers=grouped_by(draft.requirements),
            count=draft.count,
            person=() if draft.person is None else (draft.person,),
        )
        left_out = records - (found.records or 0)
        return replace(found, left_out=left_out, detail_lost=detail_lost(draft.measures))

    def _error(self, draft: Draft, rows: Table) -> float:
        """Measure the error of a classifier on rows that are not published."""
        catalog, schema = self._engine.current()
        shape = replace(Shape.of_draft(draft, catalog, schema), working=rows)
        parameters: dict[str, Any] = {**draft.parameters, SHAPE: shape.record()}
        row = CatalogueRow(
            *(draft.name, draft.method, draft.source, tuple(map(str, draft.requirements)), parameters),
            *(draft.rows, True, draft.stopped, datetime.now(UTC), __version__),
        )
        return classifier_error(self._engine, row, shape, self._baseline, self._progress)


# -- releases that exist ---------------------------------------------------------------------------


def compared_releases(
    engine: Engine, releases: Sequence[Release], options: CompareRequest, progress: Progress
) -> Comparison:
    """Measure releases, by the columns that are asked for or, each, by those of its own requirements.

    Ctrl-C ends with those that were measured.
    """
    rows: list[ComparedRow] = []
    baseline: dict[str, float] = {}
    interrupted = False
    try:
        for number, release in enumerate(releases, start=1):
            progress.start(f"release {number} of {len(releases)}, {release.name}")
            rows.append(_row(engine, release, options, progress, baseline))
    except KeyboardInterrupt:
        if not rows:
            raise
        interrupted = True
    return Comparison("", tuple(rows), interrupted, baseline=baseline)


def _row(
    engine: Engine,
    release: Release,
    options: CompareRequest,
    progress: Progress,
    baseline: dict[str, float],
) -> ComparedRow:
    row = release.row()
    shape, requirements = row.shape(engine.current()[0]), row.asked
    with engine.workspace():
        numbers = measured_rows(
            engine,
            engine.overlay(shape.owned_rows()),
            requirements=requirements,
            quasi_identifiers=_known(row, shape, requirements, options),
            count=shape.count,
            person=shape.people,
        )
    found = ComparedRow(
        (release.name,),
        row.method,
        requirements=row.requirements,
        numbers=replace(numbers, detail_lost=detail_lost(release.measures())),
    )
    if not options.evaluate:
        return found
    try:
        with read_again(engine, row.source, row.parameters.get(READ, {}), row.release):
            error = classifier_error(engine, row, shape, baseline, progress)
    except PpdmError as refused:
        return replace(found, problem=f"Not evaluated: {refused.problem}")
    return replace(found, numbers=replace(found.numbers, error=error))


def _known(
    row: CatalogueRow, shape: Shape, requirements: Sequence[Requirement], options: CompareRequest
) -> list[tuple[str, ...]]:
    """Give the columns that others may know: those asked for, else of the requirements, if there are any."""
    if options.quasi_identifier:
        return [resolve_all(options.quasi_identifier, shape.names, table=row.release)]
    return grouped_by(requirements)


# -- numbers ---------------------------------------------------------------------------------------


def measured_rows(
    engine: Engine,
    rows: Table,
    *,
    requirements: Sequence[Requirement],
    quasi_identifiers: Sequence[Sequence[str]],
    count: str | None,
    person: Sequence[str] = (),
) -> ReleaseNumbers:
    """Measure rows by the audit's own steps; classes and templates in persons, if rows say whose they are.

    Cost: one scan of the rows, which collapses them, then scans of the classes; one more for templates.
    """
    names = tuple(dict.fromkeys(name for columns in quasi_identifiers for name in columns))
    collapsed = Collapsed(engine, rows, names, count, person)
    sizes = [class_sizes(collapsed, columns) for columns in quasi_identifiers]
    templates = [one for one in requirements if one.counts is Counts.PROTECTED]
    reached = [found.reached for found in findings(engine, rows, templates, count=count, person=person)]
    smallest = min((one.sizes[0][0] for one in sizes), default=None)
    return ReleaseNumbers(
        records=collapsed.size[1],
        smallest_class=smallest,
        highest_risk=None if smallest is None else 1 / smallest,
        average_risk=max((_average(one.sizes) for one in sizes), default=None),
        confidence=max(reached, default=None),
    )


def _average(sizes: Sequence[tuple[int, int, int]]) -> float:
    """Give the expected share of the records that are found: classes by records."""
    return sum(classes for _, classes, _ in sizes) / sum(records for *_, records in sizes)


def classifier_error(
    engine: Engine, row: CatalogueRow, shape: Shape, baseline: dict[str, float], progress: Progress
) -> float:
    """Measure the error of a classifier on rows; the first time also those that go into ``baseline``."""
    wanted = (SE,) if baseline else (SE, *BASELINES)
    found = errors_of(engine, row, shape, EvaluateRequest(seeds=1), wanted, progress)
    baseline |= {name: found[name] for name in found if name != SE}
    return found[SE]


def detail_lost(measures: Iterable[MeasureRow]) -> float | None:
    """Find what of the detail is lost among the measures of a release; None where none is measured."""
    return next((1 - after for name, _, after in measures if name == DETAIL and after is not None), None)


def grouped_by(requirements: Iterable[Requirement]) -> list[tuple[str, ...]]:
    """List the sets of columns that requirements group by, each once."""
    return list({frozenset(one.attributes): one.attributes for one in requirements}.values())
