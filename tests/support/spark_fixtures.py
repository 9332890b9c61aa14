"""One Spark for all tests, and what they need of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from spark_server import AS_USUAL, SHARED, missing, served
from spark_twins import PORTABLE, noted

import ppdm_sql
from ppdm_sql import Database
from ppdm_sql.engine.spark.session import SparkPlace, connect


@pytest.fixture(scope="session")
def spark_url() -> Iterator[str]:
    if why := missing():
        pytest.skip(why)
    if url := os.environ.get(SHARED):
        yield url  # one for several processes, or one that runs already while tests are written
        return
    with served() as url:
        yield url


@pytest.fixture(scope="session")
def spark_place(spark_url: str) -> Iterator[SparkPlace]:
    """Reaches the Spark of all tests, and ends with a look at the steps that all of them have sent."""
    place, sent = connect(spark_url), set[str]()
    with noted(sent):
        yield place
    place.close()
    assert sent <= PORTABLE, f"steps that no test holds against DuckDB: {sent - PORTABLE}"


@pytest.fixture
def spark_session(spark_place: SparkPlace) -> Any:
    return spark_place.session


@pytest.fixture
def plans_as_usual(spark_session: Any) -> Iterator[None]:
    """Let plans be compiled and planned anew, as Spark does where nobody says otherwise."""
    before = {name: spark_session.conf.get(name) for name in AS_USUAL}
    for name, value in AS_USUAL.items():
        spark_session.conf.set(name, value)
    yield
    for name, value in before.items():
        spark_session.conf.set(name, value)


@pytest.fixture
def ledger(spark_place: SparkPlace) -> Iterator[Database]:
    """A ledger in memory beside the Spark of all tests."""
    with ppdm_sql.open(":memory:") as opened:
        opened.engine.spark = SparkPlace(spark_place.session)
        yield opened


@pytest.fixture
def parquet(tmp_path: Path) -> Callable[[str, str], str]:
    """Writes the rows of a SELECT of DuckDB into a folder of Parquet that Spark reads."""

    def write(name: str, select: str, connection: Any = duckdb) -> str:
        folder = tmp_path / name
        folder.mkdir()
        connection.sql(select).write_parquet(str(folder / "rows.parquet"))
        return str(folder)

    return write
