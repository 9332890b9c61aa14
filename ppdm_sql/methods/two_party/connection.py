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

MESSAGE, WELCOME, AGREED, STOP, BYE = range(1, 6)
"""What a frame is: a message; the word that lets a caller in; that this side is about to publish; the word
that ends a run; a farewell."""
HEAD = struct.Struct(">BQ")  # before each frame: what it is, and its bytes
MOST_WORD, AT_ONCE = 20, 256 * 1024
"""Bytes of the word that ends a run, and bytes that are sent, or asked for, at once."""
MOST_NOTICES = 10
"""Callers that the owner is told of; more are only counted."""
HANDSHAKE, LINGER, FAREWELL, PAUSE = 5.0, 1.0, 5.0, 0.25
"""Seconds that a caller may take to show its certificate, or to hear why it is turned away; that an ended run
gives the partner to hear of it; and between two calls at a place where nobody listens yet."""
OTHER_NAME = 62  # what OpenSSL calls a certificate for another name


def garbage(what: str) -> ProtocolError:
    remedy = "Let both run the same version of ppdm-sql, and check who is there."
    return ProtocolError(f"The partner sent {what}.", remedy, reason="message")


@dataclass(frozen=True)
class Address:
    host: str
    port: int

    @classmethod
    def parse(cls, option: str, text: str) -> Address:
        name = r"[A-Za-z0-9_-]{1,63}"  # a longer part of a name, or an empty one, is none to a resolver
        host = rf"\[([0-9A-Fa-f:.]+)\]|({name}(?:\.{name})*\.?)"
        match = re.fullmatch(rf"(?:{host}):(\d{{1,5}})", text.strip())
        if match is None or int(match[3]) > 65535:
            raise InvalidOption(
                f"{option} {text!r} is not a host and port.", f"Write it as {option} 127.0.0.1:8815."
            )
        return cls(match[1] or match[2], int(match[3]))

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


_AGAIN, _VERSION = "Run both again.", "Let both run the same version of ppdm-sql."
_LOST = ("The line to the partner broke.", _AGAIN)
_WORDS = {  # the word that ends a run is one of these, so that an error can tell the partner nothing else
    "interrupted": ("The partner interrupted the run.", _AGAIN),
    "stalled": ("The partner waited too long for this side.", "Run both again with a longer --timeout."),
    "failed": ("The run failed on the partner's side, where a message says why.", _AGAIN),
    "name": (
        "The partner expects a certificate for another name.",
        "Show the right one with --cert, or let the partner correct its --peer-name.",
    ),
    "version": ("The partner speaks another version of the protocol.", _VERSION),
    "parameters": (
        "The partner's parameters differ.",
        "Let both name the same key, class, requirements and options, and agree on who owns which column.",
    ),
    "records": ("The partner refuses the records: they are not the same on both sides.", "Compare the keys."),
    "order": ("The partner's records differ, or stand in another order.", "Compare the keys of both tables."),
    "digest": ("The partner reached another state than this side.", "Begin anew, and report it."),
    "message": ("The partner refuses a message of this side.", _VERSION),
    "refused": ("The partner refuses what this side sent.", _VERSION),
}


class Silent(PeerError):
    def __init__(self, seconds: float) -> None:
        super().__init__(
            f"The partner has said nothing for {seconds:g} seconds.",
            "See whether its run goes on; if it needs longer, run both again with a longer --timeout.",
        )


def word_for(error: BaseException) -> str:
    if isinstance(error, ProtocolError):
        return error.reason if error.reason in _WORDS else "refused"
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    return "stalled" if isinstance(error, Silent) else "failed"


def error_for(word: str) -> PpdmError:
    word = word if word in _WORDS else "refused"
    if word in ("interrupted", "stalled", "failed"):
        return PeerError(*_WORDS[word])
    return ProtocolError(*_WORDS[word], reason=word)


class Line:
    """A line that is open; sending a frame, or waiting for one, may take ``timeout`` seconds."""

    def __init__(self, connection: ssl.SSLSocket, timeout: float, *, listens: bool) -> None:
        self.connection, self.timeout = connection, timeout
        self.listens = listens  # and so sends first wherever both send
        self.stopped = self._broken = False  # by a word of the partner; in the midst of a frame

    def put(self, payload: bytes, kind: int = MESSAGE) -> None:
        deadline = time.monotonic() + self.timeout
        whole = memoryview(HEAD.pack(kind, len(payload)) + payload)
        self._broken = True  # on any error, such as Ctrl-C: more would be taken for the rest of the frame
        try:
            while whole:
                self.connection.settimeout(_remaining(deadline))
                whole = whole[self.connection.send(whole[:AT_ONCE]) :]
        except TimeoutError:
            raise Silent(self.timeout) from None
        except OSError:
            raise self._last_word() from None
        self._broken = False

    def take(self, limit: int, kind: int = MESSAGE) -> bytes:
        deadline = time.monotonic() + self.timeout
        frame, size = HEAD.unpack(self._read(HEAD.size, deadline))
        if frame == STOP and size <= MOST_WORD:
            self.stopped = True
            raise error_for(self._read(size, deadline).decode("ascii", "replace"))
        if frame != kind:
            raise garbage("something that is not a message, or not one that may come now")
        if size > limit:
            raise garbage(f"a message of more than the {limit} bytes that it may have")
        return self._read(size, deadline)

    def stop(self, word: str) -> None:
        """Tell the partner that the run is over, and why, unless it has said so itself."""
        if not (self.stopped or self._broken):
            self.timeout = min(self.timeout, FAREWELL)
            with contextlib.suppress(PpdmError):
                self.put(word.encode(), STOP)

    def close(self) -> None:
        _hang_up(self.connection, FAREWELL)

    def _read(self, size: int, deadline: float) -> bytes:
        data = bytearray()
        try:
            while len(data) < size:
                self.connection.settimeout(_remaining(deadline))
                part = self.connection.recv(min(size - len(data), AT_ONCE))
                if not part:
                    raise EOFError
                data += part
        except TimeoutError:
            raise Silent(self.timeout) from None
        except (OSError, EOFError) as error:
            raise PeerError(*_LOST) from error
        return bytes(data)

    def _last_word(self) -> PpdmError:
        """Say why nothing can be sent: by the partner's last word, if it said one."""
        self.timeout = min(self.timeout, LINGER)
        try:
            self.take(0, STOP)
        except PpdmError as error:
            if self.stopped:
                return error
        return PeerError(*_LOST)


def _remaining(deadline: float) -> float:
    seconds = deadline - time.monotonic()
    if seconds <= 0:
        raise TimeoutError
    return seconds


def _hang_up(connection: socket.socket, seconds: float) -> None:
    """Send no more, and close once the other side has closed or had the time to read."""
    # TLS's own end would end what still comes, and what is unread at a close takes back what was sent
    deadline = time.monotonic() + seconds
    with contextlib.suppress(OSError, ValueError):
        socket.socket.shutdown(connection, socket.SHUT_WR)
        while True:
            connection.settimeout(_remaining(deadline))
            if not socket.socket.recv(connection, AT_ONCE):
                break
    connection.close()


def _names(connection: ssl.SSLSocket) -> list[str]:
    subject = cast(dict[str, list[tuple[str, str]]], connection.getpeercert() or {})
    return [name for kind, name in subject.get("subjectAltName", ()) if kind == "DNS"]


def _is_alert(error: BaseException | None) -> bool:
    return isinstance(error, ssl.SSLError) and "ALERT" in (error.reason or "")


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
    """Wait for the partner, and give the line to it; others are turned away, and the owner is told."""
    tls, refusals = context(credentials, listens=True), 0

    def tell(text: str) -> None:
        with contextlib.suppress(PpdmWarning):  # no stranger ends the run where warnings are errors
            notice(text)

    try:
        family, *_, address = socket.getaddrinfo(place.host, place.port, type=socket.SOCK_STREAM)[0]
        listener = socket.create_server(address[:2], family=family)
    except OSError:
        raise InvalidOption(
            f"This side cannot listen on {place}.", "Give a free port of this machine: --listen HOST:PORT."
        ) from None
    with contextlib.ExitStack() as stack:
        stack.enter_context(listener)

        @stack.callback
        def tell_of_others() -> None:
            if refusals > MOST_NOTICES:
                tell(f"{refusals - MOST_NOTICES} more callers were refused.")

        listens(f"Listening on {Address(place.host, listener.getsockname()[1])} for {peer_name!r}.")
        deadline = None if wait is None else time.monotonic() + wait
        while True:
            try:
                listener.settimeout(None if deadline is None else _remaining(deadline))
                connection, (host, *_) = listener.accept()
            except TimeoutError:
                raise PeerError(
                    f"Nobody called {peer_name!r} has joined within {wait:g} seconds.",
                    "See whether the partner's --peer, --authority and --peer-name fit this side's.",
                ) from None
            except OSError:  # the caller has gone already, or too many files are open
                time.sleep(PAUSE)
                continue
            caller, why = _answer(connection, tls, peer_name)
            if isinstance(caller, ssl.SSLSocket) and not why:
                break
            refusals += 1
            if refusals <= MOST_NOTICES:
                tell(f"A caller from {host} was refused: {why}.")
            _hang_up(caller, LINGER)
    with contextlib.closing(Line(caller, timeout, listens=True)) as line:
        line.put(b"", WELCOME)
        yield line


def _answer(connection: socket.socket, tls: ssl.SSLContext, peer_name: str) -> tuple[socket.socket, str]:
    """Answer a caller, and say why it is turned away, if it is."""
    connection.settimeout(HANDSHAKE)
    caller, why = connection, ""
    try:
        caller = channel = tls.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        caller.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        channel.do_handshake()
        names, line = _names(channel), Line(channel, LINGER, listens=True)
        if peer_name not in names:
            why = f"its certificate is for another name, {repr(names[0][:64]) if names else 'none'}"
            line.stop("name")
        elif channel.selected_alpn_protocol() != PROTOCOL:
            why = "it speaks another version of the protocol"
            line.stop("version")
    except OSError as error:
        why = _reason(error)
    return caller, why


_REASONS = {  # by the names and numbers that OpenSSL gives them
    "PEER_DID_NOT_RETURN_A_CERTIFICATE": "it shows no certificate",
    "CERTIFICATE_VERIFY_FAILED": "its certificate is not of the given authority",
    9: "its certificate is not valid yet",
    10: "its certificate has expired",
}


def _reason(error: OSError) -> str:
    """Say why a handshake failed, in words of a closed list; what a caller sent is not among them."""
    if isinstance(error, TimeoutError):
        return "it took too long to show a certificate"
    if not isinstance(error, ssl.SSLError) or isinstance(error, ssl.SSLEOFError):
        return "it hung up before it had shown a certificate"
    if _is_alert(error):
        return "it does not take this side's certificate"
    reason = _REASONS.get(error.reason, "it speaks no TLS 1.3")
    return _REASONS.get(getattr(error, "verify_code", 0), reason)


@contextlib.contextmanager
def connect_to(place: Address, credentials: Credentials, peer_name: str, *, timeout: float) -> Iterator[Line]:
    deadline = time.monotonic() + timeout
    tls = context(credentials, listens=False)
    while (channel := _call(place, tls, peer_name, deadline, timeout)) is None:
        if time.monotonic() > deadline:
            raise PeerError(f"Nobody can be reached at {place}.", "See whether the partner listens there.")
        time.sleep(PAUSE)
    with contextlib.closing(Line(channel, timeout, listens=False)) as line:
        try:
            line.take(0, WELCOME)
        except ProtocolError as error:
            if error.reason != "name":
                raise
            problem = f"The partner expects a certificate for another name than {credentials.name!r}."
            raise ProtocolError(problem, error.remedy, reason="name") from None
        except PeerError as error:  # a certificate is refused after the handshake, as this side sees it
            if not _is_alert(error.__cause__):
                raise
            raise _refusal(error.__cause__, place) from None
        yield line


def _call(
    place: Address, tls: ssl.SSLContext, peer_name: str, deadline: float, timeout: float
) -> ssl.SSLSocket | None:
    try:
        seconds = max(deadline - time.monotonic(), PAUSE)
        plain = socket.create_connection((place.host, place.port), timeout=seconds)
    except OSError:
        return None
    impostor = ProtocolError(
        f"The certificate of whoever listens at {place} is not for {peer_name!r}.",
        "Correct --peer-name, or check who listens there.",
    )
    try:
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        plain.settimeout(timeout)
        with plain:  # which the secured one takes over
            channel = tls.wrap_socket(plain, server_hostname=peer_name)
    except TimeoutError:
        raise Silent(timeout) from None
    except ssl.SSLError as error:
        if isinstance(error, ssl.SSLEOFError):
            return None
        if getattr(error, "verify_code", 0) == OTHER_NAME:
            raise impostor from None
        raise _refusal(error, place) from None
    except OSError:
        return None  # such as a tunnel whose other end is not there yet
    except ValueError:  # no certificate can have such a name
        raise impostor from None
    if peer_name in _names(channel) and channel.selected_alpn_protocol() == PROTOCOL:
        return channel
    channel.close()
    raise error_for("version") if peer_name in _names(channel) else impostor


def _refusal(error: BaseException | None, place: Address) -> ProtocolError:
    who = f"ho listens at {place}"
    if _is_alert(error):
        return ProtocolError(
            f"W{who} does not take this side's certificate.",
            "Let the partner give this side's authority with --authority; check who listens there.",
        )
    if isinstance(error, ssl.SSLCertVerificationError):
        return ProtocolError(
            f"The certificate of w{who} is not of the given authority, or has expired.",
            "Give the partner's authority with --authority, or check who listens there.",
        )
    return ProtocolError(f"W{who} speaks no TLS 1.3.", "Check --peer, and who listens there.")
