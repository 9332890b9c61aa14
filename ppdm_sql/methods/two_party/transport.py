"""The link of a run over the line: messages in and out, every one noted, and repeated in a resumed run."""

from __future__ import annotations

import contextlib
import json
from dataclasses import asdict, dataclass
from hashlib import sha256
from time import monotonic
from typing import Any

from ppdm_sql.errors import ProtocolError
from ppdm_sql.methods.two_party.failures import garbage
from ppdm_sql.methods.two_party.journal import LIVE, Journal, chain
from ppdm_sql.methods.two_party.messages import Kind, Message, decode, encode, schema
from ppdm_sql.methods.two_party.stream import MessageStream
from ppdm_sql.methods.two_party.transcripts import Entry, Log, now, told

SMALL = 64 * 1024
"""Bytes that a message of any kind may have, beside what it tells of each record."""
_LARGE: dict[str, int] = {"LABELS": 65 * 1024 * 1024, "KEYS": 1024**3}
WIDEST = 4
"""Bytes that a message may hold of each record."""
SECONDS_BETWEEN_KEEPS = 1.0
"""How much of a run a process that is killed may lose; the partner sends it again."""


@dataclass(frozen=True)
class Opening:
    """What each side says before the first message.

    Args:
        resume: Whether a run that broke off goes on.
        received: How many messages it has kept of the partner's.
        chain: One digest of them all.
        published: Whether its release is there already.
    """

    resume: bool
    received: int
    chain: str
    published: bool = False

    def encode(self) -> bytes:
        """Write it."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def decode(cls, text: bytes) -> Opening:
        """Read it, strictly.

        Raises:
            ProtocolError: It is none.

        Example:
            >>> opening = Opening(True, 3, "f" * 64)
            >>> Opening.decode(opening.encode()) == opening
            True
        """
        found: Any = None
        with contextlib.suppress(ValueError, RecursionError):
            found = json.loads(text)
        types = {"resume": bool, "received": int, "chain": str, "published": bool}
        if not isinstance(found, dict) or {name: type(found[name]) for name in found} != types:
            raise garbage("an opening word that cannot be read")
        return cls(**found)


def to_bytes(message: Message) -> bytes:
    r"""Write a message as the bytes that cross: a line of JSON, then its column.

    Example:
        >>> to_bytes(Message("DIGEST", 3, {"leaves": "0" * 64}))[:20]
        b'["DIGEST",3,"{\\"leav'
    """
    batch = encode(message)
    *head, data = (column[0] for column in batch.columns)
    line = json.dumps([item.as_py() for item in head], ensure_ascii=False, separators=(",", ":"))
    return b"".join((line.encode(), b"\n", data.as_buffer()))


def from_bytes(payload: bytes) -> Message:
    """Read a message, strictly: there is one way to write each, so nothing else can be said by the way.

    Raises:
        ProtocolError: It is none.
    """
    import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

    end = payload.find(b"\n")
    try:
        head = json.loads(payload[: max(end, 0)])
        cells = [*head, memoryview(payload)[end + 1 :]]
        columns = [pa.array([cell], item.type) for cell, item in zip(cells, schema(), strict=True)]
        batch = pa.record_batch(columns, schema=schema())
    except (ValueError, TypeError, OverflowError, RecursionError):
        raise garbage("something that is no message") from None
    message = decode(batch)
    if to_bytes(message) != payload:
        raise garbage("a message that is written in another way than it must be")
    return message


class RecordedTransport:
    """The link of one run, connected once there is a line.

    Args:
        journal: Keeps what a resumed run needs.
        log: Notes every message.
        records: Of the own table; a partner cannot tell of more.
        kept: Messages of the run that broke off; none in a new run.
    """

    _line: MessageStream
    _partner: Opening

    def __init__(self, journal: Journal, log: Log, records: int, kept: list[Entry]) -> None:
        self._journal, self._log, self._records = journal, log, records
        self._kept, self._written, self._kept_at = kept, len(kept), monotonic()
        self._sent = 0

    def connect(self, line: MessageStream, partner: Opening) -> None:
        """Take the open line, and the partner's opening word."""
        self._line, self._partner = line, partner

    @property
    def reached(self) -> int:
        """The last round that this side has finished, from where a run can go on; 0 for none."""
        ends = [e.round for e in self._log.entries if (e.direction, e.kind) == ("sent", "DIGEST")]
        return max(ends, default=0)

    def send(self, message: Message) -> None:
        """Send a message, unless the partner has it from the run that broke off.

        Raises:
            PeerError: The partner cannot be reached any more.
            ProtocolError: This side's table or options are not those of the run that broke off.
        """
        payload = to_bytes(message)
        late = message.kind == "DIGEST" and monotonic() - self._kept_at > SECONDS_BETWEEN_KEEPS
        if late or message.kind == "LABELS":  # the last one before the transaction that publishes
            self.keep()
        crosses = self._sent >= self._partner.received or message.kind in LIVE
        self._note(message, "sent", payload, crosses=crosses)
        self._sent += 1
        if self._sent == self._partner.received and chain(self._log.entries, "sent") != self._partner.chain:
            raise _another_run()
        if crosses:
            self._line.put(payload)

    def receive(self, *kinds: Kind) -> Message:
        """Wait for the next message.

        Args:
            kinds: What may come now.

        Raises:
            PeerError: The partner is gone, silent, or has stopped the run.
            ProtocolError: What came is no message, or none that may come now.
        """
        place = len(self._log.entries)
        known = self._kept[place] if place < len(self._kept) else None
        crosses = known is None or known.kind in LIVE
        payload = self._line.take(self._limit(kinds)) if crosses else self._journal.payload(place + 1)
        message = from_bytes(payload)
        if message.kind not in kinds:
            raise garbage(f"a {message.kind} message where none may come")
        self._note(message, "received", payload, crosses=crosses)
        return message

    def keep(self) -> None:
        """Write what is new into the journal, once there is a round to go on from."""
        entries = self._log.entries
        if self._written < len(entries) and entries[-1].round:
            self._kept_at = monotonic()
            self._journal.keep(entries[self._written :])
            entries[self._written :] = [told(entry) for entry in entries[self._written :]]
            self._written = len(entries)

    def agree(self) -> None:
        """Tell the partner that this side is about to publish, and wait for it to say so too.

        Raises:
            PeerError: It does not.
            ProtocolError: It refuses.
        """
        self.keep()
        self._line.agree()

    def close(self) -> None:
        """Nothing is held here; whoever opened the line closes it."""

    def _limit(self, kinds: tuple[Kind, ...]) -> int:
        return max(_LARGE.get(kind, SMALL + (kind == "WIN") * WIDEST * self._records) for kind in kinds)

    def _note(self, message: Message, direction: str, payload: bytes, *, crosses: bool) -> None:
        """Note a message; in a resumed run it must be the one that was noted before."""
        place, digest = len(self._log.entries), sha256(payload).hexdigest()
        entry = Entry(place + 1, message.round, direction, message.kind, len(payload), digest, now(), payload)
        if place < len(self._kept):
            known = self._kept[place]
            if (known.direction, known.kind, known.digest) != (direction, message.kind, digest):
                raise _another_run()
            entry = known._replace(payload=payload)
        needed = direction == "received" and place >= self._written
        self._log.add(entry if needed else told(entry))
        if crosses:
            self._log.tell(entry)


def _another_run() -> ProtocolError:
    return ProtocolError(
        "The table or the options, here or on the partner's side, are not those of the run that broke off.",
        "Run both again as before, or without --resume.",
        reason="journal",
    )
