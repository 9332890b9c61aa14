"""A plan of swaps: how many records of each identifiable pattern take which other value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from ppdm_sql.engine import Engine, statements
from ppdm_sql.engine.names import Table
from ppdm_sql.engine.statements import rows_of_lists
from ppdm_sql.errors import EngineError, InvalidOption
from ppdm_sql.methods.base.arrays import Counts
from ppdm_sql.methods.swapping.exact import ExactSearch, Solution, reduced_costs
from ppdm_sql.methods.swapping.greedy import greedy
from ppdm_sql.methods.swapping.identification import IdentifiableRecords
from ppdm_sql.methods.swapping.marginals import (
    Demand,
    Flows,
    Share,
    bounds,
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

MOST_BLUR = 10.0


@dataclass(frozen=True, kw_only=True)
class SwapOptions:
    proportion: Fraction
    seed: bytes
    per_group: int | Fraction = 1
    method: str = "exact"
    phase1: str = "joint"
    share: Share | None = None
    blur: float = 0.0
    smoothing: float = 0.0
    column: str = "the column"


@dataclass(frozen=True)
class Plan:
    """Which patterns change, and what that costs."""

    moves: Table  # the pattern's key, kind, category (the new code), records, cost
    measures: Sequence[MeasureRow]
    flows: Counts  # changed records by true and new category
    demand: Demand
    share: Share  # bounds on the changed share of each category, before they are rounded to records


def swap_plan(
    engine: Engine, identified: IdentifiableRecords, options: SwapOptions, progress: Progress
) -> Plan:
    """Choose which records change, and to what; some scans of the atoms and of the candidates.

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
    apart = separate(demand) if options.phase1 == "separate" else None
    if apart is None:
        demand = replace(demand, deviation=least_deviation(demand))
    else:
        demand = replace(demand, deviation=apart.deviation, net=apart.net)
    if options.method == "greedy":
        solution = greedy(engine, found, apart or joint(demand), options.seed)
    else:
        solution = ExactSearch(engine, found, demand).solve()
    assignment = assign(engine, found, solution, options.seed)
    _check(assignment.flows, demand)
    if demand.deviation:
        warn(progress, _marginal_not_kept(demand, options.column))
    settled = attacker_share(engine, found, assignment.moves)
    engine.discard(found.table)
    measures = _measures(found, assignment, solution, demand, settled)
    flows = assignment.flows.unique + assignment.flows.grouped
    return Plan(assignment.moves, measures, flows, demand, share)


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
    if options.share is None:
        return
    low, high = options.share
    if not low <= options.proportion <= high:
        asked = f"{float(options.proportion):g}"
        raise InvalidOption(
            f"If every category changes by {float(low):g} to {float(high):g} of its records, all of them "
            f"together cannot change by {asked}.",
            f"Give a --share with LOW <= {asked} <= HIGH, or 0,1 for none.",
        )


def _demand(found: Candidates, options: SwapOptions, progress: Progress) -> tuple[Demand, Share]:
    changes = rounded_changes(options.proportion, int(found.unique.sum()))
    free = Demand(found.unique, found.grouped, changes, np.zeros_like(found.unique), found.unique)
    if options.share is not None:
        low, high = bounds(options.share, found.unique, changes)
        return replace(free, low=low, high=high), options.share
    demand, share, narrow = default_band(options.proportion, free)
    if not narrow and options.phase1 == "joint":
        progress.notice(
            f"To keep the marginal distribution of {options.column}, the changed share of a value's records "
            f"is let vary from {float(share[0]):.3f} to {float(share[1]):.3f}."
        )
    return demand, share


def _marginal_not_kept(demand: Demand, name: str) -> str:
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
    return f"{problem}: the counts of its values change by {demand.deviation} in all. {advice}"


def _check(flows: Flows, demand: Demand) -> None:
    """Compare what was done with what was asked; a difference is a fault of this package."""
    left = flows.unique.sum(axis=1)
    kept = (
        int(left.sum()) == demand.changes
        and bool((left >= demand.low).all() and (left <= demand.high).all())
        and bool((flows.grouped.sum(axis=1) == demand.grouped).all())
        and flows.deviation == demand.deviation
        and not np.trace(flows.unique) + np.trace(flows.grouped)
    )
    if not kept:
        raise EngineError("The plan does not do what was asked.", "Try another --seed, and report this.")


def _measures(
    found: Candidates, assignment: RecordAssignment, solution: Solution, demand: Demand, settled: float | None
) -> list[MeasureRow]:
    flows, proved, held = assignment.flows, solution.bound, demand.unique > 0
    parts = (flows.unique.sum(axis=1), demand.low, demand.high)
    reached, fewest, most = (part[held] / demand.unique[held] for part in parts)
    measures: list[MeasureRow] = [("objective", None, assignment.objective)]
    if proved is not None and found.blurred:
        measures.append(("objective with noise", None, solution.objective / SCALE))
    return [
        *measures,
        ("bound", None, None if proved is None else proved / SCALE),
        ("gap", None, None if proved is None else (solution.objective - proved) / SCALE),
        ("uniquely identifiable records changed", float(demand.unique.sum()), float(flows.unique.sum())),
        ("collectively identifiable records changed", None, float(flows.grouped.sum())),
        ("marginal deviation", 0.0, float(demand.deviation)),
        ("least changed share of a value", None, float(reached.min(initial=1.0))),
        ("largest changed share of a value", None, float(reached.max(initial=0.0))),
        ("least changed share allowed", None, float(fewest.min(initial=1.0))),
        ("largest changed share allowed", None, float(most.max(initial=0.0))),
        ("changed records settled by a modelling attacker", None, settled),
    ]


# -- the records that change ----------------------------------------------------------------------


class RecordAssignment(NamedTuple):
    """The records that change, by pattern, and the sum of their costs without noise, as a probability."""

    moves: Table
    flows: Flows
    objective: float


def assign(engine: Engine, candidates: Candidates, solution: Solution, seed: bytes) -> RecordAssignment:
    """Let every record do what is best at the prices, and share the ties out by a keyed hash."""
    chosen, size = _chosen(engine, candidates, solution, seed), candidates.categories
    moves = engine.materialize("moves", _changes(candidates, solution, chosen))
    engine.discard(chosen)
    rows = engine.query(statements.bind("swapping/flows", tables={"moves": moves}), step="flows")
    flows = np.zeros((2 * size, size), dtype=np.int64)
    for kind, category, records, _ in rows:
        flows[kind, category] = records
    objective = sum(int(row[3]) for row in rows) / SCALE
    return RecordAssignment(moves, Flows(flows[:size], flows[size:]), objective)


def _changes(candidates: Candidates, solution: Solution, chosen: Table) -> str:
    """Give SQL for the records that move: those that no tie holds, by the prices, and the chosen ones."""
    size, keys, pattern = candidates.categories, ", ".join(candidates.keys), ", ".join(candidates.pattern)
    posteriors = [f"{'unblurred_' if candidates.blurred else 'p'}{h}" for h in range(size)]
    carried = [*candidates.keys, "true_posterior", *posteriors]
    # without a tie one choice costs nothing
    no_boxes = np.zeros((2, size), dtype=np.int64)
    choices = reduced_costs(candidates.table, solution.prices, no_boxes, carried)
    best = " ".join(f"WHEN reduced_cost_{h} = 0 THEN {h}" for h in range(size))
    listed = ", ".join([*carried, "kind"])
    untied = (
        f"SELECT {listed}, CASE {best} END AS category FROM ({choices}) AS f "
        f"ANTI JOIN {solution.ties} USING ({keys}) WHERE reduced_cost_stay < 0"
    )
    tied = f"SELECT {listed}, category FROM {candidates.table} JOIN {chosen} USING ({keys})"
    rows = (
        f"SELECT {pattern}, kind, category::USMALLINT AS category, "
        f"(true_posterior - {by_code('category', posteriors)})::BIGINT AS cost "
        f"FROM ({untied} UNION ALL {tied})"
    )
    return (
        f"SELECT {pattern}, kind, category, count(*) AS records, sum(cost)::BIGINT AS cost FROM ({rows}) "
        f"GROUP BY {pattern}, kind, category"
    )


def _chosen(engine: Engine, candidates: Candidates, solution: Solution, seed: bytes) -> Table:
    """Give the records of the ties that move, with the category that they enter; those left over stay."""
    classes, categories = np.nonzero(solution.moved[:, : candidates.categories])
    records = solution.moved[classes, categories]
    # of a class, the first records enter one category, the next ones another
    summed, begins = np.cumsum(records), np.searchsorted(classes, classes)
    last = summed - (summed - records)[begins]
    quotas = {"class": classes, "category": categories, "last": last, "records": records}
    keys = ", ".join(candidates.keys)
    order = f"{keyed_hash(seed, candidates.keys, 'tie')}, {keys}"
    return engine.materialize(
        "chosen",
        f"SELECT {keys}, q.category FROM (SELECT {keys}, class, "
        f"row_number() OVER (PARTITION BY class ORDER BY {order}) AS place FROM {solution.ties}) AS t "
        f"JOIN ({rows_of_lists(**dict.fromkeys(quotas, 'BIGINT'))}) AS q "
        "ON q.class = t.class AND t.place <= q.last AND t.place > q.last - q.records",
        {name: values.tolist() for name, values in quotas.items()},
    )


# -- what an attacker could tell -------------------------------------------------------------------

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
