"""Draws charts: a Vega-Lite description from ``charts/`` with rows in it, as SVG that only shows.

A text ``@name`` in a description takes a typed value, so that no name and no value of a table can change it.
Colours are variables of the page's style, so that one picture serves light and dark.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, cast
from xml.etree import ElementTree

from ppdm_sql.errors import EngineError, InvalidOption
from ppdm_sql.report.page import INSTALL

if TYPE_CHECKING:
    from types import ModuleType

SVG = "http://www.w3.org/2000/svg"
VEGA_LITE = "v5.21"
_DRAWN = frozenset(
    (
        *("svg", "g", "path", "line", "rect", "circle", "text", "tspan"),
        *("defs", "clipPath", "linearGradient", "stop"),
    )
)
_KEPT = frozenset(
    (
        *("d", "x", "y", "x1", "x2", "y1", "y2", "r", "cx", "cy", "dx", "dy", "width", "height", "viewBox"),
        *("fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "opacity"),
        *("stroke-linecap", "stroke-miterlimit", "stroke-linejoin", "text-anchor", "transform", "clip-path"),
        *("font-family", "font-size", "font-weight", "font-style", "id", "offset", "stop-color"),
    )
)
_REFERENCE = re.compile(r"url\(#([\w-]+)\)")

BEFORE, AFTER, THIRD = "before", "after", "reconstructed"
COLOURS = {BEFORE: "var(--before)", AFTER: "var(--accent)", THIRD: "var(--ink)"}


class Drawing:
    """Draws the pictures of one page; identifiers in them are told apart by the number of the picture."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._vega = _library()

    def draw(self, chart: str, rows: Sequence[Mapping[str, Any]], **values: Any) -> str:
        """Draw a chart.

        Args:
            chart: The name of its description.
            rows: What it shows.
            **values: For each ``@name`` of the description.

        Raises:
            EngineError: The library cannot draw it.
        """
        spec = _filled(_description(chart), values) | {"config": _description("config")}
        spec["data"] = {"values": list(rows)}
        try:
            svg = self._vega.vegalite_to_svg(spec, vl_version=VEGA_LITE)
        except ValueError as cause:
            raise EngineError(f"The chart {chart!r} cannot be drawn.", "Report this as a defect.") from cause
        return _cleaned(svg, f"p{next(self._numbers)}-")

    def draw_marks(self, chart: str, rows: Sequence[Mapping[str, Any]], **values: Any) -> str:
        """Draw a chart whose description is one of Vega: what Vega-Lite has no words for, such as a tree.

        Raises:
            EngineError: The library cannot draw it.
        """
        spec = _filled(_description(chart), values)
        spec["data"][0]["values"] = list(rows)
        try:
            svg = self._vega.vega_to_svg(spec)
        except ValueError as cause:
            raise EngineError(f"The chart {chart!r} cannot be drawn.", "Report this as a defect.") from cause
        return _cleaned(svg, f"p{next(self._numbers)}-")


def _library() -> ModuleType:
    """Import what draws."""
    try:
        import vl_convert
    except ImportError as cause:
        raise InvalidOption("Charts are drawn by vl-convert-python, which is missing.", INSTALL) from cause
    return vl_convert


@cache
def _description(name: str) -> dict[str, Any]:
    text = (files("ppdm_sql.report") / "charts" / f"{name}.json").read_text(encoding="utf-8")
    return cast(dict[str, Any], json.loads(text))


def _filled(node: Any, values: Mapping[str, Any]) -> Any:
    """Put values in the places of their names."""
    if isinstance(node, dict):
        return {key: _filled(item, values) for key, item in node.items()}
    if isinstance(node, list):
        return [_filled(item, values) for item in node]
    return values[node[1:]] if isinstance(node, str) and node.startswith("@") else node


def _cleaned(svg: str, prefix: str) -> str:
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
        if child.tag.rpartition("}")[2] not in _DRAWN or _is_nothing(child):
            element.remove(child)
        else:
            _clean(child, prefix)
    for name, value in list(element.attrib.items()):
        if name not in _KEPT:
            del element.attrib[name]
        elif name == "id":
            element.set(name, prefix + value)
        elif "url(" in value:
            element.set(name, _REFERENCE.sub(rf"url(#{prefix}\1)", value))


def _is_nothing(element: ElementTree.Element) -> bool:
    """Tell whether an element is one of the empty backgrounds that the library draws."""
    bare = not element.get("fill") and not element.get("stroke")
    return bare and element.get("class") in ("background", "foreground")
