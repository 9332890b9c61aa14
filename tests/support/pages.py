"""Plays the console blocks of a page: what it shows is what its commands print."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from commands import ppdm

ROOT = Path(__file__).resolve().parents[2]
QUOTED = re.compile(r"'[^']*'|\"[^\"$]*\"")
MORE = re.compile(r"[$`|&;<>*]")
"""What a shell does with what stands outside quotes, or inside double ones."""


class Played(NamedTuple):
    command: str
    expected: str
    printed: str


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL)


def commands(block: str) -> list[tuple[str, str]]:
    """Split a console block into commands, which begin with a dollar sign, and their output."""
    return re.findall(r"^\$ ((?:.*\\\n)*.*\n)((?:(?!\$ ).*\n)*)", block, flags=re.MULTILINE)


def play(page: str, folder: Path, ran: Mapping[str, str] | None = None) -> list[Played]:
    """Run every command of a page, in order, in one folder, but those that ran there already."""
    shown = [pair for block in blocks(page, "console") for pair in commands(block)]
    before = ran or {}
    with contextlib.chdir(folder):
        return [
            Played(command, expected, before[command] if command in before else printed_by(command))
            for command, expected in shown
        ]


def printed_by(command: str) -> str:
    """Run a command in this process, or in a shell what is more than one of ours."""
    words = shlex.split(command.replace("\\\n", " "))
    if words[0] == "ppdm" and not MORE.search(QUOTED.sub("", command)):
        printed = ppdm(*words[1:]).output
    else:
        ours = f'ppdm() {{ "{sys.executable}" -m ppdm_sql "$@"; }}; '
        known = {**os.environ, "PYTHONPATH": str(ROOT)}
        line = ["sh", "-c", f"{{ {ours}{command} }} 2>&1"]
        printed = subprocess.run(line, env=known, stdout=subprocess.PIPE, text=True, check=False).stdout
    assert "did not foresee" not in printed, f"$ {command}{printed}"
    return printed


def matches(printed: str, expected: str) -> bool:
    """Compare line by line; a line of three dots stands for any number of lines."""
    parts = re.split(r"^\.\.\.\n", expected.rstrip("\n") + "\n", flags=re.MULTILINE)
    return re.fullmatch(r"(?:.*\n)*".join(map(re.escape, parts)), printed.rstrip("\n") + "\n") is not None
