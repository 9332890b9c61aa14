"""``ppdm audit``: measures a table."""

from __future__ import annotations

from typing import Annotated

import typer

import ppdm_sql
from ppdm_sql.cli import options
from ppdm_sql.cli.options import Count, DatabasePath, OutputFormat, TableName
from ppdm_sql.cli.output import Format, print_tables
from ppdm_sql.cli.trace import traced
from ppdm_sql.privacy import requirement_of
from ppdm_sql.privacy.absent import said_absent

EXAMPLES = (
    "ppdm audit bank.duckdb customers --count n \\\n"
    "    --require 'Job, Country -> Bankruptcy = Discharged <= 50%'",
    "ppdm audit bank.duckdb customers_safe --quasi-identifier Job,Country --format json",
    "ppdm audit bank.duckdb customers --count n --require 'distinct l of Bankruptcy on Job'",
    "ppdm audit bank.duckdb policies --confidential Amount --by Age,Gender,Location",
)


def run(
    database: DatabasePath,
    table: TableName,
    require: options.Require = None,
    count: Count = None,
    quasi_identifier: Annotated[
        str | None,
        typer.Option("--quasi-identifier", metavar="A,B", help="Class sizes and risks are over these."),
    ] = None,
    threshold: Annotated[
        list[str] | None,
        typer.Option("--threshold", metavar="SHARE", help="Count inferences above it; repeatable."),
    ] = None,
    population: Annotated[
        str | None,
        typer.Option("--population", metavar="TABLE", help="The population, for the journalist's risk."),
    ] = None,
    show_groups: Annotated[
        bool, typer.Option("--show-groups", help="Name the worst groups by their values.")
    ] = False,
    groups: Annotated[
        int, typer.Option("--groups", min=1, metavar="N", help="How many --show-groups names.")
    ] = 5,
    confidential: Annotated[
        str | None,
        typer.Option("--confidential", metavar="A,B", help="Whose values do the columns of --by give away?"),
    ] = None,
    by: Annotated[
        str | None, typer.Option("--by", metavar="X,Y", help="Columns that others may know.")
    ] = None,
    allow_absent: options.AllowAbsent = False,
    form: OutputFormat = Format.table,
    sql: options.Sql = False,
    debug: options.Debug = False,
    threads: options.Threads = None,
    memory_limit: options.MemoryLimit = None,
) -> None:
    """Measure any table or view: requirements, class sizes, risk, inferences, identifiable records.

    A requirement without a limit, such as 'k on Sex, Job', is only measured. Exit code 1 if one with a limit
    does not hold. The table is only read.
    """
    with (
        ppdm_sql.open(database, read_only=True, threads=threads, memory_limit=memory_limit) as db,
        traced(db, on=sql),
    ):
        audit = db.audit(
            table,
            require or [],
            count_column=count,
            quasi_identifier=options.names(quasi_identifier) or None,
            thresholds=[options.share(text) for text in threshold or ()] or None,
            population=population,
            groups=groups if show_groups else 0,
            confidential=options.names(confidential),
            by=options.names(by),
            allow_absent=allow_absent,
        )
    if not sql:
        print_tables(audit.tables(), form)
        _note_absent(audit)
        raise typer.Exit(0 if audit.holds else 1)


def _note_absent(audit: ppdm_sql.Audit) -> None:
    """Say on stderr where a template protects what the column does not hold."""
    for found in audit.findings:
        for sensitive in requirement_of(found.requirement).sensitive_columns:
            if found.absent_values:
                typer.echo(f"Note: {said_absent(sensitive, found.absent_values)}", err=True)
