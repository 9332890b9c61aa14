"""The PDA paper's examples and experiments, to the digit (Wang, Fung, Yu 2005)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import duckdb
import pytest

import ppdm_sql

BANK = [
    ("Cook", "US", "No", "Current", "Bad", 4),
    ("Artist", "France", "No", "Current", "Good", 1),
    ("Artist", "France", "No", "Current", "Bad", 3),
    ("Doctor", "US", "Yes", "Never", "Good", 4),
    ("Doctor", "US", "Yes", "Never", "Bad", 2),
    ("Trader", "UK", "No", "Discharged", "Good", 4),
    ("Trader", "UK", "No", "Never", "Good", 1),
    ("Trader", "Canada", "No", "Never", "Good", 1),
    ("Clerk", "Canada", "No", "Never", "Good", 3),
    ("Clerk", "Canada", "No", "Discharged", "Good", 1),
]
TABLE_2 = {
    ("Cook", "US", "No", "Current", "Bad", 4),
    ("Artist", "France", "No", "Current", "Good", 1),
    ("Artist", "France", "No", "Current", "Bad", 3),
    ("Doctor", "US", "Yes", "Never", "Good", 4),
    ("Doctor", "US", "Yes", "Never", "Bad", 2),
    ("*", "*", "No", "Never", "Good", 5),
    ("*", "*", "No", "Discharged", "Good", 5),
}
IC1 = "Job, Country -> Bankruptcy = Discharged"
IC2 = "Job, Child -> Bankruptcy = Discharged"
EXAMPLE_2 = [f"{IC1} <= 50%", f"{IC2} <= 50%"]
COLUMNS = "Job, Country, Child, Bankruptcy, Rating, n"


@pytest.fixture
def bank() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE bank (Job VARCHAR, Country VARCHAR, Child VARCHAR, "
            "Bankruptcy VARCHAR, Rating VARCHAR, n INTEGER)"
        )
        connection.executemany("INSERT INTO bank VALUES (?, ?, ?, ?, ?, ?)", BANK)
        yield connection


def disclose(connection: duckdb.DuckDBPyConnection, *shown: str) -> None:
    """Make the table ``state``: the bank's, with only some values of its masking attributes shown."""
    connection.execute("SET VARIABLE shown = CAST($shown AS VARCHAR[])", {"shown": list(shown)})
    connection.execute(
        """
        CREATE OR REPLACE TABLE state AS
        SELECT
            CASE WHEN list_contains(getvariable('shown'), Job) THEN Job ELSE '*' END AS Job,
            CASE WHEN list_contains(getvariable('shown'), Country) THEN Country ELSE '*' END AS Country,
            CASE WHEN list_contains(getvariable('shown'), Child) THEN Child ELSE '*' END AS Child,
            Bankruptcy, Rating, n
        FROM bank
        """
    )


def reached(connection: duckdb.DuckDBPyConnection, table: str, *templates: str) -> list[float]:
    """The confidences that the audit measures, as percentages with the paper's two decimals."""
    found = ppdm_sql.open(connection).audit(
        table, require=[f"{template} <= 100%" for template in templates], count_column="n"
    )
    return [round(100 * finding.reached, 2) for finding in found.findings]


def partitions(connection: duckdb.DuckDBPyConnection) -> list[tuple[Any, ...]]:
    return connection.execute(
        """
        SELECT Job, Country, Child, sum(n), coalesce(sum(n) FILTER (Bankruptcy = 'Discharged'), 0)
        FROM state GROUP BY ALL ORDER BY ALL
        """
    ).fetchall()


@pytest.mark.parametrize(
    ("shown", "parts", "percent"),
    [
        ([], [("*", "*", "*", 24, 5)], 20.83),
        (["Clerk"], [("*", "*", "*", 20, 4), ("Clerk", "*", "*", 4, 1)], 25.0),
        (
            ["Clerk", "Canada"],
            [("*", "*", "*", 19, 4), ("*", "Canada", "*", 1, 0), ("Clerk", "Canada", "*", 4, 1)],
            25.0,
        ),
    ],
)
def test_figures_1_and_2(
    bank: duckdb.DuckDBPyConnection, shown: list[str], parts: list[tuple[Any, ...]], percent: float
) -> None:
    disclose(bank, *shown)
    assert partitions(bank) == parts
    assert reached(bank, "state", IC1, IC2) == [percent, percent]


def test_table_1_lets_infer_discharged_with_80_percent(bank: duckdb.DuckDBPyConnection) -> None:
    assert reached(bank, "bank", IC1) == [80.0]
    audit = ppdm_sql.open(bank).audit("bank", require=[f"{IC1} <= 75%"], count_column="n")
    assert not audit.holds


@pytest.mark.parametrize(
    "setting",
    [
        "integer_division = false",
        "integer_division = true",
        "default_order = 'DESC'",
        "default_null_order = 'nulls_first'",
        "default_collation = 'NOCASE'",
        "preserve_insertion_order = false",
        "ieee_floating_point_ops = false",
    ],
)
def test_example_2_ends_at_table_2_under_any_setting_of_the_connection(
    bank: duckdb.DuckDBPyConnection, setting: str
) -> None:
    plain = bank.cursor()
    bank.execute(f"SET {setting}")
    assert reached(bank, "bank", IC1) == [80.0]
    release = ppdm_sql.open(bank).suppress(
        "bank", require=EXAMPLE_2, class_column="Rating", count_column="n", into="safe", score="paper"
    )
    rows = plain.sql(f"SELECT {COLUMNS} FROM safe").fetchall()
    assert set(rows) == TABLE_2 and len(rows) == len(TABLE_2)
    assert [(s.attribute, s.children[0]) for s in release.steps()] == [
        *(("Job", job) for job in ("Cook", "Artist", "Doctor")),
        *(("Country", "US"), ("Country", "France"), ("Child", "No"), ("Child", "Yes")),
    ]
    assert [finding.reached for finding in release.verify().findings] == [0.5, 0.5]
    first = plain.sql(f"SELECT {COLUMNS} FROM safe_at(0)").fetchall()
    assert {row[:3] for row in first} == {("*", "*", "*")}
    assert sum(row[-1] for row in first) == 24


# -- Adult, section 5.2 ---------------------------------------------------------------------------

CATEGORICAL = [
    *("workclass", "education", "marital_status", "occupation", "relationship", "race", "sex"),
    "native_country",
]
RANKED = ["marital_status", "relationship", "education", "sex"]
LEVELS = [10, 30, 50, 70, 90]
UNSOLVABLE = [(2, 10), (3, 10), (4, 10), (4, 30)]


@pytest.fixture(scope="module")
def adult(adult_csv: list[str]) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE adult AS FROM read_csv($files, header = true, all_varchar = true) "
            "WHERE COLUMNS(*) <> '?'",
            {"files": adult_csv},
        )
        yield connection


def rarer_half(connection: duckdb.DuckDBPyConnection, column: str) -> list[str]:
    """The floor(50 %) least frequent values of a column."""
    query = f"SELECT {column} FROM adult GROUP BY {column} ORDER BY count(*), {column}"
    values = [row[0] for row in connection.execute(query).fetchall()]
    return values[: len(values) // 2]


def templates(
    connection: duckdb.DuckDBPyConnection, channel: list[str], sensitive: list[str], percent: int
) -> list[str]:
    """One requirement a sensitive column: the channel must not betray one of its rarer values."""
    found = []
    for column in sensitive:
        values = ", ".join(f"'{value}'" for value in rarer_half(connection, column))
        found.append(f"{', '.join(channel)} -> {column} IN ({values}) <= {percent}%")
    return found


def top(connection: duckdb.DuckDBPyConnection, count: int, percent: int) -> list[str]:
    sensitive = RANKED[:count]
    channel = [name for name in CATEGORICAL if name not in sensitive]
    return templates(connection, channel, sensitive, percent)


def suppress_adult(connection: duckdb.DuckDBPyConnection, count: int, percent: int) -> Any:
    return ppdm_sql.open(connection).suppress(
        "adult",
        require=top(connection, count, percent),
        class_column="income",
        into="adult_safe",
        score="paper",
    )


def test_adult_has_the_papers_complete_records(adult: duckdb.DuckDBPyConnection) -> None:
    assert adult.table("adult").count("*").fetchall() == [(45222,)]


@pytest.mark.parametrize(("count", "percent"), UNSOLVABLE)
def test_adult_is_refused_where_nothing_can_keep_it(
    adult: duckdb.DuckDBPyConnection, count: int, percent: int
) -> None:
    with pytest.raises(ppdm_sql.GuaranteeNotMet):
        suppress_adult(adult, count, percent)


@pytest.mark.parametrize(
    ("count", "percent", "steps"), [(1, 90, 32), (4, 90, 16), (2, 30, None), (3, 50, None)]
)
def test_adult_takes_the_known_number_of_steps_to_a_release_that_passes_the_audit(
    adult: duckdb.DuckDBPyConnection, count: int, percent: int, steps: int | None
) -> None:
    release = suppress_adult(adult, count, percent)
    try:
        assert steps in (None, len(release.steps()))
        assert ppdm_sql.open(adult).audit("adult_safe", require=top(adult, count, percent)).holds
    finally:
        release.drop()


def inferences(connection: duckdb.DuckDBPyConnection, requirements: list[str]) -> list[int]:
    thresholds = tuple(level / 100 for level in LEVELS)
    audit = ppdm_sql.open(connection).audit("adult", require=requirements, thresholds=thresholds)
    (inferences,) = audit.inferences
    assert tuple(threshold for threshold, _ in inferences.above) == thresholds
    return [count for _, count in inferences.above]


def test_table_3_inferences_of_top_4_as_the_text_describes_them(adult: duckdb.DuckDBPyConnection) -> None:
    assert inferences(adult, top(adult, 4, 50)) == [1992, 1238, 640, 537, 494]


def test_table_3_printed_counts_come_out_with_race_taken_out(adult: duckdb.DuckDBPyConnection) -> None:
    channel = ["workclass", "occupation", "sex", "native_country"]
    requirements = templates(adult, channel, ["marital_status", "relationship", "education"], 50)
    assert inferences(adult, requirements) == [1333, 786, 365, 324, 318]
