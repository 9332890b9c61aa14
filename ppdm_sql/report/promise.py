"""What was asked and what was reached, and who could be found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from ppdm_sql.audit import Identifiable, audit
from ppdm_sql.audit.before_publishing import singled_out
from ppdm_sql.audit.model import ClassSizes, Finding
from ppdm_sql.engine.names import Table
from ppdm_sql.privacy import Requirement, requirement_of
from ppdm_sql.privacy.requirement import Counts
from ppdm_sql.release.labels import in_bins
from ppdm_sql.report.cost import histogram
from ppdm_sql.report.page import (
    AFTER,
    BEFORE,
    Chart,
    Number,
    Picture,
    bar_chart,
    beside,
    count,
    measure,
    numbers,
    of_sides,
    rows_by_key,
    share,
)
from ppdm_sql.report.subject import BARS, Bar, Measurements, Subject
from ppdm_sql.results import ResultTable

STATUSES = ("uniquely", "collectively", "not identifiable")
RISKS = (1.0, 1 / 2, 1 / 3, 1 / 5, 1 / 10, 1 / 20, 1 / 50, 1 / 100)
"""Risks of a record or person for which the share of those with at least as much is listed."""
TICKS = (0.0001, 0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
"""Risks at which the axis of a curve has a mark."""


def requirements_table(subject: Subject) -> list[ResultTable]:
    """Say of each requirement what was asked and what was reached; no table where there is none."""
    before = subject.measurements_before
    rows = []
    for place, finding in enumerate(subject.measurements.findings):
        was = [] if before is None else [_amount_reached(before.findings[place])]
        verdict = Number("holds" if finding.holds else "is broken")
        rows.append([str(finding.requirement), *was, _amount_reached(finding), verdict])
    heads = ["requirement", *(["in the source"] if before else []), "in the release", "audit"]
    return [numbers(heads, rows)] if rows else []


def _amount_reached(finding: Finding) -> Number:
    return _amount(requirement_of(finding.requirement), finding.reached)


def _amount(requirement: Requirement, number: float | None) -> Number:
    """Write a limit, or what was reached, in the unit of a requirement."""
    if requirement.counts is Counts.PROTECTED:
        return share(number)
    return count(number) if requirement.counts is Counts.RECORDS else measure(number)


def distributions(subject: Subject) -> list[Picture]:
    """Draw the distribution behind each requirement; class sizes once for each set of columns."""
    pictures = [class_sizes(sizes, subject.counted) for sizes in _sizes(subject)]
    return pictures + [
        _group_numbers(subject, place, requirement)
        for place, requirement in enumerate(subject.requirements)
        if subject.measurements.group_bars[place] is not None
    ]


def _of_sides(subject: Subject) -> dict[str, Measurements]:
    before = {} if subject.measurements_before is None else {BEFORE: subject.measurements_before}
    return {**before, AFTER: subject.measurements}


def class_sizes(sides: Mapping[str, ClassSizes], units: str) -> Picture:
    """Draw the records, or persons, by the size of their class."""
    ranges = sorted({(low, high) for sizes in sides.values() for low, high, *_ in sizes.ranges})
    here = {side: {low: (n, of) for low, _, n, of in sizes.ranges} for side, sizes in sides.items()}
    bars = {
        side: [Bar(low, high + 1, n) for low, high, _, n in sizes.ranges] for side, sizes in sides.items()
    }
    cells = [
        (Number(f"{low}" if low == high else f"{low}–{high}"), *_pairs(here, low)) for low, high in ranges
    ]
    on = ", ".join(sides[AFTER].quasi_identifier)
    smallest = beside({side: count(sizes.sizes[0][0]) for side, sizes in sides.items()})
    return Picture(
        f"Class sizes on {on}",
        histogram(f"{units} in the class", bars, sizes=units),
        f"{units.capitalize()} by the size of their equivalence class on {on}. "
        f"The smallest class has: {smallest}.",
        numbers(["class size", *of_sides(sides, "classes", units)], cells),
        f"Smallest class: {smallest}.",
    )


def _pairs(sides: Mapping[str, Mapping[int, tuple[int, int]]], key: int) -> list[int]:
    """Give classes or groups, and who is in them, of each side."""
    return [number for counts in sides.values() for number in counts.get(key, (0, 0))]


def _group_numbers(subject: Subject, place: int, requirement: Requirement) -> Picture:
    sides = {side: measurements.group_bars[place] for side, measurements in _of_sides(subject).items()}
    groups = {side: {bar: (g, n) for bar, g, n in bars_of.bars} for side, bars_of in sides.items() if bars_of}
    width = next(one.width for one in sides.values() if one is not None)
    label = [
        _bar_label(requirement, width, bar)
        for bar in range(max(bar for one in groups.values() for bar in one) + 1)
    ]
    rows = [
        {"label": text, "side": side, "amount": bars.get(bar, (0, 0))[1]}
        for bar, text in enumerate(label)
        for side, bars in groups.items()
    ]
    cells = [
        (Number(text), *_pairs(groups, bar))
        for bar, text in enumerate(label)
        if any(bar in bars for bars in groups.values())
    ]
    units = subject.counted
    unit = "confidence" if requirement.counts is Counts.PROTECTED else requirement.form
    angle = -40 if sum(len(text) + 2 for text in label) > 70 else 0
    look = {"title": f"{unit} of the group", "up": units, "format": ",~f", "angle": angle}
    worst = f"orst group of the release: {_amount_reached(subject.measurements.findings[place])}"
    return Picture(
        f"{unit.capitalize()}: {requirement}",
        Chart("columns", rows, look),
        f"{units.capitalize()} by the {unit} of their group under {requirement}. The w{worst}.",
        numbers([unit, *of_sides(groups, "groups", units)], cells),
        f"W{worst}; the limit is {_amount(requirement, float(requirement.limit))}.",
    )


def _bar_label(requirement: Requirement, width: float, bar: int) -> str:
    lower, upper = bar * width, (bar + 1) * width
    more = bar == BARS - 1
    if requirement.counts is Counts.PROTECTED:
        return f"{100 * lower:.0f}–{100 * upper:.0f} %"
    if requirement.worst == "min":
        return f"{bar}{'+' if more else ''}"
    return f"{measure(lower)}+" if more else f"{measure(lower)}–{measure(upper)}"


# -- risk -------------------------------------------------------------------------------------


def alone(subject: Subject) -> list[str]:
    """Say who is unique by the labels and the columns released as they are; it reads the release alone."""
    shape, treatments = subject.shape, {item.name: item.treatment for item in subject.columns()}
    if not subject.requirements:  # who swaps or adds noise takes others to know what is released as it is
        return []
    person = next(iter(shape.people), None)
    of = subject.engine, shape.owned_rows(), treatments
    notice = singled_out(*of, count=shape.count, person=person)
    return [] if notice is None else [notice]


def curves(subject: Subject) -> list[Picture]:
    return [_curve(sizes, subject.counted) for sizes in _sizes(subject)]


def _sizes(subject: Subject) -> list[dict[str, ClassSizes]]:
    """Give the class sizes of each set of columns, by side."""
    sides = _of_sides(subject)
    places = range(len(subject.measurements.sizes))
    return [{side: measurements.sizes[place] for side, measurements in sides.items()} for place in places]


def _curve(sides: Mapping[str, ClassSizes], units: str) -> Picture:
    points = sorted({at for sizes in sides.values() for at in _points(sizes)})
    rows = [
        {"at": at, "side": side, "amount": _at_least(sizes, at)}
        for side, sizes in sides.items()
        for at in points
    ]
    # where every record is alone, all marks would stand at one place
    look = {
        "title": f"risk of the {units.removesuffix('s')}",
        "up": f"{units} with at least this risk",
        "ticks": [at for at in TICKS if at >= points[0]],
    }
    cells = [(at, *(_at_least(sizes, at) for sizes in sides.values())) for at in RISKS]
    on, each = ", ".join(sides[AFTER].quasi_identifier), units.removesuffix("s")
    heads = ["risk of at least", *of_sides(sides, units)]
    highest = beside({side: share(1 / sizes.sizes[0][0]) for side, sizes in sides.items()})
    mean = beside({side: share(_mean(sizes)) for side, sizes in sides.items()})
    return Picture(
        f"Risk of a {each}, known by {on}",
        Chart("curve", rows, look),
        f"Share of the {units} by the least risk that they have. Highest risk: {highest}. Mean risk: {mean}.",
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
    """Show, for each swapped column, who was identifiable before and after; the owner's.

    Numbers of the source are counted in the bins that the release shows.
    """
    names = [item.name for item in subject.columns("swapped")]
    if not names or not by:
        return []
    engine, shape = subject.engine, subject.shape
    rows = {AFTER: shape.rows()}
    if source is not None:
        bins = in_bins(source, engine.columns(source), shape.columns, "s")
        rows = {BEFORE: exp.select(exp.Star()).from_(bins), **rows}
    audits = {
        side: audit(engine, engine.overlay(of), count=shape.count, confidential=names, by=by).identifiable
        for side, of in rows.items()
    }
    return [
        _statuses(
            name,
            {side: one for side, several in audits.items() for one in several if one.confidential == name},
        )
        for name in names
    ]


def _statuses(name: str, sides: Mapping[str, Identifiable]) -> Picture:
    records = {
        side: dict(zip(STATUSES, (one.unique, one.grouped, one.others), strict=True))
        for side, one in sides.items()
    }
    return Picture(
        f"Records whose {name} can be identified",
        bar_chart(STATUSES, records, step=14),
        f"Records that are uniquely, collectively or not identifiable in {name}.",
        numbers(["identifiable", *sides], rows_by_key(STATUSES, records)),
    )
