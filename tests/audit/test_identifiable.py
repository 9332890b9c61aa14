"""Identifiable records: the audit against brute force, and the macro in a client without Python."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ppdm_sql
from ppdm_sql import examples
from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.errors import ColumnRoleError, InvalidOption, InvalidSource, UnknownColumn
from ppdm_sql.macros import macros

POLICIES = ["Age", "Gender", "Location"]
NAME = "ppdm_identifiable"
MACRO = next(macro for macro in macros() if macro.name == NAME).creation(Table(NAME))


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as opened:
        examples.write(Engine(opened))
        opened.execute(MACRO)
        yield opened


# -- the audit --------------------------------------------------------------------------------------


def test_the_policies_are_those_of_table_1(con: duckdb.DuckDBPyConnection) -> None:
    audit = ppdm_sql.open(con).audit("policies", confidential="Amount", by=POLICIES)
    (found,) = audit.identifiable
    assert (found.unique, found.groups, found.grouped) == (6, 3, 6)
    assert (found.other_patterns, found.others, found.records, found.values) == (2, 4, 16, 3)
    assert audit.holds
    rows = {v.value: (v.unique, v.groups, v.grouped, v.others) for v in found.by_value}
    assert rows == {"High": (2, 1, 2, 2), "Low": (2, 1, 2, 0), "Med": (2, 1, 2, 2)}


cells = st.sampled_from(["a", "b", None])


@given(st.lists(st.tuples(cells, cells, st.sampled_from(["x", "y", None]), st.integers(0, 3)), min_size=1))
def test_the_audit_and_the_macro_agree_with_brute_force(rows: list[tuple[Any, ...]]) -> None:
    with duckdb.connect() as con:
        con.execute(MACRO)
        con.execute("CREATE TABLE t (p VARCHAR, q VARCHAR, c VARCHAR, n INTEGER)")
        con.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
        records = [(p, q, c) for p, q, c, n in rows for _ in range(n)]
        if not records:
            with pytest.raises(InvalidSource, match="no records"):
                ppdm_sql.open(con).audit("t", confidential="c", by=["p", "q"], count_column="n")
            return
        patterns: dict[tuple[Any, ...], Counter[Any]] = defaultdict(Counter)
        for p, q, c in records:
            patterns[p, q][c] += 1
        sizes = {key: values.total() for key, values in patterns.items()}
        single = [key for key, values in patterns.items() if len(values) == 1]
        unique = sum(sizes[key] == 1 for key in single)
        grouped = sum(sizes[key] for key in single if sizes[key] > 1)
        audit = ppdm_sql.open(con).audit("t", confidential="c", by=["q", "p"], count_column="n")
        (found,) = audit.identifiable
        assert (found.unique, found.grouped) == (unique, grouped)
        assert found.groups == sum(sizes[key] > 1 for key in single)
        assert found.others == len(records) - unique - grouped
        assert sum(v.unique for v in found.by_value) == unique
        con.execute("CREATE VIEW each AS SELECT p, q, c FROM t, range(n)")
        seen = con.execute("FROM ppdm_identifiable('each', ['p', 'q'], 'c')").fetchall()
        statuses = {(p, q): (n, status) for p, q, n, status in seen}
        for key, size in sizes.items():
            status = "unidentifiable" if key not in single else "uniquely" if size == 1 else "collectively"
            assert statuses[key] == (size, status)


def test_a_population_changes_nothing_where_no_class_is_measured(con: duckdb.DuckDBPyConnection) -> None:
    db = ppdm_sql.open(con)
    con.execute("CREATE TABLE everyone AS FROM policies UNION ALL FROM policies")
    asked: dict[str, Any] = {"confidential": "Amount", "by": POLICIES}
    found = db.audit("policies", population="everyone", **asked).identifiable
    assert repr(found) == repr(db.audit("policies", **asked).identifiable)


def test_several_confidential_columns_are_measured_one_by_one(con: duckdb.DuckDBPyConnection) -> None:
    audit = ppdm_sql.open(con).audit("policies", confidential=["Amount", "Location"], by=["Age", "Gender"])
    assert [found.confidential for found in audit.identifiable] == ["Amount", "Location"]


def test_requirements_and_identifiable_records_are_measured_together(con: duckdb.DuckDBPyConnection) -> None:
    audit = ppdm_sql.open(con).audit("policies", ["k >= 2 on Age"], confidential="Amount", by=POLICIES)
    assert audit.holds
    assert audit.identifiable[0].unique == 6
    assert "Amount identifiable by Age, Gender, Location" in [title for title, *_ in audit.tables()]


def test_of_many_values_those_most_at_risk_are_listed(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE many AS SELECT i AS a, if(i < 9, -1, i) AS c FROM range(300) AS r (i)")
    (found,) = ppdm_sql.open(con).audit("many", confidential="c", by=["a"]).identifiable
    assert (found.values, len(found.by_value)) == (292, 100)
    assert (found.by_value[0].value, found.by_value[0].unique) == ("-1", 9)


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (InvalidOption, {"confidential": "Amount"}),
        (InvalidOption, {"sensitive": "Amount"}),
        (UnknownColumn, {"sensitive": "Amuont", "by": ["Age"]}),
        (ColumnRoleError, {"sensitive": "Amount", "by": ["Age", "Amount"]}),
        (UnknownColumn, {"confidential": "Amuont", "by": ["Age"]}),
        (UnknownColumn, {"confidential": "Amount", "by": ["Aeg"]}),
        (ColumnRoleError, {"confidential": "Amount", "by": ["Age", "age"]}),
        (ColumnRoleError, {"confidential": "Amount", "by": ["Age", "Amount"]}),
    ],
)
def test_columns_that_cannot_be_measured_are_refused(
    con: duckdb.DuckDBPyConnection, kind: type[Exception], options: dict[str, Any]
) -> None:
    with pytest.raises(kind):
        ppdm_sql.open(con).audit("policies", **options)


# -- the macro --------------------------------------------------------------------------------------


def test_the_macro_says_of_each_pattern_what_it_gives_away(con: duckdb.DuckDBPyConnection) -> None:
    query = "FROM ppdm_identifiable('policies', ['Age', 'Gender', 'Location'], 'Amount')"
    counted = f"SELECT status, count(*), sum(records)::INTEGER FROM ({query}) GROUP BY ALL ORDER BY ALL"
    assert con.execute(counted).fetchall() == [
        ("collectively", 3, 6),
        ("unidentifiable", 2, 4),
        ("uniquely", 6, 6),
    ]
    assert ("50-59", "Male", "NY", 1, "uniquely") in con.execute(query).fetchall()
