"""``ppdm report``: writes a page on a release."""

from __future__ import annotations

import ppdm_sql
from ppdm_sql.cli import options
from ppdm_sql.cli.options import DatabasePath
from ppdm_sql.cli.output import notice
from ppdm_sql.cli.parameters import Given, takes
from ppdm_sql.cli.progress import progress
from ppdm_sql.sql_calls.describing import report

EXAMPLES = (
    "ppdm report bank.duckdb customers_safe customers_safe.html",
    "ppdm report people.duckdb ratings ratings.html",
    "ppdm report bank.duckdb customers_safe public.html --public --exported customers_safe.parquet",
)


@takes("report")
def run(
    database: DatabasePath,
    given: Given,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
    threads: options.Threads = None,
    memory_limit: options.MemoryLimit = None,
) -> None:
    """Write a page on a release, for its owner or for everybody, or on a model.

    One HTML file without scripts, which needs no network. Without --public it shows values of the source; a
    model's page always does. Needs the extra ppdm-sql[report].
    """
    with ppdm_sql.open(database, read_only=True, threads=threads, memory_limit=memory_limit) as db:
        report(db, given, progress(quiet=quiet))
    edition = "It tells of nothing but the release." if given.get("public") else "It is for the owner only."
    notice(f"Wrote {given['path']}. {edition}", quiet=quiet)
