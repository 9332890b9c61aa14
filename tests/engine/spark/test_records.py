"""What needs each record does the same with a table of Spark as with its twin in DuckDB."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from commands import ppdm
from spark_tables import ODD

import ppdm_sql
from ppdm_sql import Database, Release
from ppdm_sql.engine.places import FolderOfRows
from ppdm_sql.engine.spark.dialect import to_spark
from ppdm_sql.engine.spark.source import SparkSource
from ppdm_sql.errors import GuaranteeNotMet, InvalidOption, InvalidSource, UnknownTable

pytestmark = pytest.mark.spark
Parquet = Callable[[str, str], str]

PEOPLE = """
SELECT
    i AS id,
    CASE WHEN i % 50 = 0 THEN NULL ELSE 20 + i * 7919 % 60 END::INTEGER AS age,
    1000.0 * (i * 104729 % 90) + i % 7 AS pay,
    ['clerk', 'Clerk', 'nurse ', 'é'][1 + i * 31 % 4] AS job,
    ['Paris', 'Rome', 'Oslo'][1 + i * 17 % 3] AS city,
    CASE WHEN 20 + i * 7919 % 60 > 40 AND i % 3 > 0 THEN 'good' ELSE 'bad' END AS risk
FROM range(3000) r(i)
"""


@pytest.fixture
def both(ledger: Database, parquet: Parquet) -> tuple[str, str]:
    """The same records in DuckDB and in Spark."""
    folder = parquet("people", PEOPLE)
    ledger.engine.write(f"CREATE TABLE here AS FROM '{folder}/*.parquet'", step="test")
    return "here", folder


def rows(ledger: Database, table: str) -> list[tuple[Any, ...]]:
    return ledger.engine.query(f"SELECT * FROM {table} ORDER BY ALL", step="test")


def records(ledger: Database, release: Release) -> list[tuple[Any, ...]]:
    """The rows of a release, one for each record where the ledger has them collapsed."""
    count = release.row().shape("ledger").count
    if count is None:
        return rows(ledger, release.name)
    return rows(ledger, f'(SELECT s.* EXCLUDE ("{count}") FROM {release.name} AS s, range("{count}"))')


def test_noise_is_the_same_for_the_same_key_and_record(
    ledger: Database, both: tuple[str, str], tmp_path: Path
) -> None:
    key = tmp_path / "key"
    key.write_text("0f" * 32)
    key.chmod(0o600)
    for source, into in zip(both, ("r1", "r2"), strict=True):
        made = ledger.randomize(
            source,
            into=into,
            noise={
                "pay": "gaussian 5000",
                "age": "uniform 20 rounded",
                "job": "retain 0.7",
                "city": "retain 0.5",
            },
            ranges={"pay": (0, 90_000), "age": (20, 80)},
            key_file=key,
            record="id",
            class_column="risk",
        )
        assert made.verify().holds
    assert rows(ledger, "r1") == rows(ledger, "r2")
    assert len(rows(ledger, "r2")) == 3000


def test_records_must_be_told_apart(ledger: Database, both: tuple[str, str]) -> None:
    with pytest.raises(InvalidOption, match="--record|no numbers"):
        ledger.randomize(both[1], into="r", noise={"pay": "gaussian 5000"}, seed=1)
    with pytest.raises(InvalidSource, match="does not tell records apart"):
        ledger.randomize(both[1], into="r", noise={"pay": "gaussian 5000"}, seed=1, record="job")
    with pytest.raises(InvalidOption, match="no numbers"):  # age varies in the rows of one city
        ledger.randomize(both[1], into="r", noise={"age": "uniform 20"}, seed=1, person="city")


@pytest.mark.parametrize("count", [None, "n"])
def test_swaps_are_the_same(ledger: Database, parquet: Parquet, count: str | None) -> None:
    number = "" if count is None else ", i % 3 AS n"
    folder = parquet(
        "people",
        f"SELECT ['Paris', 'Rome', 'Oslo'][1 + i * 17 % 3] AS city, i % 40 AS job{number} "
        "FROM range(240) r(i)",
    )
    ledger.engine.write(f"CREATE TABLE here AS FROM '{folder}/*.parquet'", step="test")
    both = "here", folder
    releases = [
        ledger.swap(
            source, into=into, confidential=["city"], by=["job"], seed=3, proportion=0.3, count_column=count
        )
        for source, into in zip(both, ("s1", "s2"), strict=True)
    ]
    assert all(item.verify().holds for item in releases)
    assert records(ledger, releases[0]) == records(ledger, releases[1])
    assert releases[0].measures() == releases[1].measures()
    assert len(rows(ledger, "s2")) < 240  # collapsed, however many records there are


def test_swaps_carry_other_columns_and_persons(ledger: Database, both: tuple[str, str]) -> None:
    asked: dict[str, Any] = {"confidential": ["city"], "by": ["job", "age"], "seed": 3, "proportion": 0.3}
    named = {"keep": ["risk"], "identifiers": {"id": "pseudonym"}}
    for place, more in enumerate(({"keep": ["risk"]}, named, {"person": "id"})):
        here, there = (
            ledger.swap(source, into=f"s{place}{side}", **asked, **more) for side, source in enumerate(both)
        )
        assert there.verify().holds
        if more is named:  # pseudonyms are other ones in each run, and decide which of equal records move
            assert len(records(ledger, there)) == 3000
        else:
            assert records(ledger, there) == records(ledger, here)


def test_predict_of_a_table_in_spark_says_that_it_needs_a_folder(
    ledger: Database, both: tuple[str, str]
) -> None:
    ledger.train(both[0], class_column="risk", into="m", mode="original", columns=["age"])
    with pytest.raises(InvalidOption, match="stay where they live") as refused:
        ledger.predict("m", both[1], into="p")
    assert "--to" in str(refused.value)
    with pytest.raises(UnknownTable):
        ledger.audit("p", ["age"])


def test_noisy_and_swapped_rows_are_written_where_the_records_live(
    ledger: Database, both: tuple[str, str], tmp_path: Path
) -> None:
    noisy, swapped = str(tmp_path / "noisy"), str(tmp_path / "swapped")
    noise, ranges = {"pay": "gaussian 5000"}, {"pay": (0, 90_000)}
    made = [
        ledger.randomize(
            both[1], into="r", noise=noise, ranges=ranges, record="id", keep=["city"], seed=1, to=noisy
        ),
        ledger.swap(both[1], into="s", confidential=["city"], by=["job"], proportion=0.3, seed=1, to=swapped),
    ]
    for release, folder in zip(made, (noisy, swapped), strict=True):
        assert release.verify().holds
        read = ledger.engine.query(f"SELECT * FROM '{folder}/*.parquet' ORDER BY ALL", step="test")
        assert read == records(ledger, release) and len(read) == 3000
    assert len(rows(ledger, "s")) < 3000  # no record by itself in the ledger
    with duckdb.connect() as con:
        con.sql(f"FROM '{swapped}/*.parquet'").write_parquet(f"{swapped}/more.parquet")
    assert not made[1].verify().holds


@pytest.mark.parametrize(
    "fault", ["UPDATE handed SET v0 = v1", "UPDATE handed SET n = n + 1 WHERE place = 1"]
)
def test_a_fault_in_swapped_rows_as_they_are_written_is_refused(
    ledger: Database, both: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    seen = FolderOfRows._seen

    def spoilt(self: FolderOfRows, handed: Path) -> Any:
        with duckdb.connect() as con:
            con.execute(f"CREATE TABLE handed AS FROM '{handed}'; {fault}")
            con.table("handed").write_parquet(str(handed))
        return seen(self, handed)

    monkeypatch.setattr(FolderOfRows, "_seen", spoilt)
    with pytest.raises(GuaranteeNotMet, match="not what the audit accepted"):
        ledger.swap(
            both[1],
            into="s",
            confidential=["city"],
            by=["job"],
            proportion=0.3,
            seed=1,
            to=f"{tmp_path}/safe",
        )
    assert ledger.releases() == [] and not (tmp_path / "safe").exists()
    assert not list(tmp_path.glob(".ppdm*"))


def test_neither_the_key_nor_a_draw_reaches_spark(
    ledger: Database, both: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[str] = []
    frame = SparkSource._frame

    def watched(self: SparkSource, query: Any, step: str) -> Any:
        found = frame(self, query, step)
        sent.append(to_spark(query) + found._explain_string(mode="extended"))
        return found

    monkeypatch.setattr(SparkSource, "_frame", watched)
    key = tmp_path / "key"
    noise, ranges = {"pay": "gaussian 5000"}, {"pay": (0, 90_000)}
    ledger.randomize(both[1], into="r", noise=noise, ranges=ranges, record="id", key_file=key)
    assert len(sent) == 1 and "5000" not in sent[0]
    for word in key.read_text().split():
        assert word not in sent[0]


def test_an_empty_table_is_refused_as_in_duckdb(ledger: Database, parquet: Parquet) -> None:
    nobody = parquet("nobody", f"FROM ({PEOPLE}) LIMIT 0")
    with pytest.raises(InvalidSource, match="has no records"):
        ledger.randomize(nobody, into="r", noise={"pay": "gaussian 5000"}, record="id", seed=1)
    with pytest.raises(InvalidSource):
        ledger.swap(nobody, into="s", confidential=["city"], by=["job"], proportion=0.3)
    assert ledger.releases() == []


def test_persons_get_one_draw_and_hostile_names_are_names(ledger: Database, parquet: Parquet) -> None:
    name = ODD.replace('"', '""')
    visits = f'SELECT i AS id, i % 300 AS "{name}", (i % 300) * 10.0 AS pay FROM range(900) r(i)'
    folder = parquet("visits", visits)
    ledger.engine.write(f"CREATE TABLE here AS {visits}", step="test")
    noise, ranges = {"pay": "gaussian 500"}, {"pay": (0, 3000)}
    for source, into in (("here", "r1"), (folder, "r2")):
        ledger.randomize(source, into=into, noise=noise, ranges=ranges, person=ODD, seed=4)
    assert rows(ledger, "r1") == rows(ledger, "r2")
    assert len({pay for (pay,) in rows(ledger, "r2")}) == 300


def test_the_commands_take_spark_and_show_their_statements(
    spark_url: str, both: tuple[str, str], tmp_path: Path
) -> None:
    file = str(tmp_path / "ledger.duckdb")
    common = [both[1], "--spark", spark_url, "--quiet"]
    noise = ["--noise", "pay=gaussian 5000", "--range", "pay=0,90000"]
    calls = [
        ["randomize", *noise, "--record", "id", "--into", "r", "--seed", "1"],
        ["reconstruct", *noise, "--column", "pay", "--into", "d"],
        ["train", *noise, "--class", "risk", "--columns", "pay", "--into", "m"],
        ["swap", "--confidential", "city", "--by", "job", "--proportion", "0.3", "--into", "s"],
    ]
    for command, *words in calls:
        shown = ppdm(command, file, *common, *words, "--sql")
        assert shown.exit_code == 0 and "PARQUET." in shown.output.upper(), shown.output
        assert not Path(file).exists() or command != "randomize"
        done = ppdm(command, file, *common, *words)
        assert done.exit_code == 0, done.output
    with duckdb.connect(file, read_only=True) as con:
        assert con.sql("SELECT count(*) FROM r").fetchall() == [(3000,)]


def test_shown_views_read_the_folder_that_the_rows_would_get(
    spark_url: str, both: tuple[str, str], tmp_path: Path
) -> None:
    file, folder = str(tmp_path / "ledger.duckdb"), tmp_path / "out"
    common = ["--spark", spark_url, "--quiet"]
    with ppdm_sql.open(file, spark=spark_url, create=True) as db:
        db.train(both[1], class_column="risk", into="m", mode="original", columns=["age"])
    calls = [
        ["predict", file, "m", both[1], "--into", "p"],
        ["randomize", file, both[1], "--noise", "age=uniform 5", "--range", "age=20,80", "--record", "id"]
        + ["--into", "r", "--seed", "1"],
    ]
    for call in calls:
        shown = ppdm(*call, *common, "--to", str(folder), "--sql")
        assert shown.exit_code == 0, shown.output
        (view,) = [text for text in shown.output.split("\n-- ") if "VIEW" in text and "*.parquet" in text]
        assert f"{folder}/*.parquet" in view
        assert not list(tmp_path.glob("*out*"))
