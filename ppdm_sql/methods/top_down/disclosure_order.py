"""The order in which values of one attribute are disclosed, if the numbers known of them are their own.

What a value gains depends on its records by class alone, what it loses on the numbers known of it; values
that agree in all of these are of one kind and are scored together. Of many kinds only those are scored that a
bound does not rule out (:mod:`~ppdm_sql.methods.top_down.shortlist`). So a way of many disclosures costs
little more than one look at every value. Where the numbers that it foretells come true, it is the one that
scoring all values at every step would find.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import NamedTuple

import numpy as np

from ppdm_sql.methods.base.arrays import Codes, Counts, Floats
from ppdm_sql.methods.top_down.cuts import SuppressionCut
from ppdm_sql.methods.top_down.score import LEAST_GAIN, Rounding, score
from ppdm_sql.methods.top_down.shortlist import DRIFT, NOISE, ROUNDED, TIED, drift

FRONT, WIDER = 64, 4
"""How many kinds are scored first, and by what factor more where they do not decide."""
SOON = 16
"""Steps after which bounds are made anew, rather than more kinds scored."""


class Disclosure(NamedTuple):
    """A value that is disclosed, the numbers by which it won, and those foretold of the state then."""

    code: int
    score: float
    gain: float
    loss: float
    after: Floats


class DisclosureOrder:
    """The values of one attribute in the order of their disclosure; it ends where another attribute is next.

    Args:
        cut: The state from which it starts.
        ids: The open candidates, in value order.
        numbers: What is known of the state after each, shape (candidates, constraints).
        before: The numbers of the state from which it starts.
        losses: Gives the losses of candidates, by the numbers before and after them.
        worse: Gives the worse of two states, number by number.
        weight: What gains are multiplied by before they are scored.
        rounding: When scores are equal.
        rivals: Gives the best score of the attributes before this one, and of those after it, by the numbers
            of a state; -1 for none.
        rest: Records that must stay suppressed beside any value that is disclosed, lest its loss change.
    """

    def __init__(
        self,
        cut: SuppressionCut,
        ids: Codes,
        numbers: Floats,
        before: Floats,
        *,
        losses: Callable[[Floats, Floats], Floats],
        worse: Callable[[Floats, Floats], Floats],
        weight: float,
        rounding: Rounding,
        rivals: Callable[[Floats], tuple[float, float]],
        rest: int,
    ) -> None:
        self._cut, self._weight, self._rounding = cut, weight, rounding
        self._rivals, self._beside, self._rest = rivals, rivals(before), rest
        self._before, self._losses, self._worse = before, losses, worse
        of_value = np.hstack([cut.counts[ids], numbers])
        varied = of_value[:, (of_value != of_value[:1]).any(axis=0)]
        order = np.lexsort((ids, *varied.T))
        differs = np.ones(len(ids), dtype=bool)
        differs[1:] = (varied[order[1:]] != varied[order[:-1]]).any(axis=1)
        self._codes, self._next = ids[order], np.flatnonzero(differs)
        self._end = np.append(self._next[1:], len(ids))
        some = order[self._next]
        self._counts, self._numbers = cut.counts[ids[some]], numbers[some]
        self._records = self._counts.sum(axis=1)

    def __iter__(self) -> Iterator[Disclosure]:
        """Give the disclosures; to be asked for once."""
        left: Counts | None = self._cut.left
        while left is not None:
            kinds = np.flatnonzero(self._next < self._end)
            if not len(kinds):
                return
            left = yield from self._stretch(left, kinds)

    def _stretch(self, left: Counts, kinds: Codes) -> Generator[Disclosure, None, Counts | None]:
        """Give disclosures while the bounds hold that are made now.

        Args:
            left: Records of each class that are suppressed.
            kinds: Those of which values are open.

        Returns:
            What is left then; None where the order ends.
        """
        losses = self._losses(self._before, self._numbers)
        since, kinds, upper = left, *self._bounded(left, kinds, losses)
        largest, most = self._counts[kinds].max(axis=0), int(self._records[kinds].max())
        width, taken, front = FRONT, 0, None
        while not taken or not self._cut.drifts or drift(since, left, largest) <= DRIFT:
            if not self._cut.is_mixed(left) or left.sum() - most < self._rest:
                return left if taken else None
            if front is None:
                front = kinds[:width]
                front = front[self._next[front] < self._end[front]]
                others = float(upper[width]) if width < len(kinds) else -np.inf
            gains = self._gains(left, front)
            scores = score(gains, losses[front])
            if others >= self._scale(left) * (scores.max(initial=0.0) * (1 - TIED) - ROUNDED):
                if taken > SOON:
                    return left
                width, front = width * WIDER, None
                continue
            row = self._first(scores, front)
            if row is None:
                return None
            kind = front[row]
            code = int(self._codes[self._next[kind]])
            before, self._before = self._before, self._worse(self._before, self._numbers[kind])
            won = float(scores[row]), float(gains[row]), float(losses[kind])
            yield Disclosure(code, *won, self._before)
            left, taken = left - self._counts[kind], taken + 1
            self._next[kind] += 1
            if not np.array_equal(before, self._before):
                self._beside = self._rivals(self._before)
                return left
            if self._next[kind] == self._end[kind]:
                front = np.delete(front, row)
        return left

    def _first(self, scores: Floats, front: Codes) -> int | None:
        """Find the best kind, by value on ties; None where another attribute has a better one."""
        before, after = self._beside
        rounded = self._rounding(np.concatenate(([before], scores, [after])))
        tied = np.flatnonzero(rounded[:-1] == rounded.max())
        if not len(tied) or tied[0] == 0:
            return None
        rows = tied - 1
        return int(rows[self._codes[self._next[front[rows]]].argmin()])

    def _gains(self, left: Counts, kinds: Codes) -> Floats:
        gains = self._cut.gains_beside(left, self._counts[kinds])
        return np.asarray(np.where(gains < LEAST_GAIN, 0.0, gains) * self._weight)

    def _bounded(self, left: Counts, kinds: Codes, losses: Floats) -> tuple[Codes, Floats]:
        """Bound what kinds can score, times the scale, until all is scored anew; best first."""
        total = self._cut.gains_beside(left, self._counts[kinds]) * self._scale(left)
        if self._cut.drifts:
            total = total + self._records[kinds] * DRIFT + NOISE
        upper = self._weight * total / (losses[kinds] + 1)
        order = np.argsort(-upper, kind="stable")
        return kinds[order], upper[order]

    def _scale(self, left: Counts) -> float:
        """Gains of information are those of all records that are left, divided by these."""
        return float(left.sum()) if self._cut.drifts else 1.0
