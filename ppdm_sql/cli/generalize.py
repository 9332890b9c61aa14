"""``ppdm generalize``: Top-Down Specialization and HCE-TDR."""

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
    "ppdm generalize bank.duckdb customers --class Rating --into customers_k4 \\\n"
    "    --require 'k >= 4 on Job, Age' --taxonomy Job=job.csv --range Age=1,99",
    "ppdm generalize adult.duckdb adult --class income --into adult_safe --method hce-tdr \\\n"
    "    --require 'k >= 50 on age, education, sex' --condition workclass,race --interval-columns",
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
    method: Annotated[
        str, typer.Option("--method", metavar="tds|hce-tdr", help="How the next step is chosen.")
    ] = "tds",
    taxonomy: Annotated[
        list[str] | None,
        typer.Option(
            "--taxonomy",
            metavar="COL=FILE",
            help="A column's taxonomy: an ARX CSV file, or a table child, parent; repeatable.",
        ),
    ] = None,
    ranges: Annotated[
        list[str] | None,
        typer.Option(
            "--range", metavar="COL=1,99", help="A grown column's range, without its end; repeatable."
        ),
    ] = None,
    condition: Annotated[
        str | None,
        typer.Option(
            "--condition", metavar="P,Q", help="For hce-tdr: further columns that tell of the class."
        ),
    ] = None,
    suppress: Annotated[
        str | None, typer.Option("--suppress", metavar="A,B", help="Columns to suppress, not to grow.")
    ] = None,
    count: Count = None,
    keep: options.Keep = None,
    identifier: options.Identifier = None,
    interval_columns: Annotated[
        bool, typer.Option("--interval-columns", help="Add the bounds of intervals as A_lower, A_upper.")
    ] = False,
    show_values: Annotated[
        bool, typer.Option("--show-values", help="Name the values that a taxonomy lacks.")
    ] = False,
    max_steps: Annotated[
        int | None, typer.Option("--max-steps", min=0, help="Stop after so many steps.")
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
    """Generalize as little as the requirements allow, and publish the outcome (TDS, HCE-TDR).

    The columns of the requirements are masked: by their taxonomy; numbers, dates and times without one by
    intervals that are grown during the run; all others by suppression. A column that no option names is not
    released. Ctrl-C stops the run and publishes the state reached.
    """
    with (
        ppdm_sql.open(database, read_only=sql, threads=threads, memory_limit=memory_limit) as db,
        traced(db, on=sql),
    ):
        release = db.generalize(
            table,
            require,
            class_column=class_column,
            into=into,
            method=method,
            taxonomies=dict(options.assignment("--taxonomy", text) for text in taxonomy or ()),
            ranges=dict(options.range_of(text) for text in ranges or ()),
            condition=options.names(condition),
            suppress=options.names(suppress),
            count_column=count,
            keep=options.names(keep),
            identifiers=options.identifiers(identifier or ()),
            interval_columns=interval_columns,
            show_values=show_values,
            max_steps=max_steps,
            symbol=symbol,
            allow_absent=allow_absent,
            progress=progress(quiet=quiet or sql),
        )
        if not sql:
            print_tables([measures_table(release)], form)
            announce(release, database, quiet=quiet)
            accept_early(release, accepted=accept_partial)
