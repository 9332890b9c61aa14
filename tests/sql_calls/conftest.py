"""What the tests of the calls share."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

import ppdm_sql
from ppdm_sql import examples
from ppdm_sql.engine import Engine


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    """The example tables in memory, with everything registered."""
    with duckdb.connect() as connection:
        examples.write(Engine(connection))
        ppdm_sql.register(connection)
        yield connection
        ppdm_sql.unregister(connection)
