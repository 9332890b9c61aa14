"""The listening side of the line: an Arrow Flight server for one partner, over mutual TLS."""

from __future__ import annotations

import contextlib
import os
import queue
import socket
import stat
import threading
from collections.abc import Callable, Iterator
from typing import Any

from ppdm_sql.errors import InvalidOption, PeerError
from ppdm_sql.methods.two_party.certificates import Credentials
from ppdm_sql.methods.two_party.flight import COMMAND, Address, flight
from ppdm_sql.methods.two_party.stream import FAREWELL, MOST_OPENING, OPEN, MessageStream, schema

NOTICE = "A caller whose certificate is for another name was refused: "


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

    Who shows no certificate of the authority is turned away by TLS, and whoever has another name by this
    side; it goes on waiting.

    Args:
        place: Host and port to listen on; port 0 takes a free one.
        credentials: What this side shows and believes.
        peer_name: The name that the partner's certificate must have.
        opening: This side's opening word.
        timeout: Seconds that the partner may take for a message.
        wait: Seconds to wait for the partner; None for as long as it takes.
        listens: Told where this side listens.
        notice: Told who is turned away.

    Raises:
        InvalidOption: This side cannot listen there.
        PeerError: Nobody came in time.
    """
    server = _server(place, credentials, peer_name, timeout, notice)
    try:
        listens(f"Listening on {Address(place.host, server.port)} for {peer_name!r}.")
        try:
            line = server.lines.get(timeout=wait)
        except queue.Empty:
            raise PeerError(
                f"Nobody called {peer_name!r} has joined within {wait:g} seconds.",
                "See whether the partner's --peer, --authority and --peer-name fit this side's.",
            ) from None
        try:
            line.put(opening, OPEN)
            yield line, line.take(MOST_OPENING, OPEN)
        finally:
            line.finish()
            line.ended.wait(FAREWELL)
    finally:
        _cut(server.port)
        server.shutdown()


def _server(
    place: Address, credentials: Credentials, peer_name: str, timeout: float, notice: Callable[[str], None]
) -> Any:
    """Start the server; callers get in as soon as it exists."""
    fl = flight()
    base: Any = fl.FlightServerBase

    class Server(base):  # type: ignore[misc]
        lines: queue.Queue[MessageStream] = queue.Queue()
        free = threading.Lock()

        def do_exchange(self, context: Any, descriptor: Any, reader: Any, writer: Any) -> None:
            name = context.peer_identity().decode("utf-8", "replace")
            if name != peer_name:
                notice(f"{NOTICE}{name[:64]!r}.")
                raise fl.FlightUnauthenticatedError("another name is expected")
            if descriptor.command != COMMAND:
                raise fl.FlightServerError("another version is spoken")
            if not self.free.acquire(blocking=False):
                raise fl.FlightServerError("the line is taken")
            writer.begin(schema())
            line = MessageStream(reader, writer, timeout)
            self.lines.put(line)
            line.read()
            line.finish()

    try:
        return Server(
            place.location,
            tls_certificates=[(credentials.certificate, credentials.private_key)],
            verify_client=True,
            root_certificates=credentials.authority,
        )
    except Exception:  # the text may hold anything
        raise InvalidOption(
            f"This side cannot listen on {place}.", "Give a free port of this machine: --listen HOST:PORT."
        ) from None


def _cut(port: int) -> None:
    """Cut the connections of callers that stall: the server's end waits for them without a limit."""
    with contextlib.suppress(OSError):  # a system without /dev/fd has to wait
        for name in os.listdir("/dev/fd"):
            with contextlib.suppress(OSError):
                if stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                    with socket.socket(fileno=os.dup(int(name))) as connection:
                        _cut_caller(connection, port)


def _cut_caller(connection: socket.socket, port: int) -> None:
    """Cut a connection if somebody calls this side's port over it."""
    if connection.family in (socket.AF_INET, socket.AF_INET6) and connection.getsockname()[1] == port:
        connection.getpeername()  # fails for the socket that listens
        connection.shutdown(socket.SHUT_RDWR)
