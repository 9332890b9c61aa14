"""Signals that ask a process to stop: held back around a commit, heard while a statement runs.

Python runs the handler of a signal on the main thread, between two of its own steps. While that thread is
inside a long step of the engine, such as a large sort, it hears nothing; and where it hears the signal, it
waits for other threads of the engine that do not. So a thread of its own, which is told of signals at once,
stops the statement.
"""

from __future__ import annotations

import os
import signal
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any, TypeVar
from weakref import WeakSet

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


# -- while a statement runs ------------------------------------------------------------


Owner = TypeVar("Owner")
_engines: WeakSet[Any] = WeakSet()
_watch: _Watch | None = None
_MARK = 0
"""Stands among the numbers of signals, of which none is 0."""
_SECONDS_TO_HEAR = 5


class SignalHandler(ABC):
    """A handler of signals that says whether the statement that is running is to be stopped, too."""

    @abstractmethod
    def stops(self) -> bool:
        """Tell, on the watching thread, whether the signal that just came ends what is done."""


def interruptible(engine: Owner) -> Owner:
    _engines.add(engine)
    return engine


class _Watch:
    """The thread that is told of signals, and the pipe by which it is."""

    def __init__(self, reader: int, writer: int) -> None:
        self._reader, self._writer = reader, writer
        self._caught_up = threading.Event()
        threading.Thread(target=self._listen, name="ppdm signals", daemon=True).start()

    def catch_up(self) -> None:
        """Wait until it has heard of all signals that came before."""
        self._caught_up.clear()
        os.write(self._writer, bytes([_MARK]))
        self._caught_up.wait(_SECONDS_TO_HEAR)

    def _listen(self) -> None:
        while numbers := os.read(self._reader, 64):
            for number in numbers:
                if number == _MARK:
                    self._caught_up.set()
                    continue
                handler = signal.getsignal(number)
                # where signals are held back, as around a commit, the handler is another one, and they come
                # again
                if isinstance(handler, SignalHandler) and handler.stops():
                    _interrupt()
        os.close(self._reader)


def catch_up() -> None:
    """Let the watching thread hear of all signals that have come, while their handler is still there.

    Without it a handler that is about to be taken away would be asked nothing, and the next one be taken for
    it.
    """
    if _watch is not None:
        with suppress(OSError):  # the pipe is full
            _watch.catch_up()


@contextmanager
def watched_signals() -> Iterator[None]:
    """Watch signals inside; not where somebody else does, nor on other threads than the main one."""
    global _watch
    if os.name != "posix" or threading.current_thread() is not threading.main_thread():
        yield
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    watch = _Watch(reader, writer)
    if before == -1:
        _watch = watch
    else:
        signal.set_wakeup_fd(before)
    try:
        yield
    finally:
        if before == -1:
            signal.set_wakeup_fd(-1)
            _watch = None
        os.close(writer)  # which ends the thread


def _interrupt() -> None:
    """Stop the statements of all engines but those that commit or tidy up."""
    while True:
        try:
            engines = list(_engines)
            break
        except RuntimeError:  # one was made at this moment
            continue
    for engine in engines:
        engine.interrupt()
