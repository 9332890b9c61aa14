"""The one place where an error becomes words on stderr and an exit code."""

from __future__ import annotations

import os
import sys
import traceback
from typing import Any

import click
import typer
from typer.core import TyperCommand

from ppdm_sql.errors import HIDDEN_WORDS, MORE_MEMORY, EngineError, PpdmError

PIPE_CLOSED_EXIT, UNEXPECTED_EXIT = 141, 3
IN_MEMORY = ":memory:"
_COMMIT_OFTEN = ("demo", "sql")
"""Commands that are not done with their first commit."""
_WITH_OPTIONS = {
    HIDDEN_WORDS: "Run again with --debug to see the engine's own words.",
    MORE_MEMORY: "Give more with --memory-limit, or fewer --threads.",
}
"""What to type on the command line, where Python is advised otherwise."""


class Command(TyperCommand):
    """A command whose errors are two sentences, with no traceback and no cell of the data."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the words; a file of records alone needs no database."""
        words = list(args)
        try:
            return super().parse_args(ctx, args)
        except click.MissingParameter as missing:
            alone = str(ctx.params.get("database") or "")
            if (
                missing.param is None
                or missing.param.name not in ("table", "column")
                or not _holds_records(alone)
            ):
                raise
        return super().parse_args(ctx, [IN_MEMORY, *words])

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override, unused-ignore]
        """Run the command; turn what goes wrong into a message and an exit code."""
        from ppdm_sql.cli.stopping import stopping  # it brings the engine, which no help needs

        with stopping(commits_once=self.name not in _COMMIT_OFTEN) as stopped:
            try:
                result = super().invoke(ctx)
                sys.stdout.flush()
            except typer.Exit:
                raise
            except KeyboardInterrupt:
                raise typer.Exit(stopped.say()) from None
            except BrokenPipeError:
                _leave_pipe()
                raise typer.Exit(PIPE_CLOSED_EXIT) from None
            except Exception as error:
                debug = bool(ctx.params.get("debug"))
                code = stopped.say() if stopped.number else print_error(error, debug=debug)
                raise typer.Exit(code) from None
            return result


def _holds_records(path: str) -> bool:
    from ppdm_sql.sources import is_data_file, is_spreadsheet  # it brings the engine, which no help needs

    return is_data_file(path) or is_spreadsheet(path)


def print_error(error: Exception, *, debug: bool) -> int:
    """Print what is wrong and what to type; give the exit code."""
    known = error if isinstance(error, PpdmError) else _unexpected(error)
    if debug:
        typer.echo("".join(traceback.format_exception(error)), err=True)
    if debug and isinstance(error, EngineError) and error.engine_text:
        typer.echo(f"The engine's words: {error.engine_text}", err=True)
    typer.echo(f"Error: {known.problem}", err=True)
    if known.remedy:
        typer.echo(_typed(known.remedy), err=True)
    return known.exit_code if known is error else UNEXPECTED_EXIT


def _typed(remedy: str) -> str:
    """Give what to type on the command line where Python is advised otherwise."""
    for advice, typed in _WITH_OPTIONS.items():
        remedy = remedy.replace(advice, typed)
    return remedy


def _unexpected(error: Exception) -> PpdmError:
    """Name the kind of an error, never its text, which may quote a cell."""
    return PpdmError(
        f"Something went wrong that ppdm did not foresee ({type(error).__name__}).",
        "Run again with --debug to see where, and report it.",
    )


def _leave_pipe() -> None:
    """Send what is still buffered nowhere: the reader, such as ``head``, has seen enough."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
