"""``ppdm reconstruct``: estimates the distributions behind randomized columns."""

from __future__ import annotations

from ppdm_sql.cli.options import DatabasePath
from ppdm_sql.cli.output import notice, print_tables
from ppdm_sql.cli.parameters import CommonOfSpark, Given, takes

EXAMPLES = (
    "ppdm reconstruct bank.duckdb customers_noisy --column salary --into salaries",
    "ppdm reconstruct bank.duckdb customers_noisy --column salary --column age --by-class rating \\\n"
    "    --intervals 50 --into distributions",
    "ppdm reconstruct survey.duckdb answers --column salary --noise 'salary=gaussian 2500' \\\n"
    "    --range salary=20000,150000 --into salaries",
)


@takes("reconstruct")
def run(database: DatabasePath, given: Given, common: CommonOfSpark) -> None:
    """Estimate the original distributions of randomized columns.

    TABLE is a release, or any table or view of distorted values whose noise --noise and --range give.
    """
    with common.opened(database, source=given["table"]) as db:
        found = db.reconstruct(**given, progress=common.progress())
    if not common.sql:
        print_tables(found.tables(), common.form)
        stops = ", ".join(dict.fromkeys(each.stopped for each in found.distributions))
        notice(f"Made table {found.into}: {len(found.rows())} rows. Stopped by: {stops}.", quiet=common.quiet)
