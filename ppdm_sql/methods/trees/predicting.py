"""Prediction by a tree: one expression in plain SQL, for a macro, a table and a confusion matrix."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.names import Table, column, resolve, resolve_all
from ppdm_sql.engine.source import Source, is_stand_in, over, selected_elsewhere, source_of
from ppdm_sql.engine.statements import Statement, bind, joined, literal, sql
from ppdm_sql.engine.types import Kind, double, kind_of, type_tree
from ppdm_sql.errors import GuaranteeNotMet, InvalidOption, InvalidSource, UnknownColumn, choices, no_records
from ppdm_sql.methods.trees.model import DecisionTree, TreeNode, children_of
from ppdm_sql.options import PredictOptions
from ppdm_sql.release.catalogue import check_free
from ppdm_sql.release.placing import PlacedRows, Placing, placing

ColumnOf = Callable[[str], exp.Expression | Statement]
"""Gives the column, or the parameter, that holds an attribute."""


@dataclass(frozen=True)
class Predicted:
    """A table that was made by a model."""

    into: str
    column: str  # its column with the predicted class
    classes: dict[str, int]  # records by predicted class
    to: str | None = None  # where the rows stand outside of the database, if they do
    is_view: bool = False  # whether they stand there alone, and a view reads them in place


# -- the expression ---------------------------------------------------------------------------------


def decision(
    nodes: Sequence[TreeNode], column_of: ColumnOf, leaf: Callable[[TreeNode], Statement]
) -> Statement:
    """Write a tree as CASE expressions over the columns of its attributes; ``leaf`` writes its ends.

    A CASE follows the larger subtree, a WHEN for each node, and only the smaller ones are nested: however
    deep the tree is, the nesting, which the engine limits, is not deeper than the logarithm of its size.
    """
    sizes, children = [1] * len(nodes), children_of(nodes)
    for node in reversed(nodes):
        if node.parent is not None:
            sizes[node.parent] += sizes[node.id]

    def case_of(node: TreeNode) -> Statement:
        whens = []
        while not node.is_leaf:
            smaller, larger = sorted(children[node.id], key=lambda child: sizes[child.id])
            goes = _goes(node, column_of(node.column or ""), left=smaller.side == "left")
            whens.append(sql("WHEN {goes} THEN {below}", goes=goes, below=case_of(smaller)))
            node = larger
        last = leaf(node)
        return sql("CASE {whens} ELSE {last} END", whens=joined(whens, " "), last=last) if whens else last

    return case_of(nodes[0])


def _goes(node: TreeNode, value: exp.Expression | Statement, *, left: bool) -> Statement:
    if node.cut is None:
        # letter by letter, as training does, whatever collation the column has
        values = [literal(text) for text in node.values]
        among = sql("CAST({v} AS VARCHAR) COLLATE C IN ({values})", v=value, values=values)
        return among if left else sql("NOT {among} OR {v} IS NULL", among=among, v=value)
    comparison = "CAST({v} AS DOUBLE) < {cut}" if left else "CAST({v} AS DOUBLE) >= {cut}"
    below = sql(comparison, v=value, cut=double(node.cut))
    return sql("{below} OR {v} IS NULL", below=below, v=value) if left == node.null_left else below


def class_of(tree: DecisionTree, column_of: ColumnOf) -> Statement:
    """Write the predicted class, in the type of the training table's."""
    label = decision(tree.nodes, column_of, lambda node: sql("{c}", c=literal(tree.classes[node.label])))
    return sql("CAST({label} AS {t})", label=label, t=type_tree(tree.class_type))


def create_macro(tree: DecisionTree, macro: Table) -> str:
    """Write the scalar macro that predicts, plain SQL; its parameters are the columns that the tree uses."""
    parameters = [column(name) for name in tree.used]
    return sql("CREATE MACRO {m}({p}) AS {c}", m=macro, p=parameters, c=class_of(tree, column))


# -- on tables --------------------------------------------------------------------------------------


def columns_for(engine: Engine, tree: DecisionTree, table: Table, more: Sequence[str] = ()) -> dict[str, str]:
    """Find the columns that a tree uses, and more, as a table spells them; refuse what it lacks."""
    names = [item.name for item in engine.columns(table)]
    lower_names = {name.lower() for name in names}
    missing = [name for name in (*tree.used, *more) if name.lower() not in lower_names]
    if missing:
        raise UnknownColumn(
            f"Table {table.name} lacks what the model needs: {', '.join(map(repr, missing))}.",
            f"Its columns are: {choices(missing[0], names)}.",
        )
    return {name: resolve(name, names, table=table.name) for name in (*tree.used, *more)}


def confusion(engine: Engine, tree: DecisionTree, test: str) -> list[tuple[int, ...]]:
    table = engine.find(test)
    names = columns_for(engine, tree, table, (tree.class_column,))
    with engine.workspace():
        counts = engine.query(_confusion(engine, tree, table, names), step="confusion")
    if not counts:
        raise no_records(table.name)
    unknown = sum(records for actual, _, records in counts if actual not in tree.classes)
    if unknown:
        raise InvalidSource(
            f"{unknown} records of {table.name} have no class, or one that training did not meet.",
            "Leave them out in a view.",
        )
    matrix = [[0] * len(tree.classes) for _ in tree.classes]
    for actual, label, records in counts:
        matrix[tree.classes.index(actual)][label] = records
    return [tuple(row) for row in matrix]


def _confusion(engine: Engine, tree: DecisionTree, table: Table, names: Mapping[str, str]) -> Statement:
    """Write what counts records by class, as text, and predicted class; elsewhere they are counted first."""
    label = column(names[tree.class_column], "s")
    predicted = decision(
        tree.nodes, lambda name: column(names[name], "s"), lambda node: sql("{label}", label=node.label)
    )

    def count(rows: Table, actual: Statement) -> Statement:
        return sql(
            "SELECT actual, predicted, count(*) AS records "
            "FROM (SELECT {actual} AS actual, {predicted} AS predicted FROM {rows} AS s) AS r "
            "GROUP BY actual, predicted",
            actual=actual,
            predicted=predicted,
            rows=rows,
        )

    if not is_stand_in(engine, table):
        return count(table, sql("CAST({c} AS VARCHAR) COLLATE C", c=label))
    types = {item.name: item.type for item in engine.columns(table)}
    _check_texts(tree, names, types)
    kind = types[names[tree.class_column]]
    columns = [Column("actual", kind), Column("predicted", "BIGINT"), Column("records", "BIGINT")]
    query = over(lambda rows: count(rows, sql("{c}", c=label)))
    few = source_of(engine, table).grouped(engine, query, columns, step="confusion")
    return sql("SELECT CAST(actual AS VARCHAR), predicted, records FROM {few}", few=few)


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


def predict(engine: Engine, tree: DecisionTree, options: PredictOptions) -> Predicted:
    engine.require_autocommit()
    into, name = options.into, options.column
    source, place = engine.find(options.table), check_free(engine, into)
    names = columns_for(engine, tree, source)
    present = [item.name for item in engine.columns(source)]
    kept = present if options.keep is None else resolve_all(options.keep, present, table=source.name)
    if name.lower() in {other.lower() for other in kept}:
        raise InvalidOption(
            f"Column {name!r} of {source.name} is called as that of the prediction.",
            "Give another name with --column.",
        )
    target, elsewhere = Table(into, place.schema, place.catalog), is_stand_in(engine, source)
    if elsewhere:
        _check_texts(tree, names, {item.name: item.type for item in engine.columns(source)})
    with engine.workspace(), placing(engine, options.to) as placed, engine.transaction():
        predicted = class_of(tree, lambda used: column(names[used], "s"))
        if elsewhere:
            rows = source_of(engine, source)
            _place(engine, rows, predicted, [*kept, name], target, _check_place(rows, placed))
        else:
            columns = [
                *(column(other, "s") for other in kept),
                sql("{p} AS {n}", p=predicted, n=column(name)),
            ]
            create = "CREATE TABLE {target} AS SELECT {columns} FROM {source} AS s"
            engine.write(sql(create, target=target, columns=columns, source=source), step="predict")
            if placed is not None and not engine.dry:
                placed.write_rows(PlacedRows.of_table(target, [*kept, name], None))
                placed.give_name()
        counting = bind("trees/predicted_classes", tables={"target": target}, columns={"predicted": [name]})
        counts = [] if engine.dry else engine.query(counting, step="predicted_classes")
    return Predicted(into, name, dict(counts), None if placed is None else placed.target, elsewhere)


def _check_place(source: Source, placed: Placing | None) -> Placing:
    """Refuse to predict for a table that lives elsewhere where its rows cannot be written there."""
    if placed is None:
        raise InvalidOption(
            f"The records of {source.shown} stay where they live, and nothing says where their classes go.",
            "Give --to the path of a folder for the rows and their predicted classes.",
        )
    if not placed.takes_drawn:
        raise InvalidOption(
            f"{placed.target} is not the plain path of a folder, in which predictions can be read in place.",
            "Give --to a path such as /data/classified, without any of *?[]{}.",
        )
    return placed


def _place(
    engine: Engine, source: Source, predicted: Statement, names: Sequence[str], target: Table, placed: Placing
) -> None:
    """Write rows and their class, the last of the names, where they live, and make a view that reads them."""
    outputs = {name: f"v{place}" for place, name in enumerate(names[:-1])} | {names[-1]: "predicted"}

    def classified(rows: Table) -> Statement:
        columns = [sql("{c} AS v{p}", c=column(name, "s"), p=place) for place, name in enumerate(names[:-1])]
        columns.append(sql("{p} AS predicted", p=predicted))
        return sql("SELECT {columns} FROM {rows} AS s", columns=columns, rows=rows)

    placed.write_drawn(selected_elsewhere(source, over(classified), step="predict"), outputs)
    if not engine.dry:
        count = over(lambda rows: sql("SELECT count(*) FROM {rows} AS s", rows=rows))
        ((records,),) = source.aggregate(count, step="count rows")
        if sum(file.rows for file in placed.files) != records:
            raise GuaranteeNotMet(
                f"What was written for {placed.target} has not as many rows as {source.shown}, so nothing "
                "was made.",
                "Check that every worker sees the disk, and run it again.",
            )
        source.check_unchanged()
        placed.give_name()
    engine.write(sql("CREATE VIEW {t} AS {r}", t=target, r=placed.stored_rows(list(outputs))), step="predict")
