"""Lets records pass through a function of Python on the executors, batch by batch, and keeps what it gives.

The function travels pickled, as one value of bytes: what is in it stands in no statement, plan, web page or
event log. Executors need Python with this package to unpickle it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from ppdm_sql.engine.drawing import Batches
from ppdm_sql.engine.duckdb_engine import Column
from ppdm_sql.engine.names import Table, alias
from ppdm_sql.engine.source import Query
from ppdm_sql.engine.spark.handover import file_uri, unseen, written
from ppdm_sql.engine.spark.source import _HERE, SparkSource
from ppdm_sql.engine.spark.types import spark_type

if TYPE_CHECKING:
    from ppdm_sql.engine.spark.session import SparkPlace


class FrameSource(SparkSource):
    """The rows of a frame, read like those of a table.

    Args:
        place: The Spark.
        name: What it is called in messages.
        frame: A ``DataFrame`` of Spark.
    """

    def __init__(self, place: SparkPlace, name: str, frame: Any) -> None:
        self.frame = frame
        super().__init__(place, name)

    def _read(self) -> Any:
        return self.frame

    def snapshot(self) -> str:
        """Give nothing: what its rows are made of is looked at by the source that they come from."""
        return ""


def drawn(source: SparkSource, names: Sequence[str], work: Batches, columns: Sequence[Column]) -> FrameSource:
    """Let columns of a source pass through a function, and keep the rows that come out.

    Args:
        source: The source.
        names: Its columns that the function gets, in this order and with types of Spark.
        work: Gets batches of Arrow and gives others.
        columns: What it gives, with names of the package's own and types of DuckDB.

    Raises:
        PpdmError: A column cannot be read, or executors cannot run the function.

    Cost: the function runs once for each record. What comes out is written once and read by each question.
    """
    source._begin(names)
    values = (alias(source._value(name), f"i{place}") for place, name in enumerate(names))
    query = exp.select(*values).from_(Table(_HERE).expression())
    given = ", ".join(f"{item.name} {spark_type(item.type)}" for item in columns)
    place = source.place

    def made() -> Any:
        return kept(place, source._frame(query, "draw").mapInArrow(work, given), given)

    return FrameSource(place, source.shown, place.run("draw", made))


def selected_rows(source: SparkSource, query: Query, step: str) -> FrameSource:
    """Give the rows that a query gives over a source; it runs whenever something reads them.

    Args:
        source: The source.
        query: Gets it under the alias ``s``; its columns have names of the package's own.
        step: What is selected, for messages.

    Raises:
        PpdmError: A column cannot be read, or Spark refused.
    """
    tree, place = source._over(query, valid=True), source.place
    return FrameSource(place, source.shown, place.run(step, lambda: source._frame(tree, step)))


def kept(place: SparkPlace, frame: Any, schema: str) -> Any:
    """Have the rows of a frame made, now and once.

    They stand in the private folder of a run where it has one, so that an executor that is lost later takes
    nothing along: a part that was lost on the way is made again, of the same records with the same keys. A
    frame that is merely cached would be made again by each statement: they do not see that it is the same.

    Args:
        place: The Spark.
        frame: A ``DataFrame`` of Spark.
        schema: Its columns with their types of Spark.

    Raises:
        EngineError: Some of what was written cannot be seen here.
    """
    if place.shared is None:  # a trial run, which writes nothing
        return checkpointed(frame)
    from pyarrow.parquet import read_metadata  # type: ignore[import-untyped]

    folder = Path(tempfile.mkdtemp(prefix="ppdm-spark-", dir=place.shared)) / "drawn"
    number = written(place, frame, folder)
    if sum(read_metadata(file).num_rows for file in folder.glob("*.parquet")) != number:
        raise unseen(place.shared)
    return place.session.read.schema(schema).parquet(file_uri(folder))


def checkpointed(frame: Any) -> Any:
    """Have the rows of a frame made, and left with the executors for what asks for them."""
    made, session = frame.localCheckpoint(), frame.sparkSession
    if made.sparkSession is session:
        return made
    # the client looks for it in the session that was opened first, where it is not
    made._plan._spark_session = session
    return type(frame)(made._plan, session)
