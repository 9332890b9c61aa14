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
    "demo": "Write the papers' example tables into DIR/demo.duckdb and run every method on them.",
    "audit": "Measure any table or view: requirements, class sizes, risk, what columns give away of others.",
    "suppress": "Suppress values until every requirement holds, and publish what is left (PDA).",
    "generalize": "Generalize as little as the requirements allow, and publish the outcome (TDS, HCE-TDR).",
    "swap": "Exchange confidential values of records that their other columns give away (Li, Sarkar).",
    "randomize": "Distort values by noise before anyone mines them (Agrawal, Srikant).",
    "privacy": "Compute the privacy level of noise, or the noise for a level (Agrawal, Srikant, Table 1).",
    "reconstruct": "Estimate the distribution behind the noise of randomized columns (Agrawal, Srikant).",
    "train": "Grow a decision tree, and store it with a macro MODEL_predict in plain SQL (Agrawal, Srikant).",
    "predict": "Make a table of the records of another, with the class that a model predicts for each.",
    "releases": "List the releases of a database.",
    "models": "List the trained models of a database.",
    "show": (
        "Show a release: what it is, what it cost, its cut, its first rows; or its partitions, or a step."
    ),
    "steps": "List what a release disclosed, in which order, with its scores.",
    "verify": "Audit a published release afresh, by SQL over that table alone.",
    "apply": "Generalize and suppress other records as those of a release, into an ordinary table.",
    "evaluate": (
        "Measure the classification error on the original, on the release, with the attributes removed."
    ),
    "export": "Write a release into a fresh Parquet, CSV or DuckDB file, which holds nothing else.",
    "drop": (
        "Remove a release or a model: its view, macros, tables, steps or nodes, and its row in the catalogue."
    ),
    "install": "Put the audit macros into a file: pure SQL, which any DuckDB client can call without Python.",
    "uninstall": (
        "Remove the macros that ppdm install put into a file; yours of such names stay, and so do releases."
    ),
    "sql": "Run SQL with every method as a call: CALL ppdm_suppress('TABLE', into := 'NAME', ...).",
    "sql-path": "Print the folder of the SQL files, for `.read` in the DuckDB shell.",
    "taxonomy": "Show, store and draft taxonomies: which values a column groups together.",
    "generate": "Make tables of synthetic records, to try the methods on.",
    "integrate": (
        "Integrate the tables of two parties into one release; neither sees the other's table (TDS2P)."
    ),
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
    help="Release data from DuckDB so that what must not be inferred cannot be, and prove it in SQL.",
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
