"""What crosses the line: every message, by number, round, direction, kind, size and digest, on both sides.

The transcripts of both parties are checked against each other: what crossed, and what it could tell.
"""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

from sqlglot import exp

from ppdm_sql.audit.model import Titled
from ppdm_sql.engine import Engine, statements
from ppdm_sql.engine.names import Table, alias, column
from ppdm_sql.engine.statements import literal, render
from ppdm_sql.errors import InvalidOption, NameTaken, PpdmError, ProtocolError, UnknownRelease
from ppdm_sql.methods.two_party.connection import AGREED, BYE, Line
from ppdm_sql.methods.two_party.failures import garbage
from ppdm_sql.methods.two_party.messages import (
    KEY_BYTES,
    KINDS,
    MOST_FIELD_BYTES,
    Kind,
    Message,
    decode,
    encode,
)
from ppdm_sql.methods.two_party.records import digest_of
from ppdm_sql.release import get
from ppdm_sql.release.catalogue import find, parts

TRANSCRIPTS = Table("transcripts", "ppdm")
WITHHELD = ("KEYS", "WIN")
"""Kinds that hold something of every record; a transcript keeps their size and digest only."""
SMALL = 64 * 1024
"""Bytes that a message of any kind may have, beside what it tells of each record, key or value."""
WIDEST = 4
"""Bytes that a WIN may hold of each record."""
LABEL = 1024
"""Bytes that LABELS may hold of each value, on average."""


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


class Link:
    """The messages of one run, each noted as it crosses; connected once there is a line.

    Args:
        records: Of the own table; a partner cannot tell of more.
        path: A file to write each message to, as a line of JSON, without what it holds.

    Raises:
        NameTaken: The file exists.
        InvalidOption: It cannot be written.
    """

    line: Line

    def __init__(self, records: int, path: Path | None = None) -> None:
        self._records, self._announced, self._values = records, 0, 0
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
        """Send a message and hear the partner's of the same kind; the side that listens is the first."""
        if self.line.listens:
            self.send(message)
        found = self.receive(message.kind)
        if not self.line.listens:
            self.send(message)
        return found

    def send(self, message: Message) -> None:
        payload = encode(message)
        if message.kind == "LABELS":
            _check_labels(message, payload)
        self.line.put(payload)
        self._note(message, "sent", payload)

    def receive(self, kind: Kind) -> Message:
        """Wait for a message that the partner alone sends."""
        payload, found = self._taken(kind)
        self._note(found, "received", payload)
        return found

    def agree(self) -> None:
        """Say that this side is about to publish, and hear it of the partner."""
        self._in_turn(AGREED)

    def farewell(self) -> bool:
        """Tell the partner that the release is published here; tell whether it says so too."""
        with contextlib.suppress(PpdmError):
            self._in_turn(BYE)
            return True
        return False

    def _in_turn(self, word: int) -> None:
        for mine in (self.line.listens, not self.line.listens):
            if mine:
                self.agreed = True
                self.line.put(b"", word)
            else:
                self.line.take(0, word)

    def close(self) -> None:
        """Close the file; whoever opened the line closes that."""
        if self._file is not None:
            self._file.close()

    def _taken(self, kind: Kind) -> tuple[bytes, Message]:
        """Wait for a message, which has no more bytes than it can have after what the partner has told."""
        most = {
            "WIN": WIDEST * self._records,
            "KEYS": KEY_BYTES * self._announced,
            "LABELS": min(LABEL * self._values, MOST_FIELD_BYTES),
        }
        payload = self.line.take(SMALL + most.get(kind, 0))
        message = decode(payload)
        fields = cast(dict[str, Any], message.fields)
        if message.kind != kind:
            raise garbage(f"a {message.kind} message where none may come")
        if kind == "HELLO":
            self._announced, self._values = fields["records"], len(fields["owns"])
        if kind == "WIN":
            self._values += fields["children"]
        return payload, message

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


def _check_labels(message: Message, payload: bytes) -> None:
    """Refuse to send more labels than the partner takes."""
    values = len(cast(list[int], message.fields["value"]))
    most = SMALL + min(LABEL * values, MOST_FIELD_BYTES)
    if len(payload) > most:
        raise ProtocolError(
            f"The {values} labels of the release have more than the {most} bytes that can be told.",
            "Release fewer or shorter labels: suppress or generalize the columns with long values.",
        )


# -- beside the release ---------------------------------------------------------------------------


def record(engine: Engine, release: str, entries: Sequence[Entry]) -> None:
    """Store the transcript of a run beside its release, inside the caller's transaction."""
    run: dict[str, Any] = {"release": release}
    columns = {name: [getattr(entry, name) for entry in entries] for name in Entry._fields}
    for step, params in (("create", {}), ("forget", run), ("insert", run | columns)):
        query = statements.bind(f"two_party/{step}_messages", tables={"messages": TRANSCRIPTS})
        engine.write(query, params, step=f"{step}_transcripts")


def transcript(engine: Engine, release: str) -> list[Entry]:
    """List the messages of the run that made a release, in the order of this side.

    Raises:
        UnknownRelease: There is no such release, or it was not made by two parties.

    Cost: one small query.
    """
    name, found = find(engine, release).release, []
    if "transcripts" in parts(engine):
        query = statements.text("two_party/transcript")
        found = engine.query(query, {"release": name}, step="transcript")
    if not found:
        raise UnknownRelease(
            f"The release {name!r} was not made by two parties, so it has no transcript.",
            "Name one that ppdm integrate made; ppdm releases lists them.",
        )
    return [Entry(*row) for row in found]


# -- checked against each other -------------------------------------------------------------------
# Only payloads that name nothing of single records are kept, and those are read again, strictly. Of others
# the size is known, and the digest, which must be the same on both sides.

MOST_HEAD = 256
"""Bytes of a WIN beside its numbers."""
Labels = Mapping[str, Collection[str | None]]
Disclosure = tuple[str, Any]


@dataclass(frozen=True)
class Rule:
    """Something that must be true of two transcripts, and whether it is."""

    rule: str
    holds: bool


@dataclass(frozen=True)
class Checked:
    """What must be true, and what even an honest run has told the partner, each with how much of it."""

    rules: tuple[Rule, ...]
    told: tuple[Disclosure, ...]

    @property
    def holds(self) -> bool:
        """Whether everything is as it must be."""
        return all(rule.holds for rule in self.rules)

    @property
    def faults(self) -> list[str]:
        """The rules that were broken."""
        return [rule.rule for rule in self.rules if not rule.holds]

    def tables(self) -> list[Titled]:
        """Give title, column names and rows of the tables to print."""
        rules: list[tuple[Any, ...]] = [(rule.rule, rule.holds) for rule in self.rules]
        told: list[tuple[Any, ...]] = list(self.told)
        return [("Transcripts", ("check", "holds"), rules), ("Told", ("what", "found"), told)]


def check(mine: Sequence[Entry], theirs: Sequence[Entry], shown: Labels) -> Checked:
    """Check two transcripts of one run."""
    whole = [*mine, *theirs]
    readable = all(entry.kind in WITHHELD or _message(entry) is not None for entry in whole)
    sides = [_sent(mine), _sent(theirs)]
    messages = [[message for message in map(_message, side) if message is not None] for side in sides]
    records = max((cast(int, m.fields["records"]) for m in _of(messages, "HELLO")), default=0)
    wins = (entry for side in sides for entry in side if entry.kind == "WIN")
    rules = (
        Rule("only kinds that are allowed crossed", all(e.kind in KINDS for e in whole)),
        Rule("what one side sent is what the other received", _mirrored(mine, theirs)),
        Rule("each message kept is what its digest says", all(map(_is_whole, whole))),
        Rule("each message kept can be read, and holds nothing but its fields", readable),
        Rule("they came in the order of the protocol", _in_order(*sides)),
        Rule(
            "a WIN held at most one number a record",
            all(win.bytes <= MOST_HEAD + WIDEST * records for win in wins),
        ),
        Rule("nothing was named but labels that the release shows", _named(_of(messages, "LABELS"), shown)),
    )
    return Checked(rules, tuple(_disclosures(sides, messages, list(shown))))


def check_files(engine: Engine, name: str, other_engine: Engine, other_name: str) -> Checked:
    """Check the transcripts in the files of both parties, and that both hold the same release.

    Raises:
        UnknownRelease: A file has no such release, or it was not made by two parties.
    """
    pairs = ((engine, name), (other_engine, other_name))
    mine, theirs = (transcript(*pair) for pair in pairs)
    checked = check(mine, theirs, _shown(engine, name))
    agreed = {_last_digest(mine), _last_digest(theirs), *(_release_digest(*pair) for pair in pairs)}
    same = Rule("both files hold the release on which the parties agreed", len(agreed) == 1)
    return Checked((*checked.rules, same), checked.told)


# -- reading --------------------------------------------------------------------------------------


def _message(entry: Entry) -> Message | None:
    """Read what is kept of a message; None where it is nothing, or not what the transcript says."""
    if entry.payload is None:
        return None
    try:
        message = decode(entry.payload)
    except ProtocolError:
        return None
    return message if (message.kind, message.round) == (entry.kind, entry.round) else None


def _of(messages: Sequence[Sequence[Message]], kind: str) -> list[Message]:
    return [message for side in messages for message in side if message.kind == kind]


def _sent(entries: Sequence[Entry]) -> list[Entry]:
    return [entry for entry in entries if entry.direction == "sent"]


# -- the rules ------------------------------------------------------------------------------------


def _mirrored(mine: Sequence[Entry], theirs: Sequence[Entry]) -> bool:
    def crossed(entries: Sequence[Entry], direction: str) -> list[tuple[Any, ...]]:
        return [(e.round, e.kind, e.bytes, e.digest) for e in entries if e.direction == direction]

    pairs = (("sent", "received"), ("received", "sent"))
    return all(crossed(mine, one) == crossed(theirs, other) for one, other in pairs)


def _is_whole(entry: Entry) -> bool:
    if entry.payload is None:
        return entry.kind in WITHHELD
    return (sha256(entry.payload).hexdigest(), len(entry.payload)) == (entry.digest, entry.bytes)


def _in_order(one: Sequence[Entry], other: Sequence[Entry]) -> bool:
    """Tell whether each side sent what the protocol asks of it, and one side a WIN in each round."""
    wins = [{entry.round for entry in side if entry.kind == "WIN"} for side in (one, other)]
    steps = max((entry.round for entry in (*one, *other)), default=1) - 1
    if len(wins[0]) + len(wins[1]) != steps or wins[0] | wins[1] != set(range(1, steps + 1)):
        return False
    keys = any(entry.kind == "KEYS" for entry in one)
    return all(
        [(entry.kind, entry.round) for entry in side] == list(_expected(steps, won, keys=keys))
        for side, won in zip((one, other), wins, strict=True)
    )


def _expected(steps: int, won: Collection[int], *, keys: bool) -> Iterator[tuple[str, int]]:
    yield "HELLO", 0
    if keys:
        yield from (("KEYS", 0), ("HELLO", 0))
    yield "DIGEST", 0
    for number in range(1, steps + 1):
        yield "SCORE", number
        if number in won:
            yield "WIN", number
        yield "DIGEST", number
    yield from ((kind, steps + 1) for kind in ("SCORE", "LABELS", "DIGEST"))


def _named(labels: Sequence[Message], shown: Labels) -> bool:
    """Tell whether every label named is one that its column shows."""
    names = list(shown)
    for message in labels:
        fields = cast(Mapping[str, list[Any]], message.fields)
        for attribute, label in zip(fields["attribute"], fields["label"], strict=True):
            if attribute >= len(names) or label not in shown[names[attribute]]:
                return False
    return True


# -- what an honest run discloses ------------------------------------------------------------------


def _disclosures(
    sides: Sequence[Sequence[Entry]], messages: Sequence[Sequence[Message]], attributes: Sequence[str]
) -> Iterator[Disclosure]:
    """List what each side learns of the other beside the release."""
    for who, side, sent in zip(("this side", "the other side"), sides, messages, strict=True):
        wins = {entry.round for entry in side if entry.kind == "WIN"}
        scores = [message for message in sent if message.kind == "SCORE"]
        offers = [message for message in scores if message.fields["candidate"]]
        lost = [message for message in offers if message.round not in wins]
        ran_out = [message.round for message in scores if not message.fields["candidate"]]
        records = [message.fields["records"] for message in sent if message.kind == "HELLO"]
        yield f"{who}: records", records[-1] if records else None
        yield f"{who}: specializations, in their order", len(wins)
        yield f"{who}: scores of candidates that lost their round", len(lost)
        levels = sum(message.fields["level"] is not None for message in offers)
        yield f"{who}: scores told as a level of few bits, not in full", levels
        places = [cast(int, message.fields["attribute"]) for message in lost]
        offered = Counter(attributes[p] if p < len(attributes) else f"column {p}" for p in places)
        yield f"{who}: columns of the candidates that lost", ", ".join(sorted(offered)) or "none"
        yield f"{who}: first round without a candidate", min(ran_out, default=None)
        yield f"{who}: bytes sent", sum(entry.bytes for entry in side)


# -- the release ----------------------------------------------------------------------------------


def release_digest(engine: Engine, rows: exp.Select, stopped: str) -> str:
    """Give a digest of the rows of a release, on which both parties agree before either publishes."""
    labels = rows.named_selects
    counted = exp.select(*(alias(column(name, "r"), f"v{i}") for i, name in enumerate(labels)))
    counted = counted.select(alias(exp.Count(this=exp.Star()), "n")).from_(rows.subquery("r"))
    counted.set("group", exp.Group(all=True))
    texts = [exp.cast(column(f"v{i}"), "TEXT") for i in range(len(labels))] + [exp.cast(column("n"), "TEXT")]
    whole: exp.Expression = literal("")
    for text in texts:
        length = exp.cast(exp.Length(this=text.copy()), "TEXT")
        cell = exp.DPipe(this=exp.DPipe(this=length, expression=literal(":")), expression=text)
        whole = exp.DPipe(this=whole, expression=exp.Coalesce(this=cell, expressions=[literal("-")]))
    combined = exp.select(alias(whole, "text")).from_(counted.subquery("c"))
    query = f"SELECT sha256(string_agg(text, ';' ORDER BY text)) FROM ({render(combined)}) AS combinations"
    ((digest,),) = engine.query(query, step="release_digest")
    return digest_of([digest, stopped])


def _shown(engine: Engine, name: str) -> dict[str, set[str | None]]:
    """List the labels that a release shows, by masked column, in the order of the attributes."""
    release = get(engine, name)
    row = release.row()
    rows = row.shape(engine.current()[0]).rows()
    found: dict[str, set[str | None]] = {}
    for masked in row.parameters["masking"]:
        label = exp.cast(column(masked, "r"), "TEXT")
        query = exp.select(label).distinct().from_(rows.copy().subquery("r"))
        found[masked] = {cell for (cell,) in engine.query(render(query), step="labels shown")}
    return found


def _last_digest(entries: Sequence[Entry]) -> object:
    digests = [message for entry in _sent(entries) if entry.kind == "DIGEST" and (message := _message(entry))]
    return digests[-1].fields["leaves"] if digests else None


def _release_digest(engine: Engine, name: str) -> str:
    row = get(engine, name).row()
    return release_digest(engine, row.shape(engine.current()[0]).rows(), row.stopped)
