"""``ppdm generate``: makes tables of synthetic records."""

from __future__ import annotations

from typing import Annotated

import typer

import ppdm_sql
from ppdm_sql.cli import options
from ppdm_sql.cli.failures import Command
from ppdm_sql.cli.options import DatabasePath, OutputFormat
from ppdm_sql.cli.output import Format, notice, print_tables
from ppdm_sql.cli.progress import progress
from ppdm_sql.cli.trace import traced

EXAMPLES = (
    "ppdm generate agrawal people.duckdb --function 2 --rows 100000 --into people",
    "ppdm generate agrawal people.duckdb --function 5 --rows 5000 --seed 7 --into people_test",
)

group = typer.Typer(
    help="Make tables of synthetic records, to try the methods on.",
    epilog="\b\nExamples:\n  " + "\n  ".join(EXAMPLES),
    no_args_is_help=True,
    rich_markup_mode=None,
)


@group.callback()
def common() -> None:
    """Keep the name of the generator in the command, although there is only one."""


@group.command(cls=Command, epilog="\b\nExamples:\n  " + "\n  ".join(EXAMPLES), no_args_is_help=True)
def agrawal(
    database: DatabasePath,
    function: Annotated[int, typer.Option("--function", metavar="1-5", help="What decides on the class.")],
    rows: Annotated[int, typer.Option("--rows", metavar="N", help="Number of records.")],
    into: Annotated[str, typer.Option("--into", metavar="NAME", help="Name of the table to make.")],
    seed: Annotated[
        int | None, typer.Option("--seed", metavar="N", help="Makes the same table again; else one is drawn.")
    ] = None,
    balanced: Annotated[
        bool, typer.Option("--balanced/--no-balanced", help="As many records of one class as of the other.")
    ] = True,
    form: OutputFormat = Format.table,
    sql: options.Sql = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
    threads: options.Threads = None,
    memory_limit: options.MemoryLimit = None,
) -> None:
    """Make a table of persons with nine attributes and a class that a function of them decides.

    The generator of Agrawal, Imielinski and Swami, as Agrawal and Srikant (2000) use it. The file is made
    where it does not exist.
    """
    path = ":memory:" if sql and not database.exists() else database
    with (
        ppdm_sql.open(path, read_only=sql, create=True, threads=threads, memory_limit=memory_limit) as db,
        traced(db, on=sql),
    ):
        made = db.generate_agrawal(
            into, function=function, rows=rows, seed=seed, balanced=balanced, progress=progress(quiet=quiet)
        )
    if not sql:
        print_tables([("", ("class", "records"), list(made.classes.items()))], form)
        notice(f"Made table {into}: {rows} records, seed {made.seed}.", quiet=quiet)
