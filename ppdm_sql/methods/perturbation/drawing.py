"""What the two ways of drawing noise share: here, or where the records of a table live that is elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from sqlglot import exp

from ppdm_sql.audit.randomized import RandomizedAudit, RandomizedPromise
from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.names import Table, alias
from ppdm_sql.methods.base.arrays import Floats
from ppdm_sql.methods.base.collapse import Kept
from ppdm_sql.methods.perturbation.noise import Cells, Gaussian, as_text
from ppdm_sql.methods.perturbation.noise_draws import Identity, NoiseDrawer, Stream, registered
from ppdm_sql.methods.perturbation.noise_key import Key
from ppdm_sql.methods.perturbation.noisy_columns import NoisyColumn
from ppdm_sql.methods.perturbation.noisy_rows import noisy_rows
from ppdm_sql.methods.perturbation.person_draws import PERSON_DRAWS, DrawnPersons
from ppdm_sql.methods.perturbation.record_key import RecordKey, unknown_rows
from ppdm_sql.methods.perturbation.roles import RandomizeRoles


@dataclass(frozen=True)
class RandomizedSource:
    """The source of a run, and what becomes of its columns.

    Args:
        engine: Where the run is.
        table: The source, or what stands in for it.
        name: The source as the user wrote it.
        columns: Its columns, by name.
        roles: What they are.
        carried: Names of those that are released as they are.
        kept: These, then the pseudonyms, each with its expression.
    """

    engine: Engine
    table: Table
    name: str
    columns: Mapping[str, Column]
    roles: RandomizeRoles
    carried: Sequence[str]
    kept: Sequence[Kept]


@dataclass(frozen=True)
class Draws:
    """The noise that is drawn.

    Args:
        noisy: The randomized columns.
        key: Of the noise.
        mixed: The matrix by which the draws of a record depend on each other; None where they do not.
        persons: Where a person gets one draw.
    """

    noisy: Sequence[NoisyColumn]
    key: Key
    mixed: Floats | None
    persons: DrawnPersons | None

    @property
    def drawn(self) -> list[NoisyColumn]:
        """The columns that get draws; values are put into cells without any."""
        return [it for it in self.noisy if not isinstance(it.noise, Cells)]

    def streams(self, identity: Identity, unit: Sequence[str] = ()) -> list[Stream]:
        """Derive the keys of the columns, those of persons' draws apart from those of records'."""
        context = "" if self.mixed is None else np.round(self.mixed, 6).tobytes().hex()
        return [
            Stream(
                self.key.derived(identity, it.column.name, as_text(it.noise), context, *unit),
                isinstance(it.noise, Gaussian),
            )
            for it in self.drawn
        ]


class NoiseDrawing(Protocol):
    """One way of drawing noise."""

    outside: bool
    """Whether the noisy rows stand outside of the database alone."""
    rows: Table
    """What is read of the source."""
    records: RecordKey | None
    """By what its records are told apart; None where that is not known."""

    def draw(self, draws: Draws, number: int) -> Table:
        """Draw the noise and write the noisy rows.

        Args:
            draws: The noise.
            number: How many records there are.
        """

    @property
    def packed(self) -> frozenset[str]:
        """Names of the columns of text that the noisy rows hold as numbers."""

    def select(self, table: Table, outputs: Sequence[tuple[str, str]]) -> str:
        """Write the SELECT of the release.

        Args:
            table: The noisy rows.
            outputs: The working name and the released name of each column.
        """

    def accept(self, rows: exp.Select, promise: RandomizedPromise) -> RandomizedAudit:
        """Let the audit compare the source and the released rows, and refuse what is not as promised."""


def drawn_records(records: RecordKey | None, persons: DrawnPersons | None, source: str) -> RecordKey | None:
    """Say by what records are known that get draws of their own; None where only persons get them.

    Raises:
        InvalidOption: They need to be known, and are not.
    """
    if persons is not None and not persons.varying:
        return None
    if records is None:
        raise unknown_rows(source)
    return records


def written_rows(
    source: RandomizedSource,
    rows: Table,
    records: RecordKey | None,
    draws: Draws,
    packed: Mapping[str, exp.Expression],
) -> Table:
    """Draw the noise, for persons or for records or for both, and write the noisy rows.

    Args:
        source: The source.
        rows: What is read of it.
        records: By what its records are told apart, if that is known.
        draws: The noise.
        packed: What is read in the place of some columns of text.
    """
    engine, persons, drawn = source.engine, draws.persons, draws.drawn
    values = [packed.get(item.name, item.expression) for item in source.kept]
    kept = [alias(value, f"k{place}") for place, value in enumerate(values)]
    if not drawn:
        return noisy_rows(engine, rows, draws.noisy, kept, None, None, persons)
    known = drawn_records(records, persons, source.name)
    with ExitStack() as functions:

        def function(identity: Identity, *unit: str) -> str:
            drawer = NoiseDrawer(draws.streams(identity, unit), identity, draws.mixed)
            return functions.enter_context(registered(engine, drawer, len(drawn), identity))

        of_records = None if known is None else function(known.identity)
        of_persons = None if persons is None else function("text", PERSON_DRAWS, *source.roles.person)
        return noisy_rows(engine, rows, draws.noisy, kept, known, of_records, persons, of_persons)
