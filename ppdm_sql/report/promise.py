"""What was asked and what was reached, and who could be found."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from sqlglot import exp

from ppdm_sql.audit import Identifiable, audit
from ppdm_sql.audit.before_publishing import ReleasedRows
from ppdm_sql.audit.model import ClassSizes, Finding
from ppdm_sql.engine.names import Table
from ppdm_sql.privacy import Requirement, requirement_of
from ppdm_sql.privacy.requirement import Counts
from ppdm_sql.release.labels import in_bins
from ppdm_sql.report.cost import histogram
from ppdm_sql.report.page import (
    AFTER,
    BEFORE,
    Number,
    Picture,
    beside,
    count,
    measure,
    numbers,
    share,
)
from ppdm_sql.report.subject import BARS, Bar, Measurements, Reached, Subject
from ppdm_sql.results import ResultTable

STATUSES = ("uniquely", "collectively", "not identifiable")
RISKS = (1.0, 1 / 2, 1 / 3, 1 / 5, 1 / 10, 1 / 20, 1 / 50, 1 / 100)
"""Risks of a record or person for which the share of those with at least as much is listed."""
TICKS = (0.0001, 0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)


def asked(subject: Subject) -> list[ResultTable]:
    """Say of each requirement what was asked and what was reached; no table where there is none."""
    before = subject.measured_before
    rows = []
    for place, found in enumerate(subject.measured.findings):
        was = [] if before is None else [_amount(before.findings[place])]
        rows.append(
            [str(found.requirement), *was, _amount(found), Number("holds" if found.holds else "is broken")]
        )
    named = ["requirement", *(["in the source"] if before else []), "in the release", "audit"]
    return [numbers(named, rows)] if rows else []


def _amount(found: Finding) -> Number:
    """Write what was reached in the unit of the requirement's limit."""
    requirement = requirement_of(found.requirement)
    if requirement.counts is Counts.PROTECTED:
        return share(found.reached)
    return count(found.reached) if requirement.counts is Counts.RECORDS else measure(found.reached)


def distributions(subject: Subject) -> list[Picture]:
    """Draw the distribution behind each requirement; class sizes once for each set of columns."""
    pictures = [_sizes(subject, place) for place in range(len(subject.measured.sizes))]
    return pictures + [
        _reached_by(subject, place, requirement)
        for place, requirement in enumerate(subject.requirements)
        if subject.measured.reached[place] is not None
    ]


def _of_sides(subject: Subject) -> Iterator[tuple[str, Measurements]]:
    if subject.measured_before is not None:
        yield BEFORE, subject.measured_before
    yield AFTER, subject.measured


def _sizes(subject: Subject, place: int) -> Picture:
    found = {side: measured.sizes[place] for side, measured in _of_sides(subject)}
    ranges = sorted({(low, high) for sizes in found.values() for low, high, *_ in sizes.ranges})
    label = {low: f"{low}" if low == high else f"{low}–{high}" for low, high in ranges}
    records = {
        side: {low: (classes, n) for low, _, classes, n in sizes.ranges} for side, sizes in found.items()
    }
    bars = {
        side: [Bar(low, high + 1, n) for low, high, _, n in sizes.ranges] for side, sizes in found.items()
    }
    cells = [
        (Number(label[low]), *(n for side in found for n in records[side].get(low, (0, 0))))
        for low, _ in ranges
    ]
    names = ["class size", *_heads(found, "classes", subject.counted)]
    on, counted = ", ".join(found[AFTER].quasi_identifier), subject.counted
    smallest = beside({side: count(sizes.sizes[0][0]) for side, sizes in found.items()})
    return Picture(
        f"Class sizes on {on}",
        histogram(subject.drawing, f"{counted} in the class", bars, sizes=counted),
        f"{counted.capitalize()} by the size of their equivalence class on {on}. "
        f"The smallest class has: {smallest}.",
        numbers(names, cells),
        f"Smallest class: {smallest}.",
    )


def _reached_by(subject: Subject, place: int, requirement: Requirement) -> Picture:
    found = {side: measured.reached[place] for side, measured in _of_sides(subject)}
    shown = {side: {bar: (g, n) for bar, g, n in reached.bars} for side, reached in found.items() if reached}
    last = max(bar for bars in shown.values() for bar in bars)
    (reached, *_) = (one for one in found.values() if one is not None)
    label = [_bar_label(requirement, reached, bar) for bar in range(last + 1)]
    rows = [
        {"label": label[bar], "side": side, "amount": bars.get(bar, (0, 0))[1]}
        for bar in range(last + 1)
        for side, bars in shown.items()
    ]
    cells = [
        (Number(label[bar]), *(n for bars in shown.values() for n in bars.get(bar, (0, 0))))
        for bar in range(last + 1)
        if any(bar in bars for bars in shown.values())
    ]
    unit = "confidence" if requirement.counts is Counts.PROTECTED else requirement.form
    names = [unit, *_heads(shown, "groups", subject.counted)]
    asked = subject.measured.findings[place]
    return Picture(
        f"{unit.capitalize()}: {requirement}",
        subject.draw("columns", rows, title=f"{unit} of the group", **_axes(subject.counted, label)),
        f"{subject.counted.capitalize()} by the {unit} of their group under {requirement}. "
        f"The worst group of the release: {_amount(asked)}.",
        numbers(names, cells),
        f"Worst group of the release: {_amount(asked)}; the limit is {_limit(requirement)}.",
    )


def _bar_label(requirement: Requirement, reached: Reached, bar: int) -> str:
    lower, upper = bar * reached.width, (bar + 1) * reached.width
    more = bar == BARS - 1
    if requirement.counts is Counts.PROTECTED:
        return f"{100 * lower:.0f}–{100 * upper:.0f} %"
    if requirement.worst == "min":
        return f"{bar}{'+' if more else ''}"
    return f"{measure(lower)}+" if more else f"{measure(lower)}–{measure(upper)}"


def _axes(counted: str, labels: Iterable[str]) -> dict[str, object]:
    long = sum(len(label) + 2 for label in labels) > 70
    return {"up": counted, "format": ",~f", "angle": -40 if long else 0}


def _heads(sides: Collection[str], *what: str) -> list[str]:
    """Name columns of numbers; the side is left out where there is one only."""
    return [f"{word} {side}" if len(sides) > 1 else word for side in sides for word in what]


def _limit(requirement: Requirement) -> str:
    limit = float(requirement.limit)
    return share(limit) if requirement.counts is Counts.PROTECTED else measure(limit)


# -- risk -------------------------------------------------------------------------------------


def alone(subject: Subject) -> list[str]:
    """Say who is alone by what is released as it is beside the labels; it takes nothing but the release."""
    shape, treatments = subject.shape, {item.name: item.treatment for item in subject.columns()}
    if not subject.requirements:  # who swaps or adds noise takes others to know what is released as it is
        return []
    person = next(iter(shape.people), None)
    of = subject.engine, shape.owned_rows(), treatments
    found = ReleasedRows(*of, count=shape.count, person=person).singled_out()
    return [] if found is None else [str(found)]


def curves(subject: Subject) -> list[Picture]:
    return [_curve(subject, place) for place in range(len(subject.measured.sizes))]


def _curve(subject: Subject, place: int) -> Picture:
    found = {side: measured.sizes[place] for side, measured in _of_sides(subject)}
    points = sorted({at for sizes in found.values() for at in _points(sizes)})
    rows = [
        {"at": at, "side": side, "amount": _at_least(sizes, at)}
        for side, sizes in found.items()
        for at in points
    ]
    cells = [(at, *(_at_least(sizes, at) for sizes in found.values())) for at in RISKS]
    on, counted = ", ".join(found[AFTER].quasi_identifier), subject.counted
    heads = ["risk of at least", *_heads(found, counted)]
    each = counted.removesuffix("s")
    highest = beside({side: share(1 / sizes.sizes[0][0]) for side, sizes in found.items()})
    mean = beside({side: share(_mean(sizes)) for side, sizes in found.items()})
    return Picture(
        f"Risk of a {each}, known by {on}",
        subject.draw(
            "curve",
            rows,
            title=f"risk of the {each}",
            up=f"{counted} with at least this risk",
            scale="log",
            format=".0%",
            across="~%",
            rules=[],
            ticks=[at for at in TICKS if at >= points[0]],
        ),
        f"Share of the {counted} by the least risk that they have. "
        f"Highest risk: {highest}. Mean risk: {mean}.",
        numbers(heads, cells, *heads),
        f"Highest: {highest}. Mean: {mean}.",
    )


def _mean(sizes: ClassSizes) -> float:
    return sum(classes for _, classes, _ in sizes.sizes) / sum(records for *_, records in sizes.sizes)


def _at_least(sizes: ClassSizes, risk: float) -> float:
    every = sum(records for *_, records in sizes.sizes)
    return sum(records for size, _, records in sizes.sizes if size * risk <= 1 + 1e-9) / every


def _points(sizes: ClassSizes) -> set[float]:
    """Give risks at which a curve can fall, from the least of a record to certainty; some 200 at most."""
    largest = sizes.sizes[-1][0]
    return {1 / round(largest ** (i / 200)) for i in range(201)}


# -- who was identifiable ------------------------------------------------------------------------


def identifiable(subject: Subject, by: Sequence[str], source: Table | None) -> list[Picture]:
    """Show, for each swapped column, who was identifiable before and after; the owner's."""
    swapped = [item.name for item in subject.columns("swapped")]
    if not swapped or not by:
        return []
    after = {one.confidential: one for one in _identifiable(subject, swapped, by)}
    before = {} if source is None else _before(subject, source, swapped, by)
    return [_statuses(subject, name, before.get(name), after[name]) for name in swapped]


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
    records = {
        side: dict(zip(STATUSES, (one.unique, one.grouped, one.others), strict=True))
        for side, one in sides.items()
    }
    return Picture(
        f"Records whose {name} can be identified",
        subject.bars(STATUSES, records, step=14),
        f"Records that are uniquely, collectively or not identifiable in {name}.",
        numbers(
            ["identifiable", *sides], [(one, *(found[one] for found in records.values())) for one in STATUSES]
        ),
    )
