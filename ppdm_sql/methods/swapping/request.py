"""What is asked of a run of swapping: options, roles of columns, and what protects nobody and is refused."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np

from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.count_column import count_column
from ppdm_sql.engine.names import option_for, resolve, resolve_all
from ppdm_sql.engine.person_columns import person_columns
from ppdm_sql.errors import GuaranteeNotMet, InvalidOption, InvalidSource
from ppdm_sql.methods.base.collapse import Atoms, counts_by_class
from ppdm_sql.methods.base.roles import Roles, Treatments, treated_identifiers
from ppdm_sql.methods.swapping.marginals import rounded_changes
from ppdm_sql.options import SwapRequest
from ppdm_sql.privacy.quoting import Number, read_share
from ppdm_sql.progress import Progress

Edges = Sequence[object]

METHODS = ("exact", "greedy")
PHASES = ("joint", "separate")


def proportion_of(request: SwapRequest, name: str) -> Fraction:
    """Give the proportion of the uniquely identifiable records to change for one attribute.

    Raises:
        InvalidOption: None is given for it, or it is not in (0, 1].
    """
    asked = request.proportion
    given = asked.get(name, asked.get("")) if isinstance(asked, Mapping) else asked
    if given is None:
        raise InvalidOption(
            f"No proportion is given for {name!r}.",
            f"Give {option_for('--proportion', name, '0.5')}, or one for all.",
        )
    return read_share(given, "--proportion", "(0, 1]")


def per_group(number: Number) -> int | Fraction:
    """Read how many records of a group are changed: a whole number of them, or a share.

    Raises:
        InvalidOption: It is no positive whole number, and no share in (0, 1].

    Example:
        >>> per_group("2"), per_group("50%"), per_group(0.5)
        (2, Fraction(1, 2), Fraction(1, 2))
    """
    text = str(number).strip()
    found = read_share(number, "--per-group")
    is_share = text.endswith("%") or not isinstance(number, int) and ("." in text or "/" in text)
    if found <= 0 or (is_share and found > 1) or (not is_share and found.denominator != 1):
        raise InvalidOption(
            f"{text!r} records of a group cannot be changed.",
            "Give --per-group 1 or more, or a share such as 50%.",
        )
    return found if is_share else int(found)


def share_of(given: tuple[Number, Number] | None) -> tuple[Fraction, Fraction] | None:
    """Read the least and the largest changed share of a category.

    Raises:
        InvalidOption: They are not two shares in order.
    """
    if given is None:
        return None
    low, high = (read_share(number, "--share", "[0, 1]") for number in given)
    if low > high:
        raise InvalidOption(
            f"--share {float(low):g},{float(high):g} is not a range of shares.",
            "Write it as --share 0.4,0.6.",
        )
    return low, high


def master_key(seed: int | None) -> bytes:
    """Give the key that every random choice of a run is derived from: drawn afresh, or from a given seed."""
    if seed is None:
        return secrets.token_bytes(32)
    return hashlib.sha256(f"ppdm swap {seed}".encode()).digest()


def attribute_key(key: bytes, name: str) -> bytes:
    """Derive the key of one attribute, whatever the order of the attributes.

    Example:
        >>> attribute_key(b"k", "a") == attribute_key(b"k", "b")
        False
    """
    return hmac.new(key, name.encode(), hashlib.sha256).digest()


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


def cramers_v(engine: Engine, atoms: Atoms, first: int, second: int) -> float:
    """Measure the correlation of two coded columns by Cramér's V, in [0, 1].

    V is the square root of chi-squared over its largest possible value, n (min(rows, columns) - 1): 0 for
    columns that are independent, 1 where one follows from the other. It is not corrected for small tables, in
    which chance alone gives some correlation.

    Cost: one scan of the atoms; the two-way table comes to Python.
    Source: Cramér 1946, Mathematical Methods of Statistics, 21.9.
    """
    counts = counts_by_class(engine, atoms, [first], second)[first].astype(float)
    counts = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    smaller = min(counts.shape) - 1
    if smaller < 1:
        return 0.0
    expected = counts.sum(axis=1, keepdims=True) * counts.sum(axis=0, keepdims=True) / counts.sum()
    chi_squared = float(((counts - expected) ** 2 / expected).sum())
    return float(np.sqrt(chi_squared / (counts.sum() * smaller)))
