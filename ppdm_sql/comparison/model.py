"""What a comparison found: a row a setting or release, and what nothing else beats; its page and pictures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, field, fields, replace
from itertools import product
from math import log
from pathlib import Path
from typing import Any, cast

from ppdm_sql.engine import Engine
from ppdm_sql.errors import some
from ppdm_sql.release import Release
from ppdm_sql.release.exporting import write_page
from ppdm_sql.report.notebook import pictures
from ppdm_sql.report.page import FRONTIER, OTHER, Chart, Picture, html, several
from ppdm_sql.results import PER_CENT, SHARE, Result, ResultTable

WIDTH, HEIGHT, LETTER, LINE, SPOT = 480, 300, 6.5, 14, 5
"""Of the space for points, a letter and a line of names, and half a point, in the picture's own unit."""
RISKS = {
    "highest_risk": "highest risk of a record",
    "confidence": "highest confidence of a template",
}


@dataclass(frozen=True)
class ReleaseNumbers:
    """What was measured on the rows of one setting, or of one release; None where it means nothing.

    Args:
        records: Records in it.
        smallest_class: Records of the smallest class of any quasi-identifier.
        highest_risk: Risk of the records most at risk, in (0, 1]: one over the smallest class.
        average_risk: Expected share of the records that are found, in (0, 1]; the worst quasi-identifier.
        confidence: Highest confidence of a template, in [0, 1].
        detail_lost: Share of the detail of the masked columns that is gone, all of it in records left out.
        error: Error of a classifier, in per cent.
        left_out: Records of the source that are not in it.
    """

    records: int | None = None
    smallest_class: int | None = None
    highest_risk: float | None = None
    average_risk: float | None = None
    confidence: float | None = None
    detail_lost: float | None = None
    error: float | None = None
    left_out: int | None = None


@dataclass(frozen=True)
class ComparedRow:
    """One release, or the settings that come to the same numbers; what they differ in is joined by commas.

    Args:
        names: The release, or what sets each of the settings apart from the others, such as ``k = 5, tds``.
        method: Such as ``tds``, or ``PDA``.
        choices: The options that were tried, with the values of these settings.
        requirements: What they keep, as text.
        numbers: What was measured; all of it None where the settings cannot be met.
        seconds: What searches and measuring took, reading the source apart; None for a release.
        problem: Why the settings cannot be met; empty where they can.
        at_frontier: Whether no other row is better in risk, detail or error, and in none of them worse.
    """

    names: tuple[str, ...]
    method: str
    choices: Mapping[str, object] = field(default_factory=dict)
    requirements: tuple[str, ...] = ()
    numbers: ReleaseNumbers = ReleaseNumbers()
    seconds: float | None = None
    problem: str = ""
    at_frontier: bool = False

    @property
    def name(self) -> str:
        """The release, or all settings."""
        return "; ".join(self.names)

    @property
    def is_unmet(self) -> bool:
        """Whether the settings cannot be met."""
        return bool(self.problem) and self.numbers.records is None

    def of(self, number: str) -> float | None:
        """Give one of the numbers as it was measured."""
        return cast("float | None", getattr(self.numbers, number))

    def cells(self) -> dict[str, Any]:
        """Give everything by the names of columns."""
        numbers = {name: _round(number) for name, number in asdict(self.numbers).items()}
        seconds = None if self.seconds is None else round(self.seconds, 2)
        what = {"setting": self.name, "release": self.name, "method": self.method, **self.choices}
        return what | numbers | {"seconds": seconds, "frontier": self.at_frontier, "problem": self.problem}


def _round(number: float | None) -> float | None:
    return round(number, 6) if isinstance(number, float) else number


BEST: Mapping[str, str] = {
    "loss": "detail_lost",
    "risk": "highest_risk",
    "average-risk": "average_risk",
    "error": "error",
    "left-out": "left_out",
}
"""What the best can be chosen by, each with the number that is to be least."""
NUMBERS = tuple(number.name for number in fields(ReleaseNumbers) if number.name != "records")
"""The numbers in the order of the table."""
UNITS = {
    **dict.fromkeys(("suppress_records", *NUMBERS, "seconds"), ""),
    **dict.fromkeys(("highest_risk", "average_risk", "confidence", "detail_lost"), SHARE),
    "error": PER_CENT,
}


@dataclass(frozen=True, repr=False)
class Comparison(Result):
    """Settings, or releases, side by side.

    Args:
        of: The table whose settings were tried; empty where releases were compared.
        rows: One a release, or one for all settings of the same numbers, in the order of names or grid.
        interrupted: Whether Ctrl-C ended it before all settings were tried.
        best: The release of the best setting, where it was asked for.
        baseline: Errors of a classifier on the source and without any column, in per cent, where measured.
    """

    of: str
    rows: tuple[ComparedRow, ...]
    interrupted: bool = False
    best: Release | None = None
    baseline: Mapping[str, float] = field(default_factory=dict)

    def __repr__(self) -> str:
        what = f"settings of {self.of}" if self.of else "releases"
        return f"Comparison({len(self.rows)} {what}, {len(self.frontier)} at the frontier)"

    @property
    def frontier(self) -> tuple[ComparedRow, ...]:
        """The rows that nothing else beats in risk, detail and error together, least risk first."""
        rows = [row for row in self.rows if row.at_frontier]
        return tuple(sorted(rows, key=lambda row: row.of(self.risk) or 0.0))

    @property
    def risk(self) -> str:
        """The number that is the risk here: ``confidence`` where templates alone are asked for."""
        has_classes = any(row.numbers.highest_risk is not None for row in self.rows)
        return "highest_risk" if has_classes else "confidence"

    @property
    def measured(self) -> list[str]:
        """The numbers that some row has, in the order of the table."""
        return [name for name in NUMBERS if any(row.of(name) is not None for row in self.rows)]

    def tables(self) -> list[ResultTable]:
        """Give the rows as a table; numbers that nobody has are left out."""
        choices = dict.fromkeys(name for row in self.rows for name in row.choices)
        first = ("setting", *choices) if self.of else ("release", "method")
        timing = any(row.seconds is not None for row in self.rows)
        problems = any(row.problem for row in self.rows)
        names = (*first, *self.measured, *(["seconds"] * timing), "frontier", *(["problem"] * problems))
        return [self.table_of(self.rows, names, self._notes())]

    def table_of(
        self, rows: Sequence[ComparedRow], names: Sequence[str], notes: Sequence[str] = ()
    ) -> ResultTable:
        """Give some cells of some rows."""
        return ResultTable("", names, [tuple(map(row.cells().get, names)) for row in rows], UNITS, notes)

    def _notes(self) -> list[str]:
        """Say what was compared, what no other beats, and what became of it."""
        tries = several(len(self.rows), "setting was tried", "settings were tried")
        what = f"{tries} on {self.of}." if self.of else f"{several(len(self.rows), 'release')}, side by side."
        best = [row.name for row in self.frontier]
        goals = "risk, detail and error" if "error" in self.measured else "risk and detail"
        frontier = f"Taking {goals} together, no other one beats: {'; '.join(best)}." if best else ""
        interruption = "Ctrl-C ended it before all were tried." if self.interrupted else ""
        publication = "" if self.best is None else f"The release {self.best.name} was published."
        nothing = "Nothing was published." if self.of and self.best is None else ""
        return [sentence for sentence in (what, frontier, interruption, publication, nothing) if sentence]


def rank(comparison: Comparison) -> Comparison:
    """Put settings of the same numbers into one row, and mark the rows that nothing else beats.

    Example:
        >>> settings = [("a", 0.5, 0.1), ("b", 0.2, 0.3), ("c", 0.2, 0.4), ("d", 0.5, 0.1)]
        >>> rows = [ComparedRow((name,), "tds", numbers=ReleaseNumbers(highest_risk=risk, detail_lost=lost))
        ...     for name, risk, lost in settings]
        >>> [row.name for row in rank(Comparison("t", tuple(rows))).frontier]
        ['b', 'a; d']
    """
    alike = dict[object, list[ComparedRow]]()
    for row in comparison.rows:
        release = "" if comparison.of else row.name
        alike.setdefault((release, *map(_round, astuple(row.numbers)), row.problem), []).append(row)
    rows = [_together(same_rows) for same_rows in alike.values()]
    goals = (comparison.risk, "detail_lost", "error")
    names = [name for name in goals if name != "error" or name in comparison.measured]
    places = [tuple(row.of(name) for name in names) for row in rows]
    result = tuple(
        replace(row, at_frontier=None not in here and not any(_beats(other, here) for other in places))
        for row, here in zip(rows, places, strict=True)
    )
    return replace(comparison, rows=result)


def _together(rows: Sequence[ComparedRow]) -> ComparedRow:
    """Make one row of settings that come to the same numbers."""
    first, seconds = rows[0], [row.seconds for row in rows if row.seconds is not None]
    if len(rows) == 1:
        return first
    every = {name: dict.fromkeys(str(row.choices.get(name)) for row in rows) for name in first.choices}
    return replace(
        first,
        names=tuple(name for row in rows for name in row.names),
        method=", ".join(dict.fromkeys(row.method for row in rows)),
        choices={n: first.choices[n] if len(texts) == 1 else ", ".join(texts) for n, texts in every.items()},
        requirements=tuple(dict.fromkeys(text for row in rows for text in row.requirements)),
        seconds=sum(seconds) if seconds else None,
    )


def _beats(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Tell whether a row is nowhere worse than another, and somewhere better; less is better."""
    return None not in one and one != other and all(a <= b for a, b in zip(one, other, strict=True))


# -- what people look at -----------------------------------------------------------------------


def write_comparison(engine: Engine, comparison: Comparison, path: Path, *, force: bool) -> None:
    """Write the page of a comparison into a file, whole or not at all."""
    (table,) = comparison.tables()
    # the name of a setting says what was tried, and what cannot be met has a chapter
    apart = {"problem", *(name for row in comparison.rows for name in row.choices)}
    listing = comparison.table_of(comparison.rows, [name for name in table.columns if name not in apart])
    rows = []
    for row, cells in zip(comparison.rows, listing.rows, strict=True):
        place = "yes" if row.at_frontier else "cannot be met" if row.is_unmet else ""
        rows.append((*cells[:-1], place))
    page = html(
        "comparison.html.jinja",
        found=comparison,
        lead=table.notes,
        pictures=list(pictures(comparison)),
        table=listing._replace(rows=rows),
    )
    write_page(engine, path, page.encode(), force=force)


@pictures.register
def _of_comparison(result: Comparison) -> Iterable[Picture]:
    """Draw risk against the detail lost and, where it was measured, against the error of a classifier."""
    axes = {"detail_lost": ("detail lost", "~%"), "error": ("error of a classifier, in %", "~g")}
    for name, (title, form) in axes.items():
        # a risk of 0 is nowhere on a logarithmic scale
        rows = [row for row in result.rows if row.of(result.risk) and row.of(name) is not None]
        if rows:
            yield _scatter(result, rows, name, title, form)


def _scatter(
    comparison: Comparison, rows: Sequence[ComparedRow], name: str, title: str, form: str
) -> Picture:
    """Draw one number against the risk; rows at the same place are one point."""
    risk = RISKS[comparison.risk]
    places: dict[tuple[Any, ...], list[str]] = {}
    for row in rows:
        side = FRONTIER if row.at_frontier else OTHER
        key = row.of(comparison.risk), row.of(name), side, row.method
        places.setdefault(key, []).extend(row.names)
    points = [
        {"at": at, "amount": amount, "side": side, "label": some(here, 1), "method": method}
        for (at, amount, side, method), here in places.items()
    ]
    methods = list(dict.fromkeys(point["method"] for point in points))
    shapes = {"symbolFillColor": "var(--quiet)", "orient": "bottom"} if len(methods) > 1 else None
    look = {"across": risk, "up": title, "format": form, "methods": methods, "shapes": shapes}
    heads = ["setting" if comparison.of else "release", comparison.risk, name]
    return Picture(
        f"{risk.capitalize()} against {title.removesuffix(', in %')}",
        Chart("scatter", points, look | _name_points(points)),
        f"{several(len(points), 'point')}; the table gives each.",
        comparison.table_of(rows, heads),
        "Nothing beats the coloured points in everything drawn here. Down and to the left is better.",
        wide=True,
    )


def _name_points(points: Sequence[dict[str, Any]]) -> dict[str, list[float]]:
    """Let points be named where that hides nothing; give the scales, that of risks a logarithmic one."""
    low, high = (pick(point["at"] for point in points) for pick in (min, max))
    least, most = (pick(point["amount"] for point in points) for pick in (min, max))
    low, high, room = low / 1.15, high * 1.15, max(most - least, 1e-3) / 10
    least, most = least - room, most + room
    places = [
        (WIDTH * log(p["at"] / low) / log(high / low), HEIGHT * (p["amount"] - least) / (most - least))
        for p in points
    ]
    boxes = [(x - SPOT, x + SPOT, y) for x, y in places]
    for point, (x, y) in zip(points, places, strict=True):
        long = LETTER * len(point["label"])
        sides_of = (True, False) if x > WIDTH / 2 else (False, True)
        for rise, left in product((LINE + 1, -LINE - 1, 0), sides_of):
            start = x - SPOT - long if left else x + SPOT
            name = start, start + long, y + rise
            free = all(abs(name[2] - z) > LINE or end < name[0] or name[1] < first for first, end, z in boxes)
            if point["side"] == FRONTIER and 0 <= start <= WIDTH - long and free:
                point |= {"named": True, "left": left, "rise": rise}
                boxes.append(name)
                break
    return {"domain": [low, high], "amounts": [least, most]}
