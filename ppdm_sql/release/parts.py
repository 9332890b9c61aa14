"""Private folders in which exports write, and the removal of those that a killed process left behind."""

from __future__ import annotations

import contextlib
import os
import platform
import re
import secrets
import shutil
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

from ppdm_sql.engine.space import PRIVATE

if sys.platform != "win32":
    import fcntl

_NAME = re.compile(re.escape(PRIVATE) + r"[0-9a-f]{12}\.part")
_ROWS, _OWNER = "rows", "owner"
_OURS = re.compile(rf"{_OWNER}|{_ROWS}(\..+)?")
_MOST_OWNER = 1000


@contextlib.contextmanager
def part_beside(path: Path) -> Iterator[Path]:
    """Give a file in a private folder beside another; the folder goes at the end, with all that is in it.

    A lock on the file ``owner``, which the system lets go when the process ends, however it ends, tells that
    the folder is in use. Folders whose lock is free are removed first.
    """
    sweep(path.parent)
    folder, owner = _new_folder(path.parent)
    try:
        yield folder / _ROWS
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if owner is not None:
            os.close(owner)


def sweep(folder: Path) -> None:
    """Remove what killed exports of this user on this machine left in a folder; all else stays.

    A folder is left alone if it is a link, belongs to somebody else, was made by another machine, holds
    anything that an export does not write, or is locked. Where the file system has no locks, nothing is
    removed.
    """
    if sys.platform == "win32":
        return
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            if _NAME.fullmatch(name):
                with contextlib.suppress(OSError):
                    _remove_left(folder / name)


def _new_folder(parent: Path) -> tuple[Path, int | None]:
    """Make a folder that only this user can read, and lock it; a sweep may take one that is still empty."""
    while True:
        folder = parent / f"{PRIVATE}{secrets.token_hex(6)}.part"
        folder.mkdir(mode=0o700)
        try:
            return folder, _lock(folder / _OWNER)
        except FileNotFoundError:
            continue
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise


def _lock(file: Path) -> int | None:
    """Lock a new file, then write into it whose it is; without locks it stays empty, and is never swept."""
    if sys.platform == "win32":
        return None
    owner = os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.write(owner, _machine())
    except OSError:
        os.close(owner)
        return None
    return owner


def _remove_left(left: Path) -> None:
    """Remove one folder if its process is gone; no link in it or to it is followed."""
    if sys.platform == "win32":
        return
    place = os.open(left, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        names = os.listdir(place)
        if os.fstat(place).st_uid != os.geteuid() or not all(_is_ours(place, name) for name in names):
            return
        if names and not _is_free(place):
            return
        for name in sorted(names, key=_OWNER.__eq__):
            os.unlink(name, dir_fd=place)
        os.rmdir(left)
    finally:
        os.close(place)


def _is_ours(place: int, name: str) -> bool:
    """Tell whether an export writes a file of that name."""
    found = os.stat(name, dir_fd=place, follow_symlinks=False)
    return stat.S_ISREG(found.st_mode) and _OURS.fullmatch(name) is not None


def _is_free(place: int) -> bool:
    """Tell whether the process that made the folder ran here and has ended."""
    if sys.platform == "win32":
        return False
    owner = os.open(_OWNER, os.O_RDWR | os.O_NOFOLLOW, dir_fd=place)
    try:
        if os.read(owner, _MOST_OWNER) != _machine():
            return False
        fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.close(owner)
    return True


def _machine() -> bytes:
    """Name this machine, as locks need not be seen from another one."""
    known = ""
    with contextlib.suppress(OSError):
        known = Path("/etc/machine-id").read_text("utf-8").strip()
    return f"{platform.node()} {known}".encode()
