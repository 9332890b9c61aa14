"""Shows the statements of a run instead of running what would change the database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer

from ppdm_sql import Database


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


def _print_statement(sql: str) -> None:
    typer.echo(sql.strip().removesuffix(";") + ";")
