"""What each column is in a run: the roles that every method knows, and how a method adds its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ppdm_sql.engine.names import resolve
from ppdm_sql.errors import ColumnRoleError, InvalidOption, said
from ppdm_sql.release import Treatment

Treatments: TypeAlias = Sequence[tuple[Treatment, Sequence[str]]]


@dataclass(frozen=True, kw_only=True)
class Roles(ABC):
    """Columns of the source by role, spelled as the source spells them."""

    class_column: str | None  # the column that the release must keep predictable, or None
    kept: tuple[str, ...]  # columns released as they are
    pseudonyms: tuple[str, ...]  # direct identifiers replaced by keyed pseudonyms
    dropped: tuple[str, ...]  # direct identifiers that are left out
    count: str | None = None  # column of counts, or None
    person: tuple[str, ...] = ()  # columns that say whose record a row is; none where a record is a person

    @property
    @abstractmethod
    def own_treatments(self) -> Treatments:
        """The columns that the method itself treats; they come before the roles that all methods know."""

    def treatment(self, name: str) -> Treatment | None:
        """Tell how a column is treated; None where it is not released."""
        shared: Treatments = (
            ("class", self.classes),
            ("kept", self.kept),
            ("pseudonym", self.pseudonyms),
            ("count", _one(self.count)),
        )
        found = (treatment for treatment, names in (*self.own_treatments, *shared) if name in names)
        return next(found, None)

    @property
    def classes(self) -> tuple[str, ...]:
        return _one(self.class_column)

    @property
    def identifiers(self) -> dict[str, str]:
        """The direct identifiers with their treatment, as the catalogue keeps them."""
        return dict.fromkeys(self.dropped, "drop") | dict.fromkeys(self.pseudonyms, "pseudonym")

    def refuse_two(self, claims: Iterable[tuple[str, Sequence[str]]]) -> None:
        """Refuse a column that has two of a method's roles, or one of them and one that all methods know.

        Who a person is may be a direct identifier, too, and nothing else.
        """
        shared = (("a direct identifier", self.pseudonyms + self.dropped), ("the count", _one(self.count)))
        taken: dict[str, str] = {}
        for role, names in (*claims, *shared):
            for name in names:
                if name in taken:
                    raise ColumnRoleError(
                        f"Column {name!r} cannot be both {taken[name]} and {role}.",
                        "Name it in one role only.",
                    )
                taken[name] = role
        for name in self.person:
            if taken.get(name, shared[0][0]) != shared[0][0]:
                raise ColumnRoleError(
                    f"Column {name!r} cannot be both {taken[name]} and who the person is.",
                    "Who a person is, is not released; name another column in one of the two places.",
                )


def _one(name: str | None) -> tuple[str, ...]:
    return () if name is None else (name,)


def treated_identifiers(
    identifiers: Mapping[str, str], columns: Sequence[str], *, table: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Give the direct identifiers that are replaced by pseudonyms, and those that are dropped."""
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
