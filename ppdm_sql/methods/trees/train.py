"""Decision trees from original, randomized and reconstructed values.

Source: Agrawal, Srikant 2000, "Privacy-Preserving Data Mining", SIGMOD, section 4.
"""

from __future__ import annotations

from typing import cast

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table, resolve, resolve_all
from ppdm_sql.engine.records import read_records
from ppdm_sql.engine.statements import bind
from ppdm_sql.errors import InvalidOption, said
from ppdm_sql.methods.trees.coded_records import coded_records
from ppdm_sql.methods.trees.features import class_type, classes_of, features
from ppdm_sql.methods.trees.model import MODES, RECONSTRUCTED, DecisionTree, Mode
from ppdm_sql.methods.trees.predicting import columns_for, confusion
from ppdm_sql.methods.trees.pruning import numbered, pruned
from ppdm_sql.methods.trees.request import TrainRequest
from ppdm_sql.methods.trees.root_records import SMALL, root_records
from ppdm_sql.methods.trees.storing import Model, check_model_name, store_model
from ppdm_sql.methods.trees.tree_growth import Limits, TreeGrowth
from ppdm_sql.progress import Progress, warn

__all__ = ["TrainRequest", "train"]
LEAST_SPLIT = 20
"""Nodes with fewer records are not split, unless asked."""
SHARE = 1000
"""Nor are nodes with less than one of so many records."""
MOST_DEPTH = 64
"""Splits above a node, at most."""
MOST_INTERVALS = 1000
"""Cells of an attribute, at most."""


def train(engine: Engine, source: str, request: TrainRequest, progress: Progress) -> Model:
    """Grow a tree, test it, and store it in one transaction.

    Raises:
        PpdmError: An option, a column or the table cannot be used; nothing was stored.
    """
    engine.require_autocommit()
    _check(request)
    check_model_name(engine, request.into)
    try:
        with engine.workspace():
            tree = _trained(engine, source, request, progress)
            matrix = None
            if request.test is not None:
                progress.start(f"testing on {request.test}")
                _read_test(engine, tree, request.test)
                matrix = confusion(engine, tree, request.test)
            return store_model(
                engine,
                request.into,
                tree,
                source=source,
                parameters=_parameters(request, tree),
                test=request.test,
                confusion=matrix,
            )
    finally:
        progress.stop()


def _trained(engine: Engine, source: str, request: TrainRequest, progress: Progress) -> DecisionTree:
    progress.start(f"reading {source}")
    table, mode = engine.find(source), cast(Mode, request.mode)
    read_records(engine, table, _columns_read(engine, source, table, request))
    read, label, found = features(engine, source, table, request, progress)
    classes = classes_of(engine, read, label)
    coded = coded_records(engine, read, label, classes, found)
    counts = _class_counts(engine, coded, len(classes))
    if mode == "local" and sum(counts) < SMALL:
        warn(progress, f"With fewer than {SMALL} records, the mode local does what byclass does.")
    local = mode == "local" and sum(counts) >= SMALL
    progress.start(f"growing a tree ({mode})")
    if any(feature.noise is not None for feature in found):
        records = root_records(engine, coded, found, len(classes), by_class=mode != "global", local=local)
    else:
        records = engine.materialize("records", bind("trees/root_as_coded", tables={"coded": coded}))
    limits = _limits(request, sum(counts))
    nodes = TreeGrowth(engine, records, coded if local else None, found, limits, progress).grow(counts)
    attributes = tuple(feature.attribute for feature in found)
    kept = pruned(nodes, attributes) if request.prune else numbered(nodes)
    return DecisionTree(mode, label, class_type(engine, table, label), classes, attributes, kept)


def _columns_read(engine: Engine, source: str, table: Table, request: TrainRequest) -> set[str] | None:
    """Give the columns that are read of a table; None for all."""
    names = [item.name for item in engine.columns(table)]
    label = resolve(request.class_column, names, table=source)
    chosen = resolve_all(request.columns, names, table=source)
    return {label, *chosen} if chosen else None


def _read_test(engine: Engine, tree: DecisionTree, test: str) -> None:
    """Read the columns that the test needs, where its table lives elsewhere."""
    table = engine.find(test)
    read_records(engine, table, columns_for(engine, tree, table, (tree.class_column,)).values())


def _class_counts(engine: Engine, coded: Table, classes: int) -> list[int]:
    counting = bind("trees/class_counts", tables={"coded": coded})
    found: dict[int, int] = dict(engine.query(counting, step="class_counts"))
    return [found.get(position, 0) for position in range(classes)]


def _limits(request: TrainRequest, records: int) -> Limits:
    given = request.min_split
    least = max(LEAST_SPLIT, records // SHARE) if given is None else given
    return Limits(least, MOST_DEPTH if request.max_depth is None else request.max_depth)


def _check(request: TrainRequest) -> None:
    if request.mode not in MODES:
        raise InvalidOption(f"There is no mode {said(request.mode)}.", f"Give --mode {', '.join(MODES)}.")
    for option, given, least, most in (
        ("--intervals", request.intervals, 2, MOST_INTERVALS),
        ("--max-depth", request.max_depth, 0, MOST_DEPTH),
        ("--min-split", request.min_split, 2, None),
    ):
        if given is not None and (given < least or (most is not None and given > most)):
            allowed = f"at least {least}" if most is None else f"from {least} to {most}"
            raise InvalidOption(f"{option} {given} cannot be used.", f"Give a whole number, {allowed}.")
    if request.mode == "original" and request.noise:
        raise InvalidOption(
            "The mode original knows of no noise, yet --noise is given.",
            f"Leave it out, or give --mode {', '.join(RECONSTRUCTED)}.",
        )


def _parameters(request: TrainRequest, tree: DecisionTree) -> dict[str, object]:
    return {
        "columns": [attribute.name for attribute in tree.attributes],
        "intervals": request.intervals,
        "max_depth": request.max_depth,
        "min_split": _limits(request, tree.root.records).min_split,
        "prune": request.prune,
        "noise": {item.name: item.noise for item in tree.attributes if item.noise is not None},
    }
