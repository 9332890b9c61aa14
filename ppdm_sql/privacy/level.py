"""Levels: groups of a sensitive column's values that are counted in their place, ``icd10 by prefixes 1``.

A rule makes the groups, or the file of a hierarchy has them: ``icd10 by icd10.csv level 2``. What a level
makes of a value is one expression. The search reads it from the source, and the audit from the rows that are
released; then both count labels as they count values.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.names import Table, free_name
from ppdm_sql.engine.statements import Sql, bind, literal, sql
from ppdm_sql.engine.types import MOMENTS, Kind, is_number, kind_of, type_title
from ppdm_sql.errors import InvalidOption, InvalidSource, said
from ppdm_sql.privacy.quoting import quote_value

if TYPE_CHECKING:
    from ppdm_sql.privacy.reader import Reader
    from ppdm_sql.privacy.requirement import Requirement

_BY = re.compile(r"by(?![\w$])", re.IGNORECASE)
_RULE = re.compile(r"(prefixes|dates|ranges)(?![\w$./\\])", re.IGNORECASE)
_GROUP = re.compile(r"(month|quarter|year|decade)(?![\w$])", re.IGNORECASE)
_SIZE = re.compile(r"[1-9][0-9]{0,8}(?![\w.])")
_LEVEL = re.compile(r"level(?![\w$./\\])", re.IGNORECASE)
_RULES = "'prefixes', 'dates', 'ranges', or the file of a hierarchy, such as icd10.csv level 1"
_TYPES = {"prefixes": "VARCHAR", "dates": "DATE", "ranges": "HUGEINT"}


@dataclass(frozen=True)
class Level:
    """One level of a hierarchy that a rule derives from a column's values; NULL stays a value of its own."""

    rule: str  # ``prefixes`` (the first characters), ``dates`` or ``ranges`` (from multiples of a number on)
    size: int | str  # how many characters, which of month, quarter, year and decade, or how wide

    def __str__(self) -> str:
        return f"{self.rule} {self.size}"

    @property
    def type(self) -> str:
        return _TYPES[self.rule]

    def label(self, engine: Engine, rows: Table, value: Sql, of: Column) -> Sql:
        """Give the label of a value of a column of ``rows``, which are called ``s``."""
        size = literal(self.size)
        if self.rule == "prefixes":
            return sql("LEFT(CAST({v} AS TEXT), {size})", v=value, size=size)
        if self.rule == "dates":
            if kind_of(of.type) not in MOMENTS:
                raise self._unfit(of, "dates or timestamps")
            return sql("CAST(date_trunc({size}, CAST({v} AS DATE)) AS DATE)", v=value, size=size)
        if not is_number(of.type):
            raise self._unfit(of, "numbers")
        # whole numbers are divided exactly; NaN, and what has more than 38 digits, is nothing as NULL is
        below = value if kind_of(of.type) is Kind.WHOLE else sql("floor({v})", v=value)
        whole = sql("TRY_CAST({below} AS HUGEINT)", below=below)
        return sql("({n} - mod(mod({n}, {size}) + {size}, {size}))", n=whole, size=size)

    def _unfit(self, of: Column, what: str) -> InvalidSource:
        return InvalidSource(
            f"Column {of.name!r} holds {type_title(of.type)}, not {what}, which 'by {self}' is for.",
            "Cast it in a view, or leave 'by' out.",
        )


@dataclass(frozen=True)
class HierarchyLevel:
    """One level of the hierarchy in a file; NULL stays a value of its own."""

    path: str  # the file, as it was written: a line for each value, which comes first
    number: int  # which cell of a line is counted, from 1; the value itself is 0. A short line has its last
    # where the file was, and its SHA-256, when a release was made by it; empty before
    record: tuple[str, ...] = field(default=(), compare=False, repr=False)

    type = "VARCHAR"

    def __str__(self) -> str:
        named_so = _RULE.match(self.path) or _LEVEL.match(self.path)
        text = "'" + self.path.replace("'", "''") + "'"
        return f"{text if named_so else quote_value(self.path)} level {self.number}"

    def recorded(self) -> tuple[str, str]:
        """Say where the file is, and what it holds."""
        path, *digests = self.record or (self.path,)
        place = path if os.path.isfile(path) else self.path
        try:
            if not os.path.isfile(place):  # a pipe or a device has no end
                raise OSError
            digest = hashlib.sha256(Path(place).read_bytes()).hexdigest()
        except (OSError, ValueError):
            raise InvalidOption(
                f"The hierarchy {said(self.path)} cannot be read.", "Check the path."
            ) from None
        if digests not in ([], [digest]):
            raise InvalidOption(
                f"The hierarchy {said(self.path)} is not as it was when the release was made by it.",
                "Put back what it held, or give its present file to ppdm audit with --require.",
            )
        return os.path.abspath(place), digest

    def label(self, engine: Engine, rows: Table, value: Sql, of: Column) -> Sql:
        groups = self._groups(engine, rows, value, of)
        return sql("(SELECT max(g.label) FROM {groups} AS g WHERE g.value = {v})", groups=groups, v=value)

    def _groups(self, engine: Engine, rows: Table, value: Sql, of: Column) -> Table:
        """Write the values of the column into a working table ``value, label``."""
        from ppdm_sql.taxonomy.building import read_rows  # few requirements count by a hierarchy
        from ppdm_sql.taxonomy.model import Taxonomy
        from ppdm_sql.taxonomy.tables import leaf_codes

        place, _ = self.recorded()
        taxonomy = Taxonomy.from_csv(place)
        lines = {cells[0]: cells for _, cells in read_rows(place, ";")}
        most = max(map(len, lines.values())) - 1
        if self.number > most:
            raise InvalidOption(
                f"The hierarchy {said(self.path)} has no level {self.number}.",
                f"Give a level from 1 to {most}: level 1 is the cell after the value.",
            )
        query = """
SELECT v.value, row_number() OVER () - 1 AS code
FROM (SELECT DISTINCT {v} AS value FROM {rows} AS s WHERE {v} IS NOT NULL) AS v"""
        dictionary = engine.materialize("level_values", sql(query, v=value, rows=rows))
        text = kind_of(of.type) in (Kind.TEXT, Kind.ENUM)
        leaves = leaf_codes(engine, dictionary, taxonomy, column=of.name, text=text).tolist()
        if missing := sum(leaf < 0 for leaf in leaves):
            raise InvalidSource(
                f"{missing} of the {len(leaves)} values of column {of.name!r} are not in the hierarchy "
                f"{said(self.path)}.",
                "Give each a line there, or make them NULL in a view.",
            )
        paths = [lines[taxonomy.labels[leaf]] for leaf in leaves]
        labels = {"labels": [path[min(self.number, len(path) - 1)] for path in paths]}
        step = bind("taxonomy/level_groups", tables={"dictionary": dictionary})
        return engine.materialize("level_groups", step, labels)


AnyLevel = Level | HierarchyLevel


class LabelColumn(str):
    """The name of a column of labels, which no column of the table has; it knows what it is made of."""

    source: str
    level: AnyLevel


def hierarchies(requirements: Iterable[Requirement]) -> dict[str, tuple[str, str]]:
    """Say for the files of hierarchies that requirements name where they are, and what they hold."""
    levels = (requirement.level for requirement in requirements)
    return {level.path: level.recorded() for level in levels if isinstance(level, HierarchyLevel)}


def as_recorded(requirement: Requirement, record: Mapping[str, Sequence[str]]) -> Requirement:
    """Let a requirement of a release read the hierarchy that the release was made by, and no other."""
    level = requirement.level
    if not isinstance(level, HierarchyLevel) or level.path not in record:
        return requirement
    level = replace(level, record=tuple(record[level.path]))
    return cast("Requirement", replace(cast(Any, requirement), level=level))


def over_labels(requirement: Requirement, columns: Sequence[str]) -> Requirement:
    """Give what a requirement asks of a table that has the labels of its level in a column.

    Example:
        >>> from ppdm_sql.privacy import parse
        >>> str(over_labels(parse("distinct l >= 3 of icd by prefixes 1 on sex"), ["icd", "sex"]))
        'distinct l >= 3 of "icd by prefixes 1" on sex'
    """
    if (level := requirement.level) is None:
        return requirement
    (source,) = requirement.sensitive_columns
    name = LabelColumn(free_name(f"{source} by {level}", columns))
    name.source, name.level = source, level
    return cast("Requirement", replace(cast(Any, requirement), sensitive=name, level=None))


def sources(names: Iterable[str]) -> list[str]:
    """Give the columns that names and labels are read from, each once."""
    return list(dict.fromkeys(name.source if isinstance(name, LabelColumn) else name for name in names))


def with_labels(names: Iterable[str], columns: Iterable[Column]) -> list[Column]:
    """Give columns, and after them those of labels among some names."""
    labels = dict.fromkeys(name for name in names if isinstance(name, LabelColumn))
    return [*columns, *(Column(name, name.level.type) for name in labels)]


def label_expressions(
    engine: Engine, rows: Table, values: Mapping[str, Sql], names: Iterable[str], types: Mapping[str, str]
) -> dict[str, Sql]:
    """Give what to read of ``rows s`` for some names: the values of columns, or the labels made of them."""

    def expression(name: str) -> Sql:
        if not isinstance(name, LabelColumn):
            return values[name]
        return name.level.label(engine, rows, values[name.source], Column(name.source, types[name.source]))

    return {name: expression(name) for name in names}


def read_level(reader: Reader) -> AnyLevel | None:
    """Read ``by prefixes 1``, ``by dates year``, ``by ranges 10`` or ``by FILE level 1``, where it stands."""
    if not reader.accept(_BY):
        return None
    reader.example = "distinct l >= 3 of icd10 by prefixes 1 on sex, age"
    size = "one whole number above 0, of at most 9 digits"
    if rule := (reader.accept(_RULE) or "").lower():
        if rule == "dates":
            return Level(rule, reader.expect(_GROUP, "'month', 'quarter', 'year' or 'decade'").lower())
        return Level(rule, int(reader.expect(_SIZE, size)))
    path = None if reader.follows(_LEVEL) else reader.value(_RULES)
    if not path:
        raise reader.error(_RULES)
    reader.expect(_LEVEL, "'level' and its number, such as level 1")
    return HierarchyLevel(path, int(reader.expect(_SIZE, size)))
