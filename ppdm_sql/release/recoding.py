"""The records of a table as the cut of a release shows them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.count_column import check_counts, count_column
from ppdm_sql.engine.names import Table, alias, aliased, column, resolve
from ppdm_sql.engine.source import is_stand_in, source_of
from ppdm_sql.engine.statements import render
from ppdm_sql.engine.types import has_enum, plain_type
from ppdm_sql.privacy import Requirement
from ppdm_sql.release.catalogue import CatalogueRow
from ppdm_sql.release.draft import ReleasedColumn
from ppdm_sql.release.labels import bin_label, bound_beside
from ppdm_sql.release.layout import Shape
from ppdm_sql.release.mapping import Mapped, mapped


@dataclass(frozen=True)
class Recoding:
    """The columns of a release that a table has, and what its values show.

    Args:
        shape: The release; its count column is the table's, or None where the table has none.
        source: The table.
        found: The released columns that the table has too, as the table spells and types them.
        maps: The masked columns, with working tables that last as long as the engine's workspace.
    """

    shape: Shape
    source: Table
    found: Mapping[str, Column]
    maps: tuple[Mapped, ...]

    @classmethod
    def of(cls, engine: Engine, row: CatalogueRow, shape: Shape, source: Table) -> Recoding:
        """Map the values of a table."""
        columns = engine.columns(source)
        found = _found(shape, columns, source)
        count = found[shape.count].name if shape.count in found else None
        if count is not None:
            count_column(count, columns, table=source.name)
            check_counts(engine, source, count)
        counted = replace(shape, count=count)
        return cls(counted, source, found, tuple(mapped(engine, row, counted, source, found)))

    def rows(self) -> exp.Select:
        """Select the recoded rows, in no order: the released columns that the table has, and the bounds."""
        rows = aliased(self.source, "t")
        labels = {item.name: column("label", f"m{number}") for number, item in enumerate(self.maps)}
        values = (self._value(item, labels) for item in self.shape.columns)
        query = exp.select(*(value for value in values if value is not None)).from_(rows)
        for number, item in enumerate(self.maps):
            same = exp.NullSafeEQ(this=column("value", f"m{number}"), expression=item.cell.copy())
            joined = aliased(item.labels, f"m{number}")
            query.append("joins", exp.Join(this=joined, side="LEFT", on=same))
        return query

    def size(self, engine: Engine) -> tuple[int, int]:
        """Count the table's rows and records."""
        rows = aliased(self.source, "t")
        counted = exp.select(exp.Count(this=exp.Star()), self.shape.records("t")).from_(rows)
        ((number, records),) = engine.query(render(counted), step="size")
        return number, records

    def _value(self, item: ReleasedColumn, labels: Mapping[str, exp.Expression]) -> exp.Expression | None:
        """Give what the table made shows in a column; None where it lacks the column."""
        if item.name in labels:
            return alias(labels[item.name].copy(), item.name)
        if (bound := bound_beside(item, labels.get(item.of or "", exp.null()))) is not None:
            return alias(bound, item.name)
        if item.name not in self.found:
            return None
        name, type_text = self.found[item.name]
        value: exp.Expression = column(name, "t")
        if item.bins:
            value = bin_label(value, item.bins, type_text)
        elif has_enum(type_text):
            value = exp.cast(value, plain_type(type_text))
        return alias(value, item.name)


def collapsed_elsewhere(engine: Engine, shape: Shape, source: Table) -> tuple[Table, Shape, str | None]:
    """Let a table that is not in DuckDB be collapsed where it is."""
    if not is_stand_in(engine, source):
        return source, shape, None
    columns = engine.columns(source)
    found = _found(shape, columns, source)
    count = found[shape.count].name if shape.count in found else None
    if count is not None:
        count_column(count, columns, table=source.name)
        check_counts(engine, source, count)
    names = [item.name for item in found.values() if item.name != count]
    read = source_of(engine, source).counted(engine, names, count)
    if read.count is None or count is not None:
        return read.table, shape, None
    others = [item for item in shape.columns if item.name != shape.count]
    unfolded = replace(shape, columns=(*others, ReleasedColumn(read.count, "count")), count=read.count)
    return read.table, unfolded, read.count


def _found(shape: Shape, columns: list[Column], source: Table) -> dict[str, Column]:
    """Find the released columns in a table: the masked ones all, the others where they are."""
    names = {item.name.lower(): item for item in columns}
    masked = {
        name: resolve(name, [item.name for item in columns], table=source.name) for name in shape.masked
    }
    left_out = ("pseudonym", "lower bound", "upper bound")
    others = [item.name for item in shape.columns if item.treatment not in left_out]
    wanted = {name: masked.get(name, name).lower() for name in others}
    return {name: names[spelled] for name, spelled in wanted.items() if spelled in names}


def in_known_classes(
    rows: exp.Select, shape: Shape, requirements: Sequence[Requirement], there: Collection[str]
) -> exp.Select:
    """Select those of some recoded rows whose class, for each requirement, is one of the release."""
    query = exp.select(*(column(name, "r") for name in rows.named_selects)).from_(rows.subquery("r"))
    spelled = {name.lower(): name for name in shape.names}
    asked = dict.fromkeys(
        tuple(sorted(spelled.get(name.lower(), name) for name in requirement.attributes))
        for requirement in requirements
    )
    for number, names in enumerate(asked):
        if not set(names) <= set(there):
            continue
        same = [_alike(column(n, f"k{number}"), column(n, "r"), n in shape.masked) for n in names]
        known = exp.select(*(column(name, "x") for name in names)).distinct()
        known = known.from_(shape.rows().subquery("x"))
        known_rows = exp.alias_(known.subquery(), f"k{number}", table=True)
        query.append("joins", exp.Join(this=known_rows, kind="SEMI", on=exp.and_(*same)))
    return query


def _alike(known: exp.Column, new: exp.Column, masked: bool) -> exp.NullSafeEQ:
    """Compare a released value with a new one; labels as texts, since one side may be of values alone."""
    sides = [exp.cast(side, "TEXT") for side in (known, new)] if masked else [known, new]
    return exp.NullSafeEQ(this=sides[0], expression=sides[1])
