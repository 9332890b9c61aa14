"""What a comparison found: a row a setting or release, and which of them nothing else beats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ppdm_sql.audit.model import Titled
from ppdm_sql.release import Release


@dataclass(frozen=True)
class ReleaseNumbers:
    """What was measured on the rows of one setting, or of one release; None where it means nothing.

    Args:
        records: Records in it.
        left_out: Records of the source that are not.
        smallest_class: Records of the smallest class of any quasi-identifier.
        highest_risk: Risk of the records most at risk, in (0, 1]: one over the smallest class.
        average_risk: Expected share of the records that are found, in (0, 1]; the worst quasi-identifier.
        confidence: Highest confidence of a template, in [0, 1].
        loss: Generalized information loss of the masked columns, in [0, 1]; 1 shows nothing of them.
        entropy: Bits of the class left open for who sees the columns of the requirements.
        error: Error of a classifier, in per cent.
    """

    records: int | None = None
    left_out: int | None = None
    smallest_class: int | None = None
    highest_risk: float | None = None
    average_risk: float | None = None
    confidence: float | None = None
    loss: float | None = None
    entropy: float | None = None
    error: float | None = None


@dataclass(frozen=True)
class ComparedRow:
    """One setting, or one release.

    Args:
        name: The release, or what sets the setting apart from the others, such as ``k = 5, tds``.
        method: Such as ``tds``, or ``PDA``.
        choices: The options that were tried, with the values of this setting.
        requirements: What it keeps, as text.
        numbers: What was measured; all of it None where the setting cannot be met.
        seconds: What the search and its measuring took, reading the source apart; None for a release.
        problem: Why the setting cannot be met; empty where it can.
        at_frontier: Whether no other row has less risk and no more loss, or less loss and no more risk.
    """

    name: str
    method: str
    choices: Mapping[str, object] = field(default_factory=dict)
    requirements: tuple[str, ...] = ()
    numbers: ReleaseNumbers = ReleaseNumbers()
    seconds: float | None = None
    problem: str = ""
    at_frontier: bool = False


BEST: Mapping[str, str] = {
    "loss": "loss",
    "risk": "highest_risk",
    "average-risk": "average_risk",
    "entropy": "entropy",
    "error": "error",
    "left-out": "left_out",
}
"""What the best can be chosen by, each with the number that is to be least."""
NUMBERS = (
    "smallest_class",
    "highest_risk",
    "average_risk",
    "confidence",
    "loss",
    "entropy",
    "error",
    "left_out",
)
"""The numbers in the order of the table."""


@dataclass(frozen=True, repr=False)
class Comparison:
    """Settings, or releases, side by side.

    Args:
        of: The table whose settings were tried; empty where releases were compared.
        rows: One for each, in the order of the grid or of the names.
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
        """The rows that nothing else beats in risk and loss together, least risk first."""
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
        from ppdm_sql.comparison.picturing import in_notebook  # pictures take libraries that few need

        return in_notebook(self)


def _rounded(number: float | None) -> float | None:
    return round(number, 6) if isinstance(number, float) else number


def with_frontier(comparison: Comparison) -> Comparison:
    """Mark the rows that nothing else beats in risk and loss together.

    Example:
        >>> made = [(0.5, 0.1), (0.2, 0.3), (0.2, 0.4)]
        >>> rows = tuple(ComparedRow(str(place), "tds", numbers=ReleaseNumbers(highest_risk=risk, loss=loss))
        ...     for place, (risk, loss) in enumerate(made))
        >>> [row.name for row in with_frontier(Comparison("t", rows)).frontier]
        ['1', '0']
    """
    risk = comparison.risk
    places = [(getattr(row.numbers, risk), row.numbers.loss) for row in comparison.rows]
    rows = tuple(
        replace(row, at_frontier=None not in here and not any(_beats(other, here) for other in places))
        for row, here in zip(comparison.rows, places, strict=True)
    )
    return replace(comparison, rows=rows)


def _beats(one: tuple[Any, Any], other: tuple[Any, Any]) -> bool:
    """Tell whether a pair of risk and loss is nowhere worse than another, and somewhere better."""
    return None not in one and one != other and one[0] <= other[0] and one[1] <= other[1]
