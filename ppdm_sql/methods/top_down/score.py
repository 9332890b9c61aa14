"""The score by which a descent chooses its next step: what its detail is worth, and what privacy it costs.

The papers' score is the information gained per unit of privacy lost:

    Score(v) = InfoGain(v) / (PrivLoss(v) + 1)

- InfoGain(v) = I(R_v) - sum of |R_c| / |R_v| I(R_c): by how much the entropy of the class falls when the
  records of ``v`` fall into its parts ``c``. HCE-TDR's gain depends on all attributes at once and stands in
  :mod:`~ppdm_sql.methods.top_down.measuring`.
- PrivLoss(v): by how much the requirements come nearer to their limits. TDS calls it the loss of anonymity.

It spends the anonymity where gains are fitted to noise: a birth date gets hundreds of labels, and all other
columns none. So the default score counts what the whole table gains, per record: the share of the class's
entropy H(D) that a step explains beyond what chance would, and, ``DETAIL`` times, by how much the certainty
penalty falls. By chance alone, splitting n records of J classes into m parts lowers their entropy by (m - 1)
(J - 1) / (2 n ln 2) bits (Miller 1955), and choosing one of b boundaries, or of b values to disclose, by
log2(b) / n more.

Sources: Wang, Fung, Yu 2005, "Template Based Privacy Preservation in Classification Problems", ICDM, section
4.1, equation (1); Fung, Wang, Yu 2005, "Top-Down Specialization for Information and Privacy Preservation",
ICDE; Wang, Fung, Dong 2005, slides 13 and 14; Quinlan 1993 for the entropy; Miller 1955, "Note on the Bias of
Information Estimates".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.methods.base.arrays import Codes, Floats
from ppdm_sql.methods.top_down.constraints import Constraint

DETAIL = 0.3
"""What it is worth to show all detail of all masked columns, where to know the class for sure is worth 1."""
LEAST_GAIN = 1e-12
"""A gain below it is rounding error, and counts as none."""
Rounding = Callable[[Floats], Floats]
"""Makes scores that count as equal equal, so that ties are settled by attribute, then value."""


def twelve_decimals(scores: Floats) -> Floats:
    return np.round(scores, 12)


def nine_digits(scores: Floats) -> Floats:
    """Take scores within a share of 1e-9 of the best for equal to it."""
    best = scores.max(initial=0.0)
    return np.asarray(np.where(scores >= best * (1 - 1e-9), best, scores))


# -- what is gained -------------------------------------------------------------------------------


def entropy(counts: NDArray[np.int64]) -> Floats:
    """Give the entropy I(R) of class counts along the last axis, in bits; 0 for no records."""
    return np.asarray(total_entropy(counts) / np.maximum(counts.sum(axis=-1), 1))


def total_entropy(counts: NDArray[np.int64]) -> Floats:
    """Give |R| I(R) = n log n - sum of c log c, the entropy of all n records together, in bits."""
    each = counts.astype(np.float64)
    ones = np.ones(counts.shape[-1])
    return np.asarray(np.maximum(_times_log(each @ ones) - _times_log(each) @ ones, 0.0))


def _times_log(numbers: Floats) -> Floats:
    return np.asarray(numbers * np.log2(np.maximum(numbers, 1.0)))


def explained_by_halves(whole: NDArray[np.int64], part: NDArray[np.int64]) -> Floats:
    """Give by how many bits the entropy of all records together falls where they are a part and the rest."""
    fall = total_entropy(whole) - total_entropy(part) - total_entropy(whole - part)
    return np.asarray(np.maximum(fall, 0.0))


def by_chance(parts: Any, classes: Any) -> Floats:
    """Give by how many bits the entropy of all records together falls by chance (Miller 1955)."""
    return np.asarray((np.asarray(parts) - 1) * (np.asarray(classes) - 1) / (2 * log(2)))


@dataclass(frozen=True)
class Worth:
    """What detail is worth to a run."""

    information: float = 0.0  # that a record's class is known by a bit more; 0 where there is none
    certainty: float = 0.0  # that the certainty penalty of a record falls from 1 to 0 in a column
    records: int = 0  # of the table: a gain is what they gain on average
    literal: bool = False  # a gain is the papers' InfoGain, in bits per record of the part refined

    def gains(self, explained: Floats, chance: Floats, records: Codes | int, penalty_fall: Floats) -> Floats:
        """Give what it gains to refine parts, of so many records.

        All of these together have ``explained`` bits less of class entropy then, ``chance`` of them by
        chance, and a certainty penalty that has fallen by ``fallen``.
        """
        if self.literal:
            return np.asarray(explained / np.maximum(records, 1))
        information = self.information * np.maximum(explained - chance, 0.0)
        return np.asarray((information + self.certainty * penalty_fall) / max(self.records, 1))


LITERAL = Worth(literal=True)


# -- what is lost ---------------------------------------------------------------------------------


class PrivacyLoss:
    """PrivLoss: the mean change over the requirements that group by the attribute that is refined.

    A confidence or a distance rises, the smallest class or a diversity falls. PDA's mean is over all affected
    templates, those that do not change included. Requirements of different forms have a mean each, and these
    add up. Classes fall by records, as in TDS, where nothing but k is asked; else all that falls does so by
    its share, lest records drown confidences. The papers' scores are less where more is lost: ``counts``.
    """

    def __init__(
        self, constraints: Sequence[Constraint], attribute_count: int, *, counts: bool = True
    ) -> None:
        self._counts = counts
        self._direction = np.array([c.direction for c in constraints], dtype=np.float64)
        self._as_share = (self._direction < 0) & (not all(c.is_class_size for c in constraints))
        self._weights = _weights(constraints, attribute_count)

    def of(self, attribute: int, before: Floats, after: Floats) -> Floats:
        """Give the losses of one attribute's candidates; a bound that is too good counts as no change."""
        # both may be infinite
        change = np.subtract(after, before, out=np.zeros_like(after), where=after != before)
        change = np.maximum(change * self._direction, 0.0)
        change = change / np.where(self._as_share, before, 1.0)
        return np.asarray(change @ self._weights[attribute])

    def score(self, gains: Floats, losses: Floats) -> Floats:
        """Give the scores of candidates: PDA's equation (1), or what they gain."""
        return np.asarray(gains / (np.where(self._counts, losses, 0.0) + 1))


def _weights(constraints: Sequence[Constraint], attribute_count: int) -> Floats:
    """Weight of each constraint in the loss of each attribute: a mean per form over what is affected."""
    affected = np.zeros((attribute_count, len(constraints)))
    for position, constraint in enumerate(constraints):
        affected[list(constraint.attributes), position] = 1.0
    weights = np.zeros_like(affected)
    forms = [constraint.requirement.form for constraint in constraints]
    for form in set(forms):
        of_form = affected * [other == form for other in forms]
        weights += of_form / np.maximum(of_form.sum(axis=1, keepdims=True), 1)
    return weights
