"""Keeps the rows that a query gives in Spark, for as long as a run asks for them."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ppdm_sql.engine.source import Query
from ppdm_sql.engine.spark.handover import file_uri, unseen, written
from ppdm_sql.engine.spark.source import SparkSource

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


def kept(place: SparkPlace, frame: Any) -> Any:
    """Have the rows of a frame made, now and once.

    They stand in the private folder of a run where it has one, so that an executor that is lost later takes
    nothing along: a part that was lost on the way is made again, of the same records with the same keys. A
    frame that is merely cached would be made again by each statement: they do not see that it is the same.

    Args:
        place: The Spark.
        frame: A ``DataFrame`` of Spark.

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
    return place.session.read.schema(frame.schema).parquet(file_uri(folder))


def checkpointed(frame: Any) -> Any:
    """Have the rows of a frame made, and left with the executors for what asks for them."""
    made, session = frame.localCheckpoint(), frame.sparkSession
    if made.sparkSession is session:
        return made
    # the client looks for it in the session that was opened first, where it is not
    made._plan._spark_session = session
    return type(frame)(made._plan, session)
