"""HTML for notebooks: tables, and the small pictures of a page where the libraries that draw are there.

It carries no style of its own but what pictures need, so that a notebook's own look holds, and no script.
What is shown is what the object itself gives, and nothing more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, singledispatch
from html import escape
from itertools import pairwise
from typing import Any

from ppdm_sql.audit import Audit
from ppdm_sql.audit.model import ClassSizes, Counted
from ppdm_sql.errors import PpdmError
from ppdm_sql.evaluation import Evaluation
from ppdm_sql.methods.perturbation.distributions import Distribution, Reconstruction
from ppdm_sql.methods.trees.storing import Model
from ppdm_sql.release import Release
from ppdm_sql.report.charts import AFTER, BEFORE, COLOURS, Drawing
from ppdm_sql.report.cost import class_information, histogram, measure_table
from ppdm_sql.report.page import Numbers, Picture, with_directions_shown
from ppdm_sql.report.sides import Bar
from ppdm_sql.report.trees import drawn_tree, model_facts
from ppdm_sql.report.words import Cell, Number, count, measure, several

STYLE = (
    "--ink:currentColor;--quiet:#7b8691;--line:#a9b3bc66;--accent:#2a86ad;--before:#8b949e;"
    "--paper:transparent;display:flex;flex-wrap:wrap;gap:1.5rem"
)
"""The colours of pictures, which are seen on light and on dark, side by side."""
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
    return with_pictures(
        [], tables, lambda drawing: [bars(drawing, title, sides, "bits", ".2~f")] if found else []
    )


@html_of.register
def _audit(result: Audit) -> str:
    """Give an audit: its tables, and the class sizes drawn."""
    return with_pictures(
        [repr(result)],
        [(title, laid_out(columns, rows)) for title, columns, rows in result.tables()],
        lambda drawing: [class_sizes(drawing, sizes, result.counted) for sizes in result.class_sizes],
    )


@html_of.register
def _evaluation(result: Evaluation) -> str:
    """Give an evaluation: its errors, as a table and drawn."""
    errors = {rate.error: rate.mean for rate in result.rates if " - " not in rate.error}
    title = "Errors, in per cent of the tested records"
    return with_pictures(
        [repr(result)],
        [(name, laid_out(columns, rows)) for name, columns, rows in result.tables()],
        lambda drawing: [bars(drawing, title, {AFTER: errors}, "per cent")],
    )


@html_of.register
def _reconstruction(result: Reconstruction) -> str:
    """Give a reconstruction: its tables, and each distribution drawn."""
    return with_pictures(
        [repr(result)],
        [(title, laid_out(columns, rows)) for title, columns, rows in result.tables()],
        lambda drawing: [_distribution(drawing, one) for one in result.distributions[:MOST_PICTURES]],
    )


@html_of.register
def _model(result: Model) -> str:
    """Give a model: what it is, and its tree drawn."""
    row, tree = result.row(), result.tree()
    facts: list[list[Cell]] = [[name, text] for name, text in model_facts(row, tree)]
    return with_pictures(
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
    rows = [
        {"label": name, "side": side, "amount": found.get(name, 0.0)}
        for name in names
        for side, found in sides.items()
    ]
    svg = drawing.draw("bars", rows, title=across, format=form, step=14, **_sides(list(sides)))
    return Picture(title, svg, title, NONE)


def class_sizes(drawing: Drawing, sizes: ClassSizes, counted: Counted) -> Picture:
    """Draw how many records or persons are in classes of which size."""
    bars = [Bar(low, high + 1, records) for low, high, _, records in sizes.ranges]
    draw = partial(drawing.draw, colours=[COLOURS[AFTER]], legend=None)
    title = f"Class sizes on {', '.join(sizes.quasi_identifier)}"
    svg = histogram(draw, f"{counted} in the class", {AFTER: bars}, sizes=counted)
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
    return Picture(of, drawing.draw("lines", rows, **look, **_sides([AFTER])), of, NONE)


def _sides(sides: list[str]) -> dict[str, Any]:
    legend = {"symbolType": "square"} if len(sides) > 1 else None
    return {"sides": sides, "colours": [COLOURS[side] for side in sides], "legend": legend}


# -- HTML -------------------------------------------------------------------------------------


def with_pictures(
    sentences: Sequence[str],
    tables: Sequence[tuple[str, Numbers]],
    draw: Callable[[Drawing], Sequence[Picture]],
) -> str:
    """Write sentences, tables and, where the library that draws is there, pictures."""
    try:
        pictures = list(draw(Drawing()))
    except PpdmError:
        pictures = []
    return fragment(sentences, tables, pictures)


def fragment(
    sentences: Sequence[str], tables: Sequence[tuple[str, Numbers]], pictures: Sequence[Picture] = ()
) -> str:
    """Write sentences, tables with titles, and pictures as HTML.

    Example:
        >>> fragment(["1 < 2"], [])
        '<div><p>1 &lt; 2</p></div>'
    """
    said = "".join(f"<p>{escape(sentence)}</p>" for sentence in sentences)
    drawn = "".join(map(_figure, pictures))
    drawn = f'<div style="{STYLE}">{drawn}</div>' if drawn else ""
    return with_directions_shown(f"<div>{said}{drawn}{''.join(_table(*one) for one in tables)}</div>")


def _table(title: str, numbers: Numbers) -> str:
    heads = "".join(f"<th>{escape(name)}</th>" for name in numbers.columns)
    rows = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in numbers.rows)
    caption = f'<caption style="text-align:left">{escape(title)}</caption>' if title else ""
    return f"<table>{caption}<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"


def _cell(cell: Cell) -> str:
    if cell is None:
        return "<td><em>NULL</em></td>"
    side = ' style="text-align:right"' if isinstance(cell, Number) else ' style="text-align:left"'
    return f"<td{side}>{escape(cell)}</td>"


def _figure(picture: Picture) -> str:
    return (
        f'<figure style="margin:0" role="img" aria-label="{escape(picture.says)}">'
        f"<figcaption>{escape(picture.title)}</figcaption>{picture.svg}</figure>"
    )
