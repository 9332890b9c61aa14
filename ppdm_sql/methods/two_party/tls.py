"""TLS on both sides of the line: addresses, what is believed, handshakes with a time limit, names."""

from __future__ import annotations

import contextlib
import os
import re
import selectors
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

from ppdm_sql.errors import InvalidOption
from ppdm_sql.methods.two_party.certificates import Credentials

PROTOCOL = "ppdm-integrate/2"
"""What both sides speak, which they settle in the handshake; the number is the version of the line."""


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
        found = re.fullmatch(r"(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+)):(\d{1,5})", text.strip())
        if found is None or int(found[3]) > 65535:
            raise InvalidOption(
                f"{option} {text!r} is no host and port.", f"Write it as {option} 127.0.0.1:8815."
            )
        return cls(found[1] or found[2], int(found[3]))

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def context(credentials: Credentials, *, listens: bool) -> ssl.SSLContext:
    """Give what OpenSSL needs: TLS 1.3 (so neither compression nor renegotiation), certificates both ways."""
    from cryptography.hazmat.primitives.serialization import Encoding
    from cryptography.x509 import load_pem_x509_certificates

    found = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if listens else ssl.PROTOCOL_TLS_CLIENT)
    found.minimum_version = ssl.TLSVersion.TLSv1_3
    found.check_hostname = not listens  # so that the calling side refuses another name in the handshake
    found.verify_mode = ssl.CERT_REQUIRED
    roots = load_pem_x509_certificates(credentials.authority)
    found.load_verify_locations(cadata=b"".join(root.public_bytes(Encoding.DER) for root in roots))
    found.set_alpn_protocols([PROTOCOL])
    if listens:
        found.num_tickets = 0  # every caller shows its certificate
    with _readable(credentials.certificate) as certificate, _readable(credentials.private_key) as key:
        found.load_cert_chain(certificate, key)
    return found


@contextlib.contextmanager
def _readable(text: bytes) -> Iterator[str]:
    """Give a path at which OpenSSL can read a text: a pipe's, so that no key is written to a disk."""
    if not Path("/dev/fd").exists():
        with TemporaryDirectory() as folder:
            file = Path(folder, "text")
            file.write_bytes(text)
            yield str(file)
        return
    reading, writing = os.pipe()
    filling = threading.Thread(target=_fill, args=(writing, text), daemon=True)
    filling.start()
    try:
        yield f"/dev/fd/{reading}"
    finally:
        os.close(reading)
        filling.join()


def _fill(writing: int, text: bytes) -> None:
    with contextlib.suppress(BrokenPipeError), open(writing, "wb") as pipe:
        pipe.write(text)


def shake_hands(connection: ssl.SSLSocket, seconds: float) -> None:
    """Finish the handshake of a connection that does not block.

    Raises:
        TimeoutError: It takes longer than that, however the other side dawdles.
        OSError: The other side, or this one, refuses the other's certificate, or speaks something else.
    """
    deadline = time.monotonic() + seconds
    with selectors.DefaultSelector() as selector:
        key = selector.register(connection, selectors.EVENT_READ)
        while True:
            try:
                connection.do_handshake()
                return
            except ssl.SSLWantReadError:
                events = selectors.EVENT_READ
            except ssl.SSLWantWriteError:
                events = selectors.EVENT_WRITE
            selector.modify(key.fileobj, events)
            if not selector.select(deadline - time.monotonic()):
                raise TimeoutError


def names(connection: ssl.SSLSocket) -> list[str]:
    """Give the DNS names of the certificate that the other side has shown, which was verified."""
    shown = cast(dict[str, list[tuple[str, str]]], connection.getpeercert() or {})
    return [name for kind, name in shown.get("subjectAltName", ()) if kind == "DNS"]


def half_close(connection: socket.socket) -> None:
    """Say that nothing more will be sent; TLS goes on for what still comes, unlike in its own shutdown."""
    with contextlib.suppress(OSError):
        socket.socket.shutdown(connection, socket.SHUT_WR)
