"""Lets the records of a table that lives elsewhere pass through a function there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from ppdm_sql.engine.duckdb_engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.engine.source import Query, Source

if TYPE_CHECKING:
    from ppdm_sql.engine.spark.source import SparkSource

Batches = Callable[[Iterator[Any]], Iterator[Any]]
"""Gets batches of Arrow and gives others."""
OTHER_VERSION = "ppdm-sql is of another version on this executor"
"""What such a function says where another version of the package runs it."""


@contextmanager
def drawn_elsewhere(
    engine: Engine, table: Table, names: Sequence[str], work: Batches, made: Table
) -> Iterator[None]:
    """Let an empty table stand in for what a function makes of a table that lives elsewhere.

    Args:
        engine: Where both tables stand in for others; inside a workspace.
        table: Stands in for the table.
        names: Its columns that the function gets, in this order.
        work: The function, which is sent to where the records are.
        made: Has the columns that it gives, with names of the package's own; it stands in for the rows for as
            long as the context lasts.

    Cost: see :func:`~ppdm_sql.engine.spark.drawing.drawn`.
    """
    from ppdm_sql.engine.spark.drawing import drawn

    source = cast("SparkSource", engine.sources[table])
    engine.sources[made] = drawn(source, names, work, engine.columns(made))
    try:
        yield
    finally:
        engine.sources.pop(made, None)


def selected_elsewhere(source: Source, query: Query, *, step: str) -> Source:
    """Give the rows that a query gives over a table that lives elsewhere; nothing is read yet.

    Args:
        source: The table.
        query: Gets it under the alias ``s``; its columns have names of the package's own.
        step: What is selected, for messages.
    """
    from ppdm_sql.engine.spark.drawing import selected_rows

    return selected_rows(cast("SparkSource", source), query, step)
