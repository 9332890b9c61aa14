"""Writes a release into a fresh file, which holds nothing else and is whole or not there."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path

from sqlglot import exp

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table, column
from ppdm_sql.engine.opening import OLDEST_STORAGE
from ppdm_sql.engine.space import disk_full
from ppdm_sql.engine.statements import Statement, literal, render, sql, text
from ppdm_sql.errors import EngineError, InvalidOption, NameTaken
from ppdm_sql.options import ExportOptions
from ppdm_sql.release import ddl as texts
from ppdm_sql.release.layout import Shape
from ppdm_sql.release.parts import part_beside

_SUFFIXES = {".parquet": "parquet", ".csv": "csv", ".duckdb": "duckdb", ".db": "duckdb"}
_TEXT_TYPES = ("VARCHAR", "ENUM", "JSON", "BLOB")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def write_file(engine: Engine, shape: Shape, method: str, asked: ExportOptions) -> None:
    """Write the rows of a release, in their order, under a temporary name, then rename the file."""
    path = Path(asked.path)
    form = _format(path, asked.format, formula_safe=asked.formula_safe)
    check_target(engine, path, force=asked.force)
    with _words_for(path, form), part_beside(path) as part:
        if form == "duckdb":
            _write_database(engine, shape, method, part)
        else:
            rows = _formula_safe(engine, shape) if asked.formula_safe else shape.rows()
            engine.write(_copy(rows, part, form, texts.promised(shape)), step=f"export {form}")
        if not engine.dry:
            _finish(part, path, force=asked.force)


def check_export(path: Path, *, force: bool) -> None:
    """Refuse a file that no release can be written to, before there is a release."""
    _format(path, None, formula_safe=False)
    _check_name(path)
    _refuse_existing(path, force=force)


def write_page(engine: Engine, path: Path, content: bytes, *, force: bool) -> None:
    """Write what was made of a release, such as its report, under a temporary name, then rename the file."""
    check_target(engine, path, force=force)
    with _words_for(path, "page"), part_beside(path) as part:
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
    """Refuse a file that cannot be written, or may not be replaced."""
    _check_name(path)
    if not os.path.lexists(path):
        return
    _refuse_existing(path, force=force)
    for (name,) in engine.query(text("release/database_files"), step="database files"):
        with contextlib.suppress(OSError):
            if os.path.samefile(name, path):
                raise NameTaken(f"{path} is a database that is open here.", "Give another file.")


def _check_name(path: Path) -> None:
    """Refuse what no file can be called, in words; the system's own come late and say little."""
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


def _longest_name(folder: Path) -> int:
    try:
        return os.pathconf(folder, "PC_NAME_MAX")
    except (AttributeError, OSError, ValueError):
        return 255


def _refuse_existing(path: Path, *, force: bool) -> None:
    """Refuse what is no regular file, forced or not, and what is one unless forced."""
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
        raise NameTaken(f"There is a file {path} already.", "Give another name, or --force to replace it.")


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
    copied = {"rows": rows, "file": literal(str(part))}
    if form == "csv":
        return sql(
            "COPY ({rows}) TO {file} (FORMAT csv, USE_TMP_FILE false, HEADER true, COMPRESSION none)",
            **copied,
        )
    words = sql(", KV_METADATA {{promise: {told}}}", told=literal(told.strip())) if told else sql("")
    return sql("COPY ({rows}) TO {file} (FORMAT parquet, USE_TMP_FILE false{words})", words=words, **copied)


def _formula_safe(engine: Engine, shape: Shape) -> Statement:
    """Select the rows with a quote before text that would be read as a formula, header included."""
    described = engine.query(f"DESCRIBE {shape.working or shape.frozen}", step="describe")
    cells = [
        sql(
            "{cell} AS {name}",
            cell=_safe_cell(name) if kind.startswith(_TEXT_TYPES) else column(name, "f"),
            name=column(_safe_text(name)),
        )
        for name, kind, *_ in described
        if name not in shape.people
    ]
    return sql("SELECT {cells} FROM {rows}", cells=cells, rows=shape.stored())


def _safe_text(value: str) -> str:
    return f"'{value}" if value.startswith(_FORMULA) else value


def _safe_cell(name: str) -> Statement:
    return sql(
        "CASE WHEN left({v}, 1) IN ({first}) THEN '''' || {v} ELSE {v} END",
        v=sql("CAST({c} AS TEXT)", c=column(name, "f")),
        first=[literal(letter) for letter in _FORMULA],
    )


def _write_database(engine: Engine, shape: Shape, method: str, part: Path) -> None:
    """Write a DuckDB file with one table, in the oldest storage version: it holds every released type."""
    name = f"ppdm_export_{secrets.token_hex(6)}"
    table = Table(shape.name, "main", name)
    with _attached(engine, part, name):
        engine.write(texts.create_table(table, render(shape.rows())), step="export rows")
        engine.write(texts.table_comments(shape, method, table), step="export comments")


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
