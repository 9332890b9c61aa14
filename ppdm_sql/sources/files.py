"""Which texts name files of records, which files those are, how CSV is read, and what others are instead."""

from __future__ import annotations

import csv
import gzip
import os
import re
import shutil
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from ppdm_sql.engine import Engine
from ppdm_sql.engine.opening import KINDS, MARK, MARK_AT, PACKED, SQLITE
from ppdm_sql.engine.space import SpillFolder
from ppdm_sql.engine.statements import Statement, literal, sql
from ppdm_sql.errors import EngineError, InvalidSource, UnknownTable, closest, some

_SHEETS = (".xlsx", ".xls", ".ods")
_HANDED_OVER = re.compile(r"/dev/(stdin|fd/\d+)|/proc/self/fd/\d+")
"""What the process was started with, in which a file is at no known place."""
_STANDARD_INPUT = re.compile(r"/dev/(stdin|fd/0)|/proc/self/fd/0")
_EXTENSION = re.compile(r"extension [\"'](\w+)", re.IGNORECASE)
_STATUS = re.compile(r": (\d{3}) \(|\(HTTP ([1-9]\d\d)\b")
_WILDCARDS = re.compile(r"[*?\[]")
_MOST_FILES = 5
_CHECK_ADDRESS = "Check the address, and that the connection's secret for it is set (CREATE SECRET)."
_DELIMITERS = (",", ";", "\t", "|")
_NOT_IN_TEXT = "\x01"
_IS_DATA = re.compile(
    r"[+-]?(\d+([.,]\d+)*|[.,]\d+)([eE][+-]?\d+)?%?|\d{1,4}[-./]\d{1,2}[-./]\d{1,4}.*|\S+@\S+\.\S+|true|false|null",
    re.IGNORECASE,
)
"""What is not a name of a column, as far as can be told: a number, a date, an address, a truth value."""
_ENCODINGS = {
    "UTF-32LE": re.compile(rb"\xff\xfe\0\0|[^\0]\0\0\0"),
    "UTF-32BE": re.compile(rb"\0\0\xfe\xff|\0\0\0[^\0]"),
    "UTF-16LE": re.compile(rb"\xff\xfe|[^\0]\0"),
    "UTF-16BE": re.compile(rb"\xfe\xff|\0[^\0]"),
}
"""How files begin, by what they are written in: with a byte order mark, or a letter that is filled up."""
_LINE = re.compile(r"CSV Error on Line: (\d+)")
_TOO_LONG = re.compile(r"Maximum line size of (\d+) bytes exceeded")
_WIDTH = re.compile(r"Expected Number of Columns: (\d+) Found: (\d+)")
_FILE = re.compile(r"^\s*file = (.+)$", re.MULTILINE)


def kind_of_file(path: str) -> str | None:
    """Tell by its suffix what a file holds: ``csv``, ``parquet``, ``json``; None where it does not say.

    Example:
        >>> kind_of_file("visits.csv.gz"), kind_of_file("s3://b/*.parquet"), kind_of_file("visits")
        ('csv', 'parquet', None)
    """
    name = os.path.basename(urlsplit(path).path if is_remote(path) else path).lower()
    for packed in PACKED:
        name = name.removesuffix(packed)
    return KINDS.get(os.path.splitext(name)[1])


def is_remote(path: str) -> bool:
    """Tell whether a path is an address, such as ``s3://bucket/visits.parquet``."""
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]+://", path) is not None


def is_data_file(text: str) -> bool:
    """Tell whether a text names a file of records, or several by wildcards.

    Example:
        >>> is_data_file("visits.csv"), is_data_file("orders/*.parquet"), is_data_file("bank.duckdb")
        (True, True, False)
    """
    return (
        kind_of_file(text) is not None
        or (_WILDCARDS.search(text) is not None and not os.path.exists(text))
        or is_read_once(text)
    )


def is_read_once(path: str) -> bool:
    """Tell whether a path leads to what can be read only once: a FIFO, a socket, a device, standard input."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    special = stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or stat.S_ISCHR(mode)
    return special or _HANDED_OVER.fullmatch(path) is not None


@contextmanager
def readable_twice(files: Sequence[str]) -> Iterator[list[str]]:
    """Copy files that can be read only once into a private folder, which goes at the end or when killed."""
    if not any(map(is_read_once, files)):
        yield list(files)
        return
    folder = SpillFolder()
    copies: dict[str, str] = {}
    try:
        for place, file in enumerate(files):
            copies[file] = _copied(file, folder.path, place) if is_read_once(file) else file
        yield list(copies.values())
    except InvalidSource as error:
        problem = error.problem
        for file, copy in copies.items():
            problem = problem.replace(copy, file)
        raise InvalidSource(problem, error.remedy) from None
    finally:
        folder.close()


def _copied(file: str, folder: Path, place: int) -> str:
    """Copy what a path gives, under a name that says what it holds: CSV where the path does not say."""
    pipe = "Give a file, or pipe records into /dev/stdin."
    if sys.__stdin__ is None and _STANDARD_INPUT.fullmatch(file):  # its number may be another file's by now
        raise InvalidSource(f"{file!r} cannot be read: standard input is closed.", pipe)
    if stat.S_ISCHR(os.stat(file).st_mode):
        raise InvalidSource(f"{file!r} is a device, such as a terminal, and holds no records.", pipe)
    name = os.path.basename(file)
    copy = folder / f"{place} {name if kind_of_file(file) else f'{name}.csv'}"
    try:
        private = os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(private, "wb") as target, open(file, "rb") as read:
            shutil.copyfileobj(read, target)
    except OSError as cause:
        raise InvalidSource(
            f"{file!r} cannot be read: {cause.strerror}.", "Write it into a file first, and give that file."
        ) from None
    return str(copy)


def is_spreadsheet(text: str) -> bool:
    return os.path.splitext(text)[1].lower() in _SHEETS


def without_secrets(path: str) -> str:
    """Give a path as it may be stored and printed: without the user and the query of an address."""
    if not is_remote(path):
        return path
    parts = urlsplit(path)
    shown = parts._replace(netloc=parts.netloc.rpartition("@")[2])
    if parts.scheme in ("http", "https"):  # elsewhere a query means nothing, and ? is a wildcard
        shown = shown._replace(query="", fragment="")
    return urlunsplit(shown)


def files_of(engine: Engine, path: str) -> tuple[str, list[str]]:
    found = [path] if not is_remote(path) and os.path.exists(path) else _expanded(engine, path)
    if not found:
        raise UnknownTable(f"There is no file {without_secrets(path)!r}.", f"Check the path.{alike(path)}")
    kinds = {
        kind_of_file(path) or kind_of_file(file) or ("csv" if is_read_once(file) else None) for file in found
    }
    if len(kinds) > 1 or (kind := kinds.pop()) is None:
        raise InvalidSource(
            f"The files of {without_secrets(path)!r} are not all CSV, Parquet or JSON files of one kind.",
            "Write the suffix behind the wildcard, such as 'visits/*.parquet'.",
        )
    return kind, found


def _expanded(engine: Engine, path: str) -> list[str]:
    """Let DuckDB expand a pattern; an address that takes none stands for itself."""
    if is_remote(path) and not _WILDCARDS.search(urlsplit(path).path):
        return [path]
    try:
        rows = engine.look_up("SELECT file FROM glob($path) ORDER BY file", {"path": path}, step="files")
    except EngineError as cause:
        cannot = f"The files of {without_secrets(path)!r} cannot be listed."
        raise unreachable(path, cause.engine_text) or InvalidSource(cannot, _CHECK_ADDRESS) from None
    return [file for (file,) in rows]


def unreachable(path: str, text: str) -> InvalidSource | None:
    """Say why an address gives nothing; None where the engine's words are about what it gave."""
    if not is_remote(path):
        return None
    shown, extension, status = without_secrets(path), _EXTENSION.search(text), _STATUS.search(text)
    if "extension" in text.partition("\n")[0] and extension is not None:
        return InvalidSource(
            f"{shown} cannot be reached: DuckDB's extension {extension[1]} is not installed.",
            f"Install it once: duckdb -c 'INSTALL {extension[1]}'.",
        )
    if not text.startswith(("IO Error", "HTTP Error", "Connection Error")):
        return None
    said = "did not answer" if status is None else f"answered with HTTP status {status[1] or status[2]}"
    return InvalidSource(f"{shown} {said}.", _CHECK_ADDRESS)


def refuse_other(text: str) -> None:
    if not text.strip():
        raise InvalidSource(
            "The name of the table is empty.", "Give that of a table, or of a file such as visits.csv."
        )
    file = Path(text)
    try:
        if file.is_dir():
            raise InvalidSource(
                f"{text!r} is a folder.", f"Name the files in it, such as '{text.rstrip('/')}/*.parquet'."
            )
        with file.open("rb") as opened:
            first = opened.read(16)
    except (OSError, ValueError):
        return
    if first[MARK_AT : MARK_AT + len(MARK)] == MARK or first.startswith(SQLITE):
        raise InvalidSource(
            f"{text!r} is a database, not a table.",
            f"Attach it with --attach '{text} AS other' (in Python attach={{'other': '{text}'}}), and name a "
            "table in it: other.TABLE.",
        )
    if is_spreadsheet(text):
        raise InvalidSource(
            f"{text!r} is a spreadsheet.", "Save it as CSV (UTF-8) first, and give that file."
        )
    if os.path.sep in text or file.suffix:
        raise InvalidSource(
            f"{text!r} is a file whose suffix does not say what it holds.",
            f"Rename it so that it ends in one of: {', '.join(KINDS)}.",
        )


def alike(wanted: str, *, always: bool = False) -> str:
    """Name the files nearby that could be meant; nothing where there are none."""
    if is_remote(wanted):
        return ""
    folder, name = os.path.split(wanted)
    try:
        there = sorted(entry for entry in os.listdir(folder or ".") if kind_of_file(entry) is not None)
    except (OSError, ValueError):
        return ""
    stems: dict[str, list[str]] = {}
    for entry in there:
        stems.setdefault(entry.partition(".")[0].lower(), []).append(entry)
    close = closest(name.partition(".")[0], stems, cutoff=0.6)
    chosen = [entry for stem in close for entry in stems[stem]] or (there if always else [])
    if not chosen:
        return ""
    return f" Files here: {some([os.path.join(folder, entry) for entry in chosen], _MOST_FILES)}."


# -- CSV: every row or none, the first line as names, cells as texts ---------------------------


def read_csv(
    engine: Engine, files: Sequence[str], said: Mapping[str, object], shown: str
) -> tuple[Statement, list[str]]:
    """Write what reads every record of CSV files as texts, and what the user should know.

    All must have the same names in their first lines. The columns of which the user says a type are names,
    whatever they look like.
    """
    forms: dict[tuple[str, tuple[str, ...]], str] = {}
    for file in files:
        _refuse_wide_letters(file)
        forms.setdefault(_form_of(_first_line(engine, file), file), file)
    if len(forms) > 1:
        one, other = list(forms.values())[:2]
        raise InvalidSource(
            f"{without_secrets(other)} does not have the columns of {without_secrets(one)}, in their order.",
            "Read files of one form at a time, or load them with DuckDB's read_csv and union_by_name = true.",
        )
    ((delimiter, found),) = forms
    _refuse_data(found, said, shown)
    names, notices = _named(found, shown)
    return _reader(files, names, delim=delimiter, quote='"', strict=True), notices


def _refuse_wide_letters(file: str) -> None:
    """Refuse a file here whose letters take two or four bytes, in which DuckDB would read NULs."""
    first, packed = b"", file.lower().endswith(".gz")
    with suppress(OSError, ValueError, EOFError), gzip.open(file) if packed else open(file, "rb") as opened:
        first = opened.read(4)  # where it cannot be, DuckDB says why
    for encoding, begin in _ENCODINGS.items():
        if begin.match(first):
            raise _not_utf8(f"{file} is {encoding}, not UTF-8.", encoding)


def _not_utf8(problem: str, encoding: str) -> InvalidSource:
    return InvalidSource(
        problem, f"Convert the file first, such as: iconv -f {encoding} -t UTF-8 FILE > NEW.csv."
    )


def _first_line(engine: Engine, file: str) -> str:
    """Read the line that names the columns; DuckDB reads packed and distant files, too."""
    lines = _reader([file], ("line",), delim=_NOT_IN_TEXT, quote="", strict=False)
    try:
        rows = engine.look_up(sql("{lines} LIMIT 1", lines=lines), step="first line")
    except EngineError as cause:
        if cause.explained:
            raise
        raise unreadable("csv", cause.engine_text, without_secrets(file)) from None
    if not rows or not (rows[0][0] or "").strip():
        raise InvalidSource(
            f"{without_secrets(file)} is empty, or its first line is.",
            "The first line must hold the names of the columns.",
        )
    return str(rows[0][0]).removeprefix("\ufeff")


def _form_of(line: str, file: str) -> tuple[str, tuple[str, ...]]:
    """Find the names and what parts them: the character of which there are most outside of quotes."""
    bare = re.sub(r'"(?:[^"]|"")*"', "", line)
    if '"' in bare:
        raise InvalidSource(
            f"A name in the first line of {without_secrets(file)} has a quote that is not closed.",
            "Mend the first line: a name holds no line break, and a quote in it is doubled.",
        )
    delimiter = max(_DELIMITERS, key=bare.count)  # the first of those that are even
    (names,) = csv.reader([line], delimiter=delimiter, quotechar='"', doublequote=True)
    return delimiter, tuple(name.strip() for name in names)


def _refuse_data(names: Sequence[str], said: Mapping[str, object], shown: str) -> None:
    """Refuse a first line that holds values, not names; it is not quoted, since they may be somebody's."""
    known = {name.lower() for name in said}
    if any(_IS_DATA.fullmatch(name) and name.lower() not in known for name in names):
        raise InvalidSource(
            f"The first line of {shown} looks like a record, not like the names of its columns.",
            "Put a line with the names before it; if they are names, say a type of each, as in "
            "--types '2024=DOUBLE'.",
        )


def _named(found: Sequence[str], shown: str) -> tuple[list[str], list[str]]:
    """Give columns without a name one, and those with the name of another what DuckDB's reader calls them."""
    names, notices, renamed = list[str](), list[str](), list[str]()
    taken: dict[str, int] = {}  # each name, and how many have been made from it
    for place, given in enumerate(found):
        name = given or f"column{place}"
        while name.lower() in taken:
            taken[name.lower()] += 1
            name = f"{name}_{taken[name.lower()]}"
        taken[name.lower()] = 0
        names.append(name)
        if not given:
            notices.append(f"The column at place {place + 1} of {shown} has no name, so it is called {name}.")
        elif name != given:
            renamed.append(f"place {place + 1} {given!r} is {name!r}")
    if renamed:
        told = f"Columns of {shown} have the name of one before them, so they are renamed:"
        notices.append(f"{told} {', '.join(renamed)}.")
    return names, notices


def _reader(files: Sequence[str], names: Sequence[str], *, delim: str, quote: str, strict: bool) -> Statement:
    """Write a call of DuckDB's reader: strictly, every row behind a first line of names, or any lines."""
    return sql(
        """
SELECT *
FROM read_csv(
    [{files}],
    columns = {{{columns}}},
    auto_detect = false,
    header = {strict},
    delim = {delim},
    quote = {quote},
    escape = {quote},
    comment = '',
    strict_mode = {strict},
    null_padding = {lenient},
    ignore_errors = {lenient}
)""",
        files=[literal(file) for file in files],
        columns=[sql("{name}: 'VARCHAR'", name=literal(name)) for name in names],
        strict=strict,
        lenient=not strict,
        delim=literal(delim),
        quote=literal(quote),
    )


def read_other(kind: str, files: Sequence[str]) -> Statement:
    """Write what reads every record of Parquet or JSON files."""
    listed = [literal(file) for file in files]
    if kind == "parquet":
        return sql("SELECT * FROM read_parquet([{files}])", files=listed)
    return sql(
        """
SELECT *
FROM read_json([{files}], sample_size = -1, maximum_sample_files = 1000000, ignore_errors = false)""",
        files=listed,
    )


def unreadable(kind: str, text: str, shown: str) -> InvalidSource:
    """Say where files cannot be read and why; what the engine says quotes the line."""
    if (unread := unreachable(shown, text)) is not None:
        return unread
    if kind == "csv":
        return _unreadable_csv(text, shown)
    return InvalidSource(
        f"{shown} cannot be read as {'JSON' if kind == 'json' else 'Parquet'}.",
        f"Check that DuckDB reads it: duckdb -c \"FROM read_{kind}('FILE')\".",
    )


def _unreadable_csv(text: str, shown: str) -> InvalidSource:
    line, width, file = _LINE.search(text), _WIDTH.search(text), _FILE.search(text)
    named = without_secrets(file[1].strip()) if file and os.path.basename(file[1].strip()) else shown
    where = f"Line {line[1]} of {named}" if line else named
    if width:
        return InvalidSource(
            f"{where} holds {width[2]} value(s), where the first line names {width[1]} column(s).",
            'Mend the line (a value that holds the delimiter stands in "quotes"), or load the file yourself '
            "with DuckDB's read_csv, which can leave lines out.",
        )
    if (most := _TOO_LONG.search(text)) is not None:
        return InvalidSource(
            f"{where} is longer than the {int(most[1]):,} bytes that DuckDB reads.",
            "Shorten the line, or load the file yourself with DuckDB's read_csv and its max_line_size.",
        )
    if "unicode" in text or "utf-8" in text.lower():
        return _not_utf8(f"{where} is not UTF-8.", "WINDOWS-1252")
    if "quote" in text.lower() and line:
        return InvalidSource(
            f"{where} has a quote that is not closed, or text behind a closing one.",
            "Mend the line; a quote within a quoted value is doubled.",
        )
    return InvalidSource(
        f"{where} cannot be read as CSV.",
        'Check that lines end alike (tr -d "\\r" < FILE > NEW.csv makes them), and values with delimiters '
        'stand in "quotes", or load the file yourself with DuckDB\'s read_csv.',
    )
