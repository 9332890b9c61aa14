"""``ppdm apply``: applies the cut of a release to other records."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

import ppdm_sql
from ppdm_sql.cli import options
from ppdm_sql.cli.options import DatabasePath, OutputFormat, ReleaseName, TableName
from ppdm_sql.cli.output import Format, notice, print_tables
from ppdm_sql.cli.trace import traced

EXAMPLES = (
    "ppdm apply bank.duckdb customers_safe new_customers --into new_customers_safe",
    "ppdm apply bank.duckdb customers_safe new_customers --into new_customers_safe --unseen refuse",
)


class Unseen(StrEnum):
    """What to do with values that the release does not know."""

    nearest = "nearest"
    refuse = "refuse"


def run(
    database: DatabasePath,
    name: ReleaseName,
    table: TableName,
    into: Annotated[str, typer.Option("--into", metavar="NAME", help="Name of the table to make.")],
    unseen: Annotated[
        Unseen,
        typer.Option(
            "--unseen",
            help="Values that the release does not know: show the most general label, or make nothing.",
        ),
    ] = Unseen.nearest,
    form: OutputFormat = Format.table,
    sql: options.Sql = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
    threads: options.Threads = None,
    memory_limit: options.MemoryLimit = None,
) -> None:
    """Generalize and suppress other records as those of a release, into an ordinary table.

    The cut keeps no promise for new records by itself, so the requirements are measured on the table.
    """
    with (
        ppdm_sql.open(database, read_only=sql, threads=threads, memory_limit=memory_limit) as db,
        traced(db, on=sql),
    ):
        applied = db.apply(name, table, into=into, unseen=unseen.value)
    if not sql:
        print_tables(applied.tables(), form)
        _announce(applied, quiet=quiet)


def _announce(applied: ppdm_sql.Applied, *, quiet: bool) -> None:
    """Say on stderr what was made, and where it does not do what the release does."""
    notice(f"Made table {applied.into}: {applied.rows} rows.", quiet=quiet)
    for found in applied.findings:
        if not found.holds:
            notice(f"Warning: {str(found.requirement)!r} does not hold on {applied.into}.")
    for requirement in applied.unmeasured:
        notice(f"Warning: {str(requirement)!r} names a column that {applied.into} lacks.")
