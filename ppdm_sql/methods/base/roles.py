"""What each column is in a run: masking, sensitive, class, kept, identifier, count, or not released."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ppdm_sql.engine import Column
from ppdm_sql.engine.count_column import count_column
from ppdm_sql.engine.names import resolve, resolve_all
from ppdm_sql.errors import ColumnRoleError, InvalidOption, said
from ppdm_sql.privacy import Requirement
from ppdm_sql.release import Treatment


@dataclass(frozen=True)
class Roles:
    """Columns of the source by role, spelled as the source spells them.

    Args:
        grouping: Columns that the requirements group by, in order of first appearance.
        masking: Those of them that may be masked.
        sensitive: Columns that templates, l-diversity and t-closeness protect.
        class_column: The column that the release must keep predictable.
        kept: Columns released as they are; a grouping column among them stays in the clear.
        pseudonyms: Direct identifiers replaced by keyed pseudonyms.
        dropped: Direct identifiers that are left out.
        count: Column of counts, or None.
    """

    grouping: tuple[str, ...]
    masking: tuple[str, ...]
    sensitive: tuple[str, ...]
    class_column: str
    kept: tuple[str, ...]
    pseudonyms: tuple[str, ...]
    dropped: tuple[str, ...]
    count: str | None

    def treatment(self, name: str) -> Treatment | None:
        """Tell how a column is treated; None where it is not released."""
        treatments: dict[Treatment, tuple[str, ...]] = {
            "suppressed": self.masking,
            "sensitive": self.sensitive,
            "class": (self.class_column,),
            "kept": self.kept,
            "pseudonym": self.pseudonyms,
            "count": () if self.count is None else (self.count,),
        }
        return next((treatment for treatment, names in treatments.items() if name in names), None)


def assign_roles(
    columns: Sequence[Column],
    requirements: Iterable[Requirement],
    *,
    table: str,
    class_column: str,
    keep: Sequence[str] = (),
    identifiers: Mapping[str, str] | None = None,
    count: str | None = None,
) -> Roles:
    """Give every named column its role and refuse roles that exclude each other.

    Args:
        columns: The source's columns.
        requirements: Requirements whose names are resolved already.
        table: The source's name, for messages.
        class_column: Column to predict.
        keep: Columns to release as they are.
        identifiers: Direct identifiers; the value is ``drop`` or ``pseudonym``.
        count: Column of counts.

    Raises:
        UnknownColumn: A named column does not exist.
        ColumnRoleError: A column has two roles that exclude each other.
    """
    names = [column.name for column in columns]
    requirements = list(requirements)
    grouping = tuple(dict.fromkeys(name for r in requirements for name in r.attributes))
    kept = resolve_all(keep, names, table=table)
    pseudonyms, dropped = treated_identifiers(identifiers or {}, names, table=table)
    roles = Roles(
        grouping=grouping,
        masking=tuple(name for name in grouping if name not in kept),
        sensitive=tuple(dict.fromkeys(name for r in requirements for name in r.sensitive_columns)),
        class_column=resolve(class_column, names, table=table),
        kept=kept,
        pseudonyms=pseudonyms,
        dropped=dropped,
        count=count_column(count, columns, table=table),
    )
    refuse_two_roles(_claims(roles))
    return roles


def treated_identifiers(
    identifiers: Mapping[str, str], columns: Sequence[str], *, table: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Give the direct identifiers that are replaced by pseudonyms, and those that are dropped.

    Raises:
        UnknownColumn: A named column does not exist.
        InvalidOption: A treatment is neither ``drop`` nor ``pseudonym``.
    """
    treated = {resolve(name, columns, table=table): how for name, how in identifiers.items()}
    for how in treated.values():
        if how not in ("drop", "pseudonym"):
            raise InvalidOption(
                f"A direct identifier cannot be treated by {said(how)}.",
                "Write --identifier A or --identifier A=pseudonym.",
            )
    pseudonyms, dropped = (
        tuple(name for name, how in treated.items() if how == wanted) for wanted in ("pseudonym", "drop")
    )
    return pseudonyms, dropped


def refuse_two_roles(claims: Iterable[tuple[str, Iterable[str]]]) -> None:
    """Refuse a column that two roles claim.

    Args:
        claims: Each role in words, with its columns.

    Raises:
        ColumnRoleError: A column has two roles.
    """
    taken: dict[str, str] = {}
    for role, names in claims:
        for name in names:
            if name in taken:
                raise ColumnRoleError(
                    f"Column {name!r} cannot be both {taken[name]} and {role}.", "Name it in one role only."
                )
            taken[name] = role


def _claims(roles: Roles) -> list[tuple[str, tuple[str, ...]]]:
    return [
        ("in a channel or quasi-identifier", roles.grouping),
        ("sensitive", roles.sensitive),
        ("the class", (roles.class_column,)),
        ("kept", tuple(name for name in roles.kept if name not in roles.grouping)),
        ("a direct identifier", roles.pseudonyms + roles.dropped),
        ("the count", () if roles.count is None else (roles.count,)),
    ]
