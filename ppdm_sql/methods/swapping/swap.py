"""Swapping: confidential values of identifiable records are exchanged; all other columns stay as they are.

Source: Li, Sarkar 2004, "A Data Perturbation Approach to Privacy Protection in Data Mining", ICIS.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import NamedTuple, cast

import numpy as np
from sqlglot import exp

from ppdm_sql.audit.pseudonyms import accept_pseudonyms
from ppdm_sql.audit.swapped_persons import LinkedRows, accept_swapped_persons
from ppdm_sql.audit.swaps import SwapAudit, SwapPromise, accept_swap
from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table, resolve
from ppdm_sql.engine.person_columns import check_persons
from ppdm_sql.errors import InvalidOption, InvalidSource, check_choice
from ppdm_sql.methods.base.collapse import Atoms, collapse
from ppdm_sql.methods.base.released_rows import MaskedAtoms, released_rows
from ppdm_sql.methods.base.run import Run
from ppdm_sql.methods.base.source import read_source
from ppdm_sql.methods.swapping.discretization import discretized, requested_bins
from ppdm_sql.methods.swapping.identification import IdentifiableRecords, identify
from ppdm_sql.methods.swapping.planning import Method, PhaseOne, Plan, SwapOptions, swap_plan
from ppdm_sql.methods.swapping.request import (
    METHODS,
    PHASES,
    SwapRoles,
    assign_swap_roles,
    attribute_key,
    check_categories,
    check_unique,
    cramers_v,
    master_key,
    notice_correlations,
    per_group,
    proportion_of,
    share_of,
)
from ppdm_sql.methods.swapping.swapped_rows import (
    SwappedPersons,
    as_persons,
    linked_rows,
    persons_of,
    rows_after,
    swapped,
)
from ppdm_sql.options import SwapRequest
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


def swap(engine: Engine, source: str, request: SwapRequest, progress: Progress) -> Release:
    """Swap confidential values of identifiable records, and publish the release.

    Args:
        engine: The database.
        source: Table or view to read.
        request: What is asked.
        progress: Told what the run is doing.

    Raises:
        GuaranteeNotMet: The identifiable records cannot be protected, or the audit refused the outcome.
        PpdmError: An option, a column or the source cannot be used; nothing was published.

    Cost: two scans of the source to collapse it, some GROUP BYs of the collapsed rows, and for the audit a
    GROUP BY of source and release together for each confidential column; with persons, three scans of the
    source and a GROUP BY of it for each confidential column besides.
    """
    return SwapRun(engine, source, request, progress).publish()


@dataclass(frozen=True)
class Swapped:
    """The swap of one confidential attribute.

    Args:
        name: The column.
        proportion: Of the uniquely identifiable records, to change.
        identified: The identifiable records.
        plan: What moves; None where nothing is identifiable.
    """

    name: str
    proportion: Fraction
    identified: IdentifiableRecords
    plan: Plan | None


class Swaps(NamedTuple):
    """The records or persons before and after the swaps, the rows as released, and the swaps themselves."""

    source: Atoms
    after: Atoms
    rows: Atoms
    done: Sequence[Swapped]
    linked: LinkedRows | None  # where persons were swapped


class SwapRun(Run[Swaps]):
    """A run in which confidential values are exchanged, one attribute after the other."""

    request: SwapRequest
    roles: SwapRoles
    counts_rows = "each row is swapped for itself"

    def assign_roles(self) -> SwapRoles:
        """Read the options, and give every named column its role."""
        listed = list(self.columns.values())
        self.request = self._resolved(self.request)
        roles = assign_swap_roles(listed, self.request, table=self.source)
        check_choice("method", self.request.method, METHODS)
        check_choice("--phase1", self.request.phase1, PHASES)
        self.proportions = {name: proportion_of(self.request, name) for name in roles.confidential}
        self.per_group, self.share = per_group(self.request.per_group), share_of(self.request.share)
        confidential = [self.columns[name] for name in roles.confidential]
        self.requested_bins = requested_bins(self.request.bins, confidential)
        self.labels: dict[str, tuple[str, ...]] = {}
        return roles

    @property
    def known(self) -> Sequence[str]:
        """Those by which records are singled out."""
        return self.roles.by

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

    # -- the run --------------------------------------------------------------------------------

    def transform(self) -> Swaps:
        """Collapse the source, and swap one confidential column after the other."""
        progress = self.progress
        progress.start(f"collapsing {self.source}")
        self.table = self._read()
        rows = self._collapse()
        persons = self._persons(rows) if self.roles.person else None
        source = self._categories(rows if persons is None else persons.atoms)
        by = [rows.position(name) for name in self.roles.by] if persons is None else persons.by
        notice_correlations(self.engine, source, self.roles.confidential, progress)
        if self.request.seed is not None:
            progress.notice("Whoever knows the seed can find out which records were changed.")
        master, atoms, done = master_key(self.request.seed), source, list[Swapped]()
        for name in self.roles.confidential:
            progress.start(f"swapping {name}")
            key = attribute_key(master, name)
            found = self._planned(source, by, name, key)
            if found.plan is not None:
                atoms = self._swapped(atoms, found.identified, found.plan, key)
            done.append(found)
        if persons is None:
            return Swaps(source, atoms, atoms, done, None)
        released, owned = rows_after(self.engine, persons, atoms)
        return Swaps(source, atoms, released, done, linked_rows(self.engine, owned, persons))

    def _read(self) -> Table:
        """Give the source as method and audit read it."""
        roles = self.roles
        named = {*roles.by, *roles.confidential, *roles.kept, *roles.pseudonyms, *roles.person}
        counted = set() if roles.count is None else {roles.count}
        needed = {*named, self.collapsed_elsewhere(named | counted, roles.count)}
        columns = [item for item in self.engine.columns(self.table) if item.name in needed]
        return read_source(self.engine, self.table, columns)

    def _collapse(self) -> Atoms:
        """Read the source once; refuse confidential columns without a value somewhere."""
        roles = self.roles
        if roles.person:
            check_persons(self.engine, self.table, roles.person)
        coded = [self.columns[name] for name in (*roles.by, *roles.confidential, *roles.person)]
        atoms = collapse(
            self.engine,
            self.table,
            coded,
            self.kept,
            roles.count,
            masked=(),
            symbol="",
            shown=self.source,
        )
        for name in roles.confidential:
            position = atoms.position(name)
            if atoms.coded[position].has_null:
                raise InvalidSource(
                    f"Confidential column {name!r} is NULL in {self._nulls(atoms, position)} records.",
                    "Leave these records out, or give them a value, in a view.",
                )
        return atoms

    def _persons(self, rows: Atoms) -> SwappedPersons:
        roles = self.roles
        of_roles = (roles.by, roles.confidential, roles.person)
        return persons_of(self.engine, rows, *([rows.position(name) for name in names] for names in of_roles))

    def _categories(self, atoms: Atoms) -> Atoms:
        """Put numbers into bins; refuse confidential columns that hold no categories."""
        for name in self.roles.confidential:
            position = atoms.position(name)
            if name in self.requested_bins:
                atoms, self.labels[name] = discretized(
                    self.engine, atoms, position, self.requested_bins[name]
                )
            check_categories(name, atoms.coded[position].size, self.proportions[name], self.progress)
        return atoms

    def _nulls(self, atoms: Atoms, position: int) -> int:
        last = atoms.coded[position].size - 1
        query = f"SELECT sum(n)::BIGINT FROM {atoms.table} WHERE c{position} = {last}"
        ((records,),) = self.engine.query(query, step="nulls")
        return int(records)

    def _planned(self, atoms: Atoms, by: Sequence[int], name: str, key: bytes) -> Swapped:
        """Find the identifiable records by the source's own values, and plan their swaps."""
        identified = identify(self.engine, atoms, by, atoms.position(name))
        proportion = self.proportions[name]
        if not identified.identifiable:
            self.progress.warn(f"No {self.unit} is identifiable, so every {name} is released as it is.")
            return Swapped(name, proportion, identified, None)
        unique = int(identified.unique.sum())
        check_unique(name, proportion, unique, identified.categories, self.unit)
        options = SwapOptions(
            proportion=proportion,
            per_group=self.per_group,
            method=cast(Method, self.request.method),
            phase1=cast(PhaseOne, self.request.phase1),
            share=self.share,
            blur=self.request.blur,
            smoothing=self.request.smoothing,
            seed=key,
            column=name,
        )
        plan = swap_plan(self.engine, identified, options, self.progress)
        return Swapped(name, proportion, identified, plan)

    def _swapped(self, atoms: Atoms, identified: IdentifiableRecords, plan: Plan, key: bytes) -> Atoms:
        """Carry a plan out; the rows of an only column are read but once, when they are released."""
        only = len(self.roles.confidential) == 1 and not self.roles.person
        secret = attribute_key(key, "records")
        return swapped(
            self.engine, atoms, identified, plan.moves, secret, one_each=plan.one_each, read_once=only
        )

    # -- the draft ------------------------------------------------------------------------------

    def draft(self, transformed: Swaps) -> Draft:
        """Write down the release: the swapped atoms, nothing of them masked."""
        engine, request = self.engine, self.request
        source, after, atoms, done, linked = transformed
        marginals = {found.name: self._marginal(transformed, found) for found in done}
        unmasked, outputs = MaskedAtoms(atoms, whole=self._whole(atoms, marginals)), self.outputs(atoms)
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
            measures=(*self._planned_measures(done), *self._correlations(source, after)),
            marginals=marginals,
            unfolded=self.unfolded,
            accept=lambda rows: self._accepted(rows, done, linked),
        )

    def _marginal(self, transformed: Swaps, found: Swapped) -> dict[str, int]:
        """Count the released records of each value: by the plan, or in the rows where persons were moved."""
        read, moved = transformed.rows, np.zeros(0, dtype=np.int64)
        if transformed.linked is None and found.plan is not None:
            read, flows = transformed.source, found.plan.flows
            moved = flows.sum(axis=0) - flows.sum(axis=1)
        position = read.position(found.name)
        counts = f"SELECT c{position} AS code, sum(n)::BIGINT AS n FROM {read.table} GROUP BY ALL"
        query = (
            f"SELECT d.value::VARCHAR, d.code, coalesce(a.n, 0) FROM {read.coded[position].table} AS d "
            f"LEFT JOIN ({counts}) AS a ON a.code = d.code ORDER BY ALL"
        )
        rows = self.engine.query(query, step="marginal")
        after = {value: records + int(moved[code] if len(moved) else 0) for value, code, records in rows}
        return {value: records for value, records in after.items() if records}

    def _whole(self, atoms: Atoms, marginals: Mapping[str, Mapping[str, int]]) -> frozenset[int]:
        """Find the columns that show all values of the source: unchanged ones, and others that lost none."""
        found = {name: len(marginal) for name, marginal in marginals.items()}
        return frozenset(
            position
            for position, item in enumerate(atoms.coded)
            if found.get(item.column.name, item.size) == item.size
        )

    def _parameters(self) -> dict[str, object]:
        roles, request = self.roles, self.request
        numbers = {name: float(number) for name, number in self.proportions.items()}
        given = self.per_group
        return {
            "class": roles.class_column or roles.confidential[0],
            "count": roles.count,
            "person": list(roles.person),
            "confidential": list(roles.confidential),
            "by": list(roles.by),
            "keep": list(roles.kept),
            "identifiers": roles.identifiers,
            "proportion": numbers,
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
        """Name a measure of a column; with persons it is one of persons."""
        return f"{as_persons(measure) if self.roles.person else measure}: {name}"

    def _planned_measures(self, done: Sequence[Swapped]) -> list[MeasureRow]:
        return [
            (self._named(measure, found.name), before, after)
            for found in done
            if found.plan is not None
            for measure, before, after in found.plan.measures
            if measure not in COUNTED
        ]

    def _correlations(self, source: Atoms, atoms: Atoms) -> list[MeasureRow]:
        pairs = combinations(self.roles.confidential, 2)
        return [
            (
                f"correlation (Cramér's V): {first}, {second}",
                cramers_v(self.engine, source, source.position(first), source.position(second)),
                cramers_v(self.engine, atoms, atoms.position(first), atoms.position(second)),
            )
            for first, second in pairs
        ]

    def _accepted(
        self, rows: exp.Select, done: Sequence[Swapped], linked: LinkedRows | None
    ) -> list[MeasureRow]:
        """Let the audit compare source and release, and give what it counted."""
        roles, engine = self.roles, self.engine
        unchanged = [self.columns[name] for name in (*roles.by, *roles.kept)]
        accept_pseudonyms(engine, self.table, rows, roles.pseudonyms, unchanged, roles.count)
        promises = [self._promised(found) for found in done]
        if linked is None:
            audits = [accept_swap(engine, self.table, rows, promise) for promise in promises]
        else:
            person = [self.columns[name] for name in roles.person]
            audits = accept_swapped_persons(engine, self.table, rows, promises, person, linked)
        both = zip(done, audits, strict=True)
        return [measure for found, audit in both for measure in self._counted(found.name, audit)]

    def _promised(self, found: Swapped) -> SwapPromise:
        return SwapPromise(
            confidential=self.columns[found.name],
            by=[self.columns[name] for name in self.roles.by],
            carried=[self.columns[name] for name in self.roles.kept],
            count=self.roles.count,
            proportion=found.proportion,
            per_group=self.per_group,
            deviation=0 if found.plan is None else found.plan.deviation,
            bins=self.labels.get(found.name),
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
