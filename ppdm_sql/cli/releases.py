"""``ppdm releases``: lists the catalogue."""

from __future__ import annotations

import ppdm_sql
from ppdm_sql.cli.options import DatabasePath, Debug, OutputFormat
from ppdm_sql.cli.output import Format, print_tables

EXAMPLES = ("ppdm releases bank.duckdb", "ppdm releases bank.duckdb --format jsonl")
COLUMNS = ("release", "method", "source", "requirements", "rows", "stopped", "created_at")


def run(database: DatabasePath, form: OutputFormat = Format.table, debug: Debug = False) -> None:
    """List the releases of a database."""
    with ppdm_sql.open(database, read_only=True) as db:
        rows = [[getattr(row, name) for name in COLUMNS] for row in db.releases()]
        print_tables([("", COLUMNS, rows)], form)
