"""Levels: groups of a sensitive column's values that are counted in their place, ``icd10 by prefixes 1``.

What a level makes of a value is one expression. The search reads it from the source, and the audit from the
rows that are released; then both count labels as they count values.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from sqlglot import exp

from ppdm_sql.engine import Column
from ppdm_sql.engine.names import free_name
from ppdm_sql.engine.statements import literal
from ppdm_sql.engine.types import MOMENTS, Kind, is_number, kind_of, type_title
from ppdm_sql.errors import InvalidSource
from ppdm_sql.privacy.requirement import DistributionRequirement, Requirement

if TYPE_CHECKING:
    from ppdm_sql.privacy.reader import Reader

_BY = re.compile(r"by(?![\w$])", re.IGNORECASE)
_RULE = re.compile(r"(prefixes|dates|ranges)(?![\w$])", re.IGNORECASE)
_GROUP = re.compile(r"(month|quarter|year|decade)(?![\w$])", re.IGNORECASE)
_SIZE = re.compile(r"[1-9][0-9]{0,8}(?![\w.])")
_TYPES = {"prefixes": "VARCHAR", "dates": "DATE", "ranges": "HUGEINT"}


@dataclass(frozen=True)
class Level:
    """One level of a hierarchy that a rule derives from a column's values; NULL stays a value of its own.

    Args:
        rule: ``prefixes`` (the first characters), ``dates`` or ``ranges`` (from multiples of a number on).
        size: How many characters, which of month, quarter, year and decade, or how wide.

    Example:
        >>> str(Level("prefixes", 3))
        'prefixes 3'
    """

    rule: str
    size: int | str

    def __str__(self) -> str:
        return f"{self.rule} {self.size}"

    @property
    def type(self) -> str:
        """The type of its labels."""
        return _TYPES[self.rule]

    def label(self, value: exp.Expression, of: Column) -> exp.Expression:
        """Give the label of a value of a column.

        Raises:
            InvalidSource: The rule is for columns of another type.
        """
        kind = kind_of(of.type)
        if self.rule == "prefixes":
            return exp.Left(this=exp.cast(value, "TEXT"), expression=literal(self.size))
        if self.rule == "dates":
            if kind not in MOMENTS:
                raise self._unfit(of, "dates or timestamps")
            day = exp.Anonymous(this="date_trunc", expressions=[literal(self.size), exp.cast(value, "DATE")])
            return exp.cast(day, "DATE")
        if not is_number(of.type):
            raise self._unfit(of, "numbers")
        below = value if kind is Kind.WHOLE else exp.Anonymous(this="floor", expressions=[value])
        # whole numbers are divided exactly; NaN, and what has more than 38 digits, is nothing as NULL is
        whole = exp.TryCast(this=below, to=exp.DataType.build("HUGEINT", dialect="duckdb"))
        width = literal(self.size)
        rest = exp.Anonymous(this="mod", expressions=[whole, width])
        above = exp.Anonymous(this="mod", expressions=[rest + width, width])
        return exp.Sub(this=whole.copy(), expression=above)

    def _unfit(self, of: Column, what: str) -> InvalidSource:
        return InvalidSource(
            f"Column {of.name!r} holds {type_title(of.type)}, not {what}, which 'by {self}' is for.",
            "Cast it in a view, or leave 'by' out.",
        )


class LabelColumn(str):
    """The name of a column of labels, which no column of the table has; it knows what it is made of."""

    source: str
    level: Level


def level_of(requirement: Requirement) -> Level | None:
    """Give the level that a requirement counts by, if it does."""
    return requirement.level if isinstance(requirement, DistributionRequirement) else None


def over_labels(requirement: Requirement, columns: Sequence[str]) -> Requirement:
    """Give what a requirement asks of a table that has the labels of its level in a column.

    Args:
        requirement: A requirement, with its columns spelled as in the table.
        columns: The columns of the table.

    Example:
        >>> from ppdm_sql.privacy import parse
        >>> str(over_labels(parse("distinct l >= 3 of icd by prefixes 1 on sex"), ["icd", "sex"]))
        'distinct l >= 3 of "icd by prefixes 1" on sex'
    """
    if (level := level_of(requirement)) is None:
        return requirement
    (source,) = requirement.sensitive_columns
    name = LabelColumn(free_name(f"{source} by {level}", columns))
    name.source, name.level = source, level
    return cast(Requirement, replace(cast(Any, requirement), sensitive=name, level=None))


def sources(names: Iterable[str]) -> list[str]:
    """Give the columns to read for some names, each once."""
    return list(dict.fromkeys(name.source if isinstance(name, LabelColumn) else name for name in names))


def with_labels(names: Iterable[str], columns: Iterable[Column]) -> list[Column]:
    """Give columns, and after them those of labels among some names."""
    made = dict.fromkeys(name for name in names if isinstance(name, LabelColumn))
    return [*columns, *(Column(name, name.level.type) for name in made)]


def labelled(
    values: Mapping[str, exp.Expression], names: Iterable[str], types: Mapping[str, str]
) -> dict[str, exp.Expression]:
    """Give what to read for some names: the values of columns, or the labels made of them."""
    return {
        name: name.level.label(values[name.source].copy(), Column(name.source, types[name.source]))
        if isinstance(name, LabelColumn)
        else values[name]
        for name in names
    }


def read_level(reader: Reader) -> Level | None:
    """Read ``by prefixes 1``, ``by dates year`` or ``by ranges 10``, where it stands."""
    if not reader.accept(_BY):
        return None
    reader.example = "distinct l >= 3 of icd10 by prefixes 1 on sex, age"
    rule = reader.expect(_RULE, "'prefixes', 'dates' or 'ranges'").lower()
    if rule == "dates":
        return Level(rule, reader.expect(_GROUP, "'month', 'quarter', 'year' or 'decade'").lower())
    return Level(rule, int(reader.expect(_SIZE, "one whole number above 0, of at most 9 digits")))
