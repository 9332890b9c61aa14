"""Two parties in one process: a line of two queues, a thread for each, and what crossed."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, cast

from ppdm_sql.engine import Engine
from ppdm_sql.errors import PeerError, ProtocolError
from ppdm_sql.methods.two_party.messages import Kind, Message, decode, encode
from ppdm_sql.methods.two_party.party import IntegrationRun
from ppdm_sql.methods.two_party.request import IntegrateRequest
from ppdm_sql.methods.two_party.transcripts import WITHHELD, Entry, Link
from ppdm_sql.progress import SilentProgress
from ppdm_sql.release import Release

SECONDS = 60


def as_it_is(message: Message) -> Message | None:
    """Change nothing on the way."""
    return message


@dataclass
class QueueLink:
    """One end of a line; every message passes through its written form and is noted.

    Args:
        outgoing: To the other end.
        incoming: From there.
        tamper: Changes what is sent; None swallows it.
        entries: The transcript.
    """

    outgoing: queue.Queue[Any]
    incoming: queue.Queue[Any]
    tamper: Callable[[Message], Message | None] = as_it_is
    entries: list[Entry] = field(default_factory=list)
    sent: list[Message] = field(default_factory=list)

    def send(self, message: Message) -> None:
        found = self.tamper(message)
        if found is not None:
            self.sent.append(found)
            self._note("sent", found, encode(found))
            self.outgoing.put(encode(found))

    def exchange(self, message: Message) -> Message:
        self.send(message)
        return self.receive(message.kind)

    def agree(self) -> None:
        """Queues do not break at the last word."""

    def receive(self, kind: Kind) -> Message:
        try:
            payload = self.incoming.get(timeout=SECONDS)
        except queue.Empty:
            raise PeerError("The partner is silent.") from None
        if payload is None:
            raise PeerError("The partner has gone.")
        message = decode(payload)
        self._note("received", message, payload)
        if message.kind != kind:
            raise ProtocolError("The partner sent a message that may not come now.", reason="message")
        return message

    def close(self) -> None:
        self.outgoing.put(None)

    def _note(self, direction: str, message: Message, payload: bytes) -> None:
        digest = sha256(payload).hexdigest()
        head = (len(self.entries) + 1, message.round, direction, message.kind, len(payload), digest)
        kept = None if message.kind in WITHHELD else payload
        self.entries.append(Entry(*head, datetime.now(UTC), kept))


@dataclass
class Outcome:
    """What one party ended with: a release or an error."""

    link: QueueLink
    release: Release | None = None
    error: BaseException | None = None
    notices: list[str] = field(default_factory=list)


class Listening(SilentProgress):
    """Keeps the notices of a run."""

    def __init__(self, notices: list[str]) -> None:
        self.notices = notices

    def notice(self, text: str) -> None:
        self.notices.append(text)


def links() -> tuple[QueueLink, QueueLink]:
    """A line with two ends."""
    one: queue.Queue[Any] = queue.Queue()
    other: queue.Queue[Any] = queue.Queue()
    return QueueLink(one, other), QueueLink(other, one)


def together(
    *parties: tuple[Any, str, IntegrateRequest], ends: tuple[QueueLink, QueueLink] | None = None
) -> tuple[Outcome, Outcome]:
    """Run both parties, each on its own connection, and give what each ended with."""
    outcomes = tuple(Outcome(link) for link in ends or links())
    threads = [
        threading.Thread(target=_run, args=(outcome, *party), daemon=True, name=f"party {number}")
        for number, (outcome, party) in enumerate(zip(outcomes, parties, strict=True))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(2 * SECONDS)
        assert not thread.is_alive(), "a party never came back"
    first, second = outcomes
    return first, second


def _run(outcome: Outcome, connection: Any, table: str, request: IntegrateRequest) -> None:
    try:
        link = cast(Link, outcome.link)
        run = IntegrationRun(Engine(connection), table, request, link, Listening(outcome.notices))
        outcome.release = run.publish()
    except BaseException as error:
        outcome.error = error
    finally:
        outcome.link.close()
