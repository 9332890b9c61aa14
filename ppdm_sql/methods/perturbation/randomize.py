"""Randomization: values are distorted before anyone mines them; what the noise is stays known.

Source: Agrawal, Srikant 2000, "Privacy-Preserving Data Mining", SIGMOD, section 2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from ppdm_sql.audit.pseudonyms import accept_pseudonyms
from ppdm_sql.audit.randomized import MANY_FOR_VARIANCE, RandomizedPromise, accept_randomized
from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table, alias, column
from ppdm_sql.engine.statements import bind
from ppdm_sql.errors import InvalidOption
from ppdm_sql.methods.base.run import Run
from ppdm_sql.methods.base.source import read_source
from ppdm_sql.methods.perturbation.column_statistics import moments_of, source_rows
from ppdm_sql.methods.perturbation.correlated_noise import mixing_matrix
from ppdm_sql.methods.perturbation.key_reuse import key_notices, repeated_notices
from ppdm_sql.methods.perturbation.noise import Cells, Gaussian, Noise, Retain, as_json, as_text
from ppdm_sql.methods.perturbation.noise_draws import NoiseDrawer, Stream, registered
from ppdm_sql.methods.perturbation.noise_key import Key, run_key
from ppdm_sql.methods.perturbation.noise_lookup import domains_given
from ppdm_sql.methods.perturbation.noise_measures import Measure, column_measures, moment_measures
from ppdm_sql.methods.perturbation.noisy_columns import NoisyColumn, noisy_columns
from ppdm_sql.methods.perturbation.noisy_rows import noisy_rows, ordered_rows, originals
from ppdm_sql.methods.perturbation.record_key import RecordKey, records_by_column, records_by_row
from ppdm_sql.methods.perturbation.request import RandomizeRequest
from ppdm_sql.methods.perturbation.roles import RandomizeRoles, assign_randomize_roles
from ppdm_sql.methods.perturbation.spectral_attack import deviation, filter_attack
from ppdm_sql.progress import Progress
from ppdm_sql.release import Draft, Moments, Release, ReleasedColumn

Matrix = NDArray[np.float64]


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
    measures: Sequence[Measure]  # what the noise hides, and what an attack by correlations gets back
    marginals: Mapping[str, Mapping[str, int]]
    moments: Mapping[str, Moments]


class RandomizeRun(Run[Randomized]):
    """A run that draws noise for each record by itself."""

    request: RandomizeRequest
    roles: RandomizeRoles

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

    def transform(self) -> Randomized:
        """Read the source, draw the noise, write the noisy rows and measure them."""
        engine, progress = self.engine, self.progress
        progress.start(f"reading {self.source}")
        records = self._records()
        asked = [(item, self.columns[item.column]) for item in self.roles.asked]
        number, noisy = noisy_columns(engine, self.rows, asked, self.ranges, progress)
        key = run_key(self.request.key_file, self.request.seed, dry=engine.dry)
        self._notice(key, records, noisy)
        progress.start(f"randomizing {self.source}")
        mixed = self._mixing(noisy) if self.request.correlated else None
        table = self._noisy_table(noisy, records, key, mixed)
        self._notice_nulls(table, noisy)
        progress.start(f"measuring {self.request.into}")
        measures = self._measures(table, noisy, number, mixed)
        marginals, moments = self._marginals(table, noisy), self._moments(table, noisy)
        return Randomized(table, number, noisy, key, measures, marginals, moments)

    def _source_rows(self) -> Table:
        """Give the source as method and audit read it; numbers that get noise are read as they are."""
        roles = self.roles
        numbers = {asked.column for asked in roles.asked if asked.kind != "retain"}
        others = {*(asked.column for asked in roles.asked), *self.carried, *roles.pseudonyms, roles.record}
        columns = self.engine.columns(self.table)
        return read_source(
            self.engine,
            self.table,
            [item for item in columns if item.name in others - numbers],
            as_they_are=[item for item in columns if item.name in numbers],
            rows=roles.record is None,
        )

    def _records(self) -> RecordKey:
        """Read the source, and say by what its records are told apart."""
        engine, name = self.engine, self.roles.record
        if name is None:
            records = records_by_row(engine, self.table, list(self.columns.values()), self.source)
            self.rows = self._source_rows()
            return records
        self.rows = self._source_rows()
        return records_by_column(engine, self.rows, self.columns[name])

    def _notice(self, key: Key, records: RecordKey, noisy: Sequence[NoisyColumn]) -> None:
        noises = {it.column.name: it.noise for it in noisy if not isinstance(it.noise, Cells)}
        if not noises:
            return
        texts = key_notices(key, self.request.key_file, records.identity)
        texts += repeated_notices(self.engine, self.table, noises, key, self.roles.record)
        for text in texts:
            self.progress.notice(text)

    def _notice_nulls(self, table: Table, noisy: Sequence[NoisyColumn]) -> None:
        counts = ", ".join(f"count(*) - count(r{place})" for place in range(len(noisy)))
        ((*missing,),) = self.engine.query(f"SELECT {counts} FROM {table}", step="nulls")
        found = [f"{n} records of {it.column.name}" for it, n in zip(noisy, missing, strict=True) if n]
        if found:
            self.progress.notice(
                f"NULL stays NULL, so that it is known who has no value: {', '.join(found)}."
            )

    def _mixing(self, noisy: Sequence[NoisyColumn]) -> Matrix:
        """Give the matrix by which the draws of a record depend on each other as its values do."""
        numbers = [it for it in noisy if it.added is not None]
        table = self.engine.materialize(
            "numbers", exp.select(*originals(numbers)).from_(source_rows(self.rows))
        )
        values = [column(f"x{place}") for place in range(len(numbers))]
        found = mixing_matrix(self.engine, table, values, [deviation(it.added) for it in numbers if it.added])
        return np.round(found, 9)

    def _noisy_table(
        self, noisy: Sequence[NoisyColumn], records: RecordKey, key: Key, mixed: Matrix | None
    ) -> Table:
        """Draw the noise and write the noisy rows."""
        context = "" if mixed is None else np.round(mixed, 6).tobytes().hex()
        drawn = [it for it in noisy if not isinstance(it.noise, Cells)]
        streams = [
            Stream(
                key.derived(records.identity, it.column.name, as_text(it.noise), context),
                isinstance(it.noise, Gaussian),
            )
            for it in drawn
        ]
        engine = self.engine
        kept = [alias(item.expression, f"k{place}") for place, item in enumerate(self.kept)]
        if not streams:
            return noisy_rows(engine, self.rows, noisy, kept, records, None)
        drawer = NoiseDrawer(streams, records.identity, mixed)
        with registered(engine, drawer, len(streams), records.identity) as draws:
            return noisy_rows(engine, self.rows, noisy, kept, records, draws)

    @property
    def carried(self) -> Sequence[str]:
        """Columns that are released as they are, the class among them, in the order of the source."""
        return [name for name in self.columns if self.roles.treatment(name) in ("class", "kept")]

    # -- the draft ------------------------------------------------------------------------------

    def draft(self, transformed: Randomized) -> Draft:
        """Write down the release: the noisy rows and the model of their noise."""
        noisy = transformed.noisy
        working = {it.column.name: f"r{place}" for place, it in enumerate(noisy)}
        working |= {item.name: f"k{place}" for place, item in enumerate(self.kept)}
        names = [name for name in self.columns if name in working]
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
            select=ordered_rows(transformed.table, [(working[name], name) for name in names]),
            count=None,
            columns=columns,
            symbol="",
            rows=transformed.records,
            steps=None,
            cuts=None,
            measures=tuple(transformed.measures),
            marginals=transformed.marginals,
            moments=transformed.moments,
            accept=lambda rows: self._accepted(rows, columns, parameters),
        )

    def _released(self, name: str, noise: Noise | None) -> ReleasedColumn:
        treatment = self.roles.treatment(name)
        assert treatment is not None
        return ReleasedColumn(name, treatment, noise=None if noise is None else as_text(noise))

    def _parameters(self, noises: dict[str, Noise], key: Key) -> dict[str, object]:
        roles = self.roles
        return {
            "class": roles.class_column,
            "keep": list(roles.kept),
            "identifiers": roles.identifiers,
            "record": roles.record,
            "noise": {name: as_json(noise) for name, noise in noises.items()},
            "correlated": self.request.correlated,
            "key": key.kept,
            "key fingerprint": key.fingerprint,
            "seeded": key.kept == "seed",
        }

    def _marginals(self, table: Table, noisy: Sequence[NoisyColumn]) -> dict[str, dict[str, int]]:
        """Count the released categories and cells."""
        found: dict[str, dict[str, int]] = {}
        for place, it in enumerate(noisy):
            if isinstance(it.noise, Cells | Retain):
                tables, columns = {"noisy": table}, {"attribute": [f"r{place}"]}
                counting = bind("perturbation/marginal", tables=tables, columns=columns)
                found[it.column.name] = dict(self.engine.query(counting, step="marginal"))
        return found

    def _moments(self, table: Table, noisy: Sequence[NoisyColumn]) -> dict[str, Moments]:
        places = {it.column.name: f"r{place}" for place, it in enumerate(noisy) if it.added is not None}
        found = moments_of(self.engine, table, list(places.values()))
        return {name: found[working] for name, working in places.items()}

    # -- measures and the audit -----------------------------------------------------------------

    def _measures(
        self, table: Table, noisy: Sequence[NoisyColumn], records: int, mixed: Matrix | None
    ) -> list[Measure]:
        measures = column_measures(self.engine, table, noisy, records)
        numbers = {it.column.name: (f"r{i}", f"x{i}", it.noise) for i, it in enumerate(noisy) if it.added}
        attack = filter_attack(
            self.engine,
            table,
            {name: noise for name, (_, _, noise) in numbers.items()},
            {name: column(released) for name, (released, _, _) in numbers.items()},
            {name: column(original) for name, (_, original, _) in numbers.items()},
            mixed,
        )
        if attack is not None:
            measures += attack.measures
            if attack.warning is not None:
                self.progress.warn(attack.warning)
        return measures

    def _accepted(
        self, rows: exp.Select, released: Sequence[ReleasedColumn], parameters: Mapping[str, Any]
    ) -> list[Measure]:
        """Let the audit compare source and release, and give the moments that it found."""
        promise = RandomizedPromise(
            noises={item.name: item.noise for item in released if item.noise is not None},
            parameters=parameters["noise"],
            columns=self.columns,
            carried=self.carried,
        )
        audit = accept_randomized(self.engine, self.rows, rows, promise)
        unchanged = [self.columns[name] for name in self.carried]
        accept_pseudonyms(self.engine, self.rows, rows, self.roles.pseudonyms, unchanged)
        if audit.unjudged:
            self.progress.notice(
                f"Fewer than {MANY_FOR_VARIANCE} values, too few to hold the variance of the noise against "
                f"its model: {', '.join(audit.unjudged)}."
            )
        return list(moment_measures(audit.before.moments, audit.after.moments))


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
