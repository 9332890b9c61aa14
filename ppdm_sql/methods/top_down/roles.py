"""What each column is in a run of top-down refinement: masking, sensitive, or one of the shared roles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ppdm_sql.engine import Column
from ppdm_sql.engine.count_column import count_column
from ppdm_sql.engine.names import resolve
from ppdm_sql.engine.person_columns import person_columns
from ppdm_sql.methods.base.roles import Roles, Treatments, treated_identifiers
from ppdm_sql.methods.top_down.request import RefinementRequest
from ppdm_sql.privacy import Requirement


@dataclass(frozen=True, kw_only=True)
class RefinementRoles(Roles):
    """Columns of the source by role; a grouping column that is kept stays in the clear.

    Args:
        grouping: Columns that the requirements group by, in order of first appearance.
        masking: Those of them that may be masked.
        sensitive: Columns that requirements protect.
    """

    grouping: tuple[str, ...]
    masking: tuple[str, ...]
    sensitive: tuple[str, ...]

    @property
    def own_treatments(self) -> Treatments:
        """Masked by suppression, unless a run says otherwise, and sensitive columns as they are."""
        return ("suppressed", self.masking), ("sensitive", self.sensitive)


def assign_roles(
    columns: Sequence[Column],
    requirements: Sequence[Requirement],
    request: RefinementRequest,
    *,
    table: str,
    kept: tuple[str, ...],
) -> RefinementRoles:
    """Give every named column its role and refuse roles that exclude each other.

    Raises:
        UnknownColumn: A named column does not exist.
        ColumnRoleError: A column has two roles that exclude each other.
    """
    names, label = [column.name for column in columns], request.class_column
    grouping = tuple(dict.fromkeys(name for r in requirements for name in r.attributes))
    pseudonyms, dropped = treated_identifiers(request.identifiers, names, table=table)
    roles = RefinementRoles(
        grouping=grouping,
        masking=tuple(name for name in grouping if name not in kept),
        sensitive=sensitive_columns(requirements),
        class_column=None if label is None else resolve(label, names, table=table),
        kept=kept,
        pseudonyms=pseudonyms,
        dropped=dropped,
        count=count_column(request.count_column, columns, table=table),
        person=person_columns(request.person, columns, count=request.count_column, table=table),
    )
    roles.refuse_two(
        [
            ("in a channel or quasi-identifier", grouping),
            ("sensitive", roles.sensitive),
            ("the class", roles.classes),
            ("kept", tuple(name for name in kept if name not in grouping)),
        ]
    )
    return roles


def sensitive_columns(requirements: Sequence[Requirement]) -> tuple[str, ...]:
    """List the columns that requirements protect, in order of first appearance."""
    return tuple(dict.fromkeys(name for r in requirements for name in r.sensitive_columns))
