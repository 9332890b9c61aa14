"""``ppdm generalize``: Top-Down Specialization and HCE-TDR."""

from __future__ import annotations

from ppdm_sql.cli.options import AcceptPartial, DatabasePath
from ppdm_sql.cli.parameters import CommonOfSpark, Given, takes
from ppdm_sql.cli.published import Exported, publish

EXAMPLES = (
    "ppdm generalize bank.duckdb visits.csv --require 'k >= 5 on sex, age, zip' --keep disease \\\n"
    "    --into visits_any --export visits_any.csv",
    "ppdm generalize bank.duckdb visits.csv --class disease --require 'k >= 5 on sex, zip' \\\n"
    "    --types zip=VARCHAR --into visits_safe --export visits_safe.csv",
    "ppdm generalize bank.duckdb customers --class Rating --into customers_k4 \\\n"
    "    --require 'k >= 4 on Job, Age' --taxonomy Job=job.csv --range Age=1,99",
    "ppdm generalize bank.duckdb customers --class Rating --into customers_k5 --suppress-records 1% \\\n"
    "    --require 'k >= 5 on Job, Country, Age'",
    "ppdm generalize clinic.duckdb visits.csv --person patient --class readmitted --into visits_safe \\\n"
    "    --require 'k >= 5 on sex, zip' --types zip=VARCHAR --export visits_safe.parquet",
    "ppdm generalize bank.duckdb visits --class disease --require 'k >= 5 on birth_date, zip' \\\n"
    "    --limit birth_date=40 --min-width 'birth_date=1 month' --weight zip=3 --into visits_even",
    "ppdm generalize ledger.duckdb shop.visits --spark sc://host:15002 --class disease \\\n"
    "    --require 'k >= 5 on age, zip' --into visits_safe --to shop.visits_safe",
    "ppdm generalize adult.duckdb adult --class income --into adult_safe --method hce-tdr \\\n"
    "    --require 'k >= 50 on age, education, sex' --condition workclass,race --interval-columns",
)


@takes("generalize")
def run(
    database: DatabasePath,
    given: Given,
    common: CommonOfSpark,
    exported: Exported,
    accept_partial: AcceptPartial = False,
) -> None:
    """Generalize values until all requirements hold (TDS, HCE-TDR).

    The columns of the requirements are masked: by their taxonomy; numbers, dates and times without one by
    intervals that are grown during the run; all others by suppression, as are whole numbers that look like
    codes, unless --range or --min-width says that they are numbers. Sensitive columns, which a template, l or
    t names, are released as they are, without --keep, and so is the class. A column that no option names is
    not released. Ctrl-C stops the run and publishes the state reached.
    """
    publish("generalize", database, given, common, exported, accept_partial=accept_partial)
