"""Measures rows that could be released, whatever made them: classes, confidences, a tree's error."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ppdm_sql.audit import findings
from ppdm_sql.audit.collapsing import Collapsed
from ppdm_sql.audit.risks import class_sizes
from ppdm_sql.comparison.model import ReleaseNumbers
from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.evaluation.evaluating import BASELINES, SE, EvaluateOptions, errors_of
from ppdm_sql.methods.top_down.information_loss import DETAIL
from ppdm_sql.privacy import Counts, Requirement
from ppdm_sql.progress import Progress
from ppdm_sql.release import CatalogueRow
from ppdm_sql.release.draft import MeasureRow
from ppdm_sql.release.layout import Shape


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
    """Measure the error of a classifier on rows; the first time also those that go into ``baseline``.

    Raises:
        PpdmError: The source cannot be read, or the rows cannot be evaluated.
    """
    wanted = (SE,) if baseline else (SE, *BASELINES)
    found = errors_of(engine, row, shape, EvaluateOptions(seeds=1), wanted, progress)
    baseline |= {name: found[name] for name in found if name != SE}
    return found[SE]


def detail_lost(measures: Iterable[MeasureRow]) -> float | None:
    """Find what of the detail is lost among the measures of a release; None where none is measured."""
    return next((1 - after for name, _, after in measures if name == DETAIL and after is not None), None)


def grouped_by(requirements: Iterable[Requirement]) -> list[tuple[str, ...]]:
    """List the sets of columns that requirements group by, each once."""
    return list({frozenset(one.attributes): one.attributes for one in requirements}.values())
