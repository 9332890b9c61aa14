"""Ctrl-C during a call: the engine runs functions on any thread, while Python notifies only the main one."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, TypeVar

import duckdb

from ppdm_sql.engine import Engine
from ppdm_sql.engine.watching import SignalHandler

Result = TypeVar("Result")
SECONDS_BETWEEN_LOOKS = 0.05

_running: dict[threading.Event, Engine] = {}
_previous: Any = None


def listen() -> None:
    """Pass Ctrl-C on to the calls that are running, then to whoever listened before.

    Does nothing on other threads than the main one, where Python allows none to listen, nor where Ctrl-C is
    ignored.
    """
    global _previous
    if threading.current_thread() is not threading.main_thread():
        return
    if signal.getsignal(signal.SIGINT) not in (_handle, signal.SIG_IGN):
        _previous = signal.signal(signal.SIGINT, _handle)


def ignore() -> None:
    """Let only those listen who did before."""
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) == _handle:
        signal.signal(signal.SIGINT, _previous)


class _PassedOn(SignalHandler):
    """Tells the calls that are running, then who listened before."""

    def __call__(self, number: int, frame: FrameType | None) -> None:
        engines = list(_running.values())
        if engines and all(engine.committed for engine in engines):
            return  # it came too late: what was called is done, and is about to say so
        for interrupted in list(_running):
            interrupted.set()
        if callable(_previous):
            _previous(number, frame)
        else:
            signal.default_int_handler(number, frame)

    def stops(self) -> bool:
        """Tell whether a statement is to be stopped; those of calls are stopped by the calls."""
        return not _running and isinstance(_previous, SignalHandler) and _previous.stops()


_handle = _PassedOn()


def interruptible(work: Callable[[], Result], engine: Engine) -> Result:
    """Do work that runs statements on an engine, and stop them at Ctrl-C.

    Raises:
        KeyboardInterrupt: Ctrl-C stopped it.
        Exception: What the work raises.

    Example:
        >>> engine = Engine(duckdb.connect())
        >>> interruptible(lambda: engine.query("SELECT 1", step="one"), engine)
        [(1,)]
    """
    outcome: list[Result] = []
    failure: list[BaseException] = []

    done, interrupted = threading.Event(), threading.Event()

    def worker() -> None:
        try:
            outcome.append(work())
        except BaseException as error:
            failure.append(error)
        finally:
            done.set()

    _running[interrupted] = engine
    try:
        threading.Thread(target=worker, name="ppdm", daemon=True).start()
        _wait(done, interrupted, engine)
    finally:
        del _running[interrupted]
    if failure and interrupted.is_set():
        raise KeyboardInterrupt
    if failure:
        raise failure[0]
    return outcome[0]


def _wait(done: threading.Event, interrupted: threading.Event, engine: Engine) -> None:
    """Wait for the work; once interrupted, stop its statements one after the other until it gives up."""
    while not done.is_set():
        try:
            done.wait(SECONDS_BETWEEN_LOOKS)
        except KeyboardInterrupt:
            interrupted.set()
        if interrupted.is_set():
            with contextlib.suppress(duckdb.Error):
                engine.interrupt()
