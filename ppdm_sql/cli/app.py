"""Puts the commands together."""

from __future__ import annotations

import gc
from importlib import import_module
from typing import Annotated, Any

import click
import typer
from typer.core import TyperGroup

from ppdm_sql.cli.failures import Command
from ppdm_sql.version import __version__

COMMANDS = {
    "demo": "Create example tables in DIR and run every method on them.",
    "audit": "Measure a table: class sizes, risk, requirements, inferences.",
    "suppress": "Suppress values until all requirements hold (PDA).",
    "generalize": "Generalize values until all requirements hold (TDS, HCE-TDR).",
    "swap": "Exchange confidential values of identifiable records.",
    "randomize": "Add noise to values before anyone mines them.",
    "privacy": "Compute the privacy level of noise, or the noise for a level.",
    "reconstruct": "Estimate the original distributions of randomized columns.",
    "train": "Grow a decision tree, even from randomized values.",
    "predict": "Copy a table and add the class that a model predicts.",
    "releases": "List the releases of a database.",
    "models": "List the trained models of a database.",
    "show": "Show a release or a model.",
    "steps": "List the steps of a release in order, with their scores.",
    "verify": "Audit a published release again, by SQL over its table alone.",
    "apply": "Recode other records by the cut of a release.",
    "evaluate": "Measure what a release costs a classifier.",
    "compare": "Put settings of a method, or releases, side by side.",
    "export": "Write a release into a fresh Parquet, CSV or DuckDB file.",
    "report": "Write a page on a release, for its owner or for everybody, or on a model.",
    "drop": "Remove a release or a model, with all that belongs to it.",
    "install": "Put the audit macros into a file, for any DuckDB client.",
    "uninstall": "Remove the audit macros from a file.",
    "sql": "Run SQL with every method as a call.",
    "sql-path": "Print the folder of the SQL files.",
    "taxonomy": "Show, store and draft taxonomies (value hierarchies).",
    "generate": "Create tables of synthetic records to try the methods on.",
    "integrate": "Integrate two parties' tables without sharing them (TDS2P).",
}
"""The commands in the order of the help, each with the first sentence of its own.

Each is a module of this package, imported when the command is used: it holds ``run`` and its ``EXAMPLES``, or
a ``group`` of further commands.
"""

_WORDLESS = ("demo", "privacy", "sql-path")
"""Commands that do something without any argument."""


class Commands(TyperGroup):
    """A group that knows what its commands are called and do before it has imported any."""

    def __init__(self, **given: Any) -> None:
        known = {name: click.Command(name, help=sentence) for name, sentence in COMMANDS.items()}
        super().__init__(**given | {"commands": known})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        return _command(cmd_name) if cmd_name in self.commands else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        TyperGroup(commands=dict(self.commands)).format_commands(ctx, formatter)


def _command(name: str) -> click.Command:
    module = import_module(f"ppdm_sql.cli.{name.replace('-', '_')}")
    around = typer.Typer(rich_markup_mode=None)
    if hasattr(module, "group"):
        around.add_typer(module.group, name=name)
    else:
        examples = "\b\nExamples:\n  " + "\n".join(module.EXAMPLES).replace("\n", "\n  ")
        words_needed = name not in _WORDLESS
        around.command(name, cls=Command, epilog=examples, no_args_is_help=words_needed)(module.run)
    return typer.main.get_group(around).commands[name]


app = typer.Typer(
    name="ppdm",
    cls=Commands,
    help=(
        "Publish tables from which protected facts cannot be inferred, yet classifiers can still be trained."
    ),
    epilog="Exit codes: 0 done, 1 a requirement does not hold, 2 usage, 3 no usable database, 130 stopped.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    pretty_exceptions_show_locals=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Print the version.")
    ] = False,
) -> None:
    """Hold the options that stand before the command."""


def main() -> None:
    """Run the command line."""
    # What is imported stays for good: to look for garbage in it again and again is a tenth of a short run.
    gc.set_threshold(100_000, 10, 10)
    app()
