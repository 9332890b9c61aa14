"""Requirements as the loop sees them: numbers of a state with limits.

Refinement only splits groups, and a requirement that drives a descent is monotone: splitting moves its
number towards the limit and never back (each privacy model says why). So a candidate that breaks a limit once
is dead for the whole run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.errors import GuaranteeNotMet
from ppdm_sql.methods.base.arrays import Codes, Floats
from ppdm_sql.privacy import Counts, Requirement
from ppdm_sql.privacy.quoting import of_persons


@dataclass(frozen=True)
class Constraint:
    """One number of a state with its limit, such as the confidence of one template, or the smallest class.

    Args:
        requirement: The requirement as the user gave it, or one of its values' templates.
        attributes: Positions of the attributes that group the records.
        limit: The worst number allowed.
        sensitive: Position of the sensitive column; None where records alone are counted.
        protected: Code of the protected value, for a template.
    """

    requirement: Requirement
    attributes: tuple[int, ...]
    limit: float
    sensitive: int | None = None
    protected: int | None = None

    @property
    def direction(self) -> int:
        """1 where refinement raises the number, -1 where it lowers it."""
        return 1 if self.requirement.worst == "max" else -1

    @property
    def is_class_size(self) -> bool:
        """Whether the number is the size of the smallest class, in records."""
        return self.requirement.counts is Counts.RECORDS

    @property
    def is_told(self) -> bool:
        """Whether its number is a measure of the release."""
        return True


class Constraints:
    """All constraints of a run, with their arithmetic on arrays whose last axis is the constraint.

    Args:
        constraints: In the order of the run.
        attribute_count: Number of attributes of the run.
        persons: Whether persons are counted: some requirements are not monotone then.
    """

    monotone: bool = True
    """Whether a state that is not possible stays so, whatever it is refined to."""
    only_worse: bool = True
    """Whether no number is better in a state than in those before it."""
    lost: tuple[Constraint, ...]
    """Those by whose numbers privacy is lost, in the places of all; without attributes, by none."""

    def __init__(
        self, constraints: Sequence[Constraint], attribute_count: int, *, persons: bool = False
    ) -> None:
        self.all = self.lost = tuple(constraints)
        self._persons = persons
        self.lasting = np.array([not persons or c.requirement.monotone_persons for c in constraints], bool)
        self._direction = np.array([constraint.direction for constraint in constraints], dtype=np.float64)
        self._limits = np.array([constraint.limit for constraint in constraints], dtype=np.float64)
        self._sizes = np.zeros((attribute_count, len(self.all)), dtype=bool)
        for position, constraint in enumerate(self.all):
            self._sizes[list(constraint.attributes), position] = constraint.is_class_size
        self.least = self._least(attribute_count)
        self._added = np.array([c.requirement.counts is Counts.GROUPS for c in constraints], dtype=bool)
        self.apart = [
            np.array([p for p, c in enumerate(self.all) if a not in c.attributes], dtype=np.int64)
            for a in range(attribute_count)
        ]
        """For each attribute, the constraints whose numbers its candidates leave alone."""

    def _least(self, attribute_count: int) -> Codes:
        """For each attribute, the records that a part of it needs for any class in it to be large enough."""
        least = np.zeros(attribute_count, dtype=np.int64)
        for constraint in self.all:
            if constraint.is_class_size:
                here = list(constraint.attributes)
                least[here] = np.maximum(least[here], int(constraint.limit))
        return least

    def valid(self, measured: Floats) -> NDArray[np.bool_]:
        """Tell which states keep every limit; ``measured`` has shape (..., constraints)."""
        excess = (measured - self._limits) * self._direction
        return np.asarray((excess <= 0).all(axis=-1))

    @property
    def repairable(self) -> bool:
        """Whether there are limits that a refinement can bring a state back to."""
        return not self.lasting.all()

    def possible(self, measured: Floats) -> NDArray[np.bool_]:
        """Tell which states keep every limit that, once broken, stays so."""
        excess = (measured - self._limits) * self._direction
        return np.asarray(((excess <= 0) | ~self.lasting).all(axis=-1))

    def bounded(self, attribute: int, after: Floats, smallest: Codes) -> Floats:
        """Tighten bounds of the numbers after each candidate: no class is larger than its smallest part."""
        return np.where(self._sizes[attribute], np.minimum(after, smallest[:, None]), after)

    def worse(self, measured: Floats, other: Floats) -> Floats:
        """Give the worse of two states, number by number."""
        return np.where(self._direction > 0, np.fmax(measured, other), np.fmin(measured, other))

    @property
    def adds_up(self) -> bool:
        """Whether the number of a constraint is a sum over all groups."""
        return bool(self._added.any())

    def least_rest(self, attribute: int, measured: Floats) -> int:
        """Give how many records beside a disclosed value are too many to be the smallest class of a state."""
        sizes = measured[self._sizes[attribute]]
        return max(int(self.least[attribute]), int(np.ceil(sizes.max(initial=0.0))))

    def worst(self, measured: Floats) -> int:
        """Give the position of the constraint nearest to (or furthest beyond) its limit."""
        share = np.where(
            self._direction > 0,
            measured / np.maximum(self._limits, 1e-9),
            self._limits / np.maximum(measured, 1e-9),
        )
        return int(share.argmax())

    def worst_by_requirement(
        self, before: Floats, after: Floats
    ) -> list[tuple[str, float | None, float | None]]:
        """Give the worst number of each requirement by its name, in the source and in the release."""
        reached: dict[str, tuple[float, float]] = {}
        for constraint, *numbers in zip(self.all, before, after, strict=True):
            if not constraint.is_told:
                continue
            name = f"{constraint.requirement.measured}: {constraint.requirement}"
            source, released = (float(number) for number in numbers)
            if name in reached:  # one of several values, of which the most confident counts
                source, released = max(source, reached[name][0]), max(released, reached[name][1])
            reached[name] = source, released
        return [(name, *numbers) for name, numbers in reached.items()]

    def describe(self, position: int, value: float) -> str:
        """Write one number against its limit, such as ``49.2% of 50%`` or ``7 of 5 records``."""
        constraint = self.all[position]
        words = constraint.requirement.against(value, constraint.limit)
        return of_persons(words) if self._persons else words

    def require_defined(self, measured: Floats) -> None:
        """Refuse a source on which a number means nothing."""
        for constraint, number in zip(self.all, measured.tolist(), strict=True):
            if (refused := constraint.requirement.undefined(number)) is not None:
                raise refused

    def require_solution(self, measured: Floats) -> None:
        """Refuse to start where even the most suppressed table breaks a requirement for good."""
        if not bool(self.possible(measured)):
            position = self.worst(np.where(self.lasting, measured, self._limits))
            raise _no_solution(self.all[position], float(measured[position]), persons=self._persons)

    def require_reached(self, measured: Floats, steps: int) -> None:
        """Refuse to end where no state that was reached keeps all limits: the last one does if any does."""
        if not bool(self.valid(measured)):
            position = self.worst(measured)
            raise _not_repaired(self.all[position], float(measured[position]), steps)


def _not_repaired(constraint: Constraint, reached: float, steps: int) -> GuaranteeNotMet:
    """Say that no state on the way keeps a requirement that a refinement could have repaired."""
    requirement = constraint.requirement
    return GuaranteeNotMet(
        f"No state keeps {str(requirement)!r}: after {steps} step{'s' * (steps != 1)} the worst class is at "
        f"{requirement.against(reached, constraint.limit)}.",
        "Ask for a looser limit, or for more steps if --max-steps or Ctrl-C ended the run.",
    )


def _no_solution(constraint: Constraint, reached: float, *, persons: bool) -> GuaranteeNotMet:
    """Say that the most general table breaks a requirement, what it reaches and what would help."""
    still, remedy = constraint.requirement.unmet(reached)
    still = of_persons(still) if persons else still
    return GuaranteeNotMet(
        f"Nothing can meet {str(constraint.requirement)!r}: with every value masked {still}",
        f"{remedy}, or do not keep one of its attributes in the clear.",
    )
