"""What people look at of a comparison: a page, and the same in a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import log
from pathlib import Path
from typing import Any

from ppdm_sql.comparison.model import ComparedRow, Comparison
from ppdm_sql.engine import Engine
from ppdm_sql.errors import some
from ppdm_sql.release.exporting import write_page
from ppdm_sql.report.notebook import in_notebook
from ppdm_sql.report.page import Cell, Drawing, Number, Numbers, Picture, count, html, measure, several, share

FRONTIER, OTHER = "beaten by no other", "beaten by another"
WIDTH, HEIGHT, LETTER, LINE, SPOT = 480, 300, 6.5, 14, 5
"""Of the space for points, a letter and a line of names, and half a point, in the picture's own unit."""
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
TICKS = (0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
RISKS = {
    "highest_risk": "highest risk of a record",
    "confidence": "highest confidence of a template",
}


def write_comparison(engine: Engine, comparison: Comparison, path: Path, *, force: bool) -> None:
    """Write the page of a comparison into a file, whole or not at all."""
    write_page(engine, path, comparison_page(comparison).encode(), force=force)


def comparison_page(comparison: Comparison) -> str:
    """Make the page of a comparison."""
    return html(
        "comparison.html.jinja",
        found=comparison,
        lead=_lead(comparison),
        facts=_facts(comparison),
        table=table(comparison),
        pictures=pictures(comparison, Drawing()),
    )


def _lead(comparison: Comparison) -> list[str]:
    rows = comparison.rows
    tried = several(len(rows), "setting was tried", "settings were tried")
    what = (
        f"{tried} on {comparison.of}." if comparison.of else f"{several(len(rows), 'release')}, side by side."
    )
    best = [row.name for row in comparison.frontier]
    wanted = "risk, detail and error" if "error" in comparison.measured else "risk and detail"
    beaten = f"Taking {wanted} together, no other one beats: {'; '.join(best)}." if best else ""
    stopped = "Ctrl-C ended it before all were tried." if comparison.interrupted else ""
    kept = "" if comparison.best is None else f"The release {comparison.best.name} was published."
    none = "Nothing was published." if comparison.of and comparison.best is None else ""
    return [sentence for sentence in (what, beaten, stopped, kept, none) if sentence]


def _facts(comparison: Comparison) -> list[tuple[str, str]]:
    """Say what holds for all rows alike."""
    asked = {row.requirements for row in comparison.rows}
    facts = [("Requirements", "; ".join(next(iter(asked))))] if len(asked) == 1 and any(asked) else []
    words = {"BE": "A classifier on the source errs in", "majority": "Without any column"}
    return facts + [(words.get(name, name), f"{rate:.1f} %") for name, rate in comparison.baseline.items()]


def table(comparison: Comparison) -> Numbers:
    """Lay all rows out for readers; rows at the frontier are marked."""
    shown = comparison.measured
    timed = any(row.seconds is not None for row in comparison.rows)
    first = ["setting"] if comparison.of else ["release", "method"]
    heads = [*first, *map(_head, shown), *(["seconds"] if timed else []), "frontier"]
    rows: list[list[Cell]] = []
    for row in comparison.rows:
        named: list[Cell] = [row.name] if comparison.of else [row.name, row.method]
        cells = [_written(name, getattr(row.numbers, name)) for name in shown]
        seconds = [measure(row.seconds)] if timed else []
        unmet = row.problem and row.numbers.records is None
        mark = "cannot be met" if unmet else "yes" if row.at_frontier else ""
        rows.append([*named, *cells, *seconds, mark])
    return Numbers(heads, rows)


def _head(name: str) -> str:
    return name.replace("_", " ")


def _written(name: str, number: float | None) -> Number:
    if name in ("highest_risk", "average_risk", "confidence", "detail_lost"):
        return share(number)
    if name == "error":
        return share(None if number is None else number / 100)
    return count(number) if name in ("smallest_class", "left_out") else measure(number)


def pictures(comparison: Comparison, drawing: Drawing) -> list[Picture]:
    """Draw risk against the detail lost and, where it was measured, against the error of a classifier."""
    axes = {"detail_lost": ("detail lost", ".0%"), "error": ("error of a classifier, in %", "~g")}
    drawn = []
    for name, (title, form) in axes.items():
        rows = [row for row in comparison.rows if None not in _place(comparison, row, name)]
        if rows:
            drawn.append(_scatter(comparison, drawing, rows, name, title, form))
    return drawn


def _place(comparison: Comparison, row: ComparedRow, name: str) -> tuple[float | None, float | None]:
    """Give where a row is drawn; a risk of 0 is nowhere on a logarithmic scale."""
    return getattr(row.numbers, comparison.risk) or None, getattr(row.numbers, name)


def _scatter(
    comparison: Comparison, drawing: Drawing, rows: Sequence[ComparedRow], name: str, title: str, form: str
) -> Picture:
    """Draw one number against the risk; rows at the same place are one point."""
    risk = RISKS[comparison.risk]
    places: dict[tuple[Any, ...], list[str]] = {}
    for row in rows:
        key = (*_place(comparison, row, name), row.at_frontier, row.method)
        places.setdefault(key, []).extend(row.names)
    points = [
        {
            "at": at,
            "amount": amount,
            "side": FRONTIER if best else OTHER,
            "label": some(here, 1),
            "method": method,
        }
        for (at, amount, best, method), here in places.items()
    ]
    wanted = comparison.risk, name
    cells: list[list[Cell]] = [
        [row.name, *(_written(one, getattr(row.numbers, one)) for one in wanted)] for row in rows
    ]
    note = "In colour is what no other beats in everything that is drawn here. "
    return Picture(
        f"{risk.capitalize()} against {title.removesuffix(', in %')}",
        drawing.draw("scatter", points, across=risk, up=title, format=form, **_scales(points)),
        f"{several(len(points), 'point')}; the table gives each.",
        Numbers(["setting" if comparison.of else "release", _head(comparison.risk), _head(name)], cells),
        note + "Down and to the left is better.",
        wide=True,
    )


def _scales(points: Sequence[dict[str, Any]]) -> dict[str, object]:
    """Choose the scales, risks on a logarithmic one, and let points be named where that hides nothing."""
    low, high = (pick(point["at"] for point in points) for pick in (min, max))
    least, most = (pick(point["amount"] for point in points) for pick in (min, max))
    low, high, room = low / 1.15, high * 1.15, max(most - least, 1e-3) / 10
    least, most = least - room, most + room
    places = [
        (WIDTH * log(p["at"] / low) / log(high / low), HEIGHT * (p["amount"] - least) / (most - least))
        for p in points
    ]
    taken = [(x - SPOT, x + SPOT, y) for x, y in places]
    for point, (x, y) in zip(points, places, strict=True):
        long = LETTER * len(point["label"])
        sides_of = (True, False) if x > WIDTH / 2 else (False, True)
        for rise, left in product((LINE + 1, -LINE - 1, 0), sides_of):
            start = x - SPOT - long if left else x + SPOT
            name = start, start + long, y + rise
            free = all(abs(name[2] - z) > LINE or end < name[0] or name[1] < first for first, end, z in taken)
            if point["side"] == FRONTIER and 0 <= start <= WIDTH - long and free:
                point |= {"named": True, "left": left, "rise": rise}
                taken.append(name)
                break
    sides = [side for side in (FRONTIER, OTHER) if any(point["side"] == side for point in points)]
    methods = list(dict.fromkeys(str(point["method"]) for point in points))
    return {
        "domain": [low, high],
        "ticks": [tick for tick in TICKS if low <= tick <= high],
        "amounts": [least, most],
        "sides": sides,
        "colours": ["var(--accent)" if side == FRONTIER else "var(--before)" for side in sides],
        "legend": {"symbolType": "circle"} if len(sides) > 1 else None,
        "methods": methods,
        "shapes": [SHAPES[place % len(SHAPES)] for place in range(len(methods))],
        "shapelegend": {"symbolFillColor": "var(--quiet)", "orient": "bottom"} if len(methods) > 1 else None,
    }


def shown_in_notebook(comparison: Comparison) -> str:
    """Give the table and, where the library is there, the pictures, as HTML for a notebook."""
    shown = [("", table(comparison))]
    return in_notebook(_lead(comparison), shown, lambda drawing: pictures(comparison, drawing))
