"""Prediction for a table that lives elsewhere: its rows are classified and written there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from ppdm_sql.engine import Engine
from ppdm_sql.engine.drawing import selected_elsewhere
from ppdm_sql.engine.names import Table, alias, column
from ppdm_sql.engine.source import Source
from ppdm_sql.engine.statements import render
from ppdm_sql.errors import GuaranteeNotMet, InvalidOption
from ppdm_sql.methods.trees.model import DecisionTree
from ppdm_sql.methods.trees.predicting import class_of
from ppdm_sql.release.placing import Placing


def check_place(source: Source, placed: Placing | None) -> Placing:
    """Refuse to predict for a table that lives elsewhere where its rows cannot be written there.

    Raises:
        InvalidOption: Nobody says where they go, or to where the database cannot read them in place.
    """
    if placed is None:
        raise InvalidOption(
            f"The records of {source.shown} stay where they live, and nothing says where their classes go.",
            "Give --to the path of a folder for the rows and their predicted classes.",
        )
    if not placed.takes_drawn:
        raise InvalidOption(
            f"{placed.target} is no plain path of a folder, in which predictions can be read in place.",
            "Give --to a path such as /data/classified, without any of *?[]{}.",
        )
    return placed


def place_predictions(
    engine: Engine,
    tree: DecisionTree,
    source: Source,
    names: Mapping[str, str],
    shown: Sequence[str],
    name: str,
    target: Table,
    placed: Placing,
) -> None:
    """Write rows with the predicted class where the table lives, and make a view that reads them in place.

    Args:
        engine: The database; inside a transaction.
        tree: The tree.
        source: The table.
        names: The columns that the tree uses, as the table spells them.
        shown: The columns to copy.
        name: The column with the predicted class.
        target: The view.
        placed: Where the rows go.

    Raises:
        GuaranteeNotMet: The rows that were written are not as many as there are.
        InvalidSource: A column cannot be read, or the table has changed.

    Cost: one scan of the table there, a sort, and a count.
    """
    outputs = {**{other: f"v{place}" for place, other in enumerate(shown)}, name: "predicted"}

    def classified(rows: exp.Expression) -> exp.Expression:
        copied = [alias(column(other, "s"), outputs[other]) for other in shown]
        predicted = class_of(tree, lambda used: column(names[used], "s"))
        return exp.select(*copied, alias(predicted, outputs[name])).from_(rows)

    placed.write_drawn(selected_elsewhere(source, classified, step="predict"), outputs)
    if not engine.dry:
        everything = exp.Count(this=exp.Star())
        ((records,),) = source.aggregate(lambda rows: exp.select(everything).from_(rows), step="count rows")
        if sum(file.rows for file in placed.files) != records:
            raise GuaranteeNotMet(
                f"What was written for {placed.target} has not as many rows as {source.shown}, so nothing "
                "was made.",
                "Check that every worker sees the disk, and run it again.",
            )
        source.check_unchanged()
        placed.publish()
    rows = render(placed.stored_rows(list(outputs)))
    engine.write(f"CREATE VIEW {target} AS {rows}", step="predict")
