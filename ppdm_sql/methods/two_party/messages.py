"""The messages of the protocol: what may cross the line, and nothing else.

A message is a kind, a round, a few fields, and for some kinds one column of numbers or of digests. Reading is
strict: an unknown kind or field, a wrong type, a size beyond the limits is refused, without a word of what
stood there.

Source: Wang, Fung, Dong 2005, "Integrating private databases for data analysis", ISI (slide 12).
"""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NoReturn, cast, get_args

from ppdm_sql.errors import ProtocolError
from ppdm_sql.methods.two_party.failures import garbage

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

VERSION = 1
"""Of the protocol; both parties must speak the same."""
Kind = Literal["HELLO", "KEYS", "SCORE", "WIN", "DIGEST", "LABELS"]
KINDS: tuple[Kind, ...] = get_args(Kind)
Field = int | float | str | bool | None | list[int] | list[str] | list[str | None]

MOST_FIELD_BYTES = 16 * 1024 * 1024
"""Of the fields of one message, as JSON; the labels of a cut are the largest."""
MOST_ROUNDS = 10_000_000
MOST_ROWS = 2**31 - 1
KEY_BYTES = 16
"""Of the digest of one key in KEYS."""
_HEAD = re.compile(rb'\["[A-Z]{1,9}",\d{1,9},"(?:[^"\\]++|\\.)*+","[a-z0-9]{0,9}"\]\n')
"""The line before the column: kind, round, fields as JSON, type of the column."""


@dataclass(frozen=True)
class Message:
    """One message, with the round, from 1; 0 is for what comes before the first.

    A WIN has a column of one number a record of the specialized value, in the order of the records; KEYS have
    one of digests.

    Example:
        >>> decode(encode(Message("DIGEST", 3, {"leaves": "0" * 64}))).round
        3
    """

    kind: Kind
    round: int
    fields: Mapping[str, Field] = field(default_factory=dict)
    column: pa.Array | None = None


# -- what each kind holds -------------------------------------------------------------------------

_Test = Callable[[Any], bool]


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53


def _truth(value: Any) -> bool:
    return isinstance(value, bool)


def _number(value: Any) -> bool:
    return isinstance(value, float) and math.isfinite(value) and value >= 0


def _digest(value: Any) -> bool:
    return isinstance(value, str) and len(value) == 64 and set(value) <= set("0123456789abcdef")


def _word(*words: str) -> _Test:
    return lambda value: isinstance(value, str) and value in words


def _or_none(test: _Test) -> _Test:
    return lambda value: value is None or test(value)


def _list(test: _Test) -> _Test:
    return lambda value: isinstance(value, list) and all(map(test, value))


def _text(value: Any) -> bool:
    return isinstance(value, str)


FIELDS: Mapping[Kind, Mapping[str, _Test]] = {
    # Before the first round, both ways; a second time where the records were narrowed to the common ones.
    "HELLO": {
        "version": _whole,
        "requirements": _digest,
        "settings": _digest,
        "owns": _list(_whole),
        "records": _whole,
        "order": _digest,
        "shared": _digest,
        "match": _word("plain", "hashed"),
        "intersect": _truth,
    },
    # Digests of the keys, sorted, both ways; only where the records differ and both allow it.
    "KEYS": {"records": _whole},
    # Once a round, both ways. A quantised score travels as its level, the score is then None.
    "SCORE": {
        "candidate": _truth,
        "stop": _truth,
        "score": _or_none(_number),
        "level": _or_none(_whole),
        "attribute": _or_none(_whole),
    },
    # From the owner of the winner: one number a record, 0 where it keeps the value, else the child from 1.
    "WIN": {"attribute": _whole, "value": _whole, "children": _whole},
    # After each specialization, both ways: the sizes of the leaves; at the end the rows of the release.
    "DIGEST": {"leaves": _digest},
    # At the end, both ways: the labels that the release shows.
    "LABELS": {
        "attribute": _list(_whole),
        "value": _list(_whole),
        "label": _list(_or_none(_text)),
        "owned": _list(_whole),
        "recoding": _list(_word("taxonomy", "intervals", "suppression")),
    },
}
COLUMNS: Mapping[Kind, tuple[str, ...]] = {"WIN": ("uint8", "uint16", "uint32"), "KEYS": ("key",)}
"""Types of the column of the kinds that have one."""


# -- there and back -------------------------------------------------------------------------------


def encode(message: Message) -> bytes:
    r"""Write a message as the bytes that cross: a line of JSON, then its column.

    Example:
        >>> encode(Message("DIGEST", 3, {"leaves": "0" * 64}))[:20]
        b'["DIGEST",3,"{\\"leav'
    """
    check(message)
    kind, data = _bytes_of(message.column)
    return b"".join((_head(message, kind), data))


def decode(payload: bytes) -> Message:
    """Read a message, strictly: there is one way to write each, so nothing else can be said by the way."""
    end = payload.find(b"\n") + 1
    kind, number, fields, type_name = _line(payload[:end])
    if kind not in KINDS:
        raise garbage("a message of an unknown kind")
    column = _column(kind, type_name, payload[end:])
    message = Message(kind, number, _parsed(kind, fields), column)
    check(message)
    written = b""
    with contextlib.suppress(UnicodeEncodeError):  # half a character can be read, and not be written
        written = _head(message, type_name)
    if written != payload[:end]:
        raise garbage("a message that is written in another way than it must be")
    return message


def _head(message: Message, type_name: str) -> bytes:
    """Write the line before the column."""
    fields = json.dumps(dict(message.fields), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    if len(fields.encode()) > MOST_FIELD_BYTES:
        raise ProtocolError(
            f"The {message.kind} message is larger than {MOST_FIELD_BYTES} bytes.",
            "Release fewer different labels: suppress or generalize the columns with many values.",
        )
    row = [message.kind, message.round, fields, type_name]
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _line(text: bytes) -> tuple[str, int, str, str]:
    """Read the line before the column; what it is made of is seen before it is read."""
    if _HEAD.fullmatch(text) is not None:
        with contextlib.suppress(ValueError):
            kind, number, fields, type_name = json.loads(text)
            return kind, number, fields, type_name
    raise garbage("something that is no message")


def check(message: Message) -> None:
    """Refuse a message with a field too many or too few, of a wrong type or beyond a limit."""
    kind, wanted = message.kind, FIELDS.get(message.kind)
    if wanted is None or not (_whole(message.round) and message.round <= MOST_ROUNDS):
        raise garbage("a message of an unknown kind or round")
    if set(message.fields) != set(wanted):
        raise garbage(f"a {kind} message with other fields than it must have")
    for name, test in wanted.items():
        if not test(message.fields[name]):
            raise garbage(f"a {kind} message whose field {name!r} cannot be used")
    if (message.column is not None) != (kind in COLUMNS):
        raise garbage(f"a {kind} message with no column, or with one that it must not have")
    if kind == "SCORE" and not _is_offer(message.fields):
        raise garbage("a SCORE message that is neither a whole offer nor none")
    if kind == "LABELS" and not _is_even(message.fields):
        raise garbage("a LABELS message whose lists differ in length")


def _is_offer(fields: Mapping[str, Field]) -> bool:
    told = sum(fields[name] is not None for name in ("score", "level"))
    return told == (fields["attribute"] is not None) == fields["candidate"]


def _is_even(fields: Mapping[str, Field]) -> bool:
    lengths = {name: len(cast(list[int], value)) for name, value in fields.items()}
    rows = {lengths[name] for name in ("attribute", "value", "label")}
    return len(rows) == 1 and lengths["owned"] == lengths["recoding"]


def _parsed(kind: Kind, fields: str) -> dict[str, Field]:
    def constant(_: str) -> NoReturn:
        raise ValueError

    if len(fields) > MOST_FIELD_BYTES:
        raise garbage(f"a {kind} message that is too large")
    try:
        found = json.loads(fields, parse_constant=constant)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise garbage(f"a {kind} message whose fields cannot be read")
    return cast(dict[str, Field], found)


def _bytes_of(column: pa.Array | None) -> tuple[str, bytes]:
    """Give the type and the bytes of a column without NULLs."""
    import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

    if column is None:
        return "", b""
    name = "key" if pa.types.is_fixed_size_binary(column.type) else str(column.type)
    plain = pa.concat_arrays([column])  # drops the offset that a slice has
    whole = plain.buffers()[1] or pa.py_buffer(b"")
    width = KEY_BYTES if name == "key" else column.type.bit_width // 8
    if column.null_count or name not in {n for names in COLUMNS.values() for n in names}:
        raise TypeError("a column of a message holds unsigned numbers or digests of keys")
    return name, whole.slice(0, width * len(column)).to_pybytes()


def _column(kind: Kind, name: str, data: bytes) -> pa.Array | None:
    import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

    if not name and not data:
        return None
    if name not in COLUMNS.get(kind, ()):
        raise garbage(f"a {kind} message with a column that it must not have")
    found = pa.binary(KEY_BYTES) if name == "key" else pa.type_for_alias(name)
    width = KEY_BYTES if name == "key" else found.bit_width // 8
    if len(data) % width or len(data) // width > MOST_ROWS:
        raise garbage(f"a {kind} message whose column has no proper size")
    return pa.Array.from_buffers(found, len(data) // width, [None, pa.py_buffer(data)])
