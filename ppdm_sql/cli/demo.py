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
from ppdm_sql.engine.statements import sql_folder
from ppdm_sql.errors import InvalidOption, NameTaken, PeerError

FILE, VISITS, TAXONOMY, PARTIES = "demo.duckdb", "visits.csv", "jobs.csv", "two-parties"
PAGE, SECONDS = "customers_safe.html", 120
JOBS = {
    "ANY_Job": {
        "Blue-collar": {"Non-Technical": ["Janitor", "Mover"], "Technical": ["Carpenter", "Technician"]},
        "White-collar": {"Manager": [], "Professional": ["Accountant", "Lawyer"]},
    }
}
"""Jobs of the employees (slides 7, 8 and 15); the inner blue-collar nodes are not printed there."""

SCRIPT = r"""# Suppression: nobody may be more than 50% sure who was discharged from a bankruptcy
# (Progressive Disclosure Algorithm; Wang, Fung, Yu 2005, Example 2)

$ ppdm suppress FILE customers --class Rating --count n --into customers_safe --quiet \
    --require 'Job, Country -> Bankruptcy = Discharged <= 50%' \
    --require 'Job, Child -> Bankruptcy = Discharged <= 50%' --score paper | head -5
$ ppdm sql FILE 'FROM customers_safe'

# Generalization: at least 4 employees share what Sex and Job, or Job and Salary, tell
# (Top-Down Specialization; Wang, Fung, Dong 2005, slides 6 to 15)

$ ppdm taxonomy add FILE jobs JOBS --quiet
$ ppdm generalize FILE employees --class Class --count n --into employees_safe --quiet \
    --require 'k >= 4 on Sex, Job' --require 'k >= 4 on Job, Salary' \
    --taxonomy Job=jobs --range Salary=1,99 --score paper | head -5
$ ppdm sql FILE 'FROM employees_safe'

# Generalization guided by what all columns together tell of the class
# (HCE-TDR, 2013; Sex stays as it is and is taken into account)

$ ppdm generalize FILE employees --class Class --count n --into employees_hce --quiet \
    --require 'k >= 4 on Job, Salary' --taxonomy Job=jobs --method hce-tdr --condition Sex \
    --score paper | head -4
$ ppdm sql FILE 'FROM employees_hce'

# Two parties: a bank knows Sex, a card company Job and Salary; both end with one release
# (TDS2P; Wang, Fung, Dong 2005, slide 12; over mutual TLS; these keys are for a trial)

$ ppdm integrate keygen PARTIES --name bank --name card-company --force > /dev/null
$ ppdm taxonomy add PARTIES/card-company.duckdb jobs JOBS --quiet
$ ppdm integrate serve PARTIES/bank.duckdb people --key SSN \
    --class Class --into integrated --owns Sex \
    --require 'k >= 4 on Sex, Job' --require 'k >= 4 on Job, Salary' \
    --listen 127.0.0.1:PORT --peer-name card-company --cert PARTIES/bank.pem \
    --private-key PARTIES/bank.key --authority PARTIES/authority.pem > /dev/null &
$ ppdm integrate join PARTIES/card-company.duckdb people --key SSN \
    --class Class --into integrated --owns Job,Salary \
    --require 'k >= 4 on Sex, Job' --require 'k >= 4 on Job, Salary' \
    --taxonomy Job=jobs --range Salary=1,99 --quiet \
    --peer 127.0.0.1:PORT --peer-name bank --cert PARTIES/card-company.pem \
    --private-key PARTIES/card-company.key --authority PARTIES/authority.pem > /dev/null
$ ppdm sql PARTIES/bank.duckdb \
    'SELECT *, count(*) AS records FROM integrated GROUP BY ALL ORDER BY ALL'
$ ppdm integrate transcript PARTIES/bank.duckdb integrated \
    --check PARTIES/card-company.duckdb | head -11

# Swapping: nobody can be sure of the Amount that Age, Gender and Location give away
# (Li, Sarkar 2004, Tables 1 and 3; a seed is for examples, so that they repeat)

$ ppdm audit FILE policies --confidential Amount --by Age,Gender,Location | head -6
$ ppdm swap FILE policies --confidential Amount --by Age,Gender,Location --proportion 0.5 \
    --keep No --seed 1 --into policies_safe --quiet | head -6
$ ppdm sql FILE 'SELECT No, p.Age, p.Gender, p.Location, p.Amount, s.Amount AS released
    FROM policies AS p JOIN policies_safe AS s USING (No) ORDER BY No' | head -10

# Randomization: nobody's age and salary is known, their distribution and what it tells is
# (Agrawal, Srikant 2000, function 1: Group A is younger than 40 or at least 60)

$ ppdm generate agrawal FILE --function 1 --rows 10000 --seed 1 --into people --quiet > /dev/null
$ ppdm generate agrawal FILE --function 1 --rows 2000 --seed 2 --into people_test --quiet > /dev/null
$ ppdm randomize FILE people --class class --seed 1 --into people_noisy --quiet \
    --noise 'age=uniform 100%' --noise 'salary=uniform 100%' \
    --range age=20,80 --range salary=20000,150000 > /dev/null
$ ppdm reconstruct FILE people_noisy --column age --by-class class --intervals 12 \
    --into people_ages --quiet > /dev/null
$ ppdm sql FILE "SELECT a.lower, a.upper,
    (SELECT count(*) FROM people AS p WHERE p.class = a.class AND p.age >= a.lower AND p.age < a.upper)
        AS original,
    (SELECT count(*) FROM people_noisy AS p WHERE p.class = a.class AND p.age >= a.lower AND p.age < a.upper)
        AS noisy,
    round(a.records)::BIGINT AS reconstructed
    FROM people_ages AS a WHERE a.class = 'Group A' ORDER BY a.lower"
$ ppdm train FILE people --class class --columns age,salary --mode original \
    --test people_test --into people_original --quiet > /dev/null
$ ppdm train FILE people_noisy --class class --columns age,salary --mode randomized \
    --test people_test --into people_randomized --quiet > /dev/null
$ ppdm train FILE people_noisy --class class --columns age,salary --mode byclass \
    --test people_test --into people_byclass --quiet > /dev/null
$ ppdm sql FILE 'SELECT model, source, mode, accuracy FROM ppdm_models()'

# In any DuckDB client (duckdb FILE)

FROM customers_safe;
FROM customers_safe_at(1);
FROM ppdm.steps WHERE release = 'customers_safe';
FROM ppdm.cuts WHERE release = 'employees_safe';
SELECT class, people_byclass_predict(age := age) AS predicted, count(*) FROM people_test GROUP BY ALL;
SELECT Job, Country, sum(n) FILTER (Bankruptcy = 'Discharged') / sum(n) AS confidence
  FROM customers_safe GROUP BY ALL ORDER BY ALL;

# A page to look at, for the owner; --public makes the one to hand over

$ ppdm report FILE customers_safe PAGE --force --quiet
"""
"""What is printed and run. Of the shell it has ``| head -N``, ``> /dev/null`` and a server behind ``&``."""
_COMMAND = re.compile(
    r"^\$ ppdm (.+?)((?: \| head -\d+)?(?: > /dev/null)?(?: &)?)\n(?=\$|\n|\Z)", re.DOTALL | re.MULTILINE
)


def demo(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder for the files.")] = Path(
        "ppdm-demo"
    ),
    force: Annotated[bool, typer.Option("--force", help="Replace an existing demo file.")] = False,
    debug: Debug = False,
) -> None:
    """Examples:
    ppdm demo
    ppdm demo papers --force
    """
    file = folder / FILE
    _create(file, force=force)
    typer.echo(f"Wrote {file} with the tables {', '.join(examples.TABLES)}, and {folder / VISITS}.\n")
    _play(_filled(SCRIPT, folder))
    typer.echo(folder / PAGE)


def sql_path() -> None:
    """It holds the step files, the macros, and in `walkthroughs` the papers' examples, to be run from top to
    bottom.

    Examples:
    ppdm sql-path
    duckdb < "$(ppdm sql-path)/walkthroughs/pda.sql"
    """
    typer.echo(sql_folder())


def _create(file: Path, *, force: bool) -> None:
    """Make the files that the commands read."""
    if file.exists() and not force:
        raise NameTaken(f"{file} exists already.", "Give another folder, or --force to replace the file.")
    parties = [file.parent / PARTIES / f"{name}.duckdb" for name in examples.SIDES]
    try:
        parties[0].parent.mkdir(parents=True, exist_ok=True)
        for old in (file, file.with_name(TAXONOMY), *parties):
            old.unlink(missing_ok=True)
            old.with_name(old.name + ".wal").unlink(missing_ok=True)
    except OSError:
        raise InvalidOption(f"{file} cannot be written.", "Give a folder that can be written.") from None
    with ppdm_sql.open(file, create=True) as db:
        examples.write(db.engine)
        examples.write_visits(db.engine, file.with_name(VISITS))
    for name, party in zip(examples.SIDES, parties, strict=True):
        with ppdm_sql.open(party, create=True) as db:
            examples.write_side(db.engine, name)
    Taxonomy.from_dict(JOBS).to_csv(file.with_name(TAXONOMY))


def _filled(script: str, folder: Path) -> str:
    """Put the paths and a free port into the script."""
    paths = {"FILE": FILE, "JOBS": TAXONOMY, "PARTIES": PARTIES, "PAGE": PAGE}
    for name, path in paths.items():
        script = re.sub(rf"\b{name}\b", shlex.quote(str(folder / path)), script)
    with socket.create_server(("127.0.0.1", 0)) as free:
        return script.replace("PORT", str(free.getsockname()[1]))


def _play(script: str) -> None:
    """Print a script, and run its commands in order."""
    done = 0
    with ExitStack() as servers:
        for found in _COMMAND.finditer(script):
            typer.echo(script[done : found.end()], nl=False)
            done = found.end()
            words = shlex.split(found[1].replace("\\\n", " "))
            if "&" in found[2]:
                servers.enter_context(_listening(words))
                continue
            printed = _run(words).splitlines(keepends=True)
            servers.close()
            cut = re.search(r"head -(\d+)", found[2])
            if "null" not in found[2]:
                typer.echo("".join(printed[: int(cut[1])] if cut else printed), nl=False)
    typer.echo(script[done:], nl=False)


def _run(words: list[str]) -> str:
    """Run a command in this process, and give what it prints."""
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
        said = next(server.stderr, "")
        if not said.startswith("Note: Listening"):
            raise PeerError(f"The first party does not listen. {said.strip()}", "Run it again.")
        yield
        _, said = server.communicate(timeout=SECONDS)
        if server.returncode:
            raise PeerError(f"The first party failed. {said.strip()}", "Run it again.")
    finally:
        server.kill()
