"""What a notebook shows of a result: its tables, and small pictures where the libraries that draw are there.

It carries no style of its own but what pictures need, so that a notebook's own look holds, and no script.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import singledispatch
from typing import Any

from ppdm_sql.audit import Audit
from ppdm_sql.errors import PpdmError
from ppdm_sql.evaluation import Evaluation
from ppdm_sql.methods.perturbation.reconstruct import Reconstruction
from ppdm_sql.methods.trees.storing import Model
from ppdm_sql.release import Release
from ppdm_sql.report.cost import information, lines_chart
from ppdm_sql.report.page import AFTER, Chart, Picture, bar_chart, html, vega
from ppdm_sql.report.promise import class_sizes
from ppdm_sql.report.subject import MOST_BARS
from ppdm_sql.report.trees import tree_picture
from ppdm_sql.results import Result

MOST_PICTURES = 6


def html_of(result: Result) -> str:
    tables, text = result.tables(), repr(result)
    try:
        vega()
        drawings = list(pictures(result))
    except PpdmError:
        drawings = []
    return html(
        "notebook.html.jinja",
        # a text that is longer than a line says what the tables say
        sentences=[*([text] if len(text) < 110 else []), *(note for table in tables for note in table.notes)],
        tables=tables,
        pictures=drawings,
    )


@singledispatch
def pictures(result: Result) -> Iterable[Picture]:
    """Draw a result; most have no picture."""
    return ()


@pictures.register
def _of_release(result: Release) -> Iterable[Picture]:
    return information(result.measures())


@pictures.register
def _of_audit(result: Audit) -> Iterable[Picture]:
    return [class_sizes({AFTER: sizes}, result.counted) for sizes in result.class_sizes]


@pictures.register
def _of_evaluation(result: Evaluation) -> Iterable[Picture]:
    errors = {rate.error: rate.mean for rate in result.rates if " - " not in rate.error}
    yield _picture("Errors, in per cent of the tested records", _bars(errors, "per cent", ",~f"))


@pictures.register
def _of_reconstruction(result: Reconstruction) -> Iterable[Picture]:
    for distribution in result.distributions[:MOST_PICTURES]:
        group = distribution.class_value
        of = distribution.attribute + ("" if group is None else f", {group}")
        shares = list(map(float, distribution.probabilities))
        if distribution.edges is None:
            yield _picture(of, _bars(dict(zip(distribution.values, shares, strict=True)), "share", ".0%"))
            continue
        points = zip(map(float, distribution.edges), [*shares, 0.0], strict=True)
        rows = [{"at": at, "amount": amount, "side": AFTER} for at, amount in points]
        yield _picture(of, lines_chart(distribution.attribute, rows, "share", "~%", 130))


@pictures.register
def _of_model(result: Model) -> Iterable[Picture]:
    return [tree_picture(result.tree())]


def _bars(amounts: Mapping[Any, float], title: str, form: str) -> Chart:
    return bar_chart(list(amounts)[:MOST_BARS], {AFTER: amounts}, title, form, 14)


def _picture(title: str, chart: Chart) -> Picture:
    return Picture(title, chart, title)
