"""Measures rows that could be released, whatever made them: classes, confidences, entropy of the class."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ppdm_sql.audit import findings
from ppdm_sql.audit.collapsing import Collapsed
from ppdm_sql.audit.risks import class_sizes
from ppdm_sql.comparison.model import ReleaseNumbers
from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.engine.statements import bind
from ppdm_sql.evaluation.evaluating import BASELINES, SE, EvaluateOptions, errors_of
from ppdm_sql.privacy import Counts, Requirement
from ppdm_sql.progress import Progress
from ppdm_sql.release import CatalogueRow, ReleasedColumn
from ppdm_sql.release.draft import MeasureRow
from ppdm_sql.release.layout import Shape

LOSSES = ("generalized information loss", "suppressed cells")
"""The measures that say how much of the masked columns is lost, of which a release has one."""


def measured_rows(
    engine: Engine,
    rows: Table,
    *,
    requirements: Sequence[Requirement],
    quasi_identifiers: Sequence[Sequence[str]],
    class_column: str | None,
    count: str | None,
    person: Sequence[str] = (),
) -> ReleaseNumbers:
    """Measure rows by the audit's own steps; classes and templates in persons, if rows say whose they are.

    Cost: one scan of the rows, which collapses them, then scans of the classes; one more for templates, and
    with persons one for the entropy, which is of records.
    """
    names = tuple(dict.fromkeys(name for columns in quasi_identifiers for name in columns))
    apart = class_column is not None and class_column not in names
    needed = [*names, *([class_column] if apart and class_column else [])]
    collapsed = Collapsed(engine, rows, needed, count, person)
    sizes = [class_sizes(collapsed, columns) for columns in quasi_identifiers]
    templates = [one for one in requirements if one.counts is Counts.PROTECTED]
    reached = [found.reached for found in findings(engine, rows, templates, count=count, person=person)]
    smallest = min((one.sizes[0][0] for one in sizes), default=None)
    entropy = None
    if apart and class_column and names:
        records = Collapsed(engine, rows, needed, count) if person else collapsed
        cells = records.cells(names, class_column)
        text = bind("comparison/class_entropy", tables={"cells": cells})
        ((bits,),) = engine.query(text, step="class_entropy")
        entropy = float(f"{bits:.12g}")  # the last bits of a parallel sum depend on its order
    return ReleaseNumbers(
        records=collapsed.size[1],
        smallest_class=smallest,
        highest_risk=None if smallest is None else 1 / smallest,
        average_risk=max((_average(one.sizes) for one in sizes), default=None),
        confidence=max(reached, default=None),
        entropy=entropy,
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


def class_of(columns: Iterable[ReleasedColumn]) -> str | None:
    """Find the class column, if there is one."""
    return next((item.name for item in columns if item.treatment == "class"), None)


def loss_in(measures: Iterable[MeasureRow]) -> float | None:
    """Find the loss among the measures of a release; None where its method measures none."""
    found = {name: after for name, _, after in measures}
    return next((found[name] for name in LOSSES if name in found), None)


def grouped_by(requirements: Iterable[Requirement]) -> list[tuple[str, ...]]:
    """List the sets of columns that requirements group by, each once."""
    return list({frozenset(one.attributes): one.attributes for one in requirements}.values())
