"""How a long run says where it stands. Algorithms never print; they tell a progress."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Told by a run what it is doing; a terminal, a notebook or nothing may listen."""

    def start(self, what: str) -> None:
        """A phase begins, such as ``collapsing customers``."""

    def update(self, **measures: object) -> None:
        """Numbers of the phase changed, such as ``step=3, candidates=12, worst='49.2% of 50%'``."""

    def notice(self, text: str) -> None:
        """Something the user should know, though nothing is wrong."""

    def stop(self) -> None:
        """The run is over."""


class SilentProgress:
    """Listens to nothing.

    Example:
        >>> SilentProgress().update(step=1)
    """

    def start(self, what: str) -> None:
        """Ignore the phase."""

    def update(self, **measures: object) -> None:
        """Ignore the numbers."""

    def notice(self, text: str) -> None:
        """Ignore the notice."""

    def stop(self) -> None:
        """Ignore the end."""
