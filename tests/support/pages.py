"""Plays the console blocks of a page: what it shows is what its commands print."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
SHIMS = {"ppdm": "", "make": " demo --force"}
"""What stands for the installed command, and for ``make demo`` once it has installed it."""


class Played(NamedTuple):
    command: str
    expected: str
    printed: str


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL)


def commands(block: str) -> list[tuple[str, str]]:
    """Split a console block into commands, which begin with a dollar sign, and their output."""
    return re.findall(r"^\$ ((?:.*\\\n)*.*\n)((?:(?!\$ ).*\n)*)", block, flags=re.MULTILINE)


def environment(folder: Path) -> dict[str, str]:
    """Put the commands that pages use on the path of a folder."""
    (folder / "bin").mkdir()
    for name, arguments in SHIMS.items():
        shim = folder / "bin" / name
        ending = arguments or ' "$@"'
        shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ppdm_sql{ending}\n')
        shim.chmod(0o755)
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}


def play(page: str, folder: Path) -> list[Played]:
    """Run every command of a page, in order, in one folder."""
    known, done = environment(folder), []
    for command, expected in [pair for block in blocks(page, "console") for pair in commands(block)]:
        run = subprocess.run(
            ["sh", "-c", f"{{ {command} }} 2>&1"],
            cwd=folder,
            env=known,
            capture_output=True,
            text=True,
            check=False,
        )
        assert "did not foresee" not in run.stdout, f"$ {command}{run.stdout}"
        done.append(Played(command, expected, run.stdout))
    return done


def matches(printed: str, expected: str) -> bool:
    """Compare line by line; a line of three dots stands for any number of lines."""
    parts = re.split(r"^\.\.\.\n", expected.rstrip("\n") + "\n", flags=re.MULTILINE)
    return re.fullmatch(r"(?:.*\n)*".join(map(re.escape, parts)), printed.rstrip("\n") + "\n") is not None
