"""Keys: how their files are written and read, and what is worked out by them in SQL.

A key is 256 random bits. Pseudonyms, the days by which dates are moved and noise have keys of their own,
derived from it, which stand in private tables of one row, so that no statement, plan or log holds them.

Source: RFC 2104 (HMAC), with SHA-256; RFC 4231 has test vectors.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.names import Table, column, free_name
from ppdm_sql.engine.source import key_table
from ppdm_sql.engine.space import write_new
from ppdm_sql.engine.statements import Sql, Statement, joined, sql
from ppdm_sql.engine.types import Kind, kind_of, type_tree
from ppdm_sql.errors import InvalidOption, NameTaken

BYTES = 32
BLOCK_BYTES = 64
PSEUDONYM_DIGITS = 32
_TEXT = re.compile(rf"[0-9a-f]{{{2 * BYTES}}}")
PathLike = str | os.PathLike[str]


@dataclass(frozen=True)
class Key:
    """The secret of 32 bytes that all of a run comes from that needs a key; no text of it shows them."""

    secret: bytes = field(repr=False)
    kept: str  # `file`, `seed`, or `no` if it is thrown away

    @property
    def fingerprint(self) -> str | None:
        """Tell keys of files apart, without giving anything of them away; None for all others.

        A seed can be guessed, so that nothing that depends on it may be written down.
        """
        if self.kept != "file":
            return None
        return hashlib.sha256(b"ppdm key fingerprint 2" + self.secret).hexdigest()[:16]

    def derived(self, *context: str) -> bytes:
        """Derive the key for some purpose; the parts of the context are told apart whatever they hold.

        Example:
            >>> Key(b"x" * 32, "no").derived("a", "b") == Key(b"x" * 32, "no").derived("ab")
            False
        """
        parts = b"".join(len(part.encode()).to_bytes(8, "little") + part.encode() for part in context)
        return hmac.new(self.secret, parts, hashlib.sha256).digest()


# -- key files --------------------------------------------------------------------------------


def new_key(path: PathLike) -> None:
    """Write a key of 256 random bits into a new file that only its owner can read.

    Args:
        path: The file, which must not be there yet.

    Raises:
        NameTaken: There is such a file, which may hold a key that is needed.
        InvalidOption: It cannot be written.

    Example:
        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "clinic.key")
        >>> new_key(path)
        >>> oct(os.stat(path).st_mode & 0o777)
        '0o600'
    """
    try:
        write_new(Path(path), f"{secrets.token_hex(BYTES)}\n".encode(), step="write key", mode=0o600)
    except FileExistsError:
        raise NameTaken(
            f"The file {path} exists already, and a key that is lost cannot be made again.",
            "Give the path of a new file, or go on with the key that is there.",
        ) from None
    except OSError:
        raise _unusable(path) from None


def read_key(path: PathLike) -> Key:
    """Read a key, which must be there; what is made with it can be made again by all who can read it.

    Raises:
        InvalidOption: There is no such file, it does not hold a key, or others can read it.
    """
    key = _read(path)
    if is_open_to_others(path):
        raise InvalidOption(
            f"Others can read the key file {path}, and with it undo what it hides.",
            f"Write `chmod 600 {path}` first, and a new key where others may have read this one.",
        )
    return key


def read_or_new_key(path: PathLike) -> Key:
    """Read the key of a file, which is written where there is none."""
    with contextlib.suppress(NameTaken):
        new_key(path)
    return _read(path)


def drawn_key() -> Key:
    return Key(secrets.token_bytes(BYTES), "no")


def is_open_to_others(path: PathLike) -> bool:
    """Tell whether others than the owner may read or change a file."""
    return os.name == "posix" and bool(Path(path).stat().st_mode & 0o077)


def _read(path: PathLike) -> Key:
    try:
        text = Path(path).read_text(encoding="ascii").strip()
    except FileNotFoundError:
        raise InvalidOption(
            f"There is no key file {path}.", f"Check the path, or write `ppdm key new {path}`."
        ) from None
    except OSError:
        raise _unusable(path) from None
    except UnicodeDecodeError:
        text = ""
    if not _TEXT.fullmatch(text):
        raise InvalidOption(
            f"The file {path} does not hold a key of ppdm-sql.",
            "Give the path of a file that `ppdm key new` or --key-file has made.",
        )
    return Key(bytes.fromhex(text), "file")


def _unusable(path: PathLike) -> InvalidOption:
    return InvalidOption(
        f"The key file {path} cannot be read or written.", "Give the path of a file that only you can read."
    )


# -- HMAC-SHA-256 in SQL ----------------------------------------------------------------------


def padded(key: bytes) -> tuple[bytes, bytes]:
    short = hashlib.sha256(key).digest() if len(key) > BLOCK_BYTES else key
    filled = short.ljust(BLOCK_BYTES, b"\0")
    inner, outer = (bytes(byte ^ pad for byte in filled) for pad in (0x36, 0x5C))
    return inner, outer


def private(engine: Engine, key: bytes) -> tuple[Statement, Statement]:
    """Give the two padded keys as what reads them from a private table; it lasts as long as the workspace."""
    table = key_table(engine, dict(zip(("inner", "outer"), padded(key), strict=True)))
    return sql("(SELECT k.inner FROM {t} AS k)", t=table), sql("(SELECT k.outer FROM {t} AS k)", t=table)


def hmac_sha256(data: Sql, inner: Sql, outer: Sql) -> Statement:
    """Write the HMAC of bytes by the two padded keys, 64 hexadecimal digits."""
    inside = "sha256({outer} || unhex(sha256({inner} || {data})))"
    return sql(inside, outer=outer, inner=inner, data=data)


def keyed_text(value: Sql, inner: Sql, outer: Sql) -> Statement:
    """Write the HMAC of a value's text; NULL stays NULL."""
    return hmac_sha256(sql("encode(CAST({v} AS TEXT))", v=value), inner, outer)


def pseudonym(value: Sql, inner: Sql, outer: Sql) -> Statement:
    """Write a value's pseudonym: 128 bits of the HMAC of its text, 32 hexadecimal digits."""
    return sql("substr({keyed}, 1, {n})", keyed=keyed_text(value, inner, outer), n=PSEUDONYM_DIGITS)


def pseudonym_key(key: Key, item: Column) -> bytes:
    """Derive the key of a column's pseudonyms.

    By a key of a file equal persons are equal in every table, whatever the column is called and how wide its
    whole numbers are; values of other types have another key, as equal texts do not make them equal. By a key
    that is thrown away columns have nothing in common.
    """
    return key.derived("ppdm pseudonym", *_context(item), *([] if key.fingerprint else [item.name]))


def _context(item: Column) -> tuple[str]:
    kind = kind_of(item.type)
    return (Kind.TEXT.value if kind is Kind.ENUM else kind.value if kind in _ONE_TEXT else item.type,)


_ONE_TEXT = (Kind.WHOLE, Kind.TEXT)
"""Kinds of which equal values have one text in all types."""


def one_text(values: Sequence[Sql]) -> Statement:
    """Write the text of a value, or of several, which do not run into each other; NULL where one is NULL."""
    texts = [sql("CAST({v} AS TEXT)", v=value) for value in values]
    if len(texts) == 1:
        return texts[0]
    return joined([sql("CAST(length({t}) AS TEXT) || ':' || {t}", t=text) for text in texts], " || ")


# -- dates that are moved ---------------------------------------------------------------------

MOVABLE = ("DATE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS")
"""Types of dates that can be moved by whole days and keep all of their digits."""


class MovedDates(NamedTuple):
    """Which dates are moved, the columns that say whose they are, and by how many days at most."""

    dates: tuple[str, ...]
    person: tuple[str, ...]
    days: int


def moved_dates(engine: Engine, source: Table, asked: MovedDates, key: Key) -> Table:
    """Move the dates of each person by one number of days, from 1 to ``days`` back or forth, each as likely.

    Gives a copy of the source, as long as the workspace lasts. NULL and dates without an end stay.
    """
    columns, days = {item.name: item for item in engine.columns(source)}, asked.days
    person = [columns[name] for name in asked.person]
    context = [part for item in person for part in _context(item)]
    parts = private(engine, key.derived("ppdm dates", str(days), *context))
    place, shift = (column(free_name(name, columns)) for name in ("place", "shift"))
    moved = "CAST({d} + to_days({shift}) AS {type}) AS {d}"
    query = """
SELECT * EXCLUDE ({place}, {shift}) REPLACE ({moved})
FROM (
    SELECT *, CAST({place} - {days} + if({place} < {days}, 0, 1) AS INTEGER) AS {shift}
    FROM (SELECT *, CAST('0x' || substr({keyed}, 1, 15) AS BIGINT) % {every} AS {place} FROM {source} AS s)
)"""
    found = sql(
        query,
        place=place,
        shift=shift,
        moved=[
            sql(moved, d=column(name), shift=shift, type=type_tree(columns[name].type))
            for name in asked.dates
        ],
        days=days,
        every=2 * days,
        keyed=keyed_text(one_text([column(item.name, "s") for item in person]), *parts),
        source=source,
    )
    return engine.materialize("moved", found)
