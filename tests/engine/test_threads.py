from __future__ import annotations

import contextlib
from collections.abc import Callable

import duckdb
import pytest

import ppdm_sql as ppdm
from ppdm_sql.engine import Engine
from ppdm_sql.engine.threads import ROWS_OF_A_THREAD, SpareThreads, known_rows
from ppdm_sql.errors import EngineError, PpdmError


@pytest.fixture
def engine() -> Engine:
    return Engine(duckdb.connect(config={"threads": 3}))


def threads(engine: Engine) -> int:
    ((number,),) = engine.query("SELECT current_setting('threads')", step="threads")
    return int(number)


@pytest.mark.parametrize(
    ("rows", "inside"), [(None, 3), (1, 1), (ROWS_OF_A_THREAD - 1, 1), (ROWS_OF_A_THREAD, 3)]
)
def test_few_rows_are_worked_on_by_one_thread_and_the_number_comes_back(
    engine: Engine, rows: int | None, inside: int
) -> None:
    with SpareThreads(engine) as spare:
        spare.lower(rows)
        assert threads(engine) == inside
    assert threads(engine) == 3


def test_the_number_comes_back_after_a_failed_transaction_which_takes_no_statement(engine: Engine) -> None:
    def fail() -> None:
        with SpareThreads(engine) as spare, engine.snapshot():
            spare.lower(1)
            engine.query("SELECT error('no')", step="fails")

    with pytest.raises(EngineError):
        fail()
    assert threads(engine) == 3


def test_a_working_table_of_few_rows_gives_threads_up_only_while_it_is_worked_on(engine: Engine) -> None:
    with engine.workspace(), SpareThreads(engine) as spare, engine.snapshot():
        table = engine.materialize("few", "SELECT 1 AS a")
        with spare.over(table):
            assert threads(engine) == 1
        assert threads(engine) == 3
        spare.lower(1)
        with spare.over(table):
            pass
        assert threads(engine) == 1  # as the whole run works on few rows


def test_only_one_run_at_a_time_changes_the_number(engine: Engine) -> None:
    with SpareThreads(engine) as outer, SpareThreads(engine) as inner:
        inner.lower(1)
        assert threads(engine) == 3
        outer.lower(1)
        assert threads(engine) == 1
    assert threads(engine) == 3


def test_nothing_is_changed_outside_of_the_context_or_where_settings_are_locked(engine: Engine) -> None:
    SpareThreads(engine).lower(1)
    assert threads(engine) == 3
    engine.query("SET lock_configuration = true", step="lock")
    with SpareThreads(engine) as spare:
        spare.lower(1)
    assert threads(engine) == 3


def test_the_rows_of_a_view_and_of_an_empty_table_are_not_known(engine: Engine) -> None:
    engine.connection.execute('CREATE TABLE "odd \'name" AS FROM range(5)')
    engine.connection.execute("CREATE VIEW seen AS FROM range(5)")
    engine.connection.execute("CREATE TABLE nothing (a INTEGER)")
    assert known_rows(engine, engine.find('"odd \'name"')) == 5
    assert known_rows(engine, engine.find("seen")) is None
    assert known_rows(engine, engine.find("nothing")) is None


def _suppress(db: ppdm.Database) -> None:
    db.suppress("visits", ["k >= 2 on a"], into="safe")


def _refused(db: ppdm.Database) -> None:
    db.suppress("visits", ["k >= 200 on a"], into="safe")


def _swap(db: ppdm.Database) -> None:
    db.swap("visits", confidential="b", by=["a"], proportion=0.5, share=(0, 1), into="safe", seed=1)


@pytest.mark.parametrize("run", [_suppress, _refused, _swap])
@pytest.mark.filterwarnings("ignore::ppdm_sql.PpdmWarning")
def test_a_run_leaves_the_number_of_threads_as_it_was(run: Callable[[ppdm.Database], None]) -> None:
    con = duckdb.connect(config={"threads": 2})
    con.execute("CREATE TABLE visits AS SELECT i % 7 AS a, i % 2 AS b FROM range(40) AS r(i)")
    with ppdm.open(con) as db, contextlib.suppress(PpdmError):
        run(db)
    assert con.execute("SELECT current_setting('threads')").fetchone() == (2,)
