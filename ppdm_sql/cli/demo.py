"""The papers' examples: tables in a file with every method run on them, and where the walkthroughs are."""

from __future__ import annotations

import io
import re
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout
from pathlib import Path
from typing import Annotated

import typer

import ppdm_sql
from ppdm_sql import Taxonomy, examples
from ppdm_sql.cli.app import command_line
from ppdm_sql.cli.output import Debug
from ppdm_sql.cli.parameters import takes
from ppdm_sql.engine.statements import sql_folder
from ppdm_sql.errors import InvalidOption, NameTaken, PeerError
from ppdm_sql.options import Option

PATHS = {
    "FILE": "demo.duckdb",
    "JOBS": "jobs.csv",
    "PARTIES": "two-parties",
    "PAGE": "customers_safe.html",
}
"""What the script ``walkthroughs/demo.txt`` calls the files in the folder of the demo."""
SECONDS = 120
JOBS = {
    "ANY_Job": {
        "Blue-collar": {"Non-Technical": ["Janitor", "Mover"], "Technical": ["Carpenter", "Technician"]},
        "White-collar": {"Manager": [], "Professional": ["Accountant", "Lawyer"]},
    }
}
"""Jobs of the employees (slides 7, 8 and 15); the inner blue-collar nodes are not printed there."""
_COMMAND = re.compile(
    r"^\$ ppdm (.+?)((?: \| head -\d+)?(?: > /dev/null)?(?: &)?)\n(?=\$|\n|\Z)", re.DOTALL | re.MULTILINE
)
"""A command of the script; of the shell there are ``| head -N``, ``> /dev/null`` and ``&`` for a server."""


@takes()
def demo(
    folder: Annotated[Path, "The folder for the files.", Option(metavar="DIR", flag="")] = Path("ppdm-demo"),
    force: Annotated[bool, "Replace an existing demo file."] = False,
    debug: Debug = False,
) -> None:
    """Examples:
    ppdm demo
    ppdm demo papers --force
    """
    from ppdm_sql.report.page import vega  # sql-path draws nothing

    vega()  # what draws the last command's page is not to be missing once all others have run
    file, visits = folder / PATHS["FILE"], folder / "visits.csv"
    _create(file, visits, force=force)
    typer.echo(f"Wrote {file} with the tables {', '.join(examples.TABLES)}, and {visits}.\n")
    script = (sql_folder() / "walkthroughs" / "demo.txt").read_text(encoding="utf-8")
    for name, path in PATHS.items():
        script = re.sub(rf"\b{name}\b", shlex.quote(str(folder / path)), script)
    with socket.create_server(("127.0.0.1", 0)) as free:
        script = script.replace("PORT", str(free.getsockname()[1]))
    _play(script)
    typer.echo(folder / PATHS["PAGE"])


def sql_path() -> None:
    """It holds the step files, the macros, and in `walkthroughs` the papers' examples, to be run from top to
    bottom.

    Examples:
    ppdm sql-path
    duckdb < "$(ppdm sql-path)/walkthroughs/pda.sql"
    """
    typer.echo(sql_folder())


def _create(file: Path, visits: Path, *, force: bool) -> None:
    if file.exists() and not force:
        raise NameTaken(f"{file} exists already.", "Give another folder, or --force to replace the file.")
    parties = {name: file.with_name(PATHS["PARTIES"]) / f"{name}.duckdb" for name in examples.SIDES}
    jobs = file.with_name(PATHS["JOBS"])
    try:
        file.with_name(PATHS["PARTIES"]).mkdir(parents=True, exist_ok=True)
        for old in (file, jobs, *parties.values()):
            old.unlink(missing_ok=True)
            old.with_name(old.name + ".wal").unlink(missing_ok=True)
    except OSError:
        raise InvalidOption(f"{file} cannot be written.", "Give a folder that can be written.") from None
    with ppdm_sql.open(file, create=True) as db:
        examples.write(db.engine)
        examples.write_visits(db.engine, visits)
    for name, party in parties.items():
        with ppdm_sql.open(party, create=True) as db:
            examples.write_side(db.engine, name)
    Taxonomy.from_dict(JOBS).to_csv(jobs)


def _play(script: str) -> None:
    """Print the script, and run its commands in order."""
    end = 0
    with ExitStack() as servers:
        for command in _COMMAND.finditer(script):
            typer.echo(script[end : command.end()], nl=False)
            end = command.end()
            words = shlex.split(command[1].replace("\\\n", " "))
            if "&" in command[2]:
                servers.enter_context(_listening(words))
                continue
            printed = _run(words).splitlines(keepends=True)
            servers.close()
            cut = re.search(r"head -(\d+)", command[2])
            if "null" not in command[2]:
                typer.echo("".join(printed[: int(cut[1])] if cut else printed), nl=False)
    typer.echo(script[end:], nl=False)


def _run(words: list[str]) -> str:
    printed = io.StringIO()
    with redirect_stdout(printed):
        code = command_line(words)(words, prog_name="ppdm", standalone_mode=False)
    if code:
        raise typer.Exit(code)
    return printed.getvalue()


@contextmanager
def _listening(words: list[str]) -> Iterator[None]:
    """Run a command that serves in a process of its own; it ends by itself."""
    command = [sys.executable, "-m", "ppdm_sql", *words]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        assert server.stderr is not None
        line = next(server.stderr, "")
        if not line.startswith("Note: Listening"):
            raise PeerError(f"The first party does not listen. {line.strip()}", "Run it again.")
        yield
        _, line = server.communicate(timeout=SECONDS)
        if server.returncode:
            raise PeerError(f"The first party failed. {line.strip()}", "Run it again.")
    finally:
        server.kill()
