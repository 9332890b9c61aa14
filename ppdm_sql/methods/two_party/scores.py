"""Compares the scores of the two parties, exactly or by a few bits."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ppdm_sql.methods.two_party.messages import Message

LOWEST, HIGHEST = -64.0, 8.0
"""Logarithms to base 2 of the scores between which levels lie; a gain has at most a few bits."""
TIED = 1e-9
"""Scores this near the better one, as a share of it, are tied with it, as in a run by one party."""


def level(score: float, bits: int) -> int:
    """Quantise a score: its logarithm in equal steps, 0 for a score of 0.

    Example:
        >>> level(0.0, 8), level(0.02, 8), level(0.021, 8), level(0.03, 8)
        (0, 206, 207, 208)
    """
    if score <= 0:
        return 0
    top = (1 << bits) - 1
    share = (math.log2(score) - LOWEST) / (HIGHEST - LOWEST)
    return min(max(1 + math.floor(share * (top - 1)), 1), top)


def step_factor(bits: int) -> float:
    """Give by what factor two scores of one level can differ, at most."""
    return float(2 ** ((HIGHEST - LOWEST) / ((1 << bits) - 2)))


@dataclass(frozen=True)
class Offer:
    """The best candidate of one party, as it says in a SCORE message."""

    attribute: int
    score: float

    @classmethod
    def of(cls, message: Message) -> Offer | None:
        """Read a message; None where there is no candidate."""
        fields = message.fields
        if not fields["candidate"]:
            return None
        found = fields["level"] if fields["score"] is None else fields["score"]
        return cls(int(fields["attribute"]), float(found))  # type: ignore[arg-type]

    def beats(self, other: Offer | None) -> bool:
        """Tell whether it wins: by the larger score, on a tie by the attribute that comes first.

        Example:
            >>> Offer(2, 0.5).beats(Offer(1, 0.4)), Offer(2, 0.5).beats(Offer(1, 0.5))
            (True, False)
        """
        if other is None:
            return True
        if abs(self.score - other.score) <= TIED * max(self.score, other.score):
            return self.attribute < other.attribute
        return self.score > other.score
