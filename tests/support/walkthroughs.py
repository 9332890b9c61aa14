"""Reads the files of sql/walkthroughs as a shell does, statement by statement, and keeps what they print."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from ppdm_sql.engine.statements import sql_folder

FOLDER = sql_folder() / "walkthroughs"
Row = tuple[Any, ...]


@dataclass(frozen=True)
class Statement:
    """A statement and the sentence before it."""

    sentence: str
    sql: str

    @property
    def prints(self) -> bool:
        """Whether it is a query."""
        return self.sql.startswith(("SELECT", "WITH", "FROM"))


@dataclass(frozen=True)
class Printed:
    """What a query printed, under its sentence."""

    sentence: str
    columns: tuple[str, ...]
    rows: list[Row]

    def picked(self, *columns: str) -> list[Row]:
        """Some columns of all rows."""
        places = [self.columns.index(column) for column in columns]
        return [tuple(row[place] for place in places) for row in self.rows]


def text(name: str) -> str:
    return (FOLDER / f"{name}.sql").read_text(encoding="utf-8")


def statements(name: str) -> Iterator[Statement]:
    """Give the statements; each ends with a line that ends with a semicolon."""
    comment: list[str] = []
    body: list[str] = []
    for line in text(name).splitlines():
        if line.startswith("--"):
            assert not body, "no comment stands inside a statement"
            comment.append(line[2:].strip())
        elif not line:
            assert not body, "no empty line stands inside a statement"
            comment = []
        else:
            body.append(line)
            if line.endswith(";"):
                yield Statement(" ".join(comment), "\n".join(body))
                comment, body = [], []
    assert not body, "the last statement is complete"


def play(connection: duckdb.DuckDBPyConnection, name: str) -> list[Printed]:
    """Run a walkthrough from top to bottom, and give what it printed."""
    found = []
    for statement in statements(name):
        ran = connection.execute(statement.sql)
        if statement.prints:
            columns = tuple(column[0] for column in ran.description or ())
            found.append(Printed(statement.sentence, columns, [plain(row) for row in ran.fetchall()]))
    return found


def play_in_shell(shell: Path, name: str, *options: str) -> list[Printed]:
    """Do likewise in the command line of DuckDB, all at once."""
    command = [str(shell), "-no-init", "-bail", "-json", *options]
    run = subprocess.run(command, input=text(name), capture_output=True, text=True, check=False, timeout=60)
    assert (run.returncode, run.stderr) == (0, "")
    queries = [statement for statement in statements(name) if statement.prints]
    found, place = [], 0
    for statement in queries:
        rows, place = json.JSONDecoder().raw_decode(run.stdout, place)
        place += len(run.stdout[place:]) - len(run.stdout[place:].lstrip())
        found.append(
            Printed(statement.sentence, tuple(rows[0]), [plain(tuple(row.values())) for row in rows])
        )
    assert place == len(run.stdout), "the shell prints what the queries give, and nothing else"
    return found


def plain(row: Row) -> Row:
    """Give numbers as floats; the shell's JSON has large whole numbers as texts."""
    return tuple(number(cell) for cell in row)


def number(cell: Any) -> Any:
    if cell is None or isinstance(cell, bool):
        return cell
    try:
        return float(cell)
    except ValueError:
        return cell


def under(printed: list[Printed], start: str) -> Printed:
    """What stands under the sentence that begins like this."""
    (found,) = [table for table in printed if table.sentence.startswith(start)]
    return found
