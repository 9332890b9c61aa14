"""``ppdm swap``: exchanges confidential values of identifiable records."""

from __future__ import annotations

from ppdm_sql.cli.options import DatabasePath
from ppdm_sql.cli.parameters import CommonOfSpark, Given, takes
from ppdm_sql.cli.published import Exported, publish

EXAMPLES = (
    "ppdm swap bank.duckdb policies --confidential Amount --by Age,Gender,Location \\\n"
    "    --proportion 0.5 --into policies_safe",
    "ppdm swap adult.duckdb adult --confidential occupation,hours --by age,sex,education,country \\\n"
    "    --proportion 0.3 --proportion hours=0.5 --bins hours=0,20,35,45,100 --into adult_safe",
    "ppdm swap clinic.duckdb stays.csv --person patient --confidential illness --by age,sex \\\n"
    "    --proportion 0.5 --into stays_safe",
)


@takes("swap")
def run(database: DatabasePath, given: Given, common: CommonOfSpark, exported: Exported) -> None:
    """Exchange confidential values of identifiable records.

    Frequencies and what the columns tell of each other are kept as far as possible. A column that no option
    names is not released.
    """
    publish("swap", database, given, common, exported)
