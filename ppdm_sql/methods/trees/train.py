"""Decision trees from original, randomized and reconstructed values.

Source: Agrawal, Srikant 2000, "Privacy-Preserving Data Mining", SIGMOD, section 4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.errors import InvalidOption, said
from ppdm_sql.methods.trees.cells import coded
from ppdm_sql.methods.trees.features import Wanted, class_type, classes_of, features
from ppdm_sql.methods.trees.growing import Growing, Limits
from ppdm_sql.methods.trees.model import MODES, RECONSTRUCTED, DecisionTree, Mode
from ppdm_sql.methods.trees.predicting import confusion
from ppdm_sql.methods.trees.pruning import numbered, pruned
from ppdm_sql.methods.trees.root_records import SMALL, root_records
from ppdm_sql.methods.trees.storing import Model, check_model_name, store_model
from ppdm_sql.progress import Progress, warn

LEAST_SPLIT = 20
"""Nodes with fewer records are not split, unless asked."""
SHARE = 1000
"""Nor are nodes with less than one of so many records."""
MOST_DEPTH = 64
"""Splits above a node, at most."""
MOST_INTERVALS = 1000
"""Cells of an attribute, at most."""


@dataclass(frozen=True, kw_only=True)
class TrainRequest:
    """What is asked of a training; see :meth:`ppdm_sql.Database.train` for each."""

    class_column: str
    into: str
    mode: str = "byclass"
    columns: Sequence[str] = ()
    intervals: int | None = None
    max_depth: int | None = None
    min_split: int | None = None
    prune: bool = True
    noise: Mapping[str, str] | Sequence[str] = ()
    ranges: Mapping[str, tuple[object, object]] = field(default_factory=dict)
    test: str | None = None


def train(engine: Engine, source: str, request: TrainRequest, progress: Progress) -> Model:
    """Grow a tree, test it, and store it in one transaction.

    Args:
        engine: The database.
        source: Table or view to read.
        request: What is asked.
        progress: Told what the run is doing.

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
    wanted = Wanted(
        request.class_column, request.columns, mode, request.intervals, request.noise, request.ranges
    )
    read, label, found = features(engine, source, table, wanted, progress)
    classes = classes_of(engine, read, label)
    rows = coded(engine, read, label, classes, found)
    counts = _class_counts(engine, rows, len(classes))
    if mode == "local" and sum(counts) < SMALL:
        warn(progress, f"With fewer than {SMALL} records, the mode local does what byclass does.")
    local = mode == "local" and sum(counts) >= SMALL
    records, start = rows, "0::INTEGER AS node"
    progress.start(f"growing a tree ({mode})")
    if any(feature.noise is not None for feature in found):
        records = root_records(engine, rows, found, len(classes), by_class=mode != "global", local=local)
    else:
        records = engine.materialize("records", f"SELECT {start}, * FROM {rows}")
    growing = Growing(
        engine, records, rows if local else None, found, _limits(request, sum(counts)), progress
    )
    nodes = growing.grow(counts)
    attributes = tuple(feature.attribute for feature in found)
    kept = pruned(nodes, attributes) if request.prune else numbered(nodes)
    return DecisionTree(mode, label, class_type(engine, table, label), classes, attributes, kept)


def _class_counts(engine: Engine, rows: Table, classes: int) -> list[int]:
    found: dict[int, int] = dict(
        engine.query(f"SELECT g, count(*) FROM {rows} GROUP BY g", step="class_counts")
    )
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
