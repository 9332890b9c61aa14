"""What a method hands over to be published, and where its parts stand once it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
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
    """A column of a release and what was done to it.

    Args:
        name: Its name, as the source spells it.
        treatment: ``suppressed`` (values may be hidden behind the symbol), ``generalized`` (values are shown
            as nodes of a taxonomy or as intervals), ``lower bound`` and ``upper bound`` (of the interval that
            another column shows, NULL where it shows none), ``swapped`` (some values are exchanged),
            ``randomized`` (noise was added, or values replaced at random), ``discretized`` (values are shown
            as their cells), ``sensitive``, ``class`` and ``kept`` (as they are), ``pseudonym``, or ``count``
            (how many records the row stands for).
        packed: Whether the frozen table stores its text as an ENUM of the released values; the view and
            every export show text.
        top: What a masked column shows in the most general state; None is the symbol.
        of: For a bound, the generalized column whose interval it belongs to.
        type: For a bound, its SQL type.
        bins: For a swapped column that was numbers, the labels of its bins, in order.
        noise: For a randomized or discretized column, its noise in the language of ``--noise``.
        moved: For dates that were moved before all else, by how many days at most.
    """

    name: str
    treatment: Treatment
    packed: bool = False
    top: str | None = None
    of: str | None = None
    type: str | None = None
    bins: Sequence[str] | None = None
    noise: str | None = None
    moved: int | None = None


class Measured(NamedTuple):
    """One measure of a release: in the source, and in the release; None where it means nothing."""

    measure: str
    before: float | None
    after: float | None


@dataclass(frozen=True)
class Draft:
    """A release that is ready but not yet published.

    Args:
        source: The source table as the user wrote it; stays with the owner.
        parameters: Options of the method, as JSON can hold them.
        select: A SELECT of exactly ``columns``, ordered by released values only.
        count: The released column that says how many records a row stands for.
        symbol: What stands for a suppressed value.
        rows: Number of records.
        steps: Working table ``(step, attribute, parent, children, score, gain, loss)``; None for a method
            that does not descend step by step, whose release has no earlier states.
        cuts: Working table ``(attribute, value, generalized)``, or None.
        taxonomies: Working table ``(attribute, node, parent, label, lower, upper, closed, shown)``, one row
            per node of a masked column's tree; ``lower``, ``upper`` and ``closed`` (upper bound included) for
            intervals, ``shown`` for the nodes of the cut.
        marginals: For columns that a method changed, the records of each value, as text, in the release.
        moments: For columns with noisy numbers, how many values, their mean and standard deviation there.
        accept: The method's own audit of the rows as the release shows them, after that of the requirements;
            raises :class:`~ppdm_sql.errors.GuaranteeNotMet`, else gives further measures.
        settle: Called when nothing is left to do but to commit.
        person: Where requirements count persons, the last column of ``select``, with a number for each; the
            frozen table keeps it, and nothing shows it.
        persons: How many there are.
        first: The first step whose state keeps the requirements, as do all after it.
        unfolded: The count column, where the run collapsed its source itself: outside of the database rows
            are written one for each record, without it.
        outside: Whether the rows were written outside of the database and stand nowhere else; ``select``
            reads them there.
        control: Working table with the records that were split off, or None; the owner keeps them.
        compose: Called when the cut is recorded: tells what the release gives away together with others.
        version: Of a release that is updatable, which version it is; ``select`` has the private columns, too,
            before ``person``.
    """

    name: str
    method: str
    source: str
    requirements: tuple[Requirement, ...]
    parameters: Mapping[str, object]
    stopped: Stopped
    select: str
    count: str | None
    columns: tuple[ReleasedColumn, ...]
    symbol: str
    rows: int
    steps: Table | None
    cuts: Table | None
    measures: tuple[MeasureRow, ...] = ()
    taxonomies: Table | None = None
    marginals: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    moments: Mapping[str, Moments] = field(default_factory=dict)
    accept: Callable[[exp.Select], Sequence[MeasureRow]] | None = None
    settle: Callable[[], None] | None = None
    person: str | None = None
    persons: int | None = None
    first: int = 0
    unfolded: str | None = None
    outside: bool = False
    control: Table | None = None
    compose: Callable[[], None] | None = None
    version: Version | None = None


@dataclass(frozen=True)
class Version:
    """A version of an updatable release.

    Args:
        number: From 1.
        entered: Records that are in no earlier version.
        gone: Records of the version before that are not in this one.
        waiting: New records that are left out until a later version.
    """

    number: int = 1
    entered: int = 0
    gone: int = 0
    waiting: int = 0


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

    The frozen table is ``ppdm."release_NAME"``, a name that no table of the catalogue can have. What a draft
    has, too, is the same here.

    Args:
        catalog: The database it stands in, as it is called now.
        schema: The schema of the view and the macro.
        stepwise: Whether there are earlier states, and the macro that gives them.
        outside: Whether a view that reads files is in the place of the frozen table.
        working: What holds the rows instead of the frozen table: a working table while nothing is published,
            or the table of an earlier version.
    """

    name: str
    catalog: str
    schema: str
    columns: tuple[ReleasedColumn, ...]
    count: str | None
    symbol: str
    stepwise: bool = True
    marginals: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    moments: Mapping[str, Moments] = field(default_factory=dict)
    person: str | None = None
    persons: int | None = None
    first: int = 0
    outside: bool = False
    updatable: bool = False
    working: Table | None = None

    @classmethod
    def of_draft(cls, draft: Draft, catalog: str, schema: str) -> Shape:
        """Give the shape that a draft will have in a schema."""
        alike = ("marginals", "moments", "person", "persons", "first", "outside")
        named = draft.name, catalog, schema, draft.columns, draft.count, draft.symbol, draft.steps is not None
        more = {name: getattr(draft, name) for name in alike}
        return cls(*named, **more, updatable=draft.version is not None)

    @classmethod
    def of_record(cls, name: str, catalog: str, record: Mapping[str, Any]) -> Shape:
        """Read back what :meth:`record` wrote."""
        columns = tuple(ReleasedColumn(*item) for item in record["columns"])
        moments = {column: Moments(*found) for column, found in record.get("moments", {}).items()}
        optional = ("stepwise", "marginals", "person", "persons", "first", "outside", "updatable")
        more = {key: record[key] for key in optional if key in record}
        named = name, catalog, record["schema"], columns, record["count"], record["symbol"]
        return cls(*named, moments=moments, **more)

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
        """The table that holds the rows."""
        return Table(f"release_{self.name}", SCHEMA, self.catalog)

    @property
    def view(self) -> Table:
        """The view that the user named."""
        return Table(self.name, self.schema, self.catalog)

    @property
    def macro(self) -> Table:
        """The table macro of earlier states."""
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
        """The names of the columns of the frozen table."""
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
        """The cut as the catalogue holds it."""
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


def record_count(shape: Shape) -> Statement:
    """Count the records of a release."""
    return sql("SELECT {records} FROM {rows}", records=shape.records("f"), rows=shape.stored())


def macro(view: Table) -> Table:
    """Name the table macro that belongs to a view: ``NAME_at``."""
    return Table(f"{view.name}_at", view.schema, view.catalog)


def version_macro(view: Table) -> Table:
    """Name the table macro of the versions of an updatable release: ``NAME_version``."""
    return Table(f"{view.name}_version", view.schema, view.catalog)
