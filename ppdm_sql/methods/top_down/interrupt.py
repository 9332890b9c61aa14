"""Ctrl-C during a descent: once stops it with the state reached, twice aborts."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from ppdm_sql.engine.watching import SignalHandler, catch_up
from ppdm_sql.progress import Progress


class Interrupt(SignalHandler):
    """A flag that the first Ctrl-C sets; the second raises KeyboardInterrupt."""

    def __init__(self, progress: Progress) -> None:
        self.requested = False
        self._progress = progress
        self._signals = 0

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Handle the signal."""
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True
        self._progress.notice("Stopping; the state reached will be published. Ctrl-C again aborts.")

    def stops(self) -> bool:
        """Tell whether a signal aborts, and with it the statement that is running: the second one does."""
        self._signals += 1
        return self._signals > 1


@contextmanager
def stop_on_interrupt(progress: Progress) -> Iterator[Interrupt]:
    """Listen to Ctrl-C inside; not on other threads than the main one, nor where it is ignored."""
    flag = Interrupt(progress)
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or before == signal.SIG_IGN:
        yield flag
        return
    signal.signal(signal.SIGINT, flag)
    try:
        yield flag
    finally:
        catch_up()
        signal.signal(signal.SIGINT, before)
