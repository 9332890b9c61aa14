"""HTML for notebooks: tables, and the small pictures of a page where the libraries that draw are there.

It carries no style of its own but what pictures need, so that a notebook's own look holds, and no script.
What is shown is what the object itself gives, and nothing more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import singledispatch
from itertools import pairwise
from typing import Any

from ppdm_sql.audit import Audit
from ppdm_sql.audit.model import ClassSizes, Counted
from ppdm_sql.errors import PpdmError
from ppdm_sql.evaluation import Evaluation
from ppdm_sql.methods.perturbation.reconstruct import Distribution, Reconstruction
from ppdm_sql.methods.trees.storing import Model
from ppdm_sql.release import Release
from ppdm_sql.report.cost import class_information, histogram, measure_table
from ppdm_sql.report.page import AFTER, BEFORE, Cell, Drawing, Numbers, Picture, count, html, measure, several
from ppdm_sql.report.subject import Bar
from ppdm_sql.report.trees import drawn_tree, model_facts

MOST_ROWS, MOST_PICTURES, MOST_BARS = 60, 6, 12
NONE = Numbers((), ())


@singledispatch
def html_of(result: object) -> str | None:
    """Give what a notebook shows of a result; None for what is none of ours."""
    return None


@html_of.register
def _release(result: Release) -> str:
    """Give a release: what the catalogue says of it, and its measures; no row of it is read."""
    row, measures = result.row(), result.measures()
    named = [("method", row.method), ("source", row.source)]
    named += [("requirement", text) for text in row.requirements]
    named += [("records", count(row.rows)), *(("notice", text) for text in row.notices)]
    facts: list[list[Cell]] = [[name, str(text)] for name, text in named]
    tables = [("", Numbers(["release", row.release], facts))]
    if measures:
        tables.append(("Measures", measure_table(measures)))
    found = class_information(measures)
    before = {name: m.before or 0.0 for name, m in found.items()}
    after = {name: m.after or 0.0 for name, m in found.items()}
    title, sides = "What a column tells of the class", {BEFORE: before, AFTER: after}
    return in_notebook(
        [], tables, lambda drawing: [bars(drawing, title, sides, "bits", ".2~f")] if found else []
    )


@html_of.register
def _audit(result: Audit) -> str:
    """Give an audit: its tables, and the class sizes drawn."""
    return _tables(
        result, lambda drawing: [class_sizes(drawing, sizes, result.counted) for sizes in result.class_sizes]
    )


@html_of.register
def _evaluation(result: Evaluation) -> str:
    """Give an evaluation: its errors, as a table and drawn."""
    errors = {rate.error: rate.mean for rate in result.rates if " - " not in rate.error}
    title = "Errors, in per cent of the tested records"
    return _tables(result, lambda drawing: [bars(drawing, title, {AFTER: errors}, "per cent")])


@html_of.register
def _reconstruction(result: Reconstruction) -> str:
    """Give a reconstruction: its tables, and each distribution drawn."""
    return _tables(
        result, lambda drawing: [_distribution(drawing, one) for one in result.distributions[:MOST_PICTURES]]
    )


def _tables(result: Audit | Evaluation | Reconstruction, draw: Callable[[Drawing], Sequence[Picture]]) -> str:
    tables = [(title, laid_out(columns, rows)) for title, columns, rows in result.tables()]
    return in_notebook([repr(result)], tables, draw)


@html_of.register
def _model(result: Model) -> str:
    """Give a model: what it is, and its tree drawn."""
    row, tree = result.row(), result.tree()
    facts: list[list[Cell]] = [[name, text] for name, text in model_facts(row, tree)]
    return in_notebook(
        [],
        [("", Numbers(["model", row.model], facts))],
        lambda drawing: [drawn_tree(drawing, tree)],
    )


# -- tables and pictures ----------------------------------------------------------------------


def laid_out(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Numbers:
    """Write the values of a table for readers; of a long one the first rows."""
    cells = [[_written(value) for value in row] for row in rows[:MOST_ROWS]]
    if len(rows) > MOST_ROWS:
        more: list[Cell] = [f"{several(len(rows) - MOST_ROWS, 'row')} more"]
        cells.append(more + [""] * (len(columns) - 1))
    return Numbers(columns, cells)


def _written(value: object) -> Cell:
    """Write a value.

    Example:
        >>> _written(1234), _written(0.12345678), _written(True), _written(None), _written(["a", "b"])
        ('1,234', '0.123', 'yes', None, 'a; b')
    """
    if value is None or isinstance(value, bool):
        return None if value is None else "yes" if value else "no"
    if isinstance(value, int):
        return count(value)
    if isinstance(value, float):
        return measure(value)
    return "; ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def bars(
    drawing: Drawing, title: str, sides: dict[str, dict[str, float]], across: str, form: str = ",~f"
) -> Picture:
    """Draw numbers by their names, on one side or beside each other."""
    names = list(dict.fromkeys(name for found in sides.values() for name in found))[:MOST_BARS]
    svg = drawing.bars(names, sides, across, form)
    return Picture(title, svg, title, NONE)


def class_sizes(drawing: Drawing, sizes: ClassSizes, counted: Counted) -> Picture:
    """Draw how many records or persons are in classes of which size."""
    bars = [Bar(low, high + 1, records) for low, high, _, records in sizes.ranges]
    title = f"Class sizes on {', '.join(sizes.quasi_identifier)}"
    svg = histogram(drawing, f"{counted} in the class", {AFTER: bars}, sizes=counted)
    return Picture(title, svg, title, NONE)


def _distribution(drawing: Drawing, found: Distribution) -> Picture:
    of = found.attribute + ("" if found.class_value is None else f", {found.class_value}")
    if found.edges is None:
        shares = dict(zip(found.values, map(float, found.probabilities), strict=True))
        return bars(drawing, of, {AFTER: shares}, "share", ".0%")
    rows = [
        {"at": lower, "amount": float(share), "side": AFTER}
        for (lower, _), share in zip(pairwise(map(float, found.edges)), found.probabilities, strict=True)
    ]
    rows.append({"at": float(found.edges[-1]), "amount": 0.0, "side": AFTER})
    look = {"title": found.attribute, "up": "share", "format": "~%", "height": 130}
    return Picture(of, drawing.of_sides("lines", rows, [AFTER], **look), of, NONE)


def in_notebook(
    sentences: Sequence[str],
    tables: Sequence[tuple[str, Numbers]],
    draw: Callable[[Drawing], Sequence[Picture]],
) -> str:
    """Write sentences, tables with titles and, where the library that draws is there, pictures."""
    try:
        pictures = list(draw(Drawing()))
    except PpdmError:
        pictures = []
    return html("notebook.html.jinja", sentences=sentences, tables=tables, pictures=pictures)
