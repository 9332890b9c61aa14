"""The reconstructed cells of the root's records: each value goes to a cell of the original distribution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.methods.base.arrays import Floats
from ppdm_sql.methods.perturbation.reconstruction import reconstruct_distributions
from ppdm_sql.methods.trees.coded_records import TreeFeature
from ppdm_sql.methods.trees.sorted_assignment import (
    CellAssignment,
    Ints,
    assign_bins,
    cell_ends,
    sorted_query,
    write_divided_bins,
    write_whole_bins,
)

SMALL = 1000
"""Records below which a node takes the root's cells instead of reconstructing distributions of its own."""


def reconstructed_ends(counts: Ints, kernel: Floats) -> Ints:
    """Reconstruct the distribution of each row of counts, and give the rank at which each cell ends."""
    return cell_ends(reconstruct_distributions(counts, kernel).probabilities, counts.sum(axis=1))


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

    Distributions are reconstructed for each class, or over all records (Global); ``local`` keeps what nodes
    need to reconstruct their own.

    Cost: one GROUP BY an attribute, a sort of the records near the boundaries of its cells, and one scan that
    looks all cells up.
    Source: Agrawal, Srikant 2000, section 4.2.
    """
    noisy = {place: feature for place, feature in enumerate(features) if feature.noise is not None}
    group = "r.class" if by_class else "0"
    assignments = {
        place: assigned(noisy[place], counts)
        for place, counts in _fine_counts(engine, coded, noisy, group, classes if by_class else 1).items()
    }
    cells = {place: write_whole_bins(engine, assignment) for place, assignment in assignments.items()}
    divided = _divided_records(engine, coded, noisy, assignments, group)
    return engine.materialize("records", records_query(coded, features, cells, divided, group, local=local))


def records_query(
    coded: Table,
    features: Sequence[TreeFeature],
    cells: Mapping[int, Table],
    divided: Table | None,
    group: str,
    *,
    local: bool,
) -> str:
    """Write the SELECT that looks up the cells of whole bins, and those of the records that were sorted.

    Example: of an age, reconstructed by class.
        >>> from ppdm_sql.engine.statements import formatted
        >>> from ppdm_sql.methods.perturbation.noise import Domain, Uniform
        >>> from ppdm_sql.methods.perturbation.reconstruction import Grid
        >>> from ppdm_sql.methods.trees.coded_records import numeric_feature
        >>> age = numeric_feature("Age", Grid(0, 25, 4), Uniform(25.0, Domain(0, 100)))
        >>> cells, divided = {0: Table("whole_bins")}, Table("divided")
        >>> print(formatted(records_query(Table("coded"), [age], cells, divided, "r.class", local=False)))
        SELECT
          CAST(0 AS INT) AS node,
          r.class,
          CAST((
            COALESCE(d.cell0, w0.cell)
          ) AS UTINYINT) AS code0
        FROM "coded" AS r
        JOIN "whole_bins" AS w0
          ON w0.bin = r.class * CAST(513 AS BIGINT) + r.bin0
        LEFT JOIN "divided" AS d
          ON d.id = r.rowid
    """
    shown = ["0::INTEGER AS node", "r.class", *(["r.rowid AS id"] if local else [])]
    joins = []
    for place, feature in enumerate(features):
        if place not in cells:
            shown.append(f"r.code{place}")
            continue
        joins.append(f"JOIN {cells[place]} AS w{place} ON w{place}.bin = {_bin(feature, place, group)}")
        cell = f"w{place}.cell" if divided is None else f"coalesce(d.cell{place}, w{place}.cell)"
        cell = f"({cell})::{feature.code_type}"
        own = [f"{_noisy_code(feature, place)} AS code{place}", f"{cell} AS cell{place}"]
        shown += own if local else [f"{cell} AS code{place}"]
    if divided is not None:
        joins.append(f"LEFT JOIN {divided} AS d ON d.id = r.rowid")
    return f"SELECT {', '.join(shown)} FROM {coded} AS r {' '.join(joins)}"


def _bin(feature: TreeFeature, place: int, group: str) -> str:
    """Give SQL for the number of a record's fine bin among those of all groups, each with one for NULL."""
    return f"{group} * {feature.bins + 1}::BIGINT + r.bin{place}"


def _noisy_code(feature: TreeFeature, place: int) -> str:
    """Give SQL for the code of a value that is not assigned: its cell as it is observed, or NULL's code."""
    null = feature.observed.cells + feature.cells
    known = f"r.bin{place} // {feature.fine}"
    return f"(CASE WHEN r.bin{place} = {feature.bins} THEN {null} ELSE {known} END)::USMALLINT"


def _fine_counts(
    engine: Engine, coded: Table, noisy: Mapping[int, TreeFeature], group: str, groups: int
) -> dict[int, Ints]:
    """Count the records of each attribute by group and fine bin, NULL left out."""
    parts = [
        f"SELECT {place}::USMALLINT AS attribute, {group}::USMALLINT AS class, r.bin{place} AS bin, "
        f"count(*) AS records FROM {coded} AS r GROUP BY ALL"
        for place in noisy
    ]
    return by_attribute(engine.arrays(" UNION ALL ".join(parts), step="fine_counts"), noisy, groups)


def by_attribute(
    rows: Mapping[str, NDArray[Any]], noisy: Mapping[int, TreeFeature], groups: int
) -> dict[int, Ints]:
    """Put counts of fine bins into a matrix for each attribute, with a row a group; NULL is left out."""
    found = {}
    for place, feature in noisy.items():
        mine = rows["attribute"] == place
        counts = np.zeros((groups, feature.bins + 1), dtype=np.int64)
        counts[rows["class"][mine], rows["bin"][mine]] = rows["records"][mine]
        found[place] = counts[:, :-1]
    return found


def assigned(feature: TreeFeature, counts: Ints) -> CellAssignment:
    """Assign the fine bins of an attribute to cells; every bin gets a row, for an inner join to find."""
    observed = counts.reshape(len(counts), feature.observed.cells, feature.fine).sum(axis=2)
    first_bins = np.arange(len(counts)) * (feature.bins + 1)
    found = assign_bins(counts, reconstructed_ends(observed, feature.kernel), first_bins)
    null = first_bins + feature.bins
    nulls = np.stack([null, null + 1, np.full_like(null, feature.cells)], axis=1)
    divided = np.unique(found.divided[:, 0])
    placeholders = np.stack([divided, divided + 1, np.zeros_like(divided)], axis=1)
    return CellAssignment(np.concatenate([found.whole, nulls, placeholders]), found.divided)


def _divided_records(
    engine: Engine,
    coded: Table,
    noisy: Mapping[int, TreeFeature],
    assignments: Mapping[int, CellAssignment],
    group: str,
) -> Table | None:
    """Write the cells of the records that had to be sorted, a row a record and a column an attribute."""
    parts = []
    cells = [f"NULL::USMALLINT AS cell{place}" for place in noisy]
    for number, (place, assignment) in enumerate(assignments.items()):
        if len(assignment.divided):
            records = (
                f"SELECT r.rowid AS id, {_bin(noisy[place], place, group)} AS bin, r.value{place} AS value "
                f"FROM {coded} AS r"
            )
            rows = sorted_query(records, write_divided_bins(engine, assignment))
            parts.append(f"SELECT {place} AS attribute, id, cell FROM ({rows}) AS s")
            cells[number] = f"max(cell) FILTER (attribute = {place}) AS cell{place}"
    if not parts:
        return None
    every = f"SELECT id, {', '.join(cells)} FROM ({' UNION ALL '.join(parts)}) AS p GROUP BY id"
    return engine.materialize("divided", every)
