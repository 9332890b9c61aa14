"""The one place that decides what is meant where a table's name may stand: a table, a file or a frame."""

from __future__ import annotations

import functools
import inspect
import os
import secrets
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, ParamSpec, TypeAlias, TypeVar

import duckdb

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table, free_name, listed, table_name
from ppdm_sql.engine.source import Source as Elsewhere
from ppdm_sql.engine.source import find_elsewhere, is_here, is_stable, stand_in
from ppdm_sql.engine.statements import Statement, sql
from ppdm_sql.errors import EngineError, InvalidOption, InvalidSource, PpdmError, UnknownTable, kind_of
from ppdm_sql.progress import Progress, WarningProgress
from ppdm_sql.sources.column_types import Said, TypeSaid, applied, load_texts, told_of_texts, types_said
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
    if kind is None:
        source = table_name(source)
        if source in engine.given:  # named twice in one call
            yield source
            return
        if (found := _elsewhere(engine, source, progress)) is not None:
            with _stood_in(engine, source, found, said, elsewhere, progress):
                yield source
            return
        table = _table(engine, source)
        if table is not None and not said:
            looked = progress is not None and is_stable(engine, table)  # a view may take long to read
            notices = told_of_texts(engine, table, source) if looked else []
            _tell(progress, notices)
            with _remembered(engine, source, _of_attached(engine, table), notices):
                yield source
            return
    with engine.workspace():
        if progress is not None:
            progress.start(f"reading {without_secrets(source) if kind is None else f'the {kind}'}")
        how: dict[str, Any]
        if kind is not None:
            name, how = _free_name(engine, kind), {"kind": kind}
            notices = _load_frame(engine, name, source, said, kind, strict=strict)
        elif table is not None:
            name, how = source, _of_attached(engine, table) | _how_read(said)
            rows = sql("SELECT * FROM {table}", table=table)
            notices = _load(engine, name, rows, said, lambda cause: cause, shown=name, strict=strict)[1]
        else:
            name = called or without_secrets(source)
            how, notices = _load_files(engine, name, source, said, strict=strict)
        with _remembered(engine, name, how, notices):
            _tell(progress, notices)
            yield name


def _tell(progress: Progress | None, notices: Sequence[str]) -> None:
    if progress is not None:
        for text in notices:
            progress.notice(text)


def _elsewhere(engine: Engine, name: str, progress: Progress | None) -> Elsewhere | None:
    """Find a table where other tables live; what is called like a file of texts is one here."""
    of_texts = kind_of_file(name) in ("csv", "json") or is_read_once(name)
    if of_texts and "/" in name:
        return None
    return find_elsewhere(engine, name, progress, may_be_file=of_texts)


@contextmanager
def _stood_in(
    engine: Engine,
    name: str,
    found: Elsewhere,
    said: Said,
    welcome: bool,
    progress: Progress | None,
) -> Iterator[None]:
    """Let the engine find the stand-in of a table that lives elsewhere."""
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
    with engine.workspace():
        if progress is not None:
            progress.start(f"reading {name}")
        engine.given[name] = table = stand_in(engine, found)
        try:
            yield
            found.check_unchanged()
        finally:
            engine.given.pop(name, None)
            engine.sources.pop(table, None)


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


def _of_attached(engine: Engine, table: Table) -> dict[str, Any]:
    catalog, _ = engine.current()
    return {} if table.catalog in (catalog, "temp", None) else {"kind": "attached", "database": table.catalog}


def _how_read(said: Said) -> dict[str, Any]:
    types = {name: " ".join(kind).strip() for name, kind in said.types.items()}
    return ({"types": types} if types else {}) | ({"nulls": list(said.nulls)} if said.nulls else {})


def _load(
    engine: Engine,
    name: str,
    select: Statement,
    said: Said,
    refused: Callable[[EngineError], PpdmError],
    *,
    shown: str,
    strict: bool,
    of_texts: bool = False,
) -> tuple[dict[str, TypeSaid], list[str]]:
    """Write rows, with what is said of them, into a temporary table that the engine finds by a name.

    Returns what :func:`applied` does. The engine finds nothing where it fails, also the next time.
    """
    free = free_name(name, [table.name for table in (*engine.tables(), *engine.given.values())])
    try:
        if of_texts:
            table = load_texts(engine, select, said, free)
        else:
            table = engine.materialize("load", select, name=free)
    except EngineError as cause:
        raise refused(cause) from None
    found = applied(engine, table, said, shown, strict=strict, of_texts=of_texts)
    engine.given[name] = table
    return found


@contextmanager
def _remembered(
    engine: Engine, name: str, how: Mapping[str, Any], notices: Sequence[str] = ()
) -> Iterator[None]:
    """Let what is published say how its source was read and is read again, until it is gone."""
    if how:
        engine.read_as[name] = how
    if notices:
        engine.read_notices[name] = notices
    try:
        yield
    finally:
        engine.read_as.pop(name, None)
        engine.read_notices.pop(name, None)
        engine.given.pop(name, None)


def _free_name(engine: Engine, kind: str) -> str:
    taken = {table.name.lower() for table in engine.tables()} | {name.lower() for name in engine.given}
    number, name = 1, kind
    while name.lower() in taken:
        number += 1
        name = f"{kind} {number}"
    return name


def _load_frame(engine: Engine, name: str, frame: Any, said: Said, kind: str, *, strict: bool) -> list[str]:
    _refuse_names(frame, kind)
    with _readable(engine, frame, kind) as view:
        rows = sql("SELECT * FROM {view}", view=view)
        refused = partial(_unreadable_frame, kind)
        return _load(engine, name, rows, said, refused, shown=f"the {kind}", strict=strict)[1]


def _load_files(
    engine: Engine, name: str, path: str, said: Said, *, strict: bool
) -> tuple[dict[str, Any], list[str]]:
    """Read files, and say how they are read again and what the user should know."""
    kind, files = files_of(engine, path)

    def refused(cause: EngineError) -> PpdmError:
        return cause if cause.explained else unreadable(kind, cause.engine_text, name)

    with readable_twice(files) as found:
        rows, notices = (
            read_csv(engine, found, said.types, name) if kind == "csv" else (read_other(kind, found), [])
        )
        of_texts = kind == "csv"
        types, told = _load(engine, name, rows, said, refused, shown=name, strict=strict, of_texts=of_texts)
    notices += told
    if kind == "csv" and not engine.size(engine.given[name]):
        notices.append(f"{name} holds no records, only names.")
    found_as = Said(types, said.nulls)
    if found != files:
        notices = [f"{name} can be read only once: {_COPIED}", *notices]
        return {"kind": "stream", **_how_read(found_as)}, notices
    place = {} if is_remote(path) else {"path": os.path.abspath(path)}
    return {"kind": "file", **place, **_how_read(found_as)}, notices


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
