"""Holds signals back while something must not be cut short, such as a commit."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""What asks a process to stop."""

on_commit: ContextVar[Callable[[], None] | None] = ContextVar("on_commit", default=None)
"""Called once a transaction is committed; the command line asks for it."""


@contextmanager
def held_back() -> Iterator[None]:
    """Keep signals that Python code listens to, and hand them on at the end.

    Does nothing on other threads than the main one, which signals do not reach.

    Example:
        >>> with held_back():
        ...     pass
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    kept: list[int] = []
    before = {number: signal.getsignal(number) for number in SIGNALS}
    heard = {number: handler for number, handler in before.items() if callable(handler)}
    for number in heard:
        signal.signal(number, lambda number, frame: kept.append(number))
    try:
        yield
    finally:
        for number, handler in heard.items():
            signal.signal(number, handler)
        for number in dict.fromkeys(kept):
            signal.raise_signal(number)
