"""Draws noise in SQL: SHA-256 of a secret key and a record, made uniform, then of the noise's distribution.

One statement draws the same on every engine, whatever the threads and the order of the rows. Keys stand in a
private table of one row, so that no statement, plan or log holds them.

Source: FIPS 180-4 (SHA-256 as a pseudorandom function of a secret key); Wichura 1988, "Algorithm AS 241: The
Percentage Points of the Normal Distribution", for the normal distribution.
"""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Literal

from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.keys import Key, PathLike, drawn_key, read_or_new_key
from ppdm_sql.engine.names import Table, column
from ppdm_sql.engine.source import aggregated
from ppdm_sql.engine.statements import Statement, render, sql
from ppdm_sql.engine.types import double
from ppdm_sql.errors import EngineError, InvalidOption, InvalidSource
from ppdm_sql.methods.base.arrays import Floats


def run_key(key_file: PathLike | None, seed: int | None, *, dry: bool = False) -> Key:
    """Read the key of a run from its file, make it of a seed, or draw it; ``dry`` writes no new file."""
    if seed is not None and key_file is not None:
        raise InvalidOption("A key and a seed exclude each other.", "Give --key-file, or --seed in a test.")
    if seed is not None:
        return Key(hashlib.sha256(f"ppdm randomize {seed}".encode()).digest(), "seed")
    if key_file is None or (dry and not Path(key_file).exists()):
        return drawn_key()
    return read_or_new_key(key_file)


# -- the records ------------------------------------------------------------------------------

Identity = Literal["row", "number", "text"]
_NUMBER = re.compile(r"U?(TINY|SMALL)INT|U?INTEGER|BIGINT")


@dataclass(frozen=True)
class RecordKey:
    """What a record is known by: the text of its row's number, or of a column, under the alias ``s``."""

    identity: Identity
    value: Statement


def records_by_row(engine: Engine, table: Table, columns: Sequence[Column], source: str) -> RecordKey:
    """Tell records apart by their rows; refuse what is not a table here, or hides the row numbers."""
    has_rowid = any(item.name.lower() == "rowid" for item in columns)
    try:
        if not has_rowid:
            engine.look_up(sql("SELECT s.rowid FROM {t} AS s LIMIT 0", t=table), step="rows")
            return RecordKey("row", Statement("s.rowid::VARCHAR"))
    except EngineError:
        pass
    raise unknown_rows(source)


def unknown_rows(source: str) -> InvalidOption:
    return InvalidOption(
        f"The rows of {source!r} have no numbers by which records could be told apart.",
        "Give --record ID, a column with another value in each record.",
    )


def records_by_column(engine: Engine, table: Table, item: Column) -> RecordKey:
    """Tell records apart by a column, which one scan must find NULL nowhere and different everywhere."""
    value, query = column(item.name, "s"), "SELECT count(*), count({v}), count(DISTINCT {v}) FROM {rows}"
    (row,) = aggregated(engine, table, query, step="record_key", v=value)
    records, values, different = map(int, row)
    if different < records:
        raise InvalidSource(
            f"Column {item.name!r} does not tell records apart: it is NULL in {records - values} of them and "
            f"holds {different} different values in the other {values}.",
            "Give --record a column with another value in each record.",
        )
    identity: Identity = "number" if _NUMBER.fullmatch(item.type) else "text"
    return RecordKey(identity, sql("{v}::VARCHAR", v=value))


# -- the draws --------------------------------------------------------------------------------

LANES, DIGITS = 4, 13
"""A digest of 64 hexadecimal digits gives so many numbers of 52 bits."""


@dataclass(frozen=True)
class Draw:
    column: str
    noise: str  # as text; other noise draws otherwise
    normal: bool  # whether draws are standard normal; else they are uniform on (0, 1)


@dataclass(frozen=True)
class Draws:
    """The draws of all columns for a kind of record: ``d0``, ``d1`` ... beside what is known of each.

    Columns share a digest, each with its own digits, only where the key is thrown away: the draws of a column
    would depend on the other ones, and whoever had two such releases by one key could average them.
    """

    key: Key
    columns: Sequence[Draw]
    parts: Sequence[str]  # what keys depend on besides: the kind of record
    mixing: Floats | None = None  # a row for each normal column; None leaves draws independent

    @property
    def lanes(self) -> int:
        return 1 if self.key.kept == "file" else LANES

    def keys(self, name: str) -> dict[str, str | bytes]:
        """Give the key of each digest, by the name of its column in the table of keys."""
        size, columns = self.lanes, self.columns
        groups = (columns[first : first + size] for first in range(0, len(columns), size))
        parts = ([part for draw in group for part in (draw.column, draw.noise)] for group in groups)
        keys = (self.key.derived(*self.parts, *of) for of in parts)
        # 43 characters each, to which SHA-256 takes a number in the same block
        return {f"{name}{place}": b64encode(key).decode()[:43] for place, key in enumerate(keys)}

    def hashes(self, record: str, name: str) -> list[str]:
        """Write the digests of a record, ``h0``, ``h1`` ..., by the keys of the table ``k``."""
        digests = range(len(range(0, len(self.columns), self.lanes)))
        return [f"sha256(k.{name}{digest} || {record}) AS h{digest}" for digest in digests]

    def select(self, digests: str) -> str:
        """Write a SELECT that adds the draws, ``d0``, ``d1`` ..., to what a SELECT gives with digests."""
        places = range(len(self.columns))
        halves = (f"{centred(f'h{n // self.lanes}', n % self.lanes)} AS q{n}" for n in places)
        query = f"SELECT *, {', '.join(halves)} FROM ({digests}) AS hashed"
        normal = [place for place in places if self.columns[place].normal]
        if normal:
            roots = ", ".join(f"{normal_root(f'q{n}')} AS r{n}" for n in normal)
            query = f"SELECT *, {roots} FROM ({query}) AS centred"
        if self.mixing is not None:
            independent = ", ".join(f"{normal_value(f'q{n}', f'r{n}')} AS z{n}" for n in normal)
            query = f"SELECT *, {independent} FROM ({query}) AS rooted"
        draws = ", ".join(f"{self._draw(place, normal)} AS d{place}" for place in places)
        return f"SELECT *, {draws} FROM ({query}) AS centred"

    def _draw(self, place: int, normal: Sequence[int]) -> str:
        if place not in normal:
            return f"q{place} + 0.5e0"
        if self.mixing is None:
            return normal_value(f"q{place}", f"r{place}")
        row = zip(self.mixing[normal.index(place)], normal, strict=True)
        return " + ".join(f"{render(double(float(weight)))} * z{n}" for weight, n in row if weight)


def centred(digest: str, lane: int = 0) -> str:
    """Write a number that is uniform on (-1/2, 1/2), both ends and 0 excluded, by some digits of a digest."""
    whole = f"CAST('0x' || substr({digest}, {1 + DIGITS * lane}, {DIGITS}) AS BIGINT)"
    return f"({whole} - 2251799813685247.5e0) * 2.220446049250313e-16"


# Coefficients of the polynomials of Wichura's PPND16, from the constant on: numerator and denominator for the
# middle, for the tails, and for what is beyond a probability of exp(-25).
_MIDDLE = (
    "3.3871328727963666080e0 1.3314166789178437745e2 1.9715909503065514427e3 1.3731693765509461125e4 "
    "4.5921953931549871457e4 6.7265770927008700853e4 3.3430575583588128105e4 2.5090809287301226727e3",
    "1e0 4.2313330701600911252e1 6.8718700749205790830e2 5.3941960214247511077e3 "
    "2.1213794301586595867e4 3.9307895800092710610e4 2.8729085735721942674e4 5.2264952788528545610e3",
)
_TAILS = (
    "1.42343711074968357734e0 4.63033784615654529590e0 5.76949722146069140550e0 3.64784832476320460504e0 "
    "1.27045825245236838258e0 2.41780725177450611770e-1 2.27238449892691845833e-2 7.74545014278341407640e-4",
    "1e0 2.05319162663775882187e0 1.67638483018380384940e0 6.89767334985100004550e-1 "
    "1.48103976427480074590e-1 1.51986665636164571966e-2 5.47593808499534494600e-4 1.05075007164441684324e-9",
)
_BEYOND = (
    "6.65790464350110377720e0 5.46378491116411436990e0 1.78482653991729133580e0 2.96560571828504891230e-1 "
    "2.65321895265761230930e-2 1.24266094738807843860e-3 2.71155556874348757815e-5 2.01033439929228813265e-7",
    "1e0 5.99832206555887937690e-1 1.36929880922735805310e-1 1.48753612908506148525e-2 "
    "7.86869131145613259100e-4 1.84631831751005468180e-5 1.42151175831644588870e-7 "
    "2.04426310338993978564e-15",
)


def normal_root(centred: str) -> str:
    """Write what :func:`normal_value` takes besides a number on (-1/2, 1/2)."""
    tail = f"sqrt(-ln(0.5e0 - abs({centred}))) - 1.6e0"
    return f"CASE WHEN abs({centred}) <= 0.425e0 THEN 0.180625e0 - {centred} * {centred} ELSE {tail} END"


def normal_value(centred: str, root: str) -> str:
    """Write the standard normal number below which lies a share of 1/2 and a number, to 15 digits."""
    middle, tails, beyond = _ratio(_MIDDLE, root), _ratio(_TAILS, root), _ratio(_BEYOND, f"({root} - 3.4e0)")
    return (
        f"CASE WHEN abs({centred}) <= 0.425e0 THEN {centred} * {middle} "
        f"WHEN {root} <= 3.4e0 THEN sign({centred}) * {tails} ELSE sign({centred}) * {beyond} END"
    )


def _ratio(polynomials: tuple[str, str], at: str) -> str:
    above, below = (
        reduce(lambda inner, factor: f"({inner} * {at} + {factor})", reversed(factors.split()))
        for factors in polynomials
    )
    return f"{above} / {below}"
