"""``ppdm evaluate``: what a release is still worth for classification."""

from __future__ import annotations

import ppdm_sql
from ppdm_sql.cli import options
from ppdm_sql.cli.options import DatabasePath, OutputFormat
from ppdm_sql.cli.output import Format, print_tables
from ppdm_sql.cli.parameters import Given, attached, takes
from ppdm_sql.cli.progress import progress

EXAMPLES = (
    "ppdm evaluate bank.duckdb customers_safe",
    "ppdm evaluate adult.duckdb adult_safe --test adult_test --seeds 3 --format markdown",
)


@takes("evaluate")
def run(
    database: DatabasePath,
    given: Given,
    form: OutputFormat = Format.table,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
    attach: options.Attach = None,
    threads: options.Threads = None,
    memory_limit: options.MemoryLimit = None,
) -> None:
    """Measure what a release costs a classifier.

    A decision tree predicts the class; errors are per cent of the tested records. Needs scikit-learn.
    """
    with ppdm_sql.open(
        database, read_only=True, attach=attached(attach), threads=threads, memory_limit=memory_limit
    ) as db:
        evaluation = db.evaluate(**given, progress=progress(quiet=quiet))
    print_tables(evaluation.tables(), form)
