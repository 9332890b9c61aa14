"""What each column is in a run of swapping."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ppdm_sql.engine import Column
from ppdm_sql.engine.count_column import count_column
from ppdm_sql.engine.names import resolve, resolve_all
from ppdm_sql.errors import InvalidOption
from ppdm_sql.methods.base.roles import refuse_two_roles, treated_identifiers
from ppdm_sql.methods.swapping.request import SwapRequest
from ppdm_sql.release import Treatment


@dataclass(frozen=True)
class SwapRoles:
    """Columns of the source by role, spelled and ordered as the source has them.

    Args:
        by: Non-confidential columns, by which records can be singled out; released unchanged.
        confidential: Columns whose values are swapped, in the order of the source, so that a run does not
            depend on the order in which they were named.
        class_column: What a classifier is to predict, or None; any released column but a pseudonym.
        kept: Further columns that are released unchanged, the class among them where it has no other role.
        pseudonyms: Direct identifiers replaced by keyed pseudonyms.
        dropped: Direct identifiers that are left out.
        count: Column of counts, or None.
    """

    by: tuple[str, ...]
    confidential: tuple[str, ...]
    class_column: str | None
    kept: tuple[str, ...]
    pseudonyms: tuple[str, ...]
    dropped: tuple[str, ...]
    count: str | None

    def treatment(self, name: str) -> Treatment | None:
        """Tell how a column is treated; None where it is not released."""
        if name in self.confidential:
            return "swapped"
        if name in (*self.by, *self.kept):
            return "class" if name == self.class_column else "kept"
        if name in self.pseudonyms:
            return "pseudonym"
        return "count" if name == self.count else None


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
    )
    refuse_two_roles(_claims(roles))
    return roles


def _claims(roles: SwapRoles) -> list[tuple[str, tuple[str, ...]]]:
    return [
        ("confidential", roles.confidential),
        ("one by which records are singled out", roles.by),
        ("kept", roles.kept),
        ("a direct identifier", roles.pseudonyms + roles.dropped),
        ("the count", () if roles.count is None else (roles.count,)),
    ]
