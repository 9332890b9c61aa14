"""Two parties in one process: a line of two queues, a thread for each, and what crossed."""

from __future__ import annotations

import queue
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from sides import Outcome, at_once
from swap_releases import Heard

from ppdm_sql.engine import Engine
from ppdm_sql.errors import PeerError
from ppdm_sql.methods.two_party.connection import MESSAGE
from ppdm_sql.methods.two_party.messages import Link, Message
from ppdm_sql.methods.two_party.party import IntegrationRun
from ppdm_sql.methods.two_party.request import IntegrateRequest

SECONDS, MOST_RECORDS = 60, 1000


def as_it_is(message: Message) -> Message | None:
    """Change nothing on the way."""
    return message


@dataclass
class QueueLine:
    """One end of a line; it does not break at the last word."""

    outgoing: queue.Queue[Any]
    incoming: queue.Queue[Any]
    listens: bool

    def put(self, payload: bytes, kind: int = MESSAGE) -> None:
        if kind == MESSAGE:
            self.outgoing.put(payload)

    def take(self, limit: int, kind: int = MESSAGE) -> bytes:
        try:
            payload = self.incoming.get(timeout=SECONDS) if kind == MESSAGE else b""
        except queue.Empty:
            raise PeerError("The partner is silent.") from None
        if payload is None:
            raise PeerError("The partner has gone.")
        assert len(payload) <= limit
        return cast(bytes, payload)


class QueueLink(Link):
    """One end of a run; ``tamper`` changes what is sent, None swallows it."""

    def __init__(self, line: QueueLine) -> None:
        super().__init__(MOST_RECORDS)
        self.line: Any = line
        self.tamper: Callable[[Message], Message | None] = as_it_is
        self.sent: list[Message] = []

    def send(self, message: Message) -> None:
        found = self.tamper(message)
        if found is not None:
            self.sent.append(found)
            super().send(found)

    def close(self) -> None:
        self.line.outgoing.put(None)


def links() -> tuple[QueueLink, QueueLink]:
    """A line with two ends."""
    one: queue.Queue[Any] = queue.Queue()
    other: queue.Queue[Any] = queue.Queue()
    first, second = QueueLine(one, other, True), QueueLine(other, one, False)
    return QueueLink(first), QueueLink(second)


def together(
    *parties: tuple[Any, str, IntegrateRequest], ends: tuple[QueueLink, QueueLink] | None = None
) -> tuple[Outcome, Outcome]:
    """Run both parties, each on its own connection, and give what each ended with."""
    first, second = outcomes = [Outcome(link=link) for link in ends or links()]
    runs = (partial(_run, outcome, *party) for outcome, party in zip(outcomes, parties, strict=True))
    at_once(*runs, seconds=2 * SECONDS)
    return first, second


def _run(outcome: Outcome, connection: Any, table: str, request: IntegrateRequest) -> None:
    try:
        run = IntegrationRun(Engine(connection), table, request, outcome.link, Heard(outcome.notices))
        outcome.release = run.publish()
    except BaseException as error:
        outcome.error = error
    finally:
        outcome.link.close()
