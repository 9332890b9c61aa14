"""The calling side of the line, over mutual TLS."""

from __future__ import annotations

import contextlib
import socket
import ssl
import time
from collections.abc import Iterator

from ppdm_sql.errors import PeerError, PpdmError, ProtocolError
from ppdm_sql.methods.two_party.certificates import Credentials
from ppdm_sql.methods.two_party.failures import Silent, error_for, lost
from ppdm_sql.methods.two_party.stream import MessageStream
from ppdm_sql.methods.two_party.tls import PROTOCOL, Address, context, names, shake_hands

PAUSE = 0.25
"""Seconds between two calls at a place where nobody listens yet."""

OTHER_NAME = 62
"""What OpenSSL calls a certificate for another name."""


class _Nobody(PeerError):
    """Nobody listens, which may change."""


@contextlib.contextmanager
def connect_to(
    place: Address, credentials: Credentials, peer_name: str, opening: bytes, *, timeout: float
) -> Iterator[tuple[MessageStream, bytes]]:
    """Call the partner; give the line to it, and its opening word.

    Raises:
        PeerError: Nobody listens there, or the partner is busy.
        ProtocolError: Who listens has no certificate of the authority, or one for another name, or does not
            take this side's.
    """
    call = _Call(place, credentials, peer_name, timeout)
    line = call.line()
    try:
        yield line, call.opened(line, opening)
    finally:
        line.close()


class _Call:
    """A call of the partner."""

    def __init__(self, place: Address, credentials: Credentials, peer_name: str, timeout: float) -> None:
        self._place, self._own, self._peer, self._timeout = place, credentials.name, peer_name, timeout
        self._context = context(credentials, listens=False)

    def line(self) -> MessageStream:
        """Call until somebody answers or the time is over."""
        deadline = time.monotonic() + self._timeout
        while True:
            try:
                return self._called(deadline)
            except _Nobody:
                if time.monotonic() > deadline:
                    raise
            time.sleep(PAUSE)

    def opened(self, line: MessageStream, opening: bytes) -> bytes:
        """Say the opening word, and hear the partner's."""
        try:
            return line.greet(opening)
        except ProtocolError as error:
            raise _other_name(self._own, error) if error.reason == "name" else error from None

    def _called(self, deadline: float) -> MessageStream:
        """Call once; open the line to who has shown the certificate of the partner."""
        left = max(deadline - time.monotonic(), PAUSE)
        try:
            plain = socket.create_connection((self._place.host, self._place.port), timeout=left)
        except OSError:
            raise _nobody(self._place) from None
        with contextlib.ExitStack() as stack:
            stack.callback(plain.close)
            plain.setblocking(False)
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            try:
                secured = self._context.wrap_socket(
                    plain, do_handshake_on_connect=False, server_hostname=self._peer
                )
                stack.callback(secured.close)
                shake_hands(secured, self._timeout)
            except OSError as error:
                raise self._refused(error) from None
            except ValueError:  # no certificate can have such a name
                raise _impostor(self._place, self._peer) from None
            if self._peer not in names(secured):
                raise _impostor(self._place, self._peer)
            if secured.selected_alpn_protocol() != PROTOCOL:
                raise error_for("version")
            stack.pop_all()
        return MessageStream(secured, self._timeout, self._broken)

    def _refused(self, error: OSError) -> PpdmError:
        """Say why there is no line; what the other side sent is not shown."""
        if isinstance(error, ssl.SSLCertVerificationError):
            other = error.verify_code == OTHER_NAME
            return _impostor(self._place, self._peer) if other else _unknown(self._place)
        if isinstance(error, TimeoutError):
            return Silent(self._timeout)
        if not isinstance(error, ssl.SSLError) or isinstance(error, ssl.SSLEOFError):
            return _nobody(self._place)  # such as a tunnel whose other end is not there yet
        return _turned_away(self._place) if "ALERT" in (error.reason or "") else _no_tls(self._place)

    def _broken(self, error: Exception | None) -> PpdmError:
        """Say why the line broke: a certificate is refused after the handshake, as this side sees it."""
        refused = isinstance(error, ssl.SSLError) and "ALERT" in (error.reason or "")
        return _turned_away(self._place) if refused else lost()


def _nobody(place: Address) -> _Nobody:
    return _Nobody(f"Nobody can be reached at {place}.", "See whether the partner listens there.")


def _other_name(name: str, error: ProtocolError) -> ProtocolError:
    return ProtocolError(
        f"The partner expects a certificate for another name than {name!r}.", error.remedy, reason="name"
    )


def _impostor(place: Address, name: str) -> ProtocolError:
    return ProtocolError(
        f"The certificate of who listens at {place} is not for {name!r}.",
        "Correct --peer-name, or check who listens there.",
    )


def _unknown(place: Address) -> ProtocolError:
    return ProtocolError(
        f"The certificate of who listens at {place} is not of the given authority, or has expired.",
        "Give the partner's authority with --authority, or check who listens there.",
    )


def _no_tls(place: Address) -> ProtocolError:
    return ProtocolError(f"Who listens at {place} speaks no TLS 1.3.", "Check --peer, and who listens there.")


def _turned_away(place: Address) -> ProtocolError:
    return ProtocolError(
        f"Who listens at {place} does not take this side's certificate.",
        "Let the partner give this side's authority with --authority; check who listens there.",
    )
