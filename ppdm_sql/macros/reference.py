"""Writes the macros' sections of ``docs/sql.md``, from their own words and examples.

Run ``python -m ppdm_sql.macros.reference docs/sql.md`` after a change of the macros; what stands before and
behind these sections is written by hand, there.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb

from ppdm_sql import examples
from ppdm_sql.engine import Engine
from ppdm_sql.macros import Macro, macros
from ppdm_sql.macros.installing import install
from ppdm_sql.privacy.models import models

SHOWN = 6
"""Rows of an example that are printed at most."""

RESULTS = {
    "records": "number of records, or of persons where `person` is given",
    "classes": "number of equivalence classes",
    "k": "size of the smallest class",
    "average_class": "records over classes",
    "unique_records": "records that are alone with their class",
    "prosecutor_highest": "risk of a record in the smallest class, 1 / k",
    "prosecutor_average": "mean risk of a record, classes / records",
    "marketer": "share of records that a marketer expects to find, the table being its own population",
    "distinction": "classes over records: the share of the table that the columns tell apart",
    "separation": "share of the pairs of records that the columns tell apart",
    "minimal_unique": "columns by which the record is alone, and is not once any of them is left out",
    "suda_score": "what this minimal sample unique adds to the SUDA score of the record",
    "status": "`uniquely` or `collectively` identifiable, or `unidentifiable`",
}
"""What the columns of the general answers mean; the columns that were asked for come first."""


def results() -> dict[str, str]:
    """Explain the columns of all answers, those of the privacy models in the models' words."""
    return {
        name: words
        for described in (RESULTS, *(m.macro_results for m in models()))
        for name, words in described.items()
    }


def page(text: str) -> str:
    r"""Put the macros' sections into the page as it stands; every example is run on the papers' tables."""
    with duckdb.connect() as connection:
        engine = Engine(connection)
        examples.write(engine)
        install(engine)
        lines = [line for macro in macros() for line in _section(connection, macro)]
    before, _, _ = text.partition("\n## ppdm_")
    _, view, behind = text.partition("\n## The view ")
    return before + "\n".join(lines) + "\n" + view + behind


def _section(connection: duckdb.DuckDBPyConnection, macro: Macro) -> Iterator[str]:
    yield f"\n## {macro.name}({macro.parameters})\n"
    yield f"{macro.title}\n"
    answer = connection.sql(macro.example)
    words = results()
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
