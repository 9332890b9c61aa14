"""The codes of records that live elsewhere: they are kept there, and only counts come here.

Where values are reconstructed, they are sorted there too. Each record gets a number: equal values are told
apart by it, as by the row in DuckDB.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np
from sqlglot import exp

from ppdm_sql.engine import Engine
from ppdm_sql.engine.drawing import kept_elsewhere
from ppdm_sql.engine.names import alias, column
from ppdm_sql.engine.source import Query, Source
from ppdm_sql.engine.statements import literal, union_all
from ppdm_sql.methods.perturbation.noisy_columns import filtered
from ppdm_sql.methods.trees.coded_records import TreeFeature
from ppdm_sql.methods.trees.elsewhere import RecordsElsewhere, grouped_counts, listed, unfolded_runs
from ppdm_sql.methods.trees.root_records import assigned, by_attribute
from ppdm_sql.methods.trees.sorted_assignment import CellAssignment, Ints

ID = "id"
"""The number of a record."""


def root_elsewhere(
    engine: Engine,
    source: Source,
    coded: Query,
    features: Sequence[TreeFeature],
    classes: int,
    *,
    by_class: bool,
) -> RecordsElsewhere:
    """Assign every value to a cell, and keep the codes of the root's records where they live.

    Cost: one scan there. With noise also one GROUP BY an attribute of what is kept, a sort of the records
    near the boundaries of cells, and a join of these to the others, which is kept instead.
    Source: Agrawal, Srikant 2000, section 4.2.
    """
    noisy = {place: feature for place, feature in enumerate(features) if feature.noise is not None}
    if not noisy:
        return RecordsElsewhere(engine, kept_elsewhere(source, coded, step="root records"), features)
    binned = kept_elsewhere(source, coded, step="coded records", number=ID)
    counts = grouped_counts(
        engine,
        binned,
        lambda rows: _fine_counts(rows, [*noisy], by_class=by_class),
        ("attribute", "class", "bin", "records"),
        step="fine counts",
    )
    found = by_attribute(counts, noisy, classes if by_class else 1)
    assignments = {place: assigned(noisy[place], own) for place, own in found.items()}

    def celled(rows: exp.Expression) -> exp.Expression:
        return records_query(rows, features, assignments, by_class=by_class)

    kept = kept_elsewhere(binned, celled, step="root records")
    return RecordsElsewhere(engine, kept, features)


def _fine_counts(rows: exp.Expression, places: Sequence[int], *, by_class: bool) -> exp.Expression:
    """Count the records of each attribute by class, or all of them as of the first, and fine bin."""
    group = column("class", "s") if by_class else literal(0)
    queries = []
    for place in places:
        bin = column(f"bin{place}", "s")
        shown = [alias(literal(place), "attribute"), alias(group.copy(), "class")]
        keys = [bin.copy(), *([group.copy()] if by_class else [])]
        count = alias(exp.Count(this=exp.Star()), "records")
        queries.append(exp.select(*shown, alias(bin, "bin"), count).from_(rows.copy()).group_by(*keys))
    return union_all(queries)


def records_query(
    rows: exp.Expression,
    features: Sequence[TreeFeature],
    assignments: Mapping[int, CellAssignment],
    *,
    by_class: bool,
) -> exp.Expression:
    """Write the SELECT that gives each record the cell of its bin, or of its rank in a bin that is divided.

    Example: whole bins of the first and the last of three cells.
        >>> from ppdm_sql.engine.statements import formatted
        >>> from ppdm_sql.methods.perturbation.noise import Domain, Uniform
        >>> from ppdm_sql.methods.perturbation.reconstruction import Grid
        >>> from ppdm_sql.methods.trees.coded_records import numeric_feature
        >>> age = numeric_feature("Age", Grid(0, 25, 4), Uniform(25.0, Domain(0, 100)))
        >>> cells = CellAssignment(np.array([[0, 12, 0], [12, 513, 2]]), np.empty((0, 4)))
        >>> query = records_query(exp.table_("kept", alias="s"), [age], {0: cells}, by_class=False)
        >>> print(formatted(query.sql("duckdb")))
        SELECT
          "s"."node" AS "node",
          "s"."class" AS "class",
          "w0"."cell" AS "code0"
        FROM kept AS s
        JOIN (
          SELECT
            UNNEST(GENERATE_SERIES(low, high - 1)) AS bin,
            cell
          FROM (VALUES
            (0, 12, 0),
            (12, 513, 2)) AS v(low, high, cell)
        ) AS w0
          ON "w0"."bin" = "s"."bin0"
    """
    shown = [alias(column(name, "s"), name) for name in ("node", "class")]
    divided, whole = list[exp.Expression](), list[tuple[str, exp.Query, exp.Expression]]()
    for place, feature in enumerate(features):
        if place not in assignments:
            shown.append(alias(column(f"code{place}", "s"), f"code{place}"))
            continue
        assignment, bin = assignments[place], _bin(feature, place, by_class=by_class)
        bins = unfolded_runs(_tuples(assignment.whole), "bin", "cell")
        whole.append((f"w{place}", bins, exp.EQ(this=column("bin", f"w{place}"), expression=bin)))
        cell: exp.Expression = column("cell", f"w{place}")
        if len(assignment.divided):
            divided.append(_ranked(rows, place, bin, assignment.divided))
            cell = exp.Coalesce(this=column(f"cell{place}", "d"), expressions=[cell])
        shown.append(alias(cell, f"code{place}"))
    query = exp.select(*shown).from_(rows.copy())
    for name, bins, same_bin in whole:
        query = query.join(bins.subquery(name), on=same_bin)
    if not divided:
        return query
    cells = [_of_attribute(place) for place in assignments]
    parts = cast(exp.Query, union_all(divided)).subquery("p")
    ranked = exp.select("id", *cells).from_(parts).group_by("id").subquery("d")
    same = exp.EQ(this=column("id", "d"), expression=column(ID, "s"))
    return query.join(ranked, on=same, join_type="left")


def _of_attribute(place: int) -> exp.Expression:
    own = exp.EQ(this=exp.column("attribute"), expression=literal(place))
    return alias(filtered(exp.Max(this=exp.column("cell")), own), f"cell{place}")


def _bin(feature: TreeFeature, place: int, *, by_class: bool) -> exp.Expression:
    """Give the number of a record's fine bin among those of all classes, each with one for NULL."""
    bin = column(f"bin{place}", "s")
    if not by_class:
        return bin
    first = exp.Mul(this=column("class", "s"), expression=literal(feature.bins + 1))
    return exp.Add(this=first, expression=bin)


def _ranked(rows: exp.Expression, place: int, bin: exp.Expression, divided: Ints) -> exp.Select:
    """Write ``attribute, id, cell`` of the records in divided bins: the rank by value tells the cell."""
    among = exp.In(
        this=bin.copy(), expressions=[literal(number) for number in np.unique(divided[:, 0]).tolist()]
    )
    shown = [
        alias(column(ID, "s"), "id"),
        alias(bin.copy(), "bin"),
        alias(column(f"value{place}", "s"), "value"),
    ]
    some = exp.select(*shown).from_(rows.copy()).where(among)
    rank = exp.Window(
        this=exp.RowNumber(),
        partition_by=[exp.column("bin")],
        order=exp.Order(expressions=[exp.Ordered(this=exp.column(name)) for name in ("value", "id")]),
    )
    ranked = exp.select("id", "bin", alias(exp.Sub(this=rank, expression=literal(1)), "rank"))
    parts = listed(_tuples(divided), ["bin", "low", "high", "cell"], "b")
    own = "b.bin = r.bin AND r.rank >= b.low AND r.rank < b.high"
    found = exp.select(alias(literal(place), "attribute"), "r.id", "b.cell")
    return found.from_(ranked.from_(some.subquery("p")).subquery("r")).join(parts, on=own)


def _tuples(rows: Ints) -> list[tuple[int, ...]]:
    return [tuple(row) for row in rows.tolist()]
