"""The line itself: bytes both ways over one TLS connection, cut into parts, with limits."""

from __future__ import annotations

import contextlib
import queue
import ssl
import time
from collections.abc import Callable

from ppdm_sql.errors import PpdmError
from ppdm_sql.methods.two_party.failures import Silent, error_for, garbage, lost, word_for
from ppdm_sql.methods.two_party.pump import (
    AGREED,
    BYE,
    LAST,
    LOST,
    MORE,
    MOST_OPENING,
    OPEN,
    PART,
    STOP,
    WRONG,
    Pump,
)

FAREWELL = 5.0
"""Seconds that an ended run gives the partner to hear of it."""


class MessageStream:
    """A line that is open, used by one thread; the partner may take ``timeout`` seconds for a message."""

    def __init__(
        self,
        connection: ssl.SSLSocket,
        timeout: float,
        explain: Callable[[Exception | None], PpdmError] = lambda _: lost(),
    ) -> None:
        self.timeout = timeout
        self._explain = explain
        self.stopped = False
        """Whether the partner has said that the run is over."""
        self._over: PpdmError | None = None
        self._pump = Pump(connection)

    def greet(self, opening: bytes) -> bytes:
        """Say the opening word, and wait for the partner's."""
        try:
            self.put(opening, OPEN)
            return self.take(MOST_OPENING, OPEN)
        except PpdmError as error:
            self.stop(word_for(error))
            raise

    def put(self, payload: bytes, kind: int = LAST) -> None:
        """Send bytes; they are on their way when this returns."""
        if not self._pump.open:
            raise self._last_word()
        whole = memoryview(payload)
        ends = range(PART, len(whole), PART)
        for end in ends:
            self._pump.send(MORE, whole[end - PART : end])
        self._pump.send(kind, whole[PART * len(ends) :])

    def take(self, limit: int, kind: int = LAST) -> bytes:
        """Wait for the next message, at most the time limit.

        Args:
            limit: The most bytes it may have.
            kind: A message, the opening word, and so on.
        """
        parts, size, deadline = [], 0, time.monotonic() + self.timeout
        while True:
            found, part = self._next(deadline)
            size += len(part)
            if size > limit:
                raise garbage(f"a message of more than the {limit} bytes that it may have")
            parts.append(part)
            if found == kind:
                return b"".join(parts) if len(parts) > 1 else part
            if found != MORE:
                raise garbage("something that is no message")

    def stop(self, word: str) -> None:
        """Tell the partner that the run is over, and why, unless it knows."""
        if self._over is None:
            self._pump.send(STOP, memoryview(word.encode()))

    def say_agreed(self) -> None:
        """Tell the partner that this side is about to publish."""
        self.put(b"", AGREED)

    def hear_agreed(self) -> None:
        """Wait for the partner to say that it is about to publish too."""
        self.take(0, AGREED)

    def farewell(self) -> bool:
        """Tell the partner that all went well; tell whether it says so too before the time limit."""
        self._pump.send(BYE, memoryview(b""))
        with contextlib.suppress(PpdmError):
            self.take(0, BYE)
            return True
        return False

    def close(self) -> None:
        """Write what waits, and no more; give the partner some seconds to hear of it."""
        self._pump.close(FAREWELL)

    def cut(self) -> None:
        """Break the line at once."""
        self._pump.cut()

    # -- what came ------------------------------------------------------------------------------

    def _next(self, deadline: float) -> tuple[int, bytes]:
        """Give the next part; raise where it ends the run."""
        if self._over is not None:
            raise self._over
        try:
            kind, part, end = self._pump.next(deadline - time.monotonic())
        except queue.Empty:
            raise Silent(self.timeout) from None
        if kind == WRONG:
            raise garbage("something that is no message")
        if kind == LOST:
            self._over = self._explain(end)
            raise self._over
        if kind == STOP:
            self.stopped = True
            self._over = error_for(part.decode("ascii", "replace"))
            raise self._over
        return kind, part

    def _last_word(self) -> PpdmError:
        """Say why nothing can be sent: the partner's last word, if it said one."""
        try:
            while True:
                self._next(time.monotonic() + 1)
        except PpdmError as error:
            return error
