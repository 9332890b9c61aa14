"""Room on the disk: how much there is, and a private folder for what does not fit in memory."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from ppdm_sql.errors import EngineError

_FULL = {os.strerror(number) for number in (errno.ENOSPC, errno.EDQUOT)}
_FILE = re.compile(r'file \\*"(?P<path>.*?)\\*": (?P<why>[A-Z][a-z ]+)')
"""The engine's words; in its asynchronous writes they are JSON, whose quotes have backslashes."""

PRIVATE = ".ppdm-"
"""How the folders begin in which an export writes; they are not what the user named."""


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
    """Say that there is no room left in a folder."""
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
