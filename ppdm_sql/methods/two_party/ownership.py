"""Whose the columns of an integration are: this party's, the partner's, or held by both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ppdm_sql.engine import Column
from ppdm_sql.engine.names import resolve, resolve_all
from ppdm_sql.errors import ColumnRoleError, InvalidOption, UnknownColumn
from ppdm_sql.methods.two_party.request import IntegrateRequest
from ppdm_sql.privacy import Counts, Requirement, parse_all
from ppdm_sql.privacy.level import level_of


@dataclass(frozen=True)
class Ownership:
    """The columns of an integration, as one party sees them.

    Args:
        key: By which records are matched.
        own: Names of own columns that a requirement groups by.
        idle: Names of own columns that none does.
        described: All columns: those of the requirements, then those that both hold, then the key. A column
            of the partner has no type here.
    """

    key: tuple[Column, ...]
    own: tuple[str, ...]
    idle: tuple[str, ...]
    described: Mapping[str, Column]

    @classmethod
    def of(cls, request: IntegrateRequest, columns: Sequence[Column], table: str) -> Ownership:
        """Find out from what a party asks, and from its table."""
        local = {item.name: item for item in columns}
        key = tuple(local[name] for name in resolve_all(request.key, list(local), table=table))
        owns = resolve_all(request.owns, list(local), table=table)
        _check_options(request, list(local), owns, table)
        asked = parse_all(request.require)
        _refuse_models(asked)
        grouping = [_spelled(name, owns) for requirement in asked for name in requirement.attributes]
        sensitive = [name for requirement in asked for name in requirement.sensitive_columns]
        both = [_held(name, list(local), table) for name in (*sensitive, request.class_column)]
        described = {name: local[name] if name in owns else Column(name, "VARCHAR") for name in grouping}
        described |= {name: local[name] for name in both} | {item.name: item for item in key}
        own = tuple(name for name in dict.fromkeys(grouping) if name in owns)
        return cls(key, own, tuple(name for name in owns if name not in own), described)


def _refuse_models(asked: Sequence[Requirement]) -> None:
    """Candidates are measured by the parts that they make, from the columns of one party."""
    for requirement in asked:
        if requirement.counts is Counts.GROUPS:
            raise InvalidOption(
                f"{str(requirement)!r} drives no run of two parties.",
                "Ask for k here, and let `ppdm audit` measure the average risk of the release.",
            )
        if (level := level_of(requirement)) is not None:
            raise InvalidOption(
                f"{str(requirement)!r} drives no run of two parties, which count no levels.",
                f"Give the table a column of its labels, or leave 'by {level}' out.",
            )
        if requirement.population is not None:
            raise InvalidOption(
                f"{str(requirement)!r} drives no run of two parties, as neither can count its population by "
                "the columns of the other.",
                "Ask for k here, and let `ppdm audit` measure the release in the population.",
            )


def _check_options(request: IntegrateRequest, local: Sequence[str], owns: Sequence[str], table: str) -> None:
    options = {"taxonomy": request.taxonomies, "range": request.ranges, "suppress": request.suppress}
    for option, given in options.items():
        for name in resolve_all(given, local, table=table):
            if name not in owns:
                raise ColumnRoleError(
                    f"Column {name!r} is named by --{option}, but not by --owns.",
                    "Only the party that owns a column says how it is masked.",
                )


def _held(name: str, local: Sequence[str], table: str) -> str:
    """Find a column that both parties must hold."""
    try:
        return resolve(name, local, table=table)
    except UnknownColumn as error:
        raise UnknownColumn(
            f"Table {table} has no column {name!r}, and both parties must hold the class and the sensitive "
            "columns.",
            error.remedy,
        ) from None


def _spelled(name: str, owns: Sequence[str]) -> str:
    """Spell a name as the own table does, if it is an own column."""
    return name if name in owns else next((own for own in owns if own.lower() == name.lower()), name)
