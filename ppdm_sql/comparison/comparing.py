"""Compares settings on one table, or releases that exist; publishes the best where asked to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ppdm_sql.comparison.model import BEST, Comparison, ranked
from ppdm_sql.comparison.published import compared_releases
from ppdm_sql.comparison.settings import CompareOptions, TriedSetting, settings
from ppdm_sql.comparison.trying import GridRun
from ppdm_sql.engine import Engine
from ppdm_sql.errors import InvalidOption, PpdmError, check_choice, said
from ppdm_sql.evaluation.evaluating import tree_class
from ppdm_sql.methods.top_down.generalize import generalize
from ppdm_sql.methods.top_down.request import GeneralizeRequest
from ppdm_sql.methods.top_down.suppress import suppress
from ppdm_sql.progress import Progress
from ppdm_sql.release import Release, check_free, get, releases
from ppdm_sql.release.exporting import check_target
from ppdm_sql.sources import Source
from ppdm_sql.sources.given import given


def compare(
    engine: Engine,
    tables: Source | Sequence[str],
    options: CompareOptions,
    types: Mapping[str, str] | None,
    nulls: str | Sequence[str],
    progress: Progress,
) -> Comparison:
    """Try settings on a table, or put releases side by side; see :meth:`ppdm_sql.Database.compare`."""
    _check(engine, options)
    named = [tables] if isinstance(tables, str) or not isinstance(tables, Sequence) else list(tables)
    try:
        found = _releases(engine, named, options)
        if found is None:
            return _finished(engine, _tried(engine, named, options, types, nulls, progress), options)
        measured = engine.alone(lambda: compared_releases(engine, found, options, progress))
        return _finished(engine, ranked(measured), options)
    finally:
        progress.stop()


def _check(engine: Engine, options: CompareOptions) -> None:
    """Refuse early what would fail after all settings were tried."""
    if options.evaluate:
        tree_class()
    if options.page is not None:
        from ppdm_sql.report.charts import Drawing  # few runs draw

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


def _releases(engine: Engine, named: Sequence[Source], options: CompareOptions) -> list[Release] | None:
    """Give the releases to compare; None where settings are to be tried on a table."""
    if options.tries_settings:
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
    options: CompareOptions,
    types: Mapping[str, str] | None,
    nulls: str | Sequence[str],
    progress: Progress,
) -> Comparison:
    """Try the settings, and publish the best one where that is asked for."""

    def run() -> Comparison:
        with given(engine, named[0], types, nulls, progress=progress) as table:
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


def _best(found: Comparison, options: CompareOptions) -> TriedSetting:
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


def _finished(engine: Engine, found: Comparison, options: CompareOptions) -> Comparison:
    """Write the page, where one is asked for."""
    if options.page is not None:
        from ppdm_sql.comparison.picturing import write_comparison

        try:
            write_comparison(engine, found, Path(options.page), force=options.force)
        except PpdmError as error:
            if found.best is not None:
                error.remedy = f"{error.remedy} The release {found.best.name} is published.".strip()
            raise
    return found
