"""Where the rows of a release stand that are not in the database: a folder of files, or a table elsewhere."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, cast

from ppdm_sql.engine.duckdb_engine import Engine
from ppdm_sql.engine.names import Table, parse_table, plain_name
from ppdm_sql.engine.source import Source
from ppdm_sql.engine.space import PRIVATE
from ppdm_sql.errors import InvalidOption

if TYPE_CHECKING:
    from ppdm_sql.engine.spark.session import SparkPlace


Kind = Literal["folder", "table"]

_OWN = {
    *("BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE"),
    *("VARCHAR", "BLOB", "DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE"),
}
_WIDER = {
    "UTINYINT": "SMALLINT",
    "USMALLINT": "INTEGER",
    "UINTEGER": "BIGINT",
    "UBIGINT": "DECIMAL(20,0)",
    "HUGEINT": "DECIMAL(38,0)",
    "TIMESTAMP_S": "TIMESTAMP",
    "TIMESTAMP_MS": "TIMESTAMP",
}
_SCHEME = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):/")


@dataclass(frozen=True)
class Location:
    """A folder or a table, and the token by which it is known to be ours.

    Args:
        kind: ``folder`` or ``table``.
        target: The absolute path of the folder, or the name of the table with catalog and schema.
        token: Of this one publication; it stands in the folder or in the table's properties, too.
    """

    kind: Kind
    target: str
    token: str

    @property
    def staging(self) -> Path:
        """The folder beside the target in which rows stand until they are accepted."""
        return Path(self.target).parent / f"{PRIVATE}{self.token}"

    @property
    def rows(self) -> Path:
        """The folder that becomes the target."""
        return self.staging / "rows"

    @property
    def table(self) -> Table:
        """The table, by its parts."""
        return parse_table(self.target)

    @property
    def staged_table(self) -> Table:
        """The table beside the target in which rows stand until they are accepted."""
        return Table(f"ppdm_{self.token}", self.table.schema, self.table.catalog)


class PlacedFile(NamedTuple):
    """A file of a release: its name, its size in bytes, its SHA-256 in hexadecimal digits, its records."""

    name: str
    size: int
    sha256: str
    rows: int


class RowsInParts(NamedTuple):
    """Rows of a release as they are handed over to be written.

    Args:
        sql: A SELECT of ``v0, v1, ...``, ``n`` (how often the row is written), ``place`` (its number in the
            order) and ``part`` (who writes it).
        names: What ``v0, v1, ...`` are called where they are written.
        parts: How many parts there are.
    """

    sql: str
    names: Sequence[str]
    parts: int


class RowStore(Protocol):
    """Writes the rows of one release where they do not pass through DuckDB, and reads them back."""

    def write(self, engine: Engine, rows: RowsInParts) -> None:
        """Write rows in their order, aside of the target."""

    def read(self, engine: Engine, names: Sequence[str], *, published: bool) -> Table | None:
        """Count what is there by one GROUP BY: a working table ``v0, v1, ..., n``; None for other columns."""

    def is_there(self) -> bool:
        """Tell whether the target is there."""

    def hashes(self, *, published: bool) -> Mapping[str, tuple[int, str]]:
        """Give sizes and SHA-256 of the files with the rows by their names; none where they have no files."""

    def records(self, *, published: bool) -> Mapping[str, int]:
        """Count the rows of each file by its name."""

    def publish(self) -> None:
        """Give the rows the name of the target, in one move."""

    def remove_staged(self) -> None:
        """Remove what stands aside of the target, if anything."""

    def settle(self) -> None:
        """Note at the target that a database has committed it, so that no old copy of that removes it."""

    def remove_published(self, *, settled: bool) -> None:
        """Remove the target if it is ours, also one that is settled or only one that is not."""


def location_of(engine: Engine, to: str) -> Location:
    """Read what a user said of where rows shall stand; paths have a slash, tables none."""
    from ppdm_sql.engine.folders import check_free_folder

    to = plain_name(to, "Where the rows shall stand")
    place, token = _spark_of(engine, to), secrets.token_hex(6)
    if not is_path(to):
        from ppdm_sql.engine.spark.staging import qualified

        return Location("table", str(qualified(place, parse_table(to))), token)
    found = _SCHEME.match(to)
    if found and found["scheme"].lower() != "file":
        raise InvalidOption(
            f"{to} is on {found['scheme']}, where a folder cannot be given its name in one move.",
            "Give --to the name of a table, or a folder on a disk that Spark and this machine share.",
        )
    path = Path(os.path.abspath(os.path.expanduser(re.sub(r"^file:(//)?(?=/)", "", to))))
    check_free_folder(path)
    return Location("folder", str(path), token)


def is_path(to: str) -> bool:
    """Tell whether a text is the path of a folder, not the name of a table.

    Example:
        >>> is_path("/data/safe"), is_path("./safe"), is_path("shop.safe"), is_path("s3://shop/safe")
        (True, True, False, True)
    """
    return "/" in to or os.sep in to or to in (".", "..", "~")


class DrawnRowStore(RowStore, Protocol):
    """The same for rows that were drawn where they are to stand."""

    def write_drawn(self, rows: Source, columns: Mapping[str, str]) -> None:
        """Write rows aside of the target: what each column is called there, and the column that it is."""

    def written(self) -> Source:
        """Give what stands aside of the target."""


def store_of(engine: Engine, location: Location) -> RowStore:
    """Give what writes and reads the rows of a location."""
    place = _spark_of(engine, location.target)
    from ppdm_sql.engine.spark.staging import store

    return store(place, location)


@contextmanager
def shared_folder(engine: Engine, location: Location) -> Iterator[None]:
    """Let rows be handed over in the staging folder of a location, which goes whatever ends the run."""
    place = _spark_of(engine, location.target)
    place.shared = location.staging
    try:
        yield
    finally:
        place.shared = None


def _spark_of(engine: Engine, target: str) -> SparkPlace:
    if engine.spark is None:
        raise InvalidOption(
            f"The rows of {target} are Spark's to write and read, and no Spark is named.",
            "Add --spark URL, such as --spark sc://localhost:15002.",
        )
    return cast("SparkPlace", engine.spark)


def recorded(location: Location, files: Sequence[PlacedFile], unfolded: str | None) -> dict[str, Any]:
    """Give what the catalogue keeps of a location, as JSON can hold it."""
    listed = [list(file) for file in files]
    named = {"kind": location.kind, "target": location.target, "token": location.token}
    return {**named, "files": listed, "unfolded": unfolded}


def read_location(record: Mapping[str, Any]) -> Location:
    """Read back what :func:`recorded` wrote."""
    return Location(record["kind"], record["target"], record["token"])


def handed_type(type_text: str) -> str:
    """Give the type in which a column is handed over: its own, or a wider one, or text.

    Example:
        >>> handed_type("USMALLINT"), handed_type("DECIMAL(8,2)"), handed_type("TIME")
        ('INTEGER', 'DECIMAL(8,2)', 'VARCHAR')
    """
    if type_text in _OWN or type_text.startswith("DECIMAL(") and type_text.endswith(")"):
        return type_text
    return _WIDER.get(type_text, "VARCHAR")
