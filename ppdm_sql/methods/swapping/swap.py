"""Swapping: confidential values of identifiable records are exchanged; all other columns stay as they are.

Source: Li, Sarkar 2004, "A Data Perturbation Approach to Privacy Protection in Data Mining", ICIS.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import NamedTuple, TypeVar, cast

import numpy as np
from sqlglot import exp

from ppdm_sql.audit.comparing import OwnedRows, accept_pseudonyms
from ppdm_sql.audit.swaps import SwapAudit, SwapPromise, accept_swap, accept_swapped_persons
from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table, option_for, resolve, resolve_all
from ppdm_sql.engine.source import check_persons, count_column, person_columns
from ppdm_sql.errors import EngineError, GuaranteeNotMet, InvalidOption, InvalidSource, check_choice
from ppdm_sql.methods.base.collapse import Atoms, collapse, counts_by_class, read_source
from ppdm_sql.methods.base.released_rows import MaskedAtoms, released_rows
from ppdm_sql.methods.base.roles import Roles, Treatments, treated_identifiers
from ppdm_sql.methods.base.run import Run
from ppdm_sql.methods.swapping import marginals
from ppdm_sql.methods.swapping.candidates import SCALE, Candidates, IdentifiableRecords, candidates, identify
from ppdm_sql.methods.swapping.discretization import counts_of_values, discretize, requested_bins
from ppdm_sql.methods.swapping.exact import ExactSearch, Solution
from ppdm_sql.methods.swapping.greedy import greedy
from ppdm_sql.methods.swapping.marginals import Demand, Flows, Share
from ppdm_sql.methods.swapping.swapped_rows import (
    apply_moves,
    assign,
    attacker_share,
    owned_rows,
    persons_of,
    rows_after,
)
from ppdm_sql.options import SwapRequest
from ppdm_sql.privacy.quoting import Number, read_share
from ppdm_sql.progress import Progress
from ppdm_sql.release import Draft, Release, ReleasedColumn
from ppdm_sql.release.layout import MeasureRow

OptionValue = TypeVar("OptionValue")
MOST_CATEGORIES = 250
"""Values of a confidential column above which they are not categories."""
MOST_BLUR = 10.0
CORRELATED = 0.1
"""Cramér's V of two confidential columns from which on a run warns."""


def swap(engine: Engine, source: str, request: SwapRequest, progress: Progress) -> Release:
    return SwapRun(engine, source, request, progress).publish()


@dataclass(frozen=True, kw_only=True)
class SwapRoles(Roles):
    """The class is any released column but a pseudonym; it is kept where it has no other role."""

    by: tuple[str, ...]
    confidential: tuple[str, ...]

    @property
    def own_treatments(self) -> Treatments:
        by = tuple(name for name in self.by if name != self.class_column)
        return ("swapped", self.confidential), ("kept", by)


class Swaps(NamedTuple):
    rows: Atoms  # as released
    owned_rows: OwnedRows | None  # where persons were swapped
    promises: Mapping[str, SwapPromise]  # of each confidential column
    measures: Sequence[MeasureRow]  # what the audit cannot count


class Plan(NamedTuple):
    moves: Table  # the pattern's key, kind, category (the new code), records, cost
    measures: Sequence[MeasureRow]
    demand: Demand


class SwapRun(Run[Swaps]):
    """A run in which confidential values are exchanged, one attribute after the other."""

    request: SwapRequest
    roles: SwapRoles
    counts_rows = "each row is swapped for itself"

    # -- the request ---------------------------------------------------------------------------

    def assign_roles(self) -> SwapRoles:
        request = self.request
        proportion = self._by_source_name("proportion", request.proportion)
        bins = self._by_source_name("bins", request.bins)
        roles = self._roles()
        check_choice("method", request.method, ("exact", "greedy"))
        check_choice("--phase1", request.phase1, ("joint", "separate"))
        self.proportions = {name: _proportion(proportion, name) for name in roles.confidential}
        self.per_group, self.share = per_group(request.per_group), _share(request.share)
        confidential = [self.columns[name] for name in roles.confidential]
        self.requested_bins = requested_bins(bins, confidential)
        self.labels: dict[str, tuple[str, ...]] = {}
        return roles

    def _by_source_name(self, option: str, value: OptionValue) -> OptionValue:
        """Spell the columns in an option's value as the source does; they must be confidential."""
        if not isinstance(value, Mapping):
            return value
        confidential = resolve_all(self.request.confidential, list(self.columns), table=self.source)
        by_column = {
            resolve(n, list(self.columns), table=self.source) if n else n: v for n, v in value.items()
        }
        for name in by_column:
            if name and name not in confidential:
                raise InvalidOption(
                    f"--{option} is given for {name!r}, which is not confidential.",
                    f"Add it to --confidential, or leave it out of --{option}.",
                )
        return cast(OptionValue, by_column)

    def _roles(self) -> SwapRoles:
        request, table = self.request, self.source
        columns, names = list(self.columns.values()), list(self.columns)
        confidential = resolve_all(request.confidential, names, table=table)
        by = resolve_all(request.by, names, table=table)
        if not confidential or not by:
            raise InvalidOption(
                "Swapping needs confidential columns, and others by which records can be singled out.",
                "Give --confidential Amount --by Age,Gender,Location.",
            )
        target = None if request.class_column is None else resolve(request.class_column, names, table=table)
        kept = resolve_all(request.keep, names, table=table)
        if target is not None and target not in (*confidential, *by, *kept):
            kept = (*kept, target)
        pseudonyms, dropped = treated_identifiers(request.identifiers, names, table=table)
        roles = SwapRoles(
            by=by,
            confidential=tuple(name for name in names if name in confidential),  # in whatever order named
            class_column=target,
            kept=kept,
            pseudonyms=pseudonyms,
            dropped=dropped,
            count=count_column(request.count_column, columns, table=table),
            person=person_columns(request.person, columns, count=request.count_column, table=table),
        )
        excluding = ("confidential", roles.confidential), ("one by which records are singled out", by)
        roles.refuse_two([*excluding, ("kept", kept)])
        return roles

    @property
    def known(self) -> Sequence[str]:
        """Those by which records are singled out."""
        return self.roles.by

    # -- the run --------------------------------------------------------------------------------

    def transform(self) -> Swaps:
        progress, roles, engine = self.progress, self.roles, self.engine
        progress.start(f"collapsing {self.source}")
        rows, persons = self._collapse(), None
        by = [rows.position(name) for name in self.roles.by]
        if roles.person:
            others = ([rows.position(name) for name in names] for names in (roles.confidential, roles.person))
            persons = persons_of(engine, rows, by, *others)
            by = list(persons.by)
        source = self._categories(rows if persons is None else persons.atoms)
        correlations = self._correlations(source)
        for (first, second), correlation in correlations.items():
            if correlation >= CORRELATED:
                progress.notice(
                    f"{first} and {second} are correlated (Cramér's V {correlation:.2f}). They are swapped "
                    "one after the other, which does not keep that."
                )
        if self.request.seed is not None:
            progress.notice("Whoever knows the seed can find out which records were changed.")
        master, atoms, measures = master_key(self.request.seed), source, list[MeasureRow]()
        promises = {name: self._promise(name) for name in roles.confidential}
        for name in roles.confidential:
            progress.start(f"swapping {name}")
            identifiable = identify(engine, source, by, source.position(name))
            if not identifiable.unique.sum() + identifiable.grouped.sum():
                progress.warn(f"No {self.unit} is identifiable, so every {name} is released as it is.")
                continue
            key = derived_key(master, name)
            self._check(name, int(identifiable.unique.sum()), identifiable.categories)
            plan = self.plan(identifiable, name, key)
            measures += self._measures_of(plan.measures, name)
            promises[name] = replace(promises[name], deviation=plan.demand.deviation)
            atoms = apply_moves(engine, atoms, identifiable, plan.moves, derived_key(key, "records"))
        after = self._correlations(atoms)
        for (first, second), before in correlations.items():
            measures.append((f"correlation (Cramér's V): {first}, {second}", before, after[first, second]))
        if persons is None:
            return Swaps(atoms, None, promises, measures)
        rows, person_rows = rows_after(engine, persons, atoms)
        return Swaps(rows, owned_rows(engine, person_rows, persons), promises, measures)

    def _collapse(self) -> Atoms:
        """Read the source once; refuse confidential columns without a value somewhere."""
        roles, engine = self.roles, self.engine
        names = {*roles.by, *roles.confidential, *roles.kept, *roles.pseudonyms, *roles.person}
        counts = set() if roles.count is None else {roles.count}
        needed = {*names, self.collapsed_elsewhere(names | counts, roles.count)}
        roles = self.roles  # with the count of a table that is elsewhere
        columns = [item for item in engine.columns(self.table) if item.name in needed]
        self.table = read_source(engine, self.table, columns)
        if roles.person:
            check_persons(engine, self.table, roles.person)
        coded_columns = [self.columns[name] for name in (*roles.by, *roles.confidential, *roles.person)]
        of = (engine, self.table, coded_columns, self.kept, roles.count)
        atoms = collapse(*of, masked=(), symbol="", shown=self.source)
        for name in roles.confidential:
            position = atoms.position(name)
            if atoms.coded[position].has_null:
                last = atoms.coded[position].size - 1
                query = f"SELECT sum(n)::BIGINT FROM {atoms.table} WHERE c{position} = {last}"
                ((records,),) = engine.query(query, step="nulls")
                raise InvalidSource(
                    f"Confidential column {name!r} is NULL in {records} records.",
                    "Leave these records out, or give them a value, in a view.",
                )
        return atoms

    def _categories(self, atoms: Atoms) -> Atoms:
        """Bin numbers; refuse a column with too few or too many values, or one whose swap can be reversed."""
        for name, proportion in self.proportions.items():
            position = atoms.position(name)
            if name in self.requested_bins:
                atoms, self.labels[name] = discretize(self.engine, atoms, position, self.requested_bins[name])
            size = atoms.coded[position].size
            if size < 2:
                raise InvalidSource(
                    f"Confidential column {name!r} has a single value, so nothing can be swapped.",
                    "Leave it out of --confidential.",
                )
            if size > MOST_CATEGORIES:
                raise InvalidSource(
                    f"Confidential column {name!r} has {size} values; at most {MOST_CATEGORIES} can be "
                    "swapped.",
                    "Derive a coarser column in a view.",
                )
            if size == 2 and proportion == 1:
                raise InvalidOption(
                    f"Confidential column {name!r} has two values, and changing every one can be reversed.",
                    f"Give {option_for('--proportion', name, '0.5')} or less.",
                )
            if size == 2 and proportion > Fraction(1, 2):
                self.progress.notice(
                    f"{name} has two values: with a proportion above 0.5 the opposite of what a uniquely "
                    "identifiable record shows is right more often than not."
                )
        return atoms

    def _correlations(self, atoms: Atoms) -> dict[tuple[str, str], float]:
        pairs = combinations(self.roles.confidential, 2)
        return {pair: cramers_v(self.engine, atoms, *pair) for pair in pairs}

    def plan(self, identifiable: IdentifiableRecords, name: str, key: bytes) -> Plan:
        """Choose which records change, and to what; some scans of the atoms and of the candidates."""
        engine, request, proportion = self.engine, self.request, self.proportions[name]
        choices = candidates(engine, identifiable, self.per_group, request.smoothing, request.blur, key)
        changes = marginals.rounded_changes(proportion, int(choices.unique.sum()))
        unique = choices.unique
        demand = Demand(unique, choices.grouped, changes, np.zeros_like(unique), unique)
        if self.share is not None:
            demand = demand.within(marginals.bounds(self.share, choices.unique, changes))
        else:
            demand, (low, high), narrow = marginals.default_band(proportion, demand)
            if not narrow and request.phase1 == "joint":
                self.progress.notice(
                    f"To keep the marginal distribution of {name}, the changed share of a value's records "
                    f"is let vary from {float(low):.3f} to {float(high):.3f}."
                )
        apart = marginals.separate(demand) if request.phase1 == "separate" else None
        if apart is None:
            demand = replace(demand, deviation=marginals.least_deviation(demand))
        else:
            demand = replace(demand, deviation=apart.deviation, net=apart.net)
        if request.method == "greedy":
            solution = greedy(engine, choices, apart or marginals.joint(demand), key)
        else:
            solution = ExactSearch(engine, choices, demand).solve()
        moves, flows, objective = assign(engine, choices, solution, key)
        _check_plan(flows, demand)
        if demand.deviation:
            self.progress.warn(_marginal_not_kept(demand, name))
        measures = _measures(choices, flows, objective, solution, demand)
        settled_share = attacker_share(engine, choices, moves)
        measures.append(("changed records settled by a modelling attacker", None, settled_share))
        engine.discard(choices.table)
        return Plan(moves, measures, demand)

    def _check(self, name: str, unique: int, categories: int) -> None:
        """Refuse unusable options, and changes of no or of all uniquely identifiable records."""
        proportion = self.proportions[name]
        changes = marginals.rounded_changes(proportion, unique)
        problem = f"A proportion of {float(proportion):g} changes"
        if unique and not changes:
            raise GuaranteeNotMet(
                f"{problem} {name!r} in none of the {unique} uniquely identifiable {self.unit}s, so all "
                "could be believed.",
                f"Give a larger --proportion, such as {name}=0.5.",
            )
        if unique and changes == unique and categories == 2:
            raise GuaranteeNotMet(
                f"{problem} {name!r}, which has two values, in all {unique} uniquely identifiable "
                f"{self.unit}s, so all could be reversed.",
                "Give a smaller --proportion, or name other columns with --by.",
            )
        blur, smoothing = self.request.blur, self.request.smoothing
        if not 0 <= blur <= MOST_BLUR:
            raise InvalidOption(f"A blur of {blur:g} cannot be used.", f"Give --blur in [0, {MOST_BLUR:g}].")
        if not 0 <= smoothing < float("inf"):
            raise InvalidOption(
                f"A smoothing of {smoothing:g} cannot be used.", "Give a number of 0 or more."
            )
        low, high = self.share or (Fraction(0), Fraction(1))
        if not low <= proportion <= high:
            share = f"{float(proportion):g}"
            raise InvalidOption(
                f"If every category changes by {float(low):g} to {float(high):g} of its records, all of them "
                f"together cannot change by {share}.",
                f"Give a --share with LOW <= {share} <= HIGH, or 0,1 for none.",
            )

    # -- the draft ------------------------------------------------------------------------------

    def draft(self, transformed: Swaps) -> Draft:
        engine, request, atoms = self.engine, self.request, transformed.rows
        counts = {name: self._marginal(atoms, name) for name in self.roles.confidential}
        sizes_after = {name: len(marginal) for name, marginal in counts.items()}
        # whole columns show all values of the source: unchanged ones, and swapped ones that lost none
        sizes = [(item.size, sizes_after.get(item.column.name, item.size)) for item in atoms.coded]
        whole = frozenset(position for position, (before, after) in enumerate(sizes) if before == after)
        unmasked, outputs = MaskedAtoms(atoms, whole=whole), self.outputs(atoms)
        columns = tuple(
            ReleasedColumn(o.name, o.treatment, unmasked.is_packed(o), bins=self.labels.get(o.name))
            for o in outputs
        )
        return Draft(
            name=request.into,
            method="swap",
            source=self.source,
            parameters=self._parameters(),
            select=released_rows(engine, unmasked, outputs),
            count=self.roles.count,
            columns=columns,
            number=atoms.records,
            stepwise=False,
            measures=tuple(transformed.measures),
            marginals=counts,
            unfolded=self.unfolded,
            accept=lambda rows: self._accept(rows, transformed),
        )

    def _marginal(self, rows: Atoms, name: str) -> dict[str, int]:
        counts = counts_of_values(rows, rows.position(name))
        query = f"SELECT value::VARCHAR, records FROM ({counts}) ORDER BY ALL"
        return dict(self.engine.query(query, step="marginal"))

    def _parameters(self) -> dict[str, object]:
        roles, request, per_group = self.roles, self.request, self.per_group
        return {
            "class": roles.class_column or roles.confidential[0],
            "count": roles.count,
            "person": list(roles.person),
            "confidential": list(roles.confidential),
            "by": list(roles.by),
            "keep": list(roles.kept),
            "identifiers": roles.identifiers,
            "proportion": {name: float(number) for name, number in self.proportions.items()},
            "per_group": per_group if isinstance(per_group, int) else float(per_group),
            "method": request.method,
            "phase1": request.phase1,
            "share": None if self.share is None else [float(number) for number in self.share],
            "blur": request.blur,
            "smoothing": request.smoothing,
            "bins": {name: list(labels) for name, labels in self.labels.items()},
            "seeded": request.seed is not None,
        }

    # -- measures and the audit -----------------------------------------------------------------

    @property
    def unit(self) -> str:
        """What is identified and changed: records, or persons with all of theirs."""
        return "person" if self.roles.person else "record"

    def _measures_of(self, measures: Sequence[MeasureRow], name: str) -> list[MeasureRow]:
        unit = self.unit
        return [
            (f"{what.replace('record', unit)}: {name}", before, after) for what, before, after in measures
        ]

    def _accept(self, rows: exp.Select, swaps: Swaps) -> list[MeasureRow]:
        roles, engine = self.roles, self.engine
        unchanged = [self.columns[name] for name in (*roles.by, *roles.kept)]
        release_table = engine.overlay(rows)
        accept_pseudonyms(engine, self.table, release_table, roles.pseudonyms, unchanged, roles.count)
        promises = list(swaps.promises.values())
        if swaps.owned_rows is None:
            audits = [accept_swap(engine, self.table, release_table, promise) for promise in promises]
        else:
            audits = accept_swapped_persons(engine, self.table, release_table, promises, swaps.owned_rows)
        both = zip(swaps.promises, audits, strict=True)
        return [measure for name, audit in both for measure in self._audit_measures(name, audit)]

    def _promise(self, name: str) -> SwapPromise:
        return SwapPromise(
            confidential=self.columns[name],
            by=[self.columns[name] for name in self.roles.by],
            carried=[self.columns[name] for name in self.roles.kept],
            count=self.roles.count,
            proportion=self.proportions[name],
            per_group=self.per_group,
            deviation=0,
            bins=self.labels.get(name),
            unit=self.unit,
        )

    def _audit_measures(self, name: str, audit: SwapAudit) -> list[MeasureRow]:
        if audit.always_true:
            self.progress.notice(
                f"{audit.always_true} of {audit.shown_values} values of {name} are true in all "
                f"uniquely identifiable {self.unit}s that show them; a larger --proportion may help."
            )
        measures: list[MeasureRow] = [
            ("uniquely identifiable records", audit.unique, audit.unique),
            ("collectively identifiable records", audit.grouped, audit.grouped_after),
            ("collectively identifiable groups", audit.groups, 0),
            ("uniquely identifiable records changed", None, audit.changed_unique),
            ("collectively identifiable records changed", None, audit.changed_grouped),
            ("marginal deviation", None, audit.deviation),
            ("largest share of a uniquely identifiable value that is true", 1, audit.largest_share),
        ]
        return self._measures_of(measures, name)


# -- what a plan is measured by -------------------------------------------------------------------


def _marginal_not_kept(demand: Demand, name: str) -> str:
    feasible = marginals.feasible_proportions(demand.unique, demand.grouped)
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


def _check_plan(flows: Flows, demand: Demand) -> None:
    """Check the flows against the demand; a difference is a fault of this package."""
    leaving = flows.unique.sum(axis=1)
    as_demanded = (
        int(leaving.sum()) == demand.changes
        and bool((leaving >= demand.low).all() and (leaving <= demand.high).all())
        and bool((flows.grouped.sum(axis=1) == demand.grouped).all())
        and flows.deviation == demand.deviation
        and not np.trace(flows.unique) + np.trace(flows.grouped)
    )
    if not as_demanded:
        raise EngineError("The plan does not do what was asked.", "Try another --seed, and report this.")


def _measures(
    choices: Candidates, flows: Flows, objective: float, solution: Solution, demand: Demand
) -> list[MeasureRow]:
    bound, occurring = solution.bound, demand.unique > 0
    parts = (flows.unique.sum(axis=1), demand.low, demand.high)
    shares, fewest, most = (part[occurring] / demand.unique[occurring] for part in parts)
    measures: list[MeasureRow] = [("objective", None, objective)]
    if bound is not None and choices.blurred:
        measures.append(("objective with noise", None, solution.objective / SCALE))
    return [
        *measures,
        ("bound", None, None if bound is None else bound / SCALE),
        ("gap", None, None if bound is None else (solution.objective - bound) / SCALE),
        ("least changed share of a value", None, float(shares.min(initial=1.0))),
        ("largest changed share of a value", None, float(shares.max(initial=0.0))),
        ("least changed share allowed", None, float(fewest.min(initial=1.0))),
        ("largest changed share allowed", None, float(most.max(initial=0.0))),
    ]


# -- options --------------------------------------------------------------------------------------


def _proportion(option: Number | Mapping[str, Number], name: str) -> Fraction:
    number = option.get(name, option.get("")) if isinstance(option, Mapping) else option
    if number is None:
        raise InvalidOption(
            f"No proportion is given for {name!r}.",
            f"Give {option_for('--proportion', name, '0.5')}, or one for all.",
        )
    return read_share(number, "--proportion", "(0, 1]")


def per_group(number: Number) -> int | Fraction:
    text = str(number).strip()
    share = read_share(number, "--per-group")
    is_share = text.endswith("%") or not isinstance(number, int) and ("." in text or "/" in text)
    if share <= 0 or (is_share and share > 1) or (not is_share and share.denominator != 1):
        raise InvalidOption(
            f"{text!r} records of a group cannot be changed.",
            "Give --per-group 1 or more, or a share such as 50%.",
        )
    return share if is_share else int(share)


def _share(limits: tuple[Number, Number] | None) -> Share | None:
    if limits is None:
        return None
    low, high = (read_share(number, "--share", "[0, 1]") for number in limits)
    if low > high:
        raise InvalidOption(
            f"--share {float(low):g},{float(high):g} is not a range of shares.",
            "Write it as --share 0.4,0.6.",
        )
    return low, high


def master_key(seed: int | None) -> bytes:
    if seed is None:
        return secrets.token_bytes(32)
    return hashlib.sha256(f"ppdm swap {seed}".encode()).digest()


def derived_key(key: bytes, name: str) -> bytes:
    """Derive the key of one attribute, or purpose, whatever the order of these."""
    return hmac.new(key, name.encode(), hashlib.sha256).digest()


def cramers_v(engine: Engine, atoms: Atoms, first: str, second: str) -> float:
    """Measure the correlation of two coded columns, uncorrected for small tables (Cramér 1946, 21.9)."""
    one, other = atoms.position(first), atoms.position(second)
    counts = counts_by_class(engine, atoms, [one], other)[one].astype(float)
    counts = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    smaller = min(counts.shape) - 1
    if smaller < 1:
        return 0.0
    expected = counts.sum(axis=1, keepdims=True) * counts.sum(axis=0, keepdims=True) / counts.sum()
    chi_squared = float(((counts - expected) ** 2 / expected).sum())
    return float(np.sqrt(chi_squared / (counts.sum() * smaller)))
