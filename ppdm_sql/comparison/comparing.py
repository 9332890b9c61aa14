"""Compares settings on one table, or releases that exist; publishes the best where asked to.

The settings of a grid are every combination of the options that were given several values. Their runs are
those that publish, but for the end; runs that read the same of the table read it once.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import product
from pathlib import Path
from typing import Any

from ppdm_sql.audit.auditing import AuditRun
from ppdm_sql.audit.exposure import class_sizes
from ppdm_sql.comparison.model import BEST, ComparedRow, Comparison, ReleaseNumbers, rank, write_comparison
from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table, resolve_all
from ppdm_sql.errors import ColumnRoleError, GuaranteeNotMet, InvalidOption, PpdmError, check_choice, said
from ppdm_sql.evaluation.evaluating import BASELINES, SE, errors_of, tree_class
from ppdm_sql.methods.base.collapse import Atoms
from ppdm_sql.methods.top_down.generalize import GeneralizationRun, generalize
from ppdm_sql.methods.top_down.information_loss import DETAIL
from ppdm_sql.methods.top_down.request import GeneralizeRequest, RefinementRequest
from ppdm_sql.methods.top_down.run import RefinementRun
from ppdm_sql.methods.top_down.suppress import SuppressionRun, suppress
from ppdm_sql.options import CompareRequest, EvaluateRequest
from ppdm_sql.privacy import Asked, Counts, KAnonymity, Measure, Requirement, parse_measures
from ppdm_sql.progress import Progress, SilentProgress
from ppdm_sql.release import CatalogueRow, Release, check_free, get, releases
from ppdm_sql.release.catalogue import catalogue_row
from ppdm_sql.release.exporting import check_target
from ppdm_sql.release.layout import MeasureRow, Shape
from ppdm_sql.report.page import vega
from ppdm_sql.sources import Source
from ppdm_sql.sources.given import given

SUPPRESSION, CONDITIONED = "pda", "hce-tdr"
METHODS = ("tds", CONDITIONED, SUPPRESSION)
"""The methods that a grid can try: those that are given requirements."""
OF_TABLES = (
    *("require", "k", "class_column", "taxonomies", "keep_best", "into"),
    *("person", "limits", "weights", "min_widths", "tops", "bottoms"),
)
"""What only a table can be asked, not a release."""


# -- what is asked ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Setting:
    """One setting of the grid."""

    row: ComparedRow  # what it is called, still without numbers
    request: RefinementRequest  # what its run is asked


def settings(grid: CompareRequest) -> list[Setting]:
    """List the settings of a grid, the k outermost."""
    for method in grid.method:
        check_choice("method", method, METHODS)
    values: dict[str, Any] = {
        "k": grid.k or (None,),
        "method": grid.method or ("tds",),
        "suppress_records": grid.suppress_records or ("0",),
    }
    axes = {name for name, options in values.items() if len(set(options)) > 1} or {"method"}
    into = grid.into or f"comparison_{secrets.token_hex(8)}"
    result = []
    for k, method, share in product(*map(dict.fromkeys, values.values())):
        words = {"k": f"k = {k}", "method": method, "suppress_records": f"{share} left out"}
        name = ", ".join(word for option, word in words.items() if option in axes)
        choices: dict[str, object] = {} if k is None else {"k": k}
        choices["method"] = method
        choices |= {"suppress_records": share} if "suppress_records" in axes else {}
        request = _request(grid, into, k, method, share)
        row = ComparedRow((name,), method, choices, tuple(map(str, request.require)))
        result.append(Setting(row, request))
    return result


def _request(
    grid: CompareRequest, into: str, k: int | None, method: str, suppress_records: Any
) -> RefinementRequest:
    """Make the request of one setting; what a method does not know is left out or kept in the clear."""
    kind = RefinementRequest if method == SUPPRESSION else GeneralizeRequest
    options = {one.name: getattr(grid, one.name) for one in fields(kind) if hasattr(grid, one.name)}
    options |= {"require": list(_requirements(grid, k)), "into": into, "suppress_records": suppress_records}
    if "method" in options:
        options["method"] = method
    if method != CONDITIONED:
        options.pop("condition", None)
        options["keep"] = tuple(dict.fromkeys((*grid.keep, *grid.condition)))
    return kind(**options)


def _requirements(grid: CompareRequest, k: int | None) -> Iterator[Requirement]:
    """Give the requirements of a setting, its k where one has no limit of its own."""
    measures: list[Asked] = list(parse_measures(grid.require))
    if grid.quasi_identifier:
        measures.insert(0, Measure(KAnonymity(1, tuple(grid.quasi_identifier))))
    if not measures:
        raise InvalidOption(
            "No requirement says what the settings are to keep.",
            "Give --qi A,B and --k 2,5,10, or --require.",
        )
    if k is not None and not any(isinstance(one, Measure) for one in measures):
        raise InvalidOption("--k does not say which columns it is about.", "Give them with --qi A,B.")
    for one in measures:
        if not isinstance(one, Measure):
            yield one
        elif not isinstance(one.of, KAnonymity):
            raise InvalidOption(f"The requirement {str(one)!r} has no limit.", "Write its limit.")
        elif k is None:
            raise InvalidOption("No k is given.", "Add the k to try, such as --k 2,5,10.")
        else:
            yield replace(one.of, k=k)


# -- the comparison --------------------------------------------------------------------------------


def compare(engine: Engine, request: CompareRequest, progress: Progress) -> Comparison:
    """Try settings on a table, or put releases side by side; see :meth:`ppdm_sql.Database.compare`."""
    _check(engine, request)
    tables = request.tables
    sources = [tables] if isinstance(tables, str) or not isinstance(tables, Sequence) else list(tables)
    try:
        existing = _releases(engine, sources, request)
        if existing is None:
            comparison = engine.unblocked(lambda: _try_settings(engine, sources[0], request, progress))
        else:
            comparison = rank(engine.alone(lambda: _compare_releases(engine, existing, request, progress)))
        if request.page is not None:
            try:
                write_comparison(engine, comparison, Path(request.page), force=request.force)
            except PpdmError as error:
                if comparison.best is not None:
                    note = f"The release {comparison.best.name} is published."
                    error.remedy = f"{error.remedy} {note}".strip()
                raise
        return comparison
    finally:
        progress.stop()


def _check(engine: Engine, request: CompareRequest) -> None:
    """Refuse early what would fail after all settings were tried."""
    if request.evaluate:
        tree_class()
    if request.page is not None:
        vega()
        check_target(engine, Path(request.page), force=request.force)
    if (request.keep_best is None) != (request.into is None):
        raise InvalidOption(
            "The best setting is published under a name, and nothing else is.",
            "Give both --keep-best and --into, or none of them.",
        )
    if request.into is not None:
        check_free(engine, request.into)
    if request.keep_best is not None:
        check_choice("measure", request.keep_best, BEST)
    if request.keep_best == "error" and not request.evaluate:
        raise InvalidOption("The error of a classifier is not measured.", "Add --evaluate.")


def _releases(engine: Engine, sources: Sequence[Source], request: CompareRequest) -> list[Release] | None:
    """Give the releases to compare; None where settings are to be tried on a table."""
    if any(getattr(request, name) for name in OF_TABLES):
        if len(sources) != 1:
            raise InvalidOption(f"Settings are tried on one table, not on {len(sources)}.", "Name one table.")
        return None
    names = {row.release.lower() for row in releases(engine)}
    if len(sources) == 1 and not (isinstance(sources[0], str) and sources[0].lower() in names):
        return None
    return [get(engine, name) for name in dict.fromkeys(map(str, sources))]


def _rows(count: int, row_of: Callable[[int], ComparedRow]) -> tuple[tuple[ComparedRow, ...], bool]:
    """Make rows until Ctrl-C, of which the first one is not spared; tell whether it came."""
    rows: list[ComparedRow] = []
    try:
        rows.extend(map(row_of, range(count)))
    except KeyboardInterrupt:
        if not rows:
            raise
    return tuple(rows), len(rows) < count


# -- settings on a table ---------------------------------------------------------------------------


class SettingProgress(SilentProgress):
    """The progress of one setting after the other: each is a phase, and no notice is given twice.

    What is told of a setting waits until all were tried, since it may be so of others, too.
    """

    def __init__(self, listener: Progress) -> None:
        self.setting = ""
        self._settings_of: dict[str, list[str]] = {}
        self._listener, self.update = listener, listener.update  # type: ignore[method-assign]

    def notice(self, text: str) -> None:
        if not self.setting and text not in self._settings_of:
            self._listener.notice(text)
        self._settings_of.setdefault(text, []).append(self.setting)

    def tell(self) -> None:
        """Give the notices that waited, with the settings of which they are true."""
        for text, names in self._settings_of.items():
            if all(names):
                self._listener.notice(f"With {'; '.join(names)}: {text}")


def _try_settings(engine: Engine, source: Source, request: CompareRequest, progress: Progress) -> Comparison:
    """Try the settings, and publish the best one where that is asked for."""
    with given(engine, source, request.types, request.nulls, progress=progress) as table:
        grid = settings(request)
        comparison = engine.alone(lambda: _grid(engine, table, grid, request, progress))
        if request.keep_best is None:
            return rank(comparison)
        if comparison.interrupted:
            progress.warn("Not all settings were tried, so none is published.")
            return rank(comparison)
        place = _best(comparison, request.keep_best)
        best, others = grid[place], [row for number, row in enumerate(comparison.rows) if number != place]
        progress.start(f"publishing {best.row.name}")
        publish: Any = generalize if isinstance(best.request, GeneralizeRequest) else suppress
        with engine.publishes(record={"tried": [_result_line(row) for row in others]}):
            release = engine.alone(lambda: publish(engine, table, best.request, progress))
        return replace(rank(comparison), best=release)


def _best(comparison: Comparison, by: str) -> int:
    """Choose the setting with the least of what was asked; of equals that of most detail, then the first."""
    numbers = [(getattr(row.numbers, BEST[by]), row.numbers.detail_lost or 0.0) for row in comparison.rows]
    least = [(*here, place) for place, here in enumerate(numbers) if here[0] is not None]
    if not least:
        raise InvalidOption(
            f"No setting has a number for {said(by)}, so none is published.",
            "See the table, without --keep-best.",
        )
    return min(least)[-1]


def _result_line(row: ComparedRow) -> dict[str, str]:
    """Say in a line what came of a setting that is not published."""
    risk, loss = row.numbers.highest_risk, row.numbers.detail_lost
    numbers = [("highest risk", risk), ("detail lost", loss), ("error", row.numbers.error)]
    text = ", ".join(f"{name} {number:.4g}" for name, number in numbers if number is not None)
    return {"setting": row.name, "came of it": row.problem or text}


def _grid(
    engine: Engine, source: str, grid: Sequence[Setting], request: CompareRequest, listener: Progress
) -> Comparison:
    """Try every setting; Ctrl-C ends with those that were tried."""
    progress = SettingProgress(listener)
    runs = [_run(engine, source, setting.request, progress) for setting in grid]
    possible = [run for run in runs if isinstance(run, RefinementRun)]
    if not possible:
        raise next(run for run in runs if isinstance(run, PpdmError))
    atoms: dict[object, tuple[Atoms, Table]] = {}
    baseline: dict[str, float] = {}

    def row_of(number: int) -> ComparedRow:
        row, run = grid[number].row, runs[number]
        progress.setting = row.name
        listener.start(f"setting {number + 1} of {len(grid)}, {row.name}")
        if isinstance(run, PpdmError):
            return replace(row, problem=run.problem)
        return _measure(engine, run, run.read_among(atoms), row, baseline if request.evaluate else None)

    with engine.workspace(), engine.snapshot():
        possible[0].check_kept()
        rows, interrupted = _rows(len(grid), row_of)
    progress.tell()
    return Comparison(source, rows, interrupted, baseline=baseline)


def _run(
    engine: Engine, source: str, request: RefinementRequest, progress: Progress
) -> RefinementRun | PpdmError:
    """Make the run of a setting, or give what it cannot be asked."""
    try:
        if isinstance(request, GeneralizeRequest):
            return GeneralizationRun(engine, source, request, progress)
        return SuppressionRun(engine, source, request, progress)
    except (InvalidOption, ColumnRoleError) as error:
        return error


def _measure(
    engine: Engine, run: RefinementRun, atoms: Atoms, row: ComparedRow, baseline: dict[str, float] | None
) -> ComparedRow:
    """Search for what a setting would release, and measure it."""
    start = time.perf_counter()
    with engine.workspace():
        try:
            run.prepare(atoms)
            draft = run.draft(run.descend(lambda: False))
        except GuaranteeNotMet as error:
            return replace(row, problem=error.problem, seconds=time.perf_counter() - start)
        rows = engine.materialize("rows", draft.select)
        catalog, schema = engine.current()
        draft = replace(draft, catalog=catalog, schema=schema, working=rows)
        columns = _column_sets(draft.requirements)
        numbers = _numbers(engine, draft, draft.requirements, columns, draft.measures)
        numbers = replace(numbers, left_out=atoms.records - (numbers.records or 0))
        row = replace(row, numbers=numbers, seconds=time.perf_counter() - start)
        if baseline is None:
            return row
        return _with_error(engine, row, catalogue_row(draft), draft, baseline, run.progress)


# -- releases that exist ---------------------------------------------------------------------------


def _compare_releases(
    engine: Engine, existing: Sequence[Release], request: CompareRequest, progress: Progress
) -> Comparison:
    """Measure releases, by the columns that are asked for or, each, by those of its own requirements."""
    baseline: dict[str, float] = {}

    def row_of(number: int) -> ComparedRow:
        progress.start(f"release {number + 1} of {len(existing)}, {existing[number].name}")
        row = existing[number].row()
        shape, requirements = row.shape(engine.current()[0]), row.asked
        columns = _column_sets(requirements)
        if request.quasi_identifier:
            columns = [resolve_all(request.quasi_identifier, shape.names, table=row.release)]
        with engine.workspace():
            numbers = _numbers(engine, shape, requirements, columns, existing[number].measures())
        result = ComparedRow((row.release,), row.method, {}, row.requirements, numbers)
        if not request.evaluate:
            return result
        try:
            with row.read_again(engine):
                return _with_error(engine, result, row, shape, baseline, progress)
        except PpdmError as error:
            return replace(result, problem=f"Not evaluated: {error.problem}")

    return Comparison("", *_rows(len(existing), row_of), baseline=baseline)


# -- numbers ---------------------------------------------------------------------------------------


def _numbers(
    engine: Engine,
    shape: Shape,
    requirements: Sequence[Requirement],
    sets: Sequence[Sequence[str]],
    measures: Iterable[MeasureRow],
) -> ReleaseNumbers:
    """Measure rows by the audit's own steps; classes and templates in persons, if rows say whose they are.

    Cost: one scan of the rows, which collapses them, then scans of the classes.
    """
    templates = [one for one in requirements if one.counts is Counts.PROTECTED]
    criteria = [*templates, *(KAnonymity(1, tuple(columns)) for columns in sets)]
    rows = engine.overlay(shape.owned_rows())
    run = AuditRun(engine, rows, criteria, count=shape.count, person=shape.people)
    sizes = [class_sizes(run.collapsed, columns).sizes for columns in sets]
    confidences = [finding.reached for finding in run.findings[: len(templates)]]
    smallest = min((one[0][0] for one in sizes), default=None)
    averages = [sum(classes for _, classes, _ in one) / sum(records for *_, records in one) for one in sizes]
    detail = next((after for name, _, after in measures if name == DETAIL), None)
    return ReleaseNumbers(
        records=run.collapsed.size[1],
        smallest_class=smallest,
        highest_risk=None if smallest is None else 1 / smallest,
        average_risk=max(averages, default=None),
        confidence=max(confidences, default=None),
        detail_lost=None if detail is None else 1 - detail,
    )


def _with_error(
    engine: Engine,
    result: ComparedRow,
    row: CatalogueRow,
    shape: Shape,
    baseline: dict[str, float],
    progress: Progress,
) -> ComparedRow:
    """Add the error of a classifier; those that no release changes go into ``baseline`` the first time."""
    names = (SE,) if baseline else (SE, *BASELINES)
    errors = errors_of(engine, row, shape, EvaluateRequest(seeds=1), names, progress)
    baseline |= {name: errors[name] for name in errors if name != SE}
    return replace(result, numbers=replace(result.numbers, error=errors[SE]))


def _column_sets(requirements: Iterable[Requirement]) -> list[tuple[str, ...]]:
    """List the sets of columns that requirements group by, each once."""
    return list({frozenset(one.attributes): one.attributes for one in requirements}.values())
