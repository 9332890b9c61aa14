"""Selects and keeps rows of a table that lives elsewhere, there."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from ppdm_sql.engine.source import Query, Source

if TYPE_CHECKING:
    from ppdm_sql.engine.spark.source import SparkSource


def selected_elsewhere(source: Source, query: Query, *, step: str) -> Source:
    """Give the rows that a query gives over a table that lives elsewhere; nothing is read yet.

    Args:
        source: The table.
        query: Gets it under the alias ``s``; its columns have names of the package's own.
        step: What is selected, for messages.
    """
    from ppdm_sql.engine.spark.drawing import selected_rows

    return selected_rows(cast("SparkSource", source), query, step)


def kept_elsewhere(source: Source, query: Query, *, step: str, number: str | None = None) -> Source:
    """Let the rows that a query gives over a table that lives elsewhere be kept there for as long as needed.

    Args:
        source: The table.
        query: Gets it under the alias ``s``; its columns have names of the package's own.
        step: What is kept, for messages.
        number: A column with a number of each row, ascending as they are read; None for no such column.

    Cost: see :func:`~ppdm_sql.engine.spark.drawing.kept_rows`.
    """
    from ppdm_sql.engine.spark.drawing import kept_rows

    return kept_rows(cast("SparkSource", source), query, step, number)
