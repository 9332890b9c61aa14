"""The engine: what it does with interrupts, failures while rows are fetched, and parameters shown."""

from __future__ import annotations

import threading

import duckdb
import pytest
from sqlglot import exp

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table, aliased, as_typed
from ppdm_sql.errors import EngineError, UnknownTable


def test_an_interrupted_statement_is_a_keyboard_interrupt() -> None:
    engine = Engine(duckdb.connect())
    timer = threading.Timer(0.3, engine.connection.interrupt)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        engine.query("SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b", step="long")
    timer.join()


def test_a_failure_while_rows_are_fetched_shows_no_cell() -> None:
    engine = Engine(duckdb.connect())
    with pytest.raises(EngineError) as caught:
        engine.query(
            "SELECT CASE WHEN range = 99999 THEN 'secret' ELSE '1' END::INTEGER FROM range(100000)",
            step="cast",
        )
    assert "secret" not in str(caught.value)
    assert "secret" in caught.value.engine_text


def test_the_tracer_is_shown_parameters_and_not_look_ups() -> None:
    engine, seen = Engine(duckdb.connect()), list[str]()
    engine.tracer = seen.append
    engine.query('SELECT $a AS "$a"', {"a": "it's"}, step="one")
    engine.tables()
    assert seen == ["""SELECT 'it''s' AS "$a\""""]


def failing_run(engine: Engine) -> None:
    with engine.workspace():
        engine.materialize("rows", "SELECT 'a' AS x")
        engine.enumerate_values("SELECT 'a'")
        engine.query("SELECT nothing", step="fail")


def test_a_workspace_inside_another_drops_what_it_made_once() -> None:
    engine = Engine(duckdb.connect())
    tried: list[str] = []
    ran = engine._try
    engine._try = lambda sql: tried.append(sql) or ran(sql)  # type: ignore[method-assign]
    with engine.workspace():
        outer = engine.materialize("outer", "SELECT 1 AS a")
        with engine.workspace():
            inner = engine.materialize("inner", "SELECT 2 AS a")
        assert engine.tables() == []
    assert tried == [f"DROP TABLE IF EXISTS {inner}", f"DROP TABLE IF EXISTS {outer}"]
    assert engine.query("SELECT count(*) FROM duckdb_tables()", step="after") == [(0,)]


def failing_transaction(engine: Engine) -> None:
    with engine.transaction(), engine.workspace():
        engine.materialize("inner", "SELECT 2 AS a")
        engine.query("SELECT error('no')", step="fail")


def test_a_working_table_that_cannot_be_dropped_yet_goes_with_the_outer_workspace() -> None:
    engine = Engine(duckdb.connect())
    with engine.workspace():
        with pytest.raises(EngineError):
            failing_transaction(engine)
        engine.materialize("outer", "SELECT 1 AS a")
    assert engine.query("SELECT count(*) FROM duckdb_tables()", step="after") == [(0,)]


def test_a_workspace_leaves_settings_tables_and_types_as_they_were() -> None:
    engine = Engine(duckdb.connect())
    engine.connection.execute("SET default_order = 'DESC'")
    with pytest.raises(EngineError):
        failing_run(engine)
    asked = "SELECT current_setting('default_order'), count(*) FROM duckdb_tables()"
    assert engine.query(asked, step="after") == [("DESC", 0)]
    assert engine.query("SELECT count(*) FROM duckdb_types() WHERE NOT internal", step="types") == [(0,)]


def test_the_size_of_a_working_table_is_what_its_making_told() -> None:
    engine = Engine(duckdb.connect())
    with engine.workspace():
        several = engine.materialize("several", "SELECT * FROM range(2500)")
        none = engine.materialize("none", "SELECT 1 AS a WHERE false")
        assert (engine.size(several), engine.size(none)) == (2500, 0)
    with pytest.raises(KeyError):
        engine.size(several)


@pytest.mark.parametrize("name", ["visits", 'my "visits', "über"])
def test_a_view_that_fails_to_read_is_named_as_it_is_typed(name: str) -> None:
    engine = Engine(duckdb.connect())
    engine.connection.execute("CREATE TABLE base AS SELECT 'Ann' AS who")
    view = Table(name, "main", "memory")
    engine.connection.execute(f"CREATE VIEW {view} AS SELECT who::INTEGER AS who FROM base")
    typed = as_typed(view, engine.current())
    table = engine.find(name)
    with engine.workspace():
        through = engine.overlay(exp.select("who").from_(aliased(table, "s")))
        for read in (table, through):
            with pytest.raises(EngineError) as raised:
                engine.query(f"SELECT max(who) FROM {read}", step="greatest")
            told = f"Reading {typed} failed in the step 'greatest' (ConversionException)."
            assert raised.value.problem == told
            assert raised.value.remedy.startswith(f"Check that FROM {typed} works. ")
            assert "Ann" in raised.value.engine_text
        engine.connection.execute("DROP TABLE base")
        with pytest.raises(EngineError, match="Table with name base does not exist") as raised:
            engine.columns(table)
        assert f"Reading {typed} failed in the step 'columns'" in str(raised.value)


def test_a_failure_that_reads_working_tables_alone_names_none() -> None:
    engine = Engine(duckdb.connect())
    with engine.workspace():
        made = engine.materialize("texts", "SELECT 'Ann' AS who")
        with pytest.raises(EngineError, match=r"^The engine refused the step 'numbers' \(Conv"):
            engine.query(f"SELECT max(who::INTEGER) FROM {made}", step="numbers")


def test_tables_of_other_schemas_are_told_as_they_are_typed() -> None:
    engine = Engine(duckdb.connect())
    engine.connection.execute('CREATE SCHEMA s; CREATE TABLE s."my visits" AS SELECT 1 AS a')
    with pytest.raises(UnknownTable, match=r'Tables here: s\."my visits"\.'):
        engine.find("my visits")
    assert engine.find('s."my visits"').schema == "s"
