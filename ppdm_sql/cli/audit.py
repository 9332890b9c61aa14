"""``ppdm audit``: measures a table."""

from __future__ import annotations

from typing import Annotated

import typer

import ppdm_sql
from ppdm_sql.cli.options import DatabasePath
from ppdm_sql.cli.output import print_tables
from ppdm_sql.cli.parameters import CommonOfSpark, Given, takes
from ppdm_sql.privacy import requirement_of
from ppdm_sql.privacy.absent import said_absent

EXAMPLES = (
    "ppdm audit bank.duckdb customers",
    "ppdm audit bank.duckdb customers --by Job,Country --sensitive Bankruptcy",
    "ppdm audit bank.duckdb customers --count n \\\n"
    "    --require 'Job, Country -> Bankruptcy = Discharged <= 50%'",
    "ppdm audit bank.duckdb customers_safe --quasi-identifier Job,Country --format json",
    "ppdm audit bank.duckdb customers --count n --require 'distinct l of Bankruptcy on Job'",
    "ppdm audit bank.duckdb policies --confidential Amount --by Age,Gender,Location",
    "ppdm audit clinic.duckdb visits --person patient --require 'k >= 5 on sex, zip'",
    "ppdm audit ledger.duckdb shop.customers --spark sc://host:15002 --require 'k >= 5 on age, zip'",
    "ppdm audit visits.csv --types zip=VARCHAR --require 'k on sex, zip'",
)


@takes("audit", without=["groups"])
def run(
    database: DatabasePath,
    given: Given,
    common: CommonOfSpark,
    show_groups: Annotated[
        bool, typer.Option("--show-groups", help="Print the worst groups with their values.")
    ] = False,
    groups: Annotated[
        int, typer.Option("--groups", min=1, metavar="N", help="How many groups --show-groups prints.")
    ] = 5,
) -> None:
    """Measure a table: class sizes, risk, requirements, inferences.

    A table alone gets a first look at each column, and at the pairs of columns that single out most records;
    --by and --sensitive need no requirement either. A requirement without a limit, such as 'k on Sex, Job',
    is only measured. Exit code 1 if one with a limit does not hold. The table is only read.
    """
    with common.reading(database) as db:
        audit = db.audit(**given, groups=groups if show_groups else 0)
    if not common.sql:
        print_tables(audit.tables(), common.form)
        _note_absent(audit)
        for text in audit.notices:
            typer.echo(f"Note: {text}", err=True)
        raise typer.Exit(0 if audit.holds else 1)


def _note_absent(audit: ppdm_sql.Audit) -> None:
    """Say on stderr where a template protects what the column does not hold."""
    for found in audit.findings:
        for sensitive in requirement_of(found.requirement).sensitive_columns:
            if found.absent_values:
                typer.echo(f"Note: {said_absent(sensitive, found.absent_values)}", err=True)
