"""What a swap changed, and who was identifiable; for the owner."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ppdm_sql.audit import Identifiable, audit
from ppdm_sql.engine.names import Table
from ppdm_sql.release import Release
from ppdm_sql.release.bins import in_bins
from ppdm_sql.report.charts import AFTER, BEFORE
from ppdm_sql.report.page import Block, Chapter, Numbers, Picture
from ppdm_sql.report.subject import Subject
from ppdm_sql.report.words import Cell, count, listed

STATUSES = ("uniquely", "collectively", "not identifiable")


def swaps(subject: Subject, release: Release, source: Table | None) -> Chapter:
    """Show, for each confidential column, who was identifiable before and after."""
    swapped = [item.name for item in subject.columns("swapped")]
    by = list(release.row().parameters.get("by", ()))
    if not swapped or not by:
        return Chapter("identifiable", "Who was identifiable", [])
    after = {one.confidential: one for one in _identifiable(subject, swapped, by)}
    before = {} if source is None else _before(subject, source, swapped, by)
    pictures = [_statuses(subject, name, before.get(name), after[name]) for name in swapped]
    said = (
        f"A record is uniquely identifiable if nobody else has its values of {listed(by)}, and collectively "
        "if all who have them share one confidential value. Uniquely identifiable records stay alone; "
        "what is swapped is their confidential value, so that it cannot be believed."
    )
    return Chapter("identifiable", "Who was identifiable", [Block(sentences=[said], pictures=pictures)])


def _identifiable(subject: Subject, swapped: Sequence[str], by: Sequence[str]) -> tuple[Identifiable, ...]:
    view = subject.engine.overlay(subject.shape.rows())
    return audit(subject.engine, view, count=subject.shape.count, confidential=swapped, by=by).identifiable


def _before(
    subject: Subject, source: Table, swapped: Sequence[str], by: Sequence[str]
) -> dict[str, Identifiable]:
    """Count the identifiable records of the source, numbers in the bins that the release shows."""
    engine, shape = subject.engine, subject.shape
    shown = in_bins(source, engine.columns(source), shape.columns, "s")
    view = engine.overlay(exp.select(exp.Star()).from_(shown))
    found = audit(engine, view, count=shape.count, confidential=swapped, by=by).identifiable
    return {one.confidential: one for one in found}


def _statuses(subject: Subject, name: str, before: Identifiable | None, after: Identifiable) -> Picture:
    sides = {side: one for side, one in ((BEFORE, before), (AFTER, after)) if one is not None}
    numbers = {side: (one.unique, one.grouped, one.others) for side, one in sides.items()}
    rows = [
        {"label": status, "side": side, "amount": found[place]}
        for place, status in enumerate(STATUSES)
        for side, found in numbers.items()
    ]
    cells: list[list[Cell]] = [
        [status, *(count(found[place]) for found in numbers.values())]
        for place, status in enumerate(STATUSES)
    ]
    return Picture(
        f"Records whose {name} can be identified",
        subject.draw("bars", rows, sides=tuple(sides), title="records", format=",~f", step=14),
        f"Records that are uniquely, collectively or not identifiable in {name}.",
        Numbers(["identifiable", *sides], cells),
    )
