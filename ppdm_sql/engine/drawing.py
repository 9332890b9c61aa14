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
