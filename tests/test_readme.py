"""The README runs: its commands print what it says, its SQL and Python work."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import duckdb
import pytest

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
LINES_ALLOWED, FIRST_OUTPUT_WITHIN = 120, 30
SHIMS = {"ppdm": "", "make": " demo --force"}
"""What stands for the installed command, and for ``make demo`` once it has installed it."""


class Played(NamedTuple):
    command: str
    expected: str
    printed: str


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)


def commands(block: str) -> list[tuple[str, str]]:
    """Split a console block into commands, which begin with a dollar sign, and their output."""
    return re.findall(r"^\$ ((?:.*\\\n)*.*\n)((?:(?!\$ ).*\n)*)", block, flags=re.MULTILINE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("readme")
    (folder / "bin").mkdir()
    for name, arguments in SHIMS.items():
        shim = folder / "bin" / name
        ending = arguments or ' "$@"'
        shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ppdm_sql{ending}\n')
        shim.chmod(0o755)
    return folder


@pytest.fixture(scope="module")
def played(folder: Path) -> list[Played]:
    """Every command of the README, run in order in one folder."""
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}
    shown = [pair for block in blocks("console") for pair in commands(block)]
    done = []
    for command, expected in shown:
        run = subprocess.run(
            ["sh", "-c", f"{{ {command} }} 2>&1"],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        done.append(Played(command, expected, run.stdout))
    return done


def test_console_blocks_print_what_the_readme_says(played: list[Played]) -> None:
    assert len(played) >= 4
    for command, expected, printed in played:
        assert matches(printed, expected), f"$ {command}{printed}"


def matches(printed: str, expected: str) -> bool:
    """Compare line by line; a line of three dots stands for any number of lines."""
    parts = re.split(r"^\.\.\.\n", expected.rstrip("\n") + "\n", flags=re.MULTILINE)
    return re.fullmatch(r"(?:.*\n)*".join(map(re.escape, parts)), printed.rstrip("\n") + "\n") is not None


@pytest.mark.usefixtures("played")
def test_sql_blocks_run_on_the_demo(folder: Path) -> None:
    with duckdb.connect(str(folder / "ppdm-demo" / "demo.duckdb"), read_only=True) as connection:
        for block in blocks("sql"):
            for statement in connection.extract_statements(block):
                assert connection.execute(statement).fetchall()


@pytest.mark.usefixtures("played")
def test_python_blocks_run_on_the_demo(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    for block in blocks("python"):
        exec(compile(block, "README.md", "exec"), {})
    assert blocks("python")


def test_the_readme_is_short_and_shows_output_early() -> None:
    assert len(README.splitlines()) <= LINES_ALLOWED
    before, _, _ = README.partition(blocks("console")[0])
    assert before.count("\n") + 5 <= FIRST_OUTPUT_WITHIN
