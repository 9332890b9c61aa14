"""Puts the commands together."""

from __future__ import annotations

from types import ModuleType
from typing import Annotated

import typer

from ppdm_sql import __version__
from ppdm_sql.cli import (
    apply,
    audit,
    demo,
    drop,
    evaluate,
    export,
    generalize,
    generate,
    install,
    integrate,
    models,
    predict,
    privacy,
    randomize,
    reconstruct,
    releases,
    show,
    sql,
    sql_path,
    steps,
    suppress,
    swap,
    taxonomy,
    train,
    uninstall,
    verify,
)
from ppdm_sql.cli.failures import Command

COMMANDS = (
    *(demo, audit, suppress, generalize, swap, randomize, privacy, reconstruct, train, predict),
    *(releases, models, show, steps, verify, apply, evaluate, export, drop),
    *(install, uninstall, sql, sql_path),
)
"""Modules of the commands, in the order of the help; each holds ``run`` and its ``EXAMPLES``."""

app = typer.Typer(
    name="ppdm",
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


def _add(module: ModuleType) -> None:
    """Add the command of a module, named as the module is."""
    name = module.__name__.rpartition(".")[2].replace("_", "-")
    examples = "\b\nExamples:\n  " + "\n".join(module.EXAMPLES).replace("\n", "\n  ")
    needs_words = module not in (demo, privacy, sql_path)
    app.command(name, cls=Command, epilog=examples, no_args_is_help=needs_words)(module.run)


for command in COMMANDS:
    _add(command)
app.add_typer(taxonomy.group, name="taxonomy")
app.add_typer(generate.group, name="generate")
app.add_typer(integrate.group, name="integrate")


def main() -> None:
    """Run the command line."""
    app()
