"""Golden SQL: the statements that a piece of code runs, kept beside its test as a file to read and to diff.

After a change that is meant, write the files anew and read the diff:

    PPDM_REWRITE_GOLDEN=1 python -m pytest tests/methods/top_down/test_search_sql.py && git diff
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import sqlglot

from ppdm_sql.engine import Engine

REWRITE = "PPDM_REWRITE_GOLDEN"
WORKING = re.compile(r'"?\bppdm_[0-9a-f]{8}_\d+_(\w+)"?')
"""A working table's name: of the run, a number and the step."""


@contextmanager
def recorded(engine: Engine) -> Iterator[list[str]]:
    """Collect the statements that run inside, their parameters filled in."""
    statements: list[str] = []
    before, engine.tracer = engine.tracer, statements.append
    try:
        yield statements
    finally:
        engine.tracer = before


def readable(statements: Sequence[str]) -> str:
    """Format statements; working tables are named after their steps, a second one ``ties_2``."""
    names: dict[str, str] = {}

    def renamed(found: re.Match[str]) -> str:
        name = found.group(0).strip('"')
        if name not in names:
            count = sum(
                re.fullmatch(rf"{found.group(1)}(_\d+)?", known) is not None for known in names.values()
            )
            names[name] = found.group(1) + (f"_{count + 1}" if count else "")
        return names[name]

    laid_out = [
        sqlglot.transpile(WORKING.sub(renamed, text), read="duckdb", write="duckdb", pretty=True)[0]
        for text in statements
    ]
    return "\n\n".join(f"{text};" for text in laid_out) + "\n"


def check_golden(path: Path, statements: Sequence[str]) -> None:
    """Compare statements with a golden file, or write the file where that is asked for.

    The file is formatted afresh before it is compared, so that another version of sqlglot changes nothing.
    """
    found = readable(statements)
    if os.environ.get(REWRITE):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(found, encoding="utf-8")
    assert path.exists(), f"{path.name} is missing: run again with {REWRITE}=1"
    expected = path.read_text(encoding="utf-8").rstrip().removesuffix(";").split(";\n\n")
    assert found == readable(expected), f"other SQL than in {path.name}: if it is meant, run with {REWRITE}=1"
