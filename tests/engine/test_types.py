"""What the one table of types says of every type of this DuckDB."""

from __future__ import annotations

import duckdb
import pytest

from ppdm_sql.engine.types import Kind, is_number, is_ordered, kind_of, wide_type

NESTED = ["DECIMAL(8,2)[]", "TIMESTAMP[]", "TIME[2]", "ENUM('a', 'b')[]", "STRUCT(a DATE)", "MAP(DATE, DATE)"]


def described(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """List how DuckDB writes the type of a column, for every type that a column can have."""
    names = "SELECT DISTINCT type_name FROM duckdb_types() WHERE type_name NOT IN ('list', 'struct', 'map')"
    found = set(NESTED)
    for (name,) in connection.execute(names).fetchall():
        try:
            connection.execute(f"CREATE OR REPLACE TABLE t (a {name})")
        except duckdb.Error:  # a type that takes arguments, or none of a column
            continue
        found.update(*connection.execute("SELECT data_type FROM duckdb_columns()").fetchall())
    return sorted(found)


@pytest.fixture(scope="module")
def types() -> list[str]:
    with duckdb.connect() as connection:
        return described(connection)


def test_numbers_and_times_have_a_kind(types: list[str]) -> None:
    assert len(types) > 30
    for name in types:
        plain = not name.endswith("]") and "(" not in name.replace("DECIMAL(", "")
        assert (kind_of(name) in (Kind.DATE, Kind.TIMESTAMP, Kind.TIME)) == (
            plain and name.startswith(("DATE", "TIME"))
        )
        assert is_number(name) == (
            plain and ("INT" in name.replace("INTERVAL", "") or name[:3] in ("FLO", "DOU", "DEC", "BIG"))
        )


def test_intervals_have_an_order_but_no_bounds_between_them(types: list[str]) -> None:
    bounded = {name for name in types if wide_type(name) is not None}
    assert {name for name in types if is_ordered(name)} - bounded == {"INTERVAL"}
    assert not bounded & set(NESTED)
