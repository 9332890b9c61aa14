"""``ppdm sql-path``: prints where the SQL files are."""

from __future__ import annotations

import typer

from ppdm_sql.engine.statements import sql_folder

EXAMPLES = ("ppdm sql-path", 'duckdb < "$(ppdm sql-path)/walkthroughs/pda.sql"')


def run() -> None:
    """Print the folder of the SQL files.

    It holds the step files, the macros, and in `walkthroughs` the papers' examples, to be run from top to
    bottom.
    """
    typer.echo(sql_folder())
