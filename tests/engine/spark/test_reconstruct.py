"""Histograms counted in Spark, and what is reconstructed from them, equal those of DuckDB."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from spark_tables import ODD

from ppdm_sql import Database
from ppdm_sql.errors import InvalidSource, PpdmError
from ppdm_sql.methods.perturbation.histograms import Bins, histograms
from ppdm_sql.methods.perturbation.reconstruction import Grid
from ppdm_sql.sources import given

pytestmark = pytest.mark.spark
Parquet = Callable[[str, str], str]

NOISY = f"""
SELECT
    CASE WHEN i % 97 = 0 THEN NULL WHEN i % 89 = 0 THEN 'NaN' WHEN i % 1999 = 0 THEN 'inf'
        WHEN i % 1997 = 0 THEN '-inf' WHEN i = 7 THEN -0.0 WHEN i = 8 THEN 1e300
        ELSE 60 * sqrt(i % 500) / sqrt(500) + (i * 7919 % 1000) / 40 - 12.5 END::DOUBLE AS x,
    (i % 40 + i // 40 % 3 - 1)::DECIMAL(9,2) AS "{ODD.replace('"', '""')}",
    CASE i % 5 WHEN 0 THEN 'a' WHEN 1 THEN 'A' WHEN 2 THEN 'é' WHEN 3 THEN 'a ' END AS job,
    CASE WHEN i % 11 = 0 THEN 1e20 WHEN i % 2 = 0 THEN 0.5 ELSE 1e-7 END::DOUBLE AS level,
    CASE WHEN i % 7 = 0 THEN NULL ELSE i % 3 END::SMALLINT AS class
FROM range(6000) r(i)
"""
NOISE = {
    "x": "uniform 12.5",
    ODD: "gaussian 2 rounded",
    "job": "retain 0.7 of a,A,é,'a '",
    "level": "retain 0.5",
}
RANGES = {"x": (0, 60), ODD: (0, 39)}


@pytest.fixture
def both(ledger: Database, parquet: Parquet) -> tuple[str, str]:
    """The same records in DuckDB and in Spark."""
    folder = parquet("noisy", NOISY)
    ledger.engine.write(f"CREATE TABLE here AS FROM '{folder}/*.parquet'", step="test")
    return "here", folder


@pytest.mark.parametrize("by", [None, "class", "job"])
def test_histograms_are_equal(ledger: Database, both: tuple[str, str], by: str | None) -> None:
    engine = ledger.engine
    bins: dict[str, Bins] = {"x": Grid(0.0, 1.5, 40), ODD: Grid(3.0, 1.0, 20), "level": ("1e+20", "0.5")}
    found = []
    for source in both:
        with engine.workspace(), given(engine, source, elsewhere=True) as name:
            counted = histograms(engine, engine.find(name), bins, by)
        cells = {
            name: [(each.counts.tolist(), each.outside, each.nulls) for each in items]
            for name, items in counted.by_column.items()
        }
        found.append((cells, counted.classes))
    assert found[0] == found[1]
    assert sum(each[2] for each in found[0][0]["x"]) > 100  # NULL and NaN


@pytest.mark.parametrize("by", [None, "class"])
def test_what_is_reconstructed_is_equal(ledger: Database, both: tuple[str, str], by: str | None) -> None:
    tables: list[Any] = []
    for source, into in zip(both, ("d1", "d2"), strict=True):
        ledger.reconstruct(source, into=into, noise=NOISE, ranges=RANGES, by_class=by)
        tables.append(ledger.engine.query(f"SELECT * FROM {into} ORDER BY ALL", step="test"))
    assert tables[0] == tables[1] and len(tables[0]) > 50


def test_only_what_is_counted_is_read(ledger: Database, spark_session: Any) -> None:
    spark_session.sql(
        "CREATE OR REPLACE TEMP VIEW more AS SELECT id * 1.0D AS x, array(1) AS odd FROM range(500)"
    )
    found = ledger.reconstruct("more", into="d", noise={"x": "uniform 30"}, ranges={"x": (0, 499)})
    assert found.distributions[0].records == 500


def test_faults_of_the_table_are_the_same(ledger: Database, spark_session: Any) -> None:
    spark_session.sql(
        "CREATE OR REPLACE TEMP VIEW many AS SELECT id AS c, 1.0D AS x, 'q' AS t FROM range(30000)"
    )
    noise, ranges = {"x": "uniform 3"}, {"x": (0, 10)}
    with pytest.raises(PpdmError, match="30000 values, too many for classes"):
        ledger.reconstruct("many", into="d", noise=noise, ranges=ranges, by_class="c")
    with pytest.raises(InvalidSource, match="cannot come from"):
        ledger.reconstruct("many", into="d", noise=noise, ranges={"x": (50, 60)})
    with pytest.raises(InvalidSource, match="'t' holds no numbers"):
        ledger.reconstruct("many", into="d", noise={"t": "uniform 3"}, ranges={"t": (50, 60)})
    spark_session.sql("CREATE OR REPLACE TEMP VIEW nobody AS SELECT * FROM many WHERE c < 0")
    with pytest.raises(InvalidSource, match="no values"):
        ledger.reconstruct("nobody", into="d", noise=noise, ranges=ranges)
