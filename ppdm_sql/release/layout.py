"""What a method hands over to be published, and where its parts stand once it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, NamedTuple

from sqlglot import exp

from ppdm_sql.audit.collapsing import RecordedCut
from ppdm_sql.audit.noise import Moments
from ppdm_sql.engine.names import Table, alias, aliased, column, free_name
from ppdm_sql.engine.statements import Statement, sql
from ppdm_sql.privacy import Requirement

SCHEMA = "ppdm"

PRIVATE = ("record_person", "record_digest", "record_cohort")
"""Columns of the frozen table of an updatable release: whose each record is, a digest of its source values,
and the version in which it entered. Nothing shows them."""

Bound = Literal["lower bound", "upper bound"]
Changed = Literal["suppressed", "generalized", "swapped", "randomized", "discretized", "pseudonym"]
Treatment = Changed | Literal["sensitive", "class", "kept", "count"] | Bound
Stopped = Literal["complete", "max-steps", "interrupted"]
MeasureRow = tuple[str, float | None, float | None]
"""A number that is told of a release: its name, before, and after; None where it means nothing."""


class ReleasedColumn(NamedTuple):
    """A column of a release, as the source spells it, and what was done to it."""

    name: str
    treatment: Treatment
    packed: bool = False  # the frozen table holds an ENUM of the released texts; all else shows text
    top: str | None = None  # what a masked column shows in the most general state; None is the symbol
    of: str | None = None  # for a bound, the generalized column whose interval it belongs to
    type: str | None = None  # for a bound, its SQL type
    bins: Sequence[str] | None = None  # for a swapped column of numbers, the labels of its bins, in order
    noise: str | None = None  # for a randomized or discretized column, in the language of ``--noise``
    moved: int | None = None  # for dates that were moved before all else, by how many days at most


class Measured(NamedTuple):
    """One measure of a release: in the source, and in the release; None where it means nothing."""

    measure: str
    before: float | None
    after: float | None


def person_column(released: Iterable[str]) -> str:
    """Name the column of persons of a frozen table so that no released column has the name.

    Example:
        >>> person_column(["zip"]), person_column(["Person_Number"])
        ('person_number', 'person_number_')
    """
    return free_name("person_number", released)


@dataclass(frozen=True)
class Shape:
    """The objects of one release by name, and its columns.

    The frozen table is ``ppdm."release_NAME"``, a name that no table of the catalogue can have.
    """

    name: str
    columns: tuple[ReleasedColumn, ...]
    count: str | None = None  # the released column that says how many records a row stands for
    symbol: str = ""
    catalog: str = ""  # the database it stands in, as it is called now; a draft learns it at the end
    schema: str = ""  # of the view and the macro
    stepwise: bool = True  # whether there are earlier states, and the macro that gives them
    # for columns that a method changed, the records of each value, as text, in the release
    marginals: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    moments: Mapping[str, Moments] = field(default_factory=dict)  # for columns with noisy numbers
    person: str | None = None  # the column with a number for each person, which nothing shows, if any
    persons: int | None = None  # how many there are
    first: int = 0  # the first step whose state keeps the requirements, as do all after it
    # whether the rows stand outside of the database alone: a view that reads them is in the table's place
    outside: bool = False
    updatable: bool = False
    working: Table | None = None  # holds the rows instead: before they are published, of an earlier version

    @classmethod
    def of_record(cls, name: str, catalog: str, record: Mapping[str, Any]) -> Shape:
        """Read back what :meth:`record` wrote."""
        kept = {item.name: record[item.name] for item in fields(cls) if item.name in record}
        kept["columns"] = tuple(ReleasedColumn(*item) for item in record["columns"])
        kept["moments"] = {column: Moments(*found) for column, found in record.get("moments", {}).items()}
        return cls(name=name, catalog=catalog, **kept)

    def record(self) -> dict[str, object]:
        """Give what the catalogue keeps of it, as JSON can hold it."""
        columns = [list(item if item.moved else item[:-1]) for item in self.columns]
        record: dict[str, object] = {"schema": self.schema, "columns": columns}
        record |= {"count": self.count, "symbol": self.symbol}
        if self.person is not None:
            record |= {"person": self.person, "persons": self.persons, "first": self.first}
        if self.outside:
            record["outside"] = True
        if self.updatable:
            record["updatable"] = True
        if not self.stepwise:
            record |= {"stepwise": False, "marginals": self.marginals, "moments": self.moments}
        return record

    @property
    def frozen(self) -> Table:
        return Table(f"release_{self.name}", SCHEMA, self.catalog)

    @property
    def view(self) -> Table:
        return Table(self.name, self.schema, self.catalog)

    @property
    def macro(self) -> Table:
        return macro(self.view)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(item.name for item in self.columns)

    @property
    def people(self) -> tuple[str, ...]:
        """The column of the frozen table that says whose a row is; none where records are counted."""
        return () if self.person is None else (self.person,)

    @property
    def stored_names(self) -> tuple[str, ...]:
        return (*self.names, *(PRIVATE if self.updatable else ()), *self.people)

    @property
    def masked(self) -> tuple[str, ...]:
        """The columns in which values may be suppressed or generalized."""
        return tuple(item.name for item in self.columns if item.treatment in ("suppressed", "generalized"))

    def top(self, name: str) -> str:
        """Give what a masked column shows in the most general state."""
        (item,) = (item for item in self.columns if item.name == name)
        return self.symbol if item.top is None else item.top

    def cut(self, cuts: Table, trees: Table | None, release: str | None = None) -> RecordedCut:
        """Say where the cut is recorded, for the audit; the catalogue's tables hold those of all releases."""
        suppressed, generalized = (
            [item.name for item in self.columns if item.treatment == how]
            for how in ("suppressed", "generalized")
        )
        return RecordedCut(cuts, trees, release, suppressed, generalized, self.symbol)

    @property
    def recorded(self) -> RecordedCut:
        return self.cut(Table("cuts", SCHEMA), Table("taxonomies", SCHEMA), self.name)

    def stored(self) -> exp.Table:
        """Give the table of the rows under the alias ``f``; without the database, which may be renamed."""
        return aliased(self.working or Table(self.frozen.name, SCHEMA), "f")

    def rows(self) -> exp.Select:
        """Select the released columns from the frozen table, in their stored order."""
        shown = (alias(self.shown(i), i.name) if i.packed else self.shown(i) for i in self.columns)
        return exp.select(*shown, copy=False).from_(self.stored(), copy=False)

    def owned_rows(self) -> exp.Select:
        """Select the released columns and, for the owner's audits alone, whose each row is."""
        return self.rows().select(*(column(name, "f") for name in self.people))

    def shown(self, item: ReleasedColumn) -> exp.Expression:
        """Give a value of the frozen table ``f`` as the release shows it."""
        stored = column(item.name, "f")
        return exp.cast(stored, "TEXT") if item.packed else stored

    def records(self, table: str, *, where: Statement | None = None) -> Statement:
        """Count records: rows, or the sum of the count column; only those that meet a condition, if any."""
        number = sql("count(*)") if self.count is None else sql("sum({n})", n=column(self.count, table))
        if where is not None:
            number = sql("{n} FILTER (WHERE {where})", n=number, where=where)
        return sql("CAST(coalesce({n}, 0) AS BIGINT)", n=number)


@dataclass(frozen=True)
class Version:
    number: int = 1
    entered: int = 0  # records that are in no earlier version
    gone: int = 0  # records of the version before that are not in this one
    waiting: int = 0  # new records that are left out until a later version


@dataclass(frozen=True, kw_only=True)
class Draft(Shape):
    """A release that is ready but not yet published."""

    method: str
    source: str  # the table as the user wrote it; stays with the owner
    requirements: tuple[Requirement, ...] = ()
    parameters: Mapping[str, object]  # options of the method, as JSON can hold them
    stopped: Stopped = "complete"
    # of exactly ``columns``, the private ones of a version and ``person``; in the order of values
    select: str
    number: int  # of records
    steps: Table | None = None  # as the catalogue has them; of a method that descends step by step
    cuts: Table | None = None
    measures: tuple[MeasureRow, ...] = ()
    taxonomies: Table | None = None  # one row per node of a masked column's tree, ``shown`` if in the cut
    # the method's own audit of the rows that are shown, after that of the requirements; gives more measures
    accept: Callable[[exp.Select], Sequence[MeasureRow]] | None = None
    settle: Callable[[], None] | None = None  # called when nothing is left to do but to commit
    # the count column, where the run collapsed its source: outside a row is written for each record
    unfolded: str | None = None
    control: Table | None = None  # the records that were split off, which the owner keeps
    compose: Callable[[Draft], None] | None = None  # tells what is given away together with other releases
    version: Version | None = None  # of a release that is updatable


def record_count(shape: Shape) -> Statement:
    return sql("SELECT {records} FROM {rows}", records=shape.records("f"), rows=shape.stored())


def macro(view: Table, of: Literal["at", "version"] = "at") -> Table:
    """Name the table macro of the earlier states of a view, ``NAME_at``, or of its versions."""
    return Table(f"{view.name}_{of}", view.schema, view.catalog)
