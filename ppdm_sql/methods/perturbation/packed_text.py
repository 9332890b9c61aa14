"""Carried text as numbers: noisy rows hold its ENUM codes, which are sorted and stored in its stead.

Noisy rows are one a record, and their release is a sort of all of them. Text takes 16 bytes a value there,
and more in the sort's keys; a code takes one or two. The release shows text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.names import Table, aliased
from ppdm_sql.engine.statements import render
from ppdm_sql.methods.base import released_rows
from ppdm_sql.methods.base.collapse import Kept


def packed_text(
    engine: Engine, table: Table, kept: Sequence[Kept], columns: Mapping[str, Column], records: int
) -> dict[str, exp.Expression]:
    """Make an ENUM type of each carried column of text that has few values; none in a small table.

    Args:
        engine: Where the source is.
        table: The source, read under the alias ``s``.
        kept: The carried columns, none of which may hold text that is not released.
        columns: The columns of the source, by name.
        records: How many records there are.

    Returns:
        By the name of a column, the expression that gives its value in its type.

    Cost: one scan of the columns of text, and one of each that is packed.
    """
    texts = [item for item in kept if columns[item.name].type == "VARCHAR"]
    if records < released_rows.WORTH_PACKING or not texts:
        return {}
    few = [
        exp.ApproxDistinct(this=item.expression.copy()).between(1, released_rows.MOST_PACKED)
        for item in texts
    ]
    (found,) = engine.query(render(exp.select(*few).from_(aliased(table, "s"))), step="text values")
    return {
        item.name: _in_type(item.expression, _type_of(engine, table, item.expression))
        for item, is_few in zip(texts, found, strict=True)
        if is_few
    }


def _type_of(engine: Engine, table: Table, value: exp.Expression) -> Table:
    """Make the type of the values that occur, in their order."""
    values = exp.select(value.copy()).distinct().from_(aliased(table, "s"))
    values = values.where(value.is_(exp.null()).not_())
    return engine.enumerate_values(f"{render(values)} ORDER BY ALL")


def _in_type(value: exp.Expression, kind: Table) -> exp.Expression:
    return exp.cast(value.copy(), exp.DataType.build(str(kind), dialect="duckdb", udt=True))
