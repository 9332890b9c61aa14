"""``ppdm suppress``: the Progressive Disclosure Algorithm."""

from __future__ import annotations

from typing import Annotated

import typer

import ppdm_sql
from ppdm_sql.cli import options
from ppdm_sql.cli.options import Count, DatabasePath, OutputFormat, TableName
from ppdm_sql.cli.output import Format, print_tables
from ppdm_sql.cli.progress import progress
from ppdm_sql.cli.published import accept_early, announce, measures_table
from ppdm_sql.cli.trace import traced

EXAMPLES = (
    "ppdm suppress bank.duckdb customers --class Rating --count n --into customers_safe \\\n"
    "    --require 'Job, Country -> Bankruptcy = Discharged <= 50%'",
    "ppdm suppress bank.duckdb customers --class Rating --count n --into customers_k4 \\\n"
    "    --require 'k >= 4 on Job, Country' --keep Child",
)


def run(
    database: DatabasePath,
    table: TableName,
    require: Annotated[
        list[str],
        typer.Option("--require", "-r", metavar="TEXT", help="What must hold; repeatable."),
    ],
    class_column: Annotated[
        str, typer.Option("--class", metavar="COLUMN", help="What a miner will want to predict.")
    ],
    into: Annotated[str, typer.Option("--into", metavar="NAME", help="Name of the release.")],
    count: Count = None,
    keep: options.Keep = None,
    identifier: options.Identifier = None,
    max_steps: Annotated[
        int | None, typer.Option("--max-steps", min=0, help="Stop after so many disclosures.")
    ] = None,
    symbol: options.Symbol = "*",
    accept_partial: options.AcceptPartial = False,
    allow_absent: options.AllowAbsent = False,
    form: OutputFormat = Format.table,
    sql: options.Sql = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
    threads: options.Threads = None,
    memory_limit: options.MemoryLimit = None,
) -> None:
    """Suppress values until every requirement holds, and publish what is left (PDA).

    A column that no option names is not released. Ctrl-C stops the run and publishes the state reached.
    """
    with (
        ppdm_sql.open(database, read_only=sql, threads=threads, memory_limit=memory_limit) as db,
        traced(db, on=sql),
    ):
        release = db.suppress(
            table,
            require,
            class_column=class_column,
            into=into,
            count_column=count,
            keep=options.names(keep),
            identifiers=options.identifiers(identifier or ()),
            max_steps=max_steps,
            symbol=symbol,
            allow_absent=allow_absent,
            progress=progress(quiet=quiet or sql),
        )
        if not sql:
            print_tables([measures_table(release)], form)
            announce(release, database, quiet=quiet)
            accept_early(release, accepted=accept_partial)
