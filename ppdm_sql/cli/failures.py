"""How a command ends: an error becomes words on stderr and an exit code, a signal stops it cleanly."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from types import FrameType
from typing import Any

import typer

from ppdm_sql.engine.signals import SIGNALS, SignalHandler, on_commit, watched_signals
from ppdm_sql.errors import HIDDEN_WORDS, MORE_MEMORY, EngineError, PpdmError
from ppdm_sql.starting import INTERRUPTED_EXIT, leave

Run = Callable[..., None]
PIPE_CLOSED_EXIT, UNEXPECTED_EXIT = 141, 3
IN_MEMORY = ":memory:"
_WITH_OPTIONS = {
    HIDDEN_WORDS: "Run again with --debug to see the engine's own words.",
    MORE_MEMORY: "Give more with --memory-limit, or fewer --threads.",
}
"""What to type on the command line, where Python is advised otherwise."""


def is_memory(database: str | Path) -> bool:
    return str(database) == IN_MEMORY


def guarded(run: Run, *, commits_once: bool = True) -> Run:
    """Let a command end in two sentences where it fails, with no traceback and no cell of the data."""

    @wraps(run)
    def command(**words: Any) -> None:
        with stopping(commits_once=commits_once) as stopped:
            try:
                run(**words)
                sys.stdout.flush()
            except typer.Exit:
                raise
            except KeyboardInterrupt:
                raise typer.Exit(stopped.say()) from None
            except BrokenPipeError:
                # what is still buffered goes nowhere: the reader, such as ``head``, has seen enough
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
                raise typer.Exit(PIPE_CLOSED_EXIT) from None
            except Exception as error:
                code = stopped.say() if stopped.number else print_error(error, debug=bool(words.get("debug")))
                raise typer.Exit(code) from None

    return command


def print_error(error: Exception, *, debug: bool) -> int:
    """Print what is wrong and what to type; give the exit code."""
    failure = error
    if not isinstance(failure, PpdmError):  # its text may quote a cell, the name of its kind does not
        failure = PpdmError(
            f"Something went wrong that ppdm did not foresee ({type(error).__name__}).",
            "Run again with --debug to see where, and report it.",
        )
    if debug:
        typer.echo("".join(traceback.format_exception(error)), err=True)
    if debug and isinstance(error, EngineError) and error.engine_text:
        typer.echo(f"The engine's words: {error.engine_text}", err=True)
    typer.echo(f"Error: {failure.problem}", err=True)
    remedy = failure.remedy
    for advice, typed in _WITH_OPTIONS.items():
        remedy = remedy.replace(advice, typed)
    if remedy:
        typer.echo(remedy, err=True)
    return failure.exit_code if failure is error else UNEXPECTED_EXIT


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
        return not self.committed

    def settle(self) -> None:
        self.committed = True

    def say(self) -> int:
        if self.committed:
            return 0
        name = signal.Signals(self.number).name if self.number else ""
        with contextlib.suppress(OSError):  # the terminal may be gone
            typer.echo(_WORDS.get(name, "Interrupted."), err=True)
        return 128 + self.number if self.number else INTERRUPTED_EXIT


@contextlib.contextmanager
def stopping(*, commits_once: bool) -> Iterator[Stopping]:
    """Listen to what asks the command to stop; signals that the process was started ignoring stay ignored."""
    listener = Stopping()
    token = on_commit.set(listener.settle if commits_once else None)
    main = threading.current_thread() is threading.main_thread()
    handlers = {number: signal.getsignal(number) for number in SIGNALS if main}
    before = {number: handler for number, handler in handlers.items() if handler != signal.SIG_IGN}
    for number in before:
        signal.signal(number, listener)
    try:
        with watched_signals():
            yield listener
    finally:
        on_commit.reset(token)
        for number, handler in before.items():
            signal.signal(number, signal.SIG_IGN if handler is leave else handler)
