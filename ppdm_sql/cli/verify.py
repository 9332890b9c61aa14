"""``ppdm verify``: audits a published release afresh."""

from __future__ import annotations

import typer

import ppdm_sql
from ppdm_sql.cli import options
from ppdm_sql.cli.options import DatabasePath, OutputFormat
from ppdm_sql.cli.output import Format, print_tables
from ppdm_sql.cli.parameters import Given, attached, takes

EXAMPLES = (
    "ppdm verify bank.duckdb customers_safe",
    "ppdm verify ledger.duckdb customers_safe --spark sc://host:15002",
    "ppdm verify bank.duckdb customers_safe --attach 'census.duckdb AS census'",
)


@takes("verify")
def run(
    database: DatabasePath,
    given: Given,
    form: OutputFormat = Format.table,
    debug: options.Debug = False,
    attach: options.Attach = None,
    threads: options.Threads = None,
    memory_limit: options.MemoryLimit = None,
    spark: options.SparkOfRows = None,
) -> None:
    """Audit a published release again, by SQL over its table alone.

    A requirement on a population is measured against the table of the population, too. Rows that were
    written to Spark are compared with the release, and their files with those that were written.
    Exit code 1 if a requirement does not hold.
    """
    with ppdm_sql.open(
        database,
        read_only=True,
        attach=attached(attach),
        threads=threads,
        memory_limit=memory_limit,
        spark=spark,
    ) as db:
        audit = db.release(given["release"]).verify()
    print_tables(audit.tables(), form)
    raise typer.Exit(0 if audit.holds else 1)
