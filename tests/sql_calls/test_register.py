"""The calls that ``ppdm_sql.register`` puts on a connection."""

from __future__ import annotations

import gc
import inspect
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import duckdb
import pytest

import ppdm_sql
from ppdm_sql import examples
from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import quoted
from ppdm_sql.options import Option
from ppdm_sql.sql_calls import registering
from ppdm_sql.sql_calls.calls import CALLS, value
from ppdm_sql.sql_calls.running import SECONDS_TO_PLAN

SUPPRESS = """ppdm_suppress('customers', 'safe',
    require := ['Job, Country -> Bankruptcy = Discharged <= 50%'], class := 'Rating', count := 'n',
    score := 'paper')"""
PEOPLE = "CALL ppdm_generate_agrawal('people', function := 2, rows := 400, seed := 1)"
NOISY = """CALL ppdm_randomize('people', 'noisy', noise := {'salary': 'gaussian 50%'}, class := 'class',
    range := {'salary': [20000, 150000]}, seed := 1)"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The example tables in a file."""
    path = tmp_path / "bank.duckdb"
    with duckdb.connect(str(path)) as connection:
        examples.write(Engine(connection))
    return path


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the calls that have run."""
    done: list[str] = []
    run = registering.run

    def counted(call: Any, *given: Any) -> Any:
        done.append(call.name)
        return run(call, *given)

    monkeypatch.setattr(registering, "run", counted)
    return done


def rows(con: duckdb.DuckDBPyConnection, sql: str, *params: object) -> list[tuple[Any, ...]]:
    return con.execute(sql, list(params)).fetchall() if params else con.execute(sql).fetchall()


def refused(con: duckdb.DuckDBPyConnection, sql: str, *, words: str) -> str:
    with pytest.raises(duckdb.Error) as error:
        rows(con, sql)
    text = str(error.value)
    assert words in text
    assert "Traceback" not in text
    assert ".py" not in text
    return text


def row_of(con: duckdb.DuckDBPyConnection, sql: str) -> dict[str, Any]:
    found = con.execute(sql)
    names = [item[0] for item in found.description]
    (row,) = found.fetchall()
    return dict(zip(names, row, strict=True))


# -- every call -------------------------------------------------------------------------------


def test_suppress_returns_what_it_made_and_the_measures_that_matter(con: duckdb.DuckDBPyConnection) -> None:
    made = row_of(con, f"CALL {SUPPRESS}")
    assert list(made) == ["release", "method", "rows", "verdict", "measures"]
    assert list(made.values())[:4] == ["safe", "PDA", 24, "verified"]
    ((hidden,),) = rows(con, "SELECT after FROM ppdm.measures WHERE measure = 'suppressed cells'")
    confidence = "confidence: Job, Country -> Bankruptcy = Discharged <= 50%: 0.8 -> 0.5"
    worth = [f"detail kept: 1 -> {1 - hidden:.6g}", "columns that show something: 2 -> 2"]
    assert made["measures"] == [confidence, *worth]


def test_a_call_says_that_a_run_was_stopped_early(con: duckdb.DuckDBPyConnection) -> None:
    made = row_of(con, f"CALL {SUPPRESS.removesuffix(')')}, max_steps := 1)")
    assert made["verdict"] == "verified, stopped early (max-steps)"


def test_a_call_makes_what_the_method_of_python_makes(con: duckdb.DuckDBPyConnection) -> None:
    rows(con, f"CALL {SUPPRESS}")
    ppdm_sql.open(con).suppress(
        "customers",
        ["Job, Country -> Bankruptcy = Discharged <= 50%"],
        class_column="Rating",
        count_column="n",
        score="paper",
        into="other",
    )
    assert rows(con, "FROM safe") == rows(con, "FROM other")


def test_generalize_takes_taxonomies_ranges_and_lists(con: duckdb.DuckDBPyConnection) -> None:
    rows(con, PEOPLE)
    made = row_of(
        con,
        """CALL ppdm_generalize('people', 'general', require := 'k >= 5 on age, car', class := 'class',
            range := {'age': [20, 81]}, suppress := 'car', interval_columns := true, keep := ['elevel'])""",
    )
    assert made["method"] == "TDS"
    columns = [row[0] for row in rows(con, "DESCRIBE general")]
    assert {"age", "age_lower", "age_upper", "car", "elevel", "class"} == set(columns)
    taxonomy = "{'Job': {'any': {'art': ['Artist', 'Doctor'], 'other': ['Clerk', 'Cook', 'Trader']}}}"
    rows(
        con,
        f"""CALL ppdm_generalize('customers', 'jobs', require := 'k >= 4 on Job', class := 'Rating',
            count := 'n', taxonomy := {taxonomy})""",
    )
    assert rows(con, "SELECT sum(n) FROM jobs") == [(24,)]


def test_swap_takes_shares_by_column(con: duckdb.DuckDBPyConnection) -> None:
    made = row_of(
        con,
        """CALL ppdm_swap('policies', 'swapped', confidential := 'Amount', seed := 1,
            by := ['Age', 'Gender', 'Location'], proportion := {'Amount': '50%'}, share := [0, 1],
            per_group := 1)""",
    )
    assert (made["release"], made["method"]) == ("swapped", "swap")


def test_randomize_reconstruct_and_train_follow_each_other(con: duckdb.DuckDBPyConnection) -> None:
    rows(con, PEOPLE)
    assert row_of(con, NOISY)["method"] == "randomize"
    found = rows(con, "CALL ppdm_reconstruct('noisy', 'salaries', columns := ['salary'], intervals := 4)")
    assert [row[0] for row in found] == ["salary"] * 4
    assert [row[5] for row in found] == [row[0] for row in rows(con, "SELECT probability FROM salaries")]
    made = row_of(con, "CALL ppdm_train('noisy', 'm', class := 'class', test := 'people', prune := false)")
    model = ppdm_sql.open(con).model("m")
    (first, a), (b, second) = model.row().confusion or ((0, 0), (0, 0))
    assert first + a + b + second == 400
    assert made == {
        "model": "m",
        "mode": "byclass",
        "rows": 400,
        "leaves": len(model.tree().leaves),
        "accuracy": (first + second) / 400,
    }


def test_evaluate_returns_its_table(con: duckdb.DuckDBPyConnection) -> None:
    pytest.importorskip("sklearn")
    rows(con, f"CALL {SUPPRESS}")
    found = {row[0]: row[2] for row in rows(con, "CALL ppdm_evaluate('safe', seeds := 1, folds := 3)")}
    expected = ppdm_sql.open(con).evaluate("safe", seeds=1, folds=3)
    assert found["SE"] == pytest.approx(expected.rate("SE").mean, abs=0.001)


def test_export_returns_file_and_rows(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    rows(con, f"CALL {SUPPRESS}")
    path = str(tmp_path / "it's.parquet")
    assert rows(con, "CALL ppdm_export('safe', ?)", path) == [("safe", path, 24)]
    assert rows(con, "SELECT sum(n) FROM read_parquet(?)", path) == [(24,)]


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.name)
def test_what_a_call_leaves_out_is_the_default_of_the_method(call: Any) -> None:
    given = {option.argument: None for option in call.arguments}
    needed = {option.argument: json_of(option) for option in call.arguments if option.required}
    assert set(call.options(given | needed)) == {option.name for option in call.arguments if option.required}


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.name)
def test_the_example_of_an_argument_can_be_read(call: Any) -> None:
    for option in call.arguments:
        assert value(call.macro, option, json_of(option)) is not None, option.argument


def json_of(option: Option) -> Any:
    """The example of an option, as the macro of a call hands it on."""
    ((found,),) = duckdb.execute(f"SELECT to_json({option.example})").fetchall()
    return json.loads(found)


# -- when calls run ---------------------------------------------------------------------------


def test_a_call_does_not_run_while_it_is_only_planned(
    con: duckdb.DuckDBPyConnection, runs: list[str]
) -> None:
    plans = ("EXPLAIN CALL {}", "EXPLAIN FROM {}", "PREPARE p AS FROM {}", "CREATE TEMP VIEW v AS FROM {}")
    for sql in (*plans, "DESCRIBE FROM {}"):
        rows(con, sql.format(SUPPRESS))
        assert runs == []
    assert ppdm_sql.open(con).releases() == []


RUNS = (
    "CALL {}",
    "SELECT count(*) FROM {}",
    "EXPLAIN ANALYZE FROM {}",
    "SUMMARIZE FROM {}",
    "SELECT * FROM range(3) AS r (i), {} AS s WHERE s.rows > i AND s.release = 'safe'",
    "WITH made AS (FROM {}) SELECT * FROM made AS a JOIN made AS b ON a.release = b.release",
    "CREATE TEMP TABLE kept AS FROM {}",
    "PREPARE p AS FROM {}; EXECUTE p",
)


def test_a_call_runs_once(con: duckdb.DuckDBPyConnection, runs: list[str]) -> None:
    for sql in RUNS:
        for statement in sql.split("; "):
            rows(con, statement.format(SUPPRESS))
        assert runs == ["suppress"]
        rows(con, "CALL ppdm_drop('safe')")
        runs.clear()


def test_a_relation_of_python_runs_a_call_when_it_is_fetched(
    con: duckdb.DuckDBPyConnection, runs: list[str]
) -> None:
    relation = con.sql(f"FROM {SUPPRESS}")
    assert runs == []
    assert len(relation.fetchall()) == 1


# -- transactions -----------------------------------------------------------------------------


def test_a_call_is_refused_in_a_transaction_with_changes(
    con: duckdb.DuckDBPyConnection, runs: list[str]
) -> None:
    for change in (
        "INSERT INTO customers FROM customers LIMIT 1",
        "DELETE FROM customers WHERE n = 1",
        "UPDATE customers SET n = n + 1",
        "CREATE TABLE other AS SELECT 1 AS a",
    ):
        rows(con, "BEGIN")
        rows(con, change)
        refused(con, f"CALL {SUPPRESS}", words="transaction")
        rows(con, "ROLLBACK")
    assert runs == []
    rows(con, f"CALL {SUPPRESS}")
    assert runs == ["suppress"]


def test_a_transaction_that_is_known_to_be_open_is_refused_in_words(con: duckdb.DuckDBPyConnection) -> None:
    rows(con, "BEGIN")
    rows(con, f"EXPLAIN CALL {SUPPRESS}")
    refused(con, f"CALL {SUPPRESS}", words="does not see its changes. Commit or roll back")
    rows(con, "ROLLBACK")


def test_a_prepared_call_is_refused_in_a_transaction_with_changes(con: duckdb.DuckDBPyConnection) -> None:
    rows(con, f"PREPARE p AS FROM {SUPPRESS}")
    rows(con, "BEGIN")
    rows(con, "INSERT INTO customers FROM customers LIMIT 1")
    refused(con, "EXECUTE p", words="transaction")


def test_a_transaction_that_is_open_for_long_is_refused_whatever_it_changed(
    con: duckdb.DuckDBPyConnection,
) -> None:
    rows(con, "ATTACH ':memory:' AS other")
    rows(con, "CREATE TABLE other.t AS FROM customers")
    rows(con, "BEGIN")
    rows(con, "INSERT INTO other.t FROM customers")
    time.sleep(SECONDS_TO_PLAN)
    refused(con, f"CALL {SUPPRESS.replace('customers', 'other.t')}", words="A transaction is open")


def test_registering_in_a_transaction_is_refused(con: duckdb.DuckDBPyConnection) -> None:
    rows(con, "BEGIN")
    with pytest.raises(ppdm_sql.PpdmError, match="Commit or roll back"):
        ppdm_sql.register(con)


# -- errors -----------------------------------------------------------------------------------


MASK = "ppdm_suppress('customers', 'x', class := 'Rating', require := {})"
ERRORS = (
    ("ppdm_suppress('custmers', 'x', require := 'k >= 2 on Job')", "Tables here: customers"),
    (MASK.format("'k >= 2 on Jop'"), "'Jop'"),
    (MASK.format("'k > 2 on Job'"), "    ^\nExample: k >= 4"),
    (MASK.format("'k >= 99 on Job'"), "Nothing can meet"),
    (MASK.format("NULL"), "needs the argument require"),
    (MASK.format("3"), "Write it as require := ["),
    (MASK.format("'k >= 2 on Job', max_steps := 1.5"), "max_steps := 10"),
    ("ppdm_suppress(NULL, 'x', require := 'k >= 2 on Job')", "needs the argument tbl"),
    ("ppdm_export('nothing', 'x.csv')", "There is no release 'nothing'"),
    ("ppdm_export('safe', 'x.xyz')", "ends in .parquet, .csv or .duckdb"),
    ("ppdm_randomize('policies', 'x', noise := 'uniform 3')", "noise := {"),
    ("ppdm_randomize('customers', 'x', noise := {'n': 'uniform 1'}, count := 'n')", "count"),
    ("ppdm_audit('customers', sensitive := 'Job')", "may know: by := ['Age', 'Gender', 'Location']."),
    ("ppdm_show()", "Give it as name := 'customers_safe'"),
    ("ppdm_apply('safe', 'customers', 'x', unseen := 'maybe')", "nearest"),
    ("ppdm_evaluate('safe', folds := 1)", "Give folds 2 or more"),
)


def test_errors_say_in_words_of_sql_what_is_wrong_and_what_to_type(con: duckdb.DuckDBPyConnection) -> None:
    rows(con, f"CALL {SUPPRESS}")
    for call, words in ERRORS:
        assert "--" not in refused(con, f"CALL {call}", words=words)


def test_notices_are_in_words_of_sql_and_stand_in_the_release_in_those_of_the_command_line(
    con: duckdb.DuckDBPyConnection,
) -> None:
    age = "if(i % 9 = 0, 'n/a', i::VARCHAR) AS age"
    con.execute(f"CREATE TABLE t AS SELECT {age}, i % 3 AS zip FROM range(90) r (i)")
    with pytest.warns(ppdm_sql.PpdmWarning, match=r"give nulls := \['n/a'\]"):
        con.execute("CALL ppdm_suppress('t', 'safe', require := 'k >= 5 on zip')")
    assert "give --null n/a" in str(ppdm_sql.open(con).release("safe").notices)


def test_a_call_takes_absent_values_only_where_they_are_meant(con: duckdb.DuckDBPyConnection) -> None:
    call = SUPPRESS.replace("Discharged", "discharged")
    with pytest.raises(duckdb.Error, match="does not hold the protected value 'discharged'"):
        con.execute(f"CALL {call}")
    meant = call.removesuffix(")") + ", allow_absent := true)"
    assert rows(con, f"SELECT release FROM {meant}") == [("safe",)]


def test_errors_of_other_calls(con: duckdb.DuckDBPyConnection) -> None:
    refused(con, "CALL ppdm_export('nothing', 'x.csv')", words="There is no release 'nothing'")
    refused(con, "CALL ppdm_randomize('policies', 'x', noise := 'uniform 3')", words="noise := {")


def test_an_unforeseen_error_does_not_show_its_text(
    con: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*given: object) -> None:
        raise ValueError("Discharged")

    monkeypatch.setattr(registering, "run", fails)
    assert "Discharged" not in refused(
        con, "CALL ppdm_evaluate('safe')", words="did not foresee (ValueError)"
    )


def test_a_read_only_connection_gets_a_sentence(file: Path) -> None:
    with duckdb.connect(str(file), read_only=True) as con:
        ppdm_sql.register(con)
        refused(con, f"CALL {SUPPRESS}", words="is open read-only, and ppdm_suppress writes into it.")


# -- names and places -------------------------------------------------------------------------

HOSTILE = ["select", 'a "b', "it's", "a; DROP TABLE customers; --", "größe\u00a0ß", "a.b", "$x {y} ?"]


def test_hostile_names_are_names(con: duckdb.DuckDBPyConnection) -> None:
    sql = "SELECT release, rows FROM ppdm_suppress(?, ?, require := [?], class := 'cls')"
    for name in HOSTILE:
        columns = f"i % 2 AS {quoted(name)}, i % 2 AS cls"
        rows(con, f"CREATE TABLE {quoted(name)} AS SELECT {columns} FROM range(20) r (i)")
        require = f"k >= 3 on {quoted(name)}"
        assert rows(con, sql, name, f"{name} safe", require) == [(f"{name} safe", 20)]
        assert rows(con, f"SELECT count(*) FROM {quoted(name + ' safe')}") == [(20,)]


def test_a_call_works_where_the_caller_is(con: duckdb.DuckDBPyConnection) -> None:
    rows(con, "ATTACH ':memory:' AS \"other one\"")
    rows(con, 'CREATE SCHEMA "other one"."odd ""schema"')
    rows(con, 'USE "other one"."odd ""schema"')
    rows(con, f"CALL {SUPPRESS.replace('customers', 'memory.main.customers')}")
    assert rows(con, 'SELECT sum(n) FROM "other one"."odd ""schema".safe') == [(24,)]
    assert rows(con, "SELECT current_schema()") == [('odd "schema',)]


def test_a_temporary_table_is_not_found_and_named(con: duckdb.DuckDBPyConnection) -> None:
    rows(con, "CREATE TEMP TABLE mine AS FROM customers")
    refused(con, f"CALL {SUPPRESS.replace('customers', 'mine')}", words="Temporary tables")


# -- registering ------------------------------------------------------------------------------


def test_registering_twice_is_fine(con: duckdb.DuckDBPyConnection) -> None:
    ppdm_sql.register(con)
    ppdm_sql.register(con)
    assert row_of(con, f"CALL {SUPPRESS}")["rows"] == 24


def names_left(con: duckdb.DuckDBPyConnection) -> list[tuple[Any, ...]]:
    return rows(con, "SELECT function_name FROM duckdb_functions() WHERE function_name LIKE 'ppdm%'")


def test_unregister_leaves_nothing(con: duckdb.DuckDBPyConnection) -> None:
    assert names_left(con)
    ppdm_sql.unregister(con)
    assert names_left(con) == []
    ppdm_sql.unregister(con)
    refused(con, "CALL ppdm_evaluate('safe')", words="ppdm_evaluate")


def test_unregister_gives_ctrl_c_back(con: duckdb.DuckDBPyConnection) -> None:
    before = signal.default_int_handler
    signal.signal(signal.SIGINT, before)  # a command of an earlier test in this process may have listened
    rows(con, f"CALL {SUPPRESS}")
    for registered in list(registering._registered):  # connections of earlier tests may be among them
        ppdm_sql.unregister(registered)
    assert signal.getsignal(signal.SIGINT) in (before, signal.default_int_handler)


def test_a_failed_registration_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registering, "NOISE_MACROS", [("ppdm_noise", "value", "no SQL")])
    with duckdb.connect() as con:
        with pytest.raises(duckdb.Error):
            ppdm_sql.register(con)
        assert names_left(con) == []


def test_nothing_that_needs_python_stays_in_the_file(file: Path) -> None:
    con = duckdb.connect(str(file))
    ppdm_sql.register(con)
    rows(con, f"CALL {SUPPRESS}")
    con.close()
    with duckdb.connect(str(file)) as fresh:
        assert names_left(fresh) == []
        assert rows(fresh, "SELECT sum(n) FROM safe") == [(24,)]


def test_a_registered_connection_can_be_forgotten(file: Path) -> None:
    con = duckdb.connect(str(file))
    ppdm_sql.register(con)
    del con
    gc.collect()
    with duckdb.connect(str(file), read_only=True) as other:  # would fail while the first one lives
        assert rows(other, "SELECT count(*) > 0 FROM customers") == [(True,)]


def test_the_audit_macros_are_there_for_the_connection(con: duckdb.DuckDBPyConnection) -> None:
    assert rows(con, "SELECT k FROM ppdm_risk('customers', ['Job'])") == [(1,)]


def test_calls_are_documented_under_their_names() -> None:
    text = inspect.getdoc(ppdm_sql.register) or ""
    assert all(call.macro in text for call in CALLS)


# -- threads, processes, Ctrl-C ---------------------------------------------------------------


def test_cursors_call_from_threads(file: Path) -> None:
    with duckdb.connect(str(file)) as con:
        failures: list[Exception] = []

        def work(number: int) -> None:
            cursor = con.cursor()
            ppdm_sql.register(cursor)
            try:
                for turn in range(2):
                    rows(cursor, f"CALL {SUPPRESS.replace('safe', f'safe_{number}_{turn}')}")
            except Exception as error:
                failures.append(error)
            finally:
                ppdm_sql.unregister(cursor)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        assert rows(con, "SELECT count(*) FROM ppdm.releases") == [(4,)]


INTERRUPTED = """if True:
    import os, signal, threading, time
    import duckdb, ppdm_sql
    con = duckdb.connect()
    ppdm_sql.register(con)
    threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
    begun = time.monotonic()
    try:
        con.execute("CALL ppdm_generate_agrawal('big', function := 2, rows := 40000000)").fetchall()
    except (RuntimeError, duckdb.Error, KeyboardInterrupt) as error:
        print(type(error).__name__, time.monotonic() - begun < 6)
    print(con.execute("SELECT count(*) FROM duckdb_tables()").fetchall())
    print(con.execute("CALL ppdm_generate_agrawal('small', function := 2, rows := 10)").fetchall()[0][:2])
"""


@pytest.mark.skipif(os.name != "posix", reason="signals are sent as on POSIX")
def test_ctrl_c_ends_a_call_and_nothing_is_made() -> None:
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=120)
    first, *rest = done.stdout.splitlines()
    assert first.endswith("True"), done.stderr
    assert rest == ["[(0,)]", "('Group A', 5)"]
