"""Maps the values of a table to the labels of a release's cut, each distinct value once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from sqlglot import exp

from ppdm_sql.engine import Column, Engine, type_title
from ppdm_sql.engine.exact import exact_values
from ppdm_sql.engine.names import Table, column, option_for
from ppdm_sql.engine.statements import Statement, bind, joined, literal, sql, text
from ppdm_sql.engine.types import read, read_exactly, wide_type
from ppdm_sql.errors import InvalidOption, InvalidSource
from ppdm_sql.release.catalogue import CatalogueRow, parts
from ppdm_sql.release.draft import ReleasedColumn
from ppdm_sql.release.layout import Shape


@dataclass(frozen=True)
class Mapped:
    """A masked column, and what each value that a table has for it shows.

    Args:
        name: The released name.
        cell: The value in a row of the table, under the alias ``t``, as ``labels`` has it.
        labels: Working table ``(value, label, records, node, matched, seen)``, one row per value, with the
            leaf that it is or lies in.
        unseen: Records whose value the release does not know, so that they show the top.
    """

    name: str
    cell: exp.Expression
    labels: Table
    unseen: int


def mapped(
    engine: Engine, row: CatalogueRow, shape: Shape, source: Table, found: Mapping[str, Column]
) -> list[Mapped]:
    """Map every masked column of a release; the working tables last as long as the engine's workspace."""
    leaves, has_intervals = _leaves(engine, row, shape)
    mapping = _Mapping(engine, shape, source, leaves)
    return [
        mapping.of(item, found[item.name], has_intervals=has_intervals[item.name])
        for item in shape.columns
        if item.name in shape.masked
    ]


def _leaves(engine: Engine, row: CatalogueRow, shape: Shape) -> tuple[Table, dict[str, bool]]:
    """Gather the leaves of all trees, and tell which trees have intervals among them."""
    leaves, kinds = Table("leaves"), dict[str, bool]()
    if "taxonomies" in parts(engine):
        leaves = engine.materialize("leaves", text("release/leaves"), {"release": row.release})
        kinds = dict(engine.query(bind("release/tree_kinds", tables={"leaves": leaves}), step="tree_kinds"))
    missing = [name for name in shape.masked if name not in kinds]
    if missing:
        raise InvalidOption(
            f"The release {row.release!r}, made by ppdm-sql {row.version}, was published without the tree of "
            f"column {missing[0]!r}, so its cut cannot be applied.",
            "Publish it anew.",
        )
    return leaves, kinds


class _Types(NamedTuple):
    """The types in which a column is compared.

    Args:
        own: With labels that can be read as it without rounding.
        wide: The type that shows whether reading rounds.
        place: With the bounds of intervals; None where the column cannot be compared with them.
    """

    own: str
    wide: str
    place: str | None


@dataclass(frozen=True)
class _Mapping:
    """Maps one column after the other.

    Args:
        engine: Where the working tables are made.
        shape: The release; its count column is the table's.
        source: The table.
        leaves: Working table of the leaves of all trees.
    """

    engine: Engine
    shape: Shape
    source: Table
    leaves: Table

    def of(self, item: ReleasedColumn, found: Column, *, has_intervals: bool) -> Mapped:
        """Map one column, which the table spells and types as found."""
        types = self._types(item.name, found.type, has_intervals=has_intervals)
        cell: exp.Expression = column(found.name, "t")
        if not wide_type(found.type):
            cell = exp.cast(self._exactly(found), "TEXT")
        labels = self._labels(item, cell, types)
        query = bind("release/unseen", tables={"mapped_values": labels})
        ((unseen, any_value, any_matched),) = self.engine.query(query, step="unseen")
        if types.place is None and any_value and not any_matched:
            raise InvalidSource(
                f"Column {found.name!r} of table {self.source.name} holds {type_title(found.type)}, which "
                f"cannot be compared with the intervals of {self.shape.name!r}.",
                "Cast it, in a view, to the type that the column had when the release was made; "
                f"of a file, say it with {option_for('--types', found.name, 'TYPE')}.",
            )
        return Mapped(item.name, cell, labels, int(unseen))

    def _exactly(self, found: Column) -> exp.Expression:
        """Read a column so that values are equal only where their texts are, whatever its collation."""
        value = exact_values(self.engine, self.source, [found])[found.name].copy()
        return value.transform(lambda node: column(found.name, "t") if isinstance(node, exp.Column) else node)

    def _labels(self, item: ReleasedColumn, cell: exp.Expression, types: _Types) -> Table:
        tables = {
            "column_values": self.engine.materialize("column_values", self._values(cell, types)),
            "column_leaves": self.engine.materialize("column_leaves", self._typed_leaves(item.name, types)),
        }
        params: dict[str, object] = {"release": self.shape.name, "attribute": item.name}
        params |= {"top": self.shape.top(item.name), "suppressed": item.treatment == "suppressed"}
        return self.engine.materialize("mapped_values", bind("release/mapped_values", tables=tables), params)

    def _types(self, name: str, type_text: str, *, has_intervals: bool) -> _Types:
        """Choose the types: for bounds the column's own where it rounds none of them, else the wide one."""
        wide = wide_type(type_text)
        if wide is None:
            return _Types("VARCHAR", "VARCHAR", None if has_intervals else "VARCHAR")
        if not has_intervals:
            return _Types(type_text, wide, type_text)
        bounds = [column(bound, "l") for bound in ("lower", "upper")]
        there, rounded, unread = (
            joined([sql(form, b=bound, v=value) for bound, value in values], " OR ")
            for form, values in (
                ("{b} IS NOT NULL", [(bound, bound) for bound in bounds]),
                (_LOST, [(bound, read_exactly(bound, type_text, wide)) for bound in bounds]),
                (_LOST, [(bound, read(bound, wide)) for bound in bounds]),
            )
        )
        intervals = sql(
            "SELECT count_if({rounded}), count_if({unread}) FROM {leaves} AS l "
            "WHERE l.attribute = {name} AND ({there})",
            rounded=rounded,
            unread=unread,
            there=there,
            leaves=self.leaves,
            name=literal(name),
        )
        ((rounding, unreadable),) = self.engine.query(intervals, step="types")
        return _Types(type_text, wide, None if unreadable else wide if rounding else type_text)

    def _values(self, cell: exp.Expression, types: _Types) -> Statement:
        """Select the distinct values, each as it is and as it lies among bounds, with its records."""
        return sql(
            "SELECT d.value, {place} AS place, d.records FROM "
            "(SELECT {cell} AS value, {records} AS records FROM {source} AS t GROUP BY 1) AS d",
            place=read(column("value", "d"), types.place or types.own),
            cell=cell,
            records=self.shape.records("t"),
            source=self.source,
        )

    def _typed_leaves(self, name: str, types: _Types) -> Statement:
        """Select a column's leaves with labels and bounds in its types; without bounds none can be met."""
        lower, upper = (
            read(column(bound, "l") if types.place else exp.null(), types.place or types.own)
            for bound in ("lower", "upper")
        )
        # an interval without bounds holds every value, so for what cannot be compared nothing is one
        closed = column("closed", "l") if types.place else exp.null()
        return sql(
            "SELECT l.node, l.label, l.cut, CAST({closed} AS BOOLEAN) AS closed, {same} AS same, "
            "{lower} AS lower, {upper} AS upper FROM {leaves} AS l WHERE l.attribute = {name}",
            closed=closed,
            same=read_exactly(column("label", "l"), types.own, types.wide),
            lower=lower,
            upper=upper,
            leaves=self.leaves,
            name=literal(name),
        )


_LOST = "{b} IS NOT NULL AND {v} IS NULL"
"""Whether a bound that is there cannot be read."""
