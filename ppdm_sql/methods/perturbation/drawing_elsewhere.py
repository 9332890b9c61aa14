"""Draws noise where the records of a table live that is elsewhere, so that none of them travels."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from sqlglot import exp

from ppdm_sql.audit.pseudonyms_elsewhere import accept_pseudonyms_elsewhere
from ppdm_sql.audit.randomized import RandomizedAudit, RandomizedPromise
from ppdm_sql.audit.randomized_elsewhere import accept_elsewhere
from ppdm_sql.engine.drawing import drawn_elsewhere
from ppdm_sql.engine.names import Table, alias
from ppdm_sql.engine.source import Source, source_of
from ppdm_sql.engine.statements import render
from ppdm_sql.methods.perturbation.batch_noise import batch_noise
from ppdm_sql.methods.perturbation.drawing import Draws, RandomizedSource, written_rows
from ppdm_sql.methods.perturbation.record_key import RecordKey, records_by_column, unknown_rows

if TYPE_CHECKING:
    from ppdm_sql.release.placing import Placing


class DrawingElsewhere:
    """Noise that is drawn where the records live, from aggregates that travel and no records that do.

    Args:
        source: The source, an empty table that stands in for it.
        placed: Where the noisy rows go.
        until: The context after which what is drawn is no longer needed.
    """

    outside = True
    packed = frozenset[str]()

    def __init__(self, source: RandomizedSource, placed: Placing, until: ExitStack) -> None:
        self._source, self._placed, self._until = source, placed, until
        self._written: Source | None = None
        self.rows, name = source.table, source.roles.record
        self.records: RecordKey | None = None
        if name is not None:
            self.records = records_by_column(source.engine, self.rows, source.columns[name])

    def draw(self, draws: Draws, number: int) -> Table:
        """Let noise be drawn and the noisy rows be written there.

        Returns:
            A table without rows, which stands in for the noisy ones.
        """
        source, engine, roles = self._source, self._source.engine, self._source.roles
        table = written_rows(source, self.rows, self.records, draws, {})
        if self.records is None:
            raise unknown_rows(source.name)
        kept = [alias(item.expression, f"k{place}") for place, item in enumerate(source.kept)]
        noisy = {it.column.name: f"r{place}" for place, it in enumerate(draws.noisy)}
        needed = {*noisy, *source.carried, *roles.pseudonyms, roles.record}
        arriving = [item for item in engine.columns(source.table) if item.name in needed]
        streams = draws.streams(self.records.identity)
        work = batch_noise(engine, source.table, arriving, draws.noisy, kept, self.records, streams)
        names = [item.name for item in arriving]
        self._until.enter_context(drawn_elsewhere(engine, source.table, names, work, table))
        working = noisy | {item.name: f"k{place}" for place, item in enumerate(source.kept)}
        outputs = {name: working[name] for name in source.columns if name in working}
        self._written = self._placed.write_drawn(source_of(engine, table), outputs)
        return table

    def select(self, table: Table, outputs: Sequence[tuple[str, str]]) -> str:
        """Write the SELECT of the release: the rows as they were written there."""
        return render(self._placed.stored_rows([name for _, name in outputs]))

    def accept(self, rows: exp.Select, promise: RandomizedPromise) -> RandomizedAudit:
        """Let the audit compare source and release there, and refuse what is not as promised."""
        source, written = self._source, self._written
        assert written is not None  # noise is drawn before anything is audited
        unchanged = [source.columns[name] for name in source.carried]
        original = source_of(source.engine, source.table)
        audit = accept_elsewhere(source.engine, original, written, promise)
        accept_pseudonyms_elsewhere(original, written, source.roles.pseudonyms, unchanged)
        return audit
