"""Every step file under ``sql/`` keeps the contract of its first line."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
import sqlglot
from sqlglot import exp

from ppdm_sql.engine.statements import sql_folder

FIELDS = ("in", "out", "grain", "params")
HEADER = re.compile(r"-- (?P<name>\S+)" + "".join(rf" \| {field}: (?P<{field}>.+)" for field in FIELDS))
FILES = sorted(path for path in sql_folder().glob("*/*.sql") if path.parent.name != "walkthroughs")
"""The step files; a walkthrough is many statements, and has tests of its own."""
STEPS = {f"{path.parent.name}/{path.stem}": path for path in FILES}
each_step = pytest.mark.parametrize("path", STEPS.values(), ids=STEPS)
DEFAULT = re.compile(r"(?<=\w) := NULL(?=[^()]*\) AS TABLE$)", re.MULTILINE)
MOST_WHY = 3
MOST_CTES = 5


def step_name(path: Path) -> str:
    """The file's name without the number that orders it."""
    return re.sub(r"^\d\d_", "", path.stem)


def header(path: Path) -> dict[str, str]:
    matched = HEADER.fullmatch(path.read_text(encoding="utf-8").splitlines()[0])
    assert matched, "the first line is: -- name | in: ... | out: ... | grain: ... | params: ..."
    return matched.groupdict()


def listed(text: str) -> list[str]:
    """The entries of a header field; a dash says that there are none."""
    return [] if text == "-" else [entry.strip() for entry in re.split(r",(?![^(]*\))", text)]


@cache
def parsed(path: Path) -> exp.Expression:
    """The one statement of a file, without the defaults of a macro, which sqlglot cannot read."""
    text = DEFAULT.sub("", path.read_text(encoding="utf-8"))
    statements = sqlglot.parse(text, dialect="duckdb")
    assert len(statements) == 1
    assert isinstance(statements[0], exp.Expression)
    return statements[0]


def target(tree: exp.Expression) -> exp.Expression | None:
    """What a statement writes into, if it is not a SELECT."""
    return tree.this if isinstance(tree, exp.Create | exp.Insert | exp.Update | exp.Delete) else None


def tables_read(tree: exp.Expression) -> set[str]:
    """Tables that a statement reads, common table expressions and table functions aside."""
    common = {cte.alias for cte in tree.find_all(exp.CTE)}
    written = target(tree)
    inside = set() if written is None else {id(node) for node in written.walk()}
    tables = [table for table in tree.find_all(exp.Table) if id(table) not in inside]
    named = [table for table in tables if isinstance(table.this, exp.Identifier)]
    return {".".join(part.name for part in table.parts) for table in named} - common


def placeholders(tree: exp.Expression) -> set[str]:
    """Names used in ``param(...)`` and ``COLUMNS(getvariable(...))``, or as ``$name``."""
    calls = [call for call in tree.find_all(exp.Anonymous) if call.name.lower() in {"param", "getvariable"}]
    bound = {node.name for node in tree.find_all(exp.Parameter, exp.Placeholder)}
    return bound | {call.expressions[0].name for call in calls}


def test_there_are_steps() -> None:
    assert "audit/cells" in STEPS


@each_step
def test_a_header_lists_the_tables_read(path: Path) -> None:
    assert set(listed(header(path)["in"])) == tables_read(parsed(path))


@each_step
def test_a_header_lists_the_placeholders(path: Path) -> None:
    names = [entry.split()[0] for entry in listed(header(path)["params"])]
    assert len(set(names)) == len(names)
    assert set(names) == placeholders(parsed(path))


@each_step
def test_a_step_gives_what_its_name_says(path: Path) -> None:
    found = header(path)
    assert found["name"] == step_name(path)
    written = target(parsed(path))
    if written is None:
        assert found["out"] == step_name(path)


@each_step
def test_a_step_is_one_statement_with_a_short_why(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    comments = [line for line in lines[1:] if line.startswith("--")]
    assert lines[1 : len(comments) + 1] == comments
    assert len(comments) <= MOST_WHY
    assert text.endswith(";\n")
    assert text.count(";") - sum(line.count(";") for line in lines if line.startswith("--")) == 1
    assert len(list(parsed(path).find_all(exp.CTE))) <= MOST_CTES
