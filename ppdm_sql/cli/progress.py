"""Shows on stderr what a long run is doing."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import typer

from ppdm_sql.progress import Progress, SilentProgress

if TYPE_CHECKING:
    from rich.status import Status

SECONDS_BETWEEN_LINES = 5.0


def progress(*, quiet: bool = False) -> Progress:
    """Give the progress that suits stderr: live on a terminal, a line now and then elsewhere."""
    if quiet:
        return QuietProgress()
    return TerminalProgress() if sys.stderr.isatty() else LineProgress()


class QuietProgress(SilentProgress):
    """Tells nothing but what is not as it was asked."""

    def warn(self, text: str) -> None:
        """Print it."""
        typer.echo(f"Warning: {text}", err=True)


class TerminalProgress:
    """One line that changes in place and goes away at the end."""

    def __init__(self) -> None:
        self._what = ""
        self._status: Status | None = None

    def start(self, what: str) -> None:
        """Show the line, or name the next phase in it."""
        from rich.console import Console  # imported where it draws: it is not needed without a terminal
        from rich.text import Text

        self._what = what
        if self._status is None:
            self._status = Console(stderr=True).status(Text(what))
            self._status.start()
        self._status.update(Text(what))

    def update(self, **measures: object) -> None:
        """Change the line."""
        from rich.text import Text

        if self._status is not None:
            self._status.update(Text(line(self._what, measures)))

    def notice(self, text: str) -> None:
        """Print above the line something that stays."""
        self._print(f"Note: {text}")

    def warn(self, text: str) -> None:
        """Print above the line what is not as it was asked."""
        self._print(f"Warning: {text}")

    def _print(self, text: str) -> None:
        from rich.console import Console
        from rich.text import Text

        (self._status.console if self._status else Console(stderr=True)).print(Text(text))

    def stop(self) -> None:
        """Take the line away."""
        if self._status is not None:
            self._status.stop()
            self._status = None


class LineProgress:
    """A line of its own every few seconds, for logs; a short run prints none."""

    def __init__(self) -> None:
        self._what = ""
        self._printed = time.monotonic()

    def start(self, what: str) -> None:
        """Name the phase."""
        self._what = what

    def update(self, **measures: object) -> None:
        """Print a line if the last one is long ago."""
        if time.monotonic() - self._printed >= SECONDS_BETWEEN_LINES:
            self._printed = time.monotonic()
            typer.echo(line(self._what, measures), err=True)

    def notice(self, text: str) -> None:
        """Print the notice at once."""
        typer.echo(f"Note: {text}", err=True)

    def warn(self, text: str) -> None:
        """Print at once what is not as it was asked."""
        typer.echo(f"Warning: {text}", err=True)

    def stop(self) -> None:
        """Print nothing more."""


def line(what: str, measures: dict[str, object]) -> str:
    """Write the measures behind what is done.

    Example:
        >>> line("suppressing customers", {"step": 3, "worst": "25% of 50%"})
        'suppressing customers: step 3, worst 25% of 50%'
    """
    return f"{what}: " + ", ".join(f"{name} {value}" for name, value in measures.items())
