"""``ppdm demo``: the papers' example tables in a file, and every method run on them."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from sqlglot import exp

import ppdm_sql
from ppdm_sql import Database, examples
from ppdm_sql.cli.options import Debug
from ppdm_sql.cli.output import Format, Titled, print_tables
from ppdm_sql.cli.progress import QuietProgress
from ppdm_sql.cli.published import measures_table, rows_table, steps_table
from ppdm_sql.cli.two_parties import integrate_employees
from ppdm_sql.engine import Engine, statements
from ppdm_sql.engine.opening import connect
from ppdm_sql.errors import InvalidOption, NameTaken
from ppdm_sql.methods.trees.storing import accuracy
from ppdm_sql.taxonomy import Taxonomy, write_taxonomy

EXAMPLES = ("ppdm demo", "ppdm demo papers --force")
FILE, VISITS, PAGES = "demo.duckdb", "visits.csv", "pages"


def run(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder for the files.")] = Path(
        "ppdm-demo"
    ),
    force: Annotated[bool, typer.Option("--force", help="Replace an existing demo file.")] = False,
    debug: Debug = False,
) -> None:
    """Create example tables in DIR and run every method on them."""
    file = folder / FILE
    _create(file, force=force)
    typer.echo(f"Wrote {file} with the tables {', '.join(examples.TABLES)}, and {folder / VISITS}.")
    with ppdm_sql.open(file) as db:
        for chapter in CHAPTERS:
            typer.echo()
            chapter(db, file)
        typer.echo()
        write_pages(db, file, force=force)
        typer.echo()
        next_in_sql(db, file)


def _create(file: Path, *, force: bool) -> None:
    """Make the file, with the example tables in it."""
    if file.exists() and not force:
        raise NameTaken(f"{file} exists already.", "Give another folder, or --force to replace the file.")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        for old in (file, file.with_name(file.name + ".wal")):
            old.unlink(missing_ok=True)
    except OSError:
        raise InvalidOption(f"{file} cannot be written.", "Give a folder that can be written.") from None
    engine = Engine(connect(file, create=True), owned=True)
    try:
        examples.write(engine)
        examples.write_visits(engine, file.with_name(VISITS))
    finally:
        engine.close()


# -- chapters ---------------------------------------------------------------------------------


def suppression(db: Database, file: Path) -> None:
    """Suppress the bank's customers, as in Example 2 of the PDA paper."""
    require = [
        "Job, Country -> Bankruptcy = Discharged <= 50%",
        "Job, Child -> Bankruptcy = Discharged <= 50%",
    ]
    typer.echo("# Suppression: nobody may be more than 50% sure who was discharged from a bankruptcy")
    typer.echo("# (Progressive Disclosure Algorithm; Wang, Fung, Yu 2005, Example 2)\n")
    demanded = [word for text in require for word in ("--require", text)]
    named = ["--class", "Rating", "--count", "n", "--into", "customers_safe"]
    typer.echo("$ " + shlex.join(["ppdm", "suppress", str(file), "customers", *demanded, *named]) + "\n")
    release = db.suppress(
        "customers",
        require,
        class_column="Rating",
        count_column="n",
        into="customers_safe",
        progress=QuietProgress(),
    )
    tables = [
        _stored(db, "customers"),
        rows_table("customers_safe", release.relation()),
        steps_table(release),
        measures_table(release.measures()),
    ]
    print_tables(tables, Format.table)


POLICIES = ("Age", "Gender", "Location")
"""What others may know of the holder of a policy."""

JOBS = {
    "ANY_Job": {
        "Blue-collar": {"Non-Technical": ["Janitor", "Mover"], "Technical": ["Carpenter", "Technician"]},
        "White-collar": {"Manager": [], "Professional": ["Accountant", "Lawyer"]},
    }
}
"""Jobs of the employees (slides 7, 8 and 15); the inner blue-collar nodes are not printed there."""


def specialization(db: Database, file: Path) -> None:
    """Generalize the employees, as in the slides' example of two quasi-identifiers."""
    write_taxonomy(db.engine, Taxonomy.from_dict(JOBS), "jobs")
    require = ["k >= 4 on Sex, Job", "k >= 4 on Job, Salary"]
    typer.echo("# Generalization: at least 4 employees share what Sex and Job, or Job and Salary, tell")
    typer.echo("# (Top-Down Specialization; Wang, Fung, Dong 2005, slides 6 to 15; `jobs` is the taxonomy)\n")
    _generalize(db, file, require, "employees_safe", ranges={"Salary": (1, 99)}, option="--range Salary=1,99")


def hierarchical_entropy(db: Database, file: Path) -> None:
    """Generalize the employees guided by the conditional entropy."""
    typer.echo("# Generalization guided by what all columns together tell of the class")
    typer.echo("# (HCE-TDR, 2013; Sex stays as it is and is taken into account)\n")
    more = "--method hce-tdr --condition Sex"
    require = ["k >= 4 on Job, Salary"]
    _generalize(db, file, require, "employees_hce", method="hce-tdr", condition=["Sex"], option=more)


def _generalize(
    db: Database, file: Path, require: list[str], into: str, *, option: str, **options: Any
) -> None:
    demanded = [word for text in require for word in ("--require", text)]
    named = ["--class", "Class", "--count", "n", "--taxonomy", "Job=jobs", *option.split(), "--into", into]
    typer.echo("$ " + shlex.join(["ppdm", "generalize", str(file), "employees", *demanded, *named]) + "\n")
    release = db.generalize(
        "employees",
        require,
        class_column="Class",
        count_column="n",
        taxonomies={"Job": "jobs"},
        into=into,
        progress=QuietProgress(),
        **options,
    )
    tables = [rows_table(into, release.relation()), steps_table(release), measures_table(release.measures())]
    print_tables(tables, Format.table)


def integration(db: Database, file: Path) -> None:
    """Let two parties integrate the employees, each with a file and a process of its own."""
    typer.echo("# Two parties: a bank knows Sex, a card company Job and Salary; both end with one release")
    typer.echo("# (TDS2P; Wang, Fung, Dong 2005, slide 12; over mutual TLS; these keys are for a trial)\n")
    integrate_employees(file.parent, JOBS)


def swapping(db: Database, file: Path) -> None:
    """Swap amounts of the policies, as in the example of Li and Sarkar."""
    typer.echo("# Swapping: nobody can be sure of the Amount that Age, Gender and Location give away")
    typer.echo("# (Li, Sarkar 2004, Tables 1 and 3; a seed is for examples, so that they repeat)\n")
    named = ["--confidential", "Amount", "--by", ",".join(POLICIES), "--proportion", "0.5"]
    typer.echo("$ " + shlex.join(["ppdm", "audit", str(file), "policies", *named[:4]]) + "\n")
    print_tables(db.audit("policies", confidential="Amount", by=POLICIES).tables(), Format.table)
    into = ["--keep", "No", "--seed", "1", "--into", "policies_safe"]
    typer.echo("\n$ " + shlex.join(["ppdm", "swap", str(file), "policies", *named, *into]) + "\n")
    release = db.swap(
        "policies",
        confidential="Amount",
        by=POLICIES,
        proportion=0.5,
        keep=["No"],
        seed=1,
        into="policies_safe",
        progress=QuietProgress(),
    )
    rows = rows_table(release.name, release.relation())
    tables = [_stored(db, "policies"), rows, measures_table(release.measures())]
    print_tables(tables, Format.table)


PEOPLE = ["--function", "1", "--rows"]
NOISE = {"age": "uniform 100%", "salary": "uniform 100%"}
RANGES = {"age": (20, 80), "salary": (20_000, 150_000)}
MODES = (("people", "original"), ("people_noisy", "randomized"), ("people_noisy", "byclass"))


def randomization(db: Database, file: Path) -> None:
    """Randomize synthetic people, and reconstruct what a classifier needs."""
    typer.echo("# Randomization: nobody's age and salary is known, their distribution and what it tells is")
    typer.echo("# (Agrawal, Srikant 2000, function 1: Group A is younger than 40 or at least 60)\n")
    for name, rows, seed in (("people", 10_000, 1), ("people_test", 2_000, 2)):
        _say("generate", "agrawal", file, *PEOPLE, rows, "--seed", seed, "--into", name)
        db.generate_agrawal(name, function=1, rows=rows, seed=seed)
    quiet = QuietProgress()
    demanded = [word for name, noise in NOISE.items() for word in ("--noise", f"{name}={noise}")]
    bounds = [word for name, (a, b) in RANGES.items() for word in ("--range", f"{name}={a},{b}")]
    more = ["--class", "class", "--seed", 1, "--into", "people_noisy"]
    _say("randomize", file, "people", *demanded, *bounds, *more)
    db.randomize(
        "people",
        noise=NOISE,
        ranges=RANGES,
        class_column="class",
        seed=1,
        into="people_noisy",
        progress=quiet,
    )
    cut = ["--column", "age", "--by-class", "class", "--intervals", 12, "--into", "people_ages"]
    _say("reconstruct", file, "people_noisy", *cut)
    db.reconstruct(
        "people_noisy", columns="age", by_class="class", intervals=12, into="people_ages", progress=quiet
    )
    for table, mode in MODES:
        how = ["--class", "class", "--columns", "age,salary", "--mode", mode, "--test", "people_test"]
        _say("train", file, table, *how, "--into", f"people_{mode}")
        options = {"class_column": "class", "columns": ("age", "salary"), "test": "people_test"}
        db.train(table, mode=mode, into=f"people_{mode}", progress=quiet, **options)  # type: ignore[arg-type]
    typer.echo()
    ages = rows_table("Group A by age: true, noisy and reconstructed", db.engine.connection.sql(_AGES))
    right = [(row.mode, row.source, accuracy(row.confusion or ())) for row in db.models()]
    print_tables([ages, ("models", ("mode", "source", "accuracy"), right)], Format.table)


_AGES = """
SELECT
    a.lower,
    a.upper,
    (SELECT count(*) FROM people AS p WHERE p.class = a.class AND p.age >= a.lower AND p.age < a.upper)
        AS original,
    (SELECT count(*) FROM people_noisy AS p WHERE p.class = a.class AND p.age >= a.lower AND p.age < a.upper)
        AS randomized,
    round(a.records)::BIGINT AS reconstructed
FROM people_ages AS a
WHERE a.class = 'Group A'
ORDER BY a.lower
"""


def _say(*words: object) -> None:
    typer.echo("$ " + shlex.join(["ppdm", *map(str, words)]))


def _stored(db: Database, name: str) -> Titled:
    """Give an example table as it stands in the file."""
    table = db.engine.find(name)
    every_row = statements.render(exp.select("*").from_(table.expression()))
    columns = [column.name for column in db.engine.columns(table)]
    return name, columns, db.engine.query(every_row, step="show")


def next_in_sql(db: Database, file: Path) -> None:
    """Say what an analyst could run next, in any DuckDB client."""
    typer.echo("# Next, in any DuckDB client:\n")
    typer.echo(f"  $ duckdb {shlex.quote(str(file))}")
    for line in _ANALYST.splitlines():
        typer.echo(f"  {'' if line.startswith(' ') else 'D '}{line}")


_ANALYST = """\
FROM customers_safe;
FROM customers_safe_at(1);
FROM ppdm.steps WHERE release = 'customers_safe';
FROM employees_safe_at(4);
FROM ppdm.cuts WHERE release = 'employees_safe';
SELECT No, p.Amount, s.Amount AS shown FROM policies AS p JOIN policies_safe AS s USING (No) ORDER BY No;
SELECT class, people_byclass_predict(age := age) AS predicted, count(*) FROM people_test GROUP BY ALL;
SELECT Job, Country, sum(n) FILTER (Bankruptcy = 'Discharged') / sum(n) AS confidence
  FROM customers_safe GROUP BY ALL ORDER BY ALL;
"""


def write_pages(db: Database, file: Path, *, force: bool) -> None:
    """Write the page of each release beside the file, and say where; or how to get what draws it."""
    folder = file.with_name(PAGES)
    typer.echo("# Pages: what a person looks at, one a release; open them in a browser\n")
    try:
        for row in db.releases():
            page = folder / f"{row.release}.html"
            folder.mkdir(exist_ok=True)
            db.release(row.release).report(page, force=force, progress=QuietProgress())
            typer.echo("$ " + shlex.join(["ppdm", "report", str(file), row.release, str(page)]))
    except InvalidOption as missing:
        folder.rmdir()
        typer.echo(f"None is written. {missing}")


Chapter = Callable[[Database, Path], None]

CHAPTERS: tuple[Chapter, ...] = (
    suppression,
    specialization,
    hierarchical_entropy,
    integration,
    swapping,
    randomization,
)
"""One function a method; a new method adds its own."""
