"""What is done on a session of Spark: jobs that Ctrl-C ends, whose progress and errors are told in words."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ppdm_sql.engine.spark.faults import MISSING, condition_of, explained, unprinted
from ppdm_sql.engine.statements import Statement
from ppdm_sql.errors import DatabaseUnavailable, PpdmError, UnknownTable, unknown
from ppdm_sql.progress import Progress

EXACT_TIMES = {
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
}


class SparkJobs:
    """A session of Spark; statements and their errors pass through here."""

    def __init__(self, session: Any, stop: Callable[[], None] | None = None) -> None:
        self.session = session
        self.progress: Progress | None = None  # told how many tasks of a job are done
        self.tracer: Callable[[Statement], None] | None = None  # told each statement
        self.shared: Path | None = None  # a private folder that all workers see, while a run has one
        self._stop = stop  # what ends the session, where it was opened here

    @property
    def is_connect(self) -> bool:
        return type(self.session).__module__.startswith("pyspark.sql.connect")

    @property
    def is_local(self) -> bool:
        """Whether Spark was started here, on this machine's disks."""
        return self._stop is not None and not self.is_connect

    @contextmanager
    def guarded(self, step: str) -> Iterator[None]:
        """Do something with the session; Ctrl-C ends its jobs as well."""
        tag = f"ppdm-{secrets.token_hex(4)}"
        with unprinted(), self._tagged(tag), self._watched():
            try:
                yield
            except PpdmError:
                raise
            except (KeyboardInterrupt, GeneratorExit):
                with suppress(Exception):
                    self.session.interruptTag(tag)
                raise
            except Exception as cause:
                error = explained(step, cause)
                if isinstance(error, DatabaseUnavailable):
                    self._stop = None  # to end a session on a server that has gone takes as long again
                raise error from None

    @contextmanager
    def writing(self) -> Iterator[None]:
        """The same for what writes rows."""
        with self.guarded("write"), self.exact_times():
            yield

    @contextmanager
    def exact_times(self) -> Iterator[None]:
        """Let times be written as they are, with their zone, which INT96, the default, leaves out."""
        conf = self.session.conf
        found = {name: conf.get(name) for name in EXACT_TIMES}
        before = {name: value for name, value in found.items() if value != EXACT_TIMES[name]}
        try:
            for name in before:
                conf.set(name, EXACT_TIMES[name])
            yield
        finally:
            with suppress(Exception):  # a session that has gone keeps no settings
                for name, value in before.items():
                    conf.set(name, value)

    @contextmanager
    def _tagged(self, tag: str) -> Iterator[None]:
        """Name the jobs that are begun inside, so that they can be ended without touching others."""
        with suppress(Exception):
            self.session.addTag(tag)
        try:
            yield
        finally:
            with suppress(Exception):
                self.session.removeTag(tag)

    @contextmanager
    def _watched(self) -> Iterator[None]:
        """Pass the progress of jobs on, where the session tells it."""
        listener = self.progress
        if listener is None or not self.is_connect:
            yield
            return

        def heard(stages: Any, inflight_tasks: int, operation_id: Any, done: bool) -> None:
            total = sum(stage.num_tasks for stage in stages or ())
            if total:
                finished = sum(stage.num_completed_tasks for stage in stages)
                listener.update(tasks=f"{finished} of {total}")

        self.session.registerProgressHandler(heard)
        try:
            yield
        finally:
            with suppress(Exception):
                self.session.removeProgressHandler(heard)

    def unknown(self, name: str) -> UnknownTable:
        try:
            with unprinted():
                here = [table.name for table in self.session.catalog.listTables()]
                where = self.session.catalog.currentDatabase()
        except Exception:  # the list only helps; the error is another
            here, where = [], ""
        listed, none = f"Its tables in {where}", "Write SCHEMA.NAME or a path."
        return unknown(UnknownTable, "Spark has no table or view", name, here, here=listed, none=none)

    def is_missing(self, cause: BaseException) -> bool:
        return condition_of(cause).partition(".")[0] in MISSING
