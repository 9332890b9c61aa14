"""What crosses the line: every message, by number, round, direction, kind, size and digest, on both sides.

The transcripts of both parties are checked against each other: what crossed, and what it could tell.
"""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, NamedTuple

from sqlglot import exp

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table, column
from ppdm_sql.engine.statements import bind, sql, text
from ppdm_sql.errors import InvalidOption, NameTaken, ProtocolError, UnknownRelease
from ppdm_sql.methods.two_party.connection import AGREED, Line
from ppdm_sql.methods.two_party.messages import (
    SHAPES,
    Kind,
    Message,
    decode,
    encode,
    garbage,
    impossible,
    limit,
)
from ppdm_sql.methods.two_party.records import digest_of
from ppdm_sql.release import get
from ppdm_sql.release.catalogue import find, parts
from ppdm_sql.results import Result, ResultTable

WITHHELD = ("KEYS", "WIN")
"""Kinds that hold something of every record; a transcript keeps their size and digest only."""


Payload = bytes


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
            found = decode(self.payload or b"")
            return found if (found.kind, found.round) == (self.kind, self.round) else None
        return None


class Link:
    """The messages of one run, each noted as it crosses; connected once there is a line.

    The partner cannot tell of more records than the own table has; a file takes what the transcript does.
    """

    line: Line

    def __init__(self, records: int, path: Path | None = None) -> None:
        self._told = {"WIN": records, "KEYS": 0, "LABELS": 0}
        """Of how many records, keys and values a message can tell, after what the partner has told."""
        self.agreed = False
        """Whether this side has announced that it is about to publish."""
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
        """Send a message and hear the partner's of the same kind and round; the listening side is first."""
        if self.line.listens:
            self.send(message)
        found = self.receive(message.kind, message.round)
        if not self.line.listens:
            self.send(message)
        return found

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
        """Wait for a message, which has no more bytes than it can have after what the partner has told."""
        payload = self.line.take(limit(kind, self._told.get(kind, 0)))
        message = decode(payload)
        if message.kind != kind:
            raise garbage(f"a {message.kind} message where none may come")
        self._note(message, "received", payload)
        if message.round != number:
            raise impossible("The partner sent a message of another round.")
        if kind == "HELLO":
            self._told |= {"KEYS": message.fields["records"], "LABELS": len(message.fields["owns"])}
        if kind == "WIN":
            self._told["LABELS"] += message.fields["children"]
        return message

    def agree(self, word: int = AGREED) -> None:
        """Say that this side is about to publish, or has published, and hear it of the partner."""
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
        head = (len(self.entries) + 1, message.round, direction, message.kind, len(payload))
        kept = None if message.kind in WITHHELD else payload
        at = datetime.now(UTC).replace(tzinfo=None)
        entry = Entry(*head, sha256(payload).hexdigest(), at, kept)
        self.entries.append(entry)
        if self._file is not None:
            row = entry._asdict() | {"crossed_at": at.isoformat(" ", "milliseconds")}
            del row["payload"]
            self._file.write(json.dumps(row) + "\n")
            self._file.flush()


def record(engine: Engine, release: str, entries: Sequence[Entry]) -> None:
    run: dict[str, Any] = {"release": release}
    columns = {name: [getattr(entry, name) for entry in entries] for name in Entry._fields}
    for step, params in (("create", {}), ("forget", run), ("insert", run | columns)):
        query = bind(f"two_party/{step}_messages", tables={"messages": Table("transcripts", "ppdm")})
        engine.write(query, params, step=f"{step}_transcripts")


def transcript(engine: Engine, release: str) -> list[Entry]:
    """List the messages of the run that made a release, in the order of this side."""
    name, found = find(engine, release).release, []
    if "transcripts" in parts(engine):
        found = engine.query(text("two_party/transcript"), {"release": name}, step="transcript")
    if not found:
        raise UnknownRelease(
            f"The release {name!r} was not made by two parties, so it has no transcript.",
            "Name one that ppdm integrate made; ppdm releases lists them.",
        )
    return [Entry(*row) for row in found]


# -- checked against each other -------------------------------------------------------------------
# Only payloads that name nothing of single records are kept, and those are read again, strictly. Of others
# the size is known, and the digest, which must be the same on both sides.

MOST_HEAD = 256  # bytes of a WIN beside its numbers
Labels = Mapping[str, Collection[str | None]]


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
        rules, told = list(self.rules.items()), list(self.told.items())
        return [
            ResultTable("Transcripts", ("check", "holds"), rules),
            ResultTable("Told", ("what", "found"), told),
        ]


def check(mine: Sequence[Entry], theirs: Sequence[Entry], shown: Labels) -> Checked:
    whole = [*mine, *theirs]
    sides = [[entry for entry in side if entry.direction == "sent"] for side in (mine, theirs)]
    sent = [[message for entry in side if (message := entry.message()) is not None] for side in sides]
    every = [message for side in sent for message in side]
    crossed = [
        [(e.round, e.kind, e.bytes, e.digest) for e in side if e.direction == direction]
        for side, direction in ((mine, "sent"), (theirs, "received"), (mine, "received"), (theirs, "sent"))
    ]
    readable = all(entry.message() is not None for entry in whole if entry.kind not in WITHHELD)
    records = max((message.fields["records"] for message in every if message.kind == "HELLO"), default=0)
    allowed = {(place, label) for place, labels in enumerate(shown.values()) for label in labels}
    named = {
        of
        for message in every
        if message.kind == "LABELS"
        for of in zip(message.fields["attribute"], message.fields["label"], strict=True)
    }
    widest = MOST_HEAD + SHAPES["WIN"].each * records
    rules = {
        "only kinds that are allowed crossed": all(entry.kind in SHAPES for entry in whole),
        "what one side sent is what the other received": crossed[0::2] == crossed[1::2],
        "each message kept is what its digest says": all(map(Entry.is_faithful, whole)),
        "each message kept can be read, and holds nothing but its fields": readable,
        "they came in the order of the protocol": _in_order(*sides),
        "a WIN held at most one number a record": all(e.bytes <= widest for e in whole if e.kind == "WIN"),
        "nothing was named but labels that the release shows": named <= allowed,
    }
    told = {
        f"{who}: {what}": found
        for who, entries, messages in zip(("this side", "the other side"), sides, sent, strict=True)
        for what, found in _disclosures(entries, messages, list(shown)).items()
    }
    return Checked(rules, told)


def check_files(engine: Engine, name: str, other_engine: Engine, other_name: str) -> Checked:
    """Check the transcripts in the files of both parties, and that both hold the same release."""
    pairs, agreed = ((engine, name), (other_engine, other_name)), set[object]()
    mine, theirs = (transcript(*pair) for pair in pairs)
    for there, release in pairs:
        row = get(there, release).row()
        agreed.add(release_digest(there, row.shape(there.current()[0]).rows(), row.stopped))
    for side in (mine, theirs):
        digests = [e.message() for e in side if (e.kind, e.direction) == ("DIGEST", "sent")]
        agreed.add(digests[-1].fields["leaves"] if digests and digests[-1] else None)
    checked = check(mine, theirs, _shown(engine, name))
    same = {"both files hold the release on which the parties agreed": len(agreed) == 1}
    return Checked({**checked.rules, **same}, checked.told)


def _in_order(*sides: Sequence[Entry]) -> bool:
    """Tell whether each side sent what the protocol asks of it, and one side a WIN in each round."""
    wins = sorted(entry.round for side in sides for entry in side if entry.kind == "WIN")
    steps = len(wins)
    if wins != list(range(1, steps + 1)):
        return False
    narrowed = [("KEYS", 0), ("HELLO", 0)] if any(entry.kind == "KEYS" for entry in sides[0]) else []
    for side in sides:
        won = {entry.round for entry in side if entry.kind == "WIN"}
        expected = [("HELLO", 0), *narrowed, ("DIGEST", 0)]
        for number in range(1, steps + 1):
            expected += [("SCORE", number), *[("WIN", number)][: number in won], ("DIGEST", number)]
        expected += [(kind, steps + 1) for kind in ("SCORE", "LABELS", "DIGEST")]
        if [(entry.kind, entry.round) for entry in side] != expected:
            return False
    return True


def _disclosures(
    side: Sequence[Entry], sent: Sequence[Message], attributes: Sequence[str]
) -> dict[str, object]:
    """List what one side has told the other beside the release."""
    wins = {entry.round for entry in side if entry.kind == "WIN"}
    scores = [message for message in sent if message.kind == "SCORE"]
    offers = [message for message in scores if message.fields["candidate"]]
    places = Counter(message.fields["attribute"] for message in offers if message.round not in wins)
    lost = sorted(attributes[p] if p < len(attributes) else f"column {p}" for p in places)
    records = [message.fields["records"] for message in sent if message.kind == "HELLO"]
    ran_out = [message.round for message in scores if not message.fields["candidate"]]
    return {
        "records": records[-1] if records else None,
        "specializations, in their order": len(wins),
        "scores of candidates that lost their round": places.total(),
        "scores told as a level of few bits, not in full": sum(o.fields["level"] is not None for o in offers),
        "columns of the candidates that lost": ", ".join(lost) or "none",
        "first round without a candidate": min(ran_out, default=None),
        "bytes sent": sum(entry.bytes for entry in side),
    }


def release_digest(engine: Engine, rows: exp.Select, stopped: str) -> str:
    """Give a digest of the rows of a release, on which both parties agree before either publishes."""
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


def _shown(engine: Engine, name: str) -> dict[str, set[str | None]]:
    """List the labels that a release shows, by masked column, in the order of the attributes."""
    row = get(engine, name).row()
    rows = row.shape(engine.current()[0]).rows()
    found: dict[str, set[str | None]] = {}
    for masked in row.parameters["masking"]:
        query = sql(
            "SELECT DISTINCT CAST({c} AS VARCHAR) FROM ({rows}) AS r", c=column(masked, "r"), rows=rows
        )
        found[masked] = {cell for (cell,) in engine.query(query, step="labels shown")}
    return found
