"""The few values of a column whose table lives elsewhere, for classes and categories."""

from __future__ import annotations

from sqlglot import exp

from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.names import Table, alias, column
from ppdm_sql.engine.source import source_of

VALUE, RECORDS = "value", "records"
"""The columns of what is listed."""


def values_elsewhere(engine: Engine, table: Table, item: Column, most: int) -> Table:
    """Write different values of a column with their records, NULL aside, into a working table.

    Args:
        engine: Where the working table is made; inside a workspace.
        table: Stands in for the table.
        item: The column.
        most: How many values at most, whichever they are.

    Raises:
        InvalidSource: The column cannot be read.

    Cost: one GROUP BY where the table lives.
    """

    def listing(rows: exp.Expression) -> exp.Expression:
        value = column(item.name, "s")
        known = value.is_(exp.null()).not_()
        counted = alias(exp.Count(this=exp.Star()), RECORDS)
        grouped = exp.select(alias(value, VALUE), counted).from_(rows).where(known)
        return grouped.group_by(value.copy()).limit(most)

    columns = [Column(VALUE, item.type), Column(RECORDS, "BIGINT")]
    return source_of(engine, table).grouped(engine, listing, columns, step="values")
