"""How a long run says where it stands and what the user should know. Algorithms never print."""

from __future__ import annotations

import os
import sys
import warnings
from typing import Protocol

from ppdm_sql.errors import PpdmWarning

_PACKAGE = os.path.join(os.path.dirname(__file__), "")


class Progress(Protocol):
    """Told by a run what it is doing; a terminal, a notebook or nothing may listen."""

    def start(self, what: str) -> None:
        """A phase begins, such as ``collapsing customers``."""

    def update(self, **measures: object) -> None:
        """Numbers of the phase changed, such as ``step=3, candidates='8 of 12', worst='49.2% of 50%'``."""

    def notice(self, text: str) -> None:
        """Something the user should know, though all that was asked is so."""

    def warn(self, text: str) -> None:
        """Something that was asked is not so; what listens must not hide it."""
        self.notice(text)

    def stop(self) -> None:
        """The run is over."""


class SilentProgress(Progress):
    """Listens to nothing; a base for what listens to some of it. A warning is a notice."""

    def start(self, what: str) -> None:
        """Ignore the phase."""

    def update(self, **measures: object) -> None:
        """Ignore the numbers."""

    def notice(self, text: str) -> None:
        """Ignore the notice."""

    def stop(self) -> None:
        """Ignore the end."""


class WarningProgress(SilentProgress):
    """Turns notices into warnings of Python, at the line that called this package.

    Example:
        >>> with warnings.catch_warnings(record=True, action="always") as caught:
        ...     WarningProgress().notice("The key is thrown away.")
        >>> caught[0].category.__name__, str(caught[0].message)
        ('PpdmWarning', 'The key is thrown away.')
    """

    def notice(self, text: str) -> None:
        """Warn."""
        level = _level_of_caller()
        if level is None:
            warnings.warn_explicit(text, PpdmWarning, "ppdm_sql", 1)
        else:
            warnings.warn(text, PpdmWarning, stacklevel=level)


class Heard:
    """Passes everything on to a progress, and keeps the notices, which stand in the release."""

    def __init__(self, listener: Progress) -> None:
        self.listener = listener
        self.notices: list[str] = []

    def start(self, what: str) -> None:
        """Pass the phase on."""
        self.listener.start(what)

    def update(self, **measures: object) -> None:
        """Pass the numbers on."""
        self.listener.update(**measures)

    def notice(self, text: str) -> None:
        """Keep the notice and pass it on."""
        self._keep(text)
        self.listener.notice(text)

    def warn(self, text: str) -> None:
        """Keep what is not so and pass it on."""
        self._keep(text)
        warn(self.listener, text)

    def _keep(self, text: str) -> None:
        if text not in self.notices:
            self.notices.append(text)

    def stop(self) -> None:
        """Pass the end on."""
        self.listener.stop()


def warn(listener: Progress, text: str) -> None:
    """Tell a listener that something asked is not so; one that has no ``warn`` hears a notice."""
    getattr(listener, "warn", listener.notice)(text)


def _level_of_caller() -> int | None:
    """Count the calls from the notice up to the first caller outside the package; None on a thread of ours.

    The outermost frame of the package counts, as contexts and callbacks lie in between.
    """
    frame, depth, outside = sys._getframe(1), 1, None
    while frame.f_back is not None:
        inside = frame.f_code.co_filename.startswith(_PACKAGE)
        frame, depth = frame.f_back, depth + 1
        if inside:
            outside = frame, depth
    if outside is None or outside[0].f_globals.get("__name__") == "threading":
        return None
    return outside[1]
