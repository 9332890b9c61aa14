"""``ppdm predict``: classifies the records of a table by a trained model."""

from __future__ import annotations

from ppdm_sql.cli.options import DatabasePath
from ppdm_sql.cli.output import notice, print_tables
from ppdm_sql.cli.parameters import CommonOfSpark, Given, takes

EXAMPLES = (
    "ppdm predict people.duckdb people_model new_people --into new_classes",
    "ppdm predict people.duckdb people_model new_people --keep id --column class --into new_classes",
    "ppdm predict people.duckdb people_model /data/new --spark sc://host:15002 --into new --to /data/classes",
)


@takes("predict")
def run(database: DatabasePath, given: Given, common: CommonOfSpark) -> None:
    """Copy a table and add the class that a model predicts.

    All columns are copied, or those of --keep. Give true values: a model that was trained on randomized
    values predicts for true ones.
    """
    with common.opened(database) as db:
        made = db.predict(**given)
    if not common.sql:
        print_tables([("", (made.column, "records"), list(made.classes.items()))], common.form)
        rows, kind = sum(made.classes.values()), "view" if made.is_view else "table"
        notice(f"Made {kind} {made.into}: {rows} rows.", quiet=common.quiet)
        if made.to is not None:
            notice(f"Wrote {made.to}: {rows} rows.", quiet=common.quiet)
