"""``ppdm releases``: lists the catalogue."""

from __future__ import annotations

import ppdm_sql
from ppdm_sql.cli.options import DatabasePath, Debug, OutputFormat
from ppdm_sql.cli.output import Format, print_tables
from ppdm_sql.sql_calls.describing import LISTED_RELEASES, listed_releases

EXAMPLES = ("ppdm releases bank.duckdb", "ppdm releases bank.duckdb --format jsonl")


def run(database: DatabasePath, form: OutputFormat = Format.table, debug: Debug = False) -> None:
    """List the releases of a database."""
    with ppdm_sql.open(database, read_only=True) as db:
        print_tables([("", LISTED_RELEASES, listed_releases(db))], form)
