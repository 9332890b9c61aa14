"""The synthetic generator: its attributes, its functions, its seeds."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest

import ppdm_sql
from ppdm_sql.errors import InvalidOption
from ppdm_sql.methods.perturbation import agrawal

ROWS = 20_000


def generated(**options: Any) -> duckdb.DuckDBPyConnection:
    con = duckdb.connect()
    ppdm_sql.open(con).generate_agrawal("people", **({"function": 2, "rows": ROWS, "seed": 1} | options))
    return con


def rows(con: duckdb.DuckDBPyConnection, query: str = "FROM people") -> list[tuple[Any, ...]]:
    return con.sql(query).fetchall()


def is_group_a(function: int, person: dict[str, Any]) -> bool:
    """The functions by a second hand: Table 3, and for the third Agrawal, Imielinski, Swami 1993."""
    age, salary, level = person["age"], person["salary"], person["elevel"]
    if function == 1:
        return age < 40 or age >= 60
    if function == 2:
        low = 50_000 if age < 40 else 75_000 if age < 60 else 25_000
        return low <= salary <= low + 50_000
    if function == 3:
        if age < 40:
            low = 25_000 if level in (0, 1) else 50_000
        elif age < 60:
            low = 50_000 if level in (1, 2, 3) else 75_000
        else:
            low = 50_000 if level in (2, 3, 4) else 25_000
        return low <= salary <= low + 50_000
    equity = 0.1 * person["hvalue"] * max(person["hyears"] - 20, 0)
    disposable = 0.67 * (salary + person["commission"]) - 0.2 * person["loan"] - 10_000
    return disposable + (0.2 * equity if function == 5 else 0) > 0


@pytest.mark.parametrize("function", agrawal.FUNCTIONS)
def test_the_class_is_what_the_function_says(function: int) -> None:
    relation = generated(function=function, rows=2_000, balanced=function % 2 == 0).sql("FROM people")
    people = [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]
    assert len(people) == 2_000
    expected = [agrawal.CLASSES[not is_group_a(function, person)] for person in people]
    assert [person["class"] for person in people] == expected
    assert set(expected) == set(agrawal.CLASSES)


@pytest.mark.parametrize(
    ("name", "low", "high", "of"),
    [
        ("salary", 20_000, 150_000, "salary"),
        ("commission", 10_000, 75_000, "if(salary < 75000, commission, NULL)"),
        ("age", 20, 80, "age"),
        ("hvalue", 50_000, 150_000, "hvalue / zipcode"),
        ("hyears", 1, 30, "hyears"),
        ("loan", 0, 500_000, "loan"),
    ],
)
def test_real_attributes_are_spread_evenly_over_their_range(name: str, low: int, high: int, of: str) -> None:
    con = generated(balanced=False, seed=2)
    share = f"({of} - {low}) / ({high} - {low})"
    ((least, largest, furthest),) = rows(
        con,
        f"SELECT min(u), max(u), max(abs(u - place / n)) FROM (SELECT {share} AS u, "
        "row_number() OVER (ORDER BY u) AS place, count(u) OVER () AS n FROM people WHERE u IS NOT NULL)",
    )
    assert least >= 0 and largest <= 1
    assert furthest < 1.63 / 7_000**0.5, f"{name}: Kolmogorov and Smirnov would reject it at 1 %"


@pytest.mark.parametrize(("name", "low", "high"), [("elevel", 0, 4), ("car", 1, 20), ("zipcode", 1, 9)])
def test_whole_attributes_are_equally_frequent(name: str, low: int, high: int) -> None:
    counts = dict(rows(generated(balanced=False), f"SELECT {name}, count(*) FROM people GROUP BY ALL"))
    expected = ROWS / (high - low + 1)
    assert sorted(counts) == list(range(low, high + 1))
    assert all(abs(count - expected) < 5 * expected**0.5 for count in counts.values())


def test_a_salary_of_75000_earns_no_commission() -> None:
    con = generated(balanced=False)
    query = "SELECT DISTINCT salary >= 75000, commission = 0 FROM people ORDER BY ALL"
    assert rows(con, query) == [(False, False), (True, True)]


def test_attributes_are_drawn_apart_from_each_other() -> None:
    names = ("salary", "age", "elevel", "car", "zipcode", "hyears", "loan")
    pairs = [(a, b) for at, a in enumerate(names) for b in names[at + 1 :]]
    correlations = ", ".join(f"corr({a}, {b})" for a, b in pairs)
    found = rows(generated(balanced=False), f"SELECT {correlations} FROM people")
    assert max(map(abs, found[0])) < 5 / ROWS**0.5


@pytest.mark.parametrize("size", [1, 2, 3, 1001, ROWS])
def test_classes_are_balanced_to_the_record(size: int) -> None:
    con = generated(function=1, rows=size)
    counts = dict(rows(con, "SELECT class, count(*) FROM people GROUP BY ALL"))
    assert counts.get("Group A", 0) == (size + 1) // 2
    assert counts.get("Group B", 0) == size // 2
    stretches = rows(con, "SELECT avg((class = 'Group A')::INTEGER) FROM people GROUP BY rowid // 2000")
    assert size < 2000 or all(0.44 < share < 0.56 for (share,) in stretches)


def test_a_seed_gives_the_same_table_whatever_the_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agrawal, "MOST_CANDIDATES", 3_000)
    tables = []
    for threads in (1, 4):
        con = duckdb.connect(config={"threads": threads})
        ppdm_sql.open(con).generate_agrawal("people", function=4, rows=ROWS, seed=5)
        tables.append(rows(con))
    assert tables[0] == tables[1]
    assert tables[0] != rows(generated(function=4, seed=6))
    assert rows(generated(rows=50, seed=None)) != rows(generated(rows=50, seed=None))


def test_a_seed_means_the_same_in_all_versions_of_the_engine() -> None:
    con = generated(rows=1_000)
    query = "SELECT md5(string_agg(people::VARCHAR, '|' ORDER BY rowid)) FROM people"
    assert rows(con, query) == [("ad31fc301cb4e0df68db3bfa5de3e9ef",)]


def test_nothing_is_left_beside_the_table_whatever_its_name() -> None:
    con = duckdb.connect()
    name = 'x"; DROP TABLE people; -- ü'
    ppdm_sql.open(con).generate_agrawal(name, function=1, rows=10, seed=1)
    assert rows(con, "SELECT table_name FROM duckdb_tables()") == [(name,)]
    assert rows(con, "SELECT view_name FROM duckdb_views() WHERE NOT internal") == []


@pytest.mark.parametrize(
    ("options", "problem"),
    [({"rows": 0}, "0 records"), ({"seed": -1}, "seed -1")],
)
def test_impossible_options_are_refused(options: dict[str, int], problem: str) -> None:
    with pytest.raises(InvalidOption, match=problem):
        generated(**options)


def test_a_failure_half_way_leaves_no_table(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    class Stopping(ppdm_sql.progress.SilentProgress):
        update = stop

    con = duckdb.connect()
    with pytest.raises(KeyboardInterrupt):
        ppdm_sql.open(con).generate_agrawal("people", function=1, rows=50, progress=Stopping())
    assert rows(con, "SELECT table_name FROM duckdb_tables()") == []
