"""Statements as people read them: laid out, each with a sentence, and in logs without a literal."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ppdm_sql
from ppdm_sql import examples
from ppdm_sql.engine import Engine, statements
from ppdm_sql.engine.faults import redacted
from ppdm_sql.engine.printing import COMPOSED, formatted, purpose, without_header
from ppdm_sql.engine.statements import Statement, sql_folder

TEMPLATE = "Job, Country -> Bankruptcy = Discharged <= 50%"
STEPS = [
    f"{path.parent.name}/{path.stem}"
    for path in sorted(sql_folder().glob("*/*.sql"))
    if path.parent.name != "walkthroughs"
]
PIECES = st.sampled_from(
    [
        *["SELECT", "DISTINCT", "FROM", "WHERE", "AND", "OR", "BETWEEN", "JOIN", "LEFT", "ON"],
        *["(", ")", "[", "]", "{", "}", ",", ";", "1.5e3", "::DATE", "$name", "max(", "'", '"'],
        *("IS DISTINCT FROM", "GROUP BY", "LEFT JOIN", "UNION ALL", "WITH x AS (", "CASE WHEN a THEN b END"),
        *("'it''s  (FROM'", "e'it\\'s'", '"a ""b"', "$$ it's $$"),
    ]
)


def bound(step: str) -> str:
    """Bind a step's placeholders to names of their own."""
    kinds = {"table": "t", "columns": '"a", "b"', "column": '"a"', "value": "1"}
    return "".join(text if kind is None else kinds[kind] for kind, text in statements._pieces(step))


def unspaced(sql: str) -> str:
    return re.sub(r"\s", "", sql)


@pytest.mark.parametrize("step", STEPS)
def test_a_step_file_says_what_it_does(step: str) -> None:
    said = purpose(statements.text(step))
    assert said.endswith(".") and len(said) > 10


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as made:
        yield made


def tree_of(connection: duckdb.DuckDBPyConnection, sql: str) -> str:
    """The statement as the engine reads it, without where in the text its parts stand."""
    ((read,),) = connection.execute("SELECT json_serialize_sql($sql)", {"sql": sql}).fetchall()
    return re.sub(r'"query_\w+":\d+', "", read)


@pytest.mark.parametrize("step", [step for step in STEPS if not step.startswith(("macros/", "pieces/"))])
def test_a_statement_laid_out_is_the_same_statement(connection: duckdb.DuckDBPyConnection, step: str) -> None:
    sql = bound(step)
    assert unspaced(formatted(sql)) == unspaced(sql)
    assert tree_of(connection, formatted(sql)) == tree_of(connection, sql)


@given(st.lists(PIECES, max_size=30))
def test_no_token_is_lost_or_changed_whatever_the_statement(pieces: list[str]) -> None:
    sql = " ".join(pieces)
    assert unspaced(formatted(sql)) == unspaced(sql)
    assert unspaced(without_header(sql)) == unspaced(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT '  a\n FROM b' AS x, 1",
        "SELECT 1 -- FROM t\n, 2",
        "SELECT '/* FROM' AS a, 2",
        "SELECT '--', 2",
    ],
)
def test_texts_and_comments_stay_as_they_are(sql: str) -> None:
    with duckdb.connect() as connection:
        assert connection.execute(formatted(sql)).fetchall() == connection.execute(sql).fetchall()


def test_layout_of_joins_conditions_and_nested_queries() -> None:
    sql = (
        "WITH a AS (SELECT x, left(y, 1) AS z FROM t), b AS (FROM a) "
        'SELECT DISTINCT a.x, [1, 2][z] AS "FROM" FROM a '
        "LEFT JOIN b ON a.x IS NOT DISTINCT FROM b.x WHERE a.x BETWEEN 1 AND 2 AND b.x > 0 ORDER BY 1, 2"
    )
    assert formatted(sql).splitlines() == [
        "WITH a AS (",
        "    SELECT x,",
        "        left(y, 1) AS z",
        "    FROM t",
        "),",
        "b AS (",
        "    FROM a",
        ")",
        "SELECT DISTINCT a.x,",
        '    [1, 2][z] AS "FROM"',
        "FROM a",
        "LEFT JOIN b",
        "    ON a.x IS NOT DISTINCT FROM b.x",
        "WHERE a.x BETWEEN 1 AND 2",
        "    AND b.x > 0",
        "ORDER BY 1, 2",
    ]


def test_every_statement_of_a_descent_has_a_sentence() -> None:
    seen: list[Statement] = []
    with ppdm_sql.open(":memory:") as db:
        examples.write(db.engine)
        db.engine.dry, db.engine.tracer = True, seen.append
        words = {"class_column": "Rating", "count_column": "n"}
        db.suppress("customers", require=[TEMPLATE], into="safe", **words)
        db.generalize("customers", require=["k >= 4 on Job, Country"], into="safe", **words)
        db.audit("customers", require=[TEMPLATE, "k >= 2 on Job"], count_column="n")
    assert len(seen) > 60
    assert [statement.step for statement in seen if not purpose(statement)] == []


def test_every_statement_about_macros_has_a_sentence() -> None:
    seen: list[Statement] = []
    with ppdm_sql.open(":memory:") as db:
        db.install()
        db.engine.dry, db.engine.tracer = True, seen.append
        db.install()
        db.uninstall()
    steps = {statement.step for statement in seen}
    assert steps >= {"create macro", "describe macro", "drop macro"}
    assert [statement.step for statement in seen if not purpose(statement)] == []


def test_each_sentence_on_a_composed_statement_is_of_a_step_that_there_is() -> None:
    package = Path(ppdm_sql.__file__).parent
    source = "".join(
        path.read_text(encoding="utf-8") for path in package.rglob("*.py") if path.name != "printing.py"
    )
    assert [
        step for step in COMPOSED if f'"{step}"' not in source and f'"{step.replace("_", " ")}"' not in source
    ] == []


# -- logs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sql", "shown"),
    [
        (
            "SELECT a1, \"b 2\" FROM t WHERE c = 'secret' AND d < -1.5e-3",
            'SELECT a1, "b 2" FROM t WHERE c = ? AND d < -?',
        ),
        ("SELECT 'it''s secret' || x", "SELECT ? || x"),
        (r"SELECT e'it\'s secret', 'a\', $n", "SELECT ?, ?, $n"),
        ("SELECT $$secret$$, $t$ secret $ $t$, 0xFF, 1_000, .5", "SELECT ?, ?, ?, ?, ?"),
        ("SELECT a -- secret\n, b /* secret */ FROM t", "SELECT a , b FROM t"),
        ("SELECT 'secret FROM t", "SELECT ?"),
        ("SELECT \"it's\", 'secret', x", 'SELECT "it\'s", ?, x'),
    ],
)
def test_a_log_shows_no_literal(sql: str, shown: str) -> None:
    assert redacted(sql) == shown


@given(st.text())
def test_no_text_comes_through_whatever_it_holds(text: str) -> None:
    literal = "'" + text.replace("'", "''") + "'"
    assert redacted(f"SELECT a, {literal}, b") == "SELECT a, ?, b"


def test_debug_logs_step_rows_seconds_and_statement(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="ppdm_sql")
    engine = Engine(duckdb.connect())
    with engine.workspace():
        engine.materialize("numbers", "SELECT unnest([1234567, 2]) AS x, 'secret' AS y")
        engine.query("SELECT $a AS a, 'secret'", {"a": "hidden"}, step="ask")
        engine.arrays("FROM range(7)", step="fetch")
    logged = [(record.name, record.levelno, record.getMessage()) for record in caplog.records]
    assert {level for _, level, _ in logged} == {logging.DEBUG}
    shown = [text for name, _, text in logged if name == "ppdm_sql.sql"]
    assert "ask: SELECT $a AS a, ?" in shown
    assert any(
        re.fullmatch(r'numbers: CREATE TEMP TABLE "ppdm_\w+" AS SELECT unnest.*AS x, \? AS y', text)
        for text in shown
    )
    told = [text for name, _, text in logged if name == "ppdm_sql"]
    for step, rows in {"numbers": 2, "ask": 1, "fetch": 7}.items():
        assert any(re.fullmatch(rf"{step}: {rows} rows, \d+\.\d{{4}} s", text) for text in told), step
    assert not any(cell in caplog.text for cell in ("secret", "hidden", "1234567"))


def test_a_log_of_info_holds_no_statement(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="ppdm_sql")
    Engine(duckdb.connect()).query("SELECT 1", step="one")
    assert caplog.records == []


def test_info_logs_a_line_a_step_of_a_descent(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="ppdm_sql")
    with ppdm_sql.open(":memory:") as db:
        examples.write(db.engine)
        release = db.suppress(
            "customers", require=[TEMPLATE], class_column="Rating", count_column="n", into="safe"
        )
        steps = len(release.steps())
        values = {value for row in db.engine.connection.table("customers").fetchall() for value in row[:2]}
    lines = [record.getMessage() for record in caplog.records if record.levelno == logging.INFO]
    assert len([line for line in lines if line.startswith("round ")]) == steps > 0
    assert not any(str(value) in line for value in values for line in lines)
