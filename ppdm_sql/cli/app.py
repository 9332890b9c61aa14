"""Puts the commands together."""

from __future__ import annotations

import gc
import inspect
import sys
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Annotated

import typer

from ppdm_sql.version import __version__

COMMANDS = {
    "demo": ("demo", "Create example tables in DIR and run every method on them."),
    "audit": ("tables", "Measure a table: class sizes, risk, requirements, inferences."),
    "risk": ("tables", "Measure who can be found in a table, and by which columns."),
    "suppress": ("publishing", "Suppress values until all requirements hold (PDA)."),
    "generalize": ("publishing", "Generalize values until all requirements hold (TDS, HCE-TDR)."),
    "swap": ("publishing", "Exchange confidential values of identifiable records."),
    "randomize": ("publishing", "Add noise to values before anyone mines them."),
    "privacy": ("privacy", "Compute the privacy level of noise, or the noise for a level."),
    "reconstruct": ("tables", "Estimate the original distributions of randomized columns."),
    "train": ("tables", "Grow a decision tree, even from randomized values."),
    "predict": ("tables", "Copy a table and add the class that a model predicts."),
    "releases": ("releases", "List the releases of a database."),
    "models": ("releases", "List the trained models of a database."),
    "show": ("releases", "Show a release or a model."),
    "steps": ("releases", "List the steps of a release in order, with their scores."),
    "verify": ("releases", "Audit a published release again, by SQL over its table alone."),
    "apply": ("tables", "Recode other records by the cut of a release."),
    "evaluate": ("releases", "Measure what a release costs a classifier."),
    "attack": ("releases", "Try known attacks on a release."),
    "compare": ("publishing", "Put settings of a method, or releases, side by side."),
    "export": ("releases", "Write a release into a fresh Parquet, CSV or DuckDB file."),
    "report": ("releases", "Write a page on a release, for its owner or for everybody, or on a model."),
    "init": ("policy", "Write a policy to begin with, from finished releases or tables."),
    "run": ("policy", "Make the releases of a policy that are missing or out of date."),
    "check": ("policy", "Verify the releases of a policy and their exported files."),
    "schema": ("policy", "Print the JSON schema of policies, for editors."),
    "update": ("releases", "Publish a new version of a release as its table grows."),
    "forget": ("releases", "Take a person out of every version of the updatable releases."),
    "drop": ("releases", "Remove a release or a model, with all that belongs to it."),
    "install": ("sql", "Put the audit macros into a file, for any DuckDB client."),
    "uninstall": ("sql", "Remove the audit macros from a file."),
    "sql": ("sql", "Run SQL with every method as a call."),
    "sql-path": ("demo", "Print the folder of the SQL files."),
    "taxonomy": ("taxonomy", "Show, store and draft taxonomies (value hierarchies)."),
    "key": ("policy", "Make keys for pseudonyms, moved dates and noise that last."),
    "generate": ("tables", "Create tables of synthetic records to try the methods on."),
    "integrate": ("integrate", "Integrate two parties' tables without sharing them (TDS2P)."),
}
"""The commands in the order of the help: the module of each, and the first sentence of what it does.

There its function, or its group of further commands, has its name; the docstring says the rest.
"""

_WORDLESS = ("demo", "privacy", "sql-path", "run", "check", "schema")
"""Commands that do something without any argument."""

_COMMIT_OFTEN = ("demo", "sql", "run")
"""Commands that are not done with their first commit."""


def command_line(words: Sequence[str]) -> typer.Typer:
    """Put the command line together as far as some words need it."""
    line = typer.Typer(
        name="ppdm",
        callback=common,
        help=(
            "Publish tables from which protected facts cannot be inferred, yet classifiers can still be"
            " trained."
        ),
        epilog=(
            "Exit codes: 0 done, 1 a requirement does not hold, 2 usage, 3 no usable database, 130 stopped."
        ),
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        pretty_exceptions_show_locals=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    )
    used = next((word for word in words if not word.startswith("-")), None)
    for name, (_, sentence) in COMMANDS.items():
        if name == used:
            _add(line, name)
        else:
            line.command(name, help=sentence)(_unused)
    return line


def _add(line: typer.Typer, name: str) -> None:
    from ppdm_sql.cli.failures import guarded  # it brings the engine, which no help of all commands needs

    module, sentence = COMMANDS[name]
    run = getattr(import_module(f"ppdm_sql.cli.{module}"), name.replace("-", "_"))
    if isinstance(run, typer.Typer):
        line.add_typer(run, name=name, help=sentence)
        return
    more, _, examples = (inspect.getdoc(run) or "").partition("Examples:\n")
    settled = line.command(
        name,
        help=f"{sentence}\n\n{more}",
        epilog=examples_of(examples),
        no_args_is_help=name not in _WORDLESS,
    )
    settled(guarded(run, commits_once=name not in _COMMIT_OFTEN))


def examples_of(text: str, heading: str = "Examples") -> str:
    """Set examples of commands, a line each, below what else the help says."""
    return f"\b\n{heading}:\n  " + text.replace("\n", "\n  ")


def group(examples: Iterable[str]) -> typer.Typer:
    """Make what holds further commands."""
    return typer.Typer(epilog=examples_of("\n".join(examples)), no_args_is_help=True, rich_markup_mode=None)


def _unused() -> None:
    """Stand for a command that is not the one that is run."""


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


def common(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Print the version.")
    ] = False,
) -> None:
    """Hold the options that stand before the command."""


def main() -> None:
    # What is imported stays for good: to look for garbage in it again and again is a tenth of a short run.
    gc.set_threshold(100_000, 10, 10)
    command_line(sys.argv[1:])()
