"""One process, several hands: threads on one connection, cursors that meet, results that are not read."""

from __future__ import annotations

import threading
from collections.abc import Callable

import duckdb
import pytest

import ppdm_sql
from ppdm_sql.engine import Engine
from ppdm_sql.errors import Conflict, EngineError

PEOPLE = """
CREATE TABLE people AS
SELECT 'job ' || i % 7 AS job, 'town ' || i % 3 AS town, if(i % 5 < 2, 'a', 'b') AS class
FROM range(840) AS r (i)
"""


@pytest.fixture
def connection() -> duckdb.DuckDBPyConnection:
    found = duckdb.connect()
    found.execute(PEOPLE)
    return found


def at_once(*works: Callable[[], None]) -> list[Exception]:
    """Do all of it on threads of their own, and give what went wrong."""
    failures: list[Exception] = []

    def guarded(work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return failures


def test_threads_share_an_engine(connection: duckdb.DuckDBPyConnection) -> None:
    engines = Engine(connection), Engine(connection)

    def ask(number: int) -> Callable[[], None]:
        def asking() -> None:
            for turn in range(150):
                wanted = number * 1000 + turn
                query = "SELECT $n AS a, range AS b FROM range($rows)"
                got = engines[number % 2].query(query, {"n": wanted, "rows": 1 + number}, step="ask")
                assert got == [(wanted, row) for row in range(1 + number)]

        return asking

    assert at_once(*(ask(number) for number in range(4))) == []


def test_threads_share_a_database(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("SET default_order = 'DESC'")
    db, same = ppdm_sql.open(connection), ppdm_sql.open(connection)

    def audits() -> None:
        for _ in range(5):
            assert same.audit("people", ["k >= 120 on job"]).holds
            assert not same.audit("people", ["k >= 121 on job"]).holds

    def releases(number: int) -> Callable[[], None]:
        def releasing() -> None:
            for turn in range(2):
                into = f"safe_{number}_{turn}"
                db.suppress("people", ["k >= 40 on job, town"], class_column="class", into=into)
                assert db.release(into).verify().holds

        return releasing

    assert at_once(audits, releases(1), releases(2), audits) == []
    assert len(db.releases()) == 4
    assert connection.execute("SELECT current_setting('default_order')").fetchall()[0][0].startswith("DESC")


def test_cursors_that_meet_publish_one_after_the_other(connection: duckdb.DuckDBPyConnection) -> None:
    barrier = threading.Barrier(4)

    def release(number: int) -> Callable[[], None]:
        db = ppdm_sql.open(connection.cursor())

        def releasing() -> None:
            barrier.wait()
            db.suppress("people", ["k >= 40 on job"], class_column="class", into=f"safe_{number}")

        return releasing

    assert at_once(*(release(number) for number in range(4))) == []
    assert len(ppdm_sql.open(connection).releases()) == 4


def test_a_conflict_is_tried_again_and_then_a_sentence(
    connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ppdm_sql.engine.duckdb_engine.SECONDS_TO_NEXT_TRY", 0.001)
    other, tries = connection.cursor(), list[int]()
    engine = Engine(connection)
    other.execute("BEGIN")
    other.execute("CREATE TABLE made AS SELECT 1 AS a")

    def make() -> None:
        tries.append(1)
        with engine.transaction():
            engine.write("CREATE TABLE made AS SELECT 2 AS a", step="make")

    with pytest.raises(Conflict, match="nothing was written") as caught:
        engine.alone(make)
    assert "TransactionException" not in str(caught.value)
    assert len(tries) > 1
    other.execute("ROLLBACK")
    engine.alone(make)
    assert connection.execute("FROM made").fetchall() == [(2,)]


def test_two_that_want_one_name(connection: duckdb.DuckDBPyConnection) -> None:
    def release() -> None:
        db = ppdm_sql.open(connection.cursor())
        db.suppress("people", ["k >= 40 on job"], class_column="class", into="safe")

    failures = at_once(release, release, release)
    assert [type(failure).__name__ for failure in failures] == ["NameTaken"] * 2


def test_a_call_runs_beside_an_unread_reader(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("CREATE TABLE big AS SELECT range AS a FROM range(1000000)")
    unread = connection.execute("FROM big").to_arrow_reader(100)
    try:
        connection.execute("SELECT 1")
    except duckdb.Error:
        pass
    else:
        pytest.skip("this DuckDB lets go of an unread result")
    db = ppdm_sql.open(connection)
    with pytest.warns(ppdm_sql.PpdmWarning, match="ran on a connection beside it"):
        assert db.releases() == []
    with pytest.warns(ppdm_sql.PpdmWarning, match="neither temporary tables"):
        release = db.suppress("people", ["k >= 40 on job"], class_column="class", into="safe")
    with pytest.warns(ppdm_sql.PpdmWarning):
        assert db.audit(unread, ["k on a"]).findings[0].classes == 1_000_000
    assert unread.schema.names == ["a"]
    assert release.relation().fetchall()
    assert db.audit("people", ["k on job"]).findings


def test_a_sentence_with_a_cell_is_kept_back(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("CREATE VIEW broken AS SELECT job::INTEGER AS a FROM people")
    with pytest.raises(EngineError, match="engine_text") as caught:
        ppdm_sql.open(connection).audit("broken", ["k >= 2 on a"])
    assert "job" not in str(caught.value)
    assert "--" not in str(caught.value)
    assert "job 0" in caught.value.engine_text
