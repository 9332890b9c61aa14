"""``ppdm generate``: makes tables of synthetic records."""

from __future__ import annotations

import typer

from ppdm_sql.cli.failures import guarded
from ppdm_sql.cli.options import DatabasePath
from ppdm_sql.cli.output import notice, print_tables
from ppdm_sql.cli.parameters import Common, Given, takes

EXAMPLES = (
    "ppdm generate agrawal people.duckdb --function 2 --rows 100000 --into people",
    "ppdm generate agrawal people.duckdb --function 5 --rows 5000 --seed 7 --into people_test",
)

group = typer.Typer(
    help="Create tables of synthetic records to try the methods on.",
    epilog="\b\nExamples:\n  " + "\n  ".join(EXAMPLES),
    no_args_is_help=True,
    rich_markup_mode=None,
)


@group.callback()
def common() -> None:
    """Keep the name of the generator in the command, although there is only one."""


@group.command(epilog="\b\nExamples:\n  " + "\n  ".join(EXAMPLES), no_args_is_help=True)
@guarded
@takes("generate_agrawal")
def agrawal(database: DatabasePath, given: Given, common: Common) -> None:
    """Make a table of persons with nine attributes and a class that a function of them decides.

    The generator of Agrawal, Imielinski and Swami, as Agrawal and Srikant (2000) use it. The file is created
    if it does not exist.
    """
    path = ":memory:" if common.sql and not database.exists() else database
    with common.opened(path, create=True) as db:
        made = db.generate_agrawal(**given, progress=common.progress())
    if not common.sql:
        print_tables([("", ("class", "records"), list(made.classes.items()))], common.form)
        rows = given["rows"]
        notice(f"Made table {given['into']}: {rows} records, seed {made.seed}.", quiet=common.quiet)
