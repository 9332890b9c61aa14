"""Measures releases that exist, to be put side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ppdm_sql.comparison.model import ComparedRow, Comparison
from ppdm_sql.comparison.numbers import classifier_error, detail_lost, grouped_by, measured_rows
from ppdm_sql.comparison.settings import CompareOptions
from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import resolve_all
from ppdm_sql.errors import PpdmError
from ppdm_sql.privacy import Requirement, parse_all
from ppdm_sql.progress import Progress
from ppdm_sql.release import CatalogueRow, Release
from ppdm_sql.release.catalogue import READ
from ppdm_sql.release.layout import Shape
from ppdm_sql.sources import read_again


def compared_releases(
    engine: Engine, releases: Sequence[Release], options: CompareOptions, progress: Progress
) -> Comparison:
    """Measure releases, by the columns that are asked for or, each, by those of its own requirements.

    Ctrl-C ends with those that were measured.

    Raises:
        UnknownColumn: A release lacks a column of the quasi-identifier that is asked for.
        KeyboardInterrupt: None was measured.
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
    options: CompareOptions,
    progress: Progress,
    baseline: dict[str, float],
) -> ComparedRow:
    row = release.row()
    shape, requirements = row.shape(engine.current()[0]), parse_all(row.requirements)
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
    row: CatalogueRow, shape: Shape, requirements: Sequence[Requirement], options: CompareOptions
) -> list[tuple[str, ...]]:
    """Give the columns that others may know: those asked for, else of the requirements, if there are any."""
    if options.quasi_identifier:
        return [resolve_all(options.quasi_identifier, shape.names, table=row.release)]
    return grouped_by(requirements)
