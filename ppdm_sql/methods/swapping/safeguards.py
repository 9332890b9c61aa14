"""Rules that protect the owner from swaps that protect nobody."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import option_for
from ppdm_sql.errors import GuaranteeNotMet, InvalidOption, InvalidSource
from ppdm_sql.methods.base.collapse import Atoms
from ppdm_sql.methods.swapping.changed_shares import rounded_changes
from ppdm_sql.methods.swapping.correlation import cramers_v
from ppdm_sql.progress import Progress

MOST_CATEGORIES = 250
"""Values of a confidential column above which they are no categories."""
CORRELATED = 0.1
"""Cramér's V of two confidential columns from which on a run warns."""


def check_categories(name: str, size: int, proportion: Fraction, progress: Progress) -> None:
    """Refuse a confidential column with too few or too many values, or one whose swap can be reversed.

    Raises:
        InvalidSource: It has a single value, or more than can be swapped.
        InvalidOption: It has two values, and all are to be changed.
    """
    if size < 2:
        raise InvalidSource(
            f"Confidential column {name!r} has a single value, so nothing can be swapped.",
            "Leave it out of --confidential.",
        )
    if size > MOST_CATEGORIES:
        raise InvalidSource(
            f"Confidential column {name!r} has {size} values; at most {MOST_CATEGORIES} can be swapped.",
            "Derive a coarser column in a view.",
        )
    if size == 2 and proportion == 1:
        raise InvalidOption(
            f"Confidential column {name!r} has two values, and changing every one can be reversed.",
            f"Give {option_for('--proportion', name, '0.5')} or less.",
        )
    if size == 2 and proportion > Fraction(1, 2):
        progress.notice(
            f"{name} has two values: with a proportion above 0.5 the opposite of what a uniquely "
            "identifiable record shows is right more often than not."
        )


def check_unique(name: str, proportion: Fraction, unique: int, categories: int, unit: str = "record") -> None:
    """Refuse what would leave all uniquely identifiable records true, or all of two values false.

    Raises:
        GuaranteeNotMet: The proportion rounds to none of the records, or with two values to all of them.

    Example:
        >>> check_unique("Amount", Fraction(1, 2), 6, 3)
    """
    changed = rounded_changes(proportion, unique)
    asked = f"A proportion of {float(proportion):g} changes {name!r}"
    if unique and not changed:
        raise GuaranteeNotMet(
            f"{asked} in none of the {unique} uniquely identifiable {unit}s, so all could be believed.",
            f"Give a larger --proportion, such as {name}=0.5.",
        )
    if unique and changed == unique and categories == 2:
        raise GuaranteeNotMet(
            f"{asked}, which has two values, in all {unique} uniquely identifiable {unit}s, so all could be "
            "reversed.",
            "Give a smaller --proportion, or name other columns with --by.",
        )


def notice_correlations(engine: Engine, atoms: Atoms, names: Sequence[str], progress: Progress) -> None:
    """Warn of confidential columns that are correlated, with how strongly; one scan of the atoms a pair."""
    for first, second in combinations(names, 2):
        found = cramers_v(engine, atoms, atoms.position(first), atoms.position(second))
        if found >= CORRELATED:
            progress.notice(
                f"{first} and {second} are correlated (Cramér's V {found:.2f}). They are swapped one after "
                "the other, which does not keep that."
            )
