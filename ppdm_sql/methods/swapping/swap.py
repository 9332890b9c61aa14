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
from typing import NamedTuple

import numpy as np
from sqlglot import exp

from ppdm_sql.audit.comparing import OwnedRows, accept_pseudonyms
from ppdm_sql.audit.swaps import SwapAudit, SwapPromise, accept_swap, accept_swapped_persons
from ppdm_sql.engine import Engine
from ppdm_sql.engine.count_column import count_column
from ppdm_sql.engine.names import Table, option_for, resolve, resolve_all
from ppdm_sql.engine.person_columns import check_persons, person_columns
from ppdm_sql.errors import GuaranteeNotMet, InvalidOption, InvalidSource, check_choice
from ppdm_sql.methods.base.collapse import Atoms, collapse, counts_by_class, read_source
from ppdm_sql.methods.base.released_rows import MaskedAtoms, released_rows
from ppdm_sql.methods.base.roles import Roles, Treatments, treated_identifiers
from ppdm_sql.methods.base.run import Run
from ppdm_sql.methods.swapping.discretization import discretized, requested_bins
from ppdm_sql.methods.swapping.identification import identify
from ppdm_sql.methods.swapping.marginals import Share, rounded_changes
from ppdm_sql.methods.swapping.planning import Plan, SwapOptions, swap_plan
from ppdm_sql.methods.swapping.swapped_rows import linked_rows, persons_of, rows_after, swapped
from ppdm_sql.options import SwapRequest
from ppdm_sql.privacy.quoting import Number, read_share
from ppdm_sql.progress import Progress
from ppdm_sql.release import Draft, Release, ReleasedColumn
from ppdm_sql.release.draft import MeasureRow

COUNTED = (
    "uniquely identifiable records",
    "collectively identifiable records",
    "collectively identifiable groups",
    "uniquely identifiable records changed",
    "collectively identifiable records changed",
    "marginal deviation",
    "largest share of a uniquely identifiable value that is true",
)
"""Measures that the audit takes, from the released rows."""
MOST_CATEGORIES = 250
"""Values of a confidential column above which they are no categories."""
CORRELATED = 0.1
"""Cramér's V of two confidential columns from which on a run warns."""


def swap(engine: Engine, source: str, request: SwapRequest, progress: Progress) -> Release:
    """Swap confidential values of identifiable records, and publish the release."""
    return SwapRun(engine, source, request, progress).publish()


@dataclass(frozen=True, kw_only=True)
class SwapRoles(Roles):
    """Columns of the source by role, spelled and ordered as the source has them.

    The class is any released column but a pseudonym; it is kept where it has no other role.
    """

    by: tuple[str, ...]
    confidential: tuple[str, ...]

    @property
    def own_treatments(self) -> Treatments:
        by = tuple(name for name in self.by if name != self.class_column)
        return ("swapped", self.confidential), ("kept", by)


class Swaps(NamedTuple):
    """The records or persons before and after the swaps, the rows as released, the plan of each column."""

    source: Atoms
    after: Atoms
    rows: Atoms
    plans: Mapping[str, Plan | None]  # none where nothing is identifiable
    linked: OwnedRows | None  # where persons were swapped


class SwapRun(Run[Swaps]):
    """A run in which confidential values are exchanged, one attribute after the other."""

    request: SwapRequest
    roles: SwapRoles
    counts_rows = "each row is swapped for itself"

    # -- what is asked --------------------------------------------------------------------------

    def assign_roles(self) -> SwapRoles:
        self.request = request = self._resolved(self.request)
        roles = self._roles()
        check_choice("method", request.method, ("exact", "greedy"))
        check_choice("--phase1", request.phase1, ("joint", "separate"))
        self.proportions = {name: _proportion(request.proportion, name) for name in roles.confidential}
        self.per_group, self.share = per_group(request.per_group), _share(request.share)
        confidential = [self.columns[name] for name in roles.confidential]
        self.requested_bins = requested_bins(request.bins, confidential)
        self.labels: dict[str, tuple[str, ...]] = {}
        return roles

    def _resolved(self, request: SwapRequest) -> SwapRequest:
        """Spell the columns that options are given for as the source does; they must be confidential."""
        changed: dict[str, object] = {}
        for option in ("proportion", "bins"):
            given = getattr(request, option)
            if isinstance(given, Mapping):
                changed[option] = {self._confidential(name, option, request): v for name, v in given.items()}
        return replace(request, **changed)  # type: ignore[arg-type]

    def _confidential(self, name: str, option: str, request: SwapRequest) -> str:
        if not name:
            return name
        found = resolve(name, list(self.columns), table=self.source)
        if found.lower() not in [other.lower() for other in request.confidential]:
            raise InvalidOption(
                f"--{option} is given for {found!r}, which is not confidential.",
                f"Add it to --confidential, or leave it out of --{option}.",
            )
        return found

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
        chosen = None if request.class_column is None else resolve(request.class_column, names, table=table)
        kept = resolve_all(request.keep, names, table=table)
        if chosen is not None and chosen not in (*confidential, *by, *kept):
            kept = (*kept, chosen)
        pseudonyms, dropped = treated_identifiers(request.identifiers, names, table=table)
        roles = SwapRoles(
            by=by,
            confidential=tuple(name for name in names if name in confidential),  # in whatever order named
            class_column=chosen,
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
        """Collapse the source, and swap one confidential column after the other."""
        progress, roles, engine = self.progress, self.roles, self.engine
        progress.start(f"collapsing {self.source}")
        self.table = self._read()
        rows, persons = self._collapse(), None
        by = [rows.position(name) for name in self.roles.by]
        if roles.person:
            others = ([rows.position(name) for name in names] for names in (roles.confidential, roles.person))
            persons = persons_of(engine, rows, by, *others)
            by = list(persons.by)
        source = self._categories(rows if persons is None else persons.atoms)
        self._notice_correlations(source)
        if self.request.seed is not None:
            progress.notice("Whoever knows the seed can find out which records were changed.")
        master, atoms, plans = master_key(self.request.seed), source, dict[str, Plan | None]()
        for name in roles.confidential:
            progress.start(f"swapping {name}")
            plans[name], atoms = self._swapped(source, atoms, by, name, attribute_key(master, name))
        if persons is None:
            return Swaps(source, atoms, atoms, plans, None)
        released, owned = rows_after(engine, persons, atoms)
        return Swaps(source, atoms, released, plans, linked_rows(engine, owned, persons))

    def _read(self) -> Table:
        roles = self.roles
        named = {*roles.by, *roles.confidential, *roles.kept, *roles.pseudonyms, *roles.person}
        counted = set() if roles.count is None else {roles.count}
        needed = {*named, self.collapsed_elsewhere(named | counted, roles.count)}
        columns = [item for item in self.engine.columns(self.table) if item.name in needed]
        return read_source(self.engine, self.table, columns)

    def _collapse(self) -> Atoms:
        """Read the source once; refuse confidential columns without a value somewhere."""
        roles, engine = self.roles, self.engine
        if roles.person:
            check_persons(engine, self.table, roles.person)
        coded = [self.columns[name] for name in (*roles.by, *roles.confidential, *roles.person)]
        of = (engine, self.table, coded, self.kept, roles.count)
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
        for name, proportion in self.proportions.items():
            position = atoms.position(name)
            if name in self.requested_bins:
                wanted = self.requested_bins[name]
                atoms, self.labels[name] = discretized(self.engine, atoms, position, wanted)
            self._check_categories(name, atoms.coded[position].size, proportion)
        return atoms

    def _check_categories(self, name: str, size: int, proportion: Fraction) -> None:
        """Refuse a column with too few or too many values, or one whose swap can be reversed."""
        if size < 2:
            raise InvalidSource(
                f"Confidential column {name!r} has a single value, so nothing can be swapped.",
                "Leave it out of --confidential.",
            )
        if size > MOST_CATEGORIES:
            raise InvalidSource(
                f"Confidential column {name!r} has {size} values; at most {MOST_CATEGORIES} can be swapped.",
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

    def _notice_correlations(self, atoms: Atoms) -> None:
        for first, second in combinations(self.roles.confidential, 2):
            found = cramers_v(self.engine, atoms, first, second)
            if found >= CORRELATED:
                self.progress.notice(
                    f"{first} and {second} are correlated (Cramér's V {found:.2f}). They are swapped one "
                    "after the other, which does not keep that."
                )

    def _swapped(
        self, source: Atoms, atoms: Atoms, by: Sequence[int], name: str, key: bytes
    ) -> tuple[Plan | None, Atoms]:
        """Plan the swaps of one column by the source's own values, and carry them out on the atoms."""
        identified = identify(self.engine, source, by, source.position(name))
        if not identified.identifiable:
            self.progress.warn(f"No {self.unit} is identifiable, so every {name} is released as it is.")
            return None, atoms
        self._check_unique(name, int(identified.unique.sum()), identified.categories)
        options = SwapOptions(
            proportion=self.proportions[name],
            per_group=self.per_group,
            method=self.request.method,
            phase1=self.request.phase1,
            share=self.share,
            blur=self.request.blur,
            smoothing=self.request.smoothing,
            seed=key,
            column=name,
        )
        plan = swap_plan(self.engine, identified, options, self.progress)
        # the rows of an only column are read but once, when they are released
        only = len(self.roles.confidential) == 1 and not self.roles.person
        secret = attribute_key(key, "records")
        return plan, swapped(self.engine, atoms, identified, plan.moves, secret, read_once=only)

    def _check_unique(self, name: str, unique: int, categories: int) -> None:
        """Refuse what would leave all uniquely identifiable records true, or all of two values false."""
        proportion = self.proportions[name]
        changed, asked = rounded_changes(proportion, unique), f"A proportion of {float(proportion):g} changes"
        if unique and not changed:
            raise GuaranteeNotMet(
                f"{asked} {name!r} in none of the {unique} uniquely identifiable {self.unit}s, so all "
                "could be believed.",
                f"Give a larger --proportion, such as {name}=0.5.",
            )
        if unique and changed == unique and categories == 2:
            raise GuaranteeNotMet(
                f"{asked} {name!r}, which has two values, in all {unique} uniquely identifiable "
                f"{self.unit}s, so all could be reversed.",
                "Give a smaller --proportion, or name other columns with --by.",
            )

    # -- the draft ------------------------------------------------------------------------------

    def draft(self, transformed: Swaps) -> Draft:
        engine, request = self.engine, self.request
        atoms, plans = transformed.rows, transformed.plans
        marginals = {name: self._marginal(transformed, name) for name in plans}
        shown = {name: len(marginal) for name, marginal in marginals.items()}
        # whole are columns that show all values of the source: unchanged ones, and others that lost none
        sizes = [(item.size, shown.get(item.column.name, item.size)) for item in atoms.coded]
        whole = frozenset(position for position, (before, after) in enumerate(sizes) if before == after)
        unmasked, outputs = MaskedAtoms(atoms, whole=whole), self.outputs(atoms)
        released = tuple(
            ReleasedColumn(o.name, o.treatment, unmasked.is_packed(o), bins=self.labels.get(o.name))
            for o in outputs
        )
        return Draft(
            name=request.into,
            method="swap",
            source=self.source,
            requirements=(),
            parameters=self._parameters(),
            stopped="complete",
            select=released_rows(engine, unmasked, outputs),
            count=self.roles.count,
            columns=released,
            symbol="",
            rows=atoms.records,
            steps=None,
            cuts=None,
            measures=self._measures(transformed),
            marginals=marginals,
            unfolded=self.unfolded,
            accept=lambda rows: self._accepted(rows, plans, transformed.linked),
        )

    def _marginal(self, transformed: Swaps, name: str) -> dict[str, int]:
        """Count the released records of each value: by the plan, or in the rows where persons were moved."""
        read, moved, plan = transformed.rows, np.zeros(0, dtype=np.int64), transformed.plans[name]
        if transformed.linked is None and plan is not None:
            read, moved = transformed.source, plan.flows.sum(axis=0) - plan.flows.sum(axis=1)
        position = read.position(name)
        counts = f"SELECT c{position} AS code, sum(n)::BIGINT AS n FROM {read.table} GROUP BY ALL"
        query = (
            f"SELECT d.value::VARCHAR, d.code, coalesce(a.n, 0) FROM {read.coded[position].table} AS d "
            f"LEFT JOIN ({counts}) AS a ON a.code = d.code ORDER BY ALL"
        )
        rows = self.engine.query(query, step="marginal")
        after = {value: records + int(moved[code] if len(moved) else 0) for value, code, records in rows}
        return {value: records for value, records in after.items() if records}

    def _parameters(self) -> dict[str, object]:
        roles, request, given = self.roles, self.request, self.per_group
        return {
            "class": roles.class_column or roles.confidential[0],
            "count": roles.count,
            "person": list(roles.person),
            "confidential": list(roles.confidential),
            "by": list(roles.by),
            "keep": list(roles.kept),
            "identifiers": roles.identifiers,
            "proportion": {name: float(number) for name, number in self.proportions.items()},
            "per_group": given if isinstance(given, int) else float(given),
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

    def _named(self, measure: str, name: str) -> str:
        return f"{measure.replace('record', self.unit)}: {name}"

    def _measures(self, transformed: Swaps) -> tuple[MeasureRow, ...]:
        """Give what the plans measured and the audit does not, and the correlations before and after."""
        planned = [
            (self._named(measure, name), before, after)
            for name, plan in transformed.plans.items()
            for measure, before, after in (plan.measures if plan is not None else ())
            if measure not in COUNTED
        ]
        correlations = [
            (
                f"correlation (Cramér's V): {first}, {second}",
                cramers_v(self.engine, transformed.source, first, second),
                cramers_v(self.engine, transformed.after, first, second),
            )
            for first, second in combinations(self.roles.confidential, 2)
        ]
        return (*planned, *correlations)

    def _accepted(
        self, rows: exp.Select, plans: Mapping[str, Plan | None], linked: OwnedRows | None
    ) -> list[MeasureRow]:
        """Let the audit compare source and release, and give what it counted."""
        roles, engine = self.roles, self.engine
        unchanged = [self.columns[name] for name in (*roles.by, *roles.kept)]
        released = engine.overlay(rows)
        accept_pseudonyms(engine, self.table, released, roles.pseudonyms, unchanged, roles.count)
        promises = [self._promised(name, plan) for name, plan in plans.items()]
        if linked is None:
            audits = [accept_swap(engine, self.table, released, promise) for promise in promises]
        else:
            audits = accept_swapped_persons(engine, self.table, released, promises, linked)
        both = zip(plans, audits, strict=True)
        return [measure for name, audit in both for measure in self._counted(name, audit)]

    def _promised(self, name: str, plan: Plan | None) -> SwapPromise:
        return SwapPromise(
            confidential=self.columns[name],
            by=[self.columns[name] for name in self.roles.by],
            carried=[self.columns[name] for name in self.roles.kept],
            count=self.roles.count,
            proportion=self.proportions[name],
            per_group=self.per_group,
            deviation=0 if plan is None else plan.demand.deviation,
            bins=self.labels.get(name),
            unit=self.unit,
        )

    def _counted(self, name: str, audit: SwapAudit) -> list[MeasureRow]:
        """Give what the audit of a column counted, by the names that measures have."""
        if audit.always_true:
            self.progress.notice(
                f"{audit.always_true} of {audit.shown_values} values of {name} are true in all "
                f"uniquely identifiable {self.unit}s that show them; a larger --proportion may help."
            )
        numbers: list[tuple[float | None, float | None]] = [
            (audit.unique, audit.unique),
            (audit.grouped, audit.grouped_after),
            (audit.groups, 0),
            (None, audit.changed_unique),
            (None, audit.changed_grouped),
            (None, audit.deviation),
            (1, audit.largest_share),
        ]
        return [
            (self._named(measure, name), *number) for measure, number in zip(COUNTED, numbers, strict=True)
        ]


# -- options --------------------------------------------------------------------------------------


def _proportion(asked: Number | Mapping[str, Number], name: str) -> Fraction:
    given = asked.get(name, asked.get("")) if isinstance(asked, Mapping) else asked
    if given is None:
        raise InvalidOption(
            f"No proportion is given for {name!r}.",
            f"Give {option_for('--proportion', name, '0.5')}, or one for all.",
        )
    return read_share(given, "--proportion", "(0, 1]")


def per_group(number: Number) -> int | Fraction:
    """Read how many records of a group are changed: a whole number of them, or a share."""
    text = str(number).strip()
    found = read_share(number, "--per-group")
    is_share = text.endswith("%") or not isinstance(number, int) and ("." in text or "/" in text)
    if found <= 0 or (is_share and found > 1) or (not is_share and found.denominator != 1):
        raise InvalidOption(
            f"{text!r} records of a group cannot be changed.",
            "Give --per-group 1 or more, or a share such as 50%.",
        )
    return found if is_share else int(found)


def _share(given: tuple[Number, Number] | None) -> Share | None:
    if given is None:
        return None
    low, high = (read_share(number, "--share", "[0, 1]") for number in given)
    if low > high:
        raise InvalidOption(
            f"--share {float(low):g},{float(high):g} is not a range of shares.",
            "Write it as --share 0.4,0.6.",
        )
    return low, high


def master_key(seed: int | None) -> bytes:
    """Give the key that every random choice of a run is derived from: drawn afresh, or from a given seed."""
    if seed is None:
        return secrets.token_bytes(32)
    return hashlib.sha256(f"ppdm swap {seed}".encode()).digest()


def attribute_key(key: bytes, name: str) -> bytes:
    """Derive the key of one attribute, whatever the order of the attributes."""
    return hmac.new(key, name.encode(), hashlib.sha256).digest()


def cramers_v(engine: Engine, atoms: Atoms, first: str, second: str) -> float:
    """Measure the correlation of two coded columns by Cramér's V, in [0, 1]; one scan of the atoms.

    V is the square root of chi-squared over its largest possible value, n (min(rows, columns) - 1). It is not
    corrected for small tables, in which chance alone gives some correlation.

    Source: Cramér 1946, Mathematical Methods of Statistics, 21.9.
    """
    one, other = atoms.position(first), atoms.position(second)
    counts = counts_by_class(engine, atoms, [one], other)[one].astype(float)
    counts = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    smaller = min(counts.shape) - 1
    if smaller < 1:
        return 0.0
    expected = counts.sum(axis=1, keepdims=True) * counts.sum(axis=0, keepdims=True) / counts.sum()
    chi_squared = float(((counts - expected) ** 2 / expected).sum())
    return float(np.sqrt(chi_squared / (counts.sum() * smaller)))
