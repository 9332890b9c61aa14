"""Decision trees from original, randomized and reconstructed values.

Source: Agrawal, Srikant 2000, "Privacy-Preserving Data Mining", SIGMOD, section 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.engine.source import is_stand_in, source_of
from ppdm_sql.engine.statements import bind
from ppdm_sql.errors import InvalidOption, check_choice
from ppdm_sql.methods.trees.coded_records import TreeFeature, coded_records
from ppdm_sql.methods.trees.elsewhere import (
    check_class,
    check_mode,
    class_counts,
    coded,
)
from ppdm_sql.methods.trees.features import MOST_VALUES, class_type, classes_of, features
from ppdm_sql.methods.trees.level_records import LevelRecords, RecordsHere
from ppdm_sql.methods.trees.model import MODES, RECONSTRUCTED, DecisionTree, Mode
from ppdm_sql.methods.trees.predicting import confusion
from ppdm_sql.methods.trees.pruning import numbered, pruned
from ppdm_sql.methods.trees.root_elsewhere import root_elsewhere
from ppdm_sql.methods.trees.root_records import SMALL, root_records
from ppdm_sql.methods.trees.storing import Model, check_model_name, store_model
from ppdm_sql.methods.trees.tree_growth import Limits, TreeGrowth, code_offsets
from ppdm_sql.methods.trees.values_elsewhere import VALUE, values_elsewhere
from ppdm_sql.options import TrainRequest
from ppdm_sql.progress import Progress, warn

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
    elsewhere = is_stand_in(engine, table)
    if elsewhere:
        check_mode(mode, source)
    read, label, found = features(engine, source, table, request, progress)
    if elsewhere:
        check_class(dict(engine.columns(read))[label], label, source)
    prepared = _prepared_elsewhere if elsewhere else _prepared
    classes, counts, records, offsets = prepared(engine, read, label, found, mode, progress)
    limits = _limits(request, sum(counts))
    nodes = TreeGrowth(records, found, offsets, limits, progress).grow(counts)
    attributes = tuple(feature.attribute for feature in found)
    kept = pruned(nodes, attributes) if request.prune else numbered(nodes)
    return DecisionTree(mode, label, class_type(engine, table, label), classes, attributes, kept)


Prepared = tuple[tuple[str, ...], list[int], LevelRecords, list[int]]
"""The classes, the records of each, those of the root, and the first settled code of each attribute."""


def _prepared(
    engine: Engine,
    table: Table,
    label: str,
    found: Sequence[TreeFeature],
    mode: Mode,
    progress: Progress,
) -> Prepared:
    """Write the records of the root as codes."""
    classes = classes_of(engine, table, label)
    coded_table = coded_records(engine, table, label, classes, found)
    counts = _class_counts(engine, coded_table, len(classes))
    if mode == "local" and sum(counts) < SMALL:
        warn(progress, f"With fewer than {SMALL} records, the mode local does what byclass does.")
    local = mode == "local" and sum(counts) >= SMALL
    progress.start(f"growing a tree ({mode})")
    if any(feature.noise is not None for feature in found):
        records = root_records(
            engine, coded_table, found, len(classes), by_class=mode != "global", local=local
        )
    else:
        records = engine.materialize("records", bind("trees/root_as_coded", tables={"coded": coded_table}))
    offsets = code_offsets(found, local=local)
    return classes, counts, RecordsHere(engine, records, coded_table if local else None, offsets), offsets


def _prepared_elsewhere(
    engine: Engine,
    table: Table,
    label: str,
    found: Sequence[TreeFeature],
    mode: Mode,
    progress: Progress,
) -> Prepared:
    """Let the records of the root be coded where they live."""
    (item,) = (item for item in engine.columns(table) if item.name == label)
    listed = values_elsewhere(engine, table, item, MOST_VALUES + 1)
    classes = classes_of(engine, listed, label, VALUE)
    counts = class_counts(engine, listed, classes)
    progress.start(f"growing a tree ({mode})")
    records = root_elsewhere(
        engine,
        source_of(engine, table),
        coded(item, classes, found),
        found,
        len(classes),
        by_class=mode != "global",
    )
    return classes, counts, records, code_offsets(found, local=False)


def _class_counts(engine: Engine, coded: Table, classes: int) -> list[int]:
    counting = bind("trees/class_counts", tables={"coded": coded})
    found: dict[int, int] = dict(engine.query(counting, step="class_counts"))
    return [found.get(position, 0) for position in range(classes)]


def _limits(request: TrainRequest, records: int) -> Limits:
    given = request.min_split
    least = max(LEAST_SPLIT, records // SHARE) if given is None else given
    return Limits(least, MOST_DEPTH if request.max_depth is None else request.max_depth)


def _check(request: TrainRequest) -> None:
    check_choice("mode", request.mode, MODES)
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
