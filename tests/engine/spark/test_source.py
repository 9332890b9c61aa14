"""A table of Spark is found, described and collapsed as its twin in DuckDB is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from spark_tables import EDGES

from ppdm_sql import Database
from ppdm_sql.engine.spark import handover
from ppdm_sql.engine.spark.session import SparkPlace
from ppdm_sql.engine.spark.source import SparkSource
from ppdm_sql.engine.types import fetchable
from ppdm_sql.errors import InvalidSource, PpdmError, UnknownTable

pytestmark = pytest.mark.spark
Parquet = Callable[[str, str], str]


@pytest.fixture
def edges(parquet: Parquet) -> str:
    return parquet("edges", EDGES)


def test_columns_have_the_types_that_duckdb_gives_the_same_files(spark_place: SparkPlace, edges: str) -> None:
    expected = [row[:2] for row in duckdb.sql(f"DESCRIBE FROM '{edges}/*.parquet'").fetchall()]
    assert [tuple(item) for item in SparkSource(spark_place, edges).columns()] == expected


@pytest.mark.parametrize("is_shared", [False, True])
def test_combinations_and_counts_equal_those_of_duckdb(
    ledger: Database, spark_place: SparkPlace, edges: str, tmp_path: Path, is_shared: bool
) -> None:
    place = SparkPlace(spark_place.session)
    place.shared = tmp_path if is_shared else None
    source = SparkSource(place, edges)
    names = [item.name for item in source.columns() if item.name != "n"]
    with ledger.engine.workspace():
        for wanted in (["text"], ["real", "single"], ["exact", "day", "moment"]):
            table = source.counted(ledger.engine, wanted, None).table
            assert collected(ledger, str(table)) == grouped(edges, wanted, "count(*)", "true")
        counted = source.counted(ledger.engine, names, "n")
        assert counted.count == "n"
        assert collected(ledger, str(counted.table)) == grouped(edges, names, "sum(n)::BIGINT", "n > 0")


def test_times_are_handed_over_as_they_are_whatever_the_settings_of_the_session_say(
    ledger: Database, spark_place: SparkPlace, parquet: Parquet, tmp_path: Path
) -> None:
    moments = (
        "SELECT unnest([TIMESTAMPTZ '1500-01-01 01:02:03.000004+00', '2020-06-01 12:00+00', NULL]) AS moment,"
        " unnest([DATE '0001-01-01', '1582-10-10', '9999-12-31']) AS day"
    )
    folder, name = parquet("moments", moments), "spark.sql.parquet.outputTimestampType"
    place = SparkPlace(spark_place.session)
    place.shared = tmp_path
    before = place.session.conf.get(name)
    place.session.conf.set(name, "INT96")
    ledger.engine.connection.execute("SET TimeZone = 'Asia/Kolkata'")
    try:
        with ledger.engine.workspace():
            table = SparkSource(place, folder).counted(ledger.engine, ["moment", "day"], None).table
            read = collected(ledger, f"(SELECT epoch_us(moment), day FROM {table})")
        assert place.session.conf.get(name) == "INT96"
    finally:
        place.session.conf.set(name, before)
    assert read == collected(ledger, f"(SELECT epoch_us(moment), day FROM '{folder}/*.parquet')")


def test_what_is_written_to_another_disk_is_missed(
    ledger: Database, spark_place: SparkPlace, edges: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = SparkPlace(spark_place.session)
    place.shared = tmp_path / "staging"
    place.shared.mkdir()
    written = handover.written

    def partly(place: SparkPlace, frame: Any, folder: Path) -> int:
        number = written(place, frame.repartition(2), folder)
        sorted(folder.glob("*.parquet"), key=lambda file: file.stat().st_size)[-1].unlink()
        return number

    monkeypatch.setattr(handover, "written", partly)
    with ledger.engine.workspace(), pytest.raises(PpdmError, match="does not see"):
        SparkSource(place, edges).counted(ledger.engine, ["text", "exact"], None)
    assert not list(place.shared.iterdir())


def test_types_of_the_collapsed_table_are_those_of_the_columns(
    ledger: Database, spark_place: SparkPlace, edges: str
) -> None:
    source = SparkSource(spark_place, edges)
    with ledger.engine.workspace():
        names = [item.name for item in source.columns()]
        counted = source.counted(ledger.engine, names, None)
        columns = ledger.engine.columns(counted.table)
        assert columns[:-1] == source.columns()
        assert columns[-1] == (counted.count, "BIGINT")


def test_an_empty_table_has_no_combinations(
    ledger: Database, spark_place: SparkPlace, parquet: Parquet
) -> None:
    source = SparkSource(spark_place, parquet("empty", "SELECT 1 AS a, 'x' AS b LIMIT 0"))
    with ledger.engine.workspace():
        assert collected(ledger, str(source.counted(ledger.engine, ["a", "b"], None).table)) == []


def test_many_combinations_arrive_whole(ledger: Database, spark_place: SparkPlace, parquet: Parquet) -> None:
    many = parquet("many", "SELECT i AS id, repeat('é', (i % 50)::INT) AS t FROM range(60000) r(i)")
    with ledger.engine.workspace():
        table = SparkSource(spark_place, many).counted(ledger.engine, ["id", "t"], None).table
        found = ledger.engine.query(
            f"SELECT count(*), sum(ppdm_records), bit_xor(hash(id, t)) FROM {table}", step="test"
        )
    expected = duckdb.sql(f"SELECT count(*), count(*), bit_xor(hash(id, t)) FROM '{many}/*.parquet'")
    assert found == expected.fetchall()


def test_a_table_of_the_catalogue_is_found_by_any_spelling(
    spark_place: SparkPlace, spark_session: Any
) -> None:
    spark_session.sql("CREATE SCHEMA IF NOT EXISTS shop")
    spark_session.sql("CREATE OR REPLACE TEMP VIEW `odd view` AS SELECT 1 AS a")
    spark_session.sql("DROP TABLE IF EXISTS shop.people")
    spark_session.sql("CREATE TABLE shop.people USING parquet AS SELECT 1 AS a, CAST('b' AS CHAR(3)) AS b")
    for name in ("shop.people", "spark_catalog.shop.people", "`shop`.`people`", 'shop."people"'):
        assert SparkSource(spark_place, name).columns() == [("a", "INTEGER"), ("b", "VARCHAR")]
    assert SparkSource(spark_place, "odd view").columns() == [("a", "INTEGER")]


@pytest.mark.parametrize(
    "name", ["nowhere", "no.body", "a.b.c", "no`body`", "/no/where", "x.parquet", "; DROP"]
)
def test_what_is_not_there_is_said_to_be_unknown(spark_place: SparkPlace, name: str) -> None:
    with pytest.raises(PpdmError) as raised:
        SparkSource(spark_place, name)
    assert isinstance(raised.value, UnknownTable) or "`" in name


REFUSED = {
    "array": "array(1)",
    "map": "map('k', 1)",
    "struct": "named_struct('k', 1)",
    "interval day": "INTERVAL 1 DAY",
    "UTF8_LCASE": "'x' COLLATE UTF8_LCASE",
    "UNICODE_CI": "'x' COLLATE UNICODE_CI",
    "void": "NULL",
    "variant": "parse_json('1')",
}
"""Values whose types do not map, by what is said of them."""


def test_a_type_that_does_not_map_is_refused_where_it_is_read(ledger: Database, spark_session: Any) -> None:
    odd = ", ".join(f"{value} AS odd{place}" for place, value in enumerate(REFUSED.values()))
    spark_session.sql(f"CREATE OR REPLACE TEMP VIEW refused AS SELECT {odd}, 'x' AS fine")
    assert ledger.audit("refused", ["k on fine"]).findings[0].classes == 1
    looked = ledger.audit("refused")
    assert looked.profile is not None and [item.column for item in looked.profile.columns] == ["fine"]
    for place, word in enumerate(REFUSED):
        assert any(f"odd{place}" in text for text in looked.notices)
        with pytest.raises(InvalidSource, match=f"'odd{place}' of refused has the .*{word}"):
            ledger.audit("refused", [f"k on odd{place}"])


def test_columns_that_differ_by_case_are_refused(spark_place: SparkPlace, spark_session: Any) -> None:
    spark_session.conf.set("spark.sql.caseSensitive", "true")
    try:
        spark_session.sql("CREATE OR REPLACE TEMP VIEW twice AS SELECT 1 AS a, 2 AS A")
        with pytest.raises(InvalidSource, match="two columns called"):
            SparkSource(spark_place, "twice")
    finally:
        spark_session.conf.unset("spark.sql.caseSensitive")


def test_files_that_change_while_they_are_read_are_an_error(
    ledger: Database, spark_place: SparkPlace, edges: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = SparkSource.counted

    def disturbed(self: SparkSource, *args: Any) -> Any:
        found = counted(self, *args)
        duckdb.sql(EDGES).write_parquet(f"{edges}/more.parquet")
        return found

    assert ledger.audit(edges, ["k on text"]).findings[0].reached == 1
    monkeypatch.setattr(SparkSource, "counted", disturbed)
    with pytest.raises(InvalidSource, match="changed while it was read"):
        ledger.audit(edges, ["k on text"])


def test_a_snapshot_tells_files_of_the_same_name_apart(spark_place: SparkPlace, parquet: Parquet) -> None:
    folder = parquet("seen", "SELECT 1 AS a")
    before = SparkSource(spark_place, folder).snapshot()
    assert before and SparkSource(spark_place, folder).snapshot() == before
    duckdb.sql("SELECT 2 AS a, 3 AS b").write_parquet(f"{folder}/rows.parquet")
    assert SparkSource(spark_place, folder).snapshot() != before


def test_a_name_in_both_places_is_not_guessed(ledger: Database, spark_session: Any) -> None:
    spark_session.sql("CREATE OR REPLACE TEMP VIEW twofold AS SELECT 1 AS a")
    ledger.engine.write("CREATE TABLE twofold (a INTEGER)", step="test")
    with pytest.raises(UnknownTable, match="of Spark and one of the DuckDB file"):
        ledger.audit("twofold", ["k on a"])


def test_tables_of_the_ledger_are_still_found(ledger: Database) -> None:
    ledger.engine.write("CREATE TABLE mine AS SELECT 1 AS a", step="test")
    assert ledger.audit("mine", ["k on a"]).findings[0].reached == 1


def test_nothing_is_left_in_either_place(ledger: Database, spark_session: Any, edges: str) -> None:
    spark_session.sql("CREATE OR REPLACE TEMP VIEW just AS SELECT id % 2 AS a, id % 3 AS b FROM range(9)")
    before = (ledger.engine.tables(), spark_session.catalog.listTables(), spark_session.getTags())
    ledger.audit(edges, ["k on text, small"], groups=3)
    ledger.audit("just")
    assert (ledger.engine.tables(), spark_session.catalog.listTables(), spark_session.getTags()) == before
    assert not ledger.engine.sources and not ledger.engine.given


def test_files_whose_path_is_odd_are_read(ledger: Database, parquet: Parquet) -> None:
    folder = parquet("é `a' \"b 100%.parquet", "SELECT i % 2 AS a FROM range(8) r(i)")
    assert ledger.audit(folder, ["k on a"]).findings[0].reached == 4


def test_hostile_names_of_columns_reach_spark_as_numbers(ledger: Database, parquet: Parquet) -> None:
    names = ["x.y", "a`b", "{z}", "S e;--", "ppdm_records", 'q"q', "c0"]
    listed = ", ".join('1 AS "' + name.replace('"', '""') + '"' for name in names)
    folder = parquet("hostile", f"SELECT {listed}, 3 AS n FROM range(9)")
    for count, records in ((None, 9), ("n", 27)):
        found = ledger.audit(folder, by=names, count_column=count).class_sizes[0]
        assert found.sizes == ((records, 1, records),)


def test_a_file_of_texts_is_read_here_beside_spark(ledger: Database, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("a\nx\nx\n")
    assert ledger.audit(str(tmp_path / "rows.csv"), ["k on a"]).findings[0].reached == 2


def grouped(folder: str, names: list[str], count: str, where: str) -> list[str]:
    """Collapse in DuckDB, whose equality the package relies on."""
    keys = ", ".join('"' + name.replace('"', '""') + '"' for name in names)
    found = duckdb.sql(f"SELECT {keys}, {count} FROM '{folder}/*.parquet' WHERE {where} GROUP BY ALL")
    readable = fetchable(zip(found.columns, found.types, strict=True))
    return ordered((found.project(readable) if readable else found).fetchall())


def collected(ledger: Database, table: str) -> list[str]:
    return ordered(ledger.engine.query(f"FROM {table}", step="test"))


def ordered(rows: list[tuple[Any, ...]]) -> list[str]:
    """Write rows as texts, so that NaN equals NaN, and sort them; a zero has no sign, as equality sees it."""
    return sorted(
        repr([0.0 if value == 0 and isinstance(value, float) else value for value in row]) for row in rows
    )
