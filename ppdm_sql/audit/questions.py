"""What is asked of a table: requirements with their columns found, and their judgements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ppdm_sql.engine.names import Table, resolve_all
from ppdm_sql.errors import InvalidOption
from ppdm_sql.privacy import Asked, Requirement, Value, requirement_of, resolve
from ppdm_sql.privacy.level import over_labels


@dataclass(frozen=True)
class Question:
    """A requirement to judge.

    Args:
        number: Its position among the requirements, from 0.
        asked: The requirement as it was given, perhaps without a limit.
        requirement: The same, with a limit and with names spelled as in the table; over the column of labels
            where it counts those of a level.
    """

    number: int
    asked: Asked
    requirement: Requirement

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns of the requirement."""
        return (*self.requirement.attributes, *self.requirement.sensitive_columns)


@dataclass(frozen=True)
class Judged:
    """A requirement with every class judged by it.

    Args:
        question: The requirement.
        judgements: Working table ``requirement, position, class, class_records, reached, violates``;
            templates with the same columns share one. ``position`` numbers protected values from 1.
        texts: For a template its protected values as text, by position.
    """

    question: Question
    judgements: Table
    texts: Mapping[int, Value] = field(default_factory=dict)


def questions(requirements: Sequence[Asked], columns: Sequence[str], *, table: str) -> list[Question]:
    """Find the columns of requirements.

    Args:
        requirements: As the owner gave them.
        columns: The table's columns.
        table: Its name, for messages.

    Raises:
        UnknownColumn: The table has no such column.
        ColumnRoleError: A column is named twice, or the sensitive one groups records too.
        InvalidOption: A requirement groups by no column.
    """
    return [
        Question(number, asked, over_labels(resolve(requirement_of(asked), columns, table=table), columns))
        for number, asked in enumerate(requirements)
    ]


def grouping_columns(names: Sequence[str], columns: Sequence[str], *, table: str) -> tuple[str, ...]:
    """Find the columns of a quasi-identifier; naming none is an error.

    Raises:
        UnknownColumn: The table has no such column.
        ColumnRoleError: A column is named twice.
        InvalidOption: No column is named.
    """
    if not names:
        raise InvalidOption(
            "A quasi-identifier or inference channel names no column.", "Name at least one column."
        )
    return resolve_all(names, columns, table=table)
