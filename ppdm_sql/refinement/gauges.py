"""What the loop watches: one gauge per requirement that can prune a descent.

A gauge is a number of a state with a limit. Refinement moves every gauge towards its limit and never back
(confidence rises, class sizes fall), so a candidate that breaks a limit once is dead for the whole run.
Source: Wang, Fung, Yu 2005, Corollary 3.1; Fung, Wang, Yu 2005 for anonymity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.errors import GuaranteeNotMet, InvalidOption
from ppdm_sql.refinement.cuts import Floats
from ppdm_sql.requirements import KAnonymity, Requirement, Template


@dataclass(frozen=True)
class Gauge:
    """One measured number of a state: the confidence of one template, or the size of the smallest class.

    Args:
        requirement: The requirement as the user gave it, or one of its values' templates.
        attributes: Positions of the attributes that group the records.
        limit: The worst number allowed: confidence in (0, 1], or records.
        protected: Sensitive column's position and the protected value's code; None for anonymity.
    """

    requirement: Requirement
    attributes: tuple[int, ...]
    limit: float
    protected: tuple[int, int] | None = None

    @property
    def direction(self) -> int:
        """1 where refinement raises the number (confidence), -1 where it lowers it (class size)."""
        return -1 if self.protected is None else 1


class Gauges:
    """All gauges of a run, with their arithmetic on arrays whose last axis is the gauge.

    Args:
        gauges: In the order of the requirements.
        attribute_count: Number of attributes of the run.
    """

    def __init__(self, gauges: Sequence[Gauge], attribute_count: int) -> None:
        self.gauges = tuple(gauges)
        self._direction = np.array([gauge.direction for gauge in gauges], dtype=np.float64)
        self._limits = np.array([gauge.limit for gauge in gauges], dtype=np.float64)
        self._as_share = (self._direction < 0) & (self._direction > 0).any()
        self._weights = self._loss_weights(attribute_count)

    def _loss_weights(self, attribute_count: int) -> Floats:
        """Weight of each gauge in the loss of each attribute: a mean per kind over what is affected."""
        affected = np.zeros((attribute_count, len(self.gauges)))
        for position, gauge in enumerate(self.gauges):
            affected[list(gauge.attributes), position] = 1.0
        weights = np.zeros_like(affected)
        for direction in (1, -1):
            kind = affected * (self._direction == direction)
            weights += kind / np.maximum(kind.sum(axis=1, keepdims=True), 1)
        return weights

    def valid(self, measured: Floats) -> NDArray[np.bool_]:
        """Tell which states keep every limit; ``measured`` has shape (..., gauges)."""
        excess = (measured - self._limits) * self._direction
        return np.asarray((excess <= 0).all(axis=-1))

    def loss(self, attribute: int, before: Floats, after: Floats) -> Floats:
        """Give the privacy loss of refining one attribute.

        It is the mean rise of confidence over the templates whose channel holds the attribute, plus the
        mean fall of the smallest class over the quasi-identifiers that hold it. Classes fall by records,
        as in TDS; where templates are asked too, by their share, lest records drown confidences.

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
            measured / self._limits,
            self._limits / np.maximum(measured, 1e-9),
        )
        return int(share.argmax())

    def describe(self, position: int, value: float) -> str:
        """Write one number against its limit, such as ``49.2% of 50%`` or ``7 of 5 records``."""
        limit = self.gauges[position].limit
        if self.gauges[position].protected is None:
            return f"{value:.0f} of {limit:.0f} records"
        return f"{100 * value:.4g}% of {100 * limit:.4g}%"

    def require_solution(self, measured: Floats) -> None:
        """Refuse to start where even the most suppressed table breaks a requirement.

        Raises:
            GuaranteeNotMet: No release exists (Wang, Fung, Yu 2005, Lemma 3.3).
        """
        if not bool(self.valid(measured)):
            position = self.worst(measured)
            raise _no_solution(self.gauges[position].requirement, float(measured[position]))


def _no_solution(requirement: Requirement, reached: float) -> GuaranteeNotMet:
    if isinstance(requirement, KAnonymity):
        return GuaranteeNotMet(
            f"No suppression can meet {str(requirement)!r}: with every value suppressed the smallest class "
            f"still has only {reached:.0f} records.",
            f"Ask for k <= {reached:.0f}, or do not keep an attribute of the quasi-identifier in the clear.",
        )
    needed = -(-reached * 1000 // 1) / 10
    return GuaranteeNotMet(
        f"No suppression can meet {str(requirement)!r}: with every value of the channel suppressed its "
        f"confidence is still {100 * reached:.2f}%.",
        f"Ask for a threshold of at least {needed:g}%, protect fewer values, or do not keep an attribute "
        "of the channel in the clear.",
    )


def pruning_only(requirements: Sequence[Requirement]) -> list[Template | KAnonymity]:
    """Give the requirements, all of which must be able to prune a descent by suppression.

    Raises:
        InvalidOption: One of them is measured by the audit only.
    """
    for requirement in requirements:
        if not isinstance(requirement, (Template, KAnonymity)):
            raise InvalidOption(
                f"{str(requirement)!r} cannot drive suppression.",
                "Give templates or k-anonymity here; `ppdm audit` measures the other forms.",
            )
    return [r for r in requirements if isinstance(r, (Template, KAnonymity))]
