"""What comes of attacks: a row an attempt, beside a baseline and what the release promises."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt

from ppdm_sql.results import SHARE, Result, ResultTable

HOLDS, EXCEEDED, REFUTED = "holds", "exceeded", "refuted"
COLUMNS = (
    *("attack", "knows", "guesses", "tried", "successes", "rate", "worst"),
    *("baseline", "difference", "low", "high", "allowed", "verdict"),
)
Z = 1.959964
"""Of the normal distribution, for intervals at 95 %."""
SLACK = 1e-9


@dataclass(frozen=True)
class Attempt:
    """What one attacker gets out of a release.

    Args:
        attack: What it is called.
        knows: What the attacker knows, in words or columns.
        guesses: What is guessed.
        tried: Records attacked; persons, where the release counts them; classes, for predicates.
        successes: Of these, how many succeed, as expected; None where the number means nothing.
        worst: The chance in the worst class.
        baseline: The share of successes without the release, or on records that are not in it.
        interval: Of the difference between both shares, at 95 %, where something was sampled.
        allowed: What the promise allows: ``worst``, or for an average the share.
        verdict: ``holds`` or ``refuted`` where the promise speaks of this attacker; ``exceeded`` where it
            does not, and the attacker gets more than it allows to others; empty where nothing is promised.
        share: What is reached, as a share, where it is not one of successes.
    """

    attack: str
    knows: str
    guesses: str
    tried: int
    successes: float | None = None
    worst: float | None = None
    baseline: float | None = None
    interval: tuple[float, float] | None = None
    allowed: float | None = None
    verdict: str = ""
    share: float | None = None

    @property
    def rate(self) -> float | None:
        """The share of what was tried that succeeds."""
        if self.share is not None:
            return self.share
        return self.successes / self.tried if self.tried and self.successes is not None else None

    @property
    def difference(self) -> float | None:
        """What the release adds to the baseline."""
        return None if self.rate is None or self.baseline is None else self.rate - self.baseline

    def row(self) -> tuple[object, ...]:
        """Give it as a row of the table."""
        low, high = self.interval or (None, None)
        numbers = (self.rate, self.worst, self.baseline, self.difference, low, high, self.allowed)
        cells = [None if number is None else round(number, 6) + 0.0 for number in numbers]  # no -0.0
        successes = None if self.successes is None else round(self.successes, 3)
        return (self.attack, self.knows, self.guesses, self.tried, successes, *cells, self.verdict)


@dataclass(frozen=True, repr=False)
class Attacks(Result):
    """What known attacks get out of a release.

    Args:
        release: Its name.
        attacks: One row an attack.
        untried: What could not be tried, and why.
    """

    release: str
    attacks: tuple[Attempt, ...]
    untried: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Attacks({self.release!r}: {len(self.attacks)}, {'holds' if self.holds else 'refuted'})"

    @property
    def holds(self) -> bool:
        """Whether no attack refutes what the release promises."""
        return all(attack.verdict != REFUTED for attack in self.attacks)

    def tables(self) -> list[ResultTable]:
        """Give the attacks, then what was not tried."""
        units = dict.fromkeys(("rate", "worst", "baseline", "difference", "low", "high", "allowed"), SHARE)
        rows = [attack.row() for attack in self.attacks]
        rest = [ResultTable("Not tried", ("why",), [(why,) for why in self.untried])] if self.untried else []
        return [ResultTable("" if not rest else "Attacks", COLUMNS, rows, units), *rest]


def verdict_of(number: float | None, allowed: float, failure: str) -> str:
    """Say whether what is reached stays within what is allowed; rounding aside."""
    return failure if number is not None and number > allowed + SLACK else HOLDS


def beside_control(attempt: Attempt, successes: float, tried: float) -> Attempt:
    """Put what the same attack reaches on records that are not in the release beside it."""
    low, high = wilson(float(successes), float(tried))
    rate = attempt.rate or 0.0
    return replace(attempt, baseline=float(successes) / float(tried), interval=(rate - high, rate - low))


def wilson(successes: float, tried: float) -> tuple[float, float]:
    """Give the interval of a share at 95 %.

    Source: Wilson 1927, doi:10.1080/01621459.1927.10502953.

    Example:
        >>> [round(bound, 3) for bound in wilson(5, 10)]
        [0.237, 0.763]
    """
    share, spread = successes / tried, Z * Z / tried
    middle = (share + spread / 2) / (1 + spread)
    half = Z * sqrt(share * (1 - share) / tried + spread / (4 * tried)) / (1 + spread)
    return middle - half, middle + half
