"""Hands rows of Spark over to DuckDB: as Parquet where both see a disk, else in batches of Arrow.

Neither is ever whole in Python's memory. Parquet is a tenth to a twentieth of Arrow's size, and is written by
all workers at once.
"""

from __future__ import annotations

import secrets
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sqlglot import exp

from ppdm_sql.engine.duckdb_engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.engine.spark.jobs import SparkJobs
from ppdm_sql.engine.statements import Sql, literal, sql
from ppdm_sql.errors import EngineError, PpdmError


def handed_over(engine: Engine, place: SparkJobs, frame: Any, wanted: Sequence[Sql], step: str) -> Table:
    with place.guarded(step):
        if not place.is_local and place.shared is None:
            with _by_arrow(engine, frame) as read:
                return engine.materialize("handover", sql("SELECT {wanted} FROM {t}", wanted=wanted, t=read))
        with _by_parquet(place, frame) as (files, number):
            select = sql("SELECT {wanted} FROM read_parquet([{files}])", wanted=wanted, files=files)
            made = engine.materialize("handover", select)
            if engine.size(made) != number:
                raise unseen(place.shared)
            return made


def file_uri(path: Path) -> str:
    """Name a path of this machine so that no other file system is looked at; Spark decodes nothing in it."""
    return f"file://{path}"


def unseen(folder: Path | None) -> EngineError:
    """Say that a folder on this machine is another one, or none, for Spark."""
    where = tempfile.gettempdir() if folder is None else folder.parent
    return EngineError(
        f"Spark does not see {where} as this machine does.",
        "Give --to a folder on a disk that both share, or the name of a table.",
    )


@contextmanager
def _by_parquet(place: SparkJobs, frame: Any) -> Iterator[tuple[list[exp.Expression], int]]:
    """Let Spark write into a private folder; give the files, and the number of rows."""
    folder = Path(tempfile.mkdtemp(prefix="ppdm-spark-", dir=place.shared))
    try:
        number = written(place, frame, folder / "rows")
        files = sorted(str(file) for file in (folder / "rows").glob("*.parquet"))
        if not files:
            raise unseen(place.shared)
        yield [literal(file) for file in files], number
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def written(place: SparkJobs, frame: Any, folder: Path) -> int:
    """Let Spark write a frame, and tell how many rows: some may be on a disk that is not seen here."""
    if place.is_connect:
        from pyspark.sql.connect import functions, observation
    else:
        from pyspark.sql import functions, observation
    counted = observation.Observation(f"ppdm_{secrets.token_hex(4)}")
    observed = frame.observe(counted, functions.expr("count(1) AS rows"))
    with place.exact_times():
        observed.write.option("compression", "zstd").parquet(file_uri(folder))
    return int(counted.get["rows"])


@contextmanager
def _by_arrow(engine: Engine, frame: Any) -> Iterator[Table]:
    """Let the engine read batches as they arrive; what Spark says in between is raised as it is."""
    stream = _Batches(frame)
    name = f"ppdm_{secrets.token_hex(8)}"
    engine.connection.register(name, stream.reader())
    try:
        yield Table(name)
    except PpdmError:
        if stream.failure is not None:
            raise stream.failure from None
        raise
    finally:
        engine.connection.unregister(name)
        stream.close()


class _Batches:
    """The rows of a frame as they arrive, and what went wrong on the way.

    DuckDB reads them on threads of its own and would put an error of Spark, cells included, into its own.
    """

    def __init__(self, frame: Any) -> None:
        self.failure: BaseException | None = None
        self._frame = frame
        self._tables = iter(_tables(frame))

    def reader(self) -> Any:
        """Give a reader of Arrow; the first batch is waited for, since it has the schema."""
        import pyarrow  # type: ignore[import-untyped]

        first = next(self._tables, None)
        if first is None:  # no rows at all, and so no types
            return self._frame.limit(0).toArrow().to_reader()
        return pyarrow.RecordBatchReader.from_batches(first.schema, self._all(first))

    def _all(self, first: Any) -> Iterator[Any]:
        try:
            yield from first.to_batches()
            for table in self._tables:
                yield from table.to_batches()
        except GeneratorExit:
            raise
        except BaseException as failure:
            self.failure = failure
            raise RuntimeError("Spark refused to go on") from None

    def close(self) -> None:
        """Stop reading, unless a thread of DuckDB still waits for the next batch; it ends with its job."""
        close = getattr(self._tables, "close", None)
        if close is not None:
            with suppress(Exception):
                close()


def _tables(frame: Any) -> Iterator[Any]:
    """Give the rows in pieces where the client can, else in one."""
    client: Any = getattr(getattr(frame, "_session", None), "client", None)
    if hasattr(client, "to_table_as_iterator") and hasattr(frame, "_plan"):
        for item in client.to_table_as_iterator(frame._plan.to_proto(client), {}):
            if hasattr(item, "to_batches"):
                yield item
    else:
        yield frame.toArrow()
