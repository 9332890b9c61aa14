"""The functions of a row: noise, randomized response, pseudonyms, cuts of releases, requirements."""

from __future__ import annotations

import hashlib
import hmac
import math
from collections.abc import Iterator
from itertools import product
from typing import Any

import duckdb
import pytest

import ppdm_sql
from ppdm_sql.engine.names import quoted
from ppdm_sql.engine.statements import literal, render


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        ppdm_sql.register(connection)
        yield connection
        ppdm_sql.unregister(connection)


def rows(con: duckdb.DuckDBPyConnection, sql: str, *params: object) -> list[tuple[Any, ...]]:
    return con.execute(sql, list(params)).fetchall() if params else con.execute(sql).fetchall()


def value(con: duckdb.DuckDBPyConnection, expression: str, *params: object) -> Any:
    ((found,),) = rows(con, f"SELECT {expression}", *params)
    return found


def refused(con: duckdb.DuckDBPyConnection, expression: str, *, words: str) -> None:
    with pytest.raises(duckdb.Error) as error:
        value(con, expression)
    assert words in str(error.value)
    assert ".py" not in str(error.value)


# -- noise ------------------------------------------------------------------------------------

NOISES = ["ppdm_gaussian_noise", "ppdm_uniform_noise"]


@pytest.mark.parametrize("function", NOISES)
def test_noise_is_a_function_of_record_and_key_whatever_the_order(
    con: duckdb.DuckDBPyConnection, function: str
) -> None:
    drawn = f"SELECT i, {function}(i, 10, i, 'k') AS x FROM range(5000) AS r (i)"
    rows(con, f"CREATE TABLE one AS {drawn}")
    rows(con, "SET threads = 1")
    rows(con, f"CREATE TABLE other AS {drawn} ORDER BY hash(i)")
    ((same, different),) = rows(
        con, "SELECT count(*), count(DISTINCT x - i) FROM one JOIN other USING (i, x)"
    )
    assert (same, different > 4900) == (5000, True)


@pytest.mark.parametrize("function", NOISES)
def test_another_key_gives_other_noise(con: duckdb.DuckDBPyConnection, function: str) -> None:
    assert value(con, f"{function}(1, 10, 1, 'a') <> {function}(1, 10, 1, 'b')")


def test_gaussian_noise_has_the_standard_deviation_that_was_asked_for(con: duckdb.DuckDBPyConnection) -> None:
    query = """SELECT avg(x), stddev(x)
        FROM (SELECT ppdm_gaussian_noise(0, 3, i, 'k') AS x FROM range(20000) AS r (i))"""
    ((mean, deviation),) = rows(con, query)
    assert abs(mean) < 4 * 3 / math.sqrt(20000)
    assert deviation == pytest.approx(3, rel=0.03)


def test_uniform_noise_stays_within_its_half_width(con: duckdb.DuckDBPyConnection) -> None:
    query = """SELECT min(x) BETWEEN -3.00001 AND -2.99, max(x) BETWEEN 2.99 AND 3.00001, abs(avg(x)) < 0.06
        FROM (SELECT ppdm_uniform_noise(0, 3, i, 'k') AS x FROM range(20000) AS r (i))"""
    assert rows(con, query) == [(True, True, True)]


def test_noise_is_rounded_so_that_low_bits_tell_nothing(con: duckdb.DuckDBPyConnection) -> None:
    grain = 2.0 ** (math.floor(math.log2(10)) - 20)
    for value_given in ("0.1", "0.123456789012345"):
        noisy = value(con, f"ppdm_gaussian_noise({value_given}, 10, 1, 'k')")
        assert noisy / grain == int(noisy / grain)


@pytest.mark.parametrize("function", NOISES)
def test_null_and_no_noise(con: duckdb.DuckDBPyConnection, function: str) -> None:
    assert value(con, f"{function}(NULL, 3, 1, 'k')") is None
    assert value(con, f"{function}(5, NULL, 1, 'k')") is None
    assert value(con, f"{function}(5.5, 0, 1, 'k')") == 5.5
    refused(con, f"{function}(5, 1, NULL, 'k')", words="one of them is NULL")
    refused(con, f"{function}(5, 1, 1, NULL)", words="one of them is NULL")
    refused(con, f"{function}(5, -1, 1, 'k')", words="below 0 or not a number")
    refused(con, f"{function}(5, 'nan'::DOUBLE, 1, 'k')", words="below 0 or not a number")


def test_functions_do_not_run_while_a_statement_is_planned(con: duckdb.DuckDBPyConnection) -> None:
    rows(con, "EXPLAIN SELECT ppdm_gaussian_noise(5, 1, NULL, 'k'), ppdm_parse_requirement('no')")
    rows(con, "PREPARE p AS SELECT ppdm_generalize_value('nothing', 'a', 1)")
    with pytest.raises(duckdb.Error, match="There is no release 'nothing'"):
        rows(con, "EXECUTE p")


# -- randomized response ----------------------------------------------------------------------


def test_randomized_response_keeps_a_value_with_its_probability(con: duckdb.DuckDBPyConnection) -> None:
    query = """SELECT ppdm_randomized_response('a', 0.4, ['a', 'b', 'c'], i, 'k') AS x, count(*) / 20000
        FROM range(20000) AS r (i) GROUP BY x ORDER BY x"""
    assert dict(rows(con, query)) == pytest.approx({"a": 0.6, "b": 0.2, "c": 0.2}, abs=0.015)


def test_randomized_response_takes_any_type(con: duckdb.DuckDBPyConnection) -> None:
    found = rows(
        con, "SELECT DISTINCT ppdm_randomized_response(1, 0, [1, 2], i, 'k') FROM range(50) AS r (i)"
    )
    assert sorted(found) == [(1,), (2,)]
    assert value(con, "ppdm_randomized_response(NULL::INTEGER, 0.5, [1, 2], 1, 'k')") is None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("'a', 1, ['a', 'b'], 1, 'k'", "not in [0, 1)"),
        ("'a', NULL, ['a', 'b'], 1, 'k'", "not in [0, 1)"),
        ("'a', 0.5, ['a'], 1, 'k'", "two values or more"),
        ("'a', 0.5, ['a', 'b'], NULL, 'k'", "one of them is NULL"),
    ],
)
def test_randomized_response_says_what_it_needs(
    con: duckdb.DuckDBPyConnection, arguments: str, words: str
) -> None:
    refused(con, f"ppdm_randomized_response({arguments})", words=words)


# -- pseudonyms -------------------------------------------------------------------------------


def test_a_pseudonym_is_hmac_sha256(con: duckdb.DuckDBPyConnection) -> None:
    texts, keys = ["Ann", "", "größe ' \" \0 𝄞", "x" * 5000], ["k", "secret ü", "y" * 64, "z" * 200]
    for text, key in product(texts, keys):
        expected = hmac.new(key.encode(), text.encode(), hashlib.sha256).hexdigest()
        assert value(con, "ppdm_pseudonym(?, ?)", text, key) == expected


def test_the_key_of_a_pseudonym_is_not_null(con: duckdb.DuckDBPyConnection) -> None:
    refused(con, "ppdm_pseudonym('Ann', NULL)", words="Give a secret text")


# -- cuts -------------------------------------------------------------------------------------

HOSTILE = 'job "; --'


@pytest.fixture(scope="module")
def released() -> Iterator[duckdb.DuckDBPyConnection]:
    """Releases of persons: ages in intervals, jobs by a taxonomy, towns suppressed."""
    con, name = duckdb.connect(), quoted(HOSTILE)
    ppdm_sql.register(con)
    rows(
        con,
        f"""CREATE TABLE persons AS SELECT 20 + i % 40 AS age,
            ['cook', 'clerk', 'judge', NULL][1 + i % 4] AS {name},
            DATE '2000-01-01' + (i * 7 % 900)::INTEGER AS born, i // 40 % 3 AS town, i % 40 > 17 AS rich
        FROM range(400) AS r (i)""",
    )
    db = ppdm_sql.open(con)
    db.generalize(
        "persons",
        [f"k >= 5 on {column}" for column in ("age", name, "born", "town")],
        class_column="rich",
        into="it's safe",
        taxonomies={HOSTILE: {"any": {"service": ["cook"], "office": ["clerk", "judge"]}}},
        suppress=["town"],
    )
    yield con
    ppdm_sql.unregister(con)
    con.close()


def test_a_value_is_generalized_as_apply_does(released: duckdb.DuckDBPyConnection) -> None:
    rows(
        released,
        f"""CREATE TABLE new AS SELECT * REPLACE (age + 3 AS age, born + 50 AS born) FROM persons
        UNION ALL BY NAME SELECT -5 AS age, 'pope' AS {quoted(HOSTILE)}, 99 AS town, false AS rich""",
    )
    ppdm_sql.open(released).apply("it's safe", "new", into="applied")
    for column in ("age", HOSTILE, "born", "town"):
        name = quoted(column)
        applied = rows(released, f"SELECT {name}, count(*) FROM applied GROUP BY ALL ORDER BY ALL")
        query = f"""SELECT ppdm_generalize_value('it''s safe', $1, {name}) AS x, count(*)
            FROM new GROUP BY x ORDER BY x"""
        assert rows(released, query, column) == applied
        assert len(applied) > 1


def test_several_columns_and_null_in_one_statement(released: duckdb.DuckDBPyConnection) -> None:
    query = """SELECT ppdm_generalize_value('it''s safe', c, v) FROM
        (VALUES ('age', 25), ('town', 1), ('age', NULL)) AS v (c, v)"""
    cut = ppdm_sql.open(released).release("it's safe")
    tops = {name: cut.taxonomy(name)[0].label for name in ("age", "town")}
    (age,), _, (missing,) = rows(released, query)
    assert age != missing
    assert missing == tops["age"]


@pytest.mark.parametrize(
    ("column", "type_text"), [("age", "INTEGER"), (HOSTILE, "VARCHAR"), ("born", "DATE")]
)
def test_a_bare_null_has_a_label_too(
    released: duckdb.DuckDBPyConnection, column: str, type_text: str
) -> None:
    bare, typed = (
        value(released, f"ppdm_generalize_value('it''s safe', '{column}', {null})")
        for null in ("NULL", f"NULL::{type_text}")
    )
    assert bare == typed


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("'nothing', 'age', 1", "There is no release 'nothing'"),
        ("'it''s safe', 'aeg', 1", "has no column 'aeg'"),
        ("'it''s safe', 'rich', true", "does not mask the column 'rich'"),
        ("'it''s safe', 'age', 'twenty'", "VARCHAR cannot be compared with the intervals of 'age'"),
        ("NULL, 'age', 1", "is NULL"),
    ],
)
def test_what_cannot_be_generalized_is_said(
    released: duckdb.DuckDBPyConnection, arguments: str, words: str
) -> None:
    refused(released, f"ppdm_generalize_value({arguments})", words=words)


def test_a_release_that_was_published_anew_shows_its_new_cut(con: duckdb.DuckDBPyConnection) -> None:
    rows(con, "CREATE TABLE t AS SELECT i AS a, i % 2 AS c FROM range(20) AS r (i)")
    db = ppdm_sql.open(con)
    for k, expected in ((20, "*"), (1, "2")):
        release = db.generalize("t", [f"k >= {k} on a"], class_column="c", into="r", suppress=["a"])
        assert value(con, "ppdm_generalize_value('r', 'a', 2)") == expected
        release.drop()


# -- requirements -----------------------------------------------------------------------------


def test_a_requirement_is_taken_apart(con: duckdb.DuckDBPyConnection) -> None:
    text = "Job, \"a \"\"b\" -> Ill IN ('it''s', NULL) <= 30%"
    ((kind, columns, sensitive, protected, threshold, shown, _),) = rows(
        con, f"SELECT unnest(ppdm_parse_requirement({render(literal(text))}))"
    )
    assert (kind, columns, sensitive, protected, threshold) == (
        "template", ["Job", 'a "b'], "Ill", ["it's", None], 0.3,
    )  # fmt: skip
    assert shown == text


@pytest.mark.parametrize(
    ("text", "kind", "threshold"),
    [
        ("k >= 4 on a", "k", 4),
        ("entropy l >= 2.5 of b on a", "entropy l", 2.5),
        ("distinct l >= 3 of b on a", "distinct l", 3),
        ("t <= 20% of b on a", "t", 0.2),
        ("t <= 20% of b by dates year on a", "t", 0.2),
        ("a -> b <= 75%", "template", 0.75),
        ("enhanced beta <= 1.5 of b on a", "enhanced beta", 1.5),
        ("delta <= 1.5 of b on a", "delta", 1.5),
        ("recursive c = 3, l = 2 of b on a", "recursive l = 2", 3),
        ("presence 1% to 50% on a in p(n)", "presence", 0.5),
    ],
)
def test_each_form_has_a_kind_and_a_threshold(
    con: duckdb.DuckDBPyConnection, text: str, kind: str, threshold: float
) -> None:
    found = value(con, "ppdm_parse_requirement(?)", text)
    assert (found["kind"], found["threshold"], found["columns"]) == (kind, threshold, ["a"])
    assert found["level"] == ("dates year" if "by" in text else None)


def test_a_requirement_that_cannot_be_read_has_a_caret(con: duckdb.DuckDBPyConnection) -> None:
    refused(con, "ppdm_parse_requirement('k > 4 on a')", words="  k > 4 on a\n    ^\nExample: ")
    assert value(con, "ppdm_parse_requirement(NULL)") is None
