"""Lets calls of a process run one after the other, and knows whether several of them are on their way."""

from __future__ import annotations

import threading
import time
from collections.abc import Hashable, Iterator
from contextlib import contextmanager

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
        """Announce a call, and return whether it is the only one that runs, waits or is about to.

        Args:
            owner: The connection, which has one statement at a time.
        """
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
