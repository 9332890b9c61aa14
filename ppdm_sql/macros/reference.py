"""Writes the macros' sections of ``docs/sql.md``, from their own words and examples.

Run ``python -m ppdm_sql.macros.reference docs/sql.md`` after a change of the macros; what stands before and
behind these sections, and what a column of an answer means, is written by hand, there.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb

from ppdm_sql import examples
from ppdm_sql.engine import Engine
from ppdm_sql.macros import Macro, macros
from ppdm_sql.macros.installing import install

SHOWN = 6
"""Rows of an example that are printed at most."""

_MEANING = re.compile(r"^- `(\w+)` \S+: (.+)$", re.MULTILINE)


def column_meanings(text: str) -> dict[str, str]:
    """Read off the page what the columns of answers mean, which is written by hand, there."""
    return dict(_MEANING.findall(text))


def page(text: str) -> str:
    r"""Put the macros' sections into the page as it stands; every example is run on the papers' tables."""
    with duckdb.connect() as connection:
        engine = Engine(connection)
        examples.write(engine)
        install(engine)
        words = column_meanings(text)
        lines = [line for macro in macros() for line in _section(connection, macro, words)]
    before, _, _ = text.partition("\n## ppdm_")
    _, view, behind = text.partition("\n## The view ")
    return before + "\n".join(lines) + "\n" + view + behind


def _section(connection: duckdb.DuckDBPyConnection, macro: Macro, words: Mapping[str, str]) -> Iterator[str]:
    yield f"\n## {macro.name}({macro.parameters})\n"
    yield f"{macro.title}\n"
    answer = connection.sql(macro.example)
    pairs = zip(answer.columns, answer.types, strict=True)
    if lines := [f"- `{name}` {kind}: {words[name]}" for name, kind in pairs if name in words]:
        yield f"{macro.grain.capitalize()}:\n"
        yield from (*lines, "")
    yield f"```sql\n{macro.example};\n```\n"
    yield from _table(answer.columns, sorted(answer.fetchall(), key=str))
    if macro.source:
        yield f"\nSource: {macro.source}"


def _table(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> Iterator[str]:
    """Write the first rows of an answer as a table."""
    yield "| " + " | ".join(names) + " |"
    yield "|" + "---|" * len(names)
    for row in rows[:SHOWN]:
        yield "| " + " | ".join(_cell(value) for value in row) + " |"
    if len(rows) > SHOWN:
        yield "| ... |" + " |" * (len(names) - 1)


def _cell(value: object) -> str:
    return "NULL" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    file = Path(sys.argv[1])
    file.write_text(page(file.read_text(encoding="utf-8")), encoding="utf-8")
