"""The listening side of the line: it lets one partner in, over mutual TLS."""

from __future__ import annotations

import contextlib
import queue
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator

from ppdm_sql.errors import InvalidOption, PeerError
from ppdm_sql.methods.two_party.certificates import Credentials
from ppdm_sql.methods.two_party.pump import HEAD, STOP
from ppdm_sql.methods.two_party.refusals import Refusals, reason
from ppdm_sql.methods.two_party.stream import MessageStream
from ppdm_sql.methods.two_party.tls import PROTOCOL, Address, context, half_close, names, shake_hands

HANDSHAKE = 10.0
"""Seconds that a caller may take to show its certificate."""
MOST_CALLERS = 32
"""Callers that may be about to do so; one more, and the first of them is turned away."""
LINGER = 1.0
"""Seconds that a caller who is turned away may take to hear why."""


@contextlib.contextmanager
def listen_on(
    place: Address,
    credentials: Credentials,
    peer_name: str,
    opening: bytes,
    *,
    timeout: float,
    wait: float | None = None,
    listens: Callable[[str], None] = lambda _: None,
    notice: Callable[[str], None] = lambda _: None,
) -> Iterator[tuple[MessageStream, bytes]]:
    """Wait for the partner; give the line to it, and its opening word.

    Who shows no certificate of the authority, or one for another name, is turned away, and the owner is
    told; this side goes on waiting.

    Raises:
        InvalidOption: This side cannot listen there.
        PeerError: Nobody came in time.
    """
    door = _Door(place, credentials, peer_name, timeout, notice)
    try:
        listens(f"Listening on {Address(place.host, door.port)} for {peer_name!r}.")
        threading.Thread(target=door.answer, daemon=True, name="ppdm-door").start()
        line = door.partner(wait)
        try:
            yield line, line.greet(opening)
        finally:
            line.close()
    finally:
        door.close()


class _Door:
    """Answers callers until it is closed; each has a thread and a time limit of its own."""

    def __init__(
        self,
        place: Address,
        credentials: Credentials,
        peer_name: str,
        timeout: float,
        notice: Callable[[str], None],
    ) -> None:
        self._context = context(credentials, listens=True)
        self._peer, self._timeout, self._refusals = peer_name, timeout, Refusals(notice)
        self._lines: queue.Queue[MessageStream] = queue.Queue()
        self._free, self._lock, self._closed = threading.Lock(), threading.Lock(), threading.Event()
        self._callers: list[ssl.SSLSocket] = []
        self._listener = _bound(place)
        self.port: int = self._listener.getsockname()[1]

    def partner(self, wait: float | None) -> MessageStream:
        """Give the line to the partner, once it has come."""
        try:
            return self._lines.get(timeout=wait)
        except queue.Empty:
            raise PeerError(
                f"Nobody called {self._peer!r} has joined within {wait:g} seconds.",
                "See whether the partner's --peer, --authority and --peer-name fit this side's.",
            ) from None

    def close(self) -> None:
        """Take no more calls, and hang up on who has not shown a certificate yet."""
        self._closed.set()
        self._listener.close()
        with self._lock:
            for caller in self._callers:
                _hang_up(caller)
        while not self._lines.empty():  # it came too late
            self._lines.get().cut()

    def answer(self) -> None:
        """Take calls; the work of a thread."""
        while not self._closed.is_set():
            try:
                connection, address = self._listener.accept()
            except TimeoutError:
                continue
            except OSError:  # closed, or too many files are open
                self._closed.wait(0.2)
                continue
            with contextlib.suppress(OSError):  # it has gone already
                connection.setblocking(False)
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                caller = self._context.wrap_socket(
                    connection, server_side=True, do_handshake_on_connect=False
                )
                self._admit(caller)
                threading.Thread(target=self._greet, args=(caller, address[0]), daemon=True).start()

    def _admit(self, caller: ssl.SSLSocket) -> None:
        with self._lock:
            self._callers.append(caller)
            if len(self._callers) > MOST_CALLERS:
                _hang_up(self._callers[0])

    def _greet(self, caller: ssl.SSLSocket, host: str) -> None:
        """Let the caller in, or turn it away; the work of a thread."""
        try:
            shake_hands(caller, HANDSHAKE)
            self._let_in(caller, host)
        except OSError as error:
            if not self._closed.is_set():
                self._refusals.tell(host, reason(error))
            _turn_away(caller)
        finally:
            with self._lock:
                self._callers.remove(caller)

    def _let_in(self, caller: ssl.SSLSocket, host: str) -> None:
        shown = names(caller)
        if self._peer not in shown:
            name = repr(shown[0][:64]) if shown else "none"
            self._refusals.tell(host, f"its certificate is for another name, {name}")
            _turn_away(caller, b"name")
        elif caller.selected_alpn_protocol() != PROTOCOL:
            self._refusals.tell(host, "it speaks another version of the protocol")
            _turn_away(caller, b"version")
        elif self._closed.is_set() or not self._free.acquire(blocking=False):
            _turn_away(caller, b"taken")
        else:
            self._lines.put(MessageStream(caller, self._timeout))


def _bound(place: Address) -> socket.socket:
    """Give a socket that listens."""
    try:
        found = socket.getaddrinfo(place.host, place.port, type=socket.SOCK_STREAM)
        family, *_, address = found[0]
        listener = socket.create_server(address[:2], family=family, backlog=MOST_CALLERS)
    except OSError:
        raise InvalidOption(
            f"This side cannot listen on {place}.", "Give a free port of this machine: --listen HOST:PORT."
        ) from None
    listener.settimeout(0.2)  # so that the end is noticed on every system
    return listener


def _hang_up(caller: socket.socket) -> None:
    """End a connection that another thread waits for."""
    with contextlib.suppress(OSError):
        socket.socket.shutdown(caller, socket.SHUT_RDWR)


def _turn_away(caller: ssl.SSLSocket, word: bytes | None = None) -> None:
    """Say why, if there is a word for it, and close once the caller has had the time to hear it."""
    deadline = time.monotonic() + LINGER
    with contextlib.suppress(OSError, ValueError):
        caller.settimeout(LINGER)
        if word is not None:
            caller.sendall(HEAD.pack(STOP, len(word)) + word)
        half_close(caller)
        while time.monotonic() < deadline and socket.socket.recv(caller, 4096):
            pass  # what is unread would take the word back
    caller.close()
