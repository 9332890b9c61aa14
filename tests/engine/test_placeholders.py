"""Step files are cut at their placeholders by words; a syntax tree finds the same ones."""

from __future__ import annotations

import re
from typing import cast

import pytest
import sqlglot
from sqlglot import exp

from ppdm_sql.engine.names import Table, column
from ppdm_sql.engine.statements import _pieces, bind, file_of, sql_folder, text

STEPS = [
    f"{path.parent.name}/{path.stem}"
    for path in sorted(sql_folder().glob("*/*.sql"))
    if path.parent.name not in {"walkthroughs", "macros", "pieces"}
]
MARK = "placeholder:"


def parsed(sql: str) -> exp.Expression:
    return cast(exp.Expression, sqlglot.parse_one(sql, dialect="duckdb"))


def common(tree: exp.Expression) -> set[str]:
    return {cte.alias for cte in tree.find_all(exp.CTE)}


def _is_bound(node: exp.Expression) -> bool:
    return isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier) and not node.db


def marked(step: str) -> exp.Expression:
    """The tree of a step with a name in the place of each placeholder."""
    tree = parsed(text(step))
    names = common(tree)
    for node in list(tree.walk(bfs=False)):
        if isinstance(node, exp.Columns):
            several = node.parent is not None and isinstance(node.parent.args.get(node.arg_key or ""), list)
            node.replace(
                column(f"{MARK}{'columns' if several else 'column'}:{node.this.expressions[0].name}")
            )
        elif isinstance(node, exp.Anonymous) and node.name.lower() == "param":
            node.replace(column(f"{MARK}value:{node.expressions[0].name}"))
        elif _is_bound(node) and node.name not in names:
            node.set("this", exp.to_identifier(f"{MARK}table:{node.name}", quoted=True))
    return tree


@pytest.mark.parametrize("step", STEPS)
def test_words_find_the_placeholders_that_a_tree_finds(step: str) -> None:
    names = common(parsed(text(step)))
    cut = "".join(
        piece if kind is None or (kind == "table" and piece in names) else f'"{MARK}{kind}:{piece}"'
        for kind, piece in _pieces(step)
    )
    assert parsed(cut) == marked(step)
    assert "--" not in cut and not cut.endswith((";", "\n"))


def test_what_is_bound_keeps_its_layout_and_its_file() -> None:
    sql = bind("base/dictionary", tables={"source": Table('a "b')}, columns={"attribute": ["FROM source"]})
    assert 'SELECT DISTINCT\n        "FROM source" AS value\n    FROM "a ""b" AS s' in sql
    assert file_of(sql) == "base/dictionary"


def test_several_columns_only_where_a_list_stands() -> None:
    with pytest.raises(TypeError, match="one column"):
        bind("base/dictionary", tables={}, columns={"attribute": ["a", "b"]})
    sql = bind("audit/classes", tables={}, columns={"qi": ["a", "b"]})
    assert re.search(r'"a", "b"', sql)


def test_a_placeholder_without_a_value_is_an_error() -> None:
    with pytest.raises(KeyError):
        bind("audit/classes", tables={})
