"""The order in which values of one attribute are disclosed, if the numbers known of them are their own.

What a value gains depends on its records by class alone, what it loses on the numbers known of it; values
that agree in all of these are of one kind and are scored together. So a path of many disclosures costs little
more than one look at every value. Where the numbers that it foretells come true, it is the one that scoring
all values at every step would find.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from ppdm_sql.methods.base.arrays import Codes, Floats
from ppdm_sql.methods.top_down.cuts import SuppressionCut
from ppdm_sql.methods.top_down.score import LEAST_GAIN, PrivacyLoss, Rounding


class Disclosure(NamedTuple):
    """A value that is disclosed, the numbers by which it won, and those foretold of the state then."""

    code: int
    score: float
    gain: float
    loss: float
    after: Floats


def disclosures(
    cut: SuppressionCut,
    ids: Codes,
    numbers: Floats,
    before: Floats,
    *,
    attribute: int,
    loss: PrivacyLoss,
    worse: Callable[[Floats, Floats], Floats],
    weight: float,
    rounding: Rounding,
    rivals: Callable[[Floats], tuple[float, float]],
    rest: int,
) -> Iterator[Disclosure]:
    """Give the disclosures of one attribute as they follow each other; ends where another attribute is next.

    Args:
        cut: The state from which it starts.
        ids: The open candidates, in value order.
        numbers: What is known of the state after each, shape (candidates, constraints).
        before: The numbers of the state from which it starts.
        attribute: Its position.
        loss: What scores count beside gains.
        worse: Gives the worse of two states, number by number.
        weight: What gains are multiplied by before they are scored.
        rounding: When scores are equal.
        rivals: Gives the best score of the attributes before this one, and of those after it, by the numbers
            of a state; -1 for none.
        rest: Records that must stay suppressed beside any value that is disclosed, lest its loss change.
    """
    of_value = np.hstack([cut.counts[ids], numbers])
    varied = of_value[:, (of_value != of_value[:1]).any(axis=0)]
    order = np.lexsort((ids, *varied.T))
    differs = np.ones(len(ids), dtype=bool)
    differs[1:] = (varied[order[1:]] != varied[order[:-1]]).any(axis=1)
    following, codes = np.flatnonzero(differs), ids[order]
    end = np.append(following[1:], len(ids))
    counts, numbers = cut.counts[ids[order[following]]], numbers[order[following]]
    first, left = following.copy(), cut.left
    lost, beside = loss.of(attribute, before, numbers), rivals(before)
    largest = counts.sum(axis=1)
    while len(first) and cut.is_beneficial(left) and left.sum() - largest.max() >= rest:
        gains = cut.gains_beside(left, counts)
        gains = np.where(gains < LEAST_GAIN, 0.0, gains) * weight
        scores = loss.score(gains, lost)
        if not cut.worth.literal and not scores.any():
            return
        rounded = rounding(np.concatenate(([beside[0]], scores, [beside[1]])))
        tied = np.flatnonzero(rounded[:-1] == rounded.max())
        if not len(tied) or tied[0] == 0:
            return
        kind = int((tied - 1)[codes[first[tied - 1]].argmin()])
        known, before = before, worse(before, numbers[kind])
        yield Disclosure(
            int(codes[first[kind]]), float(scores[kind]), float(gains[kind]), float(lost[kind]), before
        )
        left = left - counts[kind]
        first[kind] += 1
        if not np.array_equal(known, before):
            lost, beside = loss.of(attribute, before, numbers), rivals(before)
        if first[kind] == end[kind]:
            others = np.arange(len(first)) != kind
            first, end, counts = first[others], end[others], counts[others]
            numbers, lost, largest = numbers[others], lost[others], largest[others]
