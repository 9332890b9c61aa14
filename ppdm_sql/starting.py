"""Ctrl-C while the command is still importing what it needs: one word, no traceback.

Imported first of all, so it may import nothing that takes time.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType

INTERRUPTED_EXIT = 130


def is_command() -> bool:
    """Tell whether this process is the command ``ppdm`` or ``python -m ppdm_sql``, not somebody's program."""
    name = os.path.basename(sys.argv[0]) if sys.argv else ""
    module = sys.orig_argv[1:3] == ["-m", "ppdm_sql"]
    return module or name.removesuffix(".exe") == "ppdm"


def leave(number: int, frame: FrameType | None) -> None:
    """End the process at once; nothing has been opened yet."""
    os.write(2, b"Interrupted.\n")
    os._exit(INTERRUPTED_EXIT)


if is_command() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, leave)
