"""How a call runs beside its caller, on a connection of its own: transactions, turns, Ctrl-C."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

import duckdb

from ppdm_sql.engine import Engine
from ppdm_sql.engine.signals import SignalHandler
from ppdm_sql.errors import EngineError

# -- transactions -------------------------------------------------------------------------------

SECONDS_TO_PLAN = 2.0
"""A transaction that is older when a statement is planned was begun by another statement."""
UNNUMBERED = 2**64 - 1
"""The number of the statement while a relation of Python is only described."""
NO_CHECK = "SELECT 1"
"""A statement that the engine can always run."""

_CHECK = """
    SELECT format('FROM checkpoint(''{}'')', replace(d.database_name, '''', ''''''))
    FROM duckdb_databases() AS d
    WHERE d.database_name = $current AND NOT d.readonly AND d.type = 'duckdb'
"""


class TransactionWatch:
    """What is known of the transactions of one connection.

    A method called in SQL sees no changes that the caller's transaction has made. DuckDB does not say whether
    one is open, so three things are checked: the number of the transaction, which a statement outside a
    transaction does not share with an older one; its age when the statement is planned; and the engine,
    which refuses a checkpoint in a transaction that has changed the database. The last cannot be asked for
    while other calls are under way, since the engine refuses it then, too.

    Args:
        cursor: Gives another connection to the same database.
    """

    def __init__(self, cursor: Callable[[], duckdb.DuckDBPyConnection]) -> None:
        self._cursor = cursor
        self._seen = (-1, -1)
        self._open = -1

    def note(self, transaction: int, statement: int) -> None:
        """Take note of a statement and of the transaction in which it runs."""
        if statement == UNNUMBERED:
            return
        if transaction == self._seen[0] and statement != self._seen[1]:
            self._open = transaction
        self._seen = (transaction, statement)

    def refuse_open(self, transaction: int, statement: int) -> None:
        """Take note of a statement; refuse it where an earlier one is known to have begun its transaction."""
        self.note(transaction, statement)
        if transaction == self._open:
            raise open_transaction()

    def plan(self, transaction: int, statement: int, begun: int) -> None:
        """Take note of a statement as it is planned, whose transaction began then, in microseconds."""
        is_new = self._seen != (transaction, statement)
        self.note(transaction, statement)
        if is_new and time.time() - begun / 1e6 > SECONDS_TO_PLAN:
            self._open = transaction

    def check(self, current: str, transaction: int) -> str:
        """Write the statement that fails if the transaction has changed the current database.

        It does nothing where that one cannot be changed, and where the call will be refused anyway.
        """
        if transaction == self._open:
            return NO_CHECK
        cursor = self._cursor()
        try:
            row = cursor.execute(_CHECK, {"current": current}).fetchone()
            return row[0] if row else NO_CHECK
        finally:
            cursor.close()


def open_transaction() -> EngineError:
    """Say why a call is refused in a transaction."""
    return EngineError(
        "A transaction is open on this connection, and a call runs on a connection of its own, which does "
        "not see its changes.",
        "Commit or roll back the transaction first.",
    )


# -- turns --------------------------------------------------------------------------------------

SECONDS_TO_START = 0.3
"""A call that was planned and has not begun by then was only explained or prepared."""


class CallOrder:
    """Whose turn it is among the calls.

    Example:
        >>> turns = CallOrder()
        >>> turns.plan("one"), turns.plan("one"), turns.plan("other")
        (True, True, False)
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._begun = 0
        self._planned: dict[Hashable, float] = {}

    def plan(self, owner: Hashable) -> bool:
        """Announce a call, and return whether it is the only one that runs, waits or is about to."""
        now = time.monotonic()
        others = {
            other: since
            for other, since in list(self._planned.items())
            if other != owner and now - since < SECONDS_TO_START
        }
        self._planned = others | {owner: now}
        return not others and self._begun == 0

    @contextmanager
    def run(self, owner: Hashable) -> Iterator[None]:
        """Wait until no other call runs, and take the turn while inside."""
        self._begun += 1
        self._planned.pop(owner, None)
        try:
            with self._lock:
                yield
        finally:
            self._begun -= 1


# -- Ctrl-C: the engine runs functions on any thread, Python notifies only the main one ---------

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
    """Do work that runs statements on an engine, and stop them at Ctrl-C."""
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
