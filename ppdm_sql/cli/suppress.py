"""``ppdm suppress``: the Progressive Disclosure Algorithm."""

from __future__ import annotations

from ppdm_sql.cli.options import AcceptPartial, DatabasePath
from ppdm_sql.cli.parameters import CommonOfSpark, Given, takes
from ppdm_sql.cli.published import Exported, publish

EXAMPLES = (
    "ppdm suppress bank.duckdb customers --class Rating --count n --into customers_safe \\\n"
    "    --require 'Job, Country -> Bankruptcy = Discharged <= 50%'",
    "ppdm suppress bank.duckdb customers --class Rating --count n --into customers_k4 \\\n"
    "    --require 'k >= 4 on Job, Country' --keep Child --suppress-records 1%",
    "ppdm suppress bank.duckdb customers --count n --into customers_any \\\n"
    "    --require 'k >= 4 on Job, Country'",
    "ppdm suppress ledger.duckdb shop.customers --spark sc://host:15002 --class Rating \\\n"
    "    --require 'k >= 4 on Job, Country' --into customers_safe --to /data/customers_safe",
)


@takes("suppress")
def run(
    database: DatabasePath,
    given: Given,
    common: CommonOfSpark,
    exported: Exported,
    accept_partial: AcceptPartial = False,
) -> None:
    """Suppress values until all requirements hold (PDA).

    Sensitive columns, which a template, l or t names, are released as they are, without --keep, and so is
    the class. A column that no option names is not released. Ctrl-C stops the run and publishes the state
    reached.
    """
    publish("suppress", database, given, common, exported, accept_partial=accept_partial)
