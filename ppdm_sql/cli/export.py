"""``ppdm export``: writes a release into a fresh file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import ppdm_sql
from ppdm_sql.cli import options
from ppdm_sql.cli.options import DatabasePath, ReleaseName
from ppdm_sql.cli.output import notice
from ppdm_sql.cli.progress import progress

EXAMPLES = (
    "ppdm export bank.duckdb customers_safe customers_safe.parquet",
    "ppdm export bank.duckdb customers_safe customers_safe.csv --formula-safe --force",
)


def run(
    database: DatabasePath,
    name: ReleaseName,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Ends in .parquet, .csv or .duckdb.")],
    force: Annotated[
        bool, typer.Option("--force", help="Replace the file if it exists; a regular file only.")
    ] = False,
    form: Annotated[
        str | None, typer.Option("--format", help="parquet, csv or duckdb, where the name does not say.")
    ] = None,
    formula_safe: Annotated[
        bool, typer.Option("--formula-safe", help="CSV that a spreadsheet does not take for formulas.")
    ] = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
    threads: options.Threads = None,
    memory_limit: options.MemoryLimit = None,
) -> None:
    """Write a release into a fresh Parquet, CSV or DuckDB file, which holds nothing else."""
    with ppdm_sql.open(database, read_only=True, threads=threads, memory_limit=memory_limit) as db:
        db.release(name).export(
            file, force=force, format=form, formula_safe=formula_safe, progress=progress(quiet=quiet)
        )
    notice(f"Wrote {file}.", quiet=quiet)
