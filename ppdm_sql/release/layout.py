"""Where the parts of a release stand, and what its columns are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sqlglot import exp

from ppdm_sql.audit.collapsing import RecordedCut
from ppdm_sql.audit.noise import Moments
from ppdm_sql.engine.names import Table, alias, aliased, column
from ppdm_sql.engine.statements import Statement, sql
from ppdm_sql.release.draft import Draft, ReleasedColumn

SCHEMA = "ppdm"


@dataclass(frozen=True)
class Shape:
    """The objects of one release by name, and its columns.

    The frozen table is ``ppdm."release_NAME"``, a name that no table of the catalogue can have.

    Args:
        name: The release.
        catalog: The database it stands in, as it is called now.
        schema: The schema of the view and the macro.
        columns: The released columns, in order.
        count: The column that says how many records a row stands for, or None.
        symbol: What stands for a suppressed value.
        stepwise: Whether there are earlier states, and the macro that gives them.
        marginals: For columns that a method changed, the records of each value, as text, when published.
        moments: For columns with noisy numbers, their moments when published.
        person: Where requirements count persons, the column of the frozen table with a number for each, which
            nothing shows.
        persons: How many there are.
        first: The first step whose state keeps the requirements.
        outside: Whether the rows stand outside of the database alone; a view is in the place of the frozen
            table then, and reads their files.
        working: The working table that holds the rows while nothing is published; None for the frozen table.
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
    working: Table | None = None

    @classmethod
    def of_draft(cls, draft: Draft, catalog: str, schema: str) -> Shape:
        """Give the shape that a draft will have in a schema."""
        stepwise = draft.steps is not None
        named = draft.name, catalog, schema, draft.columns
        changed = draft.marginals, draft.moments
        made = cls(*named, draft.count, draft.symbol, stepwise, *changed)
        made = replace(made, person=draft.person, persons=draft.persons, first=draft.first)
        return replace(made, outside=draft.outside)

    @classmethod
    def of_record(cls, name: str, catalog: str, record: Mapping[str, Any]) -> Shape:
        """Read back what :meth:`record` wrote."""
        columns = tuple(ReleasedColumn(*item) for item in record["columns"])
        named = name, catalog, record["schema"], columns
        more = record.get("stepwise", True), record.get("marginals", {})
        moments = {name: Moments(*found) for name, found in record.get("moments", {}).items()}
        made = cls(*named, record["count"], record["symbol"], *more, moments)
        people = {key: record[key] for key in ("person", "persons", "first") if key in record}
        return replace(made, **people, outside=record.get("outside", False))

    def record(self) -> dict[str, object]:
        """Give what the catalogue keeps of it, as JSON can hold it."""
        columns = [list(item) for item in self.columns]
        record: dict[str, object] = {"schema": self.schema, "columns": columns}
        record |= {"count": self.count, "symbol": self.symbol}
        if self.person is not None:
            record |= {"person": self.person, "persons": self.persons, "first": self.first}
        if self.outside:
            record |= {"outside": True}
        if self.stepwise:
            return record
        return record | {"stepwise": False, "marginals": self.marginals, "moments": self.moments}

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
        """The names of the columns."""
        return tuple(item.name for item in self.columns)

    @property
    def people(self) -> tuple[str, ...]:
        """The column of the frozen table that says whose a row is; none where records are counted."""
        return () if self.person is None else (self.person,)

    @property
    def stored_names(self) -> tuple[str, ...]:
        """The names of the columns of the frozen table."""
        return (*self.names, *self.people)

    @property
    def masked(self) -> tuple[str, ...]:
        """The columns in which values may be suppressed or generalized."""
        masked = ("suppressed", "generalized")
        return tuple(item.name for item in self.columns if item.treatment in masked)

    def top(self, name: str) -> str:
        """Give what a masked column shows in the most general state."""
        (item,) = (item for item in self.columns if item.name == name)
        return self.symbol if item.top is None else item.top

    def cut(self, cuts: Table, trees: Table | None, release: str | None = None) -> RecordedCut:
        """Say where the cut is recorded, for the audit; the catalogue's tables hold those of all releases."""
        treated = {
            how: [item.name for item in self.columns if item.treatment == how]
            for how in ("suppressed", "generalized")
        }
        return RecordedCut(cuts, trees, release, treated["suppressed"], treated["generalized"], self.symbol)

    @property
    def recorded(self) -> RecordedCut:
        """The cut as the catalogue holds it."""
        return self.cut(Table("cuts", SCHEMA), Table("taxonomies", SCHEMA), self.name)

    def stored(self) -> exp.Table:
        """Give the table of the rows under the alias ``f``; the frozen one without the database.

        Databases may be renamed.
        """
        return aliased(self.working or Table(self.frozen.name, SCHEMA), "f")

    def rows(self) -> exp.Select:
        """Select the released columns from the frozen table, in their stored order."""
        shown = (self.shown(item) for item in self.columns)
        return exp.select(*shown, copy=False).from_(self.stored(), copy=False)

    def owned_rows(self) -> exp.Select:
        """Select the released columns and, for the owner's audits alone, whose each row is."""
        return self.rows().select(*(column(name, "f") for name in self.people))

    def shown(self, item: ReleasedColumn) -> exp.Expression:
        """Give a column of the frozen table ``f`` as the release shows it."""
        stored = column(item.name, "f")
        return alias(exp.cast(stored, "TEXT"), item.name) if item.packed else stored

    def records(self, table: str, *, where: exp.Expression | None = None) -> exp.Expression:
        """Count records: rows, or the sum of the count column; only those that meet a condition, if any."""
        rows = exp.Count(this=exp.Star()) if self.count is None else exp.Sum(this=column(self.count, table))
        counted = exp.Filter(this=rows, expression=exp.Where(this=where)) if where is not None else rows
        return exp.cast(
            exp.Coalesce(this=counted, expressions=[exp.convert(0)]), exp.DataType.Type.BIGINT, copy=False
        )


def record_count(shape: Shape) -> Statement:
    """Count the records of a release."""
    return sql("SELECT {records} FROM {rows}", records=shape.records("f"), rows=shape.stored())


def macro(view: Table) -> Table:
    """Name the table macro that belongs to a view: ``NAME_at``."""
    return Table(f"{view.name}_at", view.schema, view.catalog)
