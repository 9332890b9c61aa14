"""The line between two parties: TLS 1.3, and on it one frame after the other, each side in its turn.

A frame says what it is and how large before it comes; one that may not come now, or is too large, is never
read. Every wait has an end, also where the partner sends a byte now and then.
"""

from __future__ import annotations

import contextlib
import re
import socket
import ssl
import struct
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import cast

from ppdm_sql.errors import InvalidOption, PeerError, PpdmError, PpdmWarning, ProtocolError
from ppdm_sql.methods.two_party.certificates import PROTOCOL, Credentials, context
from ppdm_sql.methods.two_party.failures import Silent, error_for, garbage, lost

MESSAGE, WELCOME, AGREED, STOP, BYE = range(1, 6)
"""What a frame is: a message; the word that lets a caller in; that this side is about to publish; the word
that ends a run; a farewell."""
HEAD = struct.Struct(">BQ")
"""Before each frame: what it is, and its bytes."""
MOST_WORD = 20
"""Bytes of the word that ends a run."""
AT_ONCE = 256 * 1024
"""Bytes that are sent, or asked for, at once."""
HANDSHAKE = 5.0
"""Seconds that a caller may take to show its certificate."""
LINGER = 1.0
"""Seconds that a caller who is turned away may take to hear why."""
FAREWELL = 5.0
"""Seconds that an ended run gives the partner to hear of it."""
PAUSE = 0.25
"""Seconds between two calls at a place where nobody listens yet."""
MOST_TOLD = 10
"""Callers of whom the owner is told; more are only counted."""
OTHER_NAME = 62
"""What OpenSSL calls a certificate for another name."""


@dataclass(frozen=True)
class Address:
    """A host and a port."""

    host: str
    port: int

    @classmethod
    def parse(cls, option: str, text: str) -> Address:
        """Read ``HOST:PORT``; an IPv6 address stands in brackets.

        Raises:
            InvalidOption: It is not of that form.

        Example:
            >>> Address.parse("--listen", "[::1]:8815")
            Address(host='::1', port=8815)
        """
        name = r"[A-Za-z0-9_-]{1,63}"  # a longer part of a name, or an empty one, is none to a resolver
        host = rf"\[([0-9A-Fa-f:.]+)\]|({name}(?:\.{name})*\.?)"
        found = re.fullmatch(rf"(?:{host}):(\d{{1,5}})", text.strip())
        if found is None or int(found[3]) > 65535:
            raise InvalidOption(
                f"{option} {text!r} is no host and port.", f"Write it as {option} 127.0.0.1:8815."
            )
        return cls(found[1] or found[2], int(found[3]))

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


# -- the line -------------------------------------------------------------------------------------


class Line:
    """A line that is open; sending a frame, or waiting for one, may take ``timeout`` seconds.

    The side that listens sends first wherever both send. ``stopped`` tells whether the partner has ended the
    run by a word.
    """

    def __init__(self, connection: ssl.SSLSocket, timeout: float, *, listens: bool) -> None:
        self.connection, self.timeout, self.listens = connection, timeout, listens
        self.stopped = self._mute = False

    def put(self, payload: bytes, kind: int = MESSAGE) -> None:
        deadline = time.monotonic() + self.timeout
        whole = memoryview(HEAD.pack(kind, len(payload)) + payload)
        try:
            while whole:
                self.connection.settimeout(_left(deadline))
                whole = whole[self.connection.send(whole[:AT_ONCE]) :]
        except TimeoutError:
            self._mute = True
            raise Silent(self.timeout) from None
        except OSError:
            self._mute = True
            raise self._last_word() from None
        except BaseException:  # such as Ctrl-C; what would be sent now, would be taken for the rest
            self._mute = True
            raise

    def take(self, limit: int, kind: int = MESSAGE) -> bytes:
        """Wait for a frame of a kind, of so many bytes at most."""
        deadline = time.monotonic() + self.timeout
        found, size = HEAD.unpack(self._read(HEAD.size, deadline))
        if found == STOP and size <= MOST_WORD:
            self.stopped = True
            raise error_for(self._read(size, deadline).decode("ascii", "replace"))
        if found != kind:
            raise garbage("something that is no message, or none that may come now")
        if size > limit:
            raise garbage(f"a message of more than the {limit} bytes that it may have")
        return self._read(size, deadline)

    def stop(self, word: str) -> None:
        """Tell the partner that the run is over, and why, unless it has said so itself."""
        if not (self.stopped or self._mute):
            self.timeout = min(self.timeout, FAREWELL)
            with contextlib.suppress(PpdmError):
                self.put(word.encode(), STOP)

    def close(self) -> None:
        """Close, once the partner has had some seconds to hear the last word."""
        _hang_up(self.connection, FAREWELL)

    def _read(self, size: int, deadline: float) -> bytes:
        arrived, place = memoryview(bytearray(size)), 0
        try:
            while place < size:
                self.connection.settimeout(_left(deadline))
                count = self.connection.recv_into(arrived[place:], min(size - place, AT_ONCE))
                if not count:
                    raise EOFError
                place += count
        except TimeoutError:
            raise Silent(self.timeout) from None
        except (OSError, EOFError) as error:
            raise lost() from error
        return bytes(arrived)

    def _last_word(self) -> PpdmError:
        """Say why nothing can be sent: by the partner's last word, if it said one."""
        self.timeout = min(self.timeout, LINGER)
        try:
            self.take(0, STOP)
        except PpdmError as error:
            if self.stopped:
                return error
        return lost()


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _hang_up(connection: ssl.SSLSocket, seconds: float) -> None:
    """Send no more, and close once the other side has closed or had the time to read.

    TLS's own end of sending would end what still comes; and what is unread when a connection is closed takes
    back what was sent.
    """
    deadline = time.monotonic() + seconds
    with contextlib.suppress(OSError, ValueError):
        socket.socket.shutdown(connection, socket.SHUT_WR)
        while True:
            connection.settimeout(_left(deadline))
            if not socket.socket.recv(connection, AT_ONCE):
                break
    connection.close()


def _names(connection: ssl.SSLSocket) -> list[str]:
    """Give the DNS names of the certificate that the other side has shown, which was verified."""
    shown = cast(dict[str, list[tuple[str, str]]], connection.getpeercert() or {})
    return [name for kind, name in shown.get("subjectAltName", ()) if kind == "DNS"]


# -- the listening side ---------------------------------------------------------------------------


@contextlib.contextmanager
def listen_on(
    place: Address,
    credentials: Credentials,
    peer_name: str,
    *,
    timeout: float,
    wait: float | None = None,
    listens: Callable[[str], None] = lambda _: None,
    notice: Callable[[str], None] = lambda _: None,
) -> Iterator[Line]:
    """Wait for the partner, and give the line to it.

    Callers are answered one after the other. Who shows no certificate of the authority, or one for another
    name, is turned away, and the owner is told; this side goes on waiting. Once the partner has come, nobody
    listens any more.

    Raises:
        InvalidOption: This side cannot listen there.
        PeerError: Nobody came in time.
    """
    believed = context(credentials, listens=True)
    with contextlib.closing(_bound(place)) as listener, _strangers(notice) as refused:
        listens(f"Listening on {Address(place.host, listener.getsockname()[1])} for {peer_name!r}.")
        deadline = None if wait is None else time.monotonic() + wait
        caller = None
        while caller is None:
            try:
                listener.settimeout(None if deadline is None else _left(deadline))
                connection, (host, *_) = listener.accept()
            except TimeoutError:
                raise PeerError(
                    f"Nobody called {peer_name!r} has joined within {wait:g} seconds.",
                    "See whether the partner's --peer, --authority and --peer-name fit this side's.",
                ) from None
            except OSError:  # the caller has gone already, or too many files are open
                time.sleep(PAUSE)
                continue
            caller = _answered(connection, host, believed, peer_name, refused)
    line = Line(caller, timeout, listens=True)
    try:
        line.put(b"", WELCOME)
        yield line
    finally:
        line.close()


@contextlib.contextmanager
def _strangers(notice: Callable[[str], None]) -> Iterator[Callable[[str], None]]:
    """Tell the owner of the first callers who are refused, and in the end how many more there were."""
    refused = 0

    def tell(text: str) -> None:
        with contextlib.suppress(PpdmWarning):  # no stranger ends the run where warnings are errors
            notice(text)

    def count(text: str) -> None:
        nonlocal refused
        refused += 1
        if refused <= MOST_TOLD:
            tell(text)

    try:
        yield count
    finally:
        if refused > MOST_TOLD:
            tell(f"{refused - MOST_TOLD} more callers were refused.")


def _bound(place: Address) -> socket.socket:
    """Give a socket that listens."""
    try:
        found = socket.getaddrinfo(place.host, place.port, type=socket.SOCK_STREAM)
        family, *_, address = found[0]
        return socket.create_server(address[:2], family=family)
    except OSError:
        raise InvalidOption(
            f"This side cannot listen on {place}.", "Give a free port of this machine: --listen HOST:PORT."
        ) from None


def _answered(
    connection: socket.socket,
    host: str,
    believed: ssl.SSLContext,
    peer_name: str,
    notice: Callable[[str], None],
) -> ssl.SSLSocket | None:
    """Let a caller in, or tell the owner why not, and turn it away."""
    refused, word = f"A caller from {host} was refused: ", None
    connection.settimeout(HANDSHAKE)
    try:
        caller = believed.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
    except OSError:  # it has gone already
        connection.close()
        return None
    try:
        caller.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        caller.do_handshake()
        shown = _names(caller)
        if peer_name not in shown:
            name = repr(shown[0][:64]) if shown else "none"
            word = "name"
            notice(f"{refused}its certificate is for another name, {name}.")
        elif caller.selected_alpn_protocol() != PROTOCOL:
            word = "version"
            notice(f"{refused}it speaks another version of the protocol.")
        else:
            return caller
    except OSError as error:
        notice(f"{refused}{_reason(error)}.")
    if word is not None:
        Line(caller, LINGER, listens=True).stop(word)
    _hang_up(caller, LINGER)
    return None


_REASONS = {
    "PEER_DID_NOT_RETURN_A_CERTIFICATE": "it shows no certificate",
    "CERTIFICATE_VERIFY_FAILED": "its certificate is not of the given authority",
}
_DATES = {9: "its certificate is not valid yet", 10: "its certificate has expired"}
"""By the numbers that OpenSSL gives them."""


def _reason(error: OSError) -> str:
    """Say why a handshake failed, in words of a closed list; what a caller sent is not among them."""
    if isinstance(error, TimeoutError):
        return "it took too long to show a certificate"
    if not isinstance(error, ssl.SSLError) or isinstance(error, ssl.SSLEOFError):
        return "it hung up before it had shown a certificate"
    if _is_alert(error):
        return "it does not take this side's certificate"
    found = _REASONS.get(error.reason or "", "it speaks no TLS 1.3")
    return _DATES.get(getattr(error, "verify_code", 0), found)


# -- the calling side -----------------------------------------------------------------------------


@contextlib.contextmanager
def connect_to(place: Address, credentials: Credentials, peer_name: str, *, timeout: float) -> Iterator[Line]:
    """Call the partner until it listens or the time is over, and give the line to it.

    Raises:
        PeerError: Nobody listens there.
        ProtocolError: Who listens has no certificate of the authority, or one for another name, or does not
            take this side's.
    """
    deadline = time.monotonic() + timeout
    believed = context(credentials, listens=False)
    secured = None
    while secured is None:
        secured = _called(place, believed, peer_name, deadline, timeout)
        if secured is None and time.monotonic() > deadline:
            raise PeerError(f"Nobody can be reached at {place}.", "See whether the partner listens there.")
        time.sleep(0 if secured else PAUSE)
    line = Line(secured, timeout, listens=False)
    try:
        _welcomed(line, place, credentials.name)
        yield line
    finally:
        line.close()


def _called(
    place: Address, believed: ssl.SSLContext, peer_name: str, deadline: float, timeout: float
) -> ssl.SSLSocket | None:
    """Call once; None where nobody answers, which may change."""
    try:
        plain = socket.create_connection(
            (place.host, place.port), timeout=max(deadline - time.monotonic(), PAUSE)
        )
    except OSError:
        return None
    impostor = ProtocolError(
        f"The certificate of who listens at {place} is not for {peer_name!r}.",
        "Correct --peer-name, or check who listens there.",
    )
    try:
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        plain.settimeout(timeout)
        secured = believed.wrap_socket(plain, server_hostname=peer_name)
    except TimeoutError:
        raise Silent(timeout) from None
    except ssl.SSLCertVerificationError as error:
        raise (impostor if error.verify_code == OTHER_NAME else _unknown(place)) from None
    except ssl.SSLEOFError:
        return None
    except ssl.SSLError as error:
        if _is_alert(error):
            raise _turned_away(place) from None
        raise ProtocolError(
            f"Who listens at {place} speaks no TLS 1.3.", "Check --peer, and who listens there."
        ) from None
    except OSError:
        return None  # such as a tunnel whose other end is not there yet
    except ValueError:  # no certificate can have such a name
        raise impostor from None
    finally:
        plain.close()  # which the secured one has taken over, if there is one
    if peer_name in _names(secured) and secured.selected_alpn_protocol() == PROTOCOL:
        return secured
    secured.close()
    raise error_for("version") if peer_name in _names(secured) else impostor


def _welcomed(line: Line, place: Address, name: str) -> None:
    """Hear that this side is let in; a certificate is refused after the handshake, as this side sees it."""
    try:
        line.take(0, WELCOME)
    except ProtocolError as error:
        if error.reason != "name":
            raise
        raise ProtocolError(
            f"The partner expects a certificate for another name than {name!r}.", error.remedy, reason="name"
        ) from None
    except PeerError as error:
        if not _is_alert(error.__cause__):
            raise
        raise _turned_away(place) from None


def _is_alert(error: BaseException | None) -> bool:
    """Tell whether the other side has refused something in the handshake."""
    return isinstance(error, ssl.SSLError) and "ALERT" in (error.reason or "")


def _unknown(place: Address) -> ProtocolError:
    return ProtocolError(
        f"The certificate of who listens at {place} is not of the given authority, or has expired.",
        "Give the partner's authority with --authority, or check who listens there.",
    )


def _turned_away(place: Address) -> ProtocolError:
    return ProtocolError(
        f"Who listens at {place} does not take this side's certificate.",
        "Let the partner give this side's authority with --authority; check who listens there.",
    )
