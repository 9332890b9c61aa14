"""What pages show: numbers as a person writes them, tables, pictures, and the templates that hold them.

A page is a template of this folder; its pictures are Vega-Lite descriptions of ``charts/``, drawn as SVG that
only shows. A text ``@name`` in a description takes a typed value, so that no name and no value of a table can
change it. Colours are variables of the page's style, so that one picture serves light and dark.
"""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from xml.etree import ElementTree

from ppdm_sql.errors import EngineError, InvalidOption
from ppdm_sql.results import PER_CENT, SHARE, ResultTable
from ppdm_sql.version import __version__

if TYPE_CHECKING:
    from jinja2 import Environment

VEGA_LITE = "v5.21"
BEFORE, AFTER = "before", "after"
FRONTIER, OTHER = "beaten by no other", "beaten by another"
COLOURS = {
    BEFORE: "var(--before)",
    AFTER: "var(--accent)",
    "true": "var(--before)",
    "released": "var(--accent)",
    "reconstructed": "var(--ink)",
    FRONTIER: "var(--accent)",
    OTHER: "var(--before)",
}
"""Of each side that a picture can show."""
SYMBOLS = {"curve": "stroke", "lines": "stroke", "scatter": "circle"}
"""In the legends of charts that have no bars."""
_ELEMENTS = {
    *("svg", "g", "path", "line", "rect", "circle", "text", "tspan"),
    *("defs", "clipPath", "linearGradient", "stop"),
}
_ATTRIBUTES = {
    *("d", "x", "y", "x1", "x2", "y1", "y2", "r", "cx", "cy", "dx", "dy", "width", "height", "viewBox"),
    *("fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "opacity"),
    *("stroke-linecap", "stroke-miterlimit", "stroke-linejoin", "text-anchor", "transform", "clip-path"),
    *("font-family", "font-size", "font-weight", "font-style", "id", "offset", "stop-color"),
}
_REFERENCE = re.compile(r"url\(#([\w-]+)\)")
_DIRECTIONS = {
    code: f"\\u{code:04x}"
    for code in (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
}
"""How characters that turn the direction of writing, and so reorder what is around them, are shown."""


# -- words -----------------------------------------------------------------------------------------


class Number(str):
    """The text of a number; it stands on the right of its column."""


Cell = str | None
"""A cell of a table for readers; None is NULL."""
NONE = Number("–")


def count(number: float | None) -> Number:
    return NONE if number is None else Number(f"{number:,.0f}")


def share(part: float | None) -> Number:
    """Write a share in per cent; what is not quite nothing or all is not shown as that.

    Example:
        >>> share(0.2777), share(0.99996), share(0.00001), share(1.0), share(0.05)
        ('27.8 %', '> 99.9 %', '< 0.1 %', '100 %', '5 %')
    """
    if part is None:
        return NONE
    if 0 < part < 0.0005:
        return Number("< 0.1 %")
    if 0.9995 < part < 1:
        return Number("> 99.9 %")
    return Number(f"{100 * part:.1f}".removesuffix(".0") + " %")


def measure(number: float | None) -> Number:
    """Write any number with three digits or, if it is a large one, without decimals.

    Example:
        >>> measure(0.58964), measure(45222.0), measure(3.0), measure(-0.00001234)
        ('0.59', '45,222', '3', '-1.23e-05')
    """
    if number is None or not math.isfinite(number):
        return NONE
    if abs(number) >= 100 or number == int(number):
        return Number(f"{number:,.0f}")
    return Number(f"{number:.3g}")


def enumeration(words: list[str] | tuple[str, ...]) -> str:
    """Join words as a sentence does: Job, Sex and Age."""
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def day_text(day: date) -> str:
    return f"{day.day} {day:%B %Y}"


def beside(texts: Mapping[str, str]) -> str:
    """Put what is said of the sides beside each other; a single side needs no name."""
    if len(texts) == 1:
        return next(iter(texts.values()))
    return ", ".join(f"{text} {side}" for side, text in texts.items())


def several(number: int, one: str, many: str | None = None) -> str:
    """Write a number with what it counts: 1 class, 1,200 records."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def of_sides(sides: Collection[str], *what: str) -> list[str]:
    """Name columns of numbers; the side is left out where there is one only."""
    return [f"{word} {side}" if len(sides) > 1 else word for side in sides for word in what]


def label(value: str | None) -> str:
    return "NULL" if value is None else value


# -- tables and pictures ---------------------------------------------------------------------------


def numbers(columns: Sequence[str], rows: Iterable[Sequence[Any]], *shares: str) -> ResultTable:
    return ResultTable("", columns, list(rows), dict.fromkeys(shares, SHARE))


def rows_by_key(keys: Iterable[Any], sides: Mapping[str, Mapping[Any, Any]]) -> list[tuple[Any, ...]]:
    """Give rows of what each side has of some keys, 0 where it has nothing."""
    return [(key, *(amounts.get(key, 0) for amounts in sides.values())) for key in keys]


def heads(table: ResultTable) -> list[str]:
    """Name the columns for readers: words for numbers of ours, and columns of the data as they are called."""
    return [name.replace("_", " ") if name in table.units else name for name in table.columns]


def cells(table: ResultTable, most: int | None = None) -> list[list[Cell]]:
    """Write the values of a table for readers, in their units; of a long one the first rows."""
    units = [table.units.get(name) for name in table.columns]
    rows = [[_cell(value, unit) for value, unit in zip(row, units, strict=True)] for row in table.rows[:most]]
    if most is not None and len(table.rows) > most:
        more: list[Cell] = [f"{several(len(table.rows) - most, 'row')} more"]
        rows.append(more + [""] * (len(units) - 1))
    return rows


def _cell(value: object, unit: str | None) -> Cell:
    """Write a value; a dash stands for a number of ours that is missing, and not for a cell of the data."""
    if value is None:
        return None if unit is None else NONE
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        if unit == SHARE:
            return share(value)
        if unit == PER_CENT:
            return Number(f"{value:.1f} %")
        return count(value) if isinstance(value, int) else measure(value)
    if isinstance(value, str):
        return value
    if isinstance(value, datetime):
        return value.isoformat(" ", "seconds")
    return "; ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


class Chart(NamedTuple):
    """A description of ``charts/``, and what fills it."""

    name: str
    rows: Sequence[Mapping[str, Any]]  # its data; of a chart of several sides each row names its own
    look: Mapping[str, Any] = MappingProxyType({})  # for the ``@name`` of the description


@dataclass(frozen=True)
class Picture:
    """A chart with the numbers that it shows."""

    title: str  # what it shows, in a few words
    chart: Chart
    says: str  # what the picture says, for those who cannot see it
    numbers: ResultTable = numbers((), ())  # the same as a table
    note: str = ""  # what else is to be said, such as what was left out
    wide: bool = False  # whether it takes the whole width of the page
    starts: bool = False  # whether it starts a line, as the first of two that belong together does


# -- drawing ---------------------------------------------------------------------------------------


def bar_chart(
    values: Sequence[str | None],
    sides: Mapping[str, Mapping[Any, float | None]],
    title: str = "records",
    form: str = ",~f",
    step: int = 12,
) -> Chart:
    """Draw numbers by what they are of, on one side or beside each other; what a side lacks is 0."""
    rows = [
        {"label": label(value), "side": side, "amount": amounts.get(value, 0)}
        for value in values
        for side, amounts in sides.items()
    ]
    return Chart("bars", rows, {"title": title, "format": form, "step": step})


def vega() -> Any:
    """Give the library that draws."""
    try:
        import vl_convert
    except ImportError as cause:
        raise InvalidOption(
            "Charts are drawn by vl-convert-python, which is missing.",
            "Install it with pip install 'ppdm-sql[report]'.",
        ) from cause
    return vl_convert


def draw_svg(chart: Chart, number: int) -> str:
    """Draw a picture of a page as SVG; identifiers in it are told apart by its number.

    A description is Vega's if it has data. Sides stand in their order, and a legend where there are several.
    """
    sides = [side for side in COLOURS if any(row.get("side") == side for row in chart.rows)]
    legend = {"symbolType": SYMBOLS.get(chart.name, "square")} if len(sides) > 1 else None
    values = {"sides": sides, "colours": [COLOURS[side] for side in sides], "legend": legend}
    spec = _fill(_description(chart.name), values | dict(chart.look))
    try:
        if "data" in spec:
            spec["data"][0]["values"] = list(chart.rows)
            svg = vega().vega_to_svg(spec)
        else:
            spec |= {"config": _description("config"), "data": {"values": list(chart.rows)}}
            svg = vega().vegalite_to_svg(spec, vl_version=VEGA_LITE)
    except ValueError as cause:
        raise EngineError(f"The chart {chart.name!r} cannot be drawn.", "Report this as a defect.") from cause
    return _clean_svg(svg, f"p{number}-")


@cache
def _description(name: str) -> dict[str, Any]:
    text = (files("ppdm_sql.report") / "charts" / f"{name}.json").read_text(encoding="utf-8")
    return cast(dict[str, Any], json.loads(text))


def _fill(node: Any, values: Mapping[str, Any]) -> Any:
    if isinstance(node, dict):
        return {key: _fill(item, values) for key, item in node.items()}
    if isinstance(node, list):
        return [_fill(item, values) for item in node]
    return values[node[1:]] if isinstance(node, str) and node.startswith("@") else node


def _clean_svg(svg: str, prefix: str) -> str:
    """Keep shapes and texts; roles, classes, links and whatever could act are left out."""
    root = ElementTree.fromstring(svg)
    _clean(root, prefix)
    root.set("aria-hidden", "true")
    root.set("focusable", "false")
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
    return ElementTree.tostring(root, encoding="unicode")


def _clean(element: ElementTree.Element, prefix: str) -> None:
    for child in list(element):
        if child.tag.rpartition("}")[2] not in _ELEMENTS or _is_nothing(child):
            element.remove(child)
        else:
            _clean(child, prefix)
    for name, value in list(element.attrib.items()):
        if name not in _ATTRIBUTES:
            del element.attrib[name]
        elif name == "id":
            element.set(name, prefix + value)
        elif "url(" in value:
            element.set(name, _REFERENCE.sub(rf"url(#{prefix}\1)", value))


def _is_nothing(element: ElementTree.Element) -> bool:
    bare = not element.get("fill") and not element.get("stroke")
    return bare and element.get("class") in ("background", "foreground")


# -- templates -------------------------------------------------------------------------------------


def html(template: str, **content: object) -> str:
    """Fill a template: HTML in one file, which loads nothing and runs nothing."""
    style = _file("page.css")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    number = itertools.count(1)
    content |= {"style": style, "digest": digest, "draw": lambda chart: draw_svg(chart, next(number))}
    return templates().get_template(template).render(content).translate(_DIRECTIONS)


@cache
def templates() -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined  # few runs write a page

    environment = Environment(
        loader=FunctionLoader(_file),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.tests["right"] = lambda cell: isinstance(cell, Number)
    environment.globals |= {
        "several": several,
        "made": lambda: f"Made by ppdm-sql {__version__} on {day_text(datetime.now(UTC).date())}.",
    }
    environment.filters |= {"enumerated": enumeration, "share": share, "written": day_text, "cells": cells}
    environment.filters |= {"heads": heads, "error": lambda per_cent: f"{per_cent:.1f} %"}
    return environment


def _file(name: str) -> str:
    return (files("ppdm_sql.report") / name).read_text(encoding="utf-8")
