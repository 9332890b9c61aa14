"""The one place that decides what is meant where a table's name may stand: a table, a file or a frame."""

from __future__ import annotations

import functools
import inspect
import os
import secrets
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, ParamSpec, TypeAlias, TypeVar

import duckdb

from ppdm_sql.engine import Engine
from ppdm_sql.engine.duckdb_engine import ReadSource
from ppdm_sql.engine.names import Table, listed, refuse_alike, table_name
from ppdm_sql.engine.source import Source as Elsewhere
from ppdm_sql.engine.source import find_elsewhere, is_here, stand_in
from ppdm_sql.engine.statements import sql
from ppdm_sql.errors import EngineError, InvalidOption, InvalidSource, UnknownTable, kind_of
from ppdm_sql.progress import Progress, SilentProgress, WarningProgress
from ppdm_sql.sources.column_types import Said, applied, load_texts, told_of_texts, types_said
from ppdm_sql.sources.files import (
    alike,
    files_of,
    is_data_file,
    is_read_once,
    is_remote,
    kind_of_file,
    read_csv,
    read_other,
    readable_twice,
    refuse_other,
    unreadable,
    without_secrets,
)

Source: TypeAlias = Any
"""The name of a table or view, the path of a file or pattern of paths, or a frame."""

_COPIED = "it was copied into a private temporary file, which is removed again."
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
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
Split: TypeAlias = Callable[[Any], tuple[Any, str | int | None]]


@contextmanager
def given(
    engine: Engine,
    source: Source,
    types: Mapping[str, str] | None = None,
    nulls: str | Sequence[str] = (),
    *,
    strict: bool = True,
    called: str | None = None,
    elsewhere: bool = False,
    progress: Progress | None = None,
) -> Iterator[str]:
    """Give the name under which the engine finds a source, for as long as the context lasts.

    A table or view of the name comes first, where other tables live or in DuckDB. Else a text is the path of
    a file, or a pattern of paths. Files and frames are read once, into a temporary table.
    """
    said = Said(
        types_said(engine, types), listed(() if nulls is None else nulls, "Texts that stand for NULL")
    )
    kind = frame_kind(source)
    there, table = None, None
    if kind is None:
        source = table_name(source)
        if source in engine.given:  # named twice in one call
            yield source
            return
        there = _elsewhere(engine, source, progress)
        table = None if there else _table(engine, source)
    listener = progress or SilentProgress()
    with engine.workspace():
        if table is None or said:
            listener.start(f"reading {without_secrets(source) if kind is None else f'the {kind}'}")
        name = source
        if there is not None:
            read = _stood_in(engine, source, there, said, elsewhere)
        elif kind is not None:
            name = _free_name(engine, kind)
            read = _read_frame(engine, name, source, said, kind, strict=strict)
        elif table is not None:
            read = _read_table(engine, source, table, said, strict=strict)
        else:
            name = called or without_secrets(source)
            read = _read_files(engine, name, source, said, strict=strict)
        engine.given[name] = read
        try:
            for text in read.notices:
                listener.notice(text)
            yield name
            if there is not None:
                there.check_unchanged()
        finally:
            engine.given.pop(name, None)


def _elsewhere(engine: Engine, name: str, progress: Progress | None) -> Elsewhere | None:
    """Find a table where other tables live; what is called like a file of texts is one here."""
    of_texts = kind_of_file(name) in ("csv", "json") or is_read_once(name)
    if of_texts and "/" in name:
        return None
    return find_elsewhere(engine, name, progress, may_be_file=of_texts)


def _stood_in(engine: Engine, name: str, found: Elsewhere, said: Said, welcome: bool) -> ReadSource:
    """Let a stand-in be found in the place of a table that lives elsewhere."""
    if said:
        raise InvalidOption(
            f"{name} has the types of its columns where it lives, and --types and --null are for files.",
            "Leave them out, and cast in a view there.",
        )
    if not welcome:
        raise InvalidSource(
            f"This reads tables of DuckDB and files, and {name} lives elsewhere.",
            "Copy what is needed of it into the DuckDB file first.",
        )
    return ReadSource(stand_in(engine, found))


@contextmanager
def read_again(engine: Engine, source: str, how: Mapping[str, Any], release: str) -> Iterator[None]:
    """Read what a release was made from once more, under the name that the catalogue has for it."""
    kind, types, nulls = how.get("kind"), dict(how.get("types", {})), how.get("nulls", ())
    if source in engine.given or (kind is None and not types and not nulls):
        yield
        return
    if kind == "attached" and not is_here(engine, source):
        name = how.get("database")
        raise InvalidSource(
            f"The release {release!r} was made from {source}, in a database that is not attached.",
            f"Attach it again, such as --attach 'PATH AS {name}'.",
        )
    if kind == "stream":
        raise InvalidSource(
            f"The release {release!r} was made from {source}, which can be read only once, and is not kept.",
            "Make the release from a table or a file.",
        )
    if kind not in (None, "attached", "file"):
        raise InvalidSource(
            f"What the release {release!r} was made from, a frame in memory ({kind}), is not kept.",
            "Make the release from a table or a file, or give the frame to ppdm_sql.evaluate.",
        )
    path = how.get("path", source)
    try:
        with given(engine, path, types, nulls, strict=False, called=source):
            yield
    except UnknownTable:
        raise InvalidSource(
            f"The file {source} from which {release!r} was made is not where it was.", "Put it back there."
        ) from None


def _table(engine: Engine, name: str) -> Table | None:
    """Find a table or view; what else the name can be is told in the error."""
    try:
        return engine.find(name)
    except UnknownTable as unknown:
        if is_data_file(name):
            return None
        refuse_other(name)
        none_here = "no tables" in unknown.remedy
        raise UnknownTable(unknown.problem, unknown.remedy + alike(name, always=none_here)) from None


def _read_table(engine: Engine, name: str, table: Table, said: Said, *, strict: bool) -> ReadSource:
    """Read a table as it stands; a copy of it only where something is said of its columns."""
    catalog, _ = engine.current()
    attached = table.catalog not in (catalog, "temp", None)
    how = {"kind": "attached", "database": table.catalog} if attached else {}
    if not said:  # a view may take long to read
        return ReadSource(table, how, told_of_texts(engine, table, name) if table.stable else ())
    rows = sql("SELECT * FROM {table}", table=table)
    made = engine.materialize("load", rows, name=name)
    _, notices = applied(engine, made, said, name, strict=strict, of_texts=False)
    return ReadSource(made, how | _how_read(said), notices)


def _read_frame(engine: Engine, name: str, frame: Any, said: Said, kind: str, *, strict: bool) -> ReadSource:
    _refuse_names(frame, kind)
    with _readable(engine, frame, kind) as view:
        try:
            made = engine.materialize("load", sql("SELECT * FROM {view}", view=view), name=name)
        except EngineError as cause:
            raise _unreadable_frame(kind, cause) from None
        _, notices = applied(engine, made, said, f"the {kind}", strict=strict, of_texts=False)
    return ReadSource(made, {"kind": kind}, notices)


def _read_files(engine: Engine, name: str, path: str, said: Said, *, strict: bool) -> ReadSource:
    kind, files = files_of(engine, path)
    of_texts = kind == "csv"
    with readable_twice(files) as found:
        rows, notices = (
            read_csv(engine, found, said.types, name) if of_texts else (read_other(kind, found), [])
        )
        try:
            if of_texts:
                made = load_texts(engine, rows, said, name)
            else:
                made = engine.materialize("load", rows, name=name)
        except EngineError as cause:
            raise cause if cause.explained else unreadable(kind, cause.engine_text, name) from None
        types, told = applied(engine, made, said, name, strict=strict, of_texts=of_texts)
    notices += told
    if of_texts and not engine.size(made):
        notices.append(f"{name} holds no records, only names.")
    how = _how_read(Said(types, said.nulls))
    if found != files:
        copied = f"{name} can be read only once: {_COPIED}"
        return ReadSource(made, {"kind": "stream", **how}, [copied, *notices])
    place = {} if is_remote(path) else {"path": os.path.abspath(path)}
    return ReadSource(made, {"kind": "file", **place, **how}, notices)


def _how_read(said: Said) -> dict[str, Any]:
    types = {name: " ".join(kind).strip() for name, kind in said.types.items()}
    return ({"types": types} if types else {}) | ({"nulls": list(said.nulls)} if said.nulls else {})


def _free_name(engine: Engine, kind: str) -> str:
    taken = {table.name.lower() for table in engine.tables()} | {name.lower() for name in engine.given}
    number, name = 1, kind
    while name.lower() in taken:
        number += 1
        name = f"{kind} {number}"
    return name


# -- frames ------------------------------------------------------------------------------------


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


def _refuse_names(frame: Any, shown: str) -> None:
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
    refuse_alike(names, f"The {shown}", "Rename one of them first.")


def _names(frame: Any) -> list[Any]:
    if hasattr(frame, "collect_schema"):  # a lazy frame of polars
        return list(frame.collect_schema().names())
    if hasattr(frame, "schema") and hasattr(frame.schema, "names"):
        return list(frame.schema.names)
    return list(frame.columns)


@contextmanager
def _readable(engine: Engine, frame: Any, shown: str) -> Iterator[Table]:
    name = f"ppdm_{secrets.token_hex(8)}"
    try:
        try:
            engine.connection.register(name, frame)
        except Exception:
            if "Relation" not in type(frame).__name__:
                raise
            engine.connection.register(name, frame.to_arrow_table())  # it belongs to another database
    except Exception as cause:  # pandas, polars and Arrow have errors of their own, which may quote cells
        raise _unreadable_frame(shown, cause) from None
    try:
        yield Table(name)
    finally:
        engine.connection.unregister(name)


def _unreadable_frame(shown: str, cause: Exception) -> InvalidSource:
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


def like(given: Any) -> Callable[[duckdb.DuckDBPyRelation], Any]:
    """Give what turns rows into a frame of the kind that was given."""
    kind, name = frame_kind(given), type(given).__name__
    if kind is None:
        raise InvalidSource(
            f"This takes a data frame, not {kind_of(given)}.",
            "Give a pandas, polars or Arrow table or a DuckDB relation; files and tables go to a method of "
            "ppdm_sql.open(...).",
        )
    if kind == "pandas data frame":
        return lambda rows: rows.df()

    def turned(rows: duckdb.DuckDBPyRelation) -> Any:
        table: Any = rows.to_arrow_table()
        if kind == "polars data frame":
            import polars  # it made the frame that was given

            frame: Any = polars.from_arrow(table)
            return frame.lazy() if name == "LazyFrame" else frame
        if kind == "DuckDB relation":  # on duckdb's own connection, as that of the run is closed
            return duckdb.from_arrow(table)
        if name == "RecordBatch":
            return table.combine_chunks().to_batches()[0]
        return table.to_reader() if name == "RecordBatchReader" else table

    return turned


# -- methods that take sources -----------------------------------------------------------------


def takes_sources(
    *names: str, elsewhere: bool = False, weighted: Mapping[str, Split] | None = None
) -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result]]:
    """Make a method of what has an ``engine`` and a ``progress`` read files and frames first.

    They are read once, though the method itself may be run again where another connection interferes.
    """
    splits = weighted or {}

    def taking(method: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
        signature = inspect.signature(method)

        @functools.wraps(method)
        def wrapper(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
            bound = signature.bind(*args, **kwargs)
            owner: Any = args[0]
            engine: Engine = owner.engine
            asked = bound.arguments
            types, nulls = asked.get("types"), asked.get("nulls", ())
            progress = asked.get("progress") or owner.progress or WarningProgress()
            how: Any = {"elsewhere": elsewhere, "progress": progress}

            def work() -> Result:
                found: dict[str, Any] = {}
                with ExitStack() as stack:
                    for name in names:
                        if (source := asked.get(name)) is None:
                            continue
                        source, weights = splits[name](source) if name in splits else (source, None)
                        if source is not None:  # else no table is named, but how many rows it would have
                            read = given(engine, source, types, nulls, strict=name == names[0], **how)
                            source = stack.enter_context(read)
                        found[name] = (source, weights) if name in splits else source
                    named = inspect.BoundArguments(signature, OrderedDict(asked | found))
                    return method(*named.args, **named.kwargs)

            return engine.unblocked(work)

        return wrapper

    return taking
