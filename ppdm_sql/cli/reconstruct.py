"""``ppdm reconstruct``: estimates the distributions behind randomized columns."""

from __future__ import annotations

from typing import Annotated

import typer

import ppdm_sql
from ppdm_sql.cli import options
from ppdm_sql.cli.options import DatabasePath, OutputFormat, TableName
from ppdm_sql.cli.output import Format, notice, print_tables
from ppdm_sql.cli.progress import progress
from ppdm_sql.cli.trace import traced

EXAMPLES = (
    "ppdm reconstruct bank.duckdb customers_noisy --column salary --into salaries",
    "ppdm reconstruct bank.duckdb customers_noisy --column salary --column age --by-class rating \\\n"
    "    --intervals 50 --into distributions",
    "ppdm reconstruct survey.duckdb answers --column salary --noise 'salary=gaussian 2500' \\\n"
    "    --range salary=20000,150000 --into salaries",
)


def run(
    database: DatabasePath,
    table: TableName,
    into: Annotated[str, typer.Option("--into", metavar="NAME", help="Name of the table to make.")],
    column: Annotated[
        list[str] | None,
        typer.Option("--column", metavar="A", help="A randomized column; repeatable. Default: all of them."),
    ] = None,
    by_class: Annotated[
        str | None, typer.Option("--by-class", metavar="C", help="A distribution for each value of C.")
    ] = None,
    intervals: Annotated[
        int | None,
        typer.Option(
            "--intervals", metavar="M", help="How many; by default 100 records an interval, 10 to 100."
        ),
    ] = None,
    noise: Annotated[
        list[str] | None,
        typer.Option(
            "--noise", metavar="A=TEXT", help="The noise, where the table does not know it; repeatable."
        ),
    ] = None,
    value_range: Annotated[
        list[str] | None,
        typer.Option("--range", metavar="A=LOW,HIGH", help="Range of the original values; repeatable."),
    ] = None,
    kernel: Annotated[
        str,
        typer.Option("--kernel", metavar="cell|midpoint", help="Exact, or the approximation of the paper."),
    ] = "cell",
    categorical: Annotated[
        str,
        typer.Option(
            "--categorical", metavar="bayes|inversion", help="How distributions of categories are estimated."
        ),
    ] = "bayes",
    fraction: Annotated[
        float, typer.Option("--fraction", help="Of the chi-square quantile, below which the iteration stops.")
    ] = 0.01,
    max_iterations: Annotated[
        int, typer.Option("--max-iterations", metavar="N", help="Stop after so many iterations.")
    ] = 10_000,
    form: OutputFormat = Format.table,
    sql: options.Sql = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
    threads: options.Threads = None,
    memory_limit: options.MemoryLimit = None,
) -> None:
    """Estimate the distribution behind the noise of randomized columns (Agrawal, Srikant).

    TABLE is a release, or any table or view of distorted values whose noise --noise and --range give.
    """
    with (
        ppdm_sql.open(database, read_only=sql, threads=threads, memory_limit=memory_limit) as db,
        traced(db, on=sql),
    ):
        found = db.reconstruct(
            table,
            into=into,
            columns=tuple(column or ()),
            by_class=by_class,
            intervals=intervals,
            noise=tuple(noise or ()),
            ranges=dict(options.range_of(text) for text in value_range or ()),
            kernel=kernel,
            categorical=categorical,
            fraction=fraction,
            max_iterations=max_iterations,
            progress=progress(quiet=quiet or sql),
        )
    if not sql:
        print_tables(found.tables(), form)
        stops = ", ".join(dict.fromkeys(each.stopped for each in found.distributions))
        notice(f"Made table {found.into}: {len(found.rows())} rows. Stopped by: {stops}.", quiet=quiet)
