"""The audit and the macros measure as pycanon does, by the numbers that record_pycanon.py has of it."""

from __future__ import annotations

import json
import math
from itertools import groupby
from pathlib import Path
from typing import Any

import duckdb
import pytest

import ppdm_sql

RECORDED = [json.loads(line) for line in Path(__file__).with_name("pycanon.json").read_text().splitlines()]
RANDOM, ADULT = ([one for one in RECORDED if ("adult" in one) is wanted] for wanted in (False, True))
REQUIREMENTS = (
    *("k on {qi}", "distinct l of {of} on {qi}", "entropy l of {of} on {qi}", "t of {of} on {qi}"),
    *("delta of {of} on {qi}", "beta of {of} on {qi}"),
)


def table_of(recorded: dict[str, Any]) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(config={"threads": 1})
    connection.execute("CREATE TABLE t (p VARCHAR, q INTEGER, r VARCHAR, s VARCHAR, number INTEGER)")
    connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?)", recorded["rows"])
    return connection


@pytest.fixture(scope="module")
def adult(adult_csv: list[str]) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS FROM read_csv($files)", {"files": adult_csv})
    return connection


def reached(connection: duckdb.DuckDBPyConnection, recorded: dict[str, Any], *more: str) -> list[Any]:
    """What the audit says of each requirement without a limit."""
    names = {"qi": ", ".join(recorded["qi"]), "of": recorded["of"]}
    asked = [text.format(**names) for text in (*REQUIREMENTS, *more)]
    return [found.reached for found in ppdm_sql.open(connection).audit("t", asked).findings]


def counts(recorded: dict[str, Any]) -> list[dict[Any, int]]:
    """How often each class has each value."""
    names = ["p", "q", "r", "s", "number"]
    places, sensitive = [names.index(name) for name in recorded["qi"]], names.index(recorded["of"])
    rows = [["" if value is None else value for value in row] for row in recorded["rows"]]
    pairs = sorted(([row[place] for place in places], row[sensitive]) for row in rows)
    return [
        {value: len(list(same)) for value, same in groupby(value for _, value in group)}
        for _, group in groupby(pairs, key=lambda pair: pair[0])
    ]


def assert_agrees(found: list[Any], recorded: dict[str, Any]) -> None:
    k, distinct, entropy, closeness, delta, beta = found
    assert (k, distinct) == (recorded["k"], recorded["distinct l"])
    # it rounds down, a whole number perhaps to the one below
    assert recorded["entropy l"] in {math.floor(entropy - 1e-9), math.floor(entropy + 1e-9)}
    assert closeness == pytest.approx(recorded["t"], abs=1e-9)
    # it passes over values that a class lacks, whose share of 0 is infinitely far from any; base e, not 2
    assert delta == math.inf or delta * math.log(2) == pytest.approx(recorded["delta"], abs=1e-9)
    assert beta == pytest.approx(recorded["beta"], abs=1e-9)


@pytest.mark.parametrize("part", range(8))
def test_the_audit_agrees_on_random_tables(part: int) -> None:
    finite = 0
    for recorded in RANDOM[part::8]:
        with table_of(recorded) as connection:
            found = reached(connection, recorded)
        assert_agrees(found, recorded)
        finite += found[4] != math.inf
    assert finite


@pytest.mark.parametrize("place", range(len(ADULT)))
def test_the_audit_agrees_on_adult(place: int, adult: duckdb.DuckDBPyConnection) -> None:
    assert_agrees(reached(adult, ADULT[place]), ADULT[place])


def test_enhanced_beta_agrees_where_it_is_kept() -> None:
    """Its beta is at most the largest -ln q of all values; Cao and Karras give each value its own."""
    kept = 0
    for recorded in RANDOM:
        with table_of(recorded) as connection:
            text = f"enhanced beta <= 1000 of {recorded['of']} on {', '.join(recorded['qi'])}"
            (finding,) = ppdm_sql.open(connection).audit("t", [text]).findings
        if finding.holds:
            kept += 1
            assert finding.reached == pytest.approx(recorded["enhanced beta"], abs=1e-9)
        else:
            assert finding.reached > recorded["enhanced beta"]
    assert 20 < kept < len(RANDOM)


def test_recursive_diversity_agrees_where_the_values_of_a_class_are_equally_frequent() -> None:
    """It sorts the counts upwards; it gives the smallest whole c above the ratio, for the largest l."""
    compared = 0
    for recorded in RANDOM:
        c, least = recorded["recursive"]
        if least > 1 and all(len(set(counted.values())) == 1 for counted in counts(recorded)):
            with table_of(recorded) as connection:
                found = reached(connection, recorded, f"recursive l = {least} of {{of}} on {{qi}}")
            assert c == math.floor(found[-1]) + 1
            compared += 1
    assert compared > 5


@pytest.mark.parametrize("part", range(4))
def test_the_macros_agree_on_random_tables(part: int) -> None:
    for recorded in RANDOM[part::4]:
        with table_of(recorded) as connection:
            ppdm_sql.open(connection).install()
            named = {"qi": recorded["qi"], "of": recorded["of"]}
            ((*_, k),) = connection.execute(
                "SELECT k FROM ppdm_risk('t', $qi)", {"qi": named["qi"]}
            ).fetchall()
            ((distinct, entropy),) = connection.execute(
                "SELECT min(distinct_l), min(entropy_l) FROM ppdm_diversity('t', $qi, $of)", named
            ).fetchall()
            ((closeness,),) = connection.execute(
                "SELECT max(t) FROM ppdm_closeness('t', $qi, $of)", named
            ).fetchall()
        assert (k, distinct) == (recorded["k"], recorded["distinct l"])
        assert recorded["entropy l"] in {math.floor(entropy - 1e-9), math.floor(entropy + 1e-9)}
        assert closeness == pytest.approx(recorded["t"], abs=1e-9)
