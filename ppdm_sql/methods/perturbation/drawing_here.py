"""Draws noise in the database, from rows that are there or that are read into it first."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ppdm_sql.audit.pseudonyms import accept_pseudonyms
from ppdm_sql.audit.randomized import RandomizedAudit, RandomizedPromise, accept_randomized
from ppdm_sql.engine.names import Table
from ppdm_sql.engine.records import read_records
from ppdm_sql.engine.source import is_stable, is_stand_in
from ppdm_sql.methods.base.source import read_source
from ppdm_sql.methods.perturbation.drawing import Draws, RandomizedSource, written_rows
from ppdm_sql.methods.perturbation.noisy_rows import ordered_rows
from ppdm_sql.methods.perturbation.packed_text import packed_text
from ppdm_sql.methods.perturbation.record_key import (
    RecordKey,
    records_by_column,
    records_by_row,
    unknown_rows,
)


class DrawingHere:
    """Noise that is drawn in the database; making it reads the source.

    Args:
        source: The source.

    Raises:
        InvalidOption: Nothing tells its records apart.
    """

    outside = False

    def __init__(self, source: RandomizedSource) -> None:
        self._source, self._packed = source, dict[str, exp.Expression]()
        engine, name = source.engine, source.roles.record
        numbered = not is_stand_in(engine, source.table)  # rows that are read from elsewhere have no number
        if not numbered:
            self._read_records()
        self.records: RecordKey | None = None
        # persons need no records where nothing varies in their rows, which is not known yet
        if name is None and numbered and (not source.roles.person or is_stable(engine, source.table)):
            self.records = records_by_row(engine, source.table, list(source.columns.values()), source.name)
        self.rows = self._source_rows()
        if name is not None:
            self.records = records_by_column(engine, self.rows, source.columns[name])

    def _read_records(self) -> None:
        """Read the records of a table that lives elsewhere."""
        source, roles = self._source, self._source.roles
        if roles.record is None and not roles.person:
            raise unknown_rows(source.name)
        asked = [item.column for item in roles.asked]
        needed = {*asked, *source.carried, *roles.pseudonyms, *roles.person, roles.record}
        read_records(source.engine, source.table, needed)

    def _source_rows(self) -> Table:
        """Give the source as method and audit read it; numbers that get noise are read as they are."""
        source, roles = self._source, self._source.roles
        numbers = {asked.column for asked in roles.asked if asked.kind != "retain"}
        others = {asked.column for asked in roles.asked} | {roles.record}
        others |= {*source.carried, *roles.pseudonyms, *roles.person}
        columns = source.engine.columns(source.table)
        return read_source(
            source.engine,
            source.table,
            [item for item in columns if item.name in others - numbers],
            as_they_are=[item for item in columns if item.name in numbers],
            rows=self.records is not None,
        )

    @property
    def packed(self) -> frozenset[str]:
        """Names of the columns of text that the noisy rows hold as numbers."""
        return frozenset(self._packed)

    def draw(self, draws: Draws, number: int) -> Table:
        """Draw the noise and write the noisy rows; text that is carried is held as numbers if it pays."""
        source = self._source
        texts = source.kept[: len(source.carried)] if draws.persons is None else []
        self._packed = packed_text(source.engine, self.rows, texts, source.columns, number)
        return written_rows(source, self.rows, self.records, draws, self._packed)

    def select(self, table: Table, outputs: Sequence[tuple[str, str]]) -> str:
        """Write the SELECT of the release: the noisy rows in an order that tells nothing."""
        return ordered_rows(table, outputs)

    def accept(self, rows: exp.Select, promise: RandomizedPromise) -> RandomizedAudit:
        """Let the audit compare the source and the released rows, and refuse what is not as promised."""
        source = self._source
        unchanged = [source.columns[name] for name in source.carried]
        audit = accept_randomized(source.engine, self.rows, rows, promise)
        accept_pseudonyms(source.engine, self.rows, rows, source.roles.pseudonyms, unchanged)
        return audit
