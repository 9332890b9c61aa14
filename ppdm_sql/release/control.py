"""Records that were split off before a release was made: people who are not in it, to compare with."""

from __future__ import annotations

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table, column
from ppdm_sql.engine.statements import sql
from ppdm_sql.errors import EngineError, InvalidSource, UnknownTable
from ppdm_sql.release.catalogue import CatalogueRow
from ppdm_sql.release.layout import SCHEMA

CONTROL = "control"
"""Key under which the parameters of a release say what share of the source was split off, if any was."""


def control_table(release: str) -> Table:
    """Name the table that keeps them; it is the owner's, and nothing exports it."""
    return Table(f"control_{release}", SCHEMA)


def control_of(engine: Engine, row: CatalogueRow) -> Table | None:
    """Give the records that were split off for a release; None where none were."""
    if row.parameters.get(CONTROL) is None:
        return None
    table = control_table(row.release)
    try:
        return engine.find(str(table))
    except UnknownTable as cause:
        raise InvalidSource(
            f"The table {table}, with the records split off for {row.release!r}, is not in this database.",
            "Make the release anew.",
        ) from cause


def made_from(engine: Engine, row: CatalogueRow, source: Table | None = None) -> Table:
    """Find the records that a release was made from: its source, without those that were split off.

    A source, or some records of it, may be given where it is not found by the name in the catalogue. Costs a
    copy of the source where some were split off.
    """
    try:
        source = source or engine.find(row.source)
    except UnknownTable as cause:
        raise InvalidSource(
            f"The table {row.source!r}, from which {row.release!r} was made, is not in this database.",
            "A table that lives elsewhere is first copied here; release and evaluate the copy.",
        ) from cause
    control = control_of(engine, row)
    if control is None:
        return source
    names = [item.name for item in engine.columns(control)]
    count = row.parameters.get("count")
    columns = [column(name) for name in names if name != count]
    query = sql("SELECT {c} FROM {s} EXCEPT ALL SELECT {c} FROM {t}", c=columns, s=source, t=control)
    if count is not None:
        query = sql(
            "SELECT {c}, sum({n}) AS {n} FROM (SELECT {c}, {n} FROM {s} "
            "UNION ALL SELECT {c}, -CAST({n} AS HUGEINT) FROM {t}) GROUP BY ALL HAVING sum({n}) > 0",
            c=columns,
            n=column(count),
            s=source,
            t=control,
        )
    try:
        return engine.materialize("rest", query)
    except EngineError as cause:
        raise changed(row) from cause


def changed(row: CatalogueRow) -> InvalidSource:
    """Say that a source is not what it was."""
    return InvalidSource(
        f"The table {row.source!r} is not what it was when {row.release!r} was made from it.",
        "Make the release anew, then evaluate that.",
    )
