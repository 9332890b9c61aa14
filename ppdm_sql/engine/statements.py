"""Finds ``sql/<family>/<step>.sql`` and binds names, column lists and values to its placeholders.

A step file is plain DuckDB SQL. Three placeholders may stand in it, and each takes a typed value and
nothing else, so that a hostile name or value can never become SQL:

- a table name, such as ``source``, takes a :class:`~ppdm_sql.engine.names.Table`;
- ``COLUMNS(getvariable('qi'))`` takes a list of column names;
- ``param('k')`` takes a number or a text.

The same file runs in the DuckDB shell after ``SET VARIABLE qi = ['Sex', 'Job'];``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, cast

from sqlglot import exp

from ppdm_sql.engine.names import Table, quoted

Scalar = bool | int | float | str | None

_QUOTED_OR_COMMENT = re.compile(r"""(?P<quoted>'(?:[^']|'')*'|"(?:[^"]|"")*")|[ ]*--[^\n]*\n?""")
_PLACEHOLDERS = re.compile(
    r"""
      '(?:[^']|'')*' | "(?:[^"]|"")*"
    | \*?COLUMNS\(getvariable\('(?P<columns>\w+)'\)\)
    | \bparam\('(?P<value>\w+)'\)
    | \b(?:(?<!DISTINCT[ ])FROM|JOIN|INTO|TABLE(?:\s+IF\s+NOT\s+EXISTS)?)
      \s+(?!IF\b)(?P<table>[A-Za-z_]\w*)\b(?![.(])
    """,
    re.VERBOSE,
)
_BEFORE_SEVERAL = re.compile(r"(?:\b(?:SELECT|DISTINCT|BY)|,)\s*\Z")
_BEHIND_SEVERAL = re.compile(r"\s*(?:[,);]|\Z|(?:FROM|HAVING|ORDER|LIMIT)\b)")


class Statement(str):
    """The text of a statement that remembers its step and, if it comes from one, its step file."""

    step: str
    file: str | None

    def __new__(cls, sql: str, *, step: str = "", file: str | None = None) -> Statement:
        made = super().__new__(cls, sql)
        made.step, made.file = step, file
        return made


Sql = Statement | exp.Expression
"""A part of a statement: text as one reads it, or a tree."""


def file_of(sql: str) -> str | None:
    return sql.file if isinstance(sql, Statement) else None


@cache
def sql_folder() -> Path:
    """Give the folder of the step files: inside the installed package, or beside it in a checkout."""
    inside = Path(str(files("ppdm_sql"))) / "sql"
    return inside if inside.is_dir() else inside.parent.parent / "sql"


@cache
def text(step: str) -> Statement:
    return Statement((sql_folder() / f"{step}.sql").read_text(encoding="utf-8"), file=step)


def sql(text: str, /, **holes: object) -> Statement:
    """Write SQL as one reads it: each hole takes a table, an expression, a number or SQL, or a list of these.

    Example:
        >>> from ppdm_sql.engine.names import column
        >>> sql("SELECT {c} FROM {t} LIMIT {n}", c=column("a b"), t=Table("people"), n=5)
        'SELECT "a b" FROM "people" LIMIT 5'
        >>> sql("SELECT {c}", c="a b")
        Traceback (most recent call last):
        TypeError: a hole of a statement takes no str
    """
    return Statement(text.format_map({name: _in_hole(value) for name, value in holes.items()}))


def _in_hole(value: object) -> str:
    if isinstance(value, (Table, Statement)):
        return str(value)
    if isinstance(value, exp.Column) and isinstance(value.this, exp.Identifier):
        return ".".join(quoted(part.name) for part in value.parts)
    if isinstance(value, exp.Expression):
        return value.sql(dialect="duckdb", comments=False)
    if isinstance(value, float):
        return f"'{value!r}'::DOUBLE"  # without quotes it is a DECIMAL first, which DuckDB before 2 rounds
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(map(_in_hole, value))
    raise TypeError(f"a hole of a statement takes no {type(value).__name__}")


def joined(parts: Iterable[Statement], word: str) -> Statement:
    """Put parts of a statement one behind the other, with a word of SQL of our own between them.

    Example:
        >>> joined([sql("a > {n}", n=1), sql("b")], " AND ")
        'a > 1 AND b'
    """
    return Statement(word.join(parts))


def subquery(select: Sql) -> Statement:
    """Let the rows of a SELECT stand where a table's name may, in a hole or a step file."""
    return sql("({select})", select=select)


def rows_of_lists(**types: str) -> Statement:
    """Write a SELECT of rows that stand in parameters: for each column a list, named as it is.

    Example:
        >>> rows_of_lists(node="INTEGER", cut="DOUBLE")
        'SELECT unnest($node::INTEGER[]) AS node, unnest($cut::DOUBLE[]) AS cut'
    """
    return Statement(f"SELECT {', '.join(f'unnest(${n}::{kind}[]) AS {n}' for n, kind in types.items())}")


def literal(value: Scalar) -> exp.Expression:
    """Turn a Python value into a literal of the syntax tree.

    Example:
        >>> literal("it's").sql("duckdb")
        "'it''s'"
    """
    if value is None or isinstance(value, (bool, int, float, str)):
        return cast(exp.Expression, exp.convert(value))
    raise TypeError(f"no literal for a {type(value).__name__}")


def render(expression: exp.Expression | str) -> str:
    """Write a tree as the engine's SQL, with every identifier as it stands in the tree.

    A text is SQL already. The tree is used up: writing may rearrange it.
    """
    if isinstance(expression, str):
        return expression
    return expression.sql(dialect="duckdb", comments=False, copy=False)


def _written(value: Scalar | exp.Expression) -> str:
    return value.sql(dialect="duckdb") if isinstance(value, exp.Expression) else render(literal(value))


def filled(sql: str, params: Mapping[str, object]) -> str:
    r"""Write a statement with its parameters filled in, for people to read and run.

    Example:
        >>> filled('SELECT "$a" FROM t WHERE b = $a', {"a": "it's"})
        'SELECT "$a" FROM t WHERE b = \'it\'\'s\''
    """

    def replaced(found: re.Match[str]) -> str:
        name = found.group(1)
        return render(cast(exp.Expression, exp.convert(params[name]))) if name in params else found.group(0)

    return re.sub(r"""(?:"(?:[^"]|"")*"|'(?:[^']|'')*'|--[^\n]*)|\$(\w+)""", replaced, sql)


def bind(
    step: str,
    *,
    tables: Mapping[str, Table | Statement],
    columns: Mapping[str, Sequence[str]] | None = None,
    values: Mapping[str, Scalar | exp.Expression] | None = None,
) -> Statement:
    """Bind the placeholders of a step file, such as ``audit/class_sizes``, and give the statement's text.

    A table or :func:`subquery` stands for each logical one of the file, names for each
    ``COLUMNS(getvariable(...))``, and a value for each ``param(...)``; one that is missing is an error.
    """
    given: dict[str, Callable[[str], str]] = {
        "table": lambda name: str(tables[name]) if name in tables else name,  # it may be one of a WITH
        "columns": lambda name: ", ".join(map(quoted, (columns or {})[name])),
        "column": lambda name: quoted(_only((columns or {})[name])),
        "value": lambda name: _written((values or {})[name]),
    }
    bound = "".join(piece if kind is None else given[kind](piece) for kind, piece in _pieces(step))
    return Statement(bound, file=step)


@cache
def _pieces(step: str) -> tuple[tuple[str | None, str], ...]:
    """Cut a step's statement at its placeholders, once: pairs of kind (None for plain SQL) and text.

    Words are enough to find them; a syntax tree of every file would take longer than most runs.
    """
    sql = _QUOTED_OR_COMMENT.sub(lambda found: found["quoted"] or "", text(step)).strip().removesuffix(";")
    pieces, end = list[tuple[str | None, str]](), 0
    for found in _PLACEHOLDERS.finditer(sql):
        if (kind := found.lastgroup) is None:
            continue
        begin = found.start(kind) if kind == "table" else found.start()
        pieces.append((None, sql[end:begin]))
        end = found.end()
        if kind == "columns" and not _are_several(sql, begin, end):
            kind = "column"
        pieces.append((kind, found[found.lastgroup or 0]))
    return (*pieces, (None, sql[end:]))


def _are_several(sql: str, begin: int, end: int) -> bool:
    if sql[begin] == "*":
        return True
    return bool(_BEFORE_SEVERAL.search(sql, 0, begin) and _BEHIND_SEVERAL.match(sql, end))


def _only(names: Sequence[str]) -> str:
    if len(names) != 1:
        raise TypeError(f"one column is needed here, not {len(names)}")
    return names[0]


def row_count(sql: str, result: object) -> int:
    """Count the rows that a statement gave, row by row or column by column, or wrote into a new table."""
    if isinstance(result, Mapping):
        return max(map(len, result.values()), default=0)
    rows = cast(list[tuple[Any, ...]], result)
    return int(rows[0][0]) if rows and sql.startswith("CREATE TEMP TABLE") else len(rows)
