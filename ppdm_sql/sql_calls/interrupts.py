"""Ctrl-C during a call: the engine runs functions on any thread, while Python tells only the main one."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, TypeVar

import duckdb

Result = TypeVar("Result")
SECONDS_BETWEEN_LOOKS = 0.05

_running: set[threading.Event] = set()
_previous: Any = None


def listen() -> None:
    """Pass Ctrl-C on to the calls that are running, then to whoever listened before.

    Does nothing on other threads than the main one, where Python allows none to listen.
    """
    global _previous
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) != _tell:
        _previous = signal.signal(signal.SIGINT, _tell)


def ignore() -> None:
    """Let only those listen who did before."""
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) == _tell:
        signal.signal(signal.SIGINT, _previous)


def _tell(number: int, frame: FrameType | None) -> None:
    for interrupted in list(_running):
        interrupted.set()
    if callable(_previous):
        _previous(number, frame)
    elif _previous != signal.SIG_IGN:
        signal.default_int_handler(number, frame)


def interruptible(work: Callable[[], Result], connection: duckdb.DuckDBPyConnection) -> Result:
    """Do work that runs statements on a connection, and stop them at Ctrl-C.

    Raises:
        KeyboardInterrupt: Ctrl-C stopped it.
        Exception: What the work raises.

    Example:
        >>> connection = duckdb.connect()
        >>> interruptible(lambda: connection.execute("SELECT 1").fetchall(), connection)
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

    _running.add(interrupted)
    try:
        threading.Thread(target=worker, name="ppdm", daemon=True).start()
        _wait(done, interrupted, connection)
    finally:
        _running.discard(interrupted)
    if failure and interrupted.is_set():
        raise KeyboardInterrupt
    if failure:
        raise failure[0]
    return outcome[0]


def _wait(done: threading.Event, interrupted: threading.Event, connection: duckdb.DuckDBPyConnection) -> None:
    """Wait for the work; once interrupted, stop its statements one after the other until it gives up."""
    while not done.is_set():
        try:
            done.wait(SECONDS_BETWEEN_LOOKS)
        except KeyboardInterrupt:
            interrupted.set()
        if interrupted.is_set():
            with contextlib.suppress(duckdb.Error):
                connection.interrupt()
