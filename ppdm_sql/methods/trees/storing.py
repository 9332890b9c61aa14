"""Models in the file: two tables of the schema ppdm, and a macro that predicts in plain SQL."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table, quoted
from ppdm_sql.engine.statements import text
from ppdm_sql.errors import NameTaken, UnknownModel
from ppdm_sql.methods.trees.model import Attribute, DecisionTree, Mode, TreeNode
from ppdm_sql.methods.trees.predicting import Predicted, confusion, create_macro, predict
from ppdm_sql.options import PageOptions, PredictOptions, asks
from ppdm_sql.release.catalogue import check_free, find_listed, parts
from ppdm_sql.release.tables import creation, deletion, insertion, listing
from ppdm_sql.results import SHARE, Result, ResultTable, report
from ppdm_sql.version import __version__

Matrix = tuple[tuple[int, ...], ...]
"""For each class its records by predicted class."""

TREE_KEY = "trained"
"""Key under which ``ppdm.models.parameters`` keeps what else the tree is made of."""


@dataclass(frozen=True)
class ModelRow:
    """One row of ``ppdm.models``."""

    model: str
    mode: Mode  # how it was grown
    source: str  # the training table as the user wrote it
    class_column: str  # what it predicts
    classes: tuple[str, ...]  # the classes as text, in order
    rows: int  # training records
    # options of the training; under `trained` the attributes, the type of the class, and the schema of the
    # macro
    parameters: dict[str, Any]
    test: str | None  # the table that it was tested on, if any
    confusion: Matrix | None  # for each class the tested records by predicted class, if it was tested
    created_at: datetime  # when, in UTC
    version: str  # of ppdm-sql


NODES = ("node", "parent", "side", "depth", "counts", "column", "cut", "values", "null_left")
"""What the table of nodes tells of each, beside what it predicts."""


class Model(Result):
    """A trained model of the current database, made by :meth:`ppdm_sql.Database.train`.

    ``NAME_predict(...)`` predicts in any DuckDB client; its parameters are the columns that the tree uses.
    """

    def __init__(self, engine: Engine, name: str) -> None:
        self.name = name
        self._engine = engine

    def __repr__(self) -> str:
        return f"Model({self.name!r})"

    def tables(self, test: str | None = None) -> list[ResultTable]:
        """Give what the catalogue says of it, its nodes and, if it was tested, how often it is right.

        Args:
            test: A table to test it on, rather than the one of the training.
        """
        row, tree = self.row(), self.tree()
        nodes = [
            [node.id, *(getattr(node, name) for name in NODES[1:]), tree.classes[node.label]]
            for node in tree.nodes
        ]
        matrix, test = (row.confusion, row.test) if test is None else (self.confusion(test), test)
        return [
            ResultTable("model", ("what", "value"), _model_rows(row, tree)),
            ResultTable("nodes", (*NODES, "predicted"), nodes),
            *([] if matrix is None else _test_tables(row.classes, matrix, test)),
        ]

    def row(self) -> ModelRow:
        return find(self._engine, self.name)

    def tree(self) -> DecisionTree:
        row = self.row()
        details = row.parameters[TREE_KEY]
        attributes = tuple(
            Attribute(a["name"], a["type"], tuple(a["cuts"]), tuple(a["values"]), a["noise"])
            for a in details["attributes"]
        )
        rows = self._engine.query(listing("nodes", "node"), {"model": row.model}, step="nodes")
        nodes = tuple(
            TreeNode(id, parent, side, depth, tuple(counts), attribute, cut, tuple(values), null_left)
            for id, parent, side, depth, attribute, cut, values, null_left, counts, _ in rows
        )
        return DecisionTree(row.mode, row.class_column, details["class_type"], row.classes, attributes, nodes)

    def confusion(self, test: str) -> Matrix:
        """Count the records of a table by class (rows) and predicted class (columns), in one scan.

        Raises:
            InvalidSource: The table is empty, or holds classes that training did not meet.
            UnknownColumn: The table lacks a column.
        """
        return tuple(confusion(self._engine, self.tree(), test))

    @asks(PredictOptions)
    def predict(self, options: PredictOptions) -> Predicted:
        """Make a table of the records of another with the predicted class; see ``Database.predict``.

        Cost: one scan of the table, which is written.
        """
        return predict(self._engine, self.tree(), options)

    @asks(PageOptions)
    def report(self, options: PageOptions) -> None:
        """Write a page on the model, with its tree drawn; it is the owner's.

        Raises:
            NameTaken: The file exists and ``force`` is not given.
            InvalidOption: A library or the folder is missing.

        Cost: no scan of a table.
        """
        self._engine.alone(lambda: report().write_model_report(self._engine, self, options))

    def drop(self) -> None:
        """Remove the macro and every row of the catalogue, in one transaction."""
        self._engine.alone(self._drop)

    def _drop(self) -> None:
        self._engine.require_autocommit()
        row = self.row()
        with self._engine.transaction():
            self._engine.write(f"DROP MACRO IF EXISTS {_macro(row)}", step="drop macro")
            for part in ("models", "nodes"):
                self._engine.write(deletion(part), {"model": row.model}, step=f"drop {part}")


def _macro(row: ModelRow) -> Table:
    return Table(f"{row.model}_predict", row.parameters[TREE_KEY]["schema"])


def _model_rows(row: ModelRow, tree: DecisionTree) -> list[tuple[str, object]]:
    options = {name: v for name, v in row.parameters.items() if name not in (TREE_KEY, "noise") and v}
    return [
        ("model", row.model),
        ("mode", f"{row.mode} (ppdm-sql {row.version})"),
        ("source", row.source),
        ("class", row.class_column),
        *options.items(),
        *((f"noise of {item.name}", item.noise) for item in tree.attributes if item.noise),
        ("records", row.rows),
        ("nodes", len(tree.nodes)),
        ("leaves", len(tree.leaves)),
        ("depth", tree.depth),
        ("predicts", f"{Table(f'{row.model}_predict')}({', '.join(map(quoted, tree.used))})"),
        ("created at", row.created_at),
    ]


def _test_tables(classes: Sequence[str], matrix: Matrix, test: str | None) -> list[ResultTable]:
    """Give the tested records by class and predicted class, and the share that is right."""
    rows = [
        (label, *counts, counts[place] / sum(counts) if sum(counts) else None)
        for place, (label, counts) in enumerate(zip(classes, matrix, strict=True))
    ]
    records, heads = sum(map(sum, matrix)), ("class", *(f"as {label}" for label in classes), "right")
    right = [(test or "", records, accuracy(matrix))]
    return [
        ResultTable("confusion", heads, rows, {"right": SHARE}),
        ResultTable("accuracy", ("table", "records", "accuracy"), right, {"accuracy": SHARE}),
    ]


def accuracy(matrix: Sequence[Sequence[int]]) -> float:
    """Give the share of tested records whose class was predicted, in [0, 1]."""
    right = sum(row[place] for place, row in enumerate(matrix))
    return right / sum(map(sum, matrix))


# -- the catalogue ----------------------------------------------------------------------------------


_MODELS = listing("models", "created_at", "model", every=True)


def models(engine: Engine) -> list[ModelRow]:
    if "models" not in parts(engine):
        return []
    return [_row(row) for row in engine.look_up(_MODELS, step="models")]


def _row(row: tuple[Any, ...]) -> ModelRow:
    model, mode, source, class_column, classes, rows, parameters, test, matrix, *origin = row
    counts = None if matrix is None else tuple(map(tuple, matrix))
    return ModelRow(
        model, mode, source, class_column, tuple(classes), rows, json.loads(parameters), test, counts, *origin
    )


def find(engine: Engine, name: str) -> ModelRow:
    rows = {row.model: row for row in models(engine)}
    return find_listed(rows, name, what="model", error=UnknownModel, none="Train one with ppdm train.")


def get_model(engine: Engine, name: str) -> Model:
    """Find a model by its name as it stands, else without regard to case; refuse by :class:`UnknownModel`."""
    return Model(engine, find(engine, name).model)


def check_model_name(engine: Engine, name: str) -> Table:
    """Make sure that nothing is in the way of a model of this name, and say where its macro will stand."""
    place = check_free(engine, name)
    macro = Table(f"{name}_predict", place.schema, place.catalog)
    if engine.look_up(text("trees/macros_in_use"), {"name": macro.name}, step="macros_in_use"):
        raise NameTaken(
            f"There is a macro {macro.name!r} already.", "Choose another name, or drop the macro."
        )
    return macro


def store_model(
    engine: Engine,
    name: str,
    tree: DecisionTree,
    *,
    source: str,
    parameters: Mapping[str, object],
    test: str | None,
    confusion: Sequence[tuple[int, ...]] | None,
) -> Model:
    """Store a tree: its nodes, its row of the catalogue, and the macro, in one transaction.

    ``source`` and ``test`` are tables as the user wrote them; ``confusion`` has, for each class, the tested
    records by predicted class.
    """
    macro = check_model_name(engine, name)
    details = {
        "schema": macro.schema,
        "class_type": tree.class_type,
        "attributes": [asdict(attribute) for attribute in tree.attributes],
    }
    row = {
        "model": name,
        "mode": tree.mode,
        "source": source,
        "class": tree.class_column,
        "classes": list(tree.classes),
        "rows": tree.root.records,
        "parameters": json.dumps({**parameters, TREE_KEY: details}, ensure_ascii=False),
        "test": test,
        "confusion": None if confusion is None else [list(row) for row in confusion],
        "version": __version__,
    }
    nodes = {
        of: [getattr(node, of) for node in tree.nodes]
        for of in ("parent", "side", "depth", "cut", "null_left")
    }
    nodes |= {
        "node": [node.id for node in tree.nodes],
        "attribute": [node.column for node in tree.nodes],
        "categories": [list(node.values) for node in tree.nodes],
        "counts": [list(map(int, node.counts)) for node in tree.nodes],
        "predicted": [tree.classes[node.label] for node in tree.nodes],
    }
    with engine.transaction():
        engine.write(text("release/create_schema"), step="create schema")
        for part in ("models", "nodes"):
            engine.write(creation(part), step=f"create {part}")
        engine.write(insertion("models"), row, step="insert model")
        engine.write(insertion("nodes", many=True), {"model": name, **nodes}, step="insert nodes")
        engine.write(create_macro(tree, macro), step="create macro")
    return Model(engine, name)
