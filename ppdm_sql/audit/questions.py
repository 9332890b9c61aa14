"""What is asked of a table: requirements with their columns found, and their judgements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ppdm_sql.engine.names import Table, resolve_all
from ppdm_sql.errors import InvalidOption
from ppdm_sql.privacy.model import (
    Asked,
    KAnonymity,
    Requirement,
    Template,
    Value,
    attributes,
    requirement_of,
)


@dataclass(frozen=True)
class Question:
    """A requirement to judge.

    Args:
        number: Its position among the requirements, from 0.
        asked: The requirement as it was given, perhaps without a limit.
        requirement: The same, with a limit and with names spelled as in the table.
    """

    number: int
    asked: Asked
    requirement: Requirement

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns of the requirement."""
        if isinstance(self.requirement, KAnonymity):
            return self.requirement.quasi_identifier
        return (*attributes(self.requirement), self.requirement.sensitive)


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
        Question(number, asked, _resolved(requirement_of(asked), columns, table))
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


def _resolved(asked: Requirement, columns: Sequence[str], table: str) -> Requirement:
    grouping = grouping_columns(attributes(asked), columns, table=table)
    if isinstance(asked, KAnonymity):
        return replace(asked, quasi_identifier=grouping)
    *grouped, sensitive = resolve_all((*grouping, asked.sensitive), columns, table=table)
    if isinstance(asked, Template):
        return replace(asked, channel=tuple(grouped), sensitive=sensitive)
    return replace(asked, quasi_identifier=tuple(grouped), sensitive=sensitive)
