"""What a release cost: the values of its columns, and what they tell of the class and of each other.

Source: Bergsma 2013, "A bias-correction for Cramér's V and Tschuprow's T", doi:10.1016/j.jkss.2012.10.002.
"""

from __future__ import annotations

import math
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import combinations
from typing import Any

from ppdm_sql.audit.column_kinds import Look, ValueShape, looks_like
from ppdm_sql.audit.noise import NoiseModel
from ppdm_sql.engine.names import Table, alias, aliased, column
from ppdm_sql.engine.statements import bind, joined, sql
from ppdm_sql.engine.types import MOMENTS, kind_of
from ppdm_sql.errors import PpdmError
from ppdm_sql.methods.perturbation.reconstruct import Distribution, ReconstructRun
from ppdm_sql.options import ReconstructRequest
from ppdm_sql.progress import SilentProgress
from ppdm_sql.release import Measured, ReleasedColumn
from ppdm_sql.report.page import (
    AFTER,
    BEFORE,
    NONE,
    Chart,
    Number,
    Picture,
    bar_chart,
    beside,
    count,
    enumeration,
    label,
    measure,
    numbers,
    of_sides,
    rows_by_key,
    several,
)
from ppdm_sql.report.subject import (
    MOST_BARS,
    MOST_LISTED,
    Bar,
    CountedSide,
    Subject,
    ValueCount,
    least_width,
)
from ppdm_sql.results import ResultTable

MOST_COLUMNS = 24
"""Columns whose values are drawn at most."""
HISTOGRAM_BARS = 40
MOST_HIT = 10
"""Values and labels that are shown at most of those that lose most records."""
DAY, YEAR = 86_400_000.0, 31_556_952_000.0
"""In milliseconds; the year is the mean one."""
CHANGED = ("suppressed", "generalized", "swapped")
KEPT = ("kept", "sensitive", "class")
_INTERVAL = re.compile(r"\[(?P<lower>[^,]+), (?P<upper>[^,]+)(?P<end>[])])")
_TIME = re.compile(r"\[?\d{4}(s|-.*|, .*)?")
"""A year, a decade, or what begins with a year and a month: as texts they are in time's order."""
_INFORMATION = "class information: "
SIZES = [step * 10**power for power in range(19) for step in (1, 2, 5)]
"""Marks of an axis of class sizes; those beyond its end are not drawn."""
MOST_PAIRED = 8
"""Columns that are held against each other at most."""
GROUPS = 20
TRUE, NOISY, RECONSTRUCTED = "true", "released", "reconstructed"
Strengths = Mapping[tuple[str, str], float | None]


def values(subject: Subject) -> list[Picture]:
    """Draw the values of each masked or swapped column, of the first ones where there are many."""
    columns = subject.columns(*CHANGED)[:MOST_COLUMNS]
    return [picture for item in columns for picture in _column(subject, item)]


def _column(subject: Subject, item: ReleasedColumn) -> list[Picture]:
    """Draw one column: intervals to scale, values side by side, or labels beside the values behind them."""
    after = subject.after.counts(item.name)
    intervals = [interval(one, _are_dates(subject, item)) for one in after.listed]
    bars = [bar for bar in intervals if bar is not None]
    apart = len(bars) > 1 and len({bar.lower for bar in bars}) == len(bars)  # as the picture can tell
    if item.treatment == "generalized" and apart and not _are_codes(item.name, bars):
        return [_intervals(subject, item, after.listed, intervals)]
    before = subject.before if subject.before is not None and item.name in subject.before.codes else None
    if after.values == 1 and item.treatment != "swapped":  # there is nothing to draw of the release
        note = f"Every record of the release shows {label(after.listed[0].value)}."
        return [] if before is None else [replace(_before(subject, item.name, before), note=note)]
    if before is None:
        return [value_bars(item.name, {AFTER: subject.after})]
    if item.treatment == "generalized":
        right = value_bars(item.name, {AFTER: subject.after}, f"{item.name}, after")
        return [replace(_before(subject, item.name, before), starts=True), right]
    return [value_bars(item.name, {BEFORE: before, AFTER: subject.after})]


def _are_codes(name: str, bars: Sequence[Bar]) -> bool:
    """Tell whether intervals are of codes or of few whole numbers, of which there is no density."""
    whole = all(bar.lower.is_integer() and bar.upper.is_integer() for bar in bars)
    values = max(bar.upper for bar in bars) - min(bar.lower for bar in bars) + 1
    return _looks_coded(name, "BIGINT" if whole else "DOUBLE", int(values))


def _looks_coded(name: str, type_text: str, values: int) -> bool:
    records = 10 * values  # a release shows a label many times; that its values differ says nothing here
    look = looks_like(name, type_text, records=records, values=values, nulls=0, alone=0, shape=ValueShape())
    return look not in (Look.number, Look.date)


def _before(subject: Subject, name: str, before: CountedSide) -> Picture:
    title, values = f"{name}, before", before.counts(name).values
    type_text = before.types[name]
    drawable = values > MOST_BARS and before.has_places(name) and not _looks_coded(name, type_text, values)
    bars = before.bars(name, HISTOGRAM_BARS) if drawable else []
    if len(bars) < 2:
        return value_bars(name, {BEFORE: before}, title)
    dates = kind_of(type_text) in MOMENTS
    rows = [
        (Number(str(_axis_value(bar.lower, dates))[:10]) if dates else bar.lower, round(bar.records))
        for bar in bars
    ]
    return Picture(
        title,
        histogram(name, {BEFORE: bars}, dates=dates),
        f"{name} in the source, drawn to scale; {several(values, 'different value')}.",
        numbers([f"{name} from", "records"], rows),
        f"{several(values, 'different value')}.",
    )


def value_bars(name: str, sides: Mapping[str, CountedSide], title: str = "") -> Picture:
    frequent = {side: rows.counts(name) for side, rows in sides.items()}
    every = dict.fromkeys(one.value for counts in frequent.values() for one in counts.listed)
    order = list(every)[:MOST_LISTED]
    records = {side: dict(counts.listed) for side, counts in frequent.items()}
    for side, rows in sides.items():
        missing = [value for value in order if value not in records[side]]
        if missing and frequent[side].values > len(frequent[side].listed):
            records[side] |= rows.records_of(name, missing)
    first = sorted(order, key=lambda value: -max(side.get(value, 0) for side in records.values()))[:MOST_BARS]
    bars = in_order(first)
    different = max(counts.values for counts in frequent.values())
    left_out = different - len(order)
    notes = [
        *([f"The {len(bars)} most frequent of {different:,} values."] if different > len(bars) else []),
        *([f"The table leaves out {several(left_out, 'value')}."] if left_out > 0 else []),
    ]
    words = "; ".join(
        f"{label(value)}: {beside({side: count(n.get(value, 0)) for side, n in records.items()})}"
        for value in bars[:3]
    )
    return Picture(
        title or name,
        bar_chart(bars, records, step=12 if len(sides) > 1 else 20),
        f"Records by the value of {name}. {words}.",
        numbers([name, *of_sides(sides, "records")], rows_by_key(order, records)),
        " ".join(notes),
    )


def in_order(values: Sequence[str | None]) -> list[str | None]:
    """Put numbers, times and intervals in their order, others behind them; not where few are such."""
    texts = [value or "" for value in values]
    times = {text: text for text in texts if _TIME.fullmatch(text)}
    numbers = {text: place for text in texts if (place := _number(text)) is not None}
    places: Mapping[str, Any] = times if len(times) >= len(numbers) else numbers
    if 2 * len(places) < len(values):
        return list(values)
    last = [value for value in values if (value or "") not in places]
    return [*sorted(places, key=lambda text: places[text]), *last]


def _number(text: str) -> float | None:
    number, _, side = text.partition(" or ")
    begins = _INTERVAL.fullmatch(text)
    place = _place(begins["lower"] if begins else number, dates=False)
    return -math.inf if side == "less" and place is not None else place


# -- intervals --------------------------------------------------------------------------------


def interval(value: ValueCount, dates: bool) -> Bar | None:
    """Read the bounds out of the label of an interval; None for other labels, and those without end."""
    bounds = _INTERVAL.fullmatch(value.value or "")
    if bounds is None:
        return None
    lower, upper = (_place(bounds[bound], dates) for bound in ("lower", "upper"))
    return None if lower is None or upper is None or upper < lower else Bar(lower, upper, value.records)


def _place(text: str, dates: bool) -> float | None:
    """Read a number, or a moment in milliseconds since 1970; None where it has no place on a line."""
    try:
        if not dates:
            number = float(text)
            return number if math.isfinite(2 * number) else None  # so is the distance of any two
        date = datetime.fromisoformat(text)
    except ValueError:
        return None
    return 1000 * (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()


def _are_dates(subject: Subject, item: ReleasedColumn) -> bool:
    """Tell whether a column's intervals are of dates; the labels say so where the source is not looked at."""
    labels = (_INTERVAL.fullmatch(one.value or "") for one in subject.after.counts(item.name).listed)
    bounds = {bound for match in labels if match is not None for bound in match.group("lower", "upper")}
    numbers, moments = (any(_place(bound, dates) is not None for bound in bounds) for dates in (False, True))
    return moments and not numbers


def _intervals(
    subject: Subject, item: ReleasedColumn, labels: Sequence[ValueCount], places: Sequence[Bar | None]
) -> Picture:
    """Draw the intervals of a column to scale, over the numbers that they stand for."""
    dates = _are_dates(subject, item)
    intervals = sorted(
        ((one, bar) for one, bar in zip(labels, places, strict=True) if bar), key=lambda pair: pair[1].lower
    )
    others = [one for one, bar in zip(labels, places, strict=True) if bar is None]
    bars = {AFTER: [_wide(bar) for _, bar in intervals]}
    before = subject.before
    if before is not None and before.has_places(item.name):
        within = intervals[0][1].lower, max(bar.upper for _, bar in intervals)
        bars = {BEFORE: before.bars(item.name, HISTOGRAM_BARS, within), **bars}
    rows: list[tuple[str, int]] = [(Number(label(one.value)), one.records) for one, _ in intervals]
    rows += [(label(one.value), one.records) for one in others]
    notes = [f"{label(one.value)}: {several(one.records, 'record')}." for one in others[:3]]
    return Picture(
        item.name,
        histogram(item.name, bars, dates=dates),
        f"{item.name} in {several(len(intervals), 'interval')}, drawn to scale.",
        numbers([item.name, "records"], rows),
        " ".join(notes),
    )


def _wide(bar: Bar) -> Bar:
    if bar.upper > bar.lower:
        return bar
    return Bar(bar.lower, bar.lower + max(1.0, least_width(bar.lower)), bar.records)


def histogram(
    title: str, bars: Mapping[str, Sequence[Bar]], *, dates: bool = False, sizes: str = ""
) -> Chart:
    """Draw bars whose areas are the records; of sizes, on a logarithmic axis, those whose heights are."""
    every = [(side, bar, bar.upper - bar.lower) for side, of_side in bars.items() for bar in of_side]
    high = max((bar.records / width for _, bar, width in every), default=0)
    of, unit = ("unit", 1.0) if not dates else ("day", DAY) if high * DAY >= 1 else ("year", YEAR)
    rows = [
        {
            "lower": _axis_value(bar.lower, dates),
            "upper": _axis_value(bar.upper, dates),
            "amount": bar.records if sizes else bar.records * unit / width,
            "side": side,
        }
        for side, bar, width in every
    ]
    both = len(bars) > 1
    look = {
        "title": title,
        "up": sizes or f"records per {of}",
        "kind": "temporal" if dates else "quantitative",
        "scale": {"type": "log", "domainMin": 1, "nice": False} if sizes else {"zero": False, "nice": False},
        "ticks": SIZES if sizes else None,
        "across": ",~f" if sizes else None,
        "format": ",~f" if high * unit >= 1 else ".2~g",
        "outlines": ["var(--paper)", "var(--accent)"] if both else ["var(--paper)"],
        "opacities": [0.7, 0.25] if both else [0.8, 0.8],  # of a single one it makes NaN
    }
    return Chart("histogram", rows, look)


def _axis_value(place: float, dates: bool) -> float | str:
    if not dates:
        return place
    return datetime.fromtimestamp(place / 1000, UTC).replace(tzinfo=None).isoformat()


# -- noise: true, noisy and reconstructed distributions --------------------------------------------


def noise_table(models: Mapping[str, NoiseModel]) -> list[ResultTable]:
    rows = [
        (name, str(model.kind), measure(model.amount), model.rounded)
        for name, model in models.items()
        if model.added
    ]
    heads = ["column", "noise", "half its width, or its standard deviation", "rounded"]
    return [numbers(heads, rows)] if rows else []


def noise(subject: Subject, models: Mapping[str, NoiseModel]) -> list[Picture]:
    """Show of each randomized column what is released, and what can be learned from it."""
    pictures = []
    for item in subject.columns("randomized", "discretized"):
        if (model := models.get(item.name)) is None:
            continue
        distribution = _reconstruct(subject, item.name)
        if not model.added:
            pictures.append(_categories(subject, item.name, distribution, model))
        elif distribution is not None:
            pictures.append(_numbers(subject, item.name, distribution))
    return pictures


def _reconstruct(subject: Subject, name: str) -> Distribution | None:
    """Reconstruct the distribution of a column from the release alone, where that is possible."""
    options = ReconstructRequest(into=f"report_{secrets.token_hex(8)}", columns=(name,))
    try:
        run = ReconstructRun(subject.engine, subject.name, options, SilentProgress())
        return run.estimate()[0].distributions[0]
    except PpdmError:
        return None


def _numbers(subject: Subject, name: str, distribution: Distribution) -> Picture:
    """Draw the released, the reconstructed and, for the owner, the true numbers over each other."""
    edges = [] if distribution.edges is None else [float(edge) for edge in distribution.edges]
    estimate = [
        Bar(lower, upper, float(part) * distribution.records)
        for lower, upper, part in zip(edges, edges[1:], distribution.probabilities, strict=False)
    ]
    width = edges[1] - edges[0]
    lines = {NOISY: subject.after.bars(name, 60), RECONSTRUCTED: estimate}
    if subject.before is not None and name in subject.before.codes:
        lines = {TRUE: subject.before.bars(name, len(estimate), (edges[0], edges[-1])), **lines}
    rows = [row for side, bars in lines.items() for row in _outline(side, bars, width)]
    in_cells = {side: bars for side, bars in lines.items() if side != NOISY}
    cells = [
        (*(Number(f"{end:,.6g}") for end in bars[-1][:2]), *(round(bar.records) for bar in bars))
        for bars in zip(*in_cells.values(), strict=False)
    ]
    return Picture(
        name,
        lines_chart(name, rows, f"records in {measure(width)}", ",~f", 220),
        f"Records by {name}: {', '.join(lines)}; the reconstruction has intervals of {measure(width)}.",
        numbers(["from", "to", *in_cells], cells),
    )


def lines_chart(title: str, rows: Sequence[Mapping[str, object]], up: str, form: str, height: int) -> Chart:
    return Chart("lines", rows, {"title": title, "up": up, "format": form, "height": height})


def _outline(side: str, bars: Sequence[Bar], width: float) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = [
        {"at": bar.lower, "amount": width * bar.records / (bar.upper - bar.lower), "side": side}
        for bar in bars
    ]
    return [*rows, {"at": bars[-1].upper, "amount": 0, "side": side}] if bars else rows


def _categories(subject: Subject, name: str, distribution: Distribution | None, model: NoiseModel) -> Picture:
    """Draw the released, the reconstructed and, for the owner, the true frequencies of categories."""
    counts = dict(subject.after.counts(name).listed)
    sides: dict[str, Mapping[str | None, float]] = {AFTER: counts}
    if subject.before is not None and name in subject.before.codes:
        sides = {BEFORE: dict(subject.before.counts(name).listed), **sides}
    if distribution is not None and distribution.values and model.kind == "retain":
        estimates = [float(part) * distribution.records for part in distribution.probabilities]
        sides[RECONSTRUCTED] = dict(zip(distribution.values, estimates, strict=True))
    order = list(model.labels) if model.kind == "cells" else sorted(counts, key=lambda v: -counts[v])
    records = {side: {value: round(number) for value, number in of.items()} for side, of in sides.items()}
    words = "shown as cells" if model.kind == "cells" else f"kept with a probability of {model.amount:g}"
    return Picture(
        name,
        bar_chart(order[:MOST_BARS], sides),
        f"Records by the value of {name}, which is {words}.",
        numbers([name, *(f"records {side}" for side in sides)], rows_by_key(order[:MOST_LISTED], records)),
        f"Each value is {words}."
        + (f" The {MOST_BARS} most frequent of {len(order):,}." if len(order) > MOST_BARS else ""),
    )


# -- what is left out -------------------------------------------------------------------------


def left_out(subject: Subject) -> list[ResultTable]:
    """Show which values and labels lose most of their records where some are left out; the owner's."""
    source, release = subject.before, subject.after
    names = [item.name for item in subject.columns("suppressed", "generalized", *KEPT)]
    if source is None or not subject.left_out or not names:
        return []
    missing = subject.share_left_out
    losses = []
    for name in names:
        text = bind(
            "report/left_out_values",
            tables={"source_side": source.rows, "release_side": release.rows},
            columns={"value": [f"c{source.codes[name]}"], "shown": [f"c{release.codes[name]}"]},
            values={"share": missing, "most": MOST_HIT},
        )
        params = {"release": subject.name, "attribute": name}
        hit = subject.engine.query(text, params, step="left_out_values")
        losses += [
            (removed - before * missing, name, value, before, removed) for value, before, removed in hit
        ]
    losses.sort(key=lambda loss: -loss[0])
    rows = [
        (name, Number(label(value)), before, removed, removed / before)
        for _, name, value, before, removed in losses[:MOST_HIT]
    ]
    heading = ["column", "value or label", "records of the source", "left out", "share"]
    return [numbers(heading, rows, "share")] if rows else []


# -- what the columns tell of the class -----------------------------------------------------


def information(measures: Sequence[Measured]) -> list[Picture]:
    bits = [m for m in measures if m.measure.startswith(_INFORMATION)]
    if not bits:
        return []
    sides = {
        side: {m.measure.removeprefix(_INFORMATION): getattr(m, side) for m in bits}
        for side in (BEFORE, AFTER)
    }
    rows = [
        (name, before, after, min(1.0, after / before) if before and after is not None else None)
        for name, before, after in rows_by_key(sides[AFTER], sides)
    ]
    return [
        Picture(
            "What a column tells about the class",
            bar_chart(list(sides[AFTER]), sides, title="bits", form=".2~f"),
            "Information about the class, in bits beyond chance, that each column carries before and after.",
            numbers(["column", "bits before", "bits after", "kept"], rows, "kept"),
        )
    ]


# -- what columns have in common -----------------------------------------------------------------


def associations(subject: Subject) -> tuple[list[Picture], list[str]]:
    """Draw how strongly columns go together, before and after; say which columns are left out."""
    columns, apart = _columns_to_compare(subject)
    if len(columns) < 2:
        return [], []
    sides = {"In the release": subject.after}
    if subject.before is not None:
        sides = {"Before": subject.before, "After": subject.after}
    return [_heat(title, columns, _strengths(side, columns)) for title, side in sides.items()], apart


def _columns_to_compare(subject: Subject) -> tuple[list[str], list[str]]:
    """Choose the columns: those with few values or with places, changed ones and the class first."""
    order = {"class": 0, "sensitive": 1, "kept": 3}
    sides = [side for side in (subject.before, subject.after) if side is not None]
    items = sorted(subject.columns(), key=lambda item: order.get(item.treatment, 2))
    names = [item.name for item in items if all(item.name in side.codes for side in sides)]
    few = [name for name in names[: 2 * MOST_PAIRED] if all(_is_few(side, name) for side in sides)]
    few = few[:MOST_PAIRED]
    place = {item.name: number for number, item in enumerate(subject.shape.columns)}
    return sorted(few, key=place.__getitem__), [name for name in names if name not in few]


def _is_few(side: CountedSide, name: str) -> bool:
    """Tell whether a column can be held against others: few values, or places to group, and no key."""
    counts = side.counts(name)
    return counts.values < max(2, counts.records) and (side.has_places(name) or counts.values <= MOST_LISTED)


def _strengths(side: CountedSide, names: Sequence[str]) -> Strengths:
    """Measure every pair; one scan of the rows to group them, then one of the groups for each pair."""
    groups = _group_rows(side, names)
    strengths: dict[tuple[str, str], float | None] = {}
    for (first, one), (second, other) in combinations(enumerate(names), 2):
        codes = {"first": [f"v{first}"], "second": [f"v{second}"]}
        text = bind("report/association", tables={"grouped": groups}, columns=codes)
        ((chi_square, *sizes),) = side.engine.query(text, step="association")
        strengths[one, other] = corrected_v(chi_square, *sizes)
    side.engine.discard(groups)
    return strengths


def corrected_v(chi_square: float | None, rows: int, columns: int, records: float) -> float | None:
    """Give Cramér's V with Bergsma's correction; None where a column has one value only.

    Example:
        >>> corrected_v(100.0, 2, 2, 100.0), corrected_v(1.0, 2, 3, 100.0), corrected_v(5.0, 1, 2, 10.0)
        (1.0, 0.0, None)
    """
    if chi_square is None or records <= 1 or min(rows, columns) < 2:
        return None
    phi = max(0.0, chi_square / records - (rows - 1) * (columns - 1) / (records - 1))
    least = min(n - (n - 1) ** 2 / (records - 1) for n in (rows, columns))
    return min(1.0, math.sqrt(phi / (least - 1))) if least > 1 else None


def _group_rows(side: CountedSide, names: Sequence[str]) -> Table:
    """Collapse the rows over the columns, many numbers in groups that are about as frequent as each other."""
    values, joins = [], []
    for place, name in enumerate(names):
        code = f"{'x' if side.has_places(name) else 'c'}{side.codes[name]}"
        value = column(code, "s")
        if side.has_places(name) and side.different_places(name) > GROUPS:
            text = bind(
                "report/grouped_values",
                tables={"side": side.rows},
                columns={"value": [code]},
                values={"groups": GROUPS},
            )
            groups = aliased(side.engine.materialize("grouped_values", text), f"g{place}")
            member = column("value", f"g{place}")
            joins.append(sql("LEFT JOIN {t} ON {v} IS NOT DISTINCT FROM {c}", t=groups, v=member, c=value))
            value = column("group", f"g{place}")
        values.append(alias(value, f"v{place}"))
    query = "SELECT {values}, sum(s.records)::BIGINT AS records FROM {rows} AS s {joins} GROUP BY ALL"
    select = sql(query, values=values, rows=side.rows, joins=joined(joins, " "))
    return side.engine.materialize("paired", select)


def _heat(title: str, names: Sequence[str], strengths: Strengths) -> Picture:
    rows = [
        {"across": across, "down": down, "text": NONE if v is None else f"{v:.2f}", "size": round(v or 0, 9)}
        for (across, down), v in strengths.items()
    ]
    cells = [(*pair, NONE if value is None else Number(f"{value:.3f}")) for pair, value in strengths.items()]
    values_of_pairs = {pair: value for pair, value in strengths.items() if value is not None}
    most = max(values_of_pairs, key=values_of_pairs.__getitem__, default=None)
    says = f"{title}: the association of each pair of {enumeration(list(names))}."
    if most is not None:
        says += f" The largest is that of {most[0]} and {most[1]}, {strengths[most]:.2f}."
    return Picture(title, Chart("heat", rows), says, numbers(["column", "column", "V"], cells))
