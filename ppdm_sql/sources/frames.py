"""Tables in memory: pandas, polars and Arrow tables and DuckDB relations, none of which need be installed."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import duckdb

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.errors import InvalidSource, kind_of

_ARROW = ("Table", "RecordBatch", "RecordBatchReader")
_FRAMES = {
    **dict.fromkeys((("pyarrow", name) for name in _ARROW), "Arrow table"),
    ("pandas", "DataFrame"): "pandas data frame",
    ("polars", "DataFrame"): "polars data frame",
    ("polars", "LazyFrame"): "polars data frame",
    ("duckdb", "DuckDBPyRelation"): "DuckDB relation",
    ("_duckdb", "DuckDBPyRelation"): "DuckDB relation",
}
"""What a class is called in messages, by the package that it comes from."""


def frame_kind(given: object) -> str | None:
    """Name the kind of a frame; None for what is none, such as the name of a table.

    Example:
        >>> import pyarrow
        >>> frame_kind(pyarrow.table({"a": [1]})), frame_kind("visits")
        ('Arrow table', None)
    """
    for kind in type(given).__mro__:
        package = kind.__module__.partition(".")[0]
        if found := _FRAMES.get((package, kind.__name__)):
            return found
    return None


def refuse_names(frame: Any, shown: str) -> None:
    """Refuse a frame whose columns cannot be named in a requirement.

    Raises:
        InvalidSource: A name is no text, or empty, or there twice; case does not tell names apart.
    """
    names = _names(frame)
    if not names:
        raise InvalidSource(f"The {shown} has no columns.", "Give one with columns.")
    for place, name in enumerate(names, start=1):
        if not isinstance(name, str):
            raise InvalidSource(
                f"Column {place} of the {shown} is named by {kind_of(name)}, not by a text.",
                "Rename it first, such as df.columns = [str(name) for name in df.columns].",
            )
        if not name or "\0" in name:
            raise InvalidSource(f"Column {place} of the {shown} has no usable name.", "Give it a name first.")
    lowered = [name.lower() for name in names]
    for name in names:
        if lowered.count(name.lower()) > 1:
            raise InvalidSource(
                f"The {shown} has two columns called {name!r}; upper and lower case count as the same.",
                "Rename one of them first.",
            )


def _names(frame: Any) -> list[Any]:
    if hasattr(frame, "collect_schema"):  # a lazy frame of polars
        return list(frame.collect_schema().names())
    if hasattr(frame, "schema") and hasattr(frame.schema, "names"):
        return list(frame.schema.names)
    return list(frame.columns)


@contextmanager
def readable(engine: Engine, frame: Any, shown: str) -> Iterator[Table]:
    """Let the engine read a frame under a private name.

    Raises:
        InvalidSource: DuckDB cannot read it.
    """
    name = f"ppdm_{secrets.token_hex(8)}"
    _register(engine, name, frame, shown)
    try:
        yield Table(name)
    finally:
        engine.connection.unregister(name)


def _register(engine: Engine, name: str, frame: Any, shown: str) -> None:
    """Register a frame; a relation of another database is read into memory first."""
    try:
        engine.connection.register(name, frame)
    except Exception as cause:  # pandas, polars and Arrow have errors of their own, which may quote cells
        if "Relation" not in type(frame).__name__:
            raise unreadable_frame(shown, cause) from None
    else:
        return
    try:
        engine.connection.register(name, _in_memory(frame))
    except Exception as cause:
        raise unreadable_frame(shown, cause) from None


def unreadable_frame(shown: str, cause: Exception) -> InvalidSource:
    """Say that a frame cannot be read; the cause is named by its kind, as its text may quote a cell."""
    if "open result" in str(cause):
        return InvalidSource(
            f"The {shown} belongs to a connection on which another result is not read to its end.",
            "Read or close that result first.",
        )
    return InvalidSource(
        f"The {shown} cannot be read ({type(cause).__name__}).",
        "Give each column values of one kind; objects, and texts among numbers, cannot be read.",
    )


def _in_memory(relation: duckdb.DuckDBPyRelation) -> Any:
    return relation.to_arrow_table()


def like(given: Any) -> Callable[[duckdb.DuckDBPyRelation], Any]:
    """Give what turns rows into a frame of the kind that was given.

    Raises:
        InvalidSource: It is no frame.

    Example:
        >>> import pyarrow
        >>> like(pyarrow.table({"a": [1]}))(duckdb.sql("SELECT 2 AS a")).to_pylist()
        [{'a': 2}]
    """
    kind = frame_kind(given)
    if kind == "pandas data frame":
        return lambda rows: rows.df()
    if kind == "polars data frame":
        return lambda rows: _as_polars(rows, lazy=type(given).__name__ == "LazyFrame")
    if kind == "DuckDB relation":  # on duckdb's own connection, as that of the run is closed
        return lambda rows: duckdb.from_arrow(rows.to_arrow_table())
    if kind is None:
        raise InvalidSource(
            f"This takes a data frame, not {kind_of(given)}.",
            "Give a pandas, polars or Arrow table or a DuckDB relation; files and tables go to a method of "
            "ppdm_sql.open(...).",
        )
    if type(given).__name__ == "RecordBatchReader":
        return lambda rows: rows.to_arrow_table().to_reader()
    if type(given).__name__ == "RecordBatch":
        return lambda rows: _one_batch(rows.to_arrow_table())
    return lambda rows: rows.to_arrow_table()


def _as_polars(rows: duckdb.DuckDBPyRelation, *, lazy: bool) -> Any:
    import polars  # it made the frame that was given

    frame: Any = polars.from_arrow(rows.to_arrow_table())
    return frame.lazy() if lazy else frame


def _one_batch(table: Any) -> Any:
    return table.combine_chunks().to_batches()[0]
