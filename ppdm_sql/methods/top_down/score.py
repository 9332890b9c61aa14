"""The score by which a descent chooses its next step: the information gained per unit of privacy lost.

    Score(v) = InfoGain(v) / (PrivLoss(v) + 1)

- InfoGain(v) = I(R_v) - sum of |R_c| / |R_v| I(R_c): by how much the entropy of the class falls when the
  records of ``v`` fall into its parts ``c``. HCE-TDR's gain depends on all attributes at once and stands in
  :mod:`~ppdm_sql.methods.top_down.gains`.
- PrivLoss(v): by how much the requirements come nearer to their limits. TDS calls it the loss of anonymity.

Sources: Wang, Fung, Yu 2005, "Template Based Privacy Preservation in Classification Problems", ICDM, section
4.1, equation (1); Fung, Wang, Yu 2005, "Top-Down Specialization for Information and Privacy Preservation",
ICDE; Wang, Fung, Dong 2005, slides 13 and 14; Quinlan 1993 for the entropy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.methods.base.arrays import Floats
from ppdm_sql.methods.top_down.constraints import Constraint

LEAST_GAIN = 1e-12
"""A gain below it is rounding error, and counts as none."""
Rounding = Callable[[Floats], Floats]
"""Makes scores that count as equal equal, so that ties are settled by attribute, then value."""


def score(gains: Floats, losses: Floats) -> Floats:
    """Give the scores of candidates, PDA's equation (1).

    Example:
        >>> score(np.array([0.5]), np.array([0.25])).tolist()
        [0.4]
    """
    return gains / (losses + 1)


def twelve_decimals(scores: Floats) -> Floats:
    """Compare scores to 12 decimals."""
    return np.round(scores, 12)


def nine_digits(scores: Floats) -> Floats:
    """Take scores within a share of 1e-9 of the best for equal to it."""
    best = scores.max(initial=0.0)
    return np.asarray(np.where(scores >= best * (1 - 1e-9), best, scores))


# -- what is gained -------------------------------------------------------------------------------


def entropy(counts: NDArray[np.int64]) -> Floats:
    """Give the entropy I(R) of class counts along the last axis, in bits; 0 for no records.

    Example:
        >>> float(entropy(np.array([2, 2])))
        1.0
    """
    return np.asarray(total_entropy(counts) / np.maximum(counts.sum(axis=-1), 1))


def total_entropy(counts: NDArray[np.int64]) -> Floats:
    """Give |R| I(R) = n log n - sum of c log c, the entropy of all n records together, in bits.

    Example:
        >>> float(total_entropy(np.array([2, 2])))
        4.0
    """
    each = counts.astype(np.float64)
    ones = np.ones(counts.shape[-1])
    return np.asarray(np.maximum(_times_log(each @ ones) - _times_log(each) @ ones, 0.0))


def _times_log(numbers: Floats) -> Floats:
    return np.asarray(numbers * np.log2(np.maximum(numbers, 1.0)))


def gain_of_halves(whole: NDArray[np.int64], part: NDArray[np.int64]) -> Floats:
    """Give InfoGain where records fall into a part and the rest; class counts are along the last axis.

    Example:
        >>> gain_of_halves(np.array([2, 2]), np.array([[2, 0], [1, 1]])).tolist()
        [1.0, 0.0]
    """
    gained = total_entropy(whole) - total_entropy(part) - total_entropy(whole - part)
    return np.asarray(np.maximum(gained, 0.0) / max(whole.sum(), 1))


# -- what is lost ---------------------------------------------------------------------------------


class PrivacyLoss:
    """PrivLoss: the mean change over the requirements that group by the attribute that is refined.

    A confidence or a distance rises, the smallest class or a diversity falls. PDA's mean is over all affected
    templates, those that do not change included. Requirements of different forms have a mean each, and these
    add up. Classes fall by records, as in TDS, where nothing but k is asked; else all that falls does so by
    its share, lest records drown confidences.

    Args:
        constraints: In the order of the run.
        attribute_count: Number of attributes of the run.
    """

    def __init__(self, constraints: Sequence[Constraint], attribute_count: int) -> None:
        self._direction = np.array([c.direction for c in constraints], dtype=np.float64)
        self._as_share = (self._direction < 0) & (not all(c.is_class_size for c in constraints))
        self._weights = _weights(constraints, attribute_count)

    def of(self, attribute: int, before: Floats, after: Floats) -> Floats:
        """Give the losses of the candidates of one attribute.

        Args:
            attribute: Its position.
            before: Numbers of the state, shape (constraints,).
            after: Numbers after each candidate, shape (candidates, constraints); a bound that is too good
                counts as no change.
        """
        change = np.maximum((after - before) * self._direction, 0.0)
        change = change / np.where(self._as_share, before, 1.0)
        return np.asarray(change @ self._weights[attribute])


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
