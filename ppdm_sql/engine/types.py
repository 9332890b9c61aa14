"""Types of columns: in which one values are compared with labels, which are text, and types without ENUMs."""

from __future__ import annotations

from sqlglot import exp

_REAL = {"FLOAT", "DOUBLE"}
_EXACT = {f"{sign}{size}INT" for sign in ("", "U") for size in ("TINY", "SMALL", "BIG", "HUGE")}
_EXACT |= {"INTEGER", "UINTEGER", "DECIMAL", "BIGNUM"}
_ORDERED = (
    *("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"),
    *("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"),
    *("FLOAT", "DOUBLE", "DECIMAL", "DATE", "TIME", "INTERVAL"),
)


def wide_type(type_text: str) -> str | None:
    """Give the type that holds what may lie between the values of a type; None where order means nothing.

    Numbers, dates and times can lie in intervals. A whole number may meet the bound 37.5, a date the bound
    of a time stamp; floating-point numbers and time stamps meet bounds of their own kind only.

    Example:
        >>> wide_type("INTEGER"), wide_type("DATE"), wide_type("FLOAT"), wide_type("VARCHAR")
        ('DOUBLE', 'TIMESTAMP', 'FLOAT', None)
    """
    kind = type_text.split("(")[0]
    if kind in _EXACT:
        return "DOUBLE"
    if kind == "DATE":
        return "TIMESTAMP"
    return type_text if kind in _REAL or kind.startswith("TIME") else None


def read(text: exp.Expression, type_text: str) -> exp.Expression:
    """Read a text or value as a type; NULL where it is none."""
    return exp.TryCast(this=text.copy(), to=exp.DataType.build(type_text, dialect="duckdb"))


def read_exactly(text: exp.Expression, type_text: str, wide: str) -> exp.Expression:
    """Read a text as a type; NULL where the type would round it, such as 37.5 to a whole number.

    Example:
        >>> import duckdb
        >>> both = [read_exactly(exp.convert(text), "INTEGER", "DOUBLE") for text in ("37.0", "37.5")]
        >>> duckdb.sql(exp.select(*both).sql("duckdb")).fetchall()
        [(37, None)]
    """
    value = read(text, type_text)
    if wide == type_text:
        return value
    same = exp.EQ(this=read(value, wide), expression=read(text, wide))
    return exp.case().when(same, value.copy())


def plain_type(type_text: str) -> exp.DataType:
    """Give a type with text in place of every ENUM, whose type lists all values of its source.

    Example:
        >>> plain_type("ENUM('ill', 'well')[]").sql("duckdb")
        'TEXT[]'
    """
    found = exp.DataType.build(type_text, dialect="duckdb").transform(_without_enum)
    assert isinstance(found, exp.DataType)
    return found


def _without_enum(node: exp.Expression) -> exp.Expression:
    if isinstance(node, exp.DataType) and node.this == exp.DataType.Type.ENUM:
        return exp.DataType.build("TEXT")
    return node


def double(value: float) -> exp.Expression:
    """Give a DOUBLE, exactly; a literal with a decimal point would be a DECIMAL first.

    Example:
        >>> double(0.1).sql("duckdb")
        "CAST('0.1' AS DOUBLE)"
    """
    return exp.cast(exp.Literal.string(repr(float(value))), "DOUBLE")


def is_ordered(type_text: str) -> bool:
    """Whether the values of a type have distances by order: numbers, dates and times.

    Example:
        >>> is_ordered("DECIMAL(8,2)"), is_ordered("VARCHAR"), is_ordered("INTEGER[]")
        (True, False, False)
    """
    return type_text.startswith(_ORDERED) and not type_text.endswith("]")
