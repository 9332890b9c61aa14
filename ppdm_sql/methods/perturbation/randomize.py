"""Randomization: values are distorted before anyone mines them; what the noise is stays known.

Source: Agrawal, Srikant 2000, "Privacy-Preserving Data Mining", SIGMOD, section 2.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sqlglot import exp

from ppdm_sql.audit.comparing import OwnedRows, accept_pseudonyms
from ppdm_sql.audit.randomized import MANY_FOR_VARIANCE, RandomizedPromise, accept_randomized
from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.exact import exact_values
from ppdm_sql.engine.keys import Key, is_open_to_others, padded, pseudonym
from ppdm_sql.engine.names import Table, column, resolve, resolve_all
from ppdm_sql.engine.source import (
    Source,
    aggregated,
    check_persons,
    is_stand_in,
    person_columns,
    read_records,
    source_of,
)
from ppdm_sql.engine.statements import Sql, Statement, sql
from ppdm_sql.engine.types import Kind, kind_of, without_enum
from ppdm_sql.errors import InvalidOption
from ppdm_sql.methods.base.arrays import Floats
from ppdm_sql.methods.base.collapse import Kept, read_source
from ppdm_sql.methods.base.roles import Roles, Treatments, treated_identifiers
from ppdm_sql.methods.base.run import Run
from ppdm_sql.methods.perturbation.correlations import deviation, filter_attack, mixing_matrix
from ppdm_sql.methods.perturbation.noise import (
    AdditiveNoise,
    Cells,
    Gaussian,
    NoiseSpec,
    as_json,
    as_text,
    domains_of,
    parse_all_noise,
    value_counts,
)
from ppdm_sql.methods.perturbation.noise_draws import (
    Draw,
    Draws,
    Identity,
    RecordKey,
    records_by_column,
    records_by_row,
    run_key,
    unknown_rows,
)
from ppdm_sql.methods.perturbation.noisy_columns import (
    NoisyColumn,
    moments_of,
    noisy_columns,
    originals,
)
from ppdm_sql.methods.perturbation.noisy_rows import (
    MEASURE,
    PERSON_DRAWS,
    WHO,
    NoisyRows,
    PersonDraws,
    averaging_attack,
    find_persons,
    ordered_rows,
    packed_text,
    person_notices,
    refuse_correlated,
)
from ppdm_sql.methods.perturbation.privacy_measures import column_measures, moment_measures
from ppdm_sql.options import RandomizeRequest
from ppdm_sql.progress import Progress
from ppdm_sql.release import Draft, Release, ReleasedColumn
from ppdm_sql.release.composition import others_of
from ppdm_sql.release.layout import MeasureRow

SAME_TEXT = {Kind.WHOLE, Kind.DECIMAL, Kind.DATE, Kind.BOOLEAN, Kind.TEXT}
"""Types of which all engines write a value as the same text."""


def randomize(engine: Engine, source: str, request: RandomizeRequest, progress: Progress) -> Release:
    """Distort columns by noise, and publish the release."""
    return RandomizeRun(engine, source, request, progress).publish()


class RandomizeRun(Run[Table]):
    """A run that draws noise for each record by itself; the table holds noisy rows beside their originals."""

    request: RandomizeRequest
    roles: RandomizeRoles
    rows: Table  # the columns read from the source, once they are
    records: RecordKey | None  # by what its records are told apart, if that is known
    number: int  # of the records
    key: Key  # of the noise
    # what the noise hides, and what an attack by correlations gets back
    measures: Sequence[MeasureRow]
    noisy: Sequence[NoisyColumn]  # the randomized columns, once their noise is known
    persons: PersonDraws | None = None  # where a person gets one draw
    outside: bool  # whether records and noisy rows stay where the source lives
    packed: Mapping[str, Statement] = {}  # columns of text that the noisy rows hold as numbers
    release_rows: Source  # the rows of the release, where they stay outside
    draws_noise = True
    counts_rows = "each row gets its own noise, so that the mean of many is close to the truth"

    def assign_roles(self) -> RandomizeRoles:
        if self.request.count_column is not None:
            raise InvalidOption(
                "A row that stands for several records cannot be randomized, since each needs its own noise.",
                "Give a view with a row a record, such as SELECT t.* FROM t, range(n), and no --count.",
            )
        columns = list(self.columns.values())
        roles = assign_randomize_roles(columns, self.request, table=self.source)
        self.ranges = domains_of(self.request.ranges, columns, table=self.source)
        if self.request.correlated:
            _refuse_uncorrelatable(roles)
        return roles

    # -- the run --------------------------------------------------------------------------------

    def transform(self) -> Table:
        engine, progress = self.engine, self.progress
        progress.start(f"reading {self.source}")
        self.outside = self._stays_outside()
        self.rows, self.records = self._read()
        specs = [(item, self.columns[item.column]) for item in self.roles.specs]
        self.number, self.noisy = noisy_columns(engine, self.rows, specs, self.ranges, progress, self.source)
        self.noise_key = self._noise_key()
        if self.roles.person:
            check_persons(engine, self.rows, self.roles.person)
            self.persons = find_persons(engine, self.rows, self.roles.person, self.noisy)
            if self.request.correlated:
                refuse_correlated(self.persons, self.noisy)
        self._notice()
        progress.start(f"randomizing {self.source}")
        mixing = self._mixing() if self.request.correlated else None
        table = self._draw(mixing)
        self._notice_nulls(table)
        progress.start(f"measuring {self.request.into}")
        self.measures = self._measures(table, mixing)
        return table

    def _noise_key(self) -> Key:
        """Give the key of the noise; a file that makes pseudonyms, too, must be there and be the owner's."""
        if self.key.fingerprint is not None and self.request.seed is None:
            return self.key
        return run_key(self.request.key_file, self.request.seed, dry=self.engine.dry)

    def _stays_outside(self) -> bool:
        """Tell whether records stay where they live, so that none of them travels.

        Rows that are to stand in the database alone, or in a table elsewhere, have to pass through it; and so
        do those whose noise needs more of the data than aggregates, or hangs on a text that engines write
        each in its own way.
        """
        if not is_stand_in(self.engine, self.table) or self.placed is None:
            return False
        why = {
            "--person": bool(self.roles.person),
            "--correlated": self.request.correlated,
            "a --to that is not the plain path of a folder": not self.placed.takes_drawn,
        }
        categories = [spec.column for spec in self.roles.specs if spec.kind == "retain"]
        pseudonyms = self.roles.pseudonyms if self.request.key_file is not None else ()
        for name in (self.roles.record, *categories, *pseudonyms):
            if name is not None and kind_of(self.columns[name].type) not in SAME_TEXT:
                why[f"the type of {name!r}"] = True
        reason = next((name for name, holds in why.items() if holds), None)
        if reason is not None:
            self.progress.notice(
                f"The records of {self.source} are copied into the ledger, which {reason} makes necessary."
            )
        return reason is None

    def _read(self) -> tuple[Table, RecordKey | None]:
        """Read the columns that the run needs, and say by what records are told apart, if that is known."""
        engine, roles, records, rows = self.engine, self.roles, None, self.table
        if not self.outside:
            numbers = {spec.column for spec in roles.specs if spec.kind != "retain"}
            texts = {spec.column for spec in roles.specs} - numbers
            others = {*self.carried, *roles.pseudonyms, *roles.person, roles.record, *texts}
            if is_stand_in(engine, self.table):  # rows from elsewhere have no number
                if roles.record is None and not roles.person:
                    raise unknown_rows(self.source)
                read_records(engine, self.table, others | numbers)
            # persons need no records where nothing varies in their rows, which is not known yet
            elif roles.record is None and (not roles.person or self.table.stable):
                records = records_by_row(engine, self.table, list(self.columns.values()), self.source)
            columns = engine.columns(self.table)
            rows = read_source(
                engine,
                self.table,
                [item for item in columns if item.name in others - numbers],
                as_they_are=[item for item in columns if item.name in numbers],
                rows=records is not None,
            )
        if roles.record is not None:
            records = records_by_column(engine, rows, self.columns[roles.record])
        return rows, records

    @property
    def _drawn_columns(self) -> list[NoisyColumn]:
        """The columns that get draws."""
        return [it for it in self.noisy if not isinstance(it.noise, Cells)]

    def _draw(self, mixing: Floats | None) -> Table:
        engine, key = self.engine, self.noise_key
        columns = [
            Draw(it.column.name, as_text(it.noise), isinstance(it.noise, Gaussian))
            for it in self._drawn_columns
        ]
        context = "" if mixing is None else np.round(mixing, 6).tobytes().hex()
        records, of_records, of_persons = None, None, None
        if columns and (records := self._drawn_records()) is not None:
            of_records = Draws(key, columns, (records.identity, context), mixing)
        if columns and self.persons is not None:
            of_persons = Draws(key, columns, ("text", context, PERSON_DRAWS, *self.roles.person), mixing)
        keys = {name: data for place in self._pseudonym_keys for name, data in place.items()}
        drawing = records, of_records, self.persons, of_persons
        rows = NoisyRows(self.noisy, self._kept_values(), *drawing, keys)
        table = source_of(engine, self.rows).keep_rows(engine, rows.select, rows.keys(), step="noisy")
        if self.outside:
            assert self.placed is not None
            working = {name: work for work, name in self._outputs()}
            self.release_rows = self.placed.write_drawn(source_of(engine, table), working)
        return table

    def _drawn_records(self) -> RecordKey | None:
        """Say by what key records get draws of their own; None where only persons get draws."""
        if self.persons is not None and not self.persons.varying:
            return None
        if self.records is None:
            raise unknown_rows(self.source)
        return self.records

    @cached_property
    def _pseudonym_keys(self) -> list[dict[str, bytes]]:
        """The two padded keys of each column of pseudonyms, by their columns in the table of keys."""
        return [
            dict(zip((f"inner{place}", f"outer{place}"), padded(key), strict=True))
            for place, (_, key) in enumerate(self.pseudonym_keys)
        ]

    @cached_property
    def kept(self) -> list[Kept]:
        """The carried columns, then the pseudonyms, whose keys stand in the table of keys."""
        plain = [Kept(n, without_enum(column(n, "s"), self.columns[n].type)) for n in self.carried]
        pairs = zip(self.roles.pseudonyms, self._pseudonym_keys, strict=True)
        return plain + [
            Kept(n, pseudonym(column(n, "s"), *(column(k, "k") for k in keys))) for n, keys in pairs
        ]

    def _kept_values(self) -> list[Sql]:
        """Give the kept columns as the noisy rows hold them, text as numbers if it pays."""
        values: dict[str, Sql] = {item.name: item.expression for item in self.kept}
        if self.outside:
            columns = [item for item in self.engine.columns(self.table) if item.name in values]
            exact = exact_values(self.engine, self.table, columns)
            values = {name: with_columns(value, exact) for name, value in values.items()}
        elif self.persons is None:
            texts = self.kept[: len(self.carried)]
            self.packed = packed_text(self.engine, self.rows, texts, self.columns, self.number)
            values |= self.packed
        return [values[item.name] for item in self.kept]

    def _notice(self) -> None:
        if not self._drawn_columns:
            return
        records = self._drawn_records()
        identity = "text" if records is None else records.identity
        texts = key_notices(self.noise_key, self.request.key_file, identity)
        for text in (*texts, *self._repetitions()):
            self.progress.notice(text)

    def _repetitions(self) -> Iterator[str]:
        """Tell of earlier releases with other noise: the mean of both is nearer the truth."""
        noises = {it.column.name: as_json(it.noise) for it in self._drawn_columns}
        key = self.noise_key
        mine = [key.fingerprint, self.roles.record, list(self.roles.person) or None]
        for row in others_of(self.engine, self.engine.find(self.source), ""):
            if row.method != "randomize":
                continue
            earlier = row.parameters.get("noise", {})
            theirs = [row.parameters.get(part) or None for part in ("key fingerprint", "record", "person")]
            same_key = key.fingerprint is not None and theirs == mine
            before = {name for name in noises if earlier.get(name, {"kind": "cells"})["kind"] != "cells"}
            names = [n for n in noises if n in before and not (same_key and earlier[n] == noises[n])]
            if names:
                yield (
                    f"{', '.join(names)} of this table was randomized before, with other noise: anyone "
                    f"who has both this release and {row.release} can average noise away. Publish only one "
                    "of them, or repeat the noise with the same --key-file, --record, --person and --noise."
                )

    def _notice_nulls(self, table: Table) -> None:
        places = range(len(self.noisy))
        counts = [sql("count(*) - count({r})", r=column(f"r{place}", "s")) for place in places]
        query = "SELECT {counts} FROM {rows}"
        (missing,) = aggregated(self.engine, table, query, step="nulls", counts=counts)
        texts = [f"{n} records of {it.column.name}" for it, n in zip(self.noisy, missing, strict=True) if n]
        if texts:
            self.progress.notice(
                f"NULL stays NULL, so that it is known who has no value: {', '.join(texts)}."
            )

    def _mixing(self) -> Floats:
        """Give the matrix by which the draws of a record depend on each other as its values do."""
        numbers = [it for it in self.noisy if it.additive is not None]
        select = sql("SELECT {x} FROM {rows} AS s", x=originals(numbers), rows=self.rows)
        table = self.engine.materialize("numbers", select)
        values = [column(f"x{place}") for place in range(len(numbers))]
        deviations = [deviation(it.additive) for it in numbers if it.additive]
        return np.round(mixing_matrix(self.engine, table, values, deviations), 9)

    def _outputs(self) -> list[tuple[str, str]]:
        """Give the working name and the released name of each column."""
        working = {it.column.name: f"r{place}" for place, it in enumerate(self.noisy)}
        working |= {item.name: f"k{place}" for place, item in enumerate(self.kept)}
        return [(working[name], name) for name in self.columns if name in working]

    @property
    def carried(self) -> Sequence[str]:
        """Columns that are released as they are, the class among them, in the order of the source."""
        return [name for name in self.columns if self.roles.treatment(name) in ("class", "kept")]

    # -- the draft ------------------------------------------------------------------------------

    def draft(self, transformed: Table) -> Draft:
        engine, table, outputs = self.engine, transformed, self._outputs()
        if self.outside:  # as the rows were written
            assert self.placed is not None
            select: str = self.placed.stored_rows([name for _, name in outputs])
        else:
            select = ordered_rows(table, outputs)
        parameters = self._parameters()
        columns = tuple(self._released_column(name) for _, name in outputs)
        moments = moments_of(engine, table, [f"r{place}" for place, _ in self._additive])
        kinds = {item.name: item for item in engine.columns(table)}
        discrete = {it.column.name: kinds[f"r{n}"] for n, it in enumerate(self.noisy) if it.additive is None}
        return Draft(
            name=self.request.into,
            method="randomize",
            source=self.source,
            parameters=parameters,
            select=select,
            columns=columns,
            number=self.number,
            stepwise=False,
            measures=tuple(self.measures),
            marginals={name: value_counts(engine, table, item) for name, item in discrete.items()},
            moments={self.noisy[place].column.name: moments[f"r{place}"] for place, _ in self._additive},
            accept=lambda rows: self._accept(rows, columns, parameters, table),
            outside=self.outside,
        )

    @property
    def _additive(self) -> list[tuple[int, AdditiveNoise]]:
        """The places of the columns to which noise is added, and their noise."""
        return [(place, it.additive) for place, it in enumerate(self.noisy) if it.additive is not None]

    def _released_column(self, name: str) -> ReleasedColumn:
        treatment = self.roles.treatment(name)
        assert treatment is not None
        noises = {it.column.name: as_text(it.noise) for it in self.noisy}
        return ReleasedColumn(name, treatment, name in self.packed, noise=noises.get(name))

    def _parameters(self) -> dict[str, object]:
        roles, key = self.roles, self.noise_key
        return {
            "class": roles.class_column,
            "keep": list(roles.kept),
            "identifiers": roles.identifiers,
            "record": roles.record,
            "person": list(roles.person),
            "noise": {it.column.name: as_json(it.noise) for it in self.noisy},
            "correlated": self.request.correlated,
            "key": key.kept,
            "key fingerprint": key.fingerprint,
            "seeded": key.kept == "seed",
        }

    # -- measures and the audit -----------------------------------------------------------------

    def _measures(self, table: Table, mixing: Floats | None) -> list[MeasureRow]:
        measures = column_measures(self.engine, table, self.noisy, self.number)
        noises = {self.noisy[place].column.name: noise for place, noise in self._additive}
        released, original = ([column(f"{x}{place}", "s") for place, _ in self._additive] for x in "rx")
        attack = filter_attack(self.engine, table, noises, released, original, mixing)
        if attack is not None:
            measures += attack.measures
            if attack.warning is not None:
                self.progress.warn(attack.warning)
        if self.persons is not None:
            shares = averaging_attack(self.engine, table, self.noisy)
            for text in person_notices(self.persons, self.noisy, shares):
                self.progress.notice(text)
            measures += [(f"{MEASURE}: {name}", None, share) for name, share in shares.items()]
        return measures

    def _accept(
        self,
        rows: exp.Select,
        columns: Sequence[ReleasedColumn],
        parameters: Mapping[str, Any],
        table: Table,
    ) -> list[MeasureRow]:
        """Let the audit compare source and release where they live, and give the moments that it found."""
        promise = RandomizedPromise(
            noises={item.name: item.noise for item in columns if item.noise is not None},
            parameters=parameters["noise"],
            columns=self.columns,
            carried=self.carried,
            owned=self._owned_rows(table),
        )
        unchanged = [self.columns[name] for name in self.carried]
        release_table = self.release_rows if self.outside else self.engine.overlay(rows)
        audit = accept_randomized(self.engine, self.rows, release_table, promise)
        accept_pseudonyms(self.engine, self.rows, release_table, self.roles.pseudonyms, unchanged)
        if audit.unjudged:
            self.progress.notice(
                f"Fewer than {MANY_FOR_VARIANCE} values, too few to hold the variance of the noise against "
                f"its model: {', '.join(audit.unjudged)}."
            )
        return list(moment_measures(audit.before.moments, audit.after.moments))

    def _owned_rows(self, table: Table) -> OwnedRows | None:
        """Say whose each noisy row is, for the audit alone; None where no person gets a draw."""
        if self.persons is None or not self._drawn_columns:
            return None
        columns = {name: work for work, name in self._outputs() if name not in self.roles.pseudonyms}
        return OwnedRows(table, column(WHO, "s"), self.persons.who, columns)


def with_columns(value: Sql, columns: Mapping[str, exp.Expression]) -> exp.Expression:
    """Put other expressions in the place of the columns of ``s``."""

    def put(node: exp.Expression) -> exp.Expression:
        of_source = isinstance(node, exp.Column) and node.table == "s"
        return columns[node.name].copy() if of_source else node

    tree: exp.Expression = exp.maybe_parse(value, dialect="duckdb")
    return tree.transform(put)


def _refuse_uncorrelatable(roles: RandomizeRoles) -> None:
    uniform = [spec.column for spec in roles.specs if spec.kind == "uniform"]
    if uniform:
        raise InvalidOption(
            f"The noise of {uniform[0]!r} cannot be correlated: a mix of uniform noise is not uniform.",
            f"Give --noise '{uniform[0]}=gaussian 100%', or leave out --correlated.",
        )
    if sum(spec.kind == "gaussian" for spec in roles.specs) < 2:
        raise InvalidOption(
            "Fewer than two columns get Gaussian noise, so there is nothing to correlate.",
            "Leave out --correlated.",
        )


@dataclass(frozen=True, kw_only=True)
class RandomizeRoles(Roles):
    specs: tuple[NoiseSpec, ...]  # the noise of each randomized column, in the order of the source
    # the column by which records are told apart, whether or not it is released; None for rows
    record: str | None

    @property
    def own_treatments(self) -> Treatments:
        cells = tuple(spec.column for spec in self.specs if spec.kind == "cells")
        return ("discretized", cells), ("randomized", tuple(spec.column for spec in self.specs))


def assign_randomize_roles(
    columns: Sequence[Column], request: RandomizeRequest, *, table: str
) -> RandomizeRoles:
    names = [item.name for item in columns]
    specs = parse_all_noise(request.noise)
    if not specs:
        raise InvalidOption(
            "No column is to be randomized.", "Give --noise 'salary=gaussian 100%', for instance."
        )
    randomized = resolve_all([spec.column for spec in specs], names, table=table)
    by_name = {name: replace(spec, column=name) for name, spec in zip(randomized, specs, strict=True)}
    pseudonyms, dropped = treated_identifiers(request.identifiers, names, table=table)
    class_column = None if request.class_column is None else resolve(request.class_column, names, table=table)
    kept = resolve_all(request.keep, names, table=table)
    roles = RandomizeRoles(
        specs=tuple(by_name[name] for name in names if name in by_name),
        class_column=class_column,
        kept=tuple(name for name in names if name in kept and name != class_column),
        pseudonyms=pseudonyms,
        dropped=dropped,
        record=None if request.record is None else resolve(request.record, names, table=table),
        person=person_columns(request.person, columns, count=request.count_column, table=table),
    )
    classes = () if class_column is None else (class_column,)
    roles.refuse_two([("randomized", randomized), ("the class", classes), ("kept", roles.kept)])
    return roles


def key_notices(key: Key, key_file: str | os.PathLike[str] | None, identity: Identity) -> list[str]:
    if key.kept == "seed":
        return [
            "The noise follows from the seed: whoever knows it can take the noise away. Seeds are for tests."
        ]
    if key.kept == "no" or key_file is None:
        return [
            "The key of the noise is thrown away. Another run draws other noise, and whoever has both "
            "releases knows more; give --key-file to repeat this noise."
        ]
    notices = []
    if is_open_to_others(key_file):
        notices.append(f"Others can read the key file {key_file}, and with it take the noise away.")
    if identity == "row":
        notices.append(
            "The key is kept, but records are known by their rows, which change when the table is rewritten; "
            "give --record ID."
        )
    return notices
