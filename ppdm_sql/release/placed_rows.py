"""The rows of a table of the database as they are written elsewhere, compared with what is there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from ppdm_sql.engine import Engine
from ppdm_sql.engine.locations import RowsInParts, handed_type
from ppdm_sql.engine.names import Table, aliased, column
from ppdm_sql.engine.statements import Statement, bind, sql
from ppdm_sql.engine.types import type_tree
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
    def number(self) -> Statement:
        """How often each row is written."""
        number = 1 if self.unfolded is None else column(self.unfolded, "f")
        return sql("CAST({n} AS BIGINT)", n=number)

    def count(self, engine: Engine) -> int:
        """Count the rows that are written."""
        counted = "SELECT CAST(coalesce(sum({n}), 0) AS BIGINT) FROM {rows}"
        ((rows,),) = engine.query(sql(counted, n=self.number, rows=self.table), step="count rows")
        return int(rows)

    def rows(self) -> Statement:
        """Select ``v0, v1, ...``, ``n`` and ``place``, the row's number in the table."""
        values = [
            sql("{v} AS {name}", v=value, name=column(f"v{i}")) for i, value in enumerate(self.shown.values())
        ]
        return sql(
            "SELECT {values}, {n} AS n, row_number() OVER () AS place FROM {rows}",
            values=values,
            n=self.number,
            rows=self.table,
        )


def in_parts(engine: Engine, placed: PlacedRows, records: int) -> RowsInParts:
    """Write the SELECT that hands rows over in their stored order, numbered and cut into parts."""
    rows = engine.overlay(placed.rows())
    values = [
        sql("CAST({v} AS {type}) AS {v}", v=column(item.name), type=type_tree(handed_type(item.type)))
        for item in engine.columns(rows)
    ]
    released = engine.overlay(sql("SELECT {values} FROM {rows}", values=values, rows=rows))
    sizes = {"most": MOST_OF_ONE, "part": RECORDS_OF_A_PART}
    statement = bind("release/rows_in_parts", tables={"released": released}, values=sizes)
    return RowsInParts(statement, placed.names, max(1, -(-records // RECORDS_OF_A_PART)))


def differing(engine: Engine, placed: PlacedRows, landed: Table) -> int:
    """Count the distinct rows that are not as often in the database as they were counted elsewhere.

    Values are compared by their texts, since a type may be wider there. Cost: one GROUP BY of both.
    """
    names = [column(f"v{i}") for i in range(len(placed.shown))]
    ours = [
        sql("CAST({v} AS TEXT) AS {name}", v=value, name=name)
        for name, value in zip(names, placed.shown.values(), strict=True)
    ]
    theirs = [sql("CAST(l.{v} AS TEXT) AS {v}", v=name) for name in names]
    unequal = sql(
        """
SELECT count(*)
FROM (
    SELECT sum(b.n) AS n
    FROM (
        SELECT {ours}, {number} AS n FROM {rows}
        UNION ALL
        SELECT {theirs}, CAST(-l.n AS BIGINT) AS n FROM {landed} AS l
    ) AS b
    GROUP BY {names}
) AS s
WHERE s.n <> 0""",
        ours=ours,
        number=placed.number,
        rows=placed.table,
        theirs=theirs,
        landed=landed,
        names=names,
    )
    ((number,),) = engine.query(unequal, step="differing rows")
    return int(number)
