"""What a comparison found: a row a setting or release, and which of them nothing else beats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field, fields, replace
from typing import Any

from ppdm_sql.audit.model import Titled
from ppdm_sql.release import Release


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


@dataclass(frozen=True, repr=False)
class Comparison:
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
        found = [row for row in self.rows if row.at_frontier]
        return tuple(sorted(found, key=lambda row: getattr(row.numbers, self.risk) or 0.0))

    @property
    def risk(self) -> str:
        """The number that is the risk here: ``confidence`` where templates alone are asked for."""
        sized = any(row.numbers.highest_risk is not None for row in self.rows)
        return "highest_risk" if sized else "confidence"

    @property
    def measured(self) -> list[str]:
        """The numbers that some row has, in the order of the table."""
        found = [row.numbers for row in self.rows]
        return [name for name in NUMBERS if any(getattr(one, name) is not None for one in found)]

    def tables(self) -> list[Titled]:
        """Give the table for printing: title, column names, rows; numbers that nobody has are left out."""
        choices = list(dict.fromkeys(name for row in self.rows for name in row.choices))
        first = ("setting", *choices) if self.of else ("release", "method")
        numbers = self.measured
        timed = any(row.seconds is not None for row in self.rows)
        unmet = any(row.problem for row in self.rows)
        heads = (*first, *numbers, *(["seconds"] * timed), "frontier", *(["problem"] * unmet))
        return [("", heads, [self._laid_out(row, choices, numbers, timed, unmet) for row in self.rows])]

    def _laid_out(
        self, row: ComparedRow, choices: Sequence[str], numbers: Sequence[str], timed: bool, unmet: bool
    ) -> tuple[Any, ...]:
        tried = [row.choices.get(name) for name in choices] if self.of else [row.method]
        found = tuple(_rounded(getattr(row.numbers, name)) for name in numbers)
        seconds = (None if row.seconds is None else round(row.seconds, 2),) * timed
        return (row.name, *tried, *found, *seconds, row.at_frontier, *((row.problem,) * unmet))

    def _repr_html_(self) -> str:
        from ppdm_sql.comparison.page import shown_in_notebook  # few runs show one

        return shown_in_notebook(self)


def _rounded(number: float | None) -> float | None:
    return round(number, 6) if isinstance(number, float) else number


def ranked(comparison: Comparison) -> Comparison:
    """Put settings of the same numbers into one row, and mark the rows that nothing else beats.

    Example:
        >>> made = [("a", 0.5, 0.1), ("b", 0.2, 0.3), ("c", 0.2, 0.4), ("d", 0.5, 0.1)]
        >>> rows = [ComparedRow((name,), "tds", numbers=ReleaseNumbers(highest_risk=risk, detail_lost=lost))
        ...     for name, risk, lost in made]
        >>> [row.name for row in ranked(Comparison("t", tuple(rows))).frontier]
        ['b', 'a; d']
    """
    alike = dict[object, list[ComparedRow]]()
    for row in comparison.rows:
        release = "" if comparison.of else row.name
        alike.setdefault((release, *map(_rounded, astuple(row.numbers)), row.problem), []).append(row)
    rows = [_together(some) for some in alike.values()]
    measured = (comparison.risk, "detail_lost", "error")
    wanted = [name for name in measured if name != "error" or name in comparison.measured]
    places = [tuple(getattr(row.numbers, name) for name in wanted) for row in rows]
    marked = tuple(
        replace(row, at_frontier=None not in here and not any(_beats(other, here) for other in places))
        for row, here in zip(rows, places, strict=True)
    )
    return replace(comparison, rows=marked)


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
        choices={n: first.choices[n] if len(some) == 1 else ", ".join(some) for n, some in every.items()},
        requirements=tuple(dict.fromkeys(text for row in rows for text in row.requirements)),
        seconds=sum(seconds) if seconds else None,
    )


def _beats(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Tell whether a row is nowhere worse than another, and somewhere better; less is better."""
    return None not in one and one != other and all(a <= b for a, b in zip(one, other, strict=True))
