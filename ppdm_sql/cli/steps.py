"""``ppdm steps``: lists the steps of a release."""

from __future__ import annotations

import ppdm_sql
from ppdm_sql.cli.options import DatabasePath, Debug, OutputFormat, ReleaseName
from ppdm_sql.cli.output import Format, notice, print_tables
from ppdm_sql.cli.published import is_stepwise, steps_table

EXAMPLES = ("ppdm steps bank.duckdb customers_safe", "ppdm steps bank.duckdb customers_safe --format csv")


def run(
    database: DatabasePath, name: ReleaseName, form: OutputFormat = Format.table, debug: Debug = False
) -> None:
    """List what a release disclosed, in which order, with its scores."""
    with ppdm_sql.open(database, read_only=True) as db:
        release = db.release(name)
        _, columns, rows = steps_table(release)
        stepwise = is_stepwise(release.row())
    print_tables([("", columns, rows)], form)
    notice(f"Note: {release.name} was not made step by step.", quiet=stepwise)
