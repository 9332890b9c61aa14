"""The four forms of a requirement, as values.

A requirement says what the owner demands of the release (DESIGN: requirements language):

- ``Job, Country -> Bankruptcy = Discharged <= 75%``: a template `<IC -> pi, h>` (Wang, Fung, Yu 2005);
- ``k >= 4 on Sex, Job``: k-anonymity over one quasi-identifier (Samarati, Sweeney 1998);
- ``distinct l >= 3 of Disease on Sex, Job``, ``entropy l >= 2.5 of ...``: l-diversity;
- ``t <= 0.2 of Disease on Sex, Job``: t-closeness (Li, Li, Venkatasubramanian 2007).

A requirement that makes no sense cannot be made: all four refuse numbers out of range, a column named twice
and a sensitive column among those that group the records.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from ppdm_sql.errors import ColumnRoleError, InvalidOption
from ppdm_sql.privacy.limits import MOST_ASKED
from ppdm_sql.privacy.printing import k_text, l_text, number_text, t_text, template_text

Value = str | None
"""A protected value as it is written, cast to its column's type by the engine; None is SQL NULL."""


@dataclass(frozen=True)
class Template:
    """No record group of ``channel`` may point to a protected value with more than ``threshold``.

    Args:
        channel: The inference channel IC, column names in the order given.
        sensitive: The sensitive column, not in the channel.
        values: The protected values, each once; None protects every value of the column.
        threshold: The highest confidence allowed, in (0, 1].

    Raises:
        InvalidOption: The threshold is out of range, or a list is empty.
        ColumnRoleError: A column is named twice, or the sensitive one groups records too.

    Source: Wang, Fung, Yu 2005, Definition 3.1.

    Example:
        >>> str(Template(("Job",), "Bankruptcy", ("Discharged",), Fraction(3, 4)))
        'Job -> Bankruptcy = Discharged <= 75%'
    """

    channel: tuple[str, ...]
    sensitive: str
    values: tuple[Value, ...] | None
    threshold: Fraction

    def __post_init__(self) -> None:
        if not 0 < self.threshold <= 1:
            raise InvalidOption(
                f"The threshold {number_text(self.threshold)} on {self.sensitive!r} is outside (0, 1].",
                "Give a fraction such as 0.75 or a percentage such as 75%.",
            )
        if self.values is not None:
            if not self.values:
                raise InvalidOption(
                    f"A template on {self.sensitive!r} protects no value.",
                    "Name the values, or leave the value part out to protect every value.",
                )
            object.__setattr__(self, "values", tuple(dict.fromkeys(self.values)))
        _check_columns(self, self.channel, self.sensitive)

    def split(self) -> tuple[Template, ...]:
        """Give one template per protected value, or itself where every value is protected."""
        if self.values is None:
            return (self,)
        return tuple(replace(self, values=(value,)) for value in self.values)

    def written(self, *, limit: bool = True) -> str:
        """Write it down, with its limit or without."""
        return template_text(self, limit=limit)

    def __str__(self) -> str:
        return self.written()


@dataclass(frozen=True)
class KAnonymity:
    """Every existing value of the quasi-identifier is shared by at least ``k`` records.

    Args:
        k: The smallest class size allowed, in records, at least 1.
        quasi_identifier: Column names in the order given.

    Raises:
        InvalidOption: k is out of range, or the list is empty.
        ColumnRoleError: A column is named twice.

    Example:
        >>> str(KAnonymity(4, ("Sex", "Job")))
        'k >= 4 on Sex, Job'
    """

    k: int
    quasi_identifier: tuple[str, ...]

    def __post_init__(self) -> None:
        if self.k < 1:
            raise InvalidOption(f"k = {self.k} is below 1.", "Give a whole number such as k >= 4.")
        _check_reachable("k", self.k)
        _check_columns(self, self.quasi_identifier)

    def written(self, *, limit: bool = True) -> str:
        """Write it down, with its limit or without."""
        return k_text(self, limit=limit)

    def __str__(self) -> str:
        return self.written()


@dataclass(frozen=True)
class LDiversity:
    """Every equivalence class holds at least ``l`` well-represented sensitive values.

    Args:
        kind: ``distinct`` counts values; ``entropy`` takes exp of the class's entropy.
        l: The smallest diversity allowed, at least 1; whole for ``distinct``.
        sensitive: The sensitive column, outside the quasi-identifier.
        quasi_identifier: Column names in the order given.

    Raises:
        InvalidOption: l is out of range, or the list is empty.
        ColumnRoleError: A column is named twice, or the sensitive one groups records too.

    Source: Machanavajjhala, Gehrke, Kifer, Venkitasubramaniam 2006.

    Example:
        >>> str(LDiversity("distinct", Fraction(3), "Disease", ("Sex", "Job")))
        'distinct l >= 3 of Disease on Sex, Job'
    """

    kind: Literal["distinct", "entropy"]
    l: Fraction  # noqa: E741 - the field's own name for it
    sensitive: str
    quasi_identifier: tuple[str, ...]

    def __post_init__(self) -> None:
        if self.l < 1:
            raise InvalidOption(f"l = {number_text(self.l)} is below 1.", "Give a number such as l >= 3.")
        if self.kind == "distinct" and self.l.denominator != 1:
            raise InvalidOption(
                f"distinct l = {number_text(self.l)} is not a whole number.",
                "Give a whole number such as distinct l >= 3, or ask for entropy l.",
            )
        _check_reachable("l", self.l)
        _check_columns(self, self.quasi_identifier, self.sensitive)

    def written(self, *, limit: bool = True) -> str:
        """Write it down, with its limit or without."""
        return l_text(self, limit=limit)

    def __str__(self) -> str:
        return self.written()


@dataclass(frozen=True)
class TCloseness:
    """In every equivalence class the sensitive values are distributed as in the whole table, within ``t``.

    Args:
        t: The largest earth mover's distance allowed, in [0, 1].
        sensitive: The sensitive column, outside the quasi-identifier.
        quasi_identifier: Column names in the order given.

    Raises:
        InvalidOption: t is out of range, or the list is empty.
        ColumnRoleError: A column is named twice, or the sensitive one groups records too.

    Source: Li, Li, Venkatasubramanian 2007.

    Example:
        >>> str(TCloseness(Fraction(1, 5), "Disease", ("Sex", "Job")))
        't <= 0.2 of Disease on Sex, Job'
    """

    t: Fraction
    sensitive: str
    quasi_identifier: tuple[str, ...]

    def __post_init__(self) -> None:
        if not 0 <= self.t <= 1:
            raise InvalidOption(
                f"t = {number_text(self.t)} is outside [0, 1].", "Give a fraction such as t <= 0.2."
            )
        _check_columns(self, self.quasi_identifier, self.sensitive)

    def written(self, *, limit: bool = True) -> str:
        """Write it down, with its limit or without."""
        return t_text(self, limit=limit)

    def __str__(self) -> str:
        return self.written()


Requirement = Template | KAnonymity | LDiversity | TCloseness


@dataclass(frozen=True)
class Measure:
    """A requirement without its limit: an audit measures it, and no table breaks it.

    Args:
        of: The requirement, with the limit that every table keeps.

    Example:
        >>> str(Measure(KAnonymity(1, ("Sex", "Job"))))
        'k on Sex, Job'
    """

    of: Requirement

    def __str__(self) -> str:
        return self.of.written(limit=False)


Asked = Requirement | Measure
"""What an audit can be asked."""


def requirement_of(asked: Asked) -> Requirement:
    """Give the requirement; that of a measure holds on every table."""
    return asked.of if isinstance(asked, Measure) else asked


def attributes(requirement: Requirement) -> tuple[str, ...]:
    """Give the columns by which records are grouped: the channel, or the quasi-identifier.

    Example:
        >>> attributes(KAnonymity(4, ("Sex", "Job")))
        ('Sex', 'Job')
    """
    if isinstance(requirement, Template):
        return requirement.channel
    return requirement.quasi_identifier


def _check_reachable(name: str, limit: int | Fraction) -> None:
    """Refuse a number that no table can reach."""
    if limit > MOST_ASKED:
        raise InvalidOption(
            f"No table is large enough for the {name} that is asked for.",
            f"Give a number such as {name} >= 4.",
        )


def _check_columns(requirement: Requirement, grouping: tuple[str, ...], sensitive: str | None = None) -> None:
    """Refuse a column in two roles, a column named twice, and an empty list."""
    if not grouping:
        raise InvalidOption(
            "A requirement names no column to group records by.",
            "Name at least one, as in Job -> Bankruptcy <= 75%, or k >= 4 on Job.",
        )
    if sensitive in grouping:
        raise ColumnRoleError(
            f"Column {sensitive!r} is sensitive and groups the records too, in: {requirement}.",
            "Name it in one of the two places.",
        )
    twice = next((name for name in grouping if grouping.count(name) > 1), None)
    if twice is not None:
        raise ColumnRoleError(
            f"Column {twice!r} is named twice, in: {requirement}.", "Name each column once."
        )
