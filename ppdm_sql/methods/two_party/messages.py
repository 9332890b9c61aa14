"""The messages of the protocol: what may cross the line, and nothing else.

Reading is strict: an unknown kind or field, a wrong type, a size beyond the limits is refused, without a word
of what stood there.

Source: Wang, Fung, Dong 2005, "Integrating private databases for data analysis", ISI (slide 12).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.errors import ProtocolError

VERSION = 1
"""Of the protocol; both parties must speak the same."""
Kind = Literal["HELLO", "KEYS", "SCORE", "WIN", "DIGEST", "LABELS"]
SMALL = 64 * 1024
"""Bytes that a message of any kind may have, beside what it tells of each record, key or value."""
MOST_LABELS = 16 * 1024 * 1024
"""Bytes of all labels."""
MOST_ROUNDS = 10_000_000
KEY_BYTES = 16
"""Of the digest of one key in KEYS."""


@dataclass(frozen=True)
class Message:
    """One message, with the round, from 1; 0 is for what comes before the first."""

    kind: Kind
    round: int
    fields: Mapping[str, Any] = field(default_factory=dict)
    column: NDArray[Any] | None = None


@dataclass(frozen=True)
class MessageShape:
    """What messages of a kind hold; after a type ``?`` allows none, and ``*`` makes it a list."""

    text: str
    column: tuple[str, ...] = ("",)
    each: int = 0

    @property
    def fields(self) -> dict[str, str]:
        return dict(re.findall(r"(\w+) (\S+?)(?:, |$)", self.text))


SHAPES: Mapping[str, MessageShape] = {
    # Before the first round, both ways; a second time where the records were narrowed to the common ones.
    "HELLO": MessageShape(
        "version whole, requirements digest, settings digest, owns whole*, records whole, order digest, "
        "shared digest, match match, intersect truth"
    ),
    # Digests of the keys, sorted, both ways; only where the records differ and both allow it.
    "KEYS": MessageShape("records whole", ("key",), KEY_BYTES),
    # Once a round, both ways. A quantised score travels as its level, the score is then None.
    "SCORE": MessageShape("candidate truth, stop truth, score number?, level whole?, attribute whole?"),
    # From the owner of the winner; its column has for each record of the value, in the order of the records,
    # the child from 1, or 0 where it keeps the value.
    "WIN": MessageShape("attribute whole, value whole, children whole", ("uint8", "uint16", "uint32"), 4),
    # After each specialization, both ways: the sizes of the leaves; at the end the rows of the release.
    "DIGEST": MessageShape("leaves digest"),
    # At the end, both ways: the labels that the release shows.
    "LABELS": MessageShape(
        "attribute whole*, value whole*, label text?*, owned whole*, recoding recoding*", each=1024
    ),
}
_TYPES: Mapping[str, Callable[[Any], bool]] = {
    "whole": lambda value: type(value) is int and 0 <= value < 2**53,
    "truth": lambda value: isinstance(value, bool),
    "number": lambda value: isinstance(value, float) and math.isfinite(value) and value >= 0,
    "digest": lambda value: isinstance(value, str) and re.fullmatch("[0-9a-f]{64}", value) is not None,
    "text": lambda value: isinstance(value, str),
    "match": lambda value: value in ("plain", "hashed"),
    "recoding": lambda value: value in ("taxonomy", "intervals", "suppression"),
}
_COLUMNS = {name: np.dtype(name) for name in ("uint8", "uint16", "uint32")} | {
    "key": np.dtype(f"V{KEY_BYTES}")
}
_HEAD = re.compile(rb'\["([A-Z]{1,9})",(\d{1,9}),("(?:[^"\\]++|\\.)*+"),"([a-z0-9]{0,9})"\]\n')
"""The line before the column: kind, round, fields as JSON, type of the column."""


def encode(message: Message) -> bytes:
    _check(message)
    return _head(message) + (b"" if message.column is None else message.column.tobytes())


def decode(payload: bytes) -> Message:
    """Read a message, strictly: there is one way to write each, so nothing else can be said by the way."""
    head = _HEAD.match(payload)
    if head is None:
        raise garbage("something that is no message")
    kind, name = head[1].decode(), head[4].decode()
    if len(head[0]) > SMALL + MOST_LABELS * (kind == "LABELS"):
        raise garbage("a message that is too large")
    try:
        column = np.frombuffer(payload, _COLUMNS[name], offset=head.end()) if name else None
        message = Message(kind, int(head[2]), json.loads(json.loads(head[3])), column)  # type: ignore[arg-type]
        _check(message)
        proper = _head(message) == head[0] and (column is not None or head.end() == len(payload))
    except (ValueError, TypeError, KeyError, RecursionError):
        raise garbage("a message whose fields or column cannot be read") from None
    if not proper:
        raise garbage("a message that is written in another way than it must be")
    return message


def _head(message: Message) -> bytes:
    fields = _json(dict(message.fields))
    return _json([message.kind, message.round, fields, _type(message.column)]).encode() + b"\n"


def _json(content: object) -> str:
    return json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _type(column: NDArray[Any] | None) -> str:
    return "" if column is None else next((n for n, kind in _COLUMNS.items() if kind == column.dtype), "?")


def _check(message: Message) -> None:
    kind, shape, fields = message.kind, SHAPES.get(message.kind), message.fields
    if shape is None or not 0 <= message.round <= MOST_ROUNDS:
        raise garbage("a message of an unknown kind or round")
    types = shape.fields
    if not isinstance(fields, dict) or fields.keys() != types.keys():
        raise garbage(f"a {kind} message with other fields than it must have")
    for name, wanted in types.items():
        if not _fits(fields[name], wanted):
            raise garbage(f"a {kind} message whose field {name!r} cannot be used")
    if _type(message.column) not in shape.column:
        raise garbage(f"a {kind} message with no column, or with one that it must not have")
    if kind == "SCORE":
        told = (fields["score"] is not None) + (fields["level"] is not None)
        if not told == (fields["attribute"] is not None) == fields["candidate"]:
            raise garbage("a SCORE message that is neither a whole offer nor none")
    if kind == "LABELS":
        names, values, labels, owned, recodings = (len(fields[name]) for name in types)
        if not names == values == labels or owned != recodings:
            raise garbage("a LABELS message whose lists differ in length")


def _fits(value: Any, wanted: str) -> bool:
    if wanted[-1] == "*":
        return isinstance(value, list) and all(_fits(item, wanted[:-1]) for item in value)
    if wanted[-1] == "?":
        return value is None or _fits(value, wanted[:-1])
    return _TYPES[wanted](value)


def garbage(what: str) -> ProtocolError:
    remedy = "Let both run the same version of ppdm-sql, and check who is there."
    return ProtocolError(f"The partner sent {what}.", remedy, reason="message")


def impossible(problem: str) -> ProtocolError:
    remedy = "Start again on both sides; report this if it happens twice."
    return ProtocolError(problem, remedy, reason="message")


def limit(kind: Kind, told: int) -> int:
    """Give the most bytes of a message that tells of so many records, keys or values."""
    more = SHAPES[kind].each * told
    return SMALL + (min(more, MOST_LABELS) if kind == "LABELS" else more)
