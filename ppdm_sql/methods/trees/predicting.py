"""Prediction by a tree: one expression in plain SQL, for a macro, a table and a confusion matrix."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.names import Table, alias, aliased, column, quoted, resolve, resolve_all
from ppdm_sql.engine.source import is_stand_in, source_of
from ppdm_sql.engine.statements import bind, literal, render
from ppdm_sql.engine.types import Kind, double, kind_of
from ppdm_sql.errors import InvalidOption, InvalidSource, UnknownColumn, choices, no_records
from ppdm_sql.methods.trees.model import DecisionTree, Side, TreeNode
from ppdm_sql.options import PredictOptions
from ppdm_sql.release.catalogue import check_free
from ppdm_sql.release.placed_rows import PlacedRows
from ppdm_sql.release.placing import placing

ColumnOf = Callable[[str], exp.Expression]
"""Gives the column, or the parameter, that holds an attribute."""

ClassAs = Callable[[int], exp.Expression]
"""Gives what stands for a class, by its position."""


@dataclass(frozen=True)
class Predicted:
    """A table that was made by a model."""

    into: str
    column: str  # its column with the predicted class
    classes: dict[str, int]  # records by predicted class
    to: str | None = None  # where the rows stand outside of the database, if they do
    is_view: bool = False  # whether they stand there alone, and a view reads them in place


# -- the expression ---------------------------------------------------------------------------------


def decision(tree: DecisionTree, column_of: ColumnOf, class_as: ClassAs) -> exp.Expression:
    r"""Write a tree as CASE expressions over the columns, or parameters, that hold its attributes.

    A CASE follows the larger subtree, a WHEN for each node, and only the smaller ones are nested: however
    deep the tree is, the nesting, which the engine limits, is not deeper than the logarithm of its size.

    Example:
        >>> leaves = TreeNode(1, 0, "left", 1, (2, 0)), TreeNode(2, 0, "right", 1, (0, 3))
        >>> tree = DecisionTree("original", "good", "VARCHAR", ("no", "yes"), (),
        ...     (TreeNode(0, None, None, 0, (2, 3), "age", 40.0), *leaves))
        >>> decision(tree, column, literal).sql("duckdb")
        'CASE WHEN CAST("age" AS DOUBLE) < CAST(\'40.0\' AS DOUBLE) THEN 0 ELSE 1 END'
    """
    sizes = [1] * len(tree.nodes)
    for node in reversed(tree.nodes):
        if node.parent is not None:
            sizes[node.parent] += sizes[node.id]

    def written(node: TreeNode) -> exp.Expression:
        whens = []
        while not node.is_leaf:
            smaller, larger = sorted(tree.children(node), key=lambda child: sizes[child.id])
            whens.append(exp.If(this=_goes(node, smaller.side, column_of), true=written(smaller)))
            node = larger
        last = class_as(node.label)
        return exp.Case(ifs=whens, default=last) if whens else last

    return written(tree.root)


def _goes(node: TreeNode, side: Side | None, column_of: ColumnOf) -> exp.Expression:
    """Write when a record goes to one side of a split."""
    value, left = column_of(node.column or ""), side == "left"
    if node.cut is None:
        text = _by_letters(exp.cast(value, "VARCHAR"))
        listed = exp.In(this=text, expressions=[literal(known) for known in node.values])
        return listed if left else exp.Or(this=exp.Not(this=listed), expression=_is_null(value))
    compared = exp.LT if left else exp.GTE
    there = compared(this=exp.cast(value, "DOUBLE"), expression=double(node.cut))
    return exp.Or(this=there, expression=_is_null(value)) if left == node.null_left else there


def _by_letters(text: exp.Expression) -> exp.Expression:
    """Compare a text letter by letter, as training does, whatever collation its column has."""
    return exp.Collate(this=text, expression=exp.var("C"))


def _is_null(value: exp.Expression) -> exp.Expression:
    return value.is_(exp.null())


def class_of(tree: DecisionTree, column_of: ColumnOf) -> exp.Expression:
    """Write the predicted class, in the type of the training table's."""
    found = decision(tree, column_of, lambda label: literal(tree.classes[label]))
    return exp.cast(found, exp.DataType.build(tree.class_type, dialect="duckdb"))


def create_macro(tree: DecisionTree, macro: Table) -> str:
    """Write the scalar macro that predicts, plain SQL; its parameters are the columns that the tree uses."""
    parameters = ", ".join(quoted(name) for name in tree.used)
    return f"CREATE MACRO {macro}({parameters}) AS {render(class_of(tree, column))}"


# -- on tables --------------------------------------------------------------------------------------


def columns_for(
    engine: Engine, tree: DecisionTree, table: Table, wanted: Sequence[str] = ()
) -> dict[str, str]:
    """Find the columns that a tree uses, and those wanted, as a table spells them; refuse what it lacks."""
    there = [item.name for item in engine.columns(table)]
    folded = {name.lower() for name in there}
    missing = [name for name in (*tree.used, *wanted) if name.lower() not in folded]
    if missing:
        raise UnknownColumn(
            f"Table {table.name} lacks what the model needs: {', '.join(map(repr, missing))}.",
            f"Its columns are: {choices(missing[0], there)}.",
        )
    return {name: resolve(name, there, table=table.name) for name in (*tree.used, *wanted)}


def confusion(engine: Engine, tree: DecisionTree, test: str) -> list[tuple[int, ...]]:
    """Count, for each class, the records of a table by predicted class; see :meth:`Model.confusion`."""
    table = engine.find(test)
    names = columns_for(engine, tree, table, (tree.class_column,))
    with engine.workspace():
        found = engine.query(render(_confusion(engine, tree, table, names)), step="confusion")
    if not found:
        raise no_records(table.name)
    unknown = sum(records for actual, _, records in found if actual not in tree.classes)
    if unknown:
        raise InvalidSource(
            f"{unknown} records of {table.name} have no class, or one that training did not meet.",
            "Leave them out in a view.",
        )
    matrix = [[0] * len(tree.classes) for _ in tree.classes]
    for actual, label, records in found:
        matrix[tree.classes.index(actual)][label] = records
    return [tuple(row) for row in matrix]


def _confusion(engine: Engine, tree: DecisionTree, table: Table, names: Mapping[str, str]) -> exp.Select:
    """Write what counts records by class, as text, and predicted class; elsewhere they are counted first."""
    label = names[tree.class_column]

    def counted(rows: exp.Expression, actual: exp.Expression) -> exp.Select:
        predicted = decision(tree, lambda name: column(names[name], "s"), literal)
        each = exp.select(alias(actual, "actual"), alias(predicted, "predicted")).from_(rows)
        shown = "actual", "predicted", alias(exp.Count(this=exp.Star()), "records")
        return exp.select(*shown).from_(each.subquery("r")).group_by("actual", "predicted")

    if not is_stand_in(engine, table):
        return counted(aliased(table, "s"), _by_letters(exp.cast(column(label, "s"), "VARCHAR")))
    types = {item.name: item.type for item in engine.columns(table)}
    _check_texts(tree, names, types)
    columns = [Column("actual", types[label]), Column("predicted", "BIGINT"), Column("records", "BIGINT")]
    few = source_of(engine, table).grouped(
        engine, lambda rows: counted(rows, column(label, "s")), columns, step="confusion"
    )
    text = exp.cast(column("actual"), "VARCHAR")
    return exp.select(text, "predicted", exp.cast(column("records"), "BIGINT")).from_(few.expression())


def _check_texts(tree: DecisionTree, names: Mapping[str, str], types: Mapping[str, str]) -> None:
    """Refuse numbers and times where the tree compares texts, which other places write otherwise."""
    for name in tree.used:
        if tree.attribute(name).type == "VARCHAR" and kind_of(types[names[name]]) not in (
            Kind.TEXT,
            Kind.BOOLEAN,
        ):
            raise InvalidSource(
                f"The model takes texts in {name!r}, and that column of the table holds something else.",
                "Make it a text in a view there.",
            )


def predict(engine: Engine, tree: DecisionTree, asked: PredictOptions) -> Predicted:
    """Make a table of the records of another with the predicted class; see :meth:`ppdm_sql.Database.predict`.

    Cost: one scan of the table, which is written.
    """
    from ppdm_sql.methods.trees.predicting_elsewhere import check_place, place_predictions

    engine.require_autocommit()
    into, name = asked.into, asked.column
    source, place = engine.find(asked.table), check_free(engine, into)
    names = columns_for(engine, tree, source)
    there = [item.name for item in engine.columns(source)]
    shown = there if asked.keep is None else resolve_all(asked.keep, there, table=source.name)
    if name.lower() in {other.lower() for other in shown}:
        raise InvalidOption(
            f"Column {name!r} of {source.name} is called as that of the prediction.",
            "Give another name with --column.",
        )
    target, elsewhere = Table(into, place.schema, place.catalog), is_stand_in(engine, source)
    if elsewhere:
        _check_texts(tree, names, {item.name: item.type for item in engine.columns(source)})
    with engine.workspace(), placing(engine, asked.to) as placed, engine.transaction():
        if elsewhere:
            rows = source_of(engine, source)
            place_predictions(engine, tree, rows, names, shown, name, target, check_place(rows, placed))
        else:
            predicted = alias(class_of(tree, lambda used: column(names[used], "t")), name)
            copied = exp.select(*(column(other, "t") for other in shown), predicted)
            select = render(copied.from_(aliased(source, "t")))
            engine.write(f"CREATE TABLE {target} AS {select}", step="predict")
            if placed is not None and not engine.dry:
                placed.write_rows(PlacedRows.of_table(target, [*shown, name], None))
                placed.publish()
        counting = bind("trees/predicted_classes", tables={"target": target}, columns={"predicted": [name]})
        counts = [] if engine.dry else engine.query(counting, step="predicted_classes")
    return Predicted(into, name, dict(counts), None if placed is None else placed.target, elsewhere)
