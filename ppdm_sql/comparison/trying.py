"""Tries the settings of a grid on one table, which is read once for all that mask the same columns."""

from __future__ import annotations

import secrets
import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from ppdm_sql.comparison.model import ComparedRow, Comparison, ReleaseNumbers
from ppdm_sql.comparison.numbers import classifier_error, detail_lost, grouped_by, measured_rows
from ppdm_sql.comparison.settings import CompareOptions, TriedSetting, settings
from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table, free_name
from ppdm_sql.errors import ColumnRoleError, GuaranteeNotMet, InvalidOption, PpdmError
from ppdm_sql.methods.base.collapse import Atoms
from ppdm_sql.methods.base.released_rows import Output
from ppdm_sql.methods.top_down.generalize import GeneralizationRun
from ppdm_sql.methods.top_down.loop import State
from ppdm_sql.methods.top_down.request import GeneralizeRequest
from ppdm_sql.methods.top_down.run import RefinementRun
from ppdm_sql.methods.top_down.suppress import SuppressionRun
from ppdm_sql.progress import Progress, SilentProgress
from ppdm_sql.release import Draft
from ppdm_sql.release.catalogue import SHAPE, CatalogueRow
from ppdm_sql.release.layout import Shape
from ppdm_sql.version import __version__

Shared = dict[tuple[object, ...], tuple[Atoms, Table]]
"""The collapsed source, and the source as it was read, by what they depend on."""


class CollapsedRows(RefinementRun):
    """A run whose rows stay collapsed, since nobody reads them but what measures them."""

    def outputs(self, atoms: Atoms) -> list[Output]:
        """Add the number of records, unless the release has it anyway."""
        columns = super().outputs(atoms)
        return columns if self.roles.count else [*columns, Output("n", self.records_column, "count")]

    @property
    def records_column(self) -> str:
        """What the number of records is called; no column of the source is called so."""
        return free_name("records", self.columns)

    def draft(self, transformed: State) -> Draft:
        """Name the number of records as the count."""
        return replace(super().draft(transformed), count=self.roles.count or self.records_column)


class CollapsedGeneralization(CollapsedRows, GeneralizationRun):
    """A generalization that is measured only."""


class CollapsedSuppression(CollapsedRows, SuppressionRun):
    """A suppression that is measured only."""


class SettingProgress(SilentProgress):
    """The progress of one setting after the other: each is a phase, and no notice is given twice."""

    def __init__(self, listener: Progress) -> None:
        self._listener, self._of, self._said = listener, "", set[str]()

    def of(self, what: str) -> None:
        """Name the setting."""
        self._of = what
        self._listener.start(what)

    def update(self, **measures: object) -> None:
        """Pass the numbers on."""
        self._listener.update(**measures)

    def notice(self, text: str) -> None:
        """Pass on what was not said of an earlier setting."""
        if text not in self._said:
            self._said.add(text)
            self._listener.notice(text)


class GridRun:
    """All settings of a grid on one table.

    Args:
        engine: The database; nothing is written for good.
        source: Table or view to read.
        options: What is asked.
        progress: Told which setting is tried.

    Raises:
        PpdmError: What holds for all settings cannot be used, such as a column that does not exist.
    """

    def __init__(self, engine: Engine, source: str, options: CompareOptions, progress: Progress) -> None:
        self._engine, self._source, self._options = engine, source, options
        self._progress = SettingProgress(progress)
        self._settings = settings(options, options.into or f"comparison_{secrets.token_hex(8)}")
        self._shared: Shared = {}
        self._baseline: dict[str, float] = {}
        self._made = [self._run(setting) for setting in self._settings]
        refused = [found for found in self._made if isinstance(found, PpdmError)]
        if len(refused) == len(self._made):
            raise refused[0]

    def _run(self, setting: TriedSetting) -> RefinementRun | PpdmError:
        """Make the run of a setting, or give what it cannot be asked."""
        # a classifier reads source and release alike, record by record
        suppression = SuppressionRun if self._options.evaluate else CollapsedSuppression
        generalization = GeneralizationRun if self._options.evaluate else CollapsedGeneralization
        kind = generalization if isinstance(setting.request, GeneralizeRequest) else suppression
        try:
            return kind(self._engine, self._source, setting.request, self._progress)  # type: ignore[arg-type]
        except (InvalidOption, ColumnRoleError) as error:
            return error

    def compared(self) -> Comparison:
        """Try every setting; Ctrl-C ends with those that were tried.

        Raises:
            KeyboardInterrupt: No setting was done.
        """
        rows: list[ComparedRow] = []
        interrupted = False
        try:
            with self._engine.workspace(), self._engine.snapshot():
                next(run for run in self._made if not isinstance(run, PpdmError)).check_kept()
                pairs = zip(self._settings, self._made, strict=True)
                for number, (setting, run) in enumerate(pairs, start=1):
                    self._progress.of(f"setting {number} of {len(self._made)}, {setting.name}")
                    rows.append(self._row(setting, run))
        except KeyboardInterrupt:
            if not rows:
                raise
            interrupted = True
        return Comparison(self._source, tuple(rows), interrupted, baseline=self._baseline)

    def _row(self, setting: TriedSetting, run: RefinementRun | PpdmError) -> ComparedRow:
        asked = tuple(map(str, setting.request.require))
        row = ComparedRow((setting.name,), setting.method, setting.choices, asked)
        if isinstance(run, PpdmError):
            return replace(row, problem=run.problem)
        atoms = self._collapsed(run)
        started = time.perf_counter()
        with self._engine.workspace():
            try:
                run.prepare(atoms)
                draft = run.draft(run.descend(lambda: False))
            except GuaranteeNotMet as error:
                return replace(row, problem=error.problem, seconds=time.perf_counter() - started)
            rows = self._engine.materialize("rows", draft.select)
            numbers = self._numbers(draft, rows, atoms.records)
            seconds = time.perf_counter() - started
            if self._options.evaluate:
                numbers = replace(numbers, error=self._error(draft, rows))
        return replace(row, numbers=numbers, seconds=seconds)

    def _collapsed(self, run: RefinementRun) -> Atoms:
        """Give the collapsed source of a run; made once for all runs for which it is the same."""
        key = run.collapsed_over
        if key not in self._shared:
            atoms = run.read()
            self._shared[key] = atoms, run.rows
        atoms, run.rows = self._shared[key]
        return atoms

    def _numbers(self, draft: Draft, rows: Table, records: int) -> ReleaseNumbers:
        """Measure the rows that would be released."""
        found = measured_rows(
            self._engine,
            rows,
            requirements=draft.requirements,
            quasi_identifiers=grouped_by(draft.requirements),
            count=draft.count,
            person=() if draft.person is None else (draft.person,),
        )
        left_out = records - (found.records or 0)
        return replace(found, left_out=left_out, detail_lost=detail_lost(draft.measures))

    def _error(self, draft: Draft, rows: Table) -> float:
        """Measure the error of a classifier on rows that are not published."""
        catalog, schema = self._engine.current()
        shape = replace(Shape.of_draft(draft, catalog, schema), working=rows)
        parameters: dict[str, Any] = {**draft.parameters, SHAPE: shape.record()}
        row = CatalogueRow(
            *(draft.name, draft.method, draft.source, tuple(map(str, draft.requirements)), parameters),
            *(draft.rows, True, draft.stopped, datetime.now(UTC), __version__),
        )
        return classifier_error(self._engine, row, shape, self._baseline, self._progress)
