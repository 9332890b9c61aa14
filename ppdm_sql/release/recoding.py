"""The records of a table as the cut of a release shows them: each distinct value is mapped once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from sqlglot import exp

from ppdm_sql.engine import Column, Engine, type_title
from ppdm_sql.engine.exact import exact_values
from ppdm_sql.engine.names import Table, alias, aliased, column, option_for, resolve
from ppdm_sql.engine.source import check_counts, count_column, is_stand_in, source_of
from ppdm_sql.engine.statements import Statement, bind, joined, literal, sql, text
from ppdm_sql.engine.types import has_enum, plain_type, read, read_exactly, wide_type
from ppdm_sql.errors import InvalidOption, InvalidSource
from ppdm_sql.privacy import Requirement
from ppdm_sql.release.catalogue import CatalogueRow, parts
from ppdm_sql.release.control import refuse_moved
from ppdm_sql.release.labels import bin_label, bound_beside
from ppdm_sql.release.layout import ReleasedColumn, Shape


@dataclass(frozen=True)
class Mapped:
    """A masked column, and what each value that a table has for it shows."""

    name: str
    cell: exp.Expression  # the value in a row ``t`` of the table, as ``labels`` has it
    labels: Table  # ``(value, label, records, node, matched, seen)``, a row for each value, with its leaf
    unseen: int  # records whose value the release does not know, so that they show the top


@dataclass(frozen=True)
class Recoding:
    """The columns of a release that a table has, and what its values show, as long as the workspace lasts."""

    shape: Shape  # its count column is the table's, or None where the table has none
    source: Table
    found: Mapping[str, Column]  # the released columns that the table has, as it spells and types them
    maps: tuple[Mapped, ...]

    @classmethod
    def of(cls, engine: Engine, row: CatalogueRow, shape: Shape, source: Table) -> Recoding:
        """Map the values of a table, whose masked columns are scanned once."""
        refuse_moved(row)
        found, count = _found(engine, shape, source)
        counted = replace(shape, count=count)
        return cls(counted, source, found, tuple(mapped(engine, row, counted, source, found)))

    def rows(self) -> exp.Select:
        """Select the recoded rows, in no order: the released columns that the table has, and the bounds.

        Masked columns are text; pseudonyms are left out.
        """
        labels = {item.name: column("label", f"m{number}") for number, item in enumerate(self.maps)}
        shown = ((item.name, self._value(item, labels)) for item in self.shape.columns)
        query = exp.select(*(alias(value, name) for name, value in shown if value is not None))
        query = query.from_(aliased(self.source, "t"), copy=False)
        for number, item in enumerate(self.maps):
            same = exp.NullSafeEQ(this=column("value", f"m{number}"), expression=item.cell.copy())
            query = query.join(aliased(item.labels, f"m{number}"), on=same, join_type="left", copy=False)
        return query

    def size(self, engine: Engine) -> tuple[int, int]:
        records = self.shape.records("t")
        counted = sql("SELECT count(*), {records} FROM {t} AS t", records=records, t=self.source)
        ((number, records),) = engine.query(counted, step="size")
        return number, records

    def _value(self, item: ReleasedColumn, labels: Mapping[str, exp.Expression]) -> exp.Expression | None:
        """Give what the table made shows in a column; None where it lacks the column."""
        if item.name in labels:
            return labels[item.name].copy()
        if (bound := bound_beside(item, labels.get(item.of or "", exp.null()))) is not None:
            return bound
        if item.name not in self.found:
            return None
        name, type_text = self.found[item.name]
        value = column(name, "t")
        if item.bins:
            return bin_label(value, item.bins, type_text)
        return exp.cast(value, plain_type(type_text)) if has_enum(type_text) else value


def collapsed_elsewhere(engine: Engine, shape: Shape, source: Table) -> tuple[Table, Shape, str | None]:
    """Let a table that is not in DuckDB be collapsed where it is."""
    if not is_stand_in(engine, source):
        return source, shape, None
    found, count = _found(engine, shape, source)
    names = [item.name for item in found.values() if item.name != count]
    read = source_of(engine, source).counted(engine, names, count)
    if read.count is None or count is not None:
        return read.table, shape, None
    others = [item for item in shape.columns if item.name != shape.count]
    unfolded = replace(shape, columns=(*others, ReleasedColumn(read.count, "count")), count=read.count)
    return read.table, unfolded, read.count


def _found(engine: Engine, shape: Shape, source: Table) -> tuple[dict[str, Column], str | None]:
    """Find the released columns in a table, the masked ones all, and its count column, which is checked."""
    columns = engine.columns(source)
    spelled = {item.name.lower(): item for item in columns}
    left_out = ("pseudonym", "lower bound", "upper bound")
    found = dict[str, Column]()
    for item in shape.columns:
        name = item.name
        if name in shape.masked:
            name = resolve(name, [other.name for other in columns], table=source.name)
        if item.treatment not in left_out and name.lower() in spelled:
            found[item.name] = spelled[name.lower()]
    count = found[shape.count].name if shape.count in found else None
    if count is not None:
        count_column(count, columns, table=source.name)
        check_counts(engine, source, count)
    return found, count


def in_known_classes(
    rows: exp.Select, shape: Shape, requirements: Sequence[Requirement], there: Collection[str]
) -> Statement:
    """Select those of some recoded rows whose class, for each requirement, is one of the release."""
    spelled = {name.lower(): name for name in shape.names}
    asked = dict.fromkeys(
        tuple(sorted(spelled.get(name.lower(), name) for name in requirement.attributes))
        for requirement in requirements
    )
    known = [
        sql(
            "SEMI JOIN (SELECT DISTINCT {names} FROM ({released}) AS x) AS k{n} ON {same}",
            names=[column(name, "x") for name in names],
            released=shape.rows(),
            n=number,
            same=joined([_alike(name, f"k{number}", name in shape.masked) for name in names], " AND "),
        )
        for number, names in enumerate(asked)
        if set(names) <= set(there)
    ]
    return sql("SELECT r.* FROM ({rows}) AS r {known}", rows=rows, known=joined(known, " "))


def _alike(name: str, known: str, masked: bool) -> Statement:
    """Compare a released value with a new one; labels as texts, since one side may be of values alone."""
    value = "CAST({c} AS TEXT)" if masked else "{c}"
    sides = (sql(value, c=column(name, table)) for table in (known, "r"))
    return joined(sides, " IS NOT DISTINCT FROM ")


# -- values and their labels ------------------------------------------------------------------------


def mapped(
    engine: Engine, row: CatalogueRow, shape: Shape, source: Table, found: Mapping[str, Column]
) -> list[Mapped]:
    """Map every masked column of a release; the working tables last as long as the engine's workspace."""
    leaves, kinds = Table("leaves"), dict[str, bool]()
    if "taxonomies" in parts(engine):
        leaves = engine.materialize("leaves", text("release/leaves"), {"release": row.release})
        kinds = dict(engine.query(bind("release/tree_kinds", tables={"leaves": leaves}), step="tree_kinds"))
    masked = [item for item in shape.columns if item.name in shape.masked]
    for item in masked:
        if item.name not in kinds:
            raise InvalidOption(
                f"The release {row.release!r}, made by ppdm-sql {row.version}, was published without the "
                f"tree of column {item.name!r}, so its cut cannot be applied.",
                "Publish it anew.",
            )
    exact = exact_values(engine, source, [found[item.name] for item in masked])
    return [_mapped(engine, shape, source, leaves, item, found[item.name], exact, kinds) for item in masked]


def _mapped(
    engine: Engine,
    shape: Shape,
    source: Table,
    leaves: Table,
    item: ReleasedColumn,
    found: Column,
    exact: Mapping[str, exp.Expression],
    kinds: Mapping[str, bool],
) -> Mapped:
    """Map one column, which the table spells and types as found."""
    types = _types(engine, leaves, item.name, found.type, has_intervals=kinds[item.name])
    cell: exp.Expression = column(found.name, "t")
    if not wide_type(found.type):  # values are equal only where their texts are, whatever the collation
        own = exact[found.name].copy()
        value = own.transform(lambda node: cell.copy() if isinstance(node, exp.Column) else node)
        cell = exp.cast(value, "TEXT")
    values = sql(
        "SELECT d.value, {place} AS place, d.records FROM "
        "(SELECT {cell} AS value, {records} AS records FROM {source} AS t GROUP BY 1) AS d",
        place=read(column("value", "d"), types.place or types.own),
        cell=cell,
        records=shape.records("t"),
        source=source,
    )
    tables = {
        "column_values": engine.materialize("column_values", values),
        "column_leaves": engine.materialize("column_leaves", _typed_leaves(leaves, item.name, types)),
    }
    params: dict[str, object] = {"release": shape.name, "attribute": item.name}
    params |= {"top": shape.top(item.name), "suppressed": item.treatment == "suppressed"}
    labels = engine.materialize("mapped_values", bind("release/mapped_values", tables=tables), params)
    query = bind("release/unseen", tables={"mapped_values": labels})
    ((unseen, any_value, any_matched),) = engine.query(query, step="unseen")
    if types.place is None and any_value and not any_matched:
        raise InvalidSource(
            f"Column {found.name!r} of table {source.name} holds {type_title(found.type)}, which "
            f"cannot be compared with the intervals of {shape.name!r}.",
            "Cast it, in a view, to the type that the column had when the release was made; "
            f"of a file, say it with {option_for('--types', found.name, 'TYPE')}.",
        )
    return Mapped(item.name, cell, labels, int(unseen))


class _Types(NamedTuple):
    own: str  # with labels that can be read as it without rounding
    wide: str  # shows whether reading rounds
    place: str | None  # with the bounds of intervals; None where the column cannot be compared with them


def _types(engine: Engine, leaves: Table, name: str, type_text: str, *, has_intervals: bool) -> _Types:
    """Choose the types: for bounds the column's own where it rounds none of them, else the wide one."""
    wide = wide_type(type_text)
    if wide is None:
        return _Types("VARCHAR", "VARCHAR", None if has_intervals else "VARCHAR")
    if not has_intervals:
        return _Types(type_text, wide, type_text)
    bounds = [column(bound, "l") for bound in ("lower", "upper")]

    def lost(reading: Callable[[exp.Expression], exp.Expression]) -> Statement:
        is_lost = "{bound} IS NOT NULL AND {read} IS NULL"
        return joined([sql(is_lost, bound=bound, read=reading(bound)) for bound in bounds], " OR ")

    intervals = sql(
        "SELECT count_if({rounded}), count_if({unread}) FROM {leaves} AS l WHERE l.attribute = {name}",
        rounded=lost(lambda bound: read_exactly(bound, type_text, wide)),
        unread=lost(lambda bound: read(bound, wide)),
        leaves=leaves,
        name=literal(name),
    )
    ((rounding, unreadable),) = engine.query(intervals, step="types")
    return _Types(type_text, wide, None if unreadable else wide if rounding else type_text)


def _typed_leaves(leaves: Table, name: str, types: _Types) -> Statement:
    """Select a column's leaves with labels and bounds in its types; without bounds none can be met."""
    lower, upper = (
        read(column(bound, "l") if types.place else exp.null(), types.place or types.own)
        for bound in ("lower", "upper")
    )
    return sql(
        "SELECT l.node, l.label, l.cut, CAST({closed} AS BOOLEAN) AS closed, {same} AS same, "
        "{lower} AS lower, {upper} AS upper FROM {leaves} AS l WHERE l.attribute = {name}",
        # an interval without bounds holds every value, so for what cannot be compared nothing is one
        closed=column("closed", "l") if types.place else exp.null(),
        same=read_exactly(column("label", "l"), types.own, types.wide),
        lower=lower,
        upper=upper,
        leaves=leaves,
        name=literal(name),
    )
