"""The audit and the macros measure as pycanon does, by the numbers that record_pycanon.py has of it."""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import duckdb
import pytest
from definitions import shared

import ppdm_sql
from ppdm_sql.audit import Finding

RECORDED = [json.loads(line) for line in Path(__file__).with_name("pycanon.json").read_text().splitlines()]
RANDOM, ADULT = ([one for one in RECORDED if ("adult" in one) is wanted] for wanted in (False, True))
NAMES = ["p", "q", "r", "s", "number"]
REQUIREMENTS = (
    *("k on {qi}", "distinct l of {of} on {qi}", "entropy l of {of} on {qi}", "t of {of} on {qi}"),
    *("delta of {of} on {qi}", "beta of {of} on {qi}", "enhanced beta <= 1000 of {of} on {qi}"),
    "recursive l = {l} of {of} on {qi}",
)
MACROS = """
SELECT (SELECT k FROM ppdm_risk('t', $qi)), (SELECT max(t) FROM ppdm_closeness('t', $qi, $of)),
    min(distinct_l), min(entropy_l) FROM ppdm_diversity('t', $qi, $of)"""


def findings(con: duckdb.DuckDBPyConnection, recorded: dict[str, Any], asked: int) -> tuple[Finding, ...]:
    """What the audit says of so many of the requirements."""
    names = {"qi": ", ".join(recorded["qi"]), "of": recorded["of"], "l": max(recorded["recursive"][1], 2)}
    return ppdm_sql.open(con).audit("t", [one.format(**names) for one in REQUIREMENTS[:asked]]).findings


def evenly_held(recorded: dict[str, Any]) -> bool:
    """Whether the values of every class are equally frequent."""
    classes = defaultdict[Any, Counter[Any]](Counter)
    for row in recorded["rows"]:
        classes[tuple(row[NAMES.index(n)] for n in recorded["qi"])][row[NAMES.index(recorded["of"])]] += 1
    return all(len(set(held.values())) == 1 for held in classes.values())


def assert_agrees(found: list[float], recorded: dict[str, Any]) -> None:
    k, distinct, entropy, closeness, delta, beta = found
    assert (k, distinct) == (recorded["k"], recorded["distinct l"])
    # it rounds down, a whole number perhaps to the one below
    assert recorded["entropy l"] in {math.floor(entropy - 1e-9), math.floor(entropy + 1e-9)}
    assert closeness == pytest.approx(recorded["t"], abs=1e-9)
    # it passes over values that a class lacks, whose share of 0 is infinitely far from any; base e, not 2
    assert delta == math.inf or delta * math.log(2) == pytest.approx(recorded["delta"], abs=1e-9)
    assert beta == pytest.approx(recorded["beta"], abs=1e-9)


def test_the_audit_and_the_macros_agree_on_random_tables() -> None:
    con, times = shared(), Counter[str]()
    for recorded in RANDOM:
        con.execute("CREATE OR REPLACE TABLE t (p VARCHAR, q INTEGER, r VARCHAR, s VARCHAR, number INTEGER)")
        con.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?)", recorded["rows"])
        *plain, enhanced, recursive = findings(con, recorded, len(REQUIREMENTS))
        found = [finding.reached for finding in plain]
        assert_agrees(found, recorded)
        times["finite"] += found[4] != math.inf
        # its limit is the largest -ln q of all values; Cao and Karras give each value its own
        times["kept"] += enhanced.holds
        if enhanced.holds:
            assert enhanced.reached == pytest.approx(recorded["enhanced beta"], abs=1e-9)
        else:
            assert enhanced.reached > recorded["enhanced beta"]
        # it sorts the counts upwards; it gives the smallest whole c above the ratio, for the largest l
        if recorded["recursive"][1] > 1 and evenly_held(recorded):
            assert recorded["recursive"][0] == math.floor(recursive.reached) + 1
            times["recursive"] += 1
        asked = {"qi": recorded["qi"], "of": recorded["of"]}
        (of_macros,) = con.execute(MACROS, asked).fetchall()
        assert of_macros == pytest.approx((found[0], found[3], *found[1:3]))
    assert all(times[name] for name in ("finite", "kept", "recursive"))
    assert times["kept"] < len(RANDOM)


def test_the_audit_agrees_on_adult(adult_csv: list[str]) -> None:
    with duckdb.connect() as con:
        con.execute("CREATE TABLE t AS FROM read_csv($files)", {"files": adult_csv})
        for recorded in ADULT:
            assert_agrees([finding.reached for finding in findings(con, recorded, 6)], recorded)
