"""Rare siblings of a hierarchy share a label, and columns that stay whole say why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs import one_in

import ppdm_sql
from ppdm_sql.progress import Heard, SilentProgress

Tree = dict[str, Any]
"""A taxonomy as nested groups; a list holds leaves."""
LEAVES = "abcdefgh"
TREES: list[Tree] = [
    {"*": list(LEAVES)},
    {"*": {"ab": ["a", "b"], "cde": ["c", "d", "e"], "fgh": ["f", "g", "h"]}},
    {"*": {"abcd": {"ab": ["a", "b"], "cd": ["c", "d"]}, "efgh": ["e", "f", "g", "h"]}},
]


def parts(below: Any) -> Iterator[tuple[str, Any]]:
    """Give the children of a node with what is below each."""
    return iter(below.items() if isinstance(below, Mapping) else [(leaf, None) for leaf in below])


def leaves(label: str, below: Any) -> list[str]:
    return [label] if below is None else [leaf for child in parts(below) for leaf in leaves(*child)]


def merged(label: str, below: Any, counts: Mapping[str, int], k: int) -> Any:
    """Merge rare siblings as the documentation says, one node after the other."""
    if below is None:
        return None
    here = dict(parts(below))
    size = {child: sum(counts[leaf] for leaf in leaves(child, of)) for child, of in here.items()}
    held = sorted((child for child in here if size[child]), key=lambda child: size[child])
    rare = [child for child in held if size[child] < k]
    while rare and sum(size[child] for child in rare) < k and len(rare) < len(held):
        rare = held[: len(rare) + 1]
    found = {child: merged(child, of, counts, k) or {} for child, of in here.items()}
    if 1 < len(rare) < len(held):
        name = "other" if label == "*" else f"other {label}"
        found = {c: of for c, of in found.items() if c not in rare} | {name: {c: found[c] for c in rare}}
    return found


def released(con: duckdb.DuckDBPyConnection, tree: Tree, k: int, **options: Any) -> list[tuple[str, ...]]:
    release = ppdm_sql.open(con).generalize(
        "t", [f"k >= {k} on v"], into="r", taxonomies={"v": tree}, progress=SilentProgress(), **options
    )
    assert release.verify().holds
    rows = con.sql("SELECT v FROM r ORDER BY ALL").fetchall()
    release.drop()
    return rows


@one_in(2)
@given(st.lists(st.sampled_from(LEAVES), min_size=1, max_size=40), st.sampled_from(TREES), st.integers(1, 6))
def test_merged_siblings_are_those_of_the_merged_hierarchy(values: list[str], tree: Tree, k: int) -> None:
    k = min(k, len(values))
    counts = Counter(values)
    with duckdb.connect() as con:
        con.execute("CREATE TABLE t AS SELECT unnest($values) AS v", {"values": values})
        whole = {"*": merged("*", tree["*"], counts, k)}
        assert released(con, tree, k) == released(con, whole, k, rare="apart")


def test_a_group_is_not_called_as_a_value_is() -> None:
    with duckdb.connect() as con:
        con.execute(
            "CREATE TABLE t AS SELECT if(i < 2, 'x', ['other', 'b', 'c'][1 + i % 3]) AS v FROM range(40) r(i)"
        )
        found = Counter(label for (label,) in released(con, {"*": ["other", "b", "c", "x"]}, 5))
        assert found == {"other+": 14, "other": 13, "c": 13}


FINE: dict[str, Any] = {"suppress": ["fine", "many"], "weights": {"fine": 9}, "taxonomies": {}}


@pytest.mark.parametrize(
    ("require", "options", "told"),
    [
        ("k >= 5 on pair", {}, "1 of the 2 groups below '*' has fewer than 5 records"),
        ("k >= 5 on many", {"rare": "apart"}, "2 of the 5 groups below '*' have fewer than 5 records"),
        ("k >= 50 on many", {"suppress": ["many"], "taxonomies": {}}, "none of its values has 50 records"),
        ("k >= 60 on size", {}, "no boundary leaves 60 records on both sides"),
        ("k >= 5 on fine, many", FINE, "its first step would break a requirement beside what the other"),
        (
            "k >= 5 on fine, many",
            FINE | {"weights": {"fine": 9, "many": 2}},
            "add --weight many=6, let --suppress",
        ),
        ("k >= 5 on fine, many", FINE | {"person": ["row"]}, "add --weight many=3, or name fewer columns in"),
        ("k >= 5 on size", {"class_column": "same", "detail": 0}, "its first step gains nothing"),
    ],
)
def test_a_column_that_stays_whole_says_why(require: str, options: dict[str, Any], told: str) -> None:
    with duckdb.connect() as con:
        con.execute(
            "CREATE TABLE t AS SELECT if(i = 0, 'x', 'y') AS pair, i % 20 AS size, 'one' AS same, "
            "if(i < 2, 'rare ' || i, ['b', 'c', 'd'][1 + i % 3]) AS many, 'f' || i % 11 AS fine, i AS row "
            "FROM range(100) r(i)"
        )
        trees = {"pair": {"*": ["x", "y"]}, "many": {"*": ["rare 0", "rare 1", "b", "c", "d"]}}
        given_trees = {name: tree for name, tree in trees.items() if name in require}
        heard = Heard(SilentProgress())
        asked = {"taxonomies": given_trees, "into": "r", "progress": heard} | options
        ppdm_sql.open(con).generalize("t", [require], **asked)
        whole = [text for text in heard.notices if "shows the same in every row" in text]
        assert [text for text in whole if told in text]
        assert not [text for text in whole if "'same'" in text]
