"""``ppdm compare``: settings, or releases, side by side."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

import typer

import ppdm_sql
from ppdm_sql.cli.failures import IN_MEMORY
from ppdm_sql.cli.options import DatabasePath
from ppdm_sql.cli.output import notice, print_tables
from ppdm_sql.cli.parameters import Common, Given, takes
from ppdm_sql.cli.published import next_commands
from ppdm_sql.starting import INTERRUPTED_EXIT

EXAMPLES = (
    "ppdm compare bank.duckdb customers --class Rating --qi Job,Country --k 2,5,10 --method tds,hce-tdr",
    "ppdm compare adult.duckdb adult --class income --qi age,sex,education --k 5,10,50 \\\n"
    "    --taxonomy education=education.csv --page compared.html --keep-best loss --into adult_safe",
    "ppdm compare bank.duckdb customers_k4 customers_k10 --evaluate --format markdown",
)


def _opened(database: Path, given: Given, common: Common) -> AbstractContextManager[ppdm_sql.Database]:
    """Open the file, for writing only where a release is published; else none is made, either."""
    source = given["tables"] if isinstance(given["tables"], str) else None
    if "keep_best" in given:
        return common.opened(database, source=source)
    made_for_nothing = common.is_elsewhere(source) and not database.exists()
    return common.reading(IN_MEMORY if made_for_nothing else database)


@takes("compare")
def run(database: DatabasePath, given: Given, common: Common) -> None:
    """Put settings of a method, or releases, side by side.

    Tries every combination of --k and --method on a table and publishes nothing, unless --keep-best says by
    what the best is chosen; or measures releases that exist. Ctrl-C prints what is done so far.
    """
    tables = given["tables"]
    given["tables"] = tables if len(tables) > 1 else tables[0]
    with _opened(database, given, common) as db:
        found = db.compare(**given, progress=common.progress())
    if common.sql:
        return
    print_tables(found.tables(), common.form)
    if "page" in given:
        notice(f"Wrote {given['page']}. It is for the owner only.", quiet=common.quiet)
    if found.best is not None:
        notice(f"Published {found.best.name}.", quiet=common.quiet)
        notice("Next:", quiet=common.quiet)
        for command in next_commands(database, found.best.name):
            notice(f"  {command}", quiet=common.quiet)
    if found.interrupted:
        notice("Interrupted: not all was compared.")
        raise typer.Exit(INTERRUPTED_EXIT)
    if all(row.numbers.records is None for row in found.rows):
        raise typer.Exit(1)
