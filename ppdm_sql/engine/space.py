"""Room on the disk: how much there is, and private folders for what is not to be seen, or not yet."""

from __future__ import annotations

import contextlib
import errno
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ppdm_sql.errors import EngineError

if sys.platform != "win32":
    import fcntl

_FULL = {os.strerror(number) for number in (errno.ENOSPC, errno.EDQUOT)}
_FILE = re.compile(r'file \\*"(?P<path>.*?)\\*": (?P<why>[A-Z][a-z ]+)')
"""The engine's words; in its asynchronous writes they are JSON, whose quotes have backslashes."""

PRIVATE = ".ppdm-"
"""How the folders begin in which rows stand until they get their name; they are not what the user named."""
OWNER = "owner"


def out_of_space(step: str, text: str) -> EngineError | None:
    """Explain the engine's words where they tell that no more can be written."""
    found = _FILE.search(text)
    if found is None:
        return None
    folder = Path(found["path"]).parent
    folder = folder.parent if folder.name.startswith(PRIVATE) else folder
    if found["why"] in _FULL:
        return disk_full(folder, step)
    if found["why"] == os.strerror(errno.EFBIG):
        return EngineError(
            f"A file in {folder} grew beyond what is allowed in the step {step!r}.",
            "Raise the limit, such as ulimit -f, or use another file system.",
        )
    return None


def disk_full(folder: Path, step: str) -> EngineError:
    try:
        free = f"where {_size(shutil.disk_usage(folder).free)} are free"
    except OSError:
        free = "whose free space is not known"
    return EngineError(
        f"The disk is full: the step {step!r} needs more room in {folder}, {free}.",
        "Make room there and run it again.",
    )


def write_new(path: Path, content: bytes, *, step: str, mode: int = 0o666) -> None:
    """Write a file that is not there yet; where that fails, nothing of it stays."""
    number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with os.fdopen(number, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except BaseException as cause:
        path.unlink(missing_ok=True)
        if isinstance(cause, OSError) and cause.errno in (errno.ENOSPC, errno.EDQUOT):
            raise disk_full(path.parent, step) from cause
        raise


def _size(number: float) -> str:
    """Write a number of bytes.

    Example:
        >>> _size(12), _size(2_400_000)
        ('12 bytes', '2.4 MB')
    """
    if number < 1000:
        return f"{number:.0f} bytes"
    for unit in ("kB", "MB"):
        number /= 1000
        if number < 1000:
            return f"{number:.1f} {unit}"
    return f"{number / 1000:.1f} GB"


# -- folders in which rows stand until they get their name ----------------------------------------


@contextlib.contextmanager
def private_folder(folder: Path) -> Iterator[None]:
    """Make a folder that only this user can read; it goes at the end, with all that is in it.

    A lock on its file ``owner``, which the system lets go when the process ends, however it ends, tells that
    it is in use.
    """
    owner = _made(folder)
    try:
        yield
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if owner is not None:
            os.close(owner)


def _made(folder: Path) -> int | None:
    while True:
        folder.mkdir(mode=0o700)
        try:
            return _locked(folder / OWNER)
        except FileNotFoundError:  # a sweep may take one that is still empty
            continue
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise


def _locked(file: Path) -> int | None:
    """Lock a new file, then write into it whose it is; without locks it stays empty."""
    if sys.platform == "win32":
        return None
    owner = os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.write(owner, machine())
    except OSError:
        os.close(owner)
        return None
    return owner


def machine() -> bytes:
    """Name this machine, as locks need not be seen from another one."""
    known = ""
    with contextlib.suppress(OSError):
        known = Path("/etc/machine-id").read_text("utf-8").strip()
    return f"{platform.node()} {known}".encode()


def is_in_use(folder: Path) -> bool:
    """Tell whether the process that made a private folder still runs, as far as locks tell."""
    if sys.platform == "win32":
        return False
    try:
        owner = os.open(folder / OWNER, os.O_RDWR | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as cause:
        return cause.errno in (errno.EAGAIN, errno.EACCES)
    finally:
        os.close(owner)
    return False


# -- what does not fit in memory ---------------------------------------------------------------------


class SpillFolder:
    """A folder that only this user can read and that does not outlive the process.

    On POSIX systems a waiting shell, holding the other end of a pipe, removes the folder as soon as the
    process ends, however it ends. Elsewhere the folder is removed when :meth:`close` is called.

    Example:
        >>> spill = SpillFolder()
        >>> spill.close()
        >>> spill.path.exists()
        False
    """

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="ppdm-spill-"))
        self._sweeper = self._start_sweeper() if os.name == "posix" else None

    def _start_sweeper(self) -> subprocess.Popen[bytes] | None:
        script = 'trap "" INT TERM HUP; read -r _ || rm -rf -- "$1"'
        with contextlib.suppress(OSError):
            return subprocess.Popen(
                ["/bin/sh", "-c", script, "sh", str(self.path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        return None

    def close(self) -> None:
        """Remove the folder and end the sweeper; calling it twice is fine."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._sweeper is not None:
            if self._sweeper.stdin is not None:
                with contextlib.suppress(OSError):  # it was killed
                    if not self.path.exists():  # nothing is left to sweep
                        self._sweeper.stdin.write(b"\n")
                    self._sweeper.stdin.close()
            self._sweeper.wait()
            self._sweeper = None
