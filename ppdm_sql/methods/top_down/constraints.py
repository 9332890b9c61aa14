"""What the loop watches: one gauge per requirement that can prune a descent.

A gauge is a number of a state with a limit. Refinement only splits groups, and that moves every gauge towards
its limit and never back, so a candidate that breaks a limit once is dead for the whole run: confidence rises
(Wang, Fung, Yu 2005, Corollary 3.1), classes shrink (Fung, Wang, Yu 2005), a part of a class has no more
different values than the class and some part has no more entropy, since entropy is concave (Machanavajjhala
et al. 2006), and some part is as far from the table's fixed distribution, since the earth mover's distance is
convex (Li, Li, Venkatasubramanian 2007).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.errors import GuaranteeNotMet
from ppdm_sql.methods.base.arrays import Codes, Floats
from ppdm_sql.privacy import Requirement

Kind = Literal["confidence", "size", "distinct", "entropy", "distance"]
RISING: tuple[Kind, ...] = ("confidence", "distance")
"""Kinds that refinement raises; it lowers the others."""


@dataclass(frozen=True)
class Constraint:
    """One measured number of a state, such as the confidence of one template, or the smallest class.

    Args:
        requirement: The requirement as the user gave it, or one of its values' templates.
        kind: ``confidence`` in [0, 1], ``size`` in records, ``distinct`` in values, ``entropy`` as its exp,
            ``distance`` in [0, 1].
        attributes: Positions of the attributes that group the records.
        limit: The worst number allowed.
        sensitive: Position of the sensitive column; None for a size.
        protected: Code of the protected value, for a confidence.
    """

    requirement: Requirement
    kind: Kind
    attributes: tuple[int, ...]
    limit: float
    sensitive: int | None = None
    protected: int | None = None

    @property
    def direction(self) -> int:
        """1 where refinement raises the number, -1 where it lowers it."""
        return 1 if self.kind in RISING else -1


class Constraints:
    """All gauges of a run, with their arithmetic on arrays whose last axis is the gauge.

    Args:
        gauges: In the order of the requirements.
        attribute_count: Number of attributes of the run.
    """

    def __init__(self, gauges: Sequence[Constraint], attribute_count: int) -> None:
        self.gauges = tuple(gauges)
        self._direction = np.array([gauge.direction for gauge in gauges], dtype=np.float64)
        self._limits = np.array([gauge.limit for gauge in gauges], dtype=np.float64)
        self._as_share = (self._direction < 0) & any(gauge.kind != "size" for gauge in gauges)
        self._weights = self._loss_weights(attribute_count)
        self._sizes = np.zeros((attribute_count, len(self.gauges)), dtype=bool)
        for position, gauge in enumerate(self.gauges):
            self._sizes[list(gauge.attributes), position] = gauge.kind == "size"
        self.least = self._least(attribute_count)

    def _loss_weights(self, attribute_count: int) -> Floats:
        """Weight of each gauge in the loss of each attribute: a mean per kind over what is affected."""
        affected = np.zeros((attribute_count, len(self.gauges)))
        for position, gauge in enumerate(self.gauges):
            affected[list(gauge.attributes), position] = 1.0
        weights = np.zeros_like(affected)
        for kind in {gauge.kind for gauge in self.gauges}:
            of_kind = affected * [gauge.kind == kind for gauge in self.gauges]
            weights += of_kind / np.maximum(of_kind.sum(axis=1, keepdims=True), 1)
        return weights

    def _least(self, attribute_count: int) -> Codes:
        """For each attribute, the records that a part of it needs for any class in it to be large enough."""
        least = np.zeros(attribute_count, dtype=np.int64)
        for gauge in self.gauges:
            if gauge.kind == "size":
                here = list(gauge.attributes)
                least[here] = np.maximum(least[here], int(gauge.limit))
        return least

    def valid(self, measured: Floats) -> NDArray[np.bool_]:
        """Tell which states keep every limit; ``measured`` has shape (..., gauges)."""
        excess = (measured - self._limits) * self._direction
        return np.asarray((excess <= 0).all(axis=-1))

    def bounded(self, attribute: int, after: Floats, smallest: Codes) -> Floats:
        """Tighten bounds of the numbers after each candidate: no class is larger than a part of it.

        Args:
            attribute: Position of the attribute that is refined.
            after: Bounds, shape (candidates, gauges).
            smallest: Records of the smallest part that each candidate makes.
        """
        return np.where(self._sizes[attribute], np.minimum(after, smallest[:, None]), after)

    def loss(self, attribute: int, before: Floats, after: Floats) -> Floats:
        """Give the privacy loss of refining one attribute.

        It is, for each kind, the mean change over the requirements that group by the attribute: the rise of
        confidence or distance, the fall of the smallest class or diversity; kinds add up. Classes fall by
        records, as in TDS, where nothing but k is asked; else all that falls does so by its share, lest
        records drown confidences.

        Args:
            attribute: Its position.
            before: Numbers of the state, shape (gauges,).
            after: Numbers after each candidate, shape (candidates, gauges); a bound that is too good
                counts as no change.
        """
        change = np.maximum((after - before) * self._direction, 0.0)
        change = change / np.where(self._as_share, before, 1.0)
        return np.asarray(change @ self._weights[attribute])

    def worst(self, measured: Floats) -> int:
        """Give the position of the gauge nearest to (or furthest beyond) its limit."""
        share = np.where(
            self._direction > 0,
            measured / np.maximum(self._limits, 1e-9),
            self._limits / np.maximum(measured, 1e-9),
        )
        return int(share.argmax())

    def describe(self, position: int, value: float) -> str:
        """Write one number against its limit, such as ``49.2% of 50%`` or ``7 of 5 records``."""
        gauge = self.gauges[position]
        return _written(gauge.kind, value, gauge.limit)

    def require_solution(self, measured: Floats) -> None:
        """Refuse to start where even the most suppressed table breaks a requirement.

        Raises:
            GuaranteeNotMet: No release exists (Wang, Fung, Yu 2005, Lemma 3.3).
        """
        if not bool(self.valid(measured)):
            position = self.worst(measured)
            raise _no_solution(self.gauges[position], float(measured[position]))


def _written(kind: Kind, value: float, limit: float) -> str:
    if kind in RISING:
        return f"{100 * value:.4g}% of {100 * limit:.4g}%"
    if kind == "size":
        return f"{value:.0f} of {limit:.0f} records"
    return f"{value:.4g} of {limit:.4g} values"


def _no_solution(gauge: Constraint, reached: float) -> GuaranteeNotMet:
    """Say that the most general table breaks a requirement, what it reaches and what would help."""
    said, remedy = {
        "size": (
            f"the smallest class still has only {reached:.0f} records.",
            f"Ask for k <= {reached:.0f}",
        ),
        "confidence": (
            f"its confidence is still {100 * reached:.2f}%.",
            f"Ask for a threshold of at least {_rounded_up(100 * reached, 10):g}%, protect fewer values",
        ),
        "distinct": (
            f"a class still has only {reached:.0f} different values.",
            f"Ask for l <= {reached:.0f}",
        ),
        "entropy": (
            f"the entropy of a class still allows only l = {reached:.4g}.",
            f"Ask for l <= {np.floor(reached * 1000) / 1000:g}",
        ),
        "distance": (
            f"the distance of a class is still {reached:.4g}.",
            f"Ask for t >= {_rounded_up(reached, 1000):g}",
        ),
    }[gauge.kind]
    return GuaranteeNotMet(
        f"Nothing can meet {str(gauge.requirement)!r}: with every value masked {said}",
        f"{remedy}, or do not keep one of its attributes in the clear.",
    )


def _rounded_up(number: float, parts: int) -> float:
    return float(-(-number * parts // 1) / parts)
