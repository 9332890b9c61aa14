"""Two workers in processes of their own do what one machine does, and one of them may die on the way."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from spark_server import Cluster, clustered, kill, missing

import ppdm_sql
from ppdm_sql import Database
from ppdm_sql.engine import places
from ppdm_sql.engine.spark import source
from ppdm_sql.methods.trees import train

pytestmark = pytest.mark.spark

PEOPLE = """
    SELECT ['cook', 'clerk', 'boss', NULL][1 + (i * 7) % 4] AS job, 20 + (i * 13) % 50 AS age,
        if(i % 3 = 0, 'yes', 'no') AS ill, if(i % 5 = 0, 'good', 'bad') AS rating, i % 11 AS kept, i AS id
    FROM range(2000) AS r(i)
"""
ASKED: dict[str, Any] = {
    "require": ["k >= 20 on job, age", "job -> ill = yes <= 40%"],
    "class_column": "rating",
    "keep": ["kept"],
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    if why := missing():
        pytest.skip(why)
    with clustered() as started:
        yield started


@pytest.fixture
def db(cluster: Cluster, tmp_path: Path) -> Iterator[Database]:
    """A ledger, with the same people in a table of its own; there are two workers."""
    cluster.hire()
    with ppdm_sql.open(tmp_path / "ledger.duckdb", create=True, spark=cluster.url) as opened:
        opened.engine.connection.execute(f"CREATE TABLE here AS {PEOPLE}")
        yield opened


@pytest.fixture
def people(tmp_path: Path, parquet: Callable[..., str]) -> str:
    folder = parquet("people", f"{PEOPLE} ORDER BY ALL LIMIT 1000")
    rest = Path(parquet("rest", f"FROM ({PEOPLE}) ORDER BY ALL OFFSET 1000")) / "rows.parquet"
    rest.rename(Path(folder) / "more.parquet")
    return folder


def rows(db: Database, table: str) -> list[tuple[Any, ...]]:
    return db.engine.connection.execute(f"SELECT * FROM {table} ORDER BY ALL").fetchall()


def test_two_workers_do_what_one_machine_does_even_where_one_dies_while_rows_are_written(
    db: Database, cluster: Cluster, people: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows are written slowly, so that it has begun to; what is asserted holds at any moment."""
    monkeypatch.setattr("ppdm_sql.release.placing.RECORDS_OF_A_PART", 300)
    monkeypatch.setattr("ppdm_sql.release.placing.MOST_OF_ONE", 7)
    in_order, killed = places._in_order, threading.Event()
    over = threading.Event()

    def slowly(frame: Any, parts: Any) -> Any:
        threading.Thread(target=kill_one, daemon=True).start()
        return in_order(frame, parts).where("reflect('java.lang.Thread', 'sleep', 2L) IS NOT NULL")

    def kill_one() -> None:
        writing = "rows/_temporary/*/_temporary/attempt_*/*.parquet"
        while not over.wait(0.005) and not any(tmp_path.glob(f".ppdm-*/{writing}")):
            pass
        kill(next(worker for worker in cluster.workers.values() if worker.poll() is None))
        killed.set()

    monkeypatch.setattr(places, "_in_order", slowly)
    try:
        made = db.generalize(people, into="safe", to=f"{tmp_path}/safe", **ASKED)
    finally:
        over.set()
    assert killed.wait(60)
    assert made.verify().holds
    assert made.steps() == db.generalize("here", into="safe_here", **ASKED).steps()
    assert rows(db, f"'{tmp_path}/safe/*.parquet'") == rows(db, "safe_here")
    assert len(list((tmp_path / "safe").glob("*.parquet"))) > 1
    assert not list(tmp_path.glob(".ppdm-*"))


NOISE: dict[str, Any] = {
    "noise": {"age": "gaussian 10", "job": "retain 0.7 of cook,clerk,boss"},
    "ranges": {"age": (20, 70)},
    "record": "id",
    "seed": 7,
    "keep": ["id"],
    "allow_identifiers": ["id"],
}


def test_workers_that_die_while_noise_is_drawn_and_behind_that_change_no_number(
    db: Database, cluster: Cluster, people: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One dies as the drawing begins, whose share the other one draws again; that one dies behind it."""
    write, keep = places.FolderOfRows.write_drawn, source.kept
    first, other = (worker for worker in cluster.workers.values() if worker.poll() is None)

    def without_the_first(*given: Any) -> Any:
        killer = threading.Timer(0.2, kill, [first])
        killer.start()
        try:
            return keep(*given)
        finally:
            killer.join()

    def without_the_other(self: Any, *given: Any) -> None:
        cluster.hire()
        kill(other)
        write(self, *given)

    monkeypatch.setattr(source, "kept", without_the_first)
    monkeypatch.setattr(places.FolderOfRows, "write_drawn", without_the_other)
    made_there = db.randomize(people, into="noisy", to=f"{tmp_path}/noisy", **NOISE)
    assert first.poll() is not None and made_there.verify().holds
    monkeypatch.undo()
    db.randomize("here", into="noisy_here", **NOISE)
    assert rows(db, f"'{tmp_path}/noisy/*.parquet'") == rows(db, "noisy_here")
    assert not list(tmp_path.glob(".ppdm-*"))


def test_train_goes_on_where_all_workers_are_lost_between_levels(
    db: Database, cluster: Cluster, people: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = train.counts_elsewhere

    def after_all_workers_died(*given: Any, **named: Any) -> Any:
        monkeypatch.undo()
        for worker in cluster.workers.values():
            kill(worker)
        cluster.hire()
        return counted(*given, **named)

    monkeypatch.setattr(train, "counts_elsewhere", after_all_workers_died)
    asked: dict[str, Any] = {"class_column": "rating", "mode": "original", "columns": ["job"]}
    assert db.train(people, into="tree", **asked).tree() == db.train("here", into="t", **asked).tree()
