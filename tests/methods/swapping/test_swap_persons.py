"""Swapping persons: the only person of a pattern changes, with all rows alike, and nobody else does."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import duckdb
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from runs import one_in
from swap_releases import Heard, Row, changes, rows_of

import ppdm_sql
import ppdm_sql.methods.swapping.swap as run
from ppdm_sql.errors import (
    ColumnRoleError,
    GuaranteeNotMet,
    InvalidOption,
    InvalidSource,
    PpdmError,
    UnknownColumn,
)

HALF = Fraction(1, 2)
WHO = "patient"
FEW = one_in(8)


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    """Some 900 visits of 300 patients, who have an age, a sex and an illness, and were seen in places."""
    with duckdb.connect() as opened:
        opened.execute(
            """
            CREATE TABLE t AS SELECT
                'P' || w AS patient, hash(w) % 1000 AS branch, w * 7 % 90 AS age,
                ['f', 'm'][1 + (hash(w, 7) % 2)::INTEGER]::ENUM ('m', 'f') AS sex,
                ['flu', 'cold', 'none'][(hash(w, 3) % 3)::INTEGER + 1] AS ill,
                (hash(w, 2) % 50)::INTEGER AS pay, if(j = 0, NULL, 'ward ' || j) AS ward, j AS visit
            FROM range(300) AS r (w), range(5) AS s (j) WHERE j <= hash(w, 9) % 5
            """
        )
        yield opened


def swap(con: duckdb.DuckDBPyConnection, **options: Any) -> ppdm_sql.Release:
    chosen: dict[str, Any] = {
        "confidential": "ill", "by": ["age", "sex"], "proportion": 0.5, "into": "safe",
        "person": WHO, "seed": 1, "progress": Heard(),
    }  # fmt: skip
    return ppdm_sql.open(con).swap("t", allow_identifiers=options.get("keep", ()), **(chosen | options))


def persons(rows: list[Row]) -> list[Row]:
    """Give each person, who stands first in a row, the set of their patterns and their last values."""
    found: dict[Any, tuple[set[Row], set[Any]]] = defaultdict(lambda: (set(), set()))
    for who, *pattern, value in rows:
        found[who][0].add(tuple(pattern))
        found[who][1].add(value)
    assert all(len(values) == 1 for _, values in found.values()), "a person has several values"
    return [(frozenset(patterns), *values) for patterns, values in found.values()]


def linked(con: duckdb.DuckDBPyConnection, by: list[str], value: str = "ill") -> Any:
    """Compare persons before and after; the release tells them apart by a pseudonym."""
    before = persons(rows_of(con, "t", [WHO, *by, value]))
    return changes(before, persons(rows_of(con, "safe", [WHO, *by, value])))


@pytest.mark.parametrize(
    ("by", "method"),
    [
        (["age", "sex", "ward"], "greedy"),
        (["age", "visit"], "exact"),
    ],
)
def test_half_of_the_only_persons_of_a_pattern_and_one_of_each_group_change(
    con: duckdb.DuckDBPyConnection, by: list[str], method: str
) -> None:
    release = swap(con, by=by, identifiers={WHO: "pseudonym"}, method=method)
    found = linked(con, by)
    assert found.follows(HALF)
    assert found.unique + len(found.groups) > 0
    assert release.verify().holds
    told = {name: (before, after) for name, before, after in release.measures()}
    assert told["uniquely identifiable persons changed: ill"] == (None, found.changed_unique)
    assert told["uniquely identifiable persons: ill"] == (found.unique, found.unique)
    assert told["marginal deviation: ill"] == (None, 0)
    assert found.before == found.after
    assert not any("records" in name for name in told)


def test_numbers_are_binned_by_persons_and_several_columns_are_swapped(
    con: duckdb.DuckDBPyConnection,
) -> None:
    release = swap(
        con, confidential=["ill", "pay"], by=["age", "ward"], bins={"pay": 3}, identifiers={WHO: "pseudonym"}
    )
    persons(rows_of(con, "safe", [WHO, "pay"]))
    assert linked(con, ["age", "ward"]).follows(HALF)
    columns = ["age", "ward"]
    assert sorted(rows_of(con, "t", columns), key=str) == sorted(rows_of(con, "safe", columns), key=str)
    assert release.verify().holds


def test_who_the_person_is_is_nowhere_in_the_release(con: duckdb.DuckDBPyConnection) -> None:
    con.execute('ALTER TABLE t RENAME patient TO "o\'dd ""name"')
    release = swap(con, person="o'dd \"name", keep=["visit"])
    assert release.relation().columns == ["age", "sex", "ill", "visit"]
    (frozen,) = con.execute("SELECT count(*) FROM duckdb_columns() WHERE column_name LIKE '%dd%'").fetchone()
    assert frozen == 1  # the source's own
    assert con.execute("SELECT count(*) FROM duckdb_tables() WHERE temporary").fetchone() == (0,)


def test_persons_may_be_known_by_several_columns(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE u AS SELECT * REPLACE (patient[:2] AS patient), patient AS code FROM t")
    con.execute("DROP TABLE t; ALTER TABLE u RENAME TO t")
    swap(con, person=["patient", "code"], identifiers={"code": "pseudonym"})
    persons(rows_of(con, "safe", ["code", "ill"]))
    with pytest.raises(InvalidSource, match="several values of the confidential column 'ill'"):
        swap(con, person="patient", into="other")


@FEW
@given(st.integers(0, 2**32), st.integers(1, 40))
def test_with_one_row_a_person_the_release_is_that_of_records(seed: int, size: int) -> None:
    draw = random.Random(seed)
    rows = [(i, draw.randrange(6), draw.choice("fm"), draw.choice("abc")) for i in range(size)]
    with duckdb.connect() as con:
        con.execute("CREATE TABLE t (patient INTEGER, age INTEGER, sex VARCHAR, ill VARCHAR)")
        con.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
        outcomes = []
        for options in ({}, {"person": ()}):
            try:
                swap(con, **options)
                outcomes.append(con.execute("FROM safe ORDER BY ALL").fetchall())
                ppdm_sql.open(con).release("safe").drop()
            except PpdmError as error:
                outcomes.append(str(error).replace("persons", "records"))
        assert outcomes[0] == outcomes[1]


@FEW
@given(st.data())
def test_random_persons_are_changed_as_promised(data: st.DataObject) -> None:
    row = st.tuples(st.integers(0, 9), st.integers(0, 2), st.sampled_from(["f", "m", None]))
    rows = data.draw(st.lists(row, min_size=1, max_size=30))
    ill = data.draw(st.lists(st.sampled_from("abc"), min_size=10, max_size=10))
    with duckdb.connect() as con:
        con.execute("CREATE TABLE t (patient INTEGER, age INTEGER, sex VARCHAR, ill VARCHAR)")
        con.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", [(*cells, ill[cells[0]]) for cells in rows])
        try:
            swap(con, identifiers={WHO: "pseudonym"})
        except GuaranteeNotMet as error:
            assume(" proportion of 0.5 changes" not in str(error))
            raise
        except InvalidSource as error:
            assume("single value" not in str(error))
            raise
        assert linked(con, ["age", "sex"]).follows(HALF)


# -- refusals -----------------------------------------------------------------------------------------


def test_a_confidential_value_that_varies_in_a_person_is_refused_with_a_count(
    con: duckdb.DuckDBPyConnection,
) -> None:
    con.execute("UPDATE t SET ill = 'other' WHERE visit = 1 AND patient IN ('P1', 'P2', 'P3', 'P4', 'P5')")
    (several,) = con.execute(
        "SELECT count(*) FROM (SELECT patient FROM t GROUP BY 1 HAVING count(DISTINCT ill) > 1)"
    ).fetchone()
    with pytest.raises(InvalidSource, match=f"^{several} persons? ha(s|ve) several values .* 'ill'"):
        swap(con)
    assert ppdm_sql.open(con).releases() == []


def test_rows_of_nobody_are_refused_with_a_count(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("UPDATE t SET patient = NULL WHERE patient = 'P7' AND visit = 0")
    with pytest.raises(InvalidSource, match="'patient' is NULL in 1 row"):
        swap(con)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"person": "patiend"}, UnknownColumn, "patiend"),
        ({"person": "age"}, ColumnRoleError, "'age' cannot be both"),
        ({"person": "ill"}, ColumnRoleError, "'ill' cannot be both"),
        ({"keep": [WHO]}, ColumnRoleError, "'patient' cannot be both"),
        ({"count_column": "visit"}, InvalidOption, "--count"),
    ],
)
def test_a_person_column_that_is_something_else_is_refused(
    con: duckdb.DuckDBPyConnection, options: dict[str, Any], error: type[PpdmError], words: str
) -> None:
    with pytest.raises(error, match=words):
        swap(con, **options)


# -- the audit judges by itself -----------------------------------------------------------------------

Plant = Callable[[Any], Any]


def rewritten(table: str) -> Plant:
    """Rows of released persons that are rewritten, as the audit sees them."""

    def plant(real: Any) -> Any:
        def faulty(engine: Any, *given: Any) -> Any:
            found = real(engine, *given)
            text = table.format(table=found.table)
            return replace(found, table=engine.materialize("faulty", text))

        return faulty

    return plant


def one_row_by_itself(real: Any) -> Any:
    """Of one person with several rows, one takes another value."""

    def faulty(engine: Any, persons: Any, after: Any) -> Any:
        released, owned = real(engine, persons, after)
        first = f"(SELECT min(c3) FROM {owned.table} WHERE k0 = 1)"
        other = f"if(k0 = 1 AND c3 = {first}, (c2 + 1) % 3, c2)::USMALLINT AS c2"
        table = engine.materialize("faulty", f"SELECT * REPLACE ({other}) FROM {owned.table}")
        return replace(released, table=table), replace(owned, table=table)

    return faulty


FAULTS: dict[str, tuple[str, Plant, str]] = {
    "one row of a person by itself": ("rows_after", one_row_by_itself, "1 persons have several values"),
    "persons who take the rows of others": (
        "owned_rows",
        rewritten("SELECT * REPLACE (replace(c3, 'P1', 'P2') AS c3) FROM {table}"),
        "persons have other rows than in the source",
    ),
    "rows that are not the released ones": (
        "owned_rows",
        rewritten("SELECT * REPLACE (if(c3 = 'P1', 'flu', 'none') AS c2) FROM {table}"),
        "not those of which it is known",
    ),
    "a row that is left out": (
        "owned_rows", rewritten("SELECT * FROM {table} OFFSET 1"), "not those of which it is known"
    ),
    "nothing swapped": (
        "apply_moves",
        lambda real: lambda engine, atoms, *_, **__: atoms,
        "uniquely identifiable persons have changed",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_refused(
    con: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    place, plant, words = FAULTS[name]
    monkeypatch.setattr(run, place, plant(getattr(run, place)))
    with pytest.raises(GuaranteeNotMet, match=words):
        swap(con, keep=["visit"])
    assert ppdm_sql.open(con).releases() == []
    assert con.execute("SELECT count(*) FROM duckdb_views() WHERE view_name = 'safe'").fetchone() == (0,)
