"""``ppdm steps``: lists the steps of a release."""

from __future__ import annotations

import ppdm_sql
from ppdm_sql.cli.options import DatabasePath, Debug, OutputFormat
from ppdm_sql.cli.output import Format, notice, print_tables
from ppdm_sql.cli.parameters import Given, takes
from ppdm_sql.cli.published import is_stepwise, steps_table

EXAMPLES = ("ppdm steps bank.duckdb customers_safe", "ppdm steps bank.duckdb customers_safe --format csv")


@takes("steps")
def run(
    database: DatabasePath, given: Given, form: OutputFormat = Format.table, debug: Debug = False
) -> None:
    """List the steps of a release in order, with their scores."""
    with ppdm_sql.open(database, read_only=True) as db:
        release = db.release(given["release"])
        _, columns, rows = steps_table(release)
        stepwise = is_stepwise(release.row())
    print_tables([("", columns, rows)], form)
    notice(f"Note: {release.name} was not made step by step.", quiet=stepwise)
