"""A plan of swaps: how many records of each identifiable pattern take which other value."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

import numpy as np

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.errors import EngineError, InvalidOption
from ppdm_sql.methods.swapping.assignment import RecordAssignment, assign
from ppdm_sql.methods.swapping.changed_shares import (
    Share,
    bounds,
    check_share,
    default_band,
    rounded_changes,
)
from ppdm_sql.methods.swapping.exact import ExactSearch, Solution
from ppdm_sql.methods.swapping.greedy import greedy
from ppdm_sql.methods.swapping.identification import Counts, IdentifiableRecords
from ppdm_sql.methods.swapping.lagrangian_prices import SwapConstraints
from ppdm_sql.methods.swapping.marginal_deviation import (
    Demand,
    Flows,
    feasible_proportions,
    joint,
    least_deviation,
    separate,
)
from ppdm_sql.methods.swapping.modelling_attacker import attacker_share
from ppdm_sql.methods.swapping.posteriors import SCALE, Candidates, candidates
from ppdm_sql.methods.swapping.safeguards import MOST_CATEGORIES
from ppdm_sql.progress import Progress, warn

Method = Literal["exact", "greedy"]
PhaseOne = Literal["joint", "separate"]
MOST_BLUR = 10.0
SEED_BYTES = 32


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
        seed: What random choices are derived from; None for the operating system's.
        column: Name of the confidential column, for notices.
    """

    proportion: Fraction
    per_group: int | Fraction = 1
    method: Method = "exact"
    phase1: PhaseOne = "joint"
    share: Share | None = None
    blur: float = 0.0
    smoothing: float = 0.0
    seed: bytes | None = None
    column: str = "the column"


@dataclass(frozen=True)
class Plan:
    """Which patterns change, and what that costs.

    Args:
        moves: Working table: the pattern's key, ``kind``, ``category`` (the new code), ``records``, ``cost``.
        seed: What random choices are derived from; a secret.
        measures: Name, before and after, for the catalogue.
        objective: Sum over the changed records of the true value's posterior less the new one's.
        bound: No plan costs less than this, noise on the costs included; NaN for the greedy method.
        gap: What the plan may be above the optimum, noise included; NaN for the greedy method.
        changed_unique: Changed records of the uniquely identifiable ones, by true category.
        changed_grouped: Changed records of groups, by true category.
        flows: Changed records by true and new category.
        deviation: Sum over the categories of records gained or lost; 0 keeps the marginal exactly.
        feasible: Least and largest proportion that keep the marginal, where it is not kept and they exist.
        share: Bounds on the changed share of each category, before they are rounded to records.
        fewest: Fewest changed records of each category.
        most: Most changed records of each category.
        settled: Share of the changed unique records that a modelling attacker settles.
        rounds: Scans of the records (exact) or passes of swaps (greedy).
        one_each: Whether no more than one record of a pattern moves.
    """

    moves: Table
    seed: bytes
    measures: Sequence[tuple[str, float | None, float | None]]
    objective: float
    bound: float
    gap: float
    changed_unique: Counts
    changed_grouped: Counts
    flows: Counts
    deviation: int
    feasible: tuple[float, float] | None
    share: tuple[float, float]
    fewest: Counts
    most: Counts
    settled: float | None
    rounds: int
    one_each: bool = False


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
    check_options(options, identified.categories)
    seed = options.seed if options.seed is not None else secrets.token_bytes(SEED_BYTES)
    found = candidates(
        engine,
        identified,
        per_group=options.per_group,
        smoothing=options.smoothing,
        blur=options.blur,
        seed=seed,
    )
    demand, share = _demand(found, options, progress)
    phase1 = separate(demand) if options.phase1 == "separate" else None
    if options.method == "greedy":
        start = phase1 or joint(demand)
        solution, deviation = greedy(engine, found, start, seed), start.deviation
    else:
        constraints = _constraints(demand, phase1)
        solution, deviation = ExactSearch(engine, found, constraints).solve(), constraints.deviation
    assignment = assign(engine, found, solution.prices, solution.ties, solution.moved, seed)
    _check(assignment, demand, deviation)
    feasible = _feasible(demand, deviation, options.column, progress)
    settled = attacker_share(engine, found, assignment.moves)
    engine.discard(found.table)
    return _plan(found, assignment, solution, demand, share, deviation, feasible, settled, seed)


def check_options(options: SwapOptions, categories: int) -> None:
    """Refuse options that cannot be used.

    Raises:
        InvalidOption: With what to give instead.
    """
    if not 0 < options.proportion <= 1:
        raise InvalidOption(
            f"A proportion of {float(options.proportion):g} cannot be changed.",
            "Give --proportion in (0, 1].",
        )
    if not options.per_group > 0 or (isinstance(options.per_group, Fraction) and options.per_group > 1):
        raise InvalidOption(
            f"{options.per_group} records of a group cannot be changed.",
            "Give a whole number of 1 or more, or a proportion in (0, 1].",
        )
    if not 0 <= options.blur <= MOST_BLUR:
        raise InvalidOption(
            f"A blur of {options.blur:g} cannot be used.", f"Give --blur in [0, {MOST_BLUR:g}]."
        )
    if not 0 <= options.smoothing < float("inf"):
        raise InvalidOption(
            f"A smoothing of {options.smoothing:g} cannot be used.", "Give a number of 0 or more."
        )
    if not 2 <= categories <= MOST_CATEGORIES:
        raise InvalidOption(
            f"A confidential attribute with {categories} values cannot be swapped.",
            f"It needs 2 to {MOST_CATEGORIES} values; group them first, with --bins where they are numbers.",
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
    return SwapConstraints(demand, least_deviation(demand)[0], None)


def _feasible(demand: Demand, deviation: int, name: str, progress: Progress) -> tuple[float, float] | None:
    """Say under which proportions the marginal could be kept, where it is not."""
    if not deviation:
        return None
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
    warn(
        progress,
        f"The marginal distribution of {name} cannot be kept: the counts of its values change by {deviation} "
        f"in all. {advice}",
    )
    return feasible


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
    feasible: tuple[float, float] | None,
    settled: float | None,
    seed: bytes,
) -> Plan:
    unique, grouped = assignment.unique.sum(axis=1), assignment.grouped.sum(axis=1)
    proved = solution.bound
    bound, gap = (
        (float("nan"), float("nan"))
        if proved is None
        else (proved / SCALE, (solution.objective - proved) / SCALE)
    )
    held = demand.unique > 0
    reached, fewest, most = (part[held] / demand.unique[held] for part in (unique, demand.low, demand.high))
    measures: list[tuple[str, float | None, float | None]] = [
        ("objective", None, assignment.objective),
        *(
            [("objective with noise", None, solution.objective / SCALE)]
            if proved is not None and found.blurred
            else []
        ),
        ("bound", None, None if proved is None else bound),
        ("gap", None, None if proved is None else gap),
        ("uniquely identifiable records changed", float(demand.unique.sum()), float(unique.sum())),
        ("collectively identifiable records changed", None, float(grouped.sum())),
        ("marginal deviation", 0.0, float(deviation)),
        ("least changed share of a value", None, float(reached.min(initial=1.0))),
        ("largest changed share of a value", None, float(reached.max(initial=0.0))),
        ("least changed share allowed", None, float(fewest.min(initial=1.0))),
        ("largest changed share allowed", None, float(most.max(initial=0.0))),
        ("changed records settled by a modelling attacker", None, settled),
    ]
    return Plan(
        moves=assignment.moves,
        seed=seed,
        measures=measures,
        objective=assignment.objective,
        bound=bound,
        gap=gap,
        changed_unique=unique,
        changed_grouped=grouped,
        flows=assignment.unique + assignment.grouped,
        deviation=deviation,
        feasible=feasible,
        share=(float(share[0]), float(share[1])),
        fewest=demand.low,
        most=demand.high,
        settled=settled,
        rounds=solution.rounds,
        one_each=found.keys == found.pattern,
    )
