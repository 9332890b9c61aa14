"""Ctrl-C during a descent: once stops it with the state reached, twice aborts."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from ppdm_sql.progress import Progress


class Interrupt:
    """A flag that the first Ctrl-C sets; the second raises KeyboardInterrupt."""

    def __init__(self, progress: Progress) -> None:
        self.requested = False
        self._progress = progress

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Handle the signal."""
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True
        self._progress.notice("Stopping; the state reached will be published. Ctrl-C again aborts.")


@contextmanager
def stop_on_interrupt(progress: Progress) -> Iterator[Interrupt]:
    """Listen to Ctrl-C inside; only the main thread can, elsewhere nothing is installed."""
    flag = Interrupt(progress)
    if threading.current_thread() is not threading.main_thread():
        yield flag
        return
    before = signal.signal(signal.SIGINT, flag)
    try:
        yield flag
    finally:
        signal.signal(signal.SIGINT, before)
