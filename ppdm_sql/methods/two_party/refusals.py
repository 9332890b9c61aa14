"""Callers that were refused: the owner is told, and a rogue cannot flood what it is told with."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable

MOST_REPORTED = 8
"""Refusals that are reported one by one; afterwards their number is, at each tenfold of it."""
_NO_TLS = "it speaks no TLS 1.3"
_REASONS = {
    "PEER_DID_NOT_RETURN_A_CERTIFICATE": "it shows no certificate",
    "CERTIFICATE_VERIFY_FAILED": "its certificate is not of the given authority",
}
_DATES = {9: "its certificate is not valid yet", 10: "its certificate has expired"}
"""By the numbers that OpenSSL gives them."""


class Refusals:
    """Tells of refused callers: each reason once for each address, and not more than a few in all.

    Example:
        >>> refusals = Refusals(print)
        >>> for _ in range(100):
        ...     refusals.tell("192.0.2.7", "it shows no certificate")
        A caller from 192.0.2.7 was refused: it shows no certificate.
        100 callers were refused so far; the last came from 192.0.2.7: it shows no certificate.
    """

    def __init__(self, notice: Callable[[str], None]) -> None:
        self._notice, self._lock = notice, threading.Lock()
        self._reported: set[tuple[str, str]] = set()
        self._count, self._next = 0, 100

    def tell(self, host: str, why: str) -> None:
        """Note a caller, and tell the owner if that is news."""
        with self._lock:
            self._count += 1
            if (host, why) not in self._reported and len(self._reported) < MOST_REPORTED:
                self._reported.add((host, why))
                self._notice(f"A caller from {host} was refused: {why}.")
            if self._count >= self._next:
                self._next *= 10
                last = f"the last came from {host}: {why}"
                self._notice(f"{self._count} callers were refused so far; {last}.")


def reason(error: OSError) -> str:
    """Say why a handshake failed, in words of a closed list; what a caller sent is not among them.

    Example:
        >>> reason(ConnectionResetError())
        'it hung up before it had shown a certificate'
    """
    if isinstance(error, TimeoutError):
        return "it took too long to show a certificate"
    if not isinstance(error, ssl.SSLError) or isinstance(error, ssl.SSLEOFError):
        return "it hung up before it had shown a certificate"
    sign = error.reason or ""
    if "ALERT" in sign:
        return "it does not take this side's certificate"
    found = _REASONS.get(sign, _NO_TLS)
    return _DATES.get(getattr(error, "verify_code", 0), found)
