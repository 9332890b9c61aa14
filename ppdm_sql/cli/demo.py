"""``ppdm demo``: the papers' example tables in a file, and every method run on them."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from sqlglot import exp

import ppdm_sql
from ppdm_sql import Database, examples, statements
from ppdm_sql.cli.options import Debug
from ppdm_sql.cli.output import Format, Titled, print_tables
from ppdm_sql.cli.published import measures_table, rows_table, steps_table
from ppdm_sql.engine import Engine
from ppdm_sql.engine.opening import connect
from ppdm_sql.errors import InvalidOption, NameTaken

EXAMPLES = ("ppdm demo", "ppdm demo papers --force")
FILE = "demo.duckdb"


def run(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where the file goes.")] = Path("ppdm-demo"),
    force: Annotated[bool, typer.Option("--force", help="Replace a demo file that is there.")] = False,
    debug: Debug = False,
) -> None:
    """Write the papers' example tables into DIR/demo.duckdb and run every method on them."""
    file = folder / FILE
    _create(file, force=force)
    typer.echo(f"Wrote {file} with the tables {', '.join(examples.TABLES)}.")
    with ppdm_sql.open(file) as db:
        for chapter in CHAPTERS:
            typer.echo()
            chapter(db, file)


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
        "customers", require, class_column="Rating", count_column="n", into="customers_safe"
    )
    tables = [
        _stored(db, "customers"),
        rows_table("customers_safe", release.relation()),
        steps_table(release),
        measures_table(release),
    ]
    print_tables(tables, Format.table)
    _next_in_sql(file, "customers_safe")


def _stored(db: Database, name: str) -> Titled:
    """Give an example table as it stands in the file."""
    table = db.engine.find(name)
    every_row = statements.render(exp.select("*").from_(table.expression()))
    columns = [column.name for column in db.engine.columns(table)]
    return name, columns, db.engine.query(every_row, step="show")


def _next_in_sql(file: Path, release: str) -> None:
    """Say what an analyst could run next, in any DuckDB client."""
    typer.echo("\nNext, in any DuckDB client:\n")
    typer.echo(f"  $ duckdb {shlex.quote(str(file))}")
    for line in _ANALYST.format(release=release).splitlines():
        typer.echo(f"  {'' if line.startswith(' ') else 'D '}{line}")


_ANALYST = """\
FROM {release};
FROM {release}_at(1);
FROM ppdm.steps WHERE release = '{release}';
SELECT Job, Country, sum(n) FILTER (Bankruptcy = 'Discharged') / sum(n) AS confidence
  FROM {release} GROUP BY ALL ORDER BY ALL;
"""

Chapter = Callable[[Database, Path], None]

CHAPTERS: tuple[Chapter, ...] = (suppression,)
"""One function a method; a new method adds its own."""
