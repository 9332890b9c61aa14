"""A private folder for what does not fit in memory; it goes even when the process is killed."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path


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
