"""What is behind the noise at the root: distributions, and the cells that records are assigned to by them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.methods.perturbation.reconstruction import reconstruct_batch
from ppdm_sql.methods.perturbation.transition_matrices import Array
from ppdm_sql.methods.trees.cells import TreeFeature
from ppdm_sql.methods.trees.sorted_assignment import (
    Assignment,
    Ints,
    assigned,
    divided,
    ends,
    write_parts,
    write_runs,
)

SMALL = 1000
"""Records below which a node takes the root's cells instead of reconstructing distributions of its own."""


def cell_ends(counts: Ints, kernel: Array) -> Ints:
    """Reconstruct the distribution behind each row of counts, and give the rank at which each cell ends.

    Args:
        counts: Records by group and cell of the noisy value.
        kernel: See :func:`ppdm_sql.methods.perturbation.transition_matrices.kernel`.
    """
    return ends(reconstruct_batch(counts, kernel).probabilities, counts.sum(axis=1))


def root_records(
    engine: Engine,
    coded: Table,
    features: Sequence[TreeFeature],
    classes: int,
    *,
    by_class: bool,
    local: bool,
) -> Table:
    """Assign every value to a cell, and write the records as the root holds them.

    Args:
        engine: Inside a workspace.
        coded: The records; see :mod:`ppdm_sql.methods.trees.cells`.
        features: The attributes.
        classes: Number of classes.
        by_class: Whether distributions are reconstructed for each class, or over all records.
        local: Whether nodes will reconstruct their own.

    Returns:
        The working table ``records``; see :mod:`ppdm_sql.methods.trees.growing`.

    Cost: one GROUP BY an attribute, a sort of the records near the boundaries of its cells, and one scan that
    looks all cells up.
    """
    noisy = [place for place, feature in enumerate(features) if feature.noise is not None]
    group = "r.g" if by_class else "0"
    found = {
        place: _at_root(features[place], counts)
        for place, counts in _fine_counts(engine, coded, features, noisy, group, classes).items()
    }
    cells = {place: write_runs(engine, assignment) for place, assignment in found.items()}
    sorted_ones = _divided(engine, coded, features, found, group)
    shown = ["0::INTEGER AS node", "r.g", *(["r.rowid AS id"] if local else [])]
    joins = []
    for place, feature in enumerate(features):
        if place not in cells:
            shown.append(f"r.k{place}")
            continue
        joins.append(f"JOIN {cells[place]} AS t{place} ON t{place}.key = {_key(feature, place, group)}")
        cell = f"t{place}.cell" if sorted_ones is None else f"coalesce(d.c{place}, t{place}.cell)"
        cell = f"({cell})::{feature.code}"
        shown += (
            [f"{_bin(feature, place)} AS k{place}", f"{cell} AS c{place}"]
            if local
            else [f"{cell} AS k{place}"]
        )
    if sorted_ones is not None:
        joins.append(f"LEFT JOIN {sorted_ones} AS d ON d.id = r.rowid")
    return engine.materialize("records", f"SELECT {', '.join(shown)} FROM {coded} AS r {' '.join(joins)}")


def _key(feature: TreeFeature, place: int, group: str) -> str:
    return f"{group} * {feature.bins + 1}::BIGINT + r.f{place}"


def _bin(feature: TreeFeature, place: int) -> str:
    """Give SQL for the code of a value that is not assigned: its cell as it is observed, or NULL's code."""
    null = feature.observed.cells + feature.cells
    known = f"r.f{place} // {feature.fine}"
    return f"(CASE WHEN r.f{place} = {feature.bins} THEN {null} ELSE {known} END)::USMALLINT"


def _fine_counts(
    engine: Engine,
    coded: Table,
    features: Sequence[TreeFeature],
    noisy: Sequence[int],
    group: str,
    classes: int,
) -> dict[int, Ints]:
    """Count the records of each attribute by group and fine bin, NULL left out."""
    groups = 1 if group == "0" else classes
    parts = [
        f"SELECT {place}::USMALLINT AS a, {group}::USMALLINT AS b, r.f{place} AS f, count(*) AS n "
        f"FROM {coded} AS r GROUP BY ALL"
        for place in noisy
    ]
    rows = engine.arrays(" UNION ALL ".join(parts), step="fine_counts")
    found = {}
    for place in noisy:
        mine = rows["a"] == place
        counts = np.zeros((groups, features[place].bins + 1), dtype=np.int64)
        counts[rows["b"][mine], rows["f"][mine]] = rows["n"][mine]
        found[place] = counts[:, :-1]
    return found


def _at_root(feature: TreeFeature, counts: Ints) -> Assignment:
    """Assign the fine bins of an attribute to cells; every key gets a run, for a join to find."""
    observed = counts.reshape(len(counts), feature.observed.cells, feature.fine).sum(axis=2)
    bases = np.arange(len(counts)) * (feature.bins + 1)
    found = assigned(counts, cell_ends(observed, feature.kernel), bases)
    nulls = np.stack(
        [bases + feature.bins, bases + feature.bins + 1, np.full(len(bases), feature.cells)], axis=1
    )
    keys = np.unique(found.parts[:, 0])
    held = np.stack([keys, keys + 1, np.zeros_like(keys)], axis=1)
    return Assignment(np.concatenate([found.runs, nulls, held]), found.parts)


def _divided(
    engine: Engine, coded: Table, features: Sequence[TreeFeature], found: dict[int, Assignment], group: str
) -> Table | None:
    """Write the cells of the records that had to be sorted, a row a record and a column an attribute."""
    parts, places = [], []
    for place, assignment in found.items():
        if not len(assignment.parts):
            continue
        records = (
            f"SELECT r.rowid AS id, {_key(features[place], place, group)} AS key, r.w{place} AS w "
            f"FROM {coded} AS r"
        )
        rows = divided(records, write_parts(engine, assignment))
        parts.append(f"SELECT {place} AS a, id, cell FROM ({rows})")
        places.append(place)
    if not parts:
        return None
    cells = ", ".join(
        f"max(cell) FILTER (a = {place}) AS c{place}" if place in places else f"NULL::USMALLINT AS c{place}"
        for place in found
    )
    return engine.materialize("divided", f"SELECT id, {cells} FROM ({' UNION ALL '.join(parts)}) GROUP BY id")
