"""The one place where an error becomes words on stderr and an exit code."""

from __future__ import annotations

import inspect
import os
import re
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from ppdm_sql.errors import HIDDEN_WORDS, MORE_MEMORY, EngineError, InvalidOption, PpdmError

Run = Callable[..., None]

PIPE_CLOSED_EXIT, UNEXPECTED_EXIT = 141, 3
IN_MEMORY = ":memory:"
_FOLDED = re.compile(r"^(\w{2,}):/(?!/)")
"""How an address begins that was taken for the path of a database."""
_WITH_OPTIONS = {
    HIDDEN_WORDS: "Run again with --debug to see the engine's own words.",
    MORE_MEMORY: "Give more with --memory-limit, or fewer --threads.",
}
"""What to type on the command line, where Python is advised otherwise."""


def guarded(run: Run, *, commits_once: bool = True, places: Sequence[str] = ("database", "table")) -> Run:
    """Let a command end in two sentences where it fails, with no traceback and no cell of the data.

    Args:
        run: The command.
        commits_once: Whether it is done with its first commit.
        places: What its line begins with where a file of records may stand alone, without a database.
    """
    signature = inspect.signature(run, eval_str=True)
    placed = places if tuple(signature.parameters)[: len(places)] == tuple(places) else ()

    @wraps(run)
    def command(**words: Any) -> None:
        from ppdm_sql.cli.stopping import stopping  # it brings the engine, which no help needs

        with stopping(commits_once=commits_once) as stopped:
            try:
                run(**words | _in_place(placed, words))
                sys.stdout.flush()
            except typer.Exit:
                raise
            except KeyboardInterrupt:
                raise typer.Exit(stopped.say()) from None
            except BrokenPipeError:
                _leave_pipe()
                raise typer.Exit(PIPE_CLOSED_EXIT) from None
            except Exception as error:
                code = stopped.say() if stopped.number else print_error(error, debug=bool(words.get("debug")))
                raise typer.Exit(code) from None

    taken = [_optional(one) if one.name in placed else one for one in signature.parameters.values()]
    command.__signature__ = signature.replace(parameters=taken)  # type: ignore[attr-defined]
    command.__annotations__ = {}
    return command


def _optional(one: inspect.Parameter) -> inspect.Parameter:
    """Let a place stay empty as far as typer is concerned."""
    kind, told = get_args(one.annotation)
    return one.replace(annotation=Annotated[kind | None, told], default=None)


def _in_place(places: Sequence[str], words: Mapping[str, Any]) -> dict[str, Any]:
    """Give each word its place: where there is one too few, a file of records needs no database.

    Raises:
        InvalidOption: A word is missing.
    """
    from ppdm_sql.sources import is_data_file, is_spreadsheet  # it brings the engine, which no help needs

    found = [words[place] for place in places if words[place] is not None]
    first = _FOLDED.sub(r"\1://", str(found[0])) if found else ""
    if len(found) == len(places) - 1 and (is_data_file(first) or is_spreadsheet(first)):
        found = [Path(IN_MEMORY), first, *found[1:]]
    if len(found) < len(places):
        raise InvalidOption(
            f"{places[len(found)].upper()} is missing.",
            f"Give {' '.join(places).upper()}, without DATABASE where TABLE is a file, such as visits.csv.",
        )
    return dict(zip(places, found, strict=True))


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
