"""``ppdm predict``: classifies the records of a table by a trained model."""

from __future__ import annotations

from ppdm_sql.cli.options import DatabasePath
from ppdm_sql.cli.output import notice, print_tables
from ppdm_sql.cli.parameters import Common, Given, takes

EXAMPLES = (
    "ppdm predict people.duckdb people_model new_people --into new_classes",
    "ppdm predict people.duckdb people_model new_people --keep id --column class --into new_classes",
)


@takes("predict")
def run(database: DatabasePath, given: Given, common: Common) -> None:
    """Copy a table and add the class that a model predicts.

    All columns are taken over, or those of --keep. Give records as they are: a model that was trained on
    randomized values predicts for true ones.
    """
    with common.opened(database) as db:
        made = db.predict(**given)
    if not common.sql:
        print_tables([("", (made.column, "records"), list(made.classes.items()))], common.form)
        notice(f"Made table {given['into']}: {sum(made.classes.values())} rows.", quiet=common.quiet)
