"""The one place that decides what is meant where a table's name may stand, and lets it be read as one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

from sqlglot import exp

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table, free_name, table_name
from ppdm_sql.engine.source import Source as Elsewhere
from ppdm_sql.engine.source import find_elsewhere, is_stable, stand_in
from ppdm_sql.engine.statements import literal
from ppdm_sql.errors import MORE_MEMORY, EngineError, InvalidOption, InvalidSource, PpdmError, UnknownTable
from ppdm_sql.progress import Progress
from ppdm_sql.sources.column_types import Said, applied, told_of_texts, types_said
from ppdm_sql.sources.csv_files import read_csv, unreadable_csv
from ppdm_sql.sources.files import (
    alike,
    files_of,
    is_data_file,
    is_read_once,
    is_remote,
    kind_of_file,
    readable_twice,
    refuse_other,
    unreachable,
    without_secrets,
)
from ppdm_sql.sources.frames import frame_kind, readable, refuse_names, unreadable_frame

Source: TypeAlias = Any
"""The name of a table or view, the path of a file or pattern of paths, or a frame."""

_COPIED = "it was copied into a private temporary file, which is removed again."


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

    Args:
        engine: Where it is read.
        source: The name of a table or view, the path of files, or a frame.
        types: The types of columns, by their names.
        nulls: Texts that stand for a missing value.
        strict: Whether each column of which a type is said must be there.
        called: The name of what files hold, if not their path.
        elsewhere: Whether the caller can take a table that lives elsewhere, by its stand-in.
        progress: Told what is read, and what the user should know of it.

    Raises:
        UnknownTable: There is no table, view or file of that name.
        InvalidSource: The file or frame cannot be read whole.
        InvalidOption: What is given is neither a name nor a frame, or a type is not known.

    Cost: nothing for a table without types, else one scan of the source and some of the copy.
    """
    said = Said(types_said(engine, types), (nulls,) if isinstance(nulls, str) else tuple(nulls))
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
            notices = _load_table(engine, name, table, said, strict=strict)
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
    """Read what a release was made from once more, under the name that the catalogue has for it.

    Args:
        engine: Where it is read.
        source: The name.
        how: What the catalogue says of it under ``read``.
        release: The release, for messages.

    Raises:
        InvalidSource: It was a frame, or is not where it was.
    """
    kind, types, nulls = how.get("kind"), dict(how.get("types", {})), how.get("nulls", ())
    if source in engine.given or (kind is None and not types and not nulls):
        yield
        return
    if kind == "attached" and not _is_there(engine, source):
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


def _is_there(engine: Engine, name: str) -> bool:
    try:
        return bool(engine.find(name))
    except UnknownTable:
        return False


def _table(engine: Engine, name: str) -> Table | None:
    """Find a table or view; what else the name can be is told in the error.

    Raises:
        UnknownTable: There is none, and the name is not that of a file of records either.
        InvalidSource: It is the name of a file that cannot be read as records.
    """
    try:
        return engine.find(name)
    except UnknownTable as unknown:
        if is_data_file(name):
            return None
        refuse_other(name)
        none_here = "no tables" in unknown.remedy
        raise UnknownTable(unknown.problem, unknown.remedy + alike(name, always=none_here)) from None


def _of_attached(engine: Engine, table: Table) -> dict[str, Any]:
    """Remember the database of a table, where it is none of the current one."""
    catalog, _ = engine.current()
    return {} if table.catalog in (catalog, "temp", None) else {"kind": "attached", "database": table.catalog}


def _how_read(said: Said) -> dict[str, Any]:
    types = {name: " ".join(kind).strip() for name, kind in said.types.items()}
    return ({"types": types} if types else {}) | ({"nulls": list(said.nulls)} if said.nulls else {})


def _load(
    engine: Engine, name: str, select: exp.Expression, refused: Callable[[EngineError], PpdmError]
) -> Table:
    """Write rows into a temporary table that the engine finds by a name; it is called so where it can be."""
    free = free_name(name, [table.name for table in (*engine.tables(), *engine.given.values())])
    try:
        engine.given[name] = engine.materialize("load", select, name=free)
    except EngineError as cause:
        raise refused(cause) from None
    return engine.given[name]


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
    """Find a name for a frame that no table has."""
    taken = {table.name.lower() for table in engine.tables()} | {name.lower() for name in engine.given}
    number, name = 1, kind
    while name.lower() in taken:
        number += 1
        name = f"{kind} {number}"
    return name


def _load_frame(engine: Engine, name: str, frame: Any, said: Said, kind: str, *, strict: bool) -> list[str]:
    refuse_names(frame, kind)
    with readable(engine, frame, kind) as view:
        rows = exp.select("*").from_(view.expression())
        table = _load(engine, name, rows, lambda cause: unreadable_frame(kind, cause))
    return applied(engine, table, said, f"the {kind}", strict=strict, of_texts=False)[1]


def _load_table(engine: Engine, name: str, table: Table, said: Said, *, strict: bool) -> list[str]:
    """Copy a table of which other types are said."""
    loaded = _load(engine, name, exp.select("*").from_(table.expression()), lambda cause: cause)
    return applied(engine, loaded, said, name, strict=strict, of_texts=False)[1]


def _load_files(
    engine: Engine, name: str, path: str, said: Said, *, strict: bool
) -> tuple[dict[str, Any], list[str]]:
    """Read files, and say how they are read again and what the user should know."""
    kind, files = files_of(engine, path)
    notices: list[str] = []

    def refused(cause: EngineError) -> PpdmError:
        if type(cause) is not EngineError or cause.remedy == MORE_MEMORY:
            return cause
        if (unread := unreachable(name, cause.engine_text)) is not None:
            return unread
        return unreadable_csv(cause.engine_text, name) if kind == "csv" else _unreadable(name, kind)

    with readable_twice(files) as found:
        rows, notices = (
            read_csv(engine, found, said.types, name) if kind == "csv" else (_rows_of(kind, found), [])
        )
        table = _load(engine, name, rows, refused)
    types, told = applied(engine, table, said, name, strict=strict, of_texts=kind == "csv")
    notices += told
    if kind == "csv" and not engine.size(table):
        notices.append(f"{name} holds no records, only names.")
    found_as = Said(types, said.nulls)
    if found != files:
        notices = [f"{name} can be read only once: {_COPIED}", *notices]
        return {"kind": "stream", **_how_read(found_as)}, notices
    place = {} if is_remote(path) else {"path": os.path.abspath(path)}
    return {"kind": "file", **place, **_how_read(found_as)}, notices


def _rows_of(kind: str, files: list[str]) -> exp.Select:
    """Write the call of DuckDB's reader of Parquet or JSON."""
    arguments: list[exp.Expression] = [exp.Array(expressions=[literal(file) for file in files])]
    if kind == "json":
        options = {"sample_size": -1, "maximum_sample_files": 1_000_000, "ignore_errors": False}
        arguments += [
            exp.EQ(this=exp.column(key), expression=literal(value)) for key, value in options.items()
        ]
    return exp.select("*").from_(exp.Table(this=exp.Anonymous(this=f"read_{kind}", expressions=arguments)))


def _unreadable(shown: str, kind: str) -> PpdmError:
    title = {"json": "JSON", "parquet": "Parquet"}[kind]
    return InvalidSource(
        f"{shown} cannot be read as {title}.",
        f"Check that DuckDB reads it: duckdb -c \"FROM read_{kind}('FILE')\".",
    )
