"""The link of a run over the line: messages in and out, every one noted, and repeated in a resumed run."""

from __future__ import annotations

import contextlib
import json
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from time import monotonic
from typing import Any, cast

from ppdm_sql.errors import ProtocolError
from ppdm_sql.methods.two_party.failures import garbage
from ppdm_sql.methods.two_party.journal import Journal, chain
from ppdm_sql.methods.two_party.messages import (
    KEY_BYTES,
    MOST_FIELD_BYTES,
    Kind,
    Message,
    decode,
    encode,
    stopping,
)
from ppdm_sql.methods.two_party.stream import MessageStream
from ppdm_sql.methods.two_party.transcripts import Entry, Log, now, without_records

SMALL = 64 * 1024
"""Bytes that a message of any kind may have, beside what it tells of each record, key or value."""
WIDEST = 4
"""Bytes that a WIN may hold of each record."""
LABEL = 1024
"""Bytes that LABELS may hold of each value, on average."""
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


class RecordedTransport:
    """The link of one run, connected once there is a line.

    Args:
        journal: Keeps what a resumed run needs.
        log: Notes every message.
        records: Of the own table; a partner cannot tell of more.
        kept: Messages of the run that broke off; none in a new run.

    Attributes:
        agreed: Whether this side has announced that it is about to publish.
        partner_agreed: Whether the partner has.
    """

    _line: MessageStream
    _partner: Opening
    agreed = partner_agreed = False

    def __init__(self, journal: Journal, log: Log, records: int, kept: list[Entry]) -> None:
        self._journal, self._log, self._records = journal, log, records
        self._kept, self._written, self._kept_at = kept, len(kept), monotonic()
        self._sent = self._announced = self._values = 0
        self._own_keys: Message | None = None

    def connect(self, line: MessageStream, partner: Opening) -> None:
        """Take the open line, and the partner's opening word."""
        self._line, self._partner = line, partner

    @property
    def partner_published(self) -> bool:
        """Whether the partner has published the release, in the run that broke off."""
        return self._partner.published

    @property
    def reached(self) -> int:
        """The last round that this side has finished, from where a run can go on; 0 for none."""
        ends = [e.round for e in self._log.entries if (e.direction, e.kind) == ("sent", "DIGEST")]
        return max(ends, default=0)

    def send(self, message: Message) -> None:
        """Send a message, unless the partner has it from the run that broke off."""
        payload = encode(message)
        _check_labels(message, payload)
        if message.kind == "KEYS":
            self._own_keys = message
        late = message.kind == "DIGEST" and monotonic() - self._kept_at > SECONDS_BETWEEN_KEEPS
        if late or message.kind == "LABELS":  # the last one before the transaction that publishes
            self.keep()
        crosses = self._sent >= self._partner.received
        self._note(message, "sent", payload, crosses=crosses)
        self._sent += 1
        if self._sent == self._partner.received and chain(self._log.entries, "sent") != self._partner.chain:
            raise _another_run()
        if crosses:
            self._line.put(payload)

    def receive(self, *kinds: Kind) -> Message:
        """Wait for the next message."""
        place = len(self._log.entries)
        known = self._kept[place] if place < len(self._kept) else None
        payload = self._line.take(self._limit(kinds)) if known is None else self._journal.payload(place + 1)
        message = decode(payload)
        if message.kind not in kinds:
            raise garbage(f"a {message.kind} message where none may come")
        self._learn(message)
        if message.kind != "KEYS":
            self._note(message, "received", payload, crosses=known is None)
            return message
        return self._common(message, payload, crosses=known is None)

    def stopped(self, number: int) -> bool | None:
        """Tell whether this side stopped the run in a round, before it broke off; None for a new round."""
        place = len(self._log.entries)
        if place >= len(self._kept):
            return None
        return self._kept[place].digest == sha256(encode(stopping(number))).hexdigest()

    def keep(self) -> None:
        """Write what is new into the journal, once there is a round to go on from."""
        entries = self._log.entries
        if self._written < len(entries) and entries[-1].round:
            self._kept_at = monotonic()
            self._journal.keep(entries[self._written :])
            entries[self._written :] = [without_records(entry) for entry in entries[self._written :]]
            self._written = len(entries)

    def agree(self) -> None:
        """Tell the partner that this side is about to publish, and wait for it to say so too."""
        self.keep()
        self.agreed = True
        self._line.say_agreed()
        self._line.hear_agreed()
        self.partner_agreed = True

    def close(self) -> None:
        """Nothing is held here; whoever opened the line closes it."""

    def _limit(self, kinds: tuple[Kind, ...]) -> int:
        """Give the most bytes of a message, by what the partner may have to tell after what it has told."""
        most = {
            "WIN": WIDEST * self._records,
            "KEYS": KEY_BYTES * self._announced,
            "LABELS": min(LABEL * self._values, MOST_FIELD_BYTES),
        }
        return SMALL + max(most.get(kind, 0) for kind in kinds)

    def _learn(self, message: Message) -> None:
        """Note what bounds the messages that are still to come."""
        fields = cast(dict[str, Any], message.fields)
        if message.kind == "HELLO":
            self._announced, self._values = fields["records"], len(fields["owns"])
        if message.kind == "WIN":
            self._values += fields["children"]

    def _common(self, message: Message, payload: bytes, *, crosses: bool) -> Message:
        """Take the keys that this side has too; of the others nothing is kept, not even in memory."""
        import pyarrow.compute as pc  # type: ignore[import-untyped, unused-ignore]

        if self._own_keys is None or message.column is None:
            raise garbage("its keys before this side's")
        if crosses and not len(message.column) == self._announced == message.fields["records"]:
            raise garbage("another number of keys than it has records")
        both = message.column.filter(pc.is_in(message.column, value_set=self._own_keys.column))
        found = replace(message, column=both)
        self._own_keys = None
        self._note(message, "received", payload, crosses=crosses, kept=encode(found))
        return found

    def _note(
        self, message: Message, direction: str, payload: bytes, *, crosses: bool, kept: bytes | None = None
    ) -> None:
        """Note a message; in a resumed run it must be the one that was noted before."""
        place, digest = len(self._log.entries), sha256(payload).hexdigest()
        payload_kept = payload if kept is None else kept
        head = (place + 1, message.round, direction, message.kind, len(payload), digest)
        entry = Entry(*head, now(), payload_kept)
        if place < len(self._kept):
            known = self._kept[place]
            again = kept is not None or known.digest == digest  # of keys only the common ones are kept
            if (known.direction, known.kind) != (direction, message.kind) or not again:
                raise _another_run()
            entry = known._replace(payload=payload_kept)
        needed = direction == "received" and place >= self._written
        self._log.add(entry if needed else without_records(entry))
        if crosses:
            self._log.tell(entry)


def _check_labels(message: Message, payload: bytes) -> None:
    """Refuse to send more labels than the partner takes."""
    values = len(cast(list[int], message.fields["value"])) if message.kind == "LABELS" else 0
    most = SMALL + min(LABEL * values, MOST_FIELD_BYTES)
    if message.kind == "LABELS" and len(payload) > most:
        raise ProtocolError(
            f"The {values} labels of the release have more than the {most} bytes that can be told.",
            "Release fewer or shorter labels: suppress or generalize the columns with long values.",
        )


def _another_run() -> ProtocolError:
    return ProtocolError(
        "The table or the options, here or on the partner's side, are not those of the run that broke off.",
        "Run both again as before, or without --resume.",
        reason="journal",
    )
