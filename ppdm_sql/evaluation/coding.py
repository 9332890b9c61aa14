"""From rows to numbers: a table is collapsed, each value becomes one number, and records are drawn.

Working tables made here, all temporary:

- rows collapsed: ``v0, v1, ...`` (the features), ``label`` (the class, as text), ``records``;
- ``numbers`` of each: ``value, number``, see ``sql/evaluation/numbers.sql``;
- ``coded``: ``number`` (of the row), ``x0, x1, ...``, ``label`` (class from 0; -1 where training does not
  know it), ``records``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from ppdm_sql.engine import Engine, statements
from ppdm_sql.engine.exact import exact_values
from ppdm_sql.engine.names import Table, alias, column
from ppdm_sql.evaluation.features import Feature

Numbers = NDArray[np.float64]
Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Draw:
    """Records drawn from a coded table; rows that are alike, in the same fold, stand together.

    Args:
        numbers: Shape (rows, features): above 0 a place in an order, below 0 a category, 0 neither.
        labels: The class of each row, from 0; -1 is one that training does not know.
        records: How many records each row stands for, at least 1.
        folds: The fold of each row, from 0.
    """

    numbers: Numbers
    labels: Counts
    records: Counts
    folds: Counts

    def only(self, chosen: NDArray[np.bool_]) -> Draw:
        """Give some of the rows."""
        return Draw(self.numbers[chosen], self.labels[chosen], self.records[chosen], self.folds[chosen])

    def seeing(self, features: Sequence[int]) -> Draw:
        """Give the rows with some of the features."""
        return Draw(self.numbers[:, list(features)], self.labels, self.records, self.folds)


@dataclass(frozen=True)
class Rows:
    """Rows to read.

    Args:
        source: A table or a subquery, called ``s``.
        columns: Its columns that hold the features, in their order.
        label: Its class column.
        count: Its column with the number of records of a row, or None where a row is a record.
    """

    source: exp.Expression
    columns: tuple[str, ...]
    label: str
    count: str | None


def collapsed(engine: Engine, rows: Rows, features: Sequence[Feature]) -> Table:
    """Count the records of each combination of features and class, in one scan of the rows."""
    pairs = zip(rows.columns, features, strict=True)
    values = [alias(feature.value(name), f"v{i}") for i, (name, feature) in enumerate(pairs)]
    label = alias(exp.cast(column(rows.label, "s"), "TEXT"), "label")
    read = exp.select(*values, label).from_(rows.source)
    records: exp.Expression = exp.Count(this=exp.Star())
    if rows.count is not None:
        counted = column(rows.count, "s")
        read = read.select(alias(counted, "counted")).where(
            exp.GT(this=counted.copy(), expression=exp.convert(0))
        )
        records = exp.Sum(this=column("counted", "s"))
    view = engine.overlay(read)
    # a collation would merge texts that differ
    texts = [item for item in engine.columns(view) if item.type == "VARCHAR"]
    exact = {f"v{i}": column(f"v{i}", "s") for i in range(len(values))} | exact_values(engine, view, texts)
    query = exp.select(*(alias(value, name) for name, value in exact.items()))
    query = query.select(alias(exp.cast(records, "BIGINT"), "records"))
    query.set("group", exp.Group(all=True))
    return engine.materialize("collapsed", query.from_(exp.alias_(view.expression(), "s", table=True)))


class Coded:
    """A training table in numbers, and a test table in the same numbers if there is one.

    Args:
        engine: Where the working tables are made.
        features: What the columns ``v0, v1, ...`` are.
        train: Collapsed rows.
        test: Collapsed rows, or None.

    Cost: one scan of the collapsed rows for each feature, and one for all.
    """

    def __init__(self, engine: Engine, features: Sequence[Feature], train: Table, test: Table | None) -> None:
        self._engine, self._width = engine, len(features)
        both = [train] if test is None else [train, test]
        numbers = [self._numbers(f"v{i}", feature, both) for i, feature in enumerate(features)]
        classes = self._numbers("label", None, both)
        self.train, *others = [self._coded(rows, numbers, classes) for rows in both]
        self.test = others[0] if others else None

    def _numbers(self, name: str, feature: Feature | None, tables: Sequence[Table]) -> Table:
        """Make the table of a column's values and their numbers."""
        value = alias(column(name), "value")
        parts = [
            exp.select(value, alias(statements.literal(i == 0), "known")).from_(table.expression())
            for i, table in enumerate(tables)
        ]
        listed = parts[0] if len(parts) == 1 else exp.union(*parts, distinct=False)
        known = alias(exp.LogicalOr(this=column("known", "u")), "known")
        values = exp.select(column("value", "u"), known).from_(listed.subquery("u"))
        values = values.group_by(column("value", "u"))
        place = exp.null() if feature is None else feature.place(column("value", "v"))
        query = exp.select(column("value", "v"), column("known", "v"), alias(place, "place"))
        made = self._engine.materialize("feature_values", query.from_(values.subquery("v")))
        text = statements.bind("evaluation/numbers", tables={"feature_values": made})
        return self._engine.materialize("numbers", text)

    def _coded(self, rows: Table, numbers: Sequence[Table], classes: Table) -> Table:
        """Replace values by their numbers and number the rows in the order of what they hold."""
        named = [exp.to_identifier(f"x{i}") for i in range(len(numbers))]
        query = exp.select().from_(exp.alias_(rows.expression(), "r", table=True))
        for i, table in enumerate([*numbers, classes]):
            query.append("joins", _join(table, f"n{i}", "label" if i == len(numbers) else f"v{i}"))
        values = [alias(column("number", f"n{i}"), f"x{i}") for i in range(len(numbers))]
        label = exp.Sub(this=exp.Neg(this=column("number", f"n{len(numbers)}")), expression=exp.convert(1))
        records = exp.cast(exp.Sum(this=column("records", "r")), "BIGINT")
        query = query.select(*values, alias(exp.cast(label, "INT"), "label"), alias(records, "records"))
        query.set("group", exp.Group(all=True))
        order = exp.Order(expressions=[*map(exp.column, named), column("label")])
        number = exp.Window(this=exp.RowNumber(), order=order)
        whole = exp.select(alias(number, "number"), exp.Star()).from_(query.subquery("c"))
        return self._engine.materialize("coded", whole)

    def records(self, table: Table) -> int:
        """Count the records of a coded table."""
        query = exp.select(exp.Sum(this=column("records"))).from_(table.expression())
        ((found,),) = self._engine.query(statements.render(query), step="records")
        return int(found or 0)

    def draw(self, table: Table, *, seed: int, most: int, folds: int) -> Draw:
        """Draw records by lot and deal them out to folds.

        Args:
            table: ``train`` or ``test``.
            seed: The same seed draws the same records, whatever the order of the rows.
            most: How many at most.
            folds: Number of folds, at least 1; each gets its share of every class.
        """
        features = [f"x{i}" for i in range(self._width)]
        text = statements.bind(
            "evaluation/draw",
            tables={"coded": table},
            columns={"features": features},
            values={"seed": seed, "most": most, "folds": folds},
        )
        found = self._engine.arrays(text, step="draw")
        rows = len(found["label"])
        numbers = np.column_stack([np.empty((rows, 0)), *(found[name] for name in features)])
        labels, records, fold = (found[name].astype(np.int64) for name in ("label", "records", "fold"))
        return Draw(numbers, labels, records, fold)


def _join(table: Table, name: str, value: str) -> exp.Join:
    same = exp.NullSafeEQ(this=column(value, "r"), expression=column("value", name))
    return exp.Join(this=exp.alias_(table.expression(), name, table=True), on=same)
