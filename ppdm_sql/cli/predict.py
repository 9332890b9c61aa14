"""``ppdm predict``: classifies the records of a table by a trained model."""

from __future__ import annotations

from typing import Annotated

import typer

import ppdm_sql
from ppdm_sql.cli import options
from ppdm_sql.cli.options import DatabasePath, Keep, OutputFormat, TableName
from ppdm_sql.cli.output import Format, notice, print_tables
from ppdm_sql.cli.trace import traced

EXAMPLES = (
    "ppdm predict people.duckdb people_model new_people --into new_classes",
    "ppdm predict people.duckdb people_model new_people --keep id --column class --into new_classes",
)


def run(
    database: DatabasePath,
    name: Annotated[
        str, typer.Argument(metavar="MODEL", help="A model; see ppdm models.", show_default=False)
    ],
    table: TableName,
    into: Annotated[str, typer.Option("--into", metavar="NAME", help="Name of the table to make.")],
    keep: Keep = None,
    column: Annotated[
        str, typer.Option("--column", metavar="NAME", help="The column with the predicted class.")
    ] = "predicted",
    form: OutputFormat = Format.table,
    sql: options.Sql = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
    threads: options.Threads = None,
    memory_limit: options.MemoryLimit = None,
) -> None:
    """Make a table of the records of another, with the class that a model predicts for each.

    All columns are taken over, or those of --keep. Give records as they are: a model that was trained on
    randomized values predicts for true ones.
    """
    with (
        ppdm_sql.open(database, read_only=sql, threads=threads, memory_limit=memory_limit) as db,
        traced(db, on=sql),
    ):
        kept = None if keep is None else options.names(keep)
        made = db.predict(name, table, into=into, keep=kept, column=column)
    if not sql:
        print_tables([("", (made.column, "records"), list(made.classes.items()))], form)
        notice(f"Made table {into}: {sum(made.classes.values())} rows.", quiet=quiet)
