"""Which columns a tree may look at, and what each of their values is to it: a place or a category.

Numbers, dates, times and booleans have places in their order. So has what a method made of them: an interval
the place of its lower bound, a value that is shown the place of that value. All else, text, the suppressed
symbol, NULL and names of groups, is a category.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from ppdm_sql.engine import Column
from ppdm_sql.engine.names import column, resolve
from ppdm_sql.engine.types import MOMENTS, Kind, is_number, kind_of
from ppdm_sql.errors import InvalidSource
from ppdm_sql.release import Treatment
from ppdm_sql.release.interval_labels import bound_of
from ppdm_sql.release.layout import Shape

MASKED: tuple[Treatment, ...] = ("suppressed", "generalized", "swapped")
FEATURES: tuple[Treatment, ...] = (*MASKED, "sensitive", "kept")
TEXT = "text"


@dataclass(frozen=True)
class Feature:
    """A released column that helps to predict the class."""

    name: str
    type: str  # its type in the source
    treatment: Treatment  # what the release did to it
    released: bool = False  # whether it is read as released, rather than as the source has it

    @property
    def masked(self) -> bool:
        """Whether a method may have masked or swapped its values."""
        return self.treatment in MASKED

    def value(self, name: str) -> exp.Expression:
        """Give the value to read from the column ``name`` of ``s``: text where no order is known."""
        read = column(name, "s")
        is_label = self.released and self.masked
        return exp.cast(read, "TEXT") if is_label or family(self.type) == TEXT else read

    def place(self, value: exp.Expression) -> exp.Expression:
        """Give what a value is ordered by; NULL where it is a category."""
        if family(self.type) == TEXT:
            return exp.null()
        if not (self.released and self.masked):
            return value
        shown = exp.TryCast(this=value.copy(), to=exp.DataType.build(self.type, dialect="duckdb"))
        if self.treatment != "generalized":
            return shown
        return exp.Coalesce(this=bound_of(value, "lower bound", self.type), expressions=[shown])


def features(
    shape: Shape, source: Sequence[Column], *, table: str, label: str | None = None
) -> tuple[Feature, ...]:
    """List the features of a release, as the source has them.

    Pseudonyms, counts, bounds beside an interval, and the class itself, ``label``, are none.
    """
    types = dict(source)
    found = [
        (resolve(item.name, list(types), table=table), item.treatment)
        for item in shape.columns
        if item.treatment in FEATURES and item.name != label
    ]
    return tuple(Feature(name, types[name], treatment) for name, treatment in found)


def check_families(found: Sequence[Feature], columns: Sequence[Column], *, table: str) -> None:
    """Refuse a test table that lacks a column, or has one of another kind than the source's."""
    types = dict(columns)
    for feature in found:
        name = resolve(feature.name, list(types), table=table)
        here, there = family(types[name]), family(feature.type)
        if here != there:
            raise InvalidSource(
                f"Column {name!r} of table {table} holds values of the kind {here}, the source {there}.",
                "Cast it in a view, and test on that.",
            )


def family(type_text: str) -> str:
    """Tell which values can be put in one order with those of a type.

    Example:
        >>> [family(text) for text in ("DECIMAL(8,2)", "DATE", "INTEGER[]", "ENUM('a')")]
        ['number', 'date', 'text', 'text']
    """
    if is_number(type_text):
        return "number"
    kind = kind_of(type_text)
    if kind in MOMENTS:
        return "date"
    return kind.value if kind in (Kind.TIME, Kind.INTERVAL, Kind.BOOLEAN) else TEXT
