"""Randomization: values are distorted before anyone mines them; what the noise is stays known.

Source: Agrawal, Srikant 2000, "Privacy-Preserving Data Mining", SIGMOD, section 2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlglot import exp

from ppdm_sql.audit.randomized import MANY_FOR_VARIANCE, RandomizedPromise
from ppdm_sql.audit.randomized_persons import OwnedRows
from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table, aliased, column
from ppdm_sql.engine.person_columns import check_persons
from ppdm_sql.engine.source import is_stand_in, source_of
from ppdm_sql.errors import InvalidOption
from ppdm_sql.methods.base.arrays import Floats
from ppdm_sql.methods.base.run import Run
from ppdm_sql.methods.perturbation.column_statistics import moments_of
from ppdm_sql.methods.perturbation.correlated_noise import mixing_matrix
from ppdm_sql.methods.perturbation.drawing import Draws, NoiseDrawing, RandomizedSource, drawn_records
from ppdm_sql.methods.perturbation.drawing_here import DrawingHere
from ppdm_sql.methods.perturbation.key_reuse import key_notices, repeated_notices
from ppdm_sql.methods.perturbation.noise import Cells, Noise, Retain, as_json, as_text
from ppdm_sql.methods.perturbation.noise_key import Key, run_key
from ppdm_sql.methods.perturbation.noise_lookup import domains_given
from ppdm_sql.methods.perturbation.noise_measures import column_measures, moment_measures
from ppdm_sql.methods.perturbation.noisy_columns import NoisyColumn, noisy_columns
from ppdm_sql.methods.perturbation.noisy_rows import originals
from ppdm_sql.methods.perturbation.person_draws import (
    MEASURE,
    WHO,
    DrawnPersons,
    averaging_attack,
    find_persons,
    person_notices,
    refuse_correlated,
)
from ppdm_sql.methods.perturbation.roles import RandomizeRoles, assign_randomize_roles
from ppdm_sql.methods.perturbation.source_counts import value_counts
from ppdm_sql.methods.perturbation.spectral_attack import deviation, filter_attack
from ppdm_sql.options import RandomizeRequest
from ppdm_sql.progress import Progress
from ppdm_sql.release import Draft, Moments, Release, ReleasedColumn
from ppdm_sql.release.draft import MeasureRow


def randomize(engine: Engine, source: str, request: RandomizeRequest, progress: Progress) -> Release:
    """Distort columns by noise, and publish the release.

    Raises:
        GuaranteeNotMet: The audit refused the outcome.
        PpdmError: An option, a column or the source cannot be used; nothing was published.

    Cost: two scans of the source and one to write the noisy rows, a sort of these, and for measures and audit
    some scans more.
    """
    return RandomizeRun(engine, source, request, progress).publish()


@dataclass(frozen=True)
class Randomized:
    """The noisy rows, how they came about, and what was measured of them."""

    table: Table  # from :func:`~ppdm_sql.methods.perturbation.noisy_rows.noisy_rows`
    records: int
    noisy: Sequence[NoisyColumn]  # the randomized columns
    key: Key  # of the noise
    measures: Sequence[MeasureRow]  # what the noise hides, and what an attack by correlations gets back
    marginals: Mapping[str, Mapping[str, int]]
    moments: Mapping[str, Moments]
    persons: DrawnPersons | None  # where a person gets one draw


class RandomizeRun(Run[Randomized]):
    """A run that draws noise for each record by itself."""

    request: RandomizeRequest
    roles: RandomizeRoles
    drawing: NoiseDrawing  # known once the run reads the source
    counts_rows = "each row gets its own noise, so that the mean of many is close to the truth"

    def assign_roles(self) -> RandomizeRoles:
        """Read noise and ranges, and give every named column its role."""
        if self.request.count_column is not None:
            raise InvalidOption(
                "A row that stands for several records cannot be randomized, since each needs its own noise.",
                "Give a view with a row a record, such as SELECT t.* FROM t, range(n), and no --count.",
            )
        listed = list(self.columns.values())
        roles = assign_randomize_roles(listed, self.request, table=self.source)
        self.ranges = domains_given(self.request.ranges, listed, table=self.source)
        if self.request.correlated:
            _refuse_uncorrelatable(roles)
        return roles

    # -- the run --------------------------------------------------------------------------------

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Keep what is drawn elsewhere until the run is over."""
        with super().reading(), ExitStack() as self.elsewhere:
            yield

    def transform(self) -> Randomized:
        """Read the source, draw the noise, write the noisy rows and measure them."""
        engine, progress = self.engine, self.progress
        progress.start(f"reading {self.source}")
        self.drawing = drawing = self._drawing()
        asked = [(item, self.columns[item.column]) for item in self.roles.asked]
        number, noisy = noisy_columns(engine, drawing.rows, asked, self.ranges, progress, self.source)
        key = run_key(self.request.key_file, self.request.seed, dry=engine.dry)
        persons = self._persons(noisy) if self.roles.person else None
        self._notice(key, persons, noisy)
        progress.start(f"randomizing {self.source}")
        mixed = self._mixing(noisy) if self.request.correlated else None
        table = drawing.draw(Draws(noisy, key, mixed, persons), number)
        self._notice_nulls(table, noisy)
        progress.start(f"measuring {self.request.into}")
        measures = self._measures(table, noisy, number, mixed)
        if persons is not None:
            measures += self._averaged(table, persons, noisy)
        marginals, moments = self._marginals(table, noisy), self._moments(table, noisy)
        return Randomized(table, number, noisy, key, measures, marginals, moments, persons)

    def _drawing(self) -> NoiseDrawing:
        """Choose where noise is drawn: where the records live, so that none of them travels, if that will do.

        Rows that are to stand in the database alone, or in a table elsewhere, have to pass through it; and so
        do those whose noise needs more of the data than aggregates.
        """
        roles, carried = self.roles, self.carried
        source = RandomizedSource(
            self.engine, self.table, self.source, self.columns, roles, carried, self.kept
        )
        if not is_stand_in(self.engine, self.table) or self.placed is None:
            return DrawingHere(source)
        why = {
            "--person": bool(roles.person),
            "--correlated": self.request.correlated,
            "a --to that is no plain path of a folder": not self.placed.takes_drawn,
        }
        found = [name for name, asked in why.items() if asked]
        if found:
            self.progress.notice(
                f"The records of {self.source} are copied into the ledger, which {found[0]} makes necessary."
            )
            return DrawingHere(source)
        from ppdm_sql.methods.perturbation.drawing_elsewhere import DrawingElsewhere  # few runs need it

        return DrawingElsewhere(source, self.placed, self.elsewhere)

    def _persons(self, noisy: Sequence[NoisyColumn]) -> DrawnPersons:
        """List the persons, and find out which columns get one draw for each of them."""
        rows = self.drawing.rows
        check_persons(self.engine, rows, self.roles.person)
        persons = find_persons(self.engine, rows, self.roles.person, noisy, originals(noisy))
        if self.request.correlated:
            refuse_correlated(persons, noisy)
        return persons

    def _averaged(
        self, table: Table, persons: DrawnPersons, noisy: Sequence[NoisyColumn]
    ) -> list[MeasureRow]:
        """Measure what the mean of a person's rows tells, and say what they tell together."""
        removed = averaging_attack(self.engine, table, noisy)
        for text in person_notices(persons, noisy, removed):
            self.progress.notice(text)
        return [(f"{MEASURE}: {name}", None, share) for name, share in removed.items()]

    def _notice(self, key: Key, persons: DrawnPersons | None, noisy: Sequence[NoisyColumn]) -> None:
        noises = {it.column.name: it.noise for it in noisy if not isinstance(it.noise, Cells)}
        if not noises:
            return
        records, roles = drawn_records(self.drawing.records, persons, self.source), self.roles
        texts = key_notices(key, self.request.key_file, "text" if records is None else records.identity)
        texts += repeated_notices(self.engine, self.table, noises, key, roles.record, roles.person)
        for text in texts:
            self.progress.notice(text)

    def _notice_nulls(self, table: Table, noisy: Sequence[NoisyColumn]) -> None:
        counts = [
            exp.Count(this=exp.Star()) - exp.Count(this=column(f"r{place}", "s"))
            for place in range(len(noisy))
        ]
        rows = source_of(self.engine, table)
        ((*missing,),) = rows.aggregate(lambda of: exp.select(*counts).from_(of), step="nulls")
        found = [f"{n} records of {it.column.name}" for it, n in zip(noisy, missing, strict=True) if n]
        if found:
            self.progress.notice(
                f"NULL stays NULL, so that it is known who has no value: {', '.join(found)}."
            )

    def _mixing(self, noisy: Sequence[NoisyColumn]) -> Floats:
        """Give the matrix by which the draws of a record depend on each other as its values do."""
        numbers = [it for it in noisy if it.added is not None]
        table = self.engine.materialize(
            "numbers", exp.select(*originals(numbers)).from_(aliased(self.drawing.rows, "s"))
        )
        values = [column(f"x{place}") for place in range(len(numbers))]
        found = mixing_matrix(self.engine, table, values, [deviation(it.added) for it in numbers if it.added])
        return np.round(found, 9)

    def _outputs(self, noisy: Sequence[NoisyColumn]) -> list[tuple[str, str]]:
        """Give the working name and the released name of each column."""
        working = {it.column.name: f"r{place}" for place, it in enumerate(noisy)}
        working |= {item.name: f"k{place}" for place, item in enumerate(self.kept)}
        return [(working[name], name) for name in self.columns if name in working]

    @property
    def carried(self) -> Sequence[str]:
        """Columns that are released as they are, the class among them, in the order of the source."""
        return [name for name in self.columns if self.roles.treatment(name) in ("class", "kept")]

    # -- the draft ------------------------------------------------------------------------------

    def draft(self, transformed: Randomized) -> Draft:
        """Write down the release: the noisy rows and the model of their noise."""
        noisy = transformed.noisy
        outputs = self._outputs(noisy)
        names = [name for _, name in outputs]
        noises = {it.column.name: it.noise for it in noisy}
        parameters = self._parameters(noises, transformed.key)
        columns = tuple(self._released(name, noises.get(name)) for name in names)
        return Draft(
            name=self.request.into,
            method="randomize",
            source=self.source,
            requirements=(),
            parameters=parameters,
            stopped="complete",
            select=self.drawing.select(transformed.table, outputs),
            count=None,
            columns=columns,
            symbol="",
            rows=transformed.records,
            steps=None,
            cuts=None,
            measures=tuple(transformed.measures),
            marginals=transformed.marginals,
            moments=transformed.moments,
            accept=lambda rows: self._accepted(rows, columns, parameters, transformed),
            outside=self.drawing.outside,
        )

    def _released(self, name: str, noise: Noise | None) -> ReleasedColumn:
        treatment = self.roles.treatment(name)
        assert treatment is not None
        shown = None if noise is None else as_text(noise)
        return ReleasedColumn(name, treatment, name in self.drawing.packed, noise=shown)

    def _parameters(self, noises: dict[str, Noise], key: Key) -> dict[str, object]:
        roles = self.roles
        return {
            "class": roles.class_column,
            "keep": list(roles.kept),
            "identifiers": roles.identifiers,
            "record": roles.record,
            "person": list(roles.person),
            "noise": {name: as_json(noise) for name, noise in noises.items()},
            "correlated": self.request.correlated,
            "key": key.kept,
            "key fingerprint": key.fingerprint,
            "seeded": key.kept == "seed",
        }

    def _marginals(self, table: Table, noisy: Sequence[NoisyColumn]) -> dict[str, dict[str, int]]:
        """Count the released categories and cells."""
        return {
            it.column.name: value_counts(self.engine, table, f"r{place}")
            for place, it in enumerate(noisy)
            if isinstance(it.noise, Cells | Retain)
        }

    def _moments(self, table: Table, noisy: Sequence[NoisyColumn]) -> dict[str, Moments]:
        places = {it.column.name: f"r{place}" for place, it in enumerate(noisy) if it.added is not None}
        found = moments_of(self.engine, table, list(places.values()))
        return {name: found[working] for name, working in places.items()}

    # -- measures and the audit -----------------------------------------------------------------

    def _measures(
        self, table: Table, noisy: Sequence[NoisyColumn], records: int, mixed: Floats | None
    ) -> list[MeasureRow]:
        measures = column_measures(self.engine, table, noisy, records)
        numbers = {it.column.name: (f"r{i}", f"x{i}", it.noise) for i, it in enumerate(noisy) if it.added}
        attack = filter_attack(
            self.engine,
            table,
            {name: noise for name, (_, _, noise) in numbers.items()},
            {name: column(released, "s") for name, (released, _, _) in numbers.items()},
            {name: column(original, "s") for name, (_, original, _) in numbers.items()},
            mixed,
        )
        if attack is not None:
            measures += attack.measures
            if attack.warning is not None:
                self.progress.warn(attack.warning)
        return measures

    def _accepted(
        self,
        rows: exp.Select,
        released: Sequence[ReleasedColumn],
        parameters: Mapping[str, Any],
        done: Randomized,
    ) -> list[MeasureRow]:
        """Let the audit compare source and release, and give the moments that it found."""
        promise = RandomizedPromise(
            noises={item.name: item.noise for item in released if item.noise is not None},
            parameters=parameters["noise"],
            columns=self.columns,
            carried=self.carried,
            owned=self._owned(done),
        )
        audit = self.drawing.accept(rows, promise)
        if audit.unjudged:
            self.progress.notice(
                f"Fewer than {MANY_FOR_VARIANCE} values, too few to hold the variance of the noise against "
                f"its model: {', '.join(audit.unjudged)}."
            )
        return list(moment_measures(audit.before.moments, audit.after.moments))

    def _owned(self, done: Randomized) -> OwnedRows | None:
        """Say whose each noisy row is, for the audit alone; None where no person gets a draw."""
        persons = done.persons
        if persons is None or all(isinstance(it.noise, Cells) for it in done.noisy):
            return None
        names = {it.column.name: f"r{place}" for place, it in enumerate(done.noisy)}
        pseudonyms = self.roles.pseudonyms
        kept = {it.name: f"k{place}" for place, it in enumerate(self.kept) if it.name not in pseudonyms}
        return OwnedRows(done.table, WHO, persons.who, names | kept)


def _refuse_uncorrelatable(roles: RandomizeRoles) -> None:
    uniform = [asked.column for asked in roles.asked if asked.kind == "uniform"]
    if uniform:
        raise InvalidOption(
            f"The noise of {uniform[0]!r} cannot be correlated: a mix of uniform noise is not uniform.",
            f"Give --noise '{uniform[0]}=gaussian 100%', or leave out --correlated.",
        )
    if sum(asked.kind == "gaussian" for asked in roles.asked) < 2:
        raise InvalidOption(
            "Fewer than two columns get Gaussian noise, so there is nothing to correlate.",
            "Leave out --correlated.",
        )
