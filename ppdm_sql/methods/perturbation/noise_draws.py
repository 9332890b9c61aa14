"""Draws noise for records: SHAKE-256 of a key, an attribute and a record, as a function of the engine.

The engine hands over the numbers of records and nothing else; values stay where they are. A record gets the
same draw whatever the threads, the order of the rows and the chunks in which they come.

Source: FIPS 202 (SHAKE-256 as a pseudorandom function of a secret key).
"""

from __future__ import annotations

import contextlib
import hashlib
import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.engine import Engine
from ppdm_sql.methods.base.arrays import Floats

Identity = Literal["row", "number", "text"]
BLOCK_BITS = {"row": 10, "number": 6}
"""Two to this power is how many records share a hash: rows stand side by side, numbers may have gaps."""
_WORD = 6
_PLACES = np.array([2.0**-48, 2.0**-32, 2.0**-16])


@dataclass(frozen=True)
class Stream:
    """The draws of one column."""

    key: bytes  # its own secret, from :meth:`~ppdm_sql.methods.perturbation.noise_key.Key.derived`
    normal: bool  # whether draws are standard normal; else they are uniform on (0, 1)


class NoiseDrawer:
    """Gives the draws of all columns for a chunk of records.

    Args:
        streams: The columns.
        identity: What a record is known by: its row, a whole number, or any value as text.
        mixing: From :func:`~ppdm_sql.methods.perturbation.correlated_noise.mixing_matrix`, a row for each
            normal stream; None leaves draws independent.

    Cost: for each column one hash of 6 bytes a record for each block of records that a chunk touches, so that
    numbers of records are best handed over in order.

    Example:
        >>> import pyarrow
        >>> drawer = NoiseDrawer([Stream(b"k", normal=False)], "number")
        >>> one, other = (drawer.draws(pyarrow.array(records))[0] for records in ([1, 2, 99], [99, 1]))
        >>> bool(one[2] == other[0] and one[0] == other[1])
        True
    """

    def __init__(self, streams: Sequence[Stream], identity: Identity, mixing: Floats | None = None) -> None:
        self._states = [hashlib.shake_256(stream.key) for stream in streams]
        self._normal = [row for row, stream in enumerate(streams) if stream.normal]
        self._identity: Identity = identity
        self._mixing = mixing

    def __call__(self, records: Any) -> Any:
        """Give an Arrow array of structs, a field a column, for an Arrow array of records."""
        import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

        drawn = self.draws(records)
        return pa.StructArray.from_arrays([pa.array(row) for row in drawn], fields(len(drawn)))

    def draws(self, records: Any) -> Floats:
        """Give the draws, a row a column and a column a record."""
        from scipy.special import ndtri  # type: ignore[import-untyped, unused-ignore]

        messages, words, places = self._placed(records)
        hashes = [_hashed(state, message, words) for state in self._states for message in messages]
        drawn = in_unit(b"".join(hashes)).reshape(len(self._states), -1)[:, places]
        for row in self._normal:
            ndtri(drawn[row], out=drawn[row])
        if self._mixing is not None:
            drawn[self._normal] = self._mixing @ drawn[self._normal]
        return drawn

    def _placed(self, records: Any) -> tuple[list[bytes], int, NDArray[np.int64] | slice]:
        """Say what to hash, how many words of each hash to take, and which of these words are whose."""
        if self._identity == "text":
            return [record.encode() for record in records.to_pylist()], 1, slice(None)
        bits = BLOCK_BITS[self._identity]
        numbers: NDArray[np.int64] = records.to_numpy(zero_copy_only=False)
        blocks = numbers >> bits
        first, last = int(blocks.min()), int(blocks.max())
        if last - first <= 2 * (len(numbers) >> bits) + 2:  # side by side, as rows are
            found, places = range(first, last + 1), numbers - (first << bits)
        else:
            known, place = np.unique(blocks, return_inverse=True)
            found, places = known.tolist(), (place << bits) + (numbers & (1 << bits) - 1)
        return [block.to_bytes(8, "little", signed=True) for block in found], 1 << bits, places


def fields(columns: int) -> list[str]:
    """Name the draws of so many columns."""
    return [f"d{column}" for column in range(columns)]


def _hashed(state: Any, message: bytes, words: int) -> bytes:
    """Extend the hash of a key by a message and give some words of it."""
    extended = state.copy()
    extended.update(message)
    digest: bytes = extended.digest(_WORD * words)
    return digest


def in_unit(data: bytes) -> Floats:
    """Turn each 48 bits into a number in (0, 1), both ends excluded: odd multiples of 2 ** -49.

    Example:
        >>> float(in_unit(bytes(5) + bytes([128]))[0]) == 0.5 + 2**-49
        True
    """
    numbers: Floats = np.frombuffer(data, dtype="<u2").reshape(-1, 3) @ _PLACES
    numbers += 2.0**-49
    return numbers


@contextlib.contextmanager
def registered(engine: Engine, draw: Callable[[Any], Any], columns: int, identity: Identity) -> Iterator[str]:
    """Make draws callable in SQL under a private name, and forget them afterwards.

    The function takes a record to a struct of :func:`fields`. It is volatile: each call is made.
    """
    name = f"ppdm_draws_{secrets.token_hex(6)}"
    record = "VARCHAR" if identity == "text" else "BIGINT"
    connection: Any = engine.connection
    drawn = f"STRUCT({', '.join(f'{name} DOUBLE' for name in fields(columns))})"
    connection.create_function(name, draw, [record], drawn, type="arrow", side_effects=True)
    try:
        yield name
    finally:
        engine.remove_function(name)
