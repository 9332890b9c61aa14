"""``ppdm sql-path``: says where the step files are."""

from __future__ import annotations

import typer

from ppdm_sql.engine.statements import sql_folder

EXAMPLES = ("ppdm sql-path",)


def run() -> None:
    """Print the folder of the SQL step files, for `.read` in the DuckDB shell."""
    typer.echo(sql_folder())
