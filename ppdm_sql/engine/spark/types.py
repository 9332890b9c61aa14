"""Which type of DuckDB holds the values of a type of Spark, and which types are refused.

What is refused has values whose equality Spark and DuckDB see differently, or that have no counterpart.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_TYPES = {
    "boolean": "BOOLEAN",
    "tinyint": "TINYINT",
    "smallint": "SMALLINT",
    "int": "INTEGER",
    "bigint": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "date": "DATE",
    "timestamp": "TIMESTAMP WITH TIME ZONE",
    "timestamp_ntz": "TIMESTAMP",
    "string": "VARCHAR",
    "string collate UTF8_BINARY": "VARCHAR",
    "binary": "BLOB",
}
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
_TEXT_OF_LENGTH = re.compile(r"(var)?char\(\d+\)")
_PARAMETERS = re.compile(r"[<(].*", re.DOTALL)


class MappedType(NamedTuple):
    """A type of DuckDB, or why a column cannot be read; then the type is a place holder."""

    type: str
    refused: str = ""
    remedy: str = ""


def mapped(spark_type: str) -> MappedType:
    """Map a type, as ``DataType.simpleString()`` writes it."""
    if spark_type in _TYPES:
        return MappedType(_TYPES[spark_type])
    if found := _DECIMAL.fullmatch(spark_type):
        return MappedType(f"DECIMAL({found[1]},{found[2]})")
    if _TEXT_OF_LENGTH.fullmatch(spark_type):
        return MappedType("VARCHAR")
    if spark_type.startswith("string collate "):
        collation = spark_type.removeprefix("string collate ")
        return MappedType(
            "VARCHAR",
            f"has the collation {collation}, by which different texts are equal",
            "Read it through a view that says CAST(column AS STRING) COLLATE UTF8_BINARY.",
        )
    title = _PARAMETERS.sub("", spark_type)
    return MappedType(
        "VARCHAR",
        f"has the type {title}, which does not map to a type of DuckDB",
        "Read it through a view that casts it, such as CAST(column AS STRING), or leave it out.",
    )
