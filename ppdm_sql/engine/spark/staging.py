"""Writes the rows of a release by Spark, counts what was written, and gives it its name in one move."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import unquote, urlsplit

from ppdm_sql.engine import locations
from ppdm_sql.engine.duckdb_engine import Engine
from ppdm_sql.engine.locations import Location, RowsInParts
from ppdm_sql.engine.names import Table, column
from ppdm_sql.engine.source import Source
from ppdm_sql.engine.spark.handover import file_uri, handed_over, unseen
from ppdm_sql.engine.spark.source import FrameSource, SparkSource, quoted, spark_name
from ppdm_sql.engine.statements import literal, render
from ppdm_sql.errors import EngineError, InvalidOption, NameTaken

if TYPE_CHECKING:
    from ppdm_sql.engine.spark.session import SparkPlace

_GLOB = re.compile(r"[*?{}\[\]\\]")
TOGETHER = 250_000
"""Rows that are handed over together where they go into a table."""
PROPERTY = "ppdm.release"
"""The property of a table that holds the token of its publication; Spark hides one that is called token."""


class _Rows:
    def __init__(self, place: SparkPlace, location: Location) -> None:
        self._place, self._session, self._location = place, place.session, location

    def _frame(self, published: bool) -> Any:
        raise NotImplementedError

    def read(self, engine: Engine, names: Sequence[str], *, published: bool) -> Table | None:
        with self._place.guarded("read back"):
            frame = self._frame(published)
            if frame.columns != list(names):
                return None
            values = [f"v{i}" for i in range(len(names))]
            counts = frame.toDF(*values).groupBy(*values).count().toDF(*values, "n")
        return handed_over(engine, self._place, counts, [column(name) for name in (*values, "n")], "landed")


class FolderOfRows(_Rows):
    """A folder of Parquet files that Spark writes and reads, and this machine sees."""

    def write(self, engine: Engine, rows: RowsInParts) -> None:
        """Hand the rows over as a file, and let Spark write them out."""
        staging = self._location.staging
        handed = staging / "handed.parquet"
        target = render(literal(str(handed)))
        engine.query(f"COPY ({rows.sql}) TO {target} (FORMAT parquet)", step="hand over")
        with self._place.writing():
            frame = self._seen(handed)
            _in_order(frame, rows).write.parquet(file_uri(self._location.rows))
        if not self._location.rows.is_dir():
            raise unseen(staging)
        handed.unlink()

    def write_drawn(self, rows: Source, columns: Mapping[str, str]) -> None:
        """Let Spark write rows that never were here, in an order that their own values give."""
        frame, names = cast(FrameSource, rows).frame, list(columns)
        with self._place.writing():
            shown = frame.select(*columns.values())
            spread = shown.repartition(*shown.columns).sortWithinPartitions(*shown.columns)
            spread.toDF(*names).write.parquet(file_uri(self._location.rows))
        if not self._location.rows.is_dir():
            raise unseen(self._location.staging)

    def written(self) -> Source:
        return SparkSource(self._place, _read_uri(self._location.rows))

    def _seen(self, handed: Path) -> Any:
        """Give what Spark reads of a file, which it must see where it stands here."""
        try:
            return self._session.read.parquet(_read_uri(handed))
        except Exception as cause:
            if self._place.is_missing(cause):
                raise unseen(self._location.staging) from None
            raise

    def is_there(self) -> bool:
        return Path(self._location.target).is_dir()

    def hashes(self, *, published: bool) -> dict[str, tuple[int, str]]:
        return locations.hashed_files(self._folder(published))

    def records(self, *, published: bool) -> dict[str, int]:
        """Read how many rows the foot of each file says; what is in them is compared besides."""
        from pyarrow.parquet import read_metadata  # type: ignore[import-untyped]

        files = self._folder(published).glob("*.parquet")
        return {file.name: int(read_metadata(file).num_rows) for file in files}

    def _frame(self, published: bool) -> Any:
        return self._session.read.parquet(_read_uri(self._folder(published)))

    def _folder(self, published: bool) -> Path:
        return Path(self._location.target) if published else self._location.rows

    def publish(self) -> None:
        locations.publish_folder(self._location)

    def remove_staged(self) -> None:
        locations.remove_staging(self._location)

    def settle(self) -> None:
        locations.settle(self._location)

    def remove_published(self, *, settled: bool) -> None:
        locations.remove_published(self._location, settled=settled)


class TableOfRows(_Rows):
    """A table of Spark's catalog."""

    def write(self, engine: Engine, rows: RowsInParts) -> None:
        """Hand the rows over in batches, and let Spark write out one after the other.

        The table is made empty first, so that dropping it removes its files whenever a run is cut short.
        """
        staged = spark_name(self._location.staged_table)
        with self._place.writing():
            for place, handed in enumerate(_batches(engine, rows)):
                found = handed.column("part")
                parts = found[-1].as_py() - found[0].as_py() + 1 if len(handed) else 1
                written = _in_order(self._session.createDataFrame(handed), rows._replace(parts=parts))
                if not place:
                    self._create(staged, written.schema)
                written.write.insertInto(staged)

    def _create(self, staged: str, schema: Any) -> None:
        fields = ", ".join(f"{quoted(field.name)} {field.dataType.simpleString()}" for field in schema.fields)
        owned = f"TBLPROPERTIES ('{PROPERTY}' = '{self._location.token}')"
        self._session.sql(f"CREATE TABLE {staged} ({fields}) {owned}")

    def is_there(self) -> bool:
        with self._place.guarded("find"):
            return bool(self._session.catalog.tableExists(spark_name(self._location.table)))

    def hashes(self, *, published: bool) -> dict[str, tuple[int, str]]:
        """Let Spark read the files; there are none where the format of the table does not tell them."""
        with self._place.guarded("manifest"):
            paths = [unquote(path) for path in self._frame(published).inputFiles()]
            if not paths:
                return {}
            read = self._session.read.format("binaryFile").load(paths)
            rows = read.selectExpr("path", "length", "sha2(content, 256) AS sha256").collect()
        return {_file_name(row["path"]): (int(row["length"]), str(row["sha256"])) for row in rows}

    def records(self, *, published: bool) -> dict[str, int]:
        with self._place.guarded("manifest"):
            frame = self._frame(published)
            if not frame.inputFiles():
                return {}
            rows = frame.selectExpr("_metadata.file_name AS name").groupBy("name").count().collect()
        return {unquote(row["name"]): int(row["count"]) for row in rows}

    def _frame(self, published: bool) -> Any:
        name = spark_name(self._location.table if published else self._location.staged_table)
        self._session.catalog.refreshTable(name)
        return self._session.table(name)

    def publish(self) -> None:
        """Rename the table; the new name stands without the catalog, which is that of the old one."""
        target = self._location.table
        new = spark_name(Table(target.name, target.schema))
        refused = EngineError(
            f"The catalog of {self._location.target} cannot rename a table, or has one of that name by now.",
            "Give --to a folder, or a table of another catalog.",
        )
        try:
            with self._place.guarded("publish"):
                self._session.sql(f"ALTER TABLE {spark_name(self._location.staged_table)} RENAME TO {new}")
        except EngineError as cause:
            refused.engine_text = cause.engine_text
            raise refused from None

    def remove_staged(self) -> None:
        with self._place.guarded("remove"):
            self._session.sql(f"DROP TABLE IF EXISTS {spark_name(self._location.staged_table)}")

    def settle(self) -> None:
        owned = f"'{PROPERTY}' = '{self._location.token}{locations.SETTLED}'"
        with self._place.guarded("settle"):
            self._session.sql(f"ALTER TABLE {spark_name(self._location.table)} SET TBLPROPERTIES ({owned})")

    def remove_published(self, *, settled: bool) -> None:
        name, token = spark_name(self._location.table), self._location.token
        wanted = (token, token + locations.SETTLED) if settled else (token,)
        with self._place.guarded("remove"):
            if not self._session.catalog.tableExists(name):
                return
            found = self._session.sql(f"SHOW TBLPROPERTIES {name}").collect()
            if any(row["key"] == PROPERTY and row["value"] in wanted for row in found):
                self._session.sql(f"DROP TABLE {name}")


def store(place: SparkPlace, location: Location) -> FolderOfRows | TableOfRows:
    return (FolderOfRows if location.kind == "folder" else TableOfRows)(place, location)


def qualified(place: SparkPlace, table: Table) -> Table:
    session = place.session
    with place.guarded("find"):
        catalog = table.catalog or session.catalog.currentCatalog()
        full = Table(table.name, table.schema or session.catalog.currentDatabase(), catalog)
        schema = ".".join(quoted(part) for part in (full.catalog, full.schema) if part)
        known = session.catalog.databaseExists(schema)
        taken = known and session.catalog.tableExists(spark_name(full))
    if not known:
        raise InvalidOption(f"Spark has no schema {schema}.", "Give --to a schema that is there, or make it.")
    if taken:
        raise NameTaken(f"Spark has a table {full} already.", "Give --to another name, or drop that table.")
    return full


def _batches(engine: Engine, rows: RowsInParts) -> Iterator[Any]:
    """Read rows in their order as tables of Arrow; where there are none, an empty one."""
    import pyarrow as pa  # type: ignore[import-untyped]

    reader = engine.relation(f"FROM ({rows.sql}) ORDER BY place").to_arrow_reader(TOGETHER)
    first = next(reader, None)
    yield reader.schema.empty_table() if first is None else pa.Table.from_batches([first])
    for batch in reader:
        yield pa.Table.from_batches([batch])


def _in_order(frame: Any, rows: RowsInParts) -> Any:
    """Unfold rows that are handed over collapsed, part by part, each in its order."""
    spread = frame.repartitionByRange(rows.parts, "part") if rows.parts > 1 else frame.coalesce(1)
    values = [f"v{i}" for i in range(len(rows.names))]
    unfolded = spread.sortWithinPartitions("place").selectExpr(*values, "explode(sequence(1L, n)) AS n")
    return unfolded.select(*values).toDF(*rows.names)


def _read_uri(path: Path) -> str:
    """Name a path that is read, where a star or a bracket would stand for others."""
    return _GLOB.sub(r"\\\g<0>", file_uri(path))


def _file_name(path: str) -> str:
    """Give the name of a file.

    Example:
        >>> _file_name("file:///shop/safe/part-0%200.parquet")
        'part-0 0.parquet'
    """
    return unquote(PurePosixPath(urlsplit(path).path).name)
