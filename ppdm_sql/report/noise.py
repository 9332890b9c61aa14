"""Noise: true, noisy and reconstructed distributions."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from ppdm_sql.audit.noise import NoiseModel
from ppdm_sql.errors import PpdmError
from ppdm_sql.methods.perturbation.reconstruct import Distribution, ReconstructRun
from ppdm_sql.options import ReconstructRequest
from ppdm_sql.progress import SilentProgress
from ppdm_sql.release import ReleasedColumn
from ppdm_sql.report.page import AFTER, BEFORE, Number, Picture, measure, numbers
from ppdm_sql.report.subject import MOST_BARS, MOST_LISTED, Bar, FrequentValues, Subject
from ppdm_sql.results import ResultTable

TRUE, NOISY, RECONSTRUCTED = "true", "released", "reconstructed"
TREATED = ("randomized", "discretized")


def noise_table(models: Mapping[str, NoiseModel]) -> list[ResultTable]:
    """List the noise of each column, as its comment tells it to everybody."""
    rows = [
        (name, str(model.kind), measure(model.amount), model.rounded)
        for name, model in models.items()
        if model.added
    ]
    heads = ["column", "noise", "half its width, or its standard deviation", "rounded"]
    return [numbers(heads, rows)] if rows else []


def noise(subject: Subject, models: Mapping[str, NoiseModel]) -> list[Picture]:
    """Show of each randomized column what is released, and what can be learned from it."""
    found = _reconstructed(subject, models)
    return [one for item in subject.columns(*TREATED) for one in _column(subject, item, models, found)]


def _reconstructed(subject: Subject, models: Mapping[str, NoiseModel]) -> dict[str, Distribution]:
    """Reconstruct the distribution of each column from the release alone, where that is possible."""
    found: dict[str, Distribution] = {}
    for name in models:
        options = ReconstructRequest(into=f"report_{secrets.token_hex(8)}", columns=(name,))
        try:
            run = ReconstructRun(subject.engine, subject.name, options, SilentProgress())
            done, _ = run.estimate()
        except PpdmError:
            continue
        found[name] = done.distributions[0]
    return found


def _column(
    subject: Subject,
    item: ReleasedColumn,
    models: Mapping[str, NoiseModel],
    found: Mapping[str, Distribution],
) -> list[Picture]:
    model = models.get(item.name)
    if model is None:
        return []
    if not model.added:
        return [_categories(subject, item.name, found.get(item.name), model)]
    return [_numbers(subject, item.name, found[item.name])] if item.name in found else []


def _numbers(subject: Subject, name: str, found: Distribution) -> Picture:
    """Draw the released, the reconstructed and, for the owner, the true numbers over each other."""
    edges = [] if found.edges is None else [float(edge) for edge in found.edges]
    estimate = [
        Bar(lower, upper, float(part) * found.records)
        for lower, upper, part in zip(edges, edges[1:], found.probabilities, strict=False)
    ]
    width = edges[1] - edges[0]
    lines = {NOISY: subject.after.bars(name, 60), RECONSTRUCTED: estimate}
    if subject.before is not None and name in subject.before.codes:
        within = (edges[0], edges[-1])
        lines = {TRUE: subject.before.bars(name, len(estimate), within), **lines}
    rows = [row for side, bars in lines.items() for row in _outline(side, bars, width)]
    cells: list[tuple[Any, ...]] = []
    for place, bar in enumerate(estimate):
        true = [round(lines[TRUE][place].records)] if TRUE in lines and place < len(lines[TRUE]) else []
        ends = (Number(f"{end:,.6g}") for end in (bar.lower, bar.upper))
        cells.append((*ends, *true, round(bar.records)))
    heads = ["from", "to", *([TRUE] if TRUE in lines else []), "reconstructed"]
    look = {"title": name, "up": f"records in {measure(width)}", "format": ",~f", "height": 220}
    return Picture(
        name,
        subject.drawing.of_sides("lines", rows, list(lines), **look),
        f"Records by {name}: {', '.join(lines)}; the reconstruction has intervals of {measure(width)}.",
        numbers(heads, [row for row in cells if len(row) == len(heads)]),
    )


def _outline(side: str, bars: Sequence[Bar], width: float) -> list[dict[str, object]]:
    """Give the outline of bars, as high as one of that width would be."""
    rows: list[dict[str, object]] = [
        {"at": bar.lower, "amount": width * bar.records / (bar.upper - bar.lower), "side": side}
        for bar in bars
    ]
    return [*rows, {"at": bars[-1].upper, "amount": 0, "side": side}] if bars else rows


def _categories(subject: Subject, name: str, found: Distribution | None, model: NoiseModel) -> Picture:
    """Draw the released, the reconstructed and, for the owner, the true frequencies of categories."""
    released = _by_value(subject.after.counts(name))
    sides: dict[str, dict[str | None, float]] = {AFTER: released}
    if subject.before is not None and name in subject.before.codes:
        sides = {BEFORE: _by_value(subject.before.counts(name)), **sides}
    if found is not None and found.values and model.kind == "retain":
        guessed = [float(part) * found.records for part in found.probabilities]
        sides[RECONSTRUCTED] = dict(zip(found.values, guessed, strict=True))
    order = list(model.labels) if model.kind == "cells" else sorted(released, key=lambda v: -released[v])
    rows = [(value, *(round(n.get(value, 0)) for n in sides.values())) for value in order[:MOST_LISTED]]
    words = "shown as cells" if model.kind == "cells" else f"kept with a probability of {model.amount:g}"
    return Picture(
        name,
        subject.bars(order[:MOST_BARS], sides),
        f"Records by the value of {name}, which is {words}.",
        numbers([name, *(f"records {side}" for side in sides)], rows),
        f"Each value is {words}."
        + (f" The {MOST_BARS} most frequent of {len(order):,}." if len(order) > MOST_BARS else ""),
    )


def _by_value(counts: FrequentValues) -> dict[str | None, float]:
    return {one.value: one.records for one in counts.listed}
