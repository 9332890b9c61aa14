"""``ppdm models``: lists the trained models."""

from __future__ import annotations

import ppdm_sql
from ppdm_sql.cli.options import DatabasePath, Debug, OutputFormat
from ppdm_sql.cli.output import Format, print_tables
from ppdm_sql.sql_calls.describing import LISTED_MODELS, listed_models

EXAMPLES = ("ppdm models people.duckdb", "ppdm models people.duckdb --format jsonl")


def run(database: DatabasePath, form: OutputFormat = Format.table, debug: Debug = False) -> None:
    """List the trained models of a database."""
    with ppdm_sql.open(database, read_only=True) as db:
        print_tables([("", LISTED_MODELS, listed_models(db))], form)
