"""What an evaluation found."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean, stdev

from ppdm_sql.audit.model import Titled
from ppdm_sql.notebook import in_html

COLUMNS = ("error", "of", "per_cent", "deviation", "lowest", "highest")


@dataclass(frozen=True)
class ErrorRate:
    """One kind of error, or the difference of two, with its spread over the seeds.

    Args:
        error: ``BE``, ``SE``, ``RE``, ``RE (sensitive)``, ``majority``, or a difference such as ``SE - BE``.
        of: What was classified, in words.
        per_cent: One number a seed: per cent of the tested records, or percentage points of difference.

    Example:
        >>> rate = ErrorRate("BE", "original columns", (14.0, 15.0))
        >>> rate.mean, round(rate.deviation, 2), rate.lowest, rate.highest
        (14.5, 0.71, 14.0, 15.0)
    """

    error: str
    of: str
    per_cent: tuple[float, ...]

    @property
    def mean(self) -> float:
        """The mean over the seeds."""
        return fmean(self.per_cent)

    @property
    def deviation(self) -> float | None:
        """The sample standard deviation over the seeds; None for a single seed."""
        return stdev(self.per_cent) if len(self.per_cent) > 1 else None

    @property
    def lowest(self) -> float:
        """The lowest over the seeds."""
        return min(self.per_cent)

    @property
    def highest(self) -> float:
        """The highest over the seeds."""
        return max(self.per_cent)

    def minus(self, other: ErrorRate, of: str) -> ErrorRate:
        """Give the difference to another error, seed by seed."""
        both = zip(self.per_cent, other.per_cent, strict=True)
        return ErrorRate(f"{self.error} - {other.error}", of, tuple(a - b for a, b in both))


@dataclass(frozen=True, repr=False)
class Evaluation:
    """How well a decision tree predicts the class from a release, beside what it does without.

    Args:
        release: Name of the release.
        test: The test table, or None where folds of the release were tested.
        records: Records of the release.
        drawn: Records of them that each seed drew.
        rates: The errors, then the differences that the papers report.
    """

    release: str
    test: str | None
    records: int
    drawn: int
    rates: tuple[ErrorRate, ...]

    def __repr__(self) -> str:
        errors = ", ".join(
            f"{rate.error} {rate.mean:.1f} %" for rate in self.rates if " - " not in rate.error
        )
        return f"Evaluation({self.release!r}: {errors})"

    def _repr_html_(self) -> str | None:
        return in_html(self)

    def rate(self, error: str) -> ErrorRate:
        """Give one error by its name, such as ``SE`` or ``SE - BE``.

        Raises:
            KeyError: There is none of that name.
        """
        return {rate.error: rate for rate in self.rates}[error]

    def tables(self) -> list[Titled]:
        """Give the errors as a table for printing, to a thousandth of a per cent."""
        rows = [
            (r.error, r.of, *map(_rounded, (r.mean, r.deviation, r.lowest, r.highest))) for r in self.rates
        ]
        return [("", COLUMNS, rows)]


def _rounded(number: float | None) -> float | None:
    return None if number is None else round(number, 3)
