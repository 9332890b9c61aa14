"""``ppdm train``: grows decision trees from original, randomized and reconstructed values."""

from __future__ import annotations

import shlex
from pathlib import Path

from ppdm_sql.cli.options import DatabasePath
from ppdm_sql.cli.output import notice
from ppdm_sql.cli.parameters import CommonOfSpark, Given, takes
from ppdm_sql.cli.trained import print_model
from ppdm_sql.methods.trees.storing import Model

EXAMPLES = (
    "ppdm train people.duckdb people_noisy --class class --mode byclass --test people_test --into groups",
    "ppdm train survey.duckdb answers --class rating --columns salary,age --mode local \\\n"
    "    --noise 'salary=gaussian 2500 on 20000,150000' --noise 'age=uniform 15 on 20,80' --into ratings",
    "ppdm train people.duckdb people --class class --mode original --intervals 50 --into best",
)


@takes("train")
def run(database: DatabasePath, given: Given, common: CommonOfSpark) -> None:
    """Grow a decision tree, even from randomized values.

    TABLE is a release, or any table or view. The model predicts for true values, whatever it was grown from.
    """
    with common.opened(database, source=given["table"]) as db:
        model = db.train(**given, progress=common.progress())
        if not common.sql:
            print_model(model, None, common.form)
            _announce(model, database, quiet=common.quiet)


def _announce(model: Model, database: Path, *, quiet: bool) -> None:
    """Say on stderr what was stored and what to type next."""
    notice(f"Stored model {model.name}: {len(model.tree().nodes)} nodes.", quiet=quiet)
    predict = ["ppdm", "predict", str(database), model.name, "TABLE", "--into", f"{model.name}_predicted"]
    for command in (["ppdm", "show", str(database), model.name], predict):
        notice(f"  {shlex.join(command)}", quiet=quiet)
