"""The messages of the protocol: what may cross the line, and nothing else; and the transcript of what did.

Reading is strict: an unknown kind or field, a wrong type, a size beyond the limits is refused, without a word
of what stood there. Every message is noted by number, round, direction, kind, size and digest, on both sides;
the transcripts of both parties are checked against each other: what crossed, and what it could tell.

Source: Wang, Fung, Dong 2005, "Integrating private databases for data analysis", ISI (slide 12).
"""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import column
from ppdm_sql.engine.statements import sql
from ppdm_sql.errors import InvalidOption, NameTaken, ProtocolError, UnknownRelease
from ppdm_sql.methods.two_party.connection import Line, garbage
from ppdm_sql.release import get
from ppdm_sql.release.catalogue import find, parts
from ppdm_sql.release.tables import creation, deletion, insertion, listing
from ppdm_sql.results import Result, ResultTable

VERSION = 1
"""Of the protocol; both parties must speak the same."""
Kind = Literal["HELLO", "KEYS", "SCORE", "WIN", "DIGEST", "LABELS"]
SMALL = 64 * 1024
"""Bytes that a message of any kind may have, beside what it tells of each record, key or value."""
MOST_LABELS, MOST_ROUNDS = 16 * 1024 * 1024, 10_000_000
"""Bytes of all labels, and rounds."""
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
    """Read a message, strictly: there is one way to write each, so none can carry anything else."""
    head = _HEAD.match(payload)
    if head is None:
        raise garbage("something that is not a message")
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
    for name, expected in types.items():
        if not _fits(fields[name], expected):
            raise garbage(f"a {kind} message whose field {name!r} cannot be used")
    if _type(message.column) not in shape.column:
        raise garbage(f"a {kind} message with no column, or with one that it must not have")
    if kind == "SCORE":
        measures = (fields["score"] is not None) + (fields["level"] is not None)
        if not measures == (fields["attribute"] is not None) == fields["candidate"]:
            raise garbage("a SCORE message that is neither a whole offer nor none")
    if kind == "LABELS":
        names, values, labels, owned, recodings = (len(fields[name]) for name in types)
        if not names == values == labels or owned != recodings:
            raise garbage("a LABELS message whose lists differ in length")


def _fits(value: Any, expected: str) -> bool:
    if expected[-1] == "*":
        return isinstance(value, list) and all(_fits(item, expected[:-1]) for item in value)
    if expected[-1] == "?":
        return value is None or _fits(value, expected[:-1])
    return _TYPES[expected](value)


def impossible(problem: str) -> ProtocolError:
    remedy = "Start again on both sides; report this if it happens twice."
    return ProtocolError(problem, remedy, reason="message")


def limit(kind: Kind, items: int) -> int:
    more = SHAPES[kind].each * items
    return SMALL + (min(more, MOST_LABELS) if kind == "LABELS" else more)


def digest_of(content: object) -> str:
    return sha256(json.dumps(content, ensure_ascii=False).encode()).hexdigest()


# -- what has crossed -----------------------------------------------------------------------------

Payload = bytes
WITHHELD = ("KEYS", "WIN")
"""Kinds that hold something of every record; a transcript keeps their size and digest only."""


class Entry(NamedTuple):
    """One message.

    Args:
        number: From 1, in the order of this side.
        round: Of the protocol.
        direction: ``sent`` or ``received``.
        kind: Of the message.
        bytes: Its size.
        digest: Its SHA-256, in hexadecimal digits.
        crossed_at: When, in UTC.
        payload: The message itself, where it is kept.
    """

    number: int
    round: int
    direction: str
    kind: str
    bytes: int
    digest: str
    crossed_at: datetime
    payload: Payload | None = None

    def is_faithful(self) -> bool:
        if self.payload is None:
            return self.kind in WITHHELD
        return (sha256(self.payload).hexdigest(), len(self.payload)) == (self.digest, self.bytes)

    def message(self) -> Message | None:
        """Read what is kept; None where it is nothing, or not what the transcript says."""
        with contextlib.suppress(ProtocolError):
            message = decode(self.payload or b"")
            return message if (message.kind, message.round) == (self.kind, self.round) else None
        return None


class Link:
    """The messages of one run, noted as they cross; the partner can tell of no more records than are here."""

    line: Line

    def __init__(self, records: int, path: Path | None = None) -> None:
        # of how many records, keys and values a message can tell, by what the partner said before
        self._item_counts = {"WIN": records, "KEYS": 0, "LABELS": 0}
        self.agreed = False  # whether this side has announced that it is about to publish
        self.entries: list[Entry] = []
        self._file: IO[str] | None = None
        try:
            if path is not None:
                self._file = open(path, "x", encoding="utf-8")  # noqa: SIM115
        except FileExistsError:
            raise NameTaken(f"{path} exists already.", "Give --transcript another file.") from None
        except OSError:
            raise InvalidOption(f"{path} cannot be written.", "Give --transcript another file.") from None

    def exchange(self, message: Message) -> Message:
        """Send a message and receive the partner's of the same kind and round; the listener sends first."""
        if self.line.listens:
            self.send(message)
        answer = self.receive(message.kind, message.round)
        if not self.line.listens:
            self.send(message)
        return answer

    def send(self, message: Message) -> None:
        payload = encode(message)
        if message.kind == "LABELS":
            values = len(message.fields["value"])
            if len(payload) > (most := limit("LABELS", values)):
                raise ProtocolError(
                    f"The {values} labels of the release have more than the {most} bytes that can be told.",
                    "Release fewer or shorter labels: suppress or generalize the columns with long values.",
                )
        self.line.put(payload)
        self._note(message, "sent", payload)

    def receive(self, kind: Kind, number: int) -> Message:
        """Wait for a message, of no more bytes than it can have by what the partner said before."""
        payload = self.line.take(limit(kind, self._item_counts.get(kind, 0)))
        message = decode(payload)
        if message.kind != kind:
            raise garbage(f"a {message.kind} message where none may come")
        self._note(message, "received", payload)
        if message.round != number:
            raise impossible("The partner sent a message of another round.")
        if kind == "HELLO":
            self._item_counts |= {"KEYS": message.fields["records"], "LABELS": len(message.fields["owns"])}
        if kind == "WIN":
            self._item_counts["LABELS"] += message.fields["children"]
        return message

    def agree(self, word: int) -> None:
        """Say that this side is about to publish, or has published, and wait for the partner to say so."""
        for mine in (self.line.listens, not self.line.listens):
            if mine:
                self.agreed = True
                self.line.put(b"", word)
            else:
                self.line.take(0, word)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def _note(self, message: Message, direction: str, payload: bytes) -> None:
        content = None if message.kind in WITHHELD else payload
        at, digest = datetime.now(UTC).replace(tzinfo=None), sha256(payload).hexdigest()
        number = len(self.entries) + 1
        entry = Entry(number, message.round, direction, message.kind, len(payload), digest, at, content)
        self.entries.append(entry)
        if self._file is not None:
            row = entry._asdict() | {"crossed_at": at.isoformat(" ", "milliseconds")}
            del row["payload"]
            self._file.write(json.dumps(row) + "\n")
            self._file.flush()


def record(engine: Engine, release: str, entries: Sequence[Entry]) -> None:
    run: dict[str, Any] = {"release": release}
    columns = {name: [getattr(entry, name) for entry in entries] for name in Entry._fields}
    engine.write(creation("transcripts"), step="create transcripts")
    engine.write(deletion("transcripts"), run, step="forget transcripts")
    engine.write(insertion("transcripts", many=True), run | columns, step="insert transcripts")


def transcript(engine: Engine, release: str) -> list[Entry]:
    """List the messages of the run that made a release, in the order of this side."""
    name, rows = find(engine, release).release, []
    if "transcripts" in parts(engine):
        rows = engine.query(listing("transcripts", "number"), {"release": name}, step="transcript")
    if not rows:
        raise UnknownRelease(
            f"The release {name!r} was not made by two parties, so it has no transcript.",
            "Name one that ppdm integrate made; ppdm releases lists them.",
        )
    return [Entry(*row) for row in rows]


# -- checked against each other -------------------------------------------------------------------
# Only payloads that name nothing of single records are kept, and those are read again, strictly. Of others
# the size is known, and the digest, which must be the same on both sides.

MOST_HEAD = 256  # bytes of a WIN beside its numbers


@dataclass(frozen=True)
class Checked(Result):
    """What must be true, and what even an honest run has told the partner, each with how much of it."""

    rules: Mapping[str, bool]
    told: Mapping[str, object]

    @property
    def holds(self) -> bool:
        return all(self.rules.values())

    @property
    def faults(self) -> list[str]:
        return [rule for rule, holds in self.rules.items() if not holds]

    def tables(self) -> list[ResultTable]:
        checks = ResultTable("Transcripts", ("check", "holds"), list(self.rules.items()))
        return [checks, ResultTable("Told", ("what", "found"), list(self.told.items()))]


def check(
    mine: Sequence[Entry], theirs: Sequence[Entry], labels: Mapping[str, Collection[str | None]]
) -> Checked:
    whole = [*mine, *theirs]
    sides = [[entry for entry in side if entry.direction == "sent"] for side in (mine, theirs)]
    sent = [[message for entry in side if (message := entry.message()) is not None] for side in sides]
    every = [message for side in sent for message in side]
    crossings = [
        [(e.round, e.kind, e.bytes, e.digest) for e in side if e.direction == direction]
        for side, direction in ((mine, "sent"), (theirs, "received"), (mine, "received"), (theirs, "sent"))
    ]
    readable = all(entry.message() is not None for entry in whole if entry.kind not in WITHHELD)
    records = max((message.fields["records"] for message in every if message.kind == "HELLO"), default=0)
    visible = {(place, label) for place, of_column in enumerate(labels.values()) for label in of_column}
    names = {
        of
        for message in every
        if message.kind == "LABELS"
        for of in zip(message.fields["attribute"], message.fields["label"], strict=True)
    }
    widest = MOST_HEAD + SHAPES["WIN"].each * records
    rules = {
        "only kinds that are allowed crossed": all(entry.kind in SHAPES for entry in whole),
        "what one side sent is what the other received": crossings[0::2] == crossings[1::2],
        "each message kept is what its digest says": all(map(Entry.is_faithful, whole)),
        "each message kept can be read, and holds nothing but its fields": readable,
        "they came in the order of the protocol": _in_order(*sides),
        "a WIN held at most one number a record": all(e.bytes <= widest for e in whole if e.kind == "WIN"),
        "nothing was named but labels that the release shows": names <= visible,
    }
    disclosures = {
        f"{who}: {what}": value
        for who, entries, messages in zip(("this side", "the other side"), sides, sent, strict=True)
        for what, value in _disclosures(entries, messages, list(labels)).items()
    }
    return Checked(rules, disclosures)


def check_files(engine: Engine, name: str, other_engine: Engine, other_name: str) -> Checked:
    """Check the transcripts in both files, and that both hold the same release."""
    pairs, states = ((engine, name), (other_engine, other_name)), set[object]()
    mine, theirs = (transcript(*pair) for pair in pairs)
    for there, release in pairs:
        row = get(there, release).row()
        states.add(release_digest(there, row.shape(there.current()[0]).rows(), row.stopped))
    for side in (mine, theirs):
        digests = [e.message() for e in side if (e.kind, e.direction) == ("DIGEST", "sent")]
        states.add(digests[-1].fields["leaves"] if digests and digests[-1] else None)
    result = check(mine, theirs, _shown_labels(engine, name))
    same = {"both files hold the release on which the parties agreed": len(states) == 1}
    return Checked({**result.rules, **same}, result.told)


def _in_order(*sides: Sequence[Entry]) -> bool:
    wins = sorted(entry.round for side in sides for entry in side if entry.kind == "WIN")
    steps = len(wins)
    if wins != list(range(1, steps + 1)):
        return False
    narrowing = [("KEYS", 0), ("HELLO", 0)] if any(entry.kind == "KEYS" for entry in sides[0]) else []
    for side in sides:
        own_wins = {entry.round for entry in side if entry.kind == "WIN"}
        expected = [("HELLO", 0), *narrowing, ("DIGEST", 0)]
        for number in range(1, steps + 1):
            expected += [("SCORE", number), *[("WIN", number)][: number in own_wins], ("DIGEST", number)]
        expected += [(kind, steps + 1) for kind in ("SCORE", "LABELS", "DIGEST")]
        if [(entry.kind, entry.round) for entry in side] != expected:
            return False
    return True


def _disclosures(
    side: Sequence[Entry], sent: Sequence[Message], attributes: Sequence[str]
) -> dict[str, object]:
    wins = {entry.round for entry in side if entry.kind == "WIN"}
    scores = [message for message in sent if message.kind == "SCORE"]
    offers = [message for message in scores if message.fields["candidate"]]
    places = Counter(message.fields["attribute"] for message in offers if message.round not in wins)
    columns = sorted(attributes[p] if p < len(attributes) else f"column {p}" for p in places)
    records = [message.fields["records"] for message in sent if message.kind == "HELLO"]
    ran_out = [message.round for message in scores if not message.fields["candidate"]]
    return {
        "records": records[-1] if records else None,
        "specializations, in their order": len(wins),
        "scores of candidates that lost their round": places.total(),
        "scores told as a level of few bits, not in full": sum(o.fields["level"] is not None for o in offers),
        "columns of the candidates that lost": ", ".join(columns) or "none",
        "first round without a candidate": min(ran_out, default=None),
        "bytes sent": sum(entry.bytes for entry in side),
    }


def release_digest(engine: Engine, rows: exp.Select, stopped: str) -> str:
    """On which both parties agree before either publishes."""
    names = [column(name, "r") for name in rows.named_selects]
    cells = [sql("CAST({c} AS VARCHAR)", c=cell) for cell in (*names, exp.Count(this=exp.Star()))]
    texts = [sql("coalesce(length({t}) || ':' || {t}, '-')", t=cell) for cell in cells]
    each = "SELECT concat({texts}) AS text FROM ({rows}) AS r GROUP BY {names}"
    query = sql(
        f"SELECT sha256(string_agg(text, ';' ORDER BY text)) FROM ({each}) AS combinations",
        texts=texts,
        rows=rows,
        names=names,
    )
    ((digest,),) = engine.query(query, step="release_digest")
    return digest_of([digest, stopped])


def _shown_labels(engine: Engine, name: str) -> dict[str, set[str | None]]:
    row = get(engine, name).row()
    rows = row.shape(engine.current()[0]).rows()
    labels: dict[str, set[str | None]] = {}
    for attribute in row.parameters["masking"]:
        query = sql(
            "SELECT DISTINCT CAST({c} AS VARCHAR) FROM ({rows}) AS r", c=column(attribute, "r"), rows=rows
        )
        labels[attribute] = {cell for (cell,) in engine.query(query, step="labels shown")}
    return labels
