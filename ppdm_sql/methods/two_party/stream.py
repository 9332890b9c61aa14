"""The line itself: bytes both ways over one stream of Arrow Flight, cut into parts, with limits.

Two threads of its own read and write the stream, so that neither a partner that stalls nor Ctrl-C can hold
the run. What is read waits in a short queue; a partner that sends more has to wait too.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ppdm_sql.errors import PpdmError
from ppdm_sql.methods.two_party.failures import Silent, error_for, garbage, lost

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

PART = 1024 * 1024
"""Bytes of the largest part of a message."""
WAITING = 16
"""Parts that are read before anybody asks for them."""
MOST_OPENING = 4096
"""Bytes of an opening word."""
FAREWELL = 5.0
"""Seconds that an ended run gives the partner to hear of it."""
MORE, LAST, OPEN, AGREED, STOP, BYE = b"more", b"last", b"open", b"agreed", b"stop", b"bye"
"""What a part is: of a message, or its last one; the opening word; the word that this side is about to
publish; the word that ends a run; a farewell."""
_LOST = b"lost"
_Part = tuple[bytes, Any]
_Written = tuple[bytes, memoryview]


def schema() -> pa.Schema:
    """Give the Arrow schema of the stream: one row a part."""
    import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

    return pa.schema([pa.field("part", pa.large_binary(), nullable=False)])


class MessageStream:
    """A line that is open, used by one thread.

    Args:
        reader: The stream's reader.
        writer: The stream's writer, begun with :func:`schema`.
        timeout: Seconds that the partner may take for a message.
        explain: Says what it means that the stream broke.
    """

    def __init__(
        self,
        reader: Any,
        writer: Any,
        timeout: float,
        explain: Callable[[Exception], PpdmError] = lambda _: lost(),
    ) -> None:
        self.timeout = timeout
        self.ended = threading.Event()
        """Set when nothing can be read any more."""
        self._reader, self._writer = reader, writer
        self._explain = explain
        self._inbox: queue.Queue[_Part] = queue.Queue(WAITING)
        self._outbox: queue.Queue[_Written | None] = queue.Queue()
        self._over: PpdmError | None = None
        self._closed = threading.Event()
        self._writing = threading.Thread(target=self._write, daemon=True, name="ppdm-line-out")
        self._writing.start()

    # -- what the run uses ----------------------------------------------------------------------

    def put(self, payload: bytes, kind: bytes = LAST) -> None:
        """Send bytes; they are on their way when this returns.

        Raises:
            PeerError: The line has broken.
            ProtocolError: The partner refuses this side.
        """
        if not self._writing.is_alive():
            raise self._last_word()
        whole = memoryview(payload)
        ends = range(PART, len(whole), PART)
        for end in ends:
            self._outbox.put((MORE, whole[end - PART : end]))
        self._outbox.put((kind, whole[PART * len(ends) :]))

    def take(self, limit: int, kind: bytes = LAST) -> bytes:
        """Wait for the next message, at most the time limit.

        Args:
            limit: The most bytes it may have.
            kind: ``last`` for a message, ``open`` for the opening word, and so on.

        Raises:
            PeerError: The partner is gone, silent, or has stopped the run.
            ProtocolError: What came is no message, or too large, or the partner refuses this side.
        """
        parts, size, deadline = [], 0, time.monotonic() + self.timeout
        while True:
            found, part = self._next(deadline)
            size += len(part)
            if size > limit:
                raise garbage(f"a message of more than the {limit} bytes that it may have")
            parts.append(part)
            if found == kind:
                return b"".join(parts)
            if found != MORE:
                raise garbage("something that is no message")

    def stop(self, word: str) -> None:
        """Tell the partner that the run is over, and why, unless it knows."""
        if self._over is None:
            self._outbox.put((STOP, memoryview(word.encode())))

    def agree(self) -> None:
        """Tell the partner that this side is about to publish, and wait for it to say so too.

        Raises:
            PeerError: It does not.
            ProtocolError: It refuses.
        """
        self.put(b"", AGREED)
        self.take(0, AGREED)

    def farewell(self) -> bool:
        """Tell the partner that all went well; tell whether it says so too before the time limit."""
        self._outbox.put((BYE, memoryview(b"")))
        with contextlib.suppress(PpdmError):
            self.take(0, BYE)
            return True
        return False

    def finish(self) -> bool:
        """Write what waits, and no more, and throw away what still comes; tell whether all was written."""
        self._closed.set()
        self._outbox.put(None)
        self._writing.join(FAREWELL)
        return not self._writing.is_alive()

    # -- the two threads ------------------------------------------------------------------------

    def read(self) -> None:
        """Read until the stream ends; the work of a thread."""
        end: Exception = EOFError()
        try:
            while True:
                chunk = self._reader.read_chunk()
                kind = b"" if chunk.app_metadata is None else chunk.app_metadata.to_pybytes()
                self._keep((kind, chunk.data))
        except StopIteration:
            pass
        except Exception as error:  # whatever ends the stream, it is over
            end = error
        finally:
            self._keep((_LOST, end))
            self.ended.set()

    def _keep(self, part: _Part) -> None:
        while not self._closed.is_set():
            with contextlib.suppress(queue.Full):
                self._inbox.put(part, timeout=0.1)
                return

    def _write(self) -> None:
        import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

        with contextlib.suppress(Exception):  # the reading thread learns why the stream broke
            while (item := self._outbox.get()) is not None:
                kind, part = item
                batch = pa.record_batch([pa.array([part], pa.large_binary())], schema=schema())
                self._writer.write_with_metadata(batch, kind)

    # -- what was read --------------------------------------------------------------------------

    def _next(self, deadline: float) -> tuple[bytes, bytes]:
        """Give the next part; raise where it ends the run."""
        if self._over is not None:
            raise self._over
        try:
            kind, data = self._inbox.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            raise Silent(self.timeout) from None
        if kind == _LOST:
            self._over = self._explain(data)
            raise self._over
        part = _bytes_of(data)
        if kind == STOP:
            self._over = error_for(part[:20].decode("ascii", "replace"))
            raise self._over
        return kind, part

    def _last_word(self) -> PpdmError:
        """Say why nothing can be sent: the partner's last word, if it said one."""
        try:
            while True:
                self._next(time.monotonic() + 1)
        except PpdmError as error:
            return error


def _bytes_of(data: pa.RecordBatch | None) -> bytes:
    """Give the bytes of a part, strictly; what a batch says of itself is checked before it is read."""
    import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

    part = None
    if data is not None and data.schema.equals(schema()) and data.num_rows == 1:
        with contextlib.suppress(pa.ArrowInvalid):
            data.validate(full=True)
            part = data.column(0)[0].as_buffer()
    if part is None or part.size > PART:
        raise garbage("something that is no message")
    found: bytes = part.to_pybytes()
    return found
