"""The calls that look, list, verify and remove, and what they print."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

import ppdm_sql
from ppdm_sql import examples
from ppdm_sql.cli.app import COMMANDS
from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import quoted
from ppdm_sql.sql_calls.calls import CALLS, RESERVED

TEMPLATE = "Job, Country -> Bankruptcy = Discharged <= 50%"
SUPPRESS = f"""CALL ppdm_suppress('customers', 'safe', require := ['{TEMPLATE}'], class := 'Rating',
    count := 'n', score := 'paper')"""
WITHOUT_CALL = {"demo", "privacy", "integrate", "sql", "sql-path", "taxonomy", "generate"}
WITHOUT_CALL |= {"init", "run", "check", "schema", "key"}
"""Commands for the terminal; two parties are two processes, ``generate agrawal`` is a call of its own, and a
policy names its database; a key is a file."""

Con = duckdb.DuckDBPyConnection


@pytest.fixture
def released(con: Con) -> Con:
    con.execute(SUPPRESS).fetchall()
    return con


def asked(con: Con, sql: str) -> list[dict[str, Any]]:
    found = con.execute(sql)
    names = [item[0] for item in found.description]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def test_names_that_stand_in_quotes_are_those_that_sql_reserves(con: Con) -> None:
    refused = set()
    for name in {option.argument for call in CALLS for option in call.arguments}:
        con.execute(f"CREATE OR REPLACE TEMP MACRO given({quoted(name)} := NULL) AS {quoted(name)}")
        try:
            con.execute(f"SELECT given({name} := 1)").fetchall()
        except duckdb.ParserException:
            refused.add(name)
    assert refused == set(RESERVED)


def test_every_command_on_data_is_a_call() -> None:
    assert set(COMMANDS) - {call.name for call in CALLS} == WITHOUT_CALL


# -- audit ------------------------------------------------------------------------------------


def test_an_audit_of_a_table_alone_looks_at_its_columns(con: Con) -> None:
    found = asked(con, "CALL ppdm_audit('policies')")
    by_name = {row["about"]: row for row in found}
    assert by_name["Age"]["note"] == "category: VARCHAR, 3 values, 0 NULLs"
    assert (by_name["No"]["measure"], by_name["No"]["value"]) == ("share of unique records", 1.0)
    assert "Age and Amount" in by_name
    assert {row["holds"] for row in found} == {None}


def test_an_audit_measures_what_columns_tell_of_others(con: Con) -> None:
    sql = """SELECT measure, value FROM ppdm_audit('customers', count := 'n', by := ['Job', 'Country'],
        sensitive := 'Bankruptcy') WHERE about = """
    found = dict(con.execute(f"{sql} 'Job, Country'").fetchall())
    assert (found["smallest class (k)"], found["classes"], found["share alone"]) == (1, 6, 1 / 24)
    assert found["prosecutor risk, highest"] == 1
    told = dict(con.execute(f"{sql} 'Bankruptcy by Job, Country'").fetchall())
    assert (told["distinct l"], told["recursive c (l = 2)"]) == (1, None)
    sure = con.execute(f"{sql} 'Bankruptcy = Discharged by Job, Country'").fetchall()
    assert sure == [("highest confidence", 0.8)]


def test_an_audit_says_what_holds(con: Con) -> None:
    sql = f"CALL ppdm_audit('customers', count := 'n', require := ['{TEMPLATE}', 'k on Job'], groups := 1)"
    first, second, *others = asked(con, sql)
    assert (first["about"], first["value"], first["holds"]) == (TEMPLATE, 0.8, False)
    assert first["note"] == "limit 0.5; 5 records in 1 of 6 classes violate it"
    assert (second["about"], second["value"], second["holds"]) == ("k on Job", 4, None)
    worst, *_ = others
    assert worst["measure"] == f"reached of {TEMPLATE}"
    assert worst["holds"] is False


def test_thresholds_are_shares_or_texts(con: Con) -> None:
    sql = "CALL ppdm_audit('customers', require := 'Job -> Bankruptcy', threshold := {})"
    found = [asked(con, sql.format(text)) for text in ("['50%', '75%']", "[0.5, 0.75]")]
    assert found[0] == found[1]
    assert [row["measure"] for row in found[0] if "above" in row["measure"]] == [
        "inferences above 0.5",
        "inferences above 0.75",
    ]
    with pytest.raises(
        duckdb.Error,
        match=r"threshold 1\.5 is not a share in \[0, 1\]\. Write it as",
    ):
        asked(con, sql.format("[1.5]"))


def test_a_table_of_an_attached_database_is_audited(con: Con, tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "other.duckdb")) as other:
        other.execute("CREATE TABLE t AS SELECT i % 2 AS a FROM range(8) r (i)")
    con.execute(f"ATTACH '{tmp_path / 'other.duckdb'}' AS o (READ_ONLY)")
    sql = "SELECT value FROM ppdm_audit('o.main.t', by := 'a') WHERE measure = 'smallest class (k)'"
    assert con.execute(sql).fetchall() == [(4.0,)]


# -- what is published ------------------------------------------------------------------------


def test_releases_and_models_are_listed(released: Con) -> None:
    (row,) = asked(released, "CALL ppdm_releases()")
    assert (row["release"], row["requirements"], row["rows"]) == ("safe", [TEMPLATE], 24)
    assert asked(released, "CALL ppdm_models()") == []


def test_steps_are_those_of_the_catalogue(released: Con) -> None:
    columns = "step, attribute, parent, children, score, gain, loss"
    stored = asked(released, f"SELECT {columns} FROM ppdm.steps WHERE release = 'safe' ORDER BY step")
    assert asked(released, "CALL ppdm_steps('safe')") == stored != []


def test_show_tells_facts_and_measures(released: Con) -> None:
    facts = {row["what"]: row["value"] for row in asked(released, "CALL ppdm_show('SAFE')")}
    assert facts["requirement"] == TEMPLATE
    assert (facts["column Job"], facts["records"], facts["verified"]) == (
        "3 of 5 values, * for the others",
        "24",
        "true",
    )
    assert facts[f"measure confidence: {TEMPLATE}"] == "0.8 -> 0.5"


def test_show_writes_noise_as_an_argument(con: Con) -> None:
    con.execute("CREATE TABLE t AS SELECT i AS pay, i % 2 AS c FROM range(100) r (i)")
    con.execute(
        """CALL ppdm_randomize('t', 'noisy', noise := {'pay': 'uniform 5'}, range := {'pay': [0, 99]},
            seed := 1)"""
    ).fetchall()
    facts = {row["what"]: row["value"] for row in asked(con, "CALL ppdm_show('noisy')")}
    assert facts["noise pay"] == "noise := {'pay': 'uniform 5 on 0,99 whole'}"


def test_verify_finds_what_somebody_changed(released: Con) -> None:
    assert {row["holds"] for row in asked(released, "CALL ppdm_verify('safe')")} == {True}
    released.execute("DELETE FROM ppdm.release_safe WHERE rowid = 0").fetchall()
    found = {row["check"]: row["holds"] for row in asked(released, "CALL ppdm_verify('safe')")}
    assert found["the records are as many as published"] is False


def test_apply_makes_a_table_and_says_what_does_not_hold(released: Con) -> None:
    released.execute("CREATE TABLE new AS SELECT 'Judge' AS Job, 'US' AS Country, 'Discharged' AS Bankruptcy")
    (row,) = asked(released, "CALL ppdm_apply('safe', 'new', into := 'new_safe')".replace("into", '"into"'))
    assert (row["made"], row["rows"], row["unseen"]) == ("new_safe", 1, 1)
    assert row["verdict"] == f"{TEMPLATE} does not hold"
    assert released.execute("SELECT Job FROM new_safe").fetchall() == [("*",)]


def test_train_predict_show_and_drop_a_model(con: Con) -> None:
    con.execute("CREATE TABLE t AS SELECT i AS age, i >= 50 AS old FROM range(100) r (i)")
    con.execute("CALL ppdm_train('t', 'm', class := 'old', mode := 'original', test := 't')").fetchall()
    assert asked(con, "CALL ppdm_predict('m', 't', 'p')") == [
        {"predicted": "false", "records": 50},
        {"predicted": "true", "records": 50},
    ]
    (listed,) = asked(con, "CALL ppdm_models()")
    assert (listed["model"], listed["accuracy"]) == ("m", 1.0)
    facts = {row["what"]: row["value"] for row in asked(con, "CALL ppdm_show('m')")}
    assert facts["predicts"] == '"m_predict"("age")'
    assert asked(con, "CALL ppdm_drop('m')") == [{"dropped": "m", "kind": "model"}]
    assert asked(con, "CALL ppdm_models()") == []


def test_drop_removes_a_release(released: Con) -> None:
    assert asked(released, "CALL ppdm_drop('Safe')") == [{"dropped": "safe", "kind": "release"}]
    assert asked(released, "CALL ppdm_releases()") == []
    with pytest.raises(duckdb.Error, match="There is no release 'safe'"):
        asked(released, "CALL ppdm_drop('safe')")


def test_macros_are_installed_and_taken_out(con: Con) -> None:
    made = asked(con, "CALL ppdm_install(short_names := false)")
    query = (
        "SELECT function_name FROM duckdb_functions() WHERE schema_name = 'ppdm' AND database_name = 'memory'"
    )
    there = {name for (name,) in con.execute(query).fetchall()}
    assert {row["macro"] for row in made} == there
    assert {row["macro"] for row in asked(con, "CALL ppdm_uninstall()")} == there
    assert con.execute(query).fetchall() == []


def test_what_only_reads_works_on_a_read_only_file(tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    pytest.importorskip("sklearn")
    path = str(tmp_path / "bank.duckdb")
    with duckdb.connect(path) as made:
        examples.write(Engine(made))
        ppdm_sql.register(made)
        made.execute(SUPPRESS).fetchall()
        ppdm_sql.unregister(made)
    target = str(tmp_path / "safe.parquet")
    given = {"audit": "'customers'", "export": f"'safe', '{target}'", "releases": "", "models": ""}
    given["report"] = f"'safe', '{tmp_path / 'safe.html'}'"
    with duckdb.connect(path, read_only=True) as con:
        ppdm_sql.register(con)
        for call in (call for call in CALLS if not call.writes):
            options = given.get(call.name, "'safe'")
            assert con.execute(f"CALL {call.macro}({options})").fetchall() or call.name == "models"
