"""``ppdm drop``: removes a release or a model."""

from __future__ import annotations

import ppdm_sql
from ppdm_sql.cli import options
from ppdm_sql.cli.options import DatabasePath, PublishedName
from ppdm_sql.cli.output import notice
from ppdm_sql.cli.trace import traced
from ppdm_sql.cli.trained import release_or_model

EXAMPLES = ("ppdm drop bank.duckdb customers_safe", "ppdm drop bank.duckdb customers_safe --sql")


def run(
    database: DatabasePath,
    name: PublishedName,
    sql: options.Sql = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Remove a release or a model, with all that belongs to it."""
    with ppdm_sql.open(database, read_only=sql) as db, traced(db, on=sql):
        release_or_model(db, name).drop()
    notice(f"Dropped {name}.", quiet=quiet or sql)
