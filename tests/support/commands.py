"""Runs the command line and looks at what came out."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
from typer.testing import CliRunner

from ppdm_sql.cli import command_line

TEMPLATE = "Job, Country -> Bankruptcy = Discharged <= 50%"
OTHER = "Job, Child -> Bankruptcy = Discharged <= 50%"
CELLS = ("Cook", "Artist", "France", "Trader", "Clerk", "Canada")


def ppdm(*words: str | Path) -> Any:
    """Run the command in this process."""
    typed = [str(word) for word in words]
    return CliRunner().invoke(command_line(typed), typed)


def spawn(*words: str | Path, **options: Any) -> subprocess.Popen[str]:
    """Run the command in a process of its own."""
    command = [sys.executable, "-m", "ppdm_sql", *map(str, words)]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, **(pipes | options))


FUSE = """
import logging, os, signal, sys
import ppdm_sql

class Fuse(logging.Handler):
    burnt = 0
    def emit(self, record):
        if record.name == "ppdm_sql":
            Fuse.burnt += 1
            if Fuse.burnt == int(sys.argv[2]):
                os.kill(os.getpid(), signal.SIGKILL)

logging.getLogger("ppdm_sql").setLevel(logging.DEBUG)
logging.getLogger("ppdm_sql").addHandler(Fuse())
"""
"""The beginning of a script that kills itself at a line of the log; its second argument says at which."""


def suppress(file: Path, *more: str) -> Any:
    """Publish ``safe``: the bank's customers under the templates of the paper's Example 2."""
    required = [
        "--require",
        TEMPLATE,
        "--require",
        OTHER,
        "--class",
        "Rating",
        "--count",
        "n",
        "--score",
        "paper",
    ]
    return ppdm("suppress", file, "customers", *required, "--into", "safe", *more)


def execute(file: Path, *statements: str) -> list[tuple[Any, ...]]:
    """Run statements on a file and give the rows of the last one."""
    with duckdb.connect(str(file)) as connection:
        for statement in statements:
            connection.execute(statement)
        return connection.fetchall()


def assert_explained(result: Any, *, code: int, problem: str) -> None:
    """Assert that a run failed with two sentences on stderr: no data, no traceback, no cell."""
    assert result.exit_code == code, result.stderr
    assert result.stdout == ""
    first, *rest = result.stderr.splitlines()
    assert first.startswith("Error: ")
    assert rest[-1].strip()
    assert problem in result.stderr
    assert "Traceback" not in result.stderr
    assert not any(cell in result.stderr for cell in CELLS)
