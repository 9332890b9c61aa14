"""Writes a release into a fresh file, which holds nothing else and is whole or not there."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

from sqlglot import exp

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table, column
from ppdm_sql.engine.opening import OLDEST_STORAGE
from ppdm_sql.engine.space import OWNER, PRIVATE, disk_full, machine, private_folder
from ppdm_sql.engine.statements import Statement, literal, render, sql, text
from ppdm_sql.errors import EngineError, InvalidOption, NameTaken
from ppdm_sql.options import ExportOptions
from ppdm_sql.release.layout import Shape
from ppdm_sql.release.publishing import create_table, promised, table_comments

if sys.platform != "win32":
    import fcntl

_SUFFIXES = {".parquet": "parquet", ".csv": "csv", ".duckdb": "duckdb", ".db": "duckdb"}
_TEXT_TYPES = ("VARCHAR", "ENUM", "JSON", "BLOB")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")

_PART = re.compile(re.escape(PRIVATE) + r"[0-9a-f]{12}\.part")
_ROWS = "rows"
_OURS = re.compile(rf"{OWNER}|{_ROWS}(\..+)?")
_MOST_OWNER = 1000


def write_file(engine: Engine, shape: Shape, method: str, asked: ExportOptions) -> None:
    """Write the rows of a release, in their order, under a temporary name, then rename the file."""
    path = Path(asked.path)
    form = _format(path, asked.format, formula_safe=asked.formula_safe)
    check_target(engine, path, force=asked.force)
    with _words_for(path, form), _part_beside(path) as part:
        if form == "duckdb":
            _write_database(engine, shape, method, part)
        else:
            rows = _formula_safe(engine, shape) if asked.formula_safe else shape.rows()
            engine.write(_copy(rows, part, form, promised(shape)), step=f"export {form}")
        if not engine.dry:
            _finish(part, path, force=asked.force)


def check_export(path: Path, *, force: bool) -> None:
    """Refuse a file that no release can be written to, before there is a release."""
    _format(path, None, formula_safe=False)
    _check_path(path, force=force)


def write_page(engine: Engine, path: Path, content: bytes, *, force: bool) -> None:
    """Write what was made of a release, such as its report, under a temporary name, then rename the file."""
    check_target(engine, path, force=force)
    with _words_for(path, "page"), _part_beside(path) as part:
        part.write_bytes(content)
        _finish(part, path, force=force)


@contextlib.contextmanager
def _words_for(path: Path, form: str) -> Iterator[None]:
    """Turn what the system or the engine says of a file into a sentence."""
    try:
        yield
    except EngineError as error:
        if not error.engine_text.startswith("Not implemented"):
            raise
        refused = InvalidOption(
            f"DuckDB cannot write a column of this release as {form}.",
            "Give another --format: parquet, csv or duckdb.",
        )
        raise refused from error
    except OSError as cause:
        if cause.errno in (errno.ENOSPC, errno.EDQUOT):
            raise disk_full(path.parent, f"export {form}") from cause
        raise InvalidOption(f"{path} cannot be written.", "Look at the folder's permissions.") from cause


def _format(path: Path, form: str | None, *, formula_safe: bool) -> str:
    found = form.lower() if form is not None else _SUFFIXES.get(path.suffix.lower())
    if found not in _SUFFIXES.values():
        what = f"{form!r} is not a format" if form is not None else f"{path.name!r} does not tell the format"
        raise InvalidOption(f"{what} of an export.", "Give a name that ends in .parquet, .csv or .duckdb.")
    if formula_safe and found != "csv":
        raise InvalidOption(
            f"Formulas are a matter of CSV, not of {found}.",
            "Leave --formula-safe out, or give --format csv.",
        )
    return str(found)


def check_target(engine: Engine, path: Path, *, force: bool) -> None:
    _check_path(path, force=force)
    if not os.path.lexists(path):
        return
    for (name,) in engine.query(text("release/database_files"), step="database files"):
        with contextlib.suppress(OSError):
            if os.path.samefile(name, path):
                raise NameTaken(f"{path} is a database that is open here.", "Give another file.")


def _check_path(path: Path, *, force: bool) -> None:
    """Refuse what no file can be called, in words, and what is there; the system's own come late."""
    if "\0" in str(path):
        raise InvalidOption("The path of the file holds a NUL character.", "Give a path without it.")
    if not os.path.isdir(path.parent) or not os.access(path.parent, os.W_OK):
        raise InvalidOption(f"The folder {path.parent} cannot be written to.", "Give another folder.")
    length, most = len(os.fsencode(path.name)), _longest_name(path.parent)
    if length > most:
        raise InvalidOption(
            f"The name of the file has {length} bytes, and {path.parent} takes {most} at most.",
            "Give a shorter name.",
        )
    _refuse_existing(path, force=force)


def _longest_name(folder: Path) -> int:
    try:
        return os.pathconf(folder, "PC_NAME_MAX")
    except (AttributeError, OSError, ValueError):
        return 255


def _refuse_existing(path: Path, *, force: bool) -> None:
    """Refuse what is not a regular file, forced or not, and what is one unless forced."""
    if not os.path.lexists(path):
        return
    mode = os.lstat(path).st_mode
    if stat.S_ISDIR(mode):
        raise InvalidOption(f"{path} is a folder.", "Give the path of a file.")
    if stat.S_ISLNK(mode):
        raise InvalidOption(
            f"{path} is a symbolic link, and only regular files are replaced.",
            "Give the path of the file itself, or remove the link.",
        )
    if not stat.S_ISREG(mode):
        raise InvalidOption(
            f"{path} is a device, a pipe or a socket, and only regular files are replaced.",
            "Give the path of a file.",
        )
    if not force:
        raise NameTaken(f"There is a file {path} already.", "Remove it, or give another name or --force.")


def _finish(part: Path, path: Path, *, force: bool) -> None:
    """Bring the bytes to the disk, then give the file its name."""
    with part.open("rb+") as file:
        os.fsync(file.fileno())
    _refuse_existing(path, force=force)
    part.replace(path)


def _copy(rows: exp.Expression | Statement, part: Path, form: str, told: str) -> Statement:
    """Write the COPY statement; empty text is quoted in CSV, NULL is nothing at all.

    What a file promises of persons stands in the metadata of Parquet; CSV has no place for it.
    """
    options = sql("HEADER true, COMPRESSION none")
    if form == "parquet":
        options = sql("KV_METADATA {{promise: {told}}}", told=literal(told.strip())) if told else sql("")
    return sql(
        "COPY ({rows}) TO {file} (FORMAT {form}, USE_TMP_FILE false{comma}{options})",
        rows=rows,
        file=literal(str(part)),
        form=exp.var(form),
        comma=sql(", ") if options else sql(""),
        options=options,
    )


def _formula_safe(engine: Engine, shape: Shape) -> Statement:
    """Select the rows with a quote before text that would be read as a formula, header included."""
    first = [literal(letter) for letter in _FORMULA]
    cells = []
    for name, kind in engine.columns(shape.working or shape.frozen):
        if name not in shape.people:
            cell = sql("{c}", c=column(name, "f"))
            if kind.startswith(_TEXT_TYPES):
                value = sql("CAST({c} AS TEXT)", c=cell)
                quoted = "CASE WHEN left({v}, 1) IN ({first}) THEN '''' || {v} ELSE {v} END"
                cell = sql(quoted, v=value, first=first)
            header = f"'{name}" if name.startswith(_FORMULA) else name
            cells.append(sql("{cell} AS {header}", cell=cell, header=column(header)))
    return sql("SELECT {cells} FROM {rows}", cells=cells, rows=shape.stored())


def _write_database(engine: Engine, shape: Shape, method: str, part: Path) -> None:
    """Write a DuckDB file with one table, in the oldest storage version: it holds every released type."""
    name = f"ppdm_export_{secrets.token_hex(6)}"
    table = Table(shape.name, "main", name)
    with _attached(engine, part, name):
        engine.write(create_table(table, render(shape.rows())), step="export rows")
        engine.write(table_comments(shape, method, table), step="export comments")


@contextlib.contextmanager
def _attached(engine: Engine, part: Path, name: str) -> Iterator[None]:
    """Open a new database file beside the current one; on the way out it is written and closed."""
    database = column(name)
    file, oldest = literal(str(part)), literal(OLDEST_STORAGE)
    attach = "ATTACH {file} AS {name} (READ_WRITE, STORAGE_VERSION {oldest})"
    detach = sql("DETACH {name}", name=database)
    try:
        engine.write(sql(attach, file=file, name=database, oldest=oldest), step="attach")
        yield
    except BaseException:
        with contextlib.suppress(Exception, KeyboardInterrupt):  # what went wrong before is what is told
            engine.write(detach, step="detach")
        raise
    engine.write(detach, step="detach")


# -- private folders --------------------------------------------------------------------------------


@contextlib.contextmanager
def _part_beside(path: Path) -> Iterator[Path]:
    """Give a file in a private folder beside another, once those that killed exports left are removed."""
    _sweep(path.parent)
    folder = path.parent / f"{PRIVATE}{secrets.token_hex(6)}.part"
    with private_folder(folder):
        yield folder / _ROWS


def _sweep(folder: Path) -> None:
    """Remove what killed exports of this user on this machine left in a folder; all else stays.

    A folder is left alone if it is a link, belongs to somebody else, was made by another machine, holds
    anything that an export does not write, or is locked. Where the file system has no locks, nothing is
    removed.
    """
    if sys.platform == "win32":
        return
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            if _PART.fullmatch(name):
                with contextlib.suppress(OSError):
                    _remove_left(folder / name)


def _remove_left(left: Path) -> None:
    """Remove one folder if its process is gone; no link in it or to it is followed."""
    if sys.platform == "win32":
        return
    place = os.open(left, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        names = os.listdir(place)
        if os.fstat(place).st_uid != os.geteuid() or not all(_is_ours(place, name) for name in names):
            return
        if names and not _is_free(place):
            return
        for name in sorted(names, key=OWNER.__eq__):
            os.unlink(name, dir_fd=place)
        os.rmdir(left)
    finally:
        os.close(place)


def _is_ours(place: int, name: str) -> bool:
    found = os.stat(name, dir_fd=place, follow_symlinks=False)
    return stat.S_ISREG(found.st_mode) and _OURS.fullmatch(name) is not None


def _is_free(place: int) -> bool:
    """Tell whether the process that made the folder ran here and has ended."""
    if sys.platform == "win32":
        return False
    owner = os.open(OWNER, os.O_RDWR | os.O_NOFOLLOW, dir_fd=place)
    try:
        if os.read(owner, _MOST_OWNER) != machine():
            return False
        fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.close(owner)
    return True
