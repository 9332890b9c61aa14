"""What each column is in a run of swapping."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ppdm_sql.engine import Column
from ppdm_sql.engine.count_column import count_column
from ppdm_sql.engine.names import resolve, resolve_all
from ppdm_sql.engine.person_columns import person_columns
from ppdm_sql.errors import InvalidOption
from ppdm_sql.methods.base.roles import Roles, Treatments, treated_identifiers
from ppdm_sql.methods.swapping.request import SwapRequest


@dataclass(frozen=True, kw_only=True)
class SwapRoles(Roles):
    """Columns of the source by role, spelled and ordered as the source has them.

    The class is any released column but a pseudonym; it is kept where it has no other role.

    Args:
        by: Non-confidential columns, by which records can be singled out; released unchanged.
        confidential: Columns whose values are swapped, in the order of the source, so that a run does not
            depend on the order in which they were named.
    """

    by: tuple[str, ...]
    confidential: tuple[str, ...]

    @property
    def own_treatments(self) -> Treatments:
        """Confidential columns are swapped, and the others stay as they are, the class among them."""
        by = tuple(name for name in self.by if name != self.class_column)
        return ("swapped", self.confidential), ("kept", by)


def assign_swap_roles(columns: Sequence[Column], request: SwapRequest, *, table: str) -> SwapRoles:
    """Give every named column its role and refuse roles that exclude each other.

    Raises:
        UnknownColumn: A named column does not exist.
        ColumnRoleError: A column has two roles that exclude each other.
        InvalidOption: No column is confidential, or none is known to others.
    """
    names = [item.name for item in columns]
    confidential = resolve_all(request.confidential, names, table=table)
    by = resolve_all(request.by, names, table=table)
    if not confidential or not by:
        raise InvalidOption(
            "Swapping needs confidential columns, and others by which records can be singled out.",
            "Give --confidential Amount --by Age,Gender,Location.",
        )
    chosen = None if request.class_column is None else resolve(request.class_column, names, table=table)
    kept = resolve_all(request.keep, names, table=table)
    if chosen is not None and chosen not in (*confidential, *by, *kept):
        kept = (*kept, chosen)
    pseudonyms, dropped = treated_identifiers(request.identifiers, names, table=table)
    roles = SwapRoles(
        by=by,
        confidential=tuple(name for name in names if name in confidential),
        class_column=chosen,
        kept=kept,
        pseudonyms=pseudonyms,
        dropped=dropped,
        count=count_column(request.count_column, columns, table=table),
        person=person_columns(request.person, columns, count=request.count_column, table=table),
    )
    roles.refuse_two(
        [
            ("confidential", roles.confidential),
            ("one by which records are singled out", by),
            ("kept", kept),
        ]
    )
    return roles
