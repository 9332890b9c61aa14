"""The numbers of an audit, as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from ppdm_sql.privacy import Asked, Value

Counted = Literal["records", "persons"]
"""What an audit counts; who has several records in a class is one person of it."""

ITSELF = "the table itself"
"""What a risk names as its population where none was given."""


@dataclass(frozen=True)
class Finding:
    """Whether one requirement holds, and what was reached.

    Args:
        requirement: The requirement, as it was given; a ``Measure`` where it has no limit.
        holds: Whether no class violates it.
        limit: The confidence or distance allowed in [0, 1], or the k or l demanded, at least 1; the
            loosest one where none was given.
        reached: The worst over all classes, in the limit's unit; 0 for a template whose values do not occur.
        classes: Classes of the channel or quasi-identifier.
        violating_classes: Those of them that violate it; all, if it is broken by the table as a whole.
        violating_records: Records in those; persons, where they are counted, once for each class.
        by_value: For a template each protected value, as text, with its highest confidence.
        absent_values: The protected values that do not occur, as they were written: perhaps misspellings.
        counted: Whether records or persons were counted.
    """

    requirement: Asked
    holds: bool
    limit: float
    reached: float
    classes: int
    violating_classes: int
    violating_records: int
    by_value: tuple[tuple[Value, float], ...] = ()
    absent_values: tuple[Value, ...] = ()
    counted: Counted = "records"


@dataclass(frozen=True)
class Group:
    """One of the worst classes of a requirement, by name; holds cells, so it is made on demand only.

    Args:
        requirement: The requirement, as it was given.
        columns: The columns of its channel or quasi-identifier.
        values: The class's values of those, in the same order.
        inferred: The protected value, for a template.
        records: Records in the class.
        reached: Its confidence, size, diversity or distance.
        violates: Whether it violates the requirement.
    """

    requirement: Asked
    columns: tuple[str, ...]
    values: tuple[Any, ...]
    inferred: Value
    records: int
    reached: float
    violates: bool


@dataclass(frozen=True)
class ClassSizes:
    """How large the classes of one quasi-identifier are.

    Args:
        quasi_identifier: Its columns.
        sizes: ``(class size, classes, records)``, exact, by size.
        ranges: ``(smallest, largest, classes, records)``, for reading: 1 to 10, 11-20, 21-50, 51-100 ...
    """

    quasi_identifier: tuple[str, ...]
    sizes: tuple[tuple[int, int, int], ...]
    ranges: tuple[tuple[int, int, int, int], ...]


@dataclass(frozen=True)
class Risk:
    """Re-identification risk under one quasi-identifier, from one attacker.

    Args:
        quasi_identifier: Its columns.
        attacker: ``prosecutor`` (knows the person is in the table), ``journalist`` (knows the person is in
            the population), ``marketer`` (wants as many as possible; has an average only).
        population: The table that the classes were counted in.
        average: Mean risk of a record, the expected share re-identified, in (0, 1].
        highest: Risk of the records most at risk, in (0, 1].
        records_at_highest: How many those are.
        share_above: Share of the records with a risk strictly above the threshold, in [0, 1].
        threshold: That threshold.
    """

    quasi_identifier: tuple[str, ...]
    attacker: str
    population: str
    average: float
    highest: float | None
    records_at_highest: int | None
    share_above: float | None
    threshold: float


@dataclass(frozen=True)
class Inferences:
    """Number of inferences from one channel to the values protected over it.

    Args:
        channel: The channel's columns.
        sensitive: The sensitive columns of its templates.
        above: ``(threshold, pairs of group and value with a confidence strictly above it)``.
    """

    channel: tuple[str, ...]
    sensitive: tuple[str, ...]
    above: tuple[tuple[float, int], ...]


@dataclass(frozen=True)
class IdentifiableValue:
    """What there is of one confidential value; holds a cell, so it is for the owner.

    Args:
        value: The value as text, None being NULL.
        unique: Uniquely identifiable records with it.
        groups: Collectively identifiable groups with it.
        grouped: Records in these.
        others: Records with it that are not identifiable.
    """

    value: Value
    unique: int
    groups: int
    grouped: int
    others: int


@dataclass(frozen=True)
class Identifiable:
    """How many records have a confidential value that other columns give away.

    Args:
        confidential: The confidential column.
        by: The columns that others may know.
        unique: Uniquely identifiable records: nobody else has their values of ``by``.
        groups: Collectively identifiable groups: several records, all with one confidential value.
        grouped: Records in these groups.
        other_patterns: Combinations of ``by`` that leave the confidential value open.
        others: Records with such a combination.
        values: Number of confidential values.
        by_value: One for each value, at most 100, those with the most identifiable records first.
    """

    confidential: str
    by: tuple[str, ...]
    unique: int
    groups: int
    grouped: int
    other_patterns: int
    others: int
    values: int
    by_value: tuple[IdentifiableValue, ...]

    @property
    def records(self) -> int:
        """All records."""
        return self.unique + self.grouped + self.others
