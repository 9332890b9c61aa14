"""The calling side of the line: an Arrow Flight client, over mutual TLS."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator

from ppdm_sql.errors import PeerError, PpdmError, ProtocolError
from ppdm_sql.methods.two_party.certificates import Credentials
from ppdm_sql.methods.two_party.failures import error_for, lost
from ppdm_sql.methods.two_party.flight import COMMAND, Address, flight
from ppdm_sql.methods.two_party.stream import FAREWELL, MOST_OPENING, OPEN, MessageStream, schema

PAUSE = 0.25
"""Seconds between two calls at a place where nobody listens yet."""
CONNECTING = "failed to connect"
"""Stands in every error of the transport before there is a line."""


class _Nobody(PeerError):
    """Nobody listens, which may change."""


@contextlib.contextmanager
def connect_to(
    place: Address, credentials: Credentials, peer_name: str, opening: bytes, *, timeout: float
) -> Iterator[tuple[MessageStream, bytes]]:
    """Call the partner; give the line to it, and its opening word.

    Args:
        place: Where the partner listens; if it does not yet, this side tries again for the time limit.
        credentials: What this side shows and believes.
        peer_name: The name that the partner's certificate must have.
        opening: This side's opening word.
        timeout: Seconds that the partner may take for a message, and to listen.

    Raises:
        PeerError: Nobody listens there, or the partner is busy.
        ProtocolError: Who listens has no certificate of the authority, or one for another name, or does not
            take this side's.
    """
    call, answer = _called(_Call(place, credentials, peer_name, timeout), opening, timeout)
    try:
        yield call.line, answer
    finally:
        call.hang_up()


def _called(call: _Call, opening: bytes, timeout: float) -> tuple[_Call, bytes]:
    """Call until somebody answers or the time is over."""
    deadline = time.monotonic() + timeout
    while True:
        try:
            return call, call.begin(opening)
        except _Nobody:
            if time.monotonic() > deadline:
                raise
        time.sleep(PAUSE)


class _Call:
    """One attempt after the other to reach the partner; the last one stands."""

    line: MessageStream

    def __init__(self, place: Address, credentials: Credentials, peer_name: str, timeout: float) -> None:
        self._place, self._own, self._peer, self._timeout = place, credentials, peer_name, timeout

    def begin(self, opening: bytes) -> bytes:
        """Open a stream, say the opening word and give the partner's."""
        fl = flight()
        self._client = fl.connect(
            self._place.location,
            tls_root_certs=self._own.authority,
            cert_chain=self._own.certificate,
            private_key=self._own.private_key,
            override_hostname=self._peer,
        )
        try:
            self._writer, self._reader = self._client.do_exchange(fl.FlightDescriptor.for_command(COMMAND))
            self._writer.begin(schema())
        except fl.FlightError as error:
            self._client.close()
            raise self._explained(error) from None
        self.line = MessageStream(self._reader, self._writer, self._timeout, self._explained)
        threading.Thread(target=self.line.read, daemon=True, name="ppdm-line-in").start()
        try:
            self.line.put(opening, OPEN)
            return self.line.take(MOST_OPENING, OPEN)
        except BaseException:
            self.hang_up()
            raise

    def hang_up(self) -> None:
        """End the stream: politely, else at once."""
        line = self.line
        with contextlib.suppress(Exception):
            if line.finish():
                self._writer.done_writing()
                line.ended.wait(FAREWELL)
        if not line.ended.is_set():
            self._reader.cancel()
            line.ended.wait(FAREWELL)
        for end in (self._writer.close, self._client.close):
            with contextlib.suppress(Exception):
                end()

    def _explained(self, error: Exception) -> PpdmError:
        """Say what the transport's error means; its own text is not shown."""
        text, place = str(error), self._place
        for sign, found in (
            ("another name is expected", _other_name(self._own.name)),
            ("the line is taken", PeerError("The partner is busy with another caller.", "Try again later.")),
            ("another version is spoken", error_for("version")),
            ("not in peer certificate", _impostor(place, self._peer)),
            ("wrong version number", _no_tls(place)),
            ("Ssl handshake failed", _unknown(place)),
            ("Socket closed", _turned_away(place) if CONNECTING in text else lost()),
            (CONNECTING, _nobody(place)),
        ):
            if sign in text:
                return found
        return lost()


def _nobody(place: Address) -> _Nobody:
    return _Nobody(f"Nobody can be reached at {place}.", "See whether the partner listens there.")


def _other_name(name: str) -> ProtocolError:
    return ProtocolError(
        f"The partner expects a certificate for another name than {name!r}.",
        "Show the right one with --cert, or let the partner correct its --peer-name.",
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
    return ProtocolError(f"Who listens at {place} speaks no TLS.", "Check --peer, and who listens there.")


def _turned_away(place: Address) -> ProtocolError:
    return ProtocolError(
        f"Who listens at {place} does not take this side's certificate.",
        "Let the partner give this side's authority with --authority; check who listens there.",
    )
