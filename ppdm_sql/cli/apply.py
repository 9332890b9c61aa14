"""``ppdm apply``: applies the cut of a release to other records."""

from __future__ import annotations

import ppdm_sql
from ppdm_sql.cli.options import DatabasePath
from ppdm_sql.cli.output import notice, print_tables
from ppdm_sql.cli.parameters import CommonOfSpark, Given, takes

EXAMPLES = (
    "ppdm apply bank.duckdb customers_safe new_customers --into new_customers_safe",
    "ppdm apply bank.duckdb customers_safe new_customers --into new_customers_safe --unseen refuse",
    "ppdm apply ledger.duckdb customers_safe shop.new --spark sc://host:15002 --into new_safe \\\n"
    "    --to /data/new_safe",
)


@takes("apply")
def run(database: DatabasePath, given: Given, common: CommonOfSpark) -> None:
    """Recode other records by the cut of a release.

    The cut keeps no promise for new records by itself, so the requirements are measured on the table.
    """
    with common.opened(database) as db:
        applied = db.apply(**given)
    if not common.sql:
        print_tables(applied.tables(), common.form)
        _announce(applied, quiet=common.quiet)


def _announce(applied: ppdm_sql.Applied, *, quiet: bool) -> None:
    """Say on stderr what was made, and where it does not do what the release does."""
    notice(f"Made table {applied.into}: {applied.rows} rows.", quiet=quiet)
    if applied.to is not None:
        notice(f"Wrote {applied.to}: {applied.placed} rows.", quiet=quiet)
    for found in applied.findings:
        if not found.holds:
            notice(f"Warning: {str(found.requirement)!r} does not hold on {applied.into}.")
    if applied.left_out:
        notice(
            f"{applied.left_out} records are in no class of {applied.release}, and are left out.",
            quiet=quiet,
        )
    if applied.counts_persons:
        notice(
            f"Warning: The requirements of {applied.release} count persons, and whose the records of "
            f"{applied.into} are is not said, so none was measured."
        )
        return
    for requirement in applied.unmeasured:
        notice(f"Warning: {str(requirement)!r} names a column that {applied.into} lacks.")
