"""Where the rows of a release stand that are not in the database: a folder of files, or a table elsewhere."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import secrets
import shutil
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from ppdm_sql.engine.duckdb_engine import Engine
from ppdm_sql.engine.names import Table, parse_table, plain_name
from ppdm_sql.engine.space import PRIVATE
from ppdm_sql.errors import InvalidOption, NameTaken

if sys.platform != "win32":
    import fcntl

if TYPE_CHECKING:
    from ppdm_sql.engine.spark.session import SparkPlace
    from ppdm_sql.engine.spark.staging import FolderOfRows, TableOfRows


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
MARK = "_ppdm"
"""The file of a published folder that holds its token; readers of records skip names that begin so."""
SETTLED = " committed"
"""What stands behind the token once a database has committed what is there."""
_DONE = "_SUCCESS"
_SCHEME = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):/")


@dataclass(frozen=True)
class Location:
    """A folder or a table, and the token by which it is known to be ours: it is noted there, too."""

    kind: Kind
    target: str  # the absolute path of the folder, or the name of the table with catalog and schema
    token: str  # of this one publication

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

    The SELECT gives ``v0, v1, ...``, which get the names, ``n`` (how often the row is written), ``place``
    (its number in the order) and ``part`` (who writes it).
    """

    sql: str
    names: Sequence[str]
    parts: int


RowStore: TypeAlias = "FolderOfRows | TableOfRows"
"""Writes the rows of one release where they do not pass through DuckDB, and reads them back."""
DrawnRowStore: TypeAlias = "FolderOfRows"
"""The same for rows that were drawn where they are to stand."""


def location_of(engine: Engine, to: str) -> Location:
    """Read what a user said of where rows shall stand; paths have a slash, tables none."""
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


def store_of(engine: Engine, location: Location) -> RowStore:
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
    return engine.spark


def recorded(location: Location, files: Sequence[PlacedFile], unfolded: str | None) -> dict[str, Any]:
    """Give what the catalogue keeps of a location, as JSON can hold it."""
    listed = [list(file) for file in files]
    named = {"kind": location.kind, "target": location.target, "token": location.token}
    return {**named, "files": listed, "unfolded": unfolded}


def read_location(record: Mapping[str, Any]) -> Location:
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


# -- folders: written aside, named in one move, removed if they are ours --------------------


def check_free_folder(path: Path) -> None:
    if os.path.lexists(path):
        raise NameTaken(f"There is {path} already.", "Give --to another name, or remove what has this one.")
    if not path.parent.is_dir() or not os.access(path.parent, os.W_OK | os.X_OK):
        raise InvalidOption(f"The folder {path.parent} cannot be written to.", "Give another folder.")


@contextlib.contextmanager
def staging_folder(location: Location) -> Iterator[None]:
    """Make the private folder in which rows stand until they are accepted; it goes at the end.

    The lock on the file ``owner`` tells others that it is in use, also where somebody reads a copy of the
    database.
    """
    location.staging.mkdir(mode=0o700)
    owner = os.open(location.staging / "owner", os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        if sys.platform != "win32":
            with contextlib.suppress(OSError):
                fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        remove_staging(location)
        os.close(owner)


def is_in_use(location: Location) -> bool:
    """Tell whether the run that made a staging folder still runs, as far as locks tell."""
    if sys.platform == "win32":
        return False
    try:
        owner = os.open(location.staging / "owner", os.O_RDWR | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as cause:
        return cause.errno in (errno.EAGAIN, errno.EACCES)
    finally:
        os.close(owner)
    return False


def publish_folder(location: Location) -> None:
    (location.rows / MARK).write_text(location.token, "utf-8")
    check_free_folder(Path(location.target))
    try:
        os.rename(location.rows, location.target)
    except OSError as cause:
        raise InvalidOption(
            f"The folder {location.target} cannot be made: {cause.strerror}.",
            "Give --to a folder in which you and Spark's user may both write.",
        ) from None


def remove_staging(location: Location) -> None:
    shutil.rmtree(location.staging, ignore_errors=True)


def settle(location: Location) -> None:
    """Write into the folder that the database has committed it, so that no old copy of that may remove it."""
    with contextlib.suppress(OSError):
        part = location.staging / MARK
        part.write_text(location.token + SETTLED, "utf-8")
        os.replace(part, Path(location.target) / MARK)


def remove_published(location: Location, *, settled: bool) -> None:
    """Remove a published folder if it is ours: it vanishes in one move, then its files go."""
    if not is_ours(location, settled=settled):
        return
    location.staging.mkdir(mode=0o700, exist_ok=True)
    shutil.rmtree(location.rows, ignore_errors=True)
    os.rename(location.target, location.rows)
    shutil.rmtree(location.staging, ignore_errors=True)


def is_ours(location: Location, *, settled: bool) -> bool:
    """Tell whether the target is a folder with the token of this publication, and no link to one."""
    wanted = (location.token, location.token + SETTLED) if settled else (location.token,)
    try:
        is_folder = stat.S_ISDIR(os.lstat(location.target).st_mode)
        return is_folder and (Path(location.target) / MARK).read_text("utf-8") in wanted
    except (OSError, UnicodeDecodeError):
        return False


def hashed_files(folder: Path) -> dict[str, tuple[int, str]]:
    """Give size and SHA-256 of everything in a folder but what Spark and a publication write beside rows.

    Sub-folders and links are listed, too, with no hash: no release has any.
    """
    found: dict[str, tuple[int, str]] = {}
    for path in folder.iterdir():
        is_checksum = path.name.startswith(".") and path.name.endswith(".crc")  # Hadoop's, of another file
        if path.name in (MARK, _DONE) or is_checksum:
            continue
        about, sha256 = path.lstat(), ""
        if stat.S_ISREG(about.st_mode):
            with path.open("rb") as file:
                sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        found[path.name] = (about.st_size, sha256)
    return found
