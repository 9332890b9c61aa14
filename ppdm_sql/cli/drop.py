"""``ppdm drop``: removes a release or a model."""

from __future__ import annotations

import ppdm_sql
from ppdm_sql.cli import options
from ppdm_sql.cli.options import DatabasePath
from ppdm_sql.cli.output import notice
from ppdm_sql.cli.parameters import Given, takes
from ppdm_sql.cli.trace import traced
from ppdm_sql.sql_calls.describing import published

EXAMPLES = ("ppdm drop bank.duckdb customers_safe", "ppdm drop bank.duckdb customers_safe --sql")


@takes("drop")
def run(
    database: DatabasePath,
    given: Given,
    sql: options.Sql = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
    spark: options.SparkOfRows = None,
) -> None:
    """Remove a release or a model, with all that belongs to it.

    Rows that were written to Spark with --to are removed, too.
    """
    with ppdm_sql.open(database, read_only=sql, spark=spark) as db, traced(db, on=sql):
        found = published(db, given["name"])
        found.drop()
    notice(f"Dropped {found.name}.", quiet=quiet or sql)
