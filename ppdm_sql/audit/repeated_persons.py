"""Tells where rows are taken for persons and seem not to be: somebody has several of them.

A column that is to single persons out, since it is a direct identifier or is called like one, should have
about as many values as there are rows. Where it has at most half as many, most rows share their person with
others, and a count of rows promises less than it seems to.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlglot import exp

from ppdm_sql.audit.column_kinds import is_named_for_persons
from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.names import Table, column, names_option
from ppdm_sql.engine.source import source_of
from ppdm_sql.engine.types import Kind, kind_of

FEWER = 2
"""A notice is given where there are at least so many rows for each value, on average."""
LEAST_VALUES = 10
"""Columns with fewer values single nobody out, whatever they are called."""


def repeated_persons(
    engine: Engine,
    table: Table,
    columns: Iterable[Column],
    identifiers: Sequence[str] = (),
    *,
    otherwise: str = "requirements count rows",
    beside: str = "",
) -> list[str]:
    """Say which columns seem to say whose a row is, and have far fewer values than there are rows.

    Args:
        engine: Where the table is.
        table: The table, of which a row is a record.
        columns: Its columns.
        identifiers: Those that are direct identifiers.
        otherwise: What is done as long as nobody says whose a row is.
        beside: What must be given beside ``--person``, in words that follow it.

    Returns:
        A notice for the column with the most values; nothing where all is well. It holds counts, no values.

    Cost: one scan of the columns in question with approximate counts; none where there are none.
    """
    source = source_of(engine, table)
    asked = [
        item.name
        for item in columns
        if item.name in identifiers
        or (is_named_for_persons(item.name) and kind_of(item.type) not in (Kind.BOOLEAN, Kind.REAL))
    ]
    asked = [name for name in asked if name not in source.unreadable()]
    if not asked:
        return []
    counts: list[exp.Expression] = []
    for name in asked:
        value = column(name, "s")
        counts += [exp.ApproxDistinct(this=value), exp.Count(this=value.copy())]
    (found,) = source.aggregate(lambda rows: exp.select(*counts).from_(rows), step="repeated_persons")
    sizes = {name: (int(found[2 * i]), int(found[2 * i + 1])) for i, name in enumerate(asked)}
    few = {name: size for name, size in sizes.items() if LEAST_VALUES <= size[0] <= size[1] / FEWER}
    if not few:
        return []
    name = max(few, key=lambda one: few[one][0])
    values, rows = few[name]
    return [
        f"{name} has about {_rounded(values)} values in {rows:,} rows, and {otherwise}. If it says whose "
        f"record a row is, give {names_option('--person', [name])}{beside}."
    ]


def _rounded(number: int) -> str:
    """Write an estimate with two digits.

    Example:
        >>> _rounded(40_213), _rounded(12)
        ('40,000', '12')
    """
    power = max(0, len(str(number)) - 2)
    return f"{round(number, -power):,}"
