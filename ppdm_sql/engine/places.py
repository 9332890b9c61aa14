"""Where the rows of a release stand outside of its database: a folder or a table that Spark writes.

Both have the same verbs. Rows are written aside, read back, and get their name in one move; they are removed
where a token, which the database notes before anything is written, says that they are ours.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple, TypeAlias, cast
from urllib.parse import unquote, urlsplit

from ppdm_sql.engine.duckdb_engine import Engine
from ppdm_sql.engine.names import Table, column, parse_table, plain_name
from ppdm_sql.engine.source import Source
from ppdm_sql.engine.space import PRIVATE, is_in_use, private_folder
from ppdm_sql.engine.spark.handover import file_uri, handed_over, unseen
from ppdm_sql.engine.spark.jobs import SparkJobs
from ppdm_sql.engine.spark.source import FrameSource, SparkSource, quoted, spark_name
from ppdm_sql.engine.statements import literal, render
from ppdm_sql.errors import EngineError, InvalidOption, NameTaken

TOGETHER = 250_000
"""Rows that are handed over together where they go into a table."""
PROPERTY = "ppdm.release"
"""The property of a table that holds the token of its publication; Spark hides one that is called token."""
MARK = "_ppdm"
"""The file of a published folder that holds its token; readers of records skip names that begin so."""
SETTLED = " committed"
"""What stands behind the token once a database has committed what is there, so that no old copy of that may
remove it."""
_DONE = "_SUCCESS"
_GLOB = re.compile(r"[*?{}\[\]\\]")
_SCHEME = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):/")


class PlacedFile(NamedTuple):
    name: str
    size: int
    sha256: str  # empty for what is not a regular file
    rows: int


class RowsInParts(NamedTuple):
    """Rows of a release as they are handed over to be written.

    The SELECT gives ``v0, v1, ...``, which get the names, ``n`` (how often the row is written), ``place``
    (its number in the order) and ``part`` (who writes it).
    """

    sql: str
    names: Sequence[str]
    parts: int


class _Rows:
    """Where the rows of one release stand, and the token of this one publication."""

    def __init__(self, spark: SparkJobs | None, target: str, token: str) -> None:
        self.target, self.token, self._spark = target, token, spark

    @property
    def spark(self) -> SparkJobs:
        return _required(self._spark, self.target)

    def check_open(self) -> None:
        """Refuse where what reads and writes the rows is not open."""
        _required(self._spark, self.target)

    def _frame(self, published: bool) -> Any:
        raise NotImplementedError

    def read(self, engine: Engine, names: Sequence[str], *, published: bool) -> Table | None:
        """Count the distinct rows there, as ``v0, v1, ...`` and ``n``; None if they have other columns."""
        with self.spark.guarded("read back"):
            frame = self._frame(published)
            if frame.columns != list(names):
                return None
            values = [f"v{i}" for i in range(len(names))]
            counts = frame.toDF(*values).groupBy(*values).count().toDF(*values, "n")
        return handed_over(engine, self.spark, counts, [column(name) for name in (*values, "n")], "landed")

    def _tokens(self, settled: bool) -> Sequence[str]:
        return (self.token, self.token + SETTLED) if settled else (self.token,)


class FolderOfRows(_Rows):
    """A folder of Parquet files that Spark writes and reads, and this machine sees and can remove."""

    kind = "folder"

    @property
    def staging(self) -> Path:
        """The folder beside the target in which rows stand until they are accepted."""
        return Path(self.target).parent / f"{PRIVATE}{self.token}"

    @property
    def rows(self) -> Path:
        """The folder that becomes the target."""
        return self.staging / "rows"

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Let rows be handed over inside in the staging folder, which goes whatever ends the run."""
        with private_folder(self.staging):
            self.spark.shared = self.staging
            try:
                yield
            finally:
                self.spark.shared = None

    def is_in_use(self) -> bool:
        """Tell whether the run that made the staging folder still runs, as far as locks tell."""
        return is_in_use(self.staging)

    def is_clean(self) -> bool:
        return not self.staging.exists()

    def write(self, engine: Engine, rows: RowsInParts) -> None:
        """Hand the rows over as a file, and let Spark write them out."""
        handed = self.staging / "handed.parquet"
        target = render(literal(str(handed)))
        engine.query(f"COPY ({rows.sql}) TO {target} (FORMAT parquet)", step="hand over")
        with self.spark.writing():
            self._write_out(_in_order(self._seen(handed), rows))
        handed.unlink()

    def write_drawn(self, rows: Source, columns: Mapping[str, str]) -> None:
        """Let Spark write rows that never were here, in an order that their own values give."""
        frame = cast(FrameSource, rows).frame
        with self.spark.writing():
            names = list(columns.values())
            spread = frame.select(*names).repartition(*names).sortWithinPartitions(*names)
            self._write_out(spread.toDF(*columns))

    def _write_out(self, frame: Any) -> None:
        frame.write.parquet(file_uri(self.rows))
        if not self.rows.is_dir():
            raise unseen(self.staging)

    def written(self) -> Source:
        return SparkSource(self.spark, _read_uri(self.rows))

    def _seen(self, handed: Path) -> Any:
        """Give what Spark reads of a file, which it must see where it stands here."""
        try:
            return self.spark.session.read.parquet(_read_uri(handed))
        except Exception as cause:
            if self.spark.is_missing(cause):
                raise unseen(self.staging) from None
            raise

    def is_there(self) -> bool:
        return Path(self.target).is_dir()

    def hashes(self, *, published: bool) -> dict[str, tuple[int, str]]:
        """Give all that is in the folder but what Spark and a publication write beside rows.

        Sub-folders and links are listed, too, with no hash: no release has any.
        """
        found: dict[str, tuple[int, str]] = {}
        for path in self._folder(published).iterdir():
            is_checksum = path.name.startswith(".") and path.name.endswith(".crc")  # Hadoop's
            if path.name in (MARK, _DONE) or is_checksum:
                continue
            about, sha256 = path.lstat(), ""
            if stat.S_ISREG(about.st_mode):
                with path.open("rb") as file:
                    sha256 = hashlib.file_digest(file, "sha256").hexdigest()
            found[path.name] = (about.st_size, sha256)
        return found

    def records(self) -> dict[str, int]:
        """Read how many rows the foot of each file says; what is in them is compared besides."""
        from pyarrow.parquet import read_metadata  # type: ignore[import-untyped]

        return {file.name: int(read_metadata(file).num_rows) for file in self.rows.glob("*.parquet")}

    def _frame(self, published: bool) -> Any:
        return self.spark.session.read.parquet(_read_uri(self._folder(published)))

    def _folder(self, published: bool) -> Path:
        return Path(self.target) if published else self.rows

    def give_name(self) -> None:
        (self.rows / MARK).write_text(self.token, "utf-8")
        _check_free(Path(self.target))
        try:
            os.rename(self.rows, self.target)
        except OSError as cause:
            raise InvalidOption(
                f"The folder {self.target} cannot be made: {cause.strerror}.",
                "Give --to a folder in which you and Spark's user may both write.",
            ) from None

    def settle(self) -> None:
        """Write into the folder that the database has committed it; nothing aside is needed any more."""
        if self._is_ours(settled=True):
            with contextlib.suppress(OSError):
                part = self.staging / MARK
                part.write_text(self.token + SETTLED, "utf-8")
                os.replace(part, Path(self.target) / MARK)
        shutil.rmtree(self.staging, ignore_errors=True)

    def remove(self, *, settled: bool) -> None:
        """Let the published folder vanish in one move, then remove its files with what was written aside."""
        try:
            if self._is_ours(settled=settled):
                self.staging.mkdir(mode=0o700, exist_ok=True)
                shutil.rmtree(self.rows, ignore_errors=True)
                os.rename(self.target, self.rows)
        finally:
            shutil.rmtree(self.staging, ignore_errors=True)

    def _is_ours(self, *, settled: bool) -> bool:
        """Tell whether the target is a folder with the token of this publication, and no link to one."""
        try:
            is_folder = stat.S_ISDIR(os.lstat(self.target).st_mode)
            return is_folder and (Path(self.target) / MARK).read_text("utf-8") in self._tokens(settled)
        except (OSError, UnicodeDecodeError):
            return False


class TableOfRows(_Rows):
    kind = "table"

    def __init__(self, spark: SparkJobs | None, target: str, token: str) -> None:
        super().__init__(_required(spark, target), target, token)
        self._session, table = self.spark.session, parse_table(target)
        self._published = spark_name(table)
        self._staged = spark_name(Table(f"ppdm_{token}", table.schema, table.catalog))

    def write(self, engine: Engine, rows: RowsInParts) -> None:
        """Hand the rows over in batches, and let Spark write out one after the other.

        The table is made empty first, so that dropping it removes its files whenever a run is cut short.
        """
        with self.spark.writing():
            for place, handed in enumerate(_batches(engine, rows)):
                found = handed.column("part")
                parts = found[-1].as_py() - found[0].as_py() + 1 if len(handed) else 1
                written = _in_order(self._session.createDataFrame(handed), rows._replace(parts=parts))
                if not place:
                    self._create(written.schema)
                written.write.insertInto(self._staged)

    def _create(self, schema: Any) -> None:
        fields = ", ".join(f"{quoted(field.name)} {field.dataType.simpleString()}" for field in schema.fields)
        owned = f"TBLPROPERTIES ('{PROPERTY}' = '{self.token}')"
        self._session.sql(f"CREATE TABLE {self._staged} ({fields}) {owned}")

    def aside(self) -> AbstractContextManager[None]:
        return nullcontext()

    def is_in_use(self) -> bool:
        return False

    def is_clean(self) -> bool:
        return True

    def is_there(self) -> bool:
        with self.spark.guarded("find"):
            return bool(self._session.catalog.tableExists(self._published))

    def hashes(self, *, published: bool) -> dict[str, tuple[int, str]]:
        """Let Spark read the files; there are none where the format of the table does not tell them."""
        with self.spark.guarded("manifest"):
            paths = [unquote(path) for path in self._frame(published).inputFiles()]
            if not paths:
                return {}
            read = self._session.read.format("binaryFile").load(paths)
            rows = read.selectExpr("path", "length", "sha2(content, 256) AS sha256").collect()
        return {_file_name(row["path"]): (int(row["length"]), str(row["sha256"])) for row in rows}

    def records(self) -> dict[str, int]:
        with self.spark.guarded("manifest"):
            frame = self._frame(published=False)
            if not frame.inputFiles():
                return {}
            rows = frame.selectExpr("_metadata.file_name AS name").groupBy("name").count().collect()
        return {unquote(row["name"]): int(row["count"]) for row in rows}

    def _frame(self, published: bool) -> Any:
        name = self._published if published else self._staged
        self._session.catalog.refreshTable(name)
        return self._session.table(name)

    def give_name(self) -> None:
        """Rename the table; the new name stands without the catalog, which is that of the old one."""
        table = parse_table(self.target)
        refused = EngineError(
            f"The catalog of {self.target} cannot rename a table, or has one of that name by now.",
            "Give --to a folder, or a table of another catalog.",
        )
        try:
            with self.spark.guarded("publish"):
                new = spark_name(Table(table.name, table.schema))
                self._session.sql(f"ALTER TABLE {self._staged} RENAME TO {new}")
        except EngineError as cause:
            refused.engine_text = cause.engine_text
            raise refused from None

    def settle(self) -> None:
        owned = f"'{PROPERTY}' = '{self.token}{SETTLED}'"
        with self.spark.guarded("settle"):
            self._session.sql(f"ALTER TABLE {self._published} SET TBLPROPERTIES ({owned})")

    def remove(self, *, settled: bool) -> None:
        with self.spark.guarded("remove"):
            self._session.sql(f"DROP TABLE IF EXISTS {self._staged}")
            if not self._session.catalog.tableExists(self._published):
                return
            found = self._session.sql(f"SHOW TBLPROPERTIES {self._published}").collect()
            if any(row["key"] == PROPERTY and row["value"] in self._tokens(settled) for row in found):
                self._session.sql(f"DROP TABLE {self._published}")


PlaceOfRows: TypeAlias = FolderOfRows | TableOfRows


# -- how a place is named -----------------------------------------------------------------------------


def place_at(engine: Engine, kind: str, target: str, token: str) -> PlaceOfRows:
    return (FolderOfRows if kind == "folder" else TableOfRows)(engine.spark, target, token)


def new_place(engine: Engine, to: str) -> PlaceOfRows:
    """Read what a user said of where rows shall stand; paths have a slash, tables none."""
    to = plain_name(to, "The place of the rows")
    spark, token = _required(engine.spark, to), secrets.token_hex(6)
    if not ("/" in to or os.sep in to or to in (".", "..", "~")):
        return TableOfRows(spark, str(_qualified(spark, parse_table(to))), token)
    found = _SCHEME.match(to)
    if found and found["scheme"].lower() != "file":
        raise InvalidOption(
            f"{to} is on {found['scheme']}, where a folder cannot be given its name in one move.",
            "Give --to the name of a table, or a folder on a disk that Spark and this machine share.",
        )
    path = Path(os.path.abspath(os.path.expanduser(re.sub(r"^file:(//)?(?=/)", "", to))))
    _check_free(path)
    return FolderOfRows(spark, str(path), token)


def _required(spark: SparkJobs | None, target: str) -> SparkJobs:
    if spark is None:
        raise InvalidOption(
            f"The rows of {target} are Spark's to write and read, and no Spark is named.",
            "Add --spark URL, such as --spark sc://localhost:15002.",
        )
    return spark


def _check_free(path: Path) -> None:
    if os.path.lexists(path):
        raise NameTaken(f"There is {path} already.", "Give --to another name, or remove what has this one.")
    if not path.parent.is_dir() or not os.access(path.parent, os.W_OK | os.X_OK):
        raise InvalidOption(f"The folder {path.parent} cannot be written to.", "Give another folder.")


def _qualified(place: SparkJobs, table: Table) -> Table:
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
