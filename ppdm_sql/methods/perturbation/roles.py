"""What each column is in a run of randomization."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ppdm_sql.engine import Column
from ppdm_sql.engine.names import resolve, resolve_all
from ppdm_sql.engine.person_columns import person_columns
from ppdm_sql.errors import InvalidOption
from ppdm_sql.methods.base.roles import Roles, Treatments, treated_identifiers
from ppdm_sql.methods.perturbation.noise import NoiseSpec
from ppdm_sql.methods.perturbation.noise_syntax import parse_all_noise
from ppdm_sql.options import RandomizeRequest


@dataclass(frozen=True, kw_only=True)
class RandomizeRoles(Roles):
    """Columns of the source by role, spelled and ordered as the source has them."""

    asked: tuple[NoiseSpec, ...]  # the noise of each randomized column, in the order of the source
    # the column by which records are told apart, whether or not it is released; None for rows
    record: str | None

    @property
    def own_treatments(self) -> Treatments:
        """Columns that are shown as their cells, and those that get noise."""
        cells = tuple(asked.column for asked in self.asked if asked.kind == "cells")
        return ("discretized", cells), ("randomized", tuple(asked.column for asked in self.asked))


def assign_randomize_roles(
    columns: Sequence[Column], request: RandomizeRequest, *, table: str
) -> RandomizeRoles:
    """Give every named column its role and refuse roles that exclude each other."""
    names = [item.name for item in columns]
    read = parse_all_noise(request.noise)
    if not read:
        raise InvalidOption(
            "No column is to be randomized.", "Give --noise 'salary=gaussian 100%', for instance."
        )
    randomized = resolve_all([asked.column for asked in read], names, table=table)
    found = {name: replace(asked, column=name) for name, asked in zip(randomized, read, strict=True)}
    pseudonyms, dropped = treated_identifiers(request.identifiers, names, table=table)
    chosen = None if request.class_column is None else resolve(request.class_column, names, table=table)
    kept = resolve_all(request.keep, names, table=table)
    roles = RandomizeRoles(
        asked=tuple(found[name] for name in names if name in found),
        class_column=chosen,
        kept=tuple(name for name in names if name in kept and name != chosen),
        pseudonyms=pseudonyms,
        dropped=dropped,
        record=None if request.record is None else resolve(request.record, names, table=table),
        person=person_columns(request.person, columns, count=request.count_column, table=table),
    )
    shared = () if chosen is None else (chosen,)
    roles.refuse_two([("randomized", randomized), ("the class", shared), ("kept", roles.kept)])
    return roles
