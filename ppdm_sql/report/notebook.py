"""What a notebook shows of a result: its tables, and small pictures where the libraries that draw are there.

It carries no style of its own but what pictures need, so that a notebook's own look holds, and no script.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import singledispatch
from itertools import pairwise
from typing import Any

from ppdm_sql.audit import Audit
from ppdm_sql.errors import PpdmError
from ppdm_sql.evaluation import Evaluation
from ppdm_sql.methods.perturbation.reconstruct import Reconstruction
from ppdm_sql.methods.trees.storing import Model
from ppdm_sql.release import Release
from ppdm_sql.report.cost import class_information, histogram
from ppdm_sql.report.page import AFTER, BEFORE, Drawing, Picture, html
from ppdm_sql.report.subject import Bar
from ppdm_sql.report.trees import drawn_tree
from ppdm_sql.results import Result

MOST_PICTURES, MOST_BARS = 6, 12


def html_of(result: Result) -> str:
    tables, said = result.tables(), repr(result)
    try:
        shown = list(pictures(result, Drawing()))
    except PpdmError:
        shown = []
    return html(
        "notebook.html.jinja",
        # a text that is longer than a line says what the tables say
        sentences=[*([said] if len(said) < 110 else []), *(note for table in tables for note in table.notes)],
        tables=tables,
        pictures=shown,
    )


@singledispatch
def pictures(result: Result, drawing: Drawing) -> Iterator[Picture]:
    """Draw a result; most have no picture."""
    yield from ()


@pictures.register
def _of_release(result: Release, drawing: Drawing) -> Iterator[Picture]:
    if found := class_information(result.measures()):
        before = {name: m.before or 0.0 for name, m in found.items()}
        after = {name: m.after or 0.0 for name, m in found.items()}
        title = "What a column tells of the class"
        yield _bars(drawing, title, {BEFORE: before, AFTER: after}, "bits", ".2~f")


@pictures.register
def _of_audit(result: Audit, drawing: Drawing) -> Iterator[Picture]:
    for sizes in result.class_sizes:
        bars = [Bar(low, high + 1, records) for low, high, _, records in sizes.ranges]
        what = f"{result.counted} in the class"
        svg = histogram(drawing, what, {AFTER: bars}, sizes=result.counted)
        yield _titled(f"Class sizes on {', '.join(sizes.quasi_identifier)}", svg)


@pictures.register
def _of_evaluation(result: Evaluation, drawing: Drawing) -> Iterator[Picture]:
    errors = {rate.error: rate.mean for rate in result.rates if " - " not in rate.error}
    yield _bars(drawing, "Errors, in per cent of the tested records", {AFTER: errors}, "per cent")


@pictures.register
def _of_reconstruction(result: Reconstruction, drawing: Drawing) -> Iterator[Picture]:
    for found in result.distributions[:MOST_PICTURES]:
        of = found.attribute + ("" if found.class_value is None else f", {found.class_value}")
        shares = list(map(float, found.probabilities))
        if found.edges is None:
            yield _bars(drawing, of, {AFTER: dict(zip(found.values, shares, strict=True))}, "share", ".0%")
            continue
        starts = [lower for lower, _ in pairwise(map(float, found.edges))]
        points = [*zip(starts, shares, strict=True), (float(found.edges[-1]), 0.0)]
        rows = [{"at": at, "amount": amount, "side": AFTER} for at, amount in points]
        look = {"title": found.attribute, "up": "share", "format": "~%", "height": 130}
        yield _titled(of, drawing.of_sides("lines", rows, [AFTER], **look))


@pictures.register
def _of_model(result: Model, drawing: Drawing) -> Iterator[Picture]:
    yield drawn_tree(drawing, result.tree())


def _bars(
    drawing: Drawing,
    title: str,
    sides: Mapping[str, Mapping[Any, float]],
    across: str,
    form: str = ",~f",
) -> Picture:
    names = list(dict.fromkeys(name for found in sides.values() for name in found))[:MOST_BARS]
    return _titled(title, drawing.bars(names, sides, across, form))


def _titled(title: str, svg: str) -> Picture:
    return Picture(title, svg, title)
