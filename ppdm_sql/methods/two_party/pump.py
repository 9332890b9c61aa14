"""Moves parts between a TLS connection and two queues, in one thread of its own.

So neither a partner that stalls nor Ctrl-C can hold the run. A part says what it is and how large before it
comes; one that may not come, or is too large, is never read. What is read waits in a short queue; a partner
that sends more has to wait too.
"""

from __future__ import annotations

import contextlib
import queue
import selectors
import socket
import ssl
import struct
import threading
from collections import deque

from ppdm_sql.methods.two_party.tls import half_close

PART = 1024 * 1024
"""Bytes of the largest part of a message."""
WAITING = 4
"""Parts that are read before anybody asks for them."""
MOST_OPENING = 4096
"""Bytes of an opening word."""
MORE, LAST, OPEN, AGREED, STOP, BYE = range(1, 7)
"""What a part is: of a message, or its last one; the opening word; the word that this side is about to
publish; the word that ends a run; a farewell."""
WRONG, LOST = 0, -1
"""What the queue holds instead where something came that is no part, and at the end."""
HEAD = struct.Struct(">BI")
"""Before each part: what it is, and its bytes."""
_MOST = {MORE: PART, LAST: PART, OPEN: MOST_OPENING, AGREED: 0, STOP: 20, BYE: 0}
_AT_ONCE = 64 * 1024


def fits(kind: int, size: int) -> bool:
    """Tell whether there is such a part; all but the last one of a message are full.

    Example:
        >>> fits(LAST, PART), fits(LAST, PART + 1), fits(MORE, 1), fits(77, 0)
        (True, False, False, False)
    """
    return size <= _MOST.get(kind, -1) and (kind != MORE or size == PART)


class Pump:
    """The thread of a connection; it owns the connection, and closes it."""

    def __init__(self, connection: ssl.SSLSocket) -> None:
        self.inbox: queue.Queue[tuple[int, bytes, Exception | None]] = queue.Queue()
        """Kinds and bytes of the parts that came, at the end why there are no more."""
        self.ended = threading.Event()
        """Set when the connection is closed."""
        self._connection = connection
        self._outbox: deque[tuple[int, memoryview] | None] = deque()
        self._pending = memoryview(b"")
        self._kind, self._wanted, self._arrived = WRONG, HEAD.size, bytearray()
        self._discards = self._mute = self._cut = False
        self._bell, self._heard = socket.socketpair()
        for end in (connection, self._bell, self._heard):
            end.setblocking(False)
        self._thread = threading.Thread(target=self._run, daemon=True, name="ppdm-line")
        self._thread.start()

    # -- for the thread of the run --------------------------------------------------------------

    @property
    def open(self) -> bool:
        """Whether something can still be sent."""
        return not (self._mute or self.ended.is_set())

    def send(self, kind: int, part: memoryview) -> None:
        """Let a part be sent."""
        self._outbox.append((kind, part))
        self._ring()

    def next(self, seconds: float) -> tuple[int, bytes, Exception | None]:
        """Wait for a part.

        Raises:
            queue.Empty: None came in time.
        """
        found = self.inbox.get(timeout=max(seconds, 0.0))
        self._ring()  # there is room for another one
        return found

    def close(self, seconds: float) -> None:
        """Send what waits, and no more; throw away what comes until the other side closes."""
        self._discards = True
        self._outbox.append(None)
        self._ring()
        self.ended.wait(seconds)
        self.cut()

    def cut(self) -> None:
        """End it at once."""
        self._cut = True
        self._ring()
        self._thread.join()

    def _ring(self) -> None:
        with contextlib.suppress(OSError):  # it rings already, or nobody hears it any more
            self._bell.send(b"!")

    # -- the thread -----------------------------------------------------------------------------

    def _run(self) -> None:
        end: Exception = EOFError()
        try:
            with selectors.DefaultSelector() as selector:
                selector.register(self._heard, selectors.EVENT_READ)
                while not self._cut:
                    read, wrote = self._read(), self._write()
                    if not (read or wrote):
                        self._wait(selector)
        except Exception as error:  # whatever ends it, it is over
            end = error
        finally:
            for done in (self._connection, self._bell, self._heard):
                done.close()
            self.ended.set()
            self.inbox.put((LOST, b"", end))

    @property
    def _full(self) -> bool:
        return not self._discards and self.inbox.qsize() >= WAITING

    def _wait(self, selector: selectors.BaseSelector) -> None:
        """Wait until something can be read or written, or the bell rings."""
        reads = 0 if self._full else selectors.EVENT_READ
        events = reads | (selectors.EVENT_WRITE if self._pending else 0)
        if events:
            selector.register(self._connection, events)
        selector.select()
        if events:
            selector.unregister(self._connection)
        with contextlib.suppress(BlockingIOError):
            self._heard.recv(_AT_ONCE)

    def _read(self) -> bool:
        """Read some bytes, if there are any, and if there is room."""
        if self._full:
            return False
        try:
            found = self._connection.recv(min(self._wanted - len(self._arrived), _AT_ONCE))
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return False
        if not found:
            raise EOFError
        if not self._discards:
            self._arrived += found
            while len(self._arrived) == self._wanted and not self._discards:
                self._take_in()
        return True

    def _take_in(self) -> None:
        """Make sense of what has come: of a head, which must announce a part, or of a part."""
        found, self._arrived = bytes(self._arrived), bytearray()
        if self._kind != WRONG:
            self.inbox.put((self._kind, found, None))
            self._kind, self._wanted = WRONG, HEAD.size
            return
        kind, size = HEAD.unpack(found)
        if fits(kind, size):
            self._kind, self._wanted = kind, size
        else:
            self._discards = True
            self.inbox.put((WRONG, b"", None))

    def _write(self) -> bool:
        """Write some bytes, if there are any."""
        if not self._pending and not self._fetch():
            return False
        try:
            written = self._connection.send(self._pending[:_AT_ONCE])
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return False
        except OSError:  # what the other side said last may still be there to read
            self._mute, self._pending = True, memoryview(b"")
            return False
        self._pending = self._pending[written:]
        return True

    def _fetch(self) -> bool:
        """Take the next part that is to be sent; at the last one tell the other side so."""
        while self._outbox:
            item = self._outbox.popleft()
            if item is None:
                half_close(self._connection)
                self._mute = True
            elif not self._mute:
                kind, part = item
                self._pending = memoryview(HEAD.pack(kind, len(part)) + part)
                return True
        return False
