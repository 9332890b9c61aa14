"""Spells the column names of a requirement as the table does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ppdm_sql.engine.names import resolve as resolve_name
from ppdm_sql.engine.names import resolve_all
from ppdm_sql.errors import InvalidOption
from ppdm_sql.privacy.requirement import Asked, Measure, Requirement


def resolve_measure(asked: Asked, columns: Sequence[str], *, table: str) -> Asked:
    """Do as :func:`resolve` for what may have no limit."""
    if isinstance(asked, Measure):
        return Measure(resolve(asked.of, columns, table=table))
    return resolve(asked, columns, table=table)


def refuse_populations(requirements: Iterable[Requirement]) -> None:
    """Refuse requirements by which a search would compare the persons of the table with a population."""
    for requirement in requirements:
        if requirement.population is not None and requirement.counts_table:
            raise InvalidOption(
                f"A run cannot count persons for {str(requirement)!r}, which compares table and population.",
                "Ask for k-map instead, leave --person out, or give a table with a row for each person.",
            )


def resolve(requirement: Requirement, columns: Sequence[str], *, table: str) -> Requirement:
    """Give the requirement with its columns spelled as the table spells them."""
    attributes = resolve_all(requirement.attributes, columns, table=table)
    sensitive = [resolve_name(name, columns, table=table) for name in requirement.sensitive_columns]
    return requirement.over(attributes, tuple(sensitive))
