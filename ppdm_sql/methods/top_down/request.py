"""What is asked of a run of top-down refinement: options, the role of each column, and wishes of columns."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.engine import Column
from ppdm_sql.engine.names import option_for, resolve, resolve_all
from ppdm_sql.engine.source import count_column, person_columns
from ppdm_sql.errors import ColumnRoleError, InvalidOption, said
from ppdm_sql.methods.base.arrays import Codes, Floats
from ppdm_sql.methods.base.roles import Roles, Treatments, treated_identifiers
from ppdm_sql.methods.top_down.cuts import Cut
from ppdm_sql.methods.top_down.score import DETAIL
from ppdm_sql.options import GeneralizeRequest as GeneralizeRequest
from ppdm_sql.options import RefinementRequest as RefinementRequest
from ppdm_sql.privacy import Requirement

SCORES = ("default", "paper")
"""How steps are scored: by what the whole table gains, or as the papers print it."""


# -- roles ----------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class RefinementRoles(Roles):
    """Columns of the source by role: requirements group by some, of which ``masking`` are not kept."""

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
    condition: Sequence[str],
    *,
    table: str,
) -> RefinementRoles:
    """Give every named column its role and refuse roles that exclude each other; conditions are kept."""
    names, label = [column.name for column in columns], request.class_column
    sensitive = tuple(dict.fromkeys(name for r in requirements for name in r.sensitive_columns))
    # a sensitive column is released as it is, so to keep it too asks for no more
    kept_names = (*resolve_all(request.keep, names, table=table), *condition)
    kept = tuple(dict.fromkeys(name for name in kept_names if name not in sensitive))
    grouping = tuple(dict.fromkeys(name for r in requirements for name in r.attributes))
    pseudonyms, dropped = treated_identifiers(request.identifiers, names, table=table)
    roles = RefinementRoles(
        grouping=grouping,
        masking=tuple(name for name in grouping if name not in kept),
        sensitive=sensitive,
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
            ("sensitive", sensitive),
            ("the class", roles.classes),
            ("kept", tuple(name for name in kept if name not in grouping)),
        ]
    )
    return roles


# -- options of single columns --------------------------------------------------------------------


def resolve_option(
    values: Mapping[str, object], option: str, columns: Sequence[str], masked: Sequence[str], *, table: str
) -> dict[str, object]:
    """Spell the columns of an option as the table does, and refuse those that are not masked."""
    names = resolve_all(values, columns, table=table)
    for name in names:
        if name not in masked:
            raise ColumnRoleError(
                f"Column {name!r} is named by --{option}, but no requirement lets it be masked.",
                "Name it in a requirement, or leave the option out.",
            )
    return dict(zip(names, values.values(), strict=True))


def detail_of(value: float | None, *, weighed: bool) -> float:
    """Read what detail is worth beside a class; ``weighed`` is whether anything is weighed against it."""
    if value is None:
        return DETAIL
    if not weighed:
        raise InvalidOption(
            "--detail weighs detail against what is told about a class, which this run does not.",
            "Leave it out, or give --class COLUMN and no --score paper.",
        )
    if not 0 <= value < math.inf:
        raise InvalidOption(f"--detail {value} is not a number of 0 or more.", "Write it as --detail 0.3.")
    return float(value)


def weight_of(name: str, value: object) -> float:
    try:
        weight = math.nan if isinstance(value, bool) else float(str(value))
    except ValueError:
        weight = math.nan
    if not 0 < weight < math.inf:
        raise InvalidOption(
            f"The weight {said(str(value))} of column {name!r} is not a number above 0.",
            f"Write it as {option_for('--weight', name, '3')}.",
        )
    return weight


def limit_of(name: str, value: object) -> int:
    text = str(value).strip()
    if isinstance(value, bool) or not text.isdecimal() or int(text) < 1:
        raise InvalidOption(
            f"The limit {said(text)} of column {name!r} is not a number of labels.",
            f"Write it as {option_for('--limit', name, '40')}, and at least 1.",
        )
    return int(text)


@dataclass(frozen=True)
class ColumnWishes:
    """For each attribute what its gains are multiplied by, and how many labels it may show; None for any."""

    weights: Sequence[float]
    most: Sequence[int | None]

    @classmethod
    def none(cls, attributes: int) -> ColumnWishes:
        return cls([1.0] * attributes, [None] * attributes)

    def weigh(self, attribute: int, gains: Floats) -> Floats:
        return gains * self.weights[attribute]

    def have_room(self, attribute: int, cut: Cut) -> NDArray[np.bool_] | None:
        """Tell which candidates of a cut leave no more labels than wished; None where all do.

        Labels only become more, so a candidate without room has none later on.
        """
        most = self.most[attribute]
        return None if most is None else labels_after(cut) <= most

    def least_labels(self, attribute: int, cut: Cut) -> int | None:
        """Give how many labels a column shows after its smallest first step, where no first step has room."""
        room = self.have_room(attribute, cut)
        return None if room is None or room.any() or not len(room) else int(labels_after(cut).min())

    def room(self, attribute: int, cut: Cut) -> int | None:
        """Give how many labels more than now a column may show; None where it may show any number."""
        most = self.most[attribute]
        return None if most is None else max(most - len(np.unique(cut.nodes)), 0)


def labels_after(cut: Cut) -> Codes:
    """Count the different labels that a column shows after each candidate of its cut."""
    labels = len(np.unique(cut.nodes))
    if cut.disjoint:
        more = [len(cut.split(int(candidate))) - 1 for candidate in cut.candidates]
        return labels + np.array(more, dtype=np.int64)
    suppressed = np.count_nonzero(cut.nodes == 0)
    return np.full(len(cut.candidates), labels + (1 if suppressed > 1 else 0), dtype=np.int64)
