"""Reads columns so that values are equal only where their texts are.

Grouping, joining and counting go by equality, while what leaves the database is text. The two part company
for texts with a collation (`ABC`, `Abc`), for intervals (`30 days`, `1 month`), for zero and NaN with a sign,
for unions and variants (the number 1 and the text `1`) and for whatever has such values inside. A column of
NULLs without a type is read as text, too: nothing can be cast to the type of its values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from ppdm_sql.engine.duckdb_engine import Column, Engine
from ppdm_sql.engine.names import Table, column
from ppdm_sql.engine.statements import sql
from ppdm_sql.engine.types import Kind, kind_of, type_tree

_EXACT = {Kind.WHOLE, Kind.DECIMAL, Kind.DATE, Kind.TIMESTAMP, Kind.TIME, Kind.BOOLEAN, Kind.ENUM}
_EXACT_OTHERS = {"UUID", "BLOB", "BIT"}
_EXACT_ALONE = {"JSON"}
"""Types that are read as text where they are nested."""
_NESTED = {exp.DataType.Type.LIST, exp.DataType.Type.ARRAY, exp.DataType.Type.STRUCT, exp.DataType.Type.MAP}


def exact_type(type_text: str) -> str:
    """Give the type in which a column is read: text where values can be equal whose texts are not.

    Example:
        >>> exact_type("INTERVAL"), exact_type("UNION(a INTEGER, b VARCHAR)"), exact_type("DOUBLE[]")
        ('VARCHAR', 'VARCHAR', 'VARCHAR')
        >>> exact_type("VARCHAR[]"), exact_type("DECIMAL(8,2)"), exact_type("TIME WITH TIME ZONE")
        ('VARCHAR[]', 'DECIMAL(8,2)', 'TIME WITH TIME ZONE')
    """
    plain = kind_of(type_text) in (Kind.REAL, Kind.TEXT)
    return type_text if plain or _is_exact(type_text) or _holds_text(type_text) else "VARCHAR"


def exact_columns(columns: Sequence[Column]) -> list[Column]:
    return [Column(item.name, exact_type(item.type)) for item in columns]


def exact_values(engine: Engine, table: Table, columns: Sequence[Column]) -> dict[str, exp.Expression]:
    """Give what to read of each column of a table under the alias ``s``, with its type in the table."""
    texts = [item for item in columns if item.type == "VARCHAR"]
    collated = bool(texts) and _has_collation(engine, table, texts)
    return {item.name: _exact(column(item.name, "s"), item.type, collated) for item in columns}


def exact_table(engine: Engine, table: Table, columns: Sequence[Column]) -> Table:
    """Give a table with some columns read by their texts: itself, or a view that the workspace drops."""
    values = exact_values(engine, table, columns)
    if is_plain(values):
        return table
    shown = [sql("{value} AS {c}", value=value, c=column(name)) for name, value in values.items()]
    return engine.overlay(sql("SELECT * REPLACE ({shown}) FROM {table} AS s", shown=shown, table=table))


def is_plain(values: Mapping[str, exp.Expression]) -> bool:
    return all(isinstance(value, exp.Column) for value in values.values())


def _exact(value: exp.Expression, type_text: str, collated: bool) -> exp.Expression:
    if type_text == "VARCHAR":
        # a cast to text keeps a collation, and COLLATE would stay with the released column
        return _call("decode", _call("encode", value)) if collated else value
    if kind_of(type_text) is Kind.REAL:
        return _unsigned(value, type_text)
    if _is_exact(type_text):
        return value
    text = exp.cast(value, "TEXT")
    return exp.Cast(this=text, to=type_tree(type_text)) if _holds_text(type_text) else text


def _unsigned(value: exp.Expression, type_text: str) -> exp.Expression:
    """Take the sign, which equality does not see, from zero and NaN."""
    plain = {text: exp.cast(exp.Literal.string(text), type_text, dialect="duckdb") for text in ("0", "nan")}
    case = exp.case().when(exp.EQ(this=value.copy(), expression=plain["0"]), plain["0"].copy())
    return case.when(_call("isnan", value.copy()), plain["nan"]).else_(value)


def _call(name: str, argument: exp.Expression) -> exp.Expression:
    return exp.Anonymous(this=name, expressions=[argument])


def _is_exact(type_text: str) -> bool:
    """Tell whether equal values of a type have equal texts, and values with equal texts are equal."""
    scalar = kind_of(type_text) in _EXACT or type_text in _EXACT_OTHERS | _EXACT_ALONE
    return scalar or _leaves(type_text) == {True}


def _holds_text(type_text: str) -> bool:
    """Tell whether a nested type holds texts, which may have a collation, and otherwise exact values.

    A nested value with texts is read back from its own text, in which they stand in quotes where needed.
    """
    return type_text != "VARCHAR" and None in (leaves := _leaves(type_text)) and False not in leaves


def _leaves(type_text: str) -> set[bool | None]:
    """Tell of the parts of a nested type whether they are exact; None for texts."""
    if not (type_text.endswith("]") or type_text.startswith(("STRUCT(", "MAP("))):
        return {False}
    try:
        built = type_tree(type_text)
    except Exception:  # a type that sqlglot does not know is read as text
        return {False}
    found: set[bool | None] = set()
    for part in built.find_all(exp.DataType):
        if part.this in _NESTED:
            continue
        text = part.sql(dialect="duckdb").upper()
        found.add(None if text in ("TEXT", "VARCHAR") else _is_leaf(text))
    return found or {False}


def _is_leaf(text: str) -> bool:
    """Tell whether a part of a nested type, as sqlglot spells it, is exact."""
    return kind_of(text) in _EXACT or text in _EXACT_OTHERS | {"INT", "BOOL"} or text.startswith("TIME")


def _has_collation(engine: Engine, table: Table, texts: Sequence[Column]) -> bool:
    """Tell whether a text has a collation, which its type does not say but a table that is made of it."""
    shown = [sql("{c} AS {code}", c=column(item.name), code=column(f"c{i}")) for i, item in enumerate(texts)]
    definition = "SELECT sql FROM duckdb_tables() WHERE temporary AND table_name = $name"
    with engine.untraced():
        probe = engine.materialize(
            "probe", sql("SELECT {shown} FROM {table} LIMIT 0", shown=shown, table=table)
        )
        ((made,),) = engine.query(definition, {"name": probe.name}, step="probe")
        engine.discard(probe)
    return "COLLATE" in str(made).upper()
