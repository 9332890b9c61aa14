"""What the owner wishes of single columns: how much their gains count, and how many labels they may show."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.engine.names import option_for, resolve_all
from ppdm_sql.errors import ColumnRoleError, InvalidOption, said
from ppdm_sql.methods.base.arrays import Codes, Floats
from ppdm_sql.methods.top_down.cuts import Cut


def resolved(
    given: Mapping[str, object], option: str, columns: Sequence[str], masked: Sequence[str], *, table: str
) -> dict[str, object]:
    """Spell the columns of an option as the table does, and refuse those that are not masked.

    Raises:
        UnknownColumn: A named column does not exist.
        ColumnRoleError: A column is not masked, or named twice.
    """
    names = resolve_all(given, columns, table=table)
    for place, name in enumerate(names):
        if name not in masked:
            raise ColumnRoleError(
                f"Column {name!r} is named by --{option}, but no requirement lets it be masked.",
                "Name it in a requirement, or leave the option out.",
            )
        if name in names[:place]:
            raise ColumnRoleError(f"Column {name!r} is named twice by --{option}.", "Name it once.")
    return dict(zip(names, given.values(), strict=True))


def weight_of(name: str, given: object) -> float:
    """Read the weight of a column.

    Raises:
        InvalidOption: It is no number above 0.
    """
    try:
        weight = math.nan if isinstance(given, bool) else float(str(given))
    except ValueError:
        weight = math.nan
    if not 0 < weight < math.inf:
        raise InvalidOption(
            f"The weight {said(str(given))} of column {name!r} is no number above 0.",
            f"Write it as {option_for('--weight', name, '3')}.",
        )
    return weight


def limit_of(name: str, given: object) -> int:
    """Read how many labels a column may show.

    Raises:
        InvalidOption: It is no whole number of at least 1.
    """
    text = str(given).strip()
    if isinstance(given, bool) or not text.isdecimal() or int(text) < 1:
        raise InvalidOption(
            f"The limit {said(text)} of column {name!r} is no number of labels.",
            f"Write it as {option_for('--limit', name, '40')}, and at least 1.",
        )
    return int(text)


@dataclass(frozen=True)
class ColumnWishes:
    """Wishes of the attributes of a run, in their order.

    Args:
        weights: What the gains of each are multiplied by.
        most: The labels that each may show at most; None where it may show any number.
    """

    weights: Sequence[float]
    most: Sequence[int | None]

    @classmethod
    def none(cls, attributes: int) -> ColumnWishes:
        """Give those of a run that nothing is wished of."""
        return cls([1.0] * attributes, [None] * attributes)

    def weigh(self, attribute: int, gains: Floats) -> Floats:
        """Multiply the gains of candidates of an attribute."""
        return gains * self.weights[attribute]

    def have_room(self, attribute: int, cut: Cut) -> NDArray[np.bool_] | None:
        """Tell which candidates of a cut leave no more labels than wished; None where all do.

        Labels only become more, so a candidate without room has none later on.
        """
        most = self.most[attribute]
        if most is None:
            return None
        return labels_after(cut) <= most

    def room(self, attribute: int, cut: Cut) -> int | None:
        """Give how many labels more than now a column may show; None where it may show any number."""
        most = self.most[attribute]
        return None if most is None else max(most - len(np.unique(cut.nodes)), 0)


def labels_after(cut: Cut) -> Codes:
    """Count the different labels that a column shows after each candidate of its cut.

    Example: of three values one is disclosed, beside the symbol; the last one leaves no symbol behind.
        >>> from ppdm_sql.methods.top_down.cuts import SuppressionCut
        >>> top = SuppressionCut.top(np.array([[1, 0], [1, 1], [1, 1]]))
        >>> labels_after(top).tolist(), labels_after(top.refine(0).refine(2)).tolist()
        ([2, 2, 2], [3])
    """
    shown = len(np.unique(cut.nodes))
    if cut.disjoint:
        added = [len(cut.split(int(candidate))) - 1 for candidate in cut.candidates]
        return shown + np.array(added, dtype=np.int64)
    hidden = np.count_nonzero(cut.nodes == 0)
    return np.full(len(cut.candidates), shown + (1 if hidden > 1 else 0), dtype=np.int64)
