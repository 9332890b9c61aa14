"""``ppdm models``: lists the trained models."""

from __future__ import annotations

import ppdm_sql
from ppdm_sql.cli.options import DatabasePath, Debug, OutputFormat
from ppdm_sql.cli.output import Format, print_tables
from ppdm_sql.methods.trees.storing import ModelRow, accuracy

EXAMPLES = ("ppdm models people.duckdb", "ppdm models people.duckdb --format jsonl")
COLUMNS = ("model", "mode", "source", "class", "rows", "test", "accuracy", "created_at")


def run(database: DatabasePath, form: OutputFormat = Format.table, debug: Debug = False) -> None:
    """List the trained models of a database."""
    with ppdm_sql.open(database, read_only=True) as db:
        print_tables([("", COLUMNS, [_listed(row) for row in db.models()])], form)


def _listed(row: ModelRow) -> tuple[object, ...]:
    right = None if row.confusion is None else accuracy(row.confusion)
    found = (row.model, row.mode, row.source, row.class_column, row.rows, row.test)
    return (*found, right, row.created_at)
