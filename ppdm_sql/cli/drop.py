"""``ppdm drop``: removes a release."""

from __future__ import annotations

import ppdm_sql
from ppdm_sql.cli import options
from ppdm_sql.cli.options import DatabasePath, ReleaseName
from ppdm_sql.cli.output import notice
from ppdm_sql.cli.trace import traced

EXAMPLES = ("ppdm drop bank.duckdb customers_safe", "ppdm drop bank.duckdb customers_safe --sql")


def run(
    database: DatabasePath,
    name: ReleaseName,
    sql: options.Sql = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Remove a release: its view, macro, table, steps, and its row in the catalogue."""
    with ppdm_sql.open(database, read_only=sql) as db, traced(db, on=sql):
        db.release(name).drop()
    notice(f"Dropped {name}.", quiet=quiet or sql)
