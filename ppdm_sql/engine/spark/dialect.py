"""Writes statements of DuckDB as statements of Spark: sqlglot, and a rewrite by name for each thing it lacks.

sqlglot translates what it knows and passes the rest on unchanged, so a statement is only run on Spark if
``tests/engine/spark/test_portability.py`` gets the same from both engines for it.
"""

from __future__ import annotations

from collections.abc import Callable

import sqlglot
from sqlglot import exp

Rewrite = Callable[[exp.Expression], exp.Expression]


def whole_numbers(node: exp.Expression) -> exp.Expression:
    """Sum whole numbers as DECIMAL(38,0); HUGEINT would become the type INT128, which Spark lacks."""
    if isinstance(node, exp.DataType) and node.this == exp.DataType.Type.INT128:
        return exp.DataType.build("DECIMAL(38, 0)")
    return node


def attempts(node: exp.Expression) -> exp.Expression:
    """Write TRY around a cast as a cast that gives NULL."""
    tried = node.this if isinstance(node, exp.Try) else None
    if isinstance(tried, exp.Cast):
        return exp.TryCast(this=tried.this, to=tried.to, safe=True)  # else written as a cast that fails
    return node


def rows_of_values(node: exp.Expression) -> exp.Expression:
    """Write a row of values as a structure."""
    if isinstance(node, exp.Anonymous) and node.name.lower() == "row":
        return exp.Struct(expressions=node.expressions)
    return node


def numbers_of_rows(node: exp.Expression) -> exp.Expression:
    """Give a number of rows an order, without which Spark refuses to count; any order will do."""
    if isinstance(node, exp.Window) and isinstance(node.this, exp.RowNumber) and not node.args.get("order"):
        node.set("order", exp.Order(expressions=[exp.Ordered(this=exp.null(), nulls_first=True)]))
    return node


def hashes(node: exp.Expression) -> exp.Expression:
    """Hash to 64 bits; Spark's HASH has 32, in which a million values collide."""
    if isinstance(node, exp.Anonymous) and node.name.lower() == "hash":
        return exp.Anonymous(this="XXHASH64", expressions=node.expressions)
    return node


def floors(node: exp.Expression) -> exp.Expression:
    """Round down to a floating point, as DuckDB does; Spark's FLOOR gives a whole number of 64 bits.

    Numbers from 2 to the power of 53 on are whole already, and so are those that are infinite; NaN stays.
    """
    if isinstance(node, exp.Floor):
        value = node.this
        small = exp.LT(this=exp.Abs(this=value.copy()), expression=exp.Literal.number(2**53))
        return exp.If(this=small, true=exp.cast(node, "DOUBLE"), false=value.copy())
    return node


def no_numbers(node: exp.Expression) -> exp.Expression:
    """Tell NaN apart as DuckDB does; for NULL, Spark says that it is none."""
    if isinstance(node, exp.IsNan):
        known = exp.Not(this=exp.Is(this=node.this.copy(), expression=exp.null()))
        isnan = exp.Anonymous(this="ISNAN", expressions=[node.this])
        return exp.If(this=known, true=isnan, false=exp.null())
    return node


def finite_numbers(node: exp.Expression) -> exp.Expression:
    """Tell finite numbers apart; NaN is above all others in Spark."""
    if isinstance(node, exp.Anonymous) and node.name.lower() == "isfinite":
        endless = exp.Anonymous(this="DOUBLE", expressions=[exp.Literal.string("Infinity")])
        return exp.paren(exp.LT(this=exp.Abs(this=node.expressions[0]), expression=endless))
    return node


def exact_means(node: exp.Expression) -> exp.Expression:
    """Average plainly; the sum that carries what rounding lost is DuckDB's alone."""
    if isinstance(node, exp.Anonymous) and node.name.lower() == "favg":
        return exp.Avg(this=node.expressions[0])
    return node


def hexadecimals(node: exp.Expression) -> exp.Expression:
    """Read hexadecimal digits as a number."""
    joined = node.this if isinstance(node, exp.Cast) else None
    if isinstance(joined, exp.DPipe) and isinstance(joined.this, exp.Literal) and joined.this.this == "0x":
        base = [exp.Literal.number(number) for number in (16, 10)]
        node.set("this", exp.Anonymous(this="CONV", expressions=[joined.expression, *base]))
    return node


def letters(node: exp.Expression) -> exp.Expression:
    """Compare texts letter by letter without a word: columns whose texts compare otherwise are refused."""
    return node.this if isinstance(node, exp.Collate) and node.expression.name == "C" else node


REWRITES: tuple[Rewrite, ...] = (
    whole_numbers,
    attempts,
    rows_of_values,
    numbers_of_rows,
    hashes,
    floors,
    no_numbers,
    finite_numbers,
    exact_means,
    hexadecimals,
    letters,
)
"""All rewrites; each takes a node of the tree and gives the one that stands in its place."""


def to_spark(statement: str | exp.Expression) -> str:
    tree = sqlglot.parse_one(statement, dialect="duckdb") if isinstance(statement, str) else statement.copy()
    for rewrite in REWRITES:
        tree = tree.transform(rewrite, copy=False)
    return tree.sql("spark", comments=False, copy=False, unsupported_level=sqlglot.ErrorLevel.RAISE)
