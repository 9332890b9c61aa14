"""``ppdm randomize``: distorts values by noise."""

from __future__ import annotations

from ppdm_sql.cli.options import DatabasePath
from ppdm_sql.cli.parameters import CommonOfSpark, Given, takes
from ppdm_sql.cli.published import Exported, publish

EXAMPLES = (
    "ppdm randomize shop.duckdb customers --noise 'salary=gaussian 100%' --range salary=20000,150000 \\\n"
    "    --noise 'age=uniform 50% rounded' --range age=17,90 --class rating --record id --into noisy",
    "ppdm randomize shop.duckdb customers --noise 'age=cells 0,20,40,60,120' --noise 'job=retain 0.7' \\\n"
    "    --key-file customers.key --record id --into coarse",
    "ppdm randomize clinic.duckdb stays.csv --person patient --noise 'age=uniform 30% rounded' \\\n"
    "    --range age=0,120 --keep ward --into stays_noisy",
)


@takes("randomize")
def run(database: DatabasePath, given: Given, common: CommonOfSpark, exported: Exported) -> None:
    """Add noise to values before anyone mines them.

    The release tells what the noise is, so that distributions and classifiers can be recovered from it; see
    ppdm reconstruct and ppdm train. NULL stays NULL. A column that no option names is not released.
    """
    publish("randomize", database, given, common, exported)
