"""A table of Spark as a run reads it: its columns in types of DuckDB, its combinations with counts."""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from sqlglot import exp

from ppdm_sql.engine.duckdb_engine import Column, Engine, Rows
from ppdm_sql.engine.names import Table, alias, aliased, column, free_name, parse_table, refuse_alike
from ppdm_sql.engine.source import CountedRows, KeyedQuery, Query, stand_in
from ppdm_sql.engine.spark.dialect import to_spark
from ppdm_sql.engine.spark.handover import file_uri, handed_over, unseen, written
from ppdm_sql.engine.spark.jobs import SparkJobs
from ppdm_sql.engine.statements import Statement, sql
from ppdm_sql.engine.types import type_tree
from ppdm_sql.errors import InvalidOption, InvalidSource

RECORDS = "ppdm_records"
"""The count column of a collapsed table whose source has none."""
_NAMED_PATH = re.compile(r"\w+\.`[^`]+`")
_PATTERN = re.compile(r"[\\{}\[\]*?]")
_HERE, _KEYS = "ppdm_source_9f1c", "ppdm_keys_9f1c"
"""Stand for the source, and for the table of keys, in a statement until it is sent."""

_TYPES = {
    "boolean": "BOOLEAN",
    "tinyint": "TINYINT",
    "smallint": "SMALLINT",
    "int": "INTEGER",
    "bigint": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "date": "DATE",
    "timestamp": "TIMESTAMP WITH TIME ZONE",
    "timestamp_ntz": "TIMESTAMP",
    "string": "VARCHAR",
    "string collate UTF8_BINARY": "VARCHAR",
    "binary": "BLOB",
}
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
_TEXT_OF_LENGTH = re.compile(r"(var)?char\(\d+\)")
_PARAMETERS = re.compile(r"[<(].*", re.DOTALL)


class MappedType(NamedTuple):
    """A type of DuckDB, or why a column cannot be read; then the type is a place holder."""

    type: str
    refused: str = ""
    remedy: str = ""


class SparkSource:
    """A table, view or path of Spark, as the user names it.

    In Spark its columns get names of our own, ``c0, c1, ...``: no name of a user enters a statement there.
    """

    def __init__(self, place: SparkJobs, name: str) -> None:
        self.place, self.shown = place, name
        self._seen: str | None = None
        self._schema: Any = None
        self._schema = self._fields()
        fields = list(self._schema.fields)
        self._types = {field.name: mapped(field.dataType.simpleString()) for field in fields}
        self._codes = {field.name: f"c{place}" for place, field in enumerate(fields)}
        refuse_alike([field.name for field in fields], name, "Rename one of them in a view.")

    def _fields(self) -> Any:
        with self.place.guarded("schema"):
            try:
                return self._read().schema
            except Exception as cause:
                if self.place.is_missing(cause):
                    raise self.place.unknown(self.shown) from None
                raise

    def _read(self) -> Any:
        """Give the frame that reads it; whatever asks anything of it sees the files of that moment.

        With the schema that was found at first, Spark need not open files at each look to find it again.
        """
        session, name = self.place.session, self.shown
        if not self._is_path():
            return session.table(spark_name(name))
        reader = session.read if self._schema is None else session.read.schema(self._schema)
        return reader.parquet(name)

    def columns(self) -> list[Column]:
        """Give its columns in types of DuckDB; those of other types, which cannot be read, as VARCHAR."""
        return [Column(name, kind.type) for name, kind in self._types.items()]

    def unreadable(self) -> list[str]:
        """Give the columns of collations, and of types that do not map; to read one is refused."""
        return [name for name, kind in self._types.items() if kind.refused]

    def snapshot(self) -> str:
        """Give a token of the files it is read from: their names, sizes and times; empty where none are."""
        with self.place.guarded("snapshot"):
            files = sorted(set(self._read().inputFiles()))
            if not files:
                return ""
            listed = self.place.session.read.format("binaryFile").load([_as_path(file) for file in files])
            rows = listed.select("path", "length", "modificationTime").collect()
        return hashlib.sha256(repr(sorted(map(tuple, rows))).encode()).hexdigest()

    def check_unchanged(self) -> None:
        if self._seen is not None and self.snapshot() != self._seen:
            raise InvalidSource(
                f"The files of {self.shown} changed while it was read.",
                "Run it again when nobody is writing, or read a version that stays.",
            )

    def counted(self, engine: Engine, columns: Sequence[str], count: str | None) -> CountedRows:
        self._begin([*columns, *([] if count is None else [count])])
        called = free_name(RECORDS if count is None else count, columns)
        frame = self._frame(self._combinations(columns, count), "collapse")
        back = "CAST({code} AS {type}) AS {c}"
        wanted = [
            sql(back, code=column(self._codes[n]), type=type_tree(self._types[n].type), c=column(n))
            for n in columns
        ]
        wanted.append(sql("CAST(n AS BIGINT) AS {c}", c=column(called)))
        return CountedRows(handed_over(engine, self.place, frame, wanted, "collapse"), called)

    def _combinations(self, columns: Sequence[str], count: str | None) -> exp.Select:
        """Group by the columns as they are; of what comes out, and not of each record, texts are checked."""
        keys = [column(self._codes[name]) for name in columns]
        records: exp.Expression = exp.Count(this=exp.Star())
        if count is not None:
            records = exp.Sum(this=exp.cast(column(self._codes[count]), "BIGINT"))
        grouped = exp.select(*keys).select(alias(records, "n"))
        grouped = grouped.from_(Table(_HERE).expression()).group_by(*keys)
        if count is not None:
            grouped = grouped.where(column(self._codes[count]) > 0)
        values = (alias(self._value(name, "g"), self._codes[name]) for name in columns)
        return exp.select(*values, column("n", "g")).from_(grouped.subquery("g"))

    def aggregate(self, query: Query, *, step: str) -> Rows:
        with self.place.guarded(step):
            return [tuple(row) for row in self._frame(self._over(query), step).collect()]

    def grouped(self, engine: Engine, query: Query, columns: Sequence[Column], *, step: str) -> Table:
        frame = self._frame(self._over(query, valid=True), step)
        cast = "CAST({c} AS {type}) AS {c}"
        wanted = [sql(cast, c=column(item.name), type=type_tree(item.type)) for item in columns]
        return handed_over(engine, self.place, frame, wanted, step)

    def keep_rows(
        self, engine: Engine, query: KeyedQuery, keys: Mapping[str, str | bytes], *, step: str
    ) -> Table:
        """Keep the rows with the executors or beside the release; keys travel as data of one row."""
        text = query(Table(_HERE), Table(_KEYS))
        parsed: exp.Expression = exp.maybe_parse(text, dialect="duckdb")
        tree = self._over(lambda _: parsed, valid=True)
        with self.place.guarded(step):
            made = kept(self.place, self._frame(tree, step, keys))
        return stand_in(engine, FrameSource(self.place, self.shown, made))

    def selected(self, query: Query, step: str) -> FrameSource:
        """Give the rows that a query gives; it runs whenever something reads them."""
        return FrameSource(self.place, self.shown, self._frame(self._over(query, valid=True), step))

    def _over(self, query: Query, *, valid: bool = False) -> exp.Expression:
        """Write a query over the source with our names; refuse what it reads and cannot be read."""
        tree = query(aliased(Table(_HERE), "s"))
        used = [item for item in tree.find_all(exp.Column) if item.table == "s"]
        self._begin([item.name for item in used])
        for item in used:
            item.replace(self._value(item.name, "s") if valid else column(self._codes[item.name], "s"))
        return tree

    def _frame(
        self, query: exp.Expression | str, step: str, keys: Mapping[str, str | bytes] | None = None
    ) -> Any:
        """Give the frame of a query over the source under our names, and tell the tracer, but no keys."""
        with self.place.guarded(step):
            text = to_spark(query)
            if self.place.tracer is not None:
                self.place.tracer(Statement(text.replace(f"`{_HERE}`", self._renamed()), step=step))
            text = text.replace("{", "{{").replace("}", "}}").replace(f"`{_HERE}`", "{source}")
            frames = {"source": self._read().toDF(*self._codes.values())}
            if keys is not None:
                import pyarrow  # type: ignore[import-untyped]

                text, row = text.replace(f"`{_KEYS}`", "{keys}"), {name: [key] for name, key in keys.items()}
                frames["keys"] = self.place.session.createDataFrame(pyarrow.table(row or {"none": [""]}))
            return self.place.session.sql(text, **frames)

    def _renamed(self) -> str:
        """Write what gives the columns our names, for people to read."""
        names = (alias(column(name), code) for name, code in self._codes.items())
        table = f"parquet.`{self.shown}`" if self._is_path() else spark_name(self.shown)
        return f"({exp.select(*names).sql('spark')} FROM {table})"

    def _is_path(self) -> bool:
        """Tell a path from a name; a name may hold one, as in delta.`/shop/customers`."""
        if _NAMED_PATH.fullmatch(self.shown):
            return False
        return "/" in self.shown or self.shown.lower().endswith(".parquet")

    def _begin(self, columns: Sequence[str]) -> None:
        """Note the state of the source before it is first read, and refuse what cannot be read."""
        for name in columns:
            kind = self._types[name]
            if kind.refused:
                raise InvalidSource(f"Column {name!r} of {self.shown} {kind.refused}.", kind.remedy)
        if self._seen is None:
            self._seen = self.snapshot()

    def _value(self, name: str, table: str | None = None) -> exp.Expression:
        """Read a column; a text that is not UTF-8 is refused, since Spark would hand it over as another."""
        value = column(self._codes[name], table)
        if self._types[name].type != "VARCHAR":
            return value
        return exp.Anonymous(this="validate_utf8", expressions=[value])


class FrameSource(SparkSource):
    """The rows of a ``DataFrame`` of Spark, read like those of a table."""

    def __init__(self, place: SparkJobs, name: str, frame: Any) -> None:
        self.frame = frame
        super().__init__(place, name)

    def _read(self) -> Any:
        return self.frame

    def snapshot(self) -> str:
        """Give nothing: what its rows are made of is looked at by the source that they come from."""
        return ""


def kept(place: SparkJobs, frame: Any) -> Any:
    """Have the rows of a frame made, now and once.

    They stand in the private folder of a run where it has one, so that an executor that is lost later takes
    nothing along: a part that was lost on the way is made again, of the same records with the same keys. A
    frame that is merely cached would be made again by each statement: they do not see that it is the same.
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


def _as_path(file: str) -> str:
    r"""Turn the URI of a file into a path that is not a pattern.

    Example:
        >>> print(_as_path("file:///a%20b/{c}.parquet"))
        file:///a b/\{c\}.parquet
    """
    return _PATTERN.sub(r"\\\g<0>", unquote(file))


def spark_name(name: str | Table) -> str:
    """Write a table's name as Spark reads it.

    Example:
        >>> spark_name("shop.customers"), spark_name('shop."odd name"'), spark_name("`a b`")
        ('`shop`.`customers`', '`shop`.`odd name`', '`a b`')
        >>> spark_name("odd name")
        '`odd name`'
    """
    if isinstance(name, str):
        if "`" in name:
            return name
        given = name
        try:
            name = parse_table(given)
        except InvalidOption:
            name = Table(given)
    return ".".join(quoted(part) for part in (name.catalog, name.schema, name.name) if part is not None)


def quoted(name: str) -> str:
    doubled = name.replace("`", "``")
    return f"`{doubled}`"


def mapped(spark_type: str) -> MappedType:
    """Map a type, as ``DataType.simpleString()`` writes it.

    What is refused has values whose equality Spark and DuckDB see differently, or that have no counterpart.
    """
    if spark_type in _TYPES:
        return MappedType(_TYPES[spark_type])
    if found := _DECIMAL.fullmatch(spark_type):
        return MappedType(f"DECIMAL({found[1]},{found[2]})")
    if _TEXT_OF_LENGTH.fullmatch(spark_type):
        return MappedType("VARCHAR")
    if spark_type.startswith("string collate "):
        collation = spark_type.removeprefix("string collate ")
        return MappedType(
            "VARCHAR",
            f"has the collation {collation}, by which different texts are equal",
            "Read it through a view that says CAST(column AS STRING) COLLATE UTF8_BINARY.",
        )
    title = _PARAMETERS.sub("", spark_type)
    return MappedType(
        "VARCHAR",
        f"has the type {title}, which does not map to a type of DuckDB",
        "Read it through a view that casts it, such as CAST(column AS STRING), or leave it out.",
    )
