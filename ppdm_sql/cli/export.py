"""``ppdm export``: writes a release into a fresh file."""

from __future__ import annotations

import ppdm_sql
from ppdm_sql.cli import options
from ppdm_sql.cli.options import DatabasePath
from ppdm_sql.cli.output import notice
from ppdm_sql.cli.parameters import Given, takes
from ppdm_sql.cli.published import promised
from ppdm_sql.release.applied import exportable

EXAMPLES = (
    "ppdm export bank.duckdb customers_safe customers_safe.parquet",
    "ppdm export bank.duckdb customers_safe customers_safe.csv --formula-safe --force",
)


@takes("export")
def run(
    database: DatabasePath,
    given: Given,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
    threads: options.Threads = None,
    memory_limit: options.MemoryLimit = None,
) -> None:
    """Write a release into a fresh Parquet, CSV or DuckDB file.

    A table that ppdm apply made can be exported, too, if all requirements of the release hold on it.
    """
    with ppdm_sql.open(database, read_only=True, threads=threads, memory_limit=memory_limit) as db:
        release = exportable(db.engine, given.pop("release"))
        release.export(**given)
        told = promised(release.row())
    notice(f"Wrote {given['path']}.{told}", quiet=quiet)
