"""How long small commands take from the shell, against the imports that they cannot do without.

A command and its floor are whole processes and take turns; the ratio is command / floor, of the medians of
CPU time (user and system) and of wall time. ``ppdm --help`` is wanted within twice ``import typer``,
``ppdm audit`` and ``ppdm suppress`` on the paper's bank customers within twice
``import duckdb, sqlglot, numpy``.

    python benchmarks/startup.py
    python benchmarks/startup.py --repeat 41 --commands help audit
    python benchmarks/startup.py --record --against ../released
"""

from __future__ import annotations

import argparse
import compileall
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from figures import Cell
from rows import Measured, options_of, present

import ppdm_sql
from ppdm_sql import examples

ENGINE = "import duckdb, sqlglot, numpy"
TEMPLATE = ("--count", "n", "--require", "Job, Country -> Bankruptcy = Discharged <= 50%")


@dataclass(frozen=True)
class Command:
    """A command, and the imports that are its floor."""

    name: str
    words: tuple[str, ...]
    floor: str


COMMANDS = (
    Command("help", ("--help",), "import typer"),
    Command("audit", ("audit", "{file}", "customers", *TEMPLATE), ENGINE),
    Command(
        "suppress",
        ("suppress", "{file}", "customers", *TEMPLATE, "--class", "Rating", "--into", "safe"),
        ENGINE,
    ),
)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    names = [command.name for command in COMMANDS]
    options.add_argument("--repeat", type=int, default=15, help="runs of each process (default 15)")
    options.add_argument("--commands", nargs="+", choices=names, default=names)
    chosen = options_of(options).parse_args()
    compileall.compile_dir(str(Path(ppdm_sql.__file__).parent), quiet=2)
    present("startup", chosen, measured(chosen))


def measured(chosen: argparse.Namespace) -> Measured:
    """Measure the commands that are asked for."""
    with tempfile.TemporaryDirectory() as folder:
        for command in COMMANDS:
            if command.name in chosen.commands:
                yield {"command": command.name}, measure(command, Path(folder), chosen.repeat)


def measure(command: Command, folder: Path, repeat: int) -> dict[str, Cell]:
    """Run the command and its floor in turns, and give the medians."""
    original, file = folder / "original.duckdb", folder / "bank.duckdb"
    if not original.exists():
        with ppdm_sql.open(original, create=True) as db:
            examples.write(db.engine)
    words = [word.replace("{file}", str(file)) for word in command.words]
    runs, floors = [], []
    for number in range(repeat + 1):
        shutil.copyfile(original, file)
        found = spent("-m", "ppdm_sql", *words), spent("-c", command.floor)
        if number:  # the first run reads the files from the disk
            runs.append(found[0])
            floors.append(found[1])
    cells: dict[str, Cell] = {}
    for place, kind in enumerate(("CPU", "wall")):
        run, floor = (statistics.median(times[place] for times in taken) for taken in (runs, floors))
        cells |= {f"{kind}, s": round(run, 3), f"floor, {kind}": round(floor, 3)}
        cells[f"ratio, {kind}"] = round(run / floor, 2)
    return cells


def spent(*words: str) -> tuple[float, float]:
    """Run Python and give its CPU and wall seconds."""
    settings = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=settings
    )
    _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):  # an audit that finds a violation ends with 1
        raise subprocess.CalledProcessError(process.returncode, process.args)
    return used.ru_utime + used.ru_stime, wall


if __name__ == "__main__":
    main()
