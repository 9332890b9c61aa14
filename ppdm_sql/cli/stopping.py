"""Ctrl-C, TERM and HUP during a command: it ends cleanly, or, once all is committed, as if not asked."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from types import FrameType

import typer

from ppdm_sql.engine.quiet import SIGNALS, on_commit
from ppdm_sql.engine.watching import SignalHandler, watched_signals
from ppdm_sql.starting import INTERRUPTED_EXIT, leave

_WORDS = {"SIGTERM": "Terminated.", "SIGHUP": "Hung up."}
_LATE = b"Too late to stop: all is committed.\n"


class Stopping(SignalHandler):
    """What asked a command to stop, and whether it was in time."""

    def __init__(self) -> None:
        self.number = 0
        self.committed = False
        self._late = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal: stop what is done, unless it is done already; then only the second one."""
        if self.committed and not self._late:
            self._late = True
            with contextlib.suppress(OSError):
                os.write(2, _LATE)
            return
        self.number = number
        raise KeyboardInterrupt

    def stops(self) -> bool:
        """Tell whether a signal stops what is done, as it does before the commit."""
        return not self.committed

    def settle(self) -> None:
        """Take note that what the command is for is committed."""
        self.committed = True

    def say(self) -> int:
        """Say that the command was stopped, and give its exit code."""
        if self.committed:
            return 0
        name = signal.Signals(self.number).name if self.number else ""
        with contextlib.suppress(OSError):  # the terminal may be gone
            typer.echo(_WORDS.get(name, "Interrupted."), err=True)
        return 128 + self.number if self.number else INTERRUPTED_EXIT


@contextlib.contextmanager
def stopping(*, commits_once: bool) -> Iterator[Stopping]:
    """Listen to what asks the command to stop; signals that the process was started to ignore stay ignored.

    Args:
        commits_once: Whether the command is done with its first commit.
    """
    found = Stopping()
    token = on_commit.set(found.settle if commits_once else None)
    main = threading.current_thread() is threading.main_thread()
    before = {number: signal.getsignal(number) for number in SIGNALS if main}
    before = {number: handler for number, handler in before.items() if handler != signal.SIG_IGN}
    for number in before:
        signal.signal(number, found)
    try:
        with watched_signals():
            yield found
    finally:
        on_commit.reset(token)
        for number, handler in before.items():
            signal.signal(number, signal.SIG_IGN if handler is leave else handler)
