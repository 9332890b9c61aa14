"""Types of columns: one table of what the values of each type are, and what follows from it."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from sqlglot import exp

from ppdm_sql.engine.names import quoted


class Kind(Enum):
    WHOLE = "whole number"
    DECIMAL = "decimal"
    REAL = "real number"
    DATE = "date"
    TIMESTAMP = "time stamp"
    TIME = "time"
    INTERVAL = "interval"
    BOOLEAN = "boolean"
    TEXT = "text"
    ENUM = "enum"
    OTHER = "other"


_KINDS = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"), Kind.WHOLE),
    **dict.fromkeys(("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"), Kind.WHOLE),
    **dict.fromkeys(("BIGNUM", "VARINT"), Kind.WHOLE),
    "DECIMAL": Kind.DECIMAL,
    **dict.fromkeys(("FLOAT", "DOUBLE"), Kind.REAL),
    "DATE": Kind.DATE,
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"), Kind.TIMESTAMP),
    **dict.fromkeys(("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ_NS"), Kind.TIMESTAMP),
    **dict.fromkeys(("TIME", "TIME_NS", "TIME WITH TIME ZONE"), Kind.TIME),
    "INTERVAL": Kind.INTERVAL,
    "BOOLEAN": Kind.BOOLEAN,
    "VARCHAR": Kind.TEXT,
    "ENUM": Kind.ENUM,
}
NUMBERS = (Kind.WHOLE, Kind.DECIMAL, Kind.REAL)
MOMENTS = (Kind.DATE, Kind.TIMESTAMP)
_UNBOUNDED = ("BIGNUM", "VARINT")
"""Whole numbers of any size: their distances cannot be computed."""


def kind_of(type_text: str) -> Kind:
    """Tell what the values of a type are; lists, structures and the like are other."""
    if type_text.endswith("]"):
        return Kind.OTHER
    return _KINDS.get(type_text.partition("(")[0], Kind.OTHER)


def is_number(type_text: str) -> bool:
    """Whether values are numbers, which all fit into a DOUBLE."""
    return kind_of(type_text) in NUMBERS


def is_ordered(type_text: str) -> bool:
    """Whether the values of a type have distances by order: numbers, dates and times."""
    kind = kind_of(type_text)
    distances = kind in (*NUMBERS, *MOMENTS, Kind.TIME, Kind.INTERVAL)
    return distances and type_text not in _UNBOUNDED


def wide_type(type_text: str) -> str | None:
    """Give the type that holds what may lie between the values of a type; None where order means nothing.

    Numbers, dates and times can lie in intervals. A whole number may meet the bound 37.5, a date the bound
    of a time stamp; floating-point numbers and time stamps meet bounds of their own kind only.
    """
    match kind_of(type_text):
        case Kind.WHOLE | Kind.DECIMAL:
            return "DOUBLE"
        case Kind.DATE:
            return "TIMESTAMP"
        case Kind.REAL | Kind.TIMESTAMP | Kind.TIME:
            return type_text
    return None


def type_tree(type_text: str) -> exp.DataType:
    """Give a type as what a hole of a statement takes; what is not a type is an error of the parser."""
    return exp.DataType.build(type_text, dialect="duckdb")


def read(text: exp.Expression, type_text: str) -> exp.Expression:
    """Read a text or value as a type; NULL where it is none."""
    return exp.TryCast(this=text.copy(), to=type_tree(type_text))


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
    found = type_tree(type_text).transform(_without_enum)
    assert isinstance(found, exp.DataType)
    return found


def _without_enum(node: exp.Expression) -> exp.Expression:
    if isinstance(node, exp.DataType) and node.this == exp.DataType.Type.ENUM:
        return exp.DataType.build("TEXT")
    return node


def fetchable(columns: Iterable[tuple[str, object]]) -> str | None:
    """Give the columns of a query, by position, with moments in time zones as text; None if there are none.

    Without a package that nothing here needs, Python cannot hold such moments.
    """
    columns, taken = list(columns), ("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ")
    zoned = [any(name in str(type_) for name in taken) for _, type_ in columns]
    if not any(zoned):
        return None
    return ", ".join(
        f"{f'CAST(#{place} AS VARCHAR)' if as_text else f'#{place}'} AS {quoted(name)}"
        for place, ((name, _), as_text) in enumerate(zip(columns, zoned, strict=True), start=1)
    )


def has_enum(type_text: str) -> bool:
    """Tell whether a type carries a list of values, which would bring all of the source's along.

    Example:
        >>> has_enum("ENUM('ill', 'well')[]"), has_enum("VARCHAR")
        (True, False)
    """
    return "ENUM(" in type_text.upper()


def type_title(type_text: str) -> str:
    """Name a type in a message; the text of an ENUM type lists values, so it is left out.

    Example:
        >>> type_title("DECIMAL(8,2)"), type_title("ENUM('ill', 'well')")
        ('DECIMAL(8,2)', 'ENUM')
    """
    return "ENUM" if has_enum(type_text) else type_text


def without_enum(value: exp.Expression, type_text: str) -> exp.Expression:
    return exp.cast(value, "TEXT") if has_enum(type_text) else value


def double(value: float) -> exp.Expression:
    """Give a DOUBLE, exactly; a literal with a decimal point would be a DECIMAL first."""
    # the name of a type would be parsed, which takes longer than all else here
    return exp.cast(exp.Literal.string(repr(float(value))), exp.DataType.Type.DOUBLE, copy=False)
