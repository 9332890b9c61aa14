"""Requirements as the loop sees them: numbers of a state with limits.

Refinement only splits groups, and a requirement that drives a descent is monotone: splitting moves its
number towards the limit and never back (each privacy model says why). So a candidate that breaks a limit once
is dead for the whole run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.engine import Engine, type_title
from ppdm_sql.engine.statements import bind
from ppdm_sql.errors import GuaranteeNotMet, InvalidOption
from ppdm_sql.methods.base.arrays import Codes, Floats
from ppdm_sql.methods.base.collapse import Atoms, Dictionary
from ppdm_sql.privacy import Counts, Requirement, Value
from ppdm_sql.privacy.formula import MOST_COLUMNS
from ppdm_sql.privacy.level import over_labels
from ppdm_sql.privacy.quoting import of_persons
from ppdm_sql.privacy.requirement import said_absent, unknown_value
from ppdm_sql.progress import Progress

NEVER = -1
"""Code of a protected value that the column does not hold; its confidence is 0 throughout."""


@dataclass(frozen=True)
class Constraint:
    """One number of a state with its limit, such as the confidence of one template, or the smallest class.

    Attributes group the records, and stand for their positions, as the sensitive column does, if values of
    one are counted; ``protected`` is the code of a template's value.
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

    Where persons are counted, some requirements are not monotone.
    """

    monotone: bool = True
    """Whether a state that is not possible stays so, whatever it is refined to."""
    only_worse: bool = True
    """Whether no number is better in a state than in those before it."""
    weighed: bool = False
    """Whether a step pays for records that it leaves out, and the last number is what the others show."""

    def __init__(
        self, constraints: Sequence[Constraint], attribute_count: int, *, persons: bool = False
    ) -> None:
        self.all = tuple(constraints)
        self._persons = persons
        self.lasting = np.array([not persons or c.requirement.monotone_persons for c in constraints], bool)
        self._direction = np.array([constraint.direction for constraint in constraints], dtype=np.float64)
        self._limits = np.array([constraint.limit for constraint in constraints], dtype=np.float64)
        self._sizes = np.zeros((attribute_count, len(self.all)), dtype=bool)
        self.apart = [
            np.array([p for p, c in enumerate(self.all) if a not in c.attributes], dtype=np.int64)
            for a in range(attribute_count)
        ]
        """For each attribute, the constraints whose numbers its candidates leave alone."""
        self.least: Codes = np.zeros(attribute_count, dtype=np.int64)
        """For each attribute, the records that a part of it needs for any class in it to be large enough."""
        for position, constraint in enumerate(self.all):
            here = list(constraint.attributes)
            self._sizes[here, position] = constraint.is_class_size
            if constraint.is_class_size:
                self.least[here] = np.maximum(self.least[here], int(constraint.limit))

    def valid(self, measured: Floats) -> NDArray[np.bool_]:
        """Tell which states keep every limit; ``measured`` has shape (..., constraints)."""
        return np.asarray(self._kept(measured).all(axis=-1))

    def possible(self, measured: Floats) -> NDArray[np.bool_]:
        """Tell which states keep every limit that, once broken, stays so."""
        return np.asarray((self._kept(measured) | ~self.lasting).all(axis=-1))

    def _kept(self, measured: Floats) -> NDArray[np.bool_]:
        return np.asarray((measured - self._limits) * self._direction <= 0)

    @property
    def repairable(self) -> bool:
        """Whether there are limits that a refinement can bring a state back to."""
        return not self.lasting.all()

    def bounded(self, attribute: int, after: Floats, smallest: Codes) -> Floats:
        """Tighten bounds of the numbers after each candidate: no class is larger than its smallest part."""
        return np.where(self._sizes[attribute], np.minimum(after, smallest[:, None]), after)

    def worse(self, measured: Floats, other: Floats) -> Floats:
        return np.where(self._direction > 0, np.fmax(measured, other), np.fmin(measured, other))

    @property
    def adds_up(self) -> bool:
        """Whether the number of a constraint is a sum over all groups."""
        return any(item.requirement.counts is Counts.GROUPS for item in self.all)

    def least_rest(self, attribute: int, measured: Floats) -> int:
        """Give how many records beside a disclosed value are too many to be the smallest class of a state."""
        sizes = measured[self._sizes[attribute]]
        return max(int(self.least[attribute]), int(np.ceil(sizes.max(initial=0.0))))

    def worst(self, measured: Floats) -> int:
        """Give the position of the constraint nearest to (or furthest beyond) its limit."""
        up, down = np.maximum(self._limits, 1e-9), np.maximum(measured, 1e-9)
        return int(np.where(self._direction > 0, measured / up, self._limits / down).argmax())

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
        return self._worded(constraint.requirement.against(value, constraint.limit))

    def _worded(self, words: str) -> str:
        return of_persons(words) if self._persons else words

    def require_defined(self, measured: Floats) -> None:
        for constraint, number in zip(self.all, measured.tolist(), strict=True):
            if (refused := constraint.requirement.undefined(number)) is not None:
                raise refused

    def require_solution(self, measured: Floats) -> None:
        """Refuse to start where even the most suppressed table breaks a requirement for good."""
        if bool(self.possible(measured)):
            return
        position = self.worst(np.where(self.lasting, measured, self._limits))
        requirement = self.all[position].requirement
        still, remedy = requirement.unmet(float(measured[position]))
        raise GuaranteeNotMet(
            f"Nothing can meet {str(requirement)!r}: with every value masked {self._worded(still)}",
            f"{remedy}, or do not keep one of its attributes in the clear.",
        )

    def require_reached(self, measured: Floats, steps: int) -> None:
        """Refuse to end where no state that was reached keeps all limits: the last one does if any does."""
        if bool(self.valid(measured)):
            return
        position = self.worst(measured)
        constraint = self.all[position]
        reached = constraint.requirement.against(float(measured[position]), constraint.limit)
        raise GuaranteeNotMet(
            f"No state keeps {str(constraint.requirement)!r}: after {steps} step{'s' * (steps != 1)} the "
            f"worst class is at {reached}.",
            "Ask for a looser limit, or for more steps if --max-steps or Ctrl-C ended the run.",
        )


# -- what requirements ask of the collapsed source ------------------------------------------------


def constraints_of(
    engine: Engine, atoms: Atoms, requirements: Sequence[Requirement], columns: Sequence[str]
) -> tuple[Constraint, ...]:
    """Make one constraint per template and protected value, and one per other requirement.

    Where several demand the same of the same attributes, the hardest limit holds and counts once. ``columns``
    are those of the source, which labels stand beside.
    """
    hardest: dict[object, Constraint] = {}
    for requirement in (side for whole in requirements for side in whole.sides()):
        for found in _constraints(engine, atoms, requirement, columns):
            kind = requirement.form, requirement.worst, requirement.population
            # values that the column does not hold have no codes of their own
            absent = found.requirement.protected if found.protected == NEVER else None
            key = kind, frozenset(found.attributes), found.sensitive, found.protected, absent
            other = hardest.setdefault(key, found)
            if (found.limit - other.limit) * found.direction < 0:
                hardest[key] = replace(found, attributes=other.attributes)
    return tuple(hardest.values())


def _constraints(
    engine: Engine, atoms: Atoms, requirement: Requirement, columns: Sequence[str]
) -> Iterable[Constraint]:
    # a descent drops what breaks a limit for good, which is right only where refinement cannot mend it
    if not requirement.monotone:
        raise InvalidOption(
            f"{str(requirement)!r} drives no run: a finer table may meet it where a coarser one does not.",
            "Leave it out here, and let `ppdm audit` judge the release by it.",
        )
    grouping = tuple(atoms.position(name) for name in requirement.attributes)
    limit = requirement.search_limit(atoms.counted)
    counted = over_labels(requirement, columns).sensitive_columns
    sensitive = next((atoms.position(name) for name in counted), None)
    if sensitive is None:
        yield Constraint(requirement, grouping, limit)
        return
    dictionary = atoms.coded[sensitive]
    if requirement.counts is not Counts.PROTECTED:
        yield Constraint(requirement, grouping, limit, sensitive)
        return
    codes = _protected_codes(engine, dictionary, requirement.protected)
    parts = (requirement,) * len(codes) if requirement.protected is None else requirement.split()
    for part, code in zip(parts, codes, strict=True):
        yield Constraint(part, grouping, limit, sensitive, code)


def _protected_codes(engine: Engine, dictionary: Dictionary, values: Sequence[Value] | None) -> list[int]:
    """Give the code of each protected value, NEVER where the column does not hold it."""
    if values is None:
        return list(range(dictionary.size))
    query = bind("top_down/protected_codes", tables={"dictionary": dictionary.table})
    rows = engine.query(query, {"values": list(values)}, step="protected_codes")
    for text, (_, usable) in zip(values, rows, strict=True):
        if not usable:
            raise InvalidOption(
                f"The protected value {text!r} is not a value of column {dictionary.column.name!r}, "
                f"whose type is {type_title(dictionary.column.type)}.",
                "Write it as the column holds it.",
            )
    return [code for code, _ in rows]


def counted_codes(atoms: Atoms, constraint: Constraint) -> Sequence[int]:
    """Give the codes of the sensitive values that are counted in a column each."""
    if constraint.sensitive is None:
        return ()
    if constraint.protected is not None:
        return (constraint.protected,)
    dictionary, requirement = atoms.coded[constraint.sensitive], constraint.requirement
    if dictionary.size > MOST_COLUMNS:
        raise InvalidOption(
            f"Column {dictionary.column.name!r} has {dictionary.size} different values; where persons are "
            f"counted, records left out or two parties at work {str(requirement)!r} takes {MOST_COLUMNS}.",
            "Leave --person or --suppress-records out, or count a level of it, such as `by prefixes 1`.",
        )
    return range(dictionary.size)


def check_absent(constraints: Sequence[Constraint], allowed: bool, progress: Progress) -> None:
    """Refuse protected values that their column does not hold, or tell of them if they are meant."""
    absent: dict[str, list[Value]] = {}
    for constraint in constraints:
        for name in constraint.requirement.sensitive_columns if constraint.protected == NEVER else ():
            absent.setdefault(name, []).extend(constraint.requirement.protected or ())
    for name, values in absent.items():
        if not allowed:
            raise unknown_value(name, list(dict.fromkeys(values)))
        progress.notice(said_absent(name, list(dict.fromkeys(values))))
