"""The rows of a table of the database as they are written elsewhere, compared with what is there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from ppdm_sql.engine import Engine, statements
from ppdm_sql.engine.locations import RowsInParts, handed_type
from ppdm_sql.engine.names import Table, alias, aliased, column
from ppdm_sql.engine.statements import render
from ppdm_sql.release.layout import Shape

MOST_OF_ONE = 100_000
"""Records of one combination that are written out together."""
RECORDS_OF_A_PART = 2_000_000
"""Records that one hand writes."""


@dataclass(frozen=True)
class PlacedRows:
    """A table of the database whose rows stand elsewhere, too.

    Args:
        table: The table, under the alias ``f``.
        shown: What is written, by name, over ``f``.
        unfolded: The column that says how many rows each stands for there, and is not written; None where
            rows are written as they are.
    """

    table: exp.Expression
    shown: Mapping[str, exp.Expression]
    unfolded: str | None

    @classmethod
    def of(cls, shape: Shape, unfolded: str | None) -> PlacedRows:
        """Give those of a release."""
        items = ((item.name, shape.shown(item)) for item in shape.columns if item.name != unfolded)
        shown = {name: value.this if isinstance(value, exp.Alias) else value for name, value in items}
        return cls(shape.stored(), shown, unfolded)

    @classmethod
    def of_table(cls, table: Table, names: Sequence[str], unfolded: str | None) -> PlacedRows:
        """Give those of a table that is no release."""
        return cls(aliased(table, "f"), {n: column(n, "f") for n in names if n != unfolded}, unfolded)

    @property
    def names(self) -> list[str]:
        """The columns that are written."""
        return list(self.shown)

    @property
    def number(self) -> exp.Expression:
        """How often each row is written."""
        number = exp.convert(1) if self.unfolded is None else column(self.unfolded, "f")
        return exp.cast(number, "BIGINT")

    def count(self, engine: Engine) -> int:
        """Count the rows that are written."""
        total = exp.Coalesce(this=exp.Sum(this=self.number), expressions=[exp.convert(0)])
        counted = exp.select(exp.cast(total, "BIGINT")).from_(self.table.copy())
        ((rows,),) = engine.query(render(counted), step="count rows")
        return int(rows)

    def rows(self) -> exp.Select:
        """Select ``v0, v1, ...``, ``n`` and ``place``, the row's number in the table."""
        values = (alias(value.copy(), f"v{i}") for i, value in enumerate(self.shown.values()))
        place = alias(exp.Window(this=exp.RowNumber()), "place")
        return exp.select(*values, alias(self.number, "n"), place).from_(self.table.copy())


def in_parts(engine: Engine, placed: PlacedRows, records: int) -> RowsInParts:
    """Write the SELECT that hands rows over in their stored order, numbered and cut into parts."""
    rows = engine.overlay(placed.rows())
    types = {item.name: handed_type(item.type) for item in engine.columns(rows)}
    values = [
        alias(exp.Cast(this=column(name), to=exp.DataType.build(kind, dialect="duckdb")), name)
        for name, kind in types.items()
    ]
    released = engine.overlay(exp.select(*values).from_(rows.expression()))
    sizes = {"most": MOST_OF_ONE, "part": RECORDS_OF_A_PART}
    sql = statements.bind("release/rows_in_parts", tables={"released": released}, values=sizes)
    return RowsInParts(sql, placed.names, max(1, -(-records // RECORDS_OF_A_PART)))


def differing(engine: Engine, placed: PlacedRows, landed: Table) -> int:
    """Count the distinct rows that are not as often in the database as they were counted elsewhere.

    Values are compared by their texts, since a type may be wider there. Cost: one GROUP BY of both.
    """
    names = [f"v{i}" for i in range(len(placed.shown))]
    ours = _sided(dict(zip(names, placed.shown.values(), strict=True)), placed.number)
    theirs = _sided({name: column(name, "l") for name in names}, exp.Neg(this=column("n", "l")))
    sides = [ours.from_(placed.table.copy()), theirs.from_(aliased(landed, "l"))]
    both = exp.Subquery(this=statements.union_all(sides), alias=exp.TableAlias(this=exp.to_identifier("b")))
    total = alias(exp.Sum(this=column("n", "b")), "n")
    sums = exp.select(total).from_(both).group_by(*(column(name, "b") for name in names))
    unequal = exp.select(exp.Count(this=exp.Star())).from_(sums.subquery("s"))
    ((number,),) = engine.query(render(unequal.where(column("n", "s").neq(0))), step="differing rows")
    return int(number)


def _sided(values: Mapping[str, exp.Expression], number: exp.Expression) -> exp.Select:
    """Select values as texts, and how often they are there."""
    texts = (alias(exp.cast(value.copy(), "TEXT"), name) for name, value in values.items())
    return exp.select(*texts, alias(exp.cast(number, "BIGINT"), "n"))
