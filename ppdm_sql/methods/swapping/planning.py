"""A plan of swaps: how many records of each identifiable pattern take which other value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

import numpy as np

from ppdm_sql.engine import Engine, statements
from ppdm_sql.engine.names import Table
from ppdm_sql.errors import EngineError, InvalidOption
from ppdm_sql.methods.base.arrays import Counts
from ppdm_sql.methods.swapping.exact import ExactSearch, Prices, Solution, SwapConstraints, reduced_costs
from ppdm_sql.methods.swapping.greedy import greedy
from ppdm_sql.methods.swapping.identification import IdentifiableRecords
from ppdm_sql.methods.swapping.marginals import (
    Demand,
    Flows,
    Share,
    bounds,
    check_share,
    default_band,
    feasible_proportions,
    joint,
    least_deviation,
    rounded_changes,
    separate,
)
from ppdm_sql.methods.swapping.posteriors import SCALE, Candidates, by_code, candidates, keyed_hash
from ppdm_sql.progress import Progress, warn
from ppdm_sql.release.draft import MeasureRow

Method = Literal["exact", "greedy"]
PhaseOne = Literal["joint", "separate"]
MOST_BLUR = 10.0


@dataclass(frozen=True, kw_only=True)
class SwapOptions:
    """What is asked of a plan.

    Args:
        proportion: Of the uniquely identifiable records, so many change; in (0, 1].
        per_group: Records to change in each group: so many, or this proportion; never all, never none.
        method: ``exact`` for the optimum, ``greedy`` for the paper's swaps.
        phase1: ``joint`` keeps the marginal of all records together, ``separate`` that of either kind.
        share: Bounds on the changed share of each category; None for a band around the proportion.
        blur: Scale of the noise on the costs, in units of probability, in [0, 10].
        smoothing: Added to every count of the posteriors, at least 0.
        seed: What random choices are derived from; a secret.
        column: Name of the confidential column, for notices.
    """

    proportion: Fraction
    seed: bytes
    per_group: int | Fraction = 1
    method: Method = "exact"
    phase1: PhaseOne = "joint"
    share: Share | None = None
    blur: float = 0.0
    smoothing: float = 0.0
    column: str = "the column"


@dataclass(frozen=True)
class Plan:
    """Which patterns change, and what that costs.

    Args:
        moves: Working table: the pattern's key, ``kind``, ``category`` (the new code), ``records``, ``cost``.
        measures: Name, before and after, for the catalogue.
        flows: Changed records by true and new category.
        deviation: Sum over the categories of records gained or lost; 0 keeps the marginal exactly.
        share: Bounds on the changed share of each category, before they are rounded to records.
        fewest: Fewest changed records of each category.
        most: Most changed records of each category.
        rounds: Scans of the records (exact) or passes of swaps (greedy).
        one_each: Whether no more than one record of a pattern moves.
    """

    moves: Table
    measures: Sequence[MeasureRow]
    flows: Counts
    deviation: int
    share: tuple[float, float]
    fewest: Counts
    most: Counts
    rounds: int
    one_each: bool


def swap_plan(
    engine: Engine, identified: IdentifiableRecords, options: SwapOptions, progress: Progress
) -> Plan:
    """Choose which records change, and to what.

    Args:
        engine: Where the atoms are.
        identified: The identifiable patterns.
        options: What is asked.
        progress: Told of notices: a marginal that cannot be kept, a band that was widened.

    Raises:
        InvalidOption: An option cannot be used, or a share that cannot hold.

    Cost: some scans of the atoms and of the candidates; see :class:`ExactSearch` and :func:`greedy`.

    Source: Li and Sarkar 2004.
    """
    _check_options(options)
    found = candidates(
        engine,
        identified,
        per_group=options.per_group,
        smoothing=options.smoothing,
        blur=options.blur,
        seed=options.seed,
    )
    demand, share = _demand(found, options, progress)
    phase1 = separate(demand) if options.phase1 == "separate" else None
    if options.method == "greedy":
        start = phase1 or joint(demand)
        solution, deviation = greedy(engine, found, start, options.seed), start.deviation
    else:
        constraints = _constraints(demand, phase1)
        solution, deviation = ExactSearch(engine, found, constraints).solve(), constraints.deviation
    assignment = assign(engine, found, solution.prices, solution.ties, solution.moved, options.seed)
    _check(assignment, demand, deviation)
    if deviation:
        warn(progress, _marginal_not_kept(demand, deviation, options.column))
    settled = attacker_share(engine, found, assignment.moves)
    engine.discard(found.table)
    return _plan(found, assignment, solution, demand, share, deviation, settled)


def _check_options(options: SwapOptions) -> None:
    """Refuse a blur, smoothing or share that cannot be used; other options are checked as they are read."""
    if not 0 <= options.blur <= MOST_BLUR:
        raise InvalidOption(
            f"A blur of {options.blur:g} cannot be used.", f"Give --blur in [0, {MOST_BLUR:g}]."
        )
    if not 0 <= options.smoothing < float("inf"):
        raise InvalidOption(
            f"A smoothing of {options.smoothing:g} cannot be used.", "Give a number of 0 or more."
        )
    if options.share is not None:
        check_share(options.share, options.proportion)


def _demand(found: Candidates, options: SwapOptions, progress: Progress) -> tuple[Demand, Share]:
    changes = rounded_changes(options.proportion, int(found.unique.sum()))
    free = Demand(found.unique, found.grouped, changes, np.zeros_like(found.unique), found.unique)
    share = options.share
    if share is not None:
        low, high = bounds(share, found.unique, changes)
        return replace(free, low=low, high=high), share
    band = default_band(options.proportion, free)
    if not band.narrow and options.phase1 == "joint":
        progress.notice(
            f"To keep the marginal distribution of {options.column}, the changed share of a value's records "
            f"is let vary from {float(band.share[0]):.3f} to {float(band.share[1]):.3f}."
        )
    return replace(free, low=band.low, high=band.high), band.share


def _constraints(demand: Demand, phase1: Flows | None) -> SwapConstraints:
    if phase1 is not None:
        return SwapConstraints(demand, phase1.deviation, phase1.net)
    return SwapConstraints(demand, least_deviation(demand), None)


def _marginal_not_kept(demand: Demand, deviation: int, name: str) -> str:
    """Say that the marginal cannot be kept, and under which proportions it could."""
    feasible = feasible_proportions(demand.unique, demand.grouped)
    records = max(1, int(demand.unique.sum()))
    if feasible is None:
        advice = "No --proportion keeps it."
    elif demand.categories == 2 and feasible[0] < demand.changes / records < feasible[1]:
        other = (demand.changes + 1) / records
        advice = (
            f"With two values an even number of records must change: --proportion {other:.6g} may keep it."
        )
    else:
        low, high = feasible
        advice = (
            f"It can be kept with --proportion from {low:.4g} to {high:.4g}, if the other options let it."
        )
    problem = f"The marginal distribution of {name} cannot be kept"
    return f"{problem}: the counts of its values change by {deviation} in all. {advice}"


def _check(assignment: RecordAssignment, demand: Demand, deviation: int) -> None:
    """Compare what was done with what was asked; a difference is a fault of this package."""
    left = assignment.unique.sum(axis=1)
    kept = (
        int(left.sum()) == demand.changes
        and bool((left >= demand.low).all() and (left <= demand.high).all())
        and bool((assignment.grouped.sum(axis=1) == demand.grouped).all())
        and Flows(assignment.unique, assignment.grouped).deviation == deviation
        and not np.trace(assignment.unique) + np.trace(assignment.grouped)
    )
    if not kept:
        raise EngineError("The plan does not do what was asked.", "Try another --seed, and report this.")


def _plan(
    found: Candidates,
    assignment: RecordAssignment,
    solution: Solution,
    demand: Demand,
    share: Share,
    deviation: int,
    settled: float | None,
) -> Plan:
    unique, proved = assignment.unique.sum(axis=1), solution.bound
    held = demand.unique > 0
    reached, fewest, most = (part[held] / demand.unique[held] for part in (unique, demand.low, demand.high))
    measures: list[MeasureRow] = [("objective", None, assignment.objective)]
    if proved is not None and found.blurred:
        measures.append(("objective with noise", None, solution.objective / SCALE))
    measures += [
        ("bound", None, None if proved is None else proved / SCALE),
        ("gap", None, None if proved is None else (solution.objective - proved) / SCALE),
        ("uniquely identifiable records changed", float(demand.unique.sum()), float(unique.sum())),
        ("collectively identifiable records changed", None, float(assignment.grouped.sum())),
        ("marginal deviation", 0.0, float(deviation)),
        ("least changed share of a value", None, float(reached.min(initial=1.0))),
        ("largest changed share of a value", None, float(reached.max(initial=0.0))),
        ("least changed share allowed", None, float(fewest.min(initial=1.0))),
        ("largest changed share allowed", None, float(most.max(initial=0.0))),
        ("changed records settled by a modelling attacker", None, settled),
    ]
    return Plan(
        moves=assignment.moves,
        measures=measures,
        flows=assignment.unique + assignment.grouped,
        deviation=deviation,
        share=(float(share[0]), float(share[1])),
        fewest=demand.low,
        most=demand.high,
        rounds=solution.rounds,
        one_each=found.keys == found.pattern,
    )


@dataclass(frozen=True)
class RecordAssignment:
    """The records that change.

    Args:
        moves: Working table: the pattern's key, ``kind``, ``category`` (the new one), ``records``, ``cost``.
        unique: Uniquely identifiable records by true and new category, shape (C, C).
        grouped: Members of groups by true and new category.
        objective: Sum of the costs without noise, in units of probability.
    """

    moves: Table
    unique: Counts
    grouped: Counts
    objective: float


def assign(
    engine: Engine, candidates: Candidates, prices: Prices, ties: Table, moved: Counts, seed: bytes
) -> RecordAssignment:
    """Let every record do what is best at the prices, and share the ties out by a keyed hash.

    Args:
        engine: Where the candidates are.
        candidates: The records that may change.
        prices: The prices.
        ties: Working table of the keys and ``class`` of records that are decided one class at a time.
        moved: Records of each class by category entered; those left over in the last column stay.
        seed: Decides which records of a class move.

    Cost: one scan of the candidates.
    """
    chosen = _chosen(engine, candidates, ties, moved, seed)
    moves = engine.materialize("moves", changes(candidates, prices, ties, chosen))
    engine.discard(chosen)
    return _counted(engine, moves, candidates.categories)


def changes(candidates: Candidates, prices: Prices, ties: Table, chosen: Table) -> str:
    """Give SQL for the records that move: those that no tie holds, by the prices, and the chosen ones."""
    size, keys, pattern = candidates.categories, ", ".join(candidates.keys), ", ".join(candidates.pattern)
    posteriors = [f"{'unblurred_' if candidates.blurred else 'p'}{h}" for h in range(size)]
    carried = [*candidates.keys, "kind", "true_posterior", *posteriors]
    # without a tie one choice costs nothing
    choices = reduced_costs(
        candidates.table, prices, np.zeros((2, size), dtype=np.int64), [n for n in carried if n != "kind"]
    )
    best = " ".join(f"WHEN reduced_cost_{h} = 0 THEN {h}" for h in range(size))
    untied = (
        f"SELECT {', '.join(carried)}, CASE {best} END AS category FROM ({choices}) AS f "
        f"ANTI JOIN {ties} USING ({keys}) WHERE reduced_cost_stay < 0"
    )
    tied = f"SELECT {', '.join(carried)}, category FROM {candidates.table} JOIN {chosen} USING ({keys})"
    rows = (
        f"SELECT {pattern}, kind, category::USMALLINT AS category, "
        f"(true_posterior - {by_code('category', posteriors)})::BIGINT AS cost "
        f"FROM ({untied} UNION ALL {tied})"
    )
    if candidates.keys == candidates.pattern:
        return f"SELECT {pattern}, kind, category, 1::BIGINT AS records, cost FROM ({rows})"
    return (
        f"SELECT {pattern}, kind, category, count(*) AS records, sum(cost)::BIGINT AS cost FROM ({rows}) "
        f"GROUP BY {pattern}, kind, category"
    )


def _chosen(engine: Engine, candidates: Candidates, ties: Table, moved: Counts, seed: bytes) -> Table:
    """Give the records of the ties that move, with the category that they enter."""
    classes, categories = np.nonzero(moved[:, : candidates.categories])
    records = moved[classes, categories]
    # of a class, the first records enter one category, the next ones another
    summed, begins = np.cumsum(records), np.searchsorted(classes, classes)
    last = summed - (summed - records)[begins]
    quotas = {"classes": classes, "categories": categories, "last": last, "records": records}
    keys = ", ".join(candidates.keys)
    order = f"{keyed_hash(seed, candidates.keys, 'tie')}, {keys}"
    return engine.materialize(
        "chosen",
        f"SELECT {keys}, q.category FROM (SELECT {keys}, class, "
        f"row_number() OVER (PARTITION BY class ORDER BY {order}) AS place FROM {ties}) AS t "
        "JOIN (SELECT unnest($classes::BIGINT[]) AS class, unnest($categories::BIGINT[]) AS category, "
        "unnest($last::BIGINT[]) AS last, unnest($records::BIGINT[]) AS records) AS q "
        "ON q.class = t.class AND t.place <= q.last AND t.place > q.last - q.records",
        {name: values.tolist() for name, values in quotas.items()},
    )


def _counted(engine: Engine, moves: Table, size: int) -> RecordAssignment:
    rows = engine.query(statements.bind("swapping/flows", tables={"moves": moves}), step="flows")
    flows = np.zeros((2 * size, size), dtype=np.int64)
    for kind, category, records, _ in rows:
        flows[kind, category] = records
    return RecordAssignment(moves, flows[:size], flows[size:], sum(int(row[3]) for row in rows) / SCALE)


SURE = 0.98
SAMPLE = 100_000
CELL = 200
"""Records that a cell should hold, which decides how finely differences are told apart."""


def attacker_share(engine: Engine, candidates: Candidates, moves: Table) -> float | None:
    """Measure the share of the changed unique records that an attacker settles; None where none changed."""
    if not candidates.unique.sum():
        return None
    ((settled, changed),) = engine.query(
        f"SELECT coalesce(sum(changed) FILTER (changed + 1 >= {SURE!r}::DOUBLE * (records + 2)), 0)::BIGINT, "
        f"sum(changed)::BIGINT FROM ({_cells(candidates, moves)})",
        step="settled_share",
    )
    return settled / changed if changed else None


def _cells(candidates: Candidates, moves: Table) -> str:
    """Give SQL for the records and changed records of each cell, of a sample."""
    size, records = candidates.categories, int(candidates.unique.sum())
    part = -(-records // SAMPLE)
    steps = max(8, min(256, min(records, SAMPLE) // (CELL * size)))
    posterior = "unblurred_" if candidates.blurred else "p"
    listed = ", ".join(
        f"CASE WHEN kind = {h} THEN true_posterior ELSE {posterior}{h} END AS posterior_{h}"
        for h in range(size)
    )
    shown = by_code("shown", [f"posterior_{h}" for h in range(size)])
    others = ", ".join(f"CASE WHEN shown = {h} THEN -1 ELSE posterior_{h} END" for h in range(size))
    rival = f"list_position([{others}], greatest({others}))"
    ahead = f"(({shown} - greatest({others})) * {steps}::BIGINT // {2 * SCALE})"
    keys = ", ".join(candidates.pattern)
    sampled = (
        f"SELECT {listed}, coalesce(m.category, u.kind) AS shown, m.category IS NOT NULL AS changed "
        f"FROM {candidates.table} AS u LEFT JOIN (SELECT {keys}, category FROM {moves}) AS m USING ({keys}) "
        f"WHERE u.kind < {size} AND hash({keys}) % {part} = 0"
    )
    return (
        f"SELECT count(*) AS records, count(*) FILTER (changed) AS changed FROM ({sampled}) "
        f"GROUP BY shown, {rival}, {ahead}"
    )
