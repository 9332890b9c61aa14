"""``ppdm evaluate``: what a release is still worth for classification."""

from __future__ import annotations

from typing import Annotated

import typer

import ppdm_sql
from ppdm_sql.cli import options
from ppdm_sql.cli.options import DatabasePath, OutputFormat, ReleaseName
from ppdm_sql.cli.output import Format, print_tables
from ppdm_sql.cli.progress import progress

EXAMPLES = (
    "ppdm evaluate bank.duckdb customers_safe",
    "ppdm evaluate adult.duckdb adult_safe --test adult_test --seeds 3 --format markdown",
)


def run(
    database: DatabasePath,
    name: ReleaseName,
    test: Annotated[
        str | None,
        typer.Option("--test", metavar="TABLE", help="Test on this table, instead of cross-validation."),
    ] = None,
    folds: Annotated[int, typer.Option("--folds", metavar="N", help="Folds of the cross-validation.")] = 10,
    seeds: Annotated[int, typer.Option("--seeds", metavar="N", help="Repeat so often, each by its lot.")] = 5,
    sample: Annotated[
        int, typer.Option("--sample", metavar="N", help="Draw at most so many records.")
    ] = 200_000,
    form: OutputFormat = Format.table,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
    threads: options.Threads = None,
    memory_limit: options.MemoryLimit = None,
) -> None:
    """Measure the classification error on the original, on the release, with the attributes removed.

    A decision tree predicts the class; errors are per cent of the tested records. Needs scikit-learn.
    """
    with ppdm_sql.open(database, read_only=True, threads=threads, memory_limit=memory_limit) as db:
        evaluation = db.evaluate(
            name, test=test, folds=folds, seeds=seeds, sample=sample, progress=progress(quiet=quiet)
        )
    print_tables(evaluation.tables(), form)
