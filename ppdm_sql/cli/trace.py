"""Shows the statements of a run instead of running what would change the database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer

from ppdm_sql import Database
from ppdm_sql.engine.statements import Statement


@contextmanager
def traced(db: Database, *, on: bool) -> Iterator[None]:
    """Print every statement on stdout while inside; those that would write are not run.

    Args:
        db: The database, opened read-only.
        on: Whether to do so at all.
    """
    if on:
        db.engine.dry, db.engine.tracer = True, _print_statement
    try:
        yield
    finally:
        db.engine.dry, db.engine.tracer = False, None


def _print_statement(statement: Statement) -> None:
    # Only --sql needs them: the other runs of a command start sooner without.
    from ppdm_sql.engine.formatting import formatted, without_header
    from ppdm_sql.engine.purposes import purpose

    explained = purpose(statement)
    typer.echo(f"-- {statement.step}: {explained}" if explained else f"-- {statement.step}")
    if sql := formatted(without_header(statement)).strip().removesuffix(";"):
        typer.echo(f"{sql};")
    typer.echo()
