"""``ppdm uninstall``: takes the audit macros out of the file."""

from __future__ import annotations

import ppdm_sql
from ppdm_sql.cli import options
from ppdm_sql.cli.options import DatabasePath
from ppdm_sql.cli.output import notice
from ppdm_sql.cli.trace import traced

EXAMPLES = ("ppdm uninstall bank.duckdb", "ppdm uninstall bank.duckdb --sql")


def run(
    database: DatabasePath,
    sql: options.Sql = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Remove the audit macros from a file."""
    with ppdm_sql.open(database, read_only=sql) as db, traced(db, on=sql):
        names = db.uninstall()
    outcome = f"Removed {', '.join(names)}." if names else f"No macros of ppdm-sql are in {database}."
    notice(outcome, quiet=quiet or sql)
