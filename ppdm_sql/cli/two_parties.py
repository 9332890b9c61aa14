"""The demo's two parties: a file and a process each, joined over loopback."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

import ppdm_sql
from ppdm_sql import Taxonomy
from ppdm_sql.cli.output import Format, print_tables
from ppdm_sql.cli.published import rows_table, steps_table
from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.engine.opening import connect
from ppdm_sql.engine.statements import bind, text
from ppdm_sql.errors import PeerError
from ppdm_sql.integrate import check, keygen
from ppdm_sql.release.ddl import create_table
from ppdm_sql.taxonomy import write_taxonomy

FOLDER, SECONDS = "two-parties", 120
BANK, CARD = "bank", "card-company"
_SAME = ["--key", "SSN", "--class", "Class", "--into", "integrated"]
_SAME += ["--require", "k >= 4 on Sex, Job", "--require", "k >= 4 on Job, Salary"]
_LISTENING = "Note: Listening on "


def integrate_employees(folder: Path, jobs: Mapping[str, Any]) -> None:
    """Split the employees by columns into two files, and let two processes integrate them.

    Args:
        folder: Where the folder with both files goes.
        jobs: The taxonomy of their jobs.
    """
    place = folder / FOLDER
    place.mkdir(parents=True, exist_ok=True)
    for name, side in ((BANK, "bank_side"), (CARD, "card_side")):
        _write(place / f"{name}.duckdb", side)
    with ppdm_sql.open(place / f"{CARD}.duckdb") as db:
        write_taxonomy(db.engine, Taxonomy.from_dict(jobs), "jobs")
    _say(["integrate", "keygen", str(place), "--name", BANK, "--name", CARD])
    keygen(place, [BANK, CARD], force=True)
    _run(place)
    first, second = (ppdm_sql.open(place / f"{name}.duckdb", read_only=True) for name in (BANK, CARD))
    with first, second:
        release = second.release("integrated")
        counted = release.relation().aggregate("Sex, Job, Salary, Class, count(*) AS records").order("ALL")
        shown = [rows_table("integrated, in both files", counted), steps_table(release)]
        print_tables([*shown, *check("integrated", first, second).tables()], Format.table)


def _write(file: Path, side: str) -> None:
    """Make one party's file."""
    for old in (file, file.with_name(file.name + ".wal")):
        old.unlink(missing_ok=True)
    engine = Engine(connect(file, create=True), owned=True)
    try:
        with engine.workspace():
            employees = engine.materialize("employees", text("examples/employees"))
            rows = bind(f"examples/{side}", tables={"employees": employees})
            engine.write(create_table(Table("people"), f"{rows} ORDER BY SSN"), step="create people")
    finally:
        engine.close()


def _run(place: Path) -> None:
    """Start both processes, the second when the first listens."""
    serve = ["--owns", "Sex", "--listen", "127.0.0.1:0", *_shown(place, BANK, CARD)]
    with _started("serve", place / f"{BANK}.duckdb", serve) as first:
        join = ["--owns", "Job,Salary", "--taxonomy", "Job=jobs", "--range", "Salary=1,99"]
        join += ["--peer", _address(first), *_shown(place, CARD, BANK)]
        with _started("join", place / f"{CARD}.duckdb", join) as second:
            for child in (second, first):
                _finish(child)


def _shown(place: Path, own: str, partner: str) -> list[str]:
    """Give the options that name the certificates."""
    files = (f"{own}.pem", f"{own}.key", "authority.pem")
    named = zip(("--cert", "--private-key", "--authority"), files, strict=True)
    return ["--peer-name", partner, *(word for option, file in named for word in (option, str(place / file)))]


def _started(role: str, file: Path, words: list[str]) -> subprocess.Popen[str]:
    """Start one party, and say how."""
    command = ["integrate", role, str(file), "people", *_SAME, *words]
    _say(command)
    return subprocess.Popen(
        [sys.executable, "-m", "ppdm_sql", *command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def _address(child: subprocess.Popen[str]) -> str:
    """Wait until a party listens, and give where."""
    assert child.stderr is not None
    printed = []
    for line in child.stderr:
        if line.startswith(_LISTENING):
            return line.removeprefix(_LISTENING).split()[0]
        printed.append(line)
    raise PeerError(f"The first party did not listen. {' '.join(printed).strip()}", "Run it again.")


def _finish(child: subprocess.Popen[str]) -> None:
    try:
        _, printed = child.communicate(timeout=SECONDS)
    finally:
        child.kill()
    if child.returncode:
        raise PeerError(f"One of the parties failed. {printed.strip()}", "Run it again.")


def _say(words: list[str]) -> None:
    typer.echo("$ " + shlex.join(["ppdm", *words]) + "\n")
