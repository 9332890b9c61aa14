"""Writes ``docs/sql.md``, the reference of what lives in the file, from the macros' own words and examples.

Run ``python -m ppdm_sql.macros.reference > docs/sql.md`` after a change of the macros.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

import duckdb

from ppdm_sql import examples
from ppdm_sql.engine import Engine
from ppdm_sql.macros import Macro, macros
from ppdm_sql.macros.installing import install
from ppdm_sql.privacy.models import models

SHOWN = 6
"""Rows of an example that are printed at most."""

INTRODUCTION = """\
# The macros

`ppdm install bank.duckdb` puts them into the file, in the schema `ppdm` and, unless `--no-short-names` is
given, in `main` too. They are plain SQL: any DuckDB client from 1.5 on can call them, without Python, also
on a file that is open read-only. `ppdm uninstall bank.duckdb` removes them. This page is written by
`python -m ppdm_sql.macros.reference`.

- **The table** is a text: `'t'`, `'schema.t'`, `'database.t'` or `'database.schema.t'`; a part with a dot
  or a double quote in it is quoted as in SQL: `'"odd.name"'`. Tables, views, temporary tables, tables of
  attached databases and names of a `WITH` clause can be measured. DuckDB 1.5 finds no table with a double
  quote in its name.
- **The columns** are a list of texts, the sensitive one is a text, in any spelling of case, and never
  quoted: `['odd "name"', 'Age']`. A column that is missing or named twice, an empty list, NULL, or a
  missing table is an error, never a narrower answer.
- **NULL** is a value of its own, in the classes and among the sensitive values.
- **A row is a record** unless `person` names the column that says whose record it is, as in
  `FROM ppdm_risk('visits', ['zip'], person := 'patient')`. Then distinct persons are counted in the place of
  records, and a person who is NULL somewhere is an error. Who has several sensitive values in a class is
  counted with each of them, and who has rows in several classes is counted in each. Persons who are known by
  several columns need one column made of these, in a view or a `WITH` clause. A population has a
  row for each of its persons.
- **Counts.** Where a column says how many records a row stands for, write them out:
  `WITH each AS (SELECT * FROM employees, range(n)) FROM ppdm_risk('each', ['Sex', 'Job'])`.
- The answers are those of `ppdm audit`. Each macro costs one `GROUP BY` of the table, and what it does with
  the groups. Where most records are alone, the groups are as many as they, and `ppdm_confidence` and
  `ppdm_closeness` cost several times as much.
"""

VIEWS = """
## The view ppdm.release_report

A row a release; it is made with the catalogue, or by `ppdm install` where a file has an older one.
`release`, `method`, `source`, `rows`, `requirements`, `verified`, `stopped`, `created_at` and `version` are
those of `ppdm.releases`. The commonest measures of `ppdm.measures` are columns, as they are on the release,
NULL where the method does not measure them: `smallest_class` (the least of all k-anonymity requirements),
`highest_confidence` (of all templates), `suppressed_cells` and `information_loss` (shares in [0, 1]),
`records_changed` (of the identifiable ones, by swapping) and `privacy_level` (the least of the noisy
columns'). `measures` is a map of all of them:
`SELECT measures['suppressed cells'].after FROM ppdm.release_report`.

How each column of a release was treated stands in its comment, which `DESCRIBE` does not show:
`SELECT column_name, comment FROM duckdb_columns() WHERE table_name = 'customers_safe'`.
"""

RESULTS = {
    "records": "number of records, or of persons where `person` is given",
    "classes": "number of equivalence classes",
    "k": "size of the smallest class",
    "average_class": "records over classes",
    "unique_records": "records that are alone with their class",
    "prosecutor_highest": "risk of a record in the smallest class, 1 / k",
    "prosecutor_average": "mean risk of a record, classes / records",
    "marketer": "share of records that a marketer expects to find, the table being its own population",
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


def page() -> str:
    """Write the whole page; every example is run on the papers' tables.

    Example:
        >>> page().splitlines()[0]
        '# The macros'
    """
    with duckdb.connect() as connection:
        engine = Engine(connection)
        examples.write(engine)
        install(engine)
        parts = [line for macro in macros() for line in _section(connection, macro)]
    return INTRODUCTION + "\n".join(parts) + "\n" + VIEWS


def _section(connection: duckdb.DuckDBPyConnection, macro: Macro) -> Iterator[str]:
    """Describe one macro."""
    yield f"\n## {macro.name}({macro.parameters})\n"
    yield f"{macro.title}\n"
    answer = connection.sql(macro.example)
    known = results()
    described = [name for name in answer.columns if name in known]
    if described:
        yield f"{macro.grain.capitalize()}:\n"
        kinds = dict(zip(answer.columns, answer.types, strict=True))
        yield from (f"- `{name}` {kinds[name]}: {known[name]}" for name in described)
        yield ""
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
    sys.stdout.write(page())
