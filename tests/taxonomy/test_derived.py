"""Taxonomies derived from the values of a column: dates, prefixes and ranges, against plain Python."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ppdm_sql
from ppdm_sql.engine import Column, Engine
from ppdm_sql.errors import InvalidOption, InvalidSource
from ppdm_sql.taxonomy import Taxonomy
from ppdm_sql.taxonomy.derived import DerivedTaxonomy


def derived(rule: str, values: list[object], type_text: str) -> Taxonomy:
    engine = Engine(duckdb.connect())
    query = f"SELECT unnest(CAST($values AS {type_text}[])) AS value"
    with engine.workspace():
        table = engine.materialize("column_values", query, {"values": values})
        found = DerivedTaxonomy.named(rule)
        return found.of_values(engine, table, Column("column", type_text), table="people")


def labels_of_day(day: date) -> list[str]:
    quarter = (day.month + 2) // 3
    return [
        day.isoformat(),
        f"{day.year}-{day.month:02}",
        f"{day.year}-Q{quarter}",
        str(day.year),
        f"{day.year // 10 * 10}s",
        "*",
    ]


@given(st.sets(st.dates(date(1000, 1, 1), date(3000, 1, 1)), min_size=1, max_size=12))
def test_days_are_grouped_by_the_calendar(days: set[date]) -> None:
    """A node with one child is left out, so a path is part of the calendar's."""
    paths = derived("dates", [*days, None], "DATE").paths()
    assert [path[0] for path in paths] == [day.isoformat() for day in sorted(days)]
    for path in paths:
        wanted = labels_of_day(date.fromisoformat(path[0]))
        assert [label for label in wanted if label in path] == list(path)
        alike = {label: sum(label in labels_of_day(day) for day in days) for label in wanted[1:-1]}
        # A group is left out only where the one above it holds the same days, or where it holds one day.
        for label, above in zip(wanted[1:-1], wanted[2:], strict=True):
            assert label in path or alike[label] == 1 or alike[label] == alike.get(above, len(days))


def test_only_the_groups_asked_for_are_made() -> None:
    days = [date(2020, 1, 1), date(2020, 1, 2), date(2020, 2, 1), date(2021, 2, 1), date(2021, 3, 1)]
    assert derived("dates year", list(days), "DATE").paths()[0] == ("2020-01-01", "2020", "*")
    assert derived("dates months, years", list(days), "DATE").paths()[0] == (
        "2020-01-01",
        "2020-01",
        "2020",
        "*",
    )


def test_the_day_of_a_time_stamp_is_an_interval() -> None:
    stamps = [datetime(2020, 5, 17, 0, 0), datetime(2020, 5, 17, 23, 59, 59), datetime(2020, 6, 1, 12)]
    paths = derived("dates month", list(stamps), "TIMESTAMP").paths()
    assert paths == [("[2020-05-17, 2020-05-18)", "*"), ("[2020-06-01, 2020-06-02)", "*")]


def test_infinite_dates_have_no_day() -> None:
    assert derived("dates", ["infinity", "2020-01-01", "2020-01-02"], "DATE").leaves == (1, 2)


def test_a_value_that_the_rule_has_no_place_for_is_to_be_changed_in_a_view() -> None:
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE visits AS FROM (VALUES (DATE '2020-01-01'), (DATE 'infinity')) AS v(day)"
        )
        db = ppdm_sql.open(connection)
        with pytest.raises(InvalidSource, match="1 of the 2 values of column 'day'") as refused:
            db.generalize("visits", ["k >= 1 on day"], taxonomies={"day": "dates"}, into="safe")
        assert "in a view" in refused.value.remedy and "infinity" not in str(refused.value)


def test_a_column_with_null_has_prefixes_too() -> None:
    paths = derived("prefixes", ["A0", None, "A1", "B1"], "VARCHAR").paths()
    assert paths == [("A0", "A*", "*"), ("A1", "A*", "*"), ("B1", "*")]
    with pytest.raises(InvalidSource, match="holds no value"):
        derived("prefixes", [None], "VARCHAR")


@given(st.sets(st.text("A01.", max_size=5), min_size=1, max_size=12))
def test_codes_are_grouped_by_their_prefixes(codes: set[str]) -> None:
    taxonomy = derived("prefixes", list(codes), "VARCHAR")
    paths = taxonomy.paths()
    assert {path[0] for path in paths} == codes
    alone = len({*map(len, codes)}) == 1
    for path in paths:
        for label in path[1:-1]:
            prefix = label.rstrip("*")
            assert path[0].startswith(prefix)
            below = [code for code in codes if code.startswith(prefix)]
            assert len(below) > 1
            assert len(label) == (len(path[0]) if alone else len(prefix) + 1)
            assert {row[0] for row in paths if label in row} == set(below)


def test_a_code_stands_below_its_own_group() -> None:
    """ICD-10: the category A00 holds A00.0 and A00.1, and may be a value itself."""
    paths = derived("prefixes 1,3", ["A00", "A00.0", "A00.1", "A01", "B12.3"], "VARCHAR").paths()
    assert paths[0] == ("A00", "A00*", "A*", "*")
    assert paths[1] == ("A00.0", "A00*", "A*", "*")
    assert paths[3] == ("A01", "A*", "*")


def test_a_separator_makes_no_level_of_its_own() -> None:
    """A00 and A00.1 stand side by side by default; where all codes are of one length, it is as any other."""
    paths = derived("prefixes", ["A00", "A00.0", "A00.1", "A01", "B12.3", "B12-4"], "VARCHAR").paths()
    assert paths[0] == ("A00", "A00*", "A*", "*")
    assert paths[1] == ("A00.0", "A00*", "A*", "*")
    assert paths[-1] == ("B12.3", "B*", "*")
    alike = derived("prefixes", ["1.2", "1.3", "124"], "VARCHAR").paths()
    assert ("1.2", "1.*", "*") in alike
    assert ("A00.1", "A00.*", "A00*", "*") in derived(
        "prefixes 3,4", ["A00", "A00.0", "A00.1", "A01"], "VARCHAR"
    ).paths()


def test_ranges_of_too_many_digits_are_refused_in_words() -> None:
    long = "1" + 1500 * "0"
    with pytest.raises(InvalidOption, match="too many digits"):
        DerivedTaxonomy.named(f"ranges 1,{long}")
    with pytest.raises(InvalidOption, match="too many digits"):
        DerivedTaxonomy.named(f"ranges {long}7")
    with pytest.raises(InvalidSource, match="'column' holds numbers of too many digits"):
        derived(f"ranges 0.{long[1:]}1", [1, 2], "INTEGER")
    huge = derived(f"ranges {long}", [-(10**37), 10**37], "HUGEINT")
    assert [huge.labels[leaf][0] for leaf in huge.leaves] == ["[", "["]


@pytest.mark.parametrize("kind", ["HUGEINT", "DECIMAL(38,0)", "BIGNUM"])
def test_ranges_are_exact_for_numbers_of_more_digits_than_a_decimal_usually_has(kind: str) -> None:
    least = 10**36 + 7
    found = derived("ranges 10,100", [str(least), str(least + 99)], kind)
    assert found.labels[found.leaves[0]] == f"[{10**36}, {10**36 + 10})"
    assert found.labels[found.leaves[-1]] == f"[{10**36 + 100}, {10**36 + 110})"


numbers = st.decimals(-1000, 1000, places=2, allow_nan=False, allow_infinity=False)


@given(st.sets(numbers, min_size=1, max_size=8), st.sampled_from(["5,10,20", "0.5,2", "100", "3,6,30"]))
def test_ranges_cover_every_number_once_and_nest(values: set[Decimal], widths: str) -> None:
    taxonomy = derived(f"ranges {widths}", [*values, None], "DECIMAL(8,2)")
    narrowest = Decimal(widths.split(",")[0])
    leaves = [taxonomy.intervals[leaf] for leaf in taxonomy.leaves]
    bounds = [(Decimal(found.lower), Decimal(found.upper)) for found in leaves if found is not None]
    assert all(upper - lower == narrowest and lower % narrowest == 0 for lower, upper in bounds)
    assert all(sum(lower <= value < upper for lower, upper in bounds) == 1 for value in values)
    assert bounds[0][0] <= min(values) < bounds[0][1]
    assert bounds[-1][0] <= max(values) < bounds[-1][1]
    for node, (parent, interval) in enumerate(zip(taxonomy.parents, taxonomy.intervals, strict=True)):
        above = taxonomy.intervals[parent] if node else None
        if interval is not None and above is not None:
            assert Decimal(above.lower) <= Decimal(interval.lower)
            assert Decimal(interval.upper) <= Decimal(above.upper)


def test_ranges_that_would_be_too_many_or_do_not_nest_are_refused_at_any_length() -> None:
    with pytest.raises(InvalidSource, match="would be more than 10000"):
        derived("ranges 10", [1.5, 1e300], "DOUBLE")
    with pytest.raises(InvalidOption, match="do not nest"):
        derived(f"ranges 3,1{'0' * 40}", [1], "INTEGER")


def test_ranges_leave_out_what_is_no_number() -> None:
    found = derived("ranges 1,2", [0.5, float("nan"), float("inf"), float("-inf"), 2.5], "DOUBLE")
    assert [path[0] for path in found.paths()] == ["[0, 1)", "[1, 2)", "[2, 3)"]


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        ("ranges", "widths above 0"),
        ("ranges 0,5", "widths above 0"),
        ("ranges 10,5", "do not nest"),
        ("ranges 5,12", "do not nest"),
        ("ranges 5,5", "do not nest"),
        ("dates week", "no level 'week'"),
        ("prefixes a", "whole number"),
        ("prefixes 0", "whole number"),
        ("weeks", "no rule 'weeks'"),
    ],
)
def test_a_rule_that_cannot_be_used_is_an_error(rule: str, problem: str) -> None:
    with pytest.raises(InvalidOption, match=problem):
        DerivedTaxonomy.named(rule)


@pytest.mark.parametrize(
    ("rule", "values", "type_text", "problem"),
    [
        ("dates", ["x"], "VARCHAR", "holds VARCHAR, not dates"),
        ("ranges 5", ["x"], "VARCHAR", "holds VARCHAR, not numbers"),
        ("ranges 1", [0, 1_000_000], "INTEGER", "more than 10000"),
        ("ranges 1", [None], "INTEGER", "holds no value"),
        ("dates", [None], "DATE", "holds no value"),
        ("prefixes", [], "VARCHAR", "holds no value"),
    ],
)
def test_a_column_that_does_not_fit_is_an_error(
    rule: str, values: list[object], type_text: str, problem: str
) -> None:
    with pytest.raises(InvalidSource, match=problem):
        derived(rule, values, type_text)


@pytest.fixture
def visits() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute("""
        CREATE TABLE visits AS
        SELECT
            DATE '2019-11-20' + CAST(i * 7 % 400 AS INTEGER) AS day,
            TIMESTAMP '2019-11-20 08:00:00' + INTERVAL (i * 31 % 4000) HOUR AS at,
            lpad(CAST(i * 13 % 90 AS VARCHAR), 5, '0') AS zip,
            i * 17 % 83 AS age,
            if(i % 3 = 0, 'yes', 'no') AS back
        FROM range(600) AS r(i)
    """)
    return connection


def test_rules_serve_as_taxonomies(visits: duckdb.DuckDBPyConnection) -> None:
    rules = {"day": "dates", "at": "dates month,year", "zip": "prefixes", "age": "ranges 5,10,20"}
    with ppdm_sql.open(visits) as db:
        for name, rule in rules.items():
            release = db.generalize(
                "visits",
                [f"k >= 5 on {name}"],
                class_column="back",
                taxonomies={name: rule},
                into=f"{name}_5",
            )
            assert release.verify().holds
            shown = {value for (value,) in release.relation().select(f'"{name}"').distinct().fetchall()}
            assert len(shown) > 1
            stored = visits.execute(
                "SELECT count(*) FROM ppdm.taxonomies WHERE release = ?", [f"{name}_5"]
            ).fetchone()
            assert stored is not None
            assert stored[0] > len(shown)


def test_bounds_of_ranges_stand_beside_them(visits: duckdb.DuckDBPyConnection) -> None:
    with ppdm_sql.open(visits) as db:
        release = db.generalize(
            "visits",
            ["k >= 5 on age"],
            class_column="back",
            taxonomies={"age": "ranges 10,20"},
            interval_columns=True,
            into="banded",
        )
        rows = release.relation().select("age, age_lower, age_upper").distinct().fetchall()
    assert rows
    assert all(age == f"[{lower:.0f}, {upper:.0f})" for age, lower, upper in rows if age != "*")


def test_a_file_or_a_table_of_the_name_comes_first(
    visits: duckdb.DuckDBPyConnection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    visits.execute("CREATE TABLE prefixes (child VARCHAR, parent VARCHAR)")
    visits.execute("INSERT INTO prefixes VALUES ('yes', 'any'), ('no', 'any')")
    with (
        ppdm_sql.open(visits) as db,
        pytest.raises(InvalidSource, match="90 of the 90 values of column 'zip' are not leaves"),
    ):
        db.generalize(
            "visits", ["k >= 5 on zip"], class_column="back", taxonomies={"zip": "prefixes"}, into="x"
        )
    (tmp_path / "dates").write_text("2020-01-01;*\n")
    monkeypatch.chdir(tmp_path)
    with ppdm_sql.open(visits) as db, pytest.raises(InvalidSource, match="are not leaves"):
        db.generalize("visits", ["k >= 5 on day"], class_column="back", taxonomies={"day": "dates"}, into="x")


def test_new_days_and_codes_fall_back_on_the_root(visits: duckdb.DuckDBPyConnection) -> None:
    visits.execute(
        "CREATE TABLE later AS SELECT DATE '2050-01-01' + CAST(i AS INTEGER) AS day FROM range(3) r(i)"
    )
    with ppdm_sql.open(visits) as db:
        db.generalize(
            "visits", ["k >= 5 on day"], class_column="back", taxonomies={"day": "dates"}, into="safe"
        )
        db.apply("safe", "later", into="shown")
    assert visits.execute("SELECT DISTINCT day FROM shown").fetchall() == [("*",)]


def test_a_hundred_thousand_days_make_a_taxonomy() -> None:
    start = date(1700, 1, 1)
    found = derived("dates", [start + timedelta(days=i) for i in range(100_000)], "DATE")
    assert len(found.leaves) == 100_000
