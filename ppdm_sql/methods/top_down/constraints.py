"""Requirements as the loop sees them: numbers of a state with limits.

Refinement only splits groups, and a requirement that drives a descent is monotone: splitting moves its
number towards the limit and never back (each privacy model says why). So a candidate that breaks a limit once
is dead for the whole run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.engine import Engine, type_title
from ppdm_sql.engine.statements import bind
from ppdm_sql.engine.types import is_ordered
from ppdm_sql.errors import GuaranteeNotMet, InvalidOption
from ppdm_sql.methods.base.arrays import Codes, Floats
from ppdm_sql.methods.base.collapse import Atoms, Dictionary
from ppdm_sql.privacy import Counts, Formula, Requirement, Value
from ppdm_sql.privacy.formula import MOST_COLUMNS, Columns
from ppdm_sql.privacy.level import over_labels
from ppdm_sql.privacy.quoting import Number, of_persons, percent, read_share
from ppdm_sql.privacy.requirement import said_absent, unknown_value
from ppdm_sql.progress import Progress
from ppdm_sql.release.catalogue import LEFT_OUT

NEVER = -1
"""Code of a protected value that the column does not hold; its confidence is 0 throughout."""


@dataclass(frozen=True)
class Constraint:
    """One number of a state with its limit, such as the confidence of one template, or the smallest class."""

    requirement: Requirement
    attributes: tuple[int, ...]  # positions of those that group the records
    limit: float
    sensitive: int | None = None  # position of the column whose values are counted
    protected: int | None = None  # code of a template's value

    @property
    def direction(self) -> int:
        """1 where refinement raises the number, -1 where it lowers it."""
        return 1 if self.requirement.worst == "max" else -1

    @property
    def is_class_size(self) -> bool:
        """Whether the number is the size of the smallest class, in records."""
        return self.requirement.counts is Counts.RECORDS


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
        self.all = self.on_classes = tuple(constraints)
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

    def valid(self, numbers: Floats) -> NDArray[np.bool_]:
        return np.asarray(self._within_limits(numbers).all(axis=-1))

    def possible(self, numbers: Floats) -> NDArray[np.bool_]:
        """Tell which states keep every limit that, once broken, stays so."""
        return np.asarray((self._within_limits(numbers) | ~self.lasting).all(axis=-1))

    def _within_limits(self, numbers: Floats) -> NDArray[np.bool_]:
        return np.asarray((numbers - self._limits) * self._direction <= 0)

    @property
    def repairable(self) -> bool:
        """Whether there are limits that a refinement can bring a state back to."""
        return not self.lasting.all()

    def bounded(self, attribute: int, after: Floats, smallest: Codes) -> Floats:
        """Tighten bounds of the numbers after each candidate: no class is larger than its smallest part."""
        return np.where(self._sizes[attribute], np.minimum(after, smallest[:, None]), after)

    def worse(self, numbers: Floats, other: Floats) -> Floats:
        return np.where(self._direction > 0, np.fmax(numbers, other), np.fmin(numbers, other))

    @property
    def adds_up(self) -> bool:
        """Whether the number of a constraint is a sum over all groups."""
        return any(item.requirement.counts is Counts.GROUPS for item in self.all)

    def least_rest(self, attribute: int, numbers: Floats) -> int:
        """Give how many records beside a disclosed value are too many to be the smallest class of a state."""
        sizes = numbers[self._sizes[attribute]]
        return max(int(self.least[attribute]), int(np.ceil(sizes.max(initial=0.0))))

    def worst(self, numbers: Floats) -> int:
        """Give the position of the constraint nearest to (or furthest beyond) its limit."""
        up, down = np.maximum(self._limits, 1e-9), np.maximum(numbers, 1e-9)
        return int(np.where(self._direction > 0, numbers / up, self._limits / down).argmax())

    def worst_by_requirement(
        self, before: Floats, after: Floats
    ) -> list[tuple[str, float | None, float | None]]:
        """Give the worst number of each requirement by its name, in the source and in the release."""
        worst: dict[str, tuple[float, float]] = {}
        for constraint, *pair in zip(self.on_classes, before, after, strict=False):
            name = f"{constraint.requirement.measured}: {constraint.requirement}"
            source, release = (float(number) for number in pair)
            if name in worst:  # one of several values, of which the most confident counts
                source, release = max(source, worst[name][0]), max(release, worst[name][1])
            worst[name] = source, release
        return [(name, *pair) for name, pair in worst.items()]

    def describe(self, position: int, value: float) -> str:
        constraint = self.all[position]
        return self._phrase(constraint.requirement.against(value, constraint.limit))

    def _phrase(self, text: str) -> str:
        return of_persons(text) if self._persons else text

    def require_defined(self, numbers: Floats) -> None:
        for constraint, number in zip(self.all, numbers.tolist(), strict=True):
            if (error := constraint.requirement.undefined(number)) is not None:
                raise error

    def require_solution(self, numbers: Floats) -> None:
        """Refuse to start where even the most suppressed table breaks a requirement for good."""
        if bool(self.possible(numbers)):
            return
        position = self.worst(np.where(self.lasting, numbers, self._limits))
        requirement = self.all[position].requirement
        still, remedy = requirement.unmet(float(numbers[position]))
        raise GuaranteeNotMet(
            f"Nothing can meet {str(requirement)!r}: with every value masked {self._phrase(still)}",
            f"{remedy}, or do not keep one of its attributes in the clear.",
        )

    def require_reached(self, numbers: Floats, steps: int) -> None:
        """Refuse to end where no state that was reached keeps all limits: the last one does if any does."""
        if bool(self.valid(numbers)):
            return
        position = self.worst(numbers)
        constraint = self.all[position]
        worst = constraint.requirement.against(float(numbers[position]), constraint.limit)
        raise GuaranteeNotMet(
            f"No state keeps {str(constraint.requirement)!r}: after {steps} step{'s' * (steps != 1)} the "
            f"worst class is at {worst}.",
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
        for constraint in _constraints(engine, atoms, requirement, columns):
            kind = requirement.form, requirement.worst, requirement.population
            # values that the column does not hold have no codes of their own
            absent = constraint.requirement.protected if constraint.protected == NEVER else None
            key = kind, frozenset(constraint.attributes), constraint.sensitive, constraint.protected, absent
            other = hardest.setdefault(key, constraint)
            if (constraint.limit - other.limit) * constraint.direction < 0:
                hardest[key] = replace(constraint, attributes=other.attributes)
    return tuple(hardest.values())


def _constraints(
    engine: Engine, atoms: Atoms, requirement: Requirement, columns: Sequence[str]
) -> Iterable[Constraint]:
    # a descent drops what breaks a limit for good, which is right only where refinement cannot mend it
    if not requirement.monotone:
        raise InvalidOption(
            f"{str(requirement)!r} cannot drive a run: a finer table may meet it where a coarser one fails.",
            "Leave it out here, and let `ppdm audit` judge the release by it.",
        )
    grouping = tuple(atoms.position(name) for name in requirement.attributes)
    limit = requirement.search_limit(atoms.counted)
    sensitive_names = over_labels(requirement, columns).sensitive_columns
    sensitive = next((atoms.position(name) for name in sensitive_names), None)
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


def codes_counted(atoms: Atoms, constraint: Constraint) -> Sequence[int]:
    """Give the codes of the sensitive values that are counted in a column each."""
    if constraint.sensitive is None:
        return ()
    if constraint.protected is not None:
        return (constraint.protected,)
    dictionary, requirement = atoms.coded[constraint.sensitive], constraint.requirement
    if dictionary.size > MOST_COLUMNS:
        ordered = is_ordered(dictionary.column.type)
        level = "`by ranges 10` or `by dates year`" if ordered else "`by prefixes 1`"
        by_order = ordered and requirement.by_order  # which is too much in any run
        otherwise = "" if by_order else ", or leave --person or --suppress-records out"
        raise InvalidOption(
            f"Column {dictionary.column.name!r} has {dictionary.size} different values; where persons are "
            f"counted, records left out or two parties at work {str(requirement)!r} takes {MOST_COLUMNS}.",
            f"Count a level of it, such as {level}{otherwise}.",
        )
    return range(dictionary.size)


def check_absent(constraints: Sequence[Constraint], allow: bool, progress: Progress) -> None:
    """Refuse protected values that their column does not hold, or tell of them if they are meant."""
    absent: dict[str, list[Value]] = {}
    for constraint in constraints:
        for name in constraint.requirement.sensitive_columns if constraint.protected == NEVER else ():
            absent.setdefault(name, []).extend(constraint.requirement.protected or ())
    for name, values in absent.items():
        if not allow:
            raise unknown_value(name, list(dict.fromkeys(values)))
        progress.notice(said_absent(name, list(dict.fromkeys(values))))


# -- records that may be left out -----------------------------------------------------------------


@dataclass(frozen=True)
class Allowance:
    """The largest share of the records that may be left out, in [0, 1)."""

    share: Fraction

    @classmethod
    def of(cls, share: Number) -> Allowance:
        return cls(read_share(share, "--suppress-records", "[0, 1)"))

    def parameters(self, left_out: int) -> dict[str, object]:
        return {"suppress_records": percent(self.share), LEFT_OUT: left_out} if self.share else {}

    def most(self, records: int) -> int:
        return int(self.share * records)


class ClassRule(NamedTuple):
    """What a constraint asks of one class."""

    formula: Formula
    limit: float
    direction: int

    def breaks(self, names: Columns) -> str:
        """Write whether a class breaks it; no class, none."""
        sign = ">" if self.direction > 0 else "<"
        return f"coalesce({self.formula.of(names)} {sign} '{self.limit!r}'::DOUBLE, false)"


def breaks(rules: Sequence[ClassRule], names: Columns) -> str:
    return " OR ".join(rule.breaks(names) for rule in rules) or "false"


def by_fate(
    rules: Sequence[ClassRule],
    columns: Sequence[str],
    of: Callable[[Columns], str],
    *,
    kept: bool = True,
    total: Literal["min", "max", "sum"] = "sum",
) -> Formula:
    """Give a formula over the classes that break no rule, or over those that do."""
    rule_columns = (name for rule in rules for name in rule.formula.columns)
    other = "0" if total == "sum" else "NULL"

    def formula(c: Columns) -> str:
        then, otherwise = (other, of(c)) if kept else (of(c), other)
        return f"CASE WHEN {breaks(rules, c)} THEN {then} ELSE {otherwise} END"

    return Formula(total, tuple(dict.fromkeys(("n", *columns, *rule_columns))), formula)


@dataclass(frozen=True)
class LeftOutRecords(Constraint):
    """The number of records left out, or what those that are kept show; nothing is lost by either."""

    direction = 1
    is_class_size = True  # so the loss stays in records where all else is


class AllowedConstraints(Constraints):
    """Constraints under an allowance: a state is valid where no more records are in bad classes than may be.

    The numbers of a state are those of the constraints over the classes that are kept, then the records left
    out, and where these are weighed, what those that are kept show.

    One quasi-identifier with k or distinct l prunes exactly: a part of a class that breaks one of them breaks
    it too, so the records in such classes only become more. For k over several quasi-identifiers the same
    holds of the largest set of records in which every class is good. Other models can be mended by
    refinement: a state that breaks the share is not valid now, and not dead.
    """

    only_worse = False

    def __init__(
        self,
        constraints: Sequence[Constraint],
        attribute_count: int,
        allowance: Allowance,
        records: int,
        *,
        weighed: bool = False,
    ) -> None:
        self.records, self.most, self.share = records, allowance.most(records), allowance.share
        more = LeftOutRecords(constraints[0].requirement, (), float(self.most))
        super().__init__([*constraints, *[more] * (2 if weighed else 1)], attribute_count)
        self.on_classes = tuple(constraints)  # the others are not a measure of the release
        self.weighed = weighed
        self.monotone = all(item.requirement.breaks_in_parts for item in self.on_classes)
        self._sizes[:, len(self.on_classes) :] = False
        self.kept_from, self.least = self.least, np.zeros(attribute_count, dtype=np.int64)

    @property
    def left_out(self) -> int:
        """Where the number of records left out stands among the numbers of a state."""
        return len(self.on_classes)

    @property
    def compares_with_table(self) -> bool:
        """Whether a class is held against the table, which is another one where records are left out."""
        return any(item.requirement.compares_with_table for item in self.on_classes)

    @property
    def settles(self) -> bool:
        """Whether leaving out a bad class can make another one bad, so that all are judged again."""
        return self.compares_with_table or len({frozenset(item.attributes) for item in self.on_classes}) > 1

    def valid(self, numbers: Floats) -> NDArray[np.bool_]:
        """Tell which states leave out no more than they may."""
        left_out = numbers[..., self.left_out]
        good = np.asarray(left_out <= self.most)
        for position, item in enumerate(self.on_classes):
            if item.requirement.counts is Counts.GROUPS:
                records = self.records - np.nan_to_num(left_out).astype(np.int64)
                limits = np.vectorize(item.requirement.search_limit, otypes=[float])(np.maximum(records, 1))
                good = good & np.asarray(numbers[..., position] <= limits)
        return good

    def possible(self, numbers: Floats) -> NDArray[np.bool_]:
        return self.valid(numbers)

    def bounded(self, attribute: int, after: Floats, smallest: Codes) -> Floats:
        """No class is larger than its smallest part, and that is kept if it is too large to be left out."""
        bound = np.where(self._sizes[attribute], np.minimum(after, smallest[:, None]), after)
        return np.where((smallest > self.most)[:, None], bound, after)

    def worst(self, numbers: Floats) -> int:
        """Give what a run is said to be near to: the share."""
        return self.left_out

    def describe(self, position: int, value: float) -> str:
        if position == self.left_out:
            return f"{value:.0f} of {self.most} records left out"
        return super().describe(position, value)

    def require_solution(self, numbers: Floats) -> None:
        """Refuse to start where even the most general table would leave out too much."""
        if bool(self.valid(numbers)):
            return
        total = int(numbers[self.left_out])
        if total <= self.most:
            raise GuaranteeNotMet(
                "Nothing can meet the requirements: with every value masked a class still breaks one.",
                "Ask for less, or do not keep one of their attributes in the clear.",
            )
        raise GuaranteeNotMet(
            f"Nothing can meet the requirements: with every value masked {total} records are in classes that "
            f"break one, and {percent(self.share)} of the records are {self.most}.",
            "Ask for less, let --suppress-records leave out more, or do not keep one of their attributes in "
            "the clear.",
        )
