"""Folders of files that are written aside, get their name in one move, and are removed if they are ours."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import shutil
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

from ppdm_sql.engine.locations import Location
from ppdm_sql.errors import InvalidOption, NameTaken

if sys.platform != "win32":
    import fcntl

MARK = "_ppdm"
"""The file of a published folder that holds its token; readers of records skip names that begin so."""
SETTLED = " committed"
"""What stands behind the token once a database has committed what is there."""
_DONE = "_SUCCESS"
_PIECE = 1 << 20


def check_free_folder(path: Path) -> None:
    """Make sure that a folder can be made."""
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
        shutil.rmtree(location.staging, ignore_errors=True)
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
    """Give the rows the name of the target, in one move."""
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
    """Remove the folder in which rows stood, if it is there."""
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
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name in (MARK, _DONE) or _is_checksum(entry.name):
                continue
            plain = entry.is_file(follow_symlinks=False)
            size = entry.stat(follow_symlinks=False).st_size
            found[entry.name] = (size, _sha256(Path(entry.path)) if plain else "")
    return found


def _is_checksum(name: str) -> bool:
    """Tell whether a file is one that the local file system of Hadoop keeps of another."""
    return name.startswith(".") and name.endswith(".crc")


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            digest.update(piece)
    return digest.hexdigest()
